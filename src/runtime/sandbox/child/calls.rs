//! Seccomp: system calls that no tool needs, and the ways to a network where none is allowed.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use super::super::mechanism::Reach;

/// Looking into other processes; changing mounts, names, clocks, modules; what has often been a
/// way into the kernel.
const REFUSED: [i64; 58] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_secret,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_remap_file_pages,
];

/// On this machine also direct access to ports and segments.
#[cfg(target_arch = "x86_64")]
const ALSO_REFUSED: [i64; 3] = [libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const ALSO_REFUSED: [i64; 0] = [];

/// The same calls have a second number each for programs with short pointers.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBER: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_NUMBER: Option<i64> = None;

/// New namespaces by the first argument of `clone`.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Typing into a terminal in another's name.
const TYPING: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

#[derive(Debug, thiserror::Error)]
pub(super) enum CallsError {
    #[error("{0}")]
    Filter(#[from] seccompiler::Error),
    #[error("{0}")]
    Rule(#[from] seccompiler::BackendError),
}

/// Refuses, from here on and for all that is started.
pub(super) fn refuse(reach: Reach) -> Result<(), CallsError> {
    // A new kind of `clone` hides its flags from filters; without it, programs take the old one.
    let unknown = Rules::from([(libc::SYS_clone3, Vec::new())]);
    for (rules, error) in [(unknown, libc::ENOSYS), (rules(reach)?, libc::EPERM)] {
        apply_filter(&program(rules, error)?)?;
    }
    Ok(())
}

fn program(mut rules: Rules, error: i32) -> Result<BpfProgram, CallsError> {
    if let Some(second) = SECOND_NUMBER {
        let again: Rules =
            rules.iter().map(|(call, rules)| (call | second, rules.clone())).collect();
        rules.extend(again);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = SeccompAction::Errno(error.unsigned_abs());
    // Calls of another architecture's numbers end the process.
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()?)
}

fn rules(reach: Reach) -> Result<Rules, CallsError> {
    let mut rules: Rules =
        REFUSED.into_iter().chain(ALSO_REFUSED).map(|call| (call, Vec::new())).collect();
    let is = |argument, value| condition(argument, SeccompCmpOp::Eq, value);
    let is_not = |value: i32| condition(0, SeccompCmpOp::Ne, u64::from(value.unsigned_abs()));
    let mut sockets = match reach {
        Reach::None => vec![SeccompRule::new(vec![is_not(libc::AF_UNIX)?])?],
        Reach::Proxy | Reach::Open => {
            let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];
            let none = families.into_iter().map(is_not).collect::<Result<_, _>>()?;
            vec![SeccompRule::new(none)?]
        }
    };
    // The kind stands in the lowest four bits.
    let raw = u64::from(libc::SOCK_RAW.unsigned_abs());
    let masked = condition(1, SeccompCmpOp::MaskedEq(0xf), raw)?;
    sockets.push(SeccompRule::new(vec![masked])?);
    rules.insert(libc::SYS_socket, sockets);
    let mut clones = Vec::new();
    for flag in NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        let masked = condition(0, SeccompCmpOp::MaskedEq(flag), flag)?;
        clones.push(SeccompRule::new(vec![masked])?);
    }
    rules.insert(libc::SYS_clone, clones);
    let typing = TYPING.into_iter().map(|request| Ok(SeccompRule::new(vec![is(1, request)?])?));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, CallsError>>()?);
    Ok(rules)
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, CallsError> {
    // The kernel reads the lower half of each of these arguments and nothing else.
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?)
}
