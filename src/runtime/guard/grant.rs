//! Standing authority: an answer that covers more than one call, for exactly the scope that was
//! printed when it was given.

use super::validate::Validated;
use crate::base::digest::Digest;
use crate::base::world::Millis;
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
}

impl Grants {
    /// Adds one.
    pub fn add(&mut self, grant: Grant) {
        self.live.push(grant);
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
