//! What a sample of the rows and a part of the graph show of a matrix.

use coarsen_sparse::{Bsr, Pattern};

/// The number of scalar rows that [`sample`] reads, in runs of [`RUN_LENGTH`] block rows.
const SAMPLED_ROWS: usize = 8_192;

/// The number of consecutive block rows of a sample.
const RUN_LENGTH: usize = 16;

/// The number of nodes whose diagonal entries are remembered, a power of two.
const REMEMBERED: usize = 4096;

/// What a sample of the rows shows. It does not depend on the units of the unknowns. A coupling is |a_ij| / √(a_ii a_jj).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// The mean coupling of a scalar row divided by the strongest one: 1 if all are equal, near 0 if a few dominate, and 1 for
    /// matrices in blocks.
    pub(crate) uniformity: f64,
    /// The share of the couplings of a scalar row that have the sign of the diagonal.
    pub(crate) mixed: f64,
    /// The sum of the couplings of a scalar row, in the mean; 1 for matrices in blocks.
    pub(crate) couplings: f64,
    /// The smallest Rayleigh quotient ρ = vᵀA v / vᵀD v of constants and of D^-½ 1, where D = diag(A): above the smallest
    /// eigenvalue of D⁻¹A.
    pub(crate) rayleigh_quotient: f64,
    /// The largest diagonal entry, divided by the smallest; 1 if unknowns have several units.
    pub(crate) diagonal_jump: f64,
}

/// Samples the rows of a square matrix. All is 1, and the share 0, if diagonal entries are zero or differ in sign.
pub(crate) fn sample(a: &Bsr<f64>) -> Sample {
    let nothing =
        Sample { uniformity: 1.0, mixed: 0.0, couplings: 1.0, rayleigh_quotient: 1.0, diagonal_jump: 1.0 };
    let (nodes, b) = (a.pattern().rows(), a.block().0);
    let whole = nodes * b <= SAMPLED_ROWS;
    let runs = if whole { 1 } else { (SAMPLED_ROWS / RUN_LENGTH / b).max(1) };
    let step = nodes / runs;
    // 1ᵀA 1, 1ᵀD 1 and 1ᵀD^-½ A D^-½ 1 of the rows.
    let (mut constants, mut diagonals, mut scaled, mut rows) = (0.0, 0.0, 0.0, 0.0);
    let (mut least, mut largest) = (f64::INFINITY, 0.0_f64);
    // The sums over the rows with couplings, and their number.
    let (mut uniformity, mut mixed, mut couplings, mut coupled) = (0.0, 0.0, 0.0, 0.0);
    // Nodes, and the entries d of their diagonal blocks with |d|^-½.
    let places = nodes.next_power_of_two().min(REMEMBERED);
    let (mut remembered, mut known) = (vec![usize::MAX; places], vec![(0.0, 0.0); places * b]);
    let mut diagonal = |j: usize, into: &mut Vec<(f64, f64)>| {
        let place = j & (places - 1);
        let own = place * b..(place + 1) * b;
        if remembered[place] != j {
            let block = a.value(a.pattern().find(j, j)?);
            remembered[place] = j;
            let entries = known[own.clone()].iter_mut().zip(block.iter().step_by(b + 1));
            entries.for_each(|(entry, d)| *entry = (*d, d.abs().sqrt().recip()));
        }
        known[own].iter().for_each(|entry| into.push(*entry)); // faster than a copy of so few
        Some(())
    };
    let (mut on_row, mut on_columns) = (Vec::new(), Vec::new()); // those of a row, and of its columns
    for k in 0..runs {
        // The place within a stratum is irregular, so that it does not agree with the lines of a grid.
        let irregular = (k as f64 * 0.618_033_988_749_895).fract() * (step.saturating_sub(RUN_LENGTH)) as f64;
        let first = k * step + irregular as usize;
        let sampled = if whole { 0..nodes } else { first..nodes.min(first + RUN_LENGTH) };
        for i in sampled {
            on_row.clear();
            on_columns.clear();
            let mut columns = a.pattern().row(i).iter().map(|&j| j as usize);
            if diagonal(i, &mut on_row).is_none() || !columns.all(|j| diagonal(j, &mut on_columns).is_some())
            {
                return nothing;
            }
            for (r, &(own, root)) in on_row.iter().enumerate() {
                let (mut strongest, mut sum, mut same, mut others) = (0.0_f64, 0.0, 0.0, 0.0);
                for ((j, block), of_column) in a.row(i).zip(on_columns.chunks_exact(b)) {
                    let (value, (other, other_root)) = (own.signum() * block[r * b + r], of_column[r]);
                    let one_sign = own * other > 0.0; // false for NaN
                    if !one_sign {
                        return nothing;
                    }
                    let coupling = value * root * other_root;
                    (constants, scaled) = (constants + value, scaled + coupling);
                    if b == 1 && j != i {
                        strongest = strongest.max(coupling.abs());
                        (sum, same, others) = (sum + coupling.abs(), same + coupling.max(0.0), others + 1.0);
                    }
                }
                (diagonals, rows) = (diagonals + own.abs(), rows + 1.0);
                (least, largest) = (least.min(own.abs()), largest.max(own.abs()));
                if strongest > 0.0 {
                    uniformity += sum / strongest / others;
                    (mixed, couplings, coupled) = (mixed + same / sum, couplings + sum, coupled + 1.0);
                }
            }
        }
    }
    let (constants, scaled) = (constants / diagonals, scaled / rows);
    let quotient = constants.min(scaled);
    let rayleigh_quotient = if quotient.is_finite() { quotient.clamp(1e-16, 1.0) } else { 1.0 };
    // Where D^-½ 1 is nearer to the kernel than constants, the diagonal shows the units of the unknowns.
    let in_one_unit = least > 0.0 && constants <= 2.0 * scaled;
    let diagonal_jump = if in_one_unit { largest / least } else { 1.0 };
    if coupled == 0.0 {
        return Sample { rayleigh_quotient, diagonal_jump, ..nothing };
    }
    let (uniformity, mixed, couplings) = (uniformity / coupled, mixed / coupled, couplings / coupled);
    Sample { uniformity, mixed, couplings, rayleigh_quotient, diagonal_jump }
}

/// The number of nodes that a search reads.
const SEARCHED_NODES: usize = 32_768;

/// The couplings of a node above which a search does not go through it.
const HIGH_DEGREE: usize = 1024;

/// Returns the number of unknowns divided by the number of levels of a breadth-first search from an end of
/// the graph: the mean width of a level structure (George & Liu 1981, §4.3). Only the component of the first longest row is
/// measured.
///
/// *Cost*: two searches, the second from the last node of the first. In a large graph, one search of
/// [`SEARCHED_NODES`] nodes; the number of levels of all nodes follows from the dimension d with which the number of nodes grows.
/// The pattern is assumed to be symmetric.
pub(crate) fn width(a: &Bsr<f64>) -> f64 {
    let (pattern, b) = (a.pattern(), a.block().0 as f64);
    let rows = pattern.rows();
    // One end of a path between an end of the graph and its middle.
    const AROUND: f64 = 1.5;
    let longest =
        |i: &usize| (pattern.row(*i).len() <= HIGH_DEGREE, pattern.row(*i).len(), std::cmp::Reverse(*i));
    let Some(inside) = (0..rows.min(SEARCHED_NODES)).max_by_key(longest) else { return 0.0 };
    let (order, starts, ended) = search(pattern, inside as u32);
    if !ended {
        let levels = starts.len() - 1;
        let within = |level: usize| starts[level] as f64;
        let dimension = (within(levels) / within(levels.div_ceil(2))).log2().clamp(1.0, 3.0);
        let whole = AROUND * levels as f64 * (rows as f64 / within(levels)).powf(1.0 / dimension);
        return b * rows as f64 / whole;
    }
    let (order, starts, _) = search(pattern, order[order.len() - 1]);
    b * order.len() as f64 / starts.len() as f64
}

/// Searches from a root, level by level, until [`SEARCHED_NODES`] nodes are reached. Returns these nodes, the number of nodes
/// before each level, and whether all nodes of the component were reached.
fn search(pattern: &Pattern, root: u32) -> (Vec<u32>, Vec<usize>, bool) {
    let (mut visited, mut order, mut starts) = (vec![false; pattern.rows()], vec![root], Vec::new());
    visited[root as usize] = true;
    let mut begun = 0;
    while begun < order.len() {
        starts.push(begun);
        if begun > SEARCHED_NODES {
            return (order, starts, false);
        }
        let end = order.len();
        for at in begun..end {
            let row = pattern.row(order[at] as usize);
            // A node that is coupled to all others says nothing about their distances, and is ordered last.
            if row.len() <= HIGH_DEGREE {
                let new = row.iter().filter(|&&j| !std::mem::replace(&mut visited[j as usize], true));
                order.extend(new);
            }
        }
        begun = end;
    }
    (order, starts, true)
}

/// The number of nodes whose edges are measured.
const MEASURED_NODES: usize = 256;

/// The smallest mean of det S / (tr S / 3)³ of a solid. It is 1 if edges have all directions alike, and 0 if
/// they lie in a plane.
const LEAST_ISOTROPY: f64 = 0.1;

/// Whether the nodes fill a volume, so that a hierarchy in skinning space is a candidate: for elastic
/// solids, but not for sheets.
///
/// S is the sum of e eᵀ over the edges at a node, which have length 1. *Cost* 256 rows of the pattern. False
/// unless A has blocks of 3 and there is one position per block row.
pub(crate) fn is_solid(a: &Bsr<f64>, positions: &[[f64; 3]]) -> bool {
    let (pattern, n) = (a.pattern(), a.pattern().rows());
    if a.block() != (3, 3) || n == 0 || positions.len() != n || pattern.columns() != n {
        return false;
    }
    let step = n.div_ceil(MEASURED_NODES);
    let (sum, count) = (0..n).step_by(step).fold((0.0, 0), |(sum, count), i| {
        (sum + isotropy(positions[i], pattern.row(i).iter().map(|&j| positions[j as usize])), count + 1)
    });
    sum >= LEAST_ISOTROPY * f64::from(count)
}

/// det S / (tr S / 3)³ for the edges from x to its neighbours; 0 without edges.
fn isotropy(x: [f64; 3], neighbours: impl Iterator<Item = [f64; 3]>) -> f64 {
    let mut s = [[0.0; 3]; 3];
    for y in neighbours {
        let e: [f64; 3] = std::array::from_fn(|k| y[k] - x[k]);
        let square: f64 = e.iter().map(|e| e * e).sum();
        if square > 0.0 {
            (0..3).for_each(|r| (0..3).for_each(|c| s[r][c] += e[r] * e[c] / square));
        }
    }
    let minor = |a: usize, b: usize| s[1][a] * s[2][b] - s[1][b] * s[2][a];
    let det = s[0][0] * minor(1, 2) - s[0][1] * minor(0, 2) + s[0][2] * minor(0, 1);
    let mean = (s[0][0] + s[1][1] + s[2][2]) / 3.0;
    if mean > 0.0 { (det / mean.powi(3)).max(0.0) } else { 0.0 }
}
