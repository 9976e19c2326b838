//! Command lines: judged in all their parts, and by the strictest of them.

use super::index::{Call, Seen};
use super::law::{Scene, Tally};
use super::reply::{Sent, scrubbed, sent};
use crate::journal::event::call::*;
use crate::journal::event::catalog::GrantUsed;
use crate::tool::shell::{self, Kind};

/// LIFECYCLE "a general shell is parsed and judged on the strictest part": the decision about a
/// command line is no milder than that about any of its parts; each command of the line, where its
/// arguments are recorded, was judged; and no grant answers for a line, since no line is another.
/// That what was asked for does not start without a yes is for `approval-binds`.
pub(super) fn shell_by_its_strictest_part(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        for policy in call.each::<ToolPolicyChecked>() {
            let Some(argument) = &policy.fact.line_argument else { continue };
            tally.checked();
            let events = [policy.seq()];
            if let Some(message) = milder(policy.fact) {
                tally.broken(Some(call.id), &events, message.into());
            } else if passed_over(call, policy, argument) {
                let message = "a command line has commands that were not judged".into();
                tally.broken(Some(call.id), &events, message);
            }
            let mut used = call.each::<GrantUsed>().filter(|used| used.at > policy.at);
            if let Some(used) = used.next() {
                let message = "a grant answered for a command line".into();
                tally.broken(Some(call.id), &[policy.seq(), used.seq()], message);
            }
        }
    }
}

fn milder(fact: &ToolPolicyChecked) -> Option<&'static str> {
    let strictest = fact.parts.iter().map(|part| rank(&part.decision)).max();
    match strictest {
        None => Some("a command line was judged without its parts"),
        Some(strictest) if rank(&fact.decision) < strictest => {
            Some("a command line was judged milder than one of its parts")
        }
        Some(_) => None,
    }
}

/// How strict a decision is; what is no decision is the strictest.
fn rank(decision: &str) -> usize {
    let known = ["allow", "ask", "strong_ask", "deny"];
    known.iter().position(|one| *one == decision).unwrap_or(known.len())
}

/// Whether the line has more commands than parts were judged. Whoever writes a journal may count
/// redirections and constructs or not.
fn passed_over(call: &Call<'_>, policy: Seen<'_, ToolPolicyChecked>, argument: &str) -> bool {
    let Some((_, Sent::Json(args))) = sent(call, policy.at) else { return false };
    let Some(line) = args.get(argument).and_then(|line| line.as_str()) else { return false };
    if scrubbed(args) {
        return false;
    }
    let parts = shell::parse(line).parts;
    parts.iter().filter(|part| part.kind == Kind::Command).count() > policy.fact.parts.len()
}
