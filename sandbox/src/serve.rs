//! The accept loop. It is our own because a fault may close a connection without an answer.

use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};

const MAX_CONNECTIONS: usize = 10_000;
/// A failed accept is mostly a lack of file descriptors: it passes.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Closes the connection that a request came on.
#[derive(Clone, Default)]
pub struct HangUp(Arc<Notify>);

impl HangUp {
    /// Never returns: the connection, and with it the caller, ends.
    pub async fn now<T>(&self) -> T {
        self.0.notify_one();
        std::future::pending().await
    }
}

pub async fn forever(listener: TcpListener, routes: Router) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // Fails only if the semaphore is closed, which nothing does.
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let routes = routes.clone();
                tokio::spawn(async move {
                    serve(stream, routes).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

/// Serves one connection until the client or a fault ends it. Dropping it closes the socket.
async fn serve(stream: TcpStream, routes: Router) {
    // Only slower if it is refused.
    let _ = stream.set_nodelay(true);
    let hang_up = HangUp::default();
    let service = TowerToHyperService::new(routes.layer(Extension(hang_up.clone())));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        result = connection => {
            if let Err(error) = result {
                tracing::debug!(%error, "a connection ended early");
            }
        }
        () = hang_up.0.notified() => {}
    }
}
