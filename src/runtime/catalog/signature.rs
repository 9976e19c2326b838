//! Who stands behind a definition: Ed25519 signatures (RFC 8032) over the digest of its content,
//! and the keys that a registry knows, each with how far whoever holds it is trusted.
//!
//! A signature proves that the holder of a key wrote exactly this definition. What it may do is
//! decided as for every other tool.

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::document::{Document, escape};
use crate::base::media::{base64, unbase64};
use crate::base::problem::Problem;
use crate::tool::descriptor::{Descriptor, TrustLevel};
use crate::tool::strict::{Format, LazyFormat};

/// The format tag of a file of keys.
pub const FORMAT: &str = "proofmark/keys@1";

/// The format.
pub static KEYS: LazyFormat = LazyFormat::new(|| Format::of::<KeysFile>(FORMAT));

/// How a signature begins in a descriptor: `ed25519:KEY:BASE64`.
const SCHEME: &str = "ed25519";

/// What stands before the digest in what is signed.
const DOMAIN: &[u8] = b"proofmark manifest v1\0";

/// Bytes of a public key.
const PUBLIC: usize = 32;

/// A file of keys.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeysFile {
    /// The format, `proofmark/keys@1`.
    pub schema: String,
    /// Whether a definition that nobody signed waits for a review.
    #[serde(default)]
    pub require: bool,
    /// The keys.
    #[serde(default)]
    pub keys: Vec<KeyEntry>,
}

/// One key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyEntry {
    /// The name that signatures state.
    #[schemars(length(min = 1))]
    pub id: String,
    /// Who holds it.
    #[schemars(length(min = 1))]
    pub owner: String,
    /// The public key, 32 bytes in Base64.
    pub public_key: String,
    /// The most that a definition under it may claim to be trusted.
    pub trust: TrustLevel,
}

/// The keys that a registry knows.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    known: Vec<(KeyEntry, Vec<u8>)>,
    require: bool,
}

/// What a definition's signature is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// There is none.
    No,
    /// It is that of a known key.
    By(KeyEntry),
    /// Its key is not known.
    Unknown(String),
    /// It is not that of its key, or no signature at all.
    Wrong(String),
}

impl Keys {
    /// Reads a file of keys.
    ///
    /// # Errors
    /// Everything that is wrong with it, with its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Problem>> {
        let document = Document::parse(file, text).map_err(|problem| vec![problem])?;
        let read: KeysFile = KEYS.get().decode(&document)?;
        let (mut known, mut problems) = (Vec::new(), Vec::new());
        for (index, entry) in read.keys.into_iter().enumerate() {
            let at = |key: &str| format!("/keys/{index}/{}", escape(key));
            let twice = known.iter().any(|(other, _): &(KeyEntry, _)| other.id == entry.id);
            if twice || entry.id.contains(':') {
                let why = if twice { "this id stands twice" } else { "an id has no colon" };
                problems.push(document.problem(&at("id"), why));
            }
            match unbase64(&entry.public_key).filter(|bytes| bytes.len() == PUBLIC) {
                Some(bytes) => known.push((entry, bytes)),
                None => {
                    let why = "no public key of Ed25519: it has 32 bytes, in Base64";
                    problems.push(document.problem(&at("publicKey"), why));
                }
            }
        }
        match problems.is_empty() {
            true => Ok(Self { known, require: read.require }),
            false => Err(problems),
        }
    }

    /// What the signature of a definition is worth.
    pub fn signed(&self, descriptor: &Descriptor) -> Signed {
        let Some(stated) = &descriptor.provenance.signature else { return Signed::No };
        let mut parts = stated.splitn(3, ':');
        let (Some(SCHEME), Some(id), Some(value)) = (parts.next(), parts.next(), parts.next())
        else {
            return Signed::Wrong(format!("`{stated}` is not `{SCHEME}:KEY:BASE64`"));
        };
        let Some((entry, public)) = self.known.iter().find(|(entry, _)| entry.id == id) else {
            return Signed::Unknown(id.to_owned());
        };
        let message = message(&descriptor.content_digest());
        let fits = |signature: Vec<u8>| {
            UnparsedPublicKey::new(&ED25519, public).verify(&message, &signature).is_ok()
        };
        match unbase64(value).is_some_and(fits) {
            true => Signed::By(entry.clone()),
            false => {
                let why = "is not that of this content: it was changed, or another key signed it";
                Signed::Wrong(format!("the signature of `{id}` {why}"))
            }
        }
    }

    /// Why a definition waits for a review on account of its signature; `None` where it does not.
    pub fn doubt(&self, descriptor: &Descriptor, signed: &Signed) -> Option<String> {
        let claimed = descriptor.provenance.trust_level;
        match signed {
            // The levels are in order, the most trusted first.
            Signed::By(key) if claimed < key.trust => {
                Some(format!("it claims more trust than key `{}` of {} has", key.id, key.owner))
            }
            Signed::By(_) => None,
            Signed::Unknown(id) => Some(format!("nobody here knows the key `{id}` that signed it")),
            Signed::No if self.require => Some("nobody signed it".to_owned()),
            Signed::No | Signed::Wrong(_) => None,
        }
    }
}

fn message(version: &Digest) -> Vec<u8> {
    [DOMAIN, version.as_bytes()].concat()
}

/// A new pair: the private key as PKCS#8 in Base64, and the public key in Base64.
///
/// # Errors
/// The system gives no chance, or its key cannot be read back.
pub fn generate() -> Result<(String, String), String> {
    let chance = ring::rand::SystemRandom::new();
    let failed = "the system gave no key";
    let private = Ed25519KeyPair::generate_pkcs8(&chance).map_err(|_| failed.to_owned())?;
    let pair = Ed25519KeyPair::from_pkcs8(private.as_ref()).map_err(|error| error.to_string())?;
    Ok((base64(private.as_ref()), base64(pair.public_key().as_ref())))
}

/// The signature of a definition under a key's name, as its descriptor states it.
///
/// # Errors
/// The private key cannot be read.
pub fn sign(private: &str, id: &str, descriptor: &Descriptor) -> Result<String, String> {
    let bytes = unbase64(private.trim()).ok_or("the private key is no Base64")?;
    let pair = Ed25519KeyPair::from_pkcs8(&bytes)
        .map_err(|error| format!("the private key is no PKCS#8 of Ed25519: {error}"))?;
    let signature = pair.sign(&message(&descriptor.content_digest()));
    Ok(format!("{SCHEME}:{id}:{}", base64(signature.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::manifest;

    const TOOL: &str = "schema: proofmark/tool@1\ntoolId: a.b\ndescription: {summary: Does.}\n\
        intent: {actionTypes: [read]}\nschemas: {inputSchema: {type: object}}\n\
        effects: {reads: ['workspace:**'], writes: []}\n";

    fn tool(more: &str) -> Descriptor {
        manifest::parse("t.yaml", &format!("{TOOL}{more}")).unwrap()
    }

    fn keys(public: &str, trust: &str, require: bool) -> Keys {
        let text = format!(
            "schema: {FORMAT}\nrequire: {require}\nkeys:\n  - {{id: ann, owner: Ann, publicKey: \
             '{public}', trust: {trust}}}\n"
        );
        Keys::parse("keys.yaml", &text).unwrap()
    }

    #[test]
    fn a_signature_is_of_one_content_and_one_key() {
        let (private, public) = generate().unwrap();
        let known = keys(&public, "workspace", false);
        let mut signed = tool("provenance: {trustLevel: workspace}\n");
        signed.provenance.signature = Some(sign(&private, "ann", &signed).unwrap());
        let found = known.signed(&signed);
        assert!(matches!(&found, Signed::By(key) if key.owner == "Ann"), "{found:?}");
        assert_eq!(known.doubt(&signed, &found), None);
        // What speaks about the content is no part of it.
        signed.provenance.manifest_hash = Some(signed.content_digest());
        assert!(matches!(known.signed(&signed), Signed::By(_)));

        let mut changed = signed.clone();
        changed.description.summary = "Does more.".into();
        assert!(matches!(known.signed(&changed), Signed::Wrong(_)));
        let (other, _) = generate().unwrap();
        changed.provenance.signature = Some(sign(&other, "ann", &changed).unwrap());
        assert!(matches!(known.signed(&changed), Signed::Wrong(_)));
        changed.provenance.signature = Some(sign(&private, "bob", &changed).unwrap());
        let unknown = known.signed(&changed);
        assert_eq!(unknown, Signed::Unknown("bob".into()));
        assert!(known.doubt(&changed, &unknown).unwrap().contains("knows the key `bob`"));
        for broken in ["", "ed25519:ann", "rsa:ann:AAAA", "ed25519:ann:%"] {
            changed.provenance.signature = Some(broken.into());
            assert!(matches!(known.signed(&changed), Signed::Wrong(_)), "{broken}");
        }
    }

    #[test]
    fn a_key_caps_what_is_claimed_and_a_registry_may_want_signatures() {
        let (private, public) = generate().unwrap();
        let mut first = tool("provenance: {trustLevel: first_party}\n");
        first.provenance.signature = Some(sign(&private, "ann", &first).unwrap());
        let known = keys(&public, "third_party", true);
        let doubt = known.doubt(&first, &known.signed(&first));
        assert_eq!(doubt.unwrap(), "it claims more trust than key `ann` of Ann has");
        let plain = tool("");
        assert_eq!(known.doubt(&plain, &Signed::No).unwrap(), "nobody signed it");
        assert_eq!(Keys::default().doubt(&plain, &Signed::No), None);
    }

    #[test]
    fn files_of_keys_say_what_is_wrong() {
        let check = |keys: &str, expected: &str| {
            let problems = Keys::parse("k.yaml", &format!("schema: {FORMAT}\nkeys:\n{keys}"));
            let said: Vec<String> = problems.unwrap_err().iter().map(ToString::to_string).collect();
            assert!(said.iter().any(|said| said.contains(expected)), "{said:?}");
        };
        let key = base64(&[7; 32]);
        let entry = |id: &str| {
            format!("  - {{id: '{id}', owner: A, publicKey: '{key}', trust: workspace}}\n")
        };
        check("  - {id: a, owner: A, publicKey: abcd, trust: workspace}\n", "k.yaml:3:");
        check(
            "  - {id: a, owner: A, publicKey: abcd, trust: workspace}\n",
            "no public key of Ed25519",
        );
        check(&entry("a").repeat(2), "this id stands twice");
        check(&entry("a:b"), "an id has no colon");
        check(&entry("a").replace("workspace", "all"), "all");
    }
}
