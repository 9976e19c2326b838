//! What the parameters of a tool ask for, read from a JSON Schema.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::spans::{self, Kind, Span};
use super::text::{self, Stems};

/// Most parameters of one tool that are filled.
const MAX_PARAMS: usize = 64;
/// Deepest chain of references and alternatives that is followed.
const MAX_DEPTH: usize = 6;
/// Most memory, in bytes, that a schema's pattern may compile to.
const MAX_PATTERN: usize = 256 * 1024;

/// See [`Param::lead`]; less than 1 decides ties and near ties only.
const END: f64 = 0.6;

/// Words of a name that tell what looks its strings have: `words, kind`.
const LOOKS: [(&str, Kind); 6] = [
    ("url uri link website webpage href homepage", Kind::Url),
    ("email mail recipient cc bcc", Kind::Email),
    ("path file filename filepath directory folder dir", Kind::Path),
    ("date day datetime timestamp deadline birthday", Kind::Date),
    ("time", Kind::Time),
    ("id ids code zip zipcode postcode key sku number uuid serial isbn identifier", Kind::Id),
];

/// Words of a name, and the words that stand right before such a value.
const CUES: [(&str, &[&str]); 14] = [
    ("start begin after since from", &["from", "since", "after", "between", "starting"]),
    ("end until before finish to", &["to", "until", "till", "through", "before", "by"]),
    ("min minimum least lower", &["least", "above", "over", "than", "minimum"]),
    ("max maximum most upper", &["most", "under", "below", "within", "maximum"]),
    ("limit count top size", &["top", "first", "last", "limit", "to"]),
    ("origin source departure", &["from"]),
    ("destination target arrival recipient receiver", &["to", "into"]),
    ("location city place country region area town state address", &["in", "at", "near", "for"]),
    ("date day", &["on"]),
    ("time hour", &["at"]),
    ("topic subject query keyword keywords search term", &["about", "on", "for", "regarding"]),
    ("language lang", &["in", "into", "to"]),
    ("name title", &["called", "named", "titled"]),
    ("content message text body", &["saying", "says", "reading"]),
];

/// What a parameter takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Need {
    /// One of these values.
    Enum(Vec<Value>),
    /// True or false.
    Boolean,
    /// A number; whole where the flag is set.
    Number(bool),
    /// A string of a kind; certain where the schema's `format` says so, else from its name.
    Text(Option<Kind>, bool),
    /// Objects and everything else, which a prompt does not show as one value.
    Other,
}

/// One parameter.
#[derive(Debug)]
pub(super) struct Param {
    pub(super) name: String,
    pub(super) required: bool,
    /// Whether it takes a list of such values.
    pub(super) array: bool,
    pub(super) need: Need,
    /// Words of the name, in lower case, in order.
    pub(super) parts: Vec<String>,
    /// Stems of the name and the description, with their weight.
    pub(super) words: BTreeMap<String, f64>,
    /// For free strings: values its description shows between quotation marks.
    pub(super) shown: Vec<Value>,
    /// Words that stand right before a value of this parameter.
    pub(super) cues: Vec<&'static str>,
    least: f64,
    most: f64,
    lengths: (u64, u64),
    pattern: Option<Regex>,
}

/// The parameters of a schema: required ones in their order, then the others.
pub(super) fn params(schema: &Value) -> Vec<Param> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let listed = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = listed.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut names: Vec<&str> = Vec::new();
    let rest = properties.keys().map(String::as_str);
    for name in required.iter().copied().take(MAX_PARAMS * 4).chain(rest) {
        if names.len() < MAX_PARAMS && properties.contains_key(name) && !names.contains(&name) {
            names.push(name);
        }
    }
    let stems = text::stems();
    let mut params: Vec<Param> = names
        .iter()
        .map(|n| param(n, &properties[*n], schema, required.contains(n), stems))
        .collect();
    share_words(&mut params);
    params
}

/// Divides the weight of each word by the number of parameters it speaks of.
fn share_words(params: &mut [Param]) {
    let mut count: BTreeMap<String, f64> = BTreeMap::new();
    for word in params.iter().flat_map(|p| p.words.keys()) {
        *count.entry(word.clone()).or_default() += 1.0;
    }
    for param in params {
        for (word, weight) in &mut param.words {
            *weight /= count.get(word).copied().unwrap_or(1.0);
        }
    }
}

/// Follows references and alternatives to the schema that says the type.
fn resolve<'a>(mut schema: &'a Value, root: &'a Value) -> &'a Value {
    for _ in 0..MAX_DEPTH {
        let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#'));
        let next = if let Some(pointer) = pointer {
            root.pointer(pointer)
        } else if schema.get("type").is_none() && schema.get("enum").is_none() {
            ["anyOf", "oneOf", "allOf"]
                .iter()
                .find_map(|k| schema.get(k))
                .and_then(Value::as_array)
                .and_then(|all| all.iter().find(|s| s.get("type") != Some(&"null".into())))
        } else {
            None
        };
        match next {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}

/// The first type of a schema that is not null.
fn type_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(one)) => one,
        Some(Value::Array(many)) => {
            many.iter().filter_map(Value::as_str).find(|t| *t != "null").unwrap_or("")
        }
        _ => "",
    }
}

/// Reads one parameter.
fn param(name: &str, given: &Value, root: &Value, required: bool, stems: &Stems) -> Param {
    let mut schema = resolve(given, root);
    let array = type_of(schema) == "array";
    if array {
        schema = schema.get("items").map_or(&Value::Null, |items| resolve(items, root));
    }
    let parts: Vec<String> = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|run| !run.is_empty())
        .flat_map(text::identifier_parts)
        .take(16)
        .collect();
    let described = given.get("description").or_else(|| schema.get("description"));
    let description = described.and_then(Value::as_str).unwrap_or("");
    let mut words = BTreeMap::new();
    for token in text::tokens(&description[..description.floor_char_boundary(4096)]) {
        if !stems.is_stop(&token.word) {
            words.insert(stems.stem(&token.word), 1.0);
        }
    }
    let named = parts.iter().filter(|p| !p.starts_with(|c: char| c.is_numeric()));
    words.extend(named.map(|p| (stems.stem(p), 2.0)));
    let has = |list: &str| parts.iter().any(|p| list.split(' ').any(|w| w == p));
    let cues = CUES.iter().filter(|(names, _)| has(names)).flat_map(|(_, c)| *c).copied();
    let number =
        |key: &str, default: f64| schema.get(key).and_then(Value::as_f64).unwrap_or(default);
    let length = |key: &str, default| schema.get(key).and_then(Value::as_u64).unwrap_or(default);
    let pattern = schema.get("pattern").and_then(Value::as_str);
    Param {
        name: name.to_string(),
        required,
        array,
        shown: spans::find(description)
            .into_iter()
            .filter(|s| s.kind == Kind::Quoted && s.text.len() <= 64)
            .map(|s| Value::String(s.text))
            .collect(),
        need: need(schema, &has),
        cues: cues.collect(),
        words,
        least: number("minimum", f64::NEG_INFINITY),
        most: number("maximum", f64::INFINITY),
        lengths: (length("minLength", 0), length("maxLength", u64::MAX)),
        pattern: pattern.and_then(|p| RegexBuilder::new(p).size_limit(MAX_PATTERN).build().ok()),
        parts,
    }
}

/// What a schema asks for; `has` tells whether the name holds one of some words.
fn need(schema: &Value, has: &dyn Fn(&str) -> bool) -> Need {
    if let Some(members) = schema.get("enum").and_then(Value::as_array) {
        return Need::Enum(members.iter().take(512).cloned().collect());
    }
    if let Some(only) = schema.get("const") {
        return Need::Enum(vec![only.clone()]);
    }
    match type_of(schema) {
        "boolean" => Need::Boolean,
        "integer" => Need::Number(true),
        "number" | "float" | "double" => Need::Number(false),
        "string" => {
            let format = schema.get("format").and_then(Value::as_str).unwrap_or("");
            let certain = match format {
                "date" => Some(Kind::Date),
                "date-time" => Some(Kind::DateTime),
                "time" => Some(Kind::Time),
                "email" | "idn-email" => Some(Kind::Email),
                "uri" | "url" | "uri-reference" | "iri" => Some(Kind::Url),
                _ => None,
            };
            let look = LOOKS.iter().find(|(names, _)| has(names)).map(|(_, kind)| *kind);
            Need::Text(certain.or(look), certain.is_some())
        }
        _ => Need::Other,
    }
}

impl Param {
    /// How well a value suits this parameter by its looks, 0 (not at all) to 1.
    pub(super) fn fit(&self, span: &Span) -> f64 {
        let inner = span.inner.as_deref().map_or(0.0, |inner| 0.9 * self.looks(inner));
        inner.max(self.looks(span))
    }

    fn looks(&self, span: &Span) -> f64 {
        let rate = match self.need {
            Need::Number(whole) => self.rate_number(span, whole),
            Need::Text(Some(kind), true) => f64::from(u8::from(span.kind == kind)),
            Need::Text(kind, _) => rate_text(kind, span.kind),
            _ => 0.0,
        };
        let text = matches!(self.need, Need::Text(..));
        if rate > 0.0 && text && !self.allows(&span.text) { 0.0 } else { rate }
    }

    fn rate_number(&self, span: &Span, whole: bool) -> f64 {
        let Some(value) = number_of(span).and_then(|n| n.as_f64()) else { return 0.0 };
        let fits = (self.least..=self.most).contains(&value) && (!whole || value.fract() == 0.0);
        match (fits, span.spelled) {
            (true, true) => 0.6,
            (true, false) => 1.0,
            _ => 0.0,
        }
    }

    /// Whether a text keeps to the lengths and the pattern of the schema.
    pub(super) fn allows(&self, text: &str) -> bool {
        let length = text.chars().count() as u64;
        (self.lengths.0..=self.lengths.1).contains(&length)
            && self.pattern.as_ref().is_none_or(|p| p.is_match(text))
    }

    /// The JSON value of a span that fits.
    pub(super) fn value(&self, span: &Span) -> Option<Value> {
        let best = match span.inner.as_deref() {
            Some(inner) if 0.9 * self.looks(inner) > self.looks(span) => inner,
            _ => span,
        };
        let Need::Number(whole) = self.need else { return Some(Value::String(best.text.clone())) };
        let number = number_of(best)?;
        match number.as_f64() {
            Some(v) if whole && !number.is_i64() && v.abs() < 9e15 => Some((v as i64).into()),
            _ => Some(Value::Number(number)),
        }
    }

    /// Whether its values show by their looks alone that they are meant for it.
    pub(super) fn names_itself(&self) -> bool {
        matches!(self.need, Need::Text(Some(kind), _) if kind != Kind::Id)
    }

    /// Whether it takes a number.
    pub(super) fn takes_numbers(&self) -> bool {
        !self.array && matches!(self.need, Need::Number(_))
    }

    /// Share of nearness that counts: a single value more often is where something starts than
    /// where it ends.
    pub(super) fn lead(&self) -> f64 {
        if self.parts.iter().any(|p| matches!(p.as_str(), "end" | "until")) { END } else { 1.0 }
    }

    /// Whether it takes a stretch of plain words.
    pub(super) fn takes_phrases(&self) -> bool {
        !self.array && matches!(self.need, Need::Text(None, _))
    }
}

/// The number a span shows; codes of digits alone (`#42`) are numbers too.
fn number_of(span: &Span) -> Option<serde_json::Number> {
    match span.kind {
        Kind::Number => span.number.clone(),
        Kind::Id => span.text.parse::<i64>().ok().map(Into::into),
        _ => None,
    }
}

/// How well a kind of value suits a string whose name suggests another kind, or none.
fn rate_text(wanted: Option<Kind>, seen: Kind) -> f64 {
    match (wanted, seen) {
        (Some(wanted), seen) if wanted == seen => 1.0,
        (None, Kind::Quoted) => 1.0,
        (Some(Kind::Id), Kind::Number) => 0.7,
        (Some(Kind::Date), Kind::DateTime | Kind::LooseDate) => 0.8,
        (Some(Kind::Time), Kind::DateTime) => 0.7,
        (Some(Kind::Path), Kind::Url) | (Some(Kind::Url), Kind::Path) => 0.2,
        (Some(_), Kind::Quoted) => 0.6,
        (None, Kind::Url | Kind::Email | Kind::Path | Kind::Id) => 0.1,
        _ => 0.0,
    }
}
