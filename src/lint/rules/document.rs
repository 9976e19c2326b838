//! Rules that need more than one look at a list: their findings are made from what somebody else
//! has read, and judged here.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::lint::prose::shown;
use crate::lint::rule::{Found, Judge, Level, Place, RULE, Rule, Scope};
use crate::lint::subject::{Part, Server};

pub(in crate::lint) const RULES: [Rule; 2] = [
    Rule {
        name: "no-golden-prompt",
        level: Level::Info,
        reason: "No golden prompt of the suite expects this tool, so nothing shows that anybody \
                 would choose it (seed B, invariant 16).",
        fix: "add prompts for it to the suite's `prompts.csv`",
        judge: Judge::Elsewhere(Scope::Tool),
        ..RULE
    },
    Rule {
        name: "unstable-definition",
        reason: "Two starts of the server gave different definitions: prompt caches miss, pinned \
                 digests break, and nobody knows which one was reviewed.",
        fix: "leave times, random values and the order of maps out of the definition",
        judge: Judge::Elsewhere(Scope::Server),
        ..RULE
    },
];

/// `no-golden-prompt`: tools that no prompt expects, by id; nothing in a suite without prompts.
pub(in crate::lint) fn unprompted(
    server: &Server,
    prompts: &BTreeMap<String, usize>,
) -> Vec<(usize, Found)> {
    let tools = server.tools.iter().enumerate().filter(|_| !prompts.is_empty());
    let bare = tools.filter(|(_, tool)| !prompts.contains_key(&tool.id));
    bare.map(|(index, tool)| {
        let message = format!("no golden prompt expects `{}`", tool.id);
        (index, Found::new(Place::of(Part::Name), message))
    })
    .collect()
}

/// `unstable-definition`: what a second start listed otherwise.
pub(in crate::lint) fn unstable(first: &[Value], second: &[Value]) -> Vec<(usize, Found)> {
    let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
    let mut found = Vec::new();
    for (index, one) in first.iter().enumerate() {
        let again = second.iter().find(|two| name(two) == name(one));
        let message = match again {
            Some(two) if two == one => continue,
            Some(_) => "a second start defined it otherwise",
            None => "a second start did not list it",
        };
        found.push((index, Found::new(Place::of(Part::Name), message)));
    }
    let order = |tools: &[Value]| -> Vec<Option<String>> { tools.iter().map(name).collect() };
    if found.is_empty() && order(first) != order(second) && !first.is_empty() {
        let at = first.iter().zip(second).position(|(one, two)| name(one) != name(two));
        let index = at.unwrap_or(first.len() - 1);
        let other = second.get(index).and_then(name).unwrap_or_default();
        let message = format!("a second start listed `{}` in its place", shown(&other));
        found.push((index, Found::new(Place::of(Part::Name), message)));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::lint::subject::Subject;

    #[test]
    fn two_starts_are_compared() {
        let check = |first: Value, second: Value, expected: &[usize]| {
            let tools = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let found = unstable(&tools(&first), &tools(&second));
            let at: Vec<usize> = found.iter().map(|(index, _)| *index).collect();
            assert_eq!(at, expected, "{first} {second}");
        };
        let (a, b) = (json!({"name": "a"}), json!({"name": "b"}));
        check(json!([a, b]), json!([a, b]), &[]);
        check(json!([a, b]), json!([b, a]), &[0]);
        check(json!([a, b]), json!([a]), &[1]);
        check(json!([a, b]), json!([a, {"name": "b", "description": "now"}]), &[1]);
        check(json!([a]), json!([a, b]), &[0]);
    }

    #[test]
    fn a_tool_without_a_prompt_is_named_where_there_are_prompts() {
        let tools: Vec<Subject> =
            ["a", "b"].map(|name| Subject::of_element(&json!({"name": name}))).to_vec();
        let server = Server { name: "s".to_owned(), tools };
        let prompts = BTreeMap::from([("a".to_owned(), 1)]);
        let at: Vec<usize> = unprompted(&server, &prompts).iter().map(|one| one.0).collect();
        assert_eq!(at, [1]);
        assert_eq!(unprompted(&server, &BTreeMap::new()), []);
    }
}
