//! The reference model: what may become of one call, from what its tool and arguments are and from
//! what it was told on the way. It knows nothing of the machine.

use super::scene::Class;
use crate::journal::Outcome;

/// What a hook before the call said last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HookSaid {
    /// Nothing that stops it.
    #[default]
    Nothing,
    /// It must not run, or the guard failed.
    Stop,
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonSaid {
    /// A plain yes.
    Yes,
    /// The stronger yes.
    StrongYes,
    /// No.
    No,
    /// A text instead.
    Instead,
    /// Nobody is there, or nobody answered in time.
    Nothing,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With a result that verification must pass.
    Good,
    /// With a fault, or a result that verification must fail.
    Bad,
    /// Torn down because the turn was cancelled.
    Torn,
}

/// Everything one call was told.
#[derive(Debug, Clone)]
pub struct Told {
    /// What policy must make of it, in its final form.
    pub class: Class,
    /// What hooks said.
    pub hook: HookSaid,
    /// What the person asked about it said, when it was addressed and in time.
    pub person: Option<PersonSaid>,
    /// Whether a grant for the tool could stand.
    pub granted: bool,
    /// How its last execution ended.
    pub end: Option<End>,
    /// Whether it was started at all.
    pub started: bool,
    /// Whether the file it would run was changed after the answer.
    pub changed: bool,
    /// Whether the turn was cancelled, or the loop stopped, before the call was settled.
    pub turn_over: bool,
    /// Whether the same call was asked for before in this turn.
    pub seen_before: bool,
    /// Whether the turn has a budget of calls.
    pub budget: bool,
    /// Whether its tool was blocked before it started.
    pub blocked: bool,
}

/// Whether an outcome may be the end of a call that was told this.
pub fn allows(told: &Told, outcome: &Outcome) -> bool {
    let name = outcome.name();
    if (told.changed || told.blocked) && told.started {
        return false;
    }
    if told.started && !may_start(told) {
        return false;
    }
    match told.end {
        Some(End::Good) => return name == "succeeded",
        Some(End::Bad) => return name == "failed",
        Some(End::Torn) => return name == "interrupted",
        None if told.started => return false,
        None => {}
    }
    if outcome.started() {
        return false;
    }
    if told.blocked && name == "denied" {
        return true;
    }
    if name == "cancelled" {
        return told.turn_over;
    }
    if told.hook == HookSaid::Stop {
        return name == "blocked";
    }
    match told.class {
        Class::Unavailable => name == "unavailable",
        Class::Rejected => name == "rejected",
        Class::Deny => name == "denied",
        Class::Free => unstarted(told, name),
        Class::Ask | Class::Strong => {
            let strong = told.class == Class::Strong;
            match told.person {
                Some(PersonSaid::No | PersonSaid::Nothing) => name == "denied",
                Some(PersonSaid::Instead) => name == "replaced",
                Some(PersonSaid::Yes) if strong => name == "denied",
                Some(PersonSaid::Yes | PersonSaid::StrongYes) => {
                    // The answer may have expired, or a grant it rests on been taken back.
                    name == "denied" || unstarted(told, name)
                }
                // Not asked: only because the same stood before, or on a grant taken back since.
                None => (told.granted && name == "denied") || unstarted(told, name),
            }
        }
    }
}

/// Whether anything that was told lets the call start.
fn may_start(told: &Told) -> bool {
    let yes = told.person == Some(PersonSaid::Yes);
    let strong = told.person == Some(PersonSaid::StrongYes);
    let allowed = match told.class {
        Class::Free => true,
        Class::Ask => told.granted || yes || strong,
        Class::Strong => strong,
        Class::Unavailable | Class::Rejected | Class::Deny => false,
    };
    allowed && told.hook != HookSaid::Stop
}

/// A call that was free to start and never did: another like it stood before, the turn goes in
/// circles, or its budget is spent.
fn unstarted(told: &Told, name: &str) -> bool {
    match name {
        "duplicate" => told.seen_before,
        // A circle of one tool needs no repetition of the call itself.
        "blocked" => true,
        "denied" => told.budget,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::outcome::{Denier, Fault};

    fn told(class: Class) -> Told {
        Told {
            class,
            hook: HookSaid::Nothing,
            person: None,
            granted: false,
            end: None,
            started: false,
            changed: false,
            turn_over: false,
            seen_before: false,
            budget: false,
            blocked: false,
        }
    }

    #[test]
    fn what_was_told_decides() {
        let blame = crate::journal::outcome::Blame::Tool;
        let fault = Fault { blame, code: "x".into(), message: "y".into() };
        let failed = Outcome::Failed { fault };
        let denied = Outcome::Denied { by: Denier::Operator, reason: "no".into() };
        let free = told(Class::Free);
        let ran = |end| Told { started: true, end: Some(end), ..told(Class::Free) };
        assert!(allows(&ran(End::Good), &Outcome::Succeeded));
        assert!(!allows(&ran(End::Good), &failed));
        assert!(allows(&ran(End::Bad), &failed));
        assert!(!allows(&ran(End::Bad), &Outcome::Succeeded));
        assert!(allows(&ran(End::Torn), &Outcome::Interrupted));
        assert!(!allows(&free, &Outcome::Succeeded));
        assert!(!allows(&free, &denied));
        assert!(!allows(&free, &Outcome::Cancelled { cause: "x".into() }));
        let asked = |person| Told { person: Some(person), ..told(Class::Ask) };
        assert!(allows(&asked(PersonSaid::No), &denied));
        assert!(!allows(&asked(PersonSaid::No), &Outcome::Replaced));
        assert!(allows(&asked(PersonSaid::Instead), &Outcome::Replaced));
        assert!(!allows(&told(Class::Deny), &Outcome::Replaced));
        let blocked = Told { blocked: true, ..told(Class::Free) };
        assert!(allows(&blocked, &denied));
        let ran = Told { blocked: true, ..ran(End::Good) };
        assert!(!allows(&ran, &Outcome::Succeeded));
    }
}
