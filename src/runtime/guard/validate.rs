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
    let errors = tool.input.errors(&args);
    if !errors.is_empty() {
        return Err((resolved, errors));
    }
    match canon::digest("args", &args) {
        Ok(args_digest) => {
            let call_digest = call_digest(&resolved, args_digest, principal);
            Ok(Validated { resolved, args, args_digest, call_digest, blank })
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
    hasher.finish()
}
