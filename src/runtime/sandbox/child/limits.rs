//! Limits that a process sets itself, and the capabilities that it gives away.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use super::super::order::Caps;

/// File size, open files; no core dumps.
pub(super) fn sizes(limits: &Caps) -> io::Result<()> {
    set(Resource::Core, 0)?;
    set(Resource::Fsize, limits.file_bytes)?;
    set(Resource::Nofile, limits.open_files)
}

/// Address space.
pub(super) fn memory(limits: &Caps) -> io::Result<()> {
    limits.memory_bytes.map_or(Ok(()), |bytes| set(Resource::As, bytes))
}

/// Processes of the user, in the user's namespace; the two of the helper are among them.
pub(super) fn processes(limits: &Caps) -> io::Result<()> {
    set(Resource::Nproc, limits.processes.saturating_add(2))
}

fn set(resource: Resource, limit: u64) -> io::Result<()> {
    Ok(setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?)
}

/// Gives all capabilities away, also those that starting a program as root would give back.
pub(super) fn capabilities() -> io::Result<()> {
    for bit in 0..64 {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
            Ok(()) => {}
            // The kernel knows no more.
            Err(rustix::io::Errno::INVAL) if bit > 0 => break,
            Err(error) => return Err(error.into()),
        }
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(set_capabilities(None, sets)?)
}
