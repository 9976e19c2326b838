//! The credentials of a suite: names, or what each is bound to and where its value comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::world::Millis;
use crate::runtime::credential::{Binding, Source};
use crate::tool::descriptor::CredentialStrategy;

/// Credentials that the broker holds. A run plants canaries for all of them and never reads a
/// value; `chat` reads the values of those that say where they come from.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CredentialsEntry {
    /// Their names; each is good for whoever names it.
    Names(Vec<String>),
    /// Their names, with what each is good for.
    Bound(BTreeMap<String, BindingEntry>),
}

/// What a credential is good for, and where its value comes from.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BindingEntry {
    /// The variable that holds the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// The file that holds the value; nobody but its owner may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The command that prints the value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Whose authority it is; any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<CredentialStrategy>,
    /// Who may act with it; anybody when empty.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub principals: BTreeSet<String>,
    /// For whom it was issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// What it allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<BTreeSet<String>>,
    /// When it ends, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// That its place gives new values, and when they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshEntry>,
}

/// When a value is obtained anew: when a service does not take it, and by its age.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RefreshEntry {
    /// How old it may become; no matter how old when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_seconds: Option<u64>,
}

impl CredentialsEntry {
    /// The names of all.
    pub fn names(&self) -> BTreeSet<String> {
        match self {
            Self::Names(names) => names.iter().cloned().collect(),
            Self::Bound(entries) => entries.keys().cloned().collect(),
        }
    }

    /// What each name is bound to, where that is said.
    pub fn bindings(&self) -> BTreeMap<String, Binding> {
        let each = self.entries();
        each.map(|(name, entry)| (name.clone(), entry.binding())).collect()
    }

    /// Where values come from, by name; files are below this folder.
    pub fn sources(&self, folder: &Path) -> BTreeMap<String, Source> {
        let each = self.entries();
        each.filter_map(|(name, entry)| Some((name.clone(), entry.source(folder)?))).collect()
    }

    /// The credentials that are obtained anew, by name, with how old they may become in
    /// milliseconds.
    pub fn refreshed(&self) -> BTreeMap<String, Option<Millis>> {
        let each = self.entries();
        each.filter_map(|(name, entry)| {
            let after = entry.refresh.as_ref()?.after_seconds;
            Some((name.clone(), after.map(|seconds| seconds.saturating_mul(1_000))))
        })
        .collect()
    }

    /// What is wrong with an entry, by name.
    pub fn problems(&self) -> Vec<(String, String)> {
        let each = self.entries();
        each.filter_map(|(name, entry)| Some((name.clone(), entry.problem()?))).collect()
    }

    /// The same with more of them; of two with one name the one that stood here counts. What names
    /// only bind stays unbound.
    #[must_use]
    pub fn with(self, more: BTreeMap<String, BindingEntry>) -> Self {
        let own: BTreeMap<String, BindingEntry> = match self {
            Self::Bound(entries) => entries,
            Self::Names(names) => {
                names.into_iter().map(|name| (name, BindingEntry::default())).collect()
            }
        };
        Self::Bound(more.into_iter().chain(own).collect())
    }

    fn entries(&self) -> impl Iterator<Item = (&String, &BindingEntry)> {
        let entries = match self {
            Self::Names(_) => None,
            Self::Bound(entries) => Some(entries),
        };
        entries.into_iter().flatten()
    }
}

impl BindingEntry {
    fn binding(&self) -> Binding {
        Binding {
            strategy: self.strategy,
            principals: self.principals.clone(),
            audience: self.audience.clone(),
            scopes: self.scopes.clone(),
            expires_at: self.expires_at.as_deref().and_then(moment),
        }
    }

    /// The same, where its file is below this folder.
    pub fn below(&mut self, folder: &str) {
        let join = |file: String| Path::new(folder).join(file).to_string_lossy().into_owned();
        self.file = self.file.take().map(join);
    }

    fn source(&self, folder: &Path) -> Option<Source> {
        match (&self.env, &self.file) {
            (Some(name), _) => Some(Source::Env(name.clone())),
            (None, Some(file)) => Some(Source::File(folder.join(file))),
            (None, None) => {
                (!self.command.is_empty()).then(|| Source::Command(self.command.clone()))
            }
        }
    }

    /// What is wrong with it.
    pub fn problem(&self) -> Option<String> {
        let said = [self.env.is_some(), self.file.is_some(), !self.command.is_empty()];
        if said.iter().filter(|one| **one).count() > 1 {
            return Some("its value comes from one place: `env`, `file` or `command`".to_owned());
        }
        if self.refresh.is_some() && self.file.is_none() && self.command.is_empty() {
            return Some(
                "`refresh` needs a `file` or a `command` that gives new values".to_owned(),
            );
        }
        let end = self.expires_at.as_deref().filter(|text| moment(text).is_none())?;
        Some(format!("expiresAt `{end}` is no moment such as 2031-01-31T12:00:00Z"))
    }
}

fn moment(text: &str) -> Option<Millis> {
    let at: jiff::Timestamp = text.parse().ok()?;
    Millis::try_from(at.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> CredentialsEntry {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn names_alone_bind_nothing() {
        let entry = read(r#"["A", "B"]"#);
        assert_eq!(entry.names(), ["A", "B"].map(str::to_owned).into());
        assert!(entry.bindings().is_empty() && entry.problems().is_empty());
    }

    #[test]
    fn an_entry_says_what_it_is_good_for_and_where_it_comes_from() {
        let entry = read(
            r#"{"A": {"env": "X", "audience": "api", "expiresAt": "1970-01-01T00:00:01Z"},
                "B": {"file": "b.key"}, "C": {"command": ["pass", "c"]}, "D": {}}"#,
        );
        assert_eq!(entry.bindings()["A"].expires_at, Some(1_000));
        assert_eq!(entry.bindings()["A"].audience.as_deref(), Some("api"));
        let sources = entry.sources(Path::new("s"));
        assert_eq!(sources["A"], Source::Env("X".to_owned()));
        assert_eq!(sources["B"], Source::File("s/b.key".into()));
        assert_eq!(sources["C"], Source::Command(["pass", "c"].map(str::to_owned).to_vec()));
        assert!(!sources.contains_key("D"));
    }

    #[test]
    fn what_is_wrong_is_said_by_name() {
        let entry = read(
            r#"{"A": {"env": "X", "file": "y"}, "B": {"expiresAt": "soon"},
                "C": {"env": "X", "refresh": {}}}"#,
        );
        let problems = entry.problems();
        assert!(problems[0].0 == "A" && problems[0].1.contains("one place"), "{problems:?}");
        assert!(problems[2].0 == "C" && problems[2].1.contains("`refresh`"), "{problems:?}");
        assert!(problems[1].0 == "B" && problems[1].1.contains("`soon`"), "{problems:?}");
    }
}
