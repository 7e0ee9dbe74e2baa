//! Splits the input into lines.

use memchr::memchr;

/// The number of bytes to read at a time: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// Splits the input into lines.
pub(super) struct Lines {
    /// Only `start..end` is in use.
    buffer: Vec<u8>,
    start: usize,
    /// There is no line break before this position.
    searched: usize,
    end: usize,
    /// The maximum length of a line.
    max: usize,
    /// The number of bytes of a line that is too long that were discarded.
    skipped: usize,
    /// Whether the input has ended.
    is_ended: bool,
}

/// A line.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    Message(&'a [u8]),
    /// The length of a line whose bytes were discarded.
    TooLong(usize),
}

impl Lines {
    pub(super) fn new(max: usize) -> Self {
        Self { buffer: vec![0; CHUNK_BYTES], start: 0, searched: 0, end: 0, max, skipped: 0, is_ended: false }
    }

    /// The buffer to read into. Take all lines before calling this.
    pub(super) fn buffer(&mut self) -> &mut [u8] {
        // A line break may consist of two characters.
        if self.end - self.start > self.max.saturating_add(1) {
            self.skipped = self.skipped.saturating_add(self.end - self.start);
            self.start = self.end;
        }
        self.make_room();
        &mut self.buffer[self.end..]
    }

    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.searched, self.end) =
                (0, self.searched.saturating_sub(self.start), self.end - self.start);
        }
        if self.end == 0 && self.buffer.len() > 4 * CHUNK_BYTES {
            self.buffer = vec![0; CHUNK_BYTES];
        } else if self.buffer.len() - self.end < CHUNK_BYTES / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }

    /// Call this after reading this number of bytes into the buffer; 0 means the end of the input.
    pub(super) fn filled(&mut self, bytes: usize) {
        self.end += bytes;
        self.is_ended = bytes == 0;
    }

    /// The next complete line that is not blank.
    pub(super) fn next(&mut self) -> Option<Line<'_>> {
        loop {
            let range = self.cut()?;
            if self.skipped > 0 {
                return Some(Line::TooLong(std::mem::take(&mut self.skipped).saturating_add(range.len())));
            }
            if !self.buffer[range.clone()].trim_ascii().is_empty() {
                let line = &self.buffer[range];
                return Some(Line::Message(line.strip_suffix(b"\r").unwrap_or(line)));
            }
        }
    }

    /// Takes the next line, without its line break.
    fn cut(&mut self) -> Option<std::ops::Range<usize>> {
        let start = self.start;
        if let Some(length) = memchr(b'\n', &self.buffer[self.searched..self.end]) {
            let end = self.searched + length;
            (self.start, self.searched) = (end + 1, end + 1);
            return Some(start..end);
        }
        self.searched = self.end;
        // The last line may have no line break.
        if !self.is_ended || (start == self.end && self.skipped == 0) {
            return None;
        }
        self.start = self.end;
        Some(start..self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_BYTES, Line, Lines};

    /// Reads the text in chunks of this size. Returns each line, or the length of a line that is too long.
    fn read(text: &[u8], chunk: usize, max: usize) -> Vec<Result<Vec<u8>, usize>> {
        let (mut lines, mut rest, mut all) = (Lines::new(max), text, Vec::new());
        loop {
            let buffer = lines.buffer();
            assert!(buffer.len() >= CHUNK_BYTES / 2);
            let bytes = rest.len().min(chunk).min(buffer.len());
            buffer[..bytes].copy_from_slice(&rest[..bytes]);
            rest = &rest[bytes..];
            lines.filled(bytes);
            while let Some(line) = lines.next() {
                all.push(match line {
                    Line::Message(message) => Ok(message.to_vec()),
                    Line::TooLong(bytes) => Err(bytes),
                });
            }
            if bytes == 0 {
                return all;
            }
        }
    }

    #[test]
    fn lines_do_not_depend_on_chunk_boundaries() {
        let text = b"{\"a\":1}\n\r\n  \n{\"b\":2}\r\nlast";
        let lines = [b"{\"a\":1}".to_vec(), b"{\"b\":2}".to_vec(), b"last".to_vec()].map(Ok);
        for chunk in 1..=text.len() {
            assert_eq!(read(text, chunk, 100), lines, "{chunk}");
        }
        assert_eq!(read(b"", 1, 100), []);
        assert_eq!(read(b"\n\n", 1, 100), []);
    }

    #[test]
    fn a_line_that_is_too_long_is_discarded_and_its_length_reported() {
        let long = 10 * CHUNK_BYTES + 7;
        let text = [b"one\n".to_vec(), vec![b'x'; long], b"\ntwo\n".to_vec()].concat();
        for chunk in [1000, CHUNK_BYTES, usize::MAX] {
            assert_eq!(read(&text, chunk, 100), [Ok(b"one".to_vec()), Err(long), Ok(b"two".to_vec())]);
        }
        // The same for a last line without a line break.
        assert_eq!(read(&text[..4 + long], CHUNK_BYTES, 100), [Ok(b"one".to_vec()), Err(long)]);
    }

    #[test]
    fn the_buffer_grows_for_a_long_line_and_shrinks_again() {
        let long = vec![b'x'; 10 * CHUNK_BYTES];
        let text = [&long[..], b"\r\nshort\n"].concat();
        assert_eq!(read(&text, CHUNK_BYTES, long.len()), [Ok(long.clone()), Ok(b"short".to_vec())]);
        let mut lines = Lines::new(long.len());
        for chunk in [&long[..], b"\n"].concat().chunks(CHUNK_BYTES / 2) {
            lines.buffer()[..chunk.len()].copy_from_slice(chunk);
            lines.filled(chunk.len());
        }
        assert_eq!(lines.next(), Some(Line::Message(&long)));
        assert_eq!(lines.buffer().len(), CHUNK_BYTES);
    }
}
