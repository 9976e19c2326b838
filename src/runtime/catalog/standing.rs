//! Where every tool of a registry stands: a pure fold of its facts.
//!
//! The facts of tools follow the state machine, and one that is out of order is told. Those of
//! grants are a log of their own, so they are held beside it: a grant is bound to a version, and
//! counts while exactly that version is enabled.

use std::collections::BTreeMap;

use super::lifecycle::{Hold, OutOfOrder, State, Step, next};
use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::journal::Event;
use crate::journal::event::catalog::{GrantIssued, ToolDiscovered};
use crate::tool::descriptor::{Descriptor, TrustLevel};
use crate::tool::id::ToolId;
use crate::tool::risk::{self, Level};

/// One tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Where the facts of tools led; grants are not part of it.
    stage: State,
    /// The kind of its source.
    pub source: Option<String>,
    /// Digest of its definition as it came.
    pub manifest: Option<Digest>,
    /// The version in question: the one that was normalized last.
    pub version: Option<Digest>,
    /// Every version there was, oldest first.
    pub versions: Vec<Digest>,
    /// What holds it, or why it is blocked.
    pub why: Option<String>,
    /// Who disabled, blocked or deprecated it last, where that was said.
    pub by: Option<String>,
    /// Who looked at this version last, and whether it was accepted.
    pub review: Option<(String, bool)>,
    /// Where it is enabled, with the evidence.
    pub scopes: BTreeMap<String, Option<Digest>>,
    /// Grants that were not taken back, by id.
    pub grants: BTreeMap<String, GrantIssued>,
    /// What to use instead.
    pub successor: Option<ToolId>,
    /// When it was seen first.
    pub registered_at: Millis,
    /// When something about it was recorded last.
    pub updated_at: Millis,
}

impl Standing {
    /// Where it stands, whoever asks.
    pub fn state(&self) -> State {
        let granted = self.stage == State::Enabled && self.bound().next().is_some();
        if granted { State::Granted } else { self.stage }
    }

    /// Where it stands for one principal in one scope: `callable` where it is enabled there and
    /// either runs by itself or was granted and the grant has not ended. By itself runs what has
    /// the level L0 or L1, which a tool's own word decides; so its source must be trusted.
    pub fn state_for(&self, asks: &Asks<'_>) -> State {
        if !self.stage.is_enabled() {
            return self.stage;
        }
        if !self.scopes.contains_key(asks.scope) {
            return State::Verified;
        }
        let trusted = match asks.trust {
            TrustLevel::FirstParty | TrustLevel::Workspace => true,
            TrustLevel::ThirdParty | TrustLevel::Untrusted => false,
        };
        let by_itself = match asks.level {
            Level::L0 | Level::L1 => trusted,
            Level::L2 | Level::L3 | Level::L4 | Level::L5 => false,
        };
        let mut granted = self.bound().filter(|grant| {
            grant.principal == asks.principal
                && grant.tenant.as_deref() == asks.tenant
                && grant.scope == asks.scope
                && grant.expires_at.is_none_or(|end| asks.now <= end)
        });
        if by_itself || granted.next().is_some() { State::Callable } else { self.state() }
    }

    /// Why it is not callable for one principal in one scope, and who saw to that, where it is
    /// known.
    pub fn why_not(&self, asks: &Asks<'_>) -> (String, Option<String>) {
        let why = match self.state_for(asks) {
            State::Verified => format!("it is not enabled in `{}`", asks.scope),
            State::Enabled | State::Granted => {
                format!("no grant in `{}` lets {} call it", asks.scope, asks.principal)
            }
            state => match &self.why {
                Some(why) => format!("the registry has it as {}: {why}", state.name()),
                None => format!("the registry has it as {}", state.name()),
            },
        };
        (why, self.by.clone())
    }

    /// When the first of the grants that let somebody call it ends; `None` where none does.
    pub fn until(&self, asks: &Asks<'_>) -> Option<Millis> {
        let ends = self.bound().filter(|grant| grant.principal == asks.principal);
        ends.filter_map(|grant| grant.expires_at).filter(|end| *end >= asks.now).min()
    }

    /// Grants for exactly this version.
    fn bound(&self) -> impl Iterator<Item = &GrantIssued> {
        self.grants.values().filter(|grant| Some(grant.tool_version) == self.version)
    }

    fn of(state: State, at: Millis) -> Self {
        Self {
            stage: state,
            source: None,
            manifest: None,
            version: None,
            versions: Vec::new(),
            why: None,
            by: None,
            review: None,
            scopes: BTreeMap::new(),
            grants: BTreeMap::new(),
            successor: None,
            registered_at: at,
            updated_at: at,
        }
    }
}

/// Who asks whether a tool may be called.
#[derive(Debug, Clone, Copy)]
pub struct Asks<'a> {
    /// The scope.
    pub scope: &'a str,
    /// The principal.
    pub principal: &'a str,
    /// The tenant that the principal acts for: a grant for one is none for another, nor for nobody.
    pub tenant: Option<&'a str>,
    /// The present time.
    pub now: Millis,
    /// The tool's level of authority.
    pub level: Level,
    /// How far its source is trusted.
    pub trust: TrustLevel,
}

/// Whoever holds authority in a scope of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The scope.
    pub scope: String,
    /// The principal.
    pub principal: String,
    /// The tenant that the principal acts for.
    pub tenant: Option<String>,
}

impl Holder {
    /// Asks for a tool, now.
    pub fn asks(&self, tool: &Descriptor, now: Millis) -> Asks<'_> {
        Asks {
            scope: &self.scope,
            principal: &self.principal,
            tenant: self.tenant.as_deref(),
            now,
            level: risk::level(tool),
            trust: tool.provenance.trust_level,
        }
    }
}

/// All tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Book {
    tools: BTreeMap<ToolId, Standing>,
    /// Whose every grant is, those included that were taken back.
    grants: BTreeMap<String, ToolId>,
}

/// Why a fact cannot follow those before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFact {
    /// The state machine refuses it.
    #[error("`{tool}`: {refusal}")]
    Order {
        /// Which tool.
        tool: ToolId,
        /// What the machine says.
        refusal: OutOfOrder,
    },
    /// It is about another version than the one in question.
    #[error("`{tool}`: version {} is not the one that was normalized last", version.short())]
    Version {
        /// Which tool.
        tool: ToolId,
        /// The version it names.
        version: Digest,
    },
    /// It ends what was not there.
    #[error("`{tool}` is not enabled in `{scope}`")]
    Scope {
        /// Which tool.
        tool: ToolId,
        /// The scope.
        scope: String,
    },
    /// It takes back what nobody gave.
    #[error("there is no grant `{0}`")]
    NoGrant(String),
    /// A grant's id stands twice.
    #[error("there is a grant `{0}` already")]
    SecondGrant(String),
    /// It belongs to a session, not to a registry.
    #[error("`{0}` is no fact of a registry")]
    Foreign(&'static str),
}

impl Book {
    /// One tool.
    pub fn get(&self, tool: &ToolId) -> Option<&Standing> {
        self.tools.get(tool)
    }

    /// All tools in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&ToolId, &Standing)> {
        self.tools.iter()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How many grants there ever were.
    pub fn issued(&self) -> usize {
        self.grants.len()
    }

    /// Whose a grant is, be it in force or not.
    pub fn owner(&self, grant: &str) -> Option<&ToolId> {
        self.grants.get(grant)
    }

    /// Takes the next fact. A fact that is refused changes nothing.
    ///
    /// # Errors
    /// Why it cannot follow.
    pub fn take(&mut self, at: Millis, event: &Event) -> Result<(), BadFact> {
        let done = match event {
            Event::ToolDiscovered(fact) => self.discovered(at, fact)?,
            Event::ToolParsed(fact) => {
                let own = self.step(at, &fact.tool_id, Step::Parse)?;
                own.manifest = fact.manifest_hash;
                own
            }
            Event::ToolNormalized(fact) => {
                let own = self.step(at, &fact.tool_id, Step::Normalize)?;
                own.version = Some(fact.tool_version);
                if !own.versions.contains(&fact.tool_version) {
                    own.versions.push(fact.tool_version);
                }
                own
            }
            Event::ToolVerified(fact) => {
                self.same_version(&fact.tool_id, fact.tool_version)?;
                let own = self.step(at, &fact.tool_id, Step::Verify)?;
                (own.why, own.by) = (None, None);
                own
            }
            Event::ToolReviewed(fact) => {
                self.same_version(&fact.tool_id, fact.tool_version)?;
                let step = if fact.accepted { Step::Accept } else { Step::Reject };
                let own = self.step(at, &fact.tool_id, step)?;
                own.review = Some((fact.reviewer.clone(), fact.accepted));
                if !fact.accepted {
                    own.why = Some(format!("{} did not accept it", fact.reviewer));
                }
                own
            }
            Event::ToolEnabled(fact) => {
                self.same_version(&fact.tool_id, fact.tool_version)?;
                let own = self.step(at, &fact.tool_id, Step::Enable)?;
                own.scopes.insert(fact.scope.clone(), fact.evidence);
                own.by = None;
                own
            }
            Event::ToolDisabled(fact) => {
                let own = self.disabled(at, &fact.tool_id, &fact.scope)?;
                own.by = fact.by.clone();
                own
            }
            Event::ToolBlocked(fact) => {
                let (hold, why) = Hold::read(&fact.reason);
                let step = hold.map_or(Step::Block, Step::Hold);
                let own = self.step(at, &fact.tool_id, step)?;
                (own.why, own.by) = (Some(why.to_owned()), fact.by.clone());
                own
            }
            Event::ToolDeprecated(fact) => {
                let own = self.step(at, &fact.tool_id, Step::Deprecate)?;
                (own.successor, own.by) = (fact.successor.clone(), fact.by.clone());
                own
            }
            Event::GrantIssued(fact) => return self.granted(at, fact),
            Event::GrantRevoked(fact) => self.revoked(&fact.grant_id)?,
            other => return Err(BadFact::Foreign(other.name())),
        };
        if !done.stage.is_enabled() {
            done.scopes.clear();
        }
        done.updated_at = done.updated_at.max(at);
        Ok(())
    }

    /// The tools that facts are about, with what else is needed to judge those.
    pub(super) fn excerpt(&self, facts: &[Event]) -> Self {
        let mut own = Self { grants: self.grants.clone(), ..Self::default() };
        for tool in facts.iter().filter_map(|fact| self.subject(fact)) {
            if let Some(standing) = self.tools.get(tool) {
                own.tools.insert(tool.clone(), standing.clone());
            }
        }
        own
    }

    /// Puts an excerpt back in its place.
    pub(super) fn put(&mut self, excerpt: Self) {
        self.tools.extend(excerpt.tools);
        self.grants = excerpt.grants;
    }

    /// Which tool a fact is about.
    fn subject<'a>(&'a self, fact: &'a Event) -> Option<&'a ToolId> {
        match fact {
            Event::ToolDiscovered(fact) => Some(&fact.tool_id),
            Event::ToolParsed(fact) => Some(&fact.tool_id),
            Event::ToolNormalized(fact) => Some(&fact.tool_id),
            Event::ToolVerified(fact) => Some(&fact.tool_id),
            Event::ToolReviewed(fact) => Some(&fact.tool_id),
            Event::ToolEnabled(fact) => Some(&fact.tool_id),
            Event::ToolDisabled(fact) => Some(&fact.tool_id),
            Event::ToolBlocked(fact) => Some(&fact.tool_id),
            Event::ToolDeprecated(fact) => Some(&fact.tool_id),
            Event::GrantIssued(fact) => Some(&fact.tool_id),
            Event::GrantRevoked(fact) => self.owner(&fact.grant_id),
            _ => None,
        }
    }

    fn step(&mut self, at: Millis, tool: &ToolId, step: Step) -> Result<&mut Standing, BadFact> {
        let from = self.tools.get(tool).map(|own| own.stage);
        let to =
            next(from, step).map_err(|refusal| BadFact::Order { tool: tool.clone(), refusal })?;
        let own = self.tools.entry(tool.clone()).or_insert_with(|| Standing::of(to, at));
        own.stage = to;
        Ok(own)
    }

    fn same_version(&self, tool: &ToolId, version: Digest) -> Result<(), BadFact> {
        match self.tools.get(tool) {
            Some(own) if own.version != Some(version) => {
                Err(BadFact::Version { tool: tool.clone(), version })
            }
            _ => Ok(()),
        }
    }

    /// A new definition begins anew; what was granted is bound to the old one.
    fn discovered(&mut self, at: Millis, fact: &ToolDiscovered) -> Result<&mut Standing, BadFact> {
        let own = self.step(at, &fact.tool_id, Step::Discover)?;
        *own = Standing {
            source: fact.source.clone(),
            versions: std::mem::take(&mut own.versions),
            grants: std::mem::take(&mut own.grants),
            registered_at: own.registered_at,
            ..Standing::of(State::Discovered, at)
        };
        Ok(own)
    }

    /// The last scope that ends is a step; one of several is none.
    fn disabled(
        &mut self,
        at: Millis,
        tool: &ToolId,
        scope: &str,
    ) -> Result<&mut Standing, BadFact> {
        let scopes = self.tools.get(tool).map(|own| &own.scopes);
        let Some(scopes) = scopes.filter(|scopes| scopes.contains_key(scope)) else {
            return Err(BadFact::Scope { tool: tool.clone(), scope: scope.to_owned() });
        };
        if scopes.len() == 1 {
            self.step(at, tool, Step::Disable)?;
        }
        let missing = || BadFact::Scope { tool: tool.clone(), scope: scope.to_owned() };
        let own = self.tools.get_mut(tool).ok_or_else(missing)?;
        own.scopes.remove(scope);
        Ok(own)
    }

    fn revoked(&mut self, grant: &str) -> Result<&mut Standing, BadFact> {
        let missing = || BadFact::NoGrant(grant.to_owned());
        let tool = self.grants.get(grant).ok_or_else(missing)?;
        let own = self.tools.get_mut(tool).ok_or_else(missing)?;
        own.grants.remove(grant);
        Ok(own)
    }

    fn granted(&mut self, at: Millis, fact: &GrantIssued) -> Result<(), BadFact> {
        let id = &fact.grant_id;
        if self.grants.contains_key(id) {
            return Err(BadFact::SecondGrant(id.clone()));
        }
        let Some(own) = self.tools.get_mut(&fact.tool_id) else {
            let refusal = OutOfOrder { from: None, step: Step::Grant, why: "nobody registered it" };
            return Err(BadFact::Order { tool: fact.tool_id.clone(), refusal });
        };
        own.grants.insert(id.clone(), fact.clone());
        own.updated_at = own.updated_at.max(at);
        self.grants.insert(id.clone(), fact.tool_id.clone());
        Ok(())
    }
}
