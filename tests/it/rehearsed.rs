//! What whoever confirms a call is shown, and that it is found again before the call starts: for
//! file tools, and for programs in a real sandbox.

use std::collections::BTreeMap;

use proofmark::base::secret::Secret;
use proofmark::journal::Event;
use proofmark::runtime::exec::Workspace;
use proofmark::runtime::guard::{AnswerScope, Verdict};
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::manifest;
use serde_json::json;

use crate::escape::host;
use crate::faults::scene::{Play, Played, ask, say};

const YES: Verdict = Verdict::Yes { strong: true, scope: AnswerScope::Once };

fn tool(id: &str, action: &str, effects: &str, sections: &str) -> Descriptor {
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: {id}\ndescription: {{summary: Does {id}.}}\n\
         intent: {{actionTypes: [{action}]}}\nschemas: {{inputSchema: {{type: object, properties: \
         {{path: {{type: string}}, content: {{type: string}}, find: {{type: string}}, replace: \
         {{type: string}}, dry_run: {{type: boolean}}}}}}}}\n\
         effects: {{reads: ['workspace:**'], writes: ['workspace:**']{effects}}}\n{sections}"
    );
    manifest::parse(id, &text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

const DELETES: &str = ", deletes: ['workspace:**'], dryRunSupported: true";

fn file(id: &str, action: &str, more: &str) -> Descriptor {
    let effects = if action == "delete" { DELETES } else { "" };
    let sections = format!(
        "sandbox: {{mode: workspace_write}}\nexecution: {{adapter: 'builtin:{id}'}}\n{more}"
    );
    tool(id, action, effects, &sections)
}

fn program(command: &str) -> Descriptor {
    let sections = format!(
        "sandbox: {{mode: workspace_write}}\nexecution: {{adapter: cli, command: {command}}}\n"
    );
    tool("tool.remove", "delete", DELETES, &sections)
}

fn play(tools: Vec<Descriptor>, calls: &[(&str, &str)], files: &[(&str, &str)]) -> Play {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    Play {
        workspace: Workspace::new(files.collect::<BTreeMap<_, _>>()),
        ..Play::new(tools, vec![ask(calls), say("done")])
    }
}

/// What was kept of the rehearsals, `None` where only their names were; and how the calls ended.
fn left(played: &Played) -> (Vec<Option<String>>, Vec<&'static str>) {
    let (mut shown, mut ends) = (Vec::new(), Vec::new());
    for entry in played.journal.entries() {
        match &entry.event {
            Event::ApprovalRequested(fact) => {
                let name = fact.rehearsal.as_ref().expect("it is rehearsed");
                shown.push(played.journal.blobs().get(name).map(|text| text.to_string()));
            }
            Event::ToolCallSettled(fact) => ends.push(fact.outcome.name()),
            _ => {}
        }
    }
    (shown, ends)
}

/// A file of many lines, of which one in the middle says this.
fn long(middle: &str) -> String {
    let lines = |from: usize| (from..from + 400).map(|at| format!("line number {at}\n"));
    lines(0).chain([format!("{middle}\n")]).chain(lines(400)).collect()
}

#[test]
fn a_change_that_what_is_shown_leaves_out_is_noticed() {
    let tools = || vec![file("file.write", "write", ""), file("file.delete", "delete", "")];
    for (content, end) in [(long("keep"), "succeeded"), (long("else"), "denied")] {
        let write = json!({"path": "a.txt", "content": content}).to_string();
        let calls = [("file_write", write.as_str()), ("file_delete", r#"{"path":"a.txt"}"#)];
        let played = Play {
            answers: vec![("file.delete", YES)],
            ..play(tools(), &calls, &[("a.txt", &long("keep"))])
        };
        assert_eq!(left(&played.ends()).1, ["succeeded", end]);
    }
}

#[test]
fn no_part_of_a_secret_is_in_a_rehearsal_wherever_it_stands() {
    let secret = "hunter2-hunter2-hunter2";
    // One place for each way in which what is shown can be cut.
    for before in (2_000..3_200).step_by(7) {
        let text = format!("{}{secret}{}\n", "x".repeat(before), "y".repeat(6_000));
        let played = Play {
            answers: vec![("file.delete", YES)],
            secrets: vec![("KEY", Secret::new(secret))],
            ..play(
                vec![file("file.delete", "delete", "")],
                &[("file_delete", r#"{"path":"a.txt"}"#)],
                &[("a.txt", &text)],
            )
        };
        let (shown, ends) = left(&played.ends());
        let shown = shown[0].as_ref().unwrap();
        assert!(shown.contains("[redacted]") && !shown.contains("hunter"), "{before}");
        assert_eq!(ends, ["succeeded"]);
    }
}

#[test]
fn what_is_not_logged_is_not_logged_as_a_rehearsal_either() {
    let quiet = "observability: {logResultPreview: false}\n";
    for (more, kept) in [("", true), (quiet, false)] {
        let played = Play {
            answers: vec![("file.delete", YES)],
            ..play(
                vec![file("file.delete", "delete", more)],
                &[("file_delete", r#"{"path":"a.txt"}"#)],
                &[("a.txt", "private")],
            )
        };
        assert_eq!(left(&played.ends()).0[0].is_some(), kept, "{more}");
    }
}

#[test]
fn a_patch_that_would_fail_says_so() {
    let asked = "permissions: {approvalPolicy: always}\n";
    let calls = [("file_patch", r#"{"path":"a.txt","find":"b","replace":"c"}"#)];
    for (text, expected) in [
        ("a", "the rehearsal failed: `find` occurs 0 times"),
        ("b b", "the rehearsal failed: `find` occurs 2 times"),
        ("b", "+c"),
    ] {
        let played = Play {
            answers: vec![("file.patch", YES)],
            ..play(vec![file("file.patch", "patch", asked)], &calls, &[("a.txt", text)])
        };
        let shown = left(&played.ends()).0.remove(0).unwrap();
        assert!(shown.contains(expected), "{text}: {shown}");
    }
}

#[test]
fn a_program_is_rehearsed_where_it_can_change_nothing() {
    let Some(host) = host() else { return };
    let check = |command: &str, said: Verdict, expected: &str, end: &str| {
        let cat =
            "sandbox: {mode: read_only}\nexecution: {adapter: cli, command: [cat, '{path}']}\n";
        let reader = tool("tool.look", "read", "", cat);
        let args = r#"{"path":"own.txt"}"#;
        let played = Play {
            host: host.clone(),
            answers: vec![("tool.remove", said)],
            ..play(
                vec![program(command), reader],
                &[("tool_remove", args), ("tool_look", args)],
                &[("own.txt", "still here")],
            )
        }
        .ends();
        let (shown, ends) = left(&played);
        let shown = shown[0].as_ref().unwrap();
        assert!(shown.contains(expected), "{command}: {shown}");
        assert_eq!(ends[0], end, "{command}");
        format!("{:?}", played.transcript).contains("still here")
    };
    // One that does not know its dry run and removes the file all the same: it cannot.
    let removes = "[rm, '{path}']";
    let no = Verdict::No { reason: "keep it".to_owned() };
    assert!(check(removes, no, "the rehearsal failed: exit_status", "denied"), "it is there");
    assert!(!check(removes, YES, "the rehearsal failed: exit_status", "succeeded"), "it is gone");
    assert!(check("[echo, would, go, '{path}']", YES, "would go own.txt", "succeeded"));
}
