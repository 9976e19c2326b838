//! The clauses of one-line journals about caps and circles.

use super::*;
use crate::journal::event::call::{
    ApprovalRequested, Budget, ObservedEffects, ToolCallFinished, ToolCallStarted,
    ToolPolicyChecked,
};
use crate::journal::event::turn::{LoopStopped, LoopWarned, TurnStarted};
use crate::law::index::Fact;

/// Adds the events of one clause; `None` when it is none of these or cannot be read.
pub(super) fn clause(script: &mut Script, clause: &Clause<'_>, verb: &str) -> Option<()> {
    let number = |place: usize| clause.word(place).and_then(|word| word.parse().ok());
    let pattern = || clause.word(1).unwrap_or("identical").to_owned();
    match verb {
        "caps" => {
            let fact = started(script)?;
            (fact.iteration_cap, fact.call_budget) = (number(1), number(2));
        }
        "circle" => {
            let fact = started(script)?;
            (fact.loop_warn, fact.loop_stop) = (number(1), number(2));
        }
        "warned" => {
            let pattern = pattern();
            script.add(clause.session, None, LoopWarned { pattern });
        }
        "circled" => {
            let pattern = pattern();
            script.add(clause.session, None, LoopStopped { pattern });
        }
        "bound" => {
            let usd = |name| clause.options.get(name).and_then(|text: &&str| text.parse().ok());
            let calls = clause.number("calls").and_then(|calls| u32::try_from(calls).ok());
            let budget = Budget {
                name: clause.word(2)?.to_owned(),
                per: clause.options.get("per").copied().unwrap_or("turn").to_owned(),
                calls,
                cost_usd: usd("usd"),
                deadline: clause.number("until"),
            };
            let fact: &mut ToolPolicyChecked = of_call(script, clause)?;
            fact.budgets.push(budget);
            fact.cost_usd = usd("cost");
        }
        "cost" => {
            let cost_usd = clause.word(2)?.parse().ok();
            let fact: &mut ToolCallFinished = of_call(script, clause)?;
            let method = "simulated".to_owned();
            fact.effects = Some(ObservedEffects { method, cost_usd, ..ObservedEffects::default() });
        }
        "masks" => {
            let fact: &mut ToolPolicyChecked = of_call(script, clause)?;
            fact.redaction = Some("personal_data".to_owned());
        }
        "verifies" => {
            let names = clause.word(2)?.split(',').map(str::to_owned).collect();
            of_call::<ToolCallStarted>(script, clause)?.verifiers = names;
        }
        "would" => {
            let found = Some(digest("rehearsal", clause.word(2)?));
            of_call::<ApprovalRequested>(script, clause)?.rehearsal = found;
        }
        "again" => {
            let found = Some(digest("rehearsal", clause.word(2)?));
            of_call::<ToolCallStarted>(script, clause)?.rehearsal = found;
        }
        _ => return None,
    }
    Some(())
}

/// The last fact of a kind about the clause's call.
fn of_call<'s, F: Fact>(script: &'s mut Script, clause: &Clause<'_>) -> Option<&'s mut F> {
    guard_words::last(script, clause, Some(clause.word(1)?))
}

fn started(script: &mut Script) -> Option<&mut TurnStarted> {
    script.entries.iter_mut().rev().find_map(|entry| TurnStarted::of_mut(&mut entry.event))
}
