//! What leaves by observer, stream and progress: facts in, bounded and scrubbed texts out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock};

use proofmark::base::choice::{Choices, Random};
use proofmark::base::digest::Digest;
use proofmark::base::secret::{CANARY_PREFIX, Secret, SecretSet};
use proofmark::journal::{Blobs, Entry, Event, Journal, format};
use proofmark::runtime::guard::Envelope;
use proofmark::runtime::guard::Verdict;
use proofmark::runtime::provider::scripted::say;
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::session::{Parts, Remote, Session};
use proofmark::runtime::surface::{Emission, Limits, Phase, Renderer, Sink, Surface};
use proofmark::runtime::turn::TurnEnd;
use proofmark::runtime::turn::driver::Signal;
use proofmark::runtime::turn::steps::Steps;
use proofmark::sim::driver::{Mode, run as simulate};
use proofmark::sim::scene::{Scene, secret};
use proofmark::sim::swarm::Swarm;
use proptest::prelude::*;

use crate::played::Play;
use crate::stage::{Stage, block_on, calls_of, ends, judged, step};
use crate::tools::tool;

/// Facts, one JSON object each; `at` is ten times the line's number, `shown` names a blob by its
/// text.
const TABLE: [(&str, &[&str]); 9] = [
    (
        "a success",
        &[
            r#"{"type":"ToolCallRequested","toolId":"file_read","args":{"path":"a\nb"},"providerCallId":"p0"}"#,
            r#"{"type":"ToolArgsValidated","status":"passed","toolId":"file.read"}"#,
            r#"{"type":"ToolCallStarted","toolId":"file.read","attempt":1}"#,
            r#"{"type":"ToolCallFinished","status":"success"}"#,
            r#"{"type":"ToolCallSettled","outcome":{"kind":"succeeded"},"shown":"two\nlines"}"#,
        ],
    ),
    (
        "a failure after another attempt, with a secret in both",
        &[
            r#"{"type":"ToolCallRequested","toolId":"mail","args":{"to":"hunter22"}}"#,
            r#"{"type":"ToolCallStarted","attempt":1}"#,
            r#"{"type":"AttemptFailed","attempt":1,"fault":{"blame":"tool","code":"flaky","message":"hunter22 again"},"retryAt":50}"#,
            r#"{"type":"ToolCallStarted","attempt":2}"#,
            r#"{"type":"ToolCallFinished","status":"failed"}"#,
            r#"{"type":"ToolCallSettled","outcome":{"kind":"failed","fault":{"blame":"tool","code":"gone","message":"no hunter22"}},"shown":"error gone: password=hunter22abc"}"#,
        ],
    ),
    (
        "arguments that are not logged, also where a hook rewrites them",
        &[
            r#"{"type":"ToolCallRequested","toolId":"quiet"}"#,
            r#"{"type":"ToolCallRewritten","toolId":"quiet2","args":{"a":1}}"#,
            r#"{"type":"ToolCallStarted","attempt":1}"#,
            r#"{"type":"ToolCallSettled","outcome":{"kind":"interrupted"},"shown":"interrupted"}"#,
        ],
    ),
    (
        "a rewritten call is shown as it runs",
        &[
            r#"{"type":"ToolCallRequested","toolId":"a","args":{"n":1}}"#,
            r#"{"type":"ToolCallRewritten","toolId":"b","args":{"n":2}}"#,
            r#"{"type":"ToolCallStarted","attempt":1}"#,
        ],
    ),
    (
        "a denial",
        &[
            r#"{"type":"ToolCallRequested","toolId":"mail","args":{}}"#,
            r#"{"type":"ToolCallSettled","outcome":{"kind":"denied","by":"operator","reason":"not hunter22"},"shown":"denied: no"}"#,
        ],
    ),
    (
        "arguments that are not JSON",
        &[
            r#"{"type":"ToolCallRequested","toolId":"mail","rawArgs":"{\"a"}"#,
            r#"{"type":"ToolCallSettled","outcome":{"kind":"rejected","errors":[{"path":"","keyword":"json","message":"cut off"}]}}"#,
        ],
    ),
    (
        "an ingress, for this message",
        &[
            r#"{"type":"UserPromptSubmitted","text":"hi","ingress":"gateway"}"#,
            r#"{"type":"ToolCallStarted","toolId":"a","attempt":1}"#,
            r#"{"type":"ToolCallFinished","status":"success"}"#,
            r#"{"type":"UserPromptSubmitted","text":"hi"}"#,
            r#"{"type":"ToolCallSettled","outcome":{"kind":"succeeded"}}"#,
        ],
    ),
    (
        "a late result and a second end show nothing",
        &[
            r#"{"type":"ToolCallStarted","toolId":"a","attempt":1}"#,
            r#"{"type":"ToolCallSettled","outcome":{"kind":"succeeded"}}"#,
            r#"{"type":"LateResultDropped"}"#,
            r#"{"type":"ToolCallSettled","outcome":{"kind":"succeeded"}}"#,
            r#"{"type":"SurfaceEmitted","surface":"stream","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","chars":1}"#,
        ],
    ),
    (
        "names that would take over the line",
        &[
            r#"{"type":"ToolCallRequested","toolId":"a\n\u001b[2J: done\u202e","args":[]}"#,
            r#"{"type":"ToolCallSettled","outcome":{"kind":"unavailable","why":"unknown"},"shown":"there is no such tool"}"#,
        ],
    ),
];

fn facts(lines: &[&str]) -> (Vec<Entry>, Blobs) {
    let mut blobs = Blobs::default();
    let mut text = String::new();
    for (index, line) in (1..).zip(lines) {
        let mut object: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(shown) = object.get("shown").and_then(|shown| shown.as_str()) {
            object["shown"] = serde_json::json!(blobs.put(shown.into()));
        }
        object["at"] = (index * 10).into();
        object["turn"] = "t1".into();
        if object["type"] != "UserPromptSubmitted" {
            object["call"] = "c1".into();
        }
        writeln!(text, "{object}").unwrap();
    }
    let (entries, problems) = format::read("facts", &text);
    assert_eq!(problems, []);
    (entries, blobs)
}

fn renderer(limits: Limits) -> Renderer {
    let secrets = SecretSet::new([Secret::new("hunter22"), secret().clone()]);
    Renderer::new(limits, "cli", "main", secrets)
}

#[test]
fn what_each_fact_shows() {
    let mut out = String::new();
    for (name, lines) in TABLE {
        let (entries, blobs) = facts(lines);
        let mut renderer = renderer(Limits::default());
        writeln!(out, "## {name}").unwrap();
        for entry in &entries {
            for one in renderer.render(entry, &blobs) {
                let (surface, phase) = (one.surface.name(), one.phase.map_or("-", Phase::name));
                writeln!(out, "{} {surface} {phase} {}", one.of, one.text).unwrap();
            }
        }
        assert!(renderer.open() <= 1);
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("surfaces", out));
}

#[test]
fn whatever_a_log_shows_is_bounded_before_it_is_cut() {
    let key = format!("{}{}", "x".repeat(150), secret().expose());
    let settled = format!(
        r#"{{"type":"ToolCallSettled","outcome":{{"kind":"succeeded"}},"shown":"{key}{key}"}}"#
    );
    let (entries, blobs) =
        facts(&[r#"{"type":"ToolCallStarted","toolId":"a","attempt":1}"#, &settled]);
    for limit in 0..500 {
        let mut renderer = renderer(Limits { observer: limit, stream: limit, progress: limit });
        for entry in &entries {
            for one in renderer.render(entry, &blobs) {
                assert!(one.text.chars().count() <= limit);
                assert!(!one.text.contains("pmk"), "{}", one.text);
            }
        }
    }
}

/// Start and end pair up, in order; everything is within its limit; nothing is given away.
pub fn check(journal: &Journal, limits: Limits) -> usize {
    let mut renderer = renderer(limits);
    let mut open: BTreeMap<(Surface, Arc<str>), Digest> = BTreeMap::new();
    let (mut shown, mut seen) = (0, BTreeMap::new());
    for entry in journal.entries() {
        for one in renderer.render(entry, journal.blobs()) {
            shown += 1;
            assert_eq!((one.of, Some(&one.call)), (entry.seq, entry.call.as_ref()));
            assert_eq!(one.limit, limits.of(one.surface) as u64);
            let fact = one.fact();
            assert!(fact.chars <= one.limit, "{one:?}");
            assert!(!one.text.contains(CANARY_PREFIX), "{one:?}");
            let call = seen.entry(one.correlation).or_insert_with(|| Arc::clone(&one.call));
            assert_eq!(*call, one.call, "two calls share a correlation");
            let card = (one.surface, Arc::clone(&one.call));
            match one.phase {
                Some(Phase::Start) => {
                    assert!(matches!(entry.event, Event::ToolCallStarted(_)));
                    assert_eq!(open.insert(card, one.correlation), None, "opened twice");
                }
                Some(Phase::End) => {
                    assert!(matches!(entry.event, Event::ToolCallSettled(_)));
                    assert_eq!(open.remove(&card), Some(one.correlation), "{one:?}");
                }
                None => {}
            }
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    assert_eq!(renderer.open(), 0);
    shown
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 300, ..Default::default()
    })]

    #[test]
    fn every_simulated_session_is_shown_well(
        seed in any::<u64>(),
        tight in any::<bool>(),
        limits in (0..51_usize, 0..51_usize, 0..51_usize),
    ) {
        let scene = SCENE.get_or_init(|| Scene::new().unwrap());
        let mut choices: Box<dyn Choices> = Box::new(Random::new(seed));
        let swarm = Swarm::draw(&mut *choices);
        let record = simulate(scene, &Steps::REAL, (swarm, Mode::Chance), &mut *choices);
        let (observer, stream, progress) = limits;
        let tight = tight.then_some(Limits { observer, stream, progress });
        check(&record.journal, tight.unwrap_or_default());
    }
}

static SCENE: OnceLock<Scene> = OnceLock::new();

type Kept = Arc<Mutex<Vec<Emission>>>;

/// A sink that keeps what it is shown.
fn keeping() -> (Kept, Box<dyn Sink>) {
    let kept = Kept::default();
    let own = Arc::clone(&kept);
    (kept, Box::new(move |one: &Emission| own.lock().unwrap().push(one.clone())))
}

/// What was shown by one surface, `call phase` each.
fn by(surface: Surface, kept: &Kept) -> Vec<String> {
    let kept = kept.lock().unwrap();
    let own = kept.iter().filter(|one| one.surface == surface);
    own.map(|one| format!("{} {}", one.call, one.phase.map_or("note", Phase::name))).collect()
}

/// What left is in the record, as it left.
fn recorded(journal: &Journal, kept: &Kept) {
    let facts: Vec<_> = journal
        .entries()
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::SurfaceEmitted(fact) => {
                assert_eq!(entry.cause, fact.of, "it follows from what it shows");
                Some((entry.call.clone().unwrap(), fact.clone()))
            }
            _ => None,
        })
        .collect();
    let kept = kept.lock().unwrap();
    let left: Vec<_> = kept.iter().map(|one| (Arc::clone(&one.call), one.fact())).collect();
    assert_eq!(facts, left);
    judged(journal);
}

/// A program that takes this long.
fn program(id: &str, command: &str) -> proofmark::tool::descriptor::Descriptor {
    let more = format!(
        "sandbox: {{mode: none}}\nexecution: {{adapter: 'builtin:command.run', command: [{command}]}}\n"
    );
    tool(id, "L1", &more)
}

#[test]
fn denial_failure_and_success_in_one_reply() {
    let tools = vec![
        tool(
            "file.read",
            "L0",
            "sandbox: {mode: read_only}\nexecution: {adapter: 'builtin:file.read'}\n",
        ),
        tool("mail.send", "L4", ""),
    ];
    let calls = [
        ("mail_send", "{}"),
        ("file_read", "{\"path\":\"gone\"}"),
        ("file_read", "{\"path\":\"a\"}"),
    ];
    let steps = vec![calls_of(&calls), step(say("ok"))];
    let (kept, sink) = keeping();
    let no = Verdict::No { reason: "not today".to_owned() };
    let mut session = Stage {
        answers: Some(vec![("mail.send", no)]),
        files: BTreeMap::from([("a".to_owned(), "content".to_owned())]),
        sinks: vec![sink],
        ..Stage::new(tools, steps)
    }
    .open();
    session.show_as(Limits::default(), "cli", "main");
    assert_eq!(block_on(session.turn("go".to_owned())), TurnEnd::FinalText);
    let story = ["p1 start", "p1 end", "p2 start", "p2 end"];
    assert_eq!(by(Surface::Observer, &kept), story);
    let with_note = ["p0 note", "p1 start", "p1 end", "p2 start", "p2 end"];
    assert_eq!(by(Surface::Stream, &kept), with_note);
    assert_eq!(by(Surface::Progress, &kept), with_note);
    let lines: Vec<String> = kept
        .lock()
        .unwrap()
        .iter()
        .filter(|one| one.surface == Surface::Progress)
        .map(|one| one.text.clone())
        .collect();
    assert_eq!(lines[0], "mail_send: denied: not today");
    assert!(lines[2].contains("file.read: failed after"), "{lines:?}");
    assert!(lines[2].contains("not_found: `gone`"), "{lines:?}");
    recorded(session.journal(), &kept);
}

#[test]
fn parallel_calls_close_their_own_cards_in_the_order_of_their_ends() {
    let tools = vec![program("slow.one", "sleep, '0.6'"), program("fast.one", "'true'")];
    let calls = [("slow_one", "{}"), ("fast_one", "{}")];
    let (kept, sink) = keeping();
    let mut session = Stage {
        knobs: Knobs { parallel_tools: true, ..Knobs::default() },
        sinks: vec![sink],
        ..Stage::new(tools, vec![calls_of(&calls), step(say("ok"))])
    }
    .open();
    block_on(session.turn("go".to_owned()));
    let expected = ["p0 start", "p1 start", "p1 end", "p0 end"];
    for surface in Surface::ALL {
        assert_eq!(by(surface, &kept), expected);
    }
    assert_eq!(ends(session.journal()), ["p1 succeeded", "p0 succeeded"]);
    recorded(session.journal(), &kept);
}

#[test]
fn a_cancel_closes_open_cards_and_no_others() {
    let tools = vec![program("done.one", "'true'"), program("hangs.one", "sleep, '600'")];
    let calls = [("done_one", "{}"), ("hangs_one", "{}"), ("done_one", "{\"path\":\"b\"}")];
    let (kept, sink) = keeping();
    // A client that gives up as soon as the second card opens.
    let remote: Arc<OnceLock<Remote>> = Arc::default();
    let hands = Arc::clone(&remote);
    let impatient = move |one: &Emission| {
        if one.phase == Some(Phase::Start) && &*one.call == "p1" {
            hands.get().unwrap().send(Signal::Cancel("enough".to_owned()));
        }
    };
    let mut session = Stage {
        sinks: vec![sink, Box::new(impatient)],
        ..Stage::new(tools, vec![calls_of(&calls)])
    }
    .open();
    remote.set(session.remote()).unwrap();
    let end = block_on(session.turn("go".to_owned()));
    assert_eq!(end, TurnEnd::Cancelled("enough".to_owned()));
    let expected = ["p0 start", "p0 end", "p1 start"];
    let stream = by(Surface::Stream, &kept);
    assert_eq!(stream[..3], expected);
    let mut rest = stream[3..].to_vec();
    rest.sort();
    assert_eq!(rest, ["p1 end", "p2 note"]);
    assert_eq!(ends(session.journal())[0], "p0 succeeded");
    recorded(session.journal(), &kept);
}

#[test]
fn a_start_is_shown_before_anything_runs() {
    let write = "sandbox: {mode: workspace_write}\nexecution: {adapter: 'builtin:file.write'}\n";
    let read = "sandbox: {mode: read_only}\nexecution: {adapter: 'builtin:file.read'}\n";
    let tools = vec![tool("file.write", "L2", write), tool("file.read", "L0", read)];
    let calls = [("file_write", "{\"path\":\"a\"}"), ("file_read", "{\"path\":\"a\"}")];
    let (kept, sink) = keeping();
    let mut session =
        Stage { sinks: vec![sink], ..Stage::new(tools, vec![calls_of(&calls), step(say("ok"))]) }
            .open();
    block_on(session.turn("go".to_owned()));
    let journal = session.journal();
    let place = |holds: &dyn Fn(&Entry) -> bool| journal.entries().iter().position(holds).unwrap();
    for call in ["p0", "p1"] {
        let own = |entry: &Entry| entry.call.as_deref() == Some(call);
        let shown = place(&|entry| own(entry) && matches!(entry.event, Event::SurfaceEmitted(_)));
        let started =
            place(&|entry| own(entry) && matches!(entry.event, Event::ToolCallStarted(_)));
        let ended = place(&|entry| own(entry) && matches!(entry.event, Event::ToolCallFinished(_)));
        assert!(started < shown && shown < ended, "{call}: {started} {shown} {ended}");
    }
    recorded(journal, &kept);
}

/// A turn whose last call is closed as the turn ends: what is shown of it is recorded behind the
/// end, and a session that is resumed there once took the turn for an open one.
#[test]
fn what_left_behind_the_end_of_a_turn_opens_it_no_more() {
    let steps = vec![calls_of(&[("mail_send", "{}")])];
    let play = Play::new(vec![tool("mail.send", "L4", "")], steps);
    let (_, sink) = keeping();
    let mut session = Session::open(Parts { sinks: vec![sink], ..play.parts() });
    let mut cancels = |entry: &Entry| match &entry.event {
        Event::ApprovalRequested(_) => vec![Signal::Cancel("enough".to_owned())],
        _ => Vec::new(),
    };
    let turn = session.turn_from("go".to_owned(), Envelope::default(), &mut cancels);
    assert_eq!(block_on(turn), TurnEnd::Cancelled("enough".to_owned()));
    let (journal, _) = session.close();
    let last = |behind: usize| journal.entries().iter().rev().nth(behind).unwrap().event.name();
    assert_eq!([last(0), last(1), last(2)], ["SurfaceEmitted", "SurfaceEmitted", "TurnFinished"]);
    for after in 0..3 {
        let kept = journal.entries()[..journal.entries().len() - after].to_vec();
        let cut = Journal::from_parts(kept, journal.blobs().clone());
        assert!(!Session::resume(play.parts(), cut).unwrap().is_open(), "{after}");
    }
}

#[test]
fn a_sink_that_panics_is_counted_and_harms_nobody() {
    let (kept, sink) = keeping();
    let broken = |_: &Emission| {
        if true {
            std::panic::resume_unwind(Box::new("broken"))
        }
    };
    let steps = || vec![calls_of(&[("file_read", "{}")]), step(say("ok"))];
    let stage = |sinks| Stage { sinks, ..Stage::new(vec![tool("file.read", "L0", "")], steps()) };
    let mut session = stage(vec![Box::new(broken), sink]).open();
    assert_eq!(block_on(session.turn("go".to_owned())), TurnEnd::FinalText);
    assert_eq!((session.sink_failures(), kept.lock().unwrap().len()), (6, 6));
    recorded(session.journal(), &kept);
    // Where nobody is shown anything, nothing of it is recorded.
    let mut silent = stage(Vec::new()).open();
    block_on(silent.turn("go".to_owned()));
    let shows = |entry: &&Entry| matches!(entry.event, Event::SurfaceEmitted(_));
    assert_eq!(silent.journal().entries().iter().filter(shows).count(), 0);
    let facts = session.journal().entries().len() - 6;
    assert_eq!(silent.journal().entries().len(), facts);
}
