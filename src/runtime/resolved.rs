//! One resolved bundle per turn: everything a turn needs that does not change while it runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::catalog::{Registered, Registry};
use super::credential::Broker;
use super::dialect::{Dialect, Rendering, TextRules, ToolList};
use super::evidence::receipt::ReceiptKey;
use super::exec::search::SearchIndex;
use super::guard::Hooks;
use super::guard::approval::EXPIRY_MS;
use super::guard::limits::LoopLimits;
use super::guard::repeat::DuplicateScope;
use super::policy::{Principal, Rules};
use super::view::Blocks;
use super::view::compile::MayExpose;
use super::view::scope::Scoped;
use super::view::{
    ActivatedSet, Availability, Environment, Matched, View, ViewRequest, compile, scoped,
};
use crate::tool::effect::ActionType;
use crate::tool::id::ToolId;
use crate::tool::intent::Intent;

/// Settings of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Knobs {
    /// How far back the duplicate guard looks.
    pub duplicate_scope: DuplicateScope,
    /// Tools that the duplicate guard leaves alone, beside polling tools and delegation.
    pub duplicate_exempt: BTreeSet<ToolId>,
    /// When calls that go in circles are warned about, blocked, stopped.
    pub loop_limits: LoopLimits,
    /// How many calls a turn may start; no limit when absent.
    pub call_budget: Option<u32>,
    /// How long a turn may take, in milliseconds; no limit when absent.
    pub turn_deadline_ms: Option<u64>,
    /// Changes of the workspace (L2) of so many lines are confirmed by a person.
    pub confirm_diff_lines: Option<u32>,
    /// How long an answer may take, in milliseconds.
    pub approval_expiry_ms: u64,
    /// How long a hook may take, in milliseconds.
    pub hook_timeout_ms: u64,
    /// Whether calls may run in parallel.
    pub parallel_tools: bool,
    /// The limit of what returns to the model, in Unicode scalar values.
    pub max_tool_result_chars: usize,
    /// Whether successes get receipts.
    pub receipts: bool,
    /// How many model requests at most.
    pub iteration_cap: u32,
    /// How requests are spelled.
    pub dialect: Dialect,
    /// Which parts of a description are shown.
    pub rendering: Rendering,
    /// Which text protocols are heard, under the dialect of plain text.
    pub text: TextRules,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            duplicate_scope: DuplicateScope::Reply,
            duplicate_exempt: BTreeSet::new(),
            loop_limits: LoopLimits::default(),
            call_budget: None,
            turn_deadline_ms: None,
            confirm_diff_lines: None,
            approval_expiry_ms: EXPIRY_MS,
            hook_timeout_ms: 10_000,
            parallel_tools: false,
            max_tool_result_chars: 4_000,
            receipts: true,
            iteration_cap: 10,
            dialect: Dialect::OpenAiChat,
            rendering: Rendering { use_when: true, examples: true, hints: false },
            text: TextRules::default(),
        }
    }
}

/// The bundle.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Who looks at calls before and after.
    pub hooks: Hooks,
    /// What exists.
    pub registry: Arc<Registry>,
    /// Who acts.
    pub principal: Principal,
    /// The rules.
    pub rules: Arc<Rules>,
    /// What is at hand.
    pub environment: Environment,
    /// Names kept out by hand.
    pub excluded: BTreeSet<ToolId>,
    /// What the run allows beside that.
    pub availability: Arc<Availability>,
    /// Settings.
    pub knobs: Knobs,
    /// What is intended, and by whom it was declared.
    pub intent: (String, Intent),
    /// Credentials.
    pub broker: Broker,
    /// The receipts' key.
    pub receipt_key: Option<ReceiptKey>,
    /// Views compiled before, shared by all sessions of the same registry, rules and environment.
    pub views: Arc<ViewCache>,
}

/// A view with its rendered tools.
#[derive(Debug)]
pub struct CompiledView {
    /// The view.
    pub view: View,
    /// The tools as the dialect spells them.
    pub tools: ToolList,
    registry: Arc<Registry>,
    index: Arc<OnceLock<SearchIndex>>,
}

impl CompiledView {
    /// A view over a registry.
    pub fn new(view: View, tools: ToolList, registry: Arc<Registry>) -> Self {
        Self { view, tools, registry, index: Arc::default() }
    }

    /// The same tools under another view of the same registry.
    #[must_use]
    pub fn with(&self, view: View) -> Self {
        let tools = self.tools.clone();
        let (registry, index) = (Arc::clone(&self.registry), Arc::clone(&self.index));
        Self { view, tools, registry, index }
    }

    /// The index for searches among the tools of its registry, built when it is first asked for.
    pub fn index(&self) -> &SearchIndex {
        self.index.get_or_init(|| SearchIndex::build(&self.registry))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ViewKey {
    goal: Option<String>,
    actions: Vec<ActionType>,
    domains: Vec<String>,
    excluded: BTreeSet<ToolId>,
    blocks: Blocks,
    availability: Arc<Availability>,
    matched: Matched,
    // In no order: a view does not depend on which search came first.
    activated: BTreeSet<ToolId>,
    failures: BTreeMap<ToolId, u32>,
    principal: Principal,
    // A compiled view carries its tools as this dialect spells them.
    dialect: (Dialect, TextRules),
}

/// Compiled views are remembered up to this many; then the memory starts anew.
const REMEMBERED: usize = 1 << 12;

/// Compiled views by what they depend on.
#[derive(Debug, Default)]
pub struct ViewCache {
    views: Mutex<HashMap<ViewKey, Arc<CompiledView>>>,
    index: Arc<OnceLock<SearchIndex>>,
}

impl Resolved {
    /// Whether asking again is the tool's purpose.
    pub fn is_polling(&self, tool: &Registered) -> bool {
        tool.descriptor.execution.polling
    }

    /// Whether the duplicate guard leaves a tool alone: by name, as a poll, or as delegation.
    pub fn is_exempt(&self, tool: &Registered) -> bool {
        let delegates = tool.descriptor.intent.action_types.contains(&ActionType::SubagentDelegate);
        self.is_polling(tool) || delegates || self.knobs.duplicate_exempt.contains(tool.id())
    }

    /// All tools that the duplicate guard leaves alone.
    pub fn exempt(&self) -> Vec<ToolId> {
        let exempt = self.registry.iter().filter(|tool| self.is_exempt(tool));
        exempt.map(|tool| tool.id().clone()).collect()
    }

    /// The scoped registry: what may be shown, activated, run or handed to a delegate.
    pub fn scoped(&self) -> Scoped<'_> {
        scoped(&self.registry, &self.availability, &self.excluded)
    }

    /// The view for the present state, compiled or remembered. `message` is what the user said in
    /// this turn, `activated` what this turn's searches found, `blocks` what the session has lost.
    pub fn view(
        &self,
        (failures, activated, blocks): (&BTreeMap<ToolId, u32>, &ActivatedSet, &Blocks),
        message: &str,
        may_expose: MayExpose,
    ) -> Arc<CompiledView> {
        let matched = self.availability.matched(message);
        let key = self.key((failures, activated, blocks), matched.clone());
        let mut views = self.views.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = views.get(&key) {
            return Arc::clone(known);
        }
        if views.len() >= REMEMBERED {
            views.clear();
        }
        let view = compile(&ViewRequest {
            registry: &self.registry,
            principal: &self.principal,
            rules: &self.rules,
            intent: &self.intent.1,
            environment: &self.environment,
            excluded: &self.excluded,
            blocks,
            availability: &self.availability,
            matched: &matched,
            activated,
            failures,
            may_expose,
        });
        let tools = self.knobs.dialect.tools(&view, self.knobs.rendering, self.knobs.text);
        let alone = CompiledView::new(view, tools, Arc::clone(&self.registry));
        let compiled = Arc::new(CompiledView { index: Arc::clone(&self.views.index), ..alone });
        views.insert(key, Arc::clone(&compiled));
        compiled
    }

    fn key(
        &self,
        (failures, activated, blocks): (&BTreeMap<ToolId, u32>, &ActivatedSet, &Blocks),
        matched: Matched,
    ) -> ViewKey {
        let intent = &self.intent.1;
        let reads_goal = self.registry.iter().any(|tool| {
            let section = &tool.descriptor.intent;
            !section.required_user_intent.is_empty() || !section.negative_intent_hints.is_empty()
        });
        ViewKey {
            goal: reads_goal.then(|| intent.user_goal.clone()),
            actions: intent.action_types.clone(),
            domains: intent.domains.clone(),
            excluded: self.excluded.clone(),
            blocks: blocks.clone(),
            availability: Arc::clone(&self.availability),
            matched,
            activated: activated.iter().cloned().collect(),
            failures: failures.clone(),
            principal: self.principal.clone(),
            dialect: (self.knobs.dialect, self.knobs.text),
        }
    }
}
