//! Deferred tools: the search that stands for them in a request, and those it has activated.

use serde_json::json;

use super::lease::View;
use super::scope::Scoped;
use crate::runtime::catalog::Registered;
use crate::tool::descriptor::{
    Description, Descriptor, Effects, FORMAT, IntentSection, Lifecycle, LifecycleStatus, Schemas,
};
use crate::tool::effect::ActionType;
use crate::tool::id::ToolId;

/// The id of the built search.
pub const SEARCH: &str = "tool_search";
/// The adapter by which a search is known, whatever its id.
pub const ADAPTER: &str = "builtin:tool_search";
/// How many tools a search answers unless it is told.
pub const DEFAULT_LIMIT: usize = 5;
/// How many tools a search answers at most.
pub const MAX_LIMIT: usize = 20;

/// Whether a tool is the search. It never runs in parallel with anything.
pub fn is_search(tool: &Registered) -> bool {
    tool.descriptor.execution.adapter == ADAPTER
}

/// The search as a tool: reads, L0, enabled.
pub fn search_tool() -> Descriptor {
    let mut tool = Descriptor {
        schema: FORMAT.to_owned(),
        tool_id: ToolId::sanitized(SEARCH),
        canonical_name: None,
        display_name: None,
        version: None,
        source: Default::default(),
        lifecycle: Lifecycle { status: LifecycleStatus::Enabled, ..Lifecycle::default() },
        description: Description {
            summary: "Find further tools and make them callable from your next reply on."
                .to_owned(),
            use_when: vec!["No tool of this request does what is asked.".to_owned()],
            do_not_use_when: vec!["A tool of this request does what is asked.".to_owned()],
            examples: Vec::new(),
        },
        intent: IntentSection { action_types: vec![ActionType::Search], ..Default::default() },
        schemas: Schemas { input_schema: input_schema(), ..Schemas::default() },
        effects: Effects { idempotent: true, ..Effects::default() },
        risk: Default::default(),
        permissions: Default::default(),
        sandbox: Default::default(),
        credentials: Default::default(),
        context_policy: Default::default(),
        execution: Default::default(),
        hooks: Default::default(),
        observability: Default::default(),
        provenance: Default::default(),
        subagent: None,
    };
    ADAPTER.clone_into(&mut tool.execution.adapter);
    tool.version = Some(tool.content_digest());
    tool
}

fn input_schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "description": "What the tool should do, in words; or `select:NAME,NAME` for \
                                exactly these tools",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIMIT,
                "default": DEFAULT_LIMIT,
                "description": "How many tools at most",
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}

/// The tools that the searches of one turn activated: in the order of the searches, those of one
/// search by id. It lives as long as the turn and only grows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActivatedSet {
    tools: Vec<ToolId>,
}

impl ActivatedSet {
    /// Adds what a search found under a view, and says what was new. Only tools that wait in that
    /// view are added: anything excluded, denied or unknown changes nothing.
    pub fn activate(&mut self, found: &[ToolId], view: &View) -> Vec<ToolId> {
        let waits = |id: &ToolId| view.waiting.iter().any(|lease| lease.tool.id() == id);
        let mut new: Vec<ToolId> =
            found.iter().filter(|id| waits(id) && !self.contains(id)).cloned().collect();
        new.sort();
        new.dedup();
        self.tools.extend(new.iter().cloned());
        new
    }

    /// What a delegate is granted of it: the tools inside the delegate's own scope.
    #[must_use]
    pub fn within(&self, scope: &Scoped<'_>) -> Self {
        let inside = |id: &&ToolId| scope.get(id).is_some();
        Self { tools: self.tools.iter().filter(inside).cloned().collect() }
    }

    /// Whether a tool was activated.
    pub fn contains(&self, id: &ToolId) -> bool {
        self.tools.contains(id)
    }

    /// The tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &ToolId> {
        self.tools.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

/// Tools that a record says were activated, in its order.
impl Extend<ToolId> for ActivatedSet {
    fn extend<T: IntoIterator<Item = ToolId>>(&mut self, tools: T) {
        for tool in tools {
            if !self.contains(&tool) {
                self.tools.push(tool);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::effect::EffectClass;
    use crate::tool::manifest;
    use crate::tool::risk::Level;

    #[test]
    fn the_search_is_a_tool_like_any_other() {
        let tool = search_tool();
        let written = serde_json::to_string(&tool).unwrap();
        assert_eq!(manifest::parse("t.json", &written), Ok(tool.clone()), "it is a manifest");
        let registered = Registered::new(tool).unwrap();
        assert_eq!((registered.level, registered.class), (Level::L0, EffectClass::Read));
        assert!(is_search(&registered));
        let accepts = |args| registered.input.errors(&args).is_empty();
        assert!(accepts(json!({"query": "mail"})) && accepts(json!({"query": "a", "limit": 20})));
        for wrong in [json!({}), json!({"query": ""}), json!({"query": "a", "limit": 21})] {
            assert!(!accepts(wrong.clone()), "{wrong}");
        }
    }
}
