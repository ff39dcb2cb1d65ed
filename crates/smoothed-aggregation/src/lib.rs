//! Smoothed aggregation: one coarse level, Algorithm 3 of Tamstorf, Jones, McCormick 2015.
//!
//! | symbol | here | file |
//! |---|---|---|
//! | K | near-kernel, n x κ | `near_kernel`, `scaled` |
//! | 𝒮 | decoupled nodes, solved by relaxation only | `decoupled` |
//! | S | strength of connection | `coarsen_sparse::Strength`, chosen in `connection` |
//! | 𝒜ᵢ | aggregates | `aggregate` |
//! | | nodes with very many neighbours, each a separate aggregate | `high_degree` |
//! | | couplings along which nodes may share an aggregate | `links` |
//! | P̂, Qᵢ, Rᵢ | tentative prolongation; Kᵢ = Qᵢ Rᵢ, a QR factorisation per aggregate; Rᵢ is the coarse near-kernel | `tentative` |
//! | | radius of aggregates | `reach` |
//! | A_F | A without its weak couplings | `filter` |
//! | P, ω, ρ | smoothed prolongation, ω = 4 / (3 ρ(D⁻¹A)), or 2/3 with A_F | `smooth` |
//!
//! `ranks` is the same step for the rows of one of several ranks; `share` sums counts over ranks.
//!
//! The parameters and their defaults are in `parameters`, D⁻¹ and ω in `parts`. Step numbers at line
//! ends are those of Algorithm 3.

mod aggregate;
mod connection;
mod decoupled;
mod filter;
mod high_degree;
mod links;
mod near_kernel;
mod parameters;
mod parts;
mod plain_aggregation;
mod ranks;
mod reach;
mod scaled;
mod share;
mod smooth;
mod tentative;

use std::borrow::Cow;

use coarsen_backend::SetupError;
use coarsen_core::{Error, Real, compiled, parallel};
use coarsen_sparse::{Bsr, GalerkinPlan, NearKernel};

/// What a program on this crate alone needs.
pub use coarsen_multigrid as multigrid;
use coarsen_multigrid::{Coarse, Coarsening, Coarsest, Cycle, Grid, Keep, Multigrid, Smoothing};
use connection::Aggregates;
use decoupled::Decoupled;
use high_degree::HighDegree;
use parts::Parts;
use share::Share;
use smooth::{Filter, RowPattern, Tentative, smooth};
use tentative::{Held, tentative};

pub use connection::{EmptySet, Spreading};
pub use parameters::{Modes, SmoothedAggregation, Spread};
pub use plain_aggregation::{PlainAggregation, plain_aggregation};
pub use ranks::{GhostNode, RankAggregates};
pub use share::Exchange;

/// Returns smoothed aggregation as benchmarked: a symmetric V-cycle that fits the smoother and the reach
/// of aggregates to each level.
///
/// *Use* with `Cpu::mixed()`, which stores the hierarchy in f32 and so halves memory and memory traffic.
/// Use `Cpu::new()` if A is so ill-conditioned that it is indefinite after rounding to f32. A device uses
/// a different smoother than a CPU ([`Smoothing::Fitted`]) and needs a different number of iterations. To
/// compare backends, use [`tamstorf`].
///
/// ```
/// use coarsen_smoothed_aggregation::multigrid::{Cg, Cpu, Stop, assembly};
/// use coarsen_smoothed_aggregation::smoothed_aggregation;
/// let line = (0..1000).flat_map(|i| [(i, i, 2.0), (i, i + 1, -1.0), (i + 1, i, -1.0)]); // −u″
/// let entries: Vec<_> = line.filter(|&(i, j, _)| i.max(j) < 1000).collect();
/// let a = assembly::from_triplets(1000, 1000, &entries)?;
/// let mut m = smoothed_aggregation().build(&a, &Cpu::new())?;
/// let (b, mut x) = (vec![1.0; 1000], vec![0.0; 1000]);
/// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 40);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn smoothed_aggregation() -> Multigrid<SmoothedAggregation> {
    Multigrid {
        coarsening: SmoothedAggregation::default(),
        cycle: Cycle::V,
        smoothing: Smoothing::Fitted,
        levels: 20,
        coarse_size: 500,
        keep: Keep::Transfers,
        coarsest: Coarsest::Factor,
    }
}

/// Returns smoothed aggregation with the smoother of Tamstorf 2015 on every backend: Chebyshev of degree 2
/// before and after the coarse correction. Aggregates contain the strong neighbours of their root.
///
/// The polynomial damps \[β/10, β\], where β bounds the spectrum; with \[β/30, β\], smooth problems need
/// twice as many iterations. *Use* for few iterations, or for the same number of iterations on all
/// backends. The default needs 10 % to 40 % more iterations, but each of them is faster on a CPU.
pub fn tamstorf() -> Multigrid<SmoothedAggregation> {
    let coarsening = SmoothedAggregation { spread: Spread::Neighbours, ..SmoothedAggregation::default() };
    Multigrid { coarsening, smoothing: Smoothing::CHEBYSHEV_2, ..smoothed_aggregation() }
}

type Step<T> = Coarse<T, Spreading>;

compiled!(
    COARSEN: CoarsenGrid<T> =
        fn(&SmoothedAggregation, &Grid<'_, T>, Option<&Spreading>) -> Result<Option<Step<T>>, SetupError>,
    SmoothedAggregation::step
);

compiled!(
    REFRESH: Refresh<T> =
        fn(&SmoothedAggregation, &Grid<'_, T>, &mut Step<T>) -> Result<(), SetupError>, SmoothedAggregation::new_values
);

impl<T: Real> Coarsening<T> for SmoothedAggregation {
    type State = Spreading;

    fn coarsen(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Spreading>,
    ) -> Result<Option<Coarse<T, Spreading>>, SetupError> {
        COARSEN.of::<CoarsenGrid<T>>()(self, fine, above)
    }

    fn refresh(
        &self,
        fine: &Grid<'_, T>,
        _: Option<&Spreading>,
        coarse: &mut Coarse<T, Spreading>,
    ) -> Result<(), SetupError> {
        REFRESH.of::<Refresh<T>>()(self, fine, coarse)
    }

    /// After a change of contact, a new coupling spreads P if P has columns for it, so that D includes the stiffness of
    /// contact, as A does. If new couplings were dropped instead, like weak couplings, stiff contact would need a quarter
    /// more iterations.
    fn product(
        &self,
        a: &Bsr<T>,
        coarse: &mut Step<T>,
        plan: &mut GalerkinPlan<T>,
        into: Option<Bsr<T>>,
    ) -> Result<Bsr<T>, SetupError> {
        let Some(mut made) = into else {
            coarse.state.move_to(a.pattern());
            coarse.state_bytes = coarse.state.of.len();
            return Ok(plan.build(a, &coarse.prolongation)?);
        };
        plan.update(a, &coarse.prolongation, &mut made)?;
        Ok(made)
    }

    fn name(&self) -> &'static str {
        "smoothed aggregation"
    }
}

impl SmoothedAggregation {
    fn step<T: Real>(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Spreading>,
    ) -> Result<Option<Step<T>>, SetupError> {
        self.validate()?;
        let (a, share) = (fine.a, Share::whole(fine.a.pattern().rows()));
        let filtered = above.is_none_or(|above| !above.of.is_empty());
        let high_degree = HighDegree::find(a.pattern(), &share);
        let found = match fine.sets {
            Some(sets) => Aggregates::given(a, sets)?,
            None => Aggregates::find(self, fine, filtered, &high_degree, &share)?, // 5, 6
        };
        SetupError::unless_cancelled(fine.cancel)?;
        let Aggregates { decoupled, of: aggregates, count, mut spreading } = found;
        let parts = Parts::new(self, fine, !spreading.is_empty())?; // 2, 3
        SetupError::unless_cancelled(fine.cancel)?;
        let small = self.small(&aggregates, count, &share);
        let (modes, vectors) = self.kernel(fine, &decoupled, &parts, small, &share)?; // 4
        let modes = Held { modes: &modes, vectors, rows: decoupled.held(fine.inherits()) };
        let basis = tentative::<T>(modes, a.block().0, &aggregates, count); // 7, 11
        let reach = if parts.omega == 0.0 { RowPattern::Own } else { RowPattern::Pruned(self.prune) };
        let filter = self.filter(&spreading, modes, a.block().0);
        let tentative =
            Tentative { basis: &basis, aggregates: &aggregates, count, high_degree: &high_degree };
        SetupError::unless_cancelled(fine.cancel)?;
        let smoothed = || smooth(a, &parts, tentative, reach, filter.as_ref()); // 8, 9
        let centres = || fine.positions.map(|x| centroids(x, &aggregates, count));
        // One thread sums positions while the others smooth.
        let (smoothed, positions) = match parallel::worth(a.nnz()) {
            true => parallel::join(smoothed, centres),
            false => (smoothed(), centres()),
        };
        let (prolongation, plain) = smoothed?;
        plain.iter().for_each(|&i| spreading[a.pattern().range(i as usize)].fill(true));
        Ok(Some(Coarse {
            near_kernel: Some(basis.near_kernel()?),
            positions,
            without_basis: basis.without_basis,
            links: fine.links.map(|links| links::coarsen(links, &aggregates, count)).transpose()?,
            aggregates: Some(aggregates),
            state_bytes: spreading.len(),
            ..Coarse::new(prolongation, Spreading::new(a.pattern(), spreading))
        })) // 10 is done by the hierarchy
    }

    fn new_values<T: Real>(&self, fine: &Grid<'_, T>, coarse: &mut Step<T>) -> Result<(), SetupError> {
        let (a, spreading) = (fine.a, &coarse.state.of);
        let what = "a step without aggregates";
        let aggregates = coarse.aggregates.as_deref().ok_or(Error::Pattern { what })?;
        if !spreading.is_empty() && spreading.len() != a.pattern().len() {
            return Err(Error::Pattern { what: "the couplings of an aggregation" }.into());
        }
        let parts = Parts::new(self, fine, !spreading.is_empty())?; // 2, 3
        SetupError::unless_cancelled(fine.cancel)?;
        let decoupled = Decoupled {
            nodes: aggregates.iter().map(|&g| g == u32::MAX).collect(),
            rows: decoupled::rows(a),
        };
        let count = coarse.prolongation.pattern().columns();
        let share = Share::whole(a.pattern().rows());
        let small = self.small(aggregates, count, &share);
        let (modes, vectors) = self.kernel(fine, &decoupled, &parts, small, &share)?; // 4
        let (expected, found) = (coarse.prolongation.block().1, vectors);
        if expected != found {
            let what = "near-kernel vectors (an update on kept aggregates keeps their number)";
            return Err(Error::Shape { what, expected, found }.into());
        }
        let modes = Held { modes: &modes, vectors, rows: decoupled.held(fine.inherits()) };
        let basis = tentative::<T>(modes, a.block().0, aggregates, count); // 7, 11
        let pattern = coarse.prolongation.pattern().clone();
        let filter = self.filter(spreading, modes, a.block().0);
        let high_degree = HighDegree::find(a.pattern(), &share);
        let tentative = Tentative { basis: &basis, aggregates, count, high_degree: &high_degree };
        SetupError::unless_cancelled(fine.cancel)?;
        let (values, _) = smooth(a, &parts, tentative, RowPattern::Pattern(&pattern), filter.as_ref())?; // 8, 9
        let positions = fine.positions.map(|x| centroids(x, aggregates, count));
        coarse.near_kernel = Some(basis.near_kernel()?);
        coarse.prolongation.values_mut().copy_from_slice(values.values());
        coarse.positions = positions;
        coarse.without_basis = basis.without_basis;
        Ok(())
    }
}

impl SmoothedAggregation {
    /// Returns A_F from the couplings that spread P; `None` if all couplings spread P.
    fn filter<'a, T: Real>(
        &self,
        strong: &'a [bool],
        modes: Held<'_>,
        block: usize,
    ) -> Option<Filter<'a, T>> {
        let filtered = !strong.is_empty() && modes.vectors > 0;
        filtered.then(|| Filter { strong, sizes: filter::sizes(modes, block) })
    }

    /// Whether aggregates have too few nodes for rotations.
    fn small(&self, aggregates: &[u32], count: usize, share: &Share<'_>) -> bool {
        let nodes = aggregates.iter().filter(|&&g| g != u32::MAX).count();
        let [nodes, count] = share.sums([nodes, count]);
        nodes < self.rotations_from as f64 * count
    }

    /// Returns K of this level and the number of vectors to use. On the finest level K is chosen and relaxed,
    /// without rotations if aggregates are `small`. On coarser levels it is inherited.
    fn kernel<'a, T: Real>(
        &self,
        fine: &Grid<'a, T>,
        decoupled: &Decoupled,
        parts: &Parts<'_, T>,
        small: bool,
        share: &Share<'_>,
    ) -> Result<(Cow<'a, NearKernel>, usize), SetupError> {
        match fine.near_kernel.filter(|_| fine.inherits()) {
            Some(inherited) => Ok((Cow::Borrowed(inherited), inherited.vectors())),
            None => near_kernel::choose(self, fine, decoupled, parts, small, share),
        }
    }
}

/// Returns the centre of each aggregate, the position of its coarse node.
fn centroids(positions: &[[f64; 3]], aggregates: &[u32], count: usize) -> Vec<[f64; 3]> {
    let (mut sums, mut sizes) = (vec![[0.0; 3]; count], vec![0.0_f64; count]);
    for (x, &g) in positions.iter().zip(aggregates).filter(|(_, g)| **g != u32::MAX) {
        (0..3).for_each(|d| sums[g as usize][d] += x[d]);
        sizes[g as usize] += 1.0;
    }
    sums.iter().zip(sizes).map(|(s, n)| s.map(|v| v / n.max(1.0))).collect()
}
