//! The parameters of a hierarchy.

use coarsen_backend::{Backend, Cpu, SetupError, Smoother};
use coarsen_core::{Error, Real};
use coarsen_relax::{Chebyshev, DampedJacobi, GaussSeidel, Scaling, Spai0};

use crate::per_level::Repeated;
use crate::{Geometric, Grid};

/// A multigrid method: a coarsening, a smoother, a cycle.
///
/// One cycle is the preconditioner. It is symmetric, because the steps before the coarse correction are the
/// transpose of the steps after it. It is positive definite if the smoother converges in energy. A K-cycle is
/// variable and needs `FlexibleCg`. *Use* for elliptic systems with more than about ten thousand unknowns.
/// One-level methods need more iterations on larger systems. *Cost* of an application: the work of the
/// smoother on A times the operator complexity, about 6 to 10 products with A. *Memory* in `f64`, with what updates
/// need: 2 to 4 times A for blocks, 4 to 6 times A for scalars with short rows.
/// *Reference* Tamstorf, Jones, McCormick 2015, §4.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Stop;
/// use coarsen_krylov::Cg;
/// use coarsen_multigrid::Multigrid;
/// # let a = coarsen_problems::Problem::parse("poisson2d:40", &Default::default())?.matrix;
/// let mut m = Multigrid::geometric([40, 40, 1]).build(&a, &Cpu::new())?;
/// let (b, mut x) = (vec![1.0; 1600], vec![0.0; 1600]);
/// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multigrid<C, S = Smoothing> {
    /// The method that makes the next coarser grid.
    pub coarsening: C,
    /// The order in which levels are visited.
    pub cycle: Cycle,
    /// The smoother of each level.
    pub smoothing: S,
    /// The maximal number of levels, at least 1. With one level, a cycle is one coarse solve. A coarsest level whose
    /// factor would take more than 4 GiB because of this limit is refused.
    ///
    /// Coarsening also ends if a level would have more than 0.95 times the unknowns of the finer one, or make the operator
    /// complexity more than 10. The table of levels then says so.
    pub levels: usize,
    /// A level with at most this number of scalar unknowns is not coarsened further.
    pub coarse_size: usize,
    /// The data that an update keeps.
    pub keep: Keep,
    /// The solver of the coarsest level.
    pub coarsest: Coarsest,
}

impl Multigrid<Geometric> {
    /// Returns multigrid on a grid with `points` points along each axis. The first axis varies fastest; an
    /// absent axis has 1 point. Gauss-Seidel sweeps forward before and backward after the correction.
    pub fn geometric(points: [usize; 3]) -> Self {
        Multigrid::of(Geometric { points })
    }
}

impl<C> Multigrid<C> {
    /// Returns a symmetric V-cycle over `coarsening` with Gauss-Seidel, forward before and backward after the
    /// coarse correction.
    pub fn of(coarsening: C) -> Self {
        let smoothing = Smoothing::GaussSeidel(GaussSeidel::default());
        let (levels, coarse_size, keep, coarsest) = (20, 500, Keep::Transfers, Coarsest::Factor);
        Self { coarsening, cycle: Cycle::V, smoothing, levels, coarse_size, keep, coarsest }
    }
}

impl<C, S> Multigrid<C, S> {
    /// Returns these parameters with other parameters of the smoothers.
    pub fn smoothed_by<R>(self, smoothing: R) -> Multigrid<C, R> {
        let Self { coarsening, cycle, levels, coarse_size, keep, coarsest, .. } = self;
        Multigrid { coarsening, cycle, smoothing, levels, coarse_size, keep, coarsest }
    }
}

/// The order in which levels are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cycle {
    /// Each visit of a level visits the next coarser level once.
    V,
    /// Each visit of a level visits the next coarser level twice.
    W,
    /// Each visit of a level runs a V-cycle, an F-cycle and a V-cycle on the next coarser level. The usual
    /// F-cycle followed by one V-cycle is not symmetric.
    F,
    /// All levels correct the same residual, and the corrections are summed: z = N b + P z_c, where z_c is
    /// the result of the next coarser level for Pᵀ b.
    ///
    /// Levels are independent, but more iterations are needed. For domains, N is one step; for any other
    /// smoother, N is a step before and a step after, so that N is symmetric. *Reference* Wu, Wang, Wang
    /// 2022, §4.1; Bramble, Pasciak, Xu 1990, "Parallel multilevel preconditioners", Math. Comp. 55.
    Additive,
    /// Two flexible conjugate gradient steps on each coarser level (Notay & Vassilevski 2008); not linear.
    K,
}

/// The data that an update keeps of the old hierarchy if the pattern of A is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// The prolongations. Galerkin products, smoothers and the coarse factor are recomputed. This is the
    /// cheapest choice.
    Transfers,
    /// The aggregates. Prolongations get new values too, which allocates. Nodes left out of aggregation stay
    /// left out, so build again after constraints are released. A patch keeps the prolongations even with
    /// this choice. If the new P has another pattern, the update returns an error; build again.
    Aggregates,
    /// Nothing. The result is bitwise equal to a build.
    Nothing,
}

/// The solver of the coarsest level.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Coarsest {
    /// A sparse factor. For a singular matrix it is A⁺: the motions of unconstrained components, which the near-kernel
    /// gives, are deflated. If the kernel has other vectors, it is computed once by a dense decomposition, and updates deflate
    /// it while A maps it to zero. If it has more than 32 vectors, or A is unsymmetric, a dense pseudo-inverse is computed, in
    /// each update again. The solve is exact up to round-off.
    Factor,
    /// Conjugate gradients to a given reduction of the residual. The cycle is then not linear
    /// ([`PreconditionerKind::Variable`](coarsen_core::PreconditionerKind)): use it with `FlexibleCg`, or in a descent method.
    Iterative(JacobiCg),
}

/// With what [`JacobiCg`] compares its residual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResidualReference {
    /// With the right-hand side of the coarsest level.
    #[default]
    LevelRhs,
    /// With the right-hand side of the finest level, restricted to the coarsest one without a smoothing step. In a
    /// V-cycle only; in other cycles as `LevelRhs`.
    ///
    /// What smoothers have reduced already need not be reduced again, and the solve may take no step. *Reference* Wang
    /// et al. 2020 (HOT), §5.3.
    RightHandSide,
}

/// Conjugate gradients with block Jacobi on the coarsest level, from x = 0.
///
/// *Use* if the coarsest level changes in every step, or is too large for a factor. *Cost* of an iteration:
/// one product with the matrix of this level, and two scalars read back to the host. *Reference* Wang et al.
/// 2020 (HOT), §5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JacobiCg {
    /// The solve stops once ‖r‖ ≤ `reduction` ‖b‖ in the norm of D⁻¹; above 0 and below 1.
    pub reduction: f64,
    /// The b of this test.
    pub reference: ResidualReference,
    /// The maximal number of iterations, at least 1.
    pub max_iterations: usize,
}

impl Default for JacobiCg {
    /// Returns a reduction of one half, as in the paper, and at most 10,000 iterations.
    fn default() -> Self {
        Self { reduction: 0.5, reference: ResidualReference::LevelRhs, max_iterations: 10_000 }
    }
}

/// The smoother of each level.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Smoothing {
    /// Symmetric block Gauss-Seidel or SSOR: forward before the coarse correction, backward after it.
    GaussSeidel(GaussSeidel),
    /// Forward and backward before the coarse correction, and again after it (Wang et al. 2020, Algorithm 2).
    /// *Cost*: twice that of `GaussSeidel`.
    SymmetricGaussSeidel(GaussSeidel),
    /// A Chebyshev polynomial in M A, where M is block Jacobi or SPAI-0.
    Chebyshev(Chebyshev),
    /// Damped block Jacobi, the cheapest smoother.
    DampedJacobi(DampedJacobi),
    /// A damped step of SPAI-0.
    Spai0(Spai0),
    /// The fastest smoother for each level and backend. On a CPU this is damped Jacobi for scalars, and
    /// Gauss-Seidel over half of A for a symmetric A with blocks of 2, 3 or 6 that couples mostly rows of the
    /// same chunk. In all other cases, and on devices, it is Chebyshev of degree 2.
    Fitted,
}

impl Smoothing {
    /// Chebyshev of degree 2 on the upper tenth of the spectrum: the fitted smoother of devices, and that of Tamstorf 2015.
    pub const CHEBYSHEV_2: Self = Self::Chebyshev(SECOND);
}

const SECOND: Chebyshev = Chebyshev {
    degree: 2,
    ratio: 10.0,
    scaling: Scaling::Inverse,
    lanczos_steps: 6,
    safety: 1.1,
    symmetric: false,
};

/// The parameters of the smoothers of all levels of a hierarchy. A closure that builds a smoother implements this trait.
/// `crates/relax/src/chebyshev.rs` shows a smoother that is updated in place:
///
/// ```
/// use coarsen_multigrid::{Bsr, Cg, Cpu, Grid, LinearOperator, Multigrid, PreconditionerKind, Smoother, Stop, assembly};
///
/// struct Damped {
///     d: Vec<f64>,
///     r: Vec<f64>,
/// }
///
/// impl Damped {
///     fn new(a: &Bsr<f64>) -> Self {
///         let n = a.shape().0;
///         Self { d: (0..n).map(|i| a.get(i, i)).collect(), r: vec![0.0; n] }
///     }
/// }
///
/// impl Smoother for Damped {
///     fn smooth(&mut self, a: &dyn LinearOperator<Vec<f64>>, b: &Vec<f64>, x: &mut Vec<f64>) {
///         a.residual(b, x, &mut self.r);
///         for i in 0..x.len() { x[i] += 0.7 * self.r[i] / self.d[i]; }
///     }
///     fn kind(&self) -> PreconditionerKind { PreconditionerKind::Symmetric }
/// }
///
/// let line = (0..1023).flat_map(|i| [(i, i, 2.0), (i, i + 1, -1.0), (i + 1, i, -1.0)]); // −u″
/// let entries: Vec<_> = line.filter(|&(i, j, _)| i.max(j) < 1023).collect();
/// let a = assembly::from_triplets(1023, 1023, &entries)?;
/// let m = Multigrid::geometric([1023, 1, 1]).smoothed_by(|level: &Grid<f64>, _: &Cpu| Ok(Damped::new(level.a)));
/// let mut m = m.build(&a, &Cpu::new())?;
/// let (b, mut x) = (vec![1.0; 1023], vec![0.0; 1023]);
/// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SmootherParameters<B: Backend = Cpu, T: Real = f64>: Clone + Send + 'static {
    /// Returns the smoother of a level.
    ///
    /// # Errors
    /// [`SetupError`] with the row or node that the smoother cannot use.
    fn smoother(&self, grid: &Grid<'_, T>, backend: &B) -> Result<Box<dyn Smoother<B, T>>, SetupError>;
}

impl<B: Backend, T: Real, M: Smoother<B, T> + 'static, F> SmootherParameters<B, T> for F
where
    F: Fn(&Grid<'_, T>, &B) -> Result<M, SetupError> + Clone + Send + 'static,
{
    fn smoother(&self, grid: &Grid<'_, T>, backend: &B) -> Result<Box<dyn Smoother<B, T>>, SetupError> {
        Ok(Box::new(self(grid, backend)?))
    }
}

impl<T: Real, B: Backend> SmootherParameters<B, T> for Smoothing {
    /// PᵀAP is symmetric if A is, so for Chebyshev, Jacobi and SPAI-0 only the finest level is checked for
    /// symmetry. Half storage is more sensitive, so every level is checked.
    fn smoother(&self, grid: &Grid<'_, T>, backend: &B) -> Result<Box<dyn Smoother<B, T>>, SetupError> {
        let (a, below) = (grid.a, grid.depth > 0);
        Ok(match *self {
            Self::GaussSeidel(parameters) => Box::new(parameters.build(a, backend)?),
            Self::SymmetricGaussSeidel(parameters) => {
                Box::new(Repeated::symmetric_sweep(parameters.build(a, backend)?))
            }
            Self::Chebyshev(mut parameters) => {
                parameters.symmetric |= below;
                Box::new(parameters.build(a, backend)?)
            }
            Self::DampedJacobi(mut parameters) => {
                parameters.symmetric |= below;
                Box::new(parameters.build(a, backend)?)
            }
            Self::Spai0(mut parameters) => {
                parameters.symmetric |= below;
                Box::new(parameters.build(a, backend)?)
            }
            Self::Fitted => {
                let scalars = a.block() == (1, 1);
                if !backend.is_remote()
                    && !scalars
                    && let Some(half) = GaussSeidel::default().build_half(a, backend)?
                {
                    return Ok(Box::new(half));
                }
                if scalars && !backend.is_remote() {
                    return Ok(Box::new(
                        DampedJacobi { symmetric: below, ..Default::default() }.build(a, backend)?,
                    ));
                }
                Box::new(Chebyshev { symmetric: below, ..SECOND }.build(a, backend)?)
            }
        })
    }
}

impl<C, S> Multigrid<C, S> {
    /// Whether the coarsest solve compares its residual with the right-hand side of the cycle.
    pub(crate) fn compares_finest_rhs(&self) -> bool {
        let rhs = ResidualReference::RightHandSide;
        self.cycle == Cycle::V
            && matches!(self.coarsest, Coarsest::Iterative(JacobiCg { reference, .. }) if reference == rhs)
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        if self.levels == 0 {
            return Err(Error::Parameter { name: "Multigrid::levels", value: 0.0, range: "1 or more" });
        }
        if let Coarsest::Iterative(JacobiCg { reduction, max_iterations, .. }) = self.coarsest {
            if !(reduction > 0.0 && reduction < 1.0) {
                let (name, range) = ("JacobiCg::reduction", "above 0 and below 1");
                return Err(Error::Parameter { name, value: reduction, range });
            }
            if max_iterations == 0 {
                let name = "JacobiCg::max_iterations";
                return Err(Error::Parameter { name, value: 0.0, range: "1 or more" });
            }
        }
        Ok(())
    }
}
