//! This crate's own layers put together for one [`Config`]. The order, and why, is told in `layer`.

use http::{HeaderValue, Request, Response, header};
use tower::{Service, ServiceBuilder, util::MapRequestLayer};

use crate::{
    AuthLayer, BaseUriLayer, Body, BoxError, Config, Error, TimeLimitLayer, TraceLayer, connect::Transport,
};

/// Who asks, in the server's audit log.
const USER_AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));

pub(crate) fn stack(
    config: &Config,
) -> Result<
    impl Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send + 'static>
    + Clone
    + Send
    + Sync
    + 'static,
    Error,
> {
    let transport = Transport::new(config)?;
    Ok(ServiceBuilder::new()
        .layer(TraceLayer)
        .layer(TimeLimitLayer::new(config.time_limit))
        .layer(AuthLayer::new(&config.auth)?)
        .layer(MapRequestLayer::new(with_user_agent))
        .layer(BaseUriLayer::new(config.cluster_url.clone()))
        .service(transport))
}

fn with_user_agent(mut request: Request<Body>) -> Request<Body> {
    request.headers_mut().entry(header::USER_AGENT).or_insert(HeaderValue::from_static(USER_AGENT));
    request
}
