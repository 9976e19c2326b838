//! The same script through both drivers, so that neither can drift from the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::driver::{Mode, run};
use super::scene::Scene;
use super::swarm::{Kind, Swarm};
use super::workload::{self, Meant};
use crate::base::choice::{Choices, Random};
use crate::journal::event::turn::ProviderFault;
use crate::journal::{Entry, Journal};
use crate::runtime::dialect::Reply;
use crate::runtime::guard::{AnswerScope, Verdict};
use crate::runtime::turn::steps::Steps;

/// What both drivers are given.
#[derive(Debug, Clone)]
pub struct Script {
    /// What the model says, reply by reply; spelled by whoever plays it.
    pub replies: Vec<Reply>,
    /// What the person says, by tool.
    pub answers: BTreeMap<String, Verdict>,
    /// Whether calls may run in parallel.
    pub parallel: bool,
}

const KINDS: [Kind; 8] = [
    Kind::Repeats,
    Kind::Mangles,
    Kind::Forges,
    Kind::Invents,
    Kind::Excluded,
    Kind::DropsIds,
    Kind::Truncates,
    Kind::Searches,
];

impl Script {
    /// The script of a seed.
    pub fn new(seed: u64) -> Self {
        let mut choices = Random::new(seed);
        let parallel = choices.pick(2) == 1;
        let kinds: Vec<Kind> = KINDS.into_iter().filter(|_| choices.pick(2) == 1).collect();
        let mut swarm = Swarm::of(&kinds);
        let (mut replies, mut before): (Vec<Reply>, Vec<Meant>) = (Vec::new(), Vec::new());
        for round in 1..=3 {
            let (reply, meant) = workload::reply(&mut swarm, (round, false), &before, &mut choices);
            before.extend(meant);
            replies.extend(reply);
        }
        let text = Some("That is all.".to_owned());
        replies.push(Reply { text, ..Reply::default() });
        let once = AnswerScope::Once;
        let verdicts = [
            Verdict::Yes { strong: true, scope: once },
            Verdict::Yes { strong: false, scope: AnswerScope::Session },
            Verdict::No { reason: "no".to_owned() },
            Verdict::Replace { text: "this instead".to_owned() },
            Verdict::Unreachable,
        ];
        let mut answers = BTreeMap::new();
        for tool in ["mail.send", "fax.send", "base.drop"] {
            answers.insert(tool.to_owned(), verdicts[choices.pick(verdicts.len())].clone());
        }
        // A real program would run; nobody grants it here.
        answers.insert("job.run".to_owned(), Verdict::No { reason: "no".to_owned() });
        Self { replies, answers, parallel }
    }

    pub(super) fn reply(&self, round: u32) -> (Result<Reply, ProviderFault>, Vec<Meant>) {
        let place = (round as usize).saturating_sub(1);
        (Ok(self.replies.get(place).cloned().unwrap_or_default()), Vec::new())
    }

    pub(super) fn answer(&self, tool: &str) -> Verdict {
        self.answers.get(tool).cloned().unwrap_or(Verdict::Unreachable)
    }
}

/// The journal that the simulator's driver makes of a script, in an order of its own choice.
pub fn simulated(scene: &Scene, script: &Arc<Script>, seed: u64) -> Journal {
    let kinds: &[Kind] = if script.parallel { &[Kind::Parallel] } else { &[] };
    let how = (Swarm::of(kinds), Mode::Script(Arc::clone(script)));
    run(scene, &Steps::REAL, how, &mut Random::new(seed)).journal
}

/// What must be equal whatever order the work ended in: the facts of each call, and the facts of
/// the turn, each in their order, without what follows from times and from counted ids.
pub fn story(entries: &[Entry]) -> BTreeMap<String, Vec<Value>> {
    const FOLLOWS: [&str; 14] = [
        "pending",
        "expiresAt",
        "issuedAt",
        "receipt",
        "shown",
        "messages",
        "payload",
        "eventId",
        "approvalId",
        "sandboxId",
        "grantId",
        "events",
        "batch",
        "credentialBindingId",
    ];
    let mut stories: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for entry in entries {
        let mut fact = serde_json::to_value(&entry.event).unwrap_or_default();
        if let Value::Object(map) = &mut fact {
            map.retain(|key, _| !FOLLOWS.contains(&key.as_str()));
        }
        let whose = entry.call.as_deref().unwrap_or("").to_owned();
        stories.entry(whose).or_default().push(fact);
    }
    stories
}
