//! Conjugate gradients with block Jacobi on the coarsest level, from x = 0 to a given reduction.
//!
//! | symbol | what |
//! |---|---|
//! | D | the block diagonal of A |
//! | r, z = D⁻¹ r, p, q = A p | residual, preconditioned residual, direction, A times direction |
//! | ρ = r·z | the squared norm of the stopping test: ‖r‖² in D⁻¹ |
//! | b⁰ | `whole`: the right-hand side of the cycle, restricted to this level |
//!
//! *Reference* Wang et al. 2020 (HOT), §5: the coarsest solve stops at half of √(bᵀD⁻¹b). Step numbers are
//! the line numbers of Saad 2003, Algorithm 9.1.

use coarsen_backend::{Backend, DenseBlocks, Matrix, SetupError, check_blocks, check_storable};
use coarsen_core::{LinearOperator, PreconditionerKind, Real, Scalar, Vector};
use coarsen_sparse::Bsr;
use num_traits::{Float, one, zero};

use super::CoarsestSolve;
use crate::{Grid, JacobiCg, ResidualReference};

/// The matrix, its inverted block diagonal and the vectors of the method, on the backend.
pub(super) struct Iterative<T: Real, B: Backend> {
    parameters: JacobiCg,
    a: B::Matrix,
    d: B::Blocks,
    inverses: DenseBlocks<T>,
    r: B::Vector,
    z: B::Vector,
    p: B::Vector,
    q: B::Vector,
    nnz: usize,
    iterations: usize,
}

const METHOD: &str = "conjugate gradients on the coarsest level";

impl<T: Real, B: Backend> Iterative<T, B> {
    pub(super) fn build(parameters: JacobiCg, a: &Bsr<T>, backend: &B) -> Result<Self, SetupError> {
        let inverses = DenseBlocks::inverse_diagonal(a, METHOD)?;
        inverses.check_positive(a, METHOD)?;
        let r = backend.vector(&vec![zero(); a.shape().0])?;
        Ok(Self {
            parameters,
            a: backend.matrix(a)?,
            d: backend.blocks(&inverses)?,
            inverses,
            z: r.like()?,
            p: r.like()?,
            q: r.like()?,
            r,
            nnz: a.nnz(),
            iterations: 0,
        })
    }
}

impl<T: Real, B: Backend> CoarsestSolve<T, B> for Iterative<T, B> {
    /// If the residual is not finite, x is not finite either. The outer solve then ends and reports this.
    fn solve(&mut self, b: &B::Vector, whole: &B::Vector, x: &mut B::Vector) {
        let Self { parameters, a, d, r, z, p, q, iterations, .. } = self;
        let number = |v: B::Real| b.scalar(v);
        x.fill(zero());
        let mut reference = None;
        if parameters.reference == ResidualReference::RightHandSide {
            B::apply_blocks(d, one(), whole, zero(), z);
            reference = Some(whole.dot(z).read());
        }
        r.copy(b); // 1
        B::apply_blocks(d, one(), r, zero(), z);
        p.copy(z);
        let mut rho = r.dot(z).read();
        let enough =
            reference.unwrap_or(rho) * B::Real::from_f64(parameters.reduction * parameters.reduction);
        if rho <= enough {
            return; // Algorithm 2 tests before the first step
        }
        for _ in 0..parameters.max_iterations {
            if rho <= zero() {
                return; // b = 0, or D is not positive definite
            }
            *iterations += 1;
            a.apply(p, q);
            let curvature = p.dot(q).read();
            if curvature <= zero() {
                return; // p is a rigid-body mode, or A is indefinite: keep x
            }
            let alpha = rho / curvature; // 3
            x.axpy(&number(alpha), p); // 4
            r.axpy(&number(-alpha), q); // 5
            B::apply_blocks(d, one(), r, zero(), z);
            let next = r.dot(z).read();
            if next <= enough || !next.is_finite() {
                return;
            }
            p.axpby(&number(one()), z, &number(next / rho)); // 6, 7
            rho = next;
        }
    }

    fn update(&mut self, grid: &Grid<'_, T>) -> Result<(), SetupError> {
        let a = grid.a;
        check_storable::<T, B::Stored>("the coarsest matrix", a)?;
        // Only the backend's copies are used in a solve. They change after the last check.
        self.inverses.invert_diagonal(a, METHOD)?;
        self.inverses.check_positive(a, METHOD)?;
        check_blocks::<T, B::Stored>("the inverse of the diagonal", &self.inverses)?;
        self.a.set_values(a)?;
        Ok(B::set_blocks(&mut self.d, &self.inverses)?)
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Variable
    }

    fn size(&self) -> usize {
        self.a.shape().0
    }

    fn nnz(&self) -> usize {
        self.nnz
    }

    fn iterations(&self) -> usize {
        self.iterations
    }

    fn bytes(&self) -> usize {
        let stored = (self.nnz + self.inverses.values().len()) * size_of::<B::Stored>();
        stored + size_of_val(self.inverses.values()) + 4 * self.size() * size_of::<B::Real>()
    }

    fn name(&self) -> &'static str {
        "cg"
    }
}
