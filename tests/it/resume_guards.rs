//! What the guards and the log must not forget, or must not know, when a session is killed.

use proofmark::journal::event::call::UNLOGGED;
use proofmark::journal::{Event, Journal};
use proofmark::runtime::dialect::Message;
use proofmark::runtime::guard::repeat::DuplicateScope;
use proofmark::runtime::guard::{HookSpec, HookVerdict, Hooks, Point, Verdict};
use proofmark::runtime::provider::scripted::say;
use proofmark::runtime::session::Session;
use proofmark::runtime::turn::TurnEnd;

use crate::played::{Play, Saying, calls, key, outcomes, played, run, step};
use crate::resume::{at_every_entry, consumed, killed, sound};
use crate::tools::tool;

/// The same call nine times, each time refused in this way.
fn refused(name: &'static str, args: &'static str) -> Play {
    let steps = (0..9).map(|_| calls(&[(name, args)])).collect();
    let quiet = "observability: {logArgs: false}\n";
    let marked = "permissions: {approvalMarker: approved}\n";
    let tools = vec![
        tool("file.read", "L0", ""),
        tool("quiet.read", "L0", quiet),
        tool("mail.send", "L4", ""),
        tool("form.fill", "L0", marked),
        tool("bell.ring", "L0", "observability: {auditLevel: none}\n"),
    ];
    let mut play = Play::new(tools, steps);
    play.answers = vec![("mail.send", Verdict::Replace { text: "sent by hand".to_owned() }); 9];
    play.knobs.iteration_cap = 20;
    play.knobs.duplicate_scope = DuplicateScope::Turn;
    let spec = HookSpec {
        name: "warden".to_owned(),
        point: Point::BeforeCall,
        priority: 0,
        observer: false,
        global: true,
    };
    let cancel = HookVerdict::Cancel { reason: "not today".to_owned() };
    play.hooks = Hooks::new(vec![spec]);
    play.acting.insert("warden".to_owned(), std::sync::Arc::new(Saying("bell_ring", cancel)));
    play
}

#[test]
fn a_refusal_counts_however_often_the_process_dies() {
    for (name, args, refusals) in [
        ("no_such", r#"{"b":1,"a":2.0}"#, 6),
        ("file_read", r#"{"path":7}"#, 6),
        ("file_read", r#"{"path":"#, 6),
        ("quiet_read", r#"{"path":7}"#, 6),
        ("quiet_read", r#"{"path":"#, 6),
        ("bell_ring", r#"{"path":"a"}"#, 6),
        ("form_fill", r#"{"path":7,"approved":true}"#, 6),
        ("mail_send", "{}", 6),
        // The first of them runs.
        ("file_read", r#"{"path":"a"}"#, 7),
    ] {
        let play = refused(name, args);
        let journal = played(&play);
        let all = outcomes(&journal);
        assert_eq!(all.len(), refusals, "{name} {args}: {all:?}");
        let quiet = journal.entries().len() - 1;
        for after in (1..=quiet).step_by(3) {
            let cut = killed(&journal, after);
            let place = format!("{name} {args} killed after {after}");
            let mut again = play.clone();
            again.steps.drain(..consumed(cut.entries()));
            again.starts_at = cut.entries().last().unwrap().at;
            again.answers.truncate(9);
            let mut session = Session::resume(again.parts(), cut.clone()).unwrap();
            let end = run(session.go_on(&mut |_| Vec::new()));
            // Before the turn's first fact there is none to go on with.
            let Some(end) = end else { continue };
            assert_eq!(end, TurnEnd::LoopStopped("identical".to_owned()), "{place}");
            sound(&cut, &session, &key(), &place);
            let settled = outcomes(session.journal());
            // What was interrupted, or could not be made again, was no refusal.
            let lost =
                settled.iter().filter(|o| matches!(**o, "interrupted" | "cancelled")).count();
            assert_eq!(settled.len(), refusals + lost, "{place}: {settled:?}");
        }
    }
}

const WORDS: &str = "what nobody may read later";

/// Every text and every fact of a journal in one.
fn everything(journal: &Journal) -> String {
    let facts = journal.entries().iter().map(|one| serde_json::to_string(&one.event).unwrap());
    let blobs = journal.blobs().iter().map(|(_, text)| text.to_string());
    facts.chain(blobs).collect()
}

#[test]
fn a_result_that_was_not_logged_is_said_to_be_lost() {
    for quiet in ["{logResultPreview: false}", "{auditLevel: basic}", "{auditLevel: none}"] {
        let more = format!("observability: {quiet}\nexecution: {{simulatedOutput: '{WORDS}'}}\n");
        let tools = vec![tool("diary.read", "L0", &more), tool("file.read", "L0", "")];
        let two = [("diary_read", r#"{"path":"a"}"#), ("file_read", r#"{"path":"a"}"#)];
        let steps = vec![calls(&two), calls(&[("file_read", "{}")]), step(say("Read."))];
        let play = Play::new(tools, steps);
        let mut session = play.open();
        run(session.turn("do it".to_owned()));
        let told = |session: &Session| {
            let messages = session.transcript().messages().iter();
            messages
                .filter_map(|message| match message {
                    Message::Tool { text, .. } => Some(text.to_string()),
                    _ => None,
                })
                .collect::<Vec<_>>()
        };
        assert!(told(&session)[0].starts_with(WORDS), "the model is told");
        let (journal, _) = session.close();
        assert!(!everything(&journal).contains(WORDS), "{quiet}");
        let sizes: Vec<u64> = journal
            .entries()
            .iter()
            .filter_map(|entry| match &entry.event {
                Event::ToolCallFinished(fact) if fact.unlogged => fact.result_chars,
                _ => None,
            })
            .collect();
        assert_eq!(sizes, [WORDS.len() as u64], "digest and size are kept");
        for after in 1..=journal.entries().len() {
            let cut = killed(&journal, after);
            let place = format!("{quiet} killed after {after}");
            let mut again = play.clone();
            again.steps.drain(..consumed(cut.entries()));
            again.steps.push(step(say("More.")));
            again.starts_at = cut.entries().last().unwrap().at;
            let mut session = Session::resume(again.parts(), cut.clone()).unwrap();
            run(session.go_on(&mut |_| Vec::new()));
            assert!(!everything(session.journal()).contains(WORDS), "{place}");
            let finished = cut.entries().iter().any(|entry| match &entry.event {
                Event::ToolCallFinished(fact) => fact.unlogged,
                _ => false,
            });
            if finished {
                assert_eq!(told(&session)[0], UNLOGGED, "{place}");
            }
        }
    }
}

#[test]
fn what_is_not_logged_can_be_killed_anywhere() {
    let long = "word ".repeat(2_000);
    let more = format!(
        "observability: {{logArgs: false, logResultPreview: false}}\n\
         execution: {{simulatedOutput: '{long}'}}\n"
    );
    let tools = vec![tool("diary.read", "L0", &more), tool("file.read", "L0", "")];
    let two = [("diary_read", r#"{"path":"a"}"#), ("file_read", r#"{"path":"a"}"#)];
    let play = Play::new(tools, vec![calls(&two), calls(&two), step(say("Read."))]);
    let journal = played(&play);
    at_every_entry(&play, &journal);
}
