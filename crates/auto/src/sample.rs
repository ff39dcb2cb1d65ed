//! What a sample of the rows and a part of the graph show of a matrix.

use coarsen_sparse::{Bsr, Pattern};

/// The number of block rows that [`sample`] reads, in runs of [`RUN`].
const SAMPLE: usize = 16_384;

/// The number of consecutive block rows of a sample.
const RUN: usize = 16;

/// Returns the evenness of the couplings, the quotient ρ and the jump of the diagonal, from a sample of the rows.
///
/// The evenness is the mean coupling |a_ij| / √(a_ii a_jj) of a scalar row divided by the strongest coupling of the
/// row, averaged over rows with couplings. It does not depend on the units of the unknowns. All are 1 if
/// diagonal entries are zero or differ in sign.
pub(crate) fn sample(a: &Bsr<f64>) -> (f64, f64, f64) {
    let (rows, b) = (a.pattern().rows(), a.block().0);
    let runs = if rows <= SAMPLE { 1 } else { SAMPLE / RUN };
    let step = rows / runs.max(1);
    let mut tally = Tally::default();
    for k in 0..runs {
        // The place within a stratum is irregular, so that it does not agree with the lines of a grid.
        let irregular = (k as f64 * 0.618_033_988_749_895).fract() * (step.saturating_sub(RUN)) as f64;
        let first = if runs == 1 { 0 } else { k * step + irregular as usize };
        let end = if runs == 1 { rows } else { first + RUN };
        for i in first..end {
            if !tally.add(a, i, b) {
                return (1.0, 1.0, 1.0);
            }
        }
    }
    let (constants, scaled) = (tally.constants / tally.diagonals, tally.scaled / tally.rows);
    let quotient = constants.min(scaled);
    let evenness = if tally.coupled > 0.0 { tally.evenness / tally.coupled } else { 1.0 };
    let quotient = if quotient.is_finite() { quotient.clamp(1e-16, 1.0) } else { 1.0 };
    // Where D^-½ 1 is nearer to the kernel than constants, the diagonal shows the units of the unknowns.
    let in_one_unit = tally.least > 0.0 && constants <= 2.0 * scaled;
    (evenness, quotient, if in_one_unit { tally.largest / tally.least } else { 1.0 })
}

/// Sums over the rows of a sample.
#[derive(Default)]
struct Tally {
    /// 1ᵀA 1 and 1ᵀD 1.
    constants: f64,
    diagonals: f64,
    /// The smallest and the largest diagonal entry.
    least: f64,
    largest: f64,
    /// 1ᵀD^-½ A D^-½ 1 and the number of rows.
    scaled: f64,
    rows: f64,
    /// The evenness of the rows with couplings, and their number.
    evenness: f64,
    coupled: f64,
}

impl Tally {
    /// Adds a block row; returns whether its diagonal entries, and those of its neighbours, have one sign and are not zero.
    fn add(&mut self, a: &Bsr<f64>, i: usize, b: usize) -> bool {
        for r in 0..b {
            let own = a.get(i * b + r, i * b + r);
            let sign = own.signum();
            let (mut strongest, mut sum, mut others) = (0.0_f64, 0.0, 0_usize);
            for (j, block) in a.row(i) {
                let value = block[r * b + r];
                let other = if j == i { own } else { a.get(j * b + r, j * b + r) };
                let one_sign = own * other > 0.0; // false for NaN
                if !one_sign {
                    return false;
                }
                let coupling = sign * value / own.abs().sqrt() / other.abs().sqrt();
                self.constants += sign * value;
                self.scaled += coupling;
                if j != i {
                    (strongest, sum, others) =
                        (strongest.max(coupling.abs()), sum + coupling.abs(), others + 1);
                }
            }
            self.diagonals += own.abs();
            self.least = if self.least > 0.0 { self.least.min(own.abs()) } else { own.abs() };
            self.largest = self.largest.max(own.abs());
            self.rows += 1.0;
            if b == 1 && strongest > 0.0 {
                self.evenness += sum / strongest / others as f64;
                self.coupled += 1.0;
            }
        }
        true
    }
}

/// The number of nodes that a search reads.
const SEARCH: usize = 32_768;

/// Returns the number of unknowns divided by the number of levels of a breadth-first search from an end of
/// the graph. Only the component of the first longest row is measured.
///
/// *Cost*: two searches, the second from the last node of the first. In a large graph, one search of
/// [`SEARCH`] nodes; the number of levels of all nodes follows from the dimension d with which the number of nodes grows.
/// The pattern is assumed to be symmetric.
pub(crate) fn width(a: &Bsr<f64>) -> f64 {
    let (pattern, b) = (a.pattern(), a.block().0 as f64);
    let rows = pattern.rows();
    // One end of a path between an end of the graph and its middle.
    const AROUND: f64 = 1.5;
    let longest = |i: &usize| (pattern.row(*i).len() <= HUB, pattern.row(*i).len(), std::cmp::Reverse(*i));
    let Some(inside) = (0..rows.min(SEARCH)).max_by_key(longest) else { return 0.0 };
    let mut search = Search {
        seen: vec![false; rows],
        order: Vec::with_capacity(rows.min(2 * SEARCH)),
        starts: Vec::new(),
        ended: false,
    };
    search.levels(pattern, inside as u32);
    if !search.ended {
        let levels = search.starts.len() - 1;
        let within = |level: usize| search.starts[level] as f64;
        let dimension = (within(levels) / within(levels.div_ceil(2))).log2().clamp(1.0, 3.0);
        let whole = AROUND * levels as f64 * (rows as f64 / within(levels)).powf(1.0 / dimension);
        return b * rows as f64 / whole;
    }
    let end = *search.order.last().expect("a search reaches its root");
    search.seen.fill(false);
    search.levels(pattern, end);
    // Only one component is measured.
    b * search.order.len() as f64 / search.starts.len() as f64
}

/// The couplings of a node above which a search does not go through it.
const HUB: usize = 1024;

/// A breadth-first search.
struct Search {
    seen: Vec<bool>,
    /// The reached nodes, level by level.
    order: Vec<u32>,
    /// The number of nodes before each level.
    starts: Vec<usize>,
    /// Whether all nodes of the component were reached.
    ended: bool,
}

impl Search {
    /// Searches from a root, level by level, until [`SEARCH`] nodes are reached.
    fn levels(&mut self, pattern: &Pattern, root: u32) {
        self.order.clear();
        self.starts.clear();
        self.order.push(root);
        self.seen[root as usize] = true;
        let mut begun = 0;
        while begun < self.order.len() {
            self.starts.push(begun);
            if begun > SEARCH {
                self.ended = false;
                return;
            }
            let end = self.order.len();
            for at in begun..end {
                let row = pattern.row(self.order[at] as usize);
                // A node that is coupled to all others says nothing about their distances, and is ordered last.
                if row.len() > HUB {
                    continue;
                }
                for &j in row {
                    if !std::mem::replace(&mut self.seen[j as usize], true) {
                        self.order.push(j);
                    }
                }
            }
            begun = end;
        }
        self.ended = true;
    }
}

#[cfg(test)]
mod tests {
    use coarsen_problems::{anisotropic2d, poisson2d, poisson3d, scrambled};

    use super::*;

    #[test]
    fn a_sample_shows_uneven_couplings_and_jumps() {
        let (even, quotient, jump) = sample(&poisson2d(200).unwrap().matrix);
        assert!(even > 0.99 && jump == 1.0);
        // 4 · 200 · 1 / (4 · 200²), from the missing neighbours outside of the boundary.
        assert!((quotient * 200.0 - 1.0).abs() < 0.3, "{quotient}");
        assert!(sample(&anisotropic2d(20).unwrap().matrix).0 < 0.7);
        let rescaled = scrambled(&poisson2d(60).unwrap().matrix, 3).unwrap();
        assert!(sample(&rescaled).1 < 0.05, "the units of the unknowns do not matter");
    }

    /// The width of a large graph is estimated from a part of it.
    #[test]
    fn widths_of_large_graphs_are_near_the_width() {
        for (a, expected) in [(poisson2d(300).unwrap().matrix, 150.0), (poisson3d(50).unwrap().matrix, 845.0)]
        {
            let ratio = width(&a) / expected;
            assert!((0.5..2.0).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn widths_are_those_of_the_graph() {
        let w = width(&poisson2d(40).unwrap().matrix);
        assert!((15.0..45.0).contains(&w), "{w}");
    }
}
