//! Numbers that follow from the seed alone.
//!
//! Must never be fed from time or from the machine: the same seed has to give the same run.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): enough to choose steps with.
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The dice of one client in one round: what others throw does not change its throws.
    pub(super) fn of(seed: u64, round: u64, who: u64) -> Self {
        let mut dice = Self(seed ^ round.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ (who << 56));
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }

    pub(super) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap()
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// True this often in a hundred.
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
