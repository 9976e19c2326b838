//! Stage 2: the arguments pass the schema. Their canonical digest is taken here, once.

use serde_json::{Map, Value};

use super::resolve::Resolved;
use crate::base::canon;
use crate::base::digest::{Digest, Hasher};
use crate::runtime::dialect::Arguments;
use crate::runtime::policy::Principal;
use crate::tool::schema::ArgumentError;

/// A call whose arguments pass its tool's schema.
#[derive(Debug)]
pub struct Validated {
    resolved: Resolved,
    args: Value,
    args_digest: Digest,
    call_digest: Digest,
    unbound: Option<Digest>,
    blank: bool,
}

impl Validated {
    /// The stage before.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// The arguments.
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// Digest of the canonical arguments.
    pub fn args_digest(&self) -> Digest {
        self.args_digest
    }

    /// Digest of everything an approval binds: tool, version, arguments, effect class, scopes,
    /// risk.
    pub fn call_digest(&self) -> Digest {
        self.call_digest
    }

    /// Whether blank text stood for `{}`.
    pub fn blank(&self) -> bool {
        self.blank
    }
}

impl Validated {
    /// The same call, bound to the content of the file it will run: another content is another
    /// call.
    #[must_use]
    pub fn with_operand(self, operand: Digest) -> Self {
        let call_digest = bound(self.call_digest, operand);
        Self { call_digest, unbound: Some(self.call_digest), ..self }
    }

    /// The call digest with this operand instead.
    pub fn digest_with(&self, operand: Digest) -> Digest {
        bound(self.unbound.unwrap_or(self.call_digest), operand)
    }

    /// Whether the file that would run now is the one that was bound.
    pub fn is_bound_to(&self, operand: Option<Digest>) -> bool {
        match (self.unbound, operand) {
            (None, None) => true,
            (Some(unbound), Some(operand)) => bound(unbound, operand) == self.call_digest,
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

fn bound(call: Digest, operand: Digest) -> Digest {
    Hasher::new("call with operand").field(call.as_bytes()).field(operand.as_bytes()).finish()
}

/// Validates. Blank text is `{}` only where nothing is required; anything else that is not JSON
/// is an error and never becomes `{}`.
///
/// # Errors
/// The call as it was, and every failure.
pub fn validate(
    resolved: Resolved,
    principal: &Principal,
) -> Result<Validated, (Resolved, Vec<ArgumentError>)> {
    let tool = resolved.tool();
    let (args, blank) = match &resolved.proposed().arguments {
        Arguments::Json(value) => (value.clone(), false),
        Arguments::Blank if tool.input.requires_nothing() => (Value::Object(Map::new()), true),
        Arguments::Blank => return Err((resolved, vec![problem("blank", "no arguments given")])),
        Arguments::Malformed { why, .. } => {
            let errors = vec![problem("json", &format!("the arguments are not JSON: {why}"))];
            return Err((resolved, errors));
        }
    };
    let mut errors = tool.input.errors(&args);
    // The marker was cleared and comes back on approval: a schema may require it all the same.
    if let Some(marker) = &tool.descriptor.permissions.approval_marker {
        let missing = format!("missing required key `{marker}`");
        errors.retain(|error| !(error.path.is_empty() && error.message == missing));
    }
    if !errors.is_empty() {
        return Err((resolved, errors));
    }
    match canon::digest("args", &args) {
        Ok(args_digest) => {
            let call_digest = call_digest(&resolved, args_digest, principal);
            let unbound = None;
            Ok(Validated { resolved, args, args_digest, call_digest, unbound, blank })
        }
        Err(error) => Err((resolved, vec![problem("canonical", &error.to_string())])),
    }
}

fn problem(keyword: &str, message: &str) -> ArgumentError {
    ArgumentError { path: String::new(), keyword: keyword.to_owned(), message: message.to_owned() }
}

fn call_digest(resolved: &Resolved, args: Digest, principal: &Principal) -> Digest {
    let tool = resolved.tool();
    let mut hasher = Hasher::new("call")
        .field(tool.id().as_str().as_bytes())
        .field(tool.version.as_bytes())
        .field(args.as_bytes())
        .field(tool.class.name().as_bytes())
        .field(format!("{:?}", tool.descriptor.risk.level).as_bytes())
        .field(principal.id.as_bytes());
    for scope in &principal.scopes {
        hasher = hasher.field(scope.as_bytes());
    }
    if let Some(tenant) = &principal.tenant {
        // Told from a scope by the empty field, which is none.
        hasher = hasher.field(b"").field(tenant.as_bytes());
    }
    hasher.finish()
}
