//! `builtin:delegate`: a call whose tool is another agent. What it is given and what it gives back
//! are values; who runs it is behind a trait, since it is a whole session.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use super::ran::Ran;
use crate::base::world::World;
use crate::journal::event::call::ObservedEffects;
use crate::journal::event::call::Spent;
use crate::journal::outcome::{Blame, Fault};
use crate::runtime::BoxFuture;
use crate::runtime::view::{ActivatedSet, Block, Blocks};
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;

/// What a delegate is given. Nothing of it is more than its parent has.
#[derive(Debug, Clone, PartialEq)]
pub struct DelegateRequest {
    /// The id of its session.
    pub child: Arc<str>,
    /// Which agent.
    pub agent: Arc<str>,
    /// Whether its parent's arrangement of tools is none of its own.
    pub scoped: bool,
    /// What it is to do.
    pub goal: String,
    /// What it must keep to.
    pub constraints: Vec<String>,
    /// Artifacts it is pointed to, by id.
    pub evidence: Vec<String>,
    /// What it inherits of its parent's context, in words.
    pub context: Option<String>,
    /// The tools it may have, by id, sorted.
    pub tools: Vec<ToolId>,
    /// What its parent's session has lost: it may have none of it, by no way.
    pub blocks: Blocks,
    /// What its parent's searches activated.
    pub activated: ActivatedSet,
    /// The scopes it acts with.
    pub scopes: BTreeSet<String>,
    /// What it may spend.
    pub budget: DelegateBudget,
    /// What is used up of the budgets that bind its calls too.
    pub spent: Vec<Spent>,
    /// What is left of the money that the intent allows, in US dollars.
    pub cost_left: Option<f64>,
    /// Whether its last word returns.
    pub return_summary: bool,
    /// Whether its transcript returns.
    pub return_transcript: bool,
}

/// What a delegate may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegateBudget {
    /// Model requests.
    pub turns: u32,
    /// Calls; no limit when absent.
    pub calls: Option<u32>,
    /// Estimated tokens of requests and replies.
    pub tokens: u64,
    /// Wall time in milliseconds.
    pub timeout_ms: u64,
}

impl DelegateRequest {
    /// What the delegate is told.
    pub fn message(&self) -> String {
        let mut out = self.goal.clone();
        for (title, lines) in [("Constraints", &self.constraints), ("Evidence", &self.evidence)] {
            if !lines.is_empty() {
                out.push_str(&format!("\n\n{title}:\n- {}", lines.join("\n- ")));
            }
        }
        if let Some(context) = &self.context {
            out.push_str("\n\nContext:\n");
            out.push_str(context);
        }
        out
    }
}

/// How a delegate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelegateStatus {
    /// It said its last word.
    Completed,
    /// What it may spend was spent.
    Budget,
    /// Its time was up.
    Timeout,
    /// It went in circles.
    Stopped,
    /// Its provider, or its session, failed.
    Failed,
    /// It could not begin.
    Refused,
    /// Its parent tore it down.
    Cancelled,
}

impl DelegateStatus {
    /// The name as written in journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Budget => "budget",
            Self::Timeout => "timeout",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a delegate gives back.
#[derive(Debug, Clone, PartialEq)]
pub struct DelegateResult {
    /// How it ended.
    pub status: DelegateStatus,
    /// Its last word.
    pub summary: Option<String>,
    /// Its transcript.
    pub transcript: Option<String>,
    /// Artifacts of its calls, by id.
    pub artifacts: Vec<String>,
    /// The strictest thing that one of its calls, or of its own delegates', may have done.
    pub risk: Option<EffectClass>,
    /// How many calls it started, its own delegates' included.
    pub calls: u32,
    /// What its calls used up of budgets.
    pub spent: Vec<Spent>,
    /// Why it is no success.
    pub fault: Option<Fault>,
}

impl DelegateResult {
    /// An end without anything but its reason.
    pub fn without(status: DelegateStatus, fault: (Blame, &str), message: String) -> Self {
        let (blame, code) = fault;
        Self {
            status,
            summary: None,
            transcript: None,
            artifacts: Vec::new(),
            risk: None,
            calls: 0,
            spent: Vec::new(),
            fault: Some(Fault { blame, code: code.to_owned(), message }),
        }
    }

    /// As the result of the call that delegated. What the delegate touched stands in its own
    /// record.
    pub fn into_ran(self) -> Ran {
        let effects = ObservedEffects { method: "unknown".to_owned(), ..Default::default() };
        let risk = self.risk.map(EffectClass::name);
        let structured = json!({
            "status": self.status.name(),
            "summary": self.summary,
            "artifacts": self.artifacts,
            "risk": risk,
        });
        let mut parts: Vec<String> = self.summary.into_iter().collect();
        if !self.artifacts.is_empty() {
            parts.push(format!("artifacts: {}", self.artifacts.join(", ")));
        }
        if let Some(risk) = self.risk.filter(|risk| *risk > EffectClass::Read) {
            parts.push(format!("risk: {}", risk.name()));
        }
        parts.extend(self.transcript.map(|text| format!("transcript:\n{text}")));
        let ran = Ran::ok(parts.join("\n\n"), effects);
        Ran { structured: Some(structured), fault: self.fault, ..ran }
    }
}

/// What a delegate hears from above while it runs: tools that were blocked, and that it must go.
pub type Above<'a> = (mpsc::UnboundedReceiver<Block>, &'a Notify);

/// Runs delegates.
pub trait Delegate: Send + Sync {
    /// Runs one to its end, or until it hears that it must go; it is not over before everything of
    /// it is gone. `world` is its own.
    fn run<'a>(
        &'a self,
        request: DelegateRequest,
        world: Box<dyn World>,
        above: Above<'a>,
    ) -> BoxFuture<'a, DelegateResult>;
}

/// Goal, constraints and evidence as the arguments of a call give them. Where they give no goal,
/// all of them are it.
pub fn asked(args: &Value) -> (String, Vec<String>, Vec<String>) {
    let list = |name: &str| -> Vec<String> {
        let items = args.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let goal = args.get("goal").and_then(Value::as_str).map(str::to_owned);
    let goal = goal.unwrap_or_else(|| args.to_string());
    (goal, list("constraints"), list("evidence"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(status: DelegateStatus) -> DelegateResult {
        let reason = (Blame::Tool, "why");
        DelegateResult::without(status, reason, "because".to_owned())
    }

    #[test]
    fn arguments_and_what_the_delegate_is_told() {
        let args = json!({"goal": "count", "constraints": ["no files", 7], "evidence": ["art_1"]});
        let (goal, constraints, evidence) = asked(&args);
        assert_eq!(asked(&json!({"path": "a"})).0, r#"{"path":"a"}"#);
        let request = DelegateRequest {
            child: "s/c".into(),
            agent: "a".into(),
            scoped: false,
            goal,
            constraints,
            evidence,
            context: None,
            tools: Vec::new(),
            blocks: Blocks::default(),
            activated: ActivatedSet::default(),
            scopes: BTreeSet::new(),
            budget: DelegateBudget { turns: 1, calls: None, tokens: 1, timeout_ms: 1 },
            spent: Vec::new(),
            cost_left: None,
            return_summary: true,
            return_transcript: false,
        };
        let told = "count\n\nConstraints:\n- no files\n\nEvidence:\n- art_1";
        assert_eq!(request.message(), told);
        let request = DelegateRequest { context: Some("more".to_owned()), ..request };
        assert_eq!(request.message(), format!("{told}\n\nContext:\nmore"));
    }

    #[test]
    fn what_returns_is_the_summary_and_what_it_points_to() {
        let done = DelegateResult {
            summary: Some("Done.".to_owned()),
            fault: None,
            risk: Some(EffectClass::Read),
            ..result(DelegateStatus::Completed)
        };
        assert_eq!(done.clone().into_ran().output, "Done.");
        let more = DelegateResult {
            artifacts: vec!["art_1".to_owned(), "art_2".to_owned()],
            risk: Some(EffectClass::Write),
            transcript: Some("user: hi".to_owned()),
            ..done
        };
        let ran = more.into_ran();
        let parts = ["Done.", "artifacts: art_1, art_2", "risk: write", "transcript:\nuser: hi"];
        assert_eq!(ran.output, parts.join("\n\n"));
        assert_eq!((ran.fault, &ran.structured.unwrap()["risk"]), (None, &json!("write")));
        let ran = result(DelegateStatus::Budget).into_ran();
        assert_eq!((ran.output.as_str(), ran.fault.unwrap().code.as_str()), ("", "why"));
    }
}
