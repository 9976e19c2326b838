//! The table of record mutants, and the few ways in which a record is altered.

/// Rows of a table: the law, then its mutants with the functions that alter a record.
macro_rules! mutants {
    ($($law:literal { $($name:literal $($key:ident)? => $file:ident::$alter:ident,)+ })+) => {
        &[$($($crate::sim::mutant::Mutant {
            name: $name,
            laws: &[$law],
            needs_key: false $(|| stringify!($key).len() > 0)?,
            alter: $file::$alter,
        },)+)+]
    };
}

mod authority;
mod available;
mod block;
mod dispatch;
mod evidence;
mod governed;
mod guard;
mod lifecycle;
mod limits;
mod registered;
mod table_dispatch;
mod table_guard;
mod table_limits;
mod unlogged;
mod whole;

use std::sync::LazyLock;

use super::{Altered, Mutant};
use crate::base::digest::Digest;
use crate::journal::event::call::*;
use crate::journal::event::catalog::{ToolEnabled, ToolNormalized, ToolVerified};
use crate::journal::event::turn::*;
use crate::journal::{Blobs, Entry, Event};
use crate::law::index::Fact;
use crate::tool::id::ToolId;

/// A journal to be altered.
pub(super) struct Record<'a> {
    pub(super) entries: &'a [Entry],
    pub(super) blobs: &'a Blobs,
}

/// A fact and its place in the record.
type At<'a, F> = (usize, &'a F);

impl<'a> Record<'a> {
    fn each<F: Fact + 'a>(&self) -> impl DoubleEndedIterator<Item = At<'a, F>> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(at, entry)| F::of(&entry.event).map(|fact| (at, fact)))
    }

    fn entry(&self, at: usize) -> Option<&'a Entry> {
        self.entries.get(at)
    }

    /// Facts of the session that the entry at a place belongs to.
    fn in_session<F: Fact + 'a>(&self, at: usize) -> impl DoubleEndedIterator<Item = At<'a, F>> {
        let session = self.entry(at).map(|entry| &entry.session);
        let entries = self.entries;
        let same = move |place: &usize| entries.get(*place).map(|entry| &entry.session) == session;
        self.each::<F>().filter(move |(place, _)| same(place))
    }

    /// Facts of the call that the entry at a place is about.
    fn of_call<F: Fact + 'a>(&self, at: usize) -> impl DoubleEndedIterator<Item = At<'a, F>> {
        let call = self.entry(at).and_then(|entry| entry.call.as_ref());
        let entries = self.entries;
        self.in_session::<F>(at).filter(move |(place, _)| {
            call.is_some() && entries.get(*place).and_then(|entry| entry.call.as_ref()) == call
        })
    }

    fn one<F: Fact + 'a>(&self, at: usize) -> Option<At<'a, F>> {
        self.of_call(at).next()
    }

    fn has<F: Fact + 'a>(&self, at: usize) -> bool {
        self.one::<F>(at).is_some()
    }

    fn opened(&self, at: usize) -> Option<At<'a, SessionOpened>> {
        self.in_session(at).next()
    }

    /// The view in force at a place.
    fn view(&self, at: usize) -> Option<At<'a, ViewCompiled>> {
        self.in_session(at).rfind(|(place, _)| *place < at)
    }

    /// Whether the turn of the entry at a place finishes after it.
    fn over(&self, at: usize) -> bool {
        let turn = self.entry(at).map(|entry| &entry.turn);
        let mut ends = self.in_session::<TurnFinished>(at);
        ends.any(|(end, _)| end > at && self.entry(end).map(|entry| &entry.turn) == turn)
    }

    /// The tool a start names, when its session registers anything.
    fn started_tool(&self, at: usize, start: &'a ToolCallStarted) -> Option<&'a ToolId> {
        let shown = |(_, view): At<'_, ViewCompiled>| !view.exposed.is_empty();
        let registers = self.in_session(at).any(shown)
            || self.in_session::<ToolNormalized>(at).next().is_some()
            || self.in_session::<ToolVerified>(at).next().is_some()
            || self.in_session::<ToolEnabled>(at).next().is_some();
        start.tool_id.as_ref().filter(|_| registers)
    }

    fn edit(&self, change: impl FnOnce(&mut Vec<Entry>) -> Option<()>) -> Option<Altered> {
        let mut entries = self.entries.to_vec();
        change(&mut entries)?;
        Some((entries, self.blobs.clone()))
    }

    fn alter<F: Fact>(&self, at: usize, change: impl FnOnce(&mut F)) -> Option<Altered> {
        self.edit(|entries| alter(entries, at, change))
    }

    fn drop(&self, at: usize) -> Option<Altered> {
        self.edit(|entries| (at < entries.len()).then(|| drop(entries.remove(at))))
    }

    fn repeat(&self, at: usize) -> Option<Altered> {
        self.edit(|entries| {
            let again = entries.get(at)?.clone();
            entries.insert(at + 1, again);
            Some(())
        })
    }

    /// Moves an entry so that it stands where another stood.
    fn shift(&self, from: usize, to: usize) -> Option<Altered> {
        self.edit(|entries| {
            let moved = (from.max(to) < entries.len()).then(|| entries.remove(from))?;
            entries.insert(to, moved);
            Some(())
        })
    }

    /// Adds an event before the entry at a place, in its session and turn.
    fn insert(&self, at: usize, call: bool, event: impl Into<Event>) -> Option<Altered> {
        self.edit(|entries| insert(entries, at, call, event.into()))
    }
}

fn alter<F: Fact>(entries: &mut [Entry], at: usize, change: impl FnOnce(&mut F)) -> Option<()> {
    F::of_mut(&mut entries.get_mut(at)?.event).map(change)
}

/// The new entry's number follows the session's last one, so that it names no other entry.
fn insert(entries: &mut Vec<Entry>, at: usize, call: bool, event: Event) -> Option<()> {
    let near = entries.get(at)?;
    let same = entries.iter().filter(|entry| entry.session == near.session);
    let seq = same.map(|entry| entry.seq).max()?.saturating_add(1);
    let call = near.call.clone().filter(|_| call);
    let entry = Entry { seq, event, call, cause: None, ..near.clone() };
    entries.insert(at, entry);
    Some(())
}

fn other() -> Digest {
    Digest::of("mutant", b"other")
}

/// All record mutants, by the law they test.
pub fn all() -> &'static [Mutant] {
    static ALL: LazyLock<Vec<Mutant>> = LazyLock::new(|| {
        [CORE, table_guard::MUTANTS, table_dispatch::MUTANTS, table_limits::MUTANTS].concat()
    });
    &ALL
}

const CORE: &[Mutant] = mutants! {
    "registered-version" {
        "retarget-start-version" => lifecycle::retarget_start_version,
        "rename-start" => lifecycle::rename_start,
    }
    "one-result-per-call" {
        "drop-settle" => lifecycle::drop_settle,
        "duplicate-settle" => lifecycle::duplicate_settle,
        "drop-result" => lifecycle::drop_result,
        "duplicate-result" => lifecycle::duplicate_result,
        "drop-start" => lifecycle::drop_start,
        "duplicate-request" => lifecycle::duplicate_request,
    }
    "model-order" {
        "swap-results" => lifecycle::swap_results,
        "reverse-slots" => lifecycle::reverse_slots,
        "speak-between-results" => lifecycle::speak_between_results,
    }
    "validated-before-policy" {
        "policy-before-validation" => lifecycle::policy_before_validation,
        "drop-validation" => lifecycle::drop_validation,
        "fail-validation" => lifecycle::fail_validation,
    }
    "policy-before-start" {
        "start-before-policy" => lifecycle::start_before_policy,
        "drop-policy" => lifecycle::drop_policy,
        "start-other-arguments" => lifecycle::start_other_arguments,
    }
    "authority-explicit" {
        "erase-rule" => lifecycle::erase_rule,
        "raise-effect" => lifecycle::raise_effect,
        "drop-standing-grant" => lifecycle::drop_standing_grant,
    }
    "approval-binds" {
        "drop-yes" => lifecycle::drop_yes,
        "grant-other-arguments" => lifecycle::grant_other_arguments,
        "start-other-operand" => lifecycle::start_other_operand,
        "late-yes" => lifecycle::late_yes,
        "weak-yes" => lifecycle::weak_yes,
        "misaddress-yes" => lifecycle::misaddress_yes,
    }
    "denied-never-runs" {
        "deny-then-start" => lifecycle::deny_then_start,
        "refuse-what-ran" => lifecycle::refuse_what_ran,
        "deny-what-ran" => lifecycle::deny_what_ran,
    }
    "receipt-only-on-success" {
        "receipt-on-failure" => evidence::receipt_on_failure,
        "forge-receipt" key => evidence::forge_receipt,
        "receipt-other-result" => evidence::receipt_other_result,
        "drop-receipt" => evidence::drop_receipt,
        "duplicate-receipt" => evidence::duplicate_receipt,
        "late-receipt" => evidence::late_receipt,
    }
    "no-secrets" {
        "leak-canary-in-preview" => evidence::leak_canary_in_preview,
        "leak-canary-in-facts" => evidence::leak_canary_in_facts,
        "leak-listed-secret" => evidence::leak_listed_secret,
    }
    "large-output-stored" {
        "drop-artifact" => evidence::drop_artifact,
        "late-artifact" => evidence::late_artifact,
        "show-too-much" => evidence::show_too_much,
        "unmark-cut" => evidence::unmark_cut,
    }
    "artifact-provenance" {
        "orphan-artifact" => evidence::orphan_artifact,
        "retarget-artifact" => evidence::retarget_artifact,
        "artifact-of-nobody" => evidence::artifact_of_nobody,
    }
    "unlogged-not-kept" {
        "keep-the-unlogged" => unlogged::keep_the_unlogged,
        "store-the-unlogged" => unlogged::store_the_unlogged,
        "word-the-unlogged" => unlogged::word_the_unlogged,
        "keep-the-request" => unlogged::keep_the_request,
        "forget-the-request" => unlogged::forget_the_request,
    }
    "view-explained" {
        "blank-reason" => evidence::blank_reason,
        "show-denied" => evidence::show_denied,
        "unexplain-withheld" => evidence::unexplain_withheld,
        "drop-view" => evidence::drop_view,
    }
    "withheld-not-run" {
        "advertise-withheld" => evidence::advertise_withheld,
        "start-withheld" => evidence::start_withheld,
        "exclude-what-ran" => evidence::exclude_what_ran,
    }
    "effects-declared" {
        "undeclared-effect" => evidence::undeclared_effect,
        "undeclare-tool" => evidence::undeclare_tool,
    }
};
