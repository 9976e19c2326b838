//! The clauses of one-line journals about guards, approvals, availability, what an outcome says.

use super::words::names;
use super::*;
use crate::base::canon;
use crate::journal::event::call::*;
use crate::journal::event::catalog::*;
use crate::journal::event::turn::*;
use crate::law::index::Fact;

/// Adds the events of one clause; `None` when it is none of these or cannot be read.
pub(super) fn clause(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    match verb {
        "hook" | "dup" | "repeat" | "pattern" | "activate" | "delegate" | "back" | "emit" => {
            about_call(script, clause, verb)
        }
        "issue" | "revoke" => grant(script, clause, verb),
        "consent" => {
            let server = clause.word(1)?;
            let to = clause.options.get("to").copied().unwrap_or("dev");
            let fact =
                ServerConsented::new(server.to_owned(), digest("identity", server), to.into());
            script.add(clause.session, None, fact);
            Some(())
        }
        "guard" | "raw" => of_turn(script, clause, verb),
        "cleared" | "filled" | "blank" => of_validation(script, clause, verb),
        "origin" | "text" | "intent" | "offer" | "kind" | "unsigned" | "mark" | "writes" => {
            of_call(script, clause, verb)
        }
        "line" | "part" => of_line(script, clause, verb),
        _ => None,
    }
}

/// The digest of a call's arguments, or that of another word.
pub(super) fn args_digest(script: &Script, clause: &Clause<'_>, call: &str) -> Digest {
    let state = script.sessions.get(clause.session);
    let args = state.and_then(|state| state.args.get(call));
    let real = args.and_then(|args| canon::digest("args", args).ok());
    match real {
        Some(real) if !clause.options.contains_key("args") => real,
        _ => chosen(clause, "args", ("args", call)),
    }
}

/// The outcome with what the clause, or else the record, says of its cause.
pub(super) fn detailed(script: &Script, clause: &Clause<'_>, outcome: Outcome) -> Option<Outcome> {
    Some(match outcome {
        Outcome::Denied { reason, .. } => {
            let by = match clause.options.get("by") {
                Some(by) => serde_json::from_value(Value::from(*by)).ok()?,
                None => last_denier(script, clause),
            };
            Outcome::Denied { by, reason }
        }
        Outcome::Duplicate { of } => {
            Outcome::Duplicate { of: clause.options.get("of").map_or(of, |of| call_id(of)) }
        }
        other => other,
    })
}

fn last_denier(script: &Script, clause: &Clause<'_>) -> Denier {
    let call = clause.word(1).map(call_id);
    let own = script.entries.iter().rev().filter(|entry| {
        *entry.session == *clause.session && entry.call.as_deref() == call.as_deref()
    });
    let said = own.map(|entry| entry.event.name()).find_map(|name| match name {
        "ApprovalDenied" => Some(Denier::Operator),
        "ApprovalExpired" => Some(Denier::ApprovalTimeout),
        "ApprovalUnreachable" => Some(Denier::NoApprover),
        _ => None,
    });
    said.unwrap_or(Denier::Policy)
}

fn about_call(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let call = clause.word(1)?;
    let of = || clause.options.get("of").map(|of| call_id(of));
    let event: Event = match verb {
        "hook" => {
            let point = match clause.word(2)? {
                "before" => "before_call",
                "verify" => "verify",
                "after" => "after_call",
                _ => "on_error",
            };
            let verdict = clause.word(3)?.into();
            let observer = clause.flag("observer");
            HookRan { observer, ..HookRan::new("guard".into(), point.into(), verdict) }.into()
        }
        "dup" => {
            let scope = clause.options.get("scope").map(|scope| (*scope).into());
            DuplicateDropped { of: of()?, scope }.into()
        }
        "repeat" => RepeatStopped { of: of()? }.into(),
        "pattern" => LoopWarned { pattern: clause.word(2)?.into() }.into(),
        "activate" => ToolActivated { tool_id: tool_id(clause.word(2)?), query: None }.into(),
        "delegate" => DelegateStarted {
            tools: names(clause, "tools").unwrap_or_default().iter().map(|t| tool_id(t)).collect(),
            scopes: names(clause, "scopes").unwrap_or_default(),
            scoped: clause.flag("scoped"),
            ..DelegateStarted::new(clause.word(2)?.into())
        }
        .into(),
        "back" => DelegateFinished::new(clause.word(2)?.into(), "success".into()).into(),
        _ => {
            let phase = ["start", "end"].into_iter().find(|phase| clause.flag(phase));
            let chars = clause.number("chars").unwrap_or(20);
            let surface = clause.word(2)?;
            SurfaceEmitted {
                phase: phase.map(str::to_owned),
                correlation: clause.options.get("corr").map(|word| digest("card", word)),
                limit: clause.number("limit"),
                ..SurfaceEmitted::new(surface.into(), digest("surface", surface), chars)
            }
            .into()
        }
    };
    script.add(clause.session, Some(call), event);
    Some(())
}

fn grant(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let grant_id = clause.word(1)?.to_owned();
    let event: Event = if verb == "revoke" {
        GrantRevoked { grant_id, by: None }.into()
    } else {
        let (tool, given) = (clause.word(2)?, |name, or| clause.options.get(name).unwrap_or(or));
        GrantIssued {
            grant_id,
            tool_id: tool_id(tool),
            tool_version: chosen(clause, "version", ("version", tool)),
            principal: (*given("to", &"dev")).into(),
            scope: (*given("as", &"session")).into(),
            expires_at: clause.number("until"),
            approval_id: clause.options.get("from").map(|from| format!("ap{from}")),
            effect_class: clause.options.contains_key("class").then(|| class(clause)),
            tenant: clause.options.get("tenant").map(|name| (*name).to_owned()),
        }
        .into()
    };
    script.add(clause.session, None, event);
    Some(())
}

/// The last fact of a kind in the session, of a call where one is named.
pub(super) fn last<'s, F: Fact>(
    script: &'s mut Script,
    clause: &Clause<'_>,
    call: Option<&str>,
) -> Option<&'s mut F> {
    let call = call.map(call_id);
    let own = script.entries.iter_mut().rev().filter(|entry| {
        *entry.session == *clause.session
            && (call.is_none() || entry.call.as_deref() == call.as_deref())
    });
    own.filter_map(|entry| F::of_mut(&mut entry.event)).next()
}

fn of_turn(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let word = clause.word(1)?;
    if verb == "guard" {
        let turn: &mut TurnStarted = last(script, clause, None)?;
        turn.duplicate_scope = (word != "none").then(|| word.into());
        let exempt = names(clause, "exempt").unwrap_or_default();
        turn.duplicate_exempt = exempt.iter().map(|name| tool_id(name)).collect();
        turn.strict = clause.flag("strict");
        return Some(());
    }
    let text = word.replace('|', "\n").replace('~', " ");
    let name = Blobs::name(&text);
    if !clause.flag("gone") {
        script.text(text);
    }
    last::<ModelReplied>(script, clause, None)?.raw = Some(name);
    Some(())
}

fn of_validation(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let word = clause.word(2).map(str::to_owned);
    let validated: &mut ToolArgsValidated = last(script, clause, clause.word(1))?;
    match verb {
        "cleared" => validated.marker_cleared = true,
        "filled" => validated.defaults.push(word?),
        _ => validated.blank = true,
    }
    Some(())
}

/// A command line in the arguments of a call, and what was decided about one of its parts.
fn of_line(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let call = clause.word(1)?;
    if verb == "line" {
        let args = serde_json::json!({"line": clause.word(2)?.replace('~', " ")});
        script.state(clause.session).args.insert(call.into(), args.clone());
        last::<ToolCallRequested>(script, clause, Some(call))?.args = Some(args);
        return Some(());
    }
    let decision = clause.word(2).map(str::to_owned);
    let policy: &mut ToolPolicyChecked = last(script, clause, Some(call))?;
    policy.line_argument = Some("line".to_owned());
    policy.parts.extend(decision.map(|decision| JudgedPart { decision, ..JudgedPart::default() }));
    Some(())
}

fn of_call(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let call = Some(clause.word(1)?);
    let word = clause.word(2).map(str::to_owned);
    match verb {
        "origin" => last::<ToolCallRequested>(script, clause, call)?.origin = word,
        "text" => {
            // Blank text stands for no arguments; any other has no digest of its own.
            let args = &mut script.state(clause.session).args;
            match word {
                None => args.insert(clause.word(1)?.into(), serde_json::json!({})),
                Some(_) => args.remove(clause.word(1)?),
            };
            let requested: &mut ToolCallRequested = last(script, clause, call)?;
            requested.args = None;
            requested.raw_args = Some(word.unwrap_or_default());
        }
        "intent" => last::<ToolPolicyChecked>(script, clause, call)?.intent = word,
        "offer" => {
            let options = word?.split(',').map(str::to_owned).collect();
            last::<ApprovalRequested>(script, clause, call)?.options = options;
        }
        "kind" => last::<ApprovalGranted>(script, clause, call)?.scope = word,
        "mark" => last::<ToolCallStarted>(script, clause, call)?.marker = true,
        "writes" => last::<ToolCallStarted>(script, clause, call)?.writes.push(word?),
        _ => {
            if let Some(denied) = last::<ApprovalDenied>(script, clause, call) {
                denied.decider.clear();
            } else {
                last::<ApprovalGranted>(script, clause, call)?.decider.clear();
            }
        }
    }
    Some(())
}
