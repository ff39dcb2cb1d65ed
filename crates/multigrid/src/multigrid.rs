//! The recipe of a hierarchy.

use coarsen_backend::{Backend, Setup, SetupError, Smoother};
use coarsen_core::{Error, Real};
use coarsen_relax::{Chebyshev, DampedJacobi, GaussSeidel, Scaling, Spai0};

use crate::{Geometric, Grid, PlainAggregation, RugeStueben, Skinning, SmoothedAggregation, Spread};

/// A multigrid method: a coarsening, a smoother, a cycle.
///
/// One cycle is the preconditioner. It is symmetric (the same smoother before and after the coarse
/// correction, itself symmetric) and positive definite where the smoother converges in energy; a K-cycle is
/// variable and belongs under `FlexibleCg`. *Use* for elliptic systems from some ten thousand unknowns on,
/// where iterations of one-level methods grow with size. *Cost* an application is `operator complexity` times
/// the work of the smoother on A, some 6 to 10 products with A; memory 2 to 3 times A. *Reference* Tamstorf,
/// Jones, McCormick 2015, §4.
///
/// ```
/// use coarsen_backend::{Cpu, Setup};
/// use coarsen_core::Stop;
/// use coarsen_krylov::{Cg, Krylov};
/// use coarsen_multigrid::Multigrid;
/// # let a = coarsen_problems::Problem::parse("poisson2d:40", &Default::default())?.matrix;
/// let mut m = Multigrid::smoothed_aggregation().build(&a, &Cpu::new())?;
/// let (b, mut x) = (vec![1.0; 1600], vec![0.0; 1600]);
/// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multigrid<C, S = Smoothing> {
    /// How a grid becomes a coarser one.
    pub coarsening: C,
    /// How the levels are visited.
    pub cycle: Cycle,
    /// The smoother of each level.
    pub smoothing: S,
    /// The most levels, at least 1; 1 is the coarse solve alone.
    pub levels: usize,
    /// Scalar unknowns that the coarse solve takes directly.
    pub coarse_size: usize,
    /// What an update keeps.
    pub keep: Keep,
    /// What solves the coarsest level.
    pub coarsest: Coarsest,
}

impl Multigrid<SmoothedAggregation> {
    /// Smoothed aggregation as the record measures it: a symmetric V-cycle, the smoother and the reach of
    /// aggregates fitted to each level.
    ///
    /// *Use* on `Cpu::mixed()`, which keeps the hierarchy in f32 for half of the memory and the traffic; on
    /// `Cpu::new()` where the matrix is so ill-conditioned that its rounded form is indefinite. On devices
    /// the smoother is another than on a CPU ([`Smoothing::Fitted`]), so that iterations differ: take
    /// [`tamstorf`](Self::tamstorf) to compare places.
    pub fn smoothed_aggregation() -> Self {
        Self {
            coarsening: SmoothedAggregation::default(),
            cycle: Cycle::V,
            smoothing: Smoothing::Fitted,
            levels: 20,
            coarse_size: 500,
            keep: Keep::Transfers,
            coarsest: Coarsest::Factor,
        }
    }

    /// Smoothed aggregation with the smoother of Tamstorf 2015, Chebyshev of degree 2 before and after the
    /// correction, at every place; aggregates reach strong neighbours.
    ///
    /// The polynomial works on the upper tenth of the spectrum: with \[β/30, β\] twice as many iterations are
    /// needed on smooth problems. *Use* where iterations are to be few or the same everywhere. The default
    /// takes a tenth to two fifths more, each of less time on a CPU.
    pub fn tamstorf() -> Self {
        let coarsening = SmoothedAggregation { spread: Spread::Neighbours, ..SmoothedAggregation::default() };
        Self { coarsening, smoothing: Smoothing::Chebyshev(SECOND), ..Self::smoothed_aggregation() }
    }
}

impl Multigrid<Geometric> {
    /// A grid of so many points along each axis, the first varying fastest, 1 for an axis that is not there;
    /// Gauss-Seidel forward before and backward after the correction.
    pub fn geometric(points: [usize; 3]) -> Self {
        Multigrid::of(Geometric { points })
    }
}

impl Multigrid<RugeStueben> {
    /// Classical algebraic multigrid with θ = 1/4, Gauss-Seidel forward before and backward after the
    /// correction.
    pub fn ruge_stueben() -> Self {
        Multigrid::of(RugeStueben::default())
    }
}

impl Multigrid<PlainAggregation> {
    /// Double pairwise aggregation with a K-cycle, which belongs under `FlexibleCg`.
    pub fn plain_aggregation() -> Self {
        Self { cycle: Cycle::K, ..Multigrid::of(PlainAggregation::default()) }
    }
}

impl Multigrid<Skinning> {
    /// Skinning-space multigrid with handles fitted to the number of nodes; block Gauss-Seidel forward before
    /// and backward after the correction.
    pub fn skinning() -> Self {
        Multigrid::of(Skinning::default())
    }

    /// The same with so many handles on each level, from fine to coarse; the last level is solved directly.
    pub fn skinning_levels(handles: &[usize]) -> Self {
        let coarsening = Skinning { handles: handles.to_vec(), ..Skinning::default() };
        Self { coarse_size: 0, ..Multigrid::of(coarsening) }
    }
}

impl<C> Multigrid<C> {
    /// A symmetric V-cycle of that coarsening: Gauss-Seidel forward before and backward after the correction.
    pub fn of(coarsening: C) -> Self {
        let smoothing = Smoothing::GaussSeidel(GaussSeidel::default());
        let (levels, coarse_size, keep, coarsest) = (20, 500, Keep::Transfers, Coarsest::Factor);
        Self { coarsening, cycle: Cycle::V, smoothing, levels, coarse_size, keep, coarsest }
    }
}

/// How the levels are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// Each coarser level once.
    V,
    /// Each coarser level twice from every visit.
    W,
    /// An F-cycle between two V-cycles from every visit: symmetric, which an F-cycle and a V-cycle alone are
    /// not.
    F,
    /// All levels at once from the same residual, their corrections added up: z = N b + P (the same below) Pᵀ
    /// b.
    ///
    /// Nothing waits for anything, and iterations are more. Domains relax once; another smoother N relaxes
    /// before and after, so that it is symmetric. *Reference* Wu, Wang, Wang 2022, §4.1; Bramble, Pasciak, Xu
    /// 1990, "Parallel multilevel preconditioners", Math. Comp. 55.
    Additive,
    /// Two flexible conjugate gradient steps on each coarser level (Notay & Vassilevski 2008); not a linear
    /// map.
    K,
}

/// What an update keeps of the old hierarchy, where the pattern of A is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The prolongations: only products, smoothers and the coarse factor are computed anew. The cheapest.
    Transfers,
    /// The aggregates: prolongations get new values as well. Nodes left out of aggregation stay so: rebuild
    /// after constraints are released. Allocates. A patch keeps the prolongations nonetheless. A method whose
    /// P may take another pattern at other values refuses such values: build anew.
    Aggregates,
    /// Nothing: the same bits as a build.
    Nothing,
}

/// What solves the coarsest level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coarsest {
    /// A sparse factor, or a dense pseudo-inverse where the matrix is singular: to round-off.
    Factor,
    /// Conjugate gradients to a given reduction. The cycle is no linear map then
    /// ([`Class::Variable`](coarsen_core::Class)) and belongs under `FlexibleCg`, or into a descent method.
    Iterative(JacobiCg),
}

/// Conjugate gradients with block Jacobi on the coarsest level, from x = 0.
///
/// *Use* where that level changes in every step, or is too large for a factor. *Cost* of an iteration one
/// product with its matrix, and two numbers that are waited for. *Reference* Wang et al. 2020 (HOT), §5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JacobiCg {
    /// The residual in the norm of D⁻¹ that ends it, as a share of that of b; above 0 and below 1.
    pub reduction: f64,
    /// Iterations at most, at least 1.
    pub max_iterations: usize,
}

impl Default for JacobiCg {
    /// Half of the residual, as in the paper, in 10,000 iterations.
    fn default() -> Self {
        Self { reduction: 0.5, max_iterations: 10_000 }
    }
}

/// The smoother of each level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoothing {
    /// Symmetric block Gauss-Seidel or SSOR.
    GaussSeidel(GaussSeidel),
    /// A Chebyshev polynomial in M A, M block Jacobi or SPAI-0.
    Chebyshev(Chebyshev),
    /// Damped block Jacobi, the cheapest.
    DampedJacobi(DampedJacobi),
    /// A damped step of SPAI-0.
    Spai0(Spai0),
    /// The smoother that takes the least time at the place, chosen for each level. On a CPU: Gauss-Seidel
    /// over half of A if A is symmetric, has blocks of 2, 3 or 6, and is coupled mostly inside thick chunks
    /// of rows; damped Jacobi for scalars. In all other cases, and on devices: Chebyshev of degree 2.
    Fitted,
}

/// Degree 2 on the upper tenth of the spectrum.
const SECOND: Chebyshev = Chebyshev {
    degree: 2,
    ratio: 10.0,
    scaling: Scaling::Inverse,
    lanczos_steps: 6,
    safety: 1.1,
    symmetric: false,
};

/// A recipe for the smoothers of all levels of a hierarchy.
pub trait SmootherRecipe<T: Real, B: Backend>: Clone {
    /// The smoother of a level.
    ///
    /// # Errors
    /// Names the row or node that the smoother cannot use.
    fn smoother(&self, grid: &Grid<'_, T>, on: &B) -> Result<Box<dyn Smoother<T, B>>, SetupError>;
}

impl<T: Real, B: Backend> SmootherRecipe<T, B> for Smoothing {
    /// PᵀAP is symmetric if A is, so polynomials check the symmetry of the finest level only. Half storage is
    /// more sensitive: each level is checked.
    fn smoother(&self, grid: &Grid<'_, T>, on: &B) -> Result<Box<dyn Smoother<T, B>>, SetupError> {
        let (a, below) = (grid.a, grid.depth > 0);
        Ok(match *self {
            Self::GaussSeidel(recipe) => Box::new(recipe.build(a, on)?),
            Self::Chebyshev(mut recipe) => {
                recipe.symmetric |= below;
                Box::new(recipe.build(a, on)?)
            }
            Self::DampedJacobi(mut recipe) => {
                recipe.symmetric |= below;
                Box::new(recipe.build(a, on)?)
            }
            Self::Spai0(mut recipe) => {
                recipe.symmetric |= below;
                Box::new(recipe.build(a, on)?)
            }
            Self::Fitted => {
                let scalars = a.block() == (1, 1);
                if !on.is_remote()
                    && !scalars
                    && let Some(half) = GaussSeidel::default().build_half(a, on)?
                {
                    return Ok(Box::new(half));
                }
                if scalars && !on.is_remote() {
                    return Ok(Box::new(
                        DampedJacobi { symmetric: below, ..Default::default() }.build(a, on)?,
                    ));
                }
                Box::new(Chebyshev { symmetric: below, ..SECOND }.build(a, on)?)
            }
        })
    }
}

impl<C, S> Multigrid<C, S> {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        if self.levels == 0 {
            return Err(Error::Parameter { name: "Multigrid::levels", value: 0.0, range: "1 or more" });
        }
        if let Coarsest::Iterative(JacobiCg { reduction, max_iterations }) = self.coarsest {
            if !(reduction > 0.0 && reduction < 1.0) {
                let (name, range) = ("JacobiCg::reduction", "above 0 and below 1");
                return Err(Error::Parameter { name, value: reduction, range });
            }
            if max_iterations == 0 {
                return Err(Error::Parameter {
                    name: "JacobiCg::max_iterations",
                    value: 0.0,
                    range: "1 or more",
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_backend::Cpu;
    use coarsen_core::Stop;
    use coarsen_krylov::{Cg, Krylov};
    use coarsen_problems::Problem;
    use coarsen_sparse::Permutation;

    #[test]
    fn what_is_fitted_halves_blocks_for_half_as_many_iterations_more() {
        for (spec, halved) in [("cloth:61", true), ("elasticity3d:10", true), ("poisson2d:60", false)] {
            let p = Problem::parse(spec, &Default::default()).unwrap();
            let b = p.right_hand_side(1);
            let run = |smoothing: Smoothing| {
                let recipe = Multigrid { smoothing, ..Multigrid::tamstorf() };
                let mut m = recipe.build(p.system(), &Cpu::mixed()).unwrap();
                let mut x = vec![0.0; b.len()];
                let report = Cg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
                (report.converged().unwrap().iterations, m.bytes())
            };
            let (fitted, second) = (run(Smoothing::Fitted), run(Smoothing::Chebyshev(SECOND)));
            assert!(2 * fitted.0 <= 3 * second.0, "{spec}: {} of {}", fitted.0, second.0);
            assert_eq!(fitted.1 < second.1, halved, "{spec}: {} of {} bytes", fitted.1, second.1);
        }
    }

    /// A shuffled sheet has couplings between all chunks; an unsymmetric one has two halves.
    #[test]
    fn what_does_not_fit_is_left_to_chebyshev() {
        let p = Problem::parse("cloth:121", &Default::default()).unwrap();
        let n = p.matrix.pattern().rows();
        let order = Permutation::new((0..n).map(|i| (i * 7919 % n) as u32).collect()).unwrap();
        let shuffled = p.matrix.permute(&order).unwrap();
        let mut wind = p.matrix.clone();
        let far =
            wind.pattern().range(n / 2).find(|&k| wind.pattern().indices()[k] as usize != n / 2).unwrap();
        wind.values_mut()[9 * far] += 1.0;
        for (a, whole) in [(&p.matrix, false), (&shuffled, true), (&wind, true)] {
            let grid = Grid::new(a);
            let smoother = Smoothing::Fitted.smoother(&grid, &Cpu::new()).unwrap();
            assert_eq!(smoother.matrix().is_some(), whole);
        }
    }
}
