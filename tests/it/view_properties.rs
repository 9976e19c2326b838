//! What holds of every view, whatever a run makes available.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proofmark::base::canon::content_digest;
use proofmark::runtime::catalog::Registry;
use proofmark::runtime::view::activation::search_tool;
use proofmark::runtime::view::availability::{Deferred, McpPolicy, RiskCap};
use proofmark::runtime::view::group::Group;
use proofmark::runtime::view::pattern::Pattern;
use proofmark::runtime::view::{Availability, View, scoped};
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::id::ToolId;
use proofmark::tool::risk::Level;
use proptest::prelude::*;
use serde_json::json;

use crate::tools::{Scene, tool};
use crate::view_availability::{group, id, lines, mcp, places};

fn shown(view: &View) -> BTreeSet<ToolId> {
    view.exposed.iter().map(|tool| tool.tool_id.clone()).collect()
}

/// Tools in every combination of source and level that matters here.
static ZOO: LazyLock<Vec<Descriptor>> = LazyLock::new(|| {
    let mut tools = vec![search_tool()];
    for (index, level) in ["L0", "L1", "L2", "L4", "L5"].into_iter().enumerate() {
        tools.push(tool(&format!("own.t{index}"), level, ""));
        tools.push(mcp(&format!("a.t{index}"), "a", level));
        tools.push(mcp(&format!("b.t{index}"), "b", level));
    }
    tools
});

/// The same, compiled once.
static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::new(ZOO.clone()).unwrap());

fn some_patterns() -> impl Strategy<Value = Vec<Pattern>> {
    let text = "[ab]\\.t[0-4]|own\\.t[0-4]|[ab]\\.\\*|own\\.\\*|\\*|a\\.t\\[0\\]|b\\.\\?|no";
    prop::collection::vec(text.prop_map(|text| Pattern::new(&text)), 0..4)
}

prop_compose! {
    fn some_availability()(
        groups in prop::collection::vec((some_patterns(), any::<bool>()), 0..4),
        deferred in some_patterns(),
        narrowing in prop::collection::vec(some_patterns(), 0..2),
        policies in prop::collection::vec(
            (prop::option::of("[abc]"), prop::option::of(some_patterns()), some_patterns()), 0..2),
        cap in 0..8_usize,
    ) -> Availability {
        let words: [&[&str]; 2] = [&[], &["red"]];
        let group = |(index, (tools, dynamic)): (usize, (Vec<Pattern>, bool))| Group {
            tools, ..group(&format!("g{index}"), &[], words[usize::from(dynamic)])
        };
        let levels = [Level::L0, Level::L1, Level::L2, Level::L3, Level::L4];
        Availability {
            groups: groups.into_iter().enumerate().map(group).collect(),
            deferred: deferred.into_iter().map(Deferred::Tools).collect(),
            narrowing,
            mcp: policies.into_iter().map(|(server, tools, deny)| McpPolicy {
                servers: server.map(|name| BTreeSet::from([name])), tools, deny,
            }).collect(),
            risk_cap: RiskCap { level: levels.get(cap).copied(), ..RiskCap::default() },
        }
    }
}

prop_compose! {
    fn some_scene()(
        availability in some_availability(),
        excluded in prop::collection::btree_set("[ab]\\.t[0-4]|own\\.t[0-4]|tool_search", 0..3),
        message in prop_oneof![Just("a red one"), Just("a reddish one")],
    ) -> Scene {
        let mut scene = Scene::new(Vec::new());
        scene.registry = REGISTRY.clone();
        scene.availability = availability;
        scene.excluded = excluded.iter().map(|text| id(text)).collect();
        message.clone_into(&mut scene.message);
        scene
    }
}

fn again(scene: &Scene, registry: Registry, availability: Availability) -> Scene {
    let mut other = Scene::new(Vec::new());
    other.registry = registry;
    (other.availability, other.excluded) = (availability, scene.excluded.clone());
    (other.message, other.activated) = (scene.message.clone(), scene.activated.clone());
    other
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Scene");
        shown.field("availability", &self.availability).field("excluded", &self.excluded);
        shown.field("message", &self.message).field("activated", &self.activated).finish()
    }
}

fn few() -> ProptestConfig {
    ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn a_view_is_inside_the_scope_and_every_tool_is_somewhere(
        scene in some_scene(),
        shuffled in Just(ZOO.clone()).prop_shuffle(),
    ) {
        let view = scene.view();
        let scope = scoped(&scene.registry, &scene.availability, &scene.excluded);
        prop_assert!(shown(&view).iter().all(|id| scope.get(id).is_some()));
        prop_assert!(view.waiting.iter().all(|lease| scope.get(lease.tool.id()).is_some()));
        prop_assert_eq!(places(&view).len(), scene.registry.len());
        prop_assert_eq!(view.exposed.len() + view.withheld.len(), scene.registry.len());
        let shuffled = Registry::new(shuffled).unwrap();
        let permuted = again(&scene, shuffled, scene.availability.clone()).view();
        prop_assert_eq!(lines(&permuted), lines(&view));
        prop_assert_eq!(permuted.digest, view.digest);
        let content = json!({"exposed": &view.exposed, "withheld": &view.withheld});
        prop_assert_eq!(content_digest("view", &content), view.digest);
    }

    #[test]
    fn bounds_and_groups_only_take_away(scene in some_scene(), more in some_availability()) {
        let with = |change: &dyn Fn(&mut Availability)| {
            let mut availability = scene.availability.clone();
            change(&mut availability);
            shown(&again(&scene, REGISTRY.clone(), availability).view())
        };
        let now = shown(&scene.view());
        let tighter = with(&|a| {
            a.narrowing.extend(more.narrowing.clone());
            a.mcp.extend(more.mcp.clone());
            a.risk_cap = a.risk_cap.tightest(more.risk_cap);
        });
        prop_assert!(tighter.is_subset(&now));
        let free = with(&|a| (a.groups.clear(), a.deferred.clear()).0);
        let mut stood_for = free.clone();
        stood_for.insert(id("tool_search"));
        prop_assert!(now.is_subset(&stood_for), "neither groups nor deferral grant");
        let grouped = with(&|a| a.deferred.clear());
        prop_assert!(grouped.is_subset(&free), "groups only hide");
    }

    #[test]
    fn activation_only_grows_and_never_leaves_the_scope(
        mut scene in some_scene(),
        found in prop::collection::vec(
            prop::collection::vec("[ab]\\.t[0-4]|own\\.t[0-4]|no|tool_search", 0..5), 0..5),
    ) {
        let mut before = scene.view();
        for names in found {
            let ids: Vec<ToolId> = names.iter().map(|name| id(name)).collect();
            let earlier: Vec<ToolId> = scene.activated.iter().cloned().collect();
            let new = scene.activated.activate(&ids, &before);
            let all: Vec<ToolId> = scene.activated.iter().cloned().collect();
            prop_assert!(all.starts_with(&earlier) && all.ends_with(&new) && new.is_sorted());
            let scope = scoped(&scene.registry, &scene.availability, &scene.excluded);
            let asked = |id: &ToolId| earlier.contains(id) || ids.contains(id);
            prop_assert!(all.iter().all(|id| scope.get(id).is_some() && asked(id)));
            let after = scene.view();
            let mut kept = shown(&before);
            kept.remove(&id("tool_search"));
            prop_assert!(kept.is_subset(&shown(&after)), "what was shown stays");
            prop_assert!(all.iter().all(|id| shown(&after).contains(id)));
            before = after;
        }
    }
}
