//! The random numbers of NumPy's `default_rng(seed)`, bit for bit.
//!
//! Other libraries were measured on matrices that were generated with NumPy. The same random numbers give the
//! same matrices here. The generator has two parts:
//!
//! - `SeedSequence`: every word of the seed is hashed into a pool of four words, then every word of the pool
//!   into every other (O'Neill 2015, `seed_seq_fe`: multiplicative hashing with the running constants of
//!   NumPy's source).
//! - `PCG64`: a 128-bit linear congruential generator with the output permutation XSL-RR (O'Neill 2014, *PCG:
//!   a family of simple fast space-efficient statistically good algorithms*, HMC-CS-2014-0905).
//!
//! | symbol | name |
//! |---|---|
//! | s | `state` |
//! | a | `MULTIPLIER` |
//! | c | `increment`, odd |

/// The multiplier a of s ← a s + c modulo 2¹²⁸.
const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;

/// The generator of NumPy's `default_rng(seed)`: PCG64 seeded through `SeedSequence`.
///
/// It reproduces `random()` and `uniform(low, high)` of NumPy's `Generator`, but not its normal numbers; see
/// [`normal`](Self::normal). *Not* for cryptography.
///
/// *Cost*: one 128-bit multiplication per number. *Memory*: 32 bytes.
///
/// ```
/// let mut random = coarsen_problems::NumpyRandom::new(7);
/// assert_eq!(random.uniform(), 0.625095466604667);          // numpy.random.default_rng(7).random()
/// ```
#[derive(Clone, Debug)]
pub struct NumpyRandom {
    state: u128,
    increment: u128,
}

impl NumpyRandom {
    /// Returns the generator for a seed.
    pub fn new(seed: u64) -> Self {
        let [a, b, c, d] = seed_sequence(seed);
        let join = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        let mut random = Self { state: 0, increment: join(c, d) << 1 | 1 };
        random.step();
        random.state = random.state.wrapping_add(join(a, b));
        random.step();
        random
    }

    /// Returns 64 random bits.
    fn bits(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64; // XSL
        folded.rotate_right((self.state >> 122) as u32) // RR
    }

    /// Returns a uniform number in [0, 1), a multiple of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.bits() >> 11) as f64 * UNIT
    }

    /// Returns a uniform number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Returns a standard normal number, computed with the cosine of the Box-Muller transform (1958).
    ///
    /// *Deviation*: NumPy uses a ziggurat with tables. Its numbers differ, but the distribution is the same.
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }
}

/// Returns four words of state for a seed: `SeedSequence(seed).generate_state(4, uint64)`.
fn seed_sequence(seed: u64) -> [u64; 4] {
    let mut next = hasher(0x43b0_d7e5, 0x931e_8875);
    let mut pool = [seed as u32, (seed >> 32) as u32, 0, 0].map(&mut next);
    for from in 0..4 {
        for to in (0..4).filter(|&to| to != from) {
            let y = next(pool[from]);
            pool[to] =
                fold(0xca01_f9dd_u32.wrapping_mul(pool[to]).wrapping_sub(0x4973_f715_u32.wrapping_mul(y)));
        }
    }
    let mut next = hasher(0x8b51_f9dd, 0x58f3_8ded);
    let words: [u32; 8] = std::array::from_fn(|i| next(pool[i % 4]));
    std::array::from_fn(|i| u64::from(words[2 * i + 1]) << 32 | u64::from(words[2 * i]))
}

/// Returns a hash function of words, whose constant changes with every word.
fn hasher(mut constant: u32, multiplier: u32) -> impl FnMut(u32) -> u32 {
    move |word| {
        let mixed = word ^ constant;
        constant = constant.wrapping_mul(multiplier);
        fold(mixed.wrapping_mul(constant))
    }
}

/// x ⊕ ⌊x / 2¹⁶⌋.
fn fold(x: u32) -> u32 {
    x ^ x >> 16
}
