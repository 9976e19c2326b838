//! Tools that are blocked while a session lives, in its delegates and when its process is gone.

use std::sync::{Arc, OnceLock};

use proofmark::journal::event::turn::ProviderFault;
use proofmark::journal::{Event, Journal};
use proofmark::runtime::BoxFuture;
use proofmark::runtime::dialect::{Payload, Reply};
use proofmark::runtime::guard::AnswerScope;
use proofmark::runtime::provider::Provider;
use proofmark::runtime::provider::scripted::{call, say};
use proofmark::runtime::session::{Remote, Session};
use proofmark::runtime::turn::TurnEnd;
use proofmark::runtime::turn::driver::Signal;
use proofmark::runtime::turn::machine::Input;
use proofmark::runtime::view::Block;
use proofmark::tool::id::ToolId;

use crate::delegates::{GOAL, files, helper, parent, run};
use crate::faults::record::{outcomes, starts};
use crate::faults::scene::yes;
use crate::played::{self, Play, calls, key};
use crate::resume::{at_every_entry, killed, sound, with_signals};
use crate::rules::hand;
use crate::stage::{Stage, block_on, calls_of, ends, judged, step};
use crate::tools::tool;

fn block(tool: &str) -> Block {
    let tool = ToolId::parse(tool).unwrap();
    Block { tool, reason: "it misbehaves".to_owned(), by: "ann".to_owned() }
}

/// What was blocked, as the journal says it.
fn blocked(journal: &Journal) -> Vec<String> {
    let facts = journal.entries().iter().filter_map(|entry| match &entry.event {
        Event::ToolBlocked(fact) => {
            let by = fact.by.as_deref().unwrap_or("nobody");
            Some(format!("{} {} by {by}", fact.tool_id, fact.reason))
        }
        _ => None,
    });
    facts.collect()
}

/// The tools of the last request.
fn shown(journal: &Journal) -> Vec<String> {
    let views = journal.entries().iter().rev().filter_map(|entry| match &entry.event {
        Event::ViewCompiled(fact) => Some(fact),
        _ => None,
    });
    let last = views.map(|view| view.exposed.iter().map(|tool| tool.tool_id.to_string())).next();
    last.map(Iterator::collect).unwrap_or_default()
}

const READ: (&str, &str) = ("file_read", r#"{"path":"a"}"#);
const WRITE: (&str, &str) = ("file_write", r#"{"path":"a"}"#);

#[test]
fn a_question_about_a_blocked_tool_is_withdrawn() {
    let mut hand = hand(vec![tool("a.x", "L4", ""), tool("b.x", "L4", "")]);
    hand.calls(&[("a_x", "{}"), ("b_x", "{}")]);
    hand.give(Input::Blocked(block("a.x")));
    assert_eq!(hand.withdrawn, [hand.prompts[0].id.clone()]);
    // Who answers all the same answers nothing.
    hand.answer(0, yes(AnswerScope::Session));
    hand.answer(1, yes(AnswerScope::Once));
    hand.finish(0, "done");
    hand.say("ok");
    assert_eq!(outcomes(hand.journal()), ["a_x denied:tool_blocked", "b_x succeeded"]);
    assert_eq!(starts(hand.journal(), 0), 0);
}

#[test]
fn a_grant_does_not_outweigh_a_block() {
    let mut hand = hand(vec![tool("a.x", "L4", ""), tool("b.x", "L0", "")]);
    hand.calls(&[("a_x", "{}")]);
    hand.answer(0, yes(AnswerScope::Session));
    hand.finish(0, "done");
    hand.calls(&[("b_x", "{}"), ("a_x", "{\"path\":\"2\"}")]);
    hand.give(Input::Blocked(block("a.x")));
    hand.finish(1, "done");
    assert_eq!(outcomes(hand.journal())[2], "a_x denied:tool_blocked");
    // A second time is no fact, and neither the end of the turn nor another one changes anything.
    hand.give(Input::Blocked(block("a.x")));
    hand.say("ok");
    hand.give(Input::Blocked(block("b.x")));
    hand.begin();
    hand.calls(&[("b_x", "{}"), ("a_x", "{}")]);
    hand.say("ok");
    assert_eq!(blocked(hand.journal()).len(), 2);
    assert_eq!(
        outcomes(hand.journal())[3..],
        ["b_x unavailable:withheld", "a_x unavailable:withheld"]
    );
}

#[test]
fn between_turns_it_is_recorded_at_once() {
    let steps = vec![calls_of(&[READ]), step(say("ok")), calls_of(&[READ]), step(say("ok"))];
    let mut session = Stage::new(files(), steps).open();
    block_on(session.turn("look".to_owned()));
    let tool = || ToolId::parse("file.read").unwrap();
    assert!(session.block(tool(), "security_review_required: it leaks", "ann"));
    assert!(!session.block(tool(), "again", "bea"));
    // What a person says is never taken for a check's.
    let said = "file.read blocked: security_review_required: it leaks by ann";
    assert_eq!(blocked(session.journal()), [said]);
    block_on(session.turn("look again".to_owned()));
    judged(session.journal());
    assert!(ends(session.journal())[1].ends_with(" unavailable"), "{:?}", ends(session.journal()));
    assert_eq!(shown(session.journal()), ["file.write"]);
}

/// Says one thing after another; what it holds is sent when the second reply is due.
struct Sending(Arc<OnceLock<Remote>>, Block, u32);

impl Provider for Sending {
    fn name(&self) -> &'static str {
        "sending"
    }

    fn reply<'a>(&'a mut self, _: &'a Payload) -> BoxFuture<'a, Result<Reply, ProviderFault>> {
        Box::pin(async move {
            self.2 += 1;
            let raw = |name: &str| proofmark::runtime::dialect::RawCall::native(None, name, READ.1);
            if self.2 > 2 {
                return Ok(say("That is all."));
            }
            if self.2 == 2 {
                self.0.get().unwrap().send(Signal::Block(self.1.clone()));
                // The session above takes it meanwhile.
                tokio::task::yield_now().await;
            }
            Ok(call(vec![raw("file_read")]))
        })
    }
}

#[test]
fn a_delegate_that_runs_loses_what_its_parent_loses() {
    let remote: Arc<OnceLock<Remote>> = Arc::default();
    let sending = Sending(Arc::clone(&remote), block("file.read"), 0);
    let tools = [files(), vec![helper("file.read", "")]].concat();
    let mut stage = Stage::new(tools, parent());
    stage.delegates.insert("helper".into(), Box::new(sending));
    let mut session = stage.open();
    remote.set(session.remote()).unwrap();
    assert_eq!(run(&mut session), TurnEnd::FinalText);
    let [child] = session.children() else { panic!("one child") };
    let said = ["file.read blocked: it misbehaves by ann"];
    assert_eq!(
        (blocked(session.journal()), blocked(child)),
        (said.map(Into::into).into(), said.map(Into::into).into())
    );
    let ended: Vec<String> =
        ends(child).iter().map(|end| end.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(ended, ["failed", "denied"]);
    assert!(shown(child).is_empty());
}

#[test]
fn a_delegate_is_given_nothing_that_was_blocked() {
    let steps = vec![calls_of(&[READ, GOAL]), step(say("ok"))];
    let tools = [files(), vec![helper("'file.*'", "")]].concat();
    let child = vec![calls_of(&[READ, WRITE]), step(say("Seen."))];
    let mut session = Stage::new(tools, steps).agent("helper", child).open();
    let mut watch = |entry: &proofmark::journal::Entry| match &entry.event {
        Event::ToolCallStarted(_) => vec![Signal::Block(block("file.read"))],
        _ => Vec::new(),
    };
    block_on(session.turn_from("go".to_owned(), Default::default(), &mut watch));
    judged(session.journal());
    let [child] = session.children() else { panic!("one child") };
    judged(child);
    assert_eq!(shown(child), ["file.write"]);
    assert!(ends(child)[0].ends_with("unavailable"), "{:?}", ends(child));
    let Event::SessionOpened(opened) = &child.entries()[0].event else { panic!("{child:?}") };
    assert_eq!(opened.excluded_tools, [ToolId::parse("file.read").unwrap()]);
}

#[test]
fn a_session_that_was_killed_still_knows() {
    let tools = vec![
        tool("file.read", "L0", ""),
        tool("file.write", "L0", ""),
        tool("mail.send", "L4", ""),
    ];
    let steps = vec![
        calls(&[READ, WRITE, ("mail_send", "{}")]),
        calls(&[WRITE]),
        step(say("ok")),
        calls(&[READ]),
        step(say("ok")),
    ];
    let mut play = Play::new(tools, steps);
    play.answers = vec![("mail.send", played::yes()); 3];
    let journal = with_signals(&play, &[("ToolCallStarted", Signal::Block(block("file.write")))]);
    assert_eq!(played::outcomes(&journal), ["succeeded", "denied", "succeeded", "unavailable"]);
    let all = at_every_entry(&play, &journal);
    assert!(all.iter().any(|ended| ended.contains(&"denied")), "{all:?}");
    // Right after the block, before anything else of it was recorded.
    let after = 1 + journal.entries().iter().position(|e| e.event.name() == "ToolBlocked").unwrap();
    let cut = killed(&journal, after);
    let mut again = play.clone();
    again.steps.drain(..1);
    again.starts_at = cut.entries().last().unwrap().at;
    let mut session = Session::resume(again.parts(), cut.clone()).unwrap();
    played::run(session.go_on(&mut |_| Vec::new()));
    sound(&cut, &session, &key(), "right after the block");
    assert_eq!(shown(session.journal()), ["file.read", "mail.send"]);
    assert!(!session.block(ToolId::parse("file.write").unwrap(), "again", "bea"));
    // The calls of other tools are made as ever.
    let ended = played::outcomes(session.journal());
    assert_eq!(ended, ["interrupted", "denied", "succeeded", "unavailable"]);
}
