//! A proxy in front of PostgreSQL that can cut connections: all of them, or the one on which a
//! commit was sent, or a statement that commits by itself, after PostgreSQL has executed it and
//! before its answer is passed on.

use anyhow::Result;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const BUFFER_LEN: usize = 16 * 1024;
/// A simple query of the wire protocol that commits.
const COMMIT: &[u8] = b"COMMIT\0";

/// A proxy on a port of its own. It ends with the runtime that started it.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    /// How many commits are still passed on before one loses its answer; negative: never.
    commits_until_cut: AtomicI64,
    /// The first words of a statement whose first execution loses its answer.
    statement: Mutex<Option<&'static str>>,
    cuts: AtomicI64,
    open: watch::Sender<bool>,
}

impl Proxy {
    /// # Errors
    /// When no port is free.
    pub async fn start(target: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            commits_until_cut: AtomicI64::new(-1),
            statement: Mutex::new(None),
            cuts: AtomicI64::new(0),
            open: watch::Sender::new(true),
        });
        let accepting = shared.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, target, accepting.clone()));
            }
        });
        Ok(Self { port, shared })
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The answer of the commit after the next `after` ones is lost.
    pub fn lose_a_commit_answer(&self, after: u32) {
        self.shared.commits_until_cut.store(i64::from(after), Ordering::SeqCst);
    }

    /// The answer of this statement is lost when it is executed for the first time.
    ///
    /// # Panics
    /// When a thread that held the lock has panicked.
    pub fn lose_the_answer_of(&self, statement: &'static str) {
        *self.shared.statement.lock().expect("no holder panics") = Some(statement);
    }

    /// How many answers were lost so far.
    #[must_use]
    pub fn cuts(&self) -> i64 {
        self.shared.cuts.load(Ordering::SeqCst)
    }

    /// Ends every connection and takes no new one, or takes them again.
    pub fn set_open(&self, open: bool) {
        self.shared.open.send_replace(open);
    }
}

async fn pass(client: TcpStream, target: u16, shared: Arc<Shared>) {
    let mut open = shared.open.subscribe();
    if !*open.borrow() {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else { return };
    let (client_reads, client_writes) = client.into_split();
    let (server_reads, server_writes) = server.into_split();
    let (lose, loses) = watch::channel(false);
    tokio::select! {
        () = requests(client_reads, server_writes, &shared, &lose) => {}
        () = answers(server_reads, client_writes, loses, &shared) => {}
        _ = open.wait_for(|open| !open) => {}
    }
}

impl Shared {
    /// Whether this request prepares the statement that is to lose an answer; true once.
    fn prepares_the_statement(&self, request: &[u8]) -> bool {
        let mut statement = self.statement.lock().expect("no holder panics");
        let found = statement.take_if(|words| contains(request, words.as_bytes()));
        found.is_some()
    }
}

fn contains(request: &[u8], part: &[u8]) -> bool {
    request.windows(part.len()).any(|window| window == part)
}

/// From the client to PostgreSQL, watching for the commit that is to lose its answer.
async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    lose: &watch::Sender<bool>,
) {
    let mut buffer = vec![0u8; BUFFER_LEN];
    let mut prepared = false;
    while let Ok(length) = from.read(&mut buffer).await {
        if length == 0 {
            return;
        }
        let request = &buffer[..length];
        let armed = shared.commits_until_cut.load(Ordering::SeqCst) >= 0;
        let commits = armed && contains(request, COMMIT);
        if commits && shared.commits_until_cut.fetch_sub(1, Ordering::SeqCst) == 0 {
            lose.send_replace(true);
        }
        // A client prepares a statement in one message and executes it in the next.
        if prepared {
            lose.send_replace(true);
        }
        prepared = shared.prepares_the_statement(request);
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

/// From PostgreSQL to the client; ends, with the connection, at the answer that is to be lost.
async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    loses: watch::Receiver<bool>,
    shared: &Shared,
) {
    let mut buffer = vec![0u8; BUFFER_LEN];
    while let Ok(length) = from.read(&mut buffer).await {
        if length == 0 {
            return;
        }
        if *loses.borrow() {
            shared.cuts.fetch_add(1, Ordering::SeqCst);
            return;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
