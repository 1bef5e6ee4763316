//! The chunks of an answer as they come, and the lines in them.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http_body_util::BodyDataStream;

use crate::{Body, Error, LineSplitter};

/// The chunks of a successful answer, cut wherever the network cut them. After an error nothing follows.
pub struct ByteStream {
    chunks: BodyDataStream<Body>,
    over: bool,
}

impl ByteStream {
    pub(crate) fn new(body: Body) -> Self {
        Self { chunks: BodyDataStream::new(body), over: false }
    }

    /// The lines of the stream.
    pub fn lines(self) -> LineStream {
        LineStream { chunks: self, splitter: LineSplitter::new(), over: false }
    }
}

impl Stream for ByteStream {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        let chunk = ready!(self.chunks.poll_next_unpin(cx));
        self.over = !matches!(chunk, Some(Ok(_)));
        Poll::Ready(chunk.map(|chunk| chunk.map_err(Error::from_service)))
    }
}

impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteStream")
    }
}

/// The lines of a [`ByteStream`], without their ends; blank ones are left out. After an error nothing follows: half a line
/// before a broken connection is not handed out.
#[derive(Debug)]
pub struct LineStream {
    chunks: ByteStream,
    splitter: LineSplitter,
    over: bool,
}

impl Stream for LineStream {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        loop {
            match self.splitter.next_line() {
                Ok(Some(line)) => return Poll::Ready(Some(Ok(line))),
                Ok(None) => {}
                Err(error) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(error.into())));
                }
            }
            match ready!(self.chunks.poll_next_unpin(cx)) {
                Some(Ok(chunk)) => self.splitter.push(chunk),
                Some(Err(error)) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    self.over = true;
                    let last = self.splitter.finish().map_err(Error::from).transpose();
                    return Poll::Ready(last);
                }
            }
        }
    }
}
