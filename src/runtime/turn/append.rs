//! Messages into the transcript, and the fact of it into the journal.

use std::sync::Arc;

use super::machine::Lent;
use crate::journal::event::turn::{TranscriptAppended, TranscriptMessage};
use crate::runtime::dialect::Message;

/// Appends messages in their order.
pub fn append(cx: &mut Lent<'_>, messages: Vec<Message>) {
    let facts = messages.iter().map(|message| fact(cx, message)).collect();
    cx.log.fact(cx.world, TranscriptAppended { messages: facts });
    for message in messages {
        cx.transcript.push(message);
    }
}

fn fact(cx: &mut Lent<'_>, message: &Message) -> TranscriptMessage {
    let (role, text, call, calls) = match message {
        Message::User { text } => ("user", text, None, Vec::new()),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| call.call.to_string()).collect();
            ("assistant", text, None, calls)
        }
        Message::Tool { call, text, .. } => ("tool", text, Some(call.to_string()), Vec::new()),
    };
    TranscriptMessage {
        role: role.to_owned(),
        chars: text.chars().count(),
        text: match &call {
            Some(call) => cx.log.keep_result(call, text),
            None => cx.log.journal.put_blob(Arc::clone(text)),
        },
        call,
        calls,
    }
}
