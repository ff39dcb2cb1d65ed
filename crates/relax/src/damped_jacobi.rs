//! Damped block Jacobi: x ← x + ω D⁻¹ (b − A x), with a computed ω.
//!
//! | symbol | here |
//! |---|---|
//! | D, D⁻¹ | the diagonal blocks of A; their inverses, `d` on the backend and `inverses` on the host |
//! | β | `radius`, a bound of ρ(D⁻¹A) |
//! | ω | 2 / (β + β / `ratio`) |

use std::mem;
use std::sync::Arc;

use coarsen_backend::{
    Backend, Blocks, DenseBlocks, Matrix, NumericBackend, Reused, Setup, SetupError, Smoother, SmootherFacts,
    StoredBySmoother, Update, check_blocks, check_storable,
};
use coarsen_core::{Error, LinearOperator, Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_sparse::{Bsr, Pattern, System};
use num_traits::zero;

use crate::chebyshev::check_ratio;
use crate::spectrum::DeviceSpectrum;
use crate::{Spectrum, checks};

/// The name of the method in messages.
const METHOD: &str = "damped jacobi";

/// Damped block Jacobi with a computed ω, the cheapest smoother.
///
/// ω = 2 / (β + β/r), where β is a bound of ρ(D⁻¹A) and r is the `ratio`. It minimises the largest |1 − ω t|
/// for t in \[β/r, β\]. A guessed ω is not safe: for elastic systems ρ is 3 and more, and ω = 0.7 diverges.
/// *Use* as the smoother of a hierarchy, for scalars or on devices. *Not* if iterations must be few: use
/// [`Chebyshev`](crate::Chebyshev). As a preconditioner of conjugate gradients it equals the cheaper
/// [`BlockJacobi`](crate::BlockJacobi), since ω has no effect. *Memory* on the backend a copy of A, b² values
/// per node and 2 vectors; on the host b² values per node and 5 vectors, or 5/8 of one vector if row sums
/// bound the spectrum of scalars. *Cost* a step reads A once, in a pass that also reads D⁻¹ and 3 vectors and
/// writes 2; a step from zero does not read A. *Reference* Saad 2003, §4.1; Tamstorf, Jones, McCormick 2015,
/// §7, for β.
///
/// ```
/// use coarsen_backend::{Cpu, Setup, Smoother};
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (1, 1, 4.0)])?;
/// let mut m = coarsen_relax::DampedJacobi::default().build(&a, &Cpu::new())?;
/// let (b, mut x) = (vec![2.0, 4.0], vec![0.0; 2]);
/// m.pre_smooth(&a, &b, &mut x);
/// m.post_smooth(&a, &b, &mut x);
/// assert!((x[0] - 1.0).abs() < 0.5 && (x[1] - 1.0).abs() < 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DampedJacobi {
    /// The ratio r = β / α, above 1: the step damps errors in the upper part \[α, β\] of the spectrum.
    pub ratio: f64,
    /// The minimal number of generalized Lanczos steps for β. They continue until ω ρ < 2 is certain.
    pub lanczos_steps: usize,
    /// The factor that multiplies the Lanczos estimate, because the estimate approaches β from below.
    pub safety: f64,
    /// Whether A is known to be symmetric, which saves the pass over A that checks it.
    pub symmetric: bool,
}

impl Default for DampedJacobi {
    /// Returns a ratio of 4 (ω = 1.6 / β), 6 Lanczos steps and a safety factor of 1.1. On the upper three
    /// quarters of the spectrum a step reduces the error to 0.6 or less.
    fn default() -> Self {
        Self { ratio: 4.0, lanczos_steps: 6, safety: 1.1, symmetric: false }
    }
}

/// The smoother that [`DampedJacobi`] builds.
pub struct DampedBlockJacobi<T: Real, B: Backend> {
    recipe: DampedJacobi,
    on: B,
    pattern: Arc<Pattern>,
    inverses: DenseBlocks<T>,
    spectrum: Spectrum<T>,
    on_device: Option<DeviceSpectrum<B>>,
    /// β and the kind for the matrix in use.
    used: (f64, PreconditionerKind),
    /// β and the kind for the prepared matrix.
    next: (f64, PreconditionerKind),
    a: B::Matrix,
    d: B::Blocks,
    step: B::Vector,
    ahead: B::Vector,
}

impl<T: Real, B: Backend> Setup<T, B> for DampedJacobi {
    type Built = DampedBlockJacobi<T, B>;

    fn build_from(&self, system: System<'_, T>, on: &B) -> Result<Self::Built, SetupError> {
        check_ratio("DampedJacobi::ratio", self.ratio)?;
        let a = &*checks::finite(&system)?;
        let inverses = DenseBlocks::inverse_diagonal(a, METHOD)?;
        inverses.check_positive(a, METHOD)?;
        let margin = 1.0 + 1.0 / self.ratio; // ω ρ < 2
        let mut spectrum = Spectrum::new(self.lanczos_steps, self.safety).with_margin(margin);
        let used = checks::radius_and_class(self.symmetric, &mut spectrum, a, &inverses)?;
        let step = on.vector(&vec![zero(); a.shape().0])?;
        Ok(DampedBlockJacobi {
            recipe: *self,
            on: on.clone(),
            pattern: a.pattern().clone(),
            spectrum,
            on_device: None,
            used,
            next: used,
            a: on.matrix(a)?,
            d: on.blocks(&inverses)?,
            inverses,
            ahead: step.like()?,
            step,
        })
    }
}

impl<T: Real, B: Backend> DampedBlockJacobi<T, B> {
    /// Returns β, a bound of the spectrum of D⁻¹A.
    pub fn radius(&self) -> f64 {
        self.used.0
    }

    /// Returns the damping ω.
    pub fn omega(&self) -> f64 {
        1.0 / (0.5 * (self.used.0 + self.used.0 / self.recipe.ratio))
    }
}

impl<T: Real, B: Backend> Preconditioner<B::Vector> for DampedBlockJacobi<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        self.pre_smooth(&StoredBySmoother, r, z);
    }

    fn kind(&self) -> PreconditionerKind {
        self.used.1
    }

    fn size(&self) -> Option<usize> {
        Some(self.inverses.count() * self.inverses.size())
    }
}

impl<T: Real, B: Backend> Smoother<B, T> for DampedBlockJacobi<T, B> {
    fn kind(&self) -> PreconditionerKind {
        self.used.1
    }

    fn matrix(&self) -> Option<&B::Matrix> {
        Some(&self.a)
    }

    fn pre_smooth(&mut self, _: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        self.d.apply(B::Real::from_f64(self.omega()), b, zero(), x);
    }

    fn smooth(&mut self, _: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        let omega = B::Real::from_f64(self.omega());
        self.a.relax_into(&self.d, omega, zero(), b, x, &mut self.step, &mut self.ahead);
        mem::swap(x, &mut self.ahead);
    }

    fn prepare(&mut self, a: &Bsr<T>) -> Result<Reused, SetupError> {
        check_storable::<T, B::Stored>("the matrix", a)?;
        self.inverses.invert_diagonal(a, METHOD)?;
        self.inverses.check_positive(a, METHOD)?;
        check_blocks::<T, B::Stored>("the inverse of the diagonal", &self.inverses)?;
        self.next = checks::radius_and_class(self.recipe.symmetric, &mut self.spectrum, a, &self.inverses)?;
        Ok(Reused::Structure)
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.used = self.next;
        self.a.set_values(a)?;
        Ok(self.d.set_values(&self.inverses)?)
    }

    fn bytes(&self) -> usize {
        let (n, blocks) = (self.inverses.count() * self.inverses.size(), self.inverses.values().len());
        let stored = (self.pattern.len() * self.inverses.size().pow(2) + blocks) * size_of::<B::Stored>();
        stored + 2 * n * size_of::<B::Real>() + blocks * size_of::<T>() + self.spectrum.bytes()
    }

    fn facts(&self) -> SmootherFacts<'_, T> {
        let (radius, inverses) = (Some(self.next.0), Some(&self.inverses));
        SmootherFacts { radius, inverses, ..SmootherFacts::default() }
    }

    fn update_on_device(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericBackend,
    {
        fill(&mut self.a)?;
        let there = (&self.on, &self.a, &mut self.d);
        self.used.0 = DeviceSpectrum::update(&mut self.on_device, &self.spectrum, there, METHOD)?;
        Ok(())
    }
}

impl<T: Real, B: Backend> Update<T> for DampedBlockJacobi<T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let (block, pattern) = (self.inverses.size(), self.pattern.clone());
        let build = |old: &Self, system: System<'_, T>| old.recipe.build_from(system, &old.on);
        checks::update_in_phases(self, system, (block, &pattern), build)
    }
}
