//! The blessed result per case, `golden/<suite>/baseline.csv`, and what differs from it.

use std::collections::BTreeMap;

use super::grade::{Grade, Verdict};
use crate::base::digest::Digest;
use crate::base::problem::{Position, Problem};

/// The header, in this order.
pub const HEADER: [&str; 10] = [
    "case_id",
    "provider",
    "verdict",
    "proposed",
    "missing",
    "unexpected",
    "args_ok",
    "approvals",
    "laws_broken",
    "evidence",
];

/// One row: what one case did with one provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The case.
    pub case_id: String,
    /// Who proposed.
    pub provider: String,
    /// `pass`, `fail`, `flaky` or a fault.
    pub verdict: String,
    /// Tools proposed, in order, joined by `;`.
    pub proposed: String,
    /// Expected and not called.
    pub missing: String,
    /// Called and not expected.
    pub unexpected: String,
    /// Matched calls whose arguments fit, of those compared: `1/1`; empty when none was.
    pub args_ok: String,
    /// Approvals asked for.
    pub approvals: u64,
    /// Laws broken.
    pub laws_broken: String,
    /// Digest of everything the result was measured on.
    pub evidence: Digest,
}

impl Row {
    /// The row of a case's trials. Where trials differ the verdict is `flaky`, and the row shows
    /// the first trial.
    pub fn new(case_id: &str, provider: &str, grades: &[Grade], evidence: Digest) -> Self {
        let join = |names: &[std::sync::Arc<str>]| names.join(";");
        let first = grades.first();
        let same = grades
            .windows(2)
            .all(|pair| pair[0].verdict == pair[1].verdict && pair[0].proposed == pair[1].proposed);
        let verdict = match first {
            Some(grade) if same => grade.verdict.name(),
            Some(_) => "flaky",
            None => Verdict::HarnessFault.name(),
        };
        let (held, compared) = first.map(|grade| grade.args).unwrap_or_default();
        Self {
            case_id: case_id.to_owned(),
            provider: provider.to_owned(),
            verdict: verdict.to_owned(),
            proposed: first.map(|grade| join(&grade.proposed)).unwrap_or_default(),
            missing: first.map(|grade| join(&grade.missing)).unwrap_or_default(),
            unexpected: first.map(|grade| join(&grade.unexpected)).unwrap_or_default(),
            args_ok: if compared == 0 { String::new() } else { format!("{held}/{compared}") },
            approvals: first.map(|grade| grade.approvals).unwrap_or_default(),
            laws_broken: first.map(|grade| grade.broken.join(";")).unwrap_or_default(),
            evidence,
        }
    }

    fn fields(&self) -> [String; 10] {
        [
            self.case_id.clone(),
            self.provider.clone(),
            self.verdict.clone(),
            self.proposed.clone(),
            self.missing.clone(),
            self.unexpected.clone(),
            self.args_ok.clone(),
            self.approvals.to_string(),
            self.laws_broken.clone(),
            self.evidence.to_string(),
        ]
    }

    fn key(&self) -> (&str, &str) {
        (&self.case_id, &self.provider)
    }

    fn same_result(&self, other: &Self) -> bool {
        Self { evidence: other.evidence, ..self.clone() } == *other
    }
}

/// Writes rows as CSV, sorted by case and provider.
pub fn write(rows: &[Row]) -> String {
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort();
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _header = writer.write_record(HEADER);
    for row in rows {
        let _row = writer.write_record(row.fields());
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Reads a baseline.
///
/// # Errors
/// All bad rows. A damaged baseline is an error, never an absent one.
pub fn read(file: &str, text: &str) -> Result<Vec<Row>, Vec<Problem>> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let header: Vec<String> =
        reader.headers().map(|h| h.iter().map(str::to_owned).collect()).unwrap_or_default();
    if header != HEADER {
        let problem = Problem::new(file, Position::new(1, 1), "this is no baseline of this format");
        return Err(vec![problem.help(format!("the header must be {}", HEADER.join(",")))]);
    }
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.unwrap_or_default();
        // Fields may hold line breaks, so rows are not counted.
        let line = record.position().map_or(0, |p| usize::try_from(p.line()).unwrap_or(0));
        match row(&record) {
            Some(row) if rows.iter().any(|known: &Row| known.key() == row.key()) => {
                let message = format!("a second row of {} with {}", row.case_id, row.provider);
                problems.push(
                    Problem::new(file, Position::new(line, 1), message)
                        .help("restore the file from version control, or bless the results again"),
                );
            }
            Some(row) => rows.push(row),
            None => {
                let at = Position::new(line, 1);
                problems.push(
                    Problem::new(file, at, "an unreadable row")
                        .help("restore the file from version control, or bless the results again"),
                );
            }
        }
    }
    if problems.is_empty() { Ok(rows) } else { Err(problems) }
}

fn row(record: &csv::StringRecord) -> Option<Row> {
    let verdicts = ["pass", "fail", "flaky", "harness_fault", "infrastructure_fault"];
    if record.len() != HEADER.len() || !verdicts.contains(&record.get(2)?) {
        return None;
    }
    let text = |index: usize| record.get(index).unwrap_or_default().to_owned();
    Some(Row {
        case_id: text(0),
        provider: text(1),
        verdict: text(2),
        proposed: text(3),
        missing: text(4),
        unexpected: text(5),
        args_ok: text(6),
        approvals: text(7).parse().ok()?,
        laws_broken: text(8),
        evidence: Digest::parse(&text(9))?,
    })
}

/// One case that differs from its baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The case.
    pub case_id: String,
    /// Who proposed.
    pub provider: String,
    /// What kind of difference.
    pub change: Change,
    /// The blessed row.
    pub before: Option<Row>,
    /// The row of this run.
    pub after: Option<Row>,
}

/// Kinds of difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Passed, and does not any more.
    Worse,
    /// Did not pass, and does now; that needs blessing too.
    Better,
    /// The verdict is the same, the calls are not.
    Moved,
    /// Not in the baseline.
    New,
    /// In the baseline, and no case any more.
    Gone,
}

impl Change {
    /// The name as shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Moved => "moved",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}

/// A run held against its baseline.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// What differs, by case.
    pub differences: Vec<Difference>,
    /// Cases with the same result on other evidence: measured again, unchanged.
    pub remeasured: usize,
    /// Cases that are the same in every way.
    pub same: usize,
}

/// Compares. With `complete`, rows of the baseline that this run does not have are gone.
pub fn compare(before: &[Row], after: &[Row], complete: bool) -> Comparison {
    let key = |row: &Row| (row.case_id.clone(), row.provider.clone());
    let known: BTreeMap<_, &Row> = before.iter().map(|row| (key(row), row)).collect();
    let mut out = Comparison::default();
    for row in after {
        let change = match known.get(&key(row)) {
            None => Change::New,
            Some(old) if *old == row => {
                out.same += 1;
                continue;
            }
            Some(old) if old.same_result(row) => {
                out.remeasured += 1;
                continue;
            }
            Some(old) if old.verdict == row.verdict => Change::Moved,
            Some(old) if old.verdict == Verdict::Pass.name() => Change::Worse,
            Some(_) if row.verdict == Verdict::Pass.name() => Change::Better,
            Some(_) => Change::Moved,
        };
        out.differences.push(Difference {
            case_id: row.case_id.clone(),
            provider: row.provider.clone(),
            change,
            before: known.get(&key(row)).copied().cloned(),
            after: Some(row.clone()),
        });
    }
    if complete {
        let now: std::collections::BTreeSet<_> = after.iter().map(key).collect();
        for old in before.iter().filter(|row| !now.contains(&key(row))) {
            out.differences.push(Difference {
                case_id: old.case_id.clone(),
                provider: old.provider.clone(),
                change: Change::Gone,
                before: Some(old.clone()),
                after: None,
            });
        }
    }
    out.differences.sort_by(|a, b| {
        (a.change, &a.case_id, &a.provider).cmp(&(b.change, &b.case_id, &b.provider))
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, verdict: &str, proposed: &str, evidence: &str) -> Row {
        Row {
            case_id: id.into(),
            provider: "chooser".into(),
            verdict: verdict.into(),
            proposed: proposed.into(),
            missing: String::new(),
            unexpected: String::new(),
            args_ok: "1/1".into(),
            approvals: 0,
            laws_broken: String::new(),
            evidence: Digest::of("e", evidence.as_bytes()),
        }
    }

    #[test]
    fn every_kind_of_difference() {
        let before = [
            row("a", "pass", "x", "1"),
            row("b", "fail", "x", "1"),
            row("c", "pass", "x", "1"),
            row("d", "pass", "x", "1"),
            row("e", "pass", "x", "1"),
            row("f", "fail", "x", "1"),
        ];
        let after = [
            row("a", "fail", "y", "2"),
            row("b", "pass", "x", "2"),
            row("c", "pass", "x", "2"),
            row("d", "pass", "x", "1"),
            row("f", "fail", "z", "1"),
            row("g", "pass", "x", "1"),
        ];
        let found = compare(&before, &after, true);
        let kinds: Vec<_> =
            found.differences.iter().map(|d| (d.case_id.as_str(), d.change.name())).collect();
        assert_eq!(
            kinds,
            [("a", "worse"), ("b", "better"), ("f", "moved"), ("g", "new"), ("e", "gone")]
        );
        assert_eq!((found.remeasured, found.same), (1, 1));
        assert!(
            compare(&before, &after, false).differences.iter().all(|d| d.change != Change::Gone)
        );
    }

    #[test]
    fn rows_round_trip_sorted() {
        let rows = vec![row("b", "pass", "x;y", "1"), row("a", "fail", "q,\"r\"", "2")];
        let text = write(&rows);
        let mut sorted = rows.clone();
        sorted.sort();
        assert_eq!(read("b.csv", &text).unwrap(), sorted);
        assert!(read("b.csv", "x,y\n").is_err());
        let damaged = text.replace("sha256", "sha");
        assert_eq!(read("b.csv", &damaged).unwrap_err().len(), 2);
    }
}

#[cfg(test)]
#[path = "baseline_tests.rs"]
mod properties;
