//! A connection whose requests have no bare line feeds in their heads.
//!
//! The parser takes a line feed alone for the end of a line, and what stands between client and server may not: the two
//! would see different requests. Where heads begin and end is followed here, with the lengths of the bodies as the
//! parser has read them; what has to wait for such a length is held back.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use memchr::memchr_iter;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::life::{Framing, Life};

/// What is passed on in place of a bare line feed, and of all that follows: no head in any case, so that the parser
/// refuses it with 400 and the connection ends.
const REFUSED: &[u8] = b"\0\r\n\r\n";

/// The connection.
pub(super) struct Heads<C> {
    connection: C,
    life: Arc<Life>,
    place: Place,
    /// Bytes that were read and not passed on yet, and how many of them have been passed on meanwhile.
    held: Vec<u8>,
    passed: usize,
}

/// Where in the messages the next byte is.
enum Place {
    Head(Head),
    /// Behind a head, and the parser has not said yet how long the body is.
    BehindHead,
    /// In a body that has so many bytes left.
    Body(u64),
    /// In a chunked body, behind this byte.
    Chunks(Chunks, u8),
    /// Behind a bare line feed: nothing more is read.
    Refused,
}

#[derive(Clone, Copy, Default)]
struct Head {
    /// How many bytes the line has so far.
    line: usize,
    last: u8,
    /// Whether there was a line that is not empty.
    begun: bool,
}

/// Where in a chunked body the next byte is.
#[derive(Clone, Copy)]
enum Chunks {
    /// In the line with a chunk's size: what was read of it, and whether more of it may follow.
    Size(u64, bool),
    /// In a chunk with so many bytes left, the line break among them.
    Data(u64),
    /// Behind the last chunk, in a line that is empty so far or not.
    Trailer(bool),
}

/// How far bytes may be passed on.
#[derive(Debug, PartialEq, Eq)]
enum Pass {
    UpTo(usize),
    /// There is a bare line feed at this place.
    Bare(usize),
}

impl<C> Heads<C> {
    pub(super) fn new(connection: C, life: Arc<Life>) -> Self {
        Self { connection, life, place: Place::Head(Head::default()), held: Vec::new(), passed: 0 }
    }

    /// Follows the bytes, and says how many of them may be passed on.
    fn follow(&mut self, bytes: &[u8]) -> Pass {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.place {
                Place::Head(head) => match head.follow(rest) {
                    Ok(None) => return Pass::UpTo(bytes.len()),
                    Ok(Some(end)) => {
                        self.place = Place::BehindHead;
                        return Pass::UpTo(at + end);
                    }
                    Err(bare) => return Pass::Bare(at + bare),
                },
                Place::BehindHead => match self.life.take_framing() {
                    Some(Framing::Length(0)) => self.place = Place::Head(Head::default()),
                    Some(Framing::Length(bytes)) => self.place = Place::Body(bytes),
                    Some(Framing::Chunked) => self.place = Place::Chunks(Chunks::Size(0, true), 0),
                    // The parser has refused the head, and takes no other.
                    None => return Pass::UpTo(bytes.len()),
                },
                Place::Body(left) => {
                    let taken = rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    at += taken;
                    *left -= taken as u64;
                    if *left == 0 {
                        self.place = Place::Head(Head::default());
                    }
                }
                Place::Chunks(chunks, last) => match chunks.follow(rest, last) {
                    Ok(Some(end)) => {
                        at += end;
                        self.place = Place::Head(Head::default());
                    }
                    Ok(None) => return Pass::UpTo(bytes.len()),
                    Err(bare) => return Pass::Bare(at + bare),
                },
                Place::Refused => return Pass::UpTo(bytes.len()),
            }
        }
        Pass::UpTo(at)
    }
}

impl Head {
    /// Where the head ends, if it does; or where a bare line feed is.
    fn follow(&mut self, bytes: &[u8]) -> Result<Option<usize>, usize> {
        let mut start = 0;
        for end in memchr_iter(b'\n', bytes) {
            let before = if end == 0 { self.last } else { bytes[end - 1] };
            if before != b'\r' {
                return Err(end);
            }
            let is_empty = self.line + (end - start) == 1;
            if is_empty && self.begun {
                return Ok(Some(end + 1));
            }
            // Empty lines in front of a request are skipped.
            self.begun |= !is_empty;
            self.line = 0;
            start = end + 1;
        }
        self.line += bytes.len() - start;
        self.last = bytes.last().copied().unwrap_or(self.last);
        Ok(None)
    }
}

impl Chunks {
    /// Where the body ends, if it does; or where a bare line feed is, outside of the chunks.
    fn follow(&mut self, bytes: &[u8], last: &mut u8) -> Result<Option<usize>, usize> {
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
                Self::Size(size, goes_on) => match bytes[at] {
                    b'\n' if *size == 0 => *self = Self::Trailer(true),
                    b'\n' => *self = Self::Data(size.saturating_add(2)),
                    byte => match char::from(byte).to_digit(16) {
                        Some(digit) if *goes_on => *size = size.saturating_mul(16).saturating_add(digit.into()),
                        _ => *goes_on = false,
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

impl<C: AsyncRead + Unpin> AsyncRead for Heads<C> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let start = into.filled().len();
            let was_held = this.passed < this.held.len();
            if was_held {
                let held = &this.held[this.passed..];
                let taken = held.len().min(into.remaining());
                into.put_slice(&held[..taken]);
                this.passed += taken;
            } else if matches!(this.place, Place::Refused) {
                return Poll::Ready(Ok(()));
            } else {
                ready!(Pin::new(&mut this.connection).poll_read(context, into))?;
            }
            let end = into.filled().len();
            let passed = match this.follow(&into.filled()[start..]) {
                Pass::UpTo(bytes) => start + bytes,
                Pass::Bare(at) => {
                    this.place = Place::Refused;
                    this.held.clear();
                    this.held.extend_from_slice(REFUSED);
                    this.passed = 0;
                    into.set_filled(start + at);
                    if at == 0 {
                        continue;
                    }
                    return Poll::Ready(Ok(()));
                }
            };
            if was_held {
                this.passed -= end - passed;
            } else if passed < end {
                this.held.clear();
                this.held.extend_from_slice(&into.filled()[passed..]);
                this.passed = 0;
            }
            into.set_filled(passed);
            return Poll::Ready(Ok(()));
        }
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Heads<C> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write_vectored(context, bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::{Chunks, Heads, Pass, Place};
    use crate::transport::http::life::{Framing, Life};

    fn heads() -> Heads<()> {
        Heads::new((), Arc::new(Life::new(Instant::now())))
    }

    /// Follows the bytes in parts; the place of the first bare line feed, or none.
    fn bare(bytes: &[u8], part: usize, framing: Framing) -> Option<usize> {
        let mut heads = heads();
        let mut at = 0;
        while at < bytes.len() {
            let part = &bytes[at..bytes.len().min(at + part)];
            match heads.follow(part) {
                Pass::Bare(bare) => return Some(at + bare),
                Pass::UpTo(bytes) => {
                    assert!(bytes > 0 || matches!(heads.place, Place::BehindHead));
                    at += bytes;
                }
            }
            if matches!(heads.place, Place::BehindHead) {
                heads.life.set_framing(framing);
            }
        }
        None
    }

    #[test]
    fn a_bare_line_feed_is_found_in_heads_alone() {
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
    fn a_size_that_is_no_number_ends_nowhere() {
        for size in ["ffffffffffffffffffffff\r\n", "x\r\nGET", "-1\r\n"] {
            assert_eq!(Chunks::Size(0, true).follow(size.as_bytes(), &mut 0), Ok(None), "{size:?}");
        }
    }
}
