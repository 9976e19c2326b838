//! Who agreed that a principal uses an MCP server, over all sessions. A consent is for a server as
//! it is started or reached, a principal, and scopes; another of any of these is another question.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Home, HomeError, append, log};
use crate::base::digest::Digest;
use crate::base::jsonl;
use crate::base::problem::{Position, Problem};
use crate::base::world::Millis;
use crate::journal::event::catalog::ServerConsented;
use crate::runtime::guard::Consent;

const FILE: &str = "consents.jsonl";

/// A consent with whoever gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// What was agreed to.
    pub consent: Consent,
    /// By whom.
    pub by: String,
    /// When.
    pub at: Millis,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line<'t> {
    at: Millis,
    server_id: Cow<'t, str>,
    by: Cow<'t, str>,
    /// Every consent for the server ends here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    withdrawn: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal: Option<Cow<'t, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<Cow<'t, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scopes: Vec<String>,
}

impl Home {
    /// The consents that hold.
    ///
    /// # Errors
    /// All lines that are none.
    pub fn consents(&self) -> Result<Vec<Given>, HomeError> {
        let path = self.mcp(FILE);
        let (mut given, mut problems): (Vec<Given>, Vec<Problem>) = (Vec::new(), Vec::new());
        for (number, line) in jsonl::lines_of(&log(&path)?) {
            match read(line) {
                Ok(Read::Given(one)) => given.push(one),
                Ok(Read::Withdrawn(server)) => given.retain(|one| one.consent.server != server),
                Err((column, message)) => {
                    let at = Position::new(number, column);
                    problems.push(Problem::new(path.display().to_string(), at, message));
                }
            }
        }
        if problems.is_empty() { Ok(given) } else { Err(HomeError::Problems(problems)) }
    }

    /// Remembers a consent that a person gave in a session.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn consented(&self, fact: &ServerConsented, at: Millis) -> Result<(), HomeError> {
        let line = Line {
            at,
            server_id: (&*fact.server_id).into(),
            by: fact.by.as_deref().unwrap_or("somebody").into(),
            withdrawn: false,
            identity: Some(fact.identity),
            principal: Some((&*fact.principal).into()),
            tenant: fact.tenant.as_deref().map(Cow::from),
            scopes: fact.scopes.clone(),
        };
        self.put(&line)
    }

    /// Takes every consent for a server back. How many there were: nothing is recorded of none.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn withdraw(&self, server: &str, by: &str, at: Millis) -> Result<usize, HomeError> {
        let held = self.consents()?.iter().filter(|one| one.consent.server == server).count();
        if held > 0 {
            self.put(&Line {
                at,
                server_id: server.into(),
                by: by.into(),
                withdrawn: true,
                identity: None,
                principal: None,
                tenant: None,
                scopes: Vec::new(),
            })?;
        }
        Ok(held)
    }

    fn put(&self, line: &Line<'_>) -> Result<(), HomeError> {
        // Plain data: writing it to memory cannot fail.
        append(&self.mcp(FILE), &serde_json::to_string(line).unwrap_or_default())
    }
}

enum Read {
    Given(Given),
    Withdrawn(String),
}

fn read(line: &str) -> Result<Read, (usize, String)> {
    let line: Line<'_> =
        serde_json::from_str(line).map_err(|error| (error.column(), error.to_string()))?;
    if line.withdrawn {
        return Ok(Read::Withdrawn(line.server_id.into_owned()));
    }
    let (Some(identity), Some(principal)) = (line.identity, line.principal) else {
        return Err((1, "a consent needs `identity` and `principal`".to_owned()));
    };
    let consent = Consent {
        server: line.server_id.into_owned(),
        identity,
        principal: principal.into_owned(),
        tenant: line.tenant.map(Cow::into_owned),
        scopes: line.scopes,
    };
    Ok(Read::Given(Given { consent, by: line.by.into_owned(), at: line.at }))
}
