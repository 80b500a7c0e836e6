//! The document as one HTML page. No script, no font and no style is loaded from anywhere.

use serde_json::Value;
use std::fmt::Write;

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    code,pre{background:#f3f3f3;padding:.1rem .25rem}pre{overflow:auto;padding:.75rem}\
    table{border-collapse:collapse;width:100%}td,th{border:1px solid #ccc;padding:.25rem .5rem;\
    text-align:left;vertical-align:top}h2{margin-top:2.5rem;border-top:1px solid #ccc}";

pub(super) fn render(document: &Value) -> String {
    let title = escaped(text(&document["info"]["title"]));
    let about = escaped(text(&document["info"]["description"]));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n<p>{about}</p>\n\
         <p>For programs: <a href=\"/openapi.json\">/openapi.json</a></p>\n"
    );
    let paths = document["paths"].as_object();
    for (path, verbs) in paths.into_iter().flatten() {
        for (verb, operation) in verbs.as_object().into_iter().flatten() {
            write_operation(&mut page, path, verb, operation);
        }
    }
    page.push_str("<h2 id=\"schemas\">Schemas</h2>\n");
    let schemas = document["components"]["schemas"].as_object();
    for (name, schema) in schemas.into_iter().flatten() {
        let json = serde_json::to_string_pretty(schema).unwrap_or_default();
        let json = linked(&escaped(&json));
        let _ = write!(page, "<h3 id=\"{name}\">{name}</h3>\n<pre>{json}</pre>\n");
    }
    page.push_str("</body></html>\n");
    page
}

fn write_operation(page: &mut String, path: &str, verb: &str, operation: &Value) {
    let summary = escaped(text(&operation["summary"]));
    let about = escaped(text(&operation["description"]));
    let _ = write!(
        page,
        "<h2 id=\"{}\"><code>{} {}</code></h2>\n<p><b>{summary}.</b> {about}</p>\n",
        text(&operation["operationId"]),
        verb.to_uppercase(),
        escaped(path),
    );
    if let Some(body) = schema_of(&operation["requestBody"]["content"]) {
        let _ = writeln!(page, "<p>Body: <a href=\"#{body}\">{body}</a></p>");
    }
    let _ = writeln!(page, "<table><tr><th>status</th><th>when</th><th>what</th></tr>");
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let when = escaped(text(&response["description"]));
        let what = schema_of(&response["content"])
            .map(|name| format!("<a href=\"#{name}\">{name}</a>"))
            .unwrap_or_default();
        let codes = codes_of(&response["content"]["application/problem+json"]["schema"]);
        let _ = writeln!(page, "<tr><td>{status}</td><td>{when}</td><td>{what}{codes}</td></tr>");
    }
    page.push_str("</table>\n");
}

/// The name of the schema that a body refers to.
fn schema_of(content: &Value) -> Option<&str> {
    content["application/json"]["schema"]["$ref"].as_str()?.rsplit('/').next()
}

fn codes_of(schema: &Value) -> String {
    let codes = schema["allOf"][1]["properties"]["code"]["enum"].as_array();
    let mut shown = String::new();
    for code in codes.into_iter().flatten() {
        let _ = write!(shown, " <code>{}</code>", text(code));
    }
    shown
}

/// A reference to a schema leads to it.
fn linked(json: &str) -> String {
    let mut parts = json.split("#/components/schemas/");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let _ = write!(text, "<a href=\"#{name}\">{name}</a>{rest}");
    }
    text
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
