//! Loop control: calls that go in circles are warned about, then blocked, then end the turn.

use std::collections::{BTreeMap, BTreeSet};

use super::machine::{Lent, Turn};
use crate::base::digest::Digest;
use crate::journal::{Blobs, Outcome};
use crate::runtime::dialect::Arguments;
use crate::runtime::guard::limits::Thresholds;
use crate::runtime::guard::repeat::{CallKey, refused_key};
use crate::runtime::resolved::Knobs;
use crate::tool::id::ToolId;

/// One settled call as the loop guard remembers it; failures and refusals count like successes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The call.
    pub key: CallKey,
    /// The tool.
    pub tool: ToolId,
    /// What came of it: a poll whose result changes is no loop. Of a refusal it is what the model
    /// was told, which another reason makes another.
    pub result: Digest,
    /// In which reply it was refused, if it was.
    pub refused: Option<u32>,
}

impl Round {
    /// A call that ran.
    pub fn ran(key: CallKey, tool: ToolId, result: Digest) -> Self {
        Self { key, tool, result, refused: None }
    }

    /// A call that was blocked: asked for once more it goes on with the circle, as if it had ended
    /// as before.
    pub fn blocked(rounds: &[Self], key: CallKey, tool: &ToolId) -> Option<Self> {
        let before = rounds.iter().rev().find(|round| round.key == key);
        let result = before.or(rounds.last())?.result;
        Some(Self::ran(key, tool.clone(), result))
    }

    /// A call that was refused, by its name and the digest of its arguments, in this reply.
    pub fn refused(
        (name, args): (&str, Digest),
        tool: Option<ToolId>,
        told: Digest,
        reply: u32,
    ) -> Self {
        let tool = tool.unwrap_or_else(|| ToolId::sanitized(name));
        Self { key: refused_key(name, args), tool, result: told, refused: Some(reply) }
    }
}

/// Adds a refusal. The same one again in one reply is not counted: whoever made it had not been
/// told of the first yet.
pub fn add_refusal(rounds: &mut Vec<Round>, refusal: Round) {
    if !rounds.contains(&refusal) {
        rounds.push(refusal);
    }
}

/// Whether making a call again that ended so goes on with a circle. Calls that were closed with
/// their turn were not refused; what the loop guard blocked it counted itself; and of two equal
/// calls in one reply the first one counts.
pub fn is_refusal(outcome: &Outcome, same_reply: &dyn Fn(&str) -> bool) -> bool {
    match outcome {
        Outcome::Rejected { .. }
        | Outcome::Unavailable { .. }
        | Outcome::Denied { .. }
        | Outcome::Replaced => true,
        Outcome::Blocked { by } => by != "loop_guard" && by != "repeated_prompt",
        Outcome::Duplicate { of } => !same_reply(of),
        Outcome::Succeeded
        | Outcome::Failed { .. }
        | Outcome::Cancelled { .. }
        | Outcome::Interrupted => false,
    }
}

impl Turn {
    /// The loop guard remembers a call that never started. Tools whose purpose is to be asked
    /// again are left alone here as elsewhere.
    pub(super) fn remember_refusal(
        &mut self,
        slot: usize,
        (outcome, shown): (&Outcome, &str),
        cx: &Lent<'_>,
    ) {
        let same_reply = |of: &str| self.slots.iter().any(|slot| *slot.call == *of);
        if !is_refusal(outcome, &same_reply) {
            return;
        }
        let slot = self.slots.get(slot);
        let call = &slot.shown;
        let view = self.view.as_ref();
        let tool = view.and_then(|compiled| compiled.view.resolve(&call.name).ok());
        if tool.is_some_and(|tool| cx.resolved.is_polling(tool)) {
            return;
        }
        let tool = tool.map(|tool| tool.id().clone());
        let args = slot.unkept.unwrap_or_else(|| Arguments::read(&call.arguments).digest());
        let round = Round::refused((&call.name, args), tool, Blobs::name(shown), self.round);
        add_refusal(&mut self.rounds, round);
    }
}

/// What the loop guard says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoopVerdict {
    /// Nothing.
    Pass,
    /// This pattern is beginning.
    Warn(&'static str),
    /// The call must not run.
    Block(&'static str),
    /// The turn must end.
    Stop(&'static str),
}

/// Looks for circles in the settled calls of a turn; with `next`, whether that call would go on
/// with one.
pub fn loop_guard(rounds: &[Round], next: Option<CallKey>, knobs: &Knobs) -> LoopVerdict {
    let limits = &knobs.loop_limits;
    let found = [
        (identical(rounds, next), limits.identical, "identical"),
        (ping_pong(rounds, next), limits.ping_pong, "ping_pong"),
        (no_progress(rounds, next), limits.no_progress, "no_progress"),
    ];
    let judge = |(count, limits, pattern): (usize, Thresholds, &'static str)| match count {
        count if count >= limits.stop => LoopVerdict::Stop(pattern),
        count if count >= limits.block => LoopVerdict::Block(pattern),
        count if count >= limits.warn => LoopVerdict::Warn(pattern),
        _ => LoopVerdict::Pass,
    };
    found.into_iter().map(judge).max_by_key(rank).unwrap_or(LoopVerdict::Pass)
}

/// The pattern of that name, as a record writes it.
pub fn pattern(name: &str) -> Option<&'static str> {
    ["identical", "ping_pong", "no_progress"].into_iter().find(|known| *known == name)
}

fn rank(verdict: &LoopVerdict) -> u8 {
    match verdict {
        LoopVerdict::Pass => 0,
        LoopVerdict::Warn(_) => 1,
        LoopVerdict::Block(_) => 2,
        LoopVerdict::Stop(_) => 3,
    }
}

/// How often the next call has come to its last result; without one, whichever call has come most
/// often to one result.
fn identical(rounds: &[Round], next: Option<CallKey>) -> usize {
    let Some(key) = next else {
        let mut counts = BTreeMap::new();
        rounds.iter().for_each(|round| *counts.entry((round.key, round.result)).or_insert(0) += 1);
        return counts.into_values().max().unwrap_or(0);
    };
    let own = rounds.iter().filter(|round| round.key == key);
    // A call that was never made goes on with nothing.
    let Some(last) = own.clone().next_back() else { return 0 };
    1 + own.filter(|round| round.result == last.result).count()
}

/// How many of the last calls alternate between exactly two, each with its same result.
fn ping_pong(rounds: &[Round], next: Option<CallKey>) -> usize {
    let [.., left, right] = rounds else { return 0 };
    if left.key == right.key {
        return 0;
    }
    let pair = [right, left];
    let alternating = rounds.iter().rev().zip(pair.iter().cycle());
    let count = alternating.take_while(|(round, model)| round == *model).count();
    match next {
        Some(next) if next == left.key => count + 1,
        Some(_) => 0,
        None => count,
    }
}

/// How many different arguments one tool was given in a row that all came to the same result.
fn no_progress(rounds: &[Round], next: Option<CallKey>) -> usize {
    let Some(last) = rounds.last() else { return 0 };
    // What is about to run got further than a row of refusals.
    if next.is_some() && last.refused.is_some() {
        return 0;
    }
    let row = rounds.iter().rev().take_while(|r| r.tool == last.tool && r.result == last.result);
    let keys: BTreeSet<CallKey> = row.map(|round| round.key).collect();
    let fresh = next.is_some_and(|next| !keys.contains(&next));
    if keys.len() < 2 { 0 } else { keys.len() + usize::from(fresh) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a1` is the call `a` with the result `1`, of the tool named by its first letter; `-a1` was
    /// refused with those words.
    fn rounds(line: &str) -> Vec<Round> {
        let one = |word: &str| {
            let (call, result) = word.split_at(word.len() - 1);
            let result = Digest::of("result", result.as_bytes());
            match call.strip_prefix('-') {
                Some(call) => {
                    let args = Digest::of("args", call.as_bytes());
                    Round::refused((&call[..1], args), None, result, 1)
                }
                None => {
                    let key = Digest::of("key", call.as_bytes());
                    Round::ran(key, ToolId::sanitized(&call[..1]), result)
                }
            }
        };
        line.split_whitespace().map(one).collect()
    }

    fn check(line: &str, next: Option<&str>, expected: LoopVerdict) {
        let next = next.map(|word| Digest::of("key", word.as_bytes()));
        let found = loop_guard(&rounds(line), next, &Knobs::default());
        assert_eq!(found, expected, "{line} {next:?}");
    }

    #[test]
    fn circles_are_told_from_work() {
        use LoopVerdict::{Block, Pass, Stop, Warn};
        check("", None, Pass);
        check("a1 a1", None, Pass);
        check("a1 a1 a1", None, Warn("identical"));
        // Whatever stands between, the same call with the same result is counted.
        check("a1 b2 a1 c3 a1", None, Warn("identical"));
        check("a1 a2 a3 a4 a5", None, Pass);
        check("a1 a1 a1", Some("a"), Block("identical"));
        check("a1 a1 a1", Some("b"), Pass);
        check("a1 a1 a1 a1 a1", Some("a"), Stop("identical"));
        check("a1 b2 a1 b2 a1 b2", Some("q"), Pass);
        check("x1a1 y2b2 x1a1", None, Pass);
        check("ax1 ay1 az1 aw1 av1", None, Pass);
        check("ax1 ay1 az1 aw1 av1 au1", None, Warn("no_progress"));
        check("ax1 ay2 az3 aw4 av5 au6", None, Pass);
        check("ax1 ay1 az1 aw1 av1 au1 at1", Some("as"), Block("no_progress"));
        // A refusal is a result, and what gets further is no repetition of it.
        check("-a1 -a1 -a1", None, Warn("identical"));
        check("-a1 b2 -a1 b2 -a1 -a1 -a1 -a1", None, Stop("identical"));
        check("-a1 -a2 -a3 -a4 -a5 -a6", None, Pass);
        check("-a1 -a1 -a1 -a1 -a1", Some("a"), Pass);
        check("-ax1 -ay1 -az1 -aw1 -av1 -au1", None, Warn("no_progress"));
        check("-ax1 -ay1 -az1 -aw1 -av1 -au1 -at1", Some("as"), Pass);
        check("a1 -b2 a1 -b2 a1 -b2 a1 -b2", Some("a"), Block("ping_pong"));
        // Five of a kind stay five, whatever the call comes to afterwards.
        check("a1 a1 a1 a2", None, Warn("identical"));
    }
}
