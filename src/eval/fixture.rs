//! What a trial needs, built afresh: workspace, planted credentials, provider, approver.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::actors::{Person, Watcher, hooks};
use super::case::Case;
use super::credentials::CredentialsEntry;
use super::load::Suite;
use super::play::PlayedAnswer;
use super::suite::PrincipalEntry;
use crate::base::digest::{Digest, Hasher};
use crate::base::secret::Secret;
use crate::base::world::RealWorld;
use crate::runtime::credential::{Binding, Broker};
use crate::runtime::evidence::receipt::ReceiptKey;
use crate::runtime::exec::{Acts, Workspace};
use crate::runtime::guard::approver::Refusing;
use crate::runtime::guard::{Approver, Verdict};
use crate::runtime::provider::Provider;
use crate::runtime::provider::chooser::{Chooser, IndexCache};
use crate::runtime::provider::scripted::{Answer as StepAnswer, Scripted, Step};
use crate::runtime::resolved::{Knobs, Resolved, ViewCache};
use crate::runtime::session::Parts;
use crate::runtime::turn::steps::Steps;
use crate::tool::intent::Intent;

/// What the trials of one run share.
#[derive(Debug)]
pub struct Shared {
    /// The chooser's indexes.
    pub indexes: Arc<IndexCache>,
    /// The decisions of the lifecycle; a mutant replaces one of them.
    pub steps: Steps,
}

impl Default for Shared {
    fn default() -> Self {
        Self { indexes: Arc::default(), steps: Steps::REAL }
    }
}

/// What the trials of one suite share.
#[derive(Debug)]
pub struct SuiteShared {
    /// Compiled views, one cache for each set of credentials.
    pub views: Arc<ViewCache>,
    secrets: Vec<String>,
    bindings: BTreeMap<String, Binding>,
    /// Values that are real, by name; every other is a canary.
    values: BTreeMap<String, Secret>,
}

impl SuiteShared {
    /// Names every credential that the suite's broker holds.
    pub fn new(suite: &Suite) -> Self {
        let required = suite
            .registry
            .iter()
            .flat_map(|tool| tool.descriptor.credentials.required_secrets.to_vec());
        let mut secrets: Vec<String> = match &suite.file.credentials {
            Some(held) => held.names().into_iter().collect(),
            None => required.collect(),
        };
        secrets.sort();
        secrets.dedup();
        let bindings = suite.file.credentials.as_ref().map(CredentialsEntry::bindings);
        let (bindings, values) = (bindings.unwrap_or_default(), BTreeMap::new());
        Self { views: Arc::default(), secrets, bindings, values }
    }
}

impl SuiteShared {
    /// The same, where these credentials have real values.
    #[must_use]
    pub fn with(self, values: BTreeMap<String, Secret>) -> Self {
        Self { values, ..self }
    }
}

/// The seed of a trial: everything made up in it follows from this.
pub fn seed(suite: &str, case: &str, provider: &str, trial: u32) -> Digest {
    Hasher::new("trial")
        .field(suite.as_bytes())
        .field(case.as_bytes())
        .field(provider.as_bytes())
        .field(&trial.to_le_bytes())
        .finish()
}

/// The case's settings, else the suite's, with the case's own dialect.
fn knobs(suite: &Suite, case: &Case) -> Knobs {
    let knobs = case.knobs.as_deref().unwrap_or(&suite.knobs);
    Knobs { dialect: case.dialect.unwrap_or(knobs.dialect), ..knobs.clone() }
}

/// Who declared what is intended, and what that is.
fn intent(case: &Case, broker: &Broker) -> (String, Intent) {
    match &case.intent {
        Some(intent) => ("case".to_owned(), intent.clone()),
        None => {
            let first = case.messages.first();
            let user_goal = first.map(|text| broker.fill(text)).unwrap_or_default();
            ("rules".to_owned(), Intent { user_goal, ..Intent::default() })
        }
    }
}

/// The parts of one trial's session, and who watches it.
pub fn build(
    suite: &Suite,
    case: &Case,
    provider: &str,
    id: (Arc<str>, Digest),
    shared: (&Shared, &SuiteShared),
) -> (Parts, Watcher) {
    let (id, seed) = id;
    let (run, suite_shared) = shared;
    let seed_text = seed.hex();
    let planted: BTreeMap<String, Secret> = suite_shared
        .secrets
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let real = suite_shared.values.get(name).cloned();
            (name.clone(), real.unwrap_or_else(|| Secret::canary(&seed_text, index)))
        })
        .chain(suite.environment.servers.secrets())
        .collect();
    let broker = Broker::new(planted).bound(suite_shared.bindings.clone());
    let files = case.workspace.iter().map(|(path, text)| (broker.fill(path), broker.fill(text)));
    let workspace = Workspace::new(files.collect());
    let principal =
        case.principal.as_ref().map_or_else(|| suite.principal.clone(), PrincipalEntry::principal);
    let receipt_key = suite
        .knobs
        .receipts
        .then(|| ReceiptKey { id: "trial".to_owned(), key: receipt_key(&seed_text) });
    let watcher = Watcher::new(case, &suite.registry, &broker);
    let approver: Box<dyn Approver> = match &case.approvals {
        Some(answers) => Box::new(Person::new(filled(&broker, answers), &watcher)),
        None => Box::new(Refusing),
    };
    let (provider, others) = providers(case, provider, &run.indexes, &broker);
    let (order, hooks) = hooks(&case.play.hooks, &broker);
    let resolved = Resolved {
        hooks: order,
        registry: Arc::clone(&suite.registry),
        principal,
        rules: Arc::clone(&suite.rules),
        environment: suite.environment.clone(),
        excluded: suite.excluded.union(&case.excluded).cloned().collect(),
        availability: Arc::clone(case.availability.as_ref().unwrap_or(&suite.availability)),
        knobs: knobs(suite, case),
        intent: intent(case, &broker),
        broker,
        receipt_key,
        views: Arc::clone(&suite_shared.views),
    };
    let parts = Parts {
        id,
        resolved: Arc::new(resolved),
        steps: run.steps,
        world: Box::new(RealWorld::default()),
        provider,
        others,
        approver,
        hooks,
        workspace,
        delegates: BTreeMap::new(),
        sinks: Vec::new(),
        simulated: Acts::new(case.play.tools.clone()),
    };
    (parts, watcher)
}

type Others = BTreeMap<Arc<str>, Box<dyn Provider>>;

/// Who proposes, and who may be switched to.
fn providers(
    case: &Case,
    name: &str,
    indexes: &Arc<IndexCache>,
    broker: &Broker,
) -> (Box<dyn Provider>, Others) {
    let scripted = |steps: &Arc<[Step]>| -> Box<dyn Provider> {
        Box::new(Scripted::new(spoken(steps, broker)))
    };
    let others = case.play.others.iter().map(|(name, steps)| (Arc::clone(name), scripted(steps)));
    let provider: Box<dyn Provider> = match name {
        "scripted" => scripted(&case.script.clone().unwrap_or_default()),
        _ => Box::new(Chooser::new(Arc::clone(indexes))),
    };
    (provider, others.collect())
}

/// A script with planted secrets where `${secret:NAME}` stands: a user may have told one.
fn spoken(steps: &Arc<[Step]>, broker: &Broker) -> Arc<[Step]> {
    let fill = |text: &mut String| *text = broker.fill(text);
    let mut filled = steps.to_vec();
    for step in &mut filled {
        let StepAnswer::Reply(reply) = &mut step.answer else { continue };
        reply.text.iter_mut().chain(&mut reply.reasoning).for_each(fill);
        reply.calls.iter_mut().for_each(|call| fill(&mut call.arguments));
    }
    filled.into()
}

/// Answers with planted secrets where `${secret:NAME}` stands: people say such things too.
fn filled(broker: &Broker, answers: &[PlayedAnswer]) -> Vec<PlayedAnswer> {
    let fill = |verdict: &Verdict| match verdict {
        Verdict::No { reason } => Verdict::No { reason: broker.fill(reason) },
        Verdict::Replace { text } => Verdict::Replace { text: broker.fill(text) },
        Verdict::Yes { .. } | Verdict::Timeout | Verdict::Unreachable => verdict.clone(),
    };
    let one = |one: &PlayedAnswer| PlayedAnswer { verdict: fill(&one.verdict), ..one.clone() };
    answers.iter().map(one).collect()
}

/// The receipt key of a trial, from its seed, so that reports are reproducible.
pub fn receipt_key(seed: &str) -> Secret {
    Secret::new(format!("receipt-key-{seed}"))
}
