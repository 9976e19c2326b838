//! To whom a credential is bound: which principal may use it, at which audience, with which scopes,
//! until when (seed B sections 7 and 15). Who asks for it sees why not, and never the value.

use std::collections::BTreeSet;

use crate::base::world::Millis;
use crate::tool::descriptor::{CredentialStrategy, Credentials};

/// What a credential is good for. Without limits it is good for whoever holds its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Binding {
    /// Whose authority it is; any when absent.
    pub strategy: Option<CredentialStrategy>,
    /// Who may act with it; anybody when empty.
    pub principals: BTreeSet<String>,
    /// For whom it was issued (`aud`); unknown when absent.
    pub audience: Option<String>,
    /// What it allows; unknown when absent.
    pub scopes: Option<BTreeSet<String>>,
    /// When it ends.
    pub expires_at: Option<Millis>,
}

/// Why a credential cannot be used for a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotBound {
    /// The broker does not have it.
    #[error("credential {0} is not held")]
    NotHeld(String),
    /// It is somebody else's.
    #[error("credential {0} is not bound to {1}")]
    Principal(String, String),
    /// It is of another kind.
    #[error("credential {0} is of another strategy than the tool's")]
    Strategy(String),
    /// It is for somebody else, or nobody knows for whom it is.
    #[error("credential {0} is not for the audience {1}")]
    Audience(String, String),
    /// It does not allow what the tool needs, or nobody knows what it allows.
    #[error("credential {0} lacks the scope {1}")]
    Scope(String, String),
    /// Its time is over: somebody has to authorize again.
    #[error("credential {0} has expired; it must be authorized again")]
    Expired(String),
}

impl Binding {
    /// Whether a tool may use it now, for this principal. An audience or a scope check that the
    /// tool demands fails where the binding does not say.
    ///
    /// # Errors
    /// Why not.
    pub fn allows(
        &self,
        name: &str,
        (wanted, scopes): (&Credentials, &[String]),
        principal: &str,
        now: Millis,
    ) -> Result<(), NotBound> {
        let name = || name.to_owned();
        if !self.principals.is_empty() && !self.principals.contains(principal) {
            return Err(NotBound::Principal(name(), principal.to_owned()));
        }
        if self.strategy.is_some_and(|strategy| strategy != wanted.strategy) {
            return Err(NotBound::Strategy(name()));
        }
        if let Some(audience) = &wanted.token_audience
            && self.audience.as_ref() != Some(audience)
        {
            return Err(NotBound::Audience(name(), audience.clone()));
        }
        if wanted.scope_check_required {
            let held = |scope: &&String| {
                self.scopes.as_ref().is_some_and(|scopes| scopes.contains(*scope))
            };
            if let Some(missing) = scopes.iter().find(|scope| !held(scope)) {
                return Err(NotBound::Scope(name(), missing.clone()));
            }
        }
        if self.expires_at.is_some_and(|end| now > end) {
            return Err(NotBound::Expired(name()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Credentials {
        Credentials {
            strategy: CredentialStrategy::UserOauth,
            required_secrets: vec!["TOKEN".to_owned()],
            token_audience: Some("api.example".to_owned()),
            scope_check_required: true,
        }
    }

    fn fitting() -> Binding {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Binding {
            strategy: Some(CredentialStrategy::UserOauth),
            principals: set(&["ada"]),
            audience: Some("api.example".to_owned()),
            scopes: Some(set(&["read", "write"])),
            expires_at: Some(100),
        }
    }

    fn check(binding: &Binding, who: &str, now: Millis, expected: &str) {
        let scopes = ["read".to_owned()];
        let found = binding.allows("TOKEN", (&wanted(), &scopes), who, now);
        let found = found.map_or_else(|why| why.to_string(), |()| "allowed".to_owned());
        assert_eq!(found, expected);
    }

    #[test]
    fn every_limit_is_held_against_the_call() {
        check(&fitting(), "ada", 100, "allowed");
        check(&fitting(), "bob", 100, "credential TOKEN is not bound to bob");
        let expired = "credential TOKEN has expired; it must be authorized again";
        check(&fitting(), "ada", 101, expired);
        let other = Binding { audience: Some("evil.example".to_owned()), ..fitting() };
        check(&other, "ada", 0, "credential TOKEN is not for the audience api.example");
        let unknown = Binding { audience: None, ..fitting() };
        check(&unknown, "ada", 0, "credential TOKEN is not for the audience api.example");
        let narrow = Binding { scopes: Some(BTreeSet::new()), ..fitting() };
        check(&narrow, "ada", 0, "credential TOKEN lacks the scope read");
        check(
            &Binding { scopes: None, ..fitting() },
            "ada",
            0,
            "credential TOKEN lacks the scope read",
        );
        let system = Binding { strategy: Some(CredentialStrategy::System), ..fitting() };
        check(&system, "ada", 0, "credential TOKEN is of another strategy than the tool's");
        let free = Binding { strategy: None, principals: BTreeSet::new(), ..fitting() };
        check(&free, "bob", 0, "allowed");
    }

    #[test]
    fn a_tool_that_demands_nothing_takes_what_is_held() {
        let plain = Credentials { strategy: CredentialStrategy::System, ..Credentials::default() };
        assert_eq!(Binding::default().allows("T", (&plain, &[]), "ada", 9), Ok(()));
    }
}
