//! The registration desk: what somebody asks of a registry becomes the facts that answer it, or a
//! refusal that says what is missing. Pure; whoever keeps the registry writes the facts down.

use super::lifecycle::{Hold, OutOfOrder, State, Step, next};
use super::lint;
use super::registry::Registered;
use super::signature::{Keys, Signed};
use super::source::{Imported, Severity};
use super::standing::{Book, Standing};
use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::journal::Event;
use crate::journal::event::catalog::*;
use crate::tool::descriptor::Descriptor;
use crate::tool::id::ToolId;
use crate::tool::risk;

/// The scope in which tools are measured: the only one that needs no evidence, because evidence
/// is made there.
pub const EVALUATION: &str = "evaluation";

/// The scope in which agents act.
pub const LIVE: &str = "live";

/// Golden prompts that a tool needs before it is enabled: as many as `init` asks its author for.
pub const GOLDEN: u64 = 4;

/// One definition, as a source showed it.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// What it became.
    pub descriptor: Descriptor,
    /// Digest of the definition as it came.
    pub manifest: Digest,
    /// Why its schemas cannot judge arguments, where they cannot.
    pub unusable: Option<String>,
}

/// What an import found, one definition each; one whose schemas could not be kept as they came
/// says why.
pub fn candidates(imported: &Imported) -> impl Iterator<Item = Candidate> {
    imported.descriptors.iter().map(|descriptor| {
        let id = descriptor.tool_id.as_str();
        let mut own = imported.problems.iter().filter(|problem| problem.tool == id);
        let unusable = own.find(|problem| problem.severity == Severity::Unusable);
        let unusable = unusable.map(|problem| problem.message.clone());
        // The definition as it came is in the descriptor, field by field.
        let manifest = descriptor.content_digest();
        Candidate { descriptor: descriptor.clone(), manifest, unusable }
    })
}

/// What enabling rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// Golden prompts of exactly this version.
    Golden {
        /// Digest of the record.
        evidence: Digest,
        /// How many asked for the tool, or got it unasked.
        judged: u64,
        /// In how many everything was as expected.
        passed: u64,
    },
    /// Nothing yet, and why.
    Without(String),
}

/// Why nothing is recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody registered it.
    #[error("there is no tool `{0}` in this registry")]
    Unknown(String),
    /// It stands elsewhere.
    #[error("`{tool}`: {order}{}", because(why.as_deref()))]
    Order {
        /// Which tool.
        tool: ToolId,
        /// What the state machine says.
        order: OutOfOrder,
        /// What holds it.
        why: Option<String>,
    },
    /// Outside of evaluations evidence is needed (seed B invariant 16).
    #[error("`{tool}` has no golden evidence, and `{scope}` is no evaluation")]
    NoEvidence {
        /// Which tool.
        tool: ToolId,
        /// The scope.
        scope: String,
    },
    /// Too few prompts.
    #[error("`{tool}` was judged by {judged} golden prompts, and needs {GOLDEN}")]
    TooFew {
        /// Which tool.
        tool: ToolId,
        /// How many there are.
        judged: u64,
    },
    /// Too many failed: four in five must pass.
    #[error("`{tool}` passed {passed} of {judged} golden prompts, and needs four in five")]
    TooWeak {
        /// Which tool.
        tool: ToolId,
        /// Passed.
        passed: u64,
        /// Judged.
        judged: u64,
    },
    /// It is not enabled there.
    #[error("`{tool}` is not enabled in `{scope}`")]
    NotEnabled {
        /// Which tool.
        tool: ToolId,
        /// The scope.
        scope: String,
    },
    /// A person must be named, or a reason given.
    #[error("{0} is empty")]
    Blank(&'static str),
    /// No such grant, or it was taken back before.
    #[error("there is no grant `{0}` in force")]
    NoGrant(String),
    /// What it says of its own content is not so: it was changed after that was written down.
    #[error("`{tool}` states the manifest hash {stated}, and its content is {found}")]
    Manifest {
        /// Which tool.
        tool: ToolId,
        /// `provenance.manifestHash`.
        stated: Digest,
        /// Digest of its content.
        found: Digest,
    },
    /// Its signature is not one of its content.
    #[error("`{tool}`: {why}")]
    Signature {
        /// Which tool.
        tool: ToolId,
        /// What is wrong.
        why: String,
    },
    /// A tool cannot follow itself.
    #[error("`{0}` cannot be its own successor")]
    OwnSuccessor(ToolId),
}

fn because(why: Option<&str>) -> String {
    why.map(|why| format!(" ({why})")).unwrap_or_default()
}

type Facts = Result<Vec<Event>, Refusal>;

/// Registers a definition. Nothing is recorded where it is known as it is. A changed one is a new
/// version: what was enabled and granted ends, and it is judged again from the start.
///
/// # Errors
/// When the tool is blocked, or is not what its manifest hash or its signature says.
pub fn add(book: &Book, candidate: &Candidate, keys: &Keys) -> Facts {
    let (descriptor, id) = (&candidate.descriptor, &candidate.descriptor.tool_id);
    let known = book.get(id);
    let version = descriptor.content_digest();
    if let Some(stated) = descriptor.provenance.manifest_hash.filter(|stated| *stated != version) {
        return Err(Refusal::Manifest { tool: id.clone(), stated, found: version });
    }
    let signed = keys.signed(descriptor);
    if let Signed::Wrong(why) = signed {
        return Err(Refusal::Signature { tool: id.clone(), why });
    }
    if known.is_some_and(|known| is_same(known, candidate, version)) {
        return Ok(Vec::new());
    }
    may(id, known, Step::Discover)?;
    let mut facts =
        known.map(|known| withdrawn(id, known, "its definition changed")).unwrap_or_default();
    let tool_id = id.clone();
    let source = Some(lint::source_name(descriptor.source.r#type).to_owned());
    facts.push(ToolDiscovered { tool_id: id.clone(), source: source.clone() }.into());
    let manifest_hash = Some(candidate.manifest);
    let signed_by = match &signed {
        Signed::By(key) => Some(key.id.clone()),
        _ => None,
    };
    facts.push(ToolParsed { tool_id: id.clone(), manifest_hash, signed_by }.into());
    let compiled = Registered::new(descriptor.clone()).map_err(|error| error.to_string());
    if let Some(why) = candidate.unusable.clone().or(compiled.err()) {
        facts.push(held(id, Hold::Schema, &why));
        return Ok(facts);
    }
    facts.push(ToolNormalized { tool_id, tool_version: version, source }.into());
    let findings = lint::lint(descriptor);
    let doubts = [lint::needs_review(descriptor), keys.doubt(descriptor, &signed)];
    let doubts: Vec<String> = doubts.into_iter().flatten().collect();
    let doubt = (!doubts.is_empty()).then(|| doubts.join("; "));
    facts.push(match (findings.first(), doubt) {
        (Some(first), _) => {
            let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
            held(id, first.hold, &all.join("; "))
        }
        (None, Some(why)) => held(id, Hold::Review, &why),
        (None, None) => verified(id, version),
    });
    Ok(facts)
}

/// Whether a definition is known as it is, and was judged to the end.
fn is_same(known: &Standing, candidate: &Candidate, version: Digest) -> bool {
    match known.state() {
        // Whoever recorded these was stopped in the middle.
        State::Discovered | State::Parsed | State::Normalized => false,
        State::InvalidSchema => known.manifest == Some(candidate.manifest),
        State::Blocked => false,
        State::Verified
        | State::Enabled
        | State::Granted
        | State::Callable
        | State::PermissionLintFailed
        | State::SandboxLintFailed
        | State::SecurityReviewRequired
        | State::HealthCheckFailed
        | State::Deprecated => known.version == Some(version),
    }
}

/// A named person looked at it.
///
/// # Errors
/// When nobody is named, or it does not wait for a review and has not passed.
pub fn review(book: &Book, id: &ToolId, by: &str, accepted: bool) -> Facts {
    let by = given("the reviewer's name", by)?;
    let (known, version) = current(book, id)?;
    may(id, Some(known), if accepted { Step::Accept } else { Step::Reject })?;
    let mut facts =
        if accepted { Vec::new() } else { withdrawn(id, known, "its review was withdrawn") };
    let waited = known.state() == State::SecurityReviewRequired;
    let reviewer = by.to_owned();
    let fact = ToolReviewed { tool_id: id.clone(), tool_version: version, reviewer, accepted };
    facts.push(fact.into());
    if accepted && waited {
        facts.push(verified(id, version));
    }
    Ok(facts)
}

/// Its dry run ended so.
///
/// # Errors
/// When it is not verified.
pub fn health(book: &Book, id: &ToolId, found: &Result<(), String>) -> Facts {
    let (known, version) = current(book, id)?;
    // Both ways out: what may not be tried may not pass either.
    may(id, Some(known), Step::Hold(Hold::Health))?;
    Ok(match found {
        Ok(()) => vec![verified(id, version)],
        Err(why) => {
            let mut facts = disabled(id, known, Some("registry: its dry run failed"));
            facts.push(held(id, Hold::Health, why));
            facts
        }
    })
}

/// It may be granted and called in a scope from now on.
///
/// # Errors
/// When it is not verified, or the evidence is missing, of too little or too weak.
pub fn enable(book: &Book, id: &ToolId, scope: &str, basis: &Basis) -> Facts {
    let scope = given("the scope", scope)?;
    let (known, tool_version) = current(book, id)?;
    may(id, Some(known), Step::Enable)?;
    let (tool, scope) = (id.clone(), scope.to_owned());
    let (evidence, because) = match basis {
        Basis::Without(why) => {
            given("the reason", why)?;
            if scope != EVALUATION {
                return Err(Refusal::NoEvidence { tool, scope });
            }
            (None, Some(why.clone()))
        }
        Basis::Golden { judged, .. } if *judged < GOLDEN => {
            return Err(Refusal::TooFew { tool, judged: *judged });
        }
        Basis::Golden { judged, passed, .. }
            if passed.saturating_mul(5) < judged.saturating_mul(4) =>
        {
            return Err(Refusal::TooWeak { tool, passed: *passed, judged: *judged });
        }
        Basis::Golden { evidence, .. } => (Some(*evidence), None),
    };
    if known.scopes.get(&scope) == Some(&evidence) {
        return Ok(Vec::new());
    }
    Ok(vec![ToolEnabled { tool_id: tool, tool_version, scope, evidence, because }.into()])
}

/// It may no longer be called in a scope, or anywhere.
///
/// # Errors
/// When it is not enabled there, or who does it is blank.
pub fn disable(book: &Book, id: &ToolId, scope: Option<&str>, by: Option<&str>) -> Facts {
    let by = named(by)?;
    let (known, _) = current(book, id)?;
    let Some(scope) = scope else {
        may(id, Some(known), Step::Disable)?;
        return Ok(disabled(id, known, by));
    };
    let (tool_id, scope) = (id.clone(), scope.to_owned());
    if !known.scopes.contains_key(&scope) {
        return Err(Refusal::NotEnabled { tool: tool_id, scope });
    }
    Ok(vec![ToolDisabled { tool_id, scope, by: by.map(str::to_owned) }.into()])
}

/// It must never be called again.
///
/// # Errors
/// When no reason is given, who does it is blank, or it is blocked already.
pub fn block(book: &Book, id: &ToolId, why: &str, by: Option<&str>) -> Facts {
    let (why, by) = (given("the reason", why)?, named(by)?.map(str::to_owned));
    let known = book.get(id).ok_or_else(|| Refusal::Unknown(id.to_string()))?;
    may(id, Some(known), Step::Block)?;
    let mut facts = withdrawn(id, known, "it was blocked");
    facts.push(ToolBlocked { tool_id: id.clone(), reason: Hold::persons(why), by }.into());
    Ok(facts)
}

/// It should no longer be chosen, and is not callable any more.
///
/// # Errors
/// When it was never fit to be used, the successor is itself or not registered, or who does it is
/// blank.
pub fn deprecate(book: &Book, id: &ToolId, successor: Option<&ToolId>, by: Option<&str>) -> Facts {
    let by = named(by)?.map(str::to_owned);
    let (known, _) = current(book, id)?;
    may(id, Some(known), Step::Deprecate)?;
    match successor {
        Some(other) if other == id => return Err(Refusal::OwnSuccessor(id.clone())),
        Some(other) if book.get(other).is_none() => {
            return Err(Refusal::Unknown(other.to_string()));
        }
        Some(_) | None => {}
    }
    let mut facts = withdrawn(id, known, "it was deprecated");
    facts.push(ToolDeprecated { tool_id: id.clone(), successor: successor.cloned(), by }.into());
    Ok(facts)
}

/// Authority ahead of calls: for exactly the version that is enabled, for a principal who acts for
/// this tenant, or for none.
///
/// # Errors
/// When it is not enabled in that scope, or nobody is named.
pub fn grant(
    book: &Book,
    descriptor: &Descriptor,
    (principal, tenant): (&str, Option<&str>),
    scope: &str,
    expires_at: Option<Millis>,
) -> Facts {
    let id = &descriptor.tool_id;
    let principal = given("the principal's name", principal)?;
    let tenant = tenant.map(|tenant| given("the tenant's name", tenant)).transpose()?;
    let (known, tool_version) = current(book, id)?;
    may(id, Some(known), Step::Grant)?;
    let (tool_id, scope) = (id.clone(), scope.to_owned());
    if !known.scopes.contains_key(&scope) {
        return Err(Refusal::NotEnabled { tool: tool_id, scope });
    }
    let fact = GrantIssued {
        grant_id: format!("grant-{}", book.issued() + 1),
        tool_id,
        tool_version,
        principal: principal.to_owned(),
        scope,
        expires_at,
        approval_id: None,
        effect_class: Some(risk::effect_class(descriptor)),
        tenant: tenant.map(str::to_owned),
    };
    Ok(vec![fact.into()])
}

/// A grant is taken back.
///
/// # Errors
/// When it is not in force.
pub fn revoke(book: &Book, grant: &str, by: &str) -> Facts {
    let by = given("the name of who takes it back", by)?;
    let held = book.owner(grant).and_then(|tool| book.get(tool));
    if held.is_none_or(|known| !known.grants.contains_key(grant)) {
        return Err(Refusal::NoGrant(grant.to_owned()));
    }
    Ok(vec![revoked(grant, by)])
}

fn current<'a>(book: &'a Book, id: &ToolId) -> Result<(&'a Standing, Digest), Refusal> {
    let known = book.get(id);
    let found = known.and_then(|known| known.version.map(|version| (known, version)));
    found.ok_or_else(|| unversioned(book, id))
}

/// What to say of a tool without a version: nobody knows it, or it can only be added again.
pub fn unversioned(book: &Book, id: &ToolId) -> Refusal {
    let Some(known) = book.get(id) else { return Refusal::Unknown(id.to_string()) };
    let (step, why) = (Step::Verify, "it has no version that could be judged");
    let order = OutOfOrder { from: Some(known.state()), step, why };
    Refusal::Order { tool: id.clone(), order, why: known.why.clone() }
}

fn may(id: &ToolId, known: Option<&Standing>, step: Step) -> Result<(), Refusal> {
    let refuse = |order| {
        let why = known.and_then(|known| known.why.clone());
        Refusal::Order { tool: id.clone(), order, why }
    };
    next(known.map(Standing::state), step).map(drop).map_err(refuse)
}

fn given<'a>(what: &'static str, text: &'a str) -> Result<&'a str, Refusal> {
    let text = text.trim();
    if text.is_empty() { Err(Refusal::Blank(what)) } else { Ok(text) }
}

/// Who does it need not be said, and is not blank where it is.
fn named(by: Option<&str>) -> Result<Option<&str>, Refusal> {
    by.map(|by| given("the name of who does it", by)).transpose()
}

/// Everything that was enabled and granted ends; grants first, so that a record cut short is
/// stricter than what was meant.
fn withdrawn(id: &ToolId, known: &Standing, why: &str) -> Vec<Event> {
    let by = format!("registry: {why}");
    let grants = known.grants.keys().map(|grant| revoked(grant, &by));
    grants.chain(disabled(id, known, Some(&by))).collect()
}

fn disabled(id: &ToolId, known: &Standing, by: Option<&str>) -> Vec<Event> {
    let fact = |scope: &String| {
        let (tool_id, by) = (id.clone(), by.map(str::to_owned));
        ToolDisabled { tool_id, scope: scope.clone(), by }.into()
    };
    known.scopes.keys().map(fact).collect()
}

fn revoked(grant: &str, by: &str) -> Event {
    GrantRevoked { grant_id: grant.to_owned(), by: Some(by.to_owned()) }.into()
}

fn held(id: &ToolId, hold: Hold, why: &str) -> Event {
    ToolBlocked { tool_id: id.clone(), reason: hold.reason(why), by: None }.into()
}

/// A manifest cannot leave its effects out, so whatever is verified has declared them.
fn verified(id: &ToolId, tool_version: Digest) -> Event {
    let tool_id = id.clone();
    ToolVerified { tool_id, tool_version, effects_declared: true, scope: None }.into()
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
