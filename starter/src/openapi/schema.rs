//! The words in which schemas are written.

use serde_json::{Map, Value, json};

/// An object that has exactly these fields, all of them always.
pub(super) fn object(fields: &[(&str, Value)]) -> Value {
    let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    json!({ "type": "object", "required": names, "properties": properties(fields) })
}

/// A body: fields that are not named are refused.
pub(super) fn body(required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let mut body = object(required);
    let mut all = properties(required);
    all.append(&mut properties(optional));
    body["properties"] = Value::Object(all);
    body["additionalProperties"] = json!(false);
    body
}

fn properties(fields: &[(&str, Value)]) -> Map<String, Value> {
    fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect()
}

/// The same object with more fields.
pub(super) fn extended(mut base: Value, more: &[(&str, Value)]) -> Value {
    for (name, schema) in more {
        base["properties"][*name] = schema.clone();
        if let Some(required) = base["required"].as_array_mut() {
            required.push(json!(name));
        }
    }
    base
}

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

pub(super) fn or_null(schema: &Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

pub(super) fn list(of: &Value) -> Value {
    json!({ "type": "array", "items": of })
}

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

pub(super) fn text_or_null() -> Value {
    json!({ "type": ["string", "null"] })
}

pub(super) fn pattern(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

pub(super) fn words(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

pub(super) fn constant(word: &str) -> Value {
    json!({ "const": word })
}

pub(super) fn instant() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

pub(super) fn instant_or_null() -> Value {
    json!({ "type": ["string", "null"], "format": "date-time" })
}

/// A whole number that is not negative.
pub(super) fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

pub(super) fn boolean() -> Value {
    json!({ "type": "boolean" })
}

/// A record in its own words: its fields depend on what it records.
pub(super) fn any_object() -> Value {
    json!({ "type": "object" })
}
