//! Symmetric Gauss-Seidel and SSOR: a forward sweep and a backward sweep from zero.
//!
//! | symbol | field |
//! |---|---|
//! | ω | `omega` |
//! | A = L + D + U | in the order of the row sets of the place |

use std::sync::Arc;

use coarsen_backend::{
    Backend, DenseBlocks, NumericPlace, Reused, RowSweeps, Setup, SetupError, Smoother, Staged, Sweep,
    Sweeps, Update, check_blocks, check_storable,
};
use coarsen_core::{Class, Error, LinearOperator, Preconditioner, Real};
use coarsen_sparse::{Bsr, Pattern, System};

use crate::checks;

/// Symmetric Gauss-Seidel on blocks, or SSOR with ω ≠ 1.
///
/// M = ω/(2 − ω) (D/ω + L) D⁻¹ (D/ω + U): one forward and one backward sweep of relaxation from a zero guess. On a CPU rows are
/// taken in natural order inside a few thick chunks, coloured so that chunks of one colour are not coupled: the same
/// bits at any thread count, the convergence is that of another order, mostly natural.
/// *Use* for symmetric positive definite systems; stronger than block Jacobi, weaker than [`Ic0`](crate::Ic0), and cannot break down.
/// *Cost* b² values a node here, and at the place a copy of A and b² values a node, with a pass over A a sweep; where A is symmetric and the place has
/// [half of it](Backend::half_sweeps), a copy and passes of half the size, and the residual after a first sweep for nothing.
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
    /// Whether half of A stands for all of it, and what the sweeps promise: symmetric where A is and every diagonal block may be positive definite.
    fn look<T: Real>(&self, a: &Bsr<T>, inverses: &DenseBlocks<T>) -> (bool, Class) {
        let round_off = T::EPSILON * T::of(1024.0);
        let alike = self.symmetric || a.asymmetric_pair(round_off).is_none();
        let symmetric = alike || checks::symmetric(a);
        (alike, if symmetric { inverses.class() } else { Class::Linear })
    }

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
pub struct SymmetricSweep<T: Real, B: Backend> {
    recipe: GaussSeidel,
    on: B,
    pattern: Arc<Pattern>,
    inverses: DenseBlocks<T>,
    sweeps: Box<dyn Sweeps<T, B>>,
    /// Whether half of A stands for all of it, and what the sweeps promise.
    found: (bool, Class),
    /// The same of what is prepared.
    next: (bool, Class),
}

impl<T: Real, B: Backend> Setup<T, B> for GaussSeidel {
    type Built = SymmetricSweep<T, B>;

    fn build_from(&self, system: System<'_, T>, on: &B) -> Result<SymmetricSweep<T, B>, SetupError> {
        self.validate()?;
        let a = &*checks::finite(&system)?;
        let inverses = DenseBlocks::inverse_diagonal(a, "gauss-seidel")?;
        let found = self.look(a, &inverses);
        let half = if found.0 { on.half_sweeps(a, &inverses)? } else { None };
        let sweeps = match half {
            Some(half) => half,
            None => Box::new(RowSweeps::new(on, a, &inverses)?),
        };
        Ok(self.around(a, inverses, sweeps, found, on))
    }
}

impl GaussSeidel {
    /// Sweeps over half of A, or `None` where A is not symmetric to round-off or the place has whole rows alone.
    ///
    /// # Errors
    /// As the build.
    pub fn build_half<T: Real, B: Backend>(
        &self,
        a: &Bsr<T>,
        on: &B,
    ) -> Result<Option<SymmetricSweep<T, B>>, SetupError> {
        self.validate()?;
        a.check_finite()?;
        let inverses = DenseBlocks::inverse_diagonal(a, "gauss-seidel")?;
        let found = self.look(a, &inverses);
        let half = if found.0 { on.half_sweeps(a, &inverses)? } else { None };
        Ok(half.map(|half| self.around(a, inverses, half, found, on)))
    }

    fn around<T: Real, B: Backend>(
        &self,
        a: &Bsr<T>,
        inverses: DenseBlocks<T>,
        sweeps: Box<dyn Sweeps<T, B>>,
        found: (bool, Class),
        on: &B,
    ) -> SymmetricSweep<T, B> {
        let (recipe, on, pattern) = (*self, on.clone(), a.pattern().clone());
        SymmetricSweep { recipe, on, pattern, sweeps, found, next: found, inverses }
    }
}

impl<T: Real, B: Backend> Preconditioner<B::Vector> for SymmetricSweep<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        self.sweeps.start(B::Real::of(self.recipe.omega), r, z);
        self.sweep(Sweep::Backward, r, z);
        for _ in 1..self.recipe.sweeps {
            self.sweep(Sweep::Forward, r, z);
            self.sweep(Sweep::Backward, r, z);
        }
    }

    fn class(&self) -> Class {
        self.found.1
    }

    fn size(&self) -> Option<usize> {
        Some(self.inverses.count() * self.inverses.size())
    }
}

impl<T: Real, B: Backend> SymmetricSweep<T, B> {
    fn sweep(&mut self, direction: Sweep, b: &B::Vector, x: &mut B::Vector) {
        self.sweeps.sweep(direction, B::Real::of(self.recipe.omega), b, x);
    }
}

impl<T: Real, B: Backend> Smoother<B> for SymmetricSweep<T, B> {
    fn operator(&self) -> &dyn LinearOperator<B::Vector> {
        self.sweeps.operator()
    }

    fn matrix(&self) -> Option<&B::Matrix> {
        self.sweeps.parts().map(|(a, _)| a)
    }

    fn start(&mut self, b: &B::Vector, x: &mut B::Vector) {
        self.sweeps.start(B::Real::of(self.recipe.omega), b, x);
        (1..self.recipe.sweeps).for_each(|_| self.sweep(Sweep::Forward, b, x));
    }

    fn start_residual(&mut self, b: &B::Vector, x: &mut B::Vector, r: &mut B::Vector) {
        if self.recipe.sweeps == 1 {
            return self.sweeps.start_residual(B::Real::of(self.recipe.omega), b, x, r);
        }
        self.start(b, x);
        self.operator().residual(b, x, r);
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
        let Some((a, d)) = self.sweeps.parts_mut() else {
            return Err(SetupError::NotHere { method: "gauss-seidel over half of a matrix" });
        };
        fill(a)?;
        self.on.invert_diagonal(a, d, "gauss-seidel")?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.sweeps.bytes() + size_of_val(self.inverses.values())
    }
}

impl<T: Real, B: Backend> Update<T> for SymmetricSweep<T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let (block, pattern) = (self.inverses.size(), self.pattern.clone());
        let build = |old: &Self, system: System<'_, T>| old.recipe.build_from(system, &old.on);
        checks::update_staged(self, system, (block, &pattern), build)
    }
}

impl<T: Real, B: Backend> Staged<T> for SymmetricSweep<T, B> {
    fn prepare(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        check_storable::<T, B::Stored>("the matrix", a)?;
        self.inverses.invert_diagonal(a, "gauss-seidel")?;
        check_blocks::<T, B::Stored>("the inverse of the diagonal", &self.inverses)?;
        self.next = self.recipe.look(a, &self.inverses);
        Ok(())
    }

    fn prepared_inverses(&self) -> Option<&DenseBlocks<T>> {
        Some(&self.inverses)
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        let (before, now) = (self.found.0, self.next.0);
        self.found = self.next;
        if !now && self.sweeps.parts().is_none() {
            // Half of A no longer stands for all of it.
            self.sweeps = Box::new(RowSweeps::new(&self.on, a, &self.inverses)?);
            return Ok(());
        }
        if now
            && !before
            && let Some(half) = self.on.half_sweeps(a, &self.inverses)?
        {
            self.sweeps = half;
            return Ok(());
        }
        self.sweeps.set_values(a, &self.inverses)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_backend::{Cpu, UpdateExt};
    use coarsen_problems::elasticity3d;

    /// Half of A speaks for all of it as long as A is symmetric, and no longer.
    #[test]
    fn an_update_that_is_not_symmetric_sweeps_whole_rows() {
        let a = elasticity3d(3, 1.0).unwrap().matrix;
        let mut m = GaussSeidel::default().build(&a, &Cpu::new()).unwrap();
        assert_eq!((Smoother::<Cpu>::matrix(&m).is_none(), m.class()), (true, Class::Symmetric));
        let mut wind = a.clone();
        let far = wind.pattern().range(0).find(|&k| wind.pattern().indices()[k] != 0).unwrap();
        wind.values_mut()[9 * far] += 1.0;
        let r: Vec<f64> = (0..a.shape().0).map(|i| (i as f64).sin()).collect();
        let applied = |m: &mut SymmetricSweep<f64, Cpu>| {
            let mut z = r.clone();
            m.apply(&r, &mut z);
            z
        };
        let before = applied(&mut m);
        m.update(&wind).unwrap();
        let mut fresh = GaussSeidel::default().build(&wind, &Cpu::new()).unwrap();
        assert_eq!((m.class(), fresh.class()), (Class::Linear, Class::Linear));
        assert_eq!(applied(&mut m), applied(&mut fresh));
        m.update(&a).unwrap();
        assert_eq!(m.class(), Class::Symmetric);
        assert_eq!(before, applied(&mut m));
    }
}
