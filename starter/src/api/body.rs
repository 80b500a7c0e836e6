//! Reads bodies: JSON objects whose every field is known. What is wrong is named by its path, such
//! as `items[0].quantity`.

use super::json::Unique;
use super::limits::{ARRIVAL_LIMIT, MAX_BODY_LEN};
use super::problem::{ApiError, Code};
use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value};
use std::fmt::Display;

/// Longest name that a problem document repeats.
const MAX_REPEATED_LEN: usize = 40;

/// The JSON object in a request's body.
#[derive(Debug)]
pub(super) struct JsonObject(pub Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for JsonObject {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            let detail = "send the body as application/json";
            return Err(ApiError::new(Code::UnsupportedMediaType, detail));
        }
        let read = Bytes::from_request(request, state);
        let bytes = match tokio::time::timeout(ARRIVAL_LIMIT, read).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                let detail = format!("a body has at most {MAX_BODY_LEN} bytes");
                return Err(ApiError::new(Code::BodyTooLarge, detail));
            }
            Ok(Err(_)) => return Err(ApiError::new(Code::MalformedJson, "the body broke off")),
            Err(_elapsed) => {
                let detail = format!("the body took longer than {} s", ARRIVAL_LIMIT.as_secs());
                return Err(ApiError::new(Code::RequestTimeout, detail));
            }
        };
        parse(&bytes).map(Self)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

fn parse(bytes: &[u8]) -> Result<Map<String, Value>, ApiError> {
    let Unique(value) = serde_json::from_slice(bytes).map_err(|error| {
        if error.is_data() {
            return ApiError::new(Code::InvalidInput, error.to_string());
        }
        let what = if error.is_eof() { "the JSON ends too early" } else { "the JSON is broken" };
        let (line, column) = (error.line(), error.column());
        let detail = format!("{what}, at line {line}, column {column}");
        ApiError::new(Code::MalformedJson, detail)
    })?;
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(ApiError::new(Code::InvalidInput, "the body must be one JSON object")),
    }
}

/// An object of the body, whose fields are all known.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    object: &'a Map<String, Value>,
    /// Where the object stands in the body: empty, or with its dot at the end.
    prefix: String,
}

impl<'a> Fields<'a> {
    /// # Errors
    /// A problem that names the first field that is not among the known ones.
    pub(super) fn of(
        object: &'a Map<String, Value>,
        path: &str,
        known: &[&str],
    ) -> Result<Self, ApiError> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
        if let Some(name) = object.keys().find(|name| !known.contains(&name.as_str())) {
            let name: String = name.chars().take(MAX_REPEATED_LEN).collect();
            let detail = format!("{prefix}{name} is not a field here; known: {}", known.join(", "));
            return Err(ApiError::invalid(format!("{prefix}{name}"), detail));
        }
        Ok(Self { object, prefix })
    }

    /// The error for one field: `rule` is the rest of the sentence that begins with its name.
    pub(super) fn invalid(&self, name: &str, rule: impl Display) -> ApiError {
        let path = format!("{}{name}", self.prefix);
        let detail = format!("{path} {rule}");
        ApiError::invalid(path, detail)
    }

    fn value(&self, name: &str) -> Result<&'a Value, ApiError> {
        self.object.get(name).ok_or_else(|| self.invalid(name, "is missing"))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, ApiError> {
        self.value(name)?.as_str().ok_or_else(|| self.invalid(name, "must be a string"))
    }

    /// A text that may be absent or null.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, ApiError> {
        match self.object.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.text(name).map(Some),
        }
    }

    /// A text that is a value of ours; the error completes the sentence "NAME …".
    pub(super) fn parsed<T, E: Display>(
        &self,
        name: &str,
        parse: impl FnOnce(&'a str) -> Result<T, E>,
    ) -> Result<T, ApiError> {
        parse(self.text(name)?).map_err(|rule| self.invalid(name, rule))
    }

    pub(super) fn unsigned(&self, name: &str) -> Result<u64, ApiError> {
        let value = self.value(name)?.as_u64();
        value.ok_or_else(|| self.invalid(name, "must be a whole number that is not negative"))
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], ApiError> {
        let value = self.value(name)?.as_array();
        value.map(Vec::as_slice).ok_or_else(|| self.invalid(name, "must be a list"))
    }

    pub(super) fn object(&self, name: &str) -> Result<&'a Map<String, Value>, ApiError> {
        self.value(name)?.as_object().ok_or_else(|| self.invalid(name, "must be an object"))
    }
}

/// The rest of the sentence about an id that breaks its rule.
pub(super) fn must_be(error: &domain::ids::IdError) -> String {
    format!("must be {}", error.rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use serde_json::json;

    #[test]
    fn only_json_is_read() {
        let with = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(value));
            is_json(&headers)
        };
        assert!(with("application/json"));
        assert!(with("Application/JSON; charset=utf-8"));
        assert!(!with("text/json") && !with("application/jsonp"));
        assert!(!is_json(&HeaderMap::new()));
    }

    #[test]
    fn broken_json_is_told_where_it_breaks() {
        let error = parse(b"{\"a\":\n}").expect_err("broken");
        assert_eq!(error.code(), Code::MalformedJson);
        assert!(format!("{error:?}").contains("line 2"), "{error:?}");
        for bad in [&b""[..], b"{", b"{} {}", &[b'['; 10_000], b"\xff"] {
            assert_eq!(parse(bad).expect_err("broken").code(), Code::MalformedJson);
        }
        assert_eq!(parse(b"[1]").expect_err("no object").code(), Code::InvalidInput);
    }

    #[test]
    fn a_wrong_field_is_named_with_its_path() {
        let body = json!({ "n": -1, "t": 1, "l": {}, "o": [] });
        let body = body.as_object().expect("object");
        let fields = Fields::of(body, "items[0]", &["n", "t", "l", "o"]).expect("all known");
        let named = |error: ApiError, field: &str| {
            assert!(
                format!("{error:?}").contains(&format!("field: Some(\"{field}\")")),
                "{error:?}"
            );
        };
        named(fields.unsigned("n").expect_err("negative"), "items[0].n");
        named(fields.text("t").expect_err("a number"), "items[0].t");
        named(fields.list("l").expect_err("an object"), "items[0].l");
        named(fields.object("o").expect_err("a list"), "items[0].o");
        named(fields.text("x").expect_err("missing"), "items[0].x");
        named(Fields::of(body, "", &["n", "t", "l"]).expect_err("unknown"), "o");
    }
}
