//! Looks up host names, and says so when that is what failed.

use std::{
    net::SocketAddr,
    task::{Context, Poll},
};

use futures::{FutureExt, future::BoxFuture};
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower::Service;

use super::fault::LookupFailed;

/// The platform's resolver, with an error of its own type.
#[derive(Clone, Debug)]
pub(super) struct Resolver(GaiResolver);

impl Default for Resolver {
    fn default() -> Self {
        Self(GaiResolver::new())
    }
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = LookupFailed;
    type Future = BoxFuture<'static, Result<Self::Response, LookupFailed>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), LookupFailed>> {
        self.0.poll_ready(cx).map_err(LookupFailed)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let lookup = self.0.call(name);
        async move {
            let addresses: Vec<SocketAddr> = lookup.await.map_err(LookupFailed)?.collect();
            Ok(addresses.into_iter())
        }
        .boxed()
    }
}
