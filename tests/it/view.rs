//! What one request may see, and why not the rest.

use std::collections::BTreeSet;

use proofmark::journal::outcome::Unavailability;
use proofmark::runtime::view::Environment;
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::effect::ActionType;
use proofmark::tool::id::ToolId;

use crate::tools::{Scene, dev, sections, tool};

fn id(text: &str) -> ToolId {
    ToolId::parse(text).unwrap()
}

/// Compiles a view over one tool `t.x` and compares `exposed: REASON` or `FILTER: REASON`.
fn check(tool: Descriptor, change: impl FnOnce(&mut Scene), expected: &str) {
    let mut scene = Scene::new(vec![tool]);
    change(&mut scene);
    let view = scene.view();
    let exposed = view.exposed.iter().map(|tool| format!("exposed: {}", tool.reason));
    let withheld = view.withheld.iter().map(|tool| format!("{}: {}", tool.filter, tool.reason));
    let found: Vec<String> = exposed.chain(withheld).collect();
    assert_eq!(found, [expected]);
    let by_id = view.resolve("t.x").map(|tool| tool.id().to_string());
    assert_eq!(by_id, view.resolve("t_x").map(|tool| tool.id().to_string()), "both spellings");
    let expected = match expected.split_once(':').unwrap().0 {
        "exposed" => Ok("t.x".to_owned()),
        "excluded" => Err(Unavailability::Excluded),
        _ => Err(Unavailability::Withheld),
    };
    assert_eq!(by_id, expected);
    assert_eq!(view.resolve("T.X").map(|tool| tool.id().clone()), Err(Unavailability::Unknown));
}

const PLAIN: &str = "exposed: no action is declared, any may serve; ";

#[test]
fn every_lifecycle_state() {
    for (status, evaluation, expected) in [
        ("enabled", false, format!("{PLAIN}L0 reads inside")),
        ("enabled", true, format!("{PLAIN}L0 reads inside")),
        ("verified", true, format!("{PLAIN}L0 reads inside")),
        ("verified", false, "lifecycle: verified, and not enabled outside evaluations".to_owned()),
        ("discovered", true, "lifecycle: discovered, and not verified".to_owned()),
        ("disabled", true, "lifecycle: disabled".to_owned()),
        ("deprecated", true, "lifecycle: deprecated".to_owned()),
        ("blocked", true, "lifecycle: blocked".to_owned()),
    ] {
        let tool = tool("t.x", "L0", &format!("lifecycle: {{status: {status}}}\n"));
        check(tool, |scene| scene.environment.evaluation = evaluation, &expected);
    }
}

#[test]
fn every_other_filter() {
    let plain = || tool("t.x", "L0", "");
    check(
        plain(),
        |scene| scene.excluded = BTreeSet::from([id("t.x")]),
        "excluded: named in excluded_tools",
    );
    check(
        tool("t.x", "L0", &sections("scope:s1")),
        |_| {},
        "policy: dev lacks scope s1; L0 reads inside",
    );
    check(
        tool("t.x", "L2", ""),
        |scene| scene.principal = dev(""),
        "policy: dev lacks scope workspace_write; L2 writes the workspace with its scope",
    );
    check(tool("t.x", "L5", ""), |_| {}, &format!("{PLAIN}L5 destroys or administers"));
    check(
        tool("t.x", "L0", "contextPolicy: {exposeToModel: false}\n"),
        |_| {},
        "context: its context policy keeps it from models",
    );
    check(
        tool("t.x", "L0", "execution: {adapter: 'builtin:file.write'}\n"),
        |_| {},
        "environment: sandbox mode read_only cannot be enforced for builtin:file.write",
    );
    check(
        tool("t.x", "L0", "execution: {adapter: 'builtin:sh'}\n"),
        |_| {},
        "environment: adapter `builtin:sh` does not exist",
    );
    let command = "sandbox: {mode: none}\nexecution: {adapter: 'builtin:command.run'";
    check(
        tool("t.x", "L0", &format!("{command}, command: [no-such-program-here]}}\n")),
        |_| {},
        "environment: program no-such-program-here is not installed",
    );
    check(
        tool("t.x", "L0", &format!("{command}}}\n")),
        |_| {},
        "environment: execution.command is empty",
    );
}

#[test]
fn credentials_and_money() {
    let keyed =
        || tool("t.x", "L0", "credentials: {strategy: system, requiredSecrets: [KEY_A, KEY_B]}\n");
    let held = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    check(keyed(), |_| {}, &format!("{PLAIN}L0 reads inside"));
    check(
        keyed(),
        |scene| scene.environment.credentials = held(&["KEY_A", "KEY_B"]),
        &format!("{PLAIN}L0 reads inside"),
    );
    check(
        keyed(),
        |scene| scene.environment.credentials = held(&["KEY_A"]),
        "environment: credential KEY_B is not held",
    );
    let paid = || tool("t.x", "L0", "sandbox: {limits: {maxCostUsd: 0.5}}\n");
    for (left, expected) in [
        (None, format!("{PLAIN}L0 reads inside")),
        (Some(0.5), format!("{PLAIN}L0 reads inside")),
        (Some(0.25), "environment: may cost 0.5 US dollars, 0.25 are left".to_owned()),
    ] {
        check(paid(), |scene| scene.environment.budget_usd = left, &expected);
    }
}

#[test]
fn intent_matches_capability() {
    let plain = |more: &str| tool("t.x", "L0", &format!("intent: {{actionTypes: [read]{more}}}\n"));
    let goal = |text: &'static str| move |scene: &mut Scene| scene.intent.user_goal = text.into();
    let actions = |list: &'static [ActionType]| {
        move |scene: &mut Scene| scene.intent.action_types = list.to_vec()
    };
    check(
        plain(""),
        actions(&[ActionType::Delete]),
        "intent: none of its action types is intended",
    );
    check(
        plain(""),
        actions(&[ActionType::Read]),
        "exposed: serves the intent: 1 action types and 0 domains match; L0 reads inside",
    );
    check(
        plain(", domains: [files, mail]"),
        |scene| scene.intent.domains = vec!["mail".to_owned(), "files".to_owned()],
        "exposed: serves the intent: 0 action types and 2 domains match; L0 reads inside",
    );
    let required = ", requiredUserIntent: [refund]";
    check(plain(required), goal("Please REFUND me"), &format!("{PLAIN}L0 reads inside"));
    check(plain(required), goal("pay me"), "intent: the goal names none of its required words");
    let negative = ", negativeIntentHints: [production]";
    check(plain(negative), goal("deploy to staging"), &format!("{PLAIN}L0 reads inside"));
    check(
        plain(negative),
        goal("deploy to Production"),
        "intent: the goal names a word that speaks against it",
    );
}

#[test]
fn the_budget_cuts_the_strictest_the_failing_and_the_last() {
    let mut scene = Scene::new(vec![
        tool("e.send", "L4", ""),
        tool("d.read", "L0", ""),
        tool("c.read", "L0", ""),
        tool("b.read", "L0", ""),
        tool("a.delete", "L5", ""),
        tool("f.mail", "L4", "intent: {actionTypes: [external_send], domains: [mail]}\n"),
    ]);
    scene.intent.domains = vec!["mail".to_owned()];
    scene.failures.insert(id("b.read"), 2);
    scene.failures.insert(id("c.read"), 1);
    let order = |scene: &Scene| -> Vec<String> {
        scene.view().leases.iter().map(|lease| lease.tool.id().to_string()).collect()
    };
    let all = ["f.mail", "d.read", "c.read", "b.read", "e.send", "a.delete"];
    assert_eq!(order(&scene), all);
    for room in 0..=7 {
        scene.environment = Environment { max_tools: room, ..scene.environment.clone() };
        let view = scene.view();
        assert_eq!(order(&scene), all[..room.min(6)]);
        let cut: Vec<(String, &str, &str)> = view
            .withheld
            .iter()
            .map(|tool| (tool.tool_id.to_string(), tool.filter.as_str(), tool.reason.as_str()))
            .collect();
        let reasons: Vec<String> = (room + 1..=6)
            .map(|place| format!("rank {place} of at most {room} tools a request may show"))
            .collect();
        let expected: Vec<(String, &str, &str)> = all[room.min(6)..]
            .iter()
            .zip(&reasons)
            .map(|(name, reason)| ((*name).to_owned(), "budget", reason.as_str()))
            .collect();
        assert_eq!(cut, expected);
    }
}

#[test]
fn the_digest_says_what_is_seen_and_nothing_else() {
    let tools = || vec![tool("a.x", "L0", ""), tool("b.x", "L4", ""), tool("c.x", "L2", "")];
    let digest = Scene::new(tools()).view().digest;
    let mut reversed = tools();
    reversed.reverse();
    assert_eq!(Scene::new(reversed).view().digest, digest);
    let mut excluded = Scene::new(tools());
    excluded.excluded.insert(id("a.x"));
    assert_ne!(excluded.view().digest, digest);
    let mut edited = tools();
    edited[0].description.summary.push('!');
    assert_ne!(Scene::new(edited).view().digest, digest);
    let view = Scene::new(Vec::new()).view();
    assert_eq!((view.leases.len(), view.withheld.len()), (0, 0));
}
