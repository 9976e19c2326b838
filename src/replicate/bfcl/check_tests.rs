//! The checker's rules one by one, on functions made up here.

use super::*;

fn read(json: &str) -> Py {
    serde_json::from_str(json).unwrap()
}

/// One function `trip.plan` whose parameters are described so.
fn function(name: &str) -> Py {
    read(&format!(
        r#"{{"name": "{name}", "parameters": {{"type": "dict", "required": ["to"], "properties": {{
            "to": {{"type": "string"}}, "days": {{"type": "integer"}}, "cost": {{"type": "float"}},
            "stops": {{"type": "array", "items": {{"type": "string"}}}},
            "marks": {{"type": "array", "items": {{"type": "float"}}}},
            "pair": {{"type": "tuple", "items": {{"type": "integer"}}}},
            "with": {{"type": "dict"}},
            "legs": {{"type": "array", "items": {{"type": "dict"}}}}}}}}}}"#
    ))
}

fn judged(rules: Rules, category: &str, gold: &str, calls: &str) -> &'static str {
    let functions = [function("trip.plan"), function("trip.cancel")];
    let gold = read(gold);
    let gold: Vec<(&str, &Py)> =
        gold.pairs().unwrap().iter().map(|(name, of)| (name.as_str().unwrap(), of)).collect();
    let calls = read(calls);
    let item = Item {
        functions: &functions,
        gold: &gold,
        language: Language::Python,
        category,
        underscores: false,
    };
    check(&item, calls.items().unwrap(), rules).err().unwrap_or("valid")
}

/// One call with arguments against accepted values, under both versions.
fn check_args(gold: &str, args: &str, first: &str, fourth: &str) {
    let gold = format!(r#"{{"trip.plan": {gold}}}"#);
    let calls = format!(r#"[{{"trip.plan": {args}}}]"#);
    for (rules, expected) in [(Rules::V1, first), (Rules::V4, fourth)] {
        let found = judged(rules, "simple", &gold, &calls);
        assert_eq!(found, expected, "{rules:?}: {gold} {args}");
    }
}

#[test]
fn arguments() {
    let check = |gold, args, expected| check_args(gold, args, expected, expected);
    check(r#"{"to": ["Kyoto"]}"#, r#"{"to": "kyo-to"}"#, "valid");
    check(r#"{"to": ["Kyoto"]}"#, r#"{"to": "Osaka"}"#, "value_error:string");
    check(r#"{"to": ["Kyoto"]}"#, "{}", "simple_function_checker:missing_required");
    check(
        r#"{"to": ["a"]}"#,
        r#"{"to": "a", "by": 1}"#,
        "simple_function_checker:unexpected_param",
    );
    // Described, but not in gold.
    check(
        r#"{"to": ["a"]}"#,
        r#"{"to": "a", "days": 1}"#,
        "simple_function_checker:unexpected_param",
    );
    let days = r#"{"to": ["a"], "days": [2]}"#;
    check(days, r#"{"to": "a"}"#, "simple_function_checker:missing_optional");
    check(days, r#"{"to": "a", "days": 2}"#, "valid");
    check(days, r#"{"to": "a", "days": 2.0}"#, "type_error:simple");
    check(days, r#"{"to": "a", "days": true}"#, "type_error:simple");
    check(days, r#"{"to": "a", "days": 3}"#, "value_error:others");
    check(r#"{"to": ["a"], "days": ["", 2]}"#, r#"{"to": "a"}"#, "valid");
    // A variable is compared as it is.
    check(r#"{"to": ["a"], "days": ["n-1"]}"#, r#"{"to": "a", "days": "n-1"}"#, "valid");
    check(
        r#"{"to": ["a"], "days": ["n-1"]}"#,
        r#"{"to": "a", "days": "n1"}"#,
        "value_error:others",
    );
    // A whole number is a float at the top, and nowhere else.
    check(r#"{"to": ["a"], "cost": [5.0]}"#, r#"{"to": "a", "cost": 5}"#, "valid");
    check(
        r#"{"to": ["a"], "marks": [[1.0]]}"#,
        r#"{"to": "a", "marks": [1]}"#,
        "type_error:nested",
    );
    check(r#"{"to": ["a"], "marks": ["", [1.0]]}"#, r#"{"to": "a", "marks": [1]}"#, "valid");
    check(
        r#"{"to": ["a"], "stops": [["B", "c"]]}"#,
        r#"{"to": "a", "stops": ["b", "C"]}"#,
        "valid",
    );
    check(
        r#"{"to": ["a"], "stops": [["b", "c"]]}"#,
        r#"{"to": "a", "stops": ["c", "b"]}"#,
        "value_error:list/tuple",
    );
    check(
        r#"{"to": ["a"], "pair": [[1, 2]]}"#,
        r#"{"to": "a", "pair": {"__tuple__": [1, 2]}}"#,
        "valid",
    );
    check(
        r#"{"to": ["a"], "marks": [[1.5]]}"#,
        r#"{"to": "a", "marks": {"__tuple__": [1.5]}}"#,
        "type_error:simple",
    );
}

#[test]
fn mappings() {
    let gold = r#"{"to": ["a"], "with": [{"who": ["Ann"], "age": ["", 7]}]}"#;
    check_args(gold, r#"{"to": "a", "with": {"who": "ann"}}"#, "value_error:dict_items", "valid");
    check_args(gold, r#"{"to": "a", "with": {"who": "ann", "age": 7}}"#, "valid", "valid");
    let other = r#"{"to": "a", "with": {"who": "Bob", "age": 7}}"#;
    check_args(gold, other, "value_error:dict_value", "value_error:dict_value");
    let unknown = r#"{"to": "a", "with": {"who": "Ann", "cat": 7}}"#;
    check_args(gold, unknown, "value_error:dict_key", "value_error:dict_key");
    // The fourth version tells what lacks rather than what is wrong.
    let lacks = r#"{"to": ["a"], "with": [{"who": ["Ann"], "age": [7]}]}"#;
    check_args(
        lacks,
        r#"{"to": "a", "with": {"who": "Bob"}}"#,
        "value_error:dict_items",
        "value_error:dict_key",
    );
    let legs = r#"{"to": ["a"], "legs": [[{"by": ["bus"]}, {"by": ["car"]}]]}"#;
    let valid = r#"{"to": "a", "legs": [{"by": "Bus"}, {"by": "car"}]}"#;
    check_args(legs, valid, "valid", "valid");
    let fewer = r#"{"to": "a", "legs": [{"by": "bus"}]}"#;
    check_args(legs, fewer, "value_error:list_dict_count", "value_error:list_dict_count");
}

#[test]
fn how_many_calls_and_which() {
    let one = r#"{"trip.plan": {"to": ["a"]}}"#;
    let two = r#"{"trip.plan_1": {"to": ["a"]}, "trip.plan_2": {"to": ["b"]}}"#;
    let calls = r#"[{"trip.plan": {"to": "b"}}, {"trip.plan": {"to": "a"}}]"#;
    let same = r#"[{"trip.plan": {"to": "a"}}, {"trip.plan": {"to": "a"}}]"#;
    let cancel = r#"[{"trip.cancel": {"to": "a"}}]"#;
    let table = [
        (Rules::V1, "simple", one, "[]", "simple_function_checker:wrong_count"),
        (Rules::V1, "simple", one, cancel, "simple_function_checker:wrong_func_name"),
        (
            Rules::V1,
            "multiple_function",
            one,
            cancel,
            "parallel_function_checker_no_order:cannot_find_match",
        ),
        (Rules::V4, "multiple", one, cancel, "simple_function_checker:wrong_func_name"),
        (Rules::V4, "multiple", one, "[]", "multiple_function_checker:wrong_count"),
        (Rules::V1, "parallel_function", two, calls, "valid"),
        (
            Rules::V1,
            "parallel_function",
            two,
            same,
            "parallel_function_checker_no_order:cannot_find_match",
        ),
        (
            Rules::V1,
            "parallel_function",
            two,
            cancel,
            "parallel_function_checker_no_order:wrong_count",
        ),
        // Gold of the fourth version numbers no calls.
        (
            Rules::V4,
            "parallel",
            two,
            calls,
            "parallel_function_checker_no_order:cannot_find_description",
        ),
    ];
    for (rules, category, gold, calls, expected) in table {
        assert_eq!(judged(rules, category, gold, calls), expected, "{rules:?} {category} {calls}");
    }
}
