//! The guards' memory of a turn: what was asked, what stands, what ran. Two calls are the same when
//! their exact tool and the canonical JSON of their final arguments are (RFC 8785).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::validate::Validated;
use crate::base::digest::{Digest, Hasher};
use crate::tool::id::ToolId;

/// What makes two calls the same.
pub type CallKey = Digest;

/// The key of a validated call.
pub fn key(call: &Validated) -> CallKey {
    key_of(call.resolved().tool().id(), call.args_digest())
}

/// The key of a tool and the digest of its arguments, as a record names them.
pub fn key_of(tool: &ToolId, args: Digest) -> CallKey {
    Hasher::new("same call").field(tool.as_str().as_bytes()).field(args.as_bytes()).finish()
}

/// The key of a call that was refused: its name as it was written, and the digest of its arguments.
/// No call that ran has it, so that a call which gets further is no repetition of a refusal.
pub fn refused_key(name: &str, args: Digest) -> CallKey {
    Hasher::new("refused call").field(name.as_bytes()).field(args.as_bytes()).finish()
}

/// How far back the duplicate guard looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateScope {
    /// Within one reply.
    #[default]
    Reply,
    /// Within the turn.
    Turn,
}

impl DuplicateScope {
    /// The name as written in files and journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Turn => "turn",
        }
    }
}

/// A call that passed policy, as the guards remember it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its key.
    pub key: CallKey,
    /// Its id.
    pub call: Arc<str>,
    /// In which reply of the turn.
    pub round: u32,
    /// Whether it changes anything.
    pub writes: bool,
    /// When it started, counted in starts and ends of the turn.
    pub started: Option<u64>,
    /// When it ended by itself, in the same count.
    pub ended: Option<u64>,
}

/// What the guards remember within one turn.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    standing: Vec<Standing>,
    refused: BTreeMap<CallKey, Arc<str>>,
    prompted: BTreeMap<CallKey, (u32, Arc<str>)>,
    clock: u64,
}

impl Ledger {
    /// A call stands: later ones are compared with it.
    pub fn stand(&mut self, key: CallKey, call: &Arc<str>, round: u32, writes: bool) {
        if self.standing.iter().any(|one| one.call == *call) {
            return;
        }
        let call = Arc::clone(call);
        self.standing.push(Standing { key, call, round, writes, started: None, ended: None });
    }

    /// It was refused, dropped or cancelled before it started.
    pub fn fall(&mut self, call: &str) {
        self.standing.retain(|one| *one.call != *call || one.started.is_some());
    }

    /// It started.
    pub fn started(&mut self, call: &str) {
        self.clock += 1;
        let clock = self.clock;
        if let Some(one) = self.standing.iter_mut().find(|one| *one.call == *call) {
            one.started.get_or_insert(clock);
        }
    }

    /// It ended by itself.
    pub fn ended(&mut self, call: &str) {
        self.clock += 1;
        let clock = self.clock;
        if let Some(one) = self.standing.iter_mut().find(|one| *one.call == *call) {
            one.ended.get_or_insert(clock);
        }
    }

    /// A person is asked about it.
    pub fn prompted(&mut self, key: CallKey, call: &Arc<str>, round: u32) {
        self.prompted.insert(key, (round, Arc::clone(call)));
    }

    /// The person refused it, or nobody answered.
    pub fn refused(&mut self, key: CallKey, call: &Arc<str>) {
        self.refused.insert(key, Arc::clone(call));
    }

    /// It was granted: asking again later is a new question.
    pub fn granted(&mut self, key: CallKey) {
        self.refused.remove(&key);
    }

    /// The calls that stand, oldest first.
    pub fn standing(&self) -> &[Standing] {
        &self.standing
    }
}

/// What the repeated-prompt guard says before a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeat {
    /// The question is new.
    Fresh,
    /// The same question stands in this reply already.
    SameReply(Arc<str>),
    /// It was asked in an earlier reply of the turn and not granted.
    Again(Arc<str>),
}

/// Whether a question was asked before.
pub fn repeated_prompt(ledger: &Ledger, key: CallKey, round: u32) -> Repeat {
    if let Some((asked, call)) = ledger.prompted.get(&key)
        && *asked == round
    {
        return Repeat::SameReply(Arc::clone(call));
    }
    ledger.refused.get(&key).map_or(Repeat::Fresh, |call| Repeat::Again(Arc::clone(call)))
}

/// The earlier call that this one repeats, if any. `call` itself may stand already. After a write
/// in between nothing is a duplicate: one that ended since the earlier call started, or one that
/// stands in between and runs or is still to run.
pub fn duplicate(
    ledger: &Ledger,
    (key, call): (CallKey, &str),
    round: u32,
    scope: DuplicateScope,
) -> Option<Arc<str>> {
    let within = |one: &&Standing| scope == DuplicateScope::Turn || one.round == round;
    let own = ledger.standing.iter().position(|one| *one.call == *call);
    let before = ledger.standing.get(..own.unwrap_or(ledger.standing.len()))?;
    let others = || ledger.standing.iter().filter(|one| *one.call != *call);
    let mut same =
        ledger.standing.iter().filter(|one| one.key == key && *one.call != *call).filter(within);
    let earlier = match own {
        // About to start: what has started already is earlier, wherever it stands.
        Some(_) => same.rfind(|one| one.started.is_some())?,
        None => same.next_back()?,
    };
    let ended_since = |w: &Standing| match (w.ended, earlier.started) {
        (Some(end), Some(started)) => end > started,
        _ => false,
    };
    let after = before.iter().skip_while(|one| one.call != earlier.call);
    let mut to_come = after.filter(|w| w.ended.is_none());
    let written = others().any(|w| w.writes && w.call != earlier.call && ended_since(w))
        || to_come.any(|w| w.writes && w.call != earlier.call);
    (!written).then(|| Arc::clone(&earlier.call))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn k(word: &str) -> CallKey {
        Digest::of("test", word.as_bytes())
    }

    fn ledger(rows: &[(&str, &str, u32, bool)]) -> Ledger {
        let mut ledger = Ledger::default();
        for (key, call, round, writes) in rows {
            ledger.stand(k(key), &Arc::from(*call), *round, *writes);
        }
        ledger
    }

    fn check(ledger: &Ledger, key: &str, call: &str, scope: DuplicateScope, of: Option<&str>) {
        assert_eq!(duplicate(ledger, (k(key), call), 2, scope).as_deref(), of, "{key} {call}");
    }

    #[test]
    fn the_same_call_of_one_reply_is_a_duplicate_unless_something_was_written() {
        use DuplicateScope::{Reply, Turn};
        check(&ledger(&[("r", "1", 2, false)]), "r", "2", Reply, Some("1"));
        check(&ledger(&[("r", "1", 2, false)]), "q", "2", Reply, None);
        check(&ledger(&[("r", "1", 1, false)]), "r", "2", Reply, None);
        check(&ledger(&[("r", "1", 1, false)]), "r", "2", Turn, Some("1"));
        check(&ledger(&[("r", "1", 2, false), ("w", "2", 2, true)]), "r", "3", Reply, None);
        check(&ledger(&[("w", "0", 2, true), ("r", "1", 2, false)]), "r", "3", Reply, Some("1"));
        check(&ledger(&[("w", "1", 2, true)]), "w", "2", Reply, Some("1"));
    }

    #[test]
    fn at_the_start_only_what_ran_counts() {
        let rows = [("r", "1", 2, false), ("w", "2", 2, true), ("r", "3", 2, false)];
        let mut known = ledger(&rows);
        check(&known, "r", "3", DuplicateScope::Reply, None);
        known.started("1");
        known.ended("1");
        known.fall("2");
        check(&known, "r", "3", DuplicateScope::Reply, Some("1"));
        let mut known = ledger(&rows);
        for call in ["1", "2"] {
            known.started(call);
            known.ended(call);
        }
        check(&known, "r", "3", DuplicateScope::Reply, None);
    }

    #[test]
    fn a_question_is_repeated_only_after_it_was_not_granted() {
        let mut ledger = Ledger::default();
        let call: Arc<str> = "1".into();
        assert_eq!(repeated_prompt(&ledger, k("a"), 1), Repeat::Fresh);
        ledger.prompted(k("a"), &call, 1);
        assert_eq!(repeated_prompt(&ledger, k("a"), 1), Repeat::SameReply("1".into()));
        assert_eq!(repeated_prompt(&ledger, k("a"), 2), Repeat::Fresh);
        ledger.refused(k("a"), &call);
        assert_eq!(repeated_prompt(&ledger, k("a"), 2), Repeat::Again("1".into()));
        ledger.granted(k("a"));
        assert_eq!(repeated_prompt(&ledger, k("a"), 2), Repeat::Fresh);
    }
}
