//! Whose authority: the broker holds values; everybody else sees names.

mod binding;
mod renew;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use binding::{Binding, NotBound};
use renew::{Held, Renewal};
pub use renew::{InUse, Renew};
pub use source::{Source, SourceError};

use crate::base::secret::{CANARY_PREFIX, Secret, SecretSet, keyed_hash};
use crate::base::world::Millis;
use crate::journal::event::turn::SecretHash;
use crate::tool::descriptor::{CredentialStrategy, Descriptor};

/// What a start has of credentials that are obtained anew.
#[derive(Debug, Default)]
pub struct Fresh {
    /// The values it is started with.
    pub in_use: InUse,
    /// Those of them that were obtained for it.
    pub obtained: Vec<Secret>,
}

/// A value, named without being held.
pub fn hash(key: &str, value: &Secret) -> SecretHash {
    let text = value.expose();
    SecretHash { chars: text.chars().count(), hash: keyed_hash(key, text) }
}

/// Credentials by name.
#[derive(Debug, Clone, Default)]
pub struct Broker {
    values: BTreeMap<String, Arc<Held>>,
    renewals: BTreeMap<String, Renewal>,
    bindings: BTreeMap<String, Binding>,
    // The search for them is built once and shared by every session that scrubs.
    secrets: SecretSet,
}

impl Broker {
    /// A broker that holds these.
    pub fn new(values: BTreeMap<String, Secret>) -> Self {
        let secrets = SecretSet::new(values.values().cloned());
        let values = values.into_iter().map(|(name, value)| (name, Held::new(value, None)));
        Self { secrets, values: values.collect(), ..Self::default() }
    }

    /// The same, where a credential is obtained anew when a service does not take it, and when it
    /// is older than its lifetime, in milliseconds, counted from when it was read.
    #[must_use]
    pub fn renewed(
        mut self,
        name: &str,
        from: Arc<dyn Renew>,
        (lifetime, read): (Option<Millis>, Millis),
    ) -> Self {
        let renewal = Renewal::new(from, lifetime);
        if let Some(held) = self.values.get_mut(name) {
            *held = Held::new(held.value.clone(), renewal.ends(read));
        }
        self.renewals.insert(name.to_owned(), renewal);
        self
    }

    /// Whether a credential that a tool requires is obtained anew.
    pub fn renews(&self, tool: &Descriptor) -> bool {
        let required = &tool.credentials.required_secrets;
        required.iter().any(|name| self.renewals.contains_key(name))
    }

    /// Has every credential that a tool requires good for a start now. What is obtained for it is
    /// known to every scrubber before anybody uses it.
    ///
    /// # Errors
    /// That somebody must authorize again.
    pub async fn fresh(&self, tool: &Descriptor, now: Millis) -> Result<Fresh, NotBound> {
        let mut fresh = Fresh::default();
        for name in &tool.credentials.required_secrets {
            let Some(held) = self.values.get(name) else { continue };
            if let Some(renewal) = self.renewals.get(name) {
                let secrets = &self.secrets;
                let learn = |value| secrets.learn(value);
                fresh.obtained.extend(renewal.fresh((name, held), now, &learn).await?);
                fresh.in_use.0.push(Arc::clone(held.latest()));
            }
        }
        Ok(fresh)
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
        let values = self.values.values().map(|held| &held.latest().value);
        let real = values.filter(|value| !value.expose().starts_with(CANARY_PREFIX));
        real.map(|value| hash(key, value)).collect()
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
        self.values.get(name).map(|held| &held.latest().value)
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
        for (name, held) in &self.values {
            let value = &held.latest().value;
            let place = format!("${{secret:{name}}}");
            if out.contains(&place) {
                out = out.replace(&place, value.expose());
            }
        }
        out
    }
}
