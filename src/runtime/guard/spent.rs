//! What is used up of budgets, read from the record: calls that may start count with the most that
//! they may cost, those that ended with what they did cost, and those that never started not at
//! all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::world::Millis;
use crate::journal::event::call::{Budget, Spent, ToolPolicyChecked};
use crate::journal::{Entry, Event};

/// The decision whether a call may start under its budgets.
pub type OverBudget = fn(&[Entry], &str, (&[Spent], Millis)) -> Option<String>;

/// Why a call would use up more than it may; `None` when it would not. `before` is what was used
/// up above, where the session is a delegate's.
pub fn over_budget(
    entries: &[Entry],
    call: &str,
    (before, now): (&[Spent], Millis),
) -> Option<String> {
    let own = judged(entries, call)?;
    own.1.budgets.iter().find_map(|budget| {
        let late = budget.deadline.is_some_and(|at| now > at);
        if late {
            return Some(format!("the deadline of {} has passed", shown(budget)));
        }
        let spent = spent(entries, budget, (&own.0.turn, Some(call)), before);
        if budget.calls.is_some_and(|most| spent.calls >= most) {
            return Some(format!(
                "{} allows {} calls, and all are used up",
                shown(budget),
                spent.calls
            ));
        }
        let most = budget.cost_usd?;
        let Some(cost) = own.1.cost_usd else {
            let why = "what this call costs is not bounded";
            return Some(format!("{} allows {most} USD, and {why}", shown(budget)));
        };
        let left = micros(most).saturating_sub(micros(spent.cost_usd));
        (micros(cost) > left).then(|| {
            let left = dollars(left);
            format!("{} has {left} USD left, and this call may cost {cost} USD", shown(budget))
        })
    })
}

fn shown(budget: &Budget) -> String {
    match budget.name.as_str() {
        crate::runtime::policy::budget::INTENT => "the declared intent".to_owned(),
        rule => format!("the budget of rule {rule}"),
    }
}

/// How long a call may still run under its budgets, in milliseconds; `None` without a deadline.
pub fn time_left(entries: &[Entry], call: &str, now: Millis) -> Option<u64> {
    let (_, fact) = judged(entries, call)?;
    let deadlines = fact.budgets.iter().filter_map(|budget| budget.deadline);
    deadlines.min().map(|at| at.saturating_sub(now))
}

/// What policy said last of a call that is bound by budgets.
fn judged<'a>(entries: &'a [Entry], call: &str) -> Option<(&'a Entry, &'a ToolPolicyChecked)> {
    let own = entries.iter().rev().filter(|entry| entry.call.as_deref() == Some(call));
    let mut judged = own.filter_map(|entry| match &entry.event {
        Event::ToolPolicyChecked(fact) => Some((entry, fact)),
        _ => None,
    });
    judged.next().filter(|(_, fact)| !fact.budgets.is_empty())
}

/// What a call used up, as far as is known.
#[derive(Default)]
struct Used {
    most: f64,
    prepared: bool,
    starts: u32,
    actual: Option<f64>,
    never: bool,
}

/// What is used up of a budget in a turn, or in the whole record, `but` one call.
pub fn spent(
    entries: &[Entry],
    budget: &Budget,
    (turn, but): (&Option<Arc<str>>, Option<&str>),
    before: &[Spent],
) -> Spent {
    let whole = budget.per == "session";
    let mut used: BTreeMap<&str, Used> = BTreeMap::new();
    let mut sum = Spent { name: budget.name.clone(), ..Spent::default() };
    for above in before.iter().filter(|one| one.name == budget.name) {
        add(&mut sum, above);
    }
    for entry in entries.iter().filter(|entry| whole || entry.turn == *turn) {
        let Some(call) = entry.call.as_deref() else { continue };
        if let Event::ToolPolicyChecked(fact) = &entry.event
            && fact.budgets.iter().any(|one| one.name == budget.name)
        {
            let most = fact.cost_usd.unwrap_or_default();
            used.entry(call).or_default().most = most;
        }
        if let Event::DelegateFinished(fact) = &entry.event {
            fact.spent
                .iter()
                .filter(|one| one.name == budget.name)
                .for_each(|one| add(&mut sum, one));
        }
        let Some(one) = used.get_mut(call) else { continue };
        match &entry.event {
            Event::ToolSandboxPrepared(_) => one.prepared = true,
            Event::ToolCallStarted(_) => one.starts += 1,
            Event::ToolCallFinished(fact) => {
                one.actual = fact.effects.as_ref().and_then(|effects| effects.cost_usd);
            }
            Event::ToolCallSettled(fact) => one.never = !fact.outcome.started(),
            _ => {}
        }
    }
    for (call, one) in used {
        let own = Some(call) == but;
        // Of the call itself only attempts count that were made.
        let starts = if own { one.starts } else { one.starts.max(u32::from(one.prepared)) };
        if starts > 0 && !one.never {
            let cost_usd = one.actual.unwrap_or(one.most * f64::from(starts));
            add(&mut sum, &Spent { name: String::new(), calls: u32::from(!own), cost_usd });
        }
    }
    sum
}

/// What is used up of every budget that the record names; what a delegate tells of itself.
pub fn all_spent(entries: &[Entry]) -> Vec<Spent> {
    let mut named = BTreeSet::new();
    for entry in entries {
        match &entry.event {
            Event::ToolPolicyChecked(fact) => {
                named.extend(fact.budgets.iter().map(|budget| budget.name.as_str()));
            }
            Event::DelegateFinished(fact) => {
                named.extend(fact.spent.iter().map(|spent| spent.name.as_str()));
            }
            _ => {}
        }
    }
    let whole = |name: &str| {
        let (name, per) = (name.to_owned(), "session".to_owned());
        Budget { name, per, ..Budget::default() }
    };
    let spent = named.into_iter().map(|name| spent(entries, &whole(name), (&None, None), &[]));
    spent.filter(|one| one.calls > 0).collect()
}

/// What a delegate finds used up of each of these budgets: everything, while another one is out
/// with it.
pub fn handed_on(
    entries: &[Entry],
    budgets: impl Iterator<Item = Budget>,
    (turn, call): (&Option<Arc<str>>, &str),
    before: &[Spent],
) -> Vec<Spent> {
    let mut out = BTreeSet::new();
    for entry in entries.iter().filter(|entry| entry.turn == *turn) {
        match &entry.event {
            Event::DelegateStarted(_) => out.insert(entry.call.as_deref()),
            Event::DelegateFinished(_) => out.remove(&entry.call.as_deref()),
            _ => continue,
        };
    }
    out.remove(&Some(call));
    let found = |budget: Budget| match out.is_empty() {
        true => spent(entries, &budget, (turn, Some(call)), before),
        false => Spent { name: budget.name, calls: u32::MAX, cost_usd: f64::MAX },
    };
    budgets.map(found).filter(|one| one.calls > 0).collect()
}

fn add(sum: &mut Spent, one: &Spent) {
    sum.calls = sum.calls.saturating_add(one.calls);
    sum.cost_usd += one.cost_usd;
}

/// Millionths of a dollar: amounts are compared without the last digits of floating point.
pub(crate) fn micros(usd: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
    let micros = (usd * 1e6).round() as i64;
    micros
}

#[expect(clippy::cast_precision_loss, reason = "shown, not counted with")]
fn dollars(micros: i64) -> f64 {
    micros.max(0) as f64 / 1e6
}
