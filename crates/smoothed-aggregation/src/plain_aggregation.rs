//! Aggregates made of two pairs of nodes, with piecewise constant prolongation: small coarse matrices for a
//! K-cycle.
//!
//! | symbol | here |
//! |---|---|
//! | w_ij | the coupling strength of two nodes: −trace(A_ij) |
//! | 𝒜 | aggregates: pairs of nodes, then pairs of pairs |
//!
//! *Reference* Notay 2010, "An aggregation-based algebraic multigrid method", ETNA 37, Algorithms 2 and 3.
//! *Deviations*: nodes are visited in the order of their numbers; a pair must be strong for both nodes; the
//! second pass sums the strengths of the first pass instead of computing a Galerkin product.

use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::parallel::{self, each};
use coarsen_core::{Error, Real};
use coarsen_sparse::{BlockRows, Bsr, Pattern, Prolongation, SparseError, assembly};

use crate::{centroids, links};
use coarsen_multigrid::{Coarse, Coarsening, Cycle, Grid, Multigrid};

/// Returns double pairwise aggregation with a K-cycle, which requires `FlexibleCg`.
pub fn plain_aggregation() -> Multigrid<PlainAggregation> {
    Multigrid { cycle: Cycle::K, ..Multigrid::of(PlainAggregation::default()) }
}

/// A node whose diagonal exceeds this multiple of the sum of its couplings is left to relaxation (Notay 2010,
/// §3).
const DOMINANT: f64 = 5.0;

/// The number of nodes per task.
const LEAF: usize = 128;

/// Double pairwise aggregation without smoothing.
///
/// P has one identity block per node, stored as the number of the aggregate. A Galerkin product only adds
/// blocks, and coarse rows stay short. The contraction of two levels depends on the aggregates alone, but
/// that of a V-cycle worsens with the number of levels. So *use* it with [`Cycle::K`](coarsen_multigrid::Cycle::K) and
/// `FlexibleCg`. *Cost* of a level: passes over A in parallel, and a pass over its strengths on one thread for each
/// pairing. The operator complexity is about 1.3 to 1.5. *Not* for elasticity, because constants do not represent
/// rotations. Rows whose diagonal dominates all their couplings are left to relaxation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlainAggregation {
    /// The strength of a pair must be at least this fraction of the largest strength of each of its two
    /// nodes.
    pub theta: f64,
}

impl Default for PlainAggregation {
    /// Returns θ = 1/4.
    fn default() -> Self {
        Self { theta: 0.25 }
    }
}

impl<T: Real> Coarsening<T> for PlainAggregation {
    type State = ();

    fn coarsen(&self, fine: &Grid<'_, T>, _: Option<&()>) -> Result<Option<Coarse<T>>, SetupError> {
        if !(0.0..=1.0).contains(&self.theta) {
            let (name, range) = ("PlainAggregation::theta", "0 to 1");
            return Err(Error::Parameter { name, value: self.theta, range }.into());
        }
        let (a, (nodes, b)) = (fine.a, (fine.a.pattern().rows(), fine.a.block().0));
        let trace = |block: &[T]| block.iter().step_by(b + 1).map(|v| v.as_f64()).sum::<f64>();
        let neighbours = |i: usize, j: usize| fine.links.is_none_or(|links| links.find(i, j).is_some());
        let mut strengths = vec![0.0; a.pattern().len()];
        BlockRows::new(a.pattern().offsets(), 1, &mut strengths).for_each(a.nnz(), |i, row| {
            for (w, (j, block)) in row.iter_mut().zip(a.row(i)) {
                *w = if j != i && neighbours(i, j) { -trace(block) } else { 0.0 };
            }
        });
        let strengths = Bsr::new(a.pattern().clone(), (1, 1), strengths)?;
        let mut alone = vec![false; nodes];
        let dominates = |(rows, alone): (Range<usize>, &mut [bool])| {
            for (i, alone) in rows.zip(alone) {
                let mut sums = [0.0; 2]; // of the couplings, of the diagonal block
                a.row(i).for_each(|(j, block)| sums[usize::from(j == i)] += trace(block).abs());
                *alone = sums[1] > DOMINANT * sums[0];
            }
        };
        each((0..nodes, &mut alone[..]), LEAF, parallel::worth(a.nnz()), &dominates);
        let (pairs, count) = self.pairs(&strengths, &alone);
        let (quads, count) = self.pairs(&joined(&strengths, &pairs, count)?, &vec![false; count]);
        let quad = |&pair: &u32| quads.get(pair as usize).copied().unwrap_or(u32::MAX);
        let aggregates: Vec<u32> = pairs.iter().map(quad).collect();
        if count == nodes || count == 0 {
            return Ok(None);
        }
        let numbered = aggregates.iter().map(|&g| u32::from(g != u32::MAX) as usize);
        let mut offsets = vec![0];
        offsets.extend(numbered.scan(0, |sum, one| {
            *sum += one;
            Some(*sum)
        }));
        let columns = aggregates.iter().copied().filter(|&g| g != u32::MAX).collect();
        let p = Prolongation::identities(Arc::new(Pattern::new(count, offsets, columns)?), b)?;
        let positions = fine.positions.map(|x| centroids(x, &aggregates, count));
        let links = fine.links.map(|links| links::coarsen(links, &aggregates, count)).transpose()?;
        Ok(Some(Coarse { positions, links, aggregates: Some(aggregates), ..Coarse::new(p, ()) }))
    }

    /// P does not depend on the values of A, so only the positions of the coarse nodes are updated.
    fn refresh(&self, fine: &Grid<'_, T>, _: Option<&()>, coarse: &mut Coarse<T>) -> Result<(), SetupError> {
        let count = coarse.prolongation.pattern().columns();
        let aggregates = coarse.aggregates.as_deref();
        coarse.positions = fine.positions.zip(aggregates).map(|(x, of)| centroids(x, of, count));
        Ok(())
    }

    fn name(&self) -> &'static str {
        "plain aggregation"
    }
}

impl PlainAggregation {
    /// Visits the nodes that are not `alone` in the order of their numbers. Pairs each with the unpaired node
    /// of largest strength, if this strength is sufficient for both. Returns the pair of each node and the
    /// number of pairs.
    fn pairs(&self, strengths: &Bsr<f64>, alone: &[bool]) -> (Vec<u32>, usize) {
        let nodes = alone.len();
        let strongest: Vec<f64> =
            (0..nodes).map(|i| coupled(strengths, i).fold(0.0, |m: f64, (_, w)| m.max(w))).collect();
        let (mut pair, mut count) = (vec![u32::MAX; nodes], 0);
        for i in 0..nodes {
            if alone[i] || pair[i] != u32::MAX {
                continue;
            }
            let free = coupled(strengths, i).filter(|&(j, w)| {
                !alone[j] && pair[j] == u32::MAX && w >= self.theta * strongest[i].max(strongest[j])
            });
            let most = free.fold(None, |most: Option<(usize, f64)>, (j, w)| match most {
                Some((_, best)) if best >= w => most,
                _ => Some((j, w)),
            });
            for node in [Some(i), most.map(|(j, _)| j)].into_iter().flatten() {
                pair[node] = count;
            }
            count += 1;
        }
        (pair, count as usize)
    }
}

/// Returns the nodes to which node i is coupled, with their strengths.
fn coupled(strengths: &Bsr<f64>, i: usize) -> impl Iterator<Item = (usize, f64)> {
    strengths.row(i).map(|(j, w)| (j, w[0])).filter(|&(_, w)| w > 0.0)
}

/// Returns the strengths between aggregates, summed over their nodes in order.
fn joined(strengths: &Bsr<f64>, aggregates: &[u32], count: usize) -> Result<Bsr<f64>, SparseError> {
    let row = |i: usize| coupled(strengths, i).map(move |(j, w)| (aggregates[i], aggregates[j], w));
    let between = |&(g, h, _): &(u32, u32, f64)| g != h && g.max(h) != u32::MAX;
    let sums: Vec<_> = (0..aggregates.len()).flat_map(row).filter(between).collect();
    assembly::from_triplets(count, count, &sums)
}
