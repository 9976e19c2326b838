//! Programs that start other programs, and where in their arguments those stand.

/// A program whose arguments are a command.
pub(super) struct Launcher {
    pub(super) name: &'static str,
    /// Options without a value.
    pub(super) flags: &'static [&'static str],
    /// Options with a value: the next word, or attached.
    pub(super) valued: &'static [&'static str],
    /// Words before the command.
    pub(super) operands: usize,
    /// Whether words like `NAME=value` may stand before the command.
    pub(super) assigns: bool,
    /// Whether it adds arguments of its own.
    pub(super) adds: bool,
    /// Why it is in doubt, whatever it starts.
    pub(super) doubt: Option<&'static str>,
}

const PLAIN: Launcher = Launcher {
    name: "",
    flags: &[],
    valued: &[],
    operands: 0,
    assigns: false,
    adds: false,
    doubt: None,
};

const RAISES: Option<&str> = Some("it runs another program as somebody else or somewhere else");

const LAUNCHERS: [Launcher; 21] = [
    Launcher {
        name: "env",
        flags: &["-i", "-", "--ignore-environment"],
        valued: &["-u", "--unset"],
        assigns: true,
        ..PLAIN
    },
    Launcher { name: "nice", valued: &["-n", "--adjustment"], ..PLAIN },
    Launcher { name: "ionice", flags: &["-t"], valued: &["-c", "-n"], ..PLAIN },
    Launcher { name: "nohup", ..PLAIN },
    Launcher { name: "setsid", flags: &["-c", "-f", "-w"], ..PLAIN },
    Launcher { name: "time", flags: &["-p"], ..PLAIN },
    Launcher { name: "stdbuf", valued: &["-i", "-o", "-e"], ..PLAIN },
    Launcher { name: "busybox", ..PLAIN },
    Launcher { name: "toybox", ..PLAIN },
    Launcher { name: "command", flags: &["-p"], ..PLAIN },
    Launcher { name: "builtin", ..PLAIN },
    Launcher { name: "exec", flags: &["-c", "-l"], valued: &["-a"], ..PLAIN },
    Launcher {
        name: "timeout",
        flags: &["--foreground", "--preserve-status", "-v", "--verbose"],
        valued: &["-k", "-s", "--kill-after", "--signal"],
        operands: 1,
        ..PLAIN
    },
    Launcher {
        name: "xargs",
        flags: &["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose"],
        valued: &["-n", "-P", "-L", "-I", "-d", "-s", "-a", "-E", "--max-args", "--max-procs"],
        adds: true,
        ..PLAIN
    },
    Launcher {
        name: "sudo",
        flags: &["-n", "-i", "-s", "-E", "-H", "-k", "-b", "-A", "-S", "-P"],
        valued: &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "-D", "-R", "-T"],
        assigns: true,
        doubt: RAISES,
        ..PLAIN
    },
    Launcher { name: "doas", flags: &["-n", "-s"], valued: &["-u", "-C"], doubt: RAISES, ..PLAIN },
    Launcher { name: "chroot", operands: 1, doubt: RAISES, ..PLAIN },
    Launcher { name: "watch", flags: &["-d", "-t"], valued: &["-n"], doubt: RAISES, ..PLAIN },
    Launcher { name: "unshare", doubt: RAISES, ..PLAIN },
    Launcher { name: "strace", valued: &["-o", "-e", "-p"], doubt: RAISES, ..PLAIN },
    Launcher { name: "coproc", doubt: Some("not every shell knows it"), ..PLAIN },
];

/// The launcher of that name.
pub(super) fn find(name: &str) -> Option<&'static Launcher> {
    LAUNCHERS.iter().find(|launcher| launcher.name == name)
}

/// What a word is among the options of a launcher.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// None of them: they end before it.
    Command,
    /// An option, whole in one word.
    Option,
    /// An option whose value is the next word.
    Valued,
    /// The end of the options, which is no word of the command.
    End,
    /// One that is not known.
    Strange,
}

impl Launcher {
    /// What a word is, where an option may stand.
    pub(super) fn place(&self, word: &str) -> Place {
        if word == "--" {
            return Place::End;
        }
        if self.flags.contains(&word) {
            return Place::Option;
        }
        if self.valued.contains(&word) {
            return Place::Valued;
        }
        let Some(letters) = word.strip_prefix('-') else { return Place::Command };
        if letters.is_empty() {
            return Place::Command;
        }
        if let Some(long) = word.strip_prefix("--") {
            let known = long.split_once('=').is_some_and(|(name, _)| {
                self.valued.iter().any(|one| one.strip_prefix("--") == Some(name))
            });
            return if known { Place::Option } else { Place::Strange };
        }
        let short = |list: &[&str], letter: char| {
            let mut list = list.iter();
            list.any(|one| one.strip_prefix('-').is_some_and(|rest| rest == letter.to_string()))
        };
        let attached = letters.chars().next().is_some_and(|first| short(self.valued, first));
        // `nice -10` is an option too.
        let number = self.name == "nice" && letters.bytes().all(|byte| byte.is_ascii_digit());
        let flags = letters.chars().all(|letter| short(self.flags, letter));
        if attached || number || flags { Place::Option } else { Place::Strange }
    }
}

/// Programs that are given a program to run in a language that is not read here.
pub(super) fn interprets(name: &str) -> bool {
    const INTERPRETERS: [&str; 34] = [
        "python",
        "pypy",
        "perl",
        "ruby",
        "node",
        "nodejs",
        "deno",
        "bun",
        "php",
        "lua",
        "luajit",
        "awk",
        "gawk",
        "mawk",
        "nawk",
        "tclsh",
        "expect",
        "osascript",
        "pwsh",
        "rscript",
        "guile",
        "racket",
        "julia",
        "groovy",
        "scala",
        "zsh",
        "ksh",
        "mksh",
        "fish",
        "csh",
        "tcsh",
        "ed",
        "ex",
        "parallel",
    ];
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&bare.to_ascii_lowercase().as_str())
}

/// Shells whose language is read here.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(name, "sh" | "bash" | "dash" | "ash")
}

/// Commands of the shell itself that change what later words mean, or run text.
pub(super) const CHANGES: [&str; 19] = [
    "eval",
    "source",
    ".",
    "trap",
    "alias",
    "unalias",
    "set",
    "shopt",
    "enable",
    "hash",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "local",
    "typeset",
    "bind",
    "complete",
];
