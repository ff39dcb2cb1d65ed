//! The coarse solve: a sparse factor, or a dense pseudo-inverse if the system is singular.
//!
//! The dense inverse of a small matrix is copied to a remote place. The whole cycle then runs there, and the
//! host need not wait.

use std::marker::PhantomData;

use coarsen_backend::{Backend, Blocks, DenseBlocks, SetupError};
use coarsen_core::{Class, Preconditioner, Real, Vector};
use coarsen_direct::{Dense, Direct, DirectError, Factor, PseudoInverse};
use coarsen_sparse::Bsr;
use num_traits::{Float, one, zero};

use super::CoarsestSolve;

/// The largest number n of unknowns for which a singular system gets a dense pseudo-inverse. Its setup takes
/// O(n³).
const DENSE_SINGULAR: usize = 3000;

/// The largest number of unknowns for which a dense product at a remote place replaces a solve on the host.
/// The inverse then takes 32 MiB in `f64`.
const DENSE_THERE: usize = 2000;

/// A factor or a pseudo-inverse of the coarsest matrix, and its copy at the place.
pub(super) struct Factored<T, B: Backend> {
    on: B,
    solver: Solver,
    /// The class of this solver as a preconditioner.
    class: Class,
    /// A⁺ at the place, if the place is remote and A is small.
    there: Option<B::Blocks>,
    host_b: Vec<B::Real>,
    host_x: Vec<B::Real>,
    nnz: usize,
    of: PhantomData<T>,
}

enum Solver {
    Dense(PseudoInverse),
    Sparse(Box<Factor>),
}

impl Solver {
    /// Returns a factor, or the pseudo-inverse for a singular matrix, as of free bodies and pure Neumann
    /// problems. The pseudo-inverse gives the least-squares solution of least norm.
    fn build<T: Real>(a: &Bsr<T>) -> Result<Self, SetupError> {
        let unknowns = a.shape().0;
        match Direct::default().factor(a) {
            Ok(factor) => Ok(Self::Sparse(Box::new(factor))),
            // A pseudo-inverse needs as much memory and more time.
            Err(cause) if unknowns > DENSE_SINGULAR || matches!(cause, DirectError::Memory { .. }) => {
                Err(coarsest(unknowns, cause))
            }
            Err(_) => {
                let inverse = Dense::default().invert(a);
                inverse.map(Self::Dense).map_err(|cause| coarsest(unknowns, cause))
            }
        }
    }

    /// Returns A⁺ in row-major order.
    fn inverse(&mut self, n: usize) -> Result<DenseBlocks<f64>, SetupError> {
        let mut columns = match self {
            Self::Dense(inverse) => inverse.values().to_vec(),
            Self::Sparse(factor) => {
                let (mut columns, mut unit, mut column) = (Vec::new(), vec![0.0; n], vec![0.0; n]);
                for j in 0..n {
                    unit[j] = 1.0;
                    factor.apply(&unit, &mut column);
                    unit[j] = 0.0;
                    columns.extend_from_slice(&column);
                }
                columns
            }
        };
        let symmetric = self.class() == Class::Symmetric;
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

    fn class(&self) -> Class {
        match self {
            Self::Dense(inverse) => Preconditioner::<Vec<f64>>::class(inverse),
            Self::Sparse(factor) => Preconditioner::<Vec<f64>>::class(&**factor),
        }
    }

    /// Computes the factor or inverse of new values in the old memory.
    fn update<T: Real>(&mut self, a: &Bsr<T>) -> Result<(), DirectError> {
        match self {
            Self::Dense(inverse) => inverse.reinvert(a),
            Self::Sparse(factor) => factor.refactor(a),
        }
    }
}

fn coarsest(unknowns: usize, cause: DirectError) -> SetupError {
    SetupError::Coarsest { unknowns, why: cause.to_string() }
}

/// Checks that a level that cannot be coarsened is cheap to factor: the factor may take at most `MANY` times
/// the bytes of the level. This holds, for example, for a matrix that relaxation alone solves.
pub(crate) fn check_stalled<T: Real>(a: &Bsr<T>) -> Result<(), SetupError> {
    const MANY: usize = 16;
    match Direct::default().estimate(a) {
        Ok((_, figures)) if figures.bytes > MANY * a.bytes() => {
            Err(SetupError::Stalled { unknowns: a.shape().0, bytes: figures.bytes })
        }
        _ => Ok(()), // other errors are reported by the factorisation
    }
}

impl<T: Real, B: Backend> Factored<T, B> {
    pub(super) fn build(a: &Bsr<T>, on: &B) -> Result<Self, SetupError> {
        let zeros = vec![zero(); a.shape().0];
        let mut solver = Solver::build(a)?;
        let there = match a.shape().0 {
            n if on.is_remote() && (1..=DENSE_THERE).contains(&n) => Some(on.blocks(&solver.inverse(n)?)?),
            _ => None,
        };
        Ok(Self {
            on: on.clone(),
            class: solver.class(),
            solver,
            there,
            host_b: zeros.clone(),
            host_x: zeros,
            nnz: a.nnz(),
            of: PhantomData,
        })
    }
}

impl<T: Real, B: Backend> CoarsestSolve<T, B> for Factored<T, B> {
    /// Computes x = A⁺ b. If the device fails, x becomes NaN, which ends the solve.
    fn solve(&mut self, b: &B::Vector, _: &B::Vector, x: &mut B::Vector) {
        if let Some(inverse) = &self.there {
            return inverse.apply(one(), b, zero(), x);
        }
        let read = self.on.read(b, &mut self.host_b);
        match &mut self.solver {
            Solver::Dense(inverse) => inverse.apply(&self.host_b, &mut self.host_x),
            Solver::Sparse(factor) => factor.apply(&self.host_b, &mut self.host_x),
        }
        if read.and_then(|()| self.on.write(&self.host_x, x)).is_err() {
            x.fill(B::Real::nan());
        }
    }

    /// Computes the solver of new values on the same pattern, usually of the kind that a build would choose.
    /// *Deviation*: if the old values were singular and the new values are regular with a contrast above
    /// 1e12, the pseudo-inverse is kept, but a build would use a factor. Trying a factor in each update would
    /// allocate. Eigenvalues cannot decide: because of round-off in the products of finer levels, the zero
    /// eigenvalues of a free body are up to about 1e-13 of the largest.
    ///
    /// After an error the old solver is unchanged. At a remote place the cycle uses only the inverse at the
    /// place, which is then unchanged too.
    ///
    /// Allocates if the matrix changes between regular and singular, and to copy an inverse to a remote
    /// place.
    fn update(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        let updated = self.solver.update(a);
        match &self.solver {
            Solver::Sparse(_) if updated.is_err() => self.solver = Solver::build(a)?,
            Solver::Dense(inverse) if updated.is_ok() && inverse.rank() < self.host_b.len() => (),
            Solver::Dense(_) => match Direct::default().factor(a) {
                Ok(factor) => self.solver = Solver::Sparse(Box::new(factor)),
                // By its eigenvalues the matrix is regular, but it is too ill-conditioned for a factor.
                Err(_) => updated.map_err(|cause| coarsest(self.host_b.len(), cause))?,
            },
            Solver::Sparse(_) => (),
        }
        if let Some(there) = &mut self.there {
            there.set_values(&self.solver.inverse(self.host_b.len())?)?;
        }
        self.class = self.solver.class();
        Ok(())
    }

    fn size(&self) -> usize {
        self.host_b.len()
    }

    fn nnz(&self) -> usize {
        self.nnz
    }

    /// Returns the size in bytes of the factor or inverse, its copies of the matrix and its vectors.
    fn bytes(&self) -> usize {
        let n = self.host_b.len();
        let solver = match &self.solver {
            Solver::Dense(inverse) => 4 * size_of_val(inverse.values()) + 16 * n, // A, A⁺ and two bases
            Solver::Sparse(factor) => factor.figures().bytes,
        };
        let there = if self.there.is_some() { n * n * size_of::<B::Stored>() } else { 0 };
        solver + there + 2 * n * size_of::<B::Real>()
    }

    fn class(&self) -> Class {
        self.class
    }

    /// Returns the name printed in tables.
    fn kind(&self) -> &'static str {
        match self.solver {
            Solver::Dense(_) => "pseudo-inverse",
            Solver::Sparse(_) => "factor",
        }
    }
}
