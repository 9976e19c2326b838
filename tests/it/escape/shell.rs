//! Command lines that want to be more than what is allowed. Under rules that allow much, each is
//! asked about or denied; and run by the shell it leaves a file behind, or there were nothing to
//! ask about.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use proofmark::runtime::catalog::Registry;
use proofmark::runtime::policy::{Decision, Rules, decide};
use proofmark::runtime::sandbox::host::Host;
use proofmark::runtime::sandbox::{Ground, plan};
use proofmark::tool::descriptor::{Descriptor, SandboxMode};
use proofmark::tool::id::ToolId;
use proofmark::tool::manifest;
use serde_json::json;

use super::scene::host;
use crate::faults::record::{everything, outcomes};
use crate::faults::scene::{Play, ask, say, yes};
use crate::tools::dev;

const SHELL: &str = "schema: proofmark/tool@1\ntoolId: shell.run\ndescription: {summary: Run a \
                     command line.}\nintent: {actionTypes: [execute]}\nschemas: {inputSchema: \
                     {type: object, properties: {command: {type: string}}, required: [command]}}\n\
                     effects: {reads: ['workspace:**'], writes: ['workspace:**']}\nsandbox: {mode: \
                     workspace_write}\nexecution: {adapter: 'builtin:shell'}\n";

fn shell() -> Descriptor {
    manifest::parse("shell", SHELL).unwrap()
}

/// What the rules allow, as an author might write it who trusts these programs.
const ALLOWED: [&str; 14] = [
    "echo *",
    "ls *",
    "cat *",
    "printf *",
    "true",
    "env *",
    "xargs *",
    "find *",
    "nice *",
    "command *",
    "cd *",
    "test *",
    "head *",
    "sort *",
];

fn rules(registry: &Registry) -> Rules {
    let list: Vec<_> = ALLOWED
        .iter()
        .map(|pattern| {
            let example = pattern.trim_end_matches(" *");
            json!({"id": example, "decision": "allow", "reason": "it is harmless",
                "when": {"commands": [pattern]},
                "examples": [{"tool": "shell.run", "args": {"command": example}}]})
        })
        .collect();
    let text = json!({"schema": "proofmark/rules@1", "rules": list}).to_string();
    Rules::parse("rules", &text, registry, &dev("workspace_write")).unwrap()
}

/// Whether `/bin/sh` makes the file of this line.
fn makes(line: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    for name in ["ls", "own"] {
        let own = folder.path().join(name);
        std::fs::write(&own, "#!/bin/sh\n: > pwned\n").unwrap();
        std::fs::set_permissions(own, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut wanted = Command::new("/bin/sh");
    wanted.args(["-c", "--", line]).current_dir(folder.path());
    wanted.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    wanted.status().unwrap();
    folder.path().join("pwned").exists()
}

/// Each makes a file that no rule allows.
const ATTEMPTS: &[&str] = &[
    // Another command.
    "echo a; touch pwned",
    "echo a & touch pwned",
    "echo a\ntouch pwned",
    "false || touch pwned",
    "echo a | tee pwned",
    "(touch pwned)",
    "{ touch pwned; }",
    "! touch pwned",
    "if true; then touch pwned; fi",
    "for i in a; do touch pwned; done",
    "while true; do touch pwned; break; done",
    "case a in *) touch pwned;; esac",
    // Substitutions.
    "echo $(touch pwned)",
    "echo `touch pwned`",
    "echo \"$(touch pwned)\"",
    "echo \"a`touch pwned`\"",
    "echo ${x:-$(touch pwned)}",
    "echo $((1 + $(touch pwned; echo 1)))",
    "for i in $(touch pwned); do echo; done",
    "case $(touch pwned) in *) true;; esac",
    "x=$(touch pwned)",
    "cat < $(touch pwned; echo own)",
    // Here-documents.
    "cat <<E\n$(touch pwned)\nE",
    "cat <<E\n`touch pwned`\nE",
    "cat <<\"E\" | sh\ntouch pwned\nE",
    "sh <<'E'\ntouch pwned\nE",
    "cat <<E; touch pwned\nx\nE",
    "env <<E touch pwned\nx\nE",
    "cat <<E\nx\nE\ntouch pwned",
    "cat <<'E F'\nx\nE F\ntouch pwned",
    "cat <<%%\né\necho '\n%%\ntouch pwned\n#'",
    // Redirections.
    "echo a > pwned",
    "echo a >> pwned",
    "echo a >| pwned",
    "> pwned echo a",
    "> pwned",
    "echo a > \"pwned\"",
    "echo a > x > pwned",
    "echo > /dev/null touch; env > /dev/null touch pwned",
    // Quoting.
    "'touch' pwned",
    "t\"ou\"ch pwned",
    "\\touch pwned",
    "to\\\nuch pwned",
    "$(echo touch) pwned",
    "x=touch; $x pwned",
    "echo 'a' \"b\"; \"touch\" 'pwned'",
    "echo \"a\\\"; touch pwned; \"\ntouch pwned",
    "echo a#; touch pwned",
    "echo a \\# ; touch pwned",
    // Text that is run later.
    "eval 'touch pwned'",
    "eval echo a '&&' touch pwned",
    "trap 'touch pwned' EXIT",
    "alias echo='touch pwned #'\necho a",
    ". ./own",
    "echo() { touch pwned; }; echo a",
    "command eval 'touch pwned'",
    // Launchers.
    "env touch pwned",
    "env -i touch pwned",
    "env -S 'touch pwned'",
    "nice -n 5 env touch pwned",
    "echo pwned | xargs touch",
    "echo touch pwned | xargs env",
    "xargs -I{} touch {} <<E\npwned\nE",
    "timeout 5 touch pwned",
    "exec touch pwned",
    "command touch pwned",
    "command -p touch pwned",
    "find . -maxdepth 0 -exec touch pwned ';'",
    "find . -maxdepth 0 -exec sh -c 'touch pwned' \\;",
    "find . -maxdepth 0 -fprint pwned",
    "sh -c 'touch pwned'",
    "sh -c \"echo a; touch pwned\"",
    "echo 'touch pwned' | sh",
    "sh own",
    "python3 -c 'open(\"pwned\", \"w\")'",
    "perl -e 'open(F, \">pwned\")'",
    "awk 'BEGIN { print > \"pwned\" }'",
    // Another program under an allowed name.
    "./ls",
    "PATH=. ls",
    "PATH=.; ls",
    "export PATH=.; ls",
    "for PATH in .; do ls; done",
    ": ${x:=1}; read PATH <<E\n.\nE\nls",
    "env PATH=. ls",
    "cd .; ./own",
];

#[test]
fn no_line_does_more_than_its_rules_allow() {
    let registry = Registry::new(vec![shell()]).unwrap();
    let tool = registry.get(&ToolId::parse("shell.run").unwrap()).unwrap();
    let (rules, principal) = (rules(&registry), dev("workspace_write"));
    let decided = |line: &str| {
        decide(tool, &json!({"command": line}), &principal, &rules).decision == Decision::Allow
    };
    for line in [
        "echo a && ls -l | head -n 3",
        "cd src; cat 'a b' \"c\" 2> /dev/null || true",
        "nice env ls",
        "if test -f a; then cat a; else echo none; fi",
        "cat <<'E'\n$(touch pwned)\nE",
    ] {
        assert!(decided(line), "{line} is what the rules allow");
        assert!(!makes(line), "{line}");
    }
    let mut wrong = Vec::new();
    for line in ATTEMPTS {
        if decided(line) {
            wrong.push(format!("{line}: it is allowed"));
        }
        if !makes(line) {
            wrong.push(format!("{line}: it makes nothing anyway"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What becomes of a line that a person allows, on a machine.
fn ran(host: &Host, shell: Descriptor, line: &str) -> (String, String) {
    let script = vec![ask(&[("shell_run", &json!({"command": line}).to_string())]), say("done")];
    let answers = vec![("shell.run", yes(Default::default()))];
    let play = Play { answers, host: host.clone(), ..Play::new(vec![shell], script) };
    let played = play.ends();
    (outcomes(&played.journal).concat(), everything(&played.journal))
}

#[test]
fn a_line_that_was_allowed_runs_in_the_sandbox_and_nowhere_else() {
    let mut free = shell();
    free.sandbox.mode = SandboxMode::None;
    let refusal = plan(&free, Ground::bare(&Host::default())).unwrap_err().to_string();
    assert_eq!(refusal, "sandbox mode none cannot be enforced for builtin:shell");
    let (end, _) = ran(&Host::default(), shell(), "echo hello");
    assert_eq!(end, "shell_run unavailable:withheld");
    let Some(host) = host() else { return };
    let check = |line: &str, end: &str, said: &str| {
        let (found, record) = ran(host, shell(), line);
        assert_eq!(found, format!("shell_run {end}"), "{line}: {record}");
        assert!(record.contains(said), "{line}: {record}");
    };
    check("echo one > a; cat a | tr a-z A-Z", "succeeded", "ONE");
    check("-x || echo 'not an option'", "succeeded", "not an option");
    check("exit 3", "failed:exit_status", "exit status: 3");
    check("cat /etc/shadow", "failed:exit_status", "shadow");
    check("touch /usr/x || echo held", "succeeded", "held");
    check("sleep 30 & echo gone", "succeeded", "gone");
}

#[test]
fn the_file_a_line_runs_is_part_of_what_was_allowed() {
    let registry = Registry::new(vec![shell()]).unwrap();
    let tool = registry.get(&ToolId::parse("shell.run").unwrap()).unwrap();
    let args = json!({"command": "sh ./build.sh --fast 'a b' < in | tee $x out"});
    let files = tool.operands(&args);
    for file in ["./build.sh", "a b", "in", "out"] {
        assert!(files.iter().any(|one| one == file), "{file}: {files:?}");
    }
    assert!(!files.iter().any(|one| one.starts_with('-')), "{files:?}");
}
