//! A result is held against the output schema and the declared effects, also when it failed.

use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::{Blame, Fault};
use crate::runtime::catalog::Registered;
use crate::runtime::exec::Ran;
use crate::tool::effect::ResourcePattern;

/// What verification found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verification {
    /// Why the result is no success.
    pub fault: Option<Fault>,
    /// Effects seen and not declared.
    pub undeclared: Vec<String>,
    /// What was found, in words.
    pub summary: String,
}

/// Verifies one result.
pub fn verify(tool: &Registered, ran: &Ran) -> Verification {
    let undeclared = undeclared(tool, &ran.effects);
    if let Some(effect) = undeclared.first() {
        let message = format!("{effect} was touched and is not declared");
        let fault = Fault { blame: Blame::Tool, code: "undeclared_effect".to_owned(), message };
        let summary = format!("{} undeclared effects", undeclared.len());
        return Verification { fault: Some(fault), undeclared, summary };
    }
    let errors = match (&tool.output, &ran.structured, &ran.fault) {
        (Some(schema), Some(value), None) => schema.errors(value),
        _ => Vec::new(),
    };
    let (None, None) = (errors.first(), &ran.fault) else {
        let fault = errors.first().map(|error| Fault {
            blame: Blame::Tool,
            code: "output_schema".to_owned(),
            message: format!("the output fails its schema at `{}`: {}", error.path, error.message),
        });
        let summary = if fault.is_some() { "output schema failed" } else { "the tool failed" };
        return Verification { fault, undeclared, summary: summary.to_owned() };
    };
    Verification { fault: None, undeclared, summary: "effects within the declaration".to_owned() }
}

fn undeclared(tool: &Registered, seen: &ObservedEffects) -> Vec<String> {
    let declared = &tool.descriptor.effects;
    // What may be deleted or written may also be read on the way.
    let reads = [&declared.reads, &declared.writes, &declared.deletes];
    let outside = |found: &[String], patterns: &[&Vec<ResourcePattern>]| -> Vec<String> {
        let covered = |one: &String| patterns.iter().any(|list| list.iter().any(|p| p.covers(one)));
        found.iter().filter(|one| !covered(one)).cloned().collect()
    };
    let mut out = outside(&seen.reads, &reads);
    out.extend(outside(&seen.writes, &[&declared.writes]));
    out.extend(outside(&seen.deletes, &[&declared.deletes]));
    if !declared.external_calls {
        out.extend(seen.external_calls.iter().map(|target| format!("network:{target}")));
    }
    out
}
