//! What models say: replies with calls of every kind, drawn from choices.

use super::scene::{ARGS, Args, DELEGATING, HANDED, INVENTED, LINED, SEARCH, TOOLS, alias};
use super::swarm::{Kind, Swarm};
use crate::base::choice::Choices;
use crate::journal::event::turn::ProviderFault;
use crate::runtime::dialect::{RawCall, Reply};

/// A call as the model meant it, for the reference model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meant {
    /// The tool.
    pub tool: &'static str,
    /// The arguments.
    pub args: Args,
}

/// A reply with calls, or the last word; with what was meant. It is not spelled yet. `delegate`:
/// whether a delegate says it.
pub fn reply(
    swarm: &mut Swarm,
    (round, delegate): (u32, bool),
    before: &[Meant],
    choices: &mut dyn Choices,
) -> (Result<Reply, ProviderFault>, Vec<Meant>) {
    if swarm.strikes(Kind::ProviderFails, 12, choices) {
        let message = "the provider is overloaded".to_owned();
        return (Err(ProviderFault { blame: "infrastructure".to_owned(), message }), Vec::new());
    }
    // Mostly calls at first, mostly words later.
    let speaks = match round {
        1 => choices.once_in(10),
        2 => choices.pick(2) == 0,
        _ => choices.pick(4) != 0,
    };
    if speaks {
        let text = Some("That is all.".to_owned());
        return (
            Ok(Reply { text, finish: Some("stop".to_owned()), ..Reply::default() }),
            Vec::new(),
        );
    }
    let count = [2, 3, 1, 4, 2][choices.pick(5)];
    let mut meant: Vec<Meant> = Vec::new();
    let mut calls = Vec::new();
    for place in 0..count {
        let known: Vec<Meant> = before.iter().chain(&meant).copied().collect();
        let one = match known.last() {
            Some(last) if swarm.strikes(Kind::Repeats, 2, choices) => *last,
            _ => call(swarm, delegate, choices),
        };
        let mut arguments = one.args.text();
        let mut one = one;
        if swarm.strikes(Kind::Truncates, 12, choices) && one.args == Args::Good {
            one.args = Args::Cut;
            arguments = one.args.text();
        }
        let id = if swarm.strikes(Kind::DropsIds, 3, choices) {
            [None, Some("same".to_owned())][choices.pick(2)].clone()
        } else {
            Some(format!("p{round}_{place}"))
        };
        calls.push(RawCall::native(id, alias(one.tool), arguments));
        meant.push(one);
    }
    let finish = Some("tool_calls".to_owned());
    let thought = "<think>\n<tool_call>{\"name\":\"note_read\",\"arguments\":{\"path\":\"a\"}}\
                   </tool_call>\n</think>\nNow then.";
    let text = swarm.strikes(Kind::Rehearses, 2, choices).then(|| thought.to_owned());
    let reply = Reply { text, calls, finish, ..Reply::default() };
    (Ok(reply), meant)
}

fn call(swarm: &mut Swarm, delegate: bool, choices: &mut dyn Choices) -> Meant {
    if swarm.strikes(Kind::Invents, 8, choices) {
        return Meant { tool: INVENTED, args: Args::Good };
    }
    if swarm.strikes(Kind::Excluded, 8, choices) {
        return Meant { tool: "attic.read", args: Args::Good };
    }
    if swarm.strikes(Kind::Searches, 5, choices) {
        return Meant { tool: SEARCH, args: Args::Query };
    }
    let tool = if swarm.strikes(Kind::Delegates, 4, choices) {
        DELEGATING
    } else if delegate && choices.pick(4) != 0 {
        // Mostly what it was handed, or was handed in vain.
        HANDED[choices.pick(HANDED.len())]
    } else {
        // Neither of the last two: one delegates, the other is excluded.
        TOOLS[choices.pick(TOOLS.len() - 2)].name
    };
    let args = if swarm.strikes(Kind::Mangles, 4, choices) {
        let bad = &ARGS[5..];
        bad[choices.pick(bad.len())]
    } else if swarm.strikes(Kind::Forges, 5, choices) {
        Args::Marker
    } else if swarm.strikes(Kind::Discloses, 6, choices) {
        Args::Secret
    } else {
        let good = if tool == LINED { Args::Line } else { Args::Good };
        [Args::Good, good, Args::Other, Args::Forbidden][choices.pick(4)]
    };
    Meant { tool, args }
}
