//! Symmetric Gauss-Seidel and SSOR: a forward sweep and a backward sweep from zero.
//!
//! | symbol | field |
//! |---|---|
//! | ω | `omega` |
//! | A = L + D + U | in the order of the row sets of the place |

use std::sync::Arc;

use coarsen_backend::{
    Backend, Blocks, DenseBlocks, Matrix, NumericPlace, Reused, Setup, SetupError, Smoother, Staged, Sweep,
    Update, check_range,
};
use coarsen_core::{Class, Error, Preconditioner, Real, Vector};
use coarsen_sparse::{Bsr, Pattern, System};
use num_traits::zero;

/// Symmetric Gauss-Seidel on blocks, or SSOR with ω ≠ 1.
///
/// M = ω/(2 − ω) (D/ω + L) D⁻¹ (D/ω + U): one forward and one backward sweep of relaxation from a zero guess. On a CPU rows are
/// taken in natural order inside a few thick chunks, coloured so that chunks of one colour are not coupled: the same
/// bits at any thread count, the convergence is that of another order, mostly natural.
/// *Use* for symmetric positive definite systems; stronger than block Jacobi, weaker than [`Ic0`](crate::Ic0), and cannot break down.
/// *Cost* a copy of A and b² values a node of memory at the place, b² values a node here; two passes over A a pair of sweeps.
/// *Reference* Saad 2003, §4.1 and §10.2, (10.10).
///
/// ```
/// use coarsen_backend::{Cpu, Setup};
/// use coarsen_core::Preconditioner;
/// let entries = [(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)];
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &entries)?;
/// let mut m = coarsen_relax::GaussSeidel::default().build(&a, &Cpu::new())?;
/// let mut z = vec![0.0; 2];
/// m.apply(&vec![2.0, 0.0], &mut z);
/// assert_eq!(z, [1.25, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussSeidel {
    /// Relaxation factor ω, above 0 and below 2.
    pub omega: f64,
    /// Pairs of sweeps an application, at least 1.
    pub sweeps: usize,
    /// A is known to be symmetric: the pass over A that looks for its asymmetry is left out.
    pub symmetric: bool,
}

impl Default for GaussSeidel {
    /// One pair of sweeps with ω = 1: symmetric Gauss-Seidel.
    fn default() -> Self {
        Self { omega: 1.0, sweeps: 1, symmetric: false }
    }
}

impl GaussSeidel {
    fn validate(&self) -> Result<(), Error> {
        if !(self.omega > 0.0 && self.omega < 2.0) {
            let (name, range) = ("GaussSeidel::omega", "above 0 and below 2");
            return Err(Error::Parameter { name, value: self.omega, range });
        }
        if self.sweeps == 0 {
            return Err(Error::Parameter { name: "GaussSeidel::sweeps", value: 0.0, range: "1 or more" });
        }
        Ok(())
    }
}

/// What [`GaussSeidel`] builds: A, the inverses of its diagonal blocks and the order of its rows, at the place.
pub struct SymmetricSweep<T, B: Backend> {
    recipe: GaussSeidel,
    on: B,
    pattern: Arc<Pattern>,
    inverses: DenseBlocks<T>,
    a: B::Matrix,
    d: B::Blocks,
    rows: B::Rows,
    class: Class,
}

impl<T: Real, B: Backend> Setup<T, B> for GaussSeidel {
    type Built = SymmetricSweep<T, B>;

    fn build_from(&self, system: System<'_, T>, on: &B) -> Result<SymmetricSweep<T, B>, SetupError> {
        self.validate()?;
        system.check()?;
        let a = &*system.whole()?;
        a.check_finite()?;
        let inverses = DenseBlocks::inverse_diagonal(a, "gauss-seidel")?;
        Ok(SymmetricSweep {
            recipe: *self,
            on: on.clone(),
            pattern: a.pattern().clone(),
            a: on.matrix(a)?,
            d: on.blocks(&inverses)?,
            rows: on.rows(&on.relaxation_order(a.pattern()))?,
            class: class(self, a, &inverses),
            inverses,
        })
    }
}

/// Symmetric where A is and every diagonal block may be positive definite.
fn class<T: Real>(recipe: &GaussSeidel, a: &Bsr<T>, inverses: &DenseBlocks<T>) -> Class {
    if recipe.symmetric || a.asymmetric_pair(T::EPSILON.sqrt()).is_none() {
        inverses.class()
    } else {
        Class::Linear
    }
}

impl<T: Real, B: Backend> Preconditioner<B::Vector> for SymmetricSweep<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        z.fill(zero());
        for _ in 0..self.recipe.sweeps {
            self.sweep(Sweep::Forward, r, z);
            self.sweep(Sweep::Backward, r, z);
        }
    }

    fn class(&self) -> Class {
        self.class
    }

    fn size(&self) -> Option<usize> {
        Some(self.inverses.count() * self.inverses.size())
    }
}

impl<T: Real, B: Backend> SymmetricSweep<T, B> {
    fn sweep(&self, direction: Sweep, b: &B::Vector, x: &mut B::Vector) {
        self.a.relax(&self.rows, direction, &self.d, B::Real::of(self.recipe.omega), b, x);
    }
}

impl<T: Real, B: Backend> Smoother<B> for SymmetricSweep<T, B> {
    fn matrix(&self) -> &B::Matrix {
        &self.a
    }

    fn start(&mut self, b: &B::Vector, x: &mut B::Vector) {
        x.fill(zero());
        self.relax(b, x);
    }

    /// Forward sweeps.
    fn relax(&mut self, b: &B::Vector, x: &mut B::Vector) {
        (0..self.recipe.sweeps).for_each(|_| self.sweep(Sweep::Forward, b, x));
    }

    /// Backward sweeps.
    fn finish(&mut self, b: &B::Vector, x: &mut B::Vector) {
        (0..self.recipe.sweeps).for_each(|_| self.sweep(Sweep::Backward, b, x));
    }

    fn follow_here(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericPlace,
    {
        fill(&mut self.a)?;
        self.on.invert_diagonal(&self.a, &mut self.d, "gauss-seidel")?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        let (blocks, area) = (self.inverses.values().len(), self.inverses.size().pow(2));
        (self.pattern.len() * area + blocks) * size_of::<B::Stored>() + blocks * size_of::<T>()
    }
}

impl<T: Real, B: Backend> Update<T> for SymmetricSweep<T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        system.check()?;
        let a = &*system.whole()?;
        if a.block().0 != self.inverses.size() || !Pattern::same(a.pattern(), &self.pattern) {
            *self = self.recipe.build_from(system, &self.on)?;
            return Ok(Reused::Nothing);
        }
        self.prepare(a)?;
        self.commit(a)?;
        Ok(Reused::Structure)
    }
}

impl<T: Real, B: Backend> Staged<T> for SymmetricSweep<T, B> {
    fn prepare(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        a.check_finite()?;
        self.inverses.invert_diagonal(a, "gauss-seidel")?;
        check_range::<T, B::Stored>("the matrix", a.values())?;
        check_range::<T, B::Stored>("the inverse of the diagonal", self.inverses.values())?;
        Ok(())
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.class = class(&self.recipe, a, &self.inverses);
        self.a.set_values(a)?;
        self.d.set_values(&self.inverses)?;
        Ok(())
    }
}
