//! The keys of a case that say what happens beside the model's words: mistakes are named with their
//! place, and what is written is what is read.

use std::fs;

use proofmark::base::problem::Problem;
use proofmark::eval::events::EndName;
use proofmark::eval::load::{Listed, Suite, load};
use proofmark::eval::play::{HookEnd, PlayedAnswer, PlayedSignal, What};
use proofmark::runtime::exec::simulated::{Act, Fate};
use proofmark::runtime::guard::limits::Thresholds;
use proofmark::runtime::guard::repeat::DuplicateScope;
use proofmark::runtime::guard::{AnswerScope, Envelope, HookVerdict, Point, Verdict};
use serde_json::json;

const READ: &str = "\
schema: proofmark/tool@1
toolId: file.read
description: {summary: Return the text of one file.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object, properties: {path: {type: string}}, required: [path]}}
effects: {reads: ['workspace:**'], writes: []}
";
const REAL: &str = "\
schema: proofmark/tool@1
toolId: file.list
description: {summary: Name the files.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object, properties: {}}}
effects: {reads: ['workspace:**'], writes: []}
execution: {adapter: 'builtin:file.list'}
";

/// A suite with these settings and one case with these keys, which begin at line 5.
fn read(knobs: &str, keys: &str) -> Result<Suite, Vec<Problem>> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir(folder.path().join("tools")).unwrap();
    write("tools/read.yaml", READ);
    write("tools/list.yaml", REAL);
    let suite = "schema: proofmark/suite@1\nname: s\ntools: [tools/]\ncases: [c.yaml]\n";
    write("suite.yaml", &format!("{suite}{knobs}\n"));
    let case = "schema: proofmark/case@1\nid: a\nprompt: Go\nscript: [{reply: {text: ok}}]\n";
    write("c.yaml", &format!("{case}{keys}\n"));
    load(folder.path(), &Listed::new()).map_err(|problems| {
        let prefix = format!("{}/", folder.path().display());
        let short =
            |problem: Problem| Problem { file: problem.file.replace(&prefix, ""), ..problem };
        problems.into_iter().map(short).collect()
    })
}

fn check(keys: &str, expected: &[&str]) {
    let problems = read("", keys).map(|_| ()).expect_err(keys);
    let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{keys}");
}

#[test]
fn mistakes_of_hooks_and_signals() {
    check(
        "hooks: [{name: a, poin: after_call}]",
        &["c.yaml:5:19: unknown key `poin`; did you mean `point`?"],
    );
    check(
        "hooks: [{name: a}, {name: a}, {name: a, point: on_error}]",
        &["c.yaml:5:27: a second hook `a` at this point"],
    );
    check(
        "hooks: [{name: a, tools: [file.raed], rename: file.list}]",
        &[
            "c.yaml:5:9: `rewrite` goes with `rename`, `args` or both",
            "c.yaml:5:27: no tool `file.raed`; did you mean `file.read`?",
        ],
    );
    check(
        "hooks: [{name: a, action: rewrite}, {name: b, reason: why}]",
        &[
            "c.yaml:5:9: `rewrite` goes with `rename`, `args` or both",
            "c.yaml:5:55: `reason` goes with `cancel` and `fail`",
        ],
    );
    check(
        "signals: [{after: ToolCalStarted, cancel: x}]",
        &["c.yaml:5:19: no event `ToolCalStarted`; did you mean `ToolCallStarted`?"],
    );
    let one = "a signal is one of cancel, steer, switch, revoke and block";
    check("signals: [{after: BatchOpened}]", &[&format!("c.yaml:5:11: {one}")]);
    check(
        "signals: [{after: BatchOpened, cancel: x, revoke: true}]",
        &[&format!("c.yaml:5:11: {one}")],
    );
    check(
        "signals: [{after: BatchOpened, count: 0, tool: file.lst, switch: secnd}]\nothers: {second: []}",
        &["c.yaml:5:39: 0 is less than the minimum of 1"],
    );
    check(
        "signals: [{after: BatchOpened, tool: file.lst, switch: secnd}]\nothers: {second: []}",
        &[
            "c.yaml:5:38: no tool `file.lst`; did you mean `file.list`?",
            "c.yaml:5:56: no provider `secnd` in `others`; did you mean `second`?",
        ],
    );
}

#[test]
fn mistakes_of_answers_and_acts() {
    check(
        "approvals: [{tool: '*', answer: deny, scope: session}, {tool: '*', answer: yes}]",
        &[
            "c.yaml:5:76: \"yes\" is not one of \"approve\", \"confirm\", \"deny\", \"replace\", \"timeout\"",
        ],
    );
    check(
        "approvals: [{tool: '*', answer: deny, scope: session}]",
        &["c.yaml:5:46: `scope` goes with `approve` and `confirm`"],
    );
    check(
        "tools: {file.raed: [{}], file.list: [{}]}",
        &[
            "c.yaml:5:20: no tool `file.raed`; did you mean `file.read`?",
            "c.yaml:5:37: file.list is not simulated: it acts for real",
        ],
    );
    check(
        "tools: {file.read: [{hang: true, panic: true}, {hang: true, output: x}]}",
        &[
            "c.yaml:5:21: one of hang, panic and fault",
            "c.yaml:5:55: what hangs answers nothing, and ends only when it is told to",
        ],
    );
    check(
        "tools: {file.read: [{undeclared: elsewhere, fault: {message: x}}]}",
        &[
            "c.yaml:5:34: \"elsewhere\" does not match \"^[a-z][a-z_]*:.+$\"",
            "c.yaml:5:52: missing required key `code`",
        ],
    );
    check(
        "envelope: {ingress: phone}",
        &[
            "c.yaml:5:21: \"phone\" is not one of \"cli\", \"channel\", \"acp\", \"websocket\", \"gateway\", \"cron\", \"delegate\"",
        ],
    );
}

#[test]
fn mistakes_of_settings_and_expected_events() {
    check(
        "knobs: {duplicate_exempt: [file.raed], loop_limits: {identical: {warn: 4, block: 3, stop: 5}}}",
        &[
            "c.yaml:5:28: no tool `file.raed`; did you mean `file.read`?",
            "c.yaml:5:65: a later step comes before an earlier one; \
             write warn, then block, then stop, each at least as high",
        ],
    );
    check(
        "knobs: {call_budged: 1, turn_deadline_ms: 0, text: ~}",
        &[
            "c.yaml:5:9: unknown key `call_budged`; did you mean `call_budget`?",
            "c.yaml:5:43: 0 is less than the minimum of 1",
            "c.yaml:5:52: null is not of type \"object\"",
        ],
    );
    check(
        "expect: {events: [{event: HookRun}, {event: HookRan, tool: file.raed, facts: {hok: a}}]}",
        &[
            "c.yaml:5:27: no event `HookRun`; did you mean `HookRan`?",
            "c.yaml:5:60: no tool `file.raed`; did you mean `file.read`?",
            "c.yaml:5:84: HookRan has no fact `hok`; did you mean `hook`?",
        ],
    );
    check(
        "expect: {events: [{event: HookRan, facts: {hook: {regexp: a}}}]}",
        &["c.yaml:5:50: an object must be a matcher such as {equals: ..}; write the object under \
             `equals` to compare it as a value"],
    );
    check(
        "expect: {end: loop}",
        &[
            "c.yaml:5:15: \"loop\" is not one of \"final_text\", \"iteration_cap\", \"provider_fault\", \"cancelled\", \"loop_stopped\"; did you mean `loop_stopped`?",
        ],
    );
    let problems = read("knobs: {duplicate_exempt: [x]}", "").unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "suite.yaml:5:28: no tool `x`; known here: file.list, file.read"
    );
}

#[test]
fn what_is_played_is_what_is_written() {
    let suite = read(
        "",
        "envelope: {ingress: cron, channel: c, reply_to: r, thread: t}
hooks:
  - {name: a, point: after_call, priority: 3, observer: true, tools: [file.read], action: slow}
  - {name: b, global: false, action: rewrite, rename: x, args: {q: 1}, delay_ms: 5}
signals: [{after: ToolCallStarted, tool: file_read, count: 2, switch: second}]
others: {second: [{reply: {text: ok}}]}
approvals: [{tool: file.read, answer: confirm, scope: always, late: true, to: 2}]
tools: {file.read: [{output: {a: 1}, delay_ms: 3, deaf: true, undeclared: 'api:x'}, {hang: true}]}
expect: {end: cancelled}",
    )
    .unwrap();
    let case = &suite.cases[0];
    let text = |text: &str| Some(text.to_owned());
    let envelope = Envelope {
        ingress: text("cron"),
        channel: text("c"),
        reply_to: text("r"),
        thread: text("t"),
    };
    assert_eq!(case.play.envelope, envelope);
    let [first, second] = &case.play.hooks[..] else { panic!("{:?}", case.play.hooks) };
    assert_eq!((first.spec.point, first.spec.priority), (Point::AfterCall, 3));
    assert!(first.spec.observer && first.spec.global && !second.spec.global);
    assert_eq!(first.end, HookEnd::Never);
    assert!(["file.read", "file_read"].iter().all(|name| first.tools.contains(*name)));
    let rewrite = HookVerdict::Rewrite { name: text("x"), args: Some(json!({"q": 1})) };
    assert_eq!((&second.end, second.delay_ms), (&HookEnd::Says(rewrite), 5));
    let signal = PlayedSignal {
        after: "ToolCallStarted".to_owned(),
        tool: proofmark::tool::id::ToolId::parse("file.read"),
        count: 2,
        what: What::Switch("second".to_owned()),
    };
    assert_eq!(case.play.signals, [signal]);
    let answer = PlayedAnswer {
        tool: "file.read".to_owned(),
        verdict: Verdict::Yes { strong: true, scope: AnswerScope::Always },
        late: true,
        to: Some(2),
    };
    assert_eq!(case.approvals, Some(vec![answer]));
    let act = Act {
        delay_ms: 3,
        deaf: true,
        writes: text("api:x"),
        output: Some(json!({"a": 1})),
        ..Act::default()
    };
    let hangs = Act { fate: Fate::Hangs, ..Act::default() };
    assert_eq!(case.play.tools.values().next(), Some(&vec![act, hangs]));
    assert_eq!(case.expect.end, Some(EndName::Cancelled));
}

#[test]
fn a_cases_settings_stand_over_its_suites() {
    let suite = "knobs: {iteration_cap: 7, duplicate_scope: turn, call_budget: 3, loop_limits: \
                 {identical: {warn: 5, block: 6, stop: 7}, ping_pong: {warn: 2, block: 2, stop: 2}}}";
    let case = "knobs: {parallel_tools: true, call_budget: 9, duplicate_exempt: [file.read], \
                loop_limits: {identical: {warn: 2, block: 3, stop: 4}}}";
    let read = read(suite, case).unwrap();
    let (whole, own) = (&read.knobs, read.cases[0].knobs.as_deref().unwrap());
    assert_eq!((own.iteration_cap, own.duplicate_scope), (7, DuplicateScope::Turn));
    assert_eq!((own.parallel_tools, own.call_budget), (true, Some(9)));
    assert_eq!((own.duplicate_exempt.len(), whole.duplicate_exempt.len()), (1, 0));
    assert_eq!(own.loop_limits.identical, Thresholds { warn: 2, block: 3, stop: 4 });
    assert_eq!(own.loop_limits.ping_pong, Thresholds { warn: 2, block: 2, stop: 2 });
    assert_eq!(own.loop_limits.no_progress, whole.loop_limits.no_progress);
    assert_eq!((whole.parallel_tools, whole.call_budget), (false, Some(3)));
}

#[test]
fn a_suite_that_sets_nothing_new_keeps_its_digest() {
    let digest = |knobs: &str| read(knobs, "").unwrap().policy_digest;
    let usual = proofmark::eval::suite::KnobsEntry::default();
    let written = serde_json::to_value(&usual).unwrap();
    let new = ["duplicate_scope", "loop_limits", "call_budget", "hook_timeout_ms"];
    assert!(new.iter().all(|name| written.get(name).is_none()), "{written}");
    assert_ne!(digest(""), digest("knobs: {call_budget: 3}"));
}

#[test]
fn every_key_is_documented() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let page = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let pages = [page("cases.md"), page("availability.md")].concat();
    let schema = proofmark::eval::case::CASE.get().schema();
    let parts = ["CaseKnobsEntry", "ExpectEntry", "ActEntry", "ApprovalEntry", "SignalEntry"];
    let parts = parts.map(|name| schema.pointer(&format!("/$defs/{name}/properties")).unwrap());
    let keys = [&schema["properties"]].into_iter().chain(parts);
    let keys = keys.flat_map(|keys| keys.as_object().unwrap().keys());
    let unsaid = |key: &&String| {
        !pages.contains(&format!("`{key}`")) && !pages.contains(&format!("`{key}:"))
    };
    // The tag, the id and the heading of what is expected stand for themselves.
    let known = ["schema", "id", "expect"];
    let left: Vec<&String> =
        keys.filter(unsaid).filter(|key| !known.contains(&key.as_str())).collect();
    assert_eq!(left, Vec::<&String>::new());
}

#[test]
fn the_documented_case_is_one() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cases.md");
    let page = fs::read_to_string(path).unwrap();
    let block = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let text = format!("schema: proofmark/cases@1\ncases:\n{block}");
    let document = proofmark::base::document::Document::parse("docs/cases.md", &text).unwrap();
    let read =
        proofmark::eval::case::CASES.get().decode::<proofmark::eval::case::CasesFile>(&document);
    assert_eq!(read.unwrap().cases.len(), 1);
}
