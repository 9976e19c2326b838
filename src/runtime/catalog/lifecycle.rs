//! The state machine of registration (seed B section 10): discovered -> parsed -> normalized ->
//! verified -> enabled -> granted -> callable, and what fails on the way.
//!
//! Seeing is not trusting, and trusting is not allowing: what was discovered was only seen, what
//! was verified may be enabled, and what was enabled is called by those to whom it was granted.
//! Each step is a fact of the journal; a step that is out of order is refused with its reason.

use std::fmt;

/// Where a tool stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// A source showed it.
    Discovered,
    /// Its definition was read.
    Parsed,
    /// It is a canonical descriptor with a version.
    Normalized,
    /// Schema and lints hold, and whoever had to look at it has.
    Verified,
    /// It may be granted and called in some scope.
    Enabled,
    /// Somebody holds a grant.
    Granted,
    /// For one principal, in one scope, at one time: it may be called. No step leads here; see
    /// [`super::standing::Standing::state_for`].
    Callable,
    /// Its schemas cannot judge arguments.
    InvalidSchema,
    /// What it declares about effects and authority does not fit together.
    PermissionLintFailed,
    /// What confines it is missing.
    SandboxLintFailed,
    /// A named person must look at it first.
    SecurityReviewRequired,
    /// Its dry run failed.
    HealthCheckFailed,
    /// It must never be called. Nothing leads out of it.
    Blocked,
    /// It should no longer be chosen.
    Deprecated,
}

impl State {
    /// All states, in the order of the specification.
    pub const ALL: [Self; 14] = [
        Self::Discovered,
        Self::Parsed,
        Self::Normalized,
        Self::Verified,
        Self::Enabled,
        Self::Granted,
        Self::Callable,
        Self::InvalidSchema,
        Self::PermissionLintFailed,
        Self::SandboxLintFailed,
        Self::SecurityReviewRequired,
        Self::HealthCheckFailed,
        Self::Blocked,
        Self::Deprecated,
    ];

    /// The name as the specification has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discovered => "discovered",
            Self::Parsed => "parsed",
            Self::Normalized => "normalized",
            Self::Verified => "verified",
            Self::Enabled => "enabled",
            Self::Granted => "granted",
            Self::Callable => "callable",
            Self::InvalidSchema => "invalid_schema",
            Self::PermissionLintFailed => "permission_lint_failed",
            Self::SandboxLintFailed => "sandbox_lint_failed",
            Self::SecurityReviewRequired => "security_review_required",
            Self::HealthCheckFailed => "health_check_failed",
            Self::Blocked => "blocked",
            Self::Deprecated => "deprecated",
        }
    }

    /// Whether it is enabled somewhere.
    pub fn is_enabled(self) -> bool {
        matches!(self, Self::Enabled | Self::Granted | Self::Callable)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What holds a tool back on its way. Its fact is a `ToolBlocked` whose reason begins with the
/// state's name and a colon; without such a beginning the block is a person's, and final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hold {
    /// Its schemas.
    Schema,
    /// A permission lint.
    Permission,
    /// A sandbox lint.
    Sandbox,
    /// It waits for a review.
    Review,
    /// Its dry run.
    Health,
}

impl Hold {
    /// All of them, in the order of the pipeline.
    pub const ALL: [Self; 5] =
        [Self::Schema, Self::Permission, Self::Sandbox, Self::Review, Self::Health];

    /// The state it leads to.
    pub fn state(self) -> State {
        match self {
            Self::Schema => State::InvalidSchema,
            Self::Permission => State::PermissionLintFailed,
            Self::Sandbox => State::SandboxLintFailed,
            Self::Review => State::SecurityReviewRequired,
            Self::Health => State::HealthCheckFailed,
        }
    }

    /// The reason as it stands in the journal.
    pub fn reason(self, why: &str) -> String {
        format!("{}: {why}", self.state().name())
    }

    /// Reads a reason: the hold, which a person's block has not, and what follows it.
    pub fn read(reason: &str) -> (Option<Self>, &str) {
        let Some((name, why)) = reason.split_once(": ") else { return (None, reason) };
        let hold = Self::ALL.into_iter().find(|hold| hold.state().name() == name);
        let own = hold.is_some() || name == State::Blocked.name();
        (hold, if own { why } else { reason })
    }

    /// A person's reason as it stands in the journal: none is taken for a check's.
    pub fn persons(why: &str) -> String {
        format!("{}: {why}", State::Blocked.name())
    }
}

/// What happens to a tool; each is one fact of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// `ToolDiscovered`: a source shows a definition that is new or changed.
    Discover,
    /// `ToolParsed`.
    Parse,
    /// `ToolNormalized`.
    Normalize,
    /// `ToolBlocked` by a check.
    Hold(Hold),
    /// `ToolReviewed`, accepted.
    Accept,
    /// `ToolReviewed`, not accepted.
    Reject,
    /// `ToolVerified`: lints and review, or the dry run, hold.
    Verify,
    /// `ToolEnabled` in a scope.
    Enable,
    /// `ToolDisabled` in its last scope.
    Disable,
    /// `ToolBlocked` by a person.
    Block,
    /// `ToolDeprecated`.
    Deprecate,
    /// `GrantIssued`.
    Grant,
    /// `GrantRevoked`, of its last grant.
    Revoke,
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 17] = [
        Self::Discover,
        Self::Parse,
        Self::Normalize,
        Self::Hold(Hold::Schema),
        Self::Hold(Hold::Permission),
        Self::Hold(Hold::Sandbox),
        Self::Hold(Hold::Review),
        Self::Hold(Hold::Health),
        Self::Accept,
        Self::Reject,
        Self::Verify,
        Self::Enable,
        Self::Disable,
        Self::Block,
        Self::Deprecate,
        Self::Grant,
        Self::Revoke,
    ];

    /// What is done, as the rest of "it cannot be ...".
    pub fn done(self) -> &'static str {
        match self {
            Self::Discover => "discovered",
            Self::Parse => "parsed",
            Self::Normalize => "normalized",
            Self::Hold(Hold::Schema) => "held for its schema",
            Self::Hold(Hold::Permission) => "held by a permission lint",
            Self::Hold(Hold::Sandbox) => "held by a sandbox lint",
            Self::Hold(Hold::Review) => "held for a review",
            Self::Hold(Hold::Health) => "held by its dry run",
            Self::Accept | Self::Reject => "reviewed",
            Self::Verify => "verified",
            Self::Enable => "enabled",
            Self::Disable => "disabled",
            Self::Block => "blocked",
            Self::Deprecate => "deprecated",
            Self::Grant => "granted",
            Self::Revoke => "revoked",
        }
    }
}

/// Why a step is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}, and cannot be {}: {why}", from_text(*from), step.done())]
pub struct OutOfOrder {
    /// Where the tool stands; `None` where nobody knows it.
    pub from: Option<State>,
    /// What was to be done.
    pub step: Step,
    /// What must come first.
    pub why: &'static str,
}

fn from_text(from: Option<State>) -> String {
    from.map_or_else(|| "it is not known".to_owned(), |state| format!("it is {state}"))
}

/// Where a step leads; `None` stands for a tool that nobody knows.
///
/// # Errors
/// When the step is out of order there.
pub fn next(from: Option<State>, step: Step) -> Result<State, OutOfOrder> {
    use State::{
        Blocked, Callable, Deprecated, Discovered, Enabled, Granted, HealthCheckFailed, Normalized,
        Parsed, SecurityReviewRequired, Verified,
    };
    let refuse = |why| Err(OutOfOrder { from, step, why });
    let Some(state) = from else {
        return match step {
            Step::Discover => Ok(Discovered),
            _ => refuse("it must be discovered first"),
        };
    };
    if state == Blocked {
        return match step {
            // What it was granted can still be taken back.
            Step::Revoke => Ok(Blocked),
            _ => refuse("a block is final"),
        };
    }
    let usable = state == Verified || state.is_enabled();
    match step {
        Step::Discover => Ok(Discovered),
        Step::Parse if state == Discovered => Ok(Parsed),
        Step::Parse => refuse("only what was just discovered is parsed"),
        Step::Normalize if state == Parsed => Ok(Normalized),
        Step::Normalize => refuse("only what was just parsed is normalized"),
        Step::Hold(Hold::Schema) if matches!(state, Discovered | Parsed) => {
            Ok(Hold::Schema.state())
        }
        Step::Hold(Hold::Schema) => refuse("schemas are judged before it is normalized"),
        Step::Hold(hold @ (Hold::Permission | Hold::Sandbox | Hold::Review)) => match state {
            Normalized => Ok(hold.state()),
            _ => refuse("lints and reviews are for what was just normalized"),
        },
        Step::Hold(Hold::Health) if usable || state == HealthCheckFailed => Ok(HealthCheckFailed),
        Step::Hold(Hold::Health) => refuse("only what was verified is tried"),
        Step::Accept if state == SecurityReviewRequired => Ok(Normalized),
        Step::Accept if usable => Ok(state),
        Step::Reject if state == SecurityReviewRequired || usable => Ok(SecurityReviewRequired),
        Step::Accept | Step::Reject => refuse("only what waits for a review, or has passed, is"),
        Step::Verify if usable => Ok(state),
        Step::Verify if matches!(state, Normalized | HealthCheckFailed) => Ok(Verified),
        Step::Verify => refuse("its lints, its review and its dry run come first"),
        Step::Enable if state == Verified => Ok(Enabled),
        Step::Enable if state.is_enabled() => Ok(state),
        Step::Enable => refuse("only what is verified is"),
        Step::Disable if state.is_enabled() => Ok(Verified),
        Step::Disable => refuse("it is enabled nowhere"),
        Step::Block => Ok(Blocked),
        Step::Deprecate if usable || state == HealthCheckFailed => Ok(Deprecated),
        Step::Deprecate => refuse("it was never fit to be used"),
        Step::Grant if state == Callable => Ok(Callable),
        Step::Grant if state.is_enabled() => Ok(Granted),
        Step::Grant => refuse("only what is enabled is"),
        // Taking back is always possible.
        Step::Revoke if state.is_enabled() => Ok(Enabled),
        Step::Revoke => Ok(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows are steps, columns states, as [`State::ALL`] and [`Step::ALL`] have them; `-` refuses,
    /// `=` stays, letters are states.
    const TABLE: &str = "\
                     dis par nor ver ena gra cal sch per san rev hea blo dep
        discover      =  dis dis dis dis dis dis dis dis dis dis dis  -  dis
        parse        par  -   -   -   -   -   -   -   -   -   -   -   -   -
        normalize     -  nor  -   -   -   -   -   -   -   -   -   -   -   -
        schema       sch sch  -   -   -   -   -   -   -   -   -   -   -   -
        permission    -   -  per  -   -   -   -   -   -   -   -   -   -   -
        sandbox       -   -  san  -   -   -   -   -   -   -   -   -   -   -
        review        -   -  rev  -   -   -   -   -   -   -   -   -   -   -
        health        -   -   -  hea hea hea hea  -   -   -   -   =   -   -
        accept        -   -   -   =   =   =   =   -   -   -  nor  -   -   -
        reject        -   -   -  rev rev rev rev  -   -   -   =   -   -   -
        verify        -   -  ver  =   =   =   =   -   -   -   -  ver  -   -
        enable        -   -   -  ena  =   =   =   -   -   -   -   -   -   -
        disable       -   -   -   -  ver ver ver  -   -   -   -   -   -   -
        block        blo blo blo blo blo blo blo blo blo blo blo blo  -  blo
        deprecate     -   -   -  dep dep dep dep  -   -   -   -  dep  -   -
        grant         -   -   -   -  gra  =   =   -   -   -   -   -   -   -
        revoke        =   =   =   =   =  ena ena  =   =   =   =   =   =   =";

    #[test]
    fn every_step_from_every_state() {
        let mut rows = TABLE.lines().map(str::split_whitespace);
        let names: Vec<&str> = rows.next().unwrap().collect();
        assert_eq!(names.len(), State::ALL.len());
        let mut counted = 0;
        for (step, row) in Step::ALL.into_iter().zip(rows.by_ref()) {
            let cells: Vec<&str> = row.skip(1).collect();
            assert_eq!(cells.len(), State::ALL.len(), "{step:?}");
            for (from, cell) in State::ALL.into_iter().zip(cells) {
                let expected = match cell {
                    "-" => None,
                    "=" => Some(from),
                    name => names.iter().position(|n| *n == name).map(|at| State::ALL[at]),
                };
                assert_eq!(next(Some(from), step).ok(), expected, "{from} {step:?}");
                counted += 1;
            }
            let unknown = next(None, step).ok();
            assert_eq!(unknown, (step == Step::Discover).then_some(State::Discovered));
        }
        assert_eq!((counted, rows.count()), (14 * 17, 0));
    }

    #[test]
    fn a_refusal_says_where_it_stands_and_what_comes_first() {
        let refused = next(Some(State::Normalized), Step::Enable).unwrap_err();
        let expected = "it is normalized, and cannot be enabled: only what is verified is";
        assert_eq!(refused.to_string(), expected);
        let refused = next(None, Step::Grant).unwrap_err();
        assert!(refused.to_string().starts_with("it is not known, and cannot be granted: "));
    }

    #[test]
    fn the_reason_of_a_block_tells_a_check_from_a_person() {
        for hold in Hold::ALL {
            let reason = hold.reason("x: y");
            assert_eq!(Hold::read(&reason), (Some(hold), "x: y"));
            assert_eq!(Hold::read(&Hold::persons(&reason)), (None, reason.as_str()));
        }
        for person in ["rug pull", "callable: x", "invalid_schema"] {
            assert_eq!(Hold::read(person), (None, person));
        }
    }

    /// Whatever order of facts a file holds, nothing is enabled that was not verified since it was
    /// last seen, and nothing leaves a block.
    #[test]
    fn enabled_only_after_verified_since_it_was_last_seen() {
        let mut open = vec![(None, false, 0)];
        let mut seen = std::collections::BTreeSet::new();
        while let Some((from, verified, depth)) = open.pop() {
            for step in Step::ALL {
                let Ok(state) = next(from, step) else { continue };
                assert!(from != Some(State::Blocked) || state == State::Blocked);
                let verified = match step {
                    Step::Discover => false,
                    Step::Verify => true,
                    _ => verified,
                };
                assert!(!state.is_enabled() || verified, "{from:?} {step:?}");
                if seen.insert((state, verified)) {
                    open.push((Some(state), verified, depth + 1));
                }
            }
        }
        assert!(seen.len() >= 13, "{seen:?}");
    }
}
