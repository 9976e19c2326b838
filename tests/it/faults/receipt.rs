//! The record of a call says what was: refusals too, and a receipt for a success alone.

use proofmark::journal::{Event, Journal};
use proofmark::runtime::guard::AnswerScope;
use serde_json::json;

use super::Row;
use super::record::{about, count, outcomes, story};
use super::scene::{Play, ask, say, saying, yes};
use crate::tools::tool;

const NEVER: &str = "schema: proofmark/rules@1\nrules:\n  - {id: no-drops, decision: deny, reason: \
                     tables stay, when: {args: {path: {equals: t}}}, examples: [{tool: table.drop, \
                     args: {path: t}}]}\n";

pub const ROWS: &[Row] = &[
    ("B187", || {
        let played = dropped(saying("table.drop", "L2", "dropped"));
        let own = about(&played, 0);
        let decided = own.iter().find_map(|entry| match &entry.event {
            Event::ToolPolicyChecked(fact) => Some((fact.decision.as_str(), fact.rules.clone())),
            _ => None,
        });
        assert_eq!(decided, Some(("deny", vec!["no-drops".to_owned()])));
        let arguments = own.iter().any(|entry| match &entry.event {
            Event::ToolArgsValidated(fact) => fact.args_digest.is_some(),
            _ => false,
        });
        let settled = own.iter().filter(|entry| entry.event.name() == "ToolCallSettled").count();
        assert_eq!((arguments, settled), (true, 1));
    }),
    ("B188", || {
        // What the tool would have said plays no part: it is the refusal that is recorded.
        let played = dropped(saying("table.drop", "L2", json!({"error": "Access denied"})));
        assert_eq!(outcomes(&played), ["table_drop denied:policy"]);
        assert_eq!(count(&played, "ToolCallStarted") + count(&played, "ReceiptIssued"), 0);
    }),
    ("B189", || {
        // A tool that reports its failure in its result says so in its output schema.
        for (success, expected, receipts) in
            [(true, "git_push succeeded", 1), (false, "git_push failed:output_schema", 0)]
        {
            let mut push = saying("git.push", "L2", json!({"success": success, "error": "no"}));
            let must = json!({"type": "object", "properties": {"success": {"const": true}},
                "required": ["success"]});
            push.schemas.output_schema = Some(must);
            let script = vec![ask(&[("git_push", "{}")]), say("ok")];
            let played = Play::new(vec![push], script).ends();
            assert_eq!(outcomes(&played.journal), [expected]);
            assert_eq!(count(&played.journal, "ReceiptIssued"), receipts);
        }
    }),
    ("B191", || {
        let script = vec![ask(&[("bill_pay", "{}")]), say("Paid.")];
        let play = Play::new(vec![tool("bill.pay", "L4", "")], script);
        let played = Play { answers: vec![("bill.pay", yes(AnswerScope::Once))], ..play }.ends();
        let expected = [
            "ToolCallRequested",
            "ToolArgsValidated",
            "ToolPolicyChecked",
            "ApprovalRequested",
            "ApprovalGranted",
            "ToolSandboxPrepared",
            "ToolCallStarted",
            "ToolCallFinished",
            "ToolResultValidated",
            "ReceiptIssued",
            "ToolCallSettled",
        ];
        assert_eq!(story(&played.journal, 0), expected);
        let digests: Vec<_> = about(&played.journal, 0)
            .into_iter()
            .filter_map(|entry| match &entry.event {
                Event::ApprovalGranted(fact) => Some(Some(fact.call_digest)),
                Event::ToolCallStarted(fact) => Some(fact.call_digest),
                _ => None,
            })
            .collect();
        assert_eq!(digests[0], digests[1], "the start names the approval it rests on");
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

/// One call that a rule denies.
fn dropped(tool: proofmark::tool::descriptor::Descriptor) -> Journal {
    let script = vec![ask(&[("table_drop", "{\"path\":\"t\"}")]), say("ok")];
    Play { rules: NEVER, ..Play::new(vec![tool], script) }.ends().journal
}
