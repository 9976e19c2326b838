//! Simulated sessions are killed anywhere and go on, twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use proofmark::base::choice::{Choices, Random};
use proofmark::journal::event::turn::ProviderFault;
use proofmark::journal::{Entry, Event, Journal};
use proofmark::runtime::BoxFuture;
use proofmark::runtime::dialect::{Dialect, Payload, Reply};
use proofmark::runtime::guard::approver::Scripted as Person;
use proofmark::runtime::guard::repeat::DuplicateScope;
use proofmark::runtime::guard::{Hook, HookVerdict};
use proofmark::runtime::provider::Provider;
use proofmark::runtime::provider::scripted::{acceptable, say};
use proofmark::runtime::resolved::{Knobs, Resolved};
use proofmark::runtime::session::{Parts, Session};
use proofmark::runtime::turn::steps::Steps;
use proofmark::sim::driver::{Mode, bundle, hooks, key as sim_key, run as simulate};
use proofmark::sim::explore::session_seed;
use proofmark::sim::scene::Scene;
use proofmark::sim::swarm::Swarm;

use crate::played::{Saying, Ticking, broken, run, yes};
use crate::resume::{killed, sound};

/// Says its last word, whatever it is asked.
struct Done(&'static str);

impl Provider for Done {
    fn name(&self) -> &'static str {
        self.0
    }

    fn reply<'a>(
        &'a mut self,
        payload: &'a Payload,
    ) -> BoxFuture<'a, Result<Reply, ProviderFault>> {
        assert_eq!(acceptable(payload), Ok(()));
        Box::pin(std::future::ready(Ok(say("That is all."))))
    }
}

/// The bundle that a simulated session ran on, as far as its journal says.
fn simulated(scene: &Scene, entries: &[Entry]) -> Resolved {
    let mut knobs = Knobs::default();
    for entry in entries {
        match &entry.event {
            Event::SessionOpened(fact) => {
                let limit = fact.max_tool_result_chars.unwrap();
                knobs.max_tool_result_chars = usize::try_from(limit).unwrap();
            }
            Event::TurnStarted(fact) => {
                let named = |dialect: &Dialect| dialect.name() == fact.dialect;
                knobs.dialect = Dialect::ALL.into_iter().find(named).unwrap();
                knobs.iteration_cap = fact.iteration_cap.unwrap();
                knobs.parallel_tools = fact.parallel_tools;
                if fact.duplicate_scope.as_deref() == Some("turn") {
                    knobs.duplicate_scope = DuplicateScope::Turn;
                }
            }
            _ => {}
        }
    }
    Resolved { knobs, ..bundle(scene, hooks()) }
}

fn simulated_parts(scene: &Scene, cut: &Journal) -> Parts {
    let hook: Arc<dyn Hook> = Arc::new(Saying("none", HookVerdict::Pass));
    let names = ["gatekeeper", "watcher", "mourner"];
    let answers = (0..40).map(|_| ("*".to_owned(), yes())).collect();
    let resolved = Arc::new(simulated(scene, cut.entries()));
    let approver = Box::new(Person::new(answers));
    Parts {
        world: Box::new(Ticking::from(cut.entries().last().map_or(0, |last| last.at))),
        others: BTreeMap::from([("other".into(), Box::new(Done("other")) as Box<dyn Provider>)]),
        hooks: names.map(|name| (name.to_owned(), Arc::clone(&hook))).into(),
        ..Parts::new("sim".into(), resolved, Box::new(Done("sim")), approver)
    }
}

#[test]
fn simulated_sessions_go_on_from_anywhere_and_once_more() {
    let scene = Scene::new().unwrap();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut skipped = 0;
    for number in 0..300 {
        let mut choices = Random::new(session_seed(3, number));
        let swarm = Swarm::draw(&mut choices);
        let record = simulate(&scene, &Steps::REAL, (swarm, Mode::Chance), &mut choices);
        let mut journal = record.journal;
        if !broken(&journal, &sim_key()).is_empty() {
            // What goes on from a broken record says nothing about going on.
            skipped += 1;
            continue;
        }
        for round in 0..2 {
            let after = 1 + choices.pick(journal.entries().len());
            let cut = killed(&journal, after);
            let last = cut.entries().last().unwrap().event.name();
            let place = format!("session {number}, round {round}, after {after}, {last}");
            *seen.entry(last).or_default() += 1;
            let mut session = Session::resume(simulated_parts(&scene, &cut), cut.clone())
                .unwrap_or_else(|error| panic!("{place}: {error}"));
            run(session.go_on(&mut |_| Vec::new()));
            sound(&cut, &session, &sim_key(), &place);
            run(session.turn("and then?".to_owned()));
            sound(&cut, &session, &sim_key(), &place);
            (journal, _) = session.close();
        }
    }
    assert!(skipped < 5, "{skipped} records are broken before they are cut");
    assert!(seen.len() > 25, "cuts of every kind: {seen:?}");
}
