//! Who acts in a trial beside the model: hooks, the person who is asked, and whoever sends signals
//! while a turn runs. All of them play what the case says, each time alike.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::case::Case;
use super::play::{HookEnd, PlayedAnswer, PlayedHook, PlayedSignal, What};
use crate::base::world::wall_clock;
use crate::journal::event::turn::ProviderFault;
use crate::journal::{Entry, Event};
use crate::runtime::BoxFuture;
use crate::runtime::catalog::{Registry, alias};
use crate::runtime::credential::Broker;
use crate::runtime::exec::simulated::fill;
use crate::runtime::guard::{
    Answer, ApprovalRequest, Approver, Hook, HookCall, HookVerdict, Hooks, Point, Verdict,
};
use crate::runtime::provider::harness_fault;
use crate::runtime::turn::driver::Signal;
use crate::runtime::view::Block;
use crate::tool::id::ToolId;

/// The parts of one scripted hook, by the point at which each runs.
struct ScriptedHook(BTreeMap<Point, PlayedHook>);

/// The hooks of a case: as a session orders them, and by name.
pub(super) fn hooks(
    played: &[PlayedHook],
    broker: &Broker,
) -> (Hooks, BTreeMap<String, Arc<dyn Hook>>) {
    let mut parts: BTreeMap<String, BTreeMap<Point, PlayedHook>> = BTreeMap::new();
    for hook in played {
        let mut own = hook.clone();
        match &mut own.end {
            HookEnd::Says(HookVerdict::Rewrite { args: Some(args), .. }) => fill(args, broker),
            HookEnd::Says(
                HookVerdict::Cancel { reason: text } | HookVerdict::Failed { why: text },
            ) => *text = broker.fill(text),
            HookEnd::Says(_) | HookEnd::Panics | HookEnd::Never => {}
        }
        parts.entry(hook.spec.name.clone()).or_default().insert(hook.spec.point, own);
    }
    let by_name = parts.into_iter().map(|(name, points)| {
        let hook: Arc<dyn Hook> = Arc::new(ScriptedHook(points));
        (name, hook)
    });
    (Hooks::new(played.iter().map(|hook| hook.spec.clone()).collect()), by_name.collect())
}

impl Hook for ScriptedHook {
    fn run<'a>(&'a self, call: &'a HookCall) -> BoxFuture<'a, HookVerdict> {
        Box::pin(async move {
            let concerns = |hook: &&PlayedHook| {
                hook.tools.is_empty() || hook.tools.contains(call.tool.as_str())
            };
            let Some(hook) = self.0.get(&call.point).filter(concerns) else {
                return HookVerdict::Pass;
            };
            if hook.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(hook.delay_ms)).await;
            }
            match &hook.end {
                HookEnd::Says(verdict) => verdict.clone(),
                // Meant to happen, so nothing is said about it on the terminal.
                HookEnd::Panics => std::panic::resume_unwind(Box::new("the hook panicked")),
                HookEnd::Never => std::future::pending().await,
            }
        })
    }
}

/// The questions asked so far, by their ids.
type Asked = Arc<Mutex<Vec<String>>>;

fn lock(asked: &Asked) -> MutexGuard<'_, Vec<String>> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers by tool, in order, each answer once; asked beyond them, nobody is there.
pub(super) struct Person {
    answers: Mutex<Vec<PlayedAnswer>>,
    asked: Asked,
}

impl Person {
    /// Somebody with these answers, who knows of the questions that a watcher sees.
    pub(super) fn new(answers: Vec<PlayedAnswer>, watcher: &Watcher) -> Self {
        Self { answers: Mutex::new(answers), asked: Arc::clone(&watcher.asked) }
    }

    /// The question that an answer is addressed to; one that nobody asked has no id.
    fn addressee(&self, request: &ApprovalRequest, to: Option<usize>) -> String {
        let Some(number) = to else { return request.id.clone() };
        let asked = lock(&self.asked);
        let id = number.checked_sub(1).and_then(|index| asked.get(index)).cloned();
        id.unwrap_or_else(|| format!("question {number}, which nobody asked"))
    }
}

impl Approver for Person {
    fn channel(&self) -> &'static str {
        "scripted"
    }

    fn answer<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Answer> {
        let fits = |answer: &PlayedAnswer| answer.tool == request.tool || answer.tool == "*";
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let place = answers.iter().position(fits);
        let said = place.map(|index| answers.remove(index));
        drop(answers);
        Box::pin(async move {
            let (verdict, late, to) = match said {
                Some(PlayedAnswer { verdict, late, to, .. }) => (verdict, late, to),
                None => (Verdict::Unreachable, false, None),
            };
            if late {
                past(request.expires_at).await;
            }
            let approval_id = self.addressee(request, to);
            Answer { approval_id, verdict, decider: "script".to_owned() }
        })
    }
}

/// Waits until a time is over, and no moment longer: whoever waits for the same time is still
/// asleep then.
async fn past(time: u64) {
    let near = time.saturating_sub(wall_clock()).saturating_sub(2);
    tokio::time::sleep(Duration::from_millis(near)).await;
    while wall_clock() <= time {
        tokio::task::yield_now().await;
    }
}

/// Sees every entry of a trial as it is recorded, and answers with the case's signals.
#[derive(Debug, Default)]
pub struct Watcher {
    signals: Vec<Waiting>,
    asked: Asked,
    grants: Vec<String>,
    /// The tool of each call, kept only where a signal speaks of one.
    calls: BTreeMap<Arc<str>, ToolId>,
    names: BTreeMap<String, ToolId>,
}

#[derive(Debug)]
struct Waiting {
    signal: PlayedSignal,
    /// How many more of its events must come.
    left: u32,
}

impl Watcher {
    /// A watcher for one trial of a case.
    pub(super) fn new(case: &Case, registry: &Registry, broker: &Broker) -> Self {
        let wait = |signal: &PlayedSignal| {
            let mut signal = signal.clone();
            if let What::Cancel(text) | What::Steer(text) = &mut signal.what {
                *text = broker.fill(text);
            }
            Waiting { left: signal.count, signal }
        };
        let signals: Vec<Waiting> = case.play.signals.iter().map(wait).collect();
        let mut names = BTreeMap::new();
        if signals.iter().any(|waiting| waiting.signal.tool.is_some()) {
            let aliases = alias::aliases(registry.iter().map(|tool| tool.id()));
            names = aliases.into_iter().map(|(id, alias)| (alias, id)).collect();
        }
        Self { signals, names, ..Self::default() }
    }

    /// Looks at an entry; the signals that are sent because of it.
    pub(super) fn see(&mut self, entry: &Entry) -> Vec<Signal> {
        match &entry.event {
            Event::ApprovalRequested(fact) => lock(&self.asked).push(fact.approval_id.clone()),
            Event::GrantIssued(fact) => self.grants.push(fact.grant_id.clone()),
            _ => {}
        }
        if self.signals.is_empty() {
            return Vec::new();
        }
        self.follow(entry);
        let tool = entry.call.as_ref().and_then(|call| self.calls.get(call));
        let mut sent = Vec::new();
        for waiting in self.signals.iter_mut().filter(|waiting| waiting.left > 0) {
            let signal = &waiting.signal;
            let concerns = signal.tool.is_none() || signal.tool.as_ref() == tool;
            if signal.after == entry.event.name() && concerns {
                waiting.left -= 1;
                if waiting.left == 0 {
                    sent.push(signal.what.clone());
                }
            }
        }
        sent.into_iter().flat_map(|what| self.signals_of(what)).collect()
    }

    fn signals_of(&self, what: What) -> Vec<Signal> {
        match what {
            What::Cancel(cause) => vec![Signal::Cancel(cause)],
            What::Steer(text) => vec![Signal::Steer(text)],
            What::Switch(to) => vec![Signal::Switch(to)],
            What::Revoke => {
                let revoke = |id: &String| Signal::Revoke(id.clone(), "script".to_owned());
                self.grants.iter().map(revoke).collect()
            }
            What::Block(tool) => {
                let (reason, by) = ("the script says so".to_owned(), "script".to_owned());
                vec![Signal::Block(Block { tool, reason, by })]
            }
        }
    }

    /// Remembers which tool a call is for: as it was asked for, then as hooks rewrote it.
    fn follow(&mut self, entry: &Entry) {
        let name = match &entry.event {
            Event::ToolCallRequested(fact) => &fact.tool_id,
            Event::ToolCallRewritten(fact) => &fact.tool_id,
            _ => return,
        };
        let Some(call) = entry.call.as_ref().filter(|_| !self.names.is_empty()) else { return };
        match self.names.get(name).cloned().or_else(|| ToolId::parse(name)) {
            Some(tool) => drop(self.calls.insert(Arc::clone(call), tool)),
            None => drop(self.calls.remove(call)),
        }
    }

    /// A signal whose event never came: the case does not say what happens.
    pub(super) fn leftover(&self) -> Option<ProviderFault> {
        let waiting = self.signals.iter().find(|waiting| waiting.left > 0)?;
        let (after, left) = (&waiting.signal.after, waiting.left);
        Some(harness_fault(format!("a signal still waited for {left} {after} at the end")))
    }
}
