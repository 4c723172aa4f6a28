//! Chance that a seed repeats.

/// A generator of numbers (xorshift), the same for the same seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.below(2);
        dice
    }

    /// A number below a limit.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }

    /// True in so many of a hundred cases.
    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let limit = u64::try_from(all.len()).unwrap_or(u64::MAX);
        all[usize::try_from(self.below(limit)).unwrap_or(0)]
    }
}
