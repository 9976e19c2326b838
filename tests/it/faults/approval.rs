//! Questions to a person: what is shown is what runs, each answer is for one question, and a yes
//! reaches as far as was printed and no further.

use std::sync::Arc;

use proofmark::journal::{Event, Journal};
use proofmark::runtime::catalog::Registry;
use proofmark::runtime::guard::{AnswerScope, HookVerdict, Verdict};
use proofmark::tool::descriptor::Descriptor;
use serde_json::json;

use super::Row;
use super::hand::Hand;
use super::record::{about, count, outcomes, ran_with, requests, shown, starts, story};
use super::scene::{Play, ask, command, guard, no, rewrite, say, yes};
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B043", || {
        let mut hand = hand(vec![tool("pay.out", "L4", "")], rewrite(json!({"amount": 1000})));
        hand.calls(&[("pay_out", "{\"amount\":10}")]);
        hand.hooked(0, rewrite(json!({"amount": 1000})));
        assert_eq!(hand.prompts[0].args, json!({"amount": 1000}), "what is shown is what runs");
        hand.answer(0, yes(AnswerScope::Once));
        ran_with(hand.journal(), 0, &json!({"amount": 1000}));
        assert_eq!(digests(hand.journal(), 0), [hand.prompts[0].call_digest; 3]);
    }),
    ("B045", || {
        let mut hand = Hand::new(Play::new(vec![tool("cache.wipe", "L4", "")], Vec::new()));
        hand.calls(&[("cache_wipe", "{\"path\":\"a\"}"), ("cache_wipe", "{\"path\":\"b\"}")]);
        hand.answer(0, yes(AnswerScope::Always));
        hand.answer(1, no("not this one"));
        hand.finish(0, "wiped");
        let ends = ["cache_wipe succeeded", "cache_wipe denied:operator"];
        assert_eq!(outcomes(hand.journal()), ends);
        assert_eq!(starts(hand.journal(), 1), 0);
    }),
    ("B050", || {
        let mut hand = Hand::new(Play::new(vec![tool("pay.out", "L4", "")], Vec::new()));
        hand.calls(&[("pay_out", "{\"path\":\"a\"}")]);
        let request = hand.prompts[0].clone();
        let told = |id: &str, digest, now| {
            let answer = proofmark::runtime::guard::Answer {
                approval_id: id.to_owned(),
                verdict: yes(AnswerScope::Once),
                decider: "ann".to_owned(),
            };
            let said = proofmark::runtime::guard::approval::accept(&request, &answer, digest, now);
            format!("{said:?}")
        };
        let (id, own) = (request.id.as_str(), request.call_digest);
        let other = proofmark::base::digest::Digest::of("call", b"another");
        assert_eq!(told(id, own, 0), "Granted");
        let refusals =
            [told("apr_other", own, 0), told(id, other, 0), told(id, own, request.expires_at + 1)];
        assert!(refusals.iter().all(|said| said.starts_with("Refused")), "{refusals:?}");
        let reasons: std::collections::BTreeSet<&String> = refusals.iter().collect();
        assert_eq!(reasons.len(), 3, "each has a reason of its own");
    }),
    ("B052", || {
        // The file that was to run is gone when the answer comes: the yes is not lost in silence.
        let asks = "permissions: {approvalPolicy: always}\n";
        let tool = command("job.run", &["sh", "job.sh"], asks);
        let mut hand = Hand::new(Play::new(vec![tool], Vec::new()));
        hand.calls(&[("job_run", "{}")]);
        hand.found(0, Some("echo one"));
        hand.answer(0, yes(AnswerScope::Once));
        hand.found(1, None);
        assert_eq!(outcomes(hand.journal()), ["job_run denied:approval_mismatch"]);
        assert!(shown(hand.journal(), 0).contains("approved"), "and the model is told why");
        assert_eq!((hand.asked.len(), starts(hand.journal(), 0)), (2, 0));
    }),
    ("B053", || {
        let mut hand = Hand::new(Play::new(vec![tool("pay.out", "L4", "")], Vec::new()));
        hand.calls(&[("pay_out", "{\"eur\":20}")]);
        hand.answer(0, yes(AnswerScope::Once));
        assert_eq!(hand.asked.len(), 1, "the model is not asked again");
        ran_with(hand.journal(), 0, &json!({"eur": 20}));
        hand.finish(0, "paid");
        hand.calls(&[("pay_out", "{\"eur\":200}")]);
        assert_eq!((hand.prompts.len(), hand.started.len()), (2, 1), "another call is asked about");
    }),
    ("B054", || {
        let mut hand = Hand::new(Play::new(vec![tool("pay.out", "L4", "")], Vec::new()));
        hand.calls(&[("pay_out", "{}")]);
        let until = hand.prompts[0].expires_at;
        hand.wake(until);
        assert_eq!(outcomes(hand.journal()), ["pay_out open"], "the last moment still counts");
        hand.wake(until + 1);
        assert_eq!(outcomes(hand.journal()), ["pay_out denied:approval_timeout"]);
        assert_eq!(count(hand.journal(), "ApprovalExpired"), 1, "nobody decided");
        hand.answer(0, yes(AnswerScope::Once));
        assert_eq!((count(hand.journal(), "ApprovalGranted"), hand.started.len()), (0, 0));
    }),
    ("B057", || {
        let mut hand = Hand::new(Play::new(vec![tool("test.run", "L4", "")], Vec::new()));
        hand.calls(&[("test_run", "{\"path\":\"w\"}")]);
        let printed = "session: calls of test.run at this version by dev in this session";
        assert!(hand.prompts[0].options().contains(&printed.to_owned()));
        hand.answer(0, yes(AnswerScope::Session));
        hand.finish(0, "ok");
        // Inside what was printed nobody is asked again, whatever the arguments.
        hand.calls(&[("test_run", "{\"path\":\"w/sub\"}")]);
        hand.finish(1, "ok");
        assert_eq!(hand.prompts.len(), 1);
        // Another version is outside of it.
        let changed = tool("test.run", "L4", "provenance: {sourceRefs: [new]}\n");
        become_(&mut hand, changed);
        hand.say("done");
        hand.begin();
        hand.calls(&[("test_run", "{\"path\":\"w\"}")]);
        assert_eq!(hand.prompts.len(), 2);
    }),
    ("B059", || {
        for (tool, strong) in [
            (tool("base.drop", "L5", ""), true),
            (tool("fax.send", "L4", "permissions: {approvalPolicy: always}\n"), false),
        ] {
            let name = tool.tool_id.as_str().replace('.', "_");
            let mut hand = Hand::new(Play::new(vec![tool], Vec::new()));
            hand.calls(&[(&name, "{}")]);
            assert_eq!(hand.prompts[0].offered, [AnswerScope::Once], "only what can be kept");
            hand.answer(0, Verdict::Yes { strong, scope: AnswerScope::Always });
            assert_eq!(scopes(hand.journal()), ["once"], "the record says what was given");
            assert_eq!(count(hand.journal(), "GrantIssued"), 0);
        }
    }),
    ("B061", || {
        for order in [[0, 1], [1, 0]] {
            let mut hand = two_questions();
            for place in order {
                let text = format!("for {}", ["A", "B"][place]);
                hand.answer(place, Verdict::Replace { text });
            }
            let told = |place| shown(hand.journal(), place);
            assert!(told(0).ends_with("for A") && told(1).ends_with("for B"), "{order:?}");
        }
    }),
    ("B063", || {
        let again = || ask(&[("text_edit", "{\"path\":\"p.toml\"}")]);
        let play = Play::new(vec![tool("text.edit", "L4", "")], vec![again(), again()]);
        let played = Play { answers: vec![("text.edit", no("no"))], ..play }.run();
        let ends = ["text_edit denied:operator", "text_edit blocked:repeated_prompt"];
        assert_eq!(outcomes(&played.journal), ends);
        assert_eq!(played.ends[0].name(), "loop_stopped");
        assert_eq!(count(&played.journal, "ApprovalRequested"), 1, "it is asked once");
    }),
    ("B134", || {
        let hook = guard("editor", 0, rewrite(json!({"to": "b@x.test"})));
        let tools = vec![tool("mail.send", "L2", "")];
        let script = vec![ask(&[("mail_send", "{\"to\":\"a@x.test\"}")]), say("Sent.")];
        let played = Play { hooks: vec![hook], ..Play::new(tools, script) }.ends();
        ran_with(&played.journal, 0, &json!({"to": "b@x.test"}));
        let (_, messages) = &requests(&played.journal)[1];
        assert!(messages.contains("b@x.test") && !messages.contains("a@x.test"), "{messages}");
        let rewritten = "ToolCallRewritten";
        assert!(story(&played.journal, 0).contains(&rewritten), "and who edited it is a fact");
    }),
    ("B135", || {
        let renamed = HookVerdict::Rewrite { name: Some("db_wipe".to_owned()), args: None };
        let tools = vec![tool("note.read", "L0", ""), tool("db.wipe", "L5", "")];
        let mut hand = hand(tools, renamed.clone());
        hand.calls(&[("note_read", "{}")]);
        hand.hooked(0, renamed);
        assert_eq!(hand.prompts[0].tool, "db.wipe", "asked about under its new name");
        assert!(hand.prompts[0].strong && hand.started.is_empty());
    }),
    ("B137", || {
        let mut hand = two_questions();
        hand.answer(0, no("use the staging file"));
        hand.answer(1, no(""));
        assert_eq!(&*shown(hand.journal(), 0), "denied by the operator: use the staging file");
        assert_eq!(&*shown(hand.journal(), 1), "denied by the operator: no");
    }),
    ("B138", || {
        let tools = vec![tool("dir.list", "L4", ""), tool("sum.up", "L1", "")];
        let list = [("dir_list", "{\"path\":\"..\"}"), ("sum_up", "{}")];
        let script = vec![ask(&list), say("Hello; 4; I may not look there.")];
        let play = Play { answers: vec![("dir.list", no("no"))], ..Play::new(tools, script) };
        let played = play.ends();
        let ends = ["dir_list denied:operator", "sum_up succeeded"];
        assert_eq!(outcomes(&played.journal), ends);
        assert!(played.transcript.final_text().unwrap().starts_with("Hello"));
    }),
    ("B247", || {
        let mut hand = two_questions();
        let (first, second) = (hand.prompts[0].id.clone(), hand.prompts[1].id.clone());
        for stranger in ["", "apr_0", "cache_wipe", &format!("{first} ")] {
            hand.answer_to(stranger, yes(AnswerScope::Once));
        }
        hand.answer_to(&second, yes(AnswerScope::Once));
        assert_eq!(count(hand.journal(), "ApprovalGranted"), 1);
        assert!(story(hand.journal(), 1).contains(&"ApprovalGranted"));
        assert_eq!(story(hand.journal(), 0).last(), Some(&"ApprovalRequested"), "still open");
        // Said twice, it counts once.
        hand.answer_to(&second, no("no"));
        hand.answer_to(&first, no("no"));
        hand.finish(0, "tagged");
        assert_eq!(outcomes(hand.journal()), ["cache_wipe denied:operator", "git_tag succeeded"]);
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

/// A turn with one guard hook, which is moved by hand.
fn hand(tools: Vec<Descriptor>, says: HookVerdict) -> Hand {
    let hooks = vec![guard("editor", 0, says)];
    Hand::new(Play { hooks, ..Play::new(tools, Vec::new()) })
}

/// Two calls of one reply that both wait for a person.
fn two_questions() -> Hand {
    let tools = vec![tool("cache.wipe", "L4", ""), tool("git.tag", "L4", "")];
    let mut hand = Hand::new(Play::new(tools, Vec::new()));
    hand.calls(&[("cache_wipe", "{\"path\":\"c\"}"), ("git_tag", "{\"path\":\"v2\"}")]);
    assert_eq!(hand.prompts.len(), 2);
    hand
}

/// The tool changes between two turns.
fn become_(hand: &mut Hand, tool: Descriptor) {
    hand.resolved.registry = Arc::new(Registry::new(vec![tool]).unwrap());
    hand.resolved.views = Arc::default();
}

/// The digests of one call: shown, granted, started.
fn digests(journal: &Journal, place: usize) -> Vec<proofmark::base::digest::Digest> {
    let found = about(journal, place).into_iter().filter_map(|entry| match &entry.event {
        Event::ApprovalRequested(fact) => Some(fact.call_digest),
        Event::ApprovalGranted(fact) => Some(fact.call_digest),
        Event::ToolCallStarted(fact) => fact.call_digest,
        _ => None,
    });
    found.collect()
}

/// How far each yes reached, as recorded.
fn scopes(journal: &Journal) -> Vec<String> {
    let found = journal.entries().iter().filter_map(|entry| match &entry.event {
        Event::ApprovalGranted(fact) => fact.scope.clone(),
        _ => None,
    });
    found.collect()
}
