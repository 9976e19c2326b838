//! The agent's state is what its journal says, at every entry.

use proofmark::base::choice::Random;
use proofmark::base::world::World;
use proofmark::journal::event::turn::{
    MemoryCandidate, ModelRequested, StateUpdated, TranscriptAppended, TranscriptMessage,
    ViewCompiled,
};
use proofmark::journal::{Entry, Event, Journal};
use proofmark::runtime::context::{Bundle, MAX_CHARS, bundle};
use proofmark::runtime::guard::{AnswerScope, Hooks, Verdict};
use proofmark::runtime::provider::scripted::say;
use proofmark::runtime::resolved::Resolved;
use proofmark::runtime::state::{AgentState, Stage};
use proofmark::runtime::turn::steps::Steps;
use proofmark::sim::driver::{Mode, bundle as simulated, run as simulate};
use proofmark::sim::explore::session_seed;
use proofmark::sim::scene::Scene;
use proofmark::sim::swarm::Swarm;
use proofmark::tool::descriptor::OutputExposure;
use proofmark::tool::id::ToolId;

use crate::played::{Play, Ticking, calls, played, run, step};
use crate::tools::tool;

/// Every view follows from what the journal says before it; how many different ones there are.
fn views_follow(journal: &Journal, bundle: &Resolved) -> usize {
    let mut state = AgentState::default();
    let mut seen = std::collections::BTreeSet::new();
    for entry in journal.entries() {
        if let Event::ViewCompiled(fact) = &entry.event {
            let message = state.user.as_ref().map_or("", |said| &said.text);
            let expose = Steps::REAL.may_expose;
            let failures = state.failures();
            let view = bundle.view((&failures, &state.activated, &state.blocks), message, expose);
            assert_eq!(view.view.digest, fact.view, "entry {}", entry.seq);
            seen.insert(fact.view);
        }
        state.apply(entry);
    }
    seen.len()
}

#[test]
fn every_view_follows_from_the_journal_before_it() {
    let reads = "execution: {adapter: 'builtin:file.read'}\n";
    let tools = vec![tool("file.read", "L0", reads), tool("file.stat", "L0", "")];
    let lost = calls(&[("file_read", r#"{"path":"lost"}"#)]);
    let steps = vec![lost.clone(), lost, step(say("It is not there."))];
    let play = Play::new(tools, steps);
    let journal = played(&play);
    assert_eq!(views_follow(&journal, &play.resolved()), 2, "a failure moves a tool down");
    let failures = AgentState::of(journal.entries()).failures();
    assert_eq!(failures.get(&ToolId::sanitized("file.read")), Some(&2));
}

#[test]
fn every_view_of_simulated_sessions_follows_too() {
    let scene = Scene::new().unwrap();
    let mut different = 0;
    for number in 0..150 {
        let mut choices = Random::new(session_seed(7, number));
        let swarm = Swarm::draw(&mut choices);
        let record = simulate(&scene, &Steps::REAL, (swarm, Mode::Chance), &mut choices);
        let bundle = simulated(&scene, Hooks::default());
        different += usize::from(views_follow(&record.journal, &bundle) > 1);
    }
    assert!(different > 20, "views change while sessions run: {different}");
}

#[test]
fn a_state_says_what_is_open_asked_granted_and_spent() {
    let always = Verdict::Yes { strong: false, scope: AnswerScope::Session };
    let tools = vec![tool("file.read", "L0", ""), tool("mail.send", "L4", "")];
    let both = [("file_read", "{}"), ("mail_send", "{}")];
    let steps = vec![calls(&both), step(say("Done."))];
    let mut play = Play::new(tools, steps);
    play.answers = vec![("mail.send", always)];
    let journal = played(&play);
    let mut state = AgentState::default();
    let (mut asked, mut most_open, mut running) = (0, 0, 0);
    for entry in journal.entries() {
        state.apply(entry);
        asked = asked.max(state.pending.len());
        most_open = most_open.max(state.open.len());
        let runs = state.open.values().filter(|call| call.stage == Stage::Started);
        running = running.max(runs.count());
    }
    assert_eq!((asked, most_open, running), (1, 2, 1), "one after the other");
    assert!(state.pending.is_empty() && state.open.is_empty() && state.turn.is_none());
    assert_eq!(state.grants.ids().count(), 1);
    assert_eq!((state.spent.requests, state.spent.calls_left(Some(3))), (2, Some(1)));
    assert_eq!(state.policy.scopes, ["external_read", "workspace_write"]);
    assert_eq!(state.user.map(|said| said.text).as_deref(), Some("do it"));
}

#[test]
fn only_patches_change_the_document_and_candidates_are_no_memory() {
    let mut world = Ticking::from(0);
    let mut entry = |event: Event| Entry {
        seq: 1,
        session: "s".into(),
        turn: None,
        call: None,
        cause: None,
        at: world.now(),
        event,
    };
    let mut state = AgentState::default();
    let patch = |patch| Event::from(StateUpdated { patch });
    for event in [
        patch(serde_json::json!({"note": {"a": 1, "b": 2}})),
        patch(serde_json::json!(["no", "object"])),
        patch(serde_json::json!({"note": {"a": null}})),
        MemoryCandidate { summary: "the user likes tea".to_owned() }.into(),
    ] {
        state.apply(&entry(event));
    }
    let document = serde_json::Value::Object(state.document().clone());
    assert_eq!(document, serde_json::json!({"note": {"b": 2}}));
    assert_eq!((state.refused_patches, state.candidates.len()), (1, 1));
}

#[test]
fn what_was_cancelled_while_it_was_watched_counts_as_a_failure_all_the_same() {
    // The record of a failed call that a cancellation closed says its failure like any other.
    let scene = Scene::new().unwrap();
    for number in 0..400 {
        let mut choices = Random::new(session_seed(11, number));
        let swarm = Swarm::draw(&mut choices);
        let record = simulate(&scene, &Steps::REAL, (swarm, Mode::Chance), &mut choices);
        let count = |failed: fn(&Event) -> bool| {
            record.journal.entries().iter().filter(|entry| failed(&entry.event)).count()
        };
        let settled = count(|event| match event {
            Event::ToolCallSettled(fact) => fact.outcome.name() == "failed",
            _ => false,
        });
        let patches = count(|event| matches!(event, Event::StateUpdated(_)));
        assert_eq!(settled, patches, "session {number}");
    }
}

#[test]
fn the_state_is_the_same_however_the_journal_is_read() {
    let tools = vec![tool("file.read", "L0", ""), tool("note.write", "L2", "")];
    let steps = vec![calls(&[("file_read", "{}"), ("note_write", "{}")]), step(say("ok"))];
    let mut session = Play::new(tools, steps).open();
    run(session.turn("do it".to_owned()));
    let entries = session.journal().entries();
    let mut text = Vec::new();
    entries.iter().for_each(|entry| proofmark::journal::format::write_line(entry, &mut text));
    let (read, problems) = proofmark::journal::format::read("j", &String::from_utf8(text).unwrap());
    assert_eq!(problems, []);
    assert_eq!(AgentState::of(&read), AgentState::of(entries));
}

fn bundles(journal: &Journal, play: &Play) -> Vec<Bundle> {
    let registry = &play.resolved().registry;
    let seqs = journal.entries().iter().map(|entry| entry.seq);
    seqs.filter_map(|seq| bundle(journal, seq, registry)).collect()
}

#[test]
fn a_bundle_holds_previews_structure_and_references_and_never_a_whole_result() {
    let long = "word ".repeat(400);
    let shows = |output: &str| format!("execution: {{simulatedOutput: {output}}}\n");
    let mut order = tool("order.show", "L0", &shows("{total: 3}"));
    order.schemas.output_schema = Some(serde_json::json!({"type": "object"}));
    order.context_policy.expose_output_to_model = OutputExposure::Structured;
    let tools = vec![tool("long.read", "L0", &shows(&format!("'{long}'"))), order];
    let both = [("long_read", "{}"), ("order_show", "{}")];
    let mut play = Play::new(tools, vec![calls(&both), step(say("Read."))]);
    play.knobs.max_tool_result_chars = 200;
    let journal = played(&play);
    let all = bundles(&journal, &play);
    let [first, second] = all.as_slice() else { panic!("{all:?}") };
    assert!(first.previews.is_empty() && first.evidence.is_empty());
    let [preview] = second.previews.as_slice() else { panic!("{second:?}") };
    assert!(preview.cut && preview.text.chars().count() <= 200);
    assert_eq!(second.structured[0].value, serde_json::json!({"total": 3}));
    let [evidence] = second.evidence.as_slice() else { panic!("{second:?}") };
    assert_eq!((&evidence.call, evidence.kind.as_str()), (&preview.call, "tool_output"));
    let of = journal.entries().iter().find(|entry| entry.seq == evidence.event).unwrap();
    assert_eq!(of.event.name(), "ToolCallFinished");
    assert!(!format!("{all:?}").contains(&long), "the whole result is nowhere in it");
}

#[test]
fn a_journal_from_elsewhere_is_cut_all_the_same() {
    let text = "far too long ".repeat(1_000);
    let play = Play::new(Vec::new(), Vec::new());
    let mut journal = Journal::new();
    let shown = journal.put_blob(text.as_str().into());
    let said = |role: &str, call: Option<&str>| TranscriptMessage {
        role: role.to_owned(),
        text: shown,
        chars: text.len(),
        call: call.map(str::to_owned),
        calls: Vec::new(),
    };
    let view = ViewCompiled::new(shown);
    let messages = vec![said("assistant", None), said("tool", Some("c1"))];
    let asked = ModelRequested::new("p".into(), "d".into(), shown, shown, shown);
    for event in [view.into(), TranscriptAppended { messages }.into(), asked.into()] {
        let (turn, call) = (None, None);
        let session = "s".into();
        journal.append(Entry { seq: 0, session, turn, call, cause: None, at: 0, event });
    }
    let all = bundles(&journal, &play);
    let [one] = all.as_slice() else { panic!("{all:?}") };
    assert!(one.previews[0].cut && one.previews[0].text.chars().count() <= MAX_CHARS);
}

#[test]
fn only_an_explicit_write_is_memory() {
    let memory = "effects: {reads: [], writes: ['memory:notes']}\n";
    let writes = manifest("memory.remember", &format!("{WRITES}{memory}"));
    let tools = vec![tool("file.read", "L0", ""), writes];
    let remember = ("memory_remember", r#"{"path":"tea"}"#);
    let steps = vec![calls(&[("file_read", "{}")]), calls(&[remember]), step(say("Noted."))];
    let play = Play::new(tools, steps);
    let mut journal = played(&play);
    let all = bundles(&journal, &play);
    let counts: Vec<usize> = all.iter().map(|bundle| bundle.memory.len()).collect();
    assert_eq!(counts, [0, 0, 1], "a result is no memory, and shown twice it is none either");
    assert_eq!(all[2].memory[0].text, r#"{"path":"tea"}"#);
    let last = journal.entries().last().unwrap().clone();
    let candidate: Event = MemoryCandidate { summary: "likes coffee".to_owned() }.into();
    let again = journal.entries().iter().rev().find(|e| e.event.name() == "ModelRequested");
    let again = again.unwrap().event.clone();
    journal.append(Entry { event: candidate, ..last.clone() });
    let seq = journal.append(Entry { event: again, ..last });
    let later = bundle(&journal, seq, &play.resolved().registry).unwrap();
    assert_eq!(later.memory, all[2].memory, "a candidate never becomes one");
}

const WRITES: &str = "intent: {actionTypes: [memory_write]}\n";

fn manifest(id: &str, more: &str) -> proofmark::tool::descriptor::Descriptor {
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: {id}\ndescription: {{summary: Does {id}.}}\n\
         schemas: {{inputSchema: {{type: object, properties: {{path: {{type: string}}}}}}}}\n{more}"
    );
    proofmark::tool::manifest::parse(id, &text).unwrap()
}
