//! A session in a few words: the tools, what the model says, who answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proofmark::base::secret::Secret;
use proofmark::base::world::{Millis, World};
use proofmark::journal::Journal;
use proofmark::law::Judge;
use proofmark::law::law::Verdict as LawVerdict;
use proofmark::runtime::BoxFuture;
use proofmark::runtime::catalog::Registry;
use proofmark::runtime::credential::{Broker, Renew};
use proofmark::runtime::dialect::{Dialect, RawCall, Reply, Transcript};
use proofmark::runtime::evidence::receipt::ReceiptKey;
use proofmark::runtime::exec::Workspace;
use proofmark::runtime::guard::approver::Scripted as Person;
use proofmark::runtime::guard::{
    AnswerScope, Hook, HookCall, HookSpec, HookVerdict, Hooks, Point, Verdict,
};
use proofmark::runtime::mcp::Servers;
use proofmark::runtime::policy::Rules;
use proofmark::runtime::provider::Provider;
use proofmark::runtime::provider::scripted::{Answer, ExpectedRequest, Scripted, Step, call};
use proofmark::runtime::resolved::{Knobs, Resolved};
use proofmark::runtime::sandbox::host::Host;
use proofmark::runtime::session::{Parts, Session};
use proofmark::runtime::turn::TurnEnd;
use proofmark::runtime::view::{Availability, Environment};
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::id::ToolId;
use proofmark::tool::intent::Intent;
use serde_json::Value;

use crate::tools::{dev, tool};

/// Counted ids, and a clock that ticks with every look at it, or stands still.
#[derive(Debug, Default)]
pub struct Clock {
    pub now: Millis,
    pub tick: Millis,
    ids: u64,
}

impl World for Clock {
    fn now(&mut self) -> Millis {
        self.now += self.tick;
        self.now
    }

    fn next_id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}{}", self.ids)
    }
}

/// Everything a scene may say.
pub struct Play {
    pub tools: Vec<Descriptor>,
    pub script: Vec<Step>,
    pub knobs: Knobs,
    /// Rules as YAML; none when empty.
    pub rules: &'static str,
    pub answers: Vec<(&'static str, Verdict)>,
    pub hooks: Vec<(HookSpec, HookVerdict)>,
    pub availability: Availability,
    pub excluded: &'static [&'static str],
    pub secrets: Vec<(&'static str, Secret)>,
    /// Whence credentials are obtained anew, with how old a value may become in milliseconds.
    pub renewals: Vec<(&'static str, Arc<dyn Renew>, Option<u64>)>,
    pub workspace: Workspace,
    /// What commands are confined with; nothing by default.
    pub host: Host,
    /// MCP servers that are called.
    pub servers: Servers,
    pub turns: usize,
    /// Delegates, each with its script.
    pub agents: Vec<(&'static str, Vec<Step>)>,
}

impl Play {
    pub fn new(tools: Vec<Descriptor>, script: Vec<Step>) -> Self {
        Self {
            tools,
            script,
            knobs: Knobs::default(),
            rules: "",
            answers: Vec::new(),
            hooks: Vec::new(),
            availability: Availability::default(),
            excluded: &[],
            secrets: Vec::new(),
            renewals: Vec::new(),
            workspace: Workspace::default(),
            host: Host::default(),
            servers: Servers::default(),
            turns: 1,
            agents: Vec::new(),
        }
    }

    pub fn dialect(self, dialect: Dialect) -> Self {
        Self { knobs: Knobs { dialect, ..self.knobs }, ..self }
    }

    pub fn resolved(&mut self) -> Resolved {
        let registry = Registry::new(std::mem::take(&mut self.tools)).unwrap();
        let principal = dev("workspace_write external_read");
        let rules = match self.rules {
            "" => Rules::default(),
            text => Rules::parse("rules", text, &registry, &principal)
                .unwrap_or_else(|problems| panic!("{problems:?}")),
        };
        let secrets = self.secrets.drain(..).map(|(name, value)| (name.to_owned(), value));
        let excluded: BTreeSet<ToolId> =
            self.excluded.iter().filter_map(|name| ToolId::parse(name)).collect();
        Resolved {
            hooks: Hooks::new(self.hooks.iter().map(|(spec, _)| spec.clone()).collect()),
            registry: Arc::new(registry),
            principal,
            rules: Arc::new(rules),
            environment: Environment {
                evaluation: true,
                max_tools: 64,
                host: self.host.clone(),
                servers: Arc::new(std::mem::take(&mut self.servers)),
                ..Environment::default()
            },
            excluded,
            availability: Arc::new(self.availability.clone()),
            knobs: self.knobs.clone(),
            intent: ("rules".to_owned(), Intent::default()),
            broker: self
                .renewals
                .drain(..)
                .fold(Broker::new(secrets.collect()), |broker, (name, from, lifetime)| {
                    broker.renewed(name, from, (lifetime, 0))
                }),
            receipt_key: Some(ReceiptKey { id: "test".to_owned(), key: key() }),
            views: Arc::default(),
        }
    }

    /// Plays it to its end; every request must be one that a provider accepts, and no law broken.
    pub fn run(self) -> Played {
        self.run_with(&|says| Arc::new(Says(says)))
    }

    /// As [`Self::run`], with hooks made by somebody else.
    pub fn run_with(self, hook: &dyn Fn(HookVerdict) -> Arc<dyn Hook>) -> Played {
        let turns = self.turns;
        let mut session = self.open(hook);
        let mut ends = Vec::new();
        let runtime = runtime();
        for _ in 0..turns {
            ends.push(runtime.block_on(session.turn("do it".to_owned())));
        }
        assert_eq!(session.leftover(), None, "{ends:?}");
        let (journal, transcript) = session.close();
        lawful(&journal);
        Played { ends, journal, transcript }
    }

    /// Opens its session.
    pub fn open(mut self, hook: &dyn Fn(HookVerdict) -> Arc<dyn Hook>) -> Session {
        let resolved = Arc::new(self.resolved());
        let answers = self.answers.into_iter().map(|(tool, said)| (tool.to_owned(), said));
        let hooks = self.hooks.into_iter();
        let hooks: BTreeMap<String, Arc<dyn Hook>> =
            hooks.map(|(spec, says)| (spec.name, hook(says))).collect();
        let provider = Box::new(Scripted::new(self.script.into()));
        let approver = Box::new(Person::new(answers.collect()));
        let agents = self.agents.into_iter();
        Session::open(Parts {
            delegates: agents
                .map(|(name, steps)| {
                    let provider: Box<dyn Provider> = Box::new(Scripted::new(steps.into()));
                    (Arc::from(name), provider)
                })
                .collect(),
            world: Box::new(Clock { tick: 1, ..Clock::default() }),
            hooks,
            workspace: self.workspace,
            ..Parts::new("s1".into(), resolved, provider, approver)
        })
    }

    /// As [`Self::run`], where every turn must end with the model's last word.
    pub fn ends(self) -> Played {
        let played = self.run();
        assert!(played.ends.iter().all(|end| *end == TurnEnd::FinalText), "{:?}", played.ends);
        played
    }
}

/// What came of it.
pub struct Played {
    pub ends: Vec<TurnEnd>,
    pub journal: Journal,
    pub transcript: Transcript,
}

/// A runtime for one test.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The key of all receipts.
pub fn key() -> Secret {
    Secret::new("a key for tests")
}

/// No law is broken.
pub fn lawful(journal: &Journal) {
    let findings = Judge::new(Some(key())).journal(journal.entries(), journal.blobs());
    let broken = findings.iter().filter(|f| matches!(f.verdict, LawVerdict::Broken { .. }));
    let broken: Vec<_> = broken.collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// A hook that says this.
pub struct Says(pub HookVerdict);

impl Hook for Says {
    fn run<'a>(&'a self, _: &'a HookCall) -> BoxFuture<'a, HookVerdict> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

/// A hook before every call that says the same each time; higher runs earlier.
pub fn guard(name: &str, priority: i32, says: HookVerdict) -> (HookSpec, HookVerdict) {
    let (point, observer, global) = (Point::BeforeCall, false, true);
    (HookSpec { name: name.to_owned(), point, priority, observer, global }, says)
}

/// A hook that watches every call at one point.
pub fn watcher(name: &str, point: Point) -> (HookSpec, HookVerdict) {
    let (spec, says) = guard(name, 0, HookVerdict::Pass);
    (HookSpec { point, observer: true, ..spec }, says)
}

/// A hook that writes other arguments.
pub fn rewrite(args: Value) -> HookVerdict {
    HookVerdict::Rewrite { name: None, args: Some(args) }
}

/// A reply as it is.
pub fn step(reply: Reply) -> Step {
    Step { expect: ExpectedRequest::default(), answer: Answer::Reply(reply) }
}

/// A reply with text alone.
pub fn say(text: &str) -> Step {
    step(proofmark::runtime::provider::scripted::say(text))
}

/// The calls of a reply; their ids are `p0`, `p1`, ...
pub fn calls(list: &[(&str, &str)]) -> Reply {
    let raw = |(index, (name, arguments)): (usize, &(&str, &str))| {
        RawCall::native(Some(format!("p{index}")), *name, *arguments)
    };
    call(list.iter().enumerate().map(raw).collect())
}

/// A reply with calls.
pub fn ask(list: &[(&str, &str)]) -> Step {
    step(calls(list))
}

/// A tool with a schema of its own; `more` are sections as YAML lines.
pub fn with_schema(id: &str, level: &str, schema: Value, more: &str) -> Descriptor {
    let mut tool = tool(id, level, more);
    tool.schemas.input_schema = schema;
    tool
}

/// A tool that answers this text.
pub fn saying(id: &str, level: &str, output: impl Into<Value>) -> Descriptor {
    let mut tool = tool(id, level, "");
    tool.execution.simulated_output = Some(output.into());
    tool
}

/// A tool of the workspace that acts for real.
pub fn builtin(name: &str, level: &str) -> Descriptor {
    let more =
        format!("sandbox: {{mode: workspace_write}}\nexecution: {{adapter: 'builtin:{name}'}}\n");
    tool(name, level, &more)
}

/// A fixed command.
pub fn command(id: &str, words: &[&str], more: &str) -> Descriptor {
    let mut tool = tool(
        id,
        "L2",
        &format!("sandbox: {{mode: none}}\nexecution: {{adapter: 'builtin:command.run'}}\n{more}"),
    );
    tool.execution.command = words.iter().map(|word| (*word).to_owned()).collect();
    tool
}

/// Yes, so far.
pub fn yes(scope: AnswerScope) -> Verdict {
    Verdict::Yes { strong: false, scope }
}

/// No, for a reason.
pub fn no(reason: &str) -> Verdict {
    Verdict::No { reason: reason.to_owned() }
}
