//! The receipt's text: HMAC-SHA256 over length-prefixed fields, version 1.
//!
//! A receipt proves that the holder of the key saw this result of this call. It is no approval,
//! no durable audit record, no chain, and no zero-knowledge proof.

use std::collections::{BTreeMap, BTreeSet};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::event::call::ReceiptIssued;
use super::{Blobs, Entry, Event};
use crate::base::digest::{Digest, hex, unhex};
use crate::base::secret::Secret;

const VERSION: &str = "v1";
const DOMAIN: &str = "proofmark receipt";

/// What a receipt covers beside the facts in the event itself.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The session.
    pub session: &'a str,
    /// The turn.
    pub turn: &'a str,
    /// The call.
    pub call: &'a str,
}

/// The receipt text of these facts under `key`; the event's own `receipt` field is ignored.
pub fn compute(key: &Secret, scope: Scope<'_>, facts: &ReceiptIssued) -> String {
    let code = mac(key, scope, facts).finalize().into_bytes();
    format!("{VERSION}:{}", hex(&code))
}

/// Whether the event's `receipt` is the right one for its facts; compared in constant time.
pub fn verify(key: &Secret, scope: Scope<'_>, facts: &ReceiptIssued) -> bool {
    let mut code = [0; 32];
    let digits = facts.receipt.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix(':'));
    digits.and_then(|digits| unhex(digits, &mut code)).is_some()
        && mac(key, scope, facts).verify_slice(&code).is_ok()
}

/// What verifying one receipt of a journal came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// It is the right one for its facts.
    Valid,
    /// Its key is not in the store: nothing is known.
    NoKey,
    /// It stands in the journal a second time.
    Repeated,
    /// It is not the one that its key gives for these facts.
    Invalid,
}

impl Proof {
    /// The name as written in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::NoKey => "no_key",
            Self::Repeated => "repeated",
            Self::Invalid => "invalid",
        }
    }
}

/// One receipt of a journal, verified.
#[derive(Debug, Clone, Copy)]
pub struct Verified<'a> {
    /// The fact's place in its session.
    pub entry: &'a Entry,
    /// What it says.
    pub facts: &'a ReceiptIssued,
    /// What came of it.
    pub proof: Proof,
    /// The artifact of the call that holds exactly the result that the receipt covers, where its
    /// text is beside the journal.
    pub artifact: Option<&'a str>,
}

/// Verifies every receipt of a journal under the key that it names. Receipts are not chained: that
/// none was taken out or moved is told by the laws.
pub fn verify_all<'a>(
    entries: &'a [Entry],
    blobs: &Blobs,
    keys: &BTreeMap<String, Secret>,
) -> Vec<Verified<'a>> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for entry in entries {
        let Event::ReceiptIssued(facts) = &entry.event else { continue };
        let turn = entry.turn.as_deref().unwrap_or_default();
        let call = entry.call.as_deref().unwrap_or_default();
        let scope = Scope { session: &entry.session, turn, call };
        let proof = match keys.get(&facts.key_id) {
            None => Proof::NoKey,
            Some(key) if !verify(key, scope, facts) => Proof::Invalid,
            Some(_) if !seen.insert(facts.receipt.as_str()) => Proof::Repeated,
            Some(_) => Proof::Valid,
        };
        let own = entries.iter().filter(|other| {
            other.session == entry.session && other.turn == entry.turn && other.call == entry.call
        });
        let artifact = own.filter_map(|other| match &other.event {
            Event::ArtifactPersisted(kept) => Some(kept),
            _ => None,
        });
        let artifact = artifact.into_iter().find(|kept| {
            let text = blobs.get(&kept.content_hash);
            text.is_some_and(|text| Digest::of("result", text.as_bytes()) == facts.result_digest)
        });
        let artifact = artifact.map(|kept| kept.artifact_id.as_str());
        found.push(Verified { entry, facts, proof, artifact });
    }
    found
}

fn mac(key: &Secret, scope: Scope<'_>, facts: &ReceiptIssued) -> Hmac<Sha256> {
    // HMAC takes a key of any length, so this cannot fail.
    #[expect(clippy::expect_used, reason = "HMAC accepts every key length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key.expose().as_bytes()).expect("any length");
    let issued = facts.issued_at.to_le_bytes();
    let fields: [&[u8]; 10] = [
        DOMAIN.as_bytes(),
        VERSION.as_bytes(),
        scope.session.as_bytes(),
        scope.turn.as_bytes(),
        scope.call.as_bytes(),
        facts.tool_id.as_str().as_bytes(),
        facts.tool_version.as_bytes(),
        facts.args_digest.as_bytes(),
        facts.result_digest.as_bytes(),
        &issued,
    ];
    for field in fields {
        mac.update(&(field.len() as u64).to_le_bytes());
        mac.update(field);
    }
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::id::ToolId;

    #[test]
    fn every_field_is_covered() {
        let key = Secret::new("k");
        let scope = Scope { session: "s", turn: "t", call: "c" };
        let mut facts = ReceiptIssued {
            receipt: String::new(),
            key_id: "k1".into(),
            tool_id: ToolId::sanitized("a"),
            tool_version: Digest::of("x", b"1"),
            args_digest: Digest::of("x", b"2"),
            result_digest: Digest::of("x", b"3"),
            issued_at: 4,
        };
        facts.receipt = compute(&key, scope, &facts);
        assert!(verify(&key, scope, &facts));
        assert!(!verify(&Secret::new("other"), scope, &facts));
        assert!(!verify(&key, Scope { call: "d", ..scope }, &facts));
        let moved = Scope { session: "st", turn: "", call: "c" };
        assert!(!verify(&key, moved, &facts));
        assert!(!verify(&key, scope, &ReceiptIssued { issued_at: 5, ..facts.clone() }));
        let other = Digest::of("x", b"9");
        assert!(!verify(&key, scope, &ReceiptIssued { result_digest: other, ..facts.clone() }));
        assert!(!verify(&key, scope, &ReceiptIssued { receipt: "v1:zz".into(), ..facts }));
    }
}
