//! Smoothed aggregation: one coarse level, Algorithm 3 of Tamstorf, Jones, McCormick 2015.
//!
//! | symbol | here | file |
//! |---|---|---|
//! | K | near-kernel, n x κ | `near_kernel`, `scaled` |
//! | 𝒮 | special nodes, left to relaxation | `special` |
//! | S | strength of connection | `coarsen_sparse::Strength` |
//! | 𝒜ᵢ | aggregates | `aggregate` |
//! | | which nodes may share one | `links` |
//! | P̂, Qᵢ, Rᵢ | tentative prolongation, its local bases; coarse near-kernel | `tentative` |
//! | | how far they reach | `reach` |
//! | A_F | A without its weak couplings | `filter` |
//! | P, ω, ρ | smoothed prolongation, ω = 4 / (3 ρ(D⁻¹A)), 2/3 with A_F | `smooth` |
//!
//! Step numbers at line ends are those of Algorithm 3.

mod aggregate;
mod filter;
pub(crate) mod links;
mod near_kernel;
mod reach;
mod scaled;
mod smooth;
mod special;
mod tentative;

use std::borrow::Cow;

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::{Error, Real};
use coarsen_relax::Spectrum;
use coarsen_sparse::{Bsr, NearKernel, Pattern, Strength};

use crate::{Coarse, Coarsening, Grid};
use aggregate::{Couplings, aggregate};
use reach::too_full;
use smooth::{Filter, Reach, smooth};
use special::Special;
use tentative::{Held, tentative};

/// Smoothed aggregation for symmetric positive definite systems, in blocks, with any near-kernel.
///
/// The prolongation is (I − ω D⁻¹A) P̂, with A_F for A where many couplings are weak, where P̂ holds an orthonormal basis of the near-kernel on each aggregate of strongly connected nodes.
/// *Use* with rigid-body modes for elasticity and cloth (6 unknowns a coarse node), with constants for scalar problems.
/// *Cost* of a level: strength, one product A P̂, one Galerkin product; about 2 to 4 times A in memory while it is made.
/// *Reference* Tamstorf, Jones, McCormick 2015, §5, Algorithms 1 to 3; Vaněk, Mandel, Brezina 1996.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothedAggregation {
    /// Which couplings the aggregates follow.
    pub strength: Strength,
    /// How far aggregates reach.
    pub spread: Spread,
    /// A node whose couplings, scaled by the diagonal, add up to less than this is left to relaxation.
    pub dominance: f64,
    /// Which near-kernel to take.
    pub modes: Modes,
    /// Nodes of a mean aggregate from which rotations are worth their price; with fewer, rigid-body modes are cut to translations, since
    /// six unknowns for ten nodes of three make a coarse matrix larger than the fine one. 0 keeps them always.
    pub rotations_from: usize,
    /// Damped Jacobi sweeps on A K = 0 before the finest level is coarsened, for a K that is guessed: none where the system brings one (`Modes::Known`) or constants are
    /// asked for, which are taken as they are but for constraints, and none where aggregates are the sets of a smoother.
    pub kernel_sweeps: usize,
    /// ω ρ(D⁻¹A) of the prolongation smoother, ρ = 2 with A_F; 4/3 is the classical choice, 0 leaves P̂ unsmoothed.
    pub omega: f64,
    /// The same where aggregates are the sets of a smoother. Smoothing saves every fifth iteration on domains of 16 nodes and makes a build
    /// 1.6 to 1.9 times as long.
    pub omega_of_sets: f64,
    /// Blocks of P below this share of the largest in their row are left out.
    pub prune: f64,
    /// Whether weak couplings are left out of the smoothing of P, on all levels, where about half of those of the finest level are weak.
    /// Aggregates of blocks then follow norms of couplings, which are measured for that anyway, by the θ of `strength`.
    pub filter: bool,
    /// Generalized Lanczos steps for ρ(D⁻¹A), at least, where the smoother brings no bound; half of them where weak couplings are left out.
    pub lanczos_steps: usize,
    /// Factor on the estimate of ρ(D⁻¹A), which comes from below.
    pub safety: f64,
}

impl Default for SmoothedAggregation {
    /// θ = 0.48 relative to the strongest coupling, 4/(3ρ) as Tamstorf 2015; 6 Lanczos steps where the smoother brings no bound.
    fn default() -> Self {
        Self {
            strength: Strength::SpectralRadius { theta: 0.48 },
            spread: Spread::Neighbours,
            dominance: 0.05,
            modes: Modes::Known,
            rotations_from: 7,
            kernel_sweeps: 1,
            omega: 4.0 / 3.0,
            omega_of_sets: 0.0,
            prune: 1e-2,
            filter: true,
            lanczos_steps: 6,
            safety: 1.1,
        }
    }
}

/// How far an aggregate reaches from the node it grows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// To its strong neighbours (Tamstorf 2015, Algorithm 1).
    Neighbours,
    /// To their strong neighbours too: fewer levels and cheaper products for more iterations.
    Second,
    /// To second neighbours on levels of scalars where couplings are even and first neighbours would leave a coarse matrix of about half of the
    /// fine one's entries, as in space: three quarters of the memory and two thirds of the setup of a cube for up to two more iterations.
    Fitted,
}

/// Where the near-kernel of the finest level comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// That of the system where it has one, else rigid-body modes where positions are known and blocks are 2x2 or 3x3, else one constant
    /// per unknown of a block; the two latter divided by the scale of each node where that clearly lowers their energy, as it does on D A D.
    Known,
    /// One constant per unknown of a block.
    Constants,
    /// This many vectors, found by relaxing random ones on A x = 0 (Tamstorf 2015, §6; Brezina et al. 2004).
    Found(usize),
}

/// Which stored couplings of the fine matrix spread the columns of P; none said where all do.
pub type Spreading = Vec<bool>;

impl<T: Real> Coarsening<T> for SmoothedAggregation {
    type State = Spreading;

    fn coarsen(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Spreading>,
    ) -> Result<Option<Coarse<T, Spreading>>, SetupError> {
        self.validate()?;
        let a = fine.a;
        let (special, aggregates, count, mut spreading) = match fine.sets {
            Some(sets) => given(a, sets)?,
            None => self.chosen(fine, above)?, // 5, 6
        };
        let parts = Parts::new(self, fine, !spreading.is_empty())?; // 2, 3
        let small = self.small(&aggregates, count);
        let (modes, vectors) = self.kernel(fine, &special, &parts, small)?; // 4
        let modes = Held { modes: &modes, vectors, rows: special.held(fine.inherits()) };
        let basis = tentative::<T>(modes, a.block().0, &aggregates, count); // 7, 11
        let reach = if parts.omega == 0.0 { Reach::Own } else { Reach::Pruned(self.prune) };
        let filter = Self::filter(&spreading, modes, a.block().0);
        let (prolongation, plain) = smooth(a, &parts, &basis, (&aggregates, count), reach, filter.as_ref())?; // 8, 9
        plain.iter().for_each(|&i| spreading[a.pattern().range(i as usize)].fill(true));
        Ok(Some(Coarse {
            prolongation: prolongation.into(),
            near_kernel: Some(basis.near_kernel()?),
            positions: fine.positions.map(|x| centroids(x, &aggregates, count)),
            dead: basis.dead,
            links: fine.links.map(|links| links::coarsen(links, &aggregates, count)).transpose()?,
            aggregates: Some(aggregates),
            state: spreading,
        })) // 10 is the hierarchy's
    }

    fn refresh(
        &self,
        fine: &Grid<'_, T>,
        _: Option<&Spreading>,
        coarse: &mut Coarse<T, Spreading>,
    ) -> Result<(), SetupError> {
        let (a, spreading) = (fine.a, &coarse.state);
        let what = "a step without the aggregates that it was made of";
        let aggregates = coarse.aggregates.as_deref().ok_or(Error::Pattern { what })?;
        if !spreading.is_empty() && spreading.len() != a.pattern().len() {
            return Err(Error::Pattern { what: "the couplings that an aggregation was made for" }.into());
        }
        let parts = Parts::new(self, fine, !spreading.is_empty())?; // 2, 3
        let special =
            Special { nodes: aggregates.iter().map(|&g| g == u32::MAX).collect(), rows: special::rows(a) };
        let count = coarse.prolongation.pattern().columns();
        let small = self.small(aggregates, count);
        let (modes, vectors) = self.kernel(fine, &special, &parts, small)?; // 4
        let (expected, found) = (coarse.prolongation.block().1, vectors);
        if expected != found {
            let what = "near-kernel vectors (an update on kept aggregates keeps their number)";
            return Err(Error::Shape { what, expected, found }.into());
        }
        let modes = Held { modes: &modes, vectors, rows: special.held(fine.inherits()) };
        let basis = tentative::<T>(modes, a.block().0, aggregates, count); // 7, 11
        let pattern = coarse.prolongation.pattern().clone();
        let filter = Self::filter(spreading, modes, a.block().0);
        let of = (aggregates, count);
        let (values, _) = smooth(a, &parts, &basis, of, Reach::Pattern(&pattern), filter.as_ref())?; // 8, 9
        let positions = fine.positions.map(|x| centroids(x, aggregates, count));
        coarse.near_kernel = Some(basis.near_kernel()?);
        coarse.prolongation.values_mut().copy_from_slice(values.values());
        coarse.positions = positions;
        coarse.dead = basis.dead;
        Ok(())
    }

    /// Of new couplings nothing is said, so that they spread as far as P has columns for it: D then has the stiffness of contact that A has. Left out
    /// like weak ones, stiff contact takes a quarter more iterations.
    fn carried(&self, spreading: &Spreading, before: &Pattern, after: &Pattern) -> Spreading {
        if spreading.is_empty() {
            return Vec::new();
        }
        let places = (0..after.rows()).flat_map(|i| after.row(i).iter().map(move |&j| (i, j as usize)));
        places.map(|(i, j)| before.find(i, j).is_none_or(|k| spreading[k])).collect()
    }

    fn state_bytes(&self, spreading: &Spreading) -> usize {
        spreading.len()
    }

    fn name(&self) -> &'static str {
        "smoothed aggregation"
    }
}

impl SmoothedAggregation {
    /// Fields that no later step looks at; θ, Lanczos steps and safety are checked where they are used.
    fn validate(&self) -> Result<(), Error> {
        let within = [
            ("SmoothedAggregation::dominance", self.dominance, f64::MAX, "0 or more"),
            ("SmoothedAggregation::omega", self.omega, 2.0, "0 or more and below 2"),
            ("SmoothedAggregation::omega_of_sets", self.omega_of_sets, 2.0, "0 or more and below 2"),
            ("SmoothedAggregation::prune", self.prune, 1.0, "0 or more and below 1"),
        ];
        match within.into_iter().find(|(_, value, limit, _)| !(0.0..*limit).contains(value)) {
            Some((name, value, _, range)) => Err(Error::Parameter { name, value, range }),
            None => Ok(()),
        }
    }

    /// A_F of the couplings that spread; `None` where all do.
    fn filter<'a, T: Real>(spreading: &'a [bool], modes: Held<'_>, block: usize) -> Option<Filter<'a, T>> {
        (!spreading.is_empty() && modes.vectors > 0)
            .then(|| Filter { strong: spreading, sizes: filter::sizes(modes, block) })
    }

    /// Aggregates of strongly connected nodes; how many; which couplings smooth P, none said for all.
    fn chosen<T: Real>(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Spreading>,
    ) -> Result<(Special, Vec<u32>, usize, Spreading), SetupError> {
        let a = fine.a;
        let measure = filter::measure(fine.depth);
        let looked = self.filter && self.omega > 0.0 && above.is_none_or(|above| !above.is_empty());
        let blocks = a.block() != (1, 1);
        // Scalars have the same weights by either.
        let mut weights = if looked && blocks { measure.weights(a)? } else { self.strength.weights(a)? }; // 5
        let mut spreading = if looked { measure.strong(a.pattern(), &weights) } else { Vec::new() };
        let few_ties = !(looked && blocks) || filter::keep_tied(a.pattern(), &weights, &mut spreading);
        let top = fine.depth == 0;
        if looked && !(few_ties && (!top || filter::many_weak(a.pattern(), &weights, &spreading))) {
            spreading = Vec::new(); // with its memory
        }
        if looked && blocks && spreading.is_empty() {
            weights = self.strength.weights(a)?;
        }
        let mut special = Special::find(a, &weights, self.dominance);
        // A node that is stiff in one direction, as contact makes it, looks special by norms.
        if blocks && !spreading.is_empty() && special.coupled(a.pattern(), &weights) {
            weights = self.strength.weights(a)?;
            special = Special::find(a, &weights, self.dominance);
        }
        if let Some(links) = fine.links {
            links::keep(links, a.pattern(), &mut weights);
        }
        let strong = self.strength.strong(a.pattern(), &weights); // 5
        let couplings = Couplings { pattern: a.pattern(), weights: &weights, strong: &strong };
        let near = if self.spread == Spread::Second { Spread::Second } else { Spread::Neighbours };
        let (mut aggregates, mut count) = aggregate(&couplings, &special.nodes, near); // 6
        let fitted = self.spread == Spread::Fitted && self.omega > 0.0 && !blocks;
        if fitted && too_full(&couplings, &aggregates, count) {
            (aggregates, count) = aggregate(&couplings, &special.nodes, Spread::Second);
        }
        Ok((special, aggregates, count, spreading))
    }

    /// Whether aggregates are too small for rotations.
    fn small(&self, aggregates: &[u32], count: usize) -> bool {
        let nodes = aggregates.iter().filter(|&&g| g != u32::MAX).count();
        nodes < self.rotations_from.saturating_mul(count)
    }

    /// K of this level, and how many of its vectors count: chosen and relaxed on the finest, without rotations where aggregates are `small`; inherited below.
    fn kernel<'a, T: Real>(
        &self,
        fine: &Grid<'a, T>,
        special: &Special,
        parts: &Parts<'_, T>,
        small: bool,
    ) -> Result<(Cow<'a, NearKernel>, usize), SetupError> {
        match fine.near_kernel.filter(|_| fine.inherits()) {
            Some(inherited) => Ok((Cow::Borrowed(inherited), inherited.vectors())),
            None => near_kernel::choose(self, fine, special, parts, small),
        }
    }
}

/// The sets of a smoother as aggregates, each with a node: one without would be a column of zeros in P.
fn given<T: Real>(a: &Bsr<T>, sets: &[u32]) -> Result<(Special, Vec<u32>, usize, Vec<bool>), SetupError> {
    let numbered = || sets.iter().filter(|&&s| s != u32::MAX).map(|&s| s as usize);
    let count = numbered().max().map_or(0, |last| last + 1);
    // Of more sets than nodes one is empty, whatever their number.
    let mut taken = vec![false; count.min(sets.len() + 1)];
    numbered().for_each(|s| taken.get_mut(s).into_iter().for_each(|taken| *taken = true));
    if let Some(set) = taken.iter().position(|&taken| !taken) {
        return Err(SetupError::EmptySet { set, sets: count });
    }
    let nodes = sets.iter().map(|&s| s == u32::MAX).collect();
    Ok((Special { nodes, rows: special::rows(a) }, sets.to_vec(), count, Vec::new()))
}

/// ω ρ(D⁻¹A) of the sweeps on A K = 0.
const RELAXING: f64 = 4.0 / 3.0;

/// D⁻¹ and the factors of a level.
struct Parts<'a, T: Real> {
    inverses: Cow<'a, DenseBlocks<T>>,
    omega: f64,
    /// The same with A_F, where rows add up to nothing but for mass and couplings pull, so that ρ(D_F⁻¹A_F) is 2.
    omega_filtered: f64,
    /// Sweeps on A K = 0, and their ω.
    sweeps: usize,
    relaxing: f64,
}

impl<'a, T: Real> Parts<'a, T> {
    fn new(recipe: &SmoothedAggregation, fine: &Grid<'a, T>, filtered: bool) -> Result<Self, SetupError> {
        let (omega, sweeps) = match fine.sets {
            Some(_) => (recipe.omega_of_sets, 0),
            None => (recipe.omega, recipe.kernel_sweeps),
        };
        let found = matches!(recipe.modes, Modes::Found(_)) && fine.depth == 0;
        let sweeps = match recipe.modes {
            Modes::Found(_) if found => near_kernel::FINDING + sweeps,
            Modes::Constants => 0,
            Modes::Known if fine.near_kernel.is_some() => 0,
            Modes::Known | Modes::Found(_) => sweeps,
        };
        if omega == 0.0 && sweeps == 0 {
            let inverses = Cow::Owned(DenseBlocks::new(fine.a.block().0, Vec::new())?); // nothing is smoothed
            return Ok(Self { inverses, omega, omega_filtered: 0.0, sweeps, relaxing: 0.0 });
        }
        let inverses = match fine.inverses {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(DenseBlocks::inverse_diagonal(fine.a, "smoothed aggregation")?), // 2
        };
        inverses.check_positive(fine.a, "smoothed aggregation")?;
        let rho = match fine.radius {
            Some(radius) => radius,
            None => {
                // Rows with weak couplings are made with A_F, whose ρ is known. Sweeps that find a K grow where ρ is too small.
                let half = filtered && !found;
                let steps = if half { recipe.lanczos_steps.div_ceil(2) } else { recipe.lanczos_steps };
                Spectrum::new(steps, recipe.safety).bound(fine.a, &inverses)? // 3
            }
        };
        Ok(Self {
            inverses,
            omega: omega / rho,
            omega_filtered: omega / 2.0,
            sweeps,
            relaxing: RELAXING / rho,
        })
    }
}

/// The centre of each aggregate, so that geometry travels to coarser levels.
pub(crate) fn centroids(positions: &[[f64; 3]], aggregates: &[u32], count: usize) -> Vec<[f64; 3]> {
    let (mut sums, mut sizes) = (vec![[0.0; 3]; count], vec![0.0_f64; count]);
    for (x, &g) in positions.iter().zip(aggregates).filter(|(_, g)| **g != u32::MAX) {
        (0..3).for_each(|d| sums[g as usize][d] += x[d]);
        sizes[g as usize] += 1.0;
    }
    sums.iter().zip(sizes).map(|(s, n)| s.map(|v| v / n.max(1.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid<'a>(a: &'a Bsr<f64>, sets: Option<&'a [u32]>) -> Grid<'a, f64> {
        Grid { sets, ..Grid::new(a) }
    }

    fn problem(spec: &str) -> Bsr<f64> {
        coarsen_problems::Problem::parse(spec, &Default::default()).unwrap().matrix
    }

    /// A number without a node would be a column of zeros, seen a level later.
    #[test]
    fn a_set_without_a_node_is_named() {
        let a = problem("poisson2d:4");
        let coarsen = |sets: &[u32]| SmoothedAggregation::default().coarsen(&grid(&a, Some(sets)), None);
        let mut sets: Vec<u32> = (0..16).map(|i| i / 4).collect();
        sets[5] = u32::MAX; // in no set
        assert_eq!(coarsen(&sets).unwrap().unwrap().prolongation.shape(), (16, 4));
        sets.iter_mut().filter(|s| **s == 2).for_each(|s| *s = 1);
        assert_eq!(coarsen(&sets).err(), Some(SetupError::EmptySet { set: 2, sets: 4 }));
        sets.fill(u32::MAX - 1);
        let sets_of_all = u32::MAX as usize;
        assert_eq!(coarsen(&sets).err(), Some(SetupError::EmptySet { set: 0, sets: sets_of_all }));
    }

    /// What is said of couplings takes no memory where nothing is said.
    #[test]
    fn flags_that_are_not_needed_are_given_back() {
        for (spec, filtered) in
            [("poisson2d:20", false), ("elasticity3d:5", false), ("anisotropic2d:20", true)]
        {
            let a = problem(spec);
            let coarse = SmoothedAggregation::default().coarsen(&grid(&a, None), None).unwrap().unwrap();
            assert_eq!(coarse.state.capacity() > 0, filtered, "{spec}");
            assert_eq!(coarse.state.is_empty(), !filtered, "{spec}");
        }
    }
}
