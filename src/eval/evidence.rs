//! Golden evidence (seed B invariant 16): what a run's record says of each version of a tool.
//!
//! A golden prompt judges a tool that it asks for and does not get, and one that it gets. It
//! counts for exactly the version that was registered while it ran.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::base::digest::{Digest, Hasher};
use crate::base::jsonl;
use crate::base::problem::{Position, Problem};
use crate::tool::id::ToolId;

/// What golden prompts say of one version of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Golden {
    /// Digest of what counts: the prompts, who answered, and how it ended.
    pub digest: Digest,
    /// How many trials judge it.
    pub judged: u64,
    /// In how many everything was as expected.
    pub passed: u64,
}

/// Trials that judge a version: the prompt, who answered, the trial, and whether it passed.
type Rows = BTreeMap<(String, String, u64), bool>;

/// The evidence of a record, by tool and version.
#[derive(Debug, Clone, Default)]
pub struct Evidence(BTreeMap<ToolId, BTreeMap<Digest, Rows>>);

impl Evidence {
    /// What there is for one version; `None` where no prompt judges it.
    pub fn of(&self, tool: &ToolId, version: &Digest) -> Option<Golden> {
        let rows = self.0.get(tool)?.get(version)?;
        let mut hasher = Hasher::new("golden").field(tool.as_str().as_bytes());
        hasher = hasher.field(version.as_bytes());
        for ((case, provider, trial), passed) in rows {
            hasher = hasher.field(case.as_bytes()).field(provider.as_bytes());
            hasher = hasher.field(&trial.to_le_bytes()).field(&[u8::from(*passed)]);
        }
        let passed = rows.values().filter(|passed| **passed).count() as u64;
        Some(Golden { digest: hasher.finish(), judged: rows.len() as u64, passed })
    }

    /// Versions of a tool that there is evidence for.
    pub fn versions(&self, tool: &ToolId) -> impl Iterator<Item = &Digest> {
        self.0.get(tool).into_iter().flat_map(|versions| versions.keys())
    }
}

/// Reads a run's record, `run.jsonl`. Trials that are no golden ones judge nothing.
///
/// # Errors
/// Every line that is no line of a record.
pub fn read(file: &str, text: &str) -> Result<Evidence, Vec<Problem>> {
    let (lines, mut problems) = jsonl::read(file, text);
    let mut evidence = Evidence::default();
    let mut complete = false;
    for line in &lines {
        let bad = |message: &str| Problem::new(file, Position::new(line.number, 1), message);
        match line.object.get("event").and_then(Value::as_str) {
            Some("trialFinished") => match trial(&line.object, &mut evidence) {
                Some(()) => {}
                None => problems.push(
                    bad("a trial that does not say what it judges")
                        .help("write the record again with `proofmark run`"),
                ),
            },
            Some("runFinished") => complete = true,
            Some("runStarted" | "trialStarted" | "blob") => {}
            _ => problems.push(
                bad("this is no line of a run's record").help("name a `reports/<time>/run.jsonl`"),
            ),
        }
    }
    if problems.is_empty() && !complete {
        let problem = Problem::new(file, Position::default(), "the record has no last line");
        problems.push(problem.help("evidence is taken of whole runs; run again"));
    }
    if problems.is_empty() { Ok(evidence) } else { Err(problems) }
}

fn trial(line: &Map<String, Value>, evidence: &mut Evidence) -> Option<()> {
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    let golden = line.get("golden")?.as_bool()?;
    let (missing, proposed) = (tools(line.get("missing")?)?, tools(line.get("proposed")?)?);
    let passed = text("verdict")? == "pass";
    let case = format!("{}/{}", text("suite").unwrap_or_default(), text("case")?);
    let key = (case, text("provider")?.to_owned(), line.get("trial")?.as_u64()?);
    if !golden {
        return Some(());
    }
    let versions = versions(line.get("journal")?.as_array()?);
    for tool in missing.iter().chain(&proposed) {
        let Some((id, version)) = versions.get_key_value(*tool) else { continue };
        let id = ToolId::parse(id)?;
        let rows = evidence.0.entry(id).or_default().entry(*version).or_default();
        rows.insert(key.clone(), passed && !missing.contains(tool));
    }
    Some(())
}

fn tools(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// The version of each tool that a trial's journal registers.
fn versions(journal: &[Value]) -> BTreeMap<&str, Digest> {
    let verified = journal.iter().filter(|entry| entry["type"] == "ToolVerified");
    let named = verified.filter_map(|entry| {
        let version = Digest::parse(entry["toolVersion"].as_str()?)?;
        Some((entry["toolId"].as_str()?, version))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(case: &str, golden: bool, verdict: &str, missing: &str, proposed: &str) -> String {
        let version = Digest::of("version", b"a");
        let list = |names: &str| {
            let names: Vec<&str> = names.split(' ').filter(|name| !name.is_empty()).collect();
            serde_json::json!(names).to_string()
        };
        format!(
            "{{\"event\":\"trialFinished\",\"case\":\"{case}\",\"provider\":\"p\",\"trial\":0,\
             \"verdict\":\"{verdict}\",\"golden\":{golden},\"missing\":{},\"proposed\":{},\
             \"journal\":[{{\"type\":\"ToolVerified\",\"toolId\":\"a\",\
             \"toolVersion\":\"{version}\"}}]}}\n",
            list(missing),
            list(proposed)
        )
    }

    const END: &str = "{\"event\":\"runFinished\"}\n";

    fn check(lines: &[String], expected: Option<(u64, u64)>) {
        let evidence = read("run.jsonl", &(lines.concat() + END)).unwrap();
        let tool = ToolId::sanitized("a");
        let found = evidence.of(&tool, &Digest::of("version", b"a"));
        assert_eq!(found.map(|golden| (golden.judged, golden.passed)), expected, "{lines:?}");
        assert_eq!(evidence.of(&tool, &Digest::of("version", b"b")), None, "another version");
    }

    #[test]
    fn what_judges_a_tool() {
        check(&[], None);
        check(&[line("g", true, "pass", "", "a")], Some((1, 1)));
        check(&[line("g", true, "fail", "", "a")], Some((1, 0)));
        check(&[line("g", true, "fail", "a", "b")], Some((1, 0)));
        check(&[line("g", true, "pass", "", "b")], None);
        check(&[line("n", false, "pass", "", "a")], None);
        let twice = [line("g", true, "pass", "", "a a"), line("h", true, "fail", "a", "")];
        check(&twice, Some((2, 1)));
    }

    #[test]
    fn the_digest_is_of_what_counts() {
        let digest = |text: String| {
            let evidence = read("run.jsonl", &(text + END)).unwrap();
            evidence.of(&ToolId::sanitized("a"), &Digest::of("version", b"a")).unwrap().digest
        };
        let one = line("g", true, "pass", "", "a");
        let other = line("h", true, "pass", "", "b");
        assert_eq!(digest(one.clone()), digest(one.clone() + &other));
        assert_ne!(digest(one.clone()), digest(line("g", true, "fail", "", "a")));
        assert_ne!(digest(one.clone()), digest(one + &line("h", true, "pass", "", "a")));
    }

    #[test]
    fn what_is_no_record_is_told() {
        for (text, expected) in [
            ("{\"event\":\"runStarted\"}\n", "r: the record has no last line"),
            ("{\"event\":\"trialFinished\",\"case\":\"g\"}\n", "r:1:1: a trial that does not say"),
            ("case_id,provider\n", "r:1:1: not JSON"),
            ("{\"type\":\"ToolVerified\"}\n", "r:1:1: this is no line of a run's record"),
        ] {
            let told: Vec<String> =
                read("r", text).unwrap_err().iter().map(|p| p.to_string()).collect();
            assert!(told.iter().any(|one| one.starts_with(expected)), "{expected}: {told:?}");
        }
    }
}
