//! SARIF 2.1.0, which code hosts and editors read.

use serde_json::{Value, json};

use super::Located;
use crate::lint::{Level, Rule, registry};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The log of one run.
pub fn sarif(found: &[Located]) -> Value {
    let rules: Vec<&Rule> = registry::rules().collect();
    let place = |rule: &Rule| rules.iter().position(|one| *one == rule);
    let results: Vec<Value> = found
        .iter()
        .map(|one| {
            let finding = &one.finding;
            let mut region = json!({});
            if one.at.line > 0 {
                region["startLine"] = one.at.line.into();
                region["startColumn"] = one.at.column.max(1).into();
            }
            json!({
                "ruleId": finding.rule.name,
                "ruleIndex": place(finding.rule),
                "level": level(finding.level),
                "message": {"text": format!("{}: {}. {}.", one.tool, finding.message, finding.help)},
                "locations": [{
                    "physicalLocation": {
                        "artifactLocation": {"uri": uri(&one.file)},
                        "region": region,
                    },
                    "logicalLocations": [{"name": one.tool, "kind": "function"}],
                }],
            })
        })
        .collect();
    let described: Vec<Value> = rules.iter().map(|rule| describe(rule)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "proofmark",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": described,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn describe(rule: &Rule) -> Value {
    json!({
        "id": rule.name,
        "shortDescription": {"text": rule.reason},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"enabled": rule.level != Level::Off, "level": level(rule.level)},
    })
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Off => "none",
        Level::Info => "note",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}

/// A path as a relative reference (RFC 3986).
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/@".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_reference() {
        assert_eq!(uri("a b/ü.json"), "a%20b/%C3%BC.json");
    }

    #[test]
    fn every_rule_is_described() {
        let log = sarif(&[]);
        let rules = log.pointer("/runs/0/tool/driver/rules").and_then(Value::as_array).unwrap();
        assert_eq!(rules.len(), registry::rules().count());
        assert_eq!(log.pointer("/runs/0/results"), Some(&json!([])));
    }
}
