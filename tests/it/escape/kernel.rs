//! The kernel: rights that programs give, and calls that no tool needs.

use std::process::Command;

use proofmark::runtime::sandbox::mechanism::Mechanism::{
    Capabilities, IpcNamespace, LandlockFiles, LandlockNetwork, LandlockScope, NoNewPrivileges,
    Seccomp, UserNamespace,
};

use super::{Attempt, BASE, check, host};

#[test]
fn calls_that_no_tool_needs_are_refused() {
    let Some(host) = host() else { return };
    let by_filter = [
        ("be traced", "call(101, 0, 0, 0, 0); got()"),
        ("read a process's memory", "call(310, os.getpid(), 0, 0, 0, 0, 0); got()"),
        ("compare processes", "call(312, os.getpid(), os.getpid(), 0, 0, 1); got()"),
        ("make users", "call(272, 0x10000000); got()"),
        (
            "make users by forking",
            "p = call(56, 0x10000011, 0, 0, 0, 0)\ngot() if p else os._exit(0)",
        ),
        ("handle faults", "call(323, 1); got()"),
        ("keep a key", "call(248, b'user', b'proofmark', b'x', 1, -1); got()"),
        (
            "name a file by a handle",
            "b = ctypes.create_string_buffer(256); b[0] = 128\n\
             call(303, -100, b'/usr', b, ctypes.byref(ctypes.c_int()), 0); got()",
        ),
    ];
    let attempts =
        by_filter.map(|(name, script)| Attempt { name, script, stopped_by: &[Seccomp], ..BASE });
    check(host, "", &attempts);
    // The third is Landlock, under which no mount is changed.
    let by_any = [
        ("mount", "call(165, b'tmpfs', b'/tmp', b'tmpfs', 0, 0); got()"),
        ("take a mount away", "call(166, b'/dev/shm', 2); got()"),
        ("change the root", "call(161, b'/usr'); got()"),
        ("change the host's name", "call(170, b'x', 1); got()"),
    ];
    let attempts = by_any.map(|(name, script)| {
        [
            (&[Seccomp], &[Capabilities, LandlockFiles]),
            (&[Capabilities], &[Seccomp, LandlockFiles]),
            (&[LandlockFiles], &[Seccomp, Capabilities]),
        ]
        .map(|(stopped_by, without)| Attempt { name, script, stopped_by, without })
    });
    let [mount, unmount, [root, root_too, _], [host_name, host_name_too, _]] = attempts;
    check(host, "", &mount);
    check(host, "", &unmount);
    check(host, "", &[root, root_too, host_name, host_name_too]);
}

#[test]
fn no_program_gives_rights() {
    let Some(host) = host() else { return };
    if !rustix::process::geteuid().is_root() {
        // Only root can make the file that would give them.
        return;
    }
    let attempts = [
        Attempt {
            name: "a program of another user",
            script: "import shutil; shutil.copy('/usr/bin/id', work + '/id')\n\
                 os.chown(work + '/id', 65534, 65534); os.chmod(work + '/id', 0o4755)\n\
                 b'euid=65534' in subprocess.check_output([work + '/id']) and got()",
            stopped_by: &[NoNewPrivileges],
            without: &[
                UserNamespace,
                Capabilities,
                Seccomp,
                LandlockFiles,
                LandlockNetwork,
                LandlockScope,
            ],
        },
        Attempt {
            name: "becoming another user",
            script: "os.setuid(65534); got()",
            stopped_by: &[Capabilities],
            without: &[UserNamespace],
        },
        Attempt {
            name: "becoming a user of the machine",
            script: "os.setuid(65534); got()",
            stopped_by: &[UserNamespace],
            without: &[Capabilities],
        },
        Attempt {
            name: "a device of its own",
            script: "os.mknod(work + '/n', stat.S_IFCHR | 0o600, os.makedev(1, 5)); got()",
            stopped_by: &[LandlockFiles],
            without: &[UserNamespace, Capabilities],
        },
        Attempt {
            name: "a device of its own, by users",
            script: "os.mknod(work + '/n', stat.S_IFCHR | 0o600, os.makedev(1, 5)); got()",
            stopped_by: &[UserNamespace],
            without: &[LandlockFiles, Capabilities],
        },
        Attempt {
            name: "files of another user",
            script: "os.chown(work + '/own', 65534, 65534); got()",
            stopped_by: &[Capabilities],
            without: &[UserNamespace],
        },
    ];
    check(host, "", &attempts);
}

#[test]
fn no_memory_is_shared() {
    let Some(host) = host() else { return };
    let python = |script: &str| {
        let output = Command::new("/usr/bin/python3").args(["-c", script]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let key = 0x5072_0000 + (std::process::id() & 0xffff);
    let id =
        python(&format!("import ctypes; print(ctypes.CDLL(None).shmget({key}, 4096, 0o1666))"));
    let attempt = Attempt {
        name: "a segment of the machine",
        script: "call(29, int(extra), 4096, 0); got()",
        stopped_by: &[IpcNamespace],
        ..BASE
    };
    check(host, &key.to_string(), &[attempt]);
    python(&format!("import ctypes; ctypes.CDLL(None).shmctl({id}, 0, None)"));
}
