//! Writes a long journal: `cargo run --release --example journal -- FILE [EVENTS] [OPEN]`.
//!
//! Sessions are simulated, then written again and again under other names, `OPEN` of them at a
//! time, until there are `EVENTS` lines.
#![allow(clippy::print_stderr)]

use std::fs::File;
use std::io::{BufWriter, Error, Write};

use proofmark::base::choice::Random;
use proofmark::journal::Entry;
use proofmark::journal::format::write_line;
use proofmark::runtime::turn::steps::Steps;
use proofmark::sim::explore::{Bench, session_seed};
use proofmark::sim::scene::Scene;

/// How many sessions are simulated.
const SIMULATED: u64 = 2_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: journal FILE [EVENTS] [OPEN]")?;
    let events: usize = args.next().unwrap_or_else(|| "10000000".to_owned()).parse()?;
    let open: usize = args.next().unwrap_or_else(|| "16".to_owned()).parse()?;
    let sessions = simulated()?;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let written = write(&sessions, (events, open.max(1)), &mut file)?;
    file.flush()?;
    eprintln!("{events} events of {written} sessions");
    Ok(())
}

/// Sessions of chance, those without any breach.
fn simulated() -> Result<Vec<Vec<Entry>>, String> {
    let (scene, steps) = (Scene::new()?, Steps::REAL);
    let mut bench = Bench::new(&scene, &steps);
    let mut sessions = Vec::new();
    for session in 0..SIMULATED {
        let judged = bench.chance(&mut Random::new(session_seed(7, session)));
        let record = judged.record.filter(|_| judged.found.is_empty());
        sessions.extend(record.map(|record| record.journal.entries().to_vec()));
    }
    Ok(sessions)
}

/// Returns how many sessions were begun.
fn write(
    sessions: &[Vec<Entry>],
    (events, open): (usize, usize),
    out: &mut dyn Write,
) -> Result<usize, Error> {
    let mut begun = 0;
    let mut begin = || {
        begun += 1;
        let name: std::sync::Arc<str> = format!("session-{begun}").into();
        (name, sessions.get(begun % sessions.len().max(1)).into_iter().flatten())
    };
    let mut running: Vec<_> = (0..open).map(|_| begin()).collect();
    let (mut written, mut line) = (0, Vec::new());
    while written < events {
        for (name, left) in &mut running {
            let Some(entry) = left.next() else {
                (*name, *left) = begin();
                continue;
            };
            line.clear();
            write_line(&Entry { session: name.clone(), ..entry.clone() }, &mut line);
            out.write_all(&line)?;
            written += 1;
            if written == events {
                break;
            }
        }
    }
    Ok(begun)
}
