//! The API's description: one OpenAPI 3.1 document, made from what the endpoints promise, the table
//! of problems and the schemas of the resources. `starter/openapi.json` is its committed copy.

#[cfg(test)]
mod guide;
mod page;
mod records;
mod schema;
mod schemas;
#[cfg(test)]
mod tests;

use crate::api::code::Code;
use crate::api::operation::{Caller, Content, Good, Operation};
use crate::api::{limits, operations};
use schema::{reference, text};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static DOCUMENT: LazyLock<Value> = LazyLock::new(make);
static PAGE: LazyLock<String> = LazyLock::new(|| page::render(&DOCUMENT));

/// The document.
pub(crate) fn document() -> &'static Value {
    &DOCUMENT
}

/// The document as a page for people.
pub(crate) fn page() -> &'static str {
    &PAGE
}

const ABOUT: &str = "Takes a payment exactly once in effect. Amounts are integers in minor units \
    with an ISO 4217 code; times are RFC 3339 in UTC. A POST with an Idempotency-Key may be sent \
    again: the answer is today's truth with the header Idempotent-Replayed. A decline is an \
    outcome, not a problem; a problem is application/problem+json (RFC 9457) with a stable code.";

fn make() -> Value {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for operation in operations() {
        let path = paths.entry(operation.path).or_default();
        path.insert(operation.verb.as_str().to_owned(), describe(operation));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Oncepay", "version": "v1", "description": ABOUT,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "parameters": parameters(),
            "headers": headers(),
            "securitySchemes": {
                "operator": {
                    "type": "http", "scheme": "bearer",
                    "description": "The token that `oncepay operator add` drew.",
                },
            },
        },
    })
}

fn describe(operation: &Operation) -> Value {
    let mut parameters = Vec::new();
    if operation.path.contains("{id}") {
        let schema = reference(schemas::id_of(operation.path));
        parameters.push(json!({ "name": "id", "in": "path", "required": true, "schema": schema }));
    }
    parameters.extend(operation.query.iter().map(|query| {
        let schema = reference(query.schema);
        json!({ "name": query.name, "in": "query", "description": query.about, "schema": schema })
    }));
    if let Some(body) = &operation.body {
        let about = "The caller's own name for what is to be done once; sent again with every \
                     repetition. Kept for ever.";
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": true,
            "description": about, "schema": reference(body.key),
        }));
    }
    parameters.push(json!({ "$ref": "#/components/parameters/RequestId" }));
    parameters.push(json!({ "$ref": "#/components/parameters/Traceparent" }));
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "description": operation.about,
        "parameters": parameters,
        "responses": responses(operation),
    });
    if let Some(body) = &operation.body {
        described["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": reference(body.schema) } },
        });
    }
    match operation.caller {
        Caller::Anyone => {}
        Caller::AnyoneOrOperator => described["security"] = json!([{}, { "operator": [] }]),
        Caller::Operator => described["security"] = json!([{ "operator": [] }]),
    }
    described
}

/// By status: first what is no problem, then every problem by its code.
fn responses(operation: &Operation) -> BTreeMap<String, Value> {
    let mut responses = BTreeMap::new();
    for good in operation.answers {
        responses.insert(good.status.to_string(), answer(operation, good));
    }
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in operation.problems() {
        by_status.entry(code.row().status).or_default().push(code);
    }
    for (status, codes) in by_status {
        responses.insert(status.to_string(), problem(status, &codes));
    }
    responses
}

fn answer(operation: &Operation, good: &Good) -> Value {
    let mut headers = vec!["Request-Id"];
    if operation.body.is_some() && good.status == 200 {
        headers.push("Idempotent-Replayed");
    }
    let content = match good.content {
        Content::Json(schema) => json!({ "application/json": { "schema": reference(schema) } }),
        Content::Html => json!({ "text/html": { "schema": text() } }),
    };
    json!({ "description": good.when, "headers": named(&headers), "content": content })
}

fn problem(status: u16, codes: &[Code]) -> Value {
    let mut headers = vec!["Request-Id"];
    match status {
        401 => headers.push("WWW-Authenticate"),
        503 => headers.push("Retry-After"),
        _ => {}
    }
    let words = distinct(codes.iter().copied());
    let about = codes.iter().map(|code| {
        let row = code.row();
        format!("{}: {}.", row.title, row.advice)
    });
    let about: Vec<_> = about.collect();
    let schema = json!({
        "allOf": [
            reference("Problem"),
            { "properties": { "code": { "enum": words }, "status": { "const": status } } },
        ],
    });
    json!({
        "description": about.join(" "),
        "headers": named(&headers),
        "content": { "application/problem+json": { "schema": schema } },
    })
}

/// Every word that the codes may carry, once.
fn distinct(codes: impl IntoIterator<Item = Code>) -> Vec<&'static str> {
    let mut words = Vec::new();
    for word in codes.into_iter().flat_map(Code::words) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn named(headers: &[&str]) -> Map<String, Value> {
    let link = |name: &&str| {
        let link = json!({ "$ref": format!("#/components/headers/{name}") });
        ((*name).to_owned(), link)
    };
    headers.iter().map(link).collect()
}

fn parameters() -> Value {
    let id = format!(
        "Comes back on the answer. One that is not 1 to {} visible ASCII characters is replaced.",
        limits::MAX_REQUEST_ID_LEN
    );
    let trace = "W3C Trace Context. It is carried to the payment's workflow and to its channel; \
                 one that is not well-formed is left out.";
    json!({
        "RequestId": {
            "name": "Request-Id", "in": "header", "description": id, "schema": text(),
        },
        "Traceparent": {
            "name": "traceparent", "in": "header", "description": trace, "schema": text(),
        },
    })
}

fn headers() -> Value {
    let header = |about: &str, schema: Value| json!({ "description": about, "schema": schema });
    json!({
        "Request-Id": header("The request's name, the caller's or ours.", text()),
        "Idempotent-Replayed": header(
            "There where the key had been used before for the same request.",
            json!({ "const": "true" }),
        ),
        "Retry-After": header("Seconds after which to ask again.", text()),
        "WWW-Authenticate": header("How to prove who asks.", text()),
    })
}
