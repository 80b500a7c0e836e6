//! Durable decisions, and the list of side effects that they need.
//!
//! A workflow decides; it does not do. This crate cannot name a database, an HTTP client or an
//! async runtime: what it needs done is declared in [`contract`] and implemented elsewhere.

pub mod attributes;
pub mod contract;
pub mod ids;
pub mod payment;
pub mod raw;
pub mod trace;
