//! Signatures of requests and answers: HMAC-SHA256 over their parts, one part a line.
//!
//! A signature is compared in constant time, and a key is never shown.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::{hmac, rand};
use axum::http::HeaderMap;

pub const ACCOUNT: &str = "x-sandbox-account";
pub const TIMESTAMP: &str = "x-sandbox-timestamp";
pub const NONCE: &str = "x-sandbox-nonce";
pub const SIGNATURE: &str = "x-sandbox-signature";
/// How far a signer's clock may be from ours.
const MAX_SKEW_SECONDS: u64 = 300;
const MAX_NONCE_LEN: usize = 64;

pub struct Key(hmac::Key);

/// What a signature of a request covers.
pub struct Signed<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub body: &'a [u8],
}

impl Key {
    pub fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// Says in words what is wrong with the signature of a request, if anything is.
    pub fn refuse(
        &self,
        headers: &HeaderMap,
        request: &Signed<'_>,
        now_seconds: u64,
    ) -> Option<&'static str> {
        let Some(timestamp) = header(headers, TIMESTAMP) else {
            return Some("X-Sandbox-Timestamp is missing");
        };
        let fresh =
            timestamp.parse::<u64>().is_ok_and(|at| at.abs_diff(now_seconds) <= MAX_SKEW_SECONDS);
        if !fresh {
            return Some("X-Sandbox-Timestamp must be unix seconds within 300 s of now");
        }
        let nonce = header(headers, NONCE).unwrap_or_default();
        if !(1..=MAX_NONCE_LEN).contains(&nonce.len()) {
            return Some("X-Sandbox-Nonce must have 1 to 64 characters");
        }
        let given = header(headers, SIGNATURE).unwrap_or_default();
        let lower = !given.bytes().any(|b| b.is_ascii_uppercase());
        let tag = hex::decode(given).ok().filter(|_| lower);
        let text = request_text(request, timestamp, nonce);
        let right = tag.is_some_and(|tag| hmac::verify(&self.0, text.as_bytes(), &tag).is_ok());
        (!right).then_some("X-Sandbox-Signature does not match the request")
    }

    pub fn answer(&self, status: u16, timestamp: &str, nonce: &str, body: &[u8]) -> String {
        self.sign(&[&status.to_string(), timestamp, nonce, &sha256(body)].join("\n"))
    }

    fn sign(&self, text: &str) -> String {
        hex::encode(hmac::sign(&self.0, text.as_bytes()))
    }
}

pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// A name that nobody has drawn before: the prefix and 24 hex digits.
pub fn fresh_id(prefix: &str) -> Result<String, aws_lc_rs::error::Unspecified> {
    let mut bytes = [0u8; 12];
    rand::fill(&mut bytes)?;
    Ok(format!("{prefix}{}", hex::encode(bytes)))
}

fn request_text(request: &Signed<'_>, timestamp: &str, nonce: &str) -> String {
    [request.method, request.path, timestamp, nonce, &sha256(request.body)].join("\n")
}

fn sha256(body: &[u8]) -> String {
    hex::encode(digest(&SHA256, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"{\"reference\":\"abcdefghijklmnopqrstuvwxyz\",\"amount\":1999,\
        \"currency\":\"CNY\",\"payment_method\":\"pm_card\"}";
    const TAG: &str = "6a368392d748b0cad561c9b8fa13ea95462d2f4b11e303ae2694fb5e6d7192fa";
    const NOW: u64 = 1_790_000_000;

    fn key() -> Key {
        Key::new(&(0..32).collect::<Vec<u8>>())
    }

    fn headers(timestamp: &str, nonce: &str, signature: &str) -> HeaderMap {
        let parts = [(TIMESTAMP, timestamp), (NONCE, nonce), (SIGNATURE, signature)];
        parts
            .into_iter()
            .map(|(name, text)| (name.parse().unwrap(), text.parse().unwrap()))
            .collect()
    }

    /// The values were computed by another program from the words of the README.
    #[test]
    fn the_signatures_are_those_of_the_readme() {
        let request = Signed { method: "POST", path: "/v1/charges", body: BODY };
        assert_eq!(key().refuse(&headers("1790000000", "nonce-1", TAG), &request, NOW), None);
        let path = "/v1/charges/abcdefghijklmnopqrstuvwxyz";
        let lookup = Signed { method: "GET", path, body: b"" };
        let tag = "1493158e12b3181f99f4c86d682cb6d8d60cbd5a7dc11b10dee6bf9fe4f100d3";
        assert_eq!(key().refuse(&headers("1790000000", "nonce-1", tag), &lookup, NOW), None);
        let answer = key().answer(404, "1790000001", "nonce-1", br#"{"error":"not_found"}"#);
        assert_eq!(answer, "a9929299750777a7bbfab9e48d9bb41e342d936b1ed4a43fc0e9efb5ce4efc9e");
    }

    #[test]
    fn a_signature_holds_for_its_own_request_only() {
        let right = headers("1790000000", "nonce-1", TAG);
        let request = Signed { method: "POST", path: "/v1/charges", body: BODY };
        for (method, path, body) in [
            ("PUT", "/v1/charges", BODY),
            ("POST", "/v1/charges/", BODY),
            ("POST", "/v1/charges", b"{}".as_slice()),
        ] {
            assert!(key().refuse(&right, &Signed { method, path, body }, NOW).is_some());
        }
        assert!(Key::new(&[7; 32]).refuse(&right, &request, NOW).is_some());
        for wrong in [
            headers("1790000001", "nonce-1", TAG),
            headers("1790000000", "nonce-2", TAG),
            headers("1790000000", "", TAG),
            headers("1790000000", "nonce-1", &TAG.to_uppercase()),
            headers("1790000000", "nonce-1", &TAG[..62]),
            headers("1790000000", "nonce-1", ""),
            HeaderMap::new(),
        ] {
            assert!(key().refuse(&wrong, &request, NOW).is_some(), "{wrong:?}");
        }
    }

    #[test]
    fn a_signature_is_fresh_for_300_seconds_on_both_sides() {
        let right = headers("1790000000", "nonce-1", TAG);
        let request = Signed { method: "POST", path: "/v1/charges", body: BODY };
        for (now, fresh) in
            [(NOW + 300, true), (NOW + 301, false), (NOW - 300, true), (NOW - 301, false)]
        {
            assert_eq!(key().refuse(&right, &request, now).is_none(), fresh, "{now}");
        }
    }
}
