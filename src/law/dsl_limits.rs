//! The clauses of one-line journals about caps and circles.

use super::*;
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
        _ => return None,
    }
    Some(())
}

fn started(script: &mut Script) -> Option<&mut TurnStarted> {
    script.entries.iter_mut().rev().find_map(|entry| TurnStarted::of_mut(&mut entry.event))
}
