//! Every call has an id of its own in its session: the provider's where it is usable, else a
//! fresh one. Providers repeat ids, within a reply and from reply to reply, and may hit on one
//! of ours.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::world::World;
use crate::runtime::dialect::{Message, RawCall, Transcript};

/// The ids of a reply's calls, in their order.
pub fn pin(calls: &[RawCall], transcript: &Transcript, world: &mut dyn World) -> Vec<Arc<str>> {
    let mut taken: BTreeSet<Arc<str>> = transcript.messages().iter().flat_map(made).collect();
    let usable = |id: &String| (!id.trim().is_empty()).then(|| Arc::from(id.as_str()));
    // All usable ids are taken before any is made up, so that a later call keeps its own.
    let own: Vec<Option<Arc<str>>> = calls
        .iter()
        .map(|raw| raw.id.as_ref().and_then(usable).filter(|id| taken.insert(Arc::clone(id))))
        .collect();
    let mut fresh = || {
        loop {
            let id: Arc<str> = world.next_id("call_").into();
            if taken.insert(Arc::clone(&id)) {
                return id;
            }
        }
    };
    own.into_iter().map(|id| id.unwrap_or_else(&mut fresh)).collect()
}

fn made(message: &Message) -> Vec<Arc<str>> {
    match message {
        Message::Assistant { calls, .. } => {
            calls.iter().map(|call| Arc::clone(&call.call)).collect()
        }
        Message::User { .. } | Message::Tool { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::world::RealWorld;
    use crate::runtime::dialect::transcript::AssistantCall;

    fn check(earlier: &[&str], given: &[Option<&str>], expected: &[&str]) {
        let mut transcript = Transcript::new();
        let call = |id: &&str| AssistantCall {
            call: Arc::from(*id),
            name: "a".into(),
            arguments: String::new(),
        };
        let calls = earlier.iter().map(call).collect();
        transcript.push(Message::Assistant { text: "".into(), calls });
        let raw = |id: &Option<&str>| RawCall::native(id.map(str::to_owned), "a", "");
        let calls: Vec<RawCall> = given.iter().map(raw).collect();
        let pinned = pin(&calls, &transcript, &mut RealWorld::default());
        let pinned: Vec<&str> = pinned.iter().map(|id| &**id).collect();
        assert_eq!(pinned, expected, "{earlier:?} {given:?}");
    }

    #[test]
    fn ids_are_kept_where_they_are_usable_and_never_shared() {
        check(&[], &[Some("a"), Some("b")], &["a", "b"]);
        check(&[], &[Some("a"), Some("a"), Some(" "), None], &["a", "call_1", "call_2", "call_3"]);
        check(&["a"], &[Some("a"), Some("b")], &["call_1", "b"]);
        check(&["call_1"], &[None, Some("call_2")], &["call_3", "call_2"]);
    }
}
