//! Hooks: who may look at a call before it is judged, and who may watch how it ended.
//!
//! Before a call they run in descending priority, each on what the one before left; the first
//! cancel wins. A hook that fails blocks the call, unless it was declared an observer. A verifier
//! looks at a result before it counts: one that cancels or fails makes it a failure. After that
//! hooks only watch: their failure is a fact and changes nothing.

use std::sync::Arc;

use serde_json::Value;

use super::validate::Validated;
use crate::runtime::BoxFuture;

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// Before anything is judged.
    BeforeCall,
    /// When a call ended, before its result counts.
    Verify,
    /// After a call that ran.
    AfterCall,
    /// After a call that ran and failed.
    OnError,
}

impl Point {
    /// The name as written in journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeCall => "before_call",
            Self::Verify => "verify",
            Self::AfterCall => "after_call",
            Self::OnError => "on_error",
        }
    }
}

/// One hook at one point, as a turn knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSpec {
    /// Its name.
    pub name: String,
    /// When it runs.
    pub point: Point,
    /// Higher runs earlier; equal ones by name.
    pub priority: i32,
    /// Whether it only observes: it can neither rewrite nor cancel, and its failure blocks nothing.
    pub observer: bool,
    /// Whether it sees every tool; else only tools whose descriptor names it.
    pub global: bool,
}

/// What a hook sees.
#[derive(Debug, Clone, PartialEq)]
pub struct HookCall {
    /// Which hook.
    pub hook: String,
    /// When.
    pub point: Point,
    /// The call.
    pub call: Arc<str>,
    /// The name as it stands, earlier rewritings included.
    pub tool: String,
    /// The arguments as they stand; `None` where they are not JSON.
    pub args: Option<Value>,
    /// How it ended, after it ran.
    pub outcome: Option<&'static str>,
    /// What the model will be shown, after it ran; for a verifier, what the call gave.
    pub shown: Option<Arc<str>>,
}

impl HookCall {
    /// What a hook sees of a call that ran: how it ended, and what came of it.
    pub fn after(
        spec: &HookSpec,
        call: Arc<str>,
        validated: &Validated,
        (outcome, shown): (&'static str, Arc<str>),
    ) -> Self {
        Self {
            hook: spec.name.clone(),
            point: spec.point,
            call,
            tool: validated.resolved().tool().id().to_string(),
            args: Some(validated.args().clone()),
            outcome: Some(outcome),
            shown: Some(shown),
        }
    }
}

/// What a hook says.
#[derive(Debug, Clone, PartialEq)]
pub enum HookVerdict {
    /// Nothing.
    Pass,
    /// Another name, other arguments, or both.
    Rewrite {
        /// The new name.
        name: Option<String>,
        /// The new arguments.
        args: Option<Value>,
    },
    /// The call must not run.
    Cancel {
        /// Why, in words for the model.
        reason: String,
    },
    /// It panicked, took too long, or could not be found.
    Failed {
        /// What happened.
        why: String,
    },
}

impl HookVerdict {
    /// The name as written in journals.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Rewrite { .. } => "rewrite",
            Self::Cancel { .. } => "cancel",
            Self::Failed { .. } => "failed",
        }
    }
}

/// Runs one hook.
pub trait Hook: Send + Sync {
    /// Looks at a call.
    fn run<'a>(&'a self, call: &'a HookCall) -> BoxFuture<'a, HookVerdict>;
}

/// The hooks of a session in the order in which they run.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    specs: Vec<Arc<HookSpec>>,
}

impl Hooks {
    /// Sorts by priority, highest first, then by name.
    pub fn new(mut specs: Vec<HookSpec>) -> Self {
        specs.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.name.cmp(&b.name)));
        Self { specs: specs.into_iter().map(Arc::new).collect() }
    }

    /// The hooks that see every tool.
    pub fn global(&self, point: Point) -> impl DoubleEndedIterator<Item = Arc<HookSpec>> + '_ {
        self.specs.iter().filter(move |spec| spec.global && spec.point == point).cloned()
    }

    /// A descriptor's own hooks, in its order. A name that is not known stays in the list: as a
    /// guard it fails when it is run, and a guard that fails blocks.
    pub fn own(&self, point: Point, names: &[String]) -> Vec<Arc<HookSpec>> {
        let known = |name: &String| {
            let mut specs = self.specs.iter();
            specs.find(|spec| spec.point == point && spec.name == *name).cloned()
        };
        let unknown = |name: &String| {
            Arc::new(HookSpec {
                name: name.clone(),
                point,
                priority: 0,
                observer: false,
                global: false,
            })
        };
        names.iter().map(|name| known(name).unwrap_or_else(|| unknown(name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_decides_then_the_name() {
        let spec = |name: &str, priority, global| HookSpec {
            name: name.into(),
            point: Point::BeforeCall,
            priority,
            observer: false,
            global,
        };
        let hooks = Hooks::new(vec![
            spec("b", 0, true),
            spec("a", 0, true),
            spec("z", 5, true),
            spec("own", 9, false),
        ]);
        let names: Vec<String> =
            hooks.global(Point::BeforeCall).map(|spec| spec.name.clone()).collect();
        assert_eq!(names, ["z", "a", "b"]);
        assert_eq!(hooks.global(Point::AfterCall).count(), 0);
        let own = hooks.own(Point::BeforeCall, &["own".into(), "lost".into()]);
        assert_eq!(own[0].priority, 9);
        assert!(!own[1].observer, "an unknown guard fails when it runs, and so blocks");
    }
}
