//! Facts about registration and grants.

use super::facts;
use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;

facts! {
    /// A source showed a tool; nothing is trusted yet.
    ToolDiscovered {
        /// Which tool.
        tool_id: ToolId,
        ? /// The kind of source.
        source: Option<String>,
    }
}
facts! {
    /// Its manifest was read.
    ToolParsed {
        /// Which tool.
        tool_id: ToolId,
        ? /// Digest of the manifest as it came.
        manifest_hash: Option<Digest>,
        ? /// The known key under which it is signed.
        signed_by: Option<String>,
    }
}
facts! {
    /// It became a canonical descriptor with a version.
    ToolNormalized {
        /// Which tool.
        tool_id: ToolId,
        /// Digest of the canonical content.
        tool_version: Digest,
        ? /// The kind of source.
        source: Option<String>,
    }
}
facts! {
    /// Schema, permission and sandbox lints passed; it is registered under this version.
    ToolVerified {
        /// Which tool.
        tool_id: ToolId,
        /// Which version.
        tool_version: Digest,
        ? /// Whether it declared its effects.
        effects_declared: bool,
        ? /// The scope it is verified for, such as `evaluation`.
        scope: Option<String>,
    }
}
facts! {
    /// A named person looked at it.
    ToolReviewed {
        /// Which tool.
        tool_id: ToolId,
        /// Which version.
        tool_version: Digest,
        /// Who.
        reviewer: String,
        /// Whether it was accepted.
        accepted: bool,
    }
}
facts! {
    /// It may be granted and called in a scope.
    ToolEnabled {
        /// Which tool.
        tool_id: ToolId,
        /// Which version.
        tool_version: Digest,
        /// Where.
        scope: String,
        ? /// The golden-prompt evidence this rests on.
        evidence: Option<Digest>,
        ? /// Why it rests on none: for a scope in which evidence is made.
        because: Option<String>,
    }
}
facts! {
    /// It may no longer be called in a scope.
    ToolDisabled {
        /// Which tool.
        tool_id: ToolId,
        /// Where.
        scope: String,
        ? /// By whom.
        by: Option<String>,
    }
}
facts! {
    /// It must not be called: for good, or until what holds it is mended.
    ToolBlocked {
        /// Which tool.
        tool_id: ToolId,
        /// Why. One that begins with a state of registration and a colon, such as
        /// `security_review_required: `, is a check's, and ends with the next verification.
        reason: String,
        ? /// By whom; a check has no name.
        by: Option<String>,
    }
}
facts! {
    /// It should no longer be chosen.
    ToolDeprecated {
        /// Which tool.
        tool_id: ToolId,
        ? /// What to use instead.
        successor: Option<ToolId>,
        ? /// By whom.
        by: Option<String>,
    }
}
facts! {
    /// Authority was given ahead of calls.
    GrantIssued {
        /// Its id.
        grant_id: String,
        /// Which tool.
        tool_id: ToolId,
        /// Which version.
        tool_version: Digest,
        /// To whom.
        principal: String,
        /// The scope as it was shown.
        scope: String,
        ? /// When it ends.
        expires_at: Option<Millis>,
        ? /// The answer that gave it.
        approval_id: Option<String>,
        ? /// The strictest thing it covers.
        effect_class: Option<EffectClass>,
        ? /// For which tenant.
        tenant: Option<String>,
    }
}
facts! {
    /// Somebody agreed that a principal uses an MCP server.
    ServerConsented {
        /// Which server.
        server_id: String,
        /// Who it is: digest of what is started, or of where it is reached.
        identity: Digest,
        /// Who may use it.
        principal: String,
        ? /// For which tenant.
        tenant: Option<String>,
        ? /// With which scopes.
        scopes: Vec<String>,
        ? /// Who agreed.
        by: Option<String>,
    }
}
facts! {
    /// A call ran on a grant.
    GrantUsed {
        /// Its id.
        grant_id: String,
    }
}
facts! {
    /// A grant was taken back.
    GrantRevoked {
        /// Its id.
        grant_id: String,
        ? /// By whom.
        by: Option<String>,
    }
}
