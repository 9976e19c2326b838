//! Delegates: what they may spend, how deep they stand, how they run beside each other.

use std::sync::Arc;

use proofmark::journal::event::turn::ProviderFault;
use proofmark::journal::{Entry, Event, Journal};
use proofmark::runtime::BoxFuture;
use proofmark::runtime::dialect::{Payload, RawCall, Reply};
use proofmark::runtime::provider::Provider;
use proofmark::runtime::provider::scripted::{Answer, ExpectedRequest, Step, call, say};
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::turn::TurnEnd;

use crate::delegates::{GOAL, files, helper, parent, run, shown, statuses};
use crate::stage::{Stage, calls_of, ends, judged, step};
use crate::tools::tool;

/// A delegate that spends more than it has: its status, and the fault its parent is shown.
fn check_spent(knobs: Knobs, more: &str, helper_says: Vec<Step>, expected: (&str, &str)) -> String {
    let tools = [files(), vec![helper("'file.*'", more)]].concat();
    let stage = Stage::new(tools, parent()).agent("helper", helper_says);
    let mut session = Stage { knobs, ..stage }.open();
    run(&mut session);
    assert_eq!(statuses(&session), [expected.0]);
    let text = shown(&session);
    assert!(text.starts_with(&format!("error {}: ", expected.1)), "{text}");
    text
}

#[test]
fn a_spent_budget_is_a_failure_that_keeps_what_was_said() {
    let read = || {
        let Step { answer: Answer::Reply(reply), .. } = calls_of(&[("file_read", "{}")]) else {
            panic!()
        };
        step(Reply { text: Some("Reading.".to_owned()), ..reply })
    };
    let knobs = Knobs::default;
    let text =
        check_spent(knobs(), ", budget: {maxTurns: 1}", vec![read()], ("budget", "iteration_cap"));
    assert!(text.contains("partial output:\nReading."), "{text}");
    // The parent has two requests, and has made one.
    let two = Knobs { iteration_cap: 2, ..knobs() };
    check_spent(two, "", vec![read()], ("budget", "iteration_cap"));
    let text =
        check_spent(knobs(), ", budget: {maxTokens: 10}", vec![], ("budget", "token_budget"));
    assert!(text.contains("10 tokens"), "{text}");
    let fault = ProviderFault { blame: "infrastructure".to_owned(), message: "gone".to_owned() };
    let fails = Step { expect: ExpectedRequest::default(), answer: Answer::Fault(fault) };
    check_spent(knobs(), "", vec![fails], ("failed", "provider_fault"));
}

#[test]
fn calls_of_a_delegate_are_calls_of_its_parent() {
    let read = |path: &str| format!(r#"{{"path":"{path}"}}"#);
    let (a, b, c) = (read("a"), read("b"), read("c"));
    let helper_says =
        vec![calls_of(&[("file_read", &a), ("file_read", &b), ("file_read", &c)]), step(say("ok"))];
    let steps = vec![calls_of(&[GOAL]), calls_of(&[("file_read", &a)]), step(say("done"))];
    let tools = [files(), vec![helper("file.read", "")]].concat();
    let stage = Stage::new(tools, steps).agent("helper", helper_says);
    let knobs = Knobs { call_budget: Some(3), ..Knobs::default() };
    let mut session = Stage { knobs, ..stage }.open();
    run(&mut session);
    // One is the delegation itself.
    assert_eq!(ends(&session.children()[0]), ["p2 denied", "p0 failed", "p1 failed"]);
    let own = ends(session.journal());
    assert!(own[0].ends_with("succeeded") && own[1].ends_with("denied"), "{own:?}");
    // The last request of a turn leaves a delegate nothing.
    let tools = [files(), vec![helper("file.read", "")]].concat();
    let stage = Stage::new(tools, vec![calls_of(&[GOAL])]).agent("helper", Vec::new());
    let knobs = Knobs { iteration_cap: 1, ..Knobs::default() };
    let mut session = Stage { knobs, ..stage }.open();
    assert_eq!(run(&mut session), TurnEnd::IterationCap);
    assert_eq!(ends(session.journal()), ["p0 denied"]);
    assert!(session.children().is_empty());
}

#[test]
fn time_that_is_up_ends_a_delegate() {
    let sleep = "sandbox: {mode: none}\nexecution: {adapter: 'builtin:command.run', \
                 command: [sleep, '600']}\n";
    let more = ", budget: {timeoutMs: 300}";
    let tools = vec![helper("hangs.one", more), tool("hangs.one", "L1", sleep)];
    let helper_says = vec![calls_of(&[("hangs_one", "{}")])];
    let stage = Stage::new(tools, parent()).agent("helper", helper_says);
    let mut session = Stage { real_clock: true, ..stage }.open();
    assert_eq!(run(&mut session), TurnEnd::FinalText);
    assert_eq!(statuses(&session), ["timeout"]);
    assert!(shown(&session).starts_with("error timeout: "), "{}", shown(&session));
    assert_eq!(ends(&session.children()[0]), ["p0 interrupted"]);
}

/// Always delegates on, unless it cannot.
struct Chain(u32);

impl Provider for Chain {
    fn name(&self) -> &'static str {
        "chain"
    }

    fn reply<'a>(
        &'a mut self,
        payload: &'a Payload,
    ) -> BoxFuture<'a, Result<Reply, ProviderFault>> {
        self.0 += 1;
        let on = !payload.messages.contains("\"tool\"");
        let raw = RawCall::native(Some(format!("c{}", self.0)), GOAL.0, GOAL.1);
        let reply = if on { call(vec![raw]) } else { say(&format!("answer {}", self.0)) };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

#[test]
fn delegates_stand_three_deep_and_no_deeper() {
    let tools = vec![helper("helper", "")];
    let mut stage = Stage::new(tools, parent());
    stage.delegates.insert("helper".into(), Box::new(Chain(0)));
    let mut session = stage.open();
    assert_eq!(run(&mut session), TurnEnd::FinalText);
    let ids: Vec<&str> =
        session.children().iter().map(|child| &*child.entries()[0].session).collect();
    assert_eq!(ids, ["s1/p0/c1/c2", "s1/p0/c1", "s1/p0"]);
    assert_eq!(statuses(&session), ["refused", "completed", "completed", "completed"]);
    let deepest = session.children()[0].blobs().iter().any(|(_, text)| text.contains("too_deep"));
    assert!(deepest);
    // Allowed to delegate, but not to itself.
    let mut stage = Stage::new(vec![helper("'*'", "")], parent());
    stage.delegates.insert("helper".into(), Box::new(Chain(0)));
    let mut session = stage.open();
    run(&mut session);
    assert_eq!(ends(&session.children()[0]), ["c1 unavailable"]);
}

#[test]
fn an_agent_that_is_not_there_is_a_fault() {
    let mut session = Stage::new(vec![helper("", "")], parent()).open();
    assert_eq!(run(&mut session), TurnEnd::FinalText);
    assert!(shown(&session).starts_with("error no_agent: there is no agent `helper`"));
    assert_eq!((statuses(&session), session.children().len()), (vec!["refused".to_owned()], 0));
    // A tool that does not say to whom it delegates is not even shown.
    let adapter = "execution: {adapter: 'builtin:delegate'}\n";
    let tools = vec![tool("helper", "L1", adapter)];
    let mut session = Stage::new(tools, parent()).open();
    run(&mut session);
    assert_eq!(ends(session.journal()), ["p0 unavailable"]);
}

#[test]
fn several_delegates_run_at_the_same_time_each_with_its_own_record() {
    let more = ", budget: {maxTurns: 2}";
    let tools = [files(), vec![helper("file.read", more)]].concat();
    let goals = [("helper", r#"{"goal":"one"}"#), ("helper", r#"{"goal":"two"}"#)];
    let steps = vec![calls_of(&goals), step(say("done"))];
    let helper_says = vec![step(say("first")), step(say("second"))];
    let knobs = Knobs { parallel_tools: true, call_budget: Some(9), ..Knobs::default() };
    let stage = Stage::new(tools, steps).agent("helper", helper_says);
    let mut session = Stage { knobs, ..stage }.open();
    run(&mut session);
    let mut ids: Vec<&str> =
        session.children().iter().map(|child| &*child.entries()[0].session).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["s1/p0", "s1/p1"]);
    assert_eq!(ends(session.journal()).len(), 2);
    // One file may hold all of them.
    let journals = session.children().iter().chain([session.journal()]);
    let mut entries: Vec<Entry> = journals.flat_map(|one| one.entries().to_vec()).collect();
    entries.sort_by_key(|entry| entry.at);
    let mut blobs = session.journal().blobs().clone();
    for child in session.children() {
        child.blobs().iter().for_each(|(_, text)| {
            blobs.put(Arc::clone(text));
        });
    }
    judged(&Journal::from_parts(entries, blobs));
}

/// In which order two delegates of one reply begin and end, `b` and `e`.
fn check_order(allowed: &str, expected: &str) {
    let tools = [files(), vec![helper(allowed, "")]].concat();
    let goals = [("helper", r#"{"goal":"one"}"#), ("helper", r#"{"goal":"two"}"#)];
    let helper_says = vec![step(say("first")), step(say("second"))];
    let stage = Stage::new(tools, vec![calls_of(&goals), step(say("done"))]);
    let knobs = Knobs { parallel_tools: true, ..Knobs::default() };
    let mut session = Stage { knobs, ..stage.agent("helper", helper_says) }.open();
    run(&mut session);
    let mark = |entry: &Entry| match &entry.event {
        Event::DelegateStarted(_) => Some('b'),
        Event::DelegateFinished(_) => Some('e'),
        _ => None,
    };
    let order: String = session.journal().entries().iter().filter_map(mark).collect();
    assert_eq!(order, expected, "{allowed}");
}

#[test]
fn delegates_that_may_write_the_same_do_not_run_at_the_same_time() {
    check_order("file.read", "bbee");
    check_order("file.read, file.write", "bebe");
}
