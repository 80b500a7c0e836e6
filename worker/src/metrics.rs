//! Serves what this process counts, the SDK's own metrics among it, on a port of its own. No label
//! ever holds an id.

use axum::Router;
use axum::http::{HeaderName, header};
use axum::routing::get;
use prometheus::{TEXT_FORMAT, TextEncoder, register_int_gauge_vec};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use temporalio_common::telemetry::metrics::CoreMeter;
use temporalio_common::telemetry::{
    PrometheusExporterOptions, TelemetryOptions, start_prometheus_metric_exporter,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How often the backlog is counted, and how long that may take.
const COUNT_EVERY: Duration = Duration::from_secs(15);
const SDK_LIMIT: Duration = Duration::from_secs(1);
/// Longest text of the SDK that is passed on, in bytes; it has about 60 kB.
const MAX_SDK_LEN: u64 = 4 * 1024 * 1024;

/// The SDK's own exporter listens where only this process asks it: its registry is not ours to
/// read. It gives the address and the options of the runtime.
///
/// # Errors
/// When this machine has no free port.
pub fn of_the_sdk() -> anyhow::Result<(SocketAddr, TelemetryOptions)> {
    let options = PrometheusExporterOptions::builder()
        .socket_addr(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
        .counters_total_suffix(true)
        .unit_suffix(true)
        .use_seconds_for_durations(true)
        .build();
    let exporter = start_prometheus_metric_exporter(options)?;
    let meter: Arc<dyn CoreMeter> = exporter.meter;
    Ok((exporter.bound_addr, TelemetryOptions::builder().metrics(meter).build()))
}

/// Serves `/metrics` for as long as the process runs. A port that is taken costs the metrics, never
/// a payment.
pub async fn serve(listen: SocketAddr, sdk: SocketAddr, store: Store) {
    let help = "Which program this is; always 1.";
    if let Ok(build) = register_int_gauge_vec!("oncepay_build_info", help, &["program", "version"])
    {
        build.with_label_values(&["worker", env!("CARGO_PKG_VERSION")]).set(1);
    }
    let routes = Router::new().route("/metrics", get(move || text(sdk, store.clone())));
    let served = match TcpListener::bind(listen).await {
        Ok(listener) => axum::serve(listener, routes).await,
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        tracing::error!(%listen, %error, "ONCEPAY_WORKER_METRICS_LISTEN: no metrics are served");
    }
}

/// Counts what waits for somebody, for ever. While the database is away the last count stays.
pub async fn count(store: Store) {
    loop {
        if let Err(error) = store.measure_backlog().await {
            tracing::warn!(error = ?error, "what waits was not counted");
        }
        tokio::time::sleep(COUNT_EVERY).await;
    }
}

async fn text(sdk: SocketAddr, store: Store) -> ([(HeaderName, &'static str); 1], String) {
    store.measure_connections();
    let mut text = TextEncoder::new().encode_to_string(&prometheus::gather()).unwrap_or_default();
    match tokio::time::timeout(SDK_LIMIT, ask(sdk)).await {
        Ok(Ok(answer)) => text.push_str(body(&answer)),
        Ok(Err(error)) => tracing::warn!(%error, "the SDK's metrics are not there"),
        Err(_elapsed) => tracing::warn!("the SDK's metrics did not come in time"),
    }
    ([(header::CONTENT_TYPE, TEXT_FORMAT)], text)
}

/// One request of HTTP 1.0: the answer ends with its connection.
async fn ask(sdk: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(sdk).await?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await?;
    let mut answer = String::new();
    stream.take(MAX_SDK_LEN).read_to_string(&mut answer).await?;
    Ok(answer)
}

fn body(answer: &str) -> &str {
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.contains(" 200 ") => body,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_good_answer_has_metrics() {
        assert_eq!(body("HTTP/1.0 200 OK\r\na: b\r\n\r\nx 1\n"), "x 1\n");
        assert_eq!(body("HTTP/1.0 404 Not Found\r\n\r\nx 1\n"), "");
        assert_eq!(body(""), "");
    }
}
