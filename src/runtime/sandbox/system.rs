//! The part of the machine that every sandbox shows: programs, libraries, devices without state.

use std::path::{Path, PathBuf};

use super::mechanism::Reach;

/// Programs and libraries.
const FOLDERS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// What the loader and common programs read of `/etc`; nothing of it says who uses the machine.
const FILES: [&str; 7] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/localtime",
];
/// What finding names in an open network reads.
const NAMES: [&str; 4] = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf"];
/// Devices that keep nothing.
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Folders for files that are gone afterwards.
pub(super) const SCRATCH: [&str; 2] = ["/tmp", "/dev/shm"];
/// Where a confined program finds others.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Folders that may be read and run.
pub(super) fn folders() -> impl Iterator<Item = &'static str> {
    FOLDERS.into_iter()
}

/// Files that may be read.
pub(super) fn files(reach: Reach) -> impl Iterator<Item = &'static str> {
    let names: &[&str] = if reach == Reach::Open { &NAMES } else { &[] };
    FILES.into_iter().chain(names.iter().copied())
}

/// Finds a program where a confined one would, or as given when it holds a slash.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        let path = Path::new(program);
        return (path.is_absolute() && path.is_file()).then(|| path.to_owned());
    }
    PATH.split(':').map(|folder| Path::new(folder).join(program)).find(|file| file.is_file())
}
