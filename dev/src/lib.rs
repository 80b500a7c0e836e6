//! What a developer's machine needs to run the whole system: PostgreSQL, Temporal, our binaries.
//!
//! Used by `cargo dev` and by the `tests` package. It compiles in seconds because it depends on
//! none of our other crates. It never talks to a payment channel and never touches a server that
//! it did not start, except those whose address is given in the environment.

#![expect(
    clippy::missing_errors_doc,
    reason = "all fail the same way: the machine lacks something, and the error says what"
)]

pub mod binaries;
pub mod http;
pub mod identity;
mod installed;
pub mod keys;
pub mod node;
pub mod paths;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod python;
pub mod stack;
pub mod state;
pub mod table;
pub mod temporal;
