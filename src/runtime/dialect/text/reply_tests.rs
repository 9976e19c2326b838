use serde_json::Value;

use super::prose::Fence;
use super::*;
use crate::runtime::dialect::proposed::{Arguments, RawCall};

/// A call in one line: where it stood, its name, and its arguments or what is wrong.
fn line(call: &RawCall) -> String {
    let arguments = match call.read() {
        Arguments::Json(value) => value.to_string(),
        Arguments::Blank => "blank".to_owned(),
        Arguments::Malformed { why, .. } => format!("malformed: {why}"),
    };
    // Whoever overlooks the flaw must not find arguments either.
    assert!(call.flaw.is_none() || serde_json::from_str::<Value>(&call.arguments).is_err());
    let id = call.id.as_ref().map(|id| format!("#{id}")).unwrap_or_default();
    format!("{} {}{id} {arguments}", call.origin.name(), call.name)
}

fn check_under(rules: TextRules, text: &str, rest: &str, expected: &[&str]) {
    let (found, calls) = parse(text, rules);
    let lines: Vec<String> = calls.iter().map(line).collect();
    assert_eq!(lines, expected, "{text}");
    assert_eq!(found.as_deref().unwrap_or_default(), rest, "{text}");
}

fn check(text: &str, rest: &str, expected: &[&str]) {
    check_under(TextRules::default(), text, rest, expected);
}

/// The whole reply is text, whatever protocols are in force.
fn quiet(text: &str) {
    for rules in [TextRules::default(), TextRules::ALL, TextRules::STRICT] {
        check_under(rules, text, text.trim(), &[]);
    }
}

const CALL: &str = "<tool_call>{\"name\":\"x\",\"arguments\":{}}</tool_call>";

#[test]
fn tagged_calls() {
    check("hi", "hi", &[]);
    check("", "", &[]);
    check(&format!("a\n{CALL}"), "a", &["tagged x {}"]);
    check(&format!("a\n{CALL}\nb"), "a\nb", &["tagged x {}"]);
    check(&format!("  {CALL}  "), "", &["tagged x {}"]);
    check(&format!("{CALL} Now I wait."), "Now I wait.", &["tagged x {}"]);
    check(&format!("a\r\n{CALL}\r\nb\r\n"), "a\r\nb", &["tagged x {}"]);
    check(
        "<tool_call>\r\n{\r\n \"name\": \"x\",\r\n \"arguments\": {\"a\": 1}\r\n}\r\n</tool_call>",
        "",
        &["tagged x {\"a\":1}"],
    );
    check("<tool_call>{\"id\":\"c1\",\"name\":\"x\"}</tool_call>", "", &["tagged x#c1 blank"]);
    check(
        "<tool_call>{\"name\":\"x\",\"arguments\":\"{\\\"a\\\": 1}\"}</tool_call>",
        "",
        &["tagged x {\"a\":1}"],
    );
    check("<tool_call>{\"name\":\"x\",\"arguments\":null}</tool_call>", "", &["tagged x null"]);
    check(
        "<tool_call>{\"name\":\"x\",\"arguments\":{\"é\":\"\\u00fc 🌧\"}}</tool_call>",
        "",
        &["tagged x {\"é\":\"ü 🌧\"}"],
    );
}

#[test]
fn several_calls_in_one_reply() {
    check(&format!("{CALL}{CALL}"), "", &["tagged x {}", "tagged x {}"]);
    check(&format!("{CALL} \t{CALL}\n\n{CALL}"), "", &["tagged x {}"; 3]);
    check(&format!("one\n{CALL}\ntwo\n{CALL}\nthree"), "one\ntwo\nthree", &["tagged x {}"; 2]);
    let (a, b) = ("{\"name\":\"a\"}", "{\"name\":\"b\",\"arguments\":{\"n\":1}}");
    let both = ["tagged a blank", "tagged b {\"n\":1}"];
    check(&format!("<tool_calls>{a}{b}</tool_calls>"), "", &both);
    check(&format!("<tool_calls>\n{a}\n{b}\n</tool_calls>"), "", &both);
    check(&format!("<tool_calls>[{a}, {b}]</tool_calls>"), "", &both);
    check(&format!("<tool_call>[{a}, {b}]</tool_call>"), "", &both);
    let nested = format!("<tool_call>{a}</tool_call>\n<tool_call>{b}</tool_call>");
    check(&format!("<tool_calls>\n{nested}\n</tool_calls>\nend"), "end", &both);
    check(&format!("<my-1.ns:tool_call>{a}</my-1.ns:tool_call>"), "", &both[..1]);
    check(&format!("<ns:tool_calls>{a}{b}</ns:tool_calls>"), "", &both);
    check(&format!("<tool_call kind=\"f\">{a}</tool_call >"), "", &both[..1]);
    quiet("<tool_calls></tool_calls>");
    quiet("<tool_calls>[]</tool_calls>");
}

#[test]
fn a_value_may_hold_markup() {
    check(
        "<tool_call>{\"name\":\"x\",\"arguments\":{\"a\":\"</tool_call>\"}}</tool_call>",
        "",
        &["tagged x {\"a\":\"</tool_call>\"}"],
    );
    check(
        "<tool_call>{\"name\":\"x\",\"arguments\":{\"a\":\"\\n```\\n<think>\\n<tool_call>{}\"}}\
         </tool_call>\nend",
        "end",
        &["tagged x {\"a\":\"\\n```\\n<think>\\n<tool_call>{}\"}"],
    );
    check(
        "```tool_call\n{\"name\":\"x\",\"arguments\":{\"a\":\"```\"}}\n```",
        "",
        &["fenced x {\"a\":\"```\"}"],
    );
    check(
        "<invoke name=\"x\"><parameter name=\"a\"></invoke>\n<tool_call>{}</tool_call>\n```\n\
         <parameter name=\"b\">&lt;/parameter&gt;</parameter></invoke>",
        "",
        &["invoke x {\"a\":\"</invoke>\\n<tool_call>{}</tool_call>\\n```\\n<parameter name=\
           \\\"b\\\"></parameter>\"}"],
    );
}

#[test]
fn fenced_calls() {
    let (a, b) = ("{\"name\":\"a\"}", "{\"name\":\"b\",\"arguments\":{\"n\":1}}");
    let both = ["fenced a blank", "fenced b {\"n\":1}"];
    check(&format!("so:\n```tool_call\n{a}\n```\nend"), "so:\nend", &both[..1]);
    check(&format!("```tool_calls\r\n{a}\r\n{b}\r\n```\r\n"), "", &both);
    check(&format!("````tool_calls\n[{a},{b}]\n````"), "", &both);
    check(&format!("  ``` tool_call \n  {a}\n  ```"), "", &both[..1]);
    check(&format!("```tool_call\n{a}```"), "", &both[..1]);
    for info in ["json", "", "tool_call_example", "tool_code", "tool_call json", "Tool_call"] {
        quiet(&format!("```{info}\n{b}\n```"));
    }
    quiet(&format!("~~~tool_call\n{b}\n~~~"));
    quiet(&format!("- ```tool_call\n  {b}\n  ```"));
    quiet(&format!("    ```tool_call\n    {b}\n    ```"));
    quiet(&format!("> ```tool_call\n> {b}\n> ```"));
    check(
        "```tool_call\n```",
        "",
        &["fenced  malformed: the block is no object with `name` and \
        `arguments`"],
    );
    check("```tool_call", "", &["fenced  malformed: the block is no JSON"]);
    check("```tool_call\nweather()\n```\nend", "end", &["fenced  malformed: the block is no JSON"]);
    check(
        &format!("```tool_call\n{a}\nand then\n```\nend"),
        "end",
        &["fenced a malformed: the block is not closed"],
    );
    check(
        &format!("```tool_call\n{{\"name\":\"a\",\"arguments\":{{\n```\n{CALL}"),
        "",
        &["fenced a malformed: the block is no JSON", "tagged x {}"],
    );
}

#[test]
fn invoke_calls() {
    let p = "<parameter name=\"p\">  1 &amp;&lt; 2\n</parameter>";
    let x = format!("<invoke name=\"x\">{p}</invoke>");
    let found = ["invoke x {\"p\":\"  1 &< 2\\n\"}"; 2];
    check(&x, "", &found[..1]);
    check(&format!("{x}{x}"), "", &found);
    check(&format!("a\n<function_calls>\n{x}\n{x}\n</function_calls>\nb"), "a\nb", &found);
    check(&format!("<ns:tool_call>{x}</ns:tool_call>"), "", &found[..1]);
    check(
        "<ns:function_calls>\n<ns:invoke name='x' id='c\"1'>\n<ns:parameter name='p'>v\
         </ns:parameter>\n</ns:invoke>\n</ns:function_calls>",
        "",
        &["invoke x#c\"1 {\"p\":\"v\"}"],
    );
    check("<invoke name=\"x\"></invoke>", "", &["invoke x {}"]);
    check(
        "<invoke name=\"a&quot;b\"><parameter name=\"n\" type=\"json\"> [1, {}] </parameter>\
         <parameter name=\"s\" type=\"string\">2</parameter></invoke>",
        "",
        &["invoke a\"b {\"n\":[1,{}],\"s\":\"2\"}"],
    );
    check(
        "<invoke name=\"x\"><parameter name=\"p\">&#x41;&#66;&nbsp;&; a && b&#xFFFFFFFF;&#+1;\
         </parameter></invoke>",
        "",
        &["invoke x {\"p\":\"AB&nbsp;&; a && b&#xFFFFFFFF;&#+1;\"}"],
    );
}

#[test]
fn flawed_invokes_are_calls_without_arguments() {
    let open = "<invoke name=\"x\">";
    let stray = "invoke x malformed: there is text between the parameters; quote < and & inside \
        values";
    let p = "<parameter name=\"p\">1</parameter>";
    check(
        &format!("{open}{p}{p}</invoke>"),
        "",
        &["invoke x malformed: the key \"p\" stands \
        twice at line 1 column 12"],
    );
    check(
        &format!("{open}<parameter>1</parameter></invoke>"),
        "",
        &["invoke x malformed: the \
        invoke element or a parameter has no name"],
    );
    check(
        &format!("<invoke>{p}</invoke>"),
        "",
        &["invoke  malformed: the invoke element or a \
        parameter has no name"],
    );
    let json = "<parameter name=\"p\" type=\"json\">1, \"q\": 2</parameter>";
    check(
        &format!("{open}{json}</invoke>"),
        "",
        &["invoke x malformed: a parameter of type json \
        is no JSON"],
    );
    let unclosed = "invoke x malformed: the invoke element is not closed";
    check(&format!("{open}{p}<parameter name=\"q\">cut"), "", &[unclosed]);
    check(&format!("{open}{p}"), "", &[unclosed]);
    check(open, "", &[unclosed]);
    check(&format!("{open}<param"), "", &[stray]);
    check(&format!("{open}{{\"p\":1}}</invoke>\n{CALL}"), "", &[stray, "tagged x {}"]);
    check(&format!("{open}{p} or </parameter></invoke>\n{CALL}"), "", &[stray]);
    check(
        &format!("{open} is how it begins.\n{CALL}"),
        &format!("{open} is how it begins."),
        &["tagged x {}"],
    );
}

#[test]
fn a_bare_object_is_a_call_only_where_that_is_declared() {
    let text = " {\"name\": \"x\", \"arguments\": {\"a\": 1}}\n";
    check(text, text.trim(), &[]);
    check_under(TextRules::ALL, text, "", &["bare x {\"a\":1}"]);
    let twice = "{\"name\": \"x\", \"arguments\": {\"a\": 1, \"a\": 2}}";
    check_under(
        TextRules::ALL,
        twice,
        "",
        &["bare x malformed: the key \"a\" stands twice at line 1 column 12"],
    );
    for answer in [
        "{\"name\": \"x\"}",
        "{\"name\": \"x\", \"arguments\": []}",
        "{\"name\": \"x\", \"arguments\": \"{}\"}",
        "{\"name\": 1, \"arguments\": {}}",
        "{\"name\": \"x\", \"arguments\": {}, \"born\": 1970}",
        "{\"name\": \"x\", \"arguments\": {}, \"name\": \"y\"}",
        "{\"name\": \"x\", \"arguments\": {",
        "[{\"name\": \"x\", \"arguments\": {}}]",
        "{\"name\": \"x\", \"arguments\": {}} as you wished",
        "Here: {\"name\": \"x\", \"arguments\": {}}",
        "```json\n{\"name\": \"x\", \"arguments\": {}}\n```",
    ] {
        quiet(answer);
    }
}

#[test]
fn what_is_only_spoken_of_is_no_call() {
    quiet(&format!("say {CALL}"));
    quiet(&format!("`{CALL}`"));
    quiet(&format!("``\n{CALL}\n``"));
    quiet(&format!("Use `the tag\n{CALL}\nlike` this."));
    quiet(&format!("- {CALL}"));
    quiet(&format!("1. {CALL}"));
    quiet(&format!("    {CALL}"));
    quiet(&format!("\t{CALL}"));
    quiet(&format!("> {CALL}"));
    quiet(&format!("  >> {CALL}"));
    quiet(&format!("```\n{CALL}\n```"));
    quiet(&format!("```xml\n{CALL}\n"));
    quiet(&format!("~~~\n{CALL}\n```\n{CALL}\n~~~"));
    quiet(&format!("````\n```\n{CALL}\n```\n````"));
    quiet(&format!("1. ```\n   {CALL}\n   ```"));
    quiet(&format!("```\n{CALL}\n        ```\n{CALL}"));
    quiet("The tag <tool_call> opens a call.");
    quiet("<tool_call> opens a call.");
    quiet("<tool_callx>{\"name\":\"x\"}</tool_callx>");
    quiet("<TOOL_CALL>{\"name\":\"x\"}</TOOL_CALL>");
    quiet("<tool_cal");
    quiet("</tool_call>");
    quiet("{\"tool_calls\": [{\"name\": \"x\", \"arguments\": {}}]}");
}

#[test]
fn what_is_near_such_a_place_is_a_call() {
    let live = |before: &str| {
        let text = format!("{before}{CALL}");
        check(&text, before.trim(), &["tagged x {}"]);
    };
    live("A stray ` is no code.\n");
    live("Two `closed` `spans`.\n");
    live("`open\n\n");
    live("> quoted\n");
    live("```\ncode\n```\n");
    live("~~~~\n```\n~~~\n~~~~\n");
    live("Inline ```code``` here.\n");
    live("<think>hm</think>");
    live("<think>\nhm\n</think>\n\n");
    live("`<think>` is a tag.\n");
    live("<tool_result id=\"1\">5</tool_result>\n");
    live("The <tool_result> said 5.\n");
    live("<tool_call> comes first:\n");
    let text = format!("a ` b\n<tool_call>{{\"name\":\"x\",\"arguments\":{{\"a\":\"`\"}}}}{}", {
        "</tool_call>"
    });
    check(&text, "a ` b", &["tagged x {\"a\":\"`\"}"]);
}

#[test]
fn reasoning_makes_no_calls() {
    quiet(&format!("<think>\n{CALL}\n</think>\nDone."));
    quiet(&format!("<thinking>I could\n```tool_call\n{{}}\n```\n{CALL}"));
    quiet(&format!("Well <think>\n{CALL}"));
    quiet(&format!("<think>the tag `</think>` ends it\n{CALL}\n</think>"));
    quiet(&format!("<think>\n</thinking>\n{CALL}\n</think>"));
    quiet(&format!("I could\n{CALL}\nbut no.\n</think>\nNo."));
    let text = format!("I could\n{CALL}\n</think>\n{CALL}");
    check(&text, &format!("I could\n{CALL}\n</think>"), &["tagged x {}"]);
    let text = format!("<think>hm</think>\n{CALL}\n</think> again");
    check(&text, "<think>hm</think>\n</think> again", &["tagged x {}"]);
    let text = format!("<think>```</think>{CALL}\nend");
    check(&text, "<think>```</think>\nend", &["tagged x {}"]);
}

#[test]
fn results_in_a_reply_make_no_calls() {
    quiet(&format!("<tool_result id=\"c1\">\n{CALL}\n</tool_result>"));
    quiet(&format!("It said <tool_result>\n{CALL}\n</tool_result> then."));
    quiet(&format!("<tool_response>\n{CALL}"));
    quiet(&format!("<ns:function_results>\n{CALL}\n</ns:function_results>"));
}

#[test]
fn broken_blocks_are_calls_without_arguments() {
    let (cut, no_json) = ("malformed: the block is not closed", "malformed: the block is no JSON");
    let x = |why: &str| format!("tagged x {why}");
    let open = "<tool_call>{\"name\":\"x\",\"arguments\":";
    let check_x = |tail: &str, rest: &str, why: &str, more: &[&str]| {
        let first = x(why);
        let expected: Vec<&str> = std::iter::once(&*first).chain(more.iter().copied()).collect();
        check(&format!("{open}{tail}"), rest, &expected);
    };
    // Cut off: never executed, also where the JSON happens to be whole.
    check_x("", "", no_json, &[]);
    check_x("{\"a\":\"half", "", no_json, &[]);
    check_x("{\"a\":1}", "", no_json, &[]);
    check_x("{\"a\":1}}", "", cut, &[]);
    check_x("{\"a\":1}}\nDone.", "Done.", cut, &[]);
    check_x(&format!("{{\"a\":1}}}}\n{CALL}"), "", cut, &["tagged x {}"]);
    // Pieces of JSON that lead up to a tag say where the block ends.
    check_x(&format!("{{\"a\"</tool_call>\n{CALL}"), "", no_json, &["tagged x {}"]);
    check_x(&format!("{{\"a\":1,}}}}</tool_call>{CALL}"), "", no_json, &["tagged x {}"]);
    check_x(&format!("{{\"a\":NaN}}}}</tool_call>\n{CALL}"), "", no_json, &["tagged x {}"]);
    check_x(&format!("{{\"a\":1\n{CALL}"), "", no_json, &["tagged x {}"]);
    // Where quoting went wrong nobody can say what is data.
    check_x(&format!("{{\"a\":\"a 5\" board\n{CALL}\n\"}}}}</tool_call>"), "", no_json, &[]);
    check_x(&format!("{{\"a\":\"x\n</tool_call>\n{CALL}\n\"}}}}</tool_call>"), "", no_json, &[]);
    // A name that cannot be read is empty, and there is no such tool.
    check("<tool_call>", "", &["tagged  malformed: the block is not closed"]);
    check("<tool_call>{\"na", "", &["tagged  malformed: the block is no JSON"]);
    check("<tool_call>weather</tool_call>", "", &["tagged  malformed: the block is no JSON"]);
    check("<tool_call>```json\n{\"name\":\"x\"}\n```</tool_call>", "", &[&x(no_json)]);
    check(
        "<tool_call>{\"arguments\":{\"name\":\"bob\"},\"name\":\"x\",</tool_call>",
        "",
        &[&x(no_json)],
    );
}

#[test]
fn blocks_of_another_shape_are_calls_without_arguments() {
    let shape = "malformed: the block is no object with `name` and `arguments`";
    let one = |body: &str, expected: &str| {
        check(&format!("<tool_call>{body}</tool_call>"), "", &[expected]);
    };
    one("", &format!("tagged  {shape}"));
    one("{}", &format!("tagged  {shape}"));
    one("[[]]", &format!("tagged  {shape}"));
    one("{\"name\":5,\"arguments\":{}}", &format!("tagged  {shape}"));
    one("{\"name\":\"x\",\"parameters\":{\"a\":1}}", &format!("tagged x {shape}"));
    one("{\"name\":\"x\",\"arguments\":{},\"why\":\"because\"}", "tagged x {}");
    one("{\"name\":\"x\",\"arguments\":{},\"arguments\":{\"a\":1}}", {
        "tagged x malformed: a key of the block stands twice"
    });
    one("{\"name\":\"x\",\"arguments\":{\"a\":1,\"a\":2}}", {
        "tagged x malformed: the key \"a\" stands twice at line 1 column 10"
    });
    check(
        "<tool_calls>{\"name\":\"x\"}{\"name\":\"y\"",
        "",
        &[
            "tagged x malformed: the block is not closed",
            "tagged y malformed: the block is no JSON",
        ],
    );
    check(
        "<tool_calls><tool_call>{\"name\":\"x\"}</tool_call>{\"name\":\"y\"}",
        "",
        &["tagged x blank", "tagged y malformed: the block is not closed"],
    );
}

#[test]
fn only_declared_protocols_count() {
    let fenced = "```tool_call\n{\"name\":\"x\",\"arguments\":{}}\n```";
    let invoke = "<invoke name=\"x\"></invoke>";
    let bare = "{\"name\":\"x\",\"arguments\":{}}";
    let all = [
        (Origin::Tagged, CALL),
        (Origin::Fenced, fenced),
        (Origin::Invoke, invoke),
        (Origin::Bare, bare),
    ];
    for (origin, _) in all {
        let rules = TextRules::only(origin);
        for (other, text) in all {
            let found = format!("{} x {{}}", other.name());
            let counts = origin == other;
            let rest = if counts { "" } else { text };
            check_under(rules, text, rest, &[found.as_str()][..usize::from(counts)]);
        }
        check_under(TextRules { strict: true, ..rules }, CALL, CALL, &[]);
    }
    let wrapped = format!("<function_calls>\n{invoke}\n</function_calls>");
    check_under(TextRules::only(Origin::Tagged), &wrapped, &wrapped, &[]);
    let wrapped = format!("<tool_call>\n{invoke}\n</tool_call>");
    check_under(
        TextRules::only(Origin::Invoke),
        &wrapped,
        "<tool_call>\n</tool_call>",
        &["invoke x {}"],
    );
}

#[test]
fn what_a_protocol_cannot_spell_is_not_spelled() {
    let call = |arguments: &str| RawCall::native(None, "x", arguments);
    let spelled = |origin, calls: &[RawCall]| spell(None, calls, TextRules::only(origin)).is_some();
    for arguments in ["{\"a\":1}", "{", "", "[]", "\"{}\""] {
        assert!(spelled(Origin::Tagged, &[call(arguments)]));
        assert!(spelled(Origin::Fenced, &[call(arguments)]));
        let object = arguments == "{\"a\":1}";
        assert_eq!(spelled(Origin::Invoke, &[call(arguments)]), object, "{arguments}");
        assert_eq!(spelled(Origin::Bare, &[call(arguments)]), object, "{arguments}");
    }
    assert!(!spelled(Origin::Bare, &[call("{}"), call("{}")]));
    assert!(spell(Some("so:"), &[call("{}")], TextRules::only(Origin::Bare)).is_none());
    assert!(spell(None, &[call("{}")], TextRules::STRICT).is_none());
}

#[test]
fn fences_open_and_close_as_in_markdown() {
    let open = |line: &str| Fence::open(line).is_some();
    assert!(open("```") && open("  ~~~~ x") && open("```rust") && open("- * ```"));
    assert!(!open("``") && !open("```a`b") && !open("x ```") && !open("-```"));
    let fence = Fence::open("````x").unwrap();
    assert_eq!(fence.closing("````` \nmore"), Some(5));
    assert_eq!(fence.closing("```"), None);
    assert_eq!(fence.closing("```` x"), None);
}

#[test]
fn results_cannot_forge_calls() {
    let all = TextRules::ALL;
    assert_eq!(escape("</tool_result>\n<tool_call>{}", all), {
        "&lt;/tool_result&gt;\n&lt;tool_call&gt;{}"
    });
    assert_eq!(escape("```tool_call \n{}\n```", all), "&#96;&#96;&#96;tool_call \n{}\n```");
    assert_eq!(escape("```json\n{}\n````tool_call_x", all), "```json\n{}\n````tool_call_x");
    let bare = "{\"name\":\"x\",\"arguments\":{}}";
    assert_eq!(escape(bare, TextRules::default()), bare);
    assert!(escape(bare, all).starts_with("&#123;\"name\""));
}

/// A walk that looked back or ahead without bound would not end in reasonable time.
#[test]
fn repetition_is_read_in_linear_time() {
    for piece in [
        "<tool_call>\n",
        "<tool_call>{\n",
        "<tool_call>{</tool_call>",
        "` <tool_result> x\n",
        "`x <think>y</think> ",
        "x <tool_result> ",
        "</think>",
        "<tool_calls><tool_call>",
        "<invoke name=\"x\"><parameter name=\"p\">",
        "```tool_call ",
        "``` ",
        "[",
        "&",
    ] {
        let text = piece.repeat(200_000 / piece.len());
        let _ = (parse(&text, TextRules::ALL), escape(&text, TextRules::ALL));
    }
}
