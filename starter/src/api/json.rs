//! JSON in which no field stands twice: which of two amounts was meant is not ours to guess.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// A value that was read without a repeated field, at any depth.
#[derive(Debug)]
pub(super) struct Unique(pub Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number is too large"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Unique(value))) = fields.next_entry::<String, Unique>()? {
            if object.contains_key(&name) {
                let shown: String = name.chars().take(40).collect();
                return Err(A::Error::custom(format_args!("the field {shown:?} stands twice")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_stands_twice_is_refused_at_any_depth() {
        for text in [r#"{"amount":5,"amount":1999}"#, r#"{"items":[{"sku":"a","sku":"b"}]}"#] {
            let error = serde_json::from_str::<Unique>(text).expect_err("refused").to_string();
            assert!(error.contains("stands twice"), "{error}");
        }
    }

    #[test]
    fn other_json_reads_as_it_is() {
        let text = r#"{"a":[1,-2,1.5,"x",null,true],"b":{"c":{}}}"#;
        let Unique(value) = serde_json::from_str(text).expect("reads");
        assert_eq!(value, serde_json::from_str::<Value>(text).expect("reads"));
    }
}
