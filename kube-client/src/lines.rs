//! Decides where the lines of a byte stream end.
//!
//! In: chunks, cut anywhere, by [`LineSplitter::push`]; the end of the stream, by [`LineSplitter::finish`]. Out: lines
//! without their terminator (LF or CRLF), blank ones left out, by [`LineSplitter::next_line`] and `finish`.
//!
//! States: between lines, or within one (`partial` holds its beginning); after a line that is too long, dead.
//!
//! Why not a codec over an async reader: the same bytes must give the same lines however they were cut, and that is
//! tested with random cuts and no socket. A line that lies within one chunk is a slice of it, not a copy, and each byte
//! is searched for a newline once.
//!
//! What it leaves to others: text and JSON. A cut inside a UTF-8 character is nothing special here, because no piece is
//! looked at before its line is complete.

use bytes::{Buf, Bytes, BytesMut};

/// Longest line taken, in bytes, unless [`LineSplitter::with_max`] says otherwise: 64 MiB.
///
/// An object is at most about 1.5 MiB in etcd by default, and its JSON on a watch a few times that. A server may be set
/// up for more; a stream without newlines must still end as an error and not as a process out of memory.
pub const MAX_LINE: usize = 64 << 20;

/// A line was longer than the limit. The stream is of no more use: where its next line begins is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line of the stream is longer than {max} bytes")]
pub struct LineTooLong {
    /// The limit, in bytes.
    pub max: usize,
}

/// Splits chunks into lines. Push a chunk, take lines until there are none, push the next; `finish` at a clean end.
///
/// ```
/// use kube_client::LineSplitter;
///
/// let mut lines = LineSplitter::new();
/// lines.push("one\r\n\ntw".into());
/// assert_eq!(lines.next_line()?.unwrap(), "one");
/// assert_eq!(lines.next_line()?, None);
/// lines.push("o\nthree".into());
/// assert_eq!(lines.next_line()?.unwrap(), "two");
/// assert_eq!(lines.next_line()?, None);
/// assert_eq!(lines.finish()?.unwrap(), "three");
/// # Ok::<(), kube_client::LineTooLong>(())
/// ```
#[derive(Debug)]
pub struct LineSplitter {
    /// The beginning of a line whose end has not come yet. Never contains a newline.
    partial: BytesMut,
    /// What of the pushed bytes has not been searched yet.
    chunk: Bytes,
    max: usize,
    dead: bool,
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::new()
    }
}

impl LineSplitter {
    /// A splitter for lines up to [`MAX_LINE`] bytes.
    pub fn new() -> Self {
        Self::with_max(MAX_LINE)
    }

    /// A splitter for lines up to `max` bytes, terminator not counted (the CR of a CRLF is).
    pub fn with_max(max: usize) -> Self {
        Self { partial: BytesMut::new(), chunk: Bytes::new(), max, dead: false }
    }

    /// Takes the next bytes of the stream. Bytes not yet asked for by [`LineSplitter::next_line`] stay in front of them.
    pub fn push(&mut self, chunk: Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            let mut both = BytesMut::with_capacity(self.chunk.len() + chunk.len());
            both.extend_from_slice(&self.chunk);
            both.extend_from_slice(&chunk);
            self.chunk = both.freeze();
        }
    }

    /// The next complete line; `None` when more bytes are needed.
    ///
    /// # Errors
    /// A line longer than the limit, now and on every later call.
    pub fn next_line(&mut self) -> Result<Option<Bytes>, LineTooLong> {
        while !self.dead {
            let Some(end) = memchr::memchr(b'\n', &self.chunk) else {
                if self.partial.len() + self.chunk.len() > self.max {
                    break;
                }
                self.partial.extend_from_slice(&std::mem::take(&mut self.chunk));
                return Ok(None);
            };
            if self.partial.len() + end > self.max {
                break;
            }
            let head = self.chunk.split_to(end);
            self.chunk.advance(1);
            let line = if self.partial.is_empty() {
                head
            } else {
                self.partial.extend_from_slice(&head);
                self.partial.split().freeze()
            };
            if let Some(line) = content(line) {
                return Ok(Some(line));
            }
        }
        self.dead = true;
        Err(LineTooLong { max: self.max })
    }

    /// The last line, when the stream ended cleanly without a newline behind it. Call it when
    /// [`LineSplitter::next_line`] has nothing more; after a broken connection do not, for the line is half a line then.
    ///
    /// # Errors
    /// A line longer than the limit.
    pub fn finish(&mut self) -> Result<Option<Bytes>, LineTooLong> {
        match self.next_line()? {
            Some(line) => Ok(Some(line)),
            None => Ok(content(self.partial.split().freeze())),
        }
    }
}

/// The line without the CR of a CRLF; `None` for a blank one.
fn content(mut line: Bytes) -> Option<Bytes> {
    if line.last() == Some(&b'\r') {
        line.truncate(line.len() - 1);
    }
    (!line.trim_ascii().is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(chunks: &[&[u8]], max: usize) -> (Vec<Vec<u8>>, Result<(), LineTooLong>) {
        let mut splitter = LineSplitter::with_max(max);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.push(Bytes::copy_from_slice(chunk));
            loop {
                match splitter.next_line() {
                    Ok(Some(line)) => lines.push(line.to_vec()),
                    Ok(None) => break,
                    Err(error) => return (lines, Err(error)),
                }
            }
        }
        match splitter.finish() {
            Ok(last) => lines.extend(last.map(|line| line.to_vec())),
            Err(error) => return (lines, Err(error)),
        }
        (lines, Ok(()))
    }

    #[test]
    fn lines_end_at_lf_or_crlf_and_blank_ones_are_left_out() {
        let rows: &[(&str, &[&str])] = &[
            ("", &[]),
            ("\n\r\n \t\n", &[]),
            ("a\nb\n", &["a", "b"]),
            ("a\r\nb\r\n", &["a", "b"]),
            ("a\n\n\nb", &["a", "b"]),
            ("a\rb\n", &["a\rb"]),
            ("last", &["last"]),
            ("last\r", &["last"]),
            (" indented\n", &[" indented"]),
            ("{\"n\":\"ä€😀\"}\n", &["{\"n\":\"ä€😀\"}"]),
        ];
        for (input, expected) in rows {
            let expected: Vec<_> = expected.iter().map(|line| line.as_bytes().to_vec()).collect();
            assert_eq!(split(&[input.as_bytes()], 100), (expected.clone(), Ok(())), "{input:?} in one chunk");
            let bytes: Vec<&[u8]> = input.as_bytes().chunks(1).collect();
            assert_eq!(split(&bytes, 100), (expected, Ok(())), "{input:?} byte by byte");
        }
    }

    #[test]
    fn a_line_of_exactly_the_limit_passes_and_one_byte_more_does_not() {
        let too_long = Err(LineTooLong { max: 4 });
        // Chunks and lines, each separated by `|`.
        let rows = [
            ("abcd\nef", "abcd|ef", Ok(())),
            ("ab|cd|\n", "abcd", Ok(())),
            ("x\nabcde\ny\n", "x", too_long),
            ("x\n|abc|de", "x", too_long),
            ("abcde", "", too_long),
        ];
        for (chunks, lines, end) in rows {
            let chunks: Vec<&[u8]> = chunks.split('|').map(str::as_bytes).collect();
            let lines: Vec<Vec<u8>> = lines
                .split('|')
                .filter(|line| !line.is_empty())
                .map(|line| line.as_bytes().to_vec())
                .collect();
            assert_eq!(split(&chunks, 4), (lines, end));
        }
    }

    #[test]
    fn after_a_line_that_is_too_long_nothing_comes_any_more() {
        let mut splitter = LineSplitter::with_max(2);
        splitter.push("abc\nd\n".into());
        assert!(splitter.next_line().is_err());
        splitter.push("e\n".into());
        assert!(splitter.next_line().is_err());
        assert!(splitter.finish().is_err());
    }

    #[test]
    fn a_line_within_one_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"first\nsecond\n");
        let mut splitter = LineSplitter::new();
        splitter.push(chunk.clone());
        assert_eq!(splitter.next_line().unwrap().unwrap().as_ptr(), chunk.as_ptr());
    }

    proptest::proptest! {
        #[test]
        fn any_cut_gives_the_same_lines(
            input in proptest::collection::vec(proptest::sample::select(b"ab\r\n \xc3\xa4".to_vec()), 0..80),
            cuts in proptest::collection::vec(0usize..80, 0..12),
            max in 1usize..12,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(input.len())).collect();
            cuts.extend([0, input.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect();
            proptest::prop_assert_eq!(split(&chunks, max), split(&[&input], max));
        }
    }
}
