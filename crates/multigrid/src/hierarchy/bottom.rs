//! The coarse solve: a sparse factor, or a dense pseudo-inverse where the system is singular.

use std::marker::PhantomData;

use coarsen_backend::{Backend, SetupError};
use coarsen_core::{Class, Preconditioner, Real, Vector};
use coarsen_direct::{Dense, Direct, Factor, PseudoInverse};
use coarsen_sparse::Bsr;
use num_traits::{Float, zero};

/// Unknowns up to which a singular system is given to the dense pseudo-inverse, whose setup costs n³.
const DENSE_SINGULAR: usize = 3000;

/// The coarsest level.
pub(super) struct Bottom<T, B: Backend> {
    on: B,
    solver: Solver,
    host_b: Vec<B::Real>,
    host_x: Vec<B::Real>,
    nnz: usize,
    of: PhantomData<T>,
}

enum Solver {
    Dense(PseudoInverse),
    Sparse(Box<Factor>),
}

impl<T: Real, B: Backend> Bottom<T, B> {
    pub(super) fn build(a: &Bsr<T>, on: &B) -> Result<Self, SetupError> {
        let n = a.shape().0;
        let solver = match Direct::default().build(a) {
            Ok(factor) => Solver::Sparse(Box::new(factor)),
            // A free body or a pure Neumann problem: the least-squares solution of least norm.
            Err(_) if n <= DENSE_SINGULAR => {
                Solver::Dense(Dense::default().build(a).map_err(|_| SetupError::Coarsest { unknowns: n })?)
            }
            Err(_) => return Err(SetupError::Coarsest { unknowns: n }),
        };
        let zeros = vec![zero(); n];
        Ok(Self {
            on: on.clone(),
            solver,
            host_b: zeros.clone(),
            host_x: zeros,
            nnz: a.nnz(),
            of: PhantomData,
        })
    }

    /// x = A⁺ b. A device that fails while its numbers are read leaves NaN, which ends the solve.
    pub(super) fn solve(&mut self, b: &B::Vector, x: &mut B::Vector) {
        let read = self.on.read(b, &mut self.host_b);
        match &mut self.solver {
            Solver::Dense(inverse) => inverse.apply(&self.host_b, &mut self.host_x),
            Solver::Sparse(factor) => factor.apply(&self.host_b, &mut self.host_x),
        }
        if read.and_then(|()| self.on.write(&self.host_x, x)).is_err() {
            x.fill(B::Real::nan());
        }
    }

    /// New values on the same pattern; the old factor stays after an error.
    pub(super) fn update(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        let updated = match &mut self.solver {
            Solver::Dense(inverse) => inverse.update(a),
            Solver::Sparse(factor) => factor.update(a),
        };
        updated.map_err(|_| SetupError::Coarsest { unknowns: self.host_b.len() })
    }

    pub(super) fn size(&self) -> usize {
        self.host_b.len()
    }

    pub(super) fn nnz(&self) -> usize {
        self.nnz
    }

    /// What it promises.
    pub(super) fn class(&self) -> Class {
        match &self.solver {
            Solver::Dense(inverse) => Preconditioner::<Vec<B::Real>>::class(inverse),
            Solver::Sparse(factor) => Preconditioner::<Vec<B::Real>>::class(&**factor),
        }
    }

    /// What it is, for tables.
    pub(super) fn kind(&self) -> &'static str {
        match self.solver {
            Solver::Dense(_) => "pseudo-inverse",
            Solver::Sparse(_) => "factor",
        }
    }
}
