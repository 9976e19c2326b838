//! What a schema leaves open, or says about itself twice: models guess where it is silent.

use serde_json::Value;

use crate::lint::prose::{list, patterns, shown};
use crate::lint::rule::{Found, Judge, Level, Place, RULE, Rule};
use crate::lint::subject::{Server, Subject};
use crate::lint::walk::{self, Property};

pub(in crate::lint) const RULES: [Rule; 12] = [
    Rule {
        name: "null-default",
        reason: "The default is null and the type does not allow null: whoever fills in defaults \
                 makes invalid arguments.",
        fix: "leave the default out, or allow null in the type",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"due":{"type":["string","null"],"default":null,"description":"When it is due."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"due":{"type":"string","default":null,"description":"When it is due."}}}}"#,
        ],
        judge: Judge::Tool(null_default),
        ..RULE
    },
    Rule {
        name: "wrong-default",
        reason: "The default is none of the allowed values, or of another type.",
        fix: "write a default that the schema accepts",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"number","default":5,"description":"How many tickets."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"integer","default":"5","description":"How many tickets."}}}}"#,
            r#"{"inputSchema":{"type":"object","properties":{"kind":{"type":"string","enum":["bug","task"],"default":"issue","description":"What it is."}}}}"#,
        ],
        judge: Judge::Tool(wrong_default),
        ..RULE
    },
    Rule {
        name: "required-with-default",
        level: Level::Info,
        reason: "A required parameter is always given, so its default never holds; one of both is \
                 a mistake.",
        fix: "drop it from `required`, or drop the default",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"integer","default":5,"description":"How many tickets."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"n":{"type":"integer","default":5,"description":"How many tickets."}},"required":["n"]}}"#,
        ],
        judge: Judge::Tool(required_with_default),
        ..RULE
    },
    Rule {
        name: "unknown-required",
        reason: "A name under `required` is no property: with closed properties no arguments are \
                 valid at all.",
        fix: "correct the name, or declare the property",
        good: &[r#"{}"#],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"title":{"type":"string","description":"What it is about."}},"required":["titel"]}}"#,
        ],
        judge: Judge::Tool(unknown_required),
        ..RULE
    },
    Rule {
        name: "untyped-property",
        level: Level::Info,
        reason: "Nothing is said about the value, so a model guesses between a text, a number and \
                 an object.",
        fix: "write the type; where any JSON is meant, say so in the description",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"value":{"description":"Any JSON value."},"title":{"type":"string","description":"What it is about."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"title":{"description":"What it is about."}}}}"#,
        ],
        judge: Judge::Tool(untyped_property),
        ..RULE
    },
    Rule {
        name: "free-form-object",
        level: Level::Info,
        reason: "An object without properties: a model has to know its keys from elsewhere. \
                 Filters, headers and variables are rightly open.",
        fix: "declare its properties, or the schema of its values under `additionalProperties`",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"labels":{"type":"object","additionalProperties":{"type":"string"},"description":"Name and value of each label."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"ticket":{"type":"object","description":"The ticket to open."}}}}"#,
        ],
        judge: Judge::Tool(free_form_object),
        ..RULE
    },
    Rule {
        name: "json-in-string",
        reason: "A text that holds JSON is escaped by the model, and no schema judges what is in \
                 it.",
        fix: "declare the object or the list itself",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Path of the JSON file."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"fields":{"type":"string","description":"JSON string of the ticket's fields."}}}}"#,
        ],
        judge: Judge::Tool(json_in_string),
        ..RULE
    },
    Rule {
        name: "prose-enum",
        level: Level::Off,
        reason: "A closed set of values stands in the text and not in the schema. Right in about \
                 every third case, so it is off.",
        fix: "write the values as `enum`",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"kind":{"type":"string","enum":["bug","task"],"description":"One of 'bug', 'task'."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"kind":{"type":"string","description":"One of 'bug', 'task'."}}}}"#,
        ],
        judge: Judge::Tool(prose_enum),
        ..RULE
    },
    Rule {
        name: "many-parameters",
        level: Level::Info,
        reason: "With more than fifteen parameters a model leaves out what matters and fills in \
                 what does not.",
        fix: "split the tool, or group what belongs together",
        good: &[r#"{}"#],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"a":{"type":"string","description":"First part."},"b":{"type":"string","description":"First part."},"c":{"type":"string","description":"First part."},"d":{"type":"string","description":"First part."},"e":{"type":"string","description":"First part."},"f":{"type":"string","description":"First part."},"g":{"type":"string","description":"First part."},"h":{"type":"string","description":"First part."},"i":{"type":"string","description":"First part."},"j":{"type":"string","description":"First part."},"k":{"type":"string","description":"First part."},"l":{"type":"string","description":"First part."},"m":{"type":"string","description":"First part."},"n":{"type":"string","description":"First part."},"o":{"type":"string","description":"First part."},"p":{"type":"string","description":"First part."}}}}"#,
        ],
        judge: Judge::Tool(many_parameters),
        ..RULE
    },
    Rule {
        name: "deep-nesting",
        level: Level::Info,
        reason: "Arguments nested more than five levels deep are often built wrong, and strict \
                 modes refuse them.",
        fix: "flatten what the call needs",
        good: &[r#"{}"#],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"b":{"type":"string","description":"First part."},"a":{"description":"First part.","type":"object","properties":{"a":{"type":"object","description":"First part.","properties":{"a":{"type":"object","description":"First part.","properties":{"a":{"type":"object","description":"First part.","properties":{"a":{"type":"object","description":"First part.","properties":{"a":{"type":"string","description":"First part."}}}}}}}}}}}}}}"#,
        ],
        judge: Judge::Tool(deep_nesting),
        ..RULE
    },
    Rule {
        name: "wrapper-parameter",
        level: Level::Info,
        reason: "The only parameter is an object that wraps the real ones: one level more in which \
                 a model can go wrong.",
        fix: "make the inner properties the parameters",
        good: &[r#"{}"#],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"params":{"type":"object","description":"The ticket.","properties":{"title":{"type":"string","description":"What it is about."}}}},"required":["params"]}}"#,
        ],
        judge: Judge::Tool(wrapper_parameter),
        ..RULE
    },
    Rule {
        name: "optional-wrapper",
        reason: "The object that wraps the parameters may be left out, and what is in it may not: \
                 a call without arguments is valid and fails.",
        fix: "require the wrapper, or better drop it",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"params":{"type":"object","description":"The ticket.","properties":{"title":{"type":"string","description":"What it is about."}},"required":["title"]}},"required":["params"]}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"params":{"type":"object","description":"The ticket.","properties":{"title":{"type":"string","description":"What it is about."}},"required":["title"]}}}}"#,
        ],
        judge: Judge::Tool(optional_wrapper),
        ..RULE
    },
];

patterns! {
    ANY_JSON = r"(?i)\bany\b|\barbitrary\b|json[- ]?serializable|json value";
    JSON_TEXT = r"(?i)\bjson[- ](?:string|encoded|serialized|formatted|stringified)\b|\bstringified json\b|\b(?:as|in|is|be) (?:a |an |valid )*json(?: object| array| string| format)?\b|^(?:a |an |the |optional )*json (?:object|array|list|payload|body)\b|\bserialized json\b";
    NOT_THE_VALUE = r"(?i)json (?:mode|schema|file|path|pointer|rpc|lines|response|output)|path to|returns?\b|\.json\b|output format|response format";
    CLOSED = r"(?i)\b(?:one of|must be|either|valid values|allowed values|possible values|options)\b[^.\n]*";
    OPEN = r"(?i)see below|for example|e\.g\.|such as|tools?\b|etc\.?";
}

fn at(property: Property<'_>, message: String) -> Found {
    Found::new(Place::property(property.pointer), message)
}

fn null_default(tool: &Subject, _: &Server) -> Vec<Found> {
    let bad = |property: &Property<'_>| {
        let schema = property.schema;
        let types = walk::types(schema);
        schema.get("default").is_some_and(Value::is_null)
            && schema.get("nullable") != Some(&Value::Bool(true))
            && !types.is_empty()
            && !types.contains(&"null")
    };
    let all: Vec<Property<'_>> = walk::properties(&tool.input).into_iter().filter(bad).collect();
    let names: Vec<&str> = all.iter().map(|property| property.name).collect();
    let message = || format!("the default of {} is null, and the type is not", list(&names));
    let first = all.first().map(|property| Place::property(property.pointer.clone()));
    first.map(|place| Found::new(place, message())).into_iter().collect()
}

fn wrong_default(tool: &Subject, _: &Server) -> Vec<Found> {
    let mut found = Vec::new();
    for property in walk::properties(&tool.input) {
        let Some(default) = property.schema.get("default").filter(|value| !value.is_null()) else {
            continue;
        };
        let types = walk::types(property.schema);
        let fits = types.is_empty() || types.iter().any(|name| is_a(default, name));
        let listed = property.schema.get("enum").and_then(Value::as_array);
        let listed = listed.is_none_or(|values| values.contains(default));
        if !fits || !listed {
            let what = if fits { "none of its values" } else { "of another type" };
            let text = shown(&default.to_string());
            let message = format!("the default {text} of `{}` is {what}", property.name);
            found.push(at(property, message));
        }
    }
    found
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        // `null`, and names that the dialect does not know.
        _ => true,
    }
}

fn required_with_default(tool: &Subject, _: &Server) -> Vec<Found> {
    let both = |property: &Property<'_>| {
        property.required && property.schema.get("default").is_some_and(|value| !value.is_null())
    };
    let all = walk::parameters(&tool.input).into_iter().filter(both);
    all.map(|property| {
        let message = format!("`{}` is required, and has a default", property.name);
        at(property, message)
    })
    .collect()
}

fn unknown_required(tool: &Subject, _: &Server) -> Vec<Found> {
    let mut found = Vec::new();
    for node in walk::nodes(&tool.input) {
        let plain = ["", "properties", "items"].contains(&node.under);
        let composed =
            ["anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| node.schema.get(*key).is_some());
        let known = node.schema.get("properties").and_then(Value::as_object);
        let required = node.schema.get("required").and_then(Value::as_array);
        let (Some(known), Some(required), true) = (known, required, plain && !composed) else {
            continue;
        };
        for (index, name) in required.iter().enumerate() {
            if name.as_str().is_some_and(|name| !known.contains_key(name)) {
                let place = Place::input(format!("{}/required/{index}", node.pointer));
                found.push(Found::new(place, format!("{name} is required, and is no property")));
            }
        }
    }
    found
}

fn untyped_property(tool: &Subject, _: &Server) -> Vec<Found> {
    let bare = |property: &Property<'_>| {
        property.schema.as_object().is_some_and(walk::says_nothing)
            && !ANY_JSON.is_in(property.description())
    };
    let all = walk::properties(&tool.input).into_iter().filter(bare);
    all.map(|property| {
        let message = format!("nothing says what kind of value `{}` is", property.name);
        at(property, message)
    })
    .collect()
}

/// Whether a schema is an object about whose members nothing is said.
fn is_open(schema: &Value) -> bool {
    const SAYS: [&str; 8] = [
        "properties",
        "patternProperties",
        "$ref",
        "anyOf",
        "oneOf",
        "allOf",
        "propertyNames",
        "enum",
    ];
    walk::types(schema).contains(&"object")
        && !SAYS.iter().any(|key| {
            schema.get(*key).is_some_and(|value| *value != Value::Object(Default::default()))
        })
        && schema.get("additionalProperties").is_none_or(|more| {
            more.is_boolean() || more.as_object().is_some_and(serde_json::Map::is_empty)
        })
}

/// Parameters whose keys are the user's own.
const OPEN_NAMES: [&str; 16] = [
    "filter",
    "header",
    "variable",
    "metadata",
    "param",
    "parameter",
    "argument",
    "arg",
    "option",
    "env",
    "label",
    "tag",
    "attribute",
    "query",
    "payload",
    "body",
];

fn free_form_object(tool: &Subject, _: &Server) -> Vec<Found> {
    let all = walk::properties(&tool.input).into_iter();
    let open = |property: &Property<'_>| {
        is_open(property.schema) || property.schema.get("items").is_some_and(is_open)
    };
    all.filter(open)
        .map(|property| {
            let words = crate::tool::words::words(property.name);
            let last = words.last().map(|word| crate::lint::prose::stem(word)).unwrap_or_default();
            let mild = OPEN_NAMES.contains(&last.as_str());
            let message = format!("`{}` is an object of which no key is known", property.name);
            at(property, message).mild(mild)
        })
        .collect()
}

fn json_in_string(tool: &Subject, _: &Server) -> Vec<Found> {
    let holds = |property: &Property<'_>| {
        let text = property.description();
        walk::is_text(property.schema)
            && walk::constants(property.schema).is_empty()
            && JSON_TEXT.is_in(text)
            && !NOT_THE_VALUE.is_in(text)
    };
    let all = walk::properties(&tool.input).into_iter().filter(holds);
    all.map(|property| {
        let message = format!("`{}` is a text that holds JSON", property.name);
        at(property, message)
    })
    .collect()
}

fn prose_enum(tool: &Subject, _: &Server) -> Vec<Found> {
    let closed = |property: &Property<'_>| {
        let text = property.description();
        let clause = CLOSED.find(text).map(|span| &text[span]);
        walk::is_text(property.schema)
            && walk::constants(property.schema).is_empty()
            && clause.is_some_and(|clause| {
                crate::lint::prose::quoted(clause).len() >= 2 && !OPEN.is_in(clause)
            })
    };
    let all = walk::properties(&tool.input).into_iter().filter(closed);
    all.map(|property| {
        let message = format!("the values of `{}` stand in its text only", property.name);
        at(property, message)
    })
    .collect()
}

/// More parameters than these are many.
const PARAMETERS: usize = 15;
/// Arguments nested deeper than this are deep.
const NESTING: usize = 5;

fn many_parameters(tool: &Subject, _: &Server) -> Vec<Found> {
    let count = walk::parameters(&tool.input).len();
    let message = || format!("it has {count} parameters");
    let many = (count > PARAMETERS).then(|| Found::new(Place::property("/properties"), message()));
    many.into_iter().collect()
}

fn deep_nesting(tool: &Subject, _: &Server) -> Vec<Found> {
    let nodes = walk::nodes(&tool.input);
    let deepest = nodes.iter().max_by_key(|node| node.depth).filter(|node| node.depth > NESTING);
    let find = |node: &walk::Node<'_>| {
        let message = format!("arguments are nested {} levels deep here", node.depth);
        Found::new(Place::input(node.pointer.clone()), message)
    };
    deepest.map(find).into_iter().collect()
}

/// The only parameter, where it is an object with properties of its own.
fn wrapper(tool: &Subject) -> Option<(Property<'_>, &Value)> {
    let mut all = walk::parameters(&tool.input).into_iter();
    let only = all.next().filter(|_| all.next().is_none())?;
    let inner = walk::followed(&tool.input, only.schema);
    let branch = walk::branches(inner)
        .map(|branch| walk::followed(&tool.input, branch))
        .find(|branch| branch.get("properties").is_some());
    let inner = branch.unwrap_or(inner);
    let members = inner.get("properties").and_then(Value::as_object)?;
    (!members.is_empty()).then_some((only, inner))
}

fn wrapper_parameter(tool: &Subject, _: &Server) -> Vec<Found> {
    let Some((only, _)) = wrapper(tool) else { return Vec::new() };
    let message = format!("`{}` wraps all parameters", only.name);
    vec![at(only, message)]
}

fn optional_wrapper(tool: &Subject, _: &Server) -> Vec<Found> {
    let Some((only, inner)) = wrapper(tool).filter(|(only, _)| !only.required) else {
        return Vec::new();
    };
    let required = inner.get("required").and_then(Value::as_array);
    let Some(first) = required.and_then(|names| names.first()) else { return Vec::new() };
    let message = format!("`{}` may be left out, and {first} in it is required", only.name);
    vec![at(only, message)]
}
