//! Schemas that do not work somewhere: each of these has cost somebody a tool, or a whole list.

use serde_json::Value;

use crate::lint::prose::{patterns, shown};
use crate::lint::rule::{Found, Judge, Level, Place, RULE, Rule};
use crate::lint::subject::{Part, Server, Subject};
use crate::lint::walk;
use crate::tool::schema::by_its_dialect;

const REQUEST: &str = "providers refuse the whole request, so one such tool costs all of them";
const LISTING: &str = "clients drop the whole list, so one such tool costs all of them";

pub(in crate::lint) const RULES: [Rule; 12] = [
    Rule {
        name: "root-not-object",
        level: Level::Error,
        reason: "Arguments are always an object; a schema that does not say so has usually lost \
                 its parameters on the way.",
        fix: "write `type: object` with `properties` at the root",
        blast: Some(LISTING),
        good: &[r#"{"inputSchema":{"type":"object"}}"#],
        bad: &[
            r#"{"inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#"}}"#,
            r#"{"inputSchema":null}"#,
        ],
        judge: Judge::Tool(root_not_object),
        ..RULE
    },
    Rule {
        name: "lost-parameters",
        reason: "The text lists parameters and the schema has none: a model cannot pass what it is \
                 told to pass.",
        fix: "declare the parameters under `properties`",
        good: &[r#"{"inputSchema":{"type":"object"}}"#],
        bad: &[
            r#"{"description":"Open a ticket.\n\nArgs:\n    title: what it is about","inputSchema":{"type":"object"}}"#,
        ],
        judge: Judge::Tool(lost_parameters),
        ..RULE
    },
    Rule {
        name: "root-composition",
        reason: "`anyOf`, `oneOf` and `allOf` at the root are legal JSON Schema, and Anthropic and \
                 OpenAI refuse them there; some clients drop the tool without a word.",
        fix: "move the choice into a property, or make two tools of it",
        blast: Some(REQUEST),
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"id":{"description":"The ticket's number or its key.","anyOf":[{"type":"string"},{"type":"integer"}]}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","anyOf":[{"required":["title"]}],"properties":{"title":{"type":"string","description":"What it is about."}}}}"#,
        ],
        judge: Judge::Tool(root_composition),
        ..RULE
    },
    Rule {
        name: "invalid-schema",
        level: Level::Error,
        reason: "A schema that its own dialect does not allow is refused or ignored, differently \
                 by each client.",
        fix: "write what the dialect allows",
        blast: Some(LISTING),
        good: &[r#"{}"#],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"number","minimum":"1","description":"How many tickets."}}}}"#,
        ],
        judge: Judge::Tool(invalid_schema),
        ..RULE
    },
    Rule {
        name: "dangling-reference",
        level: Level::Error,
        reason: "A `$ref` that leads nowhere makes the schema unusable; nothing outside the schema \
                 is ever fetched.",
        fix: "put the target under `$defs`, or write the schema in place",
        blast: Some(LISTING),
        good: &[
            r##"{"inputSchema":{"type":"object","$defs":{"T":{"type":"string"}},"properties":{"t":{"$ref":"#/$defs/T","description":"The ticket's key."}}}}"##,
        ],
        bad: &[
            r##"{"inputSchema":{"type":"object","properties":{"t":{"$ref":"#/$defs/T","description":"The ticket's key."}}}}"##,
        ],
        judge: Judge::Tool(dangling_reference),
        ..RULE
    },
    Rule {
        name: "boolean-subschema",
        reason: "`\"x\": true` is legal JSON Schema, and some clients drop every tool of a server \
                 that says it.",
        fix: "write `{}`, or better the type",
        blast: Some(LISTING),
        good: &[r#"{"inputSchema":{"type":"object","additionalProperties":false}}"#],
        bad: &[
            r#"{"description":"Open a ticket with this title and return its number.","inputSchema":{"type":"object","properties":{"title":true}}}"#,
        ],
        judge: Judge::Tool(boolean_subschema),
        ..RULE
    },
    Rule {
        name: "array-without-items",
        level: Level::Error,
        reason: "OpenAI and VS Code refuse a list that does not say what is in it, also where \
                 `array` is one of several types.",
        fix: "write `items` with the type of an element",
        blast: Some(REQUEST),
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"},"description":"Words to find it by."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"tags":{"type":"array","description":"Words to find it by."}}}}"#,
            r#"{"inputSchema":{"type":"object","properties":{"tags":{"type":["array","null"],"description":"Words to find it by."}}}}"#,
        ],
        judge: Judge::Tool(array_without_items),
        ..RULE
    },
    Rule {
        name: "bad-property-key",
        level: Level::Error,
        reason: "Providers take only `[A-Za-z0-9_.-]{1,64}` as the name of a parameter; keys from \
                 OData or OpenAPI with `$`, `@`, `<` or `>` are refused.",
        fix: "rename the parameter and translate it inside the tool",
        blast: Some(REQUEST),
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"order.by":{"type":"string","description":"What comes first."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"$top":{"type":"integer","description":"How many tickets."}}}}"#,
        ],
        judge: Judge::Tool(bad_property_key),
        ..RULE
    },
    Rule {
        name: "output-not-object",
        level: Level::Error,
        reason: "A structured result is an object; an official SDK refuses all tools of a server \
                 whose output schema does not say `type: object`.",
        fix: "write `type: object` at the root of the output schema, and wrap other results",
        blast: Some(LISTING),
        good: &[r#"{"outputSchema":{"type":"object"}}"#],
        bad: &[r#"{"outputSchema":{"type":"array","items":{"type":"string"}}}"#],
        judge: Judge::Tool(output_not_object),
        ..RULE
    },
    Rule {
        name: "framework-argument",
        reason: "An argument of the server's framework stands in the schema: a model is asked for \
                 something that only the server has.",
        fix: "mark it as injected, so that it does not reach the schema",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"context":{"type":"string","description":"Which cluster."}}}}"#,
        ],
        bad: &[
            r##"{"inputSchema":{"type":"object","$defs":{"Context":{"type":"object","properties":{"request_id":{"type":"string","description":"Of the request."}}}},"properties":{"ctx":{"$ref":"#/$defs/Context","description":"The call."}}}}"##,
            r#"{"inputSchema":{"type":"object","properties":{"ctx":{"type":"string","description":"The MCP context."}}}}"#,
        ],
        judge: Judge::Tool(framework_argument),
        ..RULE
    },
    Rule {
        name: "declared-dialect",
        level: Level::Off,
        reason: "A client whose validator knows another dialect than the declared one may refuse \
                 the schema; without a declaration it is 2020-12.",
        fix: "leave `$schema` out where the schema says nothing that is special to its dialect",
        good: &[r#"{}"#],
        bad: &[
            r#"{"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}}"#,
        ],
        judge: Judge::Tool(declared_dialect),
        ..RULE
    },
    Rule {
        name: "unknown-format",
        level: Level::Info,
        reason: "A `format` that JSON Schema does not name is ignored by one validator and refused \
                 by the next; generators write `uint` and the like.",
        fix: "drop it, and write `minimum`, `maximum` or `pattern`",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"on":{"type":"string","format":"date-time","description":"When it is due."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"integer","format":"uint","description":"How many tickets."}}}}"#,
        ],
        judge: Judge::Tool(unknown_format),
        ..RULE
    },
];

patterns! {
    SECTION = r"(?im)^\s*(?:args|arguments|parameters|params)\s*:\s*$";
    SDK = r"(?i)\b(?:mcp|fastmcp|request|server|tool)\s+(?:request\s+)?context\b|\bcontext object\b";
    KEY = r"^[A-Za-z0-9_.-]{1,64}$";
}

fn root_not_object(tool: &Subject, _: &Server) -> Vec<Found> {
    match tool.input.get("type") {
        Some(kind) if kind == "object" => Vec::new(),
        Some(kind) => {
            let message = format!("the input schema's type is {kind}, not `object`");
            vec![Found::new(Place::input("/type"), message)]
        }
        None => {
            vec![Found::new(Place::input(""), "the input schema does not say `type: object`")]
        }
    }
}

fn lost_parameters(tool: &Subject, _: &Server) -> Vec<Found> {
    let named = SECTION.find(&tool.description);
    match named.filter(|_| walk::parameters(&tool.input).is_empty()) {
        Some(span) if tool.input.get("type").is_some() => {
            let message = "the text lists parameters, and the schema has none";
            vec![Found::new(Place::text(span), message)]
        }
        _ => Vec::new(),
    }
}

fn root_composition(tool: &Subject, _: &Server) -> Vec<Found> {
    let keys = ["anyOf", "oneOf", "allOf"];
    let found = keys.into_iter().filter(|key| tool.input.get(*key).is_some());
    let find = |key| {
        let place = Place::property(format!("/{key}"));
        Found::new(place, format!("`{key}` stands at the root of the input schema"))
    };
    found.map(find).collect()
}

/// Both schemas of a tool, each with its part.
fn schemas(tool: &Subject) -> Vec<(Part, &Value)> {
    let mut all = vec![(Part::Input, &tool.input)];
    all.extend(tool.output.as_ref().map(|schema| (Part::Output, schema)));
    all.retain(|(_, schema)| schema.is_object());
    all
}

fn invalid_schema(tool: &Subject, _: &Server) -> Vec<Found> {
    let judge = |(part, schema): (Part, &Value)| {
        let problem = by_its_dialect(schema).err()?;
        let place = Place { pointer: problem.path, ..Place::of(part) };
        Some(Found::new(place, format!("the schema is invalid here: {}", problem.reason)))
    };
    schemas(tool).into_iter().filter_map(judge).collect()
}

fn dangling_reference(tool: &Subject, _: &Server) -> Vec<Found> {
    let mut found = Vec::new();
    for (part, root) in schemas(tool) {
        for node in walk::nodes(root) {
            let Some(to) = node.schema.get("$ref").and_then(Value::as_str) else { continue };
            // An address of its own belongs to whoever gave the schema one.
            let own = node.schema.get("$id").is_some() || root.get("$id").is_some();
            if walk::resolve(root, to).is_none() && !own {
                let pointer = format!("{}/$ref", node.pointer);
                let message = format!("the reference `{}` leads nowhere", shown(to));
                found.push(Found::new(Place { pointer, ..Place::of(part.clone()) }, message));
            }
        }
    }
    found
}

fn boolean_subschema(tool: &Subject, _: &Server) -> Vec<Found> {
    let mut found = Vec::new();
    for (part, root) in schemas(tool) {
        let nodes = walk::nodes(root);
        let bare = nodes.into_iter().filter(|node| {
            node.schema.is_boolean()
                && ["properties", "items", "anyOf", "oneOf"].contains(&node.under)
        });
        found.extend(bare.map(|node| {
            let message = format!("the schema here is `{}`", node.schema);
            Found::new(Place { pointer: node.pointer, ..Place::of(part.clone()) }, message)
        }));
    }
    found
}

fn array_without_items(tool: &Subject, _: &Server) -> Vec<Found> {
    let bare = |node: &walk::Node<'_>| {
        walk::types(node.schema).contains(&"array")
            && node.schema.get("items").is_none()
            && node.schema.get("prefixItems").is_none()
    };
    let nodes = walk::nodes(&tool.input).into_iter().filter(bare);
    let message = "this list does not say what is in it";
    nodes.map(|node| Found::new(Place::input(node.pointer), message)).collect()
}

fn bad_property_key(tool: &Subject, _: &Server) -> Vec<Found> {
    let top = walk::parameters(&tool.input).len();
    let all = walk::properties(&tool.input);
    let bad = all.into_iter().enumerate().filter(|(_, property)| !KEY.is_in(property.name));
    bad.map(|(index, property)| {
        let message = format!("providers refuse the parameter name `{}`", shown(property.name));
        // Only names at the top are known to be refused everywhere.
        Found::new(Place::property(property.pointer), message).mild(index >= top)
    })
    .collect()
}

fn output_not_object(tool: &Subject, _: &Server) -> Vec<Found> {
    let bad = tool.output.as_ref().filter(|schema| schema.get("type") != Some(&"object".into()));
    let message = "the output schema does not say `type: object`";
    bad.map(|_| Found::new(Place::of(Part::Output), message)).into_iter().collect()
}

fn framework_argument(tool: &Subject, _: &Server) -> Vec<Found> {
    let leaked = |property: &walk::Property<'_>| {
        let sdk = [
            "Context",
            "CallToolResult",
            "ServerSession",
            "RequestContext",
            "McpContext",
            "ToolContext",
        ];
        let ends = |to: &str| sdk.iter().any(|name| to.rsplit('/').next() == Some(name));
        let all = std::iter::once(property.schema).chain(walk::branches(property.schema));
        let mut refs = all.filter_map(|schema| schema.get("$ref")).filter_map(Value::as_str);
        let named = ["ctx", "context"].contains(&property.name);
        refs.any(ends) || (named && SDK.is_in(property.description()))
    };
    let all = walk::parameters(&tool.input).into_iter().filter(leaked);
    let find = |property: walk::Property<'_>| {
        let message = format!("`{}` belongs to the server's framework", property.name);
        Found::new(Place::property(property.pointer), message)
    };
    all.map(find).collect()
}

fn declared_dialect(tool: &Subject, _: &Server) -> Vec<Found> {
    let declared = tool.input.get("$schema").and_then(Value::as_str);
    let newer = declared.filter(|text| text.contains("2020-12"));
    let message = "the schema declares 2020-12, which draft-07 validators refuse";
    newer.map(|_| Found::new(Place::input("/$schema"), message)).into_iter().collect()
}

/// Formats that some JSON Schema draft or OpenAPI names.
const FORMATS: [&str; 27] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
    "int32",
    "int64",
    "float",
    "double",
    "byte",
    "binary",
    "password",
    "url",
];

fn unknown_format(tool: &Subject, _: &Server) -> Vec<Found> {
    let mut found = Vec::new();
    for node in walk::nodes(&tool.input) {
        let Some(format) = node.schema.get("format").and_then(Value::as_str) else { continue };
        if !FORMATS.contains(&format) {
            let place = Place::input(format!("{}/format", node.pointer));
            found.push(Found::new(
                place,
                format!("no dialect names the format `{}`", shown(format)),
            ));
        }
    }
    found
}
