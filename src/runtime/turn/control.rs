//! Loop control: calls that go in circles are warned about, then blocked, then end the turn.

use std::collections::BTreeSet;

use crate::base::digest::Digest;
use crate::runtime::guard::limits::Thresholds;
use crate::runtime::guard::repeat::CallKey;
use crate::runtime::resolved::Knobs;
use crate::tool::id::ToolId;

/// One settled call as the loop guard remembers it; failures and refusals count like successes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The call.
    pub key: CallKey,
    /// The tool.
    pub tool: ToolId,
    /// What came of it: a poll whose result changes is no loop.
    pub result: Digest,
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

/// How often one call has come to its last result: the next one, or whichever has most often.
fn identical(rounds: &[Round], next: Option<CallKey>) -> usize {
    let count = |key: CallKey| {
        let last = rounds.iter().rev().find(|round| round.key == key);
        let same = |round: &&Round| {
            last.is_some_and(|it| (it.key, it.result) == (round.key, round.result))
        };
        rounds.iter().filter(same).count()
    };
    match next {
        // A call that was never made goes on with nothing.
        Some(key) => Some(count(key)).filter(|count| *count > 0).map_or(0, |count| count + 1),
        None => {
            let keys: BTreeSet<CallKey> = rounds.iter().map(|round| round.key).collect();
            keys.into_iter().map(count).max().unwrap_or(0)
        }
    }
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
    let row = rounds.iter().rev().take_while(|r| r.tool == last.tool && r.result == last.result);
    let keys: BTreeSet<CallKey> = row.map(|round| round.key).collect();
    let fresh = next.is_some_and(|next| !keys.contains(&next));
    if keys.len() < 2 { 0 } else { keys.len() + usize::from(fresh) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a1` is the call `a` with the result `1`, of the tool named by its first letter.
    fn rounds(line: &str) -> Vec<Round> {
        let one = |word: &str| Round {
            key: Digest::of("key", &word.as_bytes()[..word.len() - 1]),
            tool: ToolId::sanitized(&word[..1]),
            result: Digest::of("result", &word.as_bytes()[word.len() - 1..]),
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
    }
}
