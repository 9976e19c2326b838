//! Cgroups of one sandbox: they count the memory and the processes of all that is in it. Both
//! versions of the interface are known; where neither can be written, there are none.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::mechanism::Mechanism;
use super::order::Caps;

/// Folders that are removed with this value; by then nobody is in them.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    folders: Vec<PathBuf>,
}

static COUNT: AtomicU64 = AtomicU64::new(0);

/// A limit by its file, in both interfaces.
struct Limit {
    names: [&'static str; 2],
    values: [Option<String>; 2],
}

const ROOT: &str = "/sys/fs/cgroup";

impl Cgroups {
    /// Makes what the mechanisms ask for.
    ///
    /// # Errors
    /// The mechanism that cannot be had, and what the system said.
    pub(super) fn make(
        mechanisms: &BTreeSet<Mechanism>,
        caps: &Caps,
    ) -> Result<Self, (Mechanism, io::Error)> {
        let name =
            format!("proofmark-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut made = Self::default();
        let processes = Some(caps.processes.to_string());
        let memory = caps.memory_bytes.map(|bytes| bytes.to_string());
        let none = Some("0".to_owned());
        // Each limit under the name of the first interface and of the second. Where swap is not
        // counted there are no files for it.
        let controllers = [
            (
                Mechanism::CgroupProcesses,
                "pids",
                [
                    Limit { names: ["pids.max"; 2], values: [processes.clone(), processes] },
                    Limit { names: [""; 2], values: [None, None] },
                ],
            ),
            (
                Mechanism::CgroupMemory,
                "memory",
                [
                    Limit {
                        names: ["memory.limit_in_bytes", "memory.max"],
                        values: [memory.clone(), memory.clone()],
                    },
                    Limit {
                        names: ["memory.memsw.limit_in_bytes", "memory.swap.max"],
                        values: [memory, none],
                    },
                ],
            ),
        ];
        for (mechanism, controller, limits) in controllers {
            if !mechanisms.contains(&mechanism) {
                continue;
            }
            let failed = |error| (mechanism, error);
            let (folder, first) = made.folder(controller, &name).map_err(failed)?;
            let interface = usize::from(!first);
            for (index, limit) in limits.iter().enumerate() {
                let file = folder.join(limit.names[interface]);
                let Some(value) = &limit.values[interface] else { continue };
                if index == 0 || file.exists() {
                    fs::write(file, value).map_err(failed)?;
                }
            }
        }
        Ok(made)
    }

    /// The folder of a controller, and whether its interface is the first. Own limits are kept: it
    /// is made below the group that this process is in.
    fn folder(&mut self, controller: &str, name: &str) -> io::Result<(PathBuf, bool)> {
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let group = |wanted: &str| {
            own.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let named = parts.next()?.split(',').any(|one| one == wanted);
                named.then(|| parts.next().unwrap_or("/").trim_start_matches('/').to_owned())
            })
        };
        let first = group(controller);
        let folder = match (&first, group("")) {
            (Some(below), _) => Path::new(ROOT).join(controller).join(below),
            (None, Some(below)) => Path::new(ROOT).join(below),
            (None, None) => return Err(io::ErrorKind::NotFound.into()),
        }
        .join(name);
        if !self.folders.contains(&folder) {
            fs::create_dir(&folder)?;
            self.folders.push(folder.clone());
        }
        Ok((folder, first.is_some()))
    }

    /// Files to which a process of one thread writes `0` to come in. The first interface takes a
    /// thread by itself, which spares it a lock that waits for every processor.
    pub(super) fn doors(&self) -> Vec<PathBuf> {
        let door = |folder: &PathBuf| {
            let thread = folder.join("tasks");
            if thread.exists() { thread } else { folder.join("cgroup.procs") }
        };
        self.folders.iter().map(door).collect()
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for folder in &self.folders {
            // Who cannot be killed keeps it; the kernel frees nothing before that either.
            let _kept = fs::remove_dir(folder);
        }
    }
}
