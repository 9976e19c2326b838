#![allow(clippy::unwrap_used)]

use super::*;

/// The parts of a line, apart by ` / `: `!` in front of what is in doubt, `+` of what only starts
/// another.
fn parts(line: &str) -> String {
    let mark = |part: &Part| match (part.doubt, part.kind) {
        (Some(_), _) => "!",
        (None, Kind::Launcher) => "+",
        _ => "",
    };
    let parts = parse(line).parts;
    let shown = parts.iter().map(|part| format!("{}{}", mark(part), part.text()));
    shown.collect::<Vec<_>>().join(" / ")
}

#[track_caller]
fn check(table: &[(&str, &str)]) {
    let wrong = table.iter().filter_map(|(line, expected)| {
        let found = parts(line);
        (found != *expected).then(|| format!("{line}\n  {found}\n  {expected}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_of_a_line_is_a_part() {
    check(&[
        ("git status", "git status"),
        ("a; b & c\nd", "a / b / c / d"),
        ("a | b && c || ! d", "a / b / c / d"),
        ("(a; b); { c; }", "a / b / c"),
        ("if a; then b; elif c; then d; else e; fi", "a / b / c / d / e"),
        ("while a; do b; done & until c; do d; done", "a / b / c / d"),
        ("for i in x y; do rm $i; done", "rm $i"),
        ("case \"$x\" in a|b) c;; *) d;; esac", "c / d"),
        ("echo `a` \"$(b)\" x$(c)y", "echo `a` \"$(b)\" x$(c)y / a / b / c"),
        ("a # b; c", "a"),
        ("time a", "+time a / a"),
    ]);
}

#[test]
fn words_are_literal_or_unknown() {
    check(&[
        ("ls 'x  y' \"a b\" a'b'\"c\"", "ls 'x  y' 'a b' abc"),
        ("r'm' x", "rm x"),
        ("ls --color=auto -la {} a:b,c %d", "ls --color=auto -la {} a:b,c %d"),
    ]);
    for word in [
        "$x",
        "${x}",
        "\"$x\"",
        "$(x)",
        "`x`",
        "*.rs",
        "a?",
        "[ab]",
        "{a,b}",
        "{1..3}",
        "~",
        "~/x",
        "$'x'",
        "a\\b",
        "\"a\\b\"",
        "a$",
        "x#y",
        "!x",
        "$((1))",
        "'it'\\''s'",
        "<(x)",
    ] {
        let line = parse(&format!("ls {word}"));
        assert_eq!(line.parts[0].words.get(1).and_then(Word::literal), None, "{word}");
        assert_eq!(line.parts[0].program(), Some("ls"), "{word}");
    }
    // The grammar's scanner looks this character up beyond the end of a table.
    let line = parse("ls {\u{e014e} \u{1d7fc}<x");
    assert_eq!(line.parts[0].program(), Some("ls"));
    let find = &parse("find . -exec x {} \\;").parts[0];
    assert_eq!(find.words.last().and_then(Word::literal), Some(";"));
}

#[test]
fn redirections_are_parts_of_their_own() {
    check(&[
        ("a > b 2>&1 < c", "a / > b / < c"),
        ("a >> b; c >| d", "a / > b / c / > d"),
        ("a > /dev/null 2> /dev/null < /dev/null 3>&-", "a"),
        ("> b a", "> b / a"),
        ("> b", "> b"),
        ("a > $x", "a / !> $x"),
        ("a > \"b c\"", "a / > 'b c'"),
        ("a > /dev/tcp/host/80", "a / !> /dev/tcp/host/80"),
        ("a &> b", "a / !&> b"),
        ("a <<< b", "!a"),
        // Words behind a redirection are arguments all the same.
        ("env > b rm c", "+env rm c / rm c / > b / !env > b rm c"),
        ("cd a && b > c", "cd a / b / !> c"),
    ]);
}

#[test]
fn here_documents_are_input_where_they_are_plain() {
    check(&[
        ("cat <<E\nx\nE", "cat"),
        ("cat <<'E'\n$(rm x)\nE", "cat"),
        ("cat <<E | b\nx\nE", "cat / b"),
        ("cat <<E && b\nx\nE", "cat / b"),
        ("cat <<E\n$(rm x)\nE", "cat / !<<E\n$(rm x)\nE / rm x"),
        ("cat <<E\n$x\nE", "cat / !<<E\n$x\nE"),
        ("sh <<E\nrm x\nE", "!sh"),
        ("env <<E rm y\nx\nE", "+env rm y / rm y / !env <<E rm y\nx\nE"),
    ]);
}

#[test]
fn launchers_come_down_to_what_they_start() {
    check(&[
        ("env rm x", "+env rm x / rm x"),
        ("env -u A -i rm x", "+env -u A -i rm x / rm x"),
        ("env A=b rm x", "!env A=b rm x / rm x"),
        ("env -S 'rm x'", "!env -S 'rm x' / 'rm x' / rm x"),
        ("env -S 'rm -rf' /", "!env -S 'rm -rf' / / 'rm -rf' / / rm -rf /"),
        ("env '-Srm x' y", "!env '-Srm x' y / y / rm x y"),
        ("env -Srm -rf /", "!env -Srm -rf / / !/ / rm -rf /"),
        ("env '-ivSrm x'", "!env '-ivSrm x' / rm x"),
        ("env -S 'rm\\_-rf' /", "!env -S 'rm\\_-rf' / / 'rm\\_-rf' / / rm -rf /"),
        ("env --split-string='rm x'", "!env '--split-string=rm x' / rm x"),
        ("watch -n 1 'rm x; ls'", "!watch -n 1 'rm x; ls' / 'rm x; ls' / rm x / ls"),
        ("env", "env"),
        ("nice -n 10 nohup rm x", "+nice -n 10 nohup rm x / +nohup rm x / rm x"),
        ("nice -10 rm", "+nice -10 rm / rm"),
        ("timeout -k 5 -s KILL 10s rm x", "+timeout -k 5 -s KILL 10s rm x / rm x"),
        ("timeout --signal=KILL 5 rm", "+timeout --signal=KILL 5 rm / rm"),
        ("stdbuf -oL rm x", "+stdbuf -oL rm x / rm x"),
        ("a | xargs -0 -n1 -I{} rm {}", "a / +xargs -0 -n1 -I{} rm {} / rm {} …"),
        ("sudo -u bob rm x", "!sudo -u bob rm x / rm x"),
        ("command rm x; command -v rm", "+command rm x / rm x / command -v rm"),
        ("exec rm x; exec > b", "+exec rm x / rm x / exec / > b"),
        ("busybox sh -c 'rm x'", "+busybox sh -c 'rm x' / +sh -c 'rm x' / rm x"),
        ("env $x rm", "+env $x rm / !$x rm"),
        ("find . -exec rm {} \\; -o -ok b \\;", "!find . -exec rm {} ';' -o -ok b ';' / rm {} / b"),
        ("find . -delete", "!find . -delete"),
        ("find . -name x", "find . -name x"),
    ]);
}

#[test]
fn a_line_within_a_line_is_read_and_any_other_text_is_not() {
    check(&[
        ("sh -c 'rm x; ls'", "+sh -c 'rm x; ls' / rm x / ls"),
        ("bash -ec \"sh -c 'rm x'\"", "+bash -ec 'sh -c '\\''rm x'\\''' / +sh -c 'rm x' / rm x"),
        ("bash -lc 'rm x'", "!bash -lc 'rm x' / rm x"),
        ("sh -c \"$x\"", "!sh -c \"$x\""),
        ("sh x.sh", "!sh x.sh"),
        ("a | sh", "a / !sh"),
        ("eval 'rm x'", "!eval 'rm x' / rm x"),
        ("trap 'rm x' EXIT", "!trap 'rm x' EXIT / rm x"),
        ("alias a='rm x'", "!alias 'a=rm x' / rm x"),
        ("python3 -c 'x'; python -m pytest", "!python3 -c x / python -m pytest"),
        ("perl x; node -e 1; awk 1; zsh -c a", "!perl x / !node -e 1 / !awk 1 / !zsh -c a"),
        ("python3 --version", "python3 --version"),
    ]);
}

#[test]
fn a_path_is_another_program() {
    check(&[
        ("./tail x", "!./tail x"),
        ("bin/ls", "!bin/ls"),
        ("/tmp/ls", "!/tmp/ls"),
        ("/usr/bin/../../tmp/ls", "!/usr/bin/../../tmp/ls"),
        ("/bin/ls x", "/bin/ls x"),
        ("/usr/bin/env rm x", "+/usr/bin/env rm x / rm x"),
    ]);
}

#[test]
fn what_changes_the_shell_or_is_not_known_is_in_doubt() {
    for line in [
        "",
        "  ",
        "# x",
        "A=b",
        "A=b ls",
        "PATH+=x ls",
        "f() { ls; }",
        "function f { ls; }",
        "export A=b",
        "unset A",
        "readonly A",
        "set -x",
        "source x",
        ". x",
        "read PATH",
        "hash -r",
        "let x=1",
        "printf -v PATH x",
        "[ -f x ]",
        "[[ -f x ]]",
        "((x=1))",
        "a=(1 2)",
        "coproc a",
        "select x in a; do b; done",
        "for PATH in a; do b; done",
        "for x in ${PATH:=a}; do b; done",
        "for x in $((PATH=1)); do b; done",
        "a |& b",
        "ls 'x",
        "if a",
        "ls )",
        "ls \\\nx",
        "l\\\ns",
        "ls\u{2003}x",
        "ls \u{7}",
        "ls\0",
        "ls\r",
        "a{x",
        "$x",
        "\\ls",
        "a <> b",
    ] {
        let parts = parse(line).parts;
        assert!(parts.iter().any(|part| part.doubt.is_some()), "{line:?}: {parts:?}");
    }
    let deep = format!("{}a{}", "(".repeat(300), ")".repeat(300));
    let long = "a ".repeat(LONGEST);
    let many = "a;".repeat(MOST_PARTS + 10);
    let launched = format!("{}a", "env ".repeat(300));
    let evaluated = format!("{}! if a", "eval ".repeat(300));
    for line in [deep, long, many, launched, evaluated] {
        let parts = parse(&line).parts;
        assert!(parts.len() <= MOST_PARTS + 1, "{}", parts.len());
        assert!(parts.iter().any(|part| part.doubt.is_some()));
    }
}

#[test]
fn patterns_compare_words() {
    use Fit::{Maybe, No, Yes};
    for (pattern, line, allows, catches) in [
        ("git status", "git status", true, Yes),
        ("git status", "git status -s", false, No),
        ("git status", "git -p status", false, No),
        ("git status", "git --exec-path=/tmp/h status", false, No),
        ("git log *", "git log -p", true, Yes),
        ("git log *", "git log", true, Yes),
        ("git * status", "git -p status", true, Yes),
        ("cp *", "cp -r a b", true, Yes),
        ("cp *", "cpanel-wipe --all", false, No),
        ("'cp*'", "cpanel-wipe --all", false, No),
        ("less *", "less /etc/hostname", true, Yes),
        ("rm *", "/bin/rm x", false, Yes),
        ("/bin/rm *", "/bin/rm x", true, Yes),
        ("/bin/rm *", "rm x", false, No),
        ("rm *", "rm $x", false, Yes),
        ("rm x", "rm $x", false, Maybe),
        ("rm x", "rm x $x", false, Maybe),
        ("rm x", "rm x y $x", false, No),
        ("git push --force", "git $x", false, Maybe),
        ("rm *", "$x y", false, Maybe),
        ("rm *", "ls $x", false, No),
        ("rm *", "rm -rf x; ls", false, Yes),
        ("env *", "env rm x", false, Yes),
        ("rm *", "A=b rm x", false, Yes),
        ("grep -n 'on.*load' app.js", "grep -n 'on.*load' app.js", true, Yes),
        ("grep -n 'on.*load' app.js", "grep -n 'on; load' app.js", false, No),
        ("> out/log", "> out/log", true, Yes),
        ("*", "ls", true, Yes),
        ("*", "> x", false, Yes),
        ("*", "f() { a; }", false, Yes),
    ] {
        let read = Pattern::parse(pattern).unwrap();
        let parts = parse(line).parts;
        let caught = parts.iter().map(|part| read.catches(part)).max();
        let allowed = parts.iter().all(|part| read.allows(part));
        assert_eq!((allowed, caught), (allows, Some(catches)), "{pattern} on {line}");
    }
    for wrong in ["", "  ", "cp*", "a; b", "ls > x | y", "'a", "'a'b", "a\"b\"", "$x", "`x`"] {
        assert!(Pattern::parse(wrong).is_err(), "{wrong}");
    }
    let said = Pattern::parse("cp*").unwrap_err();
    assert!(said.contains("write `cp *`"), "{said}");
}
