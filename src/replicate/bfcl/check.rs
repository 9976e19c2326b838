//! The checker of the Berkeley Function Calling Leaderboard, rule for rule, in two of its versions:
//! the calls that a model made against the accepted values of each argument. The rules, their order
//! and their quirks are the leaderboard's; where ours are stricter, ours stay apart.

use super::convert::{self, Language};
use crate::replicate::python::{Py, Type};

/// Which version's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Those of August 2024.
    V1,
    /// Those of the fourth version.
    V4,
}

/// The name of what is wrong, as the leaderboard names it.
pub type Fault = &'static str;

/// What the checker knows of one item.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// Descriptions of the functions that were offered.
    pub functions: &'a [Py],
    /// The expected calls: each a function's name with the accepted values of its arguments.
    pub gold: &'a [(&'a str, &'a Py)],
    /// The language whose literals stand in the arguments.
    pub language: Language,
    /// The category, which decides how many calls are expected.
    pub category: &'a str,
    /// Whether the model writes the dots of names as underscores.
    pub underscores: bool,
}

/// Judges the calls of one reply.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(item: &Item<'_>, calls: &[Py], rules: Rules) -> Result<(), Fault> {
    let is = |word: &str| item.category.contains(word);
    match rules {
        Rules::V1 if is("multiple") || is("parallel") => unordered(item, calls, rules),
        Rules::V4 if is("parallel") => unordered(item, calls, rules),
        Rules::V4 if is("multiple") => {
            let [call] = calls else { return Err("multiple_function_checker:wrong_count") };
            let Some(gold) = item.gold.first() else { return Err("no_gold") };
            let Some(function) = described(item, gold.0, rules) else {
                return Err("multiple_function_checker:cannot_find_description");
            };
            simple(item, (function, call, gold.1), rules)
        }
        _ => {
            let [call] = calls else { return Err("simple_function_checker:wrong_count") };
            let (Some(function), Some(gold)) = (item.functions.first(), item.gold.first()) else {
                return Err("no_gold");
            };
            simple(item, (function, call, gold.1), rules)
        }
    }
}

/// The description of a function that gold names; in the first version a part of the name is
/// enough, because gold numbers its calls.
fn described<'a>(item: &Item<'a>, gold: &str, rules: Rules) -> Option<&'a Py> {
    let fits = |function: &&Py| {
        let name = function.get("name").and_then(Py::as_str);
        name.is_some_and(|name| match rules {
            Rules::V1 => gold.contains(name),
            Rules::V4 => gold == name,
        })
    };
    item.functions.iter().find(fits)
}

/// As many calls as expected; each expected call takes the first that fits and is left.
fn unordered(item: &Item<'_>, calls: &[Py], rules: Rules) -> Result<(), Fault> {
    if calls.len() != item.gold.len() {
        return Err("parallel_function_checker_no_order:wrong_count");
    }
    let mut taken = vec![false; calls.len()];
    for (name, gold) in item.gold {
        let Some(function) = described(item, name, rules) else {
            return Err("parallel_function_checker_no_order:cannot_find_description");
        };
        let fits = |call: &Py| simple(item, (function, call, gold), rules).is_ok();
        let mut left = calls.iter().zip(taken.iter_mut()).filter(|(_, taken)| !**taken);
        match left.find(|(call, _)| fits(call)) {
            Some((_, taken)) => *taken = true,
            None => return Err("parallel_function_checker_no_order:cannot_find_match"),
        }
    }
    Ok(())
}

/// One call against one description and the accepted values of its arguments.
fn simple(
    item: &Item<'_>,
    (function, call, gold): (&Py, &Py, &Py),
    rules: Rules,
) -> Result<(), Fault> {
    let name = function.get("name").and_then(Py::as_str).unwrap_or_default();
    let name = if item.underscores { name.replace('.', "_") } else { name.to_owned() };
    let Some(args) = call.get(&name) else {
        return Err("simple_function_checker:wrong_func_name");
    };
    let parameters = function.get("parameters");
    let required = parameters.and_then(|it| it.get("required")).and_then(Py::items);
    let given = |key: &Py| key.as_str().is_some_and(|key| args.get(key).is_some());
    if !required.unwrap_or_default().iter().all(given) {
        return Err("simple_function_checker:missing_required");
    }
    let properties = parameters.and_then(|it| it.get("properties"));
    for (key, value) in args.pairs().unwrap_or_default() {
        let key = key.as_str().unwrap_or_default();
        let schema = properties.and_then(|it| it.get(key));
        let accepted = gold.get(key).and_then(Py::items);
        let (Some(schema), Some(accepted)) = (schema, accepted) else {
            return Err("simple_function_checker:unexpected_param");
        };
        argument(item.language, (schema, value, accepted), rules)?;
    }
    for (key, accepted) in gold.pairs().unwrap_or_default() {
        let may_be_left_out = accepted.items().unwrap_or_default().iter().any(Py::is_blank);
        if !given(key) && !may_be_left_out {
            return Err("simple_function_checker:missing_optional");
        }
    }
    Ok(())
}

/// Types that have items.
fn has_items(language: Language, kind: &str) -> bool {
    match language {
        Language::Python => matches!(kind, "array" | "tuple"),
        Language::Java => matches!(kind, "Array" | "ArrayList"),
        Language::JavaScript => kind == "array",
    }
}

fn argument(
    language: Language,
    (schema, value, accepted): (&Py, &Py, &[Py]),
    rules: Rules,
) -> Result<(), Fault> {
    let kind = schema.get("type").and_then(Py::as_str).unwrap_or_default();
    let inner = || schema.get("items").and_then(|it| it.get("type")).and_then(Py::as_str);
    let inner = if has_items(language, kind) { inner() } else { None };
    let expected = language.expected(kind);
    let nested = inner.map(|inner| language.expected(inner));
    let value = match (language, value) {
        (Language::Java, Py::Str(text)) => convert::java(text, kind, inner),
        (Language::JavaScript, Py::Str(text)) => convert::javascript(text, kind, inner),
        (Language::Java, _) => return Err("type_error:java"),
        (Language::JavaScript, _) => return Err("type_error:js"),
        (Language::Python, Py::Tuple(items)) if kind == "tuple" => Py::List(items.clone()),
        #[expect(clippy::cast_precision_loss, reason = "as Python converts")]
        (Language::Python, Py::Int(number)) if kind == "float" => Py::Float(*number as f64),
        (Language::Python, value) => value.clone(),
    };
    if typed(&value, accepted, expected, nested)? {
        return found(accepted.contains(&value), "value_error:others");
    }
    match (expected, nested, &value) {
        (Type::Dict, _, Py::Dict(_)) => mapping(&value, accepted, rules),
        (Type::List, Some(Type::Dict), Py::List(items)) => mappings(items, accepted, rules),
        (Type::Str, _, Py::Str(text)) => {
            let text = plain(text);
            let same = |one: &Py| one.as_str().is_some_and(|one| plain(one) == text);
            found(accepted.iter().any(same), "value_error:string")
        }
        (Type::List, _, Py::List(items)) => {
            let items: Vec<Py> = items.iter().map(normal).collect();
            let same = |one: &Py| listed(one) == items;
            found(accepted.iter().any(same), "value_error:list/tuple")
        }
        _ => found(accepted.contains(&value), "value_error:others"),
    }
}

fn found(found: bool, otherwise: Fault) -> Result<(), Fault> {
    if found { Ok(()) } else { Err(otherwise) }
}

/// The type of the first accepted value that is not blank.
fn usual(accepted: &[Py]) -> Option<Type> {
    accepted.iter().find(|one| !one.is_blank()).map(Py::kind)
}

/// Whether a value of a fitting type stands for a variable, so that its text is taken as it is.
fn typed(value: &Py, accepted: &[Py], expected: Type, nested: Option<Type>) -> Result<bool, Fault> {
    let usual = usual(accepted);
    let variable = usual.is_some_and(|usual| usual != expected);
    let mut fault = "type_error:simple";
    if value.kind() == expected {
        let Some(inner) = nested else { return Ok(variable) };
        let items = match value {
            Py::List(items) | Py::Tuple(items) => items.as_slice(),
            _ => &[],
        };
        let fits = |one: &Py| {
            let Some(known) = one.items() else { return true };
            items.iter().all(|item| typed(item, known, inner, None).is_ok())
        };
        if accepted.iter().any(fits) {
            return Ok(variable);
        }
        fault = "type_error:nested";
    }
    match usual {
        Some(usual) if usual == value.kind() => {
            // A list whose items are of the wrong type stays wrong here.
            if fault == "type_error:nested" { Err(fault) } else { Ok(true) }
        }
        _ => Err("type_error:simple"),
    }
}

/// A text without the signs and the case that do not count.
fn plain(text: &str) -> String {
    let kept = text.chars().filter(|c| !" ,./-_*^".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == '\'' { '"' } else { c }).collect()
}

/// A value with its text made plain.
fn normal(value: &Py) -> Py {
    match value {
        Py::Str(text) => Py::Str(plain(text)),
        other => other.clone(),
    }
}

/// An accepted value as a list: of a text its characters.
fn listed(value: &Py) -> Vec<Py> {
    match value {
        Py::List(items) | Py::Tuple(items) => items.iter().map(normal).collect(),
        Py::Str(text) => text.chars().map(|c| Py::Str(plain(&c.to_string()))).collect(),
        Py::Dict(pairs) => pairs.iter().map(|(key, _)| normal(key)).collect(),
        other => vec![other.clone()],
    }
}

/// A mapping against the accepted mappings, each of which names the accepted values of its keys.
fn mapping(value: &Py, accepted: &[Py], rules: Rules) -> Result<(), Fault> {
    let pairs = value.pairs().unwrap_or_default();
    let mut last = Err("dict_checker:unclear");
    for gold in accepted.iter().filter(|one| !one.is_blank()) {
        last = one_mapping(pairs, gold, rules);
        if last.is_ok() {
            break;
        }
    }
    last
}

fn one_mapping(pairs: &[(Py, Py)], gold: &Py, rules: Rules) -> Result<(), Fault> {
    let known = gold.pairs().unwrap_or_default();
    if rules == Rules::V1 && pairs.len() != known.len() {
        return Err("value_error:dict_items");
    }
    let first = pairs.iter().try_for_each(|(key, value)| {
        let Some((_, values)) = known.iter().find(|(name, _)| name == key) else {
            return Err("value_error:dict_key");
        };
        match values {
            Py::Dict(_) if rules == Rules::V1 => {
                mapping(value, std::slice::from_ref(values), rules)
            }
            _ => found(listed(values).contains(&normal(value)), "value_error:dict_value"),
        }
    });
    if rules == Rules::V4 {
        let given = |key: &Py| pairs.iter().any(|(name, _)| name == key);
        let blank = |values: &Py| match values {
            Py::Str(_) => true,
            values => values.items().unwrap_or_default().iter().any(Py::is_blank),
        };
        // A key that lacks is told rather than what is wrong with the others.
        if !known.iter().all(|(key, values)| given(key) || blank(values)) {
            return Err("value_error:dict_key");
        }
    }
    first
}

/// Mappings in their order, all of one accepted list.
fn mappings(items: &[Py], accepted: &[Py], rules: Rules) -> Result<(), Fault> {
    let mut last = Err("list_dict_checker:unclear");
    for gold in accepted {
        let gold = match gold {
            Py::List(gold) => gold.as_slice(),
            _ => &[],
        };
        last = match items.len() == gold.len() {
            false => Err("value_error:list_dict_count"),
            true => items
                .iter()
                .zip(gold)
                .try_for_each(|(item, gold)| mapping(item, std::slice::from_ref(gold), rules)),
        };
        if last.is_ok() {
            break;
        }
    }
    last
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
