//! The sandbox as a client meets it: the real program, over real sockets, each test with its own.

#![expect(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod capabilities;
mod client;
mod closing;
mod faults;
mod fulfilment;
mod late_money;
mod lies;
mod maintenance;
mod process;
mod restart;
mod signatures;
mod waiting_faults;
