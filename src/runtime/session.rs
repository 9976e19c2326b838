//! The facade: open a session, say something, read the journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dialect::Transcript;
use super::exec::Workspace;
use super::guard::Approver;
use super::provider::Provider;
use super::resolved::Resolved;
use super::turn::TurnEnd;
use super::turn::driver::{Parties, drive};
use super::turn::log::Log;
use super::turn::machine::Lent;
use super::turn::steps::Steps;
use crate::base::secret::SecretSet;
use crate::base::world::World;
use crate::journal::Journal;
use crate::journal::event::catalog::ToolVerified;
use crate::journal::event::turn::SessionOpened;
use crate::tool::id::ToolId;

/// Everything a session is made of.
pub struct Parts {
    /// The session's id.
    pub id: Arc<str>,
    /// The bundle its turns run on.
    pub resolved: Arc<Resolved>,
    /// The decisions.
    pub steps: Steps,
    /// Time and ids.
    pub world: Box<dyn World>,
    /// Who proposes.
    pub provider: Box<dyn Provider>,
    /// Who approves.
    pub approver: Box<dyn Approver>,
    /// Where file tools act.
    pub workspace: Workspace,
}

/// A conversation with one journal and one transcript.
pub struct Session {
    parts: Parts,
    log: Log,
    transcript: Transcript,
    secrets: SecretSet,
    failures: BTreeMap<ToolId, u32>,
}

impl Session {
    /// Opens a session and records its rules and its registered tools.
    pub fn open(mut parts: Parts) -> Self {
        let mut log = Log::new(Arc::clone(&parts.id));
        let resolved = &parts.resolved;
        let secrets = resolved.broker.secrets();
        let scope = if resolved.environment.evaluation { "evaluation" } else { "live" };
        let opened = SessionOpened {
            principal: resolved.principal.id.clone(),
            scopes: resolved.principal.scopes.iter().cloned().collect(),
            canaries: Some(u32::try_from(resolved.broker.len()).unwrap_or(u32::MAX)),
            secret_key: None,
            secret_hashes: Vec::new(),
            max_tool_result_chars: Some(resolved.knobs.max_tool_result_chars as u64),
            receipts: resolved.receipt_key.is_some(),
            scope: Some(scope.to_owned()),
            excluded_tools: resolved.excluded.iter().cloned().collect(),
            approver: Some(parts.approver.channel().to_owned()),
        };
        log.fact(&mut *parts.world, opened);
        for tool in resolved.registry.iter() {
            let fact = ToolVerified {
                tool_id: tool.id().clone(),
                tool_version: tool.version,
                effects_declared: true,
                scope: None,
            };
            log.fact(&mut *parts.world, fact);
        }
        let transcript = Transcript::new();
        Self { parts, log, transcript, secrets, failures: BTreeMap::new() }
    }

    /// One turn: the user says `text`, the model acts until it has its last word.
    pub async fn turn(&mut self, text: String) -> TurnEnd {
        let parties = Parties {
            provider: &mut *self.parts.provider,
            approver: &mut *self.parts.approver,
            workspace: &mut self.parts.workspace,
        };
        let mut lent = Lent {
            resolved: &self.parts.resolved,
            steps: &self.parts.steps,
            secrets: &self.secrets,
            world: &mut *self.parts.world,
            log: &mut self.log,
            transcript: &mut self.transcript,
            failures: &mut self.failures,
        };
        let end = drive(text, parties, &mut lent).await;
        self.log.set_turn(None);
        end
    }

    /// The record so far.
    pub fn journal(&self) -> &Journal {
        &self.log.journal
    }

    /// The messages so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The provider, to ask what is left of its script.
    pub fn provider(&self) -> &dyn Provider {
        &*self.parts.provider
    }

    /// Ends the session and gives its record away.
    pub fn close(self) -> (Journal, Transcript) {
        (self.log.journal, self.transcript)
    }
}
