//! A call is taken back by another one, with real files.

use std::fs;
use std::path::PathBuf;

use proofmark::journal::{Event, Journal};
use proofmark::runtime::BoxFuture;
use proofmark::runtime::exec::Workspace;
use proofmark::runtime::guard::{Answer, ApprovalRequest, Approver, Verdict};
use proofmark::runtime::provider::scripted::say;
use proofmark::runtime::session::{Parts, Session};
use proofmark::runtime::turn::TurnEnd;
use proofmark::runtime::undo::UndoRefusal;
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::manifest;
use proofmark::tool::undo::claims;

use crate::played::{Play, broken, calls, key, outcomes, run, step, yes};
use crate::tools::tool;

fn file_tools() -> Vec<Descriptor> {
    let of = |id: &str, action: &str, properties: &str, effects: &str| {
        let text = format!(
            "schema: proofmark/tool@1\ntoolId: {id}\ndescription: {{summary: Does {id}.}}\n\
             intent: {{actionTypes: [{action}]}}\nschemas: {{inputSchema: {{type: object, \
             properties: {{path: {{type: string}}, {properties}}}, required: [path]}}}}\n\
             effects: {{reads: ['workspace:**'], writes: ['workspace:**'], {effects} \
             reversible: true}}\nsandbox: {{mode: workspace_write}}\n\
             execution: {{adapter: 'builtin:{id}'}}\n"
        );
        manifest::parse(id, &text).unwrap_or_else(|problems| panic!("{problems:?}"))
    };
    vec![
        of("file.write", "write", "content: {type: string}", ""),
        of("file.patch", "patch", "find: {type: string}, replace: {type: string}", ""),
        of(
            "file.delete",
            "delete",
            "dry_run: {type: boolean}",
            "deletes: ['workspace:**'], dryRunSupported: true,",
        ),
    ]
}

/// A session that made these calls, with the folder in which it acts.
fn after(list: &[(&str, &str)], more: impl FnOnce(&mut Play)) -> (Session, PathBuf) {
    let mut play = Play::new(file_tools(), vec![calls(list), step(say("Done."))]);
    play.files = [("a.txt".to_owned(), "one\n".to_owned())].into();
    play.answers = vec![("file.delete", yes()), ("file.delete", yes()), ("file.delete", yes())];
    more(&mut play);
    let mut workspace = Workspace::new(play.files.clone());
    let root = workspace.root().unwrap();
    let mut session = Session::open(Parts { workspace, ..play.parts() });
    assert_eq!(run(session.turn("do it".to_owned())), TurnEnd::FinalText);
    (session, root)
}

/// The calls that were requested, oldest first.
fn requested(journal: &Journal) -> Vec<String> {
    let asked = journal.entries().iter().filter_map(|entry| match &entry.event {
        Event::ToolCallRequested(_) => entry.call.as_ref().map(ToString::to_string),
        _ => None,
    });
    asked.collect()
}

/// Takes the last call back, and checks that this was lawful. Its outcome.
fn undo_last(session: &mut Session) -> &'static str {
    let call = requested(session.journal()).pop().unwrap();
    assert_eq!(run(session.undo(&call)), Ok(TurnEnd::Direct));
    assert_eq!(broken(session.journal(), &key()), Vec::<String>::new());
    outcomes(session.journal()).last().unwrap()
}

fn check(call: (&str, &str), changed: Option<&str>) {
    let (mut session, root) = after(&[call], |_| {});
    let read = |name: &str| fs::read_to_string(root.join(name)).ok();
    let file = if call.1.contains("new.txt") { "new.txt" } else { "a.txt" };
    let before = (file == "a.txt").then_some("one\n");
    assert_eq!(read(file).as_deref(), changed, "{call:?}");
    assert_eq!(undo_last(&mut session), "succeeded");
    assert_eq!(read(file).as_deref(), before, "{call:?} was taken back");
    assert_eq!(undo_last(&mut session), "succeeded");
    assert_eq!(read(file).as_deref(), changed, "the undo of {call:?} was taken back");
    let by: Vec<String> = session
        .journal()
        .entries()
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::ToolCallRequested(fact) => fact.proposed_by.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(by, ["model", "system", "system"]);
}

#[test]
fn files_are_as_they_were() {
    check(("file_write", r#"{"path":"a.txt","content":"two"}"#), Some("two"));
    check(("file_write", r#"{"path":"new.txt","content":"two"}"#), Some("two"));
    check(("file_patch", r#"{"path":"a.txt","find":"one","replace":"1"}"#), Some("1\n"));
    check(("file_delete", r#"{"path":"a.txt"}"#), None);
}

const WRITE: (&str, &str) = ("file_write", r#"{"path":"a.txt","content":"two"}"#);

#[test]
fn what_changed_since_is_not_lost() {
    let (mut session, root) = after(&[WRITE], |_| {});
    fs::write(root.join("a.txt"), "by hand").unwrap();
    assert_eq!(undo_last(&mut session), "denied");
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "by hand");
    let why = session.journal().entries().iter().rev().find_map(|entry| match &entry.event {
        Event::ToolPolicyChecked(fact) => Some(fact.reason.clone()),
        _ => None,
    });
    assert!(why.unwrap().starts_with("a.txt has changed since call_"));
    let (mut session, root) = after(&[WRITE], |_| {});
    fs::remove_file(root.join("a.txt")).unwrap();
    assert_eq!(undo_last(&mut session), "denied");
    let (mut session, root) = after(&[("file_delete", r#"{"path":"a.txt"}"#)], |_| {});
    fs::write(root.join("a.txt"), "a new one").unwrap();
    assert_eq!(undo_last(&mut session), "denied");
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "a new one");
}

#[test]
fn an_undo_goes_through_every_guard() {
    let new = ("file_write", r#"{"path":"new.txt","content":"x"}"#);
    let no = |play: &mut Play| {
        play.answers = vec![("file.delete", Verdict::No { reason: "keep it".to_owned() })];
    };
    let (mut session, root) = after(&[new], no);
    assert_eq!(undo_last(&mut session), "denied");
    assert!(root.join("new.txt").exists());
    let (mut session, _) = after(&[new], |play| play.answers.clear());
    assert_eq!(undo_last(&mut session), "denied", "there is nobody to ask");
    let (mut session, _) = after(&[new], |play| play.knobs.call_budget = Some(1));
    assert_eq!(undo_last(&mut session), "succeeded", "a turn of its own has a budget of its own");
    let (mut session, _) = after(&[new], |play| play.excluded = &["file.delete"]);
    let call = requested(session.journal()).pop().unwrap();
    let none = UndoRefusal::NoTool("builtin:file.delete");
    assert_eq!(run(session.undo(&call)), Err(none));
}

/// Says yes, after somebody has changed a file.
struct Slow(PathBuf);

impl Approver for Slow {
    fn channel(&self) -> &'static str {
        "scripted"
    }

    fn answer<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Answer> {
        fs::write(&self.0, "changed meanwhile").unwrap();
        let (approval_id, decider) = (request.id.clone(), "ann".to_owned());
        Box::pin(std::future::ready(Answer { approval_id, verdict: yes(), decider }))
    }
}

#[test]
fn an_approval_is_for_the_file_as_it_was_then() {
    let new = ("file_write", r#"{"path":"new.txt","content":"x"}"#);
    let play = Play::new(file_tools(), vec![calls(&[new]), step(say("Done."))]);
    let mut workspace = Workspace::default();
    let root = workspace.root().unwrap();
    let approver = Box::new(Slow(root.join("new.txt")));
    let mut session = Session::open(Parts { workspace, approver, ..play.parts() });
    run(session.turn("do it".to_owned()));
    assert_eq!(undo_last(&mut session), "denied");
    assert_eq!(fs::read_to_string(root.join("new.txt")).unwrap(), "changed meanwhile");
}

fn refusal(list: &[(&str, &str)], more: impl FnOnce(&mut Play)) -> String {
    let (mut session, _) = after(list, more);
    let call = requested(session.journal()).pop().unwrap();
    let entries = session.journal().entries().len();
    let refused = run(session.undo(&call)).unwrap_err().to_string();
    assert_eq!(session.journal().entries().len(), entries, "nothing was recorded");
    refused.replace(&call, "X")
}

#[test]
fn what_cannot_be_undone_is_refused_with_words() {
    let same = |_: &mut Play| {};
    let lost = ("file_patch", r#"{"path":"lost","find":"a","replace":"b"}"#);
    let only = "only what succeeded can be undone";
    assert_eq!(refusal(&[lost], same), format!("call `X` ended as failed; {only}"));
    let wrong = ("file_write", r#"{"path":7}"#);
    assert_eq!(refusal(&[wrong], same), format!("call `X` ended as rejected; {only}"));
    let dry = ("file_delete", r#"{"path":"a.txt","dry_run":true}"#);
    assert_eq!(refusal(&[dry], same), "call `X` changed nothing");
    let secret = |play: &mut Play| {
        let text = "password = hunter22hunter22\n".to_owned();
        play.files = [("a.txt".to_owned(), text)].into();
    };
    let kept = "was not kept: it was too large, no text, or held a secret";
    assert_eq!(refusal(&[WRITE], secret), format!("what call `X` changed {kept}"));
    let large = |play: &mut Play| {
        play.files = [("a.txt".to_owned(), "x".repeat((1 << 20) + 1))].into();
    };
    assert_eq!(refusal(&[WRITE], large), format!("what call `X` changed {kept}"));
    let plain = |play: &mut Play| play.tools.push(tool("mail.send", "L1", ""));
    let names = "`mail.send` names no inverse and keeps no pre-image";
    assert_eq!(refusal(&[("mail_send", "{}")], plain), names);
    let (mut session, _) = after(&[WRITE], same);
    let unknown = UndoRefusal::Unknown("call_99".to_owned());
    assert_eq!(run(session.undo("call_99")), Err(unknown));
}

#[test]
fn bytes_that_are_no_text_are_not_restored_as_text() {
    let (mut session, root) = after(&[], |play| {
        play.steps = vec![step(say("Hello.")), calls(&[WRITE]), step(say("Done."))];
    });
    fs::write(root.join("a.txt"), b"\xff\xfe\x00").unwrap();
    run(session.turn("write".to_owned()));
    let call = requested(session.journal()).pop().unwrap();
    assert_eq!(run(session.undo(&call)), Err(UndoRefusal::NotKept(call.clone())));
}

#[test]
fn a_tool_names_its_inverse() {
    let execution = "execution: {inverse: {tool: lock.give, args: {path: {from: path}}}}\n";
    let inverse = |play: &mut Play| {
        play.tools = vec![tool("lock.take", "L1", execution), tool("lock.give", "L1", "")];
    };
    let (mut session, _) = after(&[("lock_take", r#"{"path":"door"}"#)], inverse);
    assert_eq!(undo_last(&mut session), "succeeded");
    let last = session.journal().entries().iter().rev().find_map(|entry| match &entry.event {
        Event::ToolCallRequested(fact) => Some((fact.tool_id.clone(), fact.args.clone())),
        _ => None,
    });
    let args = serde_json::json!({"path": "door"});
    assert_eq!(last, Some(("lock.give".to_owned(), Some(args))));
    let call = requested(session.journal()).pop().unwrap();
    let refused = run(session.undo(&call)).unwrap_err();
    assert_eq!(refused, UndoRefusal::NotReversible("lock.give".to_owned()));
}

#[test]
fn the_model_goes_on_after_an_undo_and_hears_of_it() {
    let (mut session, _) = after(&[WRITE], |play| {
        let mut last = step(say("I see."));
        last.expect.contains = vec!["Undo call_".to_owned(), "wrote a.txt".to_owned()];
        play.steps.push(last);
    });
    assert_eq!(undo_last(&mut session), "succeeded");
    assert_eq!(run(session.turn("well?".to_owned())), TurnEnd::FinalText);
    assert_eq!(session.leftover(), None);
    assert_eq!(broken(session.journal(), &key()), Vec::<String>::new());
}

#[test]
fn an_undo_that_was_killed_is_not_gone_on_with() {
    let (mut session, root) = after(&[WRITE], |_| {});
    let done = session.journal().entries().len();
    assert_eq!(undo_last(&mut session), "succeeded");
    let journal = session.journal().clone();
    let mut play = Play::new(file_tools(), vec![step(say("Hello."))]);
    play.starts_at = journal.entries().last().unwrap().at;
    let all = journal.entries().len();
    for after in done + 1..all {
        let entries = journal.entries()[..after].to_vec();
        let cut = Journal::from_parts(entries, journal.blobs().clone());
        let started = cut.entries().iter().filter(|e| e.event.name() == "ToolCallStarted").count();
        let mut resumed = Session::resume(play.parts(), cut).unwrap();
        assert_eq!(run(resumed.go_on(&mut |_| Vec::new())), Some(TurnEnd::Direct), "{after}");
        let journal = resumed.journal();
        let again = journal.entries().iter().filter(|e| e.event.name() == "ToolCallStarted");
        assert_eq!(again.count(), started, "{after}: nothing starts");
        assert_eq!(broken(journal, &key()), Vec::<String>::new(), "{after}");
        run(resumed.turn("and?".to_owned()));
        assert_eq!(broken(resumed.journal(), &key()), Vec::<String>::new(), "{after}");
    }
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "one\n");
}

#[test]
fn file_tools_keep_their_claim() {
    assert!(file_tools().iter().all(|tool| claims(tool).is_none()));
}
