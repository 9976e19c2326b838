//! Policy rules: `rules.yaml`. A rule carries examples and counterexamples that are checked when
//! it is loaded, so that a rule which does not do what it says never takes effect.

use std::collections::{BTreeMap, BTreeSet};

use globset::{Glob, GlobMatcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::budget::RuleBudget;
use super::decide::{Decision, Principal};
use super::shell;
use crate::base::digest::Digest;
use crate::base::document::Document;
use crate::base::problem::Problem;
use crate::runtime::catalog::{Registered, Registry};
use crate::tool::effect::{ActionType, EffectClass, ResourcePattern};
use crate::tool::id::ToolId;
use crate::tool::matcher::{Matcher, Matchers};
use crate::tool::risk::Level;
use crate::tool::shell::Pattern;
use crate::tool::strict::{Format, LazyFormat};

/// The format tag of a rules file.
pub const FORMAT: &str = "proofmark/rules@1";

/// The rules format.
pub static RULES: LazyFormat = LazyFormat::new(|| Format::of::<RulesFile>(FORMAT));

/// A rules file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RulesFile {
    /// The format, `proofmark/rules@1`.
    pub schema: String,
    /// The rules; their order does not matter.
    pub rules: Vec<RuleEntry>,
}

/// One rule as written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleEntry {
    /// A stable name.
    pub id: String,
    /// What it speaks about; every stated part must hold.
    #[serde(default)]
    pub when: When,
    /// `allow`, `ask`, `strong_ask` or `deny`.
    pub decision: DecisionName,
    /// Why, for people and for the model.
    pub reason: String,
    /// What the calls that it matches may use up together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RuleBudget")]
    pub budget: Option<RuleBudget>,
    /// Calls it must match.
    pub examples: Vec<RuleExample>,
    /// Calls it must not match.
    #[serde(default)]
    pub counterexamples: Vec<RuleExample>,
}

/// The conditions of a rule.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// Globs over tool ids; any of them.
    pub tools: Vec<String>,
    /// Any of these action types.
    pub action_types: Vec<ActionType>,
    /// Any of these effect classes.
    pub effects: Vec<EffectClass>,
    /// Any of these levels.
    pub levels: Vec<Level>,
    /// Tools that declare to read, write or delete what one of these covers, or part of it. What
    /// one call touches is told by its arguments alone: see `args`.
    pub resources: Vec<ResourcePattern>,
    /// Any of these principals.
    pub principals: Vec<String>,
    /// Any of these tenants; a principal of no tenant is of none of them.
    pub tenants: Vec<String>,
    /// Scopes that the principal holds; all of them.
    pub scopes: Vec<String>,
    /// Matchers of arguments; all of them.
    pub args: Map<String, Value>,
    /// Patterns of the parts of a command line; any of them. Only for tools that have one.
    pub commands: Vec<String>,
}

/// Decisions as written.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the decisions' own")]
pub enum DecisionName {
    Allow,
    Ask,
    StrongAsk,
    Deny,
}

/// A call, for examples.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleExample {
    /// The tool's id.
    pub tool: ToolId,
    /// The arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// Who calls; the suite's principal when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// For whom; the suite's tenant when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// With which scopes; the suite's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub scopes: Option<BTreeSet<String>>,
}

/// A compiled rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// A stable name.
    pub id: String,
    /// What it decides.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// What the calls that it matches may use up together.
    pub budget: Option<RuleBudget>,
    tools: Vec<GlobMatcher>,
    when: When,
    args: Matchers,
    commands: Vec<Pattern>,
}

/// One question to the rules.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The tool.
    pub tool: &'a Registered,
    /// Its arguments; `None` before there are any.
    pub args: Option<&'a Value>,
    /// Who calls.
    pub principal: &'a Principal,
}

/// Whether a list of alternatives holds; an empty one says nothing.
fn any<T>(list: &[T], holds: impl Fn(&T) -> bool) -> bool {
    list.is_empty() || list.iter().any(holds)
}

impl Rule {
    fn matches(&self, question: &Question<'_>) -> bool {
        self.speaks_of(question.tool) && self.applies(question)
    }

    /// What does not change from call to call.
    fn speaks_of(&self, tool: &Registered) -> bool {
        let when = &self.when;
        let intent = &tool.descriptor.intent;
        let effects = &tool.descriptor.effects;
        let mut touched = [&effects.reads, &effects.writes, &effects.deletes].into_iter().flatten();
        any(&self.tools, |glob| glob.is_match(tool.id().as_str()))
            && any(&when.action_types, |action| intent.action_types.contains(action))
            && any(&when.effects, |class| *class == tool.class)
            && any(&when.levels, |level| *level == tool.level)
            && (self.commands.is_empty() || tool.descriptor.shell_line().is_some())
            && (when.resources.is_empty()
                || touched.any(|own| when.resources.iter().any(|named| named.overlaps(own))))
    }

    /// Who calls, for whom, and with what.
    fn applies(&self, question: &Question<'_>) -> bool {
        let (when, principal) = (&self.when, question.principal);
        any(&when.principals, |id| *id == principal.id)
            && any(&when.tenants, |tenant| principal.tenant.as_ref() == Some(tenant))
            && when.scopes.iter().all(|scope| principal.scopes.contains(scope))
            && self.args_match(question.args)
    }

    fn args_match(&self, args: Option<&Value>) -> bool {
        match args {
            Some(args) => self.args.iter().all(|(name, matcher)| matcher.fits(args.get(name))),
            None => self.args.is_empty() && self.commands.is_empty(),
        }
    }

    /// What it says of parts of command lines; nothing where it speaks of whole calls.
    pub(super) fn commands(&self) -> &[Pattern] {
        &self.commands
    }
}

/// All rules of a session.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: Vec<Rule>,
    digest: Digest,
    /// The places of the rules that speak of a tool version, for those that were registered when
    /// the rules were read: a call asks few of many rules.
    of: BTreeMap<Digest, Vec<usize>>,
    /// Those of the rules that have one.
    budgets: BTreeMap<String, RuleBudget>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            digest: Digest::of("rules", b""),
            of: BTreeMap::new(),
            budgets: BTreeMap::new(),
        }
    }
}

impl Rules {
    /// The rules that speak about a question, in their order.
    pub fn matching<'a>(&'a self, question: &'a Question<'_>) -> impl Iterator<Item = &'a Rule> {
        let known = self.of.get(&question.tool.version);
        let some = known.into_iter().flatten().filter_map(|place| self.rules.get(*place));
        let all = self.rules.iter().filter(move |_| known.is_none());
        some.filter(move |rule| rule.applies(question))
            .chain(all.filter(move |rule| rule.matches(question)))
    }

    /// Every budget, by its rule.
    pub fn budgets(&self) -> impl Iterator<Item = (&String, &RuleBudget)> {
        self.budgets.iter()
    }

    /// The budget of a rule, where it has one.
    pub fn budget(&self, id: &str) -> Option<RuleBudget> {
        self.budgets.get(id).copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Digest of the rules as written.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    fn of(rules: Vec<Rule>, digest: Digest, registry: &Registry) -> Self {
        let speaking = |tool: &Registered| {
            let speak = |(place, rule): (usize, &Rule)| rule.speaks_of(tool).then_some(place);
            rules.iter().enumerate().filter_map(speak).collect()
        };
        let of = registry.iter().map(|tool| (tool.version, speaking(tool))).collect();
        let budgets = rules.iter().filter_map(|rule| Some((rule.id.clone(), rule.budget?)));
        Self { budgets: budgets.collect(), rules, digest, of }
    }

    /// Reads a rules file and checks every example against the registered tools.
    ///
    /// # Errors
    /// All problems at once.
    pub fn parse(
        file: &str,
        text: &str,
        registry: &Registry,
        principal: &Principal,
    ) -> Result<Self, Vec<Problem>> {
        let document = Document::parse(file, text).map_err(|problem| vec![problem])?;
        let written: RulesFile = RULES.get().decode(&document)?;
        let digest = crate::base::canon::content_digest("rules", &document.value);
        let (mut rules, mut problems) = (Vec::new(), Vec::new());
        for (index, entry) in written.rules.into_iter().enumerate() {
            let at = format!("/rules/{index}");
            if rules.iter().any(|rule: &Rule| rule.id == entry.id) {
                problems.push(document.problem(&at, format!("a second rule `{}`", entry.id)));
            }
            let check = Check { document: &document, registry, principal, at: &at };
            match compile(&check, entry, &mut problems) {
                Some(rule) => rules.push(rule),
                None => continue,
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self::of(rules, digest, registry))
    }
}

struct Check<'a> {
    document: &'a Document,
    registry: &'a Registry,
    principal: &'a Principal,
    at: &'a str,
}

fn compile(check: &Check<'_>, entry: RuleEntry, problems: &mut Vec<Problem>) -> Option<Rule> {
    let before = problems.len();
    let mut tools = Vec::new();
    for (index, glob) in entry.when.tools.iter().enumerate() {
        match Glob::new(glob) {
            Ok(glob) => tools.push(glob.compile_matcher()),
            Err(error) => {
                let at = format!("{}/when/tools/{index}", check.at);
                problems.push(check.document.problem(&at, error.to_string()));
            }
        }
    }
    let args = Matcher::parse_all(&entry.when.args).unwrap_or_else(|(name, message)| {
        let at = format!("{}/when/args/{name}", check.at);
        problems.push(check.document.problem(&at, message));
        Matchers::new()
    });
    let mut commands = Vec::new();
    for (index, pattern) in entry.when.commands.iter().enumerate() {
        match Pattern::parse(pattern) {
            Ok(pattern) => commands.push(pattern),
            Err(message) => {
                let at = format!("{}/when/commands/{index}", check.at);
                problems.push(check.document.problem(&at, message));
            }
        }
    }
    let decision = match entry.decision {
        DecisionName::Allow => Decision::Allow,
        DecisionName::Ask => Decision::Ask,
        DecisionName::StrongAsk => Decision::StrongAsk,
        DecisionName::Deny => Decision::Deny,
    };
    if let Some(budget) = &entry.budget {
        let denied = (decision == Decision::Deny).then_some("a rule that denies bounds nothing");
        if let Some(message) = budget.fault().or(denied) {
            let at = format!("{}/budget", check.at);
            problems.push(check.document.problem(&at, message));
        }
    }
    let RuleEntry { id, when, reason, budget, examples, counterexamples, .. } = entry;
    let rule = Rule { id, decision, reason, budget, tools, when, args, commands };
    if before == problems.len() {
        check_examples(check, &rule, &examples, true, problems);
        check_examples(check, &rule, &counterexamples, false, problems);
    }
    if examples.is_empty() {
        let problem =
            check.document.problem(check.at, format!("rule `{}` has no example", rule.id));
        problems.push(problem.help("add a call it must match under `examples`"));
    }
    (before == problems.len()).then_some(rule)
}

fn check_examples(
    check: &Check<'_>,
    rule: &Rule,
    examples: &[RuleExample],
    expected: bool,
    problems: &mut Vec<Problem>,
) {
    let list = if expected { "examples" } else { "counterexamples" };
    for (index, example) in examples.iter().enumerate() {
        let at = format!("{}/{list}/{index}", check.at);
        let Some(tool) = check.registry.get(&example.tool) else {
            let message = format!("no tool `{}` is registered", example.tool);
            let names = check.registry.iter().map(|tool| tool.id().as_str());
            let problem = check.document.problem(&format!("{at}/tool"), message);
            problems.push(problem.suggest(example.tool.as_str(), names));
            continue;
        };
        let mut principal = check.principal.clone();
        if let Some(id) = &example.principal {
            principal.id.clone_from(id);
        }
        if let Some(scopes) = &example.scopes {
            principal.scopes.clone_from(scopes);
        }
        principal.tenant = example.tenant.clone().or(principal.tenant);
        let args = Value::Object(example.args.clone());
        let question = Question { tool, args: Some(&args), principal: &principal };
        if (rule.matches(&question) && shell::speaks(rule, &question)) != expected {
            let verb = if expected { "does not match" } else { "matches" };
            let kind = if expected { "example" } else { "counterexample" };
            let message = format!("rule `{}` {verb} its {kind}", rule.id);
            problems.push(check.document.problem(&at, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::manifest;

    fn registry() -> Registry {
        let tool = |id: &str, action: &str, effects: &str| {
            let text = format!(
                "schema: proofmark/tool@1\ntoolId: {id}\ndescription: {{summary: Does it.}}\n\
                 intent: {{actionTypes: [{action}]}}\nschemas: {{inputSchema: {{type: object}}}}\n\
                 effects: {{{effects}}}\n"
            );
            manifest::parse(id, &text).unwrap()
        };
        Registry::new(vec![
            tool("note.read", "read", "reads: ['workspace:notes/**'], writes: []"),
            tool("note.write", "write", "reads: [], writes: ['workspace:notes/**']"),
            tool("mail.send", "external_send", "reads: [], writes: ['api:mail']"),
            tool("sum", "compute", "reads: [], writes: []"),
        ])
        .unwrap()
    }

    /// One rule per combination of conditions of two kinds.
    fn every_rule() -> String {
        let conditions = [
            ["", "tools: ['note.*']", "tools: [sum]"],
            ["", "action_types: [read, external_send]", "effects: [write]"],
            ["", "resources: ['workspace:notes/a.md']", "levels: [L1]"],
            ["", "principals: [eve]", "tenants: [acme]"],
            ["", "scopes: [s]", "args: {path: a.md}"],
        ];
        let mut all = vec![Vec::new()];
        for kind in conditions {
            let longer = |chosen: &Vec<&'static str>| {
                let chosen = chosen.clone();
                kind.map(|one| [chosen.as_slice(), &[one]].concat())
            };
            all = all.iter().flat_map(longer).collect();
        }
        let rules = all.iter().map(|chosen| {
            let stated: Vec<&str> = chosen.iter().copied().filter(|one| !one.is_empty()).collect();
            stated.join(", ")
        });
        rules.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_index_leaves_out_no_rule_and_adds_none() {
        let registry = registry();
        let rules = every_rule();
        let rules = rules.lines().enumerate().map(|(at, when)| {
            let document = Document::parse("when", &format!("{{{when}}}")).unwrap();
            let when: When = serde_json::from_value(document.value).unwrap();
            let tools = when.tools.iter().map(|one| Glob::new(one).unwrap().compile_matcher());
            Rule {
                id: format!("r{at}"),
                decision: Decision::Ask,
                reason: String::new(),
                budget: None,
                tools: tools.collect(),
                args: Matcher::parse_all(&when.args).unwrap(),
                commands: Vec::new(),
                when,
            }
        });
        let indexed = Rules::of(rules.collect(), Digest::of("rules", b""), &registry);
        let plain = Rules { of: BTreeMap::new(), ..indexed.clone() };
        let mut spoken = 0;
        for tool in registry.iter() {
            for (id, tenant, scope) in [("dev", None, "s"), ("eve", Some("acme"), "t")] {
                let scopes = BTreeSet::from([scope.to_owned()]);
                let tenant = tenant.map(str::to_owned);
                let principal = Principal { tenant, ..Principal::new(id, scopes) };
                for args in [None, Some(serde_json::json!({"path": "a.md"}))] {
                    let args = args.as_ref();
                    let question = Question { tool, args, principal: &principal };
                    let names = |rules: &Rules| {
                        rules.matching(&question).map(|rule| rule.id.clone()).collect::<Vec<_>>()
                    };
                    assert_eq!(names(&indexed), names(&plain), "{} {id}", tool.id());
                    spoken += names(&plain).len();
                }
            }
        }
        assert!(spoken > 100, "{spoken}");
    }
}
