//! Whole lists: what they cost, what repeats in them, which of their tools are hard to tell apart.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::text::cost;
use crate::lint::prose::{sentences, shown, telling, tokens};
use crate::lint::rule::{Found, Judge, Level, Place, RULE, Rule};
use crate::lint::subject::{Part, Server};
use crate::tool::words::words;

pub(in crate::lint) const RULES: [Rule; 4] = [
    Rule {
        name: "heavy-server",
        reason: "The list takes more than 10,000 tokens of every request before anybody has said a \
                 word.",
        fix: "offer fewer tools at a time, in groups or behind a search",
        good: &[r#"[{}]"#],
        bad: &["+enum:42000"],
        judge: Judge::Server(heavy_server),
        ..RULE
    },
    Rule {
        name: "boilerplate",
        level: Level::Info,
        reason: "One sentence stands in a quarter of a server's tools or more: it is paid for each \
                 time and tells no tool from another.",
        fix: "say it once, in the server's instructions",
        good: &[r#"[{}]"#],
        bad: &[
            r#"[{"name":"a_one","description":"Opens the door of the house. Needs a session that was opened by the user before."},{"name":"b_two","description":"Feeds a cat at noon. Needs a session that was opened by the user before."},{"name":"c_three","description":"Sings loudly in spring. Needs a session that was opened by the user before."},{"name":"d_four","description":"Paints walls blue and green. Needs a session that was opened by the user before."},{"name":"e_five","description":"Counts sheep at midnight. Needs a session that was opened by the user before."}]"#,
        ],
        judge: Judge::Server(boilerplate),
        ..RULE
    },
    Rule {
        name: "look-alike-texts",
        reason: "The texts of two tools, less what the whole server repeats, are almost the same: \
                 nothing tells a model which one to take.",
        fix: "say in each what the other one is for",
        good: &[
            r#"[{"name":"list_open","description":"List the entries that wait for an answer."},{"name":"list_done","description":"Return the history of everything that was closed."}]"#,
        ],
        bad: &[
            r#"[{"name":"list_open","description":"List the entries of a project with state, owner and due date."},{"name":"find_done","description":"List the entries of a project with state, owner and due date."}]"#,
        ],
        judge: Judge::Server(look_alike_texts),
        ..RULE
    },
    Rule {
        name: "mixed-dialects",
        level: Level::Info,
        reason: "The schemas of one server declare different dialects; a client has to load \
                 several validators or guess.",
        fix: "declare one dialect, or none",
        good: &[
            r#"[{},{"name":"close_account","description":"Close a customer's account for good."}]"#,
        ],
        bad: &[
            r#"[{"inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}},{"name":"close_account","description":"Close a customer's account for good.","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}}]"#,
        ],
        judge: Judge::Server(mixed_dialects),
        ..RULE
    },
];

/// A list that costs more than this is heavy; more than twice of it is very heavy.
const HEAVY: usize = 10_000;

fn heavy_server(server: &Server) -> Vec<(usize, Found)> {
    let all: usize = server.tools.iter().map(cost).sum();
    let heaviest = server.tools.iter().enumerate().max_by_key(|(_, tool)| cost(tool));
    let Some((index, tool)) = heaviest.filter(|_| all > HEAVY) else { return Vec::new() };
    let count = server.tools.len();
    let message = format!(
        "the {count} tools of {} take about {all} tokens, this one {}",
        server.name,
        cost(tool)
    );
    vec![(index, Found::new(Place::of(Part::Name), message))]
}

/// Sentences shorter than this, in characters, repeat without harm.
const SENTENCE: usize = 30;
/// A list of fewer tools has no quarter.
const TOOLS: usize = 5;

/// The sentences that stand in a quarter of the tools or more, each with the tools that say it.
fn repeated(server: &Server) -> BTreeMap<&str, BTreeSet<usize>> {
    let mut said: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (index, tool) in server.tools.iter().enumerate() {
        for sentence in sentences(&tool.description) {
            said.entry(sentence).or_default().insert(index);
        }
    }
    let enough = |tools: &BTreeSet<usize>| tools.len() > 2 && tools.len() * 4 >= server.tools.len();
    said.retain(|sentence, tools| {
        server.tools.len() >= TOOLS && sentence.chars().count() >= SENTENCE && enough(tools)
    });
    said
}

fn boilerplate(server: &Server) -> Vec<(usize, Found)> {
    let said = repeated(server);
    let saved: usize = said.iter().map(|(text, tools)| tokens(text) * (tools.len() - 1)).sum();
    let most = said.iter().max_by_key(|(text, tools)| tokens(text) * tools.len());
    let Some((text, tools)) = most else { return Vec::new() };
    let first = tools.first().copied().unwrap_or_default();
    let at = server.tools.get(first).and_then(|tool| tool.description.find(text)).unwrap_or(0);
    let message = format!(
        "{} of {} tools say `{}`; what repeats in {} takes about {saved} tokens",
        tools.len(),
        server.tools.len(),
        shown(text),
        server.name
    );
    vec![(first, Found::new(Place::text(at..at + text.len()), message))]
}

/// Texts this much alike are alike.
const ALIKE: f64 = 0.8;
/// A text of fewer telling words is compared by its name alone.
const WORDS: usize = 4;

fn look_alike_texts(server: &Server) -> Vec<(usize, Found)> {
    let boilerplate = repeated(server);
    let own = |text: &str| -> BTreeSet<String> {
        let rest = sentences(text).into_iter().filter(|one| !boilerplate.contains_key(one));
        rest.flat_map(telling).collect()
    };
    let texts: Vec<_> = server.tools.iter().map(|tool| own(&tool.description)).collect();
    let names: Vec<BTreeSet<String>> =
        server.tools.iter().map(|tool| telling(&words(&tool.name).join(" "))).collect();
    let named = |index: usize| names.get(index).cloned().unwrap_or_default();
    let mut found = Vec::new();
    for (index, one) in texts.iter().enumerate() {
        for (other, two) in texts.iter().enumerate().take(index) {
            let (small, large) = (one.len().min(two.len()), one.len().max(two.len()));
            // What has too few words in common with anything that long is not counted out.
            if small < WORDS || (small as f64) < ALIKE * large as f64 {
                continue;
            }
            // A word that stands in one of the names tells the tools apart.
            let (own, theirs) = (named(index), named(other));
            let apart = own
                .symmetric_difference(&theirs)
                .any(|word| one.contains(word) != two.contains(word));
            if apart {
                continue;
            }
            let both = one.intersection(two).count();
            let alike = both as f64 / (one.len() + two.len() - both) as f64;
            if alike >= ALIKE {
                let other =
                    server.tools.get(other).map(|tool| tool.id.as_str()).unwrap_or_default();
                let message =
                    format!("the text is {:.0} % that of `{}`", 100.0 * alike, shown(other));
                found.push((index, Found::new(Place::of(Part::Description), message)));
            }
        }
    }
    found
}

fn mixed_dialects(server: &Server) -> Vec<(usize, Found)> {
    let mut first: Option<&str> = None;
    for (index, tool) in server.tools.iter().enumerate() {
        let declared = tool.input.get("$schema").and_then(Value::as_str);
        let Some(declared) = declared.map(|text| text.trim_end_matches('#')) else { continue };
        match first {
            Some(known) if known != declared => {
                let message = format!("`{}` here, `{}` before", shown(declared), shown(known));
                return vec![(index, Found::new(Place::input("/$schema"), message))];
            }
            Some(_) => {}
            None => first = Some(declared),
        }
    }
    Vec::new()
}
