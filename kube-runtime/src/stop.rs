//! Says when the process shall end.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by SIGTERM or SIGINT. A second signal ends the process at once, with status 1: whoever sends it
/// does not want to wait for the end in order.
///
/// # Panics
/// Outside a tokio runtime, or when the system has no room for a signal handler.
pub fn on_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let terminate = signal(SignalKind::terminate()).expect("a handler for SIGTERM");
    let interrupt = signal(SignalKind::interrupt()).expect("a handler for SIGINT");
    tokio::spawn(listen(terminate, interrupt, stop.clone()));
    stop
}

async fn listen(mut terminate: Signal, mut interrupt: Signal, stop: CancellationToken) {
    let first = next(&mut terminate, &mut interrupt).await;
    tracing::info!(signal = first, "stopping; a second signal ends the process at once");
    stop.cancel();
    let second = next(&mut terminate, &mut interrupt).await;
    tracing::error!(signal = second, "second signal: ending at once");
    std::process::exit(1);
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
