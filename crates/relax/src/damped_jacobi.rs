//! Damped block Jacobi: x ← x + ω D⁻¹ (b − A x), with a computed ω.

use coarsen_backend::{Backend, Setup, SetupError};
use coarsen_core::Real;
use coarsen_sparse::System;

use crate::chebyshev::check_ratio;
use crate::{Chebyshev, ChebyshevPolynomial};

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
/// use coarsen_backend::{Cpu, Smoother};
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

coarsen_backend::inherent_build!(DampedJacobi);

impl<T: Real, B: Backend> Setup<T, B> for DampedJacobi {
    /// The step is the Chebyshev polynomial of degree 1.
    type Built = ChebyshevPolynomial<T, B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError> {
        check_ratio("DampedJacobi::ratio", self.ratio)?;
        let &Self { ratio, lanczos_steps, safety, symmetric } = self;
        let step = Chebyshev { degree: 1, ratio, lanczos_steps, safety, symmetric, ..Chebyshev::default() };
        step.build_from(system, backend)
    }
}
