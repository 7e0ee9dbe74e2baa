//! Rejects bare line feeds in the heads of requests.
//!
//! The parser of hyper accepts a single line feed as the end of a line, but a proxy in front may not: the two would see
//! different requests (request smuggling). The scanner tracks where heads begin and end. It gets the lengths of the
//! bodies from the parser, and holds back the bytes after a head until that length is known.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use memchr::memchr_iter;
use tokio::io::{AsyncRead, ReadBuf};

use super::connections::{ConnectionState, Framing};

/// What the parser gets in place of a bare line feed and everything after it. It is not a valid head, so the parser
/// answers 400 and closes the connection.
const INVALID_HEAD: &[u8] = b"\0\r\n\r\n";

/// Reads from a connection, and rejects bare line feeds in heads.
pub(super) struct HeadScanner {
    state: Arc<ConnectionState>,
    position: Position,
    /// Bytes that were read and held back. `passed` is the number of them that have since been passed on.
    held: Vec<u8>,
    passed: usize,
}

/// The position of the next byte.
enum Position {
    Head(Head),
    /// After a head, until the parser reports the length of the body.
    AfterHead,
    /// In a body, of which this number of bytes is left.
    Body(u64),
    /// In a chunked body, after this byte.
    Chunks(Chunks, u8),
    /// After a bare line feed. Nothing more is read.
    Rejected,
}

#[derive(Clone, Copy, Default)]
struct Head {
    /// The number of bytes in the line so far.
    line: usize,
    last: u8,
    /// Whether a line was not empty.
    has_content: bool,
}

/// The position of the next byte in a chunked body.
#[derive(Clone, Copy)]
enum Chunks {
    /// In the line with the size of a chunk: the value so far, and whether more digits may follow.
    Size(u64, bool),
    /// In a chunk, of which this number of bytes is left, including the line break.
    Data(u64),
    /// After the last chunk, in a line; whether the line is empty so far.
    Trailer(bool),
}

impl HeadScanner {
    pub(super) fn new(state: Arc<ConnectionState>) -> Self {
        Self { state, position: Position::Head(Head::default()), held: Vec::new(), passed: 0 }
    }

    /// Scans bytes, and returns how many of them may be passed on. The error is the position of a bare line feed.
    fn scan(&mut self, bytes: &[u8]) -> Result<usize, usize> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.position {
                Position::Head(head) => {
                    let Some(end) = head.scan(rest).map_err(|bare| at + bare)? else { break };
                    self.position = Position::AfterHead;
                    return Ok(at + end);
                }
                Position::AfterHead => match self.state.take_framing() {
                    Some(Framing::Length(0)) => self.position = Position::Head(Head::default()),
                    Some(Framing::Length(bytes)) => self.position = Position::Body(bytes),
                    Some(Framing::Chunked) => self.position = Position::Chunks(Chunks::Size(0, true), 0),
                    // The parser has rejected the head, and will not read another.
                    None => break,
                },
                Position::Body(left) => {
                    let taken = rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    at += taken;
                    *left -= taken as u64;
                    if *left == 0 {
                        self.position = Position::Head(Head::default());
                    }
                }
                Position::Chunks(chunks, last) => {
                    let Some(end) = chunks.scan(rest, last).map_err(|bare| at + bare)? else { break };
                    at += end;
                    self.position = Position::Head(Head::default());
                }
                Position::Rejected => break,
            }
        }
        Ok(bytes.len())
    }

    /// Reads bytes that may be passed on to the parser.
    pub(super) fn poll_read(
        &mut self,
        mut connection: Pin<&mut impl AsyncRead>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let start = buffer.filled().len();
            let was_held = self.passed < self.held.len();
            if was_held {
                let held = &self.held[self.passed..];
                let taken = held.len().min(buffer.remaining());
                buffer.put_slice(&held[..taken]);
            } else if matches!(self.position, Position::Rejected) {
                return Poll::Ready(Ok(()));
            } else {
                ready!(connection.as_mut().poll_read(context, buffer))?;
            }
            let scanned = self.scan(&buffer.filled()[start..]);
            let (Ok(bytes) | Err(bytes)) = scanned;
            let passed = start + bytes;
            if scanned.is_err() {
                self.position = Position::Rejected;
                self.hold(INVALID_HEAD);
            } else if was_held {
                self.passed += bytes;
            } else {
                self.hold(&buffer.filled()[passed..]);
            }
            buffer.set_filled(passed);
            if bytes > 0 || scanned.is_ok() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn hold(&mut self, bytes: &[u8]) {
        self.held.clear();
        self.held.extend_from_slice(bytes);
        self.passed = 0;
    }
}

impl Head {
    /// The end of the head, if it is in these bytes. The error is the position of a bare line feed.
    fn scan(&mut self, bytes: &[u8]) -> Result<Option<usize>, usize> {
        let mut start = 0;
        for end in memchr_iter(b'\n', bytes) {
            let before = if end == 0 { self.last } else { bytes[end - 1] };
            if before != b'\r' {
                return Err(end);
            }
            let is_empty = self.line + (end - start) == 1;
            if is_empty && self.has_content {
                return Ok(Some(end + 1));
            }
            // Empty lines before a request are skipped.
            self.has_content |= !is_empty;
            self.line = 0;
            start = end + 1;
        }
        self.line += bytes.len() - start;
        self.last = bytes.last().copied().unwrap_or(self.last);
        Ok(None)
    }
}

impl Chunks {
    /// The end of the body, if it is in these bytes. The error is the position of a bare line feed outside of the
    /// chunks.
    fn scan(&mut self, bytes: &[u8], last: &mut u8) -> Result<Option<usize>, usize> {
        let mut at = 0;
        while at < bytes.len() {
            let before = std::mem::replace(last, bytes[at]);
            if bytes[at] == b'\n' && before != b'\r' && !matches!(self, Self::Data(_)) {
                return Err(at);
            }
            match self {
                Self::Data(left) => {
                    let taken = (bytes.len() - at).min(usize::try_from(*left).unwrap_or(usize::MAX));
                    at += taken;
                    *last = bytes[at - 1];
                    *left -= taken as u64;
                    if *left == 0 {
                        *self = Self::Size(0, true);
                    }
                    continue;
                }
                Self::Size(size, in_digits) => match bytes[at] {
                    b'\n' if *size == 0 => *self = Self::Trailer(true),
                    b'\n' => *self = Self::Data(size.saturating_add(2)),
                    byte => match char::from(byte).to_digit(16) {
                        Some(digit) if *in_digits => *size = size.saturating_mul(16).saturating_add(digit.into()),
                        _ => *in_digits = false,
                    },
                },
                Self::Trailer(is_empty) => match bytes[at] {
                    b'\n' if *is_empty => return Ok(Some(at + 1)),
                    b'\n' => *is_empty = true,
                    b'\r' => {}
                    _ => *is_empty = false,
                },
            }
            at += 1;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::{Chunks, HeadScanner, Position};
    use crate::transport::http::connections::{ConnectionState, Framing};

    fn scanner() -> HeadScanner {
        HeadScanner::new(Arc::new(ConnectionState::new(Instant::now())))
    }

    /// Scans the bytes in parts. Returns the position of the first bare line feed, if there is one.
    fn bare(bytes: &[u8], part: usize, framing: Framing) -> Option<usize> {
        let mut scanner = scanner();
        let mut at = 0;
        while at < bytes.len() {
            let part = &bytes[at..bytes.len().min(at + part)];
            match scanner.scan(part) {
                Err(bare) => return Some(at + bare),
                Ok(bytes) => {
                    assert!(bytes > 0 || matches!(scanner.position, Position::AfterHead));
                    at += bytes;
                }
            }
            if matches!(scanner.position, Position::AfterHead) {
                scanner.state.set_framing(framing);
            }
        }
        None
    }

    #[test]
    fn a_bare_line_feed_is_found_only_in_heads() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\n\r\n";
        let chunked = "3;a=b\r\n\n\n\n\r\nA\r\n0123\n\n\n\n89\r\n0\r\nX: y\r\n\r\n";
        for (body, framing) in [("", Framing::Length(0)), ("{\n}\n", Framing::Length(4)), (chunked, Framing::Chunked)] {
            let good = format!("{head}{body}\r\n{head}{body}{head}{body}");
            let bad = format!("{good}GET / HTTP/1.1\nHost: a\r\n\r\n");
            for part in [1, 2, 3, 7, 1000] {
                assert_eq!(bare(good.as_bytes(), part, framing), None, "{good:?} by {part}");
                assert_eq!(bare(bad.as_bytes(), part, framing), Some(good.len() + 14), "{bad:?} by {part}");
            }
        }
        for (bad, at) in [
            ("\n", 0),
            ("GET / HTTP/1.1\r\nA: b\n\r\n", 20),
            ("GET / HTTP/1.1\r\n\n", 16),
            ("GET / HTTP/1.1\r\r\n\n", 17),
        ] {
            assert_eq!(bare(bad.as_bytes(), 1, Framing::Length(0)), Some(at), "{bad:?}");
        }
    }

    #[test]
    fn a_bare_line_feed_is_found_in_sizes_and_trailers() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\n\r\n";
        for (body, at) in [("3\nabc\r\n", 1), ("3\r\nabc\r\n0\n\r\n", 9), ("0\r\nX: a\n\r\nGET /a HTTP/1.1\r\n", 7)] {
            let bad = format!("{head}{body}");
            for part in [1, 2, 1000] {
                let found = bare(bad.as_bytes(), part, Framing::Chunked);
                assert_eq!(found, Some(head.len() + at), "{bad:?} by {part}");
            }
        }
    }

    #[test]
    fn a_chunk_with_an_invalid_size_never_ends() {
        for size in ["ffffffffffffffffffffff\r\n", "x\r\nGET", "-1\r\n"] {
            assert_eq!(Chunks::Size(0, true).scan(size.as_bytes(), &mut 0), Ok(None), "{size:?}");
        }
    }
}
