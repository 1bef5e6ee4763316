//! Loopback ports that nobody uses.
//!
//! Not port 0: the system would hand out a port of its ephemeral range, and while the API server is down for a restart
//! any outgoing connection may be given that port as its own; a client that tries again and again even connects to
//! itself. So the ports come from below every system's ephemeral range. Between the look and the program's own bind
//! somebody else may still take one: `ControlPlaneBuilder::start` then begins again with others.

use std::{io, net::TcpListener, ops::Range};

use crate::Error;

/// Above what services use, below the ephemeral ranges (Linux: from 32768, others: from 49152).
const RANGE: Range<u16> = 20_000..32_000;

/// On a machine where this many random ports in a row are taken, something else is wrong.
const TRIES: usize = 200;

/// `N` different ports that were free a moment ago, in a random order.
pub(super) fn free<const N: usize>() -> Result<[u16; N], Error> {
    // All are held until all are found, so that none comes twice.
    let mut held = Vec::with_capacity(N);
    for _ in 0..TRIES {
        if held.len() == N {
            break;
        }
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", draw(kube_client::clock::seed()))) {
            held.push(listener);
        }
    }
    let ports = held.iter().map(|listener| listener.local_addr().map(|address| address.port()));
    ports
        .collect::<io::Result<Vec<u16>>>()
        .and_then(|ports| ports.try_into().map_err(|_| io::ErrorKind::AddrInUse.into()))
        .map_err(Error::io("find free loopback ports"))
}

fn draw(seed: u64) -> u16 {
    let width = u64::from(RANGE.end - RANGE.start);
    RANGE.start + u16::try_from(seed % width).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ports_are_free_different_and_below_the_ephemeral_range() {
        let ports = free::<8>().unwrap();
        assert_eq!(BTreeSet::from(ports).len(), 8);
        for port in ports {
            assert!(RANGE.contains(&port), "{port}");
            TcpListener::bind(("127.0.0.1", port)).unwrap();
        }
    }

    #[test]
    fn every_seed_draws_from_the_range() {
        for (seed, port) in [(0, 20_000), (11_999, 31_999), (12_000, 20_000), (u64::MAX, 23_615)] {
            assert_eq!(draw(seed), port, "{seed}");
        }
    }
}
