//! Free TCP ports on 127.0.0.1.
//!
//! A port is only looked for, never held: whoever asked binds it at once. Ports come from below
//! the range that the kernel hands to outgoing connections, so that none of those can take it in
//! between, and the same process never gets the same port twice.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};

const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000; // 20000..=31999; Linux hands out from 32768, macOS from 49152.
const TRIES: usize = 1_000;

static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);

/// A port that nobody listens on now and that this process has not been given before.
pub fn free_port() -> Result<u16> {
    for _ in 0..TRIES {
        // Every `RandomState` has other keys: that is all the randomness a port needs.
        let random = RandomState::new().hash_one(std::process::id());
        let port = FIRST + u16::try_from(random % u64::from(COUNT))?;
        if is_free(port) && note(port) {
            return Ok(port);
        }
    }
    bail!("find a free port: {TRIES} tries from {FIRST} on were all taken")
}

/// The wished port if nobody listens there, else a free one.
pub fn prefer(port: u16) -> Result<u16> {
    if port != 0 && is_free(port) && note(port) { Ok(port) } else { free_port() }
}

/// Whether 127.0.0.1 can be bound on this port.
#[must_use]
pub fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn note(port: u16) -> bool {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    given.get_or_insert_default().insert(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_replaced_by_a_free_one() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let wished = taken.local_addr().unwrap().port();
        let got = prefer(wished).unwrap();
        assert_ne!(got, wished);
        assert!(is_free(got));
    }

    #[test]
    fn a_free_port_is_kept_once_and_never_given_twice() {
        let wished = free_port().unwrap();
        assert_ne!(prefer(wished).unwrap(), wished, "it was given already");
        let many: Vec<u16> = (0..200).map(|_| free_port().unwrap()).collect();
        let distinct: HashSet<u16> = many.iter().copied().collect();
        assert_eq!(many.len(), distinct.len());
    }
}
