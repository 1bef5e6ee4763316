//! The layers between a client and its connections. Each is public and can be used alone, or left out.
//!
//! From the outside in, and why in this order:
//! 1. [`Trace`]: one span for one request of the caller, whatever happens below; sees the path without the prefix.
//! 2. [`LimitTime`]: the limit is what the caller waits in all, so it stands around everything that waits.
//! 3. (Trying again will stand here: within the limit, and with fresh credentials for each try.)
//! 4. [`AddAuth`]: credentials are added last, so that nothing above can log or keep them.
//! 5. [`UseBaseUri`]: only here does a request learn which server it goes to.

mod auth;
mod base_uri;
mod time_limit;
mod token;
mod trace;

pub use auth::{AddAuth, AuthLayer};
pub use base_uri::{BaseUriLayer, UseBaseUri};
pub use time_limit::{LimitTime, TimeLimit, TimeLimitLayer, UNARY_LIMIT};
pub use trace::{Trace, TraceLayer};
