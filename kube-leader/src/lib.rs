//! One leader among the replicas of a program, by a Kubernetes Lease, whose lead can be tested at each write.
//!
//! This crate never says that a replica leads before the server has stored it, nor for longer than its renew deadline after the
//! last renewal was sent; and it never hands the Lease back while the leader's work still runs.
//!
//! ```text
//!   your work(term, stop) <--- starts, tells to end, joins ---+
//!        |                                                    |
//!        | term.is_current(now)?                           Elector ---- Lease (JSON) ----> API server
//!        v                                                    |  ^             record
//!     one write                                        orders |  | facts
//!                                                             |  |
//!                                        Election: read -> decide -> write
//!                                        (no clock, no socket, no task)
//! ```
//!
//! | Room | What is in it |
//! |---|---|
//! | election | [`Election`], [`Input`], [`Output`], [`Standing`]: every rule, as a plain value |
//! | elector | [`Elector`], [`Outcome`]: the loop that sends the requests and runs the work |
//! | term | [`Term`]: the proof of leading, with its fencing token |
//! | record | [`Record`], [`LeaseTime`]: the Lease on the wire |
//! | settings | [`Settings`], [`SettingsError`], [`default_identity`]: which Lease, who, and the three times |
//! | error | [`Error`] |
//!
//! # Example
//! ```no_run
//! use std::time::Duration;
//!
//! use kube_client::{Client, clock};
//! use kube_leader::{Elector, Settings, default_identity};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = Settings::new("shop", "web-operator", default_identity());
//! let mut elector = Elector::new(Client::infer().await?, settings)?;
//! let outcome = elector
//!     .run(|term, stop| async move {
//!         while !stop.is_cancelled() && term.is_current(clock::now()) {
//!             // One piece of the leader's work.
//!             tokio::time::sleep(Duration::from_secs(1)).await;
//!         }
//!     })
//!     .await?;
//! println!("{outcome:?}");
//! # Ok(()) }
//! ```
//!
//! # What it does not protect from
//! - A write that was checked and then held up for seconds on its way: send [`Term::fencing_token`] along where the receiver
//!   can refuse an older one.
//! - A Lease that is deleted or emptied by hand under a live leader: a candidate that never saw the leader may take it at
//!   once, up to one retry period before the leader notices.
//! - A machine that sleeps: the monotonic clock may stand still meanwhile.
//!
//! # Features
//! None.

mod election;
mod elector;
mod error;
mod identity;
mod io;
mod record;
mod settings;
mod term;

pub use election::{Election, Ending, Fault, Input, Loss, Output, Role, Standing, StepDown};
pub use elector::{Elector, Outcome};
pub use error::Error;
pub use identity::default_identity;
pub use record::{LeaseTime, Record, Seen};
pub use settings::{Settings, SettingsError};
pub use term::Term;
