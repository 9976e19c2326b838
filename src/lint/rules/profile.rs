//! Facts about providers: what each takes, as of its profile's version. None of them is a fault of
//! a tool; they are judged only where the profile is asked for.

use serde_json::Value;

use crate::lint::prose::{patterns, shown};
use crate::lint::rule::{Found, Judge, Level, Place, Profile, RULE, Rule};
use crate::lint::subject::{Part, Server, Subject};
use crate::lint::walk::{self, Node};

const GEMINI: &[Profile] = &[Profile::Gemini];
const STRICT: &[Profile] = &[Profile::OpenAiStrict];
const OPENAI: &[Profile] = &[Profile::OpenAiChat, Profile::OpenAiStrict];
const REQUEST: Option<&str> =
    Some("the whole request is refused, so one such tool costs all of them");

pub(in crate::lint) const RULES: [Rule; 10] = [
    Rule {
        name: "gemini-format",
        profiles: GEMINI,
        reason: "Of a text's formats only `enum` and `date-time` are taken, of a number's `int32`, \
                 `int64`, `float` and `double`.",
        fix: "drop the format for this provider, or send `parametersJsonSchema`",
        blast: REQUEST,
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"on":{"type":"string","format":"date-time","description":"When."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"at":{"type":"string","format":"uri","description":"Where."}}}}"#,
        ],
        judge: Judge::Tool(gemini_format),
        ..RULE
    },
    Rule {
        name: "gemini-const",
        profiles: GEMINI,
        reason: "`const` is no part of the subset.",
        fix: "write an `enum` of one value",
        blast: REQUEST,
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"kind":{"type":"string","enum":["bug"],"description":"Which."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"kind":{"type":"string","const":"bug","description":"Which."}}}}"#,
        ],
        judge: Judge::Tool(|tool, _| keyword(tool, &["const"])),
        ..RULE
    },
    Rule {
        name: "gemini-exclusive-bound",
        profiles: GEMINI,
        reason: "`exclusiveMinimum` and `exclusiveMaximum` are no part of the subset.",
        fix: "write `minimum` or `maximum`",
        blast: REQUEST,
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"integer","minimum":1,"description":"How many."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0,"description":"How many."}}}}"#,
        ],
        judge: Judge::Tool(|tool, _| keyword(tool, &["exclusiveMinimum", "exclusiveMaximum"])),
        ..RULE
    },
    Rule {
        name: "gemini-type-list",
        profiles: GEMINI,
        reason: "`type` takes one name; null is said by `nullable`.",
        fix: "write one type, and `nullable: true` where null is meant",
        blast: REQUEST,
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"integer","nullable":true,"description":"How many."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":["integer","null"],"description":"How many."}}}}"#,
        ],
        judge: Judge::Tool(gemini_type_list),
        ..RULE
    },
    Rule {
        name: "gemini-numeric-enum",
        profiles: GEMINI,
        reason: "Only texts can be listed in an `enum`.",
        fix: "write the values as texts, or as `minimum` and `maximum`",
        blast: REQUEST,
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"string","enum":["1","2"],"description":"How many."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"integer","enum":[1,2],"description":"How many."}}}}"#,
        ],
        judge: Judge::Tool(gemini_numeric_enum),
        ..RULE
    },
    Rule {
        name: "not-strict-ready",
        level: Level::Info,
        profiles: STRICT,
        reason: "Strict mode takes a schema whose every object is closed and requires all of its \
                 properties; clients rewrite the others or leave strict mode off.",
        fix: "close each object, require each property, and make optional ones nullable",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":["integer","null"],"description":"How many."}},"required":["n"],"additionalProperties":false}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"integer","description":"How many."}},"required":["n"]}}"#,
        ],
        judge: Judge::Tool(not_strict_ready),
        ..RULE
    },
    Rule {
        name: "strict-format",
        profiles: STRICT,
        reason: "Strict mode knows a short list of formats.",
        fix: "drop the format, and say it in the description",
        blast: REQUEST,
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"on":{"type":"string","format":"date","description":"When."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"at":{"type":"string","format":"uri","description":"Where."}}}}"#,
        ],
        judge: Judge::Tool(strict_format),
        ..RULE
    },
    Rule {
        name: "openai-name",
        profiles: OPENAI,
        reason: "A function's name is 1 to 64 of `[A-Za-z0-9_-]`; dots and slashes, which the \
                 protocol allows, are refused.",
        fix: "rename the tool, or let the client give it an alias",
        blast: REQUEST,
        good: &[r#"{}"#],
        bad: &[r#"{"name":"tickets.open"}"#],
        judge: Judge::Tool(|tool, _| name(tool, 64)),
        ..RULE
    },
    Rule {
        name: "anthropic-name",
        profiles: &[Profile::Anthropic],
        reason: "A tool's name is 1 to 128 of `[A-Za-z0-9_-]`; dots are refused.",
        fix: "rename the tool, or let the client give it an alias",
        blast: REQUEST,
        good: &[r#"{}"#],
        bad: &[r#"{"name":"tickets.open"}"#],
        judge: Judge::Tool(|tool, _| name(tool, 128)),
        ..RULE
    },
    Rule {
        name: "openai-too-many-tools",
        profiles: OPENAI,
        reason: "A request takes 128 tools at most.",
        fix: "offer fewer tools at a time, in groups or behind a search",
        blast: REQUEST,
        good: &[r#"[{}]"#],
        bad: &["+tools:129"],
        judge: Judge::Server(too_many_tools),
        ..RULE
    },
];

patterns! {
    PLAIN = r"^[A-Za-z0-9_-]+$";
}

fn member(node: &Node<'_>, key: &str, message: String) -> Found {
    Found::new(Place::property(format!("{}/{key}", node.pointer)), message)
}

/// One finding for a tool, at the first place where a node fails.
fn first(tool: &Subject, judge: impl Fn(&Node<'_>) -> Option<Found>) -> Vec<Found> {
    walk::nodes(&tool.input).iter().find_map(judge).into_iter().collect()
}

fn keyword(tool: &Subject, keys: &[&str]) -> Vec<Found> {
    first(tool, |node| {
        let key = keys.iter().find(|key| node.schema.get(**key).is_some())?;
        Some(member(node, key, format!("`{key}` is not taken")))
    })
}

fn format<'a>(node: &Node<'a>) -> Option<&'a str> {
    node.schema.get("format").and_then(Value::as_str)
}

fn gemini_format(tool: &Subject, _: &Server) -> Vec<Found> {
    const TAKEN: [&str; 6] = ["enum", "date-time", "int32", "int64", "float", "double"];
    first(tool, |node| {
        let format = format(node).filter(|format| !TAKEN.contains(format))?;
        Some(member(node, "format", format!("the format `{}` is not taken", shown(format))))
    })
}

fn strict_format(tool: &Subject, _: &Server) -> Vec<Found> {
    const TAKEN: [&str; 9] =
        ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
    first(tool, |node| {
        let format = format(node).filter(|format| !TAKEN.contains(format))?;
        Some(member(node, "format", format!("the format `{}` is not taken", shown(format))))
    })
}

fn gemini_type_list(tool: &Subject, _: &Server) -> Vec<Found> {
    first(tool, |node| {
        let list = node.schema.get("type").filter(|kind| kind.is_array())?;
        Some(member(node, "type", format!("`type` is the list {list}")))
    })
}

fn gemini_numeric_enum(tool: &Subject, _: &Server) -> Vec<Found> {
    first(tool, |node| {
        let values = node.schema.get("enum").and_then(Value::as_array)?;
        let other = values.iter().find(|value| value.is_number() || value.is_boolean())?;
        Some(member(node, "enum", format!("{other} in `enum` is no text")))
    })
}

/// Keywords that strict mode does not know.
const LOOSE: [&str; 9] = [
    "allOf",
    "oneOf",
    "not",
    "if",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "uniqueItems",
    "propertyNames",
];

fn not_strict_ready(tool: &Subject, _: &Server) -> Vec<Found> {
    first(tool, |node| {
        let at = |message: String| Some(Found::new(Place::input(node.pointer.clone()), message));
        if let Some(key) = LOOSE.iter().find(|key| node.schema.get(**key).is_some()) {
            return Some(member(node, key, format!("`{key}` is not taken")));
        }
        if !walk::types(node.schema).contains(&"object") {
            let silent = node.schema.as_object().is_some_and(walk::says_nothing);
            return if silent { at("nothing is said about the value".to_owned()) } else { None };
        }
        if node.schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return at("the object is not closed by `additionalProperties: false`".to_owned());
        }
        let optional = walk::of_object("", node.schema).into_iter().find(|one| !one.required)?;
        at(format!("`{}` is not required", optional.name))
    })
}

fn name(tool: &Subject, longest: usize) -> Vec<Found> {
    let fits = PLAIN.is_in(&tool.name) && tool.name.len() <= longest;
    let message = || format!("the name `{}` is not taken", shown(&tool.name));
    (!fits).then(|| Found::new(Place::of(Part::Name), message())).into_iter().collect()
}

/// Tools that one request takes.
const TOOLS: usize = 128;

fn too_many_tools(server: &Server) -> Vec<(usize, Found)> {
    let count = server.tools.len();
    let message = format!("{} offers {count} tools, a request takes {TOOLS}", server.name);
    let over = (count > TOOLS).then(|| (TOOLS, Found::new(Place::of(Part::Name), message)));
    over.into_iter().collect()
}
