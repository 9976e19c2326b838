//! Scores the chooser on suites: `choose <suites> [misses | parts | frozen | knob=value,.. ..]` or
//! `choose <suites> tune <MetaTool folder> knob=value,..`. Frozen prompts are left out of every
//! mode but `frozen`; the suite that is not run by default counts whole.
#![allow(clippy::expect_used, clippy::disallowed_methods, clippy::print_stdout)] // a measuring aid

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proofmark::eval::case::{Case, Kind};
use proofmark::eval::load::{Suite, load};
use proofmark::runtime::catalog::alias::aliases;
use proofmark::runtime::dialect::{Payload, ToolList};
use proofmark::runtime::provider::listing;
use proofmark::runtime::provider::rank::{Pick, Picker, ToolDoc, Tuning};

#[path = "data/metatool.rs"]
mod metatool;

struct Loaded {
    suite: Suite,
    names: Vec<String>,
    docs: Vec<ToolDoc>,
    schemas: Vec<serde_json::Value>,
    wire: BTreeMap<String, String>,
}

fn read(folder: &Path) -> Loaded {
    let suite = load(folder, &BTreeMap::new()).expect("a valid suite");
    let view = suite.view();
    let knobs = &suite.knobs;
    let list: ToolList = knobs.dialect.tools(&view, knobs.rendering, knobs.text);
    let payload = Payload::new(suite.knobs.dialect, &list, "[]".to_owned());
    let tools = listing::tools(&payload).expect("readable");
    let ids: Vec<_> = suite.registry.iter().map(|t| t.id().clone()).collect();
    let wire = aliases(ids.iter()).into_iter().map(|(id, a)| (id.as_str().to_owned(), a)).collect();
    Loaded {
        names: tools.iter().map(|t| t.name.clone()).collect(),
        docs: tools.iter().map(listing::doc).collect(),
        schemas: tools.into_iter().map(|t| t.schema).collect(),
        suite,
        wire,
    }
}

struct Row {
    case: Arc<Case>,
    pick: Pick,
    right: bool,
    five: bool,
    args: Option<bool>,
    rank: f64,
}

impl Loaded {
    fn cases(&self, frozen: bool) -> impl Iterator<Item = &Arc<Case>> {
        let whole = !self.suite.file.default;
        self.suite.cases.iter().filter(move |c| {
            matches!(c.kind, Kind::Golden | Kind::NoTool | Kind::Ask | Kind::Refuse)
                && if frozen { c.frozen } else { whole || !c.frozen }
        })
    }

    fn rows(&self, tuning: &Tuning, frozen: bool) -> Vec<Row> {
        let picker = Picker::build_with(&self.docs, self.schemas.clone(), tuning.clone());
        self.cases(frozen).map(|case| self.row(&picker, case)).collect()
    }

    fn row(&self, picker: &Picker, case: &Arc<Case>) -> Row {
        let pick = picker.pick(&case.messages[0], 5);
        let wants = |n: &str| {
            case.expect
                .alternatives
                .iter()
                .any(|set| set.iter().any(|c| self.wire.get(&*c.tool).is_some_and(|w| w == n)))
        };
        let first = pick.ranking.hits.first().map(|h| self.names[h.tool].as_str());
        let right = first.is_some_and(wants);
        let five = pick.ranking.hits.iter().any(|h| wants(&self.names[h.tool]));
        let place = pick.ranking.hits.iter().position(|h| wants(&self.names[h.tool]));
        let rank = place.map_or(0.0, |p| 1.0 / (p + 1) as f64);
        let call = case
            .expect
            .alternatives
            .iter()
            .flatten()
            .find(|c| self.wire.get(&*c.tool).map(String::as_str) == first);
        let args = call
            .and_then(|c| c.args.as_ref())
            .map(|m| m.iter().all(|(k, v)| v.fits(pick.extracted.arguments.get(k))));
        Row { case: Arc::clone(case), pick, right, five, args, rank }
    }
}

fn auc(yes: &[f64], no: &[f64]) -> f64 {
    let mut wins = 0.0;
    for y in yes {
        for n in no {
            wins += if y > n {
                1.0
            } else if y == n {
                0.5
            } else {
                0.0
            };
        }
    }
    wins / (yes.len() * no.len()).max(1) as f64
}

/// The best Youden's J (sensitivity + specificity - 1) over thresholds, and the interval of
/// thresholds that reach it.
fn youden(rows: &[Row]) -> (f64, f64, f64) {
    let golden = rows.iter().filter(|r| r.case.kind == Kind::Golden).count() as f64;
    let negatives = rows.len() as f64 - golden;
    let value = |r: &Row| r.pick.confidence.value;
    let mut cuts: Vec<f64> = rows.iter().map(value).collect();
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let (mut best, mut low, mut high) = (-1.0, 0.0, 0.0);
    let mut before = 0.0;
    for cut in cuts {
        let a = rows.iter().filter(|r| r.right && value(r) >= cut).count() as f64 / golden;
        let b = rows.iter().filter(|r| r.case.kind != Kind::Golden && value(r) < cut).count();
        let j = a + b as f64 / negatives - 1.0;
        if j > best {
            (best, low, high) = (j, before, cut);
        }
        before = cut;
    }
    (best, low, high)
}

fn summary(rows: &[Row]) -> String {
    let golden: Vec<&Row> = rows.iter().filter(|r| r.case.kind == Kind::Golden).collect();
    let n = golden.len() as f64;
    let right: Vec<f64> =
        golden.iter().filter(|r| r.right).map(|r| r.pick.confidence.value).collect();
    let wrong: Vec<f64> =
        golden.iter().filter(|r| !r.right).map(|r| r.pick.confidence.value).collect();
    let kind = |k: Kind| -> Vec<f64> {
        rows.iter().filter(|r| r.case.kind == k).map(|r| r.pick.confidence.value).collect()
    };
    let five = golden.iter().filter(|r| r.five).count() as f64;
    let args: Vec<bool> = golden.iter().filter_map(|r| r.args).collect();
    let (j, low, high) = youden(rows);
    format!(
        "{:.3} @5 {:.3} | auc wrong {:.2} none {:.2} ask {:.2} refuse {:.2} \
         | J {:.3} ({:.3}..{:.3}) | args {}/{}",
        right.len() as f64 / n,
        five / n,
        auc(&right, &wrong),
        auc(&right, &kind(Kind::NoTool)),
        auc(&right, &kind(Kind::Ask)),
        auc(&right, &kind(Kind::Refuse)),
        j,
        low,
        high,
        args.iter().filter(|a| **a).count(),
        args.len()
    )
}

fn misses(loaded: &[Loaded]) {
    for one in loaded {
        for row in one.rows(&Tuning::default(), false) {
            if row.case.kind == Kind::Golden && !row.right {
                let want: Vec<&str> =
                    row.case.expect.alternatives.iter().flatten().map(|c| &*c.tool).collect();
                println!("## {} {} want {}", one.suite.name, row.case.messages[0], want.join("|"));
                for (hit, terms) in row.pick.ranking.hits.iter().zip(&row.pick.terms).take(3) {
                    let terms: Vec<String> = terms
                        .iter()
                        .map(|t| format!("{}/{:?} {:.2}", t.term, t.field, t.weight))
                        .collect();
                    println!("   {} {:.2}: {}", one.names[hit.tool], hit.score, terms.join(", "));
                }
            }
        }
    }
}

struct Meta {
    docs: Vec<ToolDoc>,
    rows: Vec<(String, usize)>,
}

/// Every `step`th query of the half with an even hash.
fn meta(dir: &Path, step: usize) -> Meta {
    use sha2::{Digest, Sha256};
    let metatool::MetaTool { docs, queries } = metatool::load(dir);
    let even = |(query, _): &(String, usize)| Sha256::digest(query.as_bytes())[0] % 2 == 0;
    Meta { docs, rows: queries.into_iter().filter(even).step_by(step).collect() }
}

impl Meta {
    fn score(&self, tuning: &Tuning) -> (f64, f64) {
        let index =
            proofmark::runtime::provider::rank::Index::build_with(&self.docs, tuning.clone());
        let (mut one, mut five) = (0, 0);
        for (q, tool) in &self.rows {
            let r = index.rank(q, 5);
            one += usize::from(r.hits.first().is_some_and(|h| h.tool == *tool));
            five += usize::from(r.hits.iter().any(|h| h.tool == *tool));
        }
        let n = self.rows.len() as f64;
        (one as f64 / n, five as f64 / n)
    }
}

/// Mean over suites of top-1 and reciprocal rank.
fn value(loaded: &[Loaded], tuning: &Tuning) -> (f64, Vec<f64>) {
    let mut sum = 0.0;
    let mut ones = Vec::new();
    for one in loaded {
        let rows = one.rows(tuning, false);
        let golden: Vec<&Row> = rows.iter().filter(|r| r.case.kind == Kind::Golden).collect();
        let n = golden.len() as f64;
        let right = golden.iter().filter(|r| r.right).count() as f64 / n;
        let soft: f64 = golden.iter().map(|r| r.rank).sum::<f64>() / n;
        sum += 0.5 * right + 0.5 * soft;
        ones.push(right);
    }
    (sum / loaded.len() as f64, ones)
}

fn tune(loaded: &[Loaded], dir: &Path, start: &str) {
    let meta = meta(dir, 4);
    let mut values: Vec<(&str, f64)> = start
        .split(',')
        .map(|p| p.split_once('=').expect("knob=value"))
        .map(|(n, v)| (n, v.parse().expect("a number")))
        .collect();
    let make = |values: &[(&str, f64)]| {
        let mut t = Tuning::default();
        for (n, v) in values {
            set(&mut t, n, *v);
        }
        t
    };
    let total = |values: &[(&str, f64)]| {
        let t = make(values);
        let (v, ones) = value(loaded, &t);
        let (m1, m5) = meta.score(&t);
        (v + 0.25 * (m1 + m5), v, ones, m1, m5)
    };
    let mut now = total(&values);
    println!("start {now:?}");
    for round in 0..3 {
        for i in 0..values.len() {
            let (name, at) = values[i];
            for to in [at * 0.5, at * 0.75, at * 1.33, at * 2.0, at + 0.15, at - 0.15] {
                let low = if name == "denied" { -1.0 } else { 0.0 };
                let high = if ["miss", "unused", "own", "value", "bn", "bs", "bu", "be", "bp", "ba"]
                    .contains(&name)
                {
                    1.0
                } else {
                    9.0
                };
                if to < low || to > high || to == values[i].1 {
                    continue;
                }
                let mut next = values.clone();
                next[i].1 = (to * 1000.0).round() / 1000.0;
                let v = total(&next);
                if v.0 > now.0 + 8e-4 {
                    println!("{round} {name}={} -> {v:?}", next[i].1);
                    (now, values) = (v, next);
                }
            }
        }
    }
    let text: Vec<String> = values.iter().map(|(n, v)| format!("{n}={v}")).collect();
    println!("{}", text.join(","));
}

fn set(tuning: &mut Tuning, name: &str, value: f64) {
    match name {
        "n" => tuning.field[0] = value,
        "s" => tuning.field[1] = value,
        "u" => tuning.field[2] = value,
        "e" => tuning.field[3] = value,
        "p" => tuning.field[4] = value,
        "a" => tuning.field[5] = value,
        "bn" => tuning.b[0] = value,
        "bs" => tuning.b[1] = value,
        "bu" => tuning.b[2] = value,
        "be" => tuning.b[3] = value,
        "bp" => tuning.b[4] = value,
        "ba" => tuning.b[5] = value,
        "k1" => tuning.k1 = value,
        "weak" => tuning.weak = value,
        "group" => tuning.group = value,
        "gk" => tuning.group_k = value,
        "gq" => tuning.group_q = value,
        "hd" => tuning.hint_doc = value,
        "hq" => tuning.hint_query = value,
        "pair" => tuning.pair = value,
        "fuzzy" => tuning.fuzzy = value,
        "fmin" => tuning.fuzzy_min = value,
        "ip" => tuning.idf_power = value,
        "light" => tuning.light = value,
        "value" => tuning.value = value,
        "denied" => tuning.denied = value,
        "own" => tuning.group_own = value,
        "miss" => tuning.fit_missing = value,
        "unused" => tuning.fit_unused = value,
        "found" => tuning.fit_found = value,
        other => panic!("no knob {other}"),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = Path::new(args.get(1).expect("the folder of suites"));
    let loaded: Vec<Loaded> =
        ["calibration", "coding-agent", "office"].iter().map(|s| read(&dir.join(s))).collect();
    match args.get(2).map(String::as_str) {
        Some("misses") => misses(&loaded),
        Some("parts") => {
            for one in &loaded {
                for r in one.rows(&Tuning::default(), false) {
                    let c = &r.pick.confidence;
                    println!(
                        "{} {} {} {} {} {} {} {}",
                        one.suite.name,
                        r.case.kind.name(),
                        u8::from(r.right),
                        c.coverage,
                        c.strength,
                        c.evidence,
                        c.margin,
                        c.arguments
                    );
                }
            }
        }
        Some("tune") => tune(&loaded, Path::new(&args[3]), args.get(4).map_or("", String::as_str)),
        Some("frozen") => {
            for one in &loaded {
                println!("{:13} {}", one.suite.name, summary(&one.rows(&Tuning::default(), true)));
            }
        }
        _ => {
            // every further argument is a variant: `knob=value,knob=value`
            for variant in std::iter::once("").chain(args.iter().skip(2).map(String::as_str)) {
                let mut tuning = Tuning::default();
                for part in variant.split(',').filter(|p| !p.is_empty()) {
                    let (name, value) = part.split_once('=').expect("knob=value");
                    set(&mut tuning, name, value.parse().expect("a number"));
                }
                println!("{variant}");
                for one in &loaded {
                    println!("  {:13} {}", one.suite.name, summary(&one.rows(&tuning, false)));
                }
            }
        }
    }
}
