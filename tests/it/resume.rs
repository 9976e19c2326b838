//! A session is killed at every entry of its journal and goes on from there.

use std::collections::BTreeSet;
use std::sync::Arc;

use proofmark::base::digest::Digest;
use proofmark::base::secret::Secret;
use proofmark::journal::{Blobs, Entry, Event, Journal, Outcome, format};
use proofmark::runtime::dialect::{Dialect, Message, ToolList, Transcript};
use proofmark::runtime::guard::repeat::DuplicateScope;
use proofmark::runtime::guard::{
    AnswerScope, Envelope, Hook, HookSpec, HookVerdict, Hooks, Point, Verdict,
};
use proofmark::runtime::provider::scripted::{acceptable, say};
use proofmark::runtime::resume::ResumeError;
use proofmark::runtime::session::{Parts, Session};
use proofmark::runtime::turn::TurnEnd;
use proofmark::runtime::turn::driver::Signal;
use proofmark::runtime::view::activation::search_tool;
use proofmark::runtime::view::availability::Deferred;
use proofmark::runtime::view::pattern::Pattern;
use proofmark::tool::id::ToolId;

use crate::played::{Play, Saying, broken, calls, key, outcomes, played, run, step, yes};
use crate::tools::tool;

/// What a process leaves that is killed after so many entries: the entries as they are read from a
/// file, and the texts that they name, directly or in another text.
pub fn killed(journal: &Journal, after: usize) -> Journal {
    let mut lines = Vec::new();
    journal.entries()[..after].iter().for_each(|entry| format::write_line(entry, &mut lines));
    let lines = String::from_utf8(lines).unwrap();
    let (entries, problems) = format::read("j", &lines);
    assert_eq!(problems, []);
    let (mut kept, mut open) = (Blobs::default(), vec![lines.as_str()]);
    while let Some(text) = open.pop() {
        for (at, _) in text.match_indices("sha256:") {
            let name = text.get(at..at + 71).and_then(Digest::parse);
            let Some(name) = name.filter(|name| kept.get(name).is_none()) else { continue };
            if let Some(text) = journal.blobs().get(&name) {
                kept.put_known(name, Arc::clone(text));
                open.push(text);
            }
        }
    }
    Journal::from_parts(entries, kept)
}

/// Replies that a process had taken apart before it ended.
pub fn consumed(entries: &[Entry]) -> usize {
    let taken = |entry: &&Entry| match &entry.event {
        Event::ModelReplied(fact) => fact.calls == 0,
        Event::BatchOpened(_) => true,
        _ => false,
    };
    entries.iter().filter(taken).count()
}

fn starts(entries: &[Entry]) -> Vec<(Arc<str>, Option<u32>)> {
    let started = entries.iter().filter_map(|entry| match &entry.event {
        Event::ToolCallStarted(fact) => Some((entry.call.clone()?, fact.attempt)),
        _ => None,
    });
    started.collect()
}

/// What must hold of every session that was killed and went on.
pub fn sound(before: &Journal, session: &Session, key: &Secret, place: &str) {
    let journal = session.journal();
    let (cut, all) = (before.entries().len(), journal.entries());
    assert!(!session.is_open(), "{place}: the turn ended");
    assert_eq!(&all[..cut], before.entries(), "{place}: what was written stays");
    assert_eq!(broken(journal, key), Vec::<String>::new(), "{place}");
    let started = starts(all);
    let once: BTreeSet<_> = started.iter().cloned().collect();
    assert_eq!(once.len(), started.len(), "{place}: an attempt started twice");
    let old: BTreeSet<Arc<str>> =
        starts(before.entries()).into_iter().map(|(call, _)| call).collect();
    for (call, _) in starts(&all[cut..]) {
        assert!(!old.contains(&call), "{place}: {call} started again");
    }
    for dialect in Dialect::ALL {
        let payload = dialect.request(&ToolList::new(String::new()), session.transcript());
        assert_eq!(acceptable(&payload), Ok(()), "{place}: {}", dialect.name());
    }
    results_kept(before, session.transcript(), place);
}

/// Each result that was settled before the end is in the transcript, as it was settled.
fn results_kept(before: &Journal, transcript: &Transcript, place: &str) {
    for entry in before.entries() {
        let Event::ToolCallSettled(fact) = &entry.event else { continue };
        // What was not to be logged is not there to be kept.
        let Some(shown) = before.blobs().get(&fact.shown.unwrap()) else { continue };
        let found = transcript.messages().iter().any(|message| match message {
            Message::Tool { call, text, is_error } => {
                let succeeded = fact.outcome == Outcome::Succeeded;
                Some(call) == entry.call.as_ref() && text == shown && *is_error != succeeded
            }
            _ => false,
        });
        assert!(found, "{place}: the result of {:?} is lost", entry.call);
    }
}

/// Kills a session after each of its entries and lets it go on, then says one thing more. Returns
/// the outcomes of all that were cut, by the entry after which they were.
pub fn at_every_entry(play: &Play, journal: &Journal) -> Vec<Vec<&'static str>> {
    let mut all = Vec::new();
    for after in 1..=journal.entries().len() {
        let cut = killed(journal, after);
        let last = cut.entries().last().unwrap().clone();
        let place = format!("killed after {after}, {}", last.event.name());
        let mut again = play.clone();
        again.steps.drain(..consumed(cut.entries()).min(play.steps.len()));
        again.steps.push(step(say("More.")));
        again.starts_at = last.at;
        let mut session = Session::resume(again.parts(), cut.clone()).unwrap();
        rebuilt(&cut, &session, play.knobs.dialect, &place);
        run(session.go_on(&mut |_| Vec::new()));
        sound(&cut, &session, &key(), &place);
        all.push(outcomes(session.journal()));
        run(session.turn("and then?".to_owned()));
        sound(&cut, &session, &key(), &place);
    }
    all
}

/// Right after a request the rebuilt transcript is what was asked with, to the letter.
fn rebuilt(cut: &Journal, session: &Session, dialect: Dialect, place: &str) {
    let logged = !cut.entries().iter().any(|entry| match &entry.event {
        Event::ModelRequested(fact) => fact.unlogged,
        _ => false,
    });
    if let Event::ModelRequested(fact) = &cut.entries().last().unwrap().event
        && logged
    {
        let payload = dialect.request(&ToolList::new(String::new()), session.transcript());
        assert_eq!(payload.messages_digest, fact.messages, "{place}");
    }
}

pub fn with_signals(play: &Play, signals: &[(&str, Signal)]) -> Journal {
    let mut left: Vec<(String, Signal)> =
        signals.iter().map(|(event, signal)| ((*event).to_owned(), signal.clone())).collect();
    let mut session = play.open();
    let mut watch = |entry: &Entry| {
        let due = left.iter().position(|(event, _)| event == entry.event.name());
        due.map(|place| left.remove(place).1).into_iter().collect()
    };
    run(session.turn_from("do it".to_owned(), Envelope::default(), &mut watch));
    let (journal, _) = session.close();
    assert_eq!(broken(&journal, &key()), Vec::<String>::new());
    journal
}

const READ: (&str, &str) = ("file_read", r#"{"path":"a"}"#);

#[test]
fn with_an_approval_and_every_other_answer() {
    let tools = vec![
        tool("file.read", "L0", ""),
        tool("mail.send", "L4", ""),
        tool("base.drop", "L5", ""),
        tool("fax.send", "L4", ""),
        tool("post.send", "L4", ""),
    ];
    let first = [
        READ,
        READ,
        ("mail_send", "{}"),
        ("base_drop", "{}"),
        ("fax_send", "{}"),
        ("post_send", "{}"),
        ("no_such", "{}"),
        ("file_read", "{"),
    ];
    let steps = vec![calls(&first), calls(&[("mail_send", "{}")]), step(say("Done."))];
    let mut play = Play::new(tools, steps);
    let scope = AnswerScope::Session;
    play.answers = vec![
        ("mail.send", Verdict::Yes { strong: true, scope }),
        ("base.drop", yes()),
        ("fax.send", Verdict::No { reason: "not today".to_owned() }),
        ("post.send", Verdict::Replace { text: "posted by hand".to_owned() }),
    ];
    let journal = played(&play);
    let settled = outcomes(&journal);
    for outcome in ["succeeded", "denied", "replaced", "duplicate", "unavailable", "rejected"] {
        assert!(settled.contains(&outcome), "{settled:?}");
    }
    let all = at_every_entry(&play, &journal);
    assert!(all.iter().any(|outcomes| outcomes.contains(&"interrupted")));
}

#[test]
fn in_parallel_and_with_large_results() {
    let long = format!("execution: {{simulatedOutput: '{}'}}\n", "word ".repeat(300));
    let tools = ["a.read", "b.read", "c.read"].map(|name| tool(name, "L0", &long));
    let three = [("a_read", "{}"), ("b_read", "{}"), ("c_read", "{}")];
    let steps = vec![calls(&three), step(say("Read."))];
    let mut play = Play::new(tools.to_vec(), steps);
    play.knobs.parallel_tools = true;
    play.knobs.max_tool_result_chars = 300;
    let journal = played(&play);
    let all = at_every_entry(&play, &journal);
    let interrupted = |list: &&Vec<&str>| list.iter().filter(|one| **one == "interrupted").count();
    assert_eq!(all.iter().max_by_key(interrupted).map(|list| interrupted(&list)), Some(3));
}

#[test]
fn while_another_attempt_is_waited_for() {
    let retries = "execution: {adapter: 'builtin:file.read', retryPolicy: {maxRetries: 2, \
                   retryOn: [not_found], backoffMs: 3}}\n";
    let mut read = tool("file.read", "L0", retries);
    read.effects.idempotent = true;
    let steps = vec![calls(&[READ]), step(say("It is not there."))];
    let play = Play::new(vec![read], steps);
    let journal = played(&play);
    let all = at_every_entry(&play, &journal);
    let failed = all.iter().filter(|list| list.as_slice() == ["failed"]).count();
    let interrupted = all.iter().filter(|list| list.as_slice() == ["interrupted"]).count();
    assert_eq!(interrupted, 3, "one for each attempt that ran");
    assert_eq!(failed + interrupted, all.len() - 2, "all but those before the turn");
}

#[test]
fn while_hooks_look_at_a_call() {
    let spec = |name: &str, point, priority, observer| HookSpec {
        name: name.to_owned(),
        point,
        priority,
        observer,
        global: true,
    };
    let tools = vec![
        tool("file.read", "L0", "permissions: {approvalMarker: ok}\n"),
        tool("page.read", "L0", ""),
        tool("vault.read", "L0", ""),
    ];
    let marked = r#"{"path":"a","ok":true}"#;
    let three = [("file_read", marked), ("page_read", "{}"), ("vault_read", "{}")];
    let mut play = Play::new(tools, vec![calls(&three), step(say("Read."))]);
    play.hooks = Hooks::new(vec![
        spec("rewriter", Point::BeforeCall, 9, false),
        spec("guard", Point::BeforeCall, 5, false),
        spec("watcher", Point::BeforeCall, 1, true),
        spec("reader", Point::AfterCall, 1, true),
    ]);
    let args = Some(serde_json::json!({"path": "elsewhere"}));
    let acting: [(&str, Arc<dyn Hook>); 4] = [
        ("rewriter", Arc::new(Saying("page_read", HookVerdict::Rewrite { name: None, args }))),
        ("guard", Arc::new(Saying("vault_read", HookVerdict::Cancel { reason: "no".into() }))),
        ("watcher", Arc::new(Saying("file_read", HookVerdict::Failed { why: "asleep".into() }))),
        ("reader", Arc::new(Saying("none", HookVerdict::Pass))),
    ];
    play.acting = acting.map(|(name, hook)| (name.to_owned(), hook)).into();
    let journal = played(&play);
    assert_eq!(outcomes(&journal), ["blocked", "succeeded", "succeeded"]);
    let all = at_every_entry(&play, &journal);
    for list in all.iter().filter(|list| !list.is_empty()) {
        assert!(list.contains(&"blocked"), "what a hook forbids stays forbidden: {list:?}");
    }
}

#[test]
fn while_it_is_cancelled() {
    let sleeps = "execution: {adapter: 'builtin:command.run', command: ['sleep', '20']}\n\
                  sandbox: {mode: none}\n";
    let tools = vec![tool("long.run", "L1", sleeps), tool("mail.send", "L4", "")];
    let two = [("long_run", "{}"), ("long_run", r#"{"path":"b"}"#)];
    let mut play = Play::new(tools, vec![calls(&two), step(say("Never."))]);
    play.knobs.parallel_tools = true;
    let cancel = Signal::Cancel("the user".to_owned());
    let journal = with_signals(&play, &[("ToolCallStarted", cancel)]);
    // What would run again for long is not part of this: only cuts after the cancel are played.
    let from = journal.entries().iter().position(|entry| entry.event.name() == "CancelRequested");
    for after in from.unwrap() + 1..=journal.entries().len() {
        let cut = killed(&journal, after);
        let mut session = Session::resume(play.parts(), cut.clone()).unwrap();
        let end = run(session.go_on(&mut |_| Vec::new()));
        assert!(end.is_none_or(|end| end == TurnEnd::Cancelled("the user".to_owned())));
        sound(&cut, &session, &key(), &format!("after {after}"));
    }
}

#[test]
fn in_the_text_dialect_with_steering_and_a_search() {
    let waits = |name: &str| ToolId::parse(name).map(|id| Deferred::Tools(Pattern::from(&id)));
    let tools = vec![tool("file.read", "L0", ""), tool("cellar.read", "L0", ""), search_tool()];
    let search = ("tool_search", r#"{"query":"select:cellar.read"}"#);
    let cellar = ("cellar_read", "{}");
    let steps = vec![calls(&[search, cellar, READ]), calls(&[cellar]), step(say("Found."))];
    let mut play = Play::new(tools, [steps, vec![step(say("Heard."))]].concat());
    play.availability.deferred = waits("cellar.read").into_iter().collect();
    play.knobs.dialect = Dialect::Text;
    let steer = |text: &str| Signal::Steer(text.to_owned());
    let signals = [("ToolCallStarted", steer("hurry")), ("ModelRequested", steer("please"))];
    let journal = with_signals(&play, &signals);
    at_every_entry(&play, &journal);
}

#[test]
fn before_the_loop_is_stopped_and_at_the_cap() {
    let tools = vec![tool("file.read", "L0", ""), tool("mail.send", "L4", "")];
    let again = calls(&[("mail_send", "{}"), READ]);
    let mut play = Play::new(tools, vec![again.clone(), again, step(say("Never."))]);
    play.answers = vec![("mail.send", Verdict::No { reason: "no".to_owned() })];
    let journal = played(&play);
    assert!(outcomes(&journal).contains(&"blocked"));
    at_every_entry(&play, &journal);
    let reads: Vec<_> = (0..8).map(|_| calls(&[READ])).collect();
    let mut play = Play::new(vec![tool("file.read", "L0", "")], reads);
    play.knobs.duplicate_scope = DuplicateScope::Reply;
    let journal = played(&play);
    at_every_entry(&play, &journal);
    play.knobs.iteration_cap = 2;
    let journal = played(&play);
    at_every_entry(&play, &journal);
}

#[test]
fn with_arguments_that_are_not_logged() {
    let quiet = "observability: {logArgs: false}\n";
    let tools = vec![tool("quiet.read", "L0", quiet), tool("file.read", "L0", "")];
    let two = [("quiet_read", r#"{"path":"a"}"#), READ];
    let play = Play::new(tools, vec![calls(&two), step(say("Read."))]);
    let journal = played(&play);
    let all = at_every_entry(&play, &journal);
    assert!(all.iter().any(|list| list.contains(&"cancelled")), "it cannot be made again: {all:?}");
}

/// The number of entries up to the first of that name, it included.
fn up_to(journal: &Journal, name: &str) -> usize {
    journal.entries().iter().position(|entry| entry.event.name() == name).unwrap() + 1
}

#[test]
fn what_was_granted_and_had_not_started_is_asked_anew() {
    let tools = vec![tool("mail.send", "L4", "")];
    let mut play = Play::new(tools, vec![calls(&[("mail_send", "{}")]), step(say("Sent."))]);
    play.answers = vec![("mail.send", yes())];
    let journal = played(&play);
    for name in ["ApprovalRequested", "ApprovalGranted", "ToolSandboxPrepared"] {
        let cut = killed(&journal, up_to(&journal, name));
        let mut again = play.clone();
        again.steps.remove(0);
        again.answers = vec![("mail.send", Verdict::No { reason: "not any more".to_owned() })];
        let mut session = Session::resume(again.parts(), cut).unwrap();
        let end = run(session.go_on(&mut |_| Vec::new()));
        assert_eq!((end, session.leftover()), (Some(TurnEnd::FinalText), None), "{name}");
        assert_eq!(outcomes(session.journal()), ["denied"], "{name}");
        let asked = session.journal().entries().iter().filter_map(|entry| match &entry.event {
            Event::ApprovalRequested(fact) => Some(fact.approval_id.clone()),
            _ => None,
        });
        let asked: BTreeSet<String> = asked.collect();
        assert_eq!(asked.len(), 2, "an answer to the old question would change nothing");
    }
}

#[test]
fn a_call_that_was_interrupted_still_stands_for_its_like() {
    let mut play = Play::new(
        vec![tool("note.write", "L2", "")],
        vec![calls(&[("note_write", "{}")]), calls(&[("note_write", "{}")]), step(say("Ok."))],
    );
    play.knobs.duplicate_scope = DuplicateScope::Turn;
    let journal = played(&play);
    let cut = killed(&journal, up_to(&journal, "ToolCallStarted"));
    let mut again = play.clone();
    again.steps.remove(0);
    let mut session = Session::resume(again.parts(), cut.clone()).unwrap();
    run(session.go_on(&mut |_| Vec::new()));
    assert_eq!(outcomes(session.journal()), ["interrupted", "duplicate"]);
    sound(&cut, &session, &key(), "duplicate");
}

#[test]
fn a_replacement_and_a_session_grant_outlive_the_process() {
    let tools = vec![tool("mail.send", "L4", ""), tool("fax.send", "L4", "")];
    let both = [("fax_send", "{}"), ("mail_send", "{}")];
    let mut play = Play::new(tools, vec![calls(&both), step(say("Sent."))]);
    let scope = AnswerScope::Session;
    play.answers = vec![
        ("fax.send", Verdict::Replace { text: "sent by hand".to_owned() }),
        ("mail.send", Verdict::Yes { strong: false, scope }),
    ];
    let journal = played(&play);
    let cut = killed(&journal, up_to(&journal, "ApprovalReplaced"));
    let mut again = play.clone();
    again.steps.remove(0);
    again.answers.remove(0);
    let mut session = Session::resume(again.parts(), cut).unwrap();
    run(session.go_on(&mut |_| Vec::new()));
    let told = session.transcript().messages().iter().find_map(|message| match message {
        Message::Tool { text, .. } => Some(text.to_string()),
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("the operator's replacement for a result:\nsent by hand"));
    let mut again = play.clone();
    again.answers.clear();
    again.steps = vec![calls(&[("mail_send", "{}")]), step(say("Sent again."))];
    let mut session = Session::resume(again.parts(), journal.clone()).unwrap();
    assert!(!session.is_open());
    run(session.turn("again".to_owned()));
    assert_eq!(outcomes(session.journal()).last(), Some(&"succeeded"), "on the grant, unasked");
    sound(&journal, &session, &key(), "grant");
    let turns: BTreeSet<&Arc<str>> =
        session.journal().entries().iter().filter_map(|entry| entry.turn.as_ref()).collect();
    assert_eq!(turns.len(), 2, "no id is given twice");
}

#[test]
fn the_deadline_and_the_budget_of_a_turn_go_on() {
    let two = [READ, ("file_read", r#"{"path":"b"}"#)];
    let mut play =
        Play::new(vec![tool("file.read", "L0", "")], vec![calls(&two), step(say("Read."))]);
    play.knobs.call_budget = Some(2);
    play.knobs.turn_deadline_ms = Some(60_000);
    let journal = played(&play);
    let cut = killed(&journal, up_to(&journal, "ToolCallSettled"));
    let mut again = play.clone();
    again.steps.remove(0);
    let gone_on = |play: &Play| {
        let mut session = Session::resume(play.parts(), cut.clone()).unwrap();
        let end = run(session.go_on(&mut |_| Vec::new())).unwrap();
        sound(&cut, &session, &key(), "limits");
        (end, outcomes(session.journal()))
    };
    assert_eq!(gone_on(&again), (TurnEnd::FinalText, vec!["succeeded", "succeeded"]));
    again.knobs.call_budget = Some(1);
    assert_eq!(gone_on(&again), (TurnEnd::FinalText, vec!["succeeded", "denied"]));
    again.starts_at = 120_000;
    let late = TurnEnd::Cancelled("the turn's deadline has passed".to_owned());
    assert_eq!(gone_on(&again), (late, vec!["succeeded", "cancelled"]));
}

#[test]
fn tools_that_changed_meanwhile_are_not_called_on_an_old_reply() {
    let tools = vec![tool("file.read", "L0", "")];
    let play = Play::new(tools, vec![calls(&[READ]), step(say("Read."))]);
    let journal = played(&play);
    let cut = killed(&journal, up_to(&journal, "ToolCallRequested"));
    let mut again = play.clone();
    again.tools.push(tool("page.read", "L0", ""));
    again.steps.remove(0);
    let mut session = Session::resume(again.parts(), cut.clone()).unwrap();
    run(session.go_on(&mut |_| Vec::new()));
    assert_eq!(outcomes(session.journal()), ["unavailable"]);
    sound(&cut, &session, &key(), "changed");
}

#[test]
fn a_journal_is_refused_where_it_cannot_be_gone_on_with() {
    let play = Play::new(vec![tool("file.read", "L0", "")], vec![step(say("Hello."))]);
    let journal = played(&play);
    let refused = |parts, journal| Session::resume(parts, journal).err();
    assert_eq!(refused(play.parts(), Journal::new()), Some(ResumeError::NotOpened));
    let other = Parts { id: "s2".into(), ..play.parts() };
    let not_ours = ResumeError::OtherSession("s1".to_owned());
    assert_eq!(refused(other, journal.clone()), Some(not_ours));
    let mut looser = play.clone();
    looser.knobs.max_tool_result_chars += 1;
    let rules = Some(ResumeError::Rules("longer results"));
    assert_eq!(refused(looser.parts(), journal.clone()), rules);
    let bare = Journal::from_parts(journal.entries().to_vec(), Blobs::default());
    assert!(matches!(refused(play.parts(), bare), Some(ResumeError::Text(_))));
    assert_eq!(refused(play.parts(), journal), None);
}
