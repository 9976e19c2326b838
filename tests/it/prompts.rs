//! The shipped prompts are enough, are distinct, are not the descriptions in other words, and
//! bite: a tool without its description loses or gains prompts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proofmark::eval::case::{Case, Kind, is_frozen};
use proofmark::eval::load::{Listed, Suite, load};
use proofmark::runtime::catalog::Registry;
use proofmark::runtime::dialect::{Dialect, Message, Rendering, TextRules, Transcript};
use proofmark::runtime::policy::{Principal, Rules};
use proofmark::runtime::provider::chooser::{Chooser, IndexCache, THRESHOLD};
use proofmark::runtime::resolved::CompiledView;
use proofmark::runtime::view::compile::MAY_EXPOSE;
use proofmark::runtime::view::{
    ActivatedSet, Availability, Environment, Matched, ViewRequest, compile,
};
use proofmark::tool::descriptor::{Description, Descriptor};
use proofmark::tool::id::ToolId;
use proofmark::tool::intent::Intent;
use rust_stemmers::{Algorithm, Stemmer};

const GOLDEN_PER_TOOL: usize = 4;

fn suite(name: &str) -> Suite {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites").join(name);
    load(&folder, &Listed::new()).unwrap_or_else(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}

fn prompts(suite: &Suite) -> Vec<&Case> {
    let flat = suite.cases.iter().map(Arc::as_ref).filter(|case| case.origin.contains(".csv:"));
    flat.filter(|case| !case.is_stub()).collect()
}

fn tools_of(case: &Case) -> BTreeSet<&str> {
    case.expect.alternatives.iter().flatten().map(|call| &*call.tool).collect()
}

/// A list with its length is easier to read than one that is only not empty.
fn none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{} {what}:\n{}", found.len(), found.join("\n"));
}

/// Counts, coverage and near-misses of one suite: at least so many tools, golden prompts and
/// negatives.
fn check_enough(name: &str, tools: usize, golden: usize, negatives: usize) {
    let suite = suite(name);
    let prompts = prompts(&suite);
    let is_golden = |case: &&&Case| case.kind == Kind::Golden;
    let count = prompts.iter().filter(is_golden).count();
    assert!(suite.registry.len() >= tools, "{name}: {} tools", suite.registry.len());
    assert!(count >= golden, "{name}: {count} golden prompts");
    assert!(prompts.len() - count >= negatives, "{name}: {} negatives", prompts.len() - count);
    for kind in [Kind::NoTool, Kind::Ask, Kind::Refuse] {
        assert!(prompts.iter().any(|case| case.kind == kind), "{name}: no {}", kind.name());
    }
    let near = |tool: &str| {
        let near = prompts.iter().filter(|case| case.tags.contains("near-miss"));
        near.filter(is_golden).any(|case| tools_of(case).contains(tool))
    };
    let mut thin = Vec::new();
    for tool in suite.registry.iter() {
        let own = prompts.iter().filter(|case| tools_of(case).contains(tool.id().as_str())).count();
        if own < GOLDEN_PER_TOOL {
            thin.push(format!("{}: {own}", tool.id()));
        }
    }
    none("tools have fewer golden prompts than they should", &thin);
    assert!(suite.look_alikes.len() >= 10, "{name}: {} pairs", suite.look_alikes.len());
    let mut bare = Vec::new();
    for (a, b) in &suite.look_alikes {
        for (tool, other) in [(a, b), (b, a)] {
            if a == b || !near(tool) {
                bare.push(format!("{tool}, which is like {other}"));
            }
        }
    }
    none("tools have look-alikes and no golden near-miss", &bare);
}

#[test]
fn coding_agent_has_enough() {
    check_enough("coding-agent", 24, 150, 100);
}

#[test]
fn office_has_enough() {
    check_enough("office", 20, 120, 80);
}

#[test]
fn calibration_has_enough() {
    check_enough("calibration", 20, 80, 80);
}

/// Words that carry no subject.
const STOP: &str = "a an the and or but if then so of in on at to for from with by into about as \
    is are was were be been do does did has have had can could will would should may might must \
    i me my you your it its we us our they them their this that these those there here what which \
    who when where why how not no any all some please just up out off over under again too very \
    only also than let get got want need like one ones";

/// Stems of the words that carry a subject.
fn stems(text: &str) -> BTreeSet<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let lower = text.to_lowercase().replace(['\'', '\u{2019}'], "");
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
    words
        .filter(|word| !STOP.split_whitespace().any(|stop| stop == *word))
        .filter(|word| !word.chars().all(|c| c.is_ascii_digit()))
        .map(|word| stemmer.stem(word).into_owned())
        .collect()
}

fn told(description: &Description) -> String {
    let examples = description.examples.iter().map(|example| example.user_request.clone());
    let parts = description.use_when.iter().cloned().chain(examples);
    parts.fold(description.summary.clone(), |text, part| text + "\n" + &part)
}

#[test]
fn no_prompt_is_its_tools_description_in_other_words() {
    let mut reworded = Vec::new();
    // Calibration prompts only set a threshold; they are evidence for no tool.
    for name in ["coding-agent", "office"] {
        let suite = suite(name);
        let described: BTreeMap<&str, BTreeSet<String>> = suite
            .registry
            .iter()
            .map(|tool| (tool.id().as_str(), stems(&told(&tool.descriptor.description))))
            .collect();
        for case in prompts(&suite) {
            let said = stems(&case.messages.join("\n"));
            for tool in tools_of(case) {
                let common: Vec<&str> =
                    said.intersection(&described[tool]).map(String::as_str).collect();
                if 2 * common.len() > said.len() {
                    let share = format!("{} of {}", common.len(), said.len());
                    reworded.push(format!("{name} {}: {tool} has {share}: {common:?}", case.id));
                }
            }
        }
    }
    none("prompts are made of their tool's words", &reworded);
}

#[test]
fn prompts_are_distinct_and_fairly_split() {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut twice = Vec::new();
    for name in ["coding-agent", "office", "calibration"] {
        let suite = suite(name);
        let prompts = prompts(&suite);
        for case in &prompts {
            let words: Vec<String> = case.messages.iter().map(|text| text.to_lowercase()).collect();
            let words = words.join("\n").split_whitespace().collect::<Vec<_>>().join(" ");
            let place = format!("{name} {}", case.id);
            if let Some(first) = seen.insert(words, place.clone()) {
                twice.push(format!("{place} and {first}"));
            }
            assert_eq!(case.frozen, is_frozen(name, &case.id));
        }
        for golden in [true, false] {
            let part = prompts.iter().filter(|case| (case.kind == Kind::Golden) == golden);
            let (frozen, all) =
                part.fold((0, 0), |(f, n), case| (f + usize::from(case.frozen), n + 1));
            let fair = 5 * frozen >= all && 5 * frozen <= 2 * all;
            assert!(fair, "{name}, golden {golden}: {frozen} of {all} frozen");
        }
    }
    none("prompts stand twice", &twice);
}

/// A chooser over some tools, of which the principal may use every one.
struct Asked {
    chooser: Chooser,
    view: CompiledView,
    names: BTreeMap<String, ToolId>,
}

impl Asked {
    fn new(descriptors: Vec<Descriptor>) -> Self {
        let required = descriptors.iter().flat_map(|d| d.permissions.required_scopes.clone());
        let scopes =
            required.chain(["workspace_write", "external_read"].map(str::to_owned)).collect();
        let principal = Principal::new("dev", scopes);
        let registry = Registry::new(descriptors).unwrap();
        let environment =
            Environment { evaluation: true, max_tools: 128, ..Environment::default() };
        let view = compile(&ViewRequest {
            registry: &registry,
            principal: &principal,
            rules: &Rules::default(),
            intent: &Intent::default(),
            environment: &environment,
            blocks: &Default::default(),
            excluded: &BTreeSet::new(),
            availability: &Availability::default(),
            matched: &Matched::default(),
            activated: &ActivatedSet::default(),
            failures: &BTreeMap::new(),
            may_expose: MAY_EXPOSE,
        });
        assert_eq!(view.withheld.len(), 0, "{:?}", view.withheld);
        let rendering = Rendering { use_when: true, examples: true, hints: false };
        let tools = Dialect::OpenAiChat.tools(&view, rendering, TextRules::default());
        let exposed = view.exposed.iter();
        let names = exposed.map(|tool| (tool.name.clone(), tool.tool_id.clone())).collect();
        let chooser = Chooser::new(Arc::<IndexCache>::default());
        Self { chooser, view: CompiledView::new(view, tools, Arc::new(registry)), names }
    }

    fn choice(&self, prompt: &str) -> Option<&ToolId> {
        let mut transcript = Transcript::new();
        transcript.push(Message::User { text: prompt.into() });
        let payload = Dialect::OpenAiChat.request(&self.view.tools, &transcript);
        let choice = self.chooser.choose(&payload, prompt).unwrap();
        let (name, _) = choice.best.filter(|_| choice.confidence >= THRESHOLD)?;
        Some(&self.names[&name])
    }
}

/// The tools whose description could go without any prompt noticing.
fn silent(suite: &Suite) -> Vec<String> {
    let all: Vec<Descriptor> = suite.registry.iter().map(|t| t.descriptor.clone()).collect();
    let whole = Asked::new(all.clone());
    let prompts = prompts(suite);
    let before: Vec<Option<&ToolId>> =
        prompts.iter().map(|case| whole.choice(&case.messages[0])).collect();
    let mut silent = Vec::new();
    for (index, descriptor) in all.iter().enumerate() {
        let mut edited = all.clone();
        edited[index].description =
            Description { summary: "Tool.".to_owned(), ..Description::default() };
        edited[index].version = None;
        let bare = Asked::new(edited);
        // The tool's own prompts first: they are the likeliest to notice.
        let own = |at: &usize| tools_of(prompts[*at]).contains(descriptor.tool_id.as_str());
        let (first, rest): (Vec<usize>, Vec<usize>) = (0..prompts.len()).partition(own);
        let flips = |at: &usize| bare.choice(&prompts[*at].messages[0]) != before[*at];
        if !first.iter().chain(&rest).any(flips) {
            silent.push(descriptor.tool_id.to_string());
        }
    }
    silent
}

fn check_bite(name: &str) {
    let suite = suite(name);
    let silent = silent(&suite);
    println!("{name}: {} of {} tools are silent: {silent:?}", silent.len(), suite.registry.len());
    assert!(5 * silent.len() <= suite.registry.len(), "{name}: {silent:?}");
}

#[test]
fn coding_agent_notices_a_lost_description() {
    check_bite("coding-agent");
}

#[test]
fn office_notices_a_lost_description() {
    check_bite("office");
}
