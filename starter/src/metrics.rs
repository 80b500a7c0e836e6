//! What this process counts. No label ever holds an id, or a text of the caller's.

use axum::Router;
use axum::http::{HeaderName, Method, header};
use axum::routing::get;
use prometheus::{
    HistogramVec, IntCounterVec, TEXT_FORMAT, TextEncoder, histogram_opts, register_histogram_vec,
    register_int_counter_vec, register_int_gauge_vec,
};
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;
use store::Store;
use tokio::net::TcpListener;

/// What stands for a path that is none of ours, and for a method that none of ours takes.
const OTHER: &str = "other";
/// From a health check to the longest wait for a payment's end.
const DURATIONS_S: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 3.0, 10.0];

static REQUESTS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Answers to HTTP requests.";
    let labels = &["route", "method", "status"];
    // Cannot fail: name and labels are constants, registered once.
    register_int_counter_vec!("oncepay_http_requests_total", help, labels).expect("a metric")
});
static DURATION: LazyLock<HistogramVec> = LazyLock::new(|| {
    let help = "Time from the head of a request to the head of its answer.";
    let name = "oncepay_http_request_duration_seconds";
    let opts = histogram_opts!(name, help, DURATIONS_S.into());
    // Cannot fail: name and labels are constants, registered once.
    register_histogram_vec!(opts, &["route", "method"]).expect("a metric")
});

/// One answer. `route` is the template of the path, such as `/v1/orders/{id}`.
pub(crate) fn answered(route: Option<&str>, method: &Method, status: u16, took: Duration) {
    let route = route.unwrap_or(OTHER);
    let method = match *method {
        Method::GET | Method::HEAD | Method::POST => method.as_str(),
        _ => OTHER,
    };
    REQUESTS.with_label_values(&[route, method, &status.to_string()]).inc();
    DURATION.with_label_values(&[route, method]).observe(took.as_secs_f64());
}

/// Serves `/metrics` for as long as the process runs. A port that is taken costs the metrics, never
/// a payment.
pub(crate) async fn serve(listen: SocketAddr, store: Store) {
    let build = register_int_gauge_vec!(
        "oncepay_build_info",
        "Which program this is; always 1.",
        &["program", "version"]
    );
    if let Ok(build) = build {
        build.with_label_values(&["oncepay", env!("CARGO_PKG_VERSION")]).set(1);
    }
    match TcpListener::bind(listen).await {
        Ok(listener) => {
            let routes = Router::new().route("/metrics", get(move || async move { text(&store) }));
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::error!(%error, "metrics are served no more");
            }
        }
        Err(error) => {
            tracing::error!(%listen, %error, "ONCEPAY_METRICS_LISTEN: no metrics are served");
        }
    }
}

/// Everything that this process counts, in Prometheus' text format.
fn text(store: &Store) -> ([(HeaderName, &'static str); 1], String) {
    store.measure_connections();
    let text = TextEncoder::new().encode_to_string(&prometheus::gather()).unwrap_or_default();
    ([(header::CONTENT_TYPE, TEXT_FORMAT)], text)
}
