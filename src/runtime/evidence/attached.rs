//! Results that are no text. They are taken out of what is shown, which gets a note instead, and
//! kept as artifacts.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::base::media::{base64, binary, unbase64};
use crate::base::secret::SecretSet;
use crate::journal::Blobs;
use crate::runtime::exec::{Attachment, Ran};

/// Where a kind of bytes is not known.
const UNKNOWN: &str = "application/octet-stream";

/// How blocks name the kind of their bytes.
const MEDIA_TYPES: [&str; 4] = ["mimeType", "mime_type", "mediaType", "media_type"];

/// Bytes as they are kept beside a journal, whose artifacts are texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The artifact's kind.
    pub kind: &'static str,
    /// What kind of bytes.
    pub media_type: String,
    /// How many bytes are kept.
    pub bytes: u64,
    /// How many there were.
    pub total: u64,
    /// The bytes as a text, `data:MEDIA;base64,...`; known secrets are overwritten.
    pub text: Arc<str>,
    /// Whether it is stored at all.
    pub kept: bool,
}

impl Stored {
    /// What is kept of an attachment.
    pub fn new(attachment: Attachment, secrets: &SecretSet, keep: bool) -> Self {
        let Attachment { media_type, bytes, total } = attachment;
        let media_type = if is_media_type(&media_type) { media_type } else { UNKNOWN.to_owned() };
        let kept = bytes.len() as u64;
        let text = format!("data:{media_type};base64,{}", base64(&secrets.mask(bytes))).into();
        Self { kind: "binary", media_type, bytes: kept, total, text, kept: keep }
    }

    /// The artifact's id, from its content.
    pub fn id(&self) -> String {
        format!("art_{}", Blobs::name(&self.text).short())
    }

    /// What is shown in the place of the bytes.
    pub fn note(&self) -> String {
        let Self { bytes, total, media_type, .. } = self;
        let id = self.id();
        if !self.kept {
            format!("[{total} bytes of {media_type} are not kept; they were {id}]")
        } else if total > bytes {
            format!(
                "[the first {bytes} of {total} bytes of {media_type} are kept as artifact {id}]"
            )
        } else {
            format!("[{bytes} bytes of {media_type} are kept as artifact {id}]")
        }
    }
}

/// `type/subtype`, short and plain: it is shown, and a tool may have written it.
fn is_media_type(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '+');
    let half = |text: &str| !text.is_empty() && text.len() <= 64 && text.chars().all(plain);
    text.split_once('/').is_some_and(|(kind, form)| half(kind) && half(form))
}

/// Takes everything that is no text out of a result: what is attached, and the Base64 blocks in
/// its structured output and in a text that is JSON. The same bytes are kept once, or not at all.
pub fn take(ran: &mut Ran, secrets: &SecretSet, keep: bool) -> Vec<Stored> {
    let mut kept = Kept { secrets, keep, stored: Vec::new() };
    if let Some(value) = &mut ran.structured {
        kept.blocks(value);
    }
    if ["\"data\"", "\"blob\"", "data:"].iter().any(|mark| ran.output.contains(mark))
        && let Ok(mut value) = serde_json::from_str(&ran.output)
        && kept.blocks(&mut value)
    {
        ran.output = value.to_string();
    }
    for attachment in std::mem::take(&mut ran.attachments) {
        kept.keep(attachment);
    }
    kept.stored
}

struct Kept<'a> {
    secrets: &'a SecretSet,
    keep: bool,
    stored: Vec<Stored>,
}

impl Kept<'_> {
    /// Keeps bytes and says so.
    fn keep(&mut self, attachment: Attachment) -> String {
        let one = Stored::new(attachment, self.secrets, self.keep);
        let note = one.note();
        if !self.stored.iter().any(|other| other.text == one.text) {
            self.stored.push(one);
        }
        note
    }

    /// Replaces all blocks in a value by notes; whether there were any.
    fn blocks(&mut self, value: &mut Value) -> bool {
        match value {
            Value::Object(map) => {
                let found = self.block(map);
                map.values_mut().fold(found, |found, value| self.blocks(value) | found)
            }
            Value::Array(items) => {
                items.iter_mut().fold(false, |found, item| self.blocks(item) | found)
            }
            Value::String(text) => {
                let Some(attachment) = data_url(text) else { return false };
                *text = self.keep(attachment);
                true
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// An object that is a block: `type` is `image`, `audio` or `base64` and `data` holds the
    /// bytes, or `blob` does beside a media type.
    fn block(&mut self, map: &mut Map<String, Value>) -> bool {
        let media_type = MEDIA_TYPES.iter().find_map(|name| map.get(*name)?.as_str());
        let field = match map.get("type").and_then(Value::as_str) {
            Some("image" | "audio" | "base64") => "data",
            _ if media_type.is_some() => "blob",
            _ => return false,
        };
        let Some(bytes) = map.get(field).and_then(Value::as_str).and_then(unbase64) else {
            return false;
        };
        if bytes.is_empty() {
            return false;
        }
        let seen = || binary(&bytes, false).unwrap_or(UNKNOWN);
        let media_type = media_type.unwrap_or_else(seen).to_owned();
        let note = self.keep(Attachment::new(media_type, bytes));
        map.insert(field.to_owned(), Value::String(note));
        true
    }
}

/// `data:MEDIA;base64,...`
fn data_url(text: &str) -> Option<Attachment> {
    let (media_type, data) = text.strip_prefix("data:")?.split_once(";base64,")?;
    let bytes = unbase64(data).filter(|bytes| !bytes.is_empty())?;
    Some(Attachment::new(media_type, bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::secret::Secret;
    use crate::journal::event::call::ObservedEffects;

    const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n....";

    fn taken(output: &str, structured: Option<Value>) -> (Ran, Vec<Stored>) {
        let mut ran = Ran { structured, ..Ran::ok(output, ObservedEffects::default()) };
        let secrets = SecretSet::new([Secret::new("hunter22")]);
        let stored = take(&mut ran, &secrets, true);
        (ran, stored)
    }

    #[test]
    fn blocks_of_all_spellings_become_notes() {
        let data = base64(PIXEL);
        let url = format!("data:image/png;base64,{data}");
        for block in [
            json!({"type": "image", "data": data, "mimeType": "image/png"}),
            json!({"type": "image", "data": data}),
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}),
            json!({"type": "resource", "resource": {"uri": "x", "mimeType": "image/png", "blob": data}}),
            json!({"type": "image_url", "image_url": {"url": url}}),
        ] {
            let value = json!({"content": [{"type": "text", "text": "seen"}, block]});
            let (ran, stored) = taken(&value.to_string(), Some(value));
            let [one] = stored.as_slice() else { panic!("{stored:?}") };
            assert_eq!((one.kind, one.media_type.as_str(), one.bytes), ("binary", "image/png", 12));
            assert_eq!(&*one.text, url);
            let structured = ran.structured.unwrap();
            assert_eq!(serde_json::from_str::<Value>(&ran.output).unwrap(), structured);
            assert!(!ran.output.contains(&data) && ran.output.contains(&one.note()));
            assert!(structured["content"][0]["text"] == "seen");
        }
    }

    #[test]
    fn what_is_no_block_stays() {
        for value in [
            json!({"type": "image", "data": "not base64!"}),
            json!({"type": "text", "data": "aGVsbG8="}),
            json!({"type": "image", "data": 7}),
            json!({"blob": "aGVsbG8="}),
            json!("data: none"),
        ] {
            let (ran, stored) = taken(&value.to_string(), Some(value.clone()));
            assert!(stored.is_empty());
            assert_eq!((ran.output, ran.structured), (value.to_string(), Some(value)));
        }
    }

    #[test]
    fn secrets_in_bytes_are_overwritten_and_odd_names_replaced() {
        let bytes = b"\xff hunter22 \xff".to_vec();
        let attachment = Attachment::new("text/html, \"hunter22\"", bytes);
        let secrets = SecretSet::new([Secret::new("hunter22")]);
        let stored = Stored::new(attachment, &secrets, true);
        let text = format!("data:{UNKNOWN};base64,{}", base64(b"\xff ******** \xff"));
        assert_eq!(&*stored.text, text);
        let cut = Stored { total: 99, ..stored };
        let note = format!("[the first 12 of 99 bytes of {UNKNOWN} are kept as artifact ");
        assert!(cut.note().starts_with(&note));
        let note = format!("[99 bytes of {UNKNOWN} are not kept; they were {}]", cut.id());
        assert_eq!(Stored { kept: false, ..cut }.note(), note);
    }
}
