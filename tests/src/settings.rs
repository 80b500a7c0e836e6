//! How a scenario's world is set up.

use serde_json::{Value, json};

/// The key that proves decisions, in every world.
pub const DECISION_KEY: &str = "746573742d6465636973696f6e2d6b65792d3031";
pub const ALICE: &str = "alice-token-0123456789";
pub const BOB: &str = "bob-token-0123456789ab";
pub const CAROL: &str = "carol-token-0123456789";
/// The people who decide, in every world, with their tokens.
pub const OPERATORS: [(&str, &str); 3] = [("alice", ALICE), ("bob", BOB), ("carol", CAROL)];
/// A secret that must never be seen anywhere but where it is set.
pub const SECRET: &str = "5eec8e7000112233445566778899aabbccddeeff00112233445566778899aabb";

/// What is not as usual in a world.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what a world has is independent")]
pub struct Setup {
    /// The merchant, where it must be the same every time; else one that no other world has.
    pub merchant: Option<&'static str>,
    /// How many worker processes run from the start.
    pub workers: usize,
    /// The HTTP API runs.
    pub api: bool,
    pub ladder_ms: &'static str,
    pub awaiting_payer_ms: &'static str,
    pub call_limit_ms: u64,
    pub grace_ms: u64,
    /// How long `resend-only` gives its first answer again.
    pub resend_window_s: u64,
    /// Above which amounts two people must decide the same.
    pub four_eyes_above: &'static str,
    /// The world has its own PostgreSQL, which it may stop.
    pub own_postgres: bool,
    /// The world has its own Temporal, which it may kill.
    pub own_temporal: bool,
    /// The world's Temporal is one whose time jumps over waits, once it is let to.
    pub time_skips: bool,
    /// The workers reach PostgreSQL through a proxy that can cut.
    pub proxy: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            merchant: None,
            workers: 1,
            api: true,
            ladder_ms: "200,400,800,1500,1500,1500",
            awaiting_payer_ms: "300,600,1000",
            call_limit_ms: 1_500,
            grace_ms: 700,
            resend_window_s: 86_400,
            four_eyes_above: "CNY:100000",
            own_postgres: false,
            own_temporal: false,
            time_skips: false,
            proxy: false,
        }
    }
}

impl Setup {
    /// One account for each class of channel.
    ///
    /// | account | idempotent | lookup | refuses a known reference |
    /// |---|---|---|---|
    /// | `main` | yes | yes | yes |
    /// | `lookup-only` | no | yes | yes |
    /// | `careless` | no | yes | no |
    /// | `resend-only` | yes | no | no |
    /// | `blind` | no | no | no |
    /// | `unclosable` | no | yes | yes |
    /// | `mute` | no | no | no |
    ///
    /// The last two cannot close either.
    #[must_use]
    pub fn accounts(&self) -> Value {
        let account = |name: &str, idempotent: bool, lookup: bool, refuses: bool| {
            json!({
                "account": name, "secret": SECRET, "idempotent": idempotent, "lookup": lookup,
                "refuses_known_reference": refuses, "lookup_complete": true,
                "grace_ms": self.grace_ms, "call_limit_ms": self.call_limit_ms,
            })
        };
        let without_close = |mut account: Value| {
            account["close"] = json!(false);
            account
        };
        let mut resend_only = account("resend-only", true, false, false);
        resend_only["idempotency_window_s"] = json!(self.resend_window_s);
        json!([
            account("main", true, true, true),
            account("lookup-only", false, true, true),
            account("careless", false, true, false),
            resend_only,
            account("blind", false, false, false),
            without_close(account("unclosable", false, true, true)),
            without_close(account("mute", false, false, false)),
        ])
    }
}
