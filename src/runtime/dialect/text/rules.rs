//! Which spellings of a call count in plain text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::runtime::dialect::proposed::Origin;

/// The text protocols in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TextRules {
    /// Tagged JSON.
    pub tagged: bool,
    /// Fenced JSON.
    pub fenced: bool,
    /// Invoke elements.
    pub invoke: bool,
    /// A JSON object as the whole reply. It bears no mark that tells a call from an answer.
    pub bare: bool,
    /// No protocol at all: nothing is told to the model, and nothing is heard.
    pub strict: bool,
}

impl Default for TextRules {
    fn default() -> Self {
        Self { tagged: true, fenced: true, invoke: true, bare: false, strict: false }
    }
}

impl TextRules {
    /// Every protocol.
    pub const ALL: Self =
        Self { tagged: true, fenced: true, invoke: true, bare: true, strict: false };

    /// No protocol.
    pub const STRICT: Self =
        Self { tagged: false, fenced: false, invoke: false, bare: false, strict: true };

    /// The one protocol of that origin; none for native calls.
    pub fn only(origin: Origin) -> Self {
        Self {
            tagged: origin == Origin::Tagged,
            fenced: origin == Origin::Fenced,
            invoke: origin == Origin::Invoke,
            bare: origin == Origin::Bare,
            strict: false,
        }
    }

    /// Whether calls of that origin count.
    pub fn allow(self, origin: Origin) -> bool {
        let active = match origin {
            Origin::Native => false,
            Origin::Tagged => self.tagged,
            Origin::Fenced => self.fenced,
            Origin::Invoke => self.invoke,
            Origin::Bare => self.bare,
        };
        active && !self.strict
    }

    /// The protocol that a model is told to use; `None` when the protocol is hidden.
    pub fn primary(self) -> Option<Origin> {
        let known = [Origin::Tagged, Origin::Fenced, Origin::Invoke, Origin::Bare];
        known.into_iter().find(|origin| self.allow(*origin))
    }

    /// Whether they are the default.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
