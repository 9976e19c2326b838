//! One run of one case.

use std::sync::Arc;

use super::case::Case;
use super::fixture::{self, Shared, SuiteShared};
use super::load::Suite;
use crate::base::caught::caught;
use crate::base::digest::Digest;
use crate::journal::event::turn::ProviderFault;
use crate::journal::{Entry, Journal};
use crate::runtime::session::Session;
use crate::runtime::turn::TurnEnd;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct TrialPlan {
    /// The case.
    pub case: Arc<Case>,
    /// Who proposes.
    pub provider: Arc<str>,
    /// Which trial of that case and provider, from 0.
    pub number: u32,
}

/// What a trial left behind.
#[derive(Debug)]
pub struct TrialRecord {
    /// The trial's and its session's id.
    pub id: Arc<str>,
    /// Its seed.
    pub seed: Digest,
    /// The record.
    pub journal: Journal,
    /// The model's last word.
    pub final_text: Option<String>,
    /// Why there is no result that could be scored as the model's.
    pub fault: Option<ProviderFault>,
}

/// Blame of a fault that is our own bug: an assertion failed.
pub const BUG: &str = "bug";

/// Runs one trial. A failing assertion of ours ends this trial and not the run.
pub async fn run_guarded(
    suite: &Suite,
    plan: &TrialPlan,
    shared: (&Shared, &SuiteShared),
) -> TrialRecord {
    caught(run(suite, plan, shared)).await.unwrap_or_else(|message| TrialRecord {
        id: id(suite, plan),
        seed: fixture::seed(&suite.name, &plan.case.id, &plan.provider, plan.number),
        journal: Journal::new(),
        final_text: None,
        fault: Some(ProviderFault { blame: BUG.to_owned(), message }),
    })
}

fn id(suite: &Suite, plan: &TrialPlan) -> Arc<str> {
    format!("{}/{}@{}#{}", suite.name, plan.case.id, plan.provider, plan.number).into()
}

/// Runs one trial.
pub async fn run(suite: &Suite, plan: &TrialPlan, shared: (&Shared, &SuiteShared)) -> TrialRecord {
    let case = &plan.case;
    let id = id(suite, plan);
    let seed = fixture::seed(&suite.name, &case.id, &plan.provider, plan.number);
    let (parts, mut watcher) =
        fixture::build(suite, case, &plan.provider, (Arc::clone(&id), seed), shared);
    let broker = &parts.resolved.broker;
    let messages: Vec<String> = case.messages.iter().map(|text| broker.fill(text)).collect();
    let mut session = Session::open(parts);
    let mut fault = None;
    for message in messages {
        let mut watch = |entry: &Entry| watcher.see(entry);
        let envelope = case.play.envelope.clone();
        let end = session.turn_from(message, envelope, &mut watch).await;
        if let TurnEnd::ProviderFault(found) = end {
            fault = Some(found);
            break;
        }
    }
    if fault.is_none() {
        fault = session.leftover().or_else(|| watcher.leftover());
    }
    let final_text = session.transcript().final_text().map(str::to_owned);
    session.disconnect().await;
    let (journal, _) = session.close();
    TrialRecord { id, seed, journal, final_text, fault }
}
