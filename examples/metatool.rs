//! Scores the ranker on the MetaTool queries: `metatool <data folder> [tune]`.
#![allow(clippy::expect_used, clippy::disallowed_methods, clippy::print_stdout)] // a measuring aid

use std::path::Path;
use std::time::Instant;

use proofmark::runtime::provider::rank::{Confidence, Index, ToolDoc, Tuning, confidence};
use sha2::{Digest, Sha256};

#[path = "data/metatool.rs"]
mod metatool;

struct Row {
    query: String,
    tool: usize,
    even: bool,
}

fn load(dir: &Path) -> (Vec<ToolDoc>, Vec<String>, Vec<Row>) {
    let metatool::MetaTool { docs, queries } = metatool::load(dir);
    let names = docs.iter().map(|doc| doc.name.clone()).collect();
    let row = |(query, tool): (String, usize)| Row {
        even: Sha256::digest(query.as_bytes())[0] % 2 == 0,
        tool,
        query,
    };
    (docs, names, queries.into_iter().map(row).collect())
}

/// Top-1 and recall at 5.
fn score<'a>(index: &Index, rows: impl Iterator<Item = &'a Row>) -> (usize, f64, f64) {
    let (mut n, mut one, mut five) = (0, 0, 0);
    for row in rows {
        let ranking = index.rank(&row.query, 5);
        n += 1;
        one += usize::from(ranking.hits.first().is_some_and(|h| h.tool == row.tool));
        five += usize::from(ranking.hits.iter().any(|h| h.tool == row.tool));
    }
    (n, one as f64 / n.max(1) as f64, five as f64 / n.max(1) as f64)
}

type Knob = (&'static str, fn(&mut Tuning, f64), fn(&Tuning) -> f64);

fn knobs() -> Vec<Knob> {
    vec![
        ("name", |t, m| t.field[0] *= m, |t| t.field[0]),
        ("b_name", |t, m| t.b[0] = (t.b[0] * m).min(1.0), |t| t.b[0]),
        ("b_summary", |t, m| t.b[1] = (t.b[1] * m).min(1.0), |t| t.b[1]),
        ("k1", |t, m| t.k1 *= m, |t| t.k1),
        ("weak", |t, m| t.weak *= m, |t| t.weak),
        ("group", |t, m| t.group *= m, |t| t.group),
        ("group_k", |t, m| t.group_k *= m, |t| t.group_k),
        ("hint_doc", |t, m| t.hint_doc *= m, |t| t.hint_doc),
        ("hint_query", |t, m| t.hint_query *= m, |t| t.hint_query),
        ("group_q", |t, m| t.group_q *= m, |t| t.group_q),
        ("pair", |t, m| t.pair *= m, |t| t.pair),
        ("fuzzy", |t, m| t.fuzzy *= m, |t| t.fuzzy),
        ("fuzzy_min", |t, m| t.fuzzy_min = (t.fuzzy_min * m).min(0.99), |t| t.fuzzy_min),
        ("idf_power", |t, m| t.idf_power *= m, |t| t.idf_power),
    ]
}

fn tune(docs: &[ToolDoc], rows: &[Row]) {
    let value = |t: &Tuning| {
        let index = Index::build_with(docs, t.clone());
        let (_, one, five) = score(&index, rows.iter().filter(|r| r.even));
        (one + five, one, five)
    };
    let mut best = Tuning::default();
    let mut now = value(&best);
    println!("start {now:?}");
    for round in 0..2 {
        for (name, turn, read) in knobs() {
            for m in [0.0, 0.5, 0.7, 1.4, 2.0] {
                let mut next = best.clone();
                turn(&mut next, m);
                let v = value(&next);
                if v.0 > now.0 + 1e-4 {
                    println!("{round} {name} {} -> {v:?}", read(&next));
                    (now, best) = (v, next);
                }
            }
        }
    }
    println!("{best:?}");
}

/// Area under the ROC curve of telling `yes` from `no`; ties count half.
fn auc(yes: &[f64], no: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> = yes.iter().map(|v| (*v, true)).collect();
    all.extend(no.iter().map(|v| (*v, false)));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut wins) = (0.0, 0.0);
    for run in all.chunk_by(|a, b| a.0 == b.0) {
        let good = run.iter().filter(|r| r.1).count() as f64;
        let bad = run.len() as f64 - good;
        wins += good * (below + bad / 2.0);
        below += bad;
    }
    wins / (yes.len() * no.len()) as f64
}

/// How well the confidence tells (a) right from wrong first hits, (b) prompts whose tool is in
/// the list from the same prompts with that tool taken out, (c) prompts that need a tool from
/// those that need none (Task1).
fn confidences(dir: &Path, docs: &[ToolDoc], rows: &[Row]) {
    let index = Index::build(docs);
    let task: Vec<serde_json::Value> =
        serde_json::from_str(&metatool::text(&dir.join("Task1.json.gz"))).expect("JSON");
    let without: Vec<Index> = (0..docs.len())
        .map(|tool| {
            let rest = docs.iter().enumerate().filter(|(i, _)| *i != tool);
            Index::build(&rest.map(|(_, d)| d.clone()).collect::<Vec<_>>())
        })
        .collect();
    for even in [true, false] {
        let mut kinds: [Vec<Confidence>; 6] = Default::default();
        for row in rows.iter().filter(|r| r.even == even) {
            let r = index.rank(&row.query, 1);
            let c = Confidence::of(&r);
            let right = r.hits.first().is_some_and(|h| h.tool == row.tool);
            kinds[usize::from(!right)].push(c);
            kinds[2].push(c);
            kinds[3].push(Confidence::of(&without[row.tool].rank(&row.query, 1)));
        }
        for item in &task {
            let query = item["query"].as_str().unwrap_or_default();
            if (Sha256::digest(query.as_bytes())[0] % 2 == 0) == even {
                let kind = if item["label"] == "positive" { 4 } else { 5 };
                kinds[kind].push(Confidence::of(&index.rank(query, 1)));
            }
        }
        type Part = (&'static str, fn(&Confidence) -> f64);
        let parts: [Part; 5] = [
            ("value", |c| c.value),
            ("coverage", |c| c.coverage),
            ("strength", |c| c.strength),
            ("evidence", |c| c.evidence),
            ("margin", |c| c.margin),
        ];
        println!("{} half", if even { "even" } else { "odd" });
        for (name, read) in parts {
            let list = |k: usize| kinds[k].iter().map(read).collect::<Vec<f64>>();
            let mean = |k: usize| list(k).iter().sum::<f64>() / kinds[k].len() as f64;
            println!(
                "  {name:9} auc right/wrong {:.3} listed/removed {:.3} needed/not {:.3}; means \
                 {:.3} {:.3} | {:.3} {:.3} | {:.3} {:.3}",
                auc(&list(0), &list(1)),
                auc(&list(2), &list(3)),
                auc(&list(4), &list(5)),
                mean(0),
                mean(1),
                mean(2),
                mean(3),
                mean(4),
                mean(5),
            );
        }
    }
}

/// Tools of real servers, from every `tools/list` answer in a folder.
fn servers(dir: &Path) -> Vec<ToolDoc> {
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .expect("readable")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "gz"))
        .collect();
    files.sort();
    let mut docs = Vec::new();
    for file in files {
        let list: serde_json::Value = serde_json::from_str(&metatool::text(&file)).expect("JSON");
        for tool in list["tools"].as_array().into_iter().flatten() {
            let mut parameters = String::new();
            for (name, p) in tool["inputSchema"]["properties"].as_object().into_iter().flatten() {
                let text = p["description"].as_str().unwrap_or_default();
                parameters.push_str(&format!("{name} {text} {}\n", p["enum"]));
            }
            docs.push(ToolDoc {
                name: tool["name"].as_str().unwrap_or_default().to_string(),
                summary: tool["description"].as_str().unwrap_or_default().to_string(),
                parameters,
                ..ToolDoc::default()
            });
        }
    }
    docs
}

/// Time to build an index over 2,000 tools and to rank a prompt by it.
fn speed(docs: &[ToolDoc], rows: &[Row], dir: &Path) {
    let mut pool = docs.to_vec();
    pool.extend(servers(dir));
    let real = pool.len();
    let many: Vec<ToolDoc> = pool.into_iter().cycle().take(2000).collect();
    let bytes: usize =
        many.iter().map(|d| d.name.len() + d.summary.len() + d.parameters.len()).sum();
    println!("{real} real tools; 2000 tools of {} bytes each on average", bytes / 2000);
    let mut builds: Vec<f64> = (0..15)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(Index::build(&many));
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    builds.sort_by(f64::total_cmp);
    println!("build: median {:.1} ms, worst {:.1} ms", builds[7], builds[14]);
    let index = Index::build(&many);
    // The first prompt of a process also compiles the patterns of values.
    let start = Instant::now();
    std::hint::black_box(index.rank(&rows[0].query, 5));
    println!("first prompt: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let mut times: Vec<f64> = rows
        .iter()
        .map(|row| {
            let start = Instant::now();
            std::hint::black_box(index.rank(&row.query, 5));
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize];
    println!("rank: median {:.0} us, 99 % {:.0} us, worst {:.0} us", at(0.5), at(0.99), at(1.0));
}

/// What each part of the formula is worth.
fn ablate(docs: &[ToolDoc], rows: &[Row]) {
    let t = Tuning::default();
    let plain = Tuning { group: 0.0, pair: 0.0, fuzzy: 0.0, ..t.clone() };
    for (name, tuning) in [
        ("all parts", t.clone()),
        ("no thesaurus", Tuning { group: 0.0, ..t.clone() }),
        ("no pairs", Tuning { pair: 0.0, ..t.clone() }),
        ("no letters", Tuning { fuzzy: 0.0, ..t.clone() }),
        ("request words count in full", Tuning { weak: 1.0, ..t.clone() }),
        ("hints mark tools too (0.5)", Tuning { hint_doc: 0.5, ..t.clone() }),
        ("k1 1.2", Tuning { k1: 1.2, ..t.clone() }),
        ("k1 2", Tuning { k1: 2.0, ..t.clone() }),
        ("words alone", plain),
    ] {
        let index = Index::build_with(docs, tuning);
        let (_, e1, e5) = score(&index, rows.iter().filter(|r| r.even));
        let (_, o1, o5) = score(&index, rows.iter().filter(|r| !r.even));
        println!("{name:28} even {e1:.4} {e5:.4}  odd {o1:.4} {o5:.4}");
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = Path::new(args.get(1).expect("the data folder"));
    let (docs, names, rows) = load(dir);
    let mode = args.get(2).map(String::as_str).unwrap_or_default();
    if mode == "tune" {
        return tune(&docs, &rows);
    }
    if mode == "speed" {
        return speed(&docs, &rows, Path::new(args.get(3).expect("the folder of tool lists")));
    }
    if mode == "confidence" {
        return confidences(dir, &docs, &rows);
    }
    if mode == "ablate" {
        return ablate(&docs, &rows);
    }
    let index = Index::build(&docs);
    if mode == "misses" {
        for row in rows.iter().filter(|r| r.even) {
            let r = index.rank(&row.query, 5);
            if r.hits.first().is_none_or(|h| h.tool != row.tool) {
                let got: Vec<&str> = r.hits.iter().map(|h| names[h.tool].as_str()).collect();
                println!("{} <- {} | {}", names[row.tool], got.join(","), row.query);
            }
        }
        return;
    }
    println!("tools {} queries {}", docs.len(), rows.len());
    for (half, keep) in [("even", Some(true)), ("odd", Some(false)), ("all", None)] {
        let part = rows.iter().filter(|r| keep.is_none_or(|k| r.even == k));
        let (n, one, five) = score(&index, part);
        println!("{half:5} n {n:6} top-1 {one:.4} recall@5 {five:.4}");
    }
    let start = Instant::now();
    let sum: f64 = rows.iter().map(|r| confidence(&index.rank(&r.query, 5))).sum();
    let each = start.elapsed().as_secs_f64() / rows.len() as f64 * 1e6;
    println!("mean confidence {:.4}, {each:.1} us a prompt", sum / rows.len() as f64);
}
