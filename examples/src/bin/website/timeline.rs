//! Tells a person what happens, and when.

use std::time::Instant;

use kube_client::clock;

/// Prints lines such as `  3.2 s  scaled      4 of 4 pods are ready`.
pub struct Timeline {
    start: Instant,
    aloud: bool,
}

impl Timeline {
    /// Starts at zero. `aloud`: print it.
    pub fn start(aloud: bool) -> Self {
        Self { start: clock::now(), aloud }
    }

    /// Something happened.
    pub fn tell(&self, what: &str, text: &str) {
        if self.aloud {
            println!("{:6.1} s  {what:<11} {text}", (clock::now() - self.start).as_secs_f32());
        }
    }
}
