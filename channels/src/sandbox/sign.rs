//! The sandbox's signatures: HMAC-SHA256 over the parts of a request or an answer.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::{hmac, rand};
use domain::ChannelAccount;
use reqwest::header::HeaderMap;
use std::time::{Duration, SystemTime};

/// How far the channel's clock may be from ours.
const MAX_SKEW: Duration = Duration::from_secs(300);
const MIN_SECRET_LEN: usize = 16;

/// Signs and verifies for one account. Never shows its key.
pub(super) struct Signer {
    account: ChannelAccount,
    key: hmac::Key,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signer({})", self.account)
    }
}

pub(super) struct Signed {
    pub nonce: String,
    pub headers: [(&'static str, String); 4],
}

impl Signer {
    pub(super) fn new(account: &ChannelAccount, secret: &secrecy::SecretString) -> Option<Self> {
        use secrecy::ExposeSecret;
        let secret = hex::decode(secret.expose_secret()).ok()?;
        let long_enough = secret.len() >= MIN_SECRET_LEN;
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        long_enough.then_some(Self { account: account.clone(), key })
    }

    pub(super) fn request(&self, method: &str, path: &str, body: &[u8]) -> Signed {
        let timestamp = unix_seconds().to_string();
        let nonce = nonce();
        let text = [method, path, &timestamp, &nonce, &hash(body)].join("\n");
        let signature = hex::encode(hmac::sign(&self.key, text.as_bytes()));
        let headers = [
            ("X-Sandbox-Account", self.account.to_string()),
            ("X-Sandbox-Timestamp", timestamp),
            ("X-Sandbox-Nonce", nonce.clone()),
            ("X-Sandbox-Signature", signature),
        ];
        Signed { nonce, headers }
    }

    /// Whether the answer is the channel's own, to the request with this nonce, and fresh.
    pub(super) fn verify(
        &self,
        status: u16,
        headers: &HeaderMap,
        nonce: &str,
        body: &[u8],
    ) -> bool {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let (Some(timestamp), Some(signature)) =
            (header("X-Sandbox-Timestamp"), header("X-Sandbox-Signature"))
        else {
            return false;
        };
        let fresh = timestamp
            .parse::<u64>()
            .is_ok_and(|at| at.abs_diff(unix_seconds()) <= MAX_SKEW.as_secs());
        let Ok(tag) = hex::decode(signature) else { return false };
        let text = [&status.to_string(), timestamp, nonce, &hash(body)].join("\n");
        fresh && hmac::verify(&self.key, text.as_bytes(), &tag).is_ok()
    }
}

fn hash(body: &[u8]) -> String {
    hex::encode(digest(&SHA256, body))
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn nonce() -> String {
    let mut bytes = [0u8; 16];
    // Cannot fail on a system that has an entropy source; an all-zero nonce would only make two
    // requests of one second look alike.
    let _ = rand::fill(&mut bytes);
    hex::encode(bytes)
}
