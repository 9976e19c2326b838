use serde_json::json;

use super::*;
use crate::tool::{manifest, short};

fn check(value: &Value, names: &[&str], problems: &[(Severity, &str)]) -> Imported {
    let imported = import(Some("app"), value).unwrap();
    let found: Vec<&str> =
        imported.descriptors.iter().filter_map(|d| d.canonical_name.as_deref()).collect();
    assert_eq!(found, names, "{value}");
    let listed: Vec<(Severity, &str)> =
        imported.problems.iter().map(|p| (p.severity, p.message.as_str())).collect();
    let fits = listed.len() == problems.len()
        && listed.iter().zip(problems).all(|(f, e)| f.0 == e.0 && f.1.contains(e.1));
    assert!(fits, "{value}\nfound {listed:?}\nexpected {problems:?}");
    for descriptor in &imported.descriptors {
        let text = short::write(descriptor);
        assert_eq!(manifest::parse("t.yaml", &text).as_ref(), Ok(descriptor), "\n{text}");
    }
    imported
}

#[test]
fn every_form_gives_the_same_descriptor() {
    let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}});
    let (name, description) = ("create_x", "Creates x.");
    let bare = json!({"name": name, "description": description, "parameters": schema});
    let mut responses = bare.clone();
    responses["type"] = json!("function");
    let chat = json!({"type": "function", "function": bare});
    let anthropic = json!({"name": name, "description": description, "input_schema": schema});
    let listed = json!({"name": name, "description": description, "inputSchema": schema});
    let expected = check(&json!([bare]), &[name], &[]);
    assert_eq!(expected.descriptors[0].schemas.input_schema, schema);
    assert_eq!(expected.descriptors[0].tool_id.as_str(), "app.create_x");
    assert!(expected.descriptors[0].effects.mutates_state);
    for tool in [responses, chat, anthropic, listed] {
        assert_eq!(check(&json!([tool]), &[name], &[]), expected, "{tool}");
        assert_eq!(check(&json!({"model": "m", "tools": [tool]}), &[name], &[]), expected);
    }
    let plain = import(None, &json!([bare])).unwrap();
    assert_eq!(plain.descriptors[0].tool_id.as_str(), name);
}

#[test]
fn other_fields_are_kept() {
    let chat = json!({"type": "function", "cache_control": {"type": "ephemeral"}, "function":
        {"name": "add_x", "description": "x", "strict": true, "parameters": {"type": "object"}}});
    let imported = check(&json!([chat]), &["add_x"], &[]);
    let foreign = Value::Object(imported.descriptors[0].provenance.foreign.clone());
    assert_eq!(foreign, json!({"cache_control": {"type": "ephemeral"}, "strict": true}));
    let broken = json!({"name": "add_x", "description": "x", "input_schema": {"type": "array"}});
    let imported = check(&json!([broken]), &["add_x"], &[(Severity::Unusable, "`input_schema`")]);
    let foreign = Value::Object(imported.descriptors[0].provenance.foreign.clone());
    assert_eq!(foreign, json!({"input_schema": {"type": "array"}}));
}

#[test]
fn each_element_is_judged_alone() {
    let good = json!({"name": "add_x", "description": "x", "parameters": {"type": "object"}});
    for (element, severity, message) in [
        (json!(1), Severity::Lost, "it is a number"),
        (json!({"type": "web_search"}), Severity::Lost, "`web_search` is built into a provider"),
        (json!({"type": "function", "function": "x"}), Severity::Lost, "`function` is a text"),
        (json!({"type": "function", "function": {}}), Severity::Lost, "it has no name"),
        (json!({"name": 1}), Severity::Lost, "its name is a number"),
        (json!({"name": ""}), Severity::Lost, "its name is empty"),
    ] {
        let list = json!([good, element, good]);
        let imported = import(None, &list).unwrap();
        assert_eq!(imported.descriptors.len(), 2);
        let lost = &imported.problems.iter().find(|p| p.tool == "tool #2").unwrap();
        assert_eq!(lost.severity, severity);
        assert!(lost.message.contains(message), "{lost}");
    }
    let custom = json!({"type": "custom", "name": "run_sql", "description": "x", "format": {}});
    let expected = [(Severity::Repaired, "`parameters` is missing")];
    check(&json!([custom]), &["run_sql"], &expected);
    let hosted = json!({"type": "bash_20250124", "name": "bash", "description": "x",
        "parameters": {"type": "object"}});
    check(&json!([hosted]), &["bash"], &[(Severity::Noted, "may be a provider's own")]);
}

#[test]
fn what_is_no_list_is_an_error() {
    for (value, found) in [
        (json!({}), "an object"),
        (json!(null), "null"),
        (json!("x"), "a text"),
        (json!({"tools": {}}), "an object"),
    ] {
        assert_eq!(import(None, &value), Err(ToolListError::NoList { found }), "{value}");
    }
    let error = import(Some("a b"), &json!([])).unwrap_err();
    assert!(error.to_string().starts_with("`a b` cannot stand"), "{error}");
    assert_eq!(import(Some("a"), &json!([])), Ok(Imported::default()));
}
