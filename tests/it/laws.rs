//! The laws as a whole: which of them the simulator reaches, and journals that are judged as files.

use std::fs;
use std::process::Command;

use proofmark::base::choice::Random;
use proofmark::journal::format::write_line;
use proofmark::journal::{Blobs, Entry};
use proofmark::law;
use proofmark::runtime::turn::steps::Steps;
use proofmark::sim::driver::{Mode, key, run};
use proofmark::sim::explore::{Bench, session_seed};
use proofmark::sim::scene::Scene;
use proofmark::sim::swarm::{Kind, Swarm};
use serde_json::Value;

/// Laws that no simulated session reaches, and why.
const BEYOND_THE_SIMULATOR: [(&str, &str); 1] =
    [("golden-before-enable", "no runtime enables a tool yet")];

/// Laws that wait for troubles which rarely meet, and the troubles that suffice.
const RARE: [(&str, &[Kind]); 2] = [
    (
        "revoked-never-runs",
        &[Kind::Revokes, Kind::SaysAlways, Kind::ToolFlaky, Kind::ToolHangs, Kind::Repeats],
    ),
    ("circles-are-noticed", &[Kind::Repeats]),
];

/// Simulated turns, and sessions that are tried with a rare trouble.
const TURNS: u64 = 3_000;
const TRIED: u64 = 2_500;

#[test]
fn the_simulator_exercises_every_law_but_the_listed_ones() {
    let (scene, steps) = (Scene::new().unwrap(), Steps::REAL);
    let mut bench = Bench::new(&scene, &steps);
    for session in 0.. {
        if bench.turns >= TURNS {
            break;
        }
        bench.chance(&mut Random::new(session_seed(3, session)));
    }
    let mut judge = law::Judge::new(Some(key()));
    let mut holds = |law: &str, kinds: &[Kind], session: u64| {
        let how = (Swarm::of(kinds), Mode::Chance);
        let record = run(&scene, &steps, how, &mut Random::new(session_seed(3, session)));
        let findings = judge.journal(record.journal.entries(), record.journal.blobs());
        let own = findings.iter().find(|finding| finding.law == law);
        own.is_some_and(|own| matches!(own.verdict, law::Verdict::Holds { .. }))
    };
    let rare = |law: &str| RARE.iter().find(|(name, _)| *name == law).map(|(_, kinds)| *kinds);
    let mut idle = Vec::new();
    for (law, held) in law::all().iter().zip(&bench.exercised) {
        let meets = |kinds| (0..TRIED).any(|session| holds(law.name, kinds, session));
        if *held == 0 && !rare(law.name).is_some_and(meets) {
            idle.push(law.name);
        }
    }
    assert_eq!(idle, BEYOND_THE_SIMULATOR.map(|(law, _)| law), "in the order of the table");
    assert!(BEYOND_THE_SIMULATOR.iter().all(|(_, why)| !why.is_empty()));
}

/// Sessions as the simulator leaves them, under names of their own, several at a time.
fn mixed(count: u64) -> Vec<Entry> {
    let (scene, steps) = (Scene::new().unwrap(), Steps::REAL);
    let mut bench = Bench::new(&scene, &steps);
    let mut sessions: Vec<_> = (0..count)
        .map(|number| {
            let judged = bench.chance(&mut Random::new(session_seed(5, number)));
            let journal = judged.record.unwrap().journal;
            let named =
                |entry: &Entry| Entry { session: format!("s{number}").into(), ..entry.clone() };
            journal.entries().iter().map(named).collect::<Vec<_>>().into_iter()
        })
        .collect();
    let mut mixed = Vec::new();
    while sessions.iter().any(|own| own.len() > 0) {
        sessions.iter_mut().for_each(|own| mixed.extend(own.by_ref().take(3)));
    }
    mixed
}

fn check(path: &std::path::Path, format: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    let done = command.arg("check").arg(path).args(["--format", format]).output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    (done.status.code().unwrap(), text)
}

#[test]
fn a_file_of_many_sessions_is_judged_as_all_of_them_in_memory() {
    let mut entries = mixed(40);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.jsonl");
    let write = |entries: &[Entry]| {
        let mut lines = Vec::new();
        entries.iter().for_each(|entry| write_line(entry, &mut lines));
        fs::write(&path, lines).unwrap();
    };
    let verdicts = |entries: &[Entry]| -> Vec<(String, String)> {
        let findings = law::Judge::new(None).journal(entries, &Blobs::default());
        let word = |verdict: &law::Verdict| match verdict {
            law::Verdict::Holds { checked } => format!("holds {checked}"),
            law::Verdict::Broken { violations } => format!("broken {}", violations.len()),
            law::Verdict::NotExercised => "not_exercised".to_owned(),
            law::Verdict::Unknown { .. } => "unknown".to_owned(),
        };
        findings.iter().map(|f| (f.law.to_owned(), word(&f.verdict))).collect()
    };
    let told = |text: &str| -> (u64, Vec<(String, String)>) {
        let answer: Value = serde_json::from_str(text).unwrap();
        let laws = answer["laws"].as_array().unwrap().iter().map(|law| {
            let verdict = law["verdict"].as_str().unwrap();
            let more = law["violations"].as_array().map(|all| all.len() as u64);
            let more = more.or(law["checked"].as_u64());
            let more = more.map(|count| format!(" {count}")).unwrap_or_default();
            (law["name"].as_str().unwrap().to_owned(), format!("{verdict}{more}"))
        });
        (answer["events"].as_u64().unwrap(), laws.collect())
    };
    write(&entries);
    // Without the texts beside it, what they hold is unknown.
    let (code, text) = check(&path, "json");
    assert_eq!((code, told(&text)), (5, (entries.len() as u64, verdicts(&entries))));

    let end = entries.iter().position(|e| e.event.name() == "ToolCallSettled").unwrap();
    let again = entries[end].clone();
    entries.insert(end + 1, again.clone());
    write(&entries);
    let (code, text) = check(&path, "json");
    assert_eq!((code, told(&text)), (1, (entries.len() as u64, verdicts(&entries))));
    let (code, text) = check(&path, "human");
    assert_eq!(code, 1);
    let shown = format!("#{} {} ToolCallSettled", again.seq, again.call.as_deref().unwrap());
    assert!(text.contains(&shown), "{text}");
    let place = format!("In call {} of session {}", again.call.as_deref().unwrap(), again.session);
    assert!(text.contains(&place), "{text}");
}

#[test]
fn what_is_no_journal_is_said_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.jsonl");
    let good = "{\"type\":\"ToolCallStarted\",\"call\":\"c\"}\n";
    for (bytes, said) in [
        (format!("\n{good}[]\n").into_bytes(), "j.jsonl:3:1: expected one JSON object a line"),
        (
            format!("{good}{{\"type\":\"Nope\"}}\n").into_bytes(),
            "j.jsonl:2:1: unknown event `Nope`",
        ),
        (b"\n \n".to_vec(), "j.jsonl: there is no event in it"),
        (b"{}\n{\"\xff\n".to_vec(), "j.jsonl:2:3: not UTF-8; save the file as UTF-8"),
    ] {
        fs::write(&path, bytes).unwrap();
        let (code, text) = check(&path, "human");
        assert!(code == 3 && text.contains(said), "{code} {text}");
    }
    let (code, text) = check(&folder.path().join("none"), "human");
    assert!(code == 3 && text.contains("there is no such file"), "{code} {text}");
    let (code, text) = check(folder.path(), "human");
    assert!(code == 3 && text.contains("cannot be read: is a directory"), "{code} {text}");
}
