//! Who is asked. Absence means no: the refusing approver is the default.

use std::sync::{Mutex, PoisonError};

use super::approval::ApprovalRequest;
use super::grant::AnswerScope;
use crate::runtime::BoxFuture;

/// Answers approval requests, also several at once. What waits for an answer may be dropped at any
/// time: the question is withdrawn then.
pub trait Approver: Send + Sync {
    /// The channel's name, for the audit.
    fn channel(&self) -> &'static str;

    /// Answers one request.
    fn answer<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Answer>;
}

/// An answer, addressed to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The request it answers.
    pub approval_id: String,
    /// What was said.
    pub verdict: Verdict,
    /// Who said it.
    pub decider: String,
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Yes {
        /// Whether it was the stronger confirmation.
        strong: bool,
        /// How far it reaches.
        scope: AnswerScope,
    },
    /// No.
    No {
        /// Why.
        reason: String,
    },
    /// This text instead of running the tool.
    Replace {
        /// The text.
        text: String,
    },
    /// Nobody answered in time.
    Timeout,
    /// There was nobody to ask.
    Unreachable,
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Refusing;

impl Approver for Refusing {
    fn channel(&self) -> &'static str {
        "none"
    }

    fn answer<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Answer> {
        let answer = Answer {
            approval_id: request.id.clone(),
            verdict: Verdict::Unreachable,
            decider: "nobody".to_owned(),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// Answers by tool id, in order; asked beyond its list, nobody is there.
#[derive(Debug, Default)]
pub struct Scripted {
    answers: Mutex<Vec<(String, Verdict)>>,
}

impl Scripted {
    /// Answers for tool ids, each used once; `*` stands for any tool.
    pub fn new(answers: Vec<(String, Verdict)>) -> Self {
        Self { answers: Mutex::new(answers) }
    }
}

impl Approver for Scripted {
    fn channel(&self) -> &'static str {
        "scripted"
    }

    fn answer<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Answer> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let place = answers.iter().position(|(tool, _)| *tool == request.tool || tool == "*");
        let verdict = match place {
            Some(index) => answers.remove(index).1,
            None => Verdict::Unreachable,
        };
        let answer =
            Answer { approval_id: request.id.clone(), verdict, decider: "script".to_owned() };
        Box::pin(std::future::ready(answer))
    }
}
