//! A small seeded generator, so that a failing run can be repeated: `ZONAI_SEED=<seed>`.

/// xorshift64*: fast enough for millions of values in a debug build.
pub(crate) struct Random(u64);

impl Random {
    /// The seed of the environment, or `default`; printed, for the day the test fails.
    pub(crate) fn seeded(default: u64) -> Self {
        let seed = std::env::var("ZONAI_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok())
            .unwrap_or(default);
        eprintln!("ZONAI_SEED={seed}");
        Self(seed.max(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}
