//! A command line, judged by its parts: each part gets the strictest decision of the rules that
//! speak of it, and the line the strictest of its parts.
//!
//! A rule allows a part only where every word of it is known; it stops a part also where the words
//! may be the ones it names. A deny rule that may match asks and does not deny: every word that is
//! not known may be any word, so that one deny rule would forbid all variables. What is denied is
//! what is known to be meant; about the rest somebody is asked, and where nobody is there that is
//! a no.

use globset::GlobBuilder;

use super::decide::Decision;
use super::rules::{Question, Rule};
use crate::journal::event::call::JudgedPart;
use crate::runtime::catalog::Registered;
use crate::tool::shell::{self, Fit, Kind, Part};

/// What was decided about one part of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartJudgement {
    /// The part as it was read; `None` where arguments are not kept.
    pub part: Option<String>,
    /// The decision.
    pub decision: Decision,
    /// Which part, and why.
    pub reason: String,
    /// Ids of the rules that spoke of it.
    pub rules: Vec<String>,
}

impl PartJudgement {
    /// As it is recorded.
    pub fn fact(&self) -> JudgedPart {
        let (part, rules) = (self.part.clone(), self.rules.clone());
        JudgedPart { part, decision: self.decision.name().to_owned(), rules }
    }
}

/// The command line of a call, where its tool has one. Before there are arguments there is none.
fn line<'a>(question: &Question<'a>) -> Option<&'a str> {
    let name = question.tool.descriptor.shell_line()?;
    // What is no text is judged as a line that cannot be read.
    Some(question.args?.get(name).and_then(serde_json::Value::as_str).unwrap_or_default())
}

/// Judges each part of a call's command line; nothing where it has none.
pub(super) fn judge(question: &Question<'_>, rules: &[&Rule]) -> Vec<PartJudgement> {
    let Some(line) = line(question) else { return Vec::new() };
    let parts = shell::parse(line).parts;
    let parts = parts.iter().zip(1..);
    parts.map(|(part, number)| judge_part(question.tool, (part, number), rules)).collect()
}

fn judge_part(tool: &Registered, (part, number): (&Part, usize), rules: &[&Rule]) -> PartJudgement {
    let logged = tool.descriptor.observability.keeps_args();
    let text = logged.then(|| part.text());
    let shown = text.as_ref().map_or_else(|| format!("part {number}"), |text| format!("`{text}`"));
    // Strictest first; among equals the first that spoke.
    let mut said: Vec<(Decision, String)> = Vec::new();
    let mut spoke = Vec::new();
    for rule in rules {
        let Some((decision, sure)) = says(rule, part) else { continue };
        let may = if sure { "" } else { "may be what it means, " };
        said.push((decision, format!("{may}rule {}: {}", rule.id, rule.reason)));
        spoke.push(rule.id.clone());
    }
    let allowed = said.iter().any(|(decision, _)| *decision == Decision::Allow);
    said.extend(place(tool, part).map(|(decision, why)| (decision, why.to_owned())));
    if let Some(doubt) = part.doubt {
        said.push((Decision::Ask, doubt.to_owned()));
    } else if needs_rule(tool, part) && !allowed {
        said.push((Decision::Ask, "no rule allows it".to_owned()));
    }
    said.sort_by_key(|(decision, _)| std::cmp::Reverse(*decision));
    let (decision, why) = match said.into_iter().next() {
        Some((decision, why)) => (decision, why),
        None => (Decision::Allow, "it does nothing by itself".to_owned()),
    };
    PartJudgement { part: text, decision, reason: format!("{shown}: {why}"), rules: spoke }
}

/// What a rule says of a part, and whether it is sure that the part is meant.
fn says(rule: &Rule, part: &Part) -> Option<(Decision, bool)> {
    if rule.decision == Decision::Allow {
        let allows = rule.commands().iter().any(|pattern| pattern.allows(part));
        return allows.then_some((Decision::Allow, true));
    }
    let fit = rule.commands().iter().map(|pattern| pattern.catches(part)).max()?;
    match fit {
        Fit::Yes => Some((rule.decision, true)),
        Fit::Maybe => Some((softened(rule), false)),
        Fit::No => None,
    }
}

/// What a rule that may match asks for.
fn softened(rule: &Rule) -> Decision {
    match rule.decision {
        Decision::Deny => Decision::Ask,
        other => other,
    }
}

/// Whether a rule speaks of a line as a whole: it allows each of its parts, or stops one of them.
/// A rule that speaks of no parts has nothing against it.
pub(super) fn speaks(rule: &Rule, question: &Question<'_>) -> bool {
    if rule.commands().is_empty() {
        return true;
    }
    let Some(line) = line(question) else { return false };
    let parts = shell::parse(line).parts;
    let mut said = parts.iter().filter(|part| needs_rule(question.tool, part));
    match rule.decision {
        Decision::Allow => said.all(|part| says(rule, part).is_some()),
        _ => parts.iter().any(|part| says(rule, part).is_some()),
    }
}

/// Whether a part needs a rule that allows it. What starts another program is judged by that one,
/// and a file of the workspace may be read.
fn needs_rule(tool: &Registered, part: &Part) -> bool {
    match part.kind {
        Kind::Command | Kind::Write | Kind::Construct => true,
        Kind::Launcher => part.doubt.is_some(),
        Kind::Read => part.doubt.is_some() || inside(tool, part).is_none(),
    }
}

/// What the place of a redirection decides by itself.
fn place(tool: &Registered, part: &Part) -> Option<(Decision, &'static str)> {
    let file = part.file()?;
    if blocked(tool, inside(tool, part).as_deref().unwrap_or(file)) {
        return Some((Decision::Deny, "the sandbox blocks that path"));
    }
    let scratch = ["/tmp/", "/dev/shm/"].iter().any(|folder| file.starts_with(folder));
    let scratch = scratch && !file.split('/').any(|step| step == "..");
    if part.kind == Kind::Write && inside(tool, part).is_none() && !scratch {
        return Some((Decision::Deny, "it writes outside of the workspace"));
    }
    None
}

/// The file of a redirection, relative to the workspace; `None` where it is elsewhere or not known.
fn inside(tool: &Registered, part: &Part) -> Option<String> {
    let file = part.file()?;
    if file.starts_with('/') {
        return None;
    }
    let cwd = &tool.descriptor.sandbox.filesystem.cwd;
    let mut steps = Vec::new();
    for step in cwd.split('/').chain(file.split('/')) {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()?),
            step => steps.push(step),
        }
    }
    Some(steps.join("/"))
}

/// Whether a path, relative to the workspace or absolute, is one that the sandbox blocks, or lies
/// in one.
fn blocked(tool: &Registered, path: &str) -> bool {
    let entries = &tool.descriptor.sandbox.filesystem.blocked_paths;
    let ancestors = || std::path::Path::new(path).ancestors();
    entries.iter().any(|entry| {
        if !entry.contains(['*', '?', '[']) {
            let entry = entry.strip_prefix("./").unwrap_or(entry);
            return ancestors().any(|one| one == std::path::Path::new(entry));
        }
        let glob = GlobBuilder::new(entry).literal_separator(true).build();
        // A pattern that cannot be read blocks everything; the sandbox does not start with it.
        glob.map_or(true, |glob| {
            let glob = glob.compile_matcher();
            ancestors().any(|one| glob.is_match(one))
        })
    })
}
