//! Secrets that a command is handed: it has them, nobody else does, and nothing keeps them.

use proofmark::base::secret::Secret;
use proofmark::journal::{Event, Outcome};
use serde_json::Value;

use crate::boxed::tool;
use crate::escape::host;
use crate::faults::scene::{Play, Played, ask, say};
use crate::spelled::{leaks, texts};

const HELD: &str = "credentials: {strategy: system, requiredSecrets: [KEY]}\n";

/// A shell script of the manifest's author, which has the secret in both ways.
fn script(mode: &str, files: bool, script: &str) -> String {
    let files = if files { ", secretFiles: {KEY_FILE: KEY}" } else { "" };
    // Braces of a template are doubled.
    let script = Value::from(script.replace('{', "{{").replace('}', "}}"));
    format!(
        "{HELD}sandbox: {{mode: {mode}}}\nexecution: {{adapter: cli, command: [sh, -c, {script}], \
         secretEnv: {{KEY: KEY}}{files}}}\n"
    )
}

fn played(sections: &str, canary: &Secret) -> Option<(Played, Outcome)> {
    let host = host()?;
    let rule = "schema: proofmark/rules@1\nrules:\n  - {id: free, decision: allow, \
         reason: it is ours, when: {tools: [tool.try]}, examples: [{tool: tool.try}]}\n";
    let script = vec![ask(&[("tool_try", "{}")]), say("done")];
    let played = Play {
        host: host.clone(),
        rules: rule,
        secrets: vec![("KEY", canary.clone())],
        ..Play::new(vec![tool(sections)], script)
    };
    let played = played.ends();
    let settled = played.journal.entries().iter().find_map(|entry| match &entry.event {
        Event::ToolCallSettled(fact) => Some(fact.outcome.clone()),
        _ => None,
    });
    Some((played, settled.unwrap()))
}

#[test]
fn a_command_has_its_secret_by_reference_and_nobody_else_does() {
    let canary = Secret::canary("handed", 1);
    let length = canary.expose().len();
    // The first process of the sandbox was told the value too: what it was told is no file that has
    // a name, and its memory is closed to others.
    let text = "echo in the variable ${#KEY}; echo in the file $(wc -c < \"$KEY_FILE\") \
         $(stat -c %a \"$KEY_FILE\") $(stat -c %a \"$(dirname \"$KEY_FILE\")\"); \
         test \"$KEY\" = \"$(cat \"$KEY_FILE\")\" && echo the same; \
         case \"$(cat /proc/[0-9]*/cmdline | tr '\\0' ' ')\" in *\"$KEY\"*) echo arguments tell;; \
         *sh*) echo arguments tell nothing;; esac; \
         unset KEY; echo others $(env -i sh -c 'cat /proc/1/environ 2>/dev/null | wc -c')";
    let sections = script("read_only", true, text);
    let Some((played, outcome)) = played(&sections, &canary) else { return };
    assert_eq!(outcome, Outcome::Succeeded);
    let said = format!("{:?}", played.transcript);
    for line in [
        &format!("in the variable {length}"),
        &format!("in the file {length} 600 700"),
        "the same",
        "arguments tell nothing",
        "others 0",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let bound = played.journal.entries().iter().position(
        |entry| matches!(&entry.event, Event::CredentialBound(fact) if fact.principal == "dev"),
    );
    let started = played.journal.entries().iter();
    let started =
        started.clone().position(|entry| matches!(entry.event, Event::ToolCallStarted(_)));
    assert!(bound.is_some() && bound < started);
    assert_eq!(leaks(&canary, &texts(&played)), Vec::<String>::new());
}

#[test]
fn what_a_command_says_of_its_secret_is_kept_nowhere_however_it_spells_it() {
    let ways = [
        "echo \"$KEY\"",
        "echo \"$KEY\" >&2; exit 3",
        "echo \"$KEY\" | base64",
        "printf %s \"$KEY\" | base64 | tr -d =",
        "printf 'u:%s' \"$KEY\" | base64 | tr '+/' '-_'",
        "printf %s \"$KEY\" | od -An -tx1 | tr -d ' \\n'",
        "printf %s \"$KEY\" | od -An -tx1 | tr -d ' \\n' | tr a-f A-F",
        "printf '{\"a\":\"%s\"}' \"$(printf %s \"$KEY\" | sed 's/-/\\\\u002d/g')\"",
        "printf '\\377\\330\\377 %s' \"$KEY\"",
        "echo x > \"$KEY\"",
        "mkdir -p d && printf %s \"$KEY\" > d/it && cp d/it own.txt",
        // Handed over in pieces, so that no read sees all of it.
        "printf %.9s \"$KEY\"; sleep 0.05; printf %s \"${KEY#?????????}\"",
        "yes \"$KEY\" | head -c 5000000",
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let canary = Secret::canary("handed", 10 + number);
        for mode in ["workspace_write", "none"] {
            let Some((played, _)) = played(&script(mode, false, way), &canary) else { return };
            assert_eq!(leaks(&canary, &texts(&played)), Vec::<String>::new(), "{mode}: {way}");
        }
    }
}
