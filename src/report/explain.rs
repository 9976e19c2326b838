//! Violations in words.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::journal::Entry;
use crate::law::law::{Finding, Verdict};

/// Every finding of a judged journal, broken ones with their witnesses.
pub fn findings(findings: &[Finding], entries: &[Entry]) -> String {
    let (mut out, places) = (String::new(), places(entries));
    for finding in findings {
        let line = match &finding.verdict {
            Verdict::Holds { checked } => {
                format!("holds          {} ({checked} checked)", finding.law)
            }
            Verdict::NotExercised => format!("not exercised  {}", finding.law),
            Verdict::Unknown { why } => format!("unknown        {}: {why}", finding.law),
            Verdict::Broken { violations } => {
                let mut text = format!("BROKEN         {}", finding.law);
                for violation in violations {
                    text.push('\n');
                    let own = places.get(&*violation.session).cloned().unwrap_or(0..0);
                    let own = entries.get(own).unwrap_or_default();
                    text.push_str(&crate::law::explain::explain(violation, own));
                }
                text
            }
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Between which places all entries of each session stand.
fn places(entries: &[Entry]) -> BTreeMap<&str, Range<usize>> {
    let mut places: BTreeMap<&str, Range<usize>> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        places.entry(&entry.session).or_insert(at..at).end = at + 1;
    }
    places
}
