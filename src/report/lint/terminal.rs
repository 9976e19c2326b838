//! Findings for a person: what, where, the line with a mark under it, and what to do.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Located, count};
use crate::lint::{Level, Rule};

/// How much is told of hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Hints are counted by rule.
    Counted,
    /// Hints are told like everything else.
    All,
}

/// The whole answer; `tools` is how many were judged.
pub fn terminal(found: &[Located], tools: usize, shown: Shown) -> String {
    let mut out = String::new();
    for one in found.iter().filter(|one| shown == Shown::All || one.finding.level > Level::Info) {
        finding(&mut out, one);
    }
    let mut hints: BTreeMap<&str, usize> = BTreeMap::new();
    for one in found.iter().filter(|one| one.finding.level == Level::Info) {
        *hints.entry(one.finding.rule.name).or_default() += 1;
    }
    if shown == Shown::Counted && !hints.is_empty() {
        out.push_str("hints (`--all` shows them, `--explain RULE` says why):\n");
        for (name, count) in &hints {
            let _ = writeln!(out, "{count:>5}  {name}");
        }
        out.push('\n');
    }
    let number = |level: Level, word: &str| {
        let count = count(found, level);
        format!("{count} {word}{}", if count == 1 { "" } else { "s" })
    };
    let _ = writeln!(
        out,
        "{tools} tool{} judged: {}, {}, {}",
        if tools == 1 { "" } else { "s" },
        number(Level::Error, "error"),
        number(Level::Warning, "warning"),
        number(Level::Info, "hint")
    );
    out
}

fn finding(out: &mut String, one: &Located) {
    let found = &one.finding;
    let _ = writeln!(out, "{}[{}]: {}", found.level.name(), found.rule.name, found.message);
    let line = if one.at.line > 0 { one.at.line.to_string() } else { String::new() };
    let pad = " ".repeat(line.len());
    let _ = write!(out, "{pad} --> {}", one.file);
    if one.at.line > 0 {
        let _ = write!(out, ":{}:{}", one.at.line, one.at.column);
    }
    let _ = writeln!(out, " ({})", one.tool);
    if let Some(excerpt) = &one.excerpt {
        let _ = writeln!(out, "{pad} |\n{line} | {}", excerpt.text);
        let marks = "^".repeat(excerpt.length.max(1));
        let _ = writeln!(out, "{pad} | {}{marks}", " ".repeat(excerpt.before));
    }
    let _ = writeln!(out, "{pad} = help: {}", found.help);
    if let Some(blast) = found.rule.blast.filter(|_| one.together > 1) {
        let _ = writeln!(out, "{pad} = note: {blast}; {} are offered here", one.together);
    }
    out.push('\n');
}

/// Everything that is to be said about a rule.
pub fn explain(rule: &Rule) -> String {
    let mut out = format!(
        "{} ({}, {})\n\n{}\n",
        rule.name,
        rule.level.name(),
        rule.scope().name(),
        rule.reason
    );
    if let Some(blast) = rule.blast {
        let _ = writeln!(out, "Where it bites, {blast}.");
    }
    let _ = writeln!(out, "\nTo mend it: {}.", rule.fix);
    for profile in rule.profiles {
        let _ = writeln!(out, "A fact of the profile {}@{}.", profile.name(), profile.version());
    }
    // An example that is made, or that changes a contract, says nothing by itself.
    let plain = |example: &&&str| example.starts_with(['{', '[']);
    for (head, examples) in [("Flagged", rule.bad), ("Not flagged", rule.good)] {
        for example in
            examples.iter().filter(plain).filter(|example| **example != "{}" && **example != "[{}]")
        {
            let _ = writeln!(out, "\n{head}, as changes to an ordinary tool:\n  {example}");
        }
    }
    out
}
