//! What happens while a call runs and after it: hooks, cancellation, results, circles.

use std::sync::Arc;
use std::time::Duration;

use proofmark::base::digest::Digest;
use proofmark::base::secret::Secret;
use proofmark::journal::Event;
use proofmark::journal::event::call::ObservedEffects;
use proofmark::journal::outcome::Blame;
use proofmark::runtime::BoxFuture;
use proofmark::runtime::exec::Ran;
use proofmark::runtime::guard::{AnswerScope, Hook, HookCall, HookVerdict, Point};
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::turn::driver::Signal;
use proofmark::runtime::turn::machine::Input;
use proofmark::tool::effect::ResourcePattern;
use serde_json::json;

use super::{facts, hand};
use crate::faults::hand::Hand;
use crate::faults::record::{count, everything, outcomes, ran_with, shown};
use crate::faults::scene::{
    Play, ask, command, guard, key, lawful, rewrite, runtime, say, watcher, yes,
};
use crate::tools::tool;

#[test]
fn a_cancel_is_noticed_at_every_stage() {
    let stages: [(&str, fn(&mut Hand), &str); 7] = [
        ("the model is asked", |_| (), ""),
        ("a hook looks", |hand| hand.calls(&[("a_x", "{}")]), "a_x cancelled"),
        (
            "its file is read",
            |hand| {
                hand.calls(&[("job_run", "{}")]);
                hand.hooked(0, HookVerdict::Pass);
            },
            "job_run cancelled",
        ),
        (
            "a person is asked",
            |hand| {
                hand.calls(&[("mail_send", "{}")]);
                hand.hooked(0, HookVerdict::Pass);
            },
            "mail_send cancelled",
        ),
        (
            "it runs",
            |hand| {
                hand.calls(&[("a_x", "{}")]);
                hand.hooked(0, HookVerdict::Pass);
            },
            "a_x interrupted",
        ),
        (
            "it waits for its next attempt",
            |hand| {
                hand.calls(&[("a_x", "{}")]);
                hand.hooked(0, HookVerdict::Pass);
                hand.finish_as(0, Ran::failed(Blame::Tool, "flaky", "once more"));
            },
            "a_x failed:flaky",
        ),
        (
            "a hook watches its end",
            |hand| {
                hand.calls(&[("a_x", "{}")]);
                hand.hooked(0, HookVerdict::Pass);
                hand.finish(0, "done");
            },
            "a_x succeeded",
        ),
    ];
    for (stage, reach, expected) in stages {
        let retried = "execution: {retryPolicy: {maxRetries: 3, retryOn: [flaky]}}\n";
        let mut flaky = tool("a.x", "L0", retried);
        flaky.effects.idempotent = true;
        let job = command("job.run", &["sh", "job.sh"], "");
        let hooks = vec![guard("g", 0, HookVerdict::Pass), watcher("w", Point::AfterCall)];
        let play = Play::new(vec![flaky, job, tool("mail.send", "L4", "")], Vec::new());
        let mut hand = Hand::new(Play { hooks, ..play });
        reach(&mut hand);
        let started = hand.started.len();
        hand.cancel();
        if hand.end.is_none() {
            hand.torn(0);
        }
        assert_eq!(hand.end.as_ref().map(|end| end.name()), Some("cancelled"), "{stage}");
        let ends = outcomes(hand.journal());
        assert_eq!(ends.first().map_or("", String::as_str), expected, "{stage}");
        // Whatever comes late starts nothing.
        let (ticket, said) = (hand.hooks.first().cloned(), HookVerdict::Pass);
        ticket.into_iter().for_each(|(ticket, _)| hand.give(Input::Hooked(ticket, said.clone())));
        hand.wake(9_000_000);
        assert_eq!(hand.started.len(), started, "{stage}");
    }
}

#[test]
fn a_failed_result_is_verified_too() {
    let mut hand = hand(vec![tool("t.x", "L0", "")]);
    hand.calls(&[("t_x", "{}")]);
    let writes = vec!["workspace:elsewhere".to_owned()];
    let effects = ObservedEffects { method: "workspace".to_owned(), writes, ..Default::default() };
    let failed = Ran::failed(Blame::Tool, "exit_status", "it failed");
    hand.finish_as(0, Ran { effects, output: "half".to_owned(), ..failed });
    assert_eq!(outcomes(hand.journal()), ["t_x failed:exit_status"]);
    let undeclared = facts(hand.journal(), 0, |event| match event {
        Event::ToolResultValidated(fact) => Some((fact.status.clone(), fact.undeclared.clone())),
        _ => None,
    });
    assert_eq!(undeclared, [("failed".to_owned(), vec!["workspace:elsewhere".to_owned()])]);
    let told = shown(hand.journal(), 0);
    assert!(told.contains("it failed") && told.contains("half"), "{told}");
}

#[test]
fn watchers_watch_and_change_nothing() {
    let own = "hooks: {postCall: [own_after], onError: [own_error]}\n";
    let run = |fails: bool, said: HookVerdict| {
        let mut hooks = vec![
            watcher("after", Point::AfterCall),
            watcher("error", Point::OnError),
            watcher("own_after", Point::AfterCall),
            watcher("own_error", Point::OnError),
        ];
        hooks.iter_mut().for_each(|(spec, _)| spec.global = !spec.name.starts_with("own"));
        let play = Play::new(vec![tool("t.x", "L0", own)], Vec::new());
        let mut hand = Hand::new(Play { hooks, ..play });
        hand.calls(&[("t_x", "{}")]);
        let failed = Ran::failed(Blame::Tool, "exit_status", "no");
        hand.finish_as(0, if fails { failed } else { Ran::ok("yes", Default::default()) });
        let mut place = 0;
        while hand.hooks.len() > place {
            hand.hooked(place, said.clone());
            place += 1;
        }
        let names: Vec<String> = hand.hooks.iter().map(|(_, call)| call.hook.clone()).collect();
        (names, outcomes(hand.journal()).remove(0), shown(hand.journal(), 0))
    };
    let cancel = || HookVerdict::Cancel { reason: "stop".to_owned() };
    let (names, end, told) = run(false, HookVerdict::Pass);
    assert_eq!((names, end.as_str()), (vec!["after".into(), "own_after".into()], "t_x succeeded"));
    for said in [cancel(), HookVerdict::Failed { why: "w".into() }, rewrite(json!({"path": "z"}))] {
        assert_eq!(run(false, said).2, told, "a watcher changes nothing");
    }
    let (names, end, _) = run(true, cancel());
    assert_eq!(names, ["after", "own_after", "error", "own_error"], "global ones first");
    assert_eq!(end, "t_x failed:exit_status");
}

#[test]
fn hooks_see_what_the_one_before_left_and_observers_block_nothing() {
    let hooks = vec![
        guard("first", 3, HookVerdict::Pass),
        guard("second", 2, HookVerdict::Pass),
        watcher("watcher", Point::BeforeCall),
    ];
    let play = Play::new(vec![tool("t.x", "L0", "")], Vec::new());
    let mut hand = Hand::new(Play { hooks, ..play });
    hand.calls(&[("t_x", "{\"path\":\"a\"}")]);
    hand.hooked(0, rewrite(json!({"path": "b"})));
    assert_eq!(hand.hooks[1].1.hook, "second");
    assert_eq!(hand.hooks[1].1.args, Some(json!({"path": "b"})));
    hand.hooked(1, HookVerdict::Pass);
    assert_eq!((hand.hooks[2].1.hook.as_str(), hand.started.len()), ("watcher", 0));
    hand.hooked(2, HookVerdict::Failed { why: "it panicked".to_owned() });
    ran_with(hand.journal(), 0, &json!({"path": "b"}));
    let failed = facts(hand.journal(), 0, |event| match event {
        Event::HookRan(fact) if fact.observer => Some(fact.verdict.clone()),
        _ => None,
    });
    assert_eq!(failed, ["failed"], "its failure is a fact");
}

#[test]
fn a_hook_that_panics_blocks_its_call() {
    struct Panics(bool);
    impl Hook for Panics {
        fn run<'a>(&'a self, _: &'a HookCall) -> BoxFuture<'a, HookVerdict> {
            assert!(self.0, "at once");
            Box::pin(async { panic!("later") })
        }
    }
    for (later, said) in [(false, "at once"), (true, "later")] {
        let hooks = vec![guard("g", 0, HookVerdict::Pass)];
        let script = vec![ask(&[("t_x", "{}")]), say("ok")];
        let play = Play { hooks, ..Play::new(vec![tool("t.x", "L0", "")], script) };
        let played = play.run_with(&|_| Arc::new(Panics(later)));
        assert_eq!(outcomes(&played.journal), ["t_x blocked:g"]);
        let told = shown(&played.journal, 0);
        assert!(told.ends_with(&format!("the guard hook failed: {said}")), "{told}");
    }
}

/// Whether a process with this word in its command line is there.
fn lives(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).split('\0').any(|part| part == word))
}

#[test]
fn a_cancelled_command_is_gone_before_the_turn_ends() {
    let word = format!("61.{}", std::process::id());
    let script = format!("sleep {word} & sleep {word}");
    let tool = command("long.run", &["sh", "-c", &script], "");
    let play = Play::new(vec![tool], vec![ask(&[("long_run", "{}")])]);
    let mut session = play.open(&|_| unreachable!());
    let remote = session.remote();
    let end = runtime().block_on(async {
        let cancel = async {
            while !lives(&word) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            remote.send(Signal::Cancel("the user".to_owned()))
        };
        tokio::join!(session.turn("do it".to_owned()), cancel).0
    });
    assert!(!lives(&word), "nobody of its group is left");
    assert_eq!(end.name(), "cancelled");
    let (journal, _) = session.close();
    assert_eq!(outcomes(&journal), ["long_run interrupted"]);
    assert_eq!(count(&journal, "TornDown"), 1);
    lawful(&journal);
}

#[test]
fn circles_and_time_end_a_turn() {
    let knobs = Knobs { iteration_cap: 50, ..Knobs::default() };
    let play = Play::new(vec![tool("t.x", "L0", "")], Vec::new());
    let mut hand = Hand::new(Play { knobs, ..play });
    let mut round = 0;
    while hand.end.is_none() {
        // The result is always the same, whatever is asked.
        hand.calls(&[("t_x", &format!("{{\"path\":\"{round}\"}}"))]);
        if hand.started.len() > round {
            hand.finish(round, "same");
        }
        round += 1;
        assert!(round < 50);
    }
    assert_eq!(hand.end.as_ref().map(|end| end.name()), Some("loop_stopped"));
    // Warned about from the sixth on, blocked from the eighth on, and over with the tenth.
    assert_eq!((hand.started.len(), round), (7, 10));
    assert_eq!(hand.transcript.messages().len(), 1 + 2 * round, "every round is whole");
    let knobs = Knobs { turn_deadline_ms: Some(1000), ..Knobs::default() };
    let play = Play::new(vec![tool("t.x", "L0", "")], Vec::new());
    let mut hand = Hand::new(Play { knobs, ..play });
    hand.calls(&[("t_x", "{}")]);
    hand.wake(1001);
    hand.torn(0);
    assert_eq!(hand.end.as_ref().map(|end| end.name()), Some("cancelled"));
    assert_eq!(outcomes(hand.journal()), ["t_x interrupted"]);
}

#[test]
fn what_is_not_logged_is_still_judged() {
    let quiet = tool("t.x", "L4", "observability: {logArgs: false}\n");
    let script = vec![ask(&[("t_x", "{\"path\":\"private words\"}")]), say("ok")];
    let play = Play::new(vec![quiet], script);
    let played = Play { answers: vec![("t.x", yes(AnswerScope::Once))], ..play }.ends();
    let logged = facts(&played.journal, 0, |event| match event {
        Event::ToolCallRequested(fact) => Some(fact.args.is_some() || fact.raw_args.is_some()),
        _ => None,
    });
    assert_eq!(logged, [false]);
    ran_with(&played.journal, 0, &json!({"path": "private words"}));
}

#[test]
fn the_key_of_receipts_is_nowhere_in_the_record() {
    let play = Play::new(vec![tool("t.x", "L0", "")], vec![ask(&[("t_x", "{}")]), say("ok")]);
    let played = play.ends();
    assert_eq!(count(&played.journal, "ReceiptIssued"), 1);
    assert!(!everything(&played.journal).contains(key().expose()));
}

#[test]
fn a_receipt_covers_the_whole_scrubbed_result() {
    let secret = Secret::canary("rules", 2);
    let secrets = vec![("KEY", secret.clone())];
    let play = Play::new(vec![tool("t.x", "L0", "")], Vec::new());
    let mut hand = Hand::new(Play { secrets, ..play });
    hand.calls(&[("t_x", "{}")]);
    hand.finish(0, &format!("{} {}", secret.expose(), "long ".repeat(5_000)));
    let receipt = facts(hand.journal(), 0, |event| match event {
        Event::ReceiptIssued(fact) => Some(fact.clone()),
        _ => None,
    });
    let stored = facts(hand.journal(), 0, |event| match event {
        Event::ArtifactPersisted(fact) => Some(fact.content_hash),
        _ => None,
    });
    let whole = hand.journal().blobs().get(&stored[0]).unwrap();
    assert!(whole.starts_with("[redacted] long") && whole.len() > 20_000);
    assert_eq!(receipt[0].result_digest, Digest::of("result", whole.as_bytes()));
    assert!(shown(hand.journal(), 0).chars().count() <= 4_000);
}

#[test]
fn what_cannot_be_seen_is_unknown() {
    let script = vec![ask(&[("job_run", "{}")]), say("ok")];
    let played = Play::new(vec![command("job.run", &["true"], "")], script).ends();
    let seen = facts(&played.journal, 0, |event| match event {
        Event::ToolCallFinished(fact) => fact.effects.clone(),
        _ => None,
    });
    assert_eq!(seen, [ObservedEffects { method: "unknown".to_owned(), ..Default::default() }]);
}

#[test]
fn resources_in_doubt_keep_writers_apart() {
    let knobs = Knobs { parallel_tools: true, ..Knobs::default() };
    for (one, other, together) in
        [("src/a", "src/b", true), ("src/**", "src/b", false), ("src", "src/b", false)]
    {
        let on = |id: &str, path: &str| {
            let mut tool = tool(id, "L2", "");
            tool.effects.writes = vec![ResourcePattern::new(format!("workspace:{path}"))];
            tool
        };
        let play = Play::new(vec![on("a.x", one), on("b.x", other)], Vec::new());
        let mut hand = Hand::new(Play { knobs: knobs.clone(), ..play });
        hand.calls(&[("a_x", "{}"), ("b_x", "{}")]);
        assert_eq!(hand.started.len(), 1 + usize::from(together), "{one} {other}");
    }
}
