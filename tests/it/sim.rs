//! The simulator: reproducible, without violations, at one with the other driver, and able to find
//! what it is there to find.

use std::collections::BTreeMap;
use std::sync::Arc;

use proofmark::base::choice::{Random, from_text};
use proofmark::journal::format::write_line;
use proofmark::journal::{Entry, Journal};
use proofmark::law::Judge;
use proofmark::law::law::Verdict as LawVerdict;
use proofmark::runtime::BoxFuture;
use proofmark::runtime::guard::approver::Scripted as Person;
use proofmark::runtime::guard::{Envelope, Hook, HookCall, HookVerdict, Hooks, Verdict};
use proofmark::runtime::provider::scripted::{Answer, ExpectedRequest, Scripted, Step};
use proofmark::runtime::resolved::{Knobs, Resolved};
use proofmark::runtime::session::{Parts, Session};
use proofmark::runtime::turn::steps::Steps;
use proofmark::sim::driver::{Mode, bundle, key, run};
use proofmark::sim::explore::{Bench, exhaustive, random, replay, session_seed, shrink};
use proofmark::sim::mutant::steps;
use proofmark::sim::parity::{Script, simulated, story};
use proofmark::sim::scene::Scene;
use proofmark::sim::swarm::{Kind, Swarm};
use proofmark::sim::world::SimWorld;

fn scene() -> Scene {
    Scene::new().unwrap()
}

fn bytes(journal: &Journal) -> Vec<u8> {
    let mut lines = Vec::new();
    journal.entries().iter().for_each(|entry| write_line(entry, &mut lines));
    lines
}

#[test]
fn the_same_seed_gives_the_same_journal_byte_for_byte() {
    let (scene, steps) = (scene(), Steps::REAL);
    for session in 0..60 {
        let once = || {
            let mut choices = Random::new(session_seed(7, session));
            let swarm = Swarm::draw(&mut choices);
            bytes(&run(&scene, &steps, (swarm, Mode::Chance), &mut choices).journal)
        };
        assert_eq!(once(), once(), "session {session}");
    }
}

#[test]
fn thousands_of_turns_show_no_violation_and_every_kind_of_trouble() {
    let (scene, steps) = (scene(), Steps::REAL);
    let mut bench = Bench::new(&scene, &steps);
    for seed in 0..4 {
        if let Some(failure) = random(&mut bench, seed, 500) {
            panic!("seed {seed}: {:#?}\n{}", failure.found, failure.replay());
        }
    }
    let idle: Vec<&str> = Kind::ALL
        .iter()
        .zip(&bench.drawn)
        .filter(|(_, drawn)| **drawn == 0)
        .map(|(kind, _)| kind.name())
        .collect();
    assert_eq!(idle, Vec::<&str>::new(), "never drawn");
    let per_turn = bench.calls as f64 / bench.turns as f64;
    println!("{} turns, {per_turn:.2} calls a turn", bench.turns);
    assert!(per_turn >= 2.5, "{per_turn}");
}

#[test]
fn every_order_of_two_calls_holds_and_is_counted() {
    let (scene, steps) = (scene(), Steps::REAL);
    let explored = exhaustive(&mut Bench::new(&scene, &steps), 2);
    assert!(explored.failure.is_none(), "{:#?}", explored.failure);
    let counted = format!("{} schedules, {} cut short", explored.schedules, explored.pruned);
    insta::assert_snapshot!(counted, @"1694 schedules, 482 cut short");
}

#[test]
fn lists_shrink_to_what_matters() {
    let list: Vec<usize> = (0..60).map(|n| n % 7).collect();
    let mut fails = |list: &[usize]| list.iter().filter(|one| **one >= 5).count() >= 3;
    let short = shrink(list, &mut fails);
    assert_eq!(short, [5, 5, 5]);
}

#[test]
fn a_mistake_is_found_shrunk_and_replayed() {
    let scene = scene();
    let mutants = steps::all();
    let mutant = mutants.iter().find(|one| one.name == "results-in-reverse").unwrap();
    let steps = (mutant.steps)();
    let mut bench = Bench::new(&scene, &steps);
    let failure = random(&mut bench, 1, 1_000).unwrap();
    assert!(failure.found.iter().any(|found| found.by == "model-order"), "{:?}", failure.found);
    let again = replay(&mut bench, from_text(&failure.replay()).unwrap());
    assert_eq!(again.found, failure.found);
    let real = Steps::REAL;
    let sound = replay(&mut Bench::new(&scene, &real), failure.choices.clone());
    assert_eq!(sound.found, [], "the decoy");
}

/// The descriptors' own hooks, with nothing to say.
struct Silent;

impl Hook for Silent {
    fn run<'a>(&'a self, _: &'a HookCall) -> BoxFuture<'a, HookVerdict> {
        Box::pin(std::future::ready(HookVerdict::Pass))
    }
}

/// The same script through tokio.
fn driven(scene: &Scene, script: &Script) -> Journal {
    let knobs = Knobs {
        iteration_cap: 4,
        parallel_tools: script.parallel,
        dialect: proofmark::runtime::dialect::Dialect::OpenAiChat,
        ..Knobs::default()
    };
    let step = |reply| Step { expect: ExpectedRequest::default(), answer: Answer::Reply(reply) };
    let steps: Vec<Step> = script.replies.iter().cloned().map(step).collect();
    let answers: Vec<(String, Verdict)> = script
        .answers
        .iter()
        .flat_map(|(tool, said)| std::iter::repeat_n((tool.clone(), said.clone()), 20))
        .collect();
    let resolved = Arc::new(Resolved { knobs, ..bundle(scene, Hooks::default()) });
    let provider = Box::new(Scripted::new(steps.into()));
    let approver = Box::new(Person::new(answers));
    let mut session = Session::open(Parts {
        world: Box::new(SimWorld::default()),
        hooks: ["gatekeeper", "examiner", "watcher"]
            .map(|name| (name.to_owned(), Arc::new(Silent) as Arc<dyn Hook>))
            .into(),
        ..Parts::new("sim".into(), resolved, provider, approver)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let envelope = Envelope {
        ingress: Some("channel".to_owned()),
        reply_to: Some("ann".to_owned()),
        ..Envelope::default()
    };
    let text = "Please.".to_owned();
    runtime.block_on(session.turn_from(text, envelope, &mut |_| Vec::new()));
    session.close().0
}

/// Who is asked has another name in each driver, and so has the user's message.
fn comparable(entries: &[Entry]) -> BTreeMap<String, Vec<serde_json::Value>> {
    let mut stories = story(entries);
    for fact in stories.values_mut().flatten() {
        if let Some(map) = fact.as_object_mut() {
            for key in ["provider", "text", "messages", "decider", "tokens"] {
                map.remove(key);
            }
        }
    }
    stories
}

#[test]
fn both_drivers_tell_the_same_story() {
    let scene = scene();
    let mut calls = 0;
    for seed in 0..150 {
        let script = Arc::new(Script::new(seed));
        let (ours, theirs) = (simulated(&scene, &script, seed), driven(&scene, &script));
        let (left, right) = (comparable(ours.entries()), comparable(theirs.entries()));
        assert_eq!(left, right, "seed {seed}");
        calls += left.len();
        let findings = Judge::new(Some(key())).journal(theirs.entries(), theirs.blobs());
        let broken = findings.iter().filter(|f| matches!(f.verdict, LawVerdict::Broken { .. }));
        assert_eq!(broken.count(), 0, "{findings:#?}");
    }
    assert!(calls > 400, "{calls}");
}
