//! Whose authority: the broker holds values; everybody else sees names.

mod binding;
mod source;

use std::collections::{BTreeMap, BTreeSet};

pub use binding::{Binding, NotBound};
pub use source::{Source, SourceError};

use crate::base::secret::{CANARY_PREFIX, Secret, SecretSet, keyed_hash};
use crate::base::world::Millis;
use crate::journal::event::turn::SecretHash;
use crate::tool::descriptor::{CredentialStrategy, Descriptor};

/// Credentials by name.
#[derive(Debug, Clone, Default)]
pub struct Broker {
    values: BTreeMap<String, Secret>,
    bindings: BTreeMap<String, Binding>,
    // The search for them is built once and shared by every session that scrubs.
    secrets: SecretSet,
}

impl Broker {
    /// A broker that holds these.
    pub fn new(values: BTreeMap<String, Secret>) -> Self {
        Self { secrets: SecretSet::new(values.values().cloned()), values, ..Self::default() }
    }

    /// The same, where these names are bound; any other is good for whoever names it.
    #[must_use]
    pub fn bound(self, bindings: BTreeMap<String, Binding>) -> Self {
        Self { bindings, ..self }
    }

    /// Whether a tool may use all the credentials it requires, for this principal and now.
    ///
    /// # Errors
    /// The first that it may not use, and why.
    pub fn bind(&self, tool: &Descriptor, principal: &str, now: Millis) -> Result<(), NotBound> {
        let wanted = &tool.credentials;
        if wanted.strategy == CredentialStrategy::None {
            return Ok(());
        }
        for name in &wanted.required_secrets {
            if !self.values.contains_key(name) {
                return Err(NotBound::NotHeld(name.clone()));
            }
            if let Some(binding) = self.bindings.get(name) {
                let scopes = (wanted, tool.permissions.required_scopes.as_slice());
                binding.allows(name, scopes, principal, now)?;
            }
        }
        Ok(())
    }

    /// The hashes by which a journal names the values that are real ones, under the session's key.
    pub fn hashes(&self, key: &str) -> Vec<SecretHash> {
        let real = self.values.values().filter(|value| !value.expose().starts_with(CANARY_PREFIX));
        let named = |value: &Secret| SecretHash {
            chars: value.expose().chars().count(),
            hash: keyed_hash(key, value.expose()),
        };
        real.map(named).collect()
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
