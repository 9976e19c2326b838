//! Whose authority: the broker holds values; everybody else sees names.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::secret::{Secret, SecretSet};

/// Credentials by name.
#[derive(Debug, Clone, Default)]
pub struct Broker {
    values: BTreeMap<String, Secret>,
    // The search for them is built once and shared by every session that scrubs.
    secrets: SecretSet,
}

impl Broker {
    /// A broker that holds these.
    pub fn new(values: BTreeMap<String, Secret>) -> Self {
        Self { secrets: SecretSet::new(values.values().cloned()), values }
    }

    /// The names it holds.
    pub fn names(&self) -> BTreeSet<String> {
        self.values.keys().cloned().collect()
    }

    /// How many it holds.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A value by its name, for whoever hands it over.
    pub fn secret(&self, name: &str) -> Option<&Secret> {
        self.values.get(name)
    }

    /// All values, for scrubbing.
    pub fn secrets(&self) -> &SecretSet {
        &self.secrets
    }

    /// Puts values where `${secret:NAME}` stands; unknown names stay as they are.
    pub fn fill(&self, text: &str) -> String {
        let mut out = text.to_owned();
        if !out.contains("${secret:") {
            return out;
        }
        for (name, value) in &self.values {
            let place = format!("${{secret:{name}}}");
            if out.contains(&place) {
                out = out.replace(&place, value.expose());
            }
        }
        out
    }
}
