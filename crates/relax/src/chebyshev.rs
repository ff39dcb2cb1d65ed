//! Chebyshev: z = p(D⁻¹A) D⁻¹ r with a polynomial that is small where the error is large.
//!
//! | symbol | here |
//! |---|---|
//! | α, β | ends of the interval, β = `radius`, α = β / `ratio` |
//! | θ, δ, σ₁ | (β + α)/2, (β − α)/2, θ/δ |
//! | ρₖ | `rho` |
//! | dₖ | `d`, the correction |
//! | xₖ | `x` and `ahead` in turn |
//!
//! Step numbers at line ends are those of Saad 2003, Algorithm 12.1, with D⁻¹r for r.

use std::mem;
use std::sync::Arc;

use coarsen_backend::{
    Backend, Blocks, DenseBlocks, Matrix, NumericPlace, Reused, Setup, SetupError, Smoother, Staged, Update,
    check_range,
};
use coarsen_core::{Class, Error, Preconditioner, Real, Vector};
use coarsen_sparse::{Bsr, Pattern, System};
use num_traits::zero;

use crate::Spectrum;
use crate::spectrum::SpectrumThere;

/// A Chebyshev polynomial in D⁻¹A, D the block diagonal of A.
///
/// From a zero guess the error polynomial is Tₘ((θ − t)/δ) / Tₘ(θ/δ) of degree m, the smallest on \[α, β\]; m block solves and m − 1
/// products with A. β is the [`Spectrum`]'s bound of ρ(D⁻¹A). For symmetric positive
/// definite A the preconditioner is so too as long as β bounds the spectrum.
/// *Use* where inner products and triangular solves are dear: on devices and many cores. `ratio` 30 suits a preconditioner for `Cg`, 4 to
/// 10 a smoother.
/// *Cost* a copy of A, b² values a node and 2 vectors of memory at the place, b² values a node and 5 vectors here; an application reads A m − 1 times from a
/// zero guess and m times else, each time in one pass that also reads D and 3 vectors and writes 2.
/// *Reference* Saad 2003, §12.3.2, Algorithm 12.1; Tamstorf, Jones, McCormick 2015, §7 (smoother and spectral radius); Adams, Brezina,
/// Hu, Tuminaro 2003, J. Comput. Phys. 188.
///
/// ```
/// use coarsen_backend::{Cpu, Setup};
/// use coarsen_core::Preconditioner;
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (1, 1, 4.0)])?;
/// let mut m = coarsen_relax::Chebyshev { degree: 12, ..Default::default() }.build(&a, &Cpu::new())?;
/// let mut z = vec![0.0; 2];
/// m.apply(&vec![2.0, 4.0], &mut z);
/// assert!((z[0] - 1.0).abs() < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chebyshev {
    /// Degree m of the error polynomial, at least 1; 1 is damped block Jacobi.
    pub degree: usize,
    /// β / α, above 1.
    pub ratio: f64,
    /// Generalized Lanczos steps for the spectral radius.
    pub lanczos_steps: usize,
    /// Factor on the estimate, which comes from below.
    pub safety: f64,
    /// A is known to be symmetric: the pass over A that looks for its asymmetry is left out.
    pub symmetric: bool,
}

impl Default for Chebyshev {
    /// Degree 4 on \[β/30, β\], 10 Lanczos steps, safety 1.1.
    fn default() -> Self {
        Self { degree: 4, ratio: 30.0, lanczos_steps: 10, safety: 1.1, symmetric: false }
    }
}

impl Chebyshev {
    fn validate(&self) -> Result<(), Error> {
        if self.degree == 0 {
            return Err(Error::Parameter { name: "Chebyshev::degree", value: 0.0, range: "1 or more" });
        }
        if !(self.ratio > 1.0 && self.ratio.is_finite()) {
            return Err(Error::Parameter { name: "Chebyshev::ratio", value: self.ratio, range: "above 1" });
        }
        Ok(())
    }
}

/// What [`Chebyshev`] builds.
pub struct ChebyshevPolynomial<T: Real, B: Backend> {
    recipe: Chebyshev,
    on: B,
    pattern: Arc<Pattern>,
    inverses: DenseBlocks<T>,
    spectrum: Spectrum<T>,
    there: Option<SpectrumThere<B>>,
    radius: f64,
    class: Class,
    /// β and the class of what is prepared.
    next: (f64, Class),
    a: B::Matrix,
    inverse: B::Blocks,
    d: B::Vector,
    ahead: B::Vector,
}

/// β and what M promises, found on the host before anything is written.
fn measure<T: Real>(
    recipe: &Chebyshev,
    spectrum: &mut Spectrum<T>,
    a: &Bsr<T>,
    inverses: &DenseBlocks<T>,
) -> Result<(f64, Class), SetupError> {
    inverses.check_positive(a, "chebyshev")?;
    let radius = spectrum.bound(a, inverses)?;
    let symmetric = recipe.symmetric || a.asymmetric_pair(T::EPSILON.sqrt()).is_none();
    Ok((radius, if symmetric { Class::Symmetric } else { Class::Linear }))
}

impl<T: Real, B: Backend> Setup<T, B> for Chebyshev {
    type Built = ChebyshevPolynomial<T, B>;

    fn build_from(&self, system: System<'_, T>, on: &B) -> Result<Self::Built, SetupError> {
        self.validate()?;
        system.check()?;
        let a = &*system.whole()?;
        a.check_finite()?;
        let inverses = DenseBlocks::inverse_diagonal(a, "chebyshev")?;
        let mut spectrum = Spectrum::new(self.lanczos_steps, self.safety);
        let (radius, class) = measure(self, &mut spectrum, a, &inverses)?;
        let d = on.vector(&vec![zero(); a.shape().0])?;
        Ok(ChebyshevPolynomial {
            recipe: *self,
            on: on.clone(),
            pattern: a.pattern().clone(),
            spectrum,
            there: None,
            radius,
            class,
            next: (radius, class),
            a: on.matrix(a)?,
            inverse: on.blocks(&inverses)?,
            inverses,
            ahead: d.like()?,
            d,
        })
    }
}

impl<T: Real, B: Backend> ChebyshevPolynomial<T, B> {
    /// β, a bound of the spectrum of D⁻¹A.
    pub fn radius(&self) -> f64 {
        self.radius
    }
}

impl<T: Real, B: Backend> Preconditioner<B::Vector> for ChebyshevPolynomial<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        self.start(r, z);
    }

    fn class(&self) -> Class {
        self.class
    }

    fn size(&self) -> Option<usize> {
        Some(self.inverses.count() * self.inverses.size())
    }
}

impl<T: Real, B: Backend> ChebyshevPolynomial<T, B> {
    /// Steps 4 to 7 for k = 1 to m − 1, the first correction being in `d` and already in x.
    ///
    /// Deviation: the residual is computed from x instead of from its recurrence, so that a step is one pass.
    fn iterate(&mut self, b: &B::Vector, x: &mut B::Vector) {
        let [theta, delta] = self.interval();
        let sigma = theta / delta; // 1
        let mut rho = 1.0 / sigma; // 2
        for _ in 1..self.recipe.degree {
            let next = 1.0 / (2.0 * sigma - rho); // 6
            self.step(2.0 * next / delta, next * rho, b, x); // 7, 4, 5
            rho = next;
        }
    }

    /// d ← β d + ω D⁻¹ (b − A x), x ← x + d.
    fn step(&mut self, omega: f64, beta: f64, b: &B::Vector, x: &mut B::Vector) {
        let (omega, beta) = (B::Real::of(omega), B::Real::of(beta));
        self.a.relax_into(&self.inverse, omega, beta, b, x, &mut self.d, &mut self.ahead);
        mem::swap(x, &mut self.ahead);
    }

    /// θ and δ.
    fn interval(&self) -> [f64; 2] {
        let (beta, alpha) = (self.radius, self.radius / self.recipe.ratio);
        [0.5 * (beta + alpha), 0.5 * (beta - alpha)]
    }
}

impl<T: Real, B: Backend> Smoother<B> for ChebyshevPolynomial<T, B> {
    fn matrix(&self) -> &B::Matrix {
        &self.a
    }

    fn start(&mut self, b: &B::Vector, x: &mut B::Vector) {
        let [theta, _] = self.interval();
        self.inverse.apply(B::Real::of(1.0 / theta), b, zero(), &mut self.d); // 2
        x.copy(&self.d); // 4
        self.iterate(b, x);
    }

    fn relax(&mut self, b: &B::Vector, x: &mut B::Vector) {
        let [theta, _] = self.interval();
        self.step(1.0 / theta, 0.0, b, x); // 1, 2, 4
        self.iterate(b, x);
    }

    fn radius(&self) -> Option<f64> {
        Some(self.radius)
    }

    fn prepared_radius(&self) -> Option<f64> {
        Some(self.next.0)
    }

    fn follow_here(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericPlace,
    {
        fill(&mut self.a)?;
        let here = (&self.on, &self.a, &mut self.inverse);
        self.radius = SpectrumThere::follow(&mut self.there, &self.spectrum, here, "chebyshev")?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        let (n, blocks) = (self.inverses.count() * self.inverses.size(), self.inverses.values().len());
        let area = self.inverses.size().pow(2);
        let place =
            (self.pattern.len() * area + blocks) * size_of::<B::Stored>() + 2 * n * size_of::<B::Real>();
        place + blocks * size_of::<T>() + self.spectrum.bytes()
    }
}

impl<T: Real, B: Backend> Update<T> for ChebyshevPolynomial<T, B> {
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

impl<T: Real, B: Backend> Staged<T> for ChebyshevPolynomial<T, B> {
    fn prepare(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        a.check_finite()?;
        self.inverses.invert_diagonal(a, "chebyshev")?;
        check_range::<T, B::Stored>("the matrix", a.values())?;
        check_range::<T, B::Stored>("the inverse of the diagonal", self.inverses.values())?;
        self.next = measure(&self.recipe, &mut self.spectrum, a, &self.inverses)?;
        Ok(())
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        (self.radius, self.class) = self.next;
        self.a.set_values(a)?;
        self.inverse.set_values(&self.inverses)?;
        Ok(())
    }
}
