use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tool::descriptor::{Descriptor, LifecycleStatus, TrustLevel};
use crate::tool::schema::CompiledSchema;
use crate::tool::{manifest, short};

const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";

fn imported(tools: &[Value]) -> Imported {
    let imported = import(&ServerName::sanitized("srv"), tools);
    let lost = imported.count(Severity::Lost);
    assert_eq!(imported.descriptors.len() + lost, tools.len(), "{imported:?}");
    for descriptor in &imported.descriptors {
        let text = short::write(descriptor);
        let read = manifest::parse("t.yaml", &text);
        assert_eq!(read.as_ref(), Ok(descriptor), "\n{text}");
        assert!(CompiledSchema::compile(&descriptor.schemas.input_schema).is_ok());
        let lifecycle = descriptor.lifecycle.status;
        assert_eq!(lifecycle, LifecycleStatus::Verified);
        assert_eq!(descriptor.provenance.trust_level, TrustLevel::Untrusted);
        assert_eq!(descriptor.execution.adapter, "mcp");
        assert_eq!(descriptor.source.r#type, SourceType::Mcp);
    }
    imported
}

/// One tool between two good ones, which must come out untouched.
fn check(tool: Value, expected: &[(Severity, &str)]) -> Option<Descriptor> {
    let good = |name: &str| {
        json!({"name": name, "description": "Good.", "inputSchema":
        {"type": "object"}, "annotations": {"readOnlyHint": true}})
    };
    let alone = imported(&[good("first"), good("last")]);
    let imported = imported(&[good("first"), tool.clone(), good("last")]);
    assert_eq!(imported.descriptors.first(), alone.descriptors.first(), "{tool}");
    assert_eq!(imported.descriptors.last(), alone.descriptors.last(), "{tool}");
    let found: Vec<(Severity, &str)> =
        imported.problems.iter().map(|p| (p.severity, p.message.as_str())).collect();
    let fits = found.len() == expected.len()
        && found.iter().zip(expected).all(|(f, e)| f.0 == e.0 && f.1.contains(e.1));
    assert!(fits, "{tool}\nfound {found:?}\nexpected {expected:?}");
    (imported.descriptors.len() == 3).then(|| imported.descriptors[1].clone())
}

fn with_schema(schema: Value) -> Value {
    json!({"name": "get_x", "description": "Gets x.", "inputSchema": schema,
        "annotations": {"readOnlyHint": true}})
}

fn check_schema(schema: Value, expected: &[(Severity, &str)], becomes: Value, kept: bool) {
    let descriptor = check(with_schema(schema.clone()), expected).unwrap();
    assert_eq!(descriptor.schemas.input_schema, becomes, "{schema}");
    let foreign = descriptor.provenance.foreign.get("inputSchema");
    assert_eq!(foreign, kept.then_some(&schema), "{schema}");
}

#[test]
fn good_schemas_stay_as_they_are() {
    for schema in [
        json!({"type": "object"}),
        json!({"$schema": DRAFT_07, "type": "object", "definitions": {"n": {"type": "number"}},
            "properties": {"a": {"$ref": "#/definitions/n"}, "b": {"items": [{}, {}]}}}),
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "properties": {"a": {"prefixItems": [{}]}}}),
        json!({"type": "object", "properties": {"node": {"$ref": "#/$defs/node"}}, "$defs":
            {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}}),
        json!({"type": "object", "properties": {"a": true, "b": false, "c":
            {"$ref": "#/properties/a"}}, "additionalProperties": false}),
        json!({"type": "object", "properties": {"<<": {"type": ["array", "null"]}, "": {},
            "a: b": {"default": null, "maximum": 18446744073709551615_u64}}}),
        json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
    ] {
        check_schema(schema.clone(), &[], schema, false);
    }
}

#[test]
fn schemas_are_repaired_where_the_repair_is_certain() {
    let repaired = |message| [(Severity::Repaired, message)];
    let open = json!({"type": "object"});
    let ids = json!({"ids": {"items": [{"type": "integer"}]}});
    let draft = |dialect| json!({"$schema": dialect, "type": "object", "properties": ids});
    for (schema, message, becomes, kept) in [
        (json!({}), "does not say `type: object`; added", open.clone(), false),
        (
            json!({"$schema": DRAFT_07}),
            "does not say `type: object`; added",
            json!({"$schema": DRAFT_07, "type": "object"}),
            false,
        ),
        (
            json!({"anyOf": [{"type": "object"}]}),
            "does not say `type: object`; added",
            json!({"type": "object", "anyOf": [{"type": "object"}]}),
            false,
        ),
        (json!({"type": ["object", "null"]}), "allows more than an object", open.clone(), true),
        (json!(true), "is `true`", open.clone(), true),
        (Value::Null, "is missing", open.clone(), true),
        (
            draft(Value::Null),
            "unknown dialect null; read as draft-07",
            draft(DRAFT_07.into()),
            true,
        ),
        (
            json!({"type": "object", "properties": ids}),
            "no dialect and is no 2020-12 schema; read",
            draft(DRAFT_07.into()),
            true,
        ),
        (
            json!({"$schema": "https://x.invalid/s", "type": "object"}),
            "read as 2020-12",
            open.clone(),
            true,
        ),
    ] {
        check_schema(schema, &repaired(message), becomes, kept);
    }
    let tool = json!({"name": "get_x", "description": "x", "annotations": {"readOnlyHint": true}});
    let descriptor = check(tool, &repaired("`inputSchema` is missing")).unwrap();
    assert_eq!(descriptor.schemas.input_schema, open);
}

#[test]
fn schemas_that_cannot_be_used_are_replaced_and_kept_beside() {
    let mut deep = json!({});
    for _ in 0..60 {
        deep = json!({"not": deep});
    }
    for (schema, reason) in [
        (json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}), "/$defs/none"),
        (json!({"type": "object", "properties": {"a": {"$ref": "https://x.invalid/s.json"}}}), ""),
        (json!({"type": "object", "properties": {"a": {"type": "strin"}}}), "at `/properties/a"),
        (json!({"$schema": DRAFT_07, "type": "object", "properties": 5}), "at `/properties`"),
        (json!({"type": "string"}), "its type is \"string\""),
        (json!({"type": ["string", "null"]}), "arguments are always an object"),
        (json!({"type": "object", "properties": {"a": {"pattern": "("}}}), "at `/properties/a"),
        (json!(false), "a boolean"),
        (json!("object"), "it is a text"),
        (json!([]), "it is a list"),
    ] {
        let expected = [(Severity::Unusable, reason)];
        check_schema(schema.clone(), &expected, json!({"type": "object"}), true);
        check_schema(
            schema,
            &[(Severity::Unusable, "Only this tool is affected")],
            json!({"type": "object"}),
            true,
        );
    }
    let expected = [(Severity::Unusable, "48 levels"), (Severity::Noted, "kept as JSON text")];
    let descriptor = check(with_schema(deep.clone()), &expected).unwrap();
    let kept = descriptor.provenance.foreign.get("inputSchema").and_then(Value::as_str);
    assert_eq!(kept, Some(deep.to_string().as_str()));
}

#[test]
fn a_result_schema_costs_no_more_than_the_check_of_results() {
    let with_output = |schema: &Value| {
        let mut tool = with_schema(json!({"type": "object"}));
        tool["outputSchema"] = schema.clone();
        tool
    };
    for schema in [json!({"type": "object"}), json!({"type": "array"}), json!(true), json!({})] {
        let descriptor = check(with_output(&schema), &[]).unwrap();
        assert_eq!(descriptor.schemas.output_schema, Some(schema));
    }
    for schema in [json!({"$ref": "#/$defs/x"}), json!({"type": 1}), json!("x"), json!([1])] {
        let expected = [(Severity::Unusable, "its results are not")];
        let descriptor = check(with_output(&schema), &expected).unwrap();
        assert_eq!(descriptor.schemas.output_schema, None);
        assert_eq!(descriptor.provenance.foreign.get("outputSchema"), Some(&schema));
    }
    let tuple = json!({"items": [{"type": "string"}]});
    let descriptor = check(with_output(&tuple), &[(Severity::Repaired, "draft-07")]).unwrap();
    assert_eq!(descriptor.schemas.output_schema.unwrap()["$schema"], json!(DRAFT_07));
}

#[test]
fn what_is_no_tool_is_named_by_its_place() {
    for (tool, message) in [
        (json!(null), "it is null"),
        (json!("tool"), "it is a text"),
        (json!([1]), "it is a list"),
        (json!({}), "it has no name"),
        (json!({"name": null}), "its name is null"),
        (json!({"name": 5, "inputSchema": {"type": "object"}}), "its name is a number"),
        (json!({"name": ""}), "its name is empty"),
    ] {
        assert_eq!(check(tool.clone(), &[(Severity::Lost, message)]), None, "{tool}");
        let problems = imported(&[json!({}), tool]).problems;
        assert_eq!(problems[1].tool, "tool #2");
        assert!(problems[1].to_string().contains("the other tools are not affected"));
    }
}

#[test]
fn names_descriptions_and_titles() {
    let base = with_schema(json!({"type": "object"}));
    let with = |key: &str, value: Value| {
        let mut tool = base.clone();
        tool[key] = value;
        tool
    };
    let one = |tool, expected: &[(Severity, &str)]| check(tool, expected).unwrap();
    let odd = one(with("name", json!("get/x y")), &[(Severity::Repaired, "`srv.get_x_y` stands")]);
    assert_eq!(odd.tool_id.as_str(), "srv.get_x_y");
    assert_eq!(odd.canonical_name.as_deref(), Some("get/x y"));
    for empty in [json!(""), json!(" \n"), json!(null), json!(7), json!(["x"])] {
        let descriptor = one(with("description", empty.clone()), &[(Severity::Repaired, "descri")]);
        assert_eq!(descriptor.description.summary, "(no description)");
        assert_eq!(descriptor.provenance.foreign.get("description"), Some(&empty));
    }
    let text = "  One.\r\n\tTwo: # \u{85}\u{200b}\n\n";
    assert_eq!(one(with("description", json!(text)), &[]).description.summary, text);
    assert_eq!(one(with("title", json!("T")), &[]).display_name.as_deref(), Some("T"));
    assert_eq!(one(with("title", json!(5)), &[]).display_name, None);
    let annotations = json!({"title": "A", "readOnlyHint": true});
    let annotated = one(with("annotations", annotations.clone()), &[]);
    assert_eq!(annotated.display_name.as_deref(), Some("A"));
    assert_eq!(annotated.provenance.foreign.get("annotations"), Some(&annotations));
}

#[test]
fn every_other_field_is_kept_as_it_came() {
    let tool = json!({"name": "get_x", "description": "x", "inputSchema": {"type": "object"},
        "title": "T", "annotations": {"readOnlyHint": true, "audience": [1.0, -0.0]},
        "_meta": {"a.b/c": null}, "icons": [], "execution": {"taskSupport": "forbidden"},
        "id": 18446744073709551615_u64, "": {"<<": "x"}});
    let descriptor = check(tool.clone(), &[]).unwrap();
    let mut expected = tool.as_object().unwrap().clone();
    for own in ["name", "description", "inputSchema"] {
        expected.remove(own);
    }
    assert_eq!(descriptor.provenance.foreign, expected);
}

#[test]
fn hints_that_are_no_booleans_are_noted_and_ignored() {
    let mut tool = with_schema(json!({"type": "object"}));
    tool["name"] = json!("make_x");
    tool["annotations"] = json!({"readOnlyHint": "true", "destructiveHint": null});
    let descriptor = check(tool.clone(), &[(Severity::Noted, "its readOnlyHint is a text")]);
    assert!(descriptor.unwrap().effects.mutates_state);
    tool["annotations"] = json!("readOnly");
    check(tool, &[(Severity::Noted, "its annotations are a text")]);
}

#[test]
fn equal_names_are_both_kept() {
    let tool = |text: &str| {
        let mut tool = with_schema(json!({"type": "object"}));
        tool["description"] = text.into();
        tool
    };
    let imported = imported(&[tool("one"), tool("two"), tool("one")]);
    assert_eq!(imported.count(Severity::Repaired), 3);
    let names: Vec<&str> =
        imported.descriptors.iter().filter_map(|d| d.canonical_name.as_deref()).collect();
    assert_eq!(names, ["get_x", "get_x", "get_x"]);
    let ids: std::collections::BTreeSet<_> =
        imported.descriptors.iter().map(|descriptor| &descriptor.tool_id).collect();
    assert_eq!(ids.len(), 3);
}

fn anything() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "name",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "title",
        "type",
        "object",
        "string",
        "properties",
        "$ref",
        "#",
        "#/$defs/a",
        "$defs",
        "$schema",
        "items",
        "pattern",
        "readOnlyHint",
        "a",
        "",
        "delete x",
        "\u{0}",
        "anyOf",
        "required",
        "$dynamicRef",
        "$id",
        "$anchor",
        "additionalProperties",
        "enum",
        "(?<!a)b",
        "((a+)+)+$",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..70_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 30, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(256)
    })]

    #[test]
    fn nothing_is_lost_whatever_the_list(
        tools in prop::collection::vec(anything(), 0..4),
        schemas in prop::collection::vec((anything(), anything(), anything()), 0..4),
    ) {
        let shaped = schemas.into_iter().map(|(input, output, annotations)| json!({"name": "a",
            "inputSchema": input, "outputSchema": output, "annotations": annotations}));
        let tools: Vec<Value> = tools.into_iter().chain(shaped).collect();
        let once = imported(&tools);
        prop_assert_eq!(once, imported(&tools));
    }
}
