//! MCP's annotations. They are hints and bind nobody, and clients ask or do not ask by them.

use serde_json::{Map, Value};

use crate::lint::prose::{list, shown};
use crate::lint::rule::{Found, Judge, Level, Place, RULE, Rule};
use crate::lint::subject::{Part, Server, Subject};
use crate::tool::effect::ActionType;
use crate::tool::words::{SAFE, verb, words};

pub(in crate::lint) const RULES: [Rule; 5] = [
    Rule {
        name: "no-hints",
        level: Level::Info,
        reason: "Neither `readOnlyHint` nor `destructiveHint` is given; by the protocol's default \
                 the tool then counts as destructive.",
        fix: "state both",
        good: &[r#"{}"#],
        bad: &[r#"{"annotations":{"title":"Tickets"}}"#],
        judge: Judge::Tool(no_hints),
        ..RULE
    },
    Rule {
        name: "unhinted-destruction",
        reason: "The name says that something is removed, and no hint does.",
        fix: "write `destructiveHint: true`",
        good: &[r#"{"name":"delete_ticket","annotations":{"destructiveHint":true}}"#],
        bad: &[r#"{"name":"delete_ticket","annotations":{}}"#],
        judge: Judge::Tool(unhinted_destruction),
        ..RULE
    },
    Rule {
        name: "hint-contradicts-name",
        level: Level::Off,
        reason: "A hint says the opposite of the name's verb. Both mislead: right once in twenty, so \
                 it is off.",
        fix: "correct the hint or the name",
        good: &[r#"{"name":"get_ticket","annotations":{"readOnlyHint":true}}"#],
        bad: &[r#"{"name":"delete_ticket","annotations":{"readOnlyHint":true}}"#],
        judge: Judge::Tool(hint_contradicts_name),
        ..RULE
    },
    Rule {
        name: "one-hint-for-all",
        level: Level::Info,
        reason: "All tools of a server carry the same hints, reading ones and changing ones alike: \
                 they say nothing.",
        fix: "set the hints of each tool by what it does",
        good: &[
            r#"[{"name":"get_a","annotations":{"readOnlyHint":true}},{"name":"get_b","annotations":{"readOnlyHint":true}},{"name":"get_c","annotations":{"readOnlyHint":true}}]"#,
        ],
        bad: &[
            r#"[{"name":"get_a","annotations":{"readOnlyHint":false}},{"name":"list_b","annotations":{"readOnlyHint":false}},{"name":"create_c","annotations":{"readOnlyHint":false}}]"#,
        ],
        judge: Judge::Server(one_hint_for_all),
        ..RULE
    },
    Rule {
        name: "unknown-field",
        level: Level::Info,
        reason: "A field that no protocol revision names is dropped by some clients and refused by \
                 others.",
        fix: "move it under `_meta`",
        good: &[r#"{"_meta":{"id":"7"}}"#],
        bad: &[r#"{"id":"7"}"#, r#"{"annotations":{"readOnlyHint":true,"category":"x"}}"#],
        judge: Judge::Tool(unknown_field),
        ..RULE
    },
];

fn place(tool: &Subject) -> Place {
    Place::of(if tool.annotations.is_some() { Part::Annotations } else { Part::Name })
}

fn unhinted(tool: &Subject) -> bool {
    let none = |name: &str| tool.hint(name).is_none();
    tool.hinted && none("readOnlyHint") && none("destructiveHint")
}

/// Whether the name's first verb removes something.
fn removes(tool: &Subject) -> bool {
    words(&tool.name).iter().find_map(|word| verb(word)) == Some(ActionType::Delete)
}

fn no_hints(tool: &Subject, _: &Server) -> Vec<Found> {
    let message = "no hint says whether it changes anything; it counts as destructive";
    unhinted(tool).then(|| Found::new(place(tool), message)).into_iter().collect()
}

fn unhinted_destruction(tool: &Subject, _: &Server) -> Vec<Found> {
    let message = "the name says that it removes something, and no hint does";
    let bad = unhinted(tool) && removes(tool);
    bad.then(|| Found::new(Place::of(Part::Name), message)).into_iter().collect()
}

/// Whether the name's first verb only reads.
fn reads(tool: &Subject) -> bool {
    let first = words(&tool.name).into_iter().find(|word| verb(word).is_some());
    first.is_some_and(|word| SAFE.contains(&word.as_str()))
}

fn hint_contradicts_name(tool: &Subject, _: &Server) -> Vec<Found> {
    let first = words(&tool.name).iter().find_map(|word| verb(word));
    let changes = first.is_some_and(|action| {
        matches!(action, ActionType::Write | ActionType::Patch | ActionType::Delete)
    });
    let message = match tool.hint("readOnlyHint") {
        Some(true) if changes => "called read-only, named for a change",
        Some(false) if reads(tool) => "called changing, named for a read",
        _ if tool.hint("destructiveHint") == Some(false) && removes(tool) => {
            "called not destructive, named for a removal"
        }
        _ => return Vec::new(),
    };
    vec![Found::new(place(tool), message)]
}

/// A list of fewer tools may well be of one kind.
const TOOLS: usize = 3;

fn one_hint_for_all(server: &Server) -> Vec<(usize, Found)> {
    let hints = |tool: &Subject| {
        let mut map: Map<String, Value> = tool.annotations.clone()?;
        map.remove("title");
        (!map.is_empty()).then_some(map)
    };
    let Some(first) = server.tools.first().and_then(hints) else { return Vec::new() };
    let same = server.tools.iter().all(|tool| hints(tool).as_ref() == Some(&first));
    let reading = server.tools.iter().filter(|tool| reads(tool)).count();
    let changing = server
        .tools
        .iter()
        .filter(|tool| !reads(tool))
        .any(|tool| words(&tool.name).iter().any(|word| verb(word).is_some()));
    if !same || server.tools.len() < TOOLS || reading == 0 || !changing {
        return Vec::new();
    }
    let count = server.tools.len();
    let message = format!("all {count} tools of {} carry the same hints", server.name);
    vec![(0, Found::new(Place::of(Part::Annotations), message))]
}

fn unknown_field(tool: &Subject, _: &Server) -> Vec<Found> {
    let names: Vec<&str> = tool.unknown.iter().map(String::as_str).collect();
    let first =
        names.first().map(|name| Place { key: true, ..Place::of(Part::Field(shown(name))) });
    let message = || format!("the protocol names no field {}", list(&names));
    first.map(|place| Found::new(place, message())).into_iter().collect()
}
