//! Receipts, for successes only.

use crate::base::secret::Secret;
use crate::journal::event::call::ReceiptIssued;
use crate::journal::receipt::{Scope, compute};

/// A key with a name; the key itself never enters a journal.
#[derive(Debug, Clone)]
pub struct ReceiptKey {
    /// The name.
    pub id: String,
    /// The key.
    pub key: Secret,
}

/// Completes the facts with their authentication code.
pub fn issue(key: &ReceiptKey, scope: Scope<'_>, mut facts: ReceiptIssued) -> ReceiptIssued {
    facts.key_id.clone_from(&key.id);
    facts.receipt = compute(&key.key, scope, &facts);
    facts
}

/// What the model sees of a receipt.
pub fn suffix(facts: &ReceiptIssued) -> String {
    let shown: String = facts.receipt.chars().take(19).collect();
    format!("\n[receipt {shown}]")
}
