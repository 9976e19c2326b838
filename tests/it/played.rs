//! Sessions in a few words, for tests of what outlives a step, a turn or a process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proofmark::base::secret::Secret;
use proofmark::base::world::{Millis, World};
use proofmark::journal::{Event, Journal};
use proofmark::law::Judge;
use proofmark::law::law::Verdict as LawVerdict;
use proofmark::runtime::BoxFuture;
use proofmark::runtime::credential::Broker;
use proofmark::runtime::dialect::{RawCall, Reply};
use proofmark::runtime::evidence::receipt::ReceiptKey;
use proofmark::runtime::exec::Workspace;
use proofmark::runtime::guard::approver::Scripted as Person;
use proofmark::runtime::guard::{AnswerScope, Hook, HookCall, HookVerdict, Hooks, Verdict};
use proofmark::runtime::provider::scripted::{Answer, ExpectedRequest, Scripted, Step, call};
use proofmark::runtime::resolved::{Knobs, Resolved};
use proofmark::runtime::session::{Parts, Session};
use proofmark::runtime::view::Availability;
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::id::ToolId;
use proofmark::tool::intent::Intent;

use crate::tools::Scene;

/// A clock that ticks with every look at it.
pub struct Ticking {
    now: Millis,
    ids: u64,
}

impl Ticking {
    pub fn from(now: Millis) -> Self {
        Self { now, ids: 0 }
    }
}

impl World for Ticking {
    fn now(&mut self) -> Millis {
        self.now += 1;
        self.now
    }

    fn next_id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}{}", self.ids)
    }
}

/// A hook that says the same each time it is asked about a tool, else nothing.
pub struct Saying(pub &'static str, pub HookVerdict);

impl Hook for Saying {
    fn run<'a>(&'a self, call: &'a HookCall) -> BoxFuture<'a, HookVerdict> {
        let said = if call.tool == self.0 { self.1.clone() } else { HookVerdict::Pass };
        Box::pin(std::future::ready(said))
    }
}

/// What a session is made of. It can be opened, and resumed, any number of times.
#[derive(Clone)]
pub struct Play {
    pub tools: Vec<Descriptor>,
    pub steps: Vec<Step>,
    pub answers: Vec<(&'static str, Verdict)>,
    pub knobs: Knobs,
    pub excluded: &'static [&'static str],
    pub availability: Availability,
    pub hooks: Hooks,
    pub acting: BTreeMap<String, Arc<dyn Hook>>,
    pub files: BTreeMap<String, String>,
    pub secrets: BTreeMap<String, Secret>,
    pub starts_at: Millis,
}

impl Play {
    pub fn new(tools: Vec<Descriptor>, steps: Vec<Step>) -> Self {
        Self {
            tools,
            steps,
            answers: Vec::new(),
            knobs: Knobs::default(),
            excluded: &[],
            availability: Availability::default(),
            hooks: Hooks::default(),
            acting: BTreeMap::new(),
            files: BTreeMap::new(),
            secrets: BTreeMap::new(),
            starts_at: 0,
        }
    }

    pub fn resolved(&self) -> Arc<Resolved> {
        let scene = Scene::new(self.tools.clone());
        let excluded: BTreeSet<ToolId> =
            self.excluded.iter().filter_map(|name| ToolId::parse(name)).collect();
        Arc::new(Resolved {
            hooks: self.hooks.clone(),
            registry: Arc::new(scene.registry),
            principal: scene.principal,
            rules: Arc::new(scene.rules),
            environment: scene.environment,
            excluded,
            availability: Arc::new(self.availability.clone()),
            knobs: self.knobs.clone(),
            intent: ("rules".to_owned(), Intent::default()),
            broker: Broker::new(self.secrets.clone()),
            receipt_key: Some(ReceiptKey { id: "test".to_owned(), key: key() }),
            views: Arc::default(),
        })
    }

    pub fn parts(&self) -> Parts {
        let answers = self.answers.iter().map(|(tool, said)| ((*tool).to_owned(), said.clone()));
        let provider = Box::new(Scripted::new(self.steps.clone().into()));
        let approver = Box::new(Person::new(answers.collect()));
        Parts {
            world: Box::new(Ticking::from(self.starts_at)),
            hooks: self.acting.clone(),
            workspace: Workspace::new(self.files.clone()),
            ..Parts::new("s1".into(), self.resolved(), provider, approver)
        }
    }

    pub fn open(&self) -> Session {
        Session::open(self.parts())
    }
}

pub fn key() -> Secret {
    Secret::new("a key for tests".to_owned())
}

pub fn step(reply: Reply) -> Step {
    Step { expect: ExpectedRequest::default(), answer: Answer::Reply(reply) }
}

/// A reply with calls: name and arguments each.
pub fn calls(list: &[(&str, &str)]) -> Step {
    let raw = |(name, arguments): &(&str, &str)| RawCall::native(None, *name, *arguments);
    step(call(list.iter().map(raw).collect()))
}

pub fn yes() -> Verdict {
    Verdict::Yes { strong: true, scope: AnswerScope::Once }
}

pub fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Says what is to be done and takes the journal.
pub fn played(play: &Play) -> Journal {
    let mut session = play.open();
    run(session.turn("do it".to_owned()));
    let (journal, _) = session.close();
    assert_eq!(broken(&journal, &key()), Vec::<String>::new());
    journal
}

/// Every breach of every law.
pub fn broken(journal: &Journal, key: &Secret) -> Vec<String> {
    let findings = Judge::new(Some(key.clone())).journal(journal.entries(), journal.blobs());
    findings
        .into_iter()
        .filter(|finding| matches!(finding.verdict, LawVerdict::Broken { .. }))
        .map(|finding| format!("{finding:?}"))
        .collect()
}

/// Outcomes by name, in the order in which calls were settled.
pub fn outcomes(journal: &Journal) -> Vec<&'static str> {
    let settled = journal.entries().iter().filter_map(|entry| match &entry.event {
        Event::ToolCallSettled(fact) => Some(fact.outcome.name()),
        _ => None,
    });
    settled.collect()
}
