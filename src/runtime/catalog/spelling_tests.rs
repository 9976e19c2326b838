use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::runtime::catalog::source::{ServerName, mcp as import_mcp};
use crate::tool::manifest;
use crate::tool::schema::CompiledSchema;
use crate::tool::skill::Skill;

const TOOL: &str = "
schema: proofmark/tool@1
toolId: note.write
canonicalName: write
displayName: Write a note
description:
  summary: Writes a note.
  useWhen: [somebody wants to keep a text]
  doNotUseWhen: [the text is a secret]
intent: {actionTypes: [write], domains: [notes]}
schemas:
  inputSchema:
    type: object
    properties:
      text: {type: string}
      loud: {type: boolean}
      tags: {type: array, items: {type: string}}
      place: {type: object}
      count: {type: integer}
    required: [text]
  outputSchema: {type: object}
effects: {reads: [], writes: ['notes:**'], mutatesState: true}
permissions: {requiredScopes: [notes]}
";

fn tool() -> Descriptor {
    manifest::parse("t.yaml", TOOL).unwrap()
}

#[test]
fn as_a_tool_of_mcp_it_comes_back_but_for_what_mcp_has_no_place_for() {
    let original = tool();
    let spelled = mcp(&original);
    assert_eq!(spelled["name"], "write");
    assert_eq!(
        spelled["annotations"],
        json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false,
            "openWorldHint": false})
    );
    let imported = import_mcp::import(&ServerName::sanitized("note"), &[spelled]);
    let back = &imported.descriptors[0];
    // The name, the title, the description and both schemas are there again.
    let lost = losses(&original, back);
    let expected = [
        // No words for when.
        "/description/useWhen",
        "/description/doNotUseWhen",
        // Guessed again from hints and names, each time with caution.
        "/effects/externalCalls",
        "/effects/idempotent",
        "/effects/reads",
        "/effects/writes",
        "/intent/actionTypes",
        "/intent/domains",
        "/permissions/approvalPolicy",
        "/permissions/requiredScopes",
        "/risk/financialCost",
        "/risk/level",
        "/sandbox/mode",
        // Where it comes from now, and who says so.
        "/execution/adapter",
        "/provenance/foreign",
        "/provenance/trustLevel",
        "/source/serverId",
        "/source/sourceId",
        "/source/type",
    ];
    let unexpected: Vec<&String> =
        lost.iter().filter(|at| !expected.contains(&at.as_str())).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    for at in ["/description/useWhen", "/permissions/requiredScopes"] {
        assert!(lost.contains(at), "{at} is not lost any more");
    }
    for kept in ["/canonicalName", "/displayName", "/schemas/inputSchema", "/toolId"] {
        assert!(!lost.contains(kept), "{kept}");
    }
}

#[test]
fn as_a_skill_it_can_be_read_and_says_when_to_use_it() {
    let spelled = skill(&tool());
    let read = Skill::parse("SKILL.md", &spelled, "note-write").unwrap();
    assert_eq!(read.description, "Writes a note.");
    for part in ["Call the tool `note.write`", "somebody wants to keep", "the text is a secret"] {
        assert!(read.body.contains(part), "{part}: {spelled}");
    }
    let odd = Descriptor { ..tool() };
    let odd = Descriptor {
        description: crate::tool::descriptor::Description {
            summary: "a: b # \"c\"\n---\n- d".to_owned(),
            ..odd.description.clone()
        },
        ..odd
    };
    let read = Skill::parse("SKILL.md", &skill(&odd), "note-write").unwrap();
    assert_eq!(read.description, odd.description.summary);
}

#[test]
fn names_of_skills() {
    let check = |id: &str, expected: &str| assert_eq!(skill_name(id), expected);
    check("note.write", "note-write");
    check("Server__Tool..X", "server-tool-x");
    check("_a_", "a");
    check(&"ab.".repeat(40), &format!("{}a", "ab-".repeat(21)));
}

#[test]
fn a_command_line_has_an_option_for_each_parameter() {
    assert_eq!(
        synopsis(&tool()),
        "note.write [--count JSON] [--loud[=false]] [--place JSON] [--tags TEXT ...] --text TEXT"
    );
    let check = |args: Value, expected: &[&str]| {
        let words = command_line(&tool(), &args).unwrap();
        assert_eq!(words[1..], *expected, "{args}");
        assert_eq!(read_command_line(&tool(), &words), Ok(args));
    };
    check(json!({"text": "--loud"}), &["--text=--loud"]);
    check(json!({"loud": true, "text": ""}), &["--loud", "--text="]);
    check(json!({"loud": false}), &["--loud=false"]);
    check(json!({"tags": ["a=b", ""]}), &["--tags=a=b", "--tags="]);
    check(json!({"tags": []}), &["--tags:=[]"]);
    check(json!({"place": {"x": null}}), &[r#"--place:={"x":null}"#]);
    check(json!({"text": null, "count": 3}), &["--count:=3", "--text:=null"]);
    let bad = |word: &str| read_command_line(&tool(), &["note.write".into(), word.into()]);
    for word in ["text", "--text", "--other=1", "--loud=maybe", "--count:=x", "-t"] {
        assert_eq!(bad(word), Err(format!("`{word}` is no option of note.write")));
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(|n| json!(n)),
        "\\PC{0,6}".prop_map(Value::String),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::Array),
            btree_map("[a-z=:]{1,3}", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_arguments_come_back_from_their_command_line(
        given in btree_map(prop_oneof![Just("text"), Just("loud"), Just("tags"), Just("place")], any_json(), 0..4),
    ) {
        let tool = tool();
        prop_assert!(CompiledSchema::compile(&tool.schemas.input_schema).is_ok());
        let args = json!(given);
        let words = command_line(&tool, &args).unwrap();
        prop_assert_eq!(read_command_line(&tool, &words), Ok(args));
    }
}
