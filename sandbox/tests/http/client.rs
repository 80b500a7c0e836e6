//! A client from the words of the README alone: it shares no code with the program.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

use aws_lc_rs::{digest, hmac};
use serde_json::{Value, json};

use crate::process::{SECRET, Sandbox, until};

pub const REFERENCE: &str = "abcdefghijklmnopqrstuvwxyz";
pub const NONCE: &str = "a-nonce";
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub enum Heard {
    Reply(Reply),
    /// The connection was closed before a byte of an answer.
    Closed,
    /// Nothing came while the client waited.
    Silence,
}

impl Heard {
    pub fn reply(self) -> Reply {
        match self {
            Self::Reply(reply) => reply,
            Self::Closed | Self::Silence => panic!("no answer: {self:?}"),
        }
    }
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub fn is_signed(&self) -> bool {
        self.is_signed_for(NONCE)
    }

    pub fn is_signed_for(&self, nonce: &str) -> bool {
        let header = |name: &str| self.headers.get(name).cloned().unwrap_or_default();
        let text = format!(
            "{}\n{}\n{nonce}\n{}",
            self.status,
            header("x-sandbox-timestamp"),
            sha256(&self.body)
        );
        header("x-sandbox-signature") == hmac(&text)
    }

    /// Asserts the status and that the answer is signed; gives the body.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        assert!(self.is_signed(), "not signed: {self:?}");
        self.json()
    }
}

/// A request that is signed unless it is changed.
pub struct Request {
    pub address: String,
    pub method: &'static str,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub patience: Duration,
}

impl Request {
    pub fn plain(address: &str, method: &'static str, path: &str, body: &Value) -> Self {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (address, path) = (address.to_owned(), path.to_owned());
        Self { address, method, path, headers: Vec::new(), body, patience: PATIENCE }
    }

    pub fn signed(self, account: &str) -> Self {
        self.signed_with(account, now_seconds(), NONCE)
    }

    pub fn signed_with(self, account: &str, seconds: u64, nonce: &str) -> Self {
        let hash = sha256(self.body.as_bytes());
        let text = format!("{}\n{}\n{seconds}\n{nonce}\n{hash}", self.method, self.path);
        self.header("X-Sandbox-Account", account)
            .header("X-Sandbox-Timestamp", &seconds.to_string())
            .header("X-Sandbox-Nonce", nonce)
            .header("X-Sandbox-Signature", &hmac(&text))
    }

    /// Sets a header, in place of one that is there.
    pub fn header(self, name: &str, value: &str) -> Self {
        let mut request = self.without(name);
        request.headers.push((name.to_owned(), value.to_owned()));
        request
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub fn value(&self, name: &str) -> String {
        self.headers.iter().find(|(known, _)| known == name).unwrap().1.clone()
    }

    pub fn fault(self, fault: &Value) -> Self {
        self.header("X-Sandbox-Fault", &fault.to_string())
    }

    pub fn patience(self, patience_ms: u64) -> Self {
        Self { patience: Duration::from_millis(patience_ms), ..self }
    }

    /// Sends the request; what is heard is read later, or never.
    pub fn open(&self) -> Line {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(self.patience)).unwrap();
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let text = format!(
            "{} {} HTTP/1.1\r\nHost: sandbox\r\nContent-Length: {}\r\n{}",
            self.method,
            self.path,
            self.body.len(),
            headers.collect::<String>()
        );
        stream.write_all(format!("{text}\r\n{}", self.body).as_bytes()).unwrap();
        Line(stream)
    }

    pub fn send(&self) -> Heard {
        self.open().hear()
    }

    pub fn reply(&self) -> Reply {
        self.send().reply()
    }
}

/// A connection with a request on its way. Dropping it is a client that leaves.
pub struct Line(TcpStream);

impl Line {
    /// Waits as long as the request's patience lasts, and leaves. The server may keep the
    /// connection open, so an answer ends where its length says.
    pub fn hear(mut self) -> Heard {
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        loop {
            match self.0.read(&mut part) {
                Ok(0) => break,
                Ok(len) => bytes.extend_from_slice(&part[..len]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Heard::Silence,
                Err(error) => panic!("{error}"),
            }
            if let Some(reply) = read(&bytes) {
                return Heard::Reply(reply);
            }
        }
        assert!(bytes.is_empty(), "half an answer: {bytes:?}");
        Heard::Closed
    }
}

impl Sandbox {
    pub fn charge(&self, account: &str, method: &str) -> Request {
        self.charge_of(account, &content(method))
    }

    pub fn charge_of(&self, account: &str, content: &Value) -> Request {
        Request::plain(&self.channel, "POST", "/v1/charges", content).signed(account)
    }

    pub fn lookup(&self, account: &str) -> Request {
        let path = format!("/v1/charges/{REFERENCE}");
        Request::plain(&self.channel, "GET", &path, &Value::Null).signed(account)
    }

    pub fn close(&self, account: &str) -> Request {
        let path = format!("/v1/charges/{REFERENCE}/close");
        Request::plain(&self.channel, "POST", &path, &Value::Null).signed(account)
    }

    pub fn admin(&self, method: &'static str, path: &str, body: &Value) -> Reply {
        Request::plain(&self.channel, method, path, body).reply()
    }

    pub fn truth(&self) -> Value {
        self.admin("GET", "/truth", &Value::Null).json()
    }

    /// How often money has really moved.
    pub fn money(&self) -> usize {
        self.truth()["charges"].as_array().unwrap().len()
    }

    /// The newest request on the list, or null.
    pub fn last_request(&self) -> Value {
        self.truth()["requests"].as_array().unwrap().last().cloned().unwrap_or_default()
    }

    /// Waits until the newest request has this outcome.
    pub fn until_outcome(&self, outcome: &str) {
        until(&format!("the newest request is {outcome}"), || {
            self.last_request()["outcome"] == outcome
        });
    }

    /// Waits until the newest request has met this fault.
    pub fn until_fault(&self, kind: &str) {
        until(&format!("the newest request met {kind}"), || self.last_request()["fault"] == kind);
    }

    pub fn pay(&self, account: &str) -> Reply {
        self.admin("POST", &format!("/admin/pay/{account}/{REFERENCE}"), &Value::Null)
    }

    /// Pays whatever the channel said before.
    pub fn pay_anyway(&self, account: &str) -> Reply {
        let path = format!("/admin/pay/{account}/{REFERENCE}?force=true");
        self.admin("POST", &path, &Value::Null)
    }

    #[track_caller]
    pub fn add_fault(&self, wanted: &Value) {
        let reply = self.admin("POST", "/admin/faults", wanted);
        assert_eq!(reply.status, 201, "{}", String::from_utf8_lossy(&reply.body));
    }
}

pub fn now_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

pub fn content(method: &str) -> Value {
    json!({ "reference": REFERENCE, "amount": 1999, "currency": "CNY",
        "payment_method": method, "description": "tea" })
}

/// The answer, once all of it is there.
fn read(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let mut lines = std::str::from_utf8(&bytes[..end]).unwrap().lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    let headers: HashMap<String, String> = lines.map(header).collect();
    let len = headers.get("content-length").map_or(0, |len| len.parse().unwrap());
    let body = bytes[end + 4..].to_vec();
    (body.len() >= len).then_some(Reply { status, headers, body })
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(digest::digest(&digest::SHA256, bytes))
}

fn hmac(text: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &hex::decode(SECRET).unwrap());
    hex::encode(hmac::sign(&key, text.as_bytes()))
}
