//! Delegates: sessions inside a session, with never more than their parent has.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use proofmark::journal::event::call::DelegateStarted;
use proofmark::journal::event::turn::ProviderFault;
use proofmark::journal::{Entry, Event, Journal};
use proofmark::runtime::BoxFuture;
use proofmark::runtime::dialect::{Message, Payload, RawCall, Reply};
use proofmark::runtime::guard::{AnswerScope, Verdict};
use proofmark::runtime::provider::Provider;
use proofmark::runtime::provider::scripted::{Step, call, say};
use proofmark::runtime::session::{Remote, Session};
use proofmark::runtime::surface::{Emission, Phase, Surface};
use proofmark::runtime::turn::TurnEnd;
use proofmark::runtime::turn::driver::Signal;
use proofmark::runtime::view::Availability;
use proofmark::runtime::view::activation::search_tool;
use proofmark::runtime::view::availability::Deferred;
use proofmark::runtime::view::pattern::Pattern;
use proofmark::tool::descriptor::Descriptor;

use crate::stage::{Stage, block_on, calls_of, ends, judged, step};
use crate::tools::tool;

/// A tool that delegates to the agent `helper`; `more` stands in its `subagent` section.
pub fn helper(allowed: &str, more: &str) -> Descriptor {
    let sections = format!(
        "intent: {{actionTypes: [subagent_delegate]}}\nexecution: {{adapter: 'builtin:delegate'}}\n\
         subagent: {{agentId: helper, allowedTools: [{allowed}]{more}}}\n"
    );
    let mut tool = tool("helper", "L1", &sections);
    tool.schemas.input_schema = serde_json::json!({
        "type": "object",
        "properties": {
            "goal": {"type": "string"},
            "constraints": {"type": "array", "items": {"type": "string"}},
            "evidence": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["goal"],
    });
    tool.version = Some(tool.content_digest());
    tool
}

pub const GOAL: (&str, &str) = ("helper", r#"{"goal":"look into it"}"#);

/// The parent delegates once and then says its last word.
pub fn parent() -> Vec<Step> {
    vec![calls_of(&[GOAL]), step(say("all done"))]
}

/// Runs one turn; parent and children are judged by every law, and a delegate's views show nothing
/// that it was not granted.
pub fn run(session: &mut Session) -> TurnEnd {
    let end = block_on(session.turn("the parent's own words".to_owned()));
    judged(session.journal());
    for child in session.children() {
        judged(child);
        let opened = &child.entries()[0];
        let started = starts(session).into_iter().find(|one| *one.child == *opened.session);
        let Some(started) = started else { continue };
        let Event::SessionOpened(fact) = &opened.event else { panic!("{opened:?}") };
        assert_eq!(fact.scopes, started.scopes);
        for entry in child.entries() {
            if let Event::ViewCompiled(view) = &entry.event {
                let more = view.exposed.iter().find(|it| !started.tools.contains(&it.tool_id));
                assert!(more.is_none(), "{more:?} was not granted");
            }
        }
    }
    end
}

fn starts(session: &Session) -> Vec<DelegateStarted> {
    let journals = session.children().iter().chain([session.journal()]);
    let started = |entry: &Entry| match &entry.event {
        Event::DelegateStarted(fact) => Some(fact.clone()),
        _ => None,
    };
    journals.flat_map(Journal::entries).filter_map(started).collect()
}

fn granted(session: &Session) -> Vec<String> {
    starts(session)[0].tools.iter().map(ToString::to_string).collect()
}

pub fn statuses(session: &Session) -> Vec<String> {
    let journals = session.children().iter().chain([session.journal()]);
    let finished = |entry: &Entry| match &entry.event {
        Event::DelegateFinished(fact) => Some(fact.status.clone()),
        _ => None,
    };
    journals.flat_map(Journal::entries).filter_map(finished).collect()
}

/// What the parent's model was shown of the call.
pub fn shown(session: &Session) -> String {
    let messages = session.transcript().messages().iter();
    let tool = |message: &Message| match message {
        Message::Tool { text, .. } => Some(text.to_string()),
        _ => None,
    };
    messages.filter_map(tool).next().unwrap()
}

pub fn files() -> Vec<Descriptor> {
    let read = "sandbox: {mode: read_only}\nexecution: {adapter: 'builtin:file.read'}\n";
    let write = "sandbox: {mode: workspace_write}\nexecution: {adapter: 'builtin:file.write'}\n";
    vec![tool("file.read", "L0", read), tool("file.write", "L2", write)]
}

#[test]
fn the_parent_sees_the_summary_and_nothing_else() {
    let helper_says =
        vec![calls_of(&[("file_read", r#"{"path":"a"}"#)]), step(say("The file is fine."))];
    let tools = [files(), vec![helper("file.read", "")]].concat();
    let mut session = Stage {
        files: BTreeMap::from([("a".to_owned(), "the child's own words".to_owned())]),
        ..Stage::new(tools, parent()).agent("helper", helper_says)
    }
    .open();
    assert_eq!(run(&mut session), TurnEnd::FinalText);
    assert_eq!(session.leftover(), None);
    let text = shown(&session);
    assert!(text.starts_with("The file is fine.\n[receipt "), "{text}");
    let all = format!("{:?}", session.transcript());
    assert!(!all.contains("the child's own words"), "{all}");
    // Nor does the delegate see anything of its parent but its goal.
    let [child] = session.children() else { panic!("one child") };
    assert_eq!(&*child.entries()[0].session, "s1/p0");
    let told = child.entries().iter().find_map(|entry| match &entry.event {
        Event::UserPromptSubmitted(fact) => Some((fact.text.clone(), fact.ingress.clone())),
        _ => None,
    });
    assert_eq!(told, Some(("look into it".to_owned(), Some("delegate".to_owned()))));
    let blobs = child.blobs().iter().map(|(_, text)| text.to_string()).collect::<String>();
    assert!(!blobs.contains("the parent's own words"));
    assert_eq!(ends(child), ["p0 succeeded"]);
    assert_eq!(statuses(&session), ["completed"]);
}

#[test]
fn what_is_inherited_and_returned_is_what_the_descriptor_says() {
    let more = ", contextPolicy: {inheritParentContext: summary, returnTranscript: true}";
    let tools = vec![helper("", more)];
    let helper_says = vec![step(say("Seen."))];
    let mut session = Stage::new(tools, parent()).agent("helper", helper_says).open();
    run(&mut session);
    let told = "user: look into it\n\nContext:\nThe user asked:\nthe parent's own words";
    let text = shown(&session);
    assert!(text.starts_with(&format!("Seen.\n\ntranscript:\n{told}\nassistant: Seen.")), "{text}");

    let tools = vec![helper("", ", contextPolicy: {returnSummary: false}")];
    let helper_says = vec![step(say("Seen."))];
    let mut session = Stage::new(tools, parent()).agent("helper", helper_says).open();
    run(&mut session);
    assert!(shown(&session).starts_with("(no output)"), "{}", shown(&session));
}

#[test]
fn evidence_that_a_call_points_to_can_be_inherited() {
    let secretive = "contextPolicy: {exposeOutputToModel: none}\n\
                     execution: {simulatedOutput: the stored result}\n";
    let more = ", contextPolicy: {inheritParentContext: selected_refs}";
    let artifact = Arc::new(OnceLock::new());
    /// Points to whatever artifact was stored.
    struct Pointing(Arc<OnceLock<String>>, u32);
    impl Provider for Pointing {
        fn name(&self) -> &'static str {
            "pointing"
        }
        fn reply<'a>(&'a mut self, _: &'a Payload) -> BoxFuture<'a, Result<Reply, ProviderFault>> {
            self.1 += 1;
            let id = self.0.get().cloned().unwrap_or_default();
            let reply = match self.1 {
                1 => call(vec![RawCall::native(Some("a".into()), "store", "{}")]),
                2 => {
                    let args = format!(r#"{{"goal":"g","evidence":["{id}","art_gone"]}}"#);
                    call(vec![RawCall::native(Some("b".into()), "helper", args)])
                }
                _ => say("ok"),
            };
            Box::pin(std::future::ready(Ok(reply)))
        }
    }
    let tools = vec![tool("store", "L0", secretive), helper("", more)];
    let mut session = Stage {
        provider: Some(Box::new(Pointing(Arc::clone(&artifact), 0))),
        ..Stage::new(tools, Vec::new()).agent("helper", vec![step(say("Seen."))])
    }
    .open();
    let keep = Arc::clone(&artifact);
    block_on(session.turn_from("go".to_owned(), Default::default(), &mut |entry| {
        if let Event::ArtifactPersisted(fact) = &entry.event {
            keep.set(fact.artifact_id.clone()).unwrap();
        }
        Vec::new()
    }));
    let id = artifact.get().unwrap();
    let told = session.children()[0].entries().iter().find_map(|entry| match &entry.event {
        Event::UserPromptSubmitted(fact) => Some(fact.text.clone()),
        _ => None,
    });
    let expected =
        format!("g\n\nEvidence:\n- {id}\n- art_gone\n\nContext:\n{id}:\nthe stored result");
    assert_eq!(told.as_deref(), Some(&*expected));
}

#[test]
fn whoever_keeps_the_records_has_every_fact_of_a_delegate_before_its_parent_goes_on() {
    let helper_says = vec![calls_of(&[("file_read", r#"{"path":"a"}"#)]), step(say("could not"))];
    let tools = [files(), vec![helper("'file.*'", "")]].concat();
    let mut session = Stage::new(tools, parent()).agent("helper", helper_says).open();
    // How much of each session was kept, and how much of the delegate when its parent heard of it.
    let kept: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let (keeps, heard) = (Arc::clone(&kept), Arc::new(OnceLock::new()));
    let then = Arc::clone(&heard);
    session.keep(Box::new(move |journal| {
        let mut kept = keeps.lock().unwrap();
        let entries = journal.entries();
        kept.insert(entries[0].session.to_string(), entries.len());
        let told = |entry: &Entry| matches!(entry.event, Event::DelegateFinished(_));
        if entries.iter().any(told) {
            let below = || kept.iter().find(|(id, _)| id.contains('/')).map(|(_, count)| *count);
            then.get_or_init(|| below().unwrap_or_default());
        }
    }));
    run(&mut session);
    let child = &session.children()[0];
    let all = [session.journal(), child];
    let all = all.map(|one| (one.entries()[0].session.to_string(), one.entries().len()));
    assert_eq!(*kept.lock().unwrap(), BTreeMap::from(all));
    assert_eq!(heard.get(), Some(&child.entries().len()));
}

#[test]
fn a_parent_that_may_only_read_gets_no_writer() {
    let helper_says = vec![
        calls_of(&[("file_write", r#"{"path":"a"}"#), ("file_read", r#"{"path":"a"}"#)]),
        step(say("could not")),
    ];
    let tools = [files(), vec![helper("'file.*'", "")]].concat();
    let mut session = Stage {
        scopes: "",
        ..Stage::new(tools.clone(), parent()).agent("helper", helper_says.clone())
    }
    .open();
    run(&mut session);
    assert_eq!(granted(&session), ["file.read"]);
    assert_eq!(ends(&session.children()[0]), ["p0 unavailable", "p1 failed"]);
    // One that may write hands that on.
    let mut session = Stage::new(tools, parent()).agent("helper", helper_says).open();
    run(&mut session);
    assert_eq!(granted(&session), ["file.read", "file.write"]);
    assert_eq!(ends(&session.children()[0]), ["p0 succeeded", "p1 succeeded"]);
    assert!(shown(&session).contains("risk: write"), "{}", shown(&session));
}

/// What a delegate is granted of `file.read`, `file.write`, `helper` and `mail.send`.
fn check_granted(allowed: &str, stage: impl Fn(Stage) -> Stage, expected: &[&str]) {
    let tools = [files(), vec![helper(allowed, ""), tool("mail.send", "L4", "")]].concat();
    let stage = stage(Stage::new(tools, parent()).agent("helper", vec![step(say("ok"))]));
    let mut session = stage.open();
    run(&mut session);
    assert_eq!(granted(&session), expected, "{allowed}");
}

#[test]
fn lists_exclusions_and_narrowing_all_bound_a_delegate() {
    let narrowed = |stage: Stage| {
        let list = ["file.read", "helper", "mail.*"].map(Pattern::new).into();
        let availability = Availability { narrowing: vec![list], ..Availability::default() };
        Stage { availability, ..stage }
    };
    let excluded = |stage| Stage { excluded: &["file.read"], ..stage };
    let plain = |stage| stage;
    check_granted("'*'", plain, &["file.read", "file.write", "mail.send"]);
    check_granted("'*', helper", plain, &["file.read", "file.write", "helper", "mail.send"]);
    check_granted("'help*'", plain, &[]);
    check_granted("", plain, &[]);
    check_granted("file.read, nothing", plain, &["file.read"]);
    check_granted("'*'", excluded, &["file.write", "mail.send"]);
    check_granted("file.read", excluded, &[]);
    check_granted("'*'", narrowed, &["file.read", "mail.send"]);
    check_granted("'file.*'", narrowed, &["file.read"]);
}

#[test]
fn what_was_activated_is_carried_and_what_waits_is_not() {
    let tools = vec![
        helper("'*'", ""),
        tool("deep.one", "L0", ""),
        tool("deep.two", "L0", ""),
        search_tool(),
    ];
    let steps = vec![
        calls_of(&[("tool_search", r#"{"query":"select:deep.one"}"#)]),
        calls_of(&[GOAL]),
        step(say("done")),
    ];
    let helper_says = vec![
        calls_of(&[("deep_one", "{}"), ("deep_two", "{}"), ("tool_search", r#"{"query":"deep"}"#)]),
        step(say("ok")),
    ];
    let deferred = vec![Deferred::Tools(Pattern::new("deep.*"))];
    let mut session = Stage {
        availability: Availability { deferred, ..Availability::default() },
        ..Stage::new(tools, steps).agent("helper", helper_says)
    }
    .open();
    run(&mut session);
    assert_eq!(granted(&session), ["deep.one", "tool_search"]);
    // Nothing waits in the delegate's own scope: there is nothing to search for.
    let expected = ["p1 unavailable", "p2 unavailable", "p0 succeeded"];
    assert_eq!(ends(&session.children()[0]), expected);
}

fn mail_twice() -> Vec<Step> {
    vec![calls_of(&[("mail_send", "{}")]), step(say("tried"))]
}

#[test]
fn a_delegate_asks_its_parents_approver_and_inherits_no_grant() {
    let tools = || vec![helper("mail.send", ""), tool("mail.send", "L4", "")];
    // Nobody is there.
    let stage = Stage::new(tools(), parent()).agent("helper", mail_twice());
    let mut session = Stage { answers: None, ..stage }.open();
    run(&mut session);
    let [child] = session.children() else { panic!("one child") };
    assert_eq!(ends(child), ["p0 denied"]);
    let unreached = |entry: &Entry| matches!(entry.event, Event::ApprovalUnreachable(_));
    assert!(child.entries().iter().any(unreached));
    // The parent has a grant for the session; its delegate is asked about all the same.
    let mut steps = parent();
    steps.insert(0, calls_of(&[("mail_send", "{}")]));
    steps.insert(1, calls_of(&[("mail_send", r#"{"path":"b"}"#)]));
    let yes = |scope| Verdict::Yes { strong: true, scope };
    let no = Verdict::No { reason: "not this one".to_owned() };
    let answers = vec![("mail.send", yes(AnswerScope::Session)), ("mail.send", no)];
    let stage = Stage::new(tools(), steps).agent("helper", mail_twice());
    let mut session = Stage { answers: Some(answers), ..stage }.open();
    run(&mut session);
    let own = ends(session.journal());
    assert!(own.len() == 3 && own.iter().all(|end| end.ends_with("succeeded")), "{own:?}");
    assert_eq!(ends(&session.children()[0]), ["p0 denied"]);
    // Ids of questions are never the same in two of these sessions.
    let ids = |journal: &Journal| -> Vec<String> {
        let asked = |entry: &Entry| match &entry.event {
            Event::ApprovalRequested(fact) => Some(fact.approval_id.clone()),
            _ => None,
        };
        journal.entries().iter().filter_map(asked).collect()
    };
    let (own, below) = (ids(session.journal()), ids(&session.children()[0]));
    assert!(own.len() == 1 && below.len() == 1 && own != below, "{own:?} {below:?}");
}

#[test]
fn a_cancel_reaches_the_delegate_and_waits_for_it() {
    let sleep = "sandbox: {mode: none}\nexecution: {adapter: 'builtin:command.run', \
                 command: [sleep, '600']}\n";
    let tools = vec![helper("hangs.one", ""), tool("hangs.one", "L1", sleep)];
    let remote: Arc<OnceLock<Remote>> = Arc::default();
    let hands = Arc::clone(&remote);
    // Gives up when the delegate's call runs.
    let impatient = move |one: &Emission| {
        let opened = (Surface::Observer, Some(Phase::Start));
        if (one.surface, one.phase) == opened && one.text.contains("hangs.one") {
            assert!(one.text.contains(r#""channel":"delegate","agent":"helper""#), "{}", one.text);
            hands.get().unwrap().send(Signal::Cancel("enough".to_owned()));
        }
    };
    let steps = vec![calls_of(&[GOAL, ("hangs_one", "{}")])];
    let stage = Stage::new(tools, steps).agent("helper", vec![calls_of(&[("hangs_one", "{}")])]);
    let mut session = Stage { sinks: vec![Box::new(impatient)], ..stage }.open();
    remote.set(session.remote()).unwrap();
    assert_eq!(run(&mut session), TurnEnd::Cancelled("enough".to_owned()));
    assert_eq!(session.sink_failures(), 0);
    let [child] = session.children() else { panic!("one child") };
    assert_eq!(ends(child), ["p0 interrupted"]);
    let mut own = ends(session.journal());
    own.sort();
    assert_eq!(own, ["p0 interrupted", "p1 cancelled"]);
    assert_eq!(statuses(&session), ["cancelled"]);
    let last = child.entries().iter().rfind(|e| !matches!(e.event, Event::SurfaceEmitted(_)));
    assert!(matches!(&last.unwrap().event, Event::TurnFinished(end) if end.reason == "cancelled"));
}
