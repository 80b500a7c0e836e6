//! PostgreSQL's simple query protocol: the proof that a server works, and scripts without `psql`.
//!
//! Only what that needs: no password, no TLS, the first column of the first row. The programs
//! themselves use a real client.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
const SCRIPT_TIMEOUT: Duration = Duration::from_mins(1);
const PROTOCOL_3_0: i32 = 3 << 16;
/// A readiness answer is a few hundred bytes; more means that this is no PostgreSQL.
const MAX_MESSAGE: usize = 1 << 16;

/// The first column of the first row, as text; `None` without a row or for NULL.
pub fn query(port: u16, user: &str, database: &str, sql: &str) -> Result<Option<String>> {
    exchange(port, [user, database, sql], QUERY_TIMEOUT)
}

/// Runs any number of statements as one transaction.
pub fn script(port: u16, user: &str, database: &str, sql: &str) -> Result<()> {
    exchange(port, [user, database, sql], SCRIPT_TIMEOUT).map(drop)
}

fn exchange(
    port: u16,
    [user, database, sql]: [&str; 3],
    timeout: Duration,
) -> Result<Option<String>> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, timeout).context("connect")?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let mut startup = PROTOCOL_3_0.to_be_bytes().to_vec();
    startup.extend(format!("user\0{user}\0database\0{database}\0\0").bytes());
    stream.write_all(&framed(None, &startup)?)?;
    until_ready(&mut stream)?;
    stream.write_all(&framed(Some(b'Q'), format!("{sql}\0").as_bytes())?)?;
    let value = until_ready(&mut stream)?;
    stream.write_all(&framed(Some(b'X'), &[])?)?;
    Ok(value)
}

fn framed(kind: Option<u8>, body: &[u8]) -> Result<Vec<u8>> {
    let mut message: Vec<u8> = kind.into_iter().collect();
    message.extend(i32::try_from(body.len() + 4)?.to_be_bytes());
    message.extend(body);
    Ok(message)
}

/// Reads up to `ReadyForQuery`; keeps the first column of the first row.
fn until_ready(stream: &mut impl Read) -> Result<Option<String>> {
    let mut value = None;
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).context("read a message")?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if !(4..MAX_MESSAGE).contains(&length) {
            bail!("not PostgreSQL: a message of {length} bytes");
        }
        let mut body = vec![0; length - 4];
        stream.read_exact(&mut body).context("read a message")?;
        match head[0] {
            b'Z' => return Ok(value),
            b'E' => bail!("the server says: {}", error_text(&body)),
            b'R' if body != [0; 4] => bail!("the server wants a password"),
            b'D' if value.is_none() => value = first_column(&body),
            _ => {}
        }
    }
}

fn first_column(row: &[u8]) -> Option<String> {
    let length = i32::from_be_bytes(row.get(2..6)?.try_into().ok()?);
    let length = usize::try_from(length).ok()?; // -1 is NULL.
    Some(String::from_utf8_lossy(row.get(6..6 + length)?).into_owned())
}

/// The fields of an error are `code text NUL`; M is the message.
fn error_text(body: &[u8]) -> String {
    let message = body.split(|byte| *byte == 0).find_map(|field| field.strip_prefix(b"M"));
    String::from_utf8_lossy(message.unwrap_or(b"an error without a message")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_the_first_row_is_kept() {
        let row = |text: &str| {
            let mut body = vec![0, 1];
            body.extend(i32::try_from(text.len()).unwrap().to_be_bytes());
            body.extend(text.bytes());
            framed(Some(b'D'), &body).unwrap()
        };
        let ready = framed(Some(b'Z'), b"I").unwrap();
        let answer = [row("one"), row("two"), ready].concat();
        assert_eq!(until_ready(&mut answer.as_slice()).unwrap().as_deref(), Some("one"));
    }

    #[test]
    fn an_error_and_a_password_request_are_not_readiness() {
        let error = framed(Some(b'E'), b"SFATAL\0Mthe system is starting up\0\0").unwrap();
        let text = until_ready(&mut error.as_slice()).unwrap_err().to_string();
        assert!(text.contains("the system is starting up"), "{text}");
        let password = framed(Some(b'R'), &3_i32.to_be_bytes()).unwrap();
        assert!(until_ready(&mut password.as_slice()).is_err());
        assert!(until_ready(&mut b"HTTP/1.1 400 Bad Request".as_slice()).is_err());
    }
}
