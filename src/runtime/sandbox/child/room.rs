//! The files of the sandbox: a new root that is empty but for what is allowed. What has no name
//! in it cannot be opened, connected to or run, whoever asks.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::pivot_root;

use super::super::mechanism::Mechanism;
use super::super::order::Order;
use super::super::system;

/// Where the former root stands while the new one is built.
const OLD: &str = "/.old";
/// What covers a blocked file.
const COVER: &str = "/.blocked";
/// Where the new root is put first; what it hides there is reached by the former root.
const BASE: &str = "/tmp";

/// Builds the new root and enters it.
pub(super) fn enter(order: &Order) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    memory(Path::new(BASE), "mode=0755,size=1m")?;
    let old = Path::new(BASE).join(OLD.trim_start_matches('/'));
    fs::create_dir(&old)?;
    pivot_root(BASE, &old)?;
    std::env::set_current_dir("/")?;
    for path in system::folders().chain(system::files(order.reach)).chain(system::DEVICES) {
        show(Path::new(path))?;
    }
    links()?;
    if order.mechanisms.contains(&Mechanism::ProcessNamespace) {
        processes()?;
    }
    let scratch = format!("mode=1777,size={}", order.limits.scratch_bytes);
    for path in system::SCRATCH {
        memory(Path::new(path), &scratch)?;
    }
    // A folder inside another is shown with it; one that is named by itself comes last.
    let write = order.visible.write.iter().map(|path| (path, false));
    let read = order.visible.read.iter().map(|path| (path, true));
    let mut named: Vec<(&PathBuf, bool)> = write.chain(read).collect();
    named.sort();
    // What may be written may also be read; it is shown once.
    named.dedup_by_key(|(path, _)| *path);
    for (path, only_read) in named {
        show(path)?;
        if only_read {
            keep(path)?;
        }
    }
    let cover = File::create(COVER)?;
    cover.set_permissions(Permissions::from_mode(0o000))?;
    unmount(OLD, UnmountFlags::DETACH)?;
    fs::remove_dir(OLD)
}

/// A file system in memory at a path.
fn memory(path: &Path, data: &str) -> io::Result<()> {
    fs::create_dir_all(path)?;
    let data = std::ffi::CString::new(data)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("tmpfs", path, "tmpfs", flags, Some(data.as_c_str()))?)
}

/// Gives a file or folder the name it has outside; what is not there has none. A link stays one.
fn show(path: &Path) -> io::Result<()> {
    let below = path.strip_prefix("/").unwrap_or(path);
    let source = Path::new(OLD).join(below);
    let Ok(kind) = source.symlink_metadata() else { return Ok(()) };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    if kind.is_symlink() {
        return symlink(fs::read_link(&source)?, path);
    }
    if kind.is_dir() {
        fs::create_dir_all(path)?;
    } else if path.symlink_metadata().is_err() {
        File::create(path)?;
    }
    Ok(mount_bind_recursive(&source, path)?)
}

/// Lets nothing be written below a path. Landlock does that elsewhere; but a folder that stands in
/// one for scratch files would be written by the right that is given for those.
fn keep(path: &Path) -> io::Result<()> {
    if !system::SCRATCH.iter().any(|scratch| path.starts_with(scratch)) {
        return Ok(());
    }
    let mounts = fs::read_to_string(Path::new(OLD).join("proc/self/mountinfo"))?;
    // The fifth word is the place.
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    let places: Vec<PathBuf> =
        places.map(|place| PathBuf::from(place.replace("\\040", " "))).collect();
    if !places.iter().any(|place| place == path) {
        return Err(io::Error::other("a root is not found among the mounts"));
    }
    for place in places.iter().filter(|place| place.starts_with(path)) {
        let flags = MountFlags::BIND | MountFlags::RDONLY | kept(place)?;
        mount_remount(place, flags, "")?;
    }
    Ok(())
}

/// The names that programs expect beside the devices.
fn links() -> io::Result<()> {
    for (name, number) in [("stdin", "0"), ("stdout", "1"), ("stderr", "2"), ("fd", "")] {
        let place = Path::new("/dev").join(name);
        symlink(Path::new("/proc/self/fd").join(number), place)?;
    }
    Ok(())
}

/// The processes of this namespace. A machine that hides parts of its own list allows no new one;
/// then there is none at all.
fn processes() -> io::Result<()> {
    fs::create_dir_all("/proc")?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    match mount("proc", "/proc", "proc", flags, None) {
        Ok(()) | Err(rustix::io::Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Covers what is blocked. A name of it that comes later leads to the cover too, since it is the
/// place that is covered; names that were there before stand in the order, each by itself.
pub(super) fn cover(order: &Order) -> io::Result<()> {
    for path in &order.visible.blocked {
        let kind = path.symlink_metadata()?;
        if kind.is_dir() {
            memory(path, "mode=0000,size=4k")?;
        } else {
            mount_bind_recursive(COVER, path)?;
        }
        mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | kept(path)?, "")?;
    }
    Ok(())
}

/// The flags of a mount that may not be taken away from it.
fn kept(path: &Path) -> io::Result<MountFlags> {
    let found = rustix::fs::statvfs(path)?.f_flag;
    let pairs = [
        (rustix::fs::StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (rustix::fs::StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (rustix::fs::StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ];
    let kept = pairs.into_iter().filter(|(has, _)| found.contains(*has));
    Ok(kept.fold(MountFlags::empty(), |all, (_, flag)| all | flag))
}
