//! Pseudorandom numbers that are the same in every run.

/// SplitMix64: 64 bits of state; one output costs an addition and two multiplications.
///
/// *Use* for start vectors and test data that must be reproduced bit for bit. *Not* for statistics or
/// cryptography.
/// *Reference* Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators".
///
/// ```
/// use coarsen_core::SplitMix64;
/// let mut random = SplitMix64::new(0);
/// assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
/// assert!((-1.0..1.0).contains(&random.number()));
/// ```
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The increment of the state: 2⁶⁴ / golden ratio, made odd.
    pub const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The sequence of seed 0 starting at output `index`, for a loop over indices that several threads share.
    #[inline]
    pub fn at(index: u64) -> Self {
        Self(index.wrapping_mul(Self::GAMMA))
    }

    /// The next output.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::GAMMA);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number in [-1, 1), a multiple of 2⁻⁵².
    #[inline]
    pub fn number(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// The next n numbers in [-1, 1).
    pub fn numbers(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.number()).collect()
    }
}
