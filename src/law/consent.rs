//! MCP servers: none is used before somebody agreed to it.

use super::law::{Scene, Tally};
use crate::journal::event::call::*;
use crate::journal::event::catalog::ServerConsented;

/// B, "discovered tools are untrusted" and the protocol's own demand that a person consents before a
/// server is used: a call that goes to an MCP server starts only after a consent for exactly that
/// server, as it is started or reached, for the session's principal and tenant.
pub(super) fn consent_before_server(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for call in &index.calls {
        for start in call.each::<ToolCallStarted>() {
            let Some(at) = call.before::<ToolSandboxPrepared>(start.at) else { continue };
            let Some(server) = &at.fact.server_id else { continue };
            tally.checked();
            let mut given = index.each::<ServerConsented>().filter(|seen| seen.at < start.at);
            let fits = given.any(|seen| {
                let own = index.opened.is_none_or(|opened| {
                    opened.principal == seen.fact.principal && opened.tenant == seen.fact.tenant
                });
                own && seen.fact.server_id == *server
                    && Some(seen.fact.identity) == at.fact.server_identity
            });
            if !fits {
                let message =
                    format!("nobody agreed to the use of `{server}` before it was called");
                tally.broken(Some(call.id), &[at.seq(), start.seq()], message);
            }
        }
    }
}
