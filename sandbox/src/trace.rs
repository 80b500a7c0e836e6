//! One log line for each request that says which trace it belongs to, with the trace's id. A
//! request is on the line before anything is done about it: a fault may leave it unanswered.

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;

const TRACE_LEN: usize = 32;

pub async fn log(request: Request, next: Next) -> Response {
    if let Some((trace, span)) = of(request.headers()) {
        tracing::info!(
            trace.id = trace,
            span.id = span,
            http.method = request.method().as_str(),
            http.path = request.uri().path(),
            "request received"
        );
    }
    next.run(request).await
}

/// The trace and the caller's span, of a W3C `traceparent`.
fn of(headers: &HeaderMap) -> Option<(&str, &str)> {
    let text = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = text.split('-').skip(1);
    let (trace, span) = (parts.next()?, parts.next()?);
    let is_id = trace.len() == TRACE_LEN && trace.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some((trace, span))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_a_trace_is_a_trace() {
        let read = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", HeaderValue::from_static(text));
            of(&headers).map(|(trace, span)| (trace.to_owned(), span.to_owned()))
        };
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let good = read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        assert_eq!(good, Some((trace.to_owned(), "00f067aa0ba902b7".to_owned())));
        assert_eq!((read("nonsense"), read("00-x-y-01")), (None, None));
        assert_eq!(of(&HeaderMap::new()), None);
    }
}
