//! Violations in words.

use crate::journal::Entry;
use crate::law::law::{Finding, Verdict};

/// Every finding of a judged journal, broken ones with their witnesses.
pub fn findings(findings: &[Finding], entries: &[Entry]) -> String {
    let mut out = String::new();
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
                    text.push_str(&crate::law::explain::explain(violation, entries));
                }
                text
            }
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}
