//! A small HTTP/1.1 client for readiness questions and the demonstration.
//!
//! Plain text to servers that we started ourselves, one connection per request unless it is kept
//! on purpose, no redirects.
//! Nothing in production uses it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Far more than any answer of ours: the sandbox's truth of a long demonstration.
const MAX_ANSWER_BYTES: u64 = 16 << 20;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.body)
            .with_context(|| format!("not JSON (status {}): {}", self.status, self.body))
    }
}

/// `GET url`.
pub fn get(url: &str) -> Result<Answer> {
    send("GET", url, &[], None)
}

/// `GET url` with headers.
pub fn get_with(url: &str, headers: &[(&str, &str)]) -> Result<Answer> {
    send("GET", url, headers, None)
}

/// `POST url` with a JSON body.
pub fn post(url: &str, headers: &[(&str, &str)], body: &Value) -> Result<Answer> {
    send("POST", url, headers, Some(body))
}

/// A connection that is kept, for many requests to one server.
pub struct Connection {
    authority: String,
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects to the server of this URL.
    pub fn open(url: &str) -> Result<Self> {
        let authority = split(url)?.0.to_owned();
        let stream = connect(&authority).with_context(|| format!("connect to {url}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { authority, stream: BufReader::new(stream) })
    }

    /// `POST path` with a JSON body. The answer must say how long it is.
    pub fn post(&mut self, path: &str, headers: &[(&str, &str)], body: &Value) -> Result<Answer> {
        let request =
            request("POST", &self.authority, path, headers, Some(body), Lasting::KeepAlive);
        let mut attempt = || -> Result<Answer> {
            self.stream.get_mut().write_all(request.as_bytes())?;
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if self.stream.read_line(&mut head)? == 0 {
                    bail!("the connection was closed");
                }
            }
            let lines = head.lines().filter_map(|line| line.split_once(':'));
            let length = lines
                .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .find_map(|(_, value)| value.trim().parse::<usize>().ok())
                .context("the answer does not say how long it is")?;
            let mut bytes = head.into_bytes();
            let start = bytes.len();
            bytes.resize(start + length, 0);
            self.stream.read_exact(&mut bytes[start..])?;
            parse(&bytes)
        };
        attempt().with_context(|| format!("POST {path}"))
    }
}

/// Whether the server is asked to close the connection after its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    Close,
    KeepAlive,
}

/// Whether `GET url` is answered with 200.
#[must_use]
pub fn is_ok(url: &str) -> bool {
    get(url).is_ok_and(|answer| answer.status == 200)
}

fn send(method: &str, url: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Result<Answer> {
    let (authority, path) = split(url)?;
    let attempt = || -> Result<Answer> {
        let mut stream = connect(authority)?;
        stream.write_all(
            request(method, authority, path, headers, body, Lasting::Close).as_bytes(),
        )?;
        let mut bytes = Vec::new();
        stream.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes).context("read the answer")?;
        parse(&bytes)
    };
    attempt().with_context(|| format!("{method} {url}"))
}

fn split(url: &str) -> Result<(&str, &str)> {
    let rest = url.strip_prefix("http://").with_context(|| format!("no http:// in {url}"))?;
    match rest.find('/') {
        Some(slash) => Ok(rest.split_at(slash)),
        None => Ok((rest, "/")),
    }
}

fn connect(authority: &str) -> Result<TcpStream> {
    let address = authority.to_socket_addrs()?.next().context("the name has no address")?;
    let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).context("connect")?;
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    stream.set_write_timeout(Some(READ_TIMEOUT))?;
    Ok(stream)
}

fn request(
    method: &str,
    authority: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
    lasting: Lasting,
) -> String {
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut lines = vec![
        format!("{method} {path} HTTP/1.1"),
        format!("Host: {authority}"),
        format!("Content-Length: {}", body.len()),
    ];
    if lasting == Lasting::Close {
        lines.push("Connection: close".to_owned());
    }
    if !body.is_empty() {
        lines.push("Content-Type: application/json".to_owned());
    }
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    format!("{}\r\n\r\n{body}", lines.join("\r\n"))
}

fn parse(bytes: &[u8]) -> Result<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").context("the answer has no head")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.context("the answer has no status")?;
    let header = |wanted: &str| {
        head.lines().skip(1).find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim())
        })
    };
    let chunked =
        header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    let body = if chunked { unchunk(body)? } else { body.to_owned() };
    if let Some(length) = header("content-length").and_then(|length| length.parse().ok())
        && body.len() < length
    {
        bail!("the answer broke off: {} of {length} bytes", body.len());
    }
    Ok(Answer { status, body })
}

fn unchunk(mut rest: &str) -> Result<String> {
    let mut body = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n").context("a chunk has no size")?;
        let size = usize::from_str_radix(size.split(';').next().unwrap_or("").trim(), 16)?;
        if size == 0 {
            return Ok(body);
        }
        body.push_str(after.get(..size).context("a chunk broke off")?);
        rest = after.get(size + 2..).context("a chunk broke off")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_chunks_is_put_together() {
        let bytes = b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n\
            4\r\n{\"a\"\r\n3;x=y\r\n:1}\r\n0\r\n\r\n";
        let answer = parse(bytes).unwrap();
        assert_eq!(answer.status, 202);
        assert_eq!(answer.json().unwrap()["a"], 1);
    }

    #[test]
    fn an_answer_that_broke_off_is_an_error() {
        assert!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}").is_err());
        assert!(parse(b"HTTP/1.1 200 OK\r\n").is_err());
        assert!(parse(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").is_ok());
    }

    #[test]
    fn a_kept_connection_carries_many_requests() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            for number in 0..2 {
                let mut line = String::new();
                while line != "\r\n" {
                    line.clear();
                    reader.read_line(&mut line).unwrap();
                }
                reader.read_exact(&mut [0; 2]).unwrap(); // The body `{}`.
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}");
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
        let mut connection = Connection::open(&url).unwrap();
        for number in ["0", "1"] {
            assert_eq!(connection.post("/", &[], &serde_json::json!({})).unwrap().body, number);
        }
        server.join().unwrap();
        assert!(connection.post("/", &[], &serde_json::json!({})).is_err());
    }

    #[test]
    fn an_address_is_split_into_host_and_path() {
        assert_eq!(split("http://h:1/a/b").unwrap(), ("h:1", "/a/b"));
        assert_eq!(split("http://h:1").unwrap(), ("h:1", "/"));
        assert!(split("https://h").is_err());
    }
}
