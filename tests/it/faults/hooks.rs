//! Hooks before a call: they are waited for, and whatever is no clear pass stops the call.

use proofmark::runtime::guard::{HookVerdict, Point};
use serde_json::json;

use super::Row;
use super::hand::Hand;
use super::record::{count, outcomes, ran_with, shown, starts, story};
use super::scene::{Play, ask, guard, rewrite, say, watcher};
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B092", || {
        let failed = || HookVerdict::Failed { why: "exit status 2, no JSON".to_owned() };
        let (pass, edit) = (|| HookVerdict::Pass, || rewrite(json!({"path": "b"})));
        check(vec![("g", deny())], "t_x blocked:g");
        check(vec![("g", failed())], "t_x blocked:g");
        // Whatever the others say, before or after it.
        check(vec![("a", pass()), ("g", deny()), ("z", edit())], "t_x blocked:g");
        check(vec![("a", edit()), ("g", failed())], "t_x blocked:g");
        check(vec![("a", pass()), ("z", edit())], "t_x succeeded");
    }),
    ("B093", || {
        let hooks = vec![guard("slow", 0, deny())];
        let play = Play::new(vec![tool("t.x", "L2", ""), tool("t.y", "L0", "")], Vec::new());
        let mut hand = Hand::new(Play { hooks, ..play });
        hand.calls(&[("t_x", "{}"), ("t_y", "{}")]);
        hand.wake(200);
        assert_eq!((hand.hooks.len(), hand.started.len()), (1, 0), "nothing starts meanwhile");
        hand.hooked(0, deny());
        assert_eq!(hand.started.len(), 0, "the other call has its own");
        hand.hooked(1, HookVerdict::Pass);
        assert_eq!(hand.running(), ["t.y"]);
        assert_eq!(outcomes(hand.journal())[0], "t_x blocked:slow");
    }),
    ("B094", || {
        // The tool names a hook that is nowhere: it cannot run, so the call cannot either.
        let tools = vec![tool("t.x", "L0", "hooks: {preCall: [check]}\n")];
        let script = vec![ask(&[("t_x", "{}")]), say("ok")];
        let played = Play::new(tools, script).ends();
        assert_eq!(outcomes(&played.journal), ["t_x blocked:check"]);
        let told = shown(&played.journal, 0);
        assert!(told.contains("the guard hook failed: there is no hook `check`"), "{told}");
        assert_eq!((count(&played.journal, "HookRan"), starts(&played.journal, 0)), (1, 0));
    }),
    ("B096", || {
        let hooks = vec![
            guard("g", 0, deny()),
            watcher("after", Point::AfterCall),
            watcher("error", Point::OnError),
        ];
        let script = vec![ask(&[("t_x", "{}")]), say("ok")];
        let play = Play::new(vec![tool("t.x", "L0", "")], script);
        let played = Play { hooks, ..play }.ends();
        let story = story(&played.journal, 0);
        assert_eq!(story, ["ToolCallRequested", "HookRan", "ToolCallSettled"]);
        assert_eq!(outcomes(&played.journal), ["t_x blocked:g"]);
    }),
    ("B099", || {
        // A rule lets everything run, and what runs is what the hook wrote.
        let rules = "schema: proofmark/rules@1\nrules:\n  - {id: all, decision: allow, reason: r, \
                     examples: [{tool: t.x}]}\n";
        let hooks = vec![guard("g", 0, rewrite(json!({"path": "safe"})))];
        let script = vec![ask(&[("t_x", "{\"path\":\"unsafe\"}")]), say("ok")];
        let play = Play::new(vec![tool("t.x", "L4", "")], script);
        let played = Play { hooks, rules, ..play }.ends();
        ran_with(&played.journal, 0, &json!({"path": "safe"}));
        assert_eq!(count(&played.journal, "ApprovalRequested"), 0);
        assert_eq!(count(&played.journal, "ReceiptIssued"), 1);
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

fn deny() -> HookVerdict {
    HookVerdict::Cancel { reason: "not today".to_owned() }
}

/// Hooks in their order, and how a call of a free tool ends under them.
fn check(hooks: Vec<(&str, HookVerdict)>, expected: &str) {
    let last = i32::try_from(hooks.len()).unwrap();
    let hooks = (0..last).zip(hooks).map(|(at, (name, says))| guard(name, last - at, says));
    let script = vec![ask(&[("t_x", "{\"path\":\"a\"}")]), say("ok")];
    let play = Play::new(vec![tool("t.x", "L0", "")], script);
    let played = Play { hooks: hooks.collect(), ..play }.ends();
    assert_eq!(outcomes(&played.journal), [expected]);
}
