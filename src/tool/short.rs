//! Writing a descriptor as a file that a person edits: the short form, without the fields that
//! equal their defaults. [`super::manifest::parse`] reads it back equal.

use serde::Serialize;
use serde_json::{Map, Value};

use super::descriptor::{
    ContextPolicy, Credentials, Description, Descriptor, Effects, Execution, Hooks, IntentSection,
    Lifecycle, Observability, Permissions, Provenance, RiskSection, Sandbox, Source,
};
use crate::base::yaml;

/// The YAML text of a descriptor. The version is left out, since reading computes it.
pub fn write(descriptor: &Descriptor) -> String {
    yaml::to_string(&short(descriptor), &ORDER)
}

/// The order in which a person reads a descriptor and the schemas in it.
const ORDER: [&str; 50] = [
    "schema",
    "toolId",
    "canonicalName",
    "displayName",
    "version",
    "source",
    "lifecycle",
    "$schema",
    "$ref",
    "type",
    "title",
    "description",
    "format",
    "enum",
    "const",
    "default",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "properties",
    "required",
    "additionalProperties",
    "intent",
    "schemas",
    "inputSchema",
    "outputSchema",
    "errorSchema",
    "$defs",
    "definitions",
    "effects",
    "risk",
    "permissions",
    "sandbox",
    "credentials",
    "contextPolicy",
    "execution",
    "hooks",
    "observability",
    "provenance",
    "subagent",
    "summary",
    "useWhen",
    "doNotUseWhen",
    "examples",
    "actionTypes",
    "domains",
    "reads",
    "writes",
    "deletes",
];

fn short(descriptor: &Descriptor) -> Value {
    let mut map = match value(descriptor) {
        Value::Object(map) => map,
        other => return other,
    };
    map.remove("version");
    let whole: [(&str, Value); 11] = [
        ("source", value(&Source::default())),
        ("lifecycle", value(&Lifecycle::default())),
        ("risk", value(&RiskSection::default())),
        ("permissions", value(&Permissions::default())),
        ("sandbox", value(&Sandbox::default())),
        ("credentials", value(&Credentials::default())),
        ("contextPolicy", value(&ContextPolicy::default())),
        ("execution", value(&Execution::default())),
        ("hooks", value(&Hooks::default())),
        ("observability", value(&Observability::default())),
        ("provenance", value(&Provenance::default())),
    ];
    for (name, default) in whole {
        let Some(Value::Object(section)) = map.get_mut(name) else { continue };
        prune(section, &default, &[]);
        if section.is_empty() {
            map.remove(name);
        }
    }
    let partly: [(&str, Value, &[&str]); 3] = [
        ("description", value(&Description::default()), &["summary"]),
        ("intent", value(&IntentSection::default()), &["actionTypes"]),
        ("effects", value(&Effects::default()), &["reads", "writes"]),
    ];
    for (name, default, keep) in partly {
        if let Some(Value::Object(section)) = map.get_mut(name) {
            prune(section, &default, keep);
        }
    }
    Value::Object(map)
}

fn value<T: Serialize>(part: &T) -> Value {
    serde_json::to_value(part).unwrap_or(Value::Null)
}

/// Removes members that equal the default's, but for those to keep.
fn prune(section: &mut Map<String, Value>, default: &Value, keep: &[&str]) {
    section.retain(|key, value| {
        let Some(default) = default.get(key) else { return true };
        if keep.contains(&key.as_str()) {
            return true;
        }
        if let (Value::Object(inner), true) = (&mut *value, default.is_object()) {
            prune(inner, default, &[]);
            return !inner.is_empty();
        }
        *value != *default
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::manifest;

    #[test]
    fn what_equals_its_default_is_left_out_and_the_rest_reads_back() {
        let text = "\
schema: proofmark/tool@1
toolId: file.read
source:
  type: mcp
  serverId: files
description:
  summary: |-
    Return the text of one file.
      Slowly.
  examples:
    - expectedArgs: {}
      userRequest: Read it
intent:
  actionTypes: [read]
schemas:
  inputSchema:
    type: object
    properties:
      \"yes\":
        type: string
effects:
  reads: [\"workspace:**\"]
  writes: []
sandbox:
  limits:
    maxCostUsd: 0.5
execution:
  retryPolicy:
    maxRetries: 1
provenance:
  foreign:
    hooks: {}
";
        let read = manifest::parse("t.yaml", text).unwrap();
        assert_eq!(write(&read), text);
    }

    #[test]
    fn a_descriptor_that_says_everything_reads_back() {
        let text = "\
schema: proofmark/tool@1
toolId: a.b
description: {summary: x, useWhen: [a], doNotUseWhen: [b]}
intent: {actionTypes: [write], domains: [d], requiredUserIntent: [w], negativeIntentHints: [v]}
schemas: {inputSchema: {type: object}, outputSchema: {type: object}, errorSchema: true}
effects: {reads: [], writes: ['workspace:a'], deletes: ['workspace:b'], reversible: true}
lifecycle: {status: disabled, owner: me}
risk: {level: high, openWorld: true}
permissions: {approvalPolicy: never, requiredScopes: [s], approvalMarker: m}
sandbox: {mode: none, filesystem: {readRoots: [], blockedPaths: [x]}, network: {egressPolicy: open}}
credentials: {strategy: system}
contextPolicy: {exposeToModel: false, exposeOutputToModel: structured}
execution: {adapter: simulated, simulatedOutput: {a: 1}, timeoutMs: 5}
hooks: {preCall: [h]}
observability: {auditLevel: basic}
provenance: {trustLevel: untrusted, sourceRefs: [r]}
subagent: {agentId: a, allowedTools: [], budget: {maxTurns: 1}}
";
        let read = manifest::parse("t.yaml", text).unwrap();
        let again = write(&read);
        assert_eq!(manifest::parse("t.yaml", &again).unwrap(), read, "{again}");
    }
}
