//! The small world in which simulated sessions happen: a tool of every kind, a few rules, and what
//! each call of them must come to, written down by hand and not computed by the runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use crate::base::secret::Secret;
use crate::runtime::catalog::Registry;
use crate::runtime::credential::Broker;
use crate::runtime::mcp::{Address, Allows, Deadlines, McpServer, Transport};
use crate::runtime::policy::{Principal, Rules};
use crate::runtime::resolved::ViewCache;
use crate::runtime::view::activation::search_tool;
use crate::runtime::view::availability::{Availability, Deferred};
use crate::runtime::view::pattern::Pattern;
use crate::tool::descriptor::Descriptor;
use crate::tool::id::ToolId;
use crate::tool::manifest;

/// What policy makes of a call, before a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// No such tool in the view.
    Unavailable,
    /// The arguments fail.
    Rejected,
    /// A rule denies it.
    Deny,
    /// A person confirms in the stronger way.
    Strong,
    /// A person is asked.
    Ask,
    /// It runs by itself.
    Free,
}

/// One tool of the scene.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// The name a model uses.
    pub name: &'static str,
    /// What policy makes of it when the arguments are good.
    pub class: Class,
    /// Whether it changes anything.
    pub writes: bool,
    /// Whether repeating it is its purpose.
    pub polls: bool,
    /// Whether it declares the approval marker.
    pub marked: bool,
    /// Faults after which it is tried again, and how often.
    pub retries: usize,
    /// The rest of its manifest.
    manifest: &'static str,
}

const fn tool(name: &'static str, class: Class, manifest: &'static str) -> Tool {
    Tool { name, class, writes: false, polls: false, marked: false, retries: 0, manifest }
}

/// The tool that costs money, of which a rule has a budget.
pub const COSTLY: &str = "order.show";

/// The tools, the first three for exhaustive exploration.
pub const TOOLS: [Tool; 20] = [
    tool(
        "note.read",
        Class::Free,
        "intent: {actionTypes: [read]}\neffects: {reads: ['workspace:a'], writes: []}",
    ),
    tool(
        "gauge.read",
        Class::Free,
        "intent: {actionTypes: [read]}\neffects: {reads: ['memory:gauge'], writes: []}\n\
         contextPolicy: {redactionPolicy: personal_data}",
    ),
    Tool {
        marked: true,
        writes: true,
        ..tool(
            "mail.send",
            Class::Ask,
            "intent: {actionTypes: [external_send]}\neffects: {reads: [], writes: ['api:mail'], \
             externalCalls: true, mutatesState: true}\npermissions: {approvalMarker: approved}",
        )
    },
    Tool {
        writes: true,
        ..tool(
            "note.write",
            Class::Free,
            "intent: {actionTypes: [write]}\neffects: {reads: [], writes: ['workspace:a']}\n\
             sandbox: {mode: workspace_write}",
        )
    },
    Tool {
        marked: true,
        writes: true,
        ..tool(
            "page.write",
            Class::Free,
            "intent: {actionTypes: [write]}\neffects: {reads: [], writes: ['workspace:b/**']}\n\
             sandbox: {mode: workspace_write}\npermissions: {approvalMarker: approved}",
        )
    },
    Tool {
        writes: true,
        ..tool(
            "base.drop",
            Class::Strong,
            "intent: {actionTypes: [delete]}\neffects: {reads: [], writes: [], deletes: \
             ['api:base'], mutatesState: true, dryRunSupported: true}",
        )
    },
    Tool {
        writes: true,
        ..tool(
            "fax.send",
            Class::Ask,
            "intent: {actionTypes: [external_send]}\neffects: {reads: [], writes: ['api:fax'], \
             externalCalls: true, mutatesState: true}\npermissions: {approvalPolicy: always}\n\
             execution: {delivery: {to: reply_to}}",
        )
    },
    Tool {
        polls: true,
        ..tool(
            "inbox.poll",
            Class::Free,
            "source: {type: mcp, sourceId: 'mcp:inbox', serverId: inbox}\n\
             intent: {actionTypes: [read]}\neffects: {reads: ['memory:inbox'], writes: []}\n\
             execution: {polling: true}",
        )
    },
    // Of a server that is called: a person is asked at its first use.
    tool(
        SERVED,
        Class::Ask,
        "source: {type: mcp, sourceId: 'mcp:desk', serverId: desk}\n\
         intent: {actionTypes: [read]}\neffects: {reads: ['memory:desk'], writes: []}\n\
         sandbox: {mode: remote_api}\nexecution: {adapter: mcp}",
    ),
    Tool {
        retries: 2,
        ..tool(
            "index.build",
            Class::Free,
            "intent: {actionTypes: [compute]}\neffects: {reads: [], writes: [], idempotent: true}\n\
             execution: {retryPolicy: {maxRetries: 2, retryOn: [flaky, timeout], backoffMs: 50}}",
        )
    },
    tool(
        COSTLY,
        Class::Free,
        "source: {type: skill, sourceId: orders}\n\
         intent: {actionTypes: [read]}\neffects: {reads: ['memory:order'], writes: []}\n\
         contextPolicy: {exposeOutputToModel: structured}\n\
         sandbox: {limits: {maxCostUsd: 0.5}}",
    ),
    tool(
        "vault.open",
        Class::Free,
        "intent: {actionTypes: [read]}\neffects: {reads: ['memory:vault'], writes: []}\n\
         credentials: {strategy: system, requiredSecrets: [vault-key]}",
    ),
    tool(
        "quiet.read",
        Class::Free,
        "intent: {actionTypes: [read]}\neffects: {reads: ['memory:quiet'], writes: []}\n\
         observability: {logArgs: false, logResultPreview: false}\nhooks: {postCall: [watcher]}",
    ),
    tool(
        "gate.pass",
        Class::Free,
        "intent: {actionTypes: [read]}\neffects: {reads: ['memory:gate'], writes: []}\n\
         hooks: {preCall: [gatekeeper], verifier: [examiner]}",
    ),
    Tool {
        writes: true,
        ..tool(
            "job.run",
            Class::Ask,
            "intent: {actionTypes: [external_send]}\neffects: {reads: [], writes: ['api:jobs'], \
             externalCalls: true, mutatesState: true}\nsandbox: {mode: none}\n\
             execution: {adapter: 'builtin:command.run', command: [sh, job.sh]}",
        )
    },
    // Kept back by policy: whoever acts here is blocked from it.
    tool(
        "safe.crack",
        Class::Unavailable,
        "intent: {actionTypes: [read]}\neffects: {reads: ['memory:safe'], writes: []}\n\
         permissions: {blockedPrincipals: [dev]}",
    ),
    // Behind a search: it can be called once one has found it.
    tool(
        "cellar.read",
        Class::Free,
        "intent: {actionTypes: [read]}\neffects: {reads: ['memory:cellar'], writes: []}",
    ),
    // A command line, of which rules allow one command.
    tool(
        LINED,
        Class::Free,
        "intent: {actionTypes: [compute]}\neffects: {reads: [], writes: []}\n\
         permissions: {shellLine: path}",
    ),
    // Another agent: it is handed some of these tools.
    tool(
        DELEGATING,
        Class::Free,
        "intent: {actionTypes: [subagent_delegate]}\neffects: {reads: [], writes: []}\n\
         execution: {adapter: 'builtin:delegate'}\nsubagent:\n  agentId: scout\n  allowedTools: \
         ['note.*', mail.send, gauge.read, vault.open, job.run, cellar.read, scout.ask, \
         attic.read, safe.crack]\n  contextPolicy: {inheritParentContext: summary, \
         returnTranscript: true}\n  budget: {maxTurns: 3, maxTokens: 2000, timeoutMs: 60000}",
    ),
    // Excluded by name: registered, never shown.
    tool(
        "attic.read",
        Class::Unavailable,
        "intent: {actionTypes: [read]}\neffects: {reads: ['memory:attic'], writes: []}",
    ),
];

/// The tool whose argument is a command line.
pub const LINED: &str = "line.run";

/// The tool whose server nobody has agreed to.
pub const SERVED: &str = "desk.look";

/// That server; it is never reached.
pub fn server() -> McpServer {
    McpServer {
        id: "desk".to_owned(),
        transport: Transport::Http(Address {
            url: "http://desk.example/".to_owned(),
            headers: Vec::new(),
        }),
        allows: Allows::default(),
        sandbox: Default::default(),
        deadlines: Deadlines::default(),
        consented_by: None,
        offers_new: false,
        secrets: Vec::new(),
    }
}

/// The tool that is another agent.
pub const DELEGATING: &str = "scout.ask";

/// What that agent is handed, as far as its caller has it.
pub const HANDED: [&str; 10] = [
    "note.read",
    "note.write",
    "mail.send",
    "gauge.read",
    "vault.open",
    "job.run",
    "cellar.read",
    DELEGATING,
    "attic.read",
    "safe.crack",
];

/// A name that is no tool's.
pub const INVENTED: &str = "time.travel";

/// What a model may put into a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Args {
    /// Right, the first of two.
    Good,
    /// Right, the second.
    Other,
    /// Right, with what a rule forbids.
    Forbidden,
    /// Right, with a secret in it.
    Secret,
    /// With the approval marker, at two depths.
    Marker,
    /// Of a wrong type.
    WrongType,
    /// Without what is required.
    Missing,
    /// Cut off in the middle.
    Cut,
    /// Nothing at all.
    Blank,
    /// A number that is none.
    NotFinite,
    /// A question for a search.
    Query,
    /// Right, and as a command line it has two commands.
    Line,
}

/// All of them, the good ones first.
pub const ARGS: [Args; 10] = [
    Args::Good,
    Args::Other,
    Args::Forbidden,
    Args::Secret,
    Args::Marker,
    Args::WrongType,
    Args::Missing,
    Args::Cut,
    Args::Blank,
    Args::NotFinite,
];

impl Args {
    /// As a model writes it.
    pub fn text(self) -> String {
        match self {
            Self::Good => r#"{"path":"a"}"#.to_owned(),
            Self::Other => r#"{"path":"b"}"#.to_owned(),
            Self::Forbidden => r#"{"path":"forbidden"}"#.to_owned(),
            Self::Secret => format!(r#"{{"path":"{}"}}"#, secret().expose()),
            Self::Marker => r#"{"path":"a","approved":true,"more":{"approved":1}}"#.to_owned(),
            Self::WrongType => r#"{"path":7}"#.to_owned(),
            Self::Missing => "{}".to_owned(),
            Self::Cut => r#"{"path":"a"#.to_owned(),
            Self::Blank => String::new(),
            Self::Query => r#"{"query":"select:cellar.read"}"#.to_owned(),
            Self::Line => r#"{"path":"a && b"}"#.to_owned(),
            Self::NotFinite => r#"{"path":NaN}"#.to_owned(),
        }
    }

    /// Whether they pass the schema of every tool here, marker aside.
    fn pass(self) -> bool {
        matches!(self, Self::Good | Self::Other | Self::Forbidden | Self::Secret | Self::Line)
    }
}

/// The tool that finds others.
pub const SEARCH: &str = "tool_search";

/// What a call must come to before anybody is asked. `found`: whether a search has found it.
pub fn class(name: &str, args: Args, found: bool) -> Class {
    if name == SEARCH {
        // Where nothing waits there is no search.
        return if found {
            Class::Unavailable
        } else if args == Args::Query {
            Class::Free
        } else {
            Class::Rejected
        };
    }
    if name == "cellar.read" && !found {
        return Class::Unavailable;
    }
    let known = TOOLS.iter().find(|tool| tool.name == name || alias(tool.name) == name);
    let Some(tool) = known else { return Class::Unavailable };
    // A poll requires nothing.
    let nothing = tool.polls && matches!(args, Args::Missing | Args::Blank);
    let passes = args.pass() || nothing || (args == Args::Marker && tool.marked);
    match (tool.class, args) {
        (Class::Unavailable, _) => Class::Unavailable,
        _ if !passes => Class::Rejected,
        (_, Args::Forbidden) => Class::Deny,
        // Rules allow the one command, and nothing behind it.
        (_, args) if tool.name == LINED && args != Args::Good => Class::Ask,
        (class, _) => class,
    }
}

/// The tool a name stands for.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name || alias(tool.name) == name)
}

/// The name a provider accepts.
pub fn alias(name: &str) -> String {
    name.replace('.', "_")
}

/// The secret that everybody might leak.
pub fn secret() -> &'static Secret {
    static SECRET: LazyLock<Secret> = LazyLock::new(|| Secret::canary("simulator", 0));
    &SECRET
}

/// What all sessions share.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The tools.
    pub registry: Arc<Registry>,
    /// The rules.
    pub rules: Arc<Rules>,
    /// Who acts.
    pub principal: Principal,
    /// The credentials.
    pub broker: Broker,
    /// Names kept out.
    pub excluded: BTreeSet<ToolId>,
    /// Which tools wait behind a search.
    pub availability: Arc<Availability>,
    /// Views compiled before.
    pub views: Arc<ViewCache>,
}

const RULES: &str = "schema: proofmark/rules@1
rules:
  - id: dear-orders
    decision: allow
    reason: each look at an order costs money
    budget: {calls: 3, cost_usd: 1}
    when: {tools: [order.show]}
    examples: [{tool: order.show, args: {path: a}}]
    counterexamples: [{tool: note.read, args: {path: a}}]
  - id: forbidden-path
    decision: deny
    reason: nobody touches this
    when: {args: {path: {equals: forbidden}}}
    examples: [{tool: note.read, args: {path: forbidden}}]
    counterexamples: [{tool: note.read, args: {path: a}}]
  - id: first-command
    decision: allow
    reason: it does nothing
    when: {commands: [a]}
    examples: [{tool: line.run, args: {path: a}}]
    counterexamples: [{tool: line.run, args: {path: a && b}}]
";

impl Scene {
    /// Builds it.
    ///
    /// # Errors
    /// When a manifest or a rule here is wrong: a bug of ours.
    pub fn new() -> Result<Self, String> {
        let descriptors: Result<Vec<Descriptor>, String> = TOOLS.iter().map(descriptor).collect();
        let mut descriptors = descriptors?;
        descriptors.push(search_tool());
        let registry = Registry::new(descriptors).map_err(|errors| format!("{errors:?}"))?;
        let registry = Arc::new(registry);
        let scopes = ["workspace_write"].map(str::to_owned).into();
        let principal = Principal::new("dev", scopes);
        let rules = Rules::parse("rules", RULES, &registry, &principal)
            .map_err(|problems| format!("{problems:?}"))?;
        Ok(Self {
            registry,
            rules: Arc::new(rules),
            principal,
            broker: Broker::new(BTreeMap::from([("vault-key".to_owned(), secret().clone())])),
            excluded: ToolId::parse("attic.read").into_iter().collect(),
            availability: Arc::new(Availability {
                deferred: ToolId::parse("cellar.read")
                    .map(|id| Deferred::Tools(Pattern::from(&id)))
                    .into_iter()
                    .collect(),
                ..Availability::default()
            }),
            views: Arc::default(),
        })
    }
}

impl Scene {
    /// The same scene with views of its own: a view is remembered without the decision that exposed
    /// its tools, so nobody may share those of a mistake.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { views: Arc::default(), ..self.clone() }
    }

    /// The same scene with one tool less; `None` where that is no registry. What calls of the tool
    /// must come to is not known then.
    pub fn without(&self, tool: &ToolId) -> Option<Self> {
        let others = self.registry.iter().filter(|one| one.id() != tool);
        let registry = Registry::new(others.map(|one| one.descriptor.clone()).collect()).ok()?;
        Some(Self { registry: Arc::new(registry), ..self.apart() })
    }
}

fn descriptor(tool: &Tool) -> Result<Descriptor, String> {
    let required = if tool.polls { "" } else { "path" };
    let marker = if tool.marked { ", approved: {type: boolean}" } else { "" };
    let dry = tool.manifest.contains("dryRunSupported");
    let marker = if dry { ", dry_run: {type: boolean}" } else { marker };
    let schema = format!(
        "{{type: object, properties: {{path: {{type: string}}, to: {{type: string}}, more: {{type: \
         object}}{marker}}}, required: [{required}], additionalProperties: false}}"
    );
    let output = "{type: object, properties: {total: {type: integer}}, required: [total]}";
    let output =
        if tool.name == COSTLY { format!(", outputSchema: {output}") } else { String::new() };
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: {}\ndescription: {{summary: Does {}.}}\n\
         schemas: {{inputSchema: {schema}{output}}}\n{}\n",
        tool.name, tool.name, tool.manifest
    );
    manifest::parse(tool.name, &text).map_err(|problems| format!("{problems:?}\n{text}"))
}

#[cfg(test)]
#[path = "scene_tests.rs"]
mod tests;
