//! Files: what is outside, and what is blocked inside. Each way is tried against Landlock alone
//! and against the new root alone.

use proofmark::runtime::sandbox::mechanism::Mechanism::{
    self, BlockedPaths, Capabilities, LandlockFiles, LandlockNetwork, LandlockScope,
    MountNamespace, ProcessNamespace, UserNamespace,
};

use super::{Attempt, BASE, NONE, check, host};

/// Ways to a file outside; each works where neither stops it.
const WAYS: [(&str, &str); 14] = [
    ("read by its name", "open(out + '/secret').read(); got()"),
    (
        "read through the parent",
        "os.chdir(work); open('../' + os.path.basename(out) + '/secret').read(); got()",
    ),
    ("read through a link", "open(work + '/link').read(); got()"),
    ("read through a linked folder", "open(work + '/folder/secret').read(); got()"),
    (
        "read through a link that changes",
        "name = work + '/race'\n\
         sys.setswitchinterval(1e-5)\n\
         def turn():\n    \
             i = 0\n    \
             while True:\n        \
                 os.symlink([work + '/own', out + '/secret'][i % 2], name + '.new')\n        \
                 os.replace(name + '.new', name)\n        \
                 i += 1\n\
         threading.Thread(target=turn, daemon=True).start()\n\
         end = time.time() + 1.5\n\
         while time.time() < end:\n    \
             try:\n        \
                 if 'GOT' in open(name).read(): got()\n    \
             except OSError: pass",
    ),
    ("read through a hard link", "os.link(out + '/secret', work + '/hard'); got()"),
    ("read through its own root", "open('/proc/self/root' + out + '/secret').read(); got()"),
    ("write a new file", "open(out + '/new', 'w').write('x'); got()"),
    ("write an old file", "open(out + '/old', 'a').write('x'); got()"),
    ("cut a file", "os.truncate(out + '/old', 0); got()"),
    ("move a file out", "os.rename(work + '/own', out + '/own'); got()"),
    ("remove a file", "os.unlink(out + '/old'); got()"),
    ("list a folder", "os.listdir(out); got()"),
    ("run a program", "subprocess.run([out + '/tool'], check=True); got()"),
];

/// Parts of the machine that no tool needs.
const PLACES: [(&str, &str); 4] = [
    ("read who uses the machine", "open('/etc/passwd').read(); got()"),
    ("read what the kernel shows", "os.listdir('/sys/kernel'); got()"),
    ("list the root", "os.listdir('/var/lib'); got()"),
    (
        "open a device",
        "for name in 'ptmx kmsg fuse loop-control hwrng'.split():\n    \
             try: os.open('/dev/' + name, os.O_RDONLY); got()\n    \
             except OSError: pass",
    ),
];

#[test]
fn files_outside_are_out_of_reach_by_landlock_alone() {
    let Some(host) = host() else { return };
    let attempts: Vec<Attempt> = WAYS
        .iter()
        .chain(&PLACES)
        .map(|&(name, script)| Attempt {
            name,
            script,
            stopped_by: &[LandlockFiles],
            without: &[MountNamespace, BlockedPaths],
        })
        .collect();
    check(host, "", &attempts);
}

#[test]
fn files_outside_are_out_of_reach_by_the_root_alone() {
    let Some(host) = host() else { return };
    let attempts: Vec<Attempt> = WAYS
        .iter()
        .chain(&PLACES)
        .map(|&(name, script)| Attempt {
            name,
            script,
            stopped_by: &[MountNamespace, BlockedPaths],
            without: &[LandlockFiles],
        })
        .collect();
    check(host, "", &attempts);
}

#[test]
fn what_is_blocked_is_blocked_by_every_name() {
    let Some(host) = host() else { return };
    let ways = [
        ("by its name", "open('env.blocked').read(); got()"),
        ("through a link", "open('to-blocked').read(); got()"),
        ("through a link made now", "os.symlink('env.blocked', 'n'); open('n').read(); got()"),
        ("through a parent", "open('sub/../env.blocked').read(); got()"),
        ("by an older hard link", "open('sub/hard').read(); got()"),
        ("by a hard link into a blocked folder", "open('sub/deep-hard').read(); got()"),
        ("by a hard link made now", "os.link('env.blocked', 'n'); open('n').read(); got()"),
        ("through /proc", "open('/proc/self/cwd/env.blocked').read(); got()"),
        ("through its own root", "open('/proc/self/root' + work + '/keys/key').read(); got()"),
        ("in a blocked folder", "open('keys/key').read(); got()"),
        ("listing a blocked folder", "os.listdir('keys')[0]; got()"),
        ("after its folder was moved", "os.rename('sub', 'bus'); open('bus/a.pem').read(); got()"),
        ("a program of the machine", "subprocess.run(['/usr/bin/env'], check=True); got()"),
        ("by a pattern", "open('sub/a.pem').read(); got()"),
        ("with other rights", "os.chmod('env.blocked', 0o777); open('env.blocked').read(); got()"),
        ("written over", "open('env.blocked', 'w').write('x'); got()"),
        ("replaced", "os.replace('own', 'env.blocked'); got()"),
        ("removed", "os.unlink('env.blocked'); got()"),
        ("made, where it was missing", "open('missing.env', 'w').write('x'); got()"),
        (
            "made in a folder that was missing",
            "os.makedirs('.hooks', exist_ok=True); open('.hooks/new', 'w').write('x'); got()",
        ),
    ];
    let attempts =
        ways.map(|(name, script)| Attempt { name, script, stopped_by: &[BlockedPaths], ..BASE });
    check(host, "", &attempts);
}

#[test]
fn other_processes_lend_no_files() {
    let Some(host) = host() else { return };
    let all: &[Mechanism] = &[
        UserNamespace,
        Capabilities,
        MountNamespace,
        BlockedPaths,
        ProcessNamespace,
        LandlockFiles,
        LandlockNetwork,
        LandlockScope,
    ];
    let ways = [
        ("the environment of the harness", "open('/proc/%s/environ' % extra, 'rb').read(); got()"),
        ("the memory of the harness", "open('/proc/%s/mem' % extra, 'rb'); got()"),
        ("the open files of the harness", "os.listdir('/proc/%s/fd' % extra); got()"),
        ("the root of the harness", "open('/proc/%s/root%s/secret' % (extra, out)).read(); got()"),
        (
            "settings of the kernel",
            "p = '/proc/sys/vm/overcommit_memory'; v = open(p).read(); open(p, 'w').write(v); got()",
        ),
    ];
    let attempts =
        ways.map(|(name, script)| Attempt { name, script, stopped_by: all, without: NONE });
    check(host, &std::process::id().to_string(), &attempts);
}
