//! Policy rules: `rules.yaml`. A rule carries examples and counterexamples that are checked when
//! it is loaded, so that a rule which does not do what it says never takes effect.

use globset::{Glob, GlobMatcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::decide::{Decision, Principal};
use crate::base::digest::Digest;
use crate::base::document::Document;
use crate::base::problem::Problem;
use crate::runtime::catalog::{Registered, Registry};
use crate::tool::effect::{ActionType, EffectClass};
use crate::tool::id::ToolId;
use crate::tool::matcher::{Matcher, Matchers};
use crate::tool::risk::Level;
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
    /// Any of these principals.
    pub principals: Vec<String>,
    /// Matchers of arguments; all of them.
    pub args: Map<String, Value>,
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
    tools: Vec<GlobMatcher>,
    when: When,
    args: Matchers,
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

impl Rule {
    fn matches(&self, question: &Question<'_>) -> bool {
        let (tool, when) = (question.tool, &self.when);
        let any = |empty: bool, found: bool| empty || found;
        let actions = &tool.descriptor.intent.action_types;
        any(self.tools.is_empty(), self.tools.iter().any(|g| g.is_match(tool.id().as_str())))
            && any(
                when.action_types.is_empty(),
                when.action_types.iter().any(|a| actions.contains(a)),
            )
            && any(when.effects.is_empty(), when.effects.contains(&tool.class))
            && any(when.levels.is_empty(), when.levels.contains(&tool.level))
            && any(when.principals.is_empty(), when.principals.contains(&question.principal.id))
            && self.args_match(question.args)
    }

    fn args_match(&self, args: Option<&Value>) -> bool {
        match args {
            Some(args) => self.args.iter().all(|(name, matcher)| matcher.fits(args.get(name))),
            None => self.args.is_empty(),
        }
    }
}

/// All rules of a session.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: Vec<Rule>,
    digest: Digest,
}

impl Default for Rules {
    fn default() -> Self {
        Self { rules: Vec::new(), digest: Digest::of("rules", b"") }
    }
}

impl Rules {
    /// The rules that speak about a question.
    pub fn matching<'a>(&'a self, question: &'a Question<'_>) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(move |rule| rule.matches(question))
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
        if problems.is_empty() { Ok(Self { rules, digest }) } else { Err(problems) }
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
    let decision = match entry.decision {
        DecisionName::Allow => Decision::Allow,
        DecisionName::Ask => Decision::Ask,
        DecisionName::StrongAsk => Decision::StrongAsk,
        DecisionName::Deny => Decision::Deny,
    };
    let RuleEntry { id, when, reason, examples, counterexamples, .. } = entry;
    let rule = Rule { id, decision, reason, tools, when, args };
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
        let args = Value::Object(example.args.clone());
        let question = Question { tool, args: Some(&args), principal: &principal };
        if rule.matches(&question) != expected {
            let verb = if expected { "does not match" } else { "matches" };
            let kind = if expected { "example" } else { "counterexample" };
            let message = format!("rule `{}` {verb} its {kind}", rule.id);
            problems.push(check.document.problem(&at, message));
        }
    }
}
