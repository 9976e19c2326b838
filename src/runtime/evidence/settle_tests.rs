use serde_json::json;

use super::*;
use crate::base::media::base64;
use crate::base::secret::Secret;
use crate::journal::Blobs;
use crate::journal::outcome::Blame;
use crate::runtime::exec::Attachment;
use crate::tool::manifest;

fn registered(exposure: &str) -> Registered {
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: note.read\ndescription: {{summary: Reads.}}\n\
         intent: {{actionTypes: [read]}}\n\
         schemas: {{inputSchema: {{type: object, properties: {{}}}}, outputSchema: {{}}}}\n\
         effects: {{reads: ['note:**'], writes: []}}\n\
         contextPolicy: {{exposeOutputToModel: {exposure}}}\n"
    );
    Registered::new(manifest::parse("note.read", &text).unwrap()).unwrap()
}

fn canary() -> Secret {
    Secret::canary("settle", 1)
}

/// Settles with receipts and a limit in Unicode scalar values.
fn after(tool: &Registered, limit: usize, ran: Ran) -> Settled {
    let secrets = SecretSet::new([canary()]);
    let key = ReceiptKey { id: "k".to_owned(), key: Secret::new("a key for tests") };
    let cx = Settling {
        redact: |secrets, text| secrets.scrub(text),
        mask: crate::base::redact::mask_personal,
        checks: &[],
        preview: preview::preview,
        receipt_eligible,
        secrets: &secrets,
        key: Some(&key),
        max_tool_result_chars: limit,
        scope: Scope { session: "s", turn: "t", call: "c" },
        now: 7,
    };
    settled(tool, Digest::of("args", b"{}"), ran, cx)
}

fn ok(output: impl Into<String>) -> Ran {
    Ran::ok(output, ObservedEffects::default())
}

/// Nothing of a settled call holds any part of the canary.
fn assert_clean(settled: &Settled) {
    let text = format!("{settled:?}");
    assert!(!text.contains("pmk-"), "{text}");
}

#[test]
fn a_secret_at_every_offset_of_a_cut_result_is_gone() {
    let canary = canary();
    let length = 400;
    for tool in ["preview", "full", "structured"].map(registered) {
        for at in 0..length {
            let (before, rest) = ("x".repeat(at), "y".repeat(length - at));
            let settled = after(&tool, 150, ok(format!("{before}{}{rest}", canary.expose())));
            assert_clean(&settled);
            assert!(settled.cut && settled.shown.chars().count() <= 150);
            assert!(settled.artifact.as_ref().is_some_and(|all| all.contains("[redacted]")));
        }
    }
}

#[test]
fn every_limit_is_kept_with_receipt_and_without() {
    let (full, preview) = (registered("full"), registered("preview"));
    for limit in 0..300 {
        for output in ["", "short", &"long 😀 ".repeat(100)] {
            let settled = after(&full, limit, ok(output));
            assert!(settled.shown.chars().count() <= limit);
            let failed = Ran { output: output.to_owned(), ..Ran::failed(Blame::Tool, "x", "no") };
            assert!(after(&preview, limit, failed).shown.chars().count() <= limit);
        }
    }
}

#[test]
fn errors_names_and_command_lines_are_scrubbed() {
    let secret = canary();
    let said = format!("with {} in it", secret.expose());
    let effects = ObservedEffects {
        method: said.clone(),
        reads: vec![said.clone()],
        writes: vec![said.clone()],
        deletes: vec![said.clone()],
        external_calls: vec![said.clone()],
        cost_usd: None,
    };
    let fault = Ran::failed(Blame::Tool, &said, said.clone());
    let ran = Ran { output: said.clone(), effects, command: Some(said), ..fault };
    let settled = after(&registered("preview"), 1000, ran);
    assert_clean(&settled);
    assert_eq!(settled.command.as_deref(), Some("with [redacted] in it"));
    let Outcome::Failed { fault } = &settled.outcome else { panic!("{settled:?}") };
    assert_eq!(fault.message, "with [redacted] in it");
    let shown =
        "error with [redacted] in it: with [redacted] in it\npartial output:\nwith [redacted]";
    assert!(settled.shown.starts_with(shown), "{}", settled.shown);
}

#[test]
fn structured_output_stays_json() {
    let secret = canary();
    let value =
        json!({"a\"": [secret.expose(), {"n": format!("{{\"k\": \"{}\"}}", secret.expose())}]});
    let ran = Ran { structured: Some(value.clone()), ..ok(value.to_string()) };
    let settled = after(&registered("structured"), 1000, ran);
    assert_clean(&settled);
    let (shown, _) = settled.shown.rsplit_once("\n[receipt ").unwrap();
    let expected = json!({"a\"": ["[redacted]", {"n": "{\"k\": \"[redacted]\"}"}]});
    assert_eq!(serde_json::from_str::<Value>(shown).unwrap(), expected);
}

#[test]
fn what_is_no_text_is_kept_and_noted() {
    let pixel = b"\x89PNG\r\n\x1a\n....".to_vec();
    let block = json!({"type": "image", "mimeType": "image/png", "data": base64(&pixel)});
    let in_text = Ran { structured: Some(block.clone()), ..ok(block.to_string()) };
    let beside = Ran { attachments: vec![Attachment::new("image/png", pixel)], ..ok("seen\n") };
    for (ran, start) in [(in_text, "{\"data\":\"["), (beside, "seen\n[")] {
        let settled = after(&registered("preview"), 1000, ran);
        let [one] = settled.artifacts.as_slice() else { panic!("{settled:?}") };
        let note = format!("12 bytes of image/png are kept as artifact {}]", one.id());
        assert!(settled.shown.starts_with(&format!("{start}{note}")), "{}", settled.shown);
        assert_eq!(one.id(), format!("art_{}", Blobs::name(&one.text).short()));
        assert!(settled.artifact.is_none());
    }
    let alone = Ran { attachments: vec![Attachment::new("x/y", vec![0])], ..ok("") };
    let settled = after(&registered("preview"), 1000, alone);
    assert!(settled.shown.starts_with("[1 bytes of x/y are kept"), "{}", settled.shown);
    assert!(after(&registered("none"), 1000, ok("")).shown.starts_with(preview::NOT_SHOWN));
    assert!(after(&registered("preview"), 1000, ok(" ")).shown.starts_with(preview::NO_OUTPUT));
}
