//! Stage 3: authority. It is a type, never an argument, and is built only here.

use super::approval::{Acceptance, ApprovalRequest};
use super::approver::Answer;
use super::grant::Grant;
use super::validate::Validated;
use crate::base::world::Millis;
use crate::journal::outcome::Denier;
use crate::runtime::policy::{Decision, Judgement};

/// A call that may run.
#[derive(Debug)]
pub struct Permitted {
    validated: Validated,
    word: Word,
}

/// On whose word a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Policy's alone.
    Policy,
    /// A person's, until this time.
    Person {
        /// After this it is void.
        expires_at: Millis,
    },
    /// A grant that was given before.
    Grant {
        /// Its id.
        id: String,
    },
}

impl Permitted {
    /// The stage before.
    pub fn validated(&self) -> &Validated {
        &self.validated
    }

    /// On whose word.
    pub fn word(&self) -> &Word {
        &self.word
    }
}

/// The rule by which an answer is judged; a mutant may replace it.
pub type Accept = fn(&ApprovalRequest, &Answer, crate::base::digest::Digest, Millis) -> Acceptance;

/// Authority by policy alone.
///
/// # Errors
/// The call back, when policy asks or denies.
pub fn by_policy(validated: Validated, judgement: &Judgement) -> Result<Permitted, Validated> {
    match judgement.decision {
        Decision::Allow => Ok(Permitted { validated, word: Word::Policy }),
        Decision::Ask | Decision::StrongAsk | Decision::Deny => Err(validated),
    }
}

/// Authority by a grant that covers the call. Only an ordinary question is answered by one.
///
/// # Errors
/// The call back, where policy wants more or nothing covers it.
pub fn by_grant(
    validated: Validated,
    judgement: &Judgement,
    standing: Option<&Grant>,
) -> Result<Permitted, Validated> {
    match standing {
        Some(grant) if judgement.decision == Decision::Ask => {
            Ok(Permitted { validated, word: Word::Grant { id: grant.id.clone() } })
        }
        _ => Err(validated),
    }
}

/// What an answer leaves of a call.
#[derive(Debug)]
pub enum Answered {
    /// It may run.
    Permitted(Permitted),
    /// It may not.
    Refused(Validated, Denier, String),
    /// This text stands for its result.
    Replaced(Validated, String),
}

/// Authority by a person's answer.
pub fn by_approval(
    validated: Validated,
    request: &ApprovalRequest,
    answer: &Answer,
    accept: Accept,
    now: Millis,
) -> Answered {
    match accept(request, answer, validated.call_digest(), now) {
        Acceptance::Granted => {
            let word = Word::Person { expires_at: request.expires_at };
            Answered::Permitted(Permitted { validated, word })
        }
        Acceptance::Refused(by, why) => Answered::Refused(validated, by, why),
        Acceptance::Replaced(text) => Answered::Replaced(validated, text),
    }
}
