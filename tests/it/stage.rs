//! Sessions in a few words: scripted, with whatever else a test needs to add.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proofmark::base::secret::Secret;
use proofmark::base::world::{Millis, RealWorld, World};
use proofmark::journal::{Event, Journal};
use proofmark::law::Judge;
use proofmark::law::law::Verdict as LawVerdict;
use proofmark::runtime::credential::Broker;
use proofmark::runtime::dialect::{RawCall, Reply};
use proofmark::runtime::evidence::receipt::ReceiptKey;
use proofmark::runtime::exec::Workspace;
use proofmark::runtime::guard::approver::{Refusing, Scripted as Person};
use proofmark::runtime::guard::{Approver, Hooks, Verdict};
use proofmark::runtime::provider::Provider;
use proofmark::runtime::provider::scripted::{Answer, ExpectedRequest, Scripted, Step, call};
use proofmark::runtime::resolved::{Knobs, Resolved};
use proofmark::runtime::session::{Parts, Session};
use proofmark::runtime::surface::Sink;
use proofmark::runtime::view::Availability;
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::id::ToolId;
use proofmark::tool::intent::Intent;

use crate::tools::{Scene, dev};

/// A clock that ticks with every look at it.
#[derive(Default)]
pub struct Ticking {
    within: String,
    now: Millis,
    ids: u64,
}

impl World for Ticking {
    fn now(&mut self) -> Millis {
        self.now += 1;
        self.now
    }

    fn next_id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}{}{}", self.within, self.ids)
    }

    fn fork(&mut self) -> Box<dyn World> {
        let within = format!("{}.", self.next_id(""));
        Box::new(Self { within, now: self.now, ids: 0 })
    }
}

/// What a session is made of.
pub struct Stage {
    pub tools: Vec<Descriptor>,
    pub steps: Vec<Step>,
    /// `None`: there is nobody to ask.
    pub answers: Option<Vec<(&'static str, Verdict)>>,
    pub excluded: &'static [&'static str],
    pub scopes: &'static str,
    pub knobs: Knobs,
    pub availability: Availability,
    pub secrets: BTreeMap<String, Secret>,
    pub files: BTreeMap<String, String>,
    pub sinks: Vec<Box<dyn Sink>>,
    pub delegates: BTreeMap<Arc<str>, Box<dyn Provider>>,
    /// Whether the clock is the machine's own; else it ticks with every look at it.
    pub real_clock: bool,
    /// Instead of the script.
    pub provider: Option<Box<dyn Provider>>,
}

impl Stage {
    pub fn new(tools: Vec<Descriptor>, steps: Vec<Step>) -> Self {
        Self {
            tools,
            steps,
            answers: Some(Vec::new()),
            excluded: &[],
            scopes: "workspace_write external_read",
            knobs: Knobs::default(),
            availability: Availability::default(),
            secrets: BTreeMap::new(),
            files: BTreeMap::new(),
            sinks: Vec::new(),
            delegates: BTreeMap::new(),
            real_clock: false,
            provider: None,
        }
    }

    /// With an agent that plays this script.
    pub fn agent(mut self, name: &str, steps: Vec<Step>) -> Self {
        self.delegates.insert(name.into(), Box::new(Scripted::new(steps.into())));
        self
    }

    pub fn open(self) -> Session {
        let scene = Scene::new(self.tools);
        let excluded: BTreeSet<ToolId> =
            self.excluded.iter().filter_map(|name| ToolId::parse(name)).collect();
        let approver: Box<dyn Approver> = match self.answers {
            Some(answers) => {
                let answers = answers.into_iter().map(|(tool, said)| (tool.to_owned(), said));
                Box::new(Person::new(answers.collect()))
            }
            None => Box::new(Refusing),
        };
        let world: Box<dyn World> = match self.real_clock {
            true => Box::new(RealWorld::default()),
            false => Box::new(Ticking::default()),
        };
        let script = || Box::new(Scripted::new(self.steps.into())) as Box<dyn Provider>;
        let provider = self.provider.unwrap_or_else(script);
        let resolved = Arc::new(Resolved {
            hooks: Hooks::default(),
            registry: Arc::new(scene.registry),
            principal: dev(self.scopes),
            rules: Arc::new(scene.rules),
            environment: scene.environment,
            excluded,
            availability: Arc::new(self.availability),
            knobs: self.knobs,
            intent: ("rules".to_owned(), Intent::default()),
            broker: Broker::new(self.secrets),
            receipt_key: Some(ReceiptKey { id: "test".to_owned(), key: key() }),
            views: Arc::default(),
        });
        Session::open(Parts {
            world,
            workspace: Workspace::new(self.files),
            delegates: self.delegates,
            sinks: self.sinks,
            ..Parts::new("s1".into(), resolved, provider, approver)
        })
    }
}

fn key() -> Secret {
    Secret::new("a key for tests".to_owned())
}

pub fn step(reply: Reply) -> Step {
    Step { expect: ExpectedRequest::default(), answer: Answer::Reply(reply) }
}

/// A reply that calls these tools with these arguments, as `p0`, `p1` and so on.
pub fn calls_of(list: &[(&str, &str)]) -> Step {
    let raw = |(index, (name, arguments)): (usize, &(&str, &str))| {
        RawCall::native(Some(format!("p{index}")), *name, *arguments)
    };
    step(call(list.iter().enumerate().map(raw).collect()))
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

/// Every law holds for a journal, or has nothing to judge.
pub fn judged(journal: &Journal) {
    let findings = Judge::new(Some(key())).journal(journal.entries(), journal.blobs());
    let broken: Vec<_> =
        findings.iter().filter(|f| matches!(f.verdict, LawVerdict::Broken { .. })).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// How the calls of a journal ended, `call outcome` each, in the order of their ends.
pub fn ends(journal: &Journal) -> Vec<String> {
    let entries = journal.entries().iter();
    let end = |entry: &proofmark::journal::Entry| match &entry.event {
        Event::ToolCallSettled(fact) => {
            Some(format!("{} {}", entry.call.as_deref().unwrap(), fact.outcome.name()))
        }
        _ => None,
    };
    entries.filter_map(end).collect()
}
