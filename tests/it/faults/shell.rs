//! Command lines whose rules are got around: by another program, another spelling, another place.

use proofmark::runtime::catalog::Registry;
use proofmark::runtime::guard::AnswerScope;
use proofmark::runtime::policy::Rules;
use proofmark::tool::descriptor::Descriptor;
use serde_json::json;

use super::Row;
use super::record::{count, everything, outcomes, starts};
use super::scene::{Play, Played, ask, say, with_schema, yes};
use crate::delegates::{GOAL, helper};
use crate::tools::{dev, tool};

/// A tool whose argument is a command line; it runs nothing.
fn shell() -> Descriptor {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}},
        "required": ["command"]});
    let mut shell = with_schema("shell.run", "L2", schema, "");
    shell.permissions.shell_line = Some("command".to_owned());
    shell
}

/// Rules, each with its decision, its pattern and a line that it matches.
fn rules(list: &[(&str, &str, &str)]) -> &'static str {
    let rule = |(at, (decision, pattern, example)): (usize, &(&str, &str, &str))| {
        json!({"id": format!("r{at}"), "decision": decision, "reason": "said so",
            "when": {"commands": [pattern]},
            "examples": [{"tool": "shell.run", "args": {"command": example}}]})
    };
    let rules: Vec<_> = list.iter().enumerate().map(rule).collect();
    let text = json!({"schema": "proofmark/rules@1", "rules": rules}).to_string();
    Box::leak(text.into_boxed_str())
}

/// Why rules are not taken.
fn refused(list: &[(&str, &str, &str)]) -> String {
    let registry = Registry::new(vec![shell()]).unwrap();
    let read = Rules::parse("rules", rules(list), &registry, &dev(""));
    read.unwrap_err().iter().map(ToString::to_string).collect()
}

fn play(shell: Descriptor, rules: &'static str, lines: &[&str]) -> Play {
    let mut script: Vec<_> = lines
        .iter()
        .map(|line| ask(&[("shell_run", &json!({"command": line}).to_string())]))
        .collect();
    script.push(say("ok"));
    Play { rules, ..Play::new(vec![shell], script) }
}

fn run_in(shell: Descriptor, rules: &'static str, line: &str) -> Played {
    play(shell, rules, &[line]).ends()
}

/// What becomes of lines: `runs` on policy's word alone, `asks`, `denied` by policy.
#[track_caller]
fn check(list: &[(&str, &str, &str)], lines: &[(&str, &str)]) {
    for (line, expected) in lines {
        let played = run_in(shell(), rules(list), line);
        let asked = count(&played.journal, "ApprovalRequested");
        let end = match (outcomes(&played.journal)[0].as_str(), asked) {
            ("shell_run succeeded", 0) => "runs",
            ("shell_run denied:no_approver", 1) => "asks",
            ("shell_run denied:policy", 0) => "denied",
            (other, _) => panic!("{line}: {other}"),
        };
        assert_eq!(end, *expected, "{line}: {}", everything(&played.journal));
        assert_eq!(starts(&played.journal, 0), usize::from(end == "runs"), "{line}");
    }
}

pub const ROWS: &[Row] = &[
    ("B065", || {
        check(
            &[("allow", "tail *", "tail -n 1 a.txt")],
            &[
                ("tail -n 1 a.txt", "runs"),
                ("./tail -n 1 a.txt", "asks"),
                ("bin/tail a.txt", "asks"),
                ("/tmp/tail a.txt", "asks"),
                ("/usr/bin/tail a.txt", "asks"),
            ],
        );
    }),
    ("B066", || {
        check(
            &[("allow", "git status", "git status")],
            &[
                ("git status", "runs"),
                ("git --exec-path=/tmp/h status", "asks"),
                ("git --git-dir=/tmp/h --work-tree=. status", "asks"),
                ("git -c core.fsmonitor=./x status", "asks"),
                ("GIT_DIR=/tmp/h git status", "asks"),
            ],
        );
    }),
    ("B067", || {
        let list = [("allow", "git status", "git status"), ("allow", "git log *", "git log")];
        check(&list, &[("git -p status", "asks"), ("git log -p", "runs"), ("git log", "runs")]);
    }),
    ("B071", || {
        let list = [("allow", "printf *", "printf hi"), ("allow", "sh *", "sh --x; printf")];
        assert!(refused(&list).contains("does not match its example"), "no shell is allowed");
        let lines = [
            ("printf hi", "runs"),
            ("printf hi >(sh -c 'touch /tmp/owned')", "asks"),
            ("printf hi <(printf x)", "asks"),
            ("printf \"$(touch owned)\"", "asks"),
            ("printf -v PATH x", "asks"),
        ];
        check(&list[..1], &lines);
    }),
    ("B072", || {
        // A rule that would allow a script of the workspace never holds, so it is not taken.
        let list = [("allow", "./run.sh *", "./run.sh 'rm keep.txt'")];
        assert!(refused(&list).contains("does not match its example"));
        for line in ["./run.sh 'rm keep.txt'", "sh run.sh", ". ./run.sh", "python3 run.py"] {
            check(&[("allow", "*", "ls")], &[(line, "asks")]);
        }
    }),
    ("B074", || {
        let list = [
            ("allow", "env *", "env"),
            ("allow", "ls *", "ls"),
            ("allow", "find *", "find . -name a"),
            ("deny", "rm *", "sudo rm x"),
        ];
        check(
            &list,
            &[
                ("env sh -c 'id > /tmp/owned'", "asks"),
                ("env ls -l", "runs"),
                ("env A=b ls", "asks"),
                ("nice nohup timeout 5 ls", "runs"),
                ("ls | xargs touch", "asks"),
                ("sudo ls", "asks"),
                ("find . -exec ls {} +", "asks"),
                ("find . -delete", "asks"),
                ("nice -n 5 rm x", "denied"),
                ("ls | xargs -n1 rm", "denied"),
                ("find . -exec rm {} \\;", "denied"),
                ("sh -c \"env rm x\"", "denied"),
            ],
        );
    }),
    ("B076", || {
        let list = [("allow", "ls *", "ls"), ("allow", "stat *", "stat a")];
        check(
            &list,
            &[
                ("tail -2 k.log 2>/dev/null || true", "asks"),
                ("ls 2>/dev/null || stat a", "runs"),
                ("ls > out.txt", "asks"),
                ("ls; stat a; id", "asks"),
            ],
        );
    }),
    ("B077", || {
        let why = refused(&[("allow", "cp*", "cp a b")]);
        assert!(why.contains("`*` stands for whole words: write `cp *`"), "{why}");
        let list = [("allow", "cp *", "cp -r a b")];
        check(&list, &[("cpanel-wipe --all", "asks"), ("cp -r a b", "runs"), ("cp", "runs")]);
    }),
    ("B078", || {
        let first = "grep -n \"on.*load\" app.js";
        let later = "grep -n \"on; cat ~/.ssh/id; load\" app.js";
        let answers = vec![("shell.run", yes(AnswerScope::Always))];
        let play = Play { answers, ..play(shell(), "", &[first, later, first]) };
        let played = play.run();
        let ends = outcomes(&played.journal);
        assert_eq!(ends[..2], ["shell_run succeeded", "shell_run denied:no_approver"]);
        assert_eq!(count(&played.journal, "GrantIssued"), 0, "no answer covers another line");
        let record = everything(&played.journal);
        assert!(record.contains("\"options\":[\"once: this call with these arguments\",\"no\""));
        // And where an author writes it down, a star in quotes is a star.
        let list = [("allow", "grep -n 'on.*load' app.js", first)];
        check(&list, &[(first, "runs"), (later, "asks"), ("grep -n onload app.js", "asks")]);
    }),
    ("B140", || {
        check(
            &[("deny", "less *", "less a"), ("allow", "*", "ls")],
            &[
                ("less todo.txt", "denied"),
                ("less /etc/hostname", "denied"),
                ("/usr/bin/less todo.txt", "denied"),
                ("ls && l'es's x", "denied"),
                // What may be the program and what may not.
                ("$PAGER todo.txt", "asks"),
                ("ls", "runs"),
            ],
        );
    }),
    ("B143", || {
        // The sandbox hides the file; a folder that holds it is a folder like others.
        let mut hiding = shell();
        hiding.sandbox.filesystem.blocked_paths = vec!["./local.ini".to_owned()];
        let list = rules(&[("allow", "grep *", "grep a b"), ("allow", "> *", "> a")]);
        for (line, end) in [
            ("grep -r remember .", "succeeded"),
            ("grep -r remember . > found.txt", "succeeded"),
            ("grep remember < local.ini", "denied:policy"),
            ("grep remember . > x/../local.ini", "denied:policy"),
            ("grep remember . > ../local.ini", "denied:policy"),
            ("grep remember . > /etc/passwd", "denied:policy"),
        ] {
            let played = run_in(hiding.clone(), list, line);
            assert_eq!(outcomes(&played.journal), [format!("shell_run {end}")], "{line}");
            assert_eq!(count(&played.journal, "ApprovalRequested"), 0, "{line}");
        }
    }),
    ("B243", || {
        // Steps in the arguments of a tool are data: nothing but the tool itself starts.
        let steps = "{\"path\": \"shell.run {command: id}\"}";
        let script = vec![ask(&[("run_steps", steps)]), say("ok")];
        let play = Play::new(vec![tool("run.steps", "L2", ""), shell()], script);
        let played = Play { excluded: &["shell.run"], ..play }.ends();
        assert_eq!(outcomes(&played.journal), ["run_steps succeeded"]);
        assert_eq!(count(&played.journal, "ToolCallStarted"), 1);
        // Whoever calls others for somebody is a delegate: each of its calls goes the same way, and
        // it has no tool that its caller has not.
        let helper = helper("shell.run, mail.send", "");
        let script = vec![ask(&[GOAL]), say("ok")];
        let calls = [("shell_run", "{\"command\": \"id\"}"), ("mail_send", "{}")];
        let agents = vec![("helper", vec![ask(&calls), say("done")])];
        let tools = vec![helper, shell(), tool("mail.send", "L4", "")];
        let play = Play { excluded: &["shell.run"], agents, ..Play::new(tools, script) };
        let mut session = play.open(&|_| unreachable!("no hooks"));
        super::scene::runtime().block_on(session.turn("do it".to_owned()));
        let [child] = session.children() else { panic!("one helper") };
        let ends = ["shell_run unavailable:excluded", "mail_send denied:no_approver"];
        assert_eq!(outcomes(child), ends);
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

#[test]
fn the_question_names_every_part_and_why_it_is_asked() {
    let list = [("allow", "ls *", "ls"), ("strong_ask", "git push *", "git push")];
    let played = run_in(shell(), rules(&list), "ls src && git push origin; rm $x > log");
    let record = everything(&played.journal);
    for reason in [
        "`ls src`: rule r0: said so",
        "`git push origin`: rule r1: said so",
        "`rm $x`: no rule allows it",
        "`> log`: no rule allows it",
    ] {
        assert!(record.contains(reason), "{reason}: {record}");
    }
    assert!(record.contains("\"reason\":\"`git push origin`"));
}

#[test]
fn a_line_that_is_not_logged_leaves_no_part() {
    let mut quiet = shell();
    quiet.observability.log_args = false;
    let played = run_in(quiet, "", "ls hidden-name");
    let record = everything(&played.journal);
    assert!(!record.contains("hidden-name"), "{record}");
    assert!(record.contains("part 1: no rule allows it"));
}
