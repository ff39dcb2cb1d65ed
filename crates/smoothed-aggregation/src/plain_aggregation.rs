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

use std::collections::BTreeMap;
use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::{Error, Real};
use coarsen_sparse::{Pattern, Prolongation};

use crate::{centroids, links};
use coarsen_multigrid::{Coarse, Coarsening, Cycle, Grid, Multigrid};

/// Returns double pairwise aggregation with a K-cycle, which requires `FlexibleCg`.
pub fn plain_aggregation() -> Multigrid<PlainAggregation> {
    Multigrid { cycle: Cycle::K, ..Multigrid::of(PlainAggregation::default()) }
}

/// A node whose diagonal exceeds this multiple of the sum of its couplings is left to relaxation (Notay 2010,
/// §3).
const DOMINANT: f64 = 5.0;

/// Double pairwise aggregation without smoothing.
///
/// P has one identity block per node, stored as the number of the aggregate. A Galerkin product only adds
/// blocks, and coarse rows stay short. The contraction of two levels depends on the aggregates alone, but
/// that of a V-cycle worsens with the number of levels. So *use* it with [`Cycle::K`](coarsen_multigrid::Cycle::K) and
/// `FlexibleCg`. *Cost* of a level: nnz times the logarithm of the row length. The operator complexity is
/// about 1.3 to 1.5. *Not* for elasticity, because constants do not represent rotations. Rows whose diagonal
/// dominates all their couplings are left to relaxation.
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
        let row = |i: usize| {
            let others = a.row(i).filter(|(j, _)| *j != i && neighbours(i, *j));
            others.map(|(j, block)| (j as u32, -trace(block))).filter(|(_, w)| *w > 0.0).collect()
        };
        let dominates = |i: usize| {
            let (own, others): (Vec<_>, Vec<_>) = a.row(i).partition(|(j, _)| *j == i);
            let sum = |row: &[(usize, &[T])]| row.iter().map(|(_, block)| trace(block).abs()).sum::<f64>();
            sum(&own) > DOMINANT * sum(&others)
        };
        let graph: Vec<BTreeMap<u32, f64>> = (0..nodes).map(row).collect();
        let alone: Vec<bool> = (0..nodes).map(dominates).collect();
        let (pairs, count) = self.pairs(&graph, &alone);
        let (quads, count) = self.pairs(&joined(&graph, &pairs, count), &vec![false; count]);
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
    fn pairs(&self, graph: &[BTreeMap<u32, f64>], alone: &[bool]) -> (Vec<u32>, usize) {
        let strongest: Vec<f64> =
            graph.iter().map(|row| row.values().fold(0.0, |m: f64, &w| m.max(w))).collect();
        let (mut pair, mut count) = (vec![u32::MAX; graph.len()], 0);
        for i in 0..graph.len() {
            if alone[i] || pair[i] != u32::MAX {
                continue;
            }
            let free = graph[i].iter().filter(|&(&j, &w)| {
                !alone[j as usize]
                    && pair[j as usize] == u32::MAX
                    && w >= self.theta * strongest[i].max(strongest[j as usize])
            });
            let most = free.fold(None, |most: Option<(u32, f64)>, (&j, &w)| match most {
                Some((_, best)) if best >= w => most,
                _ => Some((j, w)),
            });
            for node in [Some(i), most.map(|(j, _)| j as usize)].into_iter().flatten() {
                pair[node] = count;
            }
            count += 1;
        }
        (pair, count as usize)
    }
}

/// Returns the strengths between aggregates, summed over their nodes.
fn joined(graph: &[BTreeMap<u32, f64>], aggregates: &[u32], count: usize) -> Vec<BTreeMap<u32, f64>> {
    let mut sums = vec![BTreeMap::new(); count];
    for (row, &g) in graph.iter().zip(aggregates).filter(|(_, g)| **g != u32::MAX) {
        let others = |j: u32| aggregates[j as usize] != g && aggregates[j as usize] != u32::MAX;
        for (&j, w) in row.iter().filter(|&(&j, _)| others(j)) {
            *sums[g as usize].entry(aggregates[j as usize]).or_insert(0.0) += w;
        }
    }
    sums
}
