//! An HTTP operation as a tool: the section that a descriptor writes, the operation that it means,
//! and the request that arguments make of it. Nothing is sent from here.
//!
//! Reading order: this file, `text`, `address`, `operation`, `check`.

mod address;
mod check;
mod operation;
mod text;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use address::Scheme;
pub(in crate::tool) use check::check;
pub use operation::{ArgumentFault, Operation, Request, Sent, Wrong};
pub use text::Piece;

/// The adapter's name.
pub const ADAPTER: &str = "http";

/// One operation of a service. Values are texts in which `{name}` stands for an argument and
/// braces are written twice; a header may also hold `${secret:NAME}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Http {
    /// The method.
    pub method: Method,
    /// Scheme, host and path, such as `https://api.example.com/v1/items/{id}`. An argument fills
    /// a part of one segment and can add none.
    pub url: String,
    /// Parameters of the query by name; one whose argument is absent is left out, and an array
    /// becomes one parameter for each item.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Headers by name; one whose argument is absent is left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Body")]
    pub body: Option<Body>,
    /// Statuses that are a success; all from 200 to 299 when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 200, max = 599)))]
    pub success: Vec<u16>,
    /// The header that carries the call's idempotency key, the same in every attempt; only for
    /// idempotent tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub idempotency_header: Option<String>,
}

/// A method of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the names are HTTP's own")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// As a request spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether a body may stand in its request.
    fn has_body(self) -> bool {
        match self {
            Self::Get | Self::Head => false,
            Self::Post | Self::Put | Self::Patch | Self::Delete => true,
        }
    }
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Body {
    /// How it is written.
    pub format: BodyFormat,
    /// The arguments in it; when empty, all that stand nowhere else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyFormat {
    /// A JSON object of the arguments.
    Json,
    /// As a form of a page: `application/x-www-form-urlencoded`.
    Form,
}
