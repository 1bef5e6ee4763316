//! A name for this run of this replica.
//!
//! In: the host's name, a random number. Out: an identity that people recognise and that no other run bears.
//! Why not the host's name alone: a container that is started again in the same pod has the same one, and would take its
//! predecessor's Lease for its own.

use std::{env, fs};

/// `host_suffix`: the name of this host or pod and 16 random hexadecimal digits, new at each call.
pub fn default_identity() -> String {
    format!("{}_{:016x}", host(), kube_client::clock::seed())
}

/// The host's name where it can be told: from the environment (a container has it there), else from the system's files.
fn host() -> String {
    let from_environment = ["HOSTNAME", "COMPUTERNAME"].into_iter().filter_map(|name| env::var(name).ok());
    let from_files = ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    from_environment
        .chain(from_files)
        .map(|name| name.trim().to_owned())
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| "host".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_its_own_identity_with_the_name_of_its_host() {
        let (one, other) = (default_identity(), default_identity());
        assert_ne!(one, other);
        for identity in [one, other] {
            let (host, suffix) = identity.rsplit_once('_').expect("a suffix");
            assert!(!host.is_empty() && suffix.len() == 16, "{identity}");
        }
    }
}
