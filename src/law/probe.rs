//! Looks at every text of some facts without writing them down.

use std::fmt;

use serde::ser::{self, Impossible, Serialize, Serializer};

/// Whether a test holds for any text or key in the facts, as JSON would spell them but for its
/// escapes.
pub(super) fn any_text<T: Serialize>(facts: &T, test: &dyn Fn(&str) -> bool) -> bool {
    matches!(facts.serialize(Probe(test)), Err(Stop::Found))
}

/// Why serializing stopped.
#[derive(Debug)]
enum Stop {
    Found,
    /// Facts are plain data, so nothing else stops it.
    Failed,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stop {}

impl ser::Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Failed
    }
}

#[derive(Clone, Copy)]
struct Probe<'t>(&'t dyn Fn(&str) -> bool);

impl Probe<'_> {
    fn text(self, text: &str) -> Result<(), Stop> {
        if (self.0)(text) { Err(Stop::Found) } else { Ok(()) }
    }
}

macro_rules! no_text {
    ($($name:ident: $type:ty),+ $(,)?) => {
        $(fn $name(self, _: $type) -> Result<(), Stop> {
            Ok(())
        })+
    };
}

impl<'t> Serializer for Probe<'t> {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Impossible<(), Stop>;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    /// A digest is no place for a text, and facts are full of them: they come as bytes.
    fn is_human_readable(&self) -> bool {
        false
    }

    no_text! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64, serialize_f32: f32, serialize_f64: f64, serialize_bytes: &[u8],
        serialize_unit_struct: &'static str,
    }

    fn serialize_char(self, c: char) -> Result<(), Stop> {
        self.text(c.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Stop> {
        self.text(text)
    }

    fn serialize_none(self) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
    ) -> Result<(), Stop> {
        self.text(name)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), Stop>, Stop> {
        Err(Stop::Failed)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Stop> {
        Ok(self)
    }
}

macro_rules! parts {
    ($($part:ident: $item:ident),+ $(,)?) => {
        $(impl ser::$part for Probe<'_> {
            type Ok = ();
            type Error = Stop;

            fn $item<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Stop> {
                value.serialize(*self)
            }

            fn end(self) -> Result<(), Stop> {
                Ok(())
            }
        })+
    };
}

parts! {
    SerializeSeq: serialize_element, SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
}

macro_rules! fields {
    ($($part:ident),+ $(,)?) => {
        $(impl ser::$part for Probe<'_> {
            type Ok = ();
            type Error = Stop;

            /// A field's own name is no fact.
            fn serialize_field<T: ?Sized + Serialize>(
                &mut self,
                _: &'static str,
                value: &T,
            ) -> Result<(), Stop> {
                value.serialize(*self)
            }

            fn end(self) -> Result<(), Stop> {
                Ok(())
            }
        })+
    };
}

fields! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for Probe<'_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Stop> {
        key.serialize(*self)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Stop> {
        value.serialize(*self)
    }

    fn end(self) -> Result<(), Stop> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::journal::Event;
    use crate::journal::event::call::ToolCallRequested;

    fn holds(value: &Value, part: &str) -> bool {
        any_text(value, &|text| text.contains(part))
    }

    #[test]
    fn texts_and_keys_are_seen_at_every_depth() {
        let value = json!({"a": [1, {"deep-key": [true, null, "inner"]}], "b": 2.5});
        assert!(holds(&value, "deep") && holds(&value, "inner") && holds(&value, "b"));
        assert!(!holds(&value, "outer") && !holds(&value, "true") && !holds(&value, "2"));
        let event: Event = ToolCallRequested {
            args: Some(json!({"x": ["the needle"]})),
            ..ToolCallRequested::new("tool.name".into())
        }
        .into();
        for part in ["needle", "tool.name", "x"] {
            assert!(any_text(&event, &|text| text.contains(part)), "{part}");
        }
        assert!(!any_text(&event, &|text| text.contains("toolId")));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_seen_is_what_would_be_written(
            texts in prop::collection::vec("[a-c]{0,4}", 1..5),
            part in "[a-c]{1,3}",
        ) {
            let value = json!({"xs": texts, "y": {"z": texts.first()}});
            prop_assert_eq!(holds(&value, &part), value.to_string().contains(&part));
        }
    }
}
