//! Reading case files and scripts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::availability::{self, Place, keys};
use super::case::{
    ApprovalExpectEntry, CASE, CASES, Case, CaseEntry, CasesFile, Expectation, ExpectedCall,
    ExpectedCallEntry, FaultBlame, Kind, NeverEntry, SCRIPT, ScriptEntry, ScriptFile, StepEntry,
    is_frozen,
};
use super::load_play::{self, Reader};
use super::load_settings::provider_problem;
use super::play::Play;
use super::read::{normal, read, shown};
use super::suite::{DialectName, SuiteFile};
use super::{events, knobs, prompts};
use crate::base::canon::content_digest;
use crate::base::document::{Document, escape};
use crate::base::problem::Problem;
use crate::journal::event::turn::ProviderFault;
use crate::runtime::catalog::{Registry, alias};
use crate::runtime::dialect::{RawCall, Reply};
use crate::runtime::provider::scripted::{Answer as StepAnswer, ExpectedRequest, Step};
use crate::runtime::resolved::Knobs;
use crate::runtime::view::Availability;
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;
use crate::tool::matcher::Matcher;

/// Where a case file stands, and in which suite.
struct CaseContext<'a> {
    path: &'a Path,
    suite: &'a SuiteFile,
    registry: &'a Registry,
    availability: &'a Availability,
}

/// One file of one or many cases, before anything is known of the tools.
pub(super) struct CaseFile {
    path: PathBuf,
    document: Document,
    entries: Vec<(String, CaseEntry)>,
}

impl CaseFile {
    /// Whether one of the cases defers tools.
    pub(super) fn defers(&self) -> bool {
        self.entries.iter().any(|(_, entry)| entry.deferred.is_some())
    }
}

/// Decodes one file.
pub(super) fn case_file(path: PathBuf) -> Result<CaseFile, Vec<Problem>> {
    let text = read(&path).map_err(|problem| vec![problem])?;
    let document = Document::parse(&shown(&path), &text).map_err(|problem| vec![problem])?;
    let tag = document.value.get("schema").and_then(Value::as_str).unwrap_or_default();
    let entries = if tag == "proofmark/cases@1" {
        let file: CasesFile = CASES.get().decode(&document)?;
        let at = |index: usize| format!("/cases/{index}");
        file.cases.into_iter().enumerate().map(|(i, entry)| (at(i), entry)).collect()
    } else {
        let entry: CaseEntry = CASE.get().decode(&document)?;
        vec![(String::new(), entry)]
    };
    Ok(CaseFile { path, document, entries })
}

/// The cases of all files, held against the tools; none where there is no tool.
pub(super) fn all(
    files: Vec<CaseFile>,
    suite: &SuiteFile,
    registry: &Registry,
    availability: &Availability,
    problems: &mut Vec<Problem>,
) -> Vec<Case> {
    let mut cases = Vec::new();
    for file in files.into_iter().filter(|_| !registry.is_empty()) {
        let cx = CaseContext { path: &file.path, suite, registry, availability };
        for (at, entry) in file.entries {
            match case(&cx, &file.document, &at, entry) {
                Ok(case) => cases.push(case),
                Err(mut found) => problems.append(&mut found),
            }
        }
    }
    cases
}

fn case(
    cx: &CaseContext<'_>,
    document: &Document,
    at: &str,
    entry: CaseEntry,
) -> Result<Case, Vec<Problem>> {
    let mut problems = Vec::new();
    let written = document.value.pointer(at).cloned().unwrap_or_default();
    let messages = match (&entry.prompt, entry.messages.is_empty()) {
        (Some(prompt), true) => vec![prompt.clone()],
        (None, false) => entry.messages.clone(),
        _ => {
            problems.push(document.problem(at, "a case has either a prompt or messages"));
            Vec::new()
        }
    };
    let script = entry.script.as_ref().and_then(|written| {
        script(cx, (document, &format!("{at}/script")), written, &mut problems)
    });
    let (play, others) = play(cx, (document, at), &entry, &mut problems);
    if let Some(provider) = &entry.provider {
        problems.extend(provider_problem(document, &format!("{at}/provider"), provider));
    }
    let alternatives = alternatives(cx, document, at, &entry, &mut problems);
    let kind = kind(document, at, &entry, &mut problems);
    let place = Place { document, at, registry: cx.registry };
    let excluded = availability::excluded(&entry.excluded_tools, &place, &mut problems);
    let keys = keys!(entry);
    let availability = availability::read(&keys, cx.availability, &place, &mut problems);
    let availability = keys.any().then(|| Arc::new(availability));
    let (never, approval) = promises(cx, document, at, &entry, &mut problems);
    let events = events::read(&entry.expect.events, &place, &mut problems);
    let approvals = Reader { place: &place, problems: &mut problems }.answers(&entry.approvals);
    let knobs = own_knobs(cx, &place, &entry, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut content: Vec<Value> = vec![written];
    content.extend(script.iter().map(|(_, content)| content.clone()));
    content.extend(others);
    Ok(Case {
        // Nothing chooses in a scripted case, so it belongs to neither part.
        frozen: entry.script.is_none() && is_frozen(&cx.suite.name, &entry.id),
        origin: format!("{}:{}", document.file, document.at(at).line.max(1)),
        kind,
        messages,
        provider: entry.provider.clone(),
        approvals,
        play,
        knobs,
        workspace: entry.workspace,
        excluded,
        availability,
        principal: entry.principal,
        intent: entry.intent,
        dialect: entry.dialect.map(DialectName::dialect),
        tags: entry.tags.into_iter().collect(),
        trials: entry.trials,
        expect: Expectation {
            alternatives,
            mode: entry.expect.mode,
            never,
            approval,
            r#final: entry.expect.r#final.unwrap_or_default(),
            events,
            end: entry.expect.end,
        },
        // A script's own content counts, wherever it stands.
        digest: match content.as_slice() {
            [written] => content_digest("case", written),
            all => content_digest("case", &json!(all)),
        },
        script: script.map(|(steps, _)| steps),
        id: entry.id.into(),
    })
}

/// The suite's settings with what the case says in their place; `None` where it says nothing.
fn own_knobs(
    cx: &CaseContext<'_>,
    place: &Place<'_>,
    entry: &CaseEntry,
    problems: &mut Vec<Problem>,
) -> Option<Arc<Knobs>> {
    let own = entry.knobs.as_ref()?;
    let exempt = own.duplicate_exempt.as_deref().unwrap_or_default();
    knobs::check((exempt, own.loop_limits), place, problems);
    Some(Arc::new(knobs::settings(&own.over(&cx.suite.knobs))))
}

/// What is played beside the model's words, and the content of scripts for its digest.
fn play(
    cx: &CaseContext<'_>,
    (document, at): (&Document, &str),
    entry: &CaseEntry,
    problems: &mut Vec<Problem>,
) -> (Play, Vec<Value>) {
    let (mut others, mut contents) = (BTreeMap::new(), Vec::new());
    for (name, written) in &entry.others {
        let at = format!("{at}/others/{}", escape(name));
        if let Some((steps, content)) = script(cx, (document, &at), written, problems) {
            others.insert(Arc::from(name.as_str()), steps);
            contents.push(content);
        }
    }
    let place = Place { document, at, registry: cx.registry };
    let mut reader = Reader { place: &place, problems };
    let names: Vec<&str> = entry.others.keys().map(String::as_str).collect();
    let play = Play {
        envelope: load_play::envelope(entry),
        hooks: reader.hooks(&entry.hooks),
        signals: reader.signals(&entry.signals, &names),
        tools: reader.acts(&entry.tools),
        others,
    };
    (play, contents)
}

/// The id behind a name: an id, or a name that would be advertised for one.
pub(super) fn known(registry: &Registry, name: &str) -> Option<ToolId> {
    let id = ToolId::parse(name)?;
    if registry.get(&id).is_some() {
        return Some(id);
    }
    let names = alias::aliases(registry.iter().map(|tool| tool.id()));
    names.into_iter().find(|(_, alias)| alias == name).map(|(id, _)| id)
}

fn no_tool(cx: &CaseContext<'_>, document: &Document, at: &str, name: &str) -> Problem {
    let problem = document.problem(at, format!("no tool `{name}`"));
    problem.suggest(name, cx.registry.iter().map(|tool| tool.id().as_str()))
}

/// What must never be, and what must or must not ask.
fn promises(
    cx: &CaseContext<'_>,
    document: &Document,
    at: &str,
    entry: &CaseEntry,
    problems: &mut Vec<Problem>,
) -> (NeverEntry, ApprovalExpectEntry) {
    let (never, approval) = (&entry.expect.never, &entry.expect.approval);
    let mut checked = |list, written| names(cx, document, (at, list), written, problems);
    let never = NeverEntry {
        proposed: checked("never/proposed", &never.proposed),
        executed: checked("never/executed", &never.executed),
    };
    let approval = ApprovalExpectEntry {
        must: checked("approval/must", &approval.must),
        must_not: checked("approval/must_not", &approval.must_not),
    };
    (never, approval)
}

/// Tools and effect classes that must or must not do something. A name that is neither would
/// make the expectation hold by itself.
fn names(
    cx: &CaseContext<'_>,
    document: &Document,
    (at, list): (&str, &str),
    written: &[String],
    problems: &mut Vec<Problem>,
) -> Vec<String> {
    let classes =
        [EffectClass::Read, EffectClass::Write, EffectClass::External, EffectClass::Destructive];
    let mut out = Vec::new();
    for (index, name) in written.iter().enumerate() {
        if classes.iter().any(|class| class.name() == name) {
            out.push(name.clone());
        } else if let Some(id) = known(cx.registry, name) {
            out.push(id.to_string());
        } else {
            let at = format!("{at}/expect/{list}/{index}");
            problems.push(no_tool(cx, document, &at, name));
        }
    }
    out
}

/// What kind of prompt a case is: golden unless it says that no call is right.
fn kind(document: &Document, at: &str, entry: &CaseEntry, problems: &mut Vec<Problem>) -> Kind {
    match entry.expect.none {
        Some(Kind::Golden) => {
            let problem = document.problem(&format!("{at}/expect/none"), "golden expects a call");
            problems.push(problem.help("write no_tool, ask or refuse"));
            Kind::Golden
        }
        Some(kind) => {
            if !entry.expect.calls.is_empty() || !entry.expect.any_of.is_empty() {
                let place = format!("{at}/expect/none");
                problems.push(document.problem(&place, "no call is expected, and calls are named"));
            }
            kind
        }
        None => Kind::Golden,
    }
}

fn alternatives(
    cx: &CaseContext<'_>,
    document: &Document,
    at: &str,
    entry: &CaseEntry,
    problems: &mut Vec<Problem>,
) -> Vec<Vec<ExpectedCall>> {
    let expect = &entry.expect;
    if expect.any_of.is_empty() {
        let at = format!("{at}/expect/calls");
        return vec![expected_calls(cx, document, &at, &expect.calls, problems)];
    }
    if !expect.calls.is_empty() {
        let problem = document.problem(&format!("{at}/expect"), "calls or any_of, not both");
        problems.push(problem);
    }
    let sets = expect.any_of.iter().enumerate();
    sets.map(|(index, set)| {
        let at = format!("{at}/expect/any_of/{index}");
        expected_calls(cx, document, &at, set, problems)
    })
    .collect()
}

fn expected_calls(
    cx: &CaseContext<'_>,
    document: &Document,
    at: &str,
    calls: &[ExpectedCallEntry],
    problems: &mut Vec<Problem>,
) -> Vec<ExpectedCall> {
    let outcomes = crate::journal::Outcome::NAMES;
    let mut expected = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let at = format!("{at}/{index}");
        let args = call.args.as_ref().map(Matcher::parse_all).transpose();
        let args = args.unwrap_or_else(|(name, message)| {
            problems.push(document.problem(&format!("{at}/args/{name}"), message));
            None
        });
        let id = known(cx.registry, &call.tool);
        let tool = id.as_ref().map_or(call.tool.as_str(), ToolId::as_str);
        for key in args.iter().flat_map(|args| args.keys()) {
            if id.is_some() && !prompts::parameter(cx.registry, tool, key) {
                let message = format!("`{key}` is no parameter of {tool}");
                problems.push(document.problem(&format!("{at}/args/{key}"), message));
            }
        }
        if id.is_none() && call.outcome.as_deref() != Some("unavailable") {
            let problem = no_tool(cx, document, &format!("{at}/tool"), &call.tool);
            let help = "write `outcome: unavailable` when no such tool is meant";
            problems.push(if problem.help.is_some() { problem } else { problem.help(help) });
        }
        if let Some(name) = call.outcome.as_ref().filter(|n| !outcomes.contains(&n.as_str())) {
            let problem =
                document.problem(&format!("{at}/outcome"), format!("no outcome `{name}`"));
            problems.push(problem.suggest(name, outcomes));
        }
        expected.push(ExpectedCall { tool: tool.into(), args, outcome: call.outcome.clone() });
    }
    expected
}

fn script(
    cx: &CaseContext<'_>,
    (document, at): (&Document, &str),
    written: &ScriptEntry,
    problems: &mut Vec<Problem>,
) -> Option<(Arc<[Step]>, Value)> {
    let (steps, shown_in, at) = match written {
        ScriptEntry::Steps(steps) => (steps.clone(), document.clone(), at.to_owned()),
        ScriptEntry::File(name) => {
            let path = normal(&cx.path.parent().unwrap_or(Path::new("")).join(name));
            if !path.is_file() {
                let message = format!("there is no {}", shown(&path));
                problems.push(document.problem(at, message));
                return None;
            }
            let read = read(&path).map_err(|problem| vec![problem]).and_then(|text| {
                let document = Document::parse(&shown(&path), &text).map_err(|p| vec![p])?;
                let file: ScriptFile = SCRIPT.get().decode(&document)?;
                Ok((file.steps, document))
            });
            match read {
                Ok((steps, document)) => (steps, document, "/steps".to_owned()),
                Err(mut found) => {
                    problems.append(&mut found);
                    return None;
                }
            }
        }
    };
    let names = alias::aliases(cx.registry.iter().map(|tool| tool.id()));
    let spelled = |name: &str| {
        let known = ToolId::parse(name).and_then(|id| names.get(&id).cloned());
        known.unwrap_or_else(|| name.to_owned())
    };
    let steps: Vec<Step> = steps
        .into_iter()
        .enumerate()
        .filter_map(|(index, entry)| match step(entry, &spelled) {
            Ok(step) => Some(step),
            Err(message) => {
                problems.push(shown_in.problem(&format!("{at}/{index}"), message));
                None
            }
        })
        .collect();
    let content = shown_in.value.pointer(&at).cloned().unwrap_or_default();
    Some((steps.into(), content))
}

fn step(entry: StepEntry, spelled: &dyn Fn(&str) -> String) -> Result<Step, String> {
    let expect = ExpectedRequest {
        contains: entry.expect_request.contains,
        tools: entry.expect_request.tools.iter().map(|name| spelled(name)).collect(),
        no_tools: entry.expect_request.no_tools.iter().map(|name| spelled(name)).collect(),
    };
    let answer = match (entry.reply, entry.fault) {
        (Some(reply), None) => {
            let mut calls = Vec::new();
            for call in reply.calls {
                let arguments = match (call.arguments, call.raw_arguments) {
                    (Some(map), None) => Value::Object(map).to_string(),
                    (None, raw) => raw.unwrap_or_default(),
                    (Some(_), Some(_)) => {
                        return Err("arguments or raw_arguments, not both".to_owned());
                    }
                };
                calls.push(RawCall::native(call.id, spelled(&call.name), arguments));
            }
            let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
            let finish = Some(finish.to_owned());
            let (text, reasoning) = (reply.text, reply.reasoning);
            StepAnswer::Reply(Reply { text, reasoning, calls, finish, explanation: None })
        }
        (None, Some(fault)) => {
            let blame = match fault.blame {
                FaultBlame::Infrastructure => "infrastructure",
                FaultBlame::Model => "model",
            };
            StepAnswer::Fault(ProviderFault { blame: blame.to_owned(), message: fault.message })
        }
        _ => return Err("a step has either a reply or a fault".to_owned()),
    };
    Ok(Step { expect, answer })
}
