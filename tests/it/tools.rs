//! Tools in a few words, for tests of the runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use proofmark::runtime::catalog::Registry;
use proofmark::runtime::policy::{Principal, Rules};
use proofmark::runtime::view::compile::MAY_EXPOSE;
use proofmark::runtime::view::{
    ActivatedSet, Availability, Environment, View, ViewRequest, compile,
};
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::intent::Intent;
use proofmark::tool::manifest;

/// A descriptor: `level` is what its action and effects imply, `more` are sections as YAML lines.
pub fn tool(id: &str, level: &str, more: &str) -> Descriptor {
    let (action, effects) = match level {
        "L0" => ("read", "reads: ['workspace:**'], writes: []"),
        "L1" => ("compute", "reads: [], writes: []"),
        "L2" => ("write", "reads: [], writes: ['workspace:**']"),
        "L3" => ("search", "reads: ['api:x'], writes: [], externalCalls: true"),
        "L4" => (
            "external_send",
            "reads: [], writes: ['api:x'], externalCalls: true, sendsUserData: true, \
             mutatesState: true",
        ),
        "L5" => ("delete", "reads: [], writes: [], deletes: ['api:x'], mutatesState: true"),
        other => panic!("{other}"),
    };
    let intent = if more.contains("intent:") {
        String::new()
    } else {
        format!("intent: {{actionTypes: [{action}]}}\n")
    };
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: {id}\ndescription: {{summary: Does {id}.}}\n{intent}\
         schemas: {{inputSchema: {{type: object, properties: {{path: {{type: string}}}}}}}}\n\
         effects: {{{effects}}}\n{more}"
    );
    manifest::parse(id, &text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
}

/// The sections that words stand for: `always`, `audit_none`, `destructive`, `scope:S`,
/// `blocked:P`, `allowed:P`, `risk:R`.
pub fn sections(words: &str) -> String {
    let mut lists: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut out = String::new();
    for word in words.split_whitespace() {
        match word.split_once(':').unwrap_or((word, "")) {
            ("scope", name) => lists.entry("requiredScopes").or_default().push(name),
            ("blocked", name) => lists.entry("blockedPrincipals").or_default().push(name),
            ("allowed", name) => lists.entry("allowedPrincipals").or_default().push(name),
            ("risk", name) => writeln!(out, "risk: {{level: {name}}}").unwrap(),
            ("destructive", _) => out.push_str("risk: {destructive: true}\n"),
            ("audit_none", _) => out.push_str("observability: {auditLevel: none}\n"),
            (policy, _) => lists.entry("approvalPolicy").or_default().push(policy),
        }
    }
    if !lists.is_empty() {
        out.push_str("permissions:\n");
    }
    for (key, names) in lists {
        let list = names.join(", ");
        let value = if key == "approvalPolicy" { list } else { format!("[{list}]") };
        writeln!(out, "  {key}: {value}").unwrap();
    }
    out
}

/// A principal `dev` with scopes; `@name` among them is the tenant.
pub fn dev(words: &str) -> Principal {
    let (tenants, scopes): (Vec<&str>, Vec<&str>) =
        words.split_whitespace().partition(|word| word.starts_with('@'));
    let tenant = tenants.first().map(|name| name.trim_start_matches('@').to_owned());
    Principal { tenant, ..Principal::new("dev", scopes.into_iter().map(str::to_owned).collect()) }
}

/// What a view depends on, all of it plain.
pub struct Scene {
    pub registry: Registry,
    pub principal: Principal,
    pub rules: Rules,
    pub intent: Intent,
    pub environment: Environment,
    pub excluded: BTreeSet<proofmark::tool::id::ToolId>,
    pub availability: Availability,
    pub activated: ActivatedSet,
    pub message: String,
    pub failures: BTreeMap<proofmark::tool::id::ToolId, u32>,
}

impl Scene {
    pub fn new(tools: Vec<Descriptor>) -> Self {
        let environment =
            Environment { evaluation: true, max_tools: 128, ..Environment::default() };
        Self {
            registry: Registry::new(tools).unwrap(),
            principal: dev("workspace_write external_read"),
            rules: Rules::default(),
            intent: Intent::default(),
            environment,
            excluded: BTreeSet::new(),
            availability: Availability::default(),
            activated: ActivatedSet::default(),
            message: String::new(),
            failures: BTreeMap::new(),
        }
    }

    pub fn view(&self) -> View {
        compile(&ViewRequest {
            registry: &self.registry,
            principal: &self.principal,
            rules: &self.rules,
            intent: &self.intent,
            environment: &self.environment,
            blocks: &Default::default(),
            excluded: &self.excluded,
            availability: &self.availability,
            matched: &self.availability.matched(&self.message),
            activated: &self.activated,
            failures: &self.failures,
            may_expose: MAY_EXPOSE,
        })
    }
}
