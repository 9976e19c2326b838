//! One line straight into its entry, without a map in between. Whatever is unusual about a line is
//! left to the long way: keys that stand twice or are escaped, facts before the `type`, any error.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::event::Event;
use super::format::{SESSION, VERSION};
use super::journal::Entry;

/// How many names of calls are remembered.
const CALLS: usize = 8;

/// Names that were read last: most entries share theirs with one shortly before.
#[derive(Debug, Default)]
pub(super) struct Names {
    session: Option<Arc<str>>,
    turn: Option<Arc<str>>,
    calls: Vec<Arc<str>>,
    oldest: usize,
}

impl Names {
    fn session(&mut self, name: &str) -> Arc<str> {
        shared(&mut self.session, name)
    }

    fn turn(&mut self, name: &str) -> Arc<str> {
        shared(&mut self.turn, name)
    }

    fn call(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.calls.iter().find(|known| known.as_ref() == name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        if self.calls.len() < CALLS {
            self.calls.push(Arc::clone(&name));
        } else if let Some(oldest) = self.calls.get_mut(self.oldest) {
            *oldest = Arc::clone(&name);
            self.oldest = (self.oldest + 1) % CALLS;
        }
        name
    }
}

fn shared(last: &mut Option<Arc<str>>, name: &str) -> Arc<str> {
    match last {
        Some(last) if last.as_ref() == name => Arc::clone(last),
        last => Arc::clone(last.insert(name.into())),
    }
}

/// The entry of a line, if it can be read this way; what it says is then what the long way says.
pub(super) fn entry(line: &str, next: u64, names: &mut Names) -> Option<Entry> {
    let mut json = serde_json::Deserializer::from_str(line);
    let (head, event) = json.deserialize_map(Line).ok()?;
    json.end().ok()?;
    let own = match (head.call, &event) {
        (Some(call), _) => Some(call),
        (None, Event::ArtifactPersisted(fact)) => fact.tool_call_id.as_deref(),
        (None, _) => head.seed_call,
    };
    Some(Entry {
        seq: head.seq.unwrap_or(next),
        session: names.session(head.session.unwrap_or(SESSION)),
        turn: head.turn.map(|turn| names.turn(turn)),
        call: own.map(|call| names.call(call)),
        cause: head.cause,
        at: head.at.unwrap_or(0),
        event,
    })
}

/// Where the seed's short lines name their call.
const SEED_CALL: &str = "toolCallId";
const SEED_BIT: u8 = 1 << 7;

/// What stands around the facts.
#[derive(Default)]
struct Head<'de> {
    seq: Option<u64>,
    session: Option<&'de str>,
    turn: Option<&'de str>,
    call: Option<&'de str>,
    seed_call: Option<&'de str>,
    cause: Option<u64>,
    at: Option<u64>,
    /// Which keys stood there.
    taken: u8,
}

impl<'de> Head<'de> {
    /// Takes the value of a key, unless it is the key of a fact.
    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        let bit = match key {
            "v" => 1,
            "seq" => 1 << 1,
            "session" => 1 << 2,
            "turn" => 1 << 3,
            "call" => 1 << 4,
            "cause" => 1 << 5,
            "at" => 1 << 6,
            SEED_CALL => SEED_BIT,
            _ => return Ok(false),
        };
        if self.taken & bit != 0 {
            return Err(A::Error::custom("a key stands twice"));
        }
        self.taken |= bit;
        match key {
            "v" if map.next_value::<Option<u64>>()?.is_none_or(|version| version == VERSION) => {}
            "v" => return Err(A::Error::custom("another version")),
            "seq" => self.seq = map.next_value()?,
            "session" => self.session = map.next_value()?,
            "turn" => self.turn = map.next_value()?,
            "call" => self.call = map.next_value()?,
            "cause" => self.cause = map.next_value()?,
            "at" => self.at = map.next_value()?,
            _ => self.seed_call = map.next_value()?,
        }
        Ok(true)
    }
}

struct Line;

impl<'de> Visitor<'de> for Line {
    type Value = (Head<'de>, Event);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entry")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut head = Head::default();
        while let Some(key) = map.next_key::<&'de str>()? {
            if key == "type" {
                let name: &'de str = map.next_value()?;
                // An artifact's call is a fact of its own.
                let of_fact = (name == "ArtifactPersisted").then_some(SEED_CALL);
                let early = head.taken & SEED_BIT != 0;
                let mut rest = Rest { map, head: &mut head, of_fact };
                let event = Event::of(name, &mut rest)?;
                let doubtful = head.taken & SEED_BIT != 0 && head.call.is_some();
                if doubtful || (early && of_fact.is_some()) {
                    return Err(A::Error::custom("two places for a call"));
                }
                return Ok((head, event));
            }
            if !head.take(key, &mut map)? {
                return Err(A::Error::custom("a fact before the type"));
            }
        }
        Err(A::Error::custom("no type"))
    }
}

/// The facts of an entry, between whose keys those around the facts may stand.
struct Rest<'h, 'de, A> {
    map: A,
    head: &'h mut Head<'de>,
    of_fact: Option<&'static str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for &mut Rest<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<&'de str>()? {
            if self.of_fact == Some(key) || !self.head.take(key, &mut self.map)? {
                return seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// The session of a line, if its beginning is as this crate writes it.
pub(super) fn written_session(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("{\"v\":1,\"seq\":")?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.strip_prefix(",\"session\":\"")?;
    let end = rest.bytes().position(|b| b == b'"' || b == b'\\')?;
    let (name, rest) = rest.split_at_checked(end)?;
    rest.starts_with('"').then_some(name)
}

/// The session of any line.
pub(super) fn session(line: &str) -> Option<Cow<'_, str>> {
    struct Session;

    impl<'de> Visitor<'de> for Session {
        type Value = Cow<'de, str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an entry")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut session = None;
            while let Some(key) = map.next_key::<Text<'de>>()? {
                if key.0 == "session" {
                    session = Some(map.next_value::<&'de RawValue>()?);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            // Only the last one counts, as in a map.
            let text = session.map(|raw| serde_json::from_str::<Option<Text<'de>>>(raw.get()));
            let text = text.transpose().map_err(A::Error::custom)?.flatten();
            Ok(text.map_or(Cow::Borrowed(SESSION), |text| text.0))
        }
    }

    serde_json::Deserializer::from_str(line).deserialize_map(Session).ok()
}

/// A text that is borrowed where it can be.
#[derive(Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::strict::schema_of;

    /// A fact under a key that stands around facts could not be read.
    #[test]
    fn no_fact_has_a_key_that_stands_around_facts() {
        let schema = schema_of::<Event>("events");
        let events = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert_eq!(events.len(), Event::NAMES.len());
        for event in events {
            for key in ["v", "seq", "session", "turn", "call", "cause", "at"] {
                assert!(event["properties"].get(key).is_none(), "`{key}` in {event}");
            }
        }
    }

    #[test]
    fn names_are_shared() {
        let mut names = Names::default();
        let line = r#"{"session":"s","turn":"t","call":"c","type":"TornDown"}"#;
        let (one, two) = (entry(line, 1, &mut names), entry(line, 2, &mut names));
        let (Some(one), Some(two)) = (one, two) else { panic!("{line}") };
        let same = |a: &Option<Arc<str>>, b: &Option<Arc<str>>| {
            a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| Arc::ptr_eq(a, b))
        };
        assert!(Arc::ptr_eq(&one.session, &two.session));
        assert!(same(&one.turn, &two.turn) && same(&one.call, &two.call));
        for number in 0..20 {
            assert_eq!(&*names.call(&format!("c{number}")), format!("c{number}"));
        }
        assert_eq!(names.calls.len(), CALLS);
    }
}
