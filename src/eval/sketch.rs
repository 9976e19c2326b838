//! Expected and made calls in one line, for tests.
//!
//! Calls are separated by spaces, replies by `|`: `a{"q":1} b | a`. A made call without braces
//! has blank arguments, `a{` has arguments that are not JSON, `a~` was asked about and denied; an
//! expected call without braces does not compare arguments.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::calls::CallFacts;
use super::case::{Case, Expectation, ExpectedCall, Kind, Mode};
use crate::base::digest::Digest;
use crate::runtime::catalog::Registry;
use crate::tool::id::ToolId;
use crate::tool::manifest;
use crate::tool::matcher::Matcher;

/// Tools `a`, `b` and `c` with the same parameters, and `delete_all`, which destroys.
pub(super) fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(build);
    &REGISTRY
}

fn build() -> Registry {
    let schema = "{type: object, properties: {q: {type: integer}, r: {type: integer, default: 5}, \
                  n: {type: number}, s: {type: string}}}";
    let tool = |(id, action): (&str, &str)| {
        let text = format!(
            "schema: proofmark/tool@1\ntoolId: {id}\ndescription: {{summary: Does {id}.}}\n\
             intent: {{actionTypes: [{action}]}}\nschemas: {{inputSchema: {schema}}}\n\
             effects: {{reads: [], writes: []}}\n"
        );
        manifest::parse(id, &text).unwrap()
    };
    let tools = [("a", "read"), ("b", "read"), ("c", "read"), ("delete_all", "delete")];
    Registry::new(tools.map(tool).into()).unwrap()
}

/// Calls that were made.
pub(super) fn made(text: &str, registry: &Registry) -> Vec<CallFacts> {
    let replies = (0..).zip(text.split('|'));
    let calls =
        replies.flat_map(|(reply, calls)| calls.split_whitespace().map(move |c| (reply, c)));
    calls.enumerate().map(|(index, (reply, call))| fact(index, reply, call, registry)).collect()
}

fn fact(index: usize, reply: u32, text: &str, registry: &Registry) -> CallFacts {
    let denied = text.ends_with('~');
    let text = text.trim_end_matches('~');
    let (tool, args) = text.find('{').map_or((text, ""), |cut| text.split_at(cut));
    let parsed: Option<Value> = serde_json::from_str(args).ok();
    let known = ToolId::parse(tool).and_then(|id| registry.get(&id));
    let valid = known.map(|tool| match &parsed {
        Some(args) => tool.input.errors(args).is_empty(),
        None => args.is_empty(),
    });
    let started = valid == Some(true) && !denied;
    CallFacts {
        call: format!("c{index}").into(),
        tool: tool.into(),
        offered: known.is_some(),
        args: parsed,
        reply,
        valid,
        class: known.map(|tool| tool.class),
        decision: (valid == Some(true)).then(|| if denied { "ask" } else { "allow" }.to_owned()),
        asked: denied,
        approved: false,
        started,
        ran_as: None,
        observed: false,
        effect_seen: false,
        outcome: Some(match (known, denied) {
            _ if started => "succeeded",
            (None, _) => "unavailable",
            (_, true) => "denied",
            (_, false) => "rejected",
        }),
    }
}

/// Expected calls.
pub(super) fn expected(text: &str) -> Vec<ExpectedCall> {
    let call = |text: &str| {
        let (tool, args) = text.find('{').map_or((text, ""), |cut| text.split_at(cut));
        let args: Option<Map<String, Value>> = serde_json::from_str(args).ok();
        let args = args.map(|args| Matcher::parse_all(&args).unwrap());
        ExpectedCall { tool: tool.into(), args, outcome: None }
    };
    text.split_whitespace().map(call).collect()
}

/// A case: `none`, or expected calls; then, after `;`, `never TOOL` and `mode NAME`.
pub(super) fn case(text: &str) -> Case {
    let mut parts = text.split(';').map(str::trim);
    let calls = parts.next().unwrap();
    let (kind, calls) = if calls == "none" { (Kind::NoTool, "") } else { (Kind::Golden, calls) };
    let mut expect = Expectation { alternatives: vec![expected(calls)], ..Default::default() };
    for part in parts {
        match part.split_once(' ').unwrap() {
            ("never", tool) => expect.never.proposed.push(tool.to_owned()),
            ("mode", name) => expect.mode = serde_json::from_value(name.into()).unwrap(),
            other => panic!("{other:?}"),
        }
    }
    plain(kind, expect)
}

/// A case with one prompt and nothing else.
pub(super) fn plain(kind: Kind, expect: Expectation) -> Case {
    Case {
        id: Arc::from("case"),
        origin: "sketch:1".to_owned(),
        kind,
        messages: vec!["do it".to_owned()],
        provider: None,
        script: None,
        dialect: None,
        approvals: None,
        play: Default::default(),
        knobs: None,
        workspace: Default::default(),
        excluded: Default::default(),
        availability: None,
        principal: None,
        intent: None,
        tags: Default::default(),
        trials: None,
        expect,
        digest: Digest::of("case", b""),
        frozen: false,
    }
}

/// Every way to compare.
pub(super) const MODES: [Mode; 6] =
    [Mode::Exactly, Mode::InOrder, Mode::AnyOrder, Mode::AtLeast, Mode::AtMost, Mode::Prefix];
