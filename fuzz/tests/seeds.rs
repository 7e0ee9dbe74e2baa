//! Replays the seeds of each target, and runs variants of them that are the same each time.
//!
//! What a fuzzer finds depends on chance. Whether these tests pass depends on the code alone, so they decide whether a change
//! is accepted; `.ci/fuzz` searches for more.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The longest variant.
const LONGEST: usize = 1024;

/// A pseudorandom sequence (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or_default()
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..=self.below(most)).map(|_| self.byte()).collect()
    }

    /// A part of a text, of at most `most` bytes.
    fn part<'a>(&mut self, of: &'a [u8], most: usize) -> &'a [u8] {
        let start = self.below(of.len());
        let length = self.below(most.min(of.len() - start) + 1);
        &of[start..start + length]
    }

    /// A variant of one of the seeds.
    fn variant(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(input.len() + 1);
            let end = at + self.below((input.len() - at).min(16) + 1);
            let replacement = match self.below(5) {
                0 => Vec::new(),
                1 => vec![self.byte()],
                2 => self.bytes(8),
                3 => self.part(&input, 64).to_vec(),
                _ => {
                    let other = self.below(seeds.len());
                    self.part(&seeds[other], 64).to_vec()
                }
            };
            let end = if self.below(2) == 0 { at } else { end };
            input.splice(at..end, replacement);
        }
        // Such targets make everything from bytes after a zero.
        if self.below(4) == 0 {
            let settings = input.iter().position(|byte| *byte == 0).filter(|at| *at < 2);
            if let Some(at) = settings {
                input.truncate(at + 1);
                input.extend(self.bytes(400));
            }
        }
        input.truncate(LONGEST);
        input
    }
}

/// Runs the seeds of a target, and a number of variants of them.
fn replay(target: &str, variants: usize, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let files = fs::read_dir(folder).expect("the target has seeds").map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("a seed can be read")).collect();
    let mut random = Random(1);
    let made = (0..variants).map(|_| random.variant(&seeds));
    for input in seeds.iter().cloned().chain(made) {
        let passed = catch_unwind(AssertUnwindSafe(|| run(&input)));
        assert!(passed.is_ok(), "finding of `{target}` in b\"{}\"", input.escape_ascii());
    }
}

#[test]
fn protocol() {
    replay("protocol", 120_000, mcp_fuzz::protocol::run);
}

#[test]
fn flat() {
    replay("flat", 500_000, mcp_fuzz::flat::run);
}

#[test]
fn arguments() {
    replay("arguments", 300_000, mcp_fuzz::arguments::run);
}

#[test]
fn explicit_schema() {
    replay("explicit_schema", 120_000, mcp_fuzz::explicit_schema::run);
}

#[test]
fn schema() {
    replay("schema", 25_000, mcp_fuzz::schema::run);
}

#[test]
fn contract() {
    replay("contract", 25_000, mcp_fuzz::contract::run);
}

#[test]
fn lines() {
    replay("lines", 120_000, mcp_fuzz::lines::run);
}

#[test]
fn http() {
    replay("http", 150_000, mcp_fuzz::http::run);
}
