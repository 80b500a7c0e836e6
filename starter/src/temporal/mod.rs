//! Temporal as the API needs it. The connection is made in the background and again for as long as
//! it takes: a process starts while Temporal is away, answers 503, and recovers by itself.
//!
//! What never happens here: waiting without a limit, and retrying longer than a caller waits.

mod attributes;
mod decide;
mod find;
mod result;
mod start;
mod wake;

pub(crate) use decide::Decision;
pub(crate) use find::Found;
pub(crate) use result::Outcome;
pub(crate) use start::Started;

use crate::settings::TemporalSettings;
use domain::{PaymentIntent, TRACEPARENT, TraceParent};
use serde::Serialize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use temporalio_client::request_extensions::RetryConfigForCall;
use temporalio_client::tonic::{Code, Request, Status};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, GrpcCompression, RetryOptions,
    RpcOptions, TlsOptions, WorkflowExecutionInfo, WorkflowHandle,
};
use temporalio_common::MemoValues;
use temporalio_common::data_converters::RawValue;
use temporalio_common::protos::temporal::api::common::v1::{Header, Payload};
use temporalio_common::protos::temporal::api::workflowservice::v1::GetSystemInfoRequest;
use temporalio_common::search_attributes::SearchAttributes;
use url::{Host, Url};
use workflows::payment::PaymentWorkflow;

/// How long one call may take, tries included.
const CALL_LIMIT: Duration = Duration::from_secs(2);
/// How long a run of another intent under the payment's key is waited for. It is refused as soon
/// as it has read the row.
const FOREIGN_RUN_LIMIT: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(200);
/// How long Temporal may take to say that it is there.
const READY_LIMIT: Duration = Duration::from_secs(1);
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Waits between attempts to connect: 200 ms, doubled up to 5 s.
const FIRST_RECONNECT: Duration = Duration::from_millis(200);
const LONGEST_RECONNECT: Duration = Duration::from_secs(5);

/// The memo in which a run keeps the fingerprint of its intent.
const FINGERPRINT: &str = "fingerprint";

/// A failure of Temporal, by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TemporalError {
    /// No answer, or an answer that may be another one in a moment.
    #[error("{doing}: Temporal is not available")]
    Unavailable { doing: &'static str, source: anyhow::Error },
    /// Temporal is there and no worker took the request in time. Whether one still will is not
    /// known.
    #[error("{doing}: no worker answered within {limit:?}")]
    NoWorker { doing: &'static str, limit: Duration },
    /// Asking again will not help: a setting of Temporal or of ours is wrong.
    #[error("{doing}: Temporal does not take the request")]
    Rejected { doing: &'static str, source: anyhow::Error },
}

impl TemporalError {
    fn unavailable(doing: &'static str, source: impl Into<anyhow::Error>) -> Self {
        Self::Unavailable { doing, source: source.into() }
    }

    fn foreign_run(doing: &'static str) -> Self {
        let why = "a run that was started with another intent is open under the payment's key";
        Self::unavailable(doing, anyhow::anyhow!(why))
    }

    fn of(doing: &'static str, status: Status) -> Self {
        match status.code() {
            Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented
            | Code::NotFound => Self::Rejected { doing, source: status.into() },
            _ => Self::unavailable(doing, status),
        }
    }
}

/// One run of a payment's workflow.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub workflow_id: String,
    /// Absent where the newest run is meant.
    pub run_id: Option<String>,
}

/// A connection to Temporal, or the attempt to make one.
pub(crate) struct Temporal {
    settings: TemporalSettings,
    client: Arc<OnceLock<Client>>,
}

impl Temporal {
    /// Begins to connect and returns at once.
    pub(crate) fn connect(settings: TemporalSettings) -> Self {
        let client = Arc::new(OnceLock::new());
        tokio::spawn(keep_connecting(settings.clone(), client.clone()));
        Self { settings, client }
    }

    fn client(&self, doing: &'static str) -> Result<&Client, TemporalError> {
        let not_yet = || TemporalError::unavailable(doing, anyhow::anyhow!("not connected yet"));
        self.client.get().ok_or_else(not_yet)
    }

    /// Whether Temporal answers.
    ///
    /// # Errors
    /// [`TemporalError`].
    pub(crate) async fn ready(&self) -> Result<(), TemporalError> {
        let doing = "asking Temporal whether it is there";
        let client = self.client(doing)?;
        let mut service = client.connection().workflow_service();
        let request = raw(GetSystemInfoRequest {});
        within(READY_LIMIT, doing, service.get_system_info(request))
            .await?
            .map_err(|status| TemporalError::of(doing, status))?;
        Ok(())
    }

    fn handle(&self, client: &Client, run: &Run) -> WorkflowHandle<Client, PaymentWorkflow> {
        let info = WorkflowExecutionInfo::builder()
            .namespace(self.settings.namespace.clone())
            .workflow_id(run.workflow_id.clone())
            .maybe_run_id(run.run_id.clone())
            .build();
        WorkflowHandle::new(client.clone(), info)
    }
}

/// Connects, however long it takes. The client's own channel reconnects after that.
async fn keep_connecting(settings: TemporalSettings, client: Arc<OnceLock<Client>>) {
    let mut wait = FIRST_RECONNECT;
    loop {
        match connect_once(&settings).await {
            Ok(connected) => {
                // Nobody else sets it.
                let _ = client.set(connected);
                tracing::info!(address = %settings.address, "connected to Temporal");
                return;
            }
            Err(error) => {
                tracing::warn!(address = %settings.address, error = ?error, "no Temporal yet");
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_RECONNECT);
    }
}

async fn connect_once(settings: &TemporalSettings) -> anyhow::Result<Client> {
    let tls = (settings.address.scheme() == "https").then(TlsOptions::default);
    let options = ConnectionOptions::new(settings.address.clone())
        .identity(format!("oncepay-{}", std::process::id()))
        .connect_timeout(CONNECT_LIMIT)
        .grpc_compression(compression(&settings.address))
        .maybe_tls_options(tls)
        .build();
    let connection = tokio::time::timeout(CONNECT_LIMIT, Connection::connect(options)).await??;
    Ok(Client::new(connection, ClientOptions::new(settings.namespace.clone()).build())?)
}

/// Bytes that do not leave this machine cost less than compressing them.
fn compression(temporal: &Url) -> GrpcCompression {
    let here = match temporal.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if here { GrpcCompression::None } else { GrpcCompression::Gzip }
}

/// The limit around a call: a channel that cannot connect does not keep a caller waiting.
async fn within<T>(
    limit: Duration,
    doing: &'static str,
    call: impl Future<Output = T>,
) -> Result<T, TemporalError> {
    tokio::time::timeout(limit, call)
        .await
        .map_err(|elapsed| TemporalError::unavailable(doing, elapsed))
}

/// A short outage is bridged; a longer one is the caller's answer.
fn short_retries() -> RetryOptions {
    RetryOptions::builder()
        .initial_interval(Duration::from_millis(50))
        .max_elapsed_time(Some(Duration::from_secs(1)))
        .max_retries(3)
        .build()
}

fn rpc() -> RpcOptions {
    RpcOptions::builder().timeout(CALL_LIMIT).retry_options(short_retries()).build()
}

/// A call that the server holds until something happens: the limit around it counts.
fn long_rpc() -> RpcOptions {
    RpcOptions::builder().retry_options(short_retries()).build()
}

/// A request of an RPC that the typed client does not have.
fn raw<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.extensions_mut().insert(RetryConfigForCall(short_retries()));
    request.set_timeout(CALL_LIMIT);
    request
}

/// One argument as plain JSON: what is stored is the documented text, for any language to read.
fn json_argument(value: &impl Serialize) -> RawValue {
    // Cannot fail: our messages have string keys and no floats.
    let data = serde_json::to_vec(value).unwrap_or_default();
    let metadata = [("encoding".to_owned(), b"json/plain".to_vec())].into_iter().collect();
    RawValue::new(vec![Payload { metadata, data, ..Payload::default() }])
}

fn memo(intent: &PaymentIntent) -> MemoValues {
    let mut memo = MemoValues::new();
    memo.insert(FINGERPRINT, intent.fingerprint());
    memo
}

/// What the run carries along of whoever asked for it.
fn header(trace: &TraceParent) -> Header {
    let fields = [(TRACEPARENT.to_owned(), workflows::trace::payload(trace))];
    Header { fields: fields.into_iter().collect() }
}

fn summary(intent: &PaymentIntent) -> String {
    format!("Pay {} {}", intent.order, intent.money)
}

fn search_attributes(intent: &PaymentIntent) -> SearchAttributes {
    SearchAttributes::new(workflows::attributes::at_start(intent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn an_argument_is_the_plain_json_that_any_language_writes() {
        let raw = json_argument(&json!({ "merchant": "acme" }));
        let [payload] = raw.payloads.as_slice() else { panic!("one argument") };
        assert_eq!(payload.data, br#"{"merchant":"acme"}"#);
        assert_eq!(payload.metadata.get("encoding").expect("set"), b"json/plain");
        let read: Value = workflows::raw::parse_json(&raw).expect("JSON");
        assert_eq!(read, json!({ "merchant": "acme" }));
    }

    #[test]
    fn what_may_pass_is_told_from_what_will_not() {
        for (code, transient) in [
            (Code::Unavailable, true),
            (Code::DeadlineExceeded, true),
            (Code::ResourceExhausted, true),
            (Code::InvalidArgument, false),
            (Code::PermissionDenied, false),
        ] {
            let error = TemporalError::of("trying", Status::new(code, "no"));
            assert_eq!(matches!(error, TemporalError::Unavailable { .. }), transient, "{code:?}");
        }
    }
}
