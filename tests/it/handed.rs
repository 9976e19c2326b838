//! Secrets that a command is handed: it has them, nobody else does, and nothing keeps them.

use std::fs;
use std::path::Path;

use proofmark::base::secret::{CANARY_PREFIX, Secret};
use proofmark::journal::{Event, Outcome};
use serde_json::Value;

use crate::boxed::tool;
use crate::command::{json, proofmark};
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

/// Ways in which a shell gives its secret away.
const WAYS: [&str; 15] = [
    "echo \"$KEY\"",
    "echo \"$KEY\" >&2; exit 3",
    "echo \"$KEY\" | base64",
    "printf %s \"$KEY\" | base64 | tr -d =",
    "printf 'u:%s' \"$KEY\" | base64 | tr '+/' '-_'",
    "printf %s \"$KEY\" | od -An -tx1 | tr -d ' \\n'",
    "printf %s \"$KEY\" | od -An -tx1 | tr -d ' \\n' | tr a-f A-F",
    "printf %s \"$KEY\" | sed 's/-/%2D/g'",
    "printf %s \"$KEY\" | sed 's/-/%2d/'",
    "printf '{\"a\":\"%s\"}' \"$(printf %s \"$KEY\" | sed 's/-/\\\\u002d/g')\"",
    "printf '\\377\\330\\377 %s' \"$KEY\"",
    "echo x > \"$KEY\"",
    "mkdir -p d && printf %s \"$KEY\" > d/it && cp d/it own.txt",
    // Handed over in pieces, so that no read sees all of it.
    "printf %.9s \"$KEY\"; sleep 0.05; printf %s \"${KEY#?????????}\"",
    "yes \"$KEY\" | head -c 5000000",
];

#[test]
fn what_a_command_says_of_its_secret_is_kept_nowhere_however_it_spells_it() {
    for (number, way) in WAYS.into_iter().enumerate() {
        let canary = Secret::canary("handed", 10 + number);
        for mode in ["workspace_write", "none"] {
            let Some((played, _)) = played(&script(mode, false, way), &canary) else { return };
            assert_eq!(leaks(&canary, &texts(&played)), Vec::<String>::new(), "{mode}: {way}");
        }
    }
}

/// Every file below a folder as text, bytes that are none replaced.
fn files(folder: &Path, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, into);
        } else {
            into.push(String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
        }
    }
}

/// The program plants a canary for every name in every trial; a suite's commands are handed them
/// too, and nothing of one is in a report, or said.
#[test]
fn no_report_of_a_suite_whose_commands_give_everything_away_says_any_of_it() {
    if host().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join("suites/s").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "suite.yaml",
        "schema: proofmark/suite@1\nname: s\ntools: [tools/]\ncases: [cases.yaml]\n\
         principal: {id: dev, scopes: [workspace_write]}\nproviders: [scripted]\n\
         credentials: [KEY]\n",
    );
    let mut cases = "schema: proofmark/cases@1\ncases:\n".to_owned();
    for (number, way) in WAYS.into_iter().enumerate() {
        let sections = script("workspace_write", true, way);
        write(
            &format!("tools/{number}.yaml"),
            &format!(
                "schema: proofmark/tool@1\ntoolId: way.n{number}\ndescription: {{summary: Way \
                 {number}.}}\nintent: {{actionTypes: [write]}}\nschemas: {{inputSchema: {{type: \
                 object}}}}\neffects: {{reads: ['workspace:**'], writes: ['workspace:**']}}\n\
                 {sections}"
            ),
        );
        cases.push_str(&format!(
            "  - id: way-{number}\n    prompt: Do it.\n    script:\n      - reply: {{calls: \
             [{{name: way.n{number}, arguments: {{}}}}]}}\n      - reply: {{text: Done.}}\n    \
             expect: {{calls: [{{tool: way.n{number}}}]}}\n"
        ));
    }
    write("cases.yaml", &cases);
    let report = json(folder.path(), &["run", "s", "--format", "json"]);
    assert!([0, 1].contains(&report["exitCode"].as_i64().unwrap()), "{report:#}");
    let broken = format!("{:?}", report["laws"]);
    assert!(!broken.contains("canary"), "{broken}");
    let shown = proofmark(folder.path(), &["show", "way-0"]);
    let mut texts = vec![report.to_string(), String::from_utf8_lossy(&shown.stdout).into_owned()];
    files(&folder.path().join("reports"), &mut texts);
    assert!(texts.len() > 5 && texts.iter().any(|text| text.contains("CredentialBound")));
    let planted = Secret::new(CANARY_PREFIX);
    let leaked = leaks(&planted, &texts);
    assert!(leaked.is_empty(), "{}", leaked[0]);
}
