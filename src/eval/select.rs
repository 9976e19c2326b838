//! Which cases are run.

use std::sync::Arc;

use globset::{Glob, GlobMatcher};

use super::case::Case;

/// Filters; a case must pass all that are given.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    cases: Vec<GlobMatcher>,
    tags: Vec<String>,
    tools: Vec<String>,
}

impl Selection {
    /// Builds the filters; ids are globs.
    ///
    /// # Errors
    /// The glob that cannot be read, and why.
    pub fn new(
        cases: &[String],
        tags: &[String],
        tools: &[String],
    ) -> Result<Self, (String, String)> {
        let glob = |text: &String| match Glob::new(text) {
            Ok(glob) => Ok(glob.compile_matcher()),
            Err(error) => Err((text.clone(), error.kind().to_string())),
        };
        let cases = cases.iter().map(glob).collect::<Result<_, _>>()?;
        Ok(Self { cases, tags: tags.to_vec(), tools: tools.to_vec() })
    }

    /// Whether everything is run.
    pub fn is_everything(&self) -> bool {
        self.cases.is_empty() && self.tags.is_empty() && self.tools.is_empty()
    }

    /// The cases that pass.
    pub fn apply(&self, cases: &[Arc<Case>]) -> Vec<Arc<Case>> {
        cases.iter().filter(|case| self.wants(case)).map(Arc::clone).collect()
    }

    fn wants(&self, case: &Case) -> bool {
        let expected = || case.expect.alternatives.iter().flatten();
        (self.cases.is_empty() || self.cases.iter().any(|glob| glob.is_match(&*case.id)))
            && (self.tags.is_empty() || self.tags.iter().any(|tag| case.tags.contains(tag)))
            && (self.tools.is_empty()
                || expected().any(|call| self.tools.iter().any(|tool| **tool == *call.tool)))
    }
}
