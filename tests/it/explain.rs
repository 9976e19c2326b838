//! The account of a call: what is answered for each kind of call, that nothing is left out, and
//! that every answer rests on facts that are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proofmark::base::choice::Random;
use proofmark::journal::{Entry, Event, format};
use proofmark::law::account::pick::{Found, Known, NotFound};
use proofmark::law::account::questions::QUESTIONS;
use proofmark::law::account::{Account, account};
use proofmark::report::account::{json as as_json, text};
use proofmark::runtime::turn::steps::Steps;
use proofmark::sim::driver::{Mode, run};
use proofmark::sim::explore::session_seed;
use proofmark::sim::scene::Scene;
use proofmark::sim::swarm::Swarm;

use crate::command::{check, json};
use crate::delegates::{helper, parent};
use crate::faults::scene::{Play, ask, say as said};
use crate::lifecycle::run_cases;
use crate::stage::{Stage, step};

/// What must hold of every account, whatever the journal.
fn sound(entries: &[&Entry], account: &Account) {
    let keys: Vec<&str> = account.answers.iter().map(|answer| answer.key).collect();
    let asked: Vec<&str> = QUESTIONS.iter().map(|question| question.key).collect();
    assert_eq!(keys, asked, "each question once, in order");
    let known: BTreeSet<u64> = entries.iter().map(|entry| entry.seq).collect();
    for answer in &account.answers {
        let place = format!("{} {} {answer:?}", account.session, account.call);
        assert!(!answer.text.is_empty(), "{place}");
        assert!(answer.facts.iter().all(|seq| known.contains(seq)), "{place}");
        assert!(answer.facts.is_sorted(), "{place}");
        assert!(!answer.known || !answer.facts.is_empty(), "it rests on nothing: {place}");
        let started = |entry: &&&Entry| {
            entry.call.as_deref() == Some(&*account.call)
                && matches!(entry.event, Event::ToolCallStarted(_))
        };
        let acts = ["sandbox", "reads", "writes", "sent_out", "memory"];
        if acts.contains(&answer.key) && !entries.iter().any(|entry| started(&entry)) {
            let calm = ["Nothing: ", "Not reached: ", "the journal records no"];
            let offered = ["It offered", "it was prepared"].iter().any(|s| answer.text.contains(s));
            let calm = calm.iter().any(|start| answer.text.starts_with(start));
            assert!(calm || offered || answer.text.contains("never started"), "{place}");
        }
    }
    let told = text(account);
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    assert_eq!(as_json(account)["answers"].as_array().unwrap().len(), QUESTIONS.len());
}

/// The accounts of all calls of a journal, each sound.
fn accounts(entries: &[Entry]) -> Vec<Account> {
    let known = Known::of(entries);
    let told = known.calls().iter().map(|found| {
        let own: Vec<&Entry> = entries.iter().filter(|e| *e.session == *found.session).collect();
        let account = account(own.iter().copied(), found.call).unwrap();
        sound(&own, &account);
        account
    });
    told.collect()
}

/// What the answers must say. An answer that begins with `?` is unknown.
fn says(account: &Account, expected: &[(&str, &str)]) {
    for (key, part) in expected {
        let answer = account.answers.iter().find(|answer| answer.key == *key).unwrap();
        let known = !part.starts_with('?');
        let place = format!("{}: {key}: no {part:?} in {answer:#?}", account.session);
        assert_eq!(answer.known, known, "{place}");
        let whole = format!("{} {}", answer.text, answer.items.join(", "));
        assert!(whole.contains(part.trim_start_matches('?')), "{place}");
    }
}

type Row = (&'static str, usize, &'static [(&'static str, &'static str)]);

/// Cases of the lifecycle suite, which call of theirs, and what is said of it.
const SCENARIOS: &[Row] = &[
    // Succeeded: asked and granted, then on the grant.
    (
        "yes-for-the-session-is-used-again",
        1,
        &[
            ("ended", "It succeeded."),
            ("why", "the goal \"Tell Bob, then tell Eve.\""),
            ("visible", "mail.send"),
            ("filtered", "1 of them by policy. payroll.read (policy: clerk lacks scope"),
            ("alternatives", "?no weighing is recorded"),
            ("intent", "No, it is within"),
            ("arguments_from", "The model wrote them. text: the model, to: the model"),
            ("arguments_checked", "Yes, they passed the schema of mail.send"),
            ("identity", "As clerk, with scopes archive:admin"),
            ("approval_needed", "Yes: L4 is visible outside (level L4)."),
            ("approval_given", "script said yes (channel scripted, scope session)."),
            ("sandbox", "mode remote_api, enforced: simulated."),
            ("reads", "the start names no reads."),
            ("writes", "Nothing real, it was simulated; the start names as writes: mail:**."),
            ("sent_out", "Its effect class is external."),
            ("full_result", "In no artifact: it has 27 characters"),
            ("verified", "a receipt proves the result."),
            ("state", "holds no change of state"),
            ("memory", "Nothing real"),
            ("context", "A message of 57 characters, of a result of 27."),
            ("artifacts", "holds no artifact"),
        ],
    ),
    (
        "yes-for-the-session-is-used-again",
        2,
        &[
            ("approval_given", "it ran on the grant grant_"),
            ("approval_given", "(session for mail"),
        ],
    ),
    (
        "rule-denies-an-argument",
        1,
        &[
            ("ended", "Denied, it never started: policy does not allow it (rule mail-blocked)"),
            ("approval_needed", "No approval would do: policy denies it"),
            ("approval_needed", "rule mail-blocked)."),
            ("approval_given", "Nobody was asked: the call ended as denied."),
            ("sandbox", "Not reached: the call ended as denied."),
            ("reads", "Nothing: it never started"),
            ("full_result", "Not reached"),
        ],
    ),
    (
        "operator-says-no",
        1,
        &[
            ("ended", "the person asked said no"),
            ("approval_needed", "Yes: "),
            ("approval_given", "script said no (channel scripted)"),
            ("verified", "Not reached"),
        ],
    ),
    ("yes-for-once-is-used-once", 2, &[("approval_given", "nobody was reached")]),
    ("question-runs-out", 1, &[("approval_given", "no answer came in time")]),
    (
        "argument-of-wrong-type",
        1,
        &[
            ("ended", "Rejected, it never started: /path value is not of type"),
            ("arguments_checked", "they failed the schema of note.read"),
            ("intent", "Not reached: the call ended as rejected."),
            ("approval_needed", "Not reached"),
        ],
    ),
    ("arguments-are-not-json", 1, &[("arguments_checked", "Yes, and they are no JSON.")]),
    (
        "unknown-name",
        1,
        &[("ended", "Unavailable, it never started"), ("arguments_checked", "Not reached")],
    ),
    ("same-call-twice-in-a-reply", 2, &[("ended", "A duplicate of one, it never started.")]),
    (
        "second-attempt-succeeds",
        1,
        &[("ended", "It succeeded; it was started 2 times; attempt 1 failed (")],
    ),
    (
        "cancelled-before-any-call",
        1,
        &[("ended", "Cancelled before it started: \"the user left\"")],
    ),
    (
        "cancelled-during-a-call",
        2,
        &[
            ("ended", "what it did until then is not known."),
            ("reads", "?nothing was observed; the start names as reads: memory:feeds/**"),
            ("verified", "?the journal records no ToolResultValidated"),
        ],
    ),
    (
        "cancelled-during-a-call",
        1,
        &[("reads", "was seen (workspace)"), ("reads", "workspace:a.md")],
    ),
    (
        "marker-of-a-hook-is-cleared",
        1,
        &[("arguments_from", "the hook helper rewrote the call; an approval marker was cleared.")],
    ),
    (
        "envelope-fills-what-the-model-left-out",
        1,
        &[(
            "arguments_from",
            "the envelope filled in from, room, thread, to. text: the model, from",
        )],
    ),
    ("secret-in-tool-output", 1, &[("identity", "was bound for clerk, scope ledger:read.")]),
    (
        "oversize-output-is-cut",
        1,
        &[
            ("full_result", "In artifact art_"),
            ("context", "of a result of 946; its middle is cut."),
            ("artifacts", "1 stored. art_"),
        ],
    ),
    (
        "result-that-is-not-logged-is-told",
        1,
        &[("full_result", "Nowhere, it was not to be logged")],
    ),
    (
        "simulated-effect-not-declared",
        1,
        &[
            ("verified", "No, it failed: \"1 undeclared effects\""),
            ("intent", "beyond its declaration: memory:visits"),
        ],
    ),
    ("hook-cancels-a-call", 1, &[("ended", "Blocked by censor, it never started.")]),
    ("operator-replaces-the-result", 1, &[("ended", "gave a result in its place; it never ran.")]),
];

#[test]
fn each_kind_of_call_is_answered() {
    let cases: BTreeSet<&str> = SCENARIOS.iter().map(|(case, ..)| *case).collect();
    let cases: Vec<&str> = cases.into_iter().collect();
    let mut seen = 0;
    run_cases(&cases, Steps::REAL, |case, record| {
        let told = accounts(record.journal.entries());
        for (_, number, expected) in SCENARIOS.iter().filter(|(id, ..)| *id == &*case.id) {
            says(&told[number - 1], expected);
            seen += 1;
        }
    });
    assert_eq!(seen, SCENARIOS.len());
}

#[test]
fn a_delegate_is_part_of_the_account() {
    let stage = Stage::new(vec![helper("a", ""), crate::tools::tool("a", "L0", "")], parent());
    let say = proofmark::runtime::provider::scripted::say;
    let mut session = stage.agent("helper", vec![step(say("found it"))]).open();
    crate::delegates::run(&mut session);
    let told = accounts(session.journal().entries());
    says(
        &told[0],
        &[
            ("ended", "It succeeded; its delegate ended: completed."),
            ("identity", "had 1 tools and scopes"),
            ("why", "?the parent's own words"),
        ],
    );
    session.children().iter().for_each(|child| _ = accounts(child.entries()));
}

#[test]
fn a_confined_command_tells_its_sandbox_and_what_was_seen() {
    let Some(host) = crate::escape::host() else { return };
    let command = crate::boxed::cli("workspace_write", "[touch, '{path}']", "");
    let steps = vec![ask(&[("tool_try", r#"{"path":"new"}"#)]), said("done")];
    let play = Play::new(vec![crate::boxed::tool(&command)], steps);
    let played = Play { host: host.clone(), ..play }.ends();
    let told = accounts(played.journal.entries());
    says(
        &told[0],
        &[
            ("sandbox", "mode workspace_write, enforced: full."),
            ("sandbox", "landlock_files"),
            ("reads", "?it could not be observed (method digests)"),
            ("writes", "What is listed was seen (digests)"),
            ("writes", "workspace:new"),
            ("sent_out", "Nothing was seen (digests)"),
            ("memory", "Nothing was seen (digests)"),
        ],
    );
}

/// A journal that another runtime might write: a command in a sandbox, as far as it is told.
const FOREIGN: &str = r#"
{"type":"SessionOpened","principal":"ada","tenant":"acme"}
{"type":"ModelRequested","provider":"p","dialect":"d","payload":"sha256:0000000000000000000000000000000000000000000000000000000000000000","tools":"sha256:0000000000000000000000000000000000000000000000000000000000000000","messages":"sha256:0000000000000000000000000000000000000000000000000000000000000000","advertised":["npm_test","npm_lint"]}
{"type":"ToolCallRequested","call":"c1","toolId":"npm.test","args":{"name":"auth"},"proposedBy":"planner"}
{"type":"ToolPolicyChecked","call":"c1","decision":"strong_ask","reason":"it installs","rules":["r1","r2"],"intent":"beyond"}
{"type":"ApprovalRequested","call":"c1","approvalId":"a1","summary":"s","callDigest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","strong":true}
{"type":"ApprovalGranted","approvalId":"a1","callDigest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","decider":"bob\u001b[2J","channel":"terminal","strong":true}
{"type":"ToolSandboxPrepared","call":"c1","sandboxId":"sbx","mode":"workspace_write","enforcement":"full","mechanisms":["landlock","seccomp"]}
{"type":"ToolCallStarted","call":"c1","writes":["workspace:**"],"effectClass":"external","command":"npm test"}
{"type":"ToolCallFinished","call":"c1","status":"success","effects":{"method":"digests","writes":["workspace:log"],"externalCalls":["net:registry.example"]}}
{"type":"MemoryCandidate","call":"c1","summary":"tests take a minute"}
{"type":"StateUpdated","call":"c1","patch":{"tests":"green"}}
"#;

#[test]
fn a_journal_of_others_is_answered_as_far_as_it_tells() {
    let (entries, problems) = format::read("j", FOREIGN.trim_start());
    assert_eq!(problems, []);
    let told = accounts(&entries);
    says(
        &told[0],
        &[
            ("ended", "It finished with status success; it was never settled."),
            ("why", "?no intent, no reason and no prompt"),
            ("visible", "2 names, and no view says why. npm_test, npm_lint"),
            ("filtered", "?no ViewCompiled"),
            ("alternatives", "?neither a view nor a weighing"),
            ("intent", "Yes, beyond the declared intent."),
            ("arguments_from", "The planner wrote them. name: the planner"),
            ("arguments_checked", "?the journal records no ToolArgsValidated"),
            ("identity", "As ada for acme, with no scope."),
            ("approval_needed", "Yes, the stronger confirmation: it installs (rule r1, r2)."),
            ("approval_given", r"strongly asked (a1); bob\u{1b}[2J said yes (channel terminal)."),
            ("sandbox", "sbx, mode workspace_write, enforced: full. landlock, seccomp"),
            ("reads", "?it could not be observed (method digests)"),
            ("writes", "What is listed was seen (digests)"),
            ("writes", "workspace:log"),
            (
                "sent_out",
                "Its effect class is external. Beyond the arguments, what was sent is not",
            ),
            ("sent_out", "net:registry.example"),
            ("full_result", "?no artifact is recorded"),
            ("verified", "?the journal records no ToolResultValidated"),
            ("state", r#"It patched the state: "{"tests":"green"}"."#),
            ("memory", "It offered \"tests take a minute\" for memory."),
            ("context", "?no message is recorded"),
            ("artifacts", "?no artifact is recorded"),
        ],
    );
}

/// Nothing that can happen in the simulator leaves a question open or an answer without its facts,
/// and neither does a record that ends anywhere.
#[test]
fn every_call_of_any_session_has_a_sound_account() {
    let (scene, steps) = (Scene::new().unwrap(), Steps::REAL);
    let mut told = 0;
    for session in 0..150 {
        let mut choices = Random::new(session_seed(11, session));
        let swarm = Swarm::draw(&mut choices);
        let record = run(&scene, &steps, (swarm, Mode::Chance), &mut choices);
        let entries = record.journal.entries();
        told += accounts(entries).len();
        if session % 10 == 0 {
            (1..entries.len()).for_each(|end| told += accounts(&entries[..end]).len());
        }
    }
    assert!(told > 500, "{told} accounts");
}

#[test]
fn journals_with_a_broken_law_are_answered_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/journals");
    let mut told = 0;
    for path in fs::read_dir(folder.join("regressions")).unwrap().flatten() {
        if path.path().extension().is_some_and(|end| end == "jsonl") {
            let text = fs::read_to_string(path.path()).unwrap();
            told += accounts(&format::read("j", &text).0).len();
        }
    }
    let seed = fs::read_to_string(folder.join("seed-b.jsonl")).unwrap();
    told += accounts(&format::read("j", &seed).0).len();
    assert!(told > 30, "{told}");
}

#[test]
fn a_call_is_found_by_id_number_or_place() {
    let (entries, problems) = format::read(
        "j",
        "{\"session\":\"s/a@x#0\",\"call\":\"one\",\"type\":\"TornDown\"}\n\
         {\"session\":\"s/a@x#0\",\"call\":\"two\",\"type\":\"TornDown\"}\n\
         {\"session\":\"s/b@x#0\",\"call\":\"one\",\"type\":\"TornDown\"}\n\
         {\"session\":\"s/none@x#0\",\"type\":\"CancelAcknowledged\"}\n",
    );
    assert_eq!(problems, []);
    let name = |found: Result<Found<'_>, NotFound>| {
        found.map(|found| format!("{}/{}", found.session, found.call)).map_err(|e| e.to_string())
    };
    let check = |sessions: &[&str], (word, case): (&str, Option<&str>), expected: &str| {
        let own = entries.iter().filter(|entry| sessions.contains(&&*entry.session));
        let found = name(Known::of(own).find(word, case)).unwrap_or_else(|why| why);
        assert_eq!(found, expected, "{sessions:?} {word} {case:?}");
    };
    let all = ["s/a@x#0", "s/b@x#0", "s/none@x#0"];
    check(&all, ("two", None), "s/a@x#0/two");
    check(&all, ("one", Some("b")), "s/b@x#0/one");
    check(&all, ("one", Some("s/a")), "s/a@x#0/one");
    check(&all, ("#2", Some("s/a@x#0")), "s/a@x#0/two");
    check(&all, ("b", None), "s/b@x#0/one");
    check(&all[..1], ("#2", None), "s/a@x#0/two");
    check(&all, ("one", None), "2 calls fit: s/a@x#0: one, s/b@x#0: one");
    check(&all, ("a", None), "2 calls fit: s/a@x#0: one, s/a@x#0: two");
    check(&all, ("#1", None), "3 calls fit: s/a@x#0: one, s/a@x#0: two, s/b@x#0: one");
    check(&all[..1], ("#3", None), "there is no such call");
    check(&all[..1], ("#0", None), "there is no such call");
    check(&all, ("onne", None), "there is no such call; did you mean `one`?");
    check(&all, ("nonee", None), "there is no such call; did you mean `none`?");
    check(
        &all,
        ("one", Some("nonee")),
        "there is no case or session `nonee`; did you mean `none`?",
    );
    check(&all, ("none", None), "there is no call");
    check(&all, ("#1", Some("none")), "there is no call");
    check(&[], ("one", None), "there is no call");
}

#[test]
fn the_program_explains_journals_and_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let reports = folder.path().to_str().unwrap();
    let seed = "golden/journals/seed-b.jsonl";
    check(root, &["explain", "tc_1", "--journal", seed], 0, &["npm.test", "Unknown: ", "#3"]);
    check(root, &["explain", "#1", "--journal", seed], 0, &["tc_1 npm.test"]);
    check(root, &["explain", "tc_2", "--journal", seed], 2, &["did you mean `tc_1`?"]);
    check(root, &["explain", "tc_1", "--journal", "no.jsonl"], 3, &["no.jsonl"]);
    check(root, &["explain", "x", "--reports", reports], 2, &["there is no run yet"]);
    let cases = ["--case", "operator-says-no", "--case", "six-calls-six-ends"];
    let run = [&["run", "lifecycle", "--reports", reports][..], &cases[..]].concat();
    proofmark_runs(root, &run);
    let of = |args: &[&'static str]| {
        [&["explain"][..], args, &["--reports", reports, "--format", "json"][..]].concat()
    };
    let answer = json(root, &of(&["operator-says-no"]));
    assert_eq!((&answer["exitCode"], &answer["tool"]), (&0.into(), &"mail.send".into()));
    let keys: Vec<&str> = answer["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, QUESTIONS.iter().map(|question| question.key).collect::<Vec<_>>());
    assert_eq!(json(root, &of(&["#2", "--case", "six-calls-six-ends"]))["call"], "two");
    assert_eq!(json(root, &of(&["two"]))["call"], "two", "only one case has it");
    for (args, part) in [
        (of(&["operator-says-on"]), "did you mean `operator-says-no`?"),
        (of(&["six-calls-six-ends"]), "6 calls fit"),
        (of(&["two", "--case", "lifecycle/six-calls-six-end"]), "there is no case or session"),
        (of(&["#2"]), "name one with --case"),
    ] {
        check(root, &args, 2, &[part]);
    }
}

/// A run of a few cases; filtered runs are not complete, and that is no failure here.
fn proofmark_runs(root: &Path, args: &[&str]) {
    let output = crate::command::proofmark(root, args);
    assert!(output.status.code().is_some_and(|code| code != 7), "{output:?}");
}

/// Without the numbers of entries, which depend on how many tools a suite has.
fn unnumbered(text: &str) -> String {
    let numbered = |word: &&str| word.strip_prefix('#').is_some_and(|n| n.parse::<u64>().is_ok());
    let line =
        |line: &str| line.split(' ').filter(|word| !numbered(word)).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_has_the_table_and_an_example_that_is_true() {
    let page = include_str!("../../docs/explain.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let table: Vec<String> = QUESTIONS
        .iter()
        .map(|q| format!("| `{}` | {} | {} | {} |", q.key, q.asks, q.source.join(", "), q.from))
        .collect();
    assert_eq!(rows, table);
    let example = page.split("```").nth(1).unwrap();
    let (_, example) = example.split_once("explain operator-says-no\n").unwrap();
    let mut told = String::new();
    run_cases(&["operator-says-no"], Steps::REAL, |_, record| {
        told = unnumbered(&text(&accounts(record.journal.entries())[0]));
    });
    for part in example.split("...\n").filter(|part| !part.is_empty()) {
        let part = unnumbered(part);
        assert!(told.contains(part.trim_end()), "{part}\nis not in\n{told}");
    }
}
