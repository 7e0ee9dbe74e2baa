//! Lines to [`serve_lines`], cut into chunks: each request is answered, wherever the chunks end.
//!
//! The first two bytes say how the input and the output are cut. A line that begins with the byte 1 stands for a message
//! that is made from the bytes after it.

use std::io;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use mcp_registry::CallOptions;
use mcp_registry::stdio::serve_lines;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};

use crate::dice::Dice;
use crate::generate;
use crate::message::{self, Due, Sent};
use crate::served::{LONGEST, SERVER, TOOLS};
use crate::shown;

/// One runtime for all inputs.
pub(crate) static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime can be made"));

/// The lengths of chunks, from one byte of the input.
struct Chunks {
    state: u32,
    is_whole: bool,
}

impl Chunks {
    fn new(seed: u8) -> Self {
        Self { state: seed.into(), is_whole: seed == 0 }
    }

    /// How many bytes come next; none if nothing comes yet.
    fn next(&mut self) -> Option<usize> {
        if self.is_whole {
            return Some(usize::MAX);
        }
        self.state = self.state.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
        let roll = self.state >> 16;
        match roll % 5 {
            0 => None,
            1 => Some(1),
            2 => Some(2),
            3 => Some(1 + (roll as usize >> 3) % 40),
            _ => Some(1 + (roll as usize >> 3) % 1000),
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    chunks: Chunks,
}

impl AsyncRead for Reader<'_> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Some(most) = self.chunks.next() else {
            context.waker().wake_by_ref();
            return Poll::Pending;
        };
        let (chunk, rest) = self.rest.split_at(most.min(room.remaining()).min(self.rest.len()));
        room.put_slice(chunk);
        self.rest = rest;
        Poll::Ready(Ok(()))
    }
}

struct Writer {
    written: Vec<u8>,
    chunks: Chunks,
}

impl AsyncWrite for Writer {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Some(most) = self.chunks.next() else {
            context.waker().wake_by_ref();
            return Poll::Pending;
        };
        let chunk = &bytes[..most.min(bytes.len())];
        self.written.extend_from_slice(chunk);
        Poll::Ready(Ok(chunk.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The answers that are due to all lines together.
#[derive(Debug, Default)]
struct Dues {
    flat: usize,
    /// Answers that must come, each under one of these IDs.
    certain: Vec<Vec<Value>>,
    /// Answers that may come.
    possible: usize,
}

impl Dues {
    fn of(input: &[u8]) -> Self {
        let lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
        let cancelled: Vec<Value> = lines.iter().filter_map(|line| message::cancelled(line)).collect();
        let mut dues = Self::default();
        for line in lines {
            if line.trim_ascii().is_empty() {
                // A blank line is skipped, unless it is too long to be buffered.
                dues.possible += usize::from(line.len() > LONGEST);
                continue;
            }
            match message::due(line.strip_suffix(b"\r").unwrap_or(line), LONGEST) {
                Due::Nothing => {}
                Due::Flat => dues.flat += 1,
                Due::Maybe(_) => dues.possible += 1,
                Due::One(ids) if ids.iter().any(|id| cancelled.contains(id)) => dues.possible += 1,
                Due::One(ids) => dues.certain.push(ids),
            }
        }
        dues
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let [reading, writing, rest @ ..] = data else { return };
    let mut input = Vec::new();
    for (index, line) in rest.split(|byte| *byte == b'\n').enumerate() {
        if index > 0 {
            input.push(b'\n');
        }
        match line.split_first() {
            Some((1, rest)) => input.extend_from_slice(generate::message(&TOOLS, &mut Dice::new(rest)).as_bytes()),
            _ => input.extend_from_slice(line),
        }
    }
    let reader = Reader { rest: &input, chunks: Chunks::new(*reading) };
    let mut writer = Writer { written: Vec::new(), chunks: Chunks::new(*writing) };
    let served = RUNTIME.block_on(serve_lines(SERVER.clone(), CallOptions::new(), reader, &mut writer));
    served.expect("memory does not fail");
    check(&input, &writer.written);
}

fn check(input: &[u8], output: &[u8]) {
    let Dues { flat, certain, possible } = Dues::of(input);
    let (mut flats, mut ids) = (0, Vec::new());
    assert!(output.is_empty() || output.ends_with(b"\n"), "the last line has no end: {}", shown(output));
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match message::sent(line) {
            Sent::Notification => {}
            Sent::Flat => flats += 1,
            Sent::Response(id) => ids.push(id),
        }
    }
    let told = || format!("input:\n{}\noutput:\n{}", shown(input), shown(output));
    assert_eq!(flats, flat, "flat results; {}", told());
    let (least, most) = (certain.len(), certain.len() + possible);
    assert!((least..=most).contains(&ids.len()), "{} answers, not {least} to {most}; {}", ids.len(), told());
    // Answers that may have one of several IDs are only counted.
    for wanted in certain.iter().filter(|wanted| wanted.len() == 1) {
        let place = ids.iter().position(|id| wanted.contains(id));
        let place = place.unwrap_or_else(|| panic!("no answer to {wanted:?}; {}", told()));
        ids.swap_remove(place);
    }
}
