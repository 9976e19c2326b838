//! Standing authority: an answer that covers more than one call, for exactly the scope that was
//! printed when it was given.

use super::validate::Validated;
use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::journal::event::catalog::ServerConsented;
use crate::runtime::mcp::McpServer;
use crate::runtime::policy::Principal;
use crate::tool::descriptor::{ApprovalPolicy, Descriptor};
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;

/// How far an answer reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum AnswerScope {
    /// This call.
    #[default]
    Once,
    /// Calls of this tool version by this principal, until the session ends.
    Session,
    /// Calls of this tool version by this principal, until the grant expires.
    Always,
}

/// How long a grant for `always` lasts: thirty days, in milliseconds.
pub const ALWAYS_MS: u64 = 30 * 24 * 60 * 60 * 1000;

impl AnswerScope {
    /// The name as written in files and journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
        }
    }
}

/// One grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// Which tool, by its exact id.
    pub tool: ToolId,
    /// Which version.
    pub version: Digest,
    /// To whom.
    pub principal: String,
    /// For which tenant; a grant for none covers calls for none.
    pub tenant: Option<String>,
    /// With which scopes; more or fewer than these is another question.
    pub scopes: Vec<String>,
    /// The strictest thing it covers.
    pub class: EffectClass,
    /// When it ends.
    pub expires_at: Option<Millis>,
}

impl Grant {
    /// Whether it covers a call now.
    fn covers(&self, call: &Validated, principal: &Principal, now: Millis) -> bool {
        let tool = call.resolved().tool();
        *tool.id() == self.tool
            && tool.version == self.version
            && principal.id == self.principal
            && principal.tenant == self.tenant
            && principal.scopes.iter().eq(&self.scopes)
            && tool.class <= self.class
            && self.expires_at.is_none_or(|end| now <= end)
    }
}

/// The grants of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    live: Vec<Grant>,
    consents: Vec<Consent>,
}

/// Somebody's word that a principal uses an MCP server: this one, as it is started or reached now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// Which server.
    pub server: String,
    /// Who it is.
    pub identity: Digest,
    /// Who may use it.
    pub principal: String,
    /// For which tenant.
    pub tenant: Option<String>,
    /// With which scopes; others are another question.
    pub scopes: Vec<String>,
}

impl Consent {
    /// What a principal's use of a server needs.
    pub fn of(server: &McpServer, principal: &Principal) -> Self {
        Self {
            server: server.id.clone(),
            identity: server.identity(),
            principal: principal.id.clone(),
            tenant: principal.tenant.clone(),
            scopes: principal.scopes.iter().cloned().collect(),
        }
    }

    /// The fact.
    pub fn fact(self, by: &str) -> ServerConsented {
        ServerConsented {
            server_id: self.server,
            identity: self.identity,
            principal: self.principal,
            tenant: self.tenant,
            scopes: self.scopes,
            by: Some(by.to_owned()),
        }
    }
}

impl From<&ServerConsented> for Consent {
    fn from(fact: &ServerConsented) -> Self {
        Self {
            server: fact.server_id.clone(),
            identity: fact.identity,
            principal: fact.principal.clone(),
            tenant: fact.tenant.clone(),
            scopes: fact.scopes.clone(),
        }
    }
}

impl Grants {
    /// Adds one.
    pub fn add(&mut self, grant: Grant) {
        self.live.push(grant);
    }

    /// Remembers a consent.
    pub fn consent(&mut self, consent: Consent) {
        if !self.consents.contains(&consent) {
            self.consents.push(consent);
        }
    }

    /// Whether a use of a server was agreed to.
    pub fn consented(&self, consent: &Consent) -> bool {
        self.consents.contains(consent)
    }

    /// Takes one back; whether it was there.
    pub fn revoke(&mut self, id: &str) -> bool {
        let before = self.live.len();
        self.live.retain(|grant| grant.id != id);
        self.live.len() < before
    }

    /// Whether a grant still stands.
    pub fn stands(&self, id: &str, now: Millis) -> bool {
        let mut live = self.live.iter();
        live.any(|grant| grant.id == id && grant.expires_at.is_none_or(|end| now <= end))
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.live.iter()
    }

    /// The ids of all that stand.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.live.iter().map(|grant| grant.id.as_str())
    }
}

/// Whether no answer for one call of a tool covers another.
pub(super) fn asks_each_time(tool: &Descriptor) -> bool {
    tool.permissions.approval_policy == ApprovalPolicy::Always || tool.shell_line().is_some()
}

/// The grant that answers an ask: never a strong one, and never for a tool that always asks, or
/// whose calls are command lines, of which each is another question.
pub fn standing<'g>(
    grants: &'g Grants,
    call: &Validated,
    principal: &Principal,
    now: Millis,
) -> Option<&'g Grant> {
    let asks_always = asks_each_time(&call.resolved().tool().descriptor);
    grants.live.iter().find(|grant| !asks_always && grant.covers(call, principal, now))
}
