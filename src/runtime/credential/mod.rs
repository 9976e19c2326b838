//! Whose authority: the broker holds values; everybody else sees names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use crate::base::secret::{Secret, SecretSet};

/// Credentials by name.
#[derive(Debug, Clone, Default)]
pub struct Broker {
    values: BTreeMap<String, Secret>,
    // The search for them is built once and shared by every session that scrubs.
    secrets: SecretSet,
    // Only sessions that send credentials need it.
    sent: OnceLock<SecretSet>,
}

impl Broker {
    /// A broker that holds these.
    pub fn new(values: BTreeMap<String, Secret>) -> Self {
        let secrets = SecretSet::new(values.values().cloned());
        Self { secrets, values, sent: OnceLock::new() }
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

    /// All values in the spellings of those who were sent them, for scrubbing what they answer.
    pub fn sent(&self) -> &SecretSet {
        self.sent.get_or_init(|| self.secrets.with_encoded())
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
