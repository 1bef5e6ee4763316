//! The one body type of requests and responses: bytes in one piece, or a stream of them.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody, combinators::UnsyncBoxBody};

use crate::BoxError;

/// A request's or response's body.
///
/// It is `Send` and not `Sync`, as bodies of connections are. Bytes in one piece keep their length and can be sent a
/// second time ([`Body::try_clone`]), a stream cannot.
#[derive(Default)]
pub struct Body(Kind);

enum Kind {
    Full(Full<Bytes>),
    Stream(UnsyncBoxBody<Bytes, BoxError>),
}

impl Default for Kind {
    fn default() -> Self {
        Self::Full(Full::default())
    }
}

impl Body {
    /// A body without bytes.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Any other body.
    pub fn new<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Kind::Stream(body.map_err(Into::into).boxed_unsync()))
    }

    /// A body made of the chunks of a stream.
    pub fn from_stream<S, E>(chunks: S) -> Self
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        use futures::StreamExt;
        Self::new(StreamBody::new(chunks.map(|chunk| chunk.map(Frame::data))))
    }

    /// The same body again, where it is bytes in one piece; `None` for a stream.
    pub fn try_clone(&self) -> Option<Self> {
        match &self.0 {
            Kind::Full(bytes) => Some(Self(Kind::Full(bytes.clone()))),
            Kind::Stream(_) => None,
        }
    }

    /// All bytes, however many. A body of one chunk is not copied.
    ///
    /// # Errors
    /// What the stream failed with.
    pub async fn bytes(self) -> Result<Bytes, BoxError> {
        Ok(self.collect().await?.to_bytes())
    }

    /// All bytes, or `None` where there are more than `max`.
    pub(crate) async fn bytes_up_to(self, max: usize) -> Result<Option<Bytes>, BoxError> {
        match Limited::new(self, max).collect().await {
            Ok(all) => Ok(Some(all.to_bytes())),
            Err(error) if error.is::<LengthLimitError>() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(Kind::Full(Full::new(bytes)))
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::from(Bytes::from(text))
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Self::from(Bytes::from_static(text.as_bytes()))
    }
}

impl fmt::Debug for Body {
    /// Never the content: it may be a Secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Full(bytes) => write!(f, "Body({} bytes)", http_body::Body::size_hint(bytes).lower()),
            Kind::Stream(_) => f.write_str("Body(stream)"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Kind::Full(bytes) => Pin::new(bytes).poll_frame(cx).map_err(|never| match never {}),
            Kind::Stream(stream) => Pin::new(stream).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Full(bytes) => bytes.is_end_stream(),
            Kind::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Full(bytes) => bytes.size_hint(),
            Kind::Stream(stream) => stream.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_can_be_sent_again_and_a_stream_cannot() {
        let full = Body::from("abc");
        assert_eq!(full.try_clone().unwrap().bytes().await.unwrap(), "abc");
        assert_eq!(http_body::Body::size_hint(&full).exact(), Some(3));

        let chunks = futures::stream::iter(["a", "b"].map(|chunk| Ok::<_, BoxError>(Bytes::from(chunk))));
        let stream = Body::from_stream(chunks);
        assert!(stream.try_clone().is_none());
        assert_eq!(stream.bytes().await.unwrap(), "ab");
    }

    #[test]
    fn debug_never_shows_the_content() {
        assert_eq!(format!("{:?}", Body::from("password")), "Body(8 bytes)");
    }
}
