//! Runs the controllers of an embedded server on a thread of their own.
//!
//! Tasks belong to the runtime that started them, and each test has its own. A cluster that several tests share would lose its
//! controllers with the first test that ends, so they get a thread with a small runtime, for as long as the cluster is held.

use std::{io, sync::Arc, thread};

use tokio::sync::oneshot;

use super::Embedded;

/// The controllers of a server. Dropping the last clone ends them.
#[derive(Clone, Debug)]
pub(crate) struct Background {
    /// The thread waits for it to be dropped.
    _held: Arc<oneshot::Sender<()>>,
}

impl Background {
    /// Starts the controllers; they are at work at once.
    ///
    /// # Errors
    /// The system has no room for a thread or a runtime.
    pub(crate) fn start(server: Embedded) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let (held, released) = oneshot::channel::<()>();
        thread::Builder::new().name("embedded-controllers".into()).spawn(move || {
            runtime.block_on(async {
                let controllers = server.start_controllers();
                // An error is what is waited for: the other side is gone.
                let _ = released.await;
                controllers.stop().await;
            });
        })?;
        Ok(Self { _held: Arc::new(held) })
    }
}
