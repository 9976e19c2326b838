//! Looking for violations: many random sessions, all small ones, one again; and the shortest list
//! of choices that still shows what was found.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::actors::Act;
use super::driver::{Flavour, Mode, Record, Visited, key, run_unless_known};
use super::oracle::{End, Told, allows};
use super::scene::{Args, Scene, alias};
use super::swarm::{Kind, Swarm};
use super::workload::Meant;
use crate::base::choice::{Choices, Odometer, Random, Replay, to_text};
use crate::journal::event::call::ObservedEffects;
use crate::journal::event::turn::ProviderFault;
use crate::journal::outcome::Blame;
use crate::journal::{Event, Journal};
use crate::law::{Judge, Verdict, Violation};
use crate::runtime::dialect::{RawCall, Reply};
use crate::runtime::exec::Ran;
use crate::runtime::turn::steps::Steps;

/// What was found wrong with one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The law's name, `oracle`, `panic`, or `driver`.
    pub by: String,
    /// What was seen.
    pub message: String,
    /// The law's violation, where a law found it.
    pub violation: Option<Violation>,
}

/// Judges sessions; keeps counts of what the laws looked at.
pub struct Bench<'a> {
    scene: &'a Scene,
    steps: &'a Steps,
    judge: Judge,
    /// Sessions in which each law held something, in the order of the table.
    pub exercised: Vec<u64>,
    /// How often each kind of trouble happened.
    pub drawn: Vec<u64>,
    /// Turns so far.
    pub turns: u64,
    /// Calls so far.
    pub calls: u64,
    /// Entries so far.
    pub entries: u64,
}

/// One session, judged.
#[derive(Debug)]
pub struct Judged {
    /// What was wrong.
    pub found: Vec<Found>,
    /// The record, unless a panic took it.
    pub record: Option<Record>,
}

impl<'a> Bench<'a> {
    /// Sessions in this scene, with these decisions.
    pub fn new(scene: &'a Scene, steps: &'a Steps) -> Self {
        Self {
            scene,
            steps,
            judge: Judge::new(Some(key())),
            exercised: vec![0; crate::law::all().len()],
            drawn: vec![0; Kind::ALL.len()],
            turns: 0,
            calls: 0,
            entries: 0,
        }
    }

    /// Runs and judges one session of chance.
    pub fn chance(&mut self, choices: &mut dyn Choices) -> Judged {
        let swarm = Swarm::draw(choices);
        self.session((swarm, Mode::Chance, None), choices)
    }

    fn session(
        &mut self,
        how: (Swarm, Mode, Option<&mut Visited>),
        choices: &mut dyn Choices,
    ) -> Judged {
        let (scene, steps) = (self.scene, self.steps);
        let ran = catch_unwind(AssertUnwindSafe(|| run_unless_known(scene, steps, how, choices)));
        match ran {
            Ok(record) => {
                let found = self.judge(&record);
                Judged { found, record: Some(record) }
            }
            Err(panic) => {
                let said = panic.downcast_ref::<String>().map(String::as_str);
                let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
                let message = said.unwrap_or("a panic without words").to_owned();
                let found = Found { by: "panic".to_owned(), message, violation: None };
                Judged { found: vec![found], record: None }
            }
        }
    }

    fn judge(&mut self, record: &Record) -> Vec<Found> {
        self.turns += u64::from(record.turns);
        self.calls += u64::from(record.calls);
        for (total, drawn) in self.drawn.iter_mut().zip(record.swarm.drawn()) {
            *total += drawn;
        }
        let mut found: Vec<Found> = record
            .complaints
            .iter()
            .map(|message| Found {
                by: "driver".to_owned(),
                message: message.clone(),
                violation: None,
            })
            .collect();
        self.session_of((&record.journal, &record.told), &mut found);
        for below in &record.below {
            self.session_of((&below.journal, &below.told), &mut found);
        }
        found
    }

    /// What the laws and the reference model say of one session.
    fn session_of(
        &mut self,
        (journal, told): (&Journal, &BTreeMap<Arc<str>, Told>),
        found: &mut Vec<Found>,
    ) {
        self.entries += journal.entries().len() as u64;
        let findings = self.judge.journal(journal.entries(), journal.blobs());
        for (finding, exercised) in findings.into_iter().zip(&mut self.exercised) {
            match finding.verdict {
                Verdict::Holds { .. } => *exercised += 1,
                Verdict::Broken { violations } => {
                    found.extend(violations.into_iter().map(|violation| Found {
                        by: finding.law.to_owned(),
                        message: violation.message.clone(),
                        violation: Some(violation),
                    }));
                }
                Verdict::NotExercised | Verdict::Unknown { .. } => {}
            }
        }
        found.extend(oracle(journal, told));
    }
}

/// Every settled call against the reference model.
fn oracle(journal: &Journal, told: &BTreeMap<Arc<str>, Told>) -> Vec<Found> {
    let wrong = |message: String| Found { by: "oracle".to_owned(), message, violation: None };
    let mut found = Vec::new();
    for entry in journal.entries() {
        let (Event::ToolCallSettled(fact), Some(call)) = (&entry.event, &entry.call) else {
            continue;
        };
        match told.get(call) {
            None => found.push(wrong(format!("{call} was settled and never asked for"))),
            Some(told) if !allows(told, &fact.outcome) => {
                let name = fact.outcome.name();
                found.push(wrong(format!("{call} ended as {name}, and was told {told:?}")));
            }
            Some(_) => {}
        }
    }
    found
}

/// What random exploration found.
#[derive(Debug)]
pub struct Failure {
    /// Which session of the seed.
    pub session: u64,
    /// The shortest list of choices found that still shows it.
    pub choices: Vec<usize>,
    /// What it shows.
    pub found: Vec<Found>,
    /// Which kinds of trouble existed.
    pub swarm: Vec<&'static str>,
    /// The journal of the shortest list.
    pub journal: Option<Journal>,
}

impl Failure {
    /// One word that replays it.
    pub fn replay(&self) -> String {
        to_text(&self.choices)
    }
}

/// Runs sessions of a seed until `turns` turns were taken or one is wrong.
pub fn random(bench: &mut Bench<'_>, seed: u64, turns: u64) -> Option<Failure> {
    let (goal, mut session) = (bench.turns + turns, 0);
    while bench.turns < goal {
        let mut choices = Random::new(session_seed(seed, session));
        let judged = bench.chance(&mut choices);
        if !judged.found.is_empty() {
            return Some(shrunk(bench, session, choices.made().to_vec(), &judged));
        }
        session += 1;
    }
    None
}

/// The seed of one session of a seed.
pub fn session_seed(seed: u64, session: u64) -> u64 {
    // SplitMix64's increment, so that neighbouring seeds share no session.
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(session)
}

/// Runs one session again.
pub fn replay(bench: &mut Bench<'_>, list: Vec<usize>) -> Judged {
    bench.chance(&mut Replay::new(list))
}

fn shrunk(bench: &mut Bench<'_>, session: u64, list: Vec<usize>, first: &Judged) -> Failure {
    let by = first.found.first().map(|found| found.by.clone()).unwrap_or_default();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let choices = shrink(list, &mut |list| {
        let judged = replay(bench, list.to_vec());
        judged.found.iter().any(|found| found.by == by)
    });
    let judged = replay(bench, choices.clone());
    std::panic::set_hook(hook);
    let swarm = judged.record.as_ref().map(|record| record.swarm.names()).unwrap_or_default();
    let journal = judged.record.map(|record| record.whole());
    Failure { session, choices, found: judged.found, swarm, journal }
}

/// Shortens a list of choices: cuts stretches out, then makes numbers smaller, as long as it still
/// `fails`.
pub fn shrink(mut list: Vec<usize>, fails: &mut dyn FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut budget = 2_000_u32;
    let mut again = true;
    while again && budget > 0 {
        again = false;
        let mut width = (list.len() / 2).max(1);
        while width > 0 && budget > 0 {
            let mut at = 0;
            while at < list.len() && budget > 0 {
                let mut shorter = list.clone();
                shorter.drain(at..(at + width).min(list.len()));
                budget -= 1;
                if fails(&shorter) {
                    (list, again) = (shorter, true);
                } else {
                    at += width;
                }
            }
            width /= 2;
        }
        for at in 0..list.len() {
            for smaller in [0, list[at] / 2, list[at].saturating_sub(1)] {
                if smaller >= list[at] || budget == 0 {
                    continue;
                }
                let mut tried = list.clone();
                tried[at] = smaller;
                budget -= 1;
                if fails(&tried) {
                    (list, again) = (tried, true);
                    break;
                }
            }
        }
    }
    list
}

/// What exploring everything came to.
#[derive(Debug, Default)]
pub struct Explored {
    /// How many schedules were run, those that were cut short among them.
    pub schedules: u64,
    /// How many of them were cut short, because other choices had led to the same state.
    pub pruned: u64,
    /// What was wrong, with the flavours and choices that show it.
    pub failure: Option<(Vec<Flavour>, bool, Vec<usize>, Vec<Found>)>,
}

/// Every kind of call that exhaustive exploration mixes: allowed, asked and granted, asked and
/// refused; ending well, failing, hanging.
pub fn alphabet() -> Vec<Flavour> {
    let ends = [Some(true), Some(false), None];
    let mut all = Vec::new();
    for person in [None, Some(true)] {
        all.extend(ends.map(|end| Flavour { person, end }));
    }
    // What is refused never comes to an end of its own.
    all.push(Flavour { person: Some(false), end: Some(true) });
    all
}

/// Runs every order of up to `calls` calls, with a cancellation at every step, sequential and in
/// parallel.
pub fn exhaustive(bench: &mut Bench<'_>, calls: usize) -> Explored {
    let mut explored = Explored::default();
    for parallel in [false, true] {
        for size in 1..=calls {
            let mut mix = vec![0; size];
            loop {
                let all = alphabet();
                let flavours: Vec<Flavour> = mix.iter().map(|one| all[*one]).collect();
                if let Some(failure) = orders(bench, &flavours, parallel, &mut explored) {
                    explored.failure = Some(failure);
                    return explored;
                }
                if !count_up(&mut mix, all.len()) {
                    break;
                }
            }
        }
    }
    explored
}

fn count_up(digits: &mut [usize], base: usize) -> bool {
    for digit in digits.iter_mut().rev() {
        *digit += 1;
        if *digit < base {
            return true;
        }
        *digit = 0;
    }
    false
}

type Wrong = (Vec<Flavour>, bool, Vec<usize>, Vec<Found>);

fn orders(
    bench: &mut Bench<'_>,
    flavours: &[Flavour],
    parallel: bool,
    explored: &mut Explored,
) -> Option<Wrong> {
    let (mut odometer, mut visited) = (Odometer::new(), Visited::default());
    loop {
        let kinds: &[Kind] =
            if parallel { &[Kind::Cancels, Kind::Parallel] } else { &[Kind::Cancels] };
        let mode = Mode::Flavours(flavours.to_vec());
        let how = (Swarm::of(kinds), mode, Some(&mut visited));
        let judged = bench.session(how, &mut odometer);
        explored.schedules += 1;
        if !judged.found.is_empty() {
            return Some((flavours.to_vec(), parallel, odometer.made(), judged.found));
        }
        if !odometer.advance() {
            explored.pruned += visited.pruned;
            return None;
        }
    }
}

/// The one reply of an exhaustive session, then the last word.
pub(super) fn reply(
    flavours: &[Flavour],
    round: u32,
) -> (Result<Reply, ProviderFault>, Vec<Meant>) {
    if round > 1 {
        return (Ok(Reply { text: Some("Done.".to_owned()), ..Reply::default() }), Vec::new());
    }
    let (mut calls, mut meant) = (Vec::new(), Vec::new());
    for (place, flavour) in flavours.iter().enumerate() {
        let tool = match (flavour.person, place) {
            (Some(_), 0) => "mail.send",
            (Some(_), 1) => "fax.send",
            (Some(_), _) => "base.drop",
            (None, 0) => "gauge.read",
            (None, 1) => "note.write",
            (None, _) => "note.read",
        };
        let one = Meant { tool, args: Args::Good };
        let id = Some(format!("c{place}"));
        calls.push(RawCall::native(id, alias(tool), one.args.text()));
        meant.push(one);
    }
    (Ok(Reply { calls, ..Reply::default() }), meant)
}

pub(super) fn act(flavour: Option<Flavour>, tool: &str) -> Act {
    match flavour.and_then(|flavour| flavour.end) {
        None => Act::Hangs,
        Some(true) => Act::Ends(Ran::ok(format!("what {tool} says"), seen()), End::Good),
        Some(false) => {
            let ran = Ran::failed(Blame::Tool, "exit_status", "it failed");
            Act::Ends(ran, End::Bad)
        }
    }
}

pub(super) fn seen() -> ObservedEffects {
    ObservedEffects { method: "workspace".to_owned(), ..ObservedEffects::default() }
}
