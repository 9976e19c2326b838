//! Tools that are several tools in one, and parameters that give a model power it should not have.

use std::sync::LazyLock;

use serde_json::Value;

use crate::base::secret::SecretSet;
use crate::lint::prose::{list, patterns, quoted};
use crate::lint::rule::{Found, Judge, Level, Place, RULE, Rule};
use crate::lint::subject::{Part, Server, Subject};
use crate::lint::walk::{self, Property};
use crate::tool::effect::ActionType;
use crate::tool::words::{verb, words};

pub(in crate::lint) const RULES: [Rule; 7] = [
    Rule {
        name: "free-text-operation",
        reason: "What the tool does is chosen by a free text: a misspelled operation is a failed \
                 call, and no policy can tell one operation from another.",
        fix: "make it an `enum`, or one tool for each operation",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"action":{"type":"string","enum":["send","link"],"description":"What to do."}}}}"#,
            r#"{"inputSchema":{"type":"object","properties":{"action":{"type":"string","description":"The action type to look for."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"action":{"type":"string","description":"What to do: \"send\" or \"link\"."}}}}"#,
            r#"{"inputSchema":{"type":"object","properties":{"command":{"type":"string","description":"Which one."},"parameters":{"type":"object","description":"Its own."}}}}"#,
        ],
        judge: Judge::Tool(free_text_operation),
        ..RULE
    },
    Rule {
        name: "mixed-effects",
        reason: "One tool reads and changes, by the value of a parameter: it can be neither allowed \
                 as a read nor asked about as a change.",
        fix: "split it into a tool that reads and one that changes",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"action":{"type":"string","enum":["create","update"],"description":"What to do."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"action":{"type":"string","enum":["list","create"],"description":"What to do."}}}}"#,
        ],
        judge: Judge::Tool(mixed_effects),
        ..RULE
    },
    Rule {
        name: "hint-contradicts-action",
        reason: "A hint says that the tool changes or destroys nothing, and one of its actions does: \
                 a client that trusts the hint does not ask.",
        fix: "correct the hint, or split the tool",
        good: &[
            r#"{"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"action":{"type":"string","enum":["list","find"],"description":"What to do."}}}}"#,
        ],
        bad: &[
            r#"{"annotations":{"readOnlyHint":false,"destructiveHint":false},"inputSchema":{"type":"object","properties":{"action":{"type":"string","enum":["add","remove"],"description":"What to do."}}}}"#,
        ],
        judge: Judge::Tool(hint_contradicts_action),
        ..RULE
    },
    Rule {
        name: "model-confirms",
        reason: "The model itself can say that the user has confirmed; what a model fills in is no \
                 consent (seed B).",
        fix: "drop the parameter and let the client ask, or declare it as `permissions.approvalMarker`",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"confirmation_code":{"type":"string","description":"From the receipt."},"force":{"type":"boolean","description":"Whether a lock is broken."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"confirm":{"type":"boolean","description":"Whether the user agrees."}}}}"#,
        ],
        judge: Judge::Tool(model_confirms),
        ..RULE
    },
    Rule {
        name: "universal-tool",
        level: Level::Info,
        reason: "A query, a program, a request or a command of any kind: the arguments decide what \
                 the tool does, so no descriptor can say what it may do.",
        fix: "offer the operations that are needed, and keep the universal one behind approval",
        good: &[
            r#"{"name":"find_ticket","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"Words to look for."}}}}"#,
        ],
        bad: &[
            r#"{"name":"run_query","inputSchema":{"type":"object","properties":{"sql":{"type":"string","description":"The statement."}}}}"#,
            r#"{"name":"run_shell","description":"Execute a shell command and return its output.","inputSchema":{"type":"object","properties":{"command":{"type":"string","description":"The line."}}}}"#,
            r#"{"name":"call_any","inputSchema":{"type":"object","properties":{"url":{"type":"string","description":"Where to."},"method":{"type":"string","enum":["GET","POST"],"description":"Of HTTP."}}}}"#,
        ],
        judge: Judge::Tool(universal_tool),
        ..RULE
    },
    Rule {
        name: "secret-argument",
        reason: "A model that fills in a secret has seen it, and so has every transcript (seed B, \
                 invariant 7).",
        fix: "name the secret under `credentials.requiredSecrets`, or read it from the environment, and drop the parameter",
        good: &[
            r#"{"inputSchema":{"type":"object","properties":{"page_token":{"type":"string","description":"Where to go on."},"is_secret":{"type":"boolean","description":"Whether it is hidden."}}}}"#,
        ],
        bad: &[
            r#"{"inputSchema":{"type":"object","properties":{"api_key":{"type":"string","description":"Of the tracker."}}}}"#,
        ],
        judge: Judge::Tool(secret_argument),
        ..RULE
    },
    Rule {
        name: "secret-value",
        level: Level::Error,
        reason: "A value that looks like a secret stands where every client and every model reads \
                 it.",
        fix: "take the value out, and change it where it is used",
        good: &[r#"{}"#],
        bad: &[
            r#"{"description":"Open a ticket with ghp_0123456789abcdefghijklmnopqrstuvwxyz as its key."}"#,
        ],
        judge: Judge::Tool(secret_value),
        ..RULE
    },
];

patterns! {
    SQL = r"(?i)\bsql\b|\bcypher\b|\bgraphql\b|\bselect\b.*\bfrom\b|\bquery statement\b";
    CODE = r"(?i)\b(?:execut|run|evaluat|invok)\w*\b[^.\n]{0,60}\b(?:javascript|python|code|script|shell|command line|terminal|bash|kubectl|js)\b";
    BULLET = r"(?m)^\s*(?:[-*•]\s*)?[`'\x22]?([a-z][a-z_]+)[`'\x22]?\s*:\s+\S|(?:operation|action)[^:\n]{0,40}:\s*((?:[a-z_]+(?:,\s*(?:or |and )?|\s+or\s+|\s+and\s+))+[a-z_]+)\b";
}

/// Names of parameters that choose what a tool does.
const SELECTORS: [&str; 5] = ["action", "operation", "mode", "op", "command"];

/// The values that a selecting parameter takes: declared, or said in words.
fn values(tool: &Subject, property: &Property<'_>) -> Vec<String> {
    let declared = walk::constants(property.schema);
    if !declared.is_empty() {
        return declared.into_iter().map(str::to_owned).collect();
    }
    let text = match property.description() {
        "" => paragraph(&tool.description, property.name),
        text => text,
    };
    let mut said: Vec<String> = quoted(text).iter().map(|word| word.1.to_owned()).collect();
    for bullet in BULLET.all(text) {
        said.extend(bullet.get(1).map(|word| word.as_str().to_owned()));
        let row = bullet.get(2).map(|row| row.as_str()).unwrap_or_default();
        let words = row.split([',', ' ']).filter(|word| !["", "or", "and"].contains(word));
        said.extend(words.map(str::to_owned));
    }
    said.sort();
    said.dedup();
    said
}

/// The line of a text that is about a parameter.
fn paragraph<'t>(text: &'t str, name: &str) -> &'t str {
    let about = |line: &&str| {
        let line = line.trim_start().trim_start_matches(['-', '*', '`', ' ']);
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', ':', '`', '(']))
    };
    text.lines().find(about).unwrap_or_default()
}

fn selectors(tool: &Subject) -> Vec<Property<'_>> {
    let mut all = walk::parameters(&tool.input);
    all.retain(|property| SELECTORS.contains(&property.name) && walk::is_text(property.schema));
    all
}

fn free_text_operation(tool: &Subject, _: &Server) -> Vec<Found> {
    let routes = walk::parameters(&tool.input).iter().any(|property| {
        ["parameters", "args", "arguments", "params"].contains(&property.name)
            && walk::has_type(property.schema, "object")
    });
    let mut found = Vec::new();
    for property in selectors(tool) {
        let free =
            walk::constants(property.schema).is_empty() && property.schema.get("pattern").is_none();
        let chooses = match property.name {
            "command" => routes,
            _ => !values(tool, &property).is_empty() && !is_filter(&property),
        };
        if free && chooses {
            let message = format!("`{}` is a free text that chooses the operation", property.name);
            found.push(Found::new(Place::property(property.pointer), message));
        }
    }
    found
}

/// Whether a parameter narrows what is listed rather than choosing what is done.
fn is_filter(property: &Property<'_>) -> bool {
    let text = property.description().to_lowercase();
    ["filter", "to check", "to look for", "events with", "search for"]
        .iter()
        .any(|word| text.contains(word))
}

/// What a value does, where its first word is a verb; a later word may say more, as in
/// `find_replace`.
fn action(value: &str) -> Option<ActionType> {
    let words = words(value);
    let first = words.first().and_then(|word| verb(word))?;
    let more = words.iter().skip(1).filter_map(|word| verb(word)).find(|more| !reads(*more));
    Some(more.filter(|_| reads(first)).unwrap_or(first))
}

fn reads(action: ActionType) -> bool {
    matches!(action, ActionType::Read | ActionType::Search | ActionType::Inspect)
}

fn mixed_effects(tool: &Subject, _: &Server) -> Vec<Found> {
    let mut found = Vec::new();
    for property in selectors(tool).into_iter().filter(|property| !is_filter(property)) {
        let values = values(tool, &property);
        let known: Vec<(&str, ActionType)> =
            values.iter().filter_map(|value| Some((value.as_str(), action(value)?))).collect();
        let read = known.iter().find(|(_, action)| reads(*action));
        let change =
            known.iter().find(|(_, action)| !reads(*action) && *action != ActionType::Compute);
        if let (Some((read, _)), Some((change, _))) = (read, change) {
            let message = format!("`{}` chooses between `{read}` and `{change}`", property.name);
            found.push(Found::new(Place::property(property.pointer), message));
        }
    }
    found
}

fn hint_contradicts_action(tool: &Subject, _: &Server) -> Vec<Found> {
    let safe = tool.hint("readOnlyHint") == Some(true);
    let mild = tool.hint("destructiveHint") == Some(false);
    let hint = if safe { "readOnlyHint" } else { "destructiveHint" };
    let mut found = Vec::new();
    for property in
        selectors(tool).into_iter().filter(|property| !is_filter(property) && (safe || mild))
    {
        let listed = walk::constants(property.schema);
        let against = listed.iter().find(|value| match action(value) {
            Some(ActionType::Delete) => true,
            Some(ActionType::Write | ActionType::Patch) => safe,
            _ => false,
        });
        if let Some(value) = against {
            let message =
                format!("`{}` can be `{value}`, against the hint `{hint}`", property.name);
            found.push(Found::new(Place::property(property.pointer), message));
        }
    }
    found
}

fn model_confirms(tool: &Subject, _: &Server) -> Vec<Found> {
    let marker =
        tool.descriptor.as_ref().and_then(|one| one.permissions.approval_marker.as_deref());
    let confirms = |property: &Property<'_>| {
        let words = words(property.name);
        let says =
            |word: &String| ["confirm", "confirmed", "confirmation"].contains(&word.as_str());
        walk::has_type(property.schema, "boolean")
            && (words.first().is_some_and(says) || words.last().is_some_and(says))
            && marker != Some(property.name)
    };
    let all = walk::properties(&tool.input).into_iter().filter(confirms);
    all.map(|property| {
        let message = format!("a model can set `{}` for the user", property.name);
        Found::new(Place::property(property.pointer), message)
    })
    .collect()
}

fn universal_tool(tool: &Subject, _: &Server) -> Vec<Found> {
    let all = walk::parameters(&tool.input);
    let text = |names: &[&str]| {
        all.iter().find(|one| names.contains(&one.name) && walk::is_text(one.schema))
    };
    let sql = text(&["sql"]).or_else(|| {
        text(&["query", "statement", "queries"]).filter(|one| {
            SQL.is_in(one.description())
                || (one.description().len() < 40 && SQL.is_in(&tool.description))
        })
    });
    let code = text(&["code", "script", "command", "cmd", "function", "expression", "javascript"])
        .filter(|one| CODE.is_in(&tool.description) || CODE.is_in(one.description()));
    let http = all.iter().find(|one| {
        one.name == "method"
            && ["GET", "POST"].iter().all(|name| {
                walk::constants(one.schema).contains(name) || one.description().contains(name)
            })
    });
    // A tool that keeps requests takes one as data.
    let keeps = words(&tool.name).iter().find_map(|word| verb(word)).is_some_and(|action| {
        matches!(action, ActionType::Write | ActionType::Patch | ActionType::Read)
    });
    let http = http.filter(|_| !keeps && text(&["url", "path", "endpoint", "uri"]).is_some());
    let router = text(&["command"]).filter(|_| {
        all.iter().any(|one| {
            ["parameters", "args"].contains(&one.name) && walk::has_type(one.schema, "object")
        })
    });
    let kinds = [(sql, "query"), (code, "program"), (http, "request"), (router, "command")];
    let found = kinds.into_iter().find_map(|(one, kind)| Some((one?, kind)));
    found
        .map(|(one, kind)| {
            let message = format!("`{}` takes a {kind} of any kind", one.name);
            Found::new(Place::property(one.pointer.clone()), message)
        })
        .into_iter()
        .collect()
}

/// Names of parameters that carry a secret; each is a run of words at the end of the name.
const SECRETS: [&[&str]; 12] = [
    &["password"],
    &["passwd"],
    &["passphrase"],
    &["secret"],
    &["apikey"],
    &["api", "key"],
    &["access", "token"],
    &["auth", "token"],
    &["bearer", "token"],
    &["refresh", "token"],
    &["private", "key"],
    &["credentials"],
];

fn secret_argument(tool: &Subject, _: &Server) -> Vec<Found> {
    let secret = |name: &str| {
        let words = words(name);
        SECRETS.iter().any(|run| {
            let last = words.len().saturating_sub(run.len());
            words.iter().skip(last).eq(run.iter())
        })
    };
    let all = walk::properties(&tool.input).into_iter();
    let takes = |property: &Property<'_>| {
        let types = walk::types(property.schema);
        secret(property.name)
            && (walk::is_text(property.schema) || types.is_empty())
            && walk::constants(property.schema).is_empty()
    };
    let found: Vec<Property<'_>> = all.filter(takes).collect();
    let names: Vec<&str> = found.iter().map(|property| property.name).collect();
    let message = || format!("a model would have to fill in {}", list(&names));
    let first =
        found.first().map(|one| Found::new(Place::property(one.pointer.clone()), message()));
    first.into_iter().collect()
}

fn secret_value(tool: &Subject, _: &Server) -> Vec<Found> {
    static SHAPES: LazyLock<SecretSet> = LazyLock::new(|| SecretSet::new([]).with_patterns(true));
    let texts = |value: &Value| value.to_string();
    let part = |part: Part, text: String| {
        let message = "a value in it looks like a secret";
        // An address with `user:password` in it shows where they go.
        let text = text.replace("user:password@", "");
        (SHAPES.scrub(&text) != text).then(|| Found::new(Place::of(part), message))
    };
    let whole = tool.descriptor.as_ref().map(|one| serde_json::to_string(one).unwrap_or_default());
    part(Part::Description, tool.description.clone())
        .or_else(|| part(Part::Input, texts(&tool.input)))
        .or_else(|| part(Part::Name, whole.unwrap_or_default()))
        .into_iter()
        .collect()
}
