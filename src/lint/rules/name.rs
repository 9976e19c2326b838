//! Names: of tools, of parameters, within a server and across the servers chosen together.

use std::collections::{BTreeMap, BTreeSet};

use crate::lint::prose::{patterns, shown, stem};
use crate::lint::rule::{Found, Judge, Level, Place, RULE, Rule};
use crate::lint::subject::{Part, Server, Subject};
use crate::lint::walk;
use crate::tool::words::words;

pub(in crate::lint) const RULES: [Rule; 7] = [
    Rule {
        name: "bad-name",
        level: Level::Error,
        reason: "The protocol asks for 1 to 128 of `[A-Za-z0-9_.-]`; clients refuse other names or \
                 change them.",
        fix: "rename the tool",
        blast: Some("providers refuse the whole request, so one such tool costs all of them"),
        good: &[r#"{"name":"tickets.open-v2"}"#],
        bad: &[r#"{"name":"open ticket"}"#, r#"{"name":""}"#],
        judge: Judge::Tool(bad_name),
        ..RULE
    },
    Rule {
        name: "duplicate-name",
        level: Level::Error,
        reason: "Two tools of one server have one name: which of them is called is the client's \
                 whim.",
        fix: "rename one of them",
        good: &[
            r#"[{"name":"open_ticket"},{"name":"close_account","description":"Close a customer's account for good."}]"#,
        ],
        bad: &[r#"[{},{"description":"Close a customer's account for good."}]"#],
        judge: Judge::Server(duplicate_name),
        ..RULE
    },
    Rule {
        name: "plural-pair",
        reason: "Two tools differ in a plural only; a model takes one for the other.",
        fix: "say the difference in the name, as in `list_tickets` and `get_ticket`",
        good: &[
            r#"[{"name":"list_tickets"},{"name":"get_ticket","description":"Return one entry with its history."}]"#,
        ],
        bad: &[
            r#"[{"name":"get_tickets"},{"name":"get_ticket","description":"Return one entry with its history."}]"#,
        ],
        judge: Judge::Server(plural_pair),
        ..RULE
    },
    Rule {
        name: "near-names",
        level: Level::Info,
        reason: "Two names of a server differ in one word, and only by a few letters of it; a model may \
                 take one tool for the other.",
        fix: "choose words that differ more",
        good: &[
            r#"[{"name":"create_ticket"},{"name":"delete_ticket","description":"Remove one entry for good, with its whole history."}]"#,
        ],
        bad: &[
            r#"[{"name":"install_label"},{"name":"reinstall_label","description":"Remove one entry for good, with its whole history."}]"#,
        ],
        judge: Judge::Server(near_names),
        ..RULE
    },
    Rule {
        name: "two-spellings",
        reason: "One parameter is spelled two ways in one server; what was learned from one tool is \
                 wrong for the next.",
        fix: "spell it one way",
        good: &[
            r#"[{"name":"open_ticket"},{"name":"close_account","description":"Close a customer's account for good."}]"#,
        ],
        bad: &[
            r#"[{"inputSchema":{"type":"object","properties":{"owner_id":{"type":"string","description":"Whose it is."}}}},{"name":"close_account","description":"Close a customer's account for good.","inputSchema":{"type":"object","properties":{"ownerId":{"type":"string","description":"Whose it is."}}}}]"#,
        ],
        judge: Judge::Server(two_spellings),
        ..RULE
    },
    Rule {
        name: "long-qualified-name",
        level: Level::Info,
        reason: "Clients put `mcp__SERVER__` before a tool's name, and providers take 64 characters \
                 in all: a valid name comes out too long.",
        fix: "shorten the tool's name, or the server's",
        good: &[r#"{}"#],
        bad: &[r#"{"name":"open_a_ticket_in_the_tracker_of_the_department_of_whoever"}"#],
        judge: Judge::Tool(long_qualified_name),
        ..RULE
    },
    Rule {
        name: "name-collision",
        reason: "Two servers that are chosen together offer a tool of one name; clients keep the \
                 last or the first one without a word.",
        fix: "choose one of them, or use a client that puts the server's name before the tool's",
        good: &[r#"[[{"name":"open_ticket"}],[{"name":"open_account"}]]"#],
        bad: &[r#"[[{"name":"open_ticket"}],[{"name":"open_ticket"}]]"#],
        judge: Judge::Several(name_collision),
        ..RULE
    },
];

patterns! {
    NAME = r"^[A-Za-z0-9_.-]{1,128}$";
}

fn bad_name(tool: &Subject, _: &Server) -> Vec<Found> {
    let message = || match tool.name.as_str() {
        "" => "it has no name".to_owned(),
        name => format!("the name `{}` is not of `[A-Za-z0-9_.-]{{1,128}}`", shown(name)),
    };
    (!NAME.is_in(&tool.name))
        .then(|| Found::new(Place::of(Part::Name), message()))
        .into_iter()
        .collect()
}

fn duplicate_name(server: &Server) -> Vec<(usize, Found)> {
    let mut seen = BTreeSet::new();
    let again = server.tools.iter().enumerate().filter(|(_, tool)| !seen.insert(&tool.id));
    again
        .map(|(index, tool)| {
            let message = format!("another tool is called `{}` already", shown(&tool.id));
            (index, Found::new(Place::of(Part::Name), message))
        })
        .collect()
}

/// A name's words in the singular.
fn singular(name: &str) -> Vec<String> {
    words(name).iter().map(|word| stem(word)).collect()
}

fn plural_pair(server: &Server) -> Vec<(usize, Found)> {
    let mut seen: BTreeMap<Vec<String>, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, tool) in server.tools.iter().enumerate() {
        match seen.get(&singular(&tool.name)) {
            Some(first) if *first != tool.name => {
                let message = format!("`{}` and `{first}` differ in a plural only", tool.name);
                found.push((index, Found::new(Place::of(Part::Name), message)));
            }
            Some(_) => {}
            None => drop(seen.insert(singular(&tool.name), &tool.name)),
        }
    }
    found
}

/// Words at least this much alike are near.
const NEAR: f64 = 0.7;

/// The one word in which two names differ, where they differ in one.
fn differing(one: &[String], two: &[String]) -> Option<(String, String)> {
    let mut pairs = one.iter().zip(two).filter(|(one, two)| one != two);
    let only = pairs.next().filter(|_| one.len() == two.len())?;
    pairs.next().is_none().then(|| (only.0.clone(), only.1.clone()))
}

fn near_names(server: &Server) -> Vec<(usize, Found)> {
    let names: Vec<Vec<String>> = server.tools.iter().map(|tool| words(&tool.name)).collect();
    let mut found = Vec::new();
    for (index, one) in names.iter().enumerate() {
        for (other, two) in server.tools.iter().zip(&names).take(index) {
            let Some((here, there)) = differing(one, two) else { continue };
            let plural = stem(&here) == stem(&there);
            // Opposites are told apart by what they are.
            let opposite = ["un", "de"].iter().any(|not| {
                here.strip_prefix(not) == Some(&there) || there.strip_prefix(not) == Some(&here)
            });
            if !plural && !opposite && strsim::normalized_levenshtein(&here, &there) >= NEAR {
                let message =
                    format!("`{}` is near: `{here}` here, `{there}` there", shown(&other.name));
                found.push((index, Found::new(Place::of(Part::Name), message)));
            }
        }
    }
    found
}

fn two_spellings(server: &Server) -> Vec<(usize, Found)> {
    let mut first: BTreeMap<String, (&str, &str)> = BTreeMap::new();
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for (index, tool) in server.tools.iter().enumerate() {
        for property in walk::parameters(&tool.input) {
            let bare = property.name.replace(['_', '-'], "").to_lowercase();
            let (name, where_) = *first.entry(bare).or_insert((property.name, &tool.id));
            if name != property.name && told.insert(property.name) {
                let message = format!("`{}` is spelled `{name}` in `{where_}`", property.name);
                found.push((index, Found::new(Place::property(property.pointer), message)));
            }
        }
    }
    found
}

/// What providers take as a name.
const QUALIFIED: usize = 64;

fn long_qualified_name(tool: &Subject, server: &Server) -> Vec<Found> {
    let qualified = format!("mcp__{}__{}", server.name, tool.name);
    let length = qualified.chars().count();
    let message =
        || format!("`{}` has {length} characters, {QUALIFIED} are taken", shown(&qualified));
    let long = tool.hinted && length > QUALIFIED;
    long.then(|| Found::new(Place::of(Part::Name), message())).into_iter().collect()
}

fn name_collision(servers: &[Server]) -> Vec<(usize, usize, Found)> {
    let mut first: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    let mut found = Vec::new();
    for (number, server) in servers.iter().enumerate() {
        for (index, tool) in server.tools.iter().enumerate() {
            let (other, name) = *first.entry(&tool.id).or_insert((number, &server.name));
            if other != number {
                let message = format!("`{}` is also a tool of {name}", shown(&tool.id));
                found.push((number, index, Found::new(Place::of(Part::Name), message)));
            }
        }
    }
    found
}
