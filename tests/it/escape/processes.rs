//! Processes: too many of them, too large ones, ones that stay, and signals to others.

use proofmark::runtime::sandbox::mechanism::Mechanism::{
    BlockedPaths, CgroupMemory, CgroupProcesses, Descriptors, Environment, LandlockFiles,
    LandlockScope, MountNamespace, ProcessNamespace, Rlimits, Session,
};
use rustix::io::{FdFlags, fcntl_setfd};

use super::{Attempt, BASE, check, host};

#[test]
fn limits_hold() {
    let Some(host) = host() else { return };
    let attempts = [
        Attempt {
            name: "a bounded fork bomb",
            script: "n = 0\n\
                 for i in range(120):\n    \
                     if os.fork() == 0: time.sleep(15); os._exit(0)\n    \
                     n += 1\n\
                 if n == 120: got()",
            stopped_by: &[CgroupProcesses],
            ..BASE
        },
        Attempt {
            name: "too many threads",
            script: "for i in range(120): threading.Thread(target=time.sleep, args=(9,), \
                 daemon=True).start()\ngot()",
            stopped_by: &[CgroupProcesses],
            ..BASE
        },
        Attempt {
            name: "too much memory",
            script: "b = bytearray(400 << 20)\n\
                 for i in range(0, len(b), 4096): b[i] = 1\ngot()",
            stopped_by: &[CgroupMemory],
            ..BASE
        },
        Attempt {
            name: "too much memory in several processes",
            script: "r, w = os.pipe()\n\
                 for n in range(4):\n    \
                     if os.fork() == 0:\n        \
                         b = bytearray(100 << 20)\n        \
                         for i in range(0, len(b), 4096): b[i] = 1\n        \
                         os.write(w, b'x'); time.sleep(15); os._exit(0)\n\
                 os.close(w)\n\
                 for n in range(4): os.read(r, 1) or sys.exit('killed')\n\
                 if os.waitpid(-1, os.WNOHANG) == (0, 0): got()",
            stopped_by: &[CgroupMemory],
            ..BASE
        },
    ];
    check(host, "", &attempts);
}

#[test]
fn files_stay_small_and_few() {
    let Some(host) = host() else { return };
    let attempts = [
        Attempt {
            name: "too much in files without a name",
            script: "f = os.memfd_create('m')\nfor i in range(2): pass\n\
                 fs = [os.memfd_create('m%d' % i) for i in range(40)]\n\
                 for f in fs: os.write(f, b'x' * (1 << 20))\n\
                 for f in fs: os.pwrite(f, b'x' * 10, 1 << 20)\ngot()",
            stopped_by: &[Rlimits],
            ..BASE
        },
        Attempt {
            name: "a file that is too long",
            script: "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); \
                 os.pwrite(os.open(work + '/f', os.O_CREAT | os.O_RDWR), b'x', 2 << 20); got()",
            stopped_by: &[Rlimits],
            ..BASE
        },
        Attempt {
            name: "too many open files",
            script: "fs = [open('/dev/null') for i in range(200)]; got()",
            stopped_by: &[Rlimits],
            ..BASE
        },
        Attempt {
            name: "too much in files that are gone afterwards",
            script: "fs = [open('/dev/shm/proofmark-%d' % i, 'wb') for i in range(40)]\n\
                 try:\n    \
                     for i in range(100): fs[i % 40].write(b'x' * (1 << 20)); fs[i % 40].flush()\n\
                 finally:\n    \
                     for i in range(40): os.unlink('/dev/shm/proofmark-%d' % i)\n\
                 got()",
            stopped_by: &[MountNamespace, BlockedPaths],
            without: &[LandlockFiles, Rlimits, CgroupMemory],
        },
    ];
    check(host, "", &attempts);
}

/// What writes a file after the program has ended; nothing of it holds the output open.
macro_rules! left_behind {
    ($begin:literal) => {
        concat!(
            $begin,
            "    for f in range(3): os.close(f)\n",
            "    time.sleep(1); open(work + '/late', 'w').write('x'); os._exit(0)\n",
            "os._exit(0)"
        )
    };
}

#[test]
fn nobody_is_left_behind() {
    let Some(host) = host() else { return };
    let attempts = [
        Attempt {
            name: "in the background",
            script: left_behind!("if os.fork() == 0:\n"),
            stopped_by: &[ProcessNamespace],
            ..BASE
        },
        Attempt {
            name: "in a session of its own",
            script: left_behind!("if os.fork() == 0:\n    os.setsid()\n"),
            stopped_by: &[ProcessNamespace],
            ..BASE
        },
        Attempt {
            name: "by two forks and a new session",
            script: left_behind!(
                "if os.fork() == 0:\n    os.setsid()\n    if os.fork() != 0: os._exit(0)\n"
            ),
            stopped_by: &[ProcessNamespace],
            ..BASE
        },
        Attempt {
            name: "deaf to signals",
            script: left_behind!(
                "if os.fork() == 0:\n    os.setsid()\n    \
                 [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 13, 15)]\n"
            ),
            stopped_by: &[ProcessNamespace],
            ..BASE
        },
    ];
    check(host, "", &attempts);
}

#[test]
fn no_signal_leaves() {
    let Some(host) = host() else { return };
    let attempts = [
        Attempt {
            name: "to the harness, by its number",
            script: "os.kill(int(extra), 0); got()",
            stopped_by: &[ProcessNamespace],
            without: &[LandlockScope],
        },
        Attempt {
            name: "to the harness, by scope",
            script: "os.kill(int(extra), 0); got()",
            stopped_by: &[LandlockScope],
            without: &[ProcessNamespace],
        },
        Attempt {
            name: "to everybody",
            script: "os.kill(-1, 0); got()",
            stopped_by: &[ProcessNamespace],
            without: &[LandlockScope],
        },
        Attempt {
            name: "to the group of the harness",
            script: "os.killpg(os.getpgid(int(extra)), 0); got()",
            stopped_by: &[ProcessNamespace, LandlockScope],
            ..BASE
        },
        Attempt {
            name: "to its own group, with the harness in it",
            script: "os.getpgrp() == int(open('/proc/self/stat').read().split()[4]) and \
                 os.getsid(0) == os.getsid(int(extra)) and got()",
            stopped_by: &[Session],
            without: &[ProcessNamespace, MountNamespace, BlockedPaths, LandlockFiles],
        },
    ];
    check(host, &std::process::id().to_string(), &attempts);
}

#[test]
fn nothing_of_the_harness_is_inherited() {
    let Some(host) = host() else { return };
    let open = tempfile::tempfile().unwrap();
    std::os::unix::fs::FileExt::write_all_at(&open, b"GOT an open file", 0).unwrap();
    // As a file that a careless parent left open for its children.
    fcntl_setfd(&open, FdFlags::empty()).unwrap();
    let attempts = [
        Attempt {
            name: "a variable",
            script: "'CARGO_PKG_NAME' in os.environ and got()",
            stopped_by: &[Environment],
            ..BASE
        },
        Attempt {
            name: "an open file",
            script: "def look(n):\n    \
                     try: return os.pread(n, 16, 0)\n    \
                     except OSError: return b''\n\
                 any(b'GOT' in look(n) for n in range(3, 256)) and got()",
            stopped_by: &[Descriptors],
            ..BASE
        },
    ];
    check(host, "", &attempts);
}
