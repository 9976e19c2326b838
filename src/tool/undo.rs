//! How a call is taken back: by the inverse that its tool names, or by what its adapter keeps of
//! what was there before.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::descriptor::Descriptor;
use super::id::ToolId;

/// Adapters that keep a pre-image of what a call changes.
pub const PRE_IMAGES: [&str; 3] =
    ["builtin:file.write", "builtin:file.patch", "builtin:file.delete"];

/// The call that takes a call of a tool back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inverse {
    /// Which tool.
    pub tool: ToolId,
    /// Its arguments, each taken from the original call or fixed.
    #[serde(default)]
    pub args: BTreeMap<String, InverseArg>,
}

/// One argument of an inverse call: exactly one of both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InverseArg {
    /// The parameter of the original call whose argument it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// This value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl Inverse {
    /// The arguments that take back a call made with these. What the original left out is left
    /// out.
    pub fn arguments(&self, original: &Map<String, Value>) -> Map<String, Value> {
        let fill = |(name, arg): (&String, &InverseArg)| {
            let from = arg.from.as_ref().and_then(|from| original.get(from));
            Some((name.clone(), from.or(arg.value.as_ref())?.clone()))
        };
        self.args.iter().filter_map(fill).collect()
    }
}

/// What is wrong with a tool's claim to be reversible; `None` where it can keep it, or claims
/// nothing.
pub fn claims(descriptor: &Descriptor) -> Option<String> {
    let execution = &descriptor.execution;
    let Some(inverse) = &execution.inverse else {
        let kept = PRE_IMAGES.contains(&execution.adapter.as_str());
        let claim = "it claims to be reversible, names no inverse and keeps no pre-image";
        return (descriptor.effects.reversible && !kept).then(|| claim.to_owned());
    };
    let properties = descriptor.schemas.input_schema.get("properties").and_then(Value::as_object);
    let known = |name: &String| properties.is_some_and(|known| known.contains_key(name));
    inverse.args.iter().find_map(|(name, arg)| match (&arg.from, &arg.value) {
        (Some(from), None) if !known(from) => {
            Some(format!("its inverse takes `{name}` from `{from}`, which is no parameter of it"))
        }
        (Some(_), None) | (None, Some(_)) => None,
        _ => Some(format!("its inverse gives `{name}` by `from` or by `value`, and not by one")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::manifest;

    fn descriptor(execution: &str, reversible: bool) -> Descriptor {
        let text = format!(
            "schema: proofmark/tool@1\ntoolId: lock.take\ndescription: {{summary: Takes a lock.}}\n\
             intent: {{actionTypes: [write]}}\neffects: {{reads: [], writes: ['api:locks'], \
             reversible: {reversible}}}\nschemas: {{inputSchema: {{type: object, properties: \
             {{name: {{type: string}}}}}}}}\n{execution}"
        );
        manifest::parse("t.yaml", &text).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    #[test]
    fn a_claim_needs_an_inverse_or_a_pre_image() {
        let check = |execution: &str, reversible, expected: Option<&str>| {
            let found = claims(&descriptor(execution, reversible));
            assert_eq!(
                found.as_deref().map(|why| why.contains(expected.unwrap_or("-"))),
                expected.map(|_| true),
                "{execution} {found:?}"
            );
        };
        check("", false, None);
        check("", true, Some("names no inverse"));
        check("execution: {adapter: 'builtin:file.write'}", true, None);
        check("execution: {adapter: 'builtin:command.run'}", true, Some("names no inverse"));
        let inverse =
            |args: &str| format!("execution: {{inverse: {{tool: lock.give, args: {{{args}}}}}}}");
        check(&inverse("lock: {from: name}, force: {value: true}"), true, None);
        check(&inverse(""), true, None);
        check(&inverse("lock: {from: nobody}"), true, Some("which is no parameter"));
        check(&inverse("lock: {from: name, value: 1}"), true, Some("and not by one"));
        check(&inverse("lock: {}"), false, Some("and not by one"));
    }

    #[test]
    fn an_inverse_takes_what_the_call_was_given() {
        let tool = descriptor(
            "execution: {inverse: {tool: lock.give, args: {lock: {from: name}, by: {from: who}, \
             force: {value: true}}}}",
            true,
        );
        let original = json!({"name": "door"});
        let arguments = tool.execution.inverse.unwrap().arguments(original.as_object().unwrap());
        assert_eq!(Value::Object(arguments), json!({"lock": "door", "force": true}));
    }

    #[test]
    fn a_tool_without_an_inverse_has_the_version_it_had() {
        let value = serde_json::to_value(descriptor("", false)).unwrap();
        assert_eq!(value.pointer("/execution/inverse"), None);
    }
}
