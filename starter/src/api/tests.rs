//! The API over real HTTP, with PostgreSQL and Temporal away: what is answered without them, and
//! that a missing server is a 503 that says so.

use super::*;
use crate::settings::TemporalSettings;
use reqwest::{Client, Method, RequestBuilder};
use std::net::SocketAddr;
use tokio::net::TcpListener;
use url::Url;

const TOKEN: &str = "alice-token-0123";

/// An API whose servers are not there: both addresses are a port that nobody listens on.
async fn lonely() -> SocketAddr {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("set");
    let database = format!("postgres://oncepay_api@{closed}/oncepay");
    let temporal = TemporalSettings {
        address: Url::parse(&format!("http://{closed}")).expect("valid"),
        namespace: "default".to_owned(),
        task_queue: "payments".to_owned(),
    };
    let app = Arc::new(App::new(
        Store::connect_lazy(&database, 1).expect("valid"),
        Temporal::connect(temporal),
        SecretSlice::from(vec![7; 32]),
    ));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("set");
    tokio::spawn(async move { axum::serve(listener, router(app)).await });
    address
}

fn ask(address: SocketAddr, method: Method, path: &str) -> RequestBuilder {
    Client::new().request(method, format!("http://{address}{path}"))
}

/// The status, the problem's code and the field it names.
async fn problem(request: RequestBuilder) -> (u16, String, Option<String>) {
    let response = request.send().await.expect("answered");
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let id = response.headers()["request-id"].to_str().expect("text").to_owned();
    assert_eq!(response.headers().contains_key("retry-after"), status == 503);
    let problem: Value = response.json().await.expect("JSON");
    assert_eq!(problem["status"], status);
    assert_eq!(problem["request_id"], id);
    assert!(problem["title"].is_string() && problem["detail"].is_string());
    let code = problem["code"].as_str().expect("a code").to_owned();
    assert_eq!(problem["type"], format!("urn:oncepay:problem:{code}"));
    (status, code, problem["field"].as_str().map(str::to_owned))
}

fn payment() -> Value {
    serde_json::json!({
        "merchant": "acme", "order": format!("ord_{}", "a".repeat(26)), "amount": 1999,
        "currency": "CNY", "channel": "sandbox", "account": "main", "payment_method": "pm_ok",
    })
}

#[tokio::test]
async fn what_is_no_request_of_ours_is_a_problem_document() {
    let api = lonely().await;
    let post = |path: &str| ask(api, Method::POST, path);
    let json = |path: &str, body: &'static str| {
        post(path).header("content-type", "application/json").body(body)
    };
    let long = format!("{{\"merchant\":\"{}\"}}", "x".repeat(70_000));
    let keyed = |path: &str| post(path).header("idempotency-key", "k1");
    for (request, status, code) in [
        (ask(api, Method::GET, "/v2/orders"), 404, "not_found"),
        (ask(api, Method::GET, "/v1/orders/%ff"), 400, "invalid_input"),
        (ask(api, Method::GET, "/v1/orders/nonsense"), 404, "order_not_found"),
        (ask(api, Method::GET, "/v1/reviews/nonsense"), 404, "review_not_found"),
        (ask(api, Method::GET, "/v1/payment_intents/nonsense"), 404, "payment_not_found"),
        (ask(api, Method::DELETE, "/v1/orders"), 405, "method_not_allowed"),
        (ask(api, Method::PUT, "/v1/payment_intents/x"), 405, "method_not_allowed"),
        (keyed("/v1/orders").body("{}"), 415, "unsupported_media_type"),
        (json("/v1/orders", "{"), 400, "malformed_json"),
        (json("/v1/orders", "[]"), 400, "invalid_input"),
        (json("/v1/orders", "{}"), 400, "idempotency_key_missing"),
        (json("/v1/payment_intents", "{}"), 400, "idempotency_key_missing"),
        (keyed("/v1/orders").json(&serde_json::json!({ "total": 1 })), 400, "invalid_input"),
        (
            post("/v1/orders").header("content-type", "application/json").body(long),
            413,
            "body_too_large",
        ),
    ] {
        let printed = format!("{request:?}");
        let (got, word, _) = problem(request).await;
        assert_eq!((got, word.as_str()), (status, code), "{printed}");
    }
}

#[tokio::test]
async fn a_missing_server_is_503_and_nothing_starts() {
    let api = lonely().await;
    let pay = ask(api, Method::POST, "/v1/payment_intents");
    let (status, code, _) = problem(pay.header("idempotency-key", "k1").json(&payment())).await;
    assert_eq!((status, code.as_str()), (503, "temporal_unavailable"));
    let id = format!("pay_{}", "a".repeat(26));
    let show = ask(api, Method::GET, &format!("/v1/payment_intents/{id}"));
    let (status, code, _) = problem(show).await;
    assert_eq!((status, code.as_str()), (503, "database_unavailable"));
    let (status, code, _) = problem(ask(api, Method::GET, "/v1/reviews")).await;
    assert_eq!((status, code.as_str()), (503, "database_unavailable"));
}

#[tokio::test]
async fn the_process_is_alive_and_not_ready_without_its_servers() {
    let api = lonely().await;
    let alive = ask(api, Method::GET, "/healthz").header("request-id", "mine-1");
    let alive = alive.send().await.expect("answered");
    assert_eq!(
        (alive.status().as_u16(), &alive.headers()["request-id"]),
        (200, &"mine-1".parse().expect("valid"))
    );
    let ready = ask(api, Method::GET, "/readyz").send().await.expect("answered");
    assert_eq!(ready.status(), 503);
    let checks: Value = ready.json().await.expect("JSON");
    assert_eq!(checks["checks"]["database"]["ok"], false);
    assert_eq!(checks["checks"]["temporal"]["ok"], false);
}

#[tokio::test]
async fn a_decision_needs_an_operators_token_before_anything_is_read() {
    let api = lonely().await;
    let path = format!("/v1/reviews/rev_{}/decisions", "a".repeat(26));
    for authorization in [None, Some("Bearer short"), Some("Basic alice-token-0123")] {
        let mut request = ask(api, Method::POST, &path).json(&serde_json::json!({}));
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        let (status, code, _) = problem(request).await;
        assert_eq!((status, code.as_str()), (401, "unauthenticated"));
    }
    // Whose token it is only the database knows.
    let request = ask(api, Method::POST, &path).bearer_auth(TOKEN);
    let (status, code, _) = problem(request.json(&serde_json::json!({}))).await;
    assert_eq!((status, code.as_str()), (503, "database_unavailable"));
}

#[tokio::test]
async fn a_request_beyond_a_limit_is_refused_by_the_name_of_the_limit() {
    use limits::{MAX_BODY_LEN, MAX_HEADERS, MAX_HEADERS_LEN, MAX_PATH_LEN};
    let api = lonely().await;
    let get = |path: &str| ask(api, Method::GET, path);
    // The client adds two headers of its own.
    let with_headers = |count: usize| {
        (2..count).fold(get("/healthz"), |request, n| request.header(format!("x-{n}"), "1"))
    };
    let with_path = |len: usize| format!("/healthz?{}", "x".repeat(len - "/healthz?".len()));
    let body = |len: usize| {
        let request = ask(api, Method::POST, "/v1/orders");
        request.header("content-type", "application/json").body(" ".repeat(len))
    };
    for within in [with_headers(MAX_HEADERS), get(&with_path(MAX_PATH_LEN))] {
        assert_eq!(within.send().await.expect("answered").status(), 200);
    }
    for (request, status, code) in [
        (with_headers(MAX_HEADERS + 1), 431, "headers_too_large"),
        (get("/healthz").header("x", "x".repeat(MAX_HEADERS_LEN)), 431, "headers_too_large"),
        (get(&with_path(MAX_PATH_LEN + 1)), 414, "path_too_long"),
        (body(MAX_BODY_LEN + 1), 413, "body_too_large"),
        // As long as it may be, and no JSON.
        (body(MAX_BODY_LEN), 400, "malformed_json"),
    ] {
        let (got, word, _) = problem(request).await;
        assert_eq!((got, word.as_str()), (status, code));
    }
}

#[tokio::test]
async fn the_document_and_its_page_are_served() {
    let api = lonely().await;
    let served = ask(api, Method::GET, "/openapi.json").send().await.expect("answered");
    assert_eq!(served.headers()["content-type"], "application/json");
    assert_eq!(&served.json::<Value>().await.expect("JSON"), crate::openapi::document());
    let page = ask(api, Method::GET, "/docs").send().await.expect("answered");
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    assert!(page.text().await.expect("text").contains("decide_review"));
}

#[test]
fn what_is_answered_is_what_the_operation_promises() {
    for (operation, status, problem, promised) in [
        (&show_order::OPERATION, 200, None, true),
        (&show_order::OPERATION, 404, Some(Code::OrderNotFound), true),
        (&show_order::OPERATION, 404, Some(Code::PaymentNotFound), false),
        (&show_order::OPERATION, 202, None, false),
        (&create_order::OPERATION, 413, Some(Code::BodyTooLarge), true),
        (&show_order::OPERATION, 413, Some(Code::BodyTooLarge), false),
        (&readyz::OPERATION, 503, None, true),
    ] {
        assert_eq!(operation.promises(status, problem), promised, "{} {status}", operation.id);
    }
}
