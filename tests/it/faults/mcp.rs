//! Tools of MCP servers: every one judged alone, each under a name of its own, called only where
//! it was shown.

use proofmark::runtime::catalog::source::{ServerName, Severity, mcp};
use proofmark::runtime::catalog::{Registered, Registry, alias};
use proofmark::runtime::policy::{Decision, Rules, decide};
use proofmark::runtime::view::activation::search_tool;
use proofmark::runtime::view::availability::{Availability, Deferred};
use proofmark::runtime::view::pattern::Pattern;
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::id::ToolId;
use serde_json::{Value, json};

use super::Row;
use super::record::{count, outcomes, requests, shown};
use super::scene::{Play, ask, say, saying, with_schema};
use crate::tools::dev;

pub const ROWS: &[Row] = &[
    ("B151", || {
        let mode = json!({"type": "object", "properties": {
            "mode": {"enum": ["dry", "live"]},
            "at": {"oneOf": [{"type": "integer"}, {"type": "string", "format": "date"}]},
            "kind": {"const": "x"},
        }});
        let tool = listed("srv", &[("run", mode.clone())]).remove(0);
        assert_eq!(tool.schemas.input_schema, mode, "every branch and every choice is kept");
        let registered = Registered::new(tool).unwrap();
        let fits = |args: Value| registered.input.errors(&args).is_empty();
        assert!(fits(json!({"mode": "dry", "at": "2031-01-01", "kind": "x"})));
        assert!(fits(json!({"mode": "live", "at": 7})));
        let wrong = [json!({"mode": "wet"}), json!({"at": []}), json!({"kind": "y"})];
        assert!(wrong.into_iter().all(|args| !fits(args)));
    }),
    ("B153", || {
        let odd = json!({"type": "object", "properties": {"q": {"type": "text"}}});
        let tools = [("ok", json!({"type": "object"})), ("odd", odd)];
        let raw: Vec<Value> = tools
            .iter()
            .map(|(name, schema)| json!({"name": name, "description": "d", "inputSchema": schema}))
            .collect();
        let imported = mcp::import(&ServerName::sanitized("srv"), &raw);
        assert_eq!(imported.descriptors.len(), 2);
        assert_eq!(imported.count(Severity::Unusable), 1, "and a person is told which, and why");
        assert!(imported.problems.iter().all(|problem| problem.tool == "srv.odd"));
        assert!(Registry::new(imported.descriptors).is_ok(), "the other one works");
    }),
    ("B154", || {
        let schema = json!({"type": "object", "properties": {
            "type": {"type": "string"}, "properties": {"type": "integer"},
            "required": {"type": "boolean"}}, "required": ["type"]});
        let tool = listed("srv", &[("t", schema.clone())]).remove(0);
        assert_eq!(tool.schemas.input_schema, schema);
        let registered = Registered::new(tool).unwrap();
        let errors = registered.input.errors(&json!({"type": "a", "properties": "x"}));
        let places: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(places, ["/properties"]);
    }),
    ("B156", || {
        let deploy = || [("deploy", json!({"type": "object"}))];
        let both = [listed("staging", &deploy()), listed("prod", &deploy())].concat();
        let registry = Registry::new(both).unwrap();
        let ids: Vec<&str> = registry.iter().map(|tool| tool.id().as_str()).collect();
        assert_eq!(ids, ["prod.deploy", "staging.deploy"], "both can be reached");
        // The same server twice is an error, and nobody is dropped in silence.
        let twice = [listed("prod", &deploy()), listed("prod", &deploy())].concat();
        assert!(Registry::new(twice).is_err());
    }),
    ("B158", || {
        let tools =
            [("stock.find", json!({"type": "object"})), ("stock_find", json!({"type": "object"}))];
        let tools = listed("shop", &tools);
        let ids: Vec<ToolId> = tools.iter().map(|tool| tool.tool_id.clone()).collect();
        let names = alias::aliases(ids.iter());
        assert_ne!(names[&ids[0]], names[&ids[1]], "each has a name of its own");
        let decided = decisions(tools, "shop.stock.find");
        assert_eq!(decided, [Decision::Deny, Decision::Allow], "and its own permission");
    }),
    ("B159", || {
        let page = || [("get_page", json!({"type": "object"}))];
        let tools = [listed("team.wiki", &page()), listed("team_wiki", &page())].concat();
        let decided = decisions(tools.clone(), "team.wiki.*");
        assert_eq!(decided, [Decision::Deny, Decision::Allow]);
        let policy = proofmark::runtime::view::availability::McpPolicy {
            servers: Some(["team.wiki".to_owned()].into()),
            ..Default::default()
        };
        let mut scene = crate::tools::Scene::new(tools);
        scene.availability = Availability { mcp: vec![policy], ..Availability::default() };
        let shown: Vec<String> =
            scene.view().exposed.iter().map(|tool| tool.tool_id.to_string()).collect();
        assert_eq!(shown, ["team.wiki.get_page"]);
    }),
    ("B165", || {
        let guide = "Error: handling guide, chapter 1";
        let mut tool = saying("docs.get", "L0", guide);
        tool.source.r#type = proofmark::tool::descriptor::SourceType::Mcp;
        let script = vec![ask(&[("docs_get", "{}")]), say("ok")];
        let played = Play::new(vec![tool], script).ends();
        assert_eq!(outcomes(&played.journal), ["docs_get succeeded"]);
        assert!(shown(&played.journal, 0).starts_with(guide));
        assert_eq!(count(&played.journal, "ReceiptIssued"), 1);
    }),
    ("B172", || {
        let find = ("tool_search", "{\"query\":\"select:user.ask\"}");
        let (wrong, right) =
            (("user_ask", "{\"question\":\"?\"}"), ("user_ask", "{\"questions\":[\"?\"]}"));
        let script =
            vec![ask(&[find]), ask(&[wrong]), ask(&[right]), say("ok"), ask(&[right]), say("ok")];
        let played = Play { turns: 2, ..deferred("user.ask", script) }.ends();
        let ends = [
            "tool_search succeeded",
            "user_ask rejected:/question",
            "user_ask succeeded",
            "user_ask unavailable:withheld",
        ];
        assert_eq!(outcomes(&played.journal), ends);
        let schema = "\"questions\":{\"type\":\"array\"}";
        let told: Vec<bool> =
            requests(&played.journal).iter().map(|(tools, _)| tools.contains(schema)).collect();
        // From the search on, and after the mistake too; in another turn it must be found again.
        assert_eq!(told, [false, true, true, true, false, false]);
    }),
    ("B173", || {
        for name in ["index_wipe", "index.wipe"] {
            let script = vec![ask(&[(name, "{}")]), say("ok")];
            let played = deferred("index.wipe", script).ends();
            assert_eq!(outcomes(&played.journal), [format!("{name} unavailable:withheld")]);
            assert_eq!(count(&played.journal, "ToolCallStarted"), 0);
            let (tools, _) = &requests(&played.journal)[1];
            assert!(tools.contains("tool_search") && !tools.contains("index_wipe"));
        }
        // Found in the same reply it cannot be called yet, and the model is told what to do.
        let list = [("tool_search", "{\"query\":\"select:index.wipe\"}"), ("index_wipe", "{}")];
        let played = deferred("index.wipe", vec![ask(&list), say("ok")]).ends();
        assert!(shown(&played.journal, 1).contains("call it again"));
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

/// What becomes of a server's tools, by name and schema.
fn listed(server: &str, tools: &[(&str, Value)]) -> Vec<Descriptor> {
    let raw: Vec<Value> = tools
        .iter()
        .map(|(name, schema)| json!({"name": name, "description": "d", "inputSchema": schema}))
        .collect();
    let imported = mcp::import(&ServerName::parse(server).unwrap(), &raw);
    assert_eq!(imported.descriptors.len(), tools.len());
    imported.descriptors
}

/// What policy says of each tool, where one rule allows everything and another denies a glob.
fn decisions(tools: Vec<Descriptor>, denied: &str) -> Vec<Decision> {
    let ids: Vec<ToolId> = tools.iter().map(|tool| tool.tool_id.clone()).collect();
    let registry = Registry::new(tools).unwrap();
    let (rule, principal) = (
        |id: &str, decision: &str, glob: &str| {
            json!({"id": id, "decision": decision, "reason": "r", "when": {"tools": [glob]},
            "examples": [{"tool": ids[0]}]})
        },
        dev("external_read"),
    );
    let rules = json!({"schema": "proofmark/rules@1",
        "rules": [rule("all", "allow", "*"), rule("none", "deny", denied)]});
    let rules = Rules::parse("rules", &rules.to_string(), &registry, &principal).unwrap();
    let tools = ids.iter().map(|id| registry.get(id).unwrap());
    tools.map(|tool| decide(tool, &json!({}), &principal, &rules).decision).collect()
}

/// A tool behind a search.
fn deferred(id: &str, script: Vec<proofmark::runtime::provider::scripted::Step>) -> Play {
    let schema = json!({"type": "object", "properties": {"questions": {"type": "array"}},
        "additionalProperties": false});
    let tools = vec![with_schema(id, "L0", schema, ""), search_tool()];
    let deferred = vec![Deferred::Tools(Pattern::new(id))];
    let availability = Availability { deferred, ..Availability::default() };
    Play { availability, ..Play::new(tools, script) }
}
