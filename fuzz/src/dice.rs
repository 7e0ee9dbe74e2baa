//! Decisions, made from the bytes of an input.

/// Decisions from the bytes of an input, in their order. When the bytes run out, each decision is the first choice.
pub(crate) struct Dice<'a>(&'a [u8]);

impl<'a> Dice<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `sides`, at most 256.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        usize::from(self.byte()) % sides.max(1)
    }

    /// True once in `sides` times, and never when the bytes have run out.
    pub(crate) fn hits(&mut self, sides: usize) -> bool {
        self.roll(sides) == sides - 1
    }

    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }

    /// The bytes that no decision has used.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }
}
