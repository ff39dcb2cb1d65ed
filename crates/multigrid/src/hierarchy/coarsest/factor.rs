//! The coarse solve: a sparse factor. If the system is singular, the motions of its unconstrained components are deflated;
//! if it has others, as of a mechanism, the kernel is computed once by a dense decomposition, and is deflated as well. If that
//! is not possible, or the system is unsymmetric, a dense pseudo-inverse is used.
//!
//! The dense inverse of a small matrix is copied to a remote backend. The whole cycle then runs there, and the
//! host need not wait.

use std::marker::PhantomData;

use coarsen_backend::{Backend, DenseBlocks, SetupError};
use coarsen_core::{Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_direct::{Dense, Direct, DirectError, Factor, Method, PseudoInverse};
use coarsen_sparse::{Bsr, NearKernel};
use num_traits::{Float, Zero, one, zero};

use super::unconstrained::Motions;
use super::{CoarsestSolve, Limit};
use crate::Grid;

/// The largest number n of unknowns for which a singular system gets a dense pseudo-inverse. Its setup takes
/// O(n³).
const DENSE_SINGULAR: usize = 3000;

/// The largest factor in bytes if the limit of levels leaves more unknowns than `coarse_size`: 4 GiB, as in `auto`.
const MEMORY: u64 = 4 << 30;

/// The largest number of unknowns for which a dense product at a remote backend replaces a solve on the host.
/// The inverse then takes 32 MiB in `f64`.
const DENSE_THERE: usize = 2000;

/// The largest kernel that is deflated. The orthonormalisation of k vectors of n numbers takes O(k² n) in each update.
const LARGEST_KERNEL: usize = 32;

/// A factor or a pseudo-inverse of the coarsest matrix, and its copy on the backend.
pub(super) struct Factored<T, B: Backend> {
    backend: B,
    solver: Solver,
    limit: Limit,
    /// The kind of this solver as a preconditioner.
    kind: PreconditionerKind,
    /// A⁺ on the backend, if the backend is remote and A is small.
    there: Option<B::Blocks>,
    host_b: Vec<B::Real>,
    host_x: Vec<B::Real>,
    /// Interleaved columns.
    host_columns: Vec<B::Real>,
    nnz: usize,
    of: PhantomData<T>,
}

enum Solver {
    Dense(Box<PseudoInverse>),
    Sparse(Box<Factor>),
    Deflated(Box<Deflated>),
}

/// A⁺ of a matrix whose kernel consists of motions of unconstrained components, or of known vectors: the factor of the matrix
/// with pinned unknowns, between projections.
struct Deflated {
    /// The kernel, if it is not that of unconstrained components.
    kernel: Option<NearKernel>,
    factor: Factor,
    motions: Motions,
    /// The motions of the next values.
    next: Motions,
    /// The pinned matrix.
    pinned: Bsr<f64>,
}

impl Deflated {
    /// Returns `None` if the kernel has vectors that are no motions of single components, combined from `kernel` if it is given,
    /// or if A is unsymmetric or indefinite.
    fn build<T: Real>(grid: &Grid<'_, T>, kernel: Option<NearKernel>) -> Result<Option<Self>, SetupError> {
        if grid.a.asymmetric_pair(Bsr::<T>::symmetry_tolerance()).is_some() {
            return Ok(None);
        }
        let (mut motions, mut pinned) = (Motions::default(), grid.a.to::<f64>());
        motions.find(&with(grid, &kernel))?;
        motions.pin(&mut pinned);
        let factored = match motions.count() {
            0 => return Ok(None),
            _ => Direct { method: Method::Cholesky, ..Direct::default() }.factor(&pinned),
        };
        Ok(factored.ok().map(|factor| Self { kernel, factor, motions, next: Motions::default(), pinned }))
    }

    /// Computes the factor of new values in the old memory; after an error the old one is in use.
    fn update<T: Real>(&mut self, grid: &Grid<'_, T>) -> Result<(), SetupError> {
        self.next.find(&with(grid, &self.kernel))?;
        self.pinned.values_mut().iter_mut().zip(grid.a.values()).for_each(|(p, v)| *p = v.as_f64());
        self.next.pin(&mut self.pinned);
        self.factor.refactor(&self.pinned).map_err(|cause| coarsest(self.pinned.shape().0, cause))?;
        std::mem::swap(&mut self.motions, &mut self.next);
        Ok(())
    }

    /// Computes x = A⁺ b; b is projected.
    fn apply<V: Real>(&mut self, b: &mut Vec<V>, x: &mut Vec<V>) {
        self.motions.project(b);
        self.factor.apply(b, x);
        self.motions.project(x);
    }
}

/// The level with another near-kernel, if there is one.
fn with<'a, T: Real>(grid: &Grid<'a, T>, kernel: &'a Option<NearKernel>) -> Grid<'a, T> {
    Grid { near_kernel: kernel.as_ref().or(grid.near_kernel), ..*grid }
}

impl Solver {
    /// Returns a factor, that of a deflated matrix, or a pseudo-inverse. The last two are for singular matrices, as of
    /// unconstrained bodies and pure Neumann problems, and give the least-squares solution of least norm.
    fn build<T: Real>(grid: &Grid<'_, T>, limit: Limit) -> Result<Self, SetupError> {
        let (a, unknowns) = (grid.a, grid.a.shape().0);
        let analysis = Direct::default().analyse(a);
        if let Ok(analysis) = &analysis {
            limit.check(a, analysis.stats().bytes)?;
        }
        let cause = match analysis.and_then(|analysis| analysis.factor(a)) {
            Ok(factor) => return Ok(Self::Sparse(Box::new(factor))),
            Err(cause @ DirectError::Memory { .. }) => return Err(coarsest(unknowns, cause)),
            Err(cause) => cause,
        };
        if let Some(deflated) = Deflated::build(grid, None)? {
            return Ok(Self::Deflated(Box::new(deflated)));
        }
        // A pseudo-inverse needs more memory and time than a factor.
        if unknowns > DENSE_SINGULAR {
            return Err(coarsest(unknowns, cause));
        }
        let inverse = Dense::default().invert(a).map_err(|cause| coarsest(unknowns, cause))?;
        let kernel = inverse.kernel();
        // Updates then need no decomposition.
        if (1..=LARGEST_KERNEL).contains(&kernel.len())
            && let Some(deflated) = Deflated::build(grid, Some(NearKernel::from_columns(&kernel)?))?
        {
            return Ok(Self::Deflated(Box::new(deflated)));
        }
        Ok(Self::Dense(Box::new(inverse)))
    }

    /// Computes x = A⁺ b; b is changed if the matrix is singular.
    fn apply<V: Real>(&mut self, b: &mut Vec<V>, x: &mut Vec<V>) {
        match self {
            Self::Dense(inverse) => inverse.apply(b, x),
            Self::Sparse(factor) => factor.apply(b, x),
            Self::Deflated(deflated) => deflated.apply(b, x),
        }
    }

    /// Returns A⁺ in row-major order.
    fn inverse(&mut self, n: usize) -> Result<DenseBlocks<f64>, SetupError> {
        let mut columns = Vec::new();
        if let Self::Dense(inverse) = self {
            columns.extend_from_slice(inverse.values());
        } else {
            let (mut unit, mut column) = (vec![0.0; n], vec![0.0; n]);
            for j in 0..n {
                unit.fill(0.0);
                unit[j] = 1.0;
                self.apply(&mut unit, &mut column);
                columns.extend_from_slice(&column);
            }
        }
        let symmetric = self.kind() == PreconditionerKind::Symmetric;
        for i in 0..n {
            for j in 0..i {
                let (above, below) = (columns[i * n + j], columns[j * n + i]);
                let mean = 0.5 * (above + below);
                (columns[i * n + j], columns[j * n + i]) =
                    if symmetric { (mean, mean) } else { (below, above) };
            }
        }
        Ok(DenseBlocks::new(n, columns)?)
    }

    fn kind(&self) -> PreconditionerKind {
        match self {
            Self::Dense(inverse) => Preconditioner::<Vec<f64>>::kind(&**inverse),
            Self::Sparse(factor) => Preconditioner::<Vec<f64>>::kind(&**factor),
            Self::Deflated(_) => PreconditionerKind::Symmetric,
        }
    }
}

fn coarsest(unknowns: usize, cause: DirectError) -> SetupError {
    SetupError::Coarsest { unknowns, why: cause.to_string() }
}

impl Limit {
    /// Checks the factor of a level. If the level cannot be coarsened, the factor may take at most `MANY` times the bytes
    /// of the level, as for a matrix that relaxation alone solves. If it is the last level, the memory limit holds.
    fn check<T: Real>(self, a: &Bsr<T>, bytes: usize) -> Result<(), SetupError> {
        const MANY: usize = 16;
        let unknowns = a.shape().0;
        match self {
            Self::Stalled if bytes > MANY * a.bytes() => Err(SetupError::Stalled { unknowns, bytes }),
            Self::Levels(levels) if bytes as u64 > MEMORY => {
                Err(SetupError::TooFewLevels { levels, unknowns, bytes, limit: MEMORY })
            }
            _ => Ok(()),
        }
    }
}

impl<T: Real, B: Backend> Factored<T, B> {
    pub(super) fn build(grid: &Grid<'_, T>, limit: Limit, backend: &B) -> Result<Self, SetupError> {
        let a = grid.a;
        let zeros = vec![zero(); a.shape().0];
        let mut solver = Solver::build(grid, limit)?;
        let there = match a.shape().0 {
            n if backend.is_remote() && (1..=DENSE_THERE).contains(&n) => {
                Some(backend.blocks(&solver.inverse(n)?)?)
            }
            _ => None,
        };
        Ok(Self {
            backend: backend.clone(),
            kind: solver.kind(),
            solver,
            limit,
            there,
            host_b: zeros.clone(),
            host_x: zeros,
            host_columns: Vec::new(),
            nnz: a.nnz(),
            of: PhantomData,
        })
    }
}

impl<T: Real, B: Backend> Factored<T, B> {
    /// Computes x = A⁺ b for interleaved columns, one after the other. Columns of zeros cost nothing.
    fn solve_columns(&mut self, b: &B::Vector, x: &mut B::Vector) {
        let columns = &mut self.host_columns;
        columns.resize(b.size(), zero());
        let read = self.backend.read(b, columns);
        for c in 0..B::COLUMNS {
            let column = columns[c..].iter().step_by(B::COLUMNS);
            self.host_b.iter_mut().zip(column).for_each(|(to, from)| *to = *from);
            if self.host_b.iter().any(|b| !b.is_zero()) {
                self.solver.apply(&mut self.host_b, &mut self.host_x);
                let column = columns[c..].iter_mut().step_by(B::COLUMNS);
                column.zip(&self.host_x).for_each(|(to, from)| *to = *from);
            }
        }
        if read.and_then(|()| self.backend.write(columns, x)).is_err() {
            x.fill(B::Real::nan());
        }
    }
}

impl<T: Real, B: Backend> CoarsestSolve<T, B> for Factored<T, B> {
    /// Computes x = A⁺ b. If the device fails, x becomes NaN, which ends the solve.
    fn solve(&mut self, b: &B::Vector, _: &B::Vector, x: &mut B::Vector) {
        if let Some(inverse) = &self.there {
            return B::apply_blocks(inverse, one(), b, zero(), x);
        }
        let n = self.host_b.len();
        if b.size() != n && b.size() == B::COLUMNS * n {
            return self.solve_columns(b, x);
        }
        let read = self.backend.read(b, &mut self.host_b);
        self.solver.apply(&mut self.host_b, &mut self.host_x);
        if read.and_then(|()| self.backend.write(&self.host_x, x)).is_err() {
            x.fill(B::Real::nan());
        }
    }

    fn interleaves(&self) -> bool {
        self.there.is_none()
    }

    /// Computes the solver of new values on the same pattern, usually of the kind that a build would choose.
    /// *Deviation*: if the old values had a pseudo-inverse and the new values are regular with a contrast above
    /// 1e12, the pseudo-inverse is kept, but a build would use a factor. Trying a factor in each update would
    /// allocate. Eigenvalues cannot decide: because of round-off in the products of finer levels, the zero
    /// eigenvalues of an unconstrained body are up to about 1e-13 of the largest.
    ///
    /// After an error the old solver is unchanged. At a remote backend the cycle uses only the inverse at the
    /// backend, which is then unchanged too.
    ///
    /// Allocates if the matrix changes between regular and singular, if a mechanism moves, so that its kernel is computed again, and
    /// to copy an inverse to a remote backend.
    fn update(&mut self, grid: &Grid<'_, T>) -> Result<(), SetupError> {
        let (a, unknowns) = (grid.a, self.host_b.len());
        match &mut self.solver {
            Solver::Sparse(factor) => {
                if factor.refactor(a).is_err() {
                    self.solver = Solver::build(grid, self.limit)?;
                }
            }
            Solver::Deflated(deflated) => {
                if deflated.update(grid).is_err() {
                    self.solver = Solver::build(grid, self.limit)?;
                }
            }
            Solver::Dense(inverse) => {
                let updated = inverse.reinvert(a);
                if updated.is_err() || inverse.rank() == unknowns {
                    match Direct::default().factor(a) {
                        Ok(factor) => self.solver = Solver::Sparse(Box::new(factor)),
                        // By its eigenvalues the matrix is regular, but it is too ill-conditioned for a factor.
                        Err(_) => updated.map_err(|cause| coarsest(unknowns, cause))?,
                    }
                }
            }
        }
        if let Some(there) = &mut self.there {
            B::set_blocks(there, &self.solver.inverse(self.host_b.len())?)?;
        }
        self.kind = self.solver.kind();
        Ok(())
    }

    fn size(&self) -> usize {
        self.host_b.len()
    }

    fn nnz(&self) -> usize {
        self.nnz
    }

    /// Returns the size in bytes of the factor or inverse, its copies of the matrix, its motions and its vectors.
    fn bytes(&self) -> usize {
        let n = self.host_b.len();
        let solver = match &self.solver {
            Solver::Dense(inverse) => 4 * size_of_val(inverse.values()) + 16 * n, // A, A⁺ and two bases
            Solver::Sparse(factor) => factor.stats().bytes,
            Solver::Deflated(deflated) => {
                let Deflated { kernel, factor, motions, next, pinned } = &**deflated;
                let kernel = kernel.as_ref().map_or(0, |kernel| size_of_val(kernel.values()));
                factor.stats().bytes + motions.bytes() + next.bytes() + size_of_val(pinned.values()) + kernel
            }
        };
        let there = if self.there.is_some() { n * n * size_of::<B::Stored>() } else { 0 };
        solver + there + (2 * n + self.host_columns.len()) * size_of::<B::Real>()
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    /// Returns the name printed in tables.
    fn name(&self) -> &'static str {
        match &self.solver {
            Solver::Dense(_) => "pseudo-inverse",
            Solver::Deflated(deflated) if deflated.motions.count() > 0 => "deflated factor",
            Solver::Deflated(_) | Solver::Sparse(_) => "factor",
        }
    }
}
