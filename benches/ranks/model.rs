//! The cost model of an iteration, for more ranks than are simulated.
//!
//! | symbol | here | |
//! |---|---|---|
//! | p | `ranks` | number of ranks |
//! | α, β, γ | [`MACHINE`] | seconds per message, per byte, per stored scalar |
//! | w | `scalars` | stored scalars that an iteration reads, on all ranks |
//! | h, H | `halos`, `border` | halo exchanges per iteration, and the bytes of one with all neighbours |
//! | R | `sums` | sums over all ranks per iteration, each twice along a tree of ⌈log₂ p⌉ steps |
//! | r, B | `root`, `gathered` | stored scalars that rank 0 reads for the gathered level, and bytes of its vector |
//!
//! T = γ w / p + h (k α + β H) + 2 R ⌈log₂ p⌉ α + γ r + 2 (⌈log₂ p⌉ α + β B), with k = min(p − 1, 6) neighbours.

/// α, β and γ: a fast network of 10 GB/s and 2 µs, and a core that reads 8 GB/s.
pub(crate) const MACHINE: [f64; 3] = [2e-6, 1e-10, 1e-9];

/// What an iteration consists of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) scalars: f64,
    pub(crate) halos: f64,
    pub(crate) sums: f64,
    pub(crate) root: f64,
    pub(crate) gathered: f64,
}

impl Work {
    /// The seconds of an iteration on a sheet of `nodes` nodes.
    pub(crate) fn seconds(&self, nodes: f64, ranks: usize) -> f64 {
        let ([alpha, beta, gamma], p) = (MACHINE, ranks as f64);
        let (steps, neighbours) = (p.log2().ceil(), (p - 1.0).min(6.0));
        // The border of a square part of a sheet, two nodes deep, three numbers of 8 bytes each.
        let border = if ranks == 1 { 0.0 } else { 4.0 * (nodes / p).sqrt() * 2.0 * 24.0 };
        let tree = if ranks == 1 { 0.0 } else { steps * alpha + beta * self.gathered };
        gamma * self.scalars / p
            + self.halos * (neighbours * alpha + beta * border)
            + 2.0 * self.sums * steps * alpha
            + gamma * self.root
            + if self.root > 0.0 { 2.0 * tree } else { 0.0 }
    }
}
