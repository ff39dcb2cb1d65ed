//! The hierarchy and its setup loop.
//!
//! | file | step |
//! |---|---|
//! | `mod` | from a system to levels |
//! | `cycle` | one cycle: V, W, F, additive or K |
//! | `apply` | one cycle for one vector, or for the interleaved columns of several |
//! | `vectors` | the vectors of a cycle |
//! | `update` | new values on an unchanged structure |
//! | [`numeric`](NumericPlan) | new values computed on the backend of the matrix |
//! | `patch` | new couplings with unchanged transfers |
//! | `given` | the positions and the near-kernel of the last build |
//! | `ended` | bounds that end the coarsening |
//! | `rigid_modes` | diagonal terms for unconstrained bodies that became one coarse node |
//! | `method`, `smoother` | the coarsening and the smoothers behind one interface; A of a level |
//! | `term` | terms added for smoothers, but not for Galerkin products |
//! | `coarsest` | the coarse solve: a factor, a pseudo-inverse or conjugate gradients |
//! | `parts` | access to the levels |
//! | `table` | the printed tables |

mod apply;
mod coarsest;
mod cycle;
mod ended;
mod given;
mod method;
mod numeric;
mod parts;
mod patch;
mod rigid_modes;
mod smoother;
mod table;
mod term;
mod update;
mod vectors;

use std::sync::Arc;
use std::time::{Duration, Instant};

use coarsen_backend::{Backend, Cpu, Merged, Setup, SetupError, SmootherFacts, Transfer, check_range};
use coarsen_core::{Cancel, Error, Real, Vector};
use coarsen_sparse::{Bsr, GalerkinPlan, Pattern, Prolongation, System};
use num_traits::zero;

use crate::{Coarsening, Cycle, Grid, Multigrid, SmootherParameters};
use coarsest::{CoarsestSolve, Limit};
pub use ended::CoarseningEnd;
use given::Given;
use method::{Method, State, Step};
pub use numeric::NumericPlan;
use rigid_modes::RigidModes;
use smoother::LevelSmoother;
pub use table::{LevelSize, SetupStep};
use term::WithTerm;
use vectors::{Interleaved, LevelVectors};

/// The preconditioner that [`Multigrid`] builds: levels from fine to coarse, and a solver of the coarsest
/// level. Its type parameters are the scalars and the backend.
///
/// `Display` prints a table of the levels (unknowns, nonzeros, unknowns without a basis function, bytes) and a table of the steps
/// of the last setup (seconds, bytes). Bytes count matrices, vectors, factors and plans of Galerkin products.
pub struct Hierarchy<T: Real = f64, B: Backend = Cpu> {
    /// The parameters other than the coarsening and the smoothing, which are in `method`.
    parameters: Multigrid<(), ()>,
    method: Box<dyn Method<T, B>>,
    backend: B,
    pattern: Arc<Pattern>,
    /// The pattern without contact.
    elastic: Arc<Pattern>,
    block: usize,
    merged: Merged,
    levels: Vec<Level<T, B>>,
    bottom: Box<dyn CoarsestSolve<T, B>>,
    /// The coarsest matrix with its term, if it has one.
    with_term: WithTerm<T>,
    /// The vectors of a cycle over interleaved columns, once there was one.
    interleaved: Option<Interleaved<B::Vector>>,
    seconds: Seconds,
    ended: Option<CoarseningEnd>,
    given: Given,
}

/// One level above the coarsest: its smoother and the transfer to the next coarser level.
struct Level<T: Real, B: Backend> {
    smoother: LevelSmoother<T, B>,
    transfer: Box<dyn Transfer<T, B>>,
    vectors: LevelVectors<B::Vector>,
    /// A with the term of this level, if it has one.
    with_term: WithTerm<T>,
    host: Host<T>,
}

/// The data of a level on the host, for updates.
struct Host<T: Real> {
    coarse: Step<T>,
    galerkin: GalerkinPlan<T>,
    /// The matrix of the next coarser level.
    matrix: Bsr<T>,
    /// Whether the method made this matrix.
    own: bool,
    next: Option<update::PreparedLevel<T>>,
    rigid_modes: RigidModes<T>,
    unknowns: usize,
    nnz: usize,
    decoupled: usize,
}

coarsen_backend::inherent_build!(Multigrid<C, S>);

impl<T: Real, B: Backend, C: Coarsening<T>, S: SmootherParameters<B, T>> Setup<T, B> for Multigrid<C, S> {
    type Built = Hierarchy<T, B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError> {
        let Self { cycle, levels, coarse_size, keep, coarsest, .. } = *self;
        let (coarsening, smoothing) = ((), ());
        let parameters = Multigrid { coarsening, cycle, smoothing, levels, coarse_size, keep, coarsest };
        Hierarchy::build(parameters, Box::new(self.clone()), system, backend)
    }
}

/// Makes the diagonal block G of a coarse node regular, if the node is an unconstrained body. `sizes` has pᵀ diag(A) p of each
/// of its columns p of P.
///
/// *Use* for levels that are built elsewhere, such as over ranks; [`Hierarchy`](crate::Hierarchy) does this itself.
/// *Panics* unless `g` has k² entries for k sizes.
///
/// ```
/// let mut g = vec![1.0, -1.0, -1.0, 1.0]; // two unknowns of an unconstrained body
/// coarsen_multigrid::regularise_rigid_modes(&mut g, &[1.0, 1.0]);
/// assert!(g[0] * g[3] - g[1] * g[2] > 0.5);
/// ```
pub fn regularise_rigid_modes<T: Real>(g: &mut [T], sizes: &[T]) {
    assert_eq!(g.len(), sizes.len().pow(2), "regularise_rigid_modes: a block of another size");
    if !rigid_modes::regular(g, sizes) {
        rigid_modes::Workspace::new(sizes.len()).regularise(g, sizes);
    }
}

/// The times of the steps of the last setup.
#[derive(Clone, Copy, Debug, Default)]
struct Seconds {
    coarsening: Duration,
    products: Duration,
    smoothers: Duration,
    bottom: Duration,
}

impl<T: Real, B: Backend> Hierarchy<T, B> {
    /// Builds all levels. Coarsening ends at a level that is small enough or cannot be coarsened further.
    fn build(
        parameters: Multigrid<(), ()>,
        method: Box<dyn Method<T, B>>,
        system: System<'_, T>,
        backend: &B,
    ) -> Result<Self, SetupError> {
        system.check()?;
        let mut built = Self::build_whole(parameters, method, (system, &*system.whole()?), backend)?;
        built.given.set(&system, [system.positions.is_some(), system.near_kernel.is_some()]);
        Ok(built)
    }

    /// As [`build`](Self::build); `finest` is the whole system matrix.
    fn build_whole(
        parameters: Multigrid<(), ()>,
        method: Box<dyn Method<T, B>>,
        (system, finest): (System<'_, T>, &Bsr<T>),
        backend: &B,
    ) -> Result<Self, SetupError> {
        parameters.validate()?;
        let mut levels: Vec<Level<T, B>> = Vec::new();
        let mut seconds = Seconds::default();
        let (mut all, mut ended) = (finest.nnz(), None);
        loop {
            SetupError::unless_cancelled(system.cancel)?;
            let depth = levels.len();
            let last = levels.last().map(|level| &level.host);
            let grid = match last {
                None => Grid::finest(&system, finest),
                Some(host) => Grid { cancel: system.cancel, ..host.grid(depth) },
            };
            if depth + 1 >= parameters.levels || grid.a.shape().0 <= parameters.coarse_size {
                break;
            }
            let grid = (grid, last.map(|host| &host.coarse));
            let coarsen = |grid: &Grid<'_, T>, above: Option<&State>, seconds: &mut Seconds| {
                let coarse = timed(&mut seconds.coarsening, || method.coarsen(grid, above))?;
                ended = coarse.as_ref().and_then(|coarse| CoarseningEnd::slow(coarse.prolongation.shape()));
                Ok(coarse.filter(|_| ended.is_none()))
            };
            let level = Level::build((&parameters, &*method), grid, backend, &mut seconds, coarsen);
            let Some(level) = level.map_err(|cause| cause.on_level(depth))? else { break };
            all += level.host.matrix.nnz();
            ended = CoarseningEnd::dense(all, finest.nnz());
            if ended.is_some() {
                break;
            }
            levels.push(level);
        }
        SetupError::unless_cancelled(system.cancel)?;
        if levels.is_empty() {
            finest.check_finite()?; // otherwise the smoother checks it
        }
        let (bottom, with_term) = timed(&mut seconds.bottom, || {
            solver((&parameters, &*method), &levels, (&system, finest), backend)
        })
        .map_err(|cause| cause.on_level(levels.len()))?;
        let (pattern, block, with_term) =
            (finest.pattern().clone(), finest.block().0, WithTerm::new(with_term));
        let elastic = system.matrix.pattern().clone();
        Ok(Self {
            parameters,
            method,
            backend: backend.clone(),
            pattern,
            elastic,
            block,
            merged: Merged::default(),
            levels,
            bottom,
            with_term,
            interleaved: None,
            seconds,
            ended,
            given: Given::default(),
        })
    }
}

/// The solver of the coarsest level and, if that level has a term, the matrix of this solver.
type Solver<T, B> = (Box<dyn CoarsestSolve<T, B>>, Option<Bsr<T>>);

fn solver<T: Real, B: Backend>(
    (parameters, method): (&Multigrid<(), ()>, &dyn Method<T, B>),
    levels: &[Level<T, B>],
    (system, finest): (&System<'_, T>, &Bsr<T>),
    backend: &B,
) -> Result<Solver<T, B>, SetupError> {
    let last = levels.last().map(|level| &level.host);
    let grid = last.map_or_else(|| Grid::finest(system, finest), |host| host.grid(levels.len()));
    let mut with_term = None;
    term::add(method, &grid, last.map(|host| &host.coarse), &mut with_term)?;
    let grid = Grid { a: with_term.as_ref().unwrap_or(grid.a), ..grid };
    let limit = match grid.a.shape().0 <= parameters.coarse_size {
        true => Limit::None,
        false if levels.len() + 1 < parameters.levels => Limit::Stalled,
        false => Limit::Levels(parameters.levels),
    };
    Ok((coarsest::build(parameters.coarsest, &grid, limit, backend)?, with_term))
}

impl<T: Real> Host<T> {
    /// Returns a level. The next coarser matrix is that of the method if it made one, otherwise PᵀAP. Ends between its
    /// products once `cancel` is set.
    fn new<B: Backend>(
        a: &Bsr<T>,
        SmootherFacts { largest, inverses, .. }: SmootherFacts<'_, T>,
        mut coarse: Step<T>,
        method: &dyn Method<T, B>,
        cancel: Option<&Cancel>,
    ) -> Result<Self, SetupError> {
        let mut galerkin = GalerkinPlan::new(a, &coarse.prolongation)?;
        SetupError::unless_cancelled(cancel)?;
        let own = coarse.matrix.take();
        let is_own = own.is_some();
        let mut matrix = match own {
            Some(own) => checked(own, &coarse.prolongation)?,
            None => method.product(a, &mut coarse, &mut galerkin, None)?,
        };
        SetupError::unless_cancelled(cancel)?;
        give_diagonal(&mut matrix, &coarse.without_basis);
        let mut rigid_modes = RigidModes::new(a, &matrix);
        if !is_own && !coarse.has_term {
            let (p, transpose) = (&coarse.prolongation, galerkin.transpose());
            // Nodes with an unknown without a basis function are never certain to be regular.
            let largest = largest.filter(|_| p.block().1 > 1 && coarse.without_basis.is_empty());
            if !largest.is_some_and(|largest| rigid_modes.is_regular(&matrix, largest, p, transpose)) {
                rigid_modes.regularise(&mut matrix, (a, inverses), p, transpose);
            }
        }
        let matrix = matrix.shared(); // with the next level's smoother, if it stores values of the same type
        let decoupled = coarse.aggregates.iter().flatten().filter(|&&g| g == u32::MAX).count();
        let (unknowns, nnz) = (a.shape().0, a.nnz());
        Ok(Self { coarse, galerkin, matrix, own: is_own, next: None, rigid_modes, unknowns, nnz, decoupled })
    }

    /// Returns the next coarser grid.
    fn grid(&self, depth: usize) -> Grid<'_, T> {
        Grid::below(&self.coarse, &self.matrix, depth)
    }
}

/// Checks that a coarse matrix made by the method fits P and is finite.
fn checked<T: Real>(own: Bsr<T>, p: &Prolongation<T>) -> Result<Bsr<T>, SetupError> {
    let (n, k) = (p.shape().1, p.block().1);
    for (what, expected, found) in [
        ("rows of the coarse matrix of a method", n, own.shape().0),
        ("columns of the coarse matrix of a method", n, own.shape().1),
        ("rows of a block of the coarse matrix of a method", k, own.block().0),
        ("columns of a block of the coarse matrix of a method", k, own.block().1),
    ] {
        if expected != found {
            return Err(Error::Shape { what, expected, found }.into());
        }
    }
    own.check_finite()?;
    Ok(own)
}

/// Gives a diagonal entry to unknowns without a basis function, whose rows and columns in PᵀAP are zero.
///
/// The entry is the largest diagonal entry of the node, so that it suits any units, or 1 if all unknowns of
/// the node have none.
fn give_diagonal<T: Real>(a: &mut Bsr<T>, without_basis: &[u32]) {
    let (k, pattern) = (a.block().0, a.pattern().clone());
    for &unknown in without_basis {
        let (node, within) = (unknown as usize / k, unknown as usize % k);
        if let Some(at) = pattern.find(node, node) {
            let block = &mut a.values_mut()[at * k * k..(at + 1) * k * k];
            let largest = block.iter().step_by(k + 1).fold(T::zero(), |m, &d| m.max(d));
            block[within * (k + 1)] = if largest > T::zero() { largest } else { T::one() };
        }
    }
}

impl<T: Real, B: Backend> Level<T, B> {
    /// Returns the level of a grid, with the step that `coarsen` returns; `None` if it returns none. `above` is the step to
    /// the grid.
    fn build(
        (parameters, method): (&Multigrid<(), ()>, &dyn Method<T, B>),
        (grid, above): (Grid<'_, T>, Option<&Step<T>>),
        backend: &B,
        seconds: &mut Seconds,
        coarsen: impl FnOnce(&Grid<'_, T>, Option<&State>, &mut Seconds) -> Result<Option<Step<T>>, SetupError>,
    ) -> Result<Option<Self>, SetupError> {
        let (a, mut with_term) = (grid.a, None);
        let smoother = timed(&mut seconds.smoothers, || {
            term::add(method, &grid, above, &mut with_term)?;
            LevelSmoother::new(method, &Grid { a: with_term.as_ref().unwrap_or(a), ..grid }, backend)
        })?;
        SetupError::unless_cancelled(grid.cancel)?;
        let SmootherFacts { radius, inverses, sets, largest } = smoother.facts();
        let known = Grid { radius, sets, inverses, largest, ..grid };
        let coarse = coarsen(&known, above.map(|above| &above.state), seconds)?;
        let Some(coarse) = coarse else { return Ok(None) };
        SetupError::unless_cancelled(grid.cancel)?;
        if let Some(inverses) = inverses {
            inverses.check_positive(a, method.name())?;
        }
        timed(&mut seconds.products, || {
            let host = Host::new(a, smoother.facts(), coarse, method, grid.cancel)?;
            let (n, coarse) = host.coarse.prolongation.shape();
            let zeros = |n: usize| backend.vector(&vec![zero(); n]);
            let coarse_b = zeros(coarse)?;
            let coarse_whole = parameters.compares_finest_rhs().then(|| coarse_b.like()).transpose()?;
            let krylov = match parameters.cycle {
                Cycle::K => Some([coarse_b.like()?, coarse_b.like()?, coarse_b.like()?]),
                _ => None,
            };
            check_range::<T, B::Stored>("the prolongation", host.coarse.prolongation.values())?;
            Ok(Some(Self {
                transfer: backend.transfer(&host.coarse.prolongation, host.galerkin.transpose())?,
                vectors: LevelVectors {
                    residual: zeros(n)?,
                    coarse_x: coarse_b.like()?,
                    coarse_b,
                    coarse_whole,
                    krylov,
                },
                smoother,
                with_term: WithTerm::new(with_term),
                host,
            }))
        })
    }
}

/// Calls `f` and adds its duration to `total`.
fn timed<R>(total: &mut Duration, f: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = f();
    *total += start.elapsed();
    result
}
