//! The document is current, and what is rendered and read is what it says.

mod samples;

use super::*;
use crate::resources;
use crate::resources::payment::tests::{intent, view};
use domain::state_page;
use std::path::PathBuf;

/// Set to write generated files anew.
const UPDATE: &str = "UPDATE_GENERATED";

fn hold(path: &str, fresh: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    if std::env::var(UPDATE).is_ok_and(|value| value == "1") {
        std::fs::write(&path, fresh).expect("the file can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let same = committed.lines().zip(fresh.lines()).take_while(|(old, new)| old == new).count();
    assert!(
        committed == fresh,
        "{} is stale from line {}; `{UPDATE}=1 cargo test --workspace --bins` writes it anew",
        path.display(),
        same + 1
    );
}

#[test]
fn the_committed_document_is_current() {
    let text = serde_json::to_string_pretty(document()).expect("JSON");
    hold("starter/openapi.json", &format!("{text}\n"));
}

#[test]
fn the_page_for_callers_is_current() {
    hold("docs/API.md", &guide::render());
}

#[test]
fn the_page_names_every_operation_and_code_and_loads_nothing() {
    for operation in operations() {
        assert!(page().contains(&format!("id=\"{}\"", operation.id)), "{}", operation.id);
        for code in operation.problems() {
            assert!(page().contains(code.row().word) || code == Code::DecisionRefused);
        }
    }
    for outside in ["<script", "<link", "src=", "http://", "https://"] {
        assert!(!page().contains(outside), "{outside}");
    }
}

#[test]
fn every_code_is_answered_by_an_operation_or_by_the_router() {
    let by_the_router = [Code::NotFound, Code::MethodNotAllowed];
    for code in Code::all() {
        let answered = operations().iter().any(|one| one.problems().contains(&code));
        assert_eq!(answered, !by_the_router.contains(&code), "{code:?}");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let mut left = vec![document()];
    while let Some(value) = left.pop() {
        if let Some(link) = value["$ref"].as_str() {
            let target = document().pointer(&link[1..]);
            assert!(target.is_some(), "{link}");
        }
        match value {
            Value::Object(fields) => left.extend(fields.values()),
            Value::Array(values) => left.extend(values),
            _ => {}
        }
    }
}

/// What of the value is not as the schema says, by its path.
fn wrong(schema: &Value, value: &Value, path: &str) -> Vec<String> {
    if let Some(link) = schema["$ref"].as_str() {
        return wrong(&document().pointer(&link[1..]).expect("a schema").clone(), value, path);
    }
    if let Some(ways) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        let all: Vec<_> = ways.iter().map(|way| wrong(way, value, path)).collect();
        let fits = all.iter().any(Vec::is_empty);
        return if fits { Vec::new() } else { all.concat() };
    }
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{path}: no check for {other}"),
    };
    let kinds: Vec<_> = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut wrong_here = Vec::new();
    let choices = schema["enum"].as_array().is_none_or(|words| words.contains(value));
    let constant = schema.get("const").is_none_or(|word| word == value);
    if !(kinds.is_empty() || kinds.iter().any(|kind| is(kind))) || !choices || !constant {
        wrong_here.push(format!("{path} is {value}"));
    }
    if let (Some(known), Some(fields)) = (schema["properties"].as_object(), value.as_object()) {
        for name in known.keys().filter(|name| !fields.contains_key(*name)) {
            wrong_here.push(format!("{path}.{name} is not rendered"));
        }
        for (name, value) in fields {
            match known.get(name) {
                Some(schema) => wrong_here.extend(wrong(schema, value, &format!("{path}.{name}"))),
                None => wrong_here.push(format!("{path}.{name} is not in the schema")),
            }
        }
    }
    for (place, value) in value.as_array().into_iter().flatten().enumerate() {
        wrong_here.extend(wrong(&schema["items"], value, &format!("{path}[{place}]")));
    }
    wrong_here
}

fn assert_is(name: &str, value: &Value) {
    let found = wrong(&reference(name), value, name);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_payment_is_rendered_as_its_schema_says_in_every_state() {
    let mut states: Vec<_> = Vec::new();
    for (_, state) in state_page::states() {
        states.push(state.name());
        let shown = resources::payment::render(&intent(), &view(state.clone()).into());
        assert_is("PaymentIntent", &shown);
        let known = view(state);
        let now = chrono::DateTime::from_timestamp_millis(1_700_000_000_000).expect("valid");
        let mut shown =
            resources::explain::render_without_row(&intent(), Some(&known), None, false, now);
        shown["web_ui"] = Value::Null;
        shown["workflow_status"] = json!("running");
        assert_is("Explanation", &shown);
    }
    assert!(schemas::PAYMENT_STATES.iter().all(|state| states.contains(state)), "{states:?}");
}

#[test]
fn an_order_and_its_trace_are_rendered_as_their_schemas_say() {
    let trace = samples::trace();
    assert_is("Order", &resources::order::render(&trace.order));
    assert_is("Trace", &resources::trace::render(&trace, None));
}

#[test]
fn a_review_is_rendered_as_its_schema_says() {
    let (review, detail) = samples::review();
    assert_is("Review", &resources::review::render(&review));
    assert_is("ReviewDetail", &resources::review::render_with(&review, &detail));
}

#[test]
fn a_problem_is_rendered_as_its_schema_says() {
    for mut problem in crate::api::samples::problems() {
        // These three are there only where they help.
        for (name, value) in [
            ("field", json!("amount")),
            ("payment", json!(intent().payment_id())),
            ("sku", json!("tea")),
        ] {
            problem[name] = value;
        }
        assert_is("Problem", &problem);
    }
}

#[test]
fn the_bodies_have_the_fields_that_are_read() {
    let fields = |name: &str| {
        let schema = &document()["components"]["schemas"][name];
        let mut names: Vec<_> =
            schema["properties"].as_object().expect(name).keys().cloned().collect();
        names.sort_unstable();
        names
    };
    let sorted = |names: &[&str]| {
        let mut names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort_unstable();
        names
    };
    let [order, line, decision] = crate::api::samples::FIELDS;
    assert_eq!(fields("NewOrder"), sorted(order));
    assert_eq!(fields("NewOrderLine"), sorted(line));
    assert_eq!(fields("NewDecision"), sorted(decision));
    let intent = intent().to_json();
    let read = intent.as_object().expect("object").keys().map(String::as_str);
    let read: Vec<_> = read.filter(|name| *name != "key").collect();
    assert_eq!(fields("NewPaymentIntent"), sorted(&read));
}
