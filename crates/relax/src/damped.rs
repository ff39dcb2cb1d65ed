//! One damped step with a block diagonal: x ← x + ω M (b − A x), ω found.
//!
//! | symbol | here |
//! |---|---|
//! | M | `m`: blockdiag(A)⁻¹ or SPAI-0 |
//! | ρ | `radius`, of M A |
//! | ω | `factor` / ρ |

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
use crate::spai0::spai0;
use crate::spectrum::SpectrumThere;

/// The block diagonal M of a [`Damped`] step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// The inverses of the diagonal blocks.
    #[default]
    Inverse,
    /// The symmetric blocks that make ‖I − M A‖ least in the Frobenius norm; less where a row is far from diagonal dominance.
    Spai0,
}

/// Damped block Jacobi or SPAI-0, the cheapest smoother: ω = `factor` / ρ(M A), so that the step converges in energy.
///
/// The error of an eigenvector of M A with eigenvalue λ is multiplied by 1 − ω λ, whose size is below 1 on the whole spectrum as long as
/// `factor` is below 2. A guessed ω is not safe: elastic systems have ρ of 3 and more, where ω = 0.7 diverges. ρ is the
/// [`Spectrum`]'s bound.
/// *Use* as the smoother of a hierarchy where a sweep must be cheap; alone, under conjugate gradients, the damping changes nothing.
/// *Cost* a copy of A, b² values a node and 2 vectors of memory at the place. A step from a zero guess reads M and one
/// vector, and no matrix; another step is one pass over A, M and 2 vectors that writes 2. SPAI-0 costs a pass over A more in setup.
/// *Reference* Saad 2003, §4.1; Bröker & Grote 2002 (SPAI-0); Tamstorf, Jones, McCormick 2015, §7 (the spectral radius).
///
/// ```
/// use coarsen_backend::{Cpu, Setup};
/// use coarsen_core::Preconditioner;
/// let entries = [(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)];
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &entries)?;
/// let mut m = coarsen_relax::Damped::default().build(&a, &Cpu::new())?;
/// let mut z = vec![0.0; 2];
/// m.apply(&vec![2.0, 2.0], &mut z);
/// assert!(m.radius() >= 1.5 && z[0] > 0.5 && z[0] == z[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Damped {
    /// M.
    pub scaling: Scaling,
    /// ω ρ, above 0 and below 2.
    pub factor: f64,
    /// Generalized Lanczos steps for ρ.
    pub lanczos_steps: usize,
    /// Factor on the estimate of ρ.
    pub safety: f64,
    /// A is known to be symmetric: the pass over A that looks for its asymmetry is left out.
    pub symmetric: bool,
}

impl Default for Damped {
    /// Block Jacobi with ω = 1.6 / ρ: the error falls to 0.6 or less on the upper three quarters of the spectrum. 10 Lanczos
    /// steps, safety 1.1.
    fn default() -> Self {
        Self { scaling: Scaling::Inverse, factor: 1.6, lanczos_steps: 10, safety: 1.1, symmetric: false }
    }
}

impl Damped {
    /// The method's name in messages.
    fn name(&self) -> &'static str {
        match self.scaling {
            Scaling::Inverse => "damped block-jacobi",
            Scaling::Spai0 => "spai0",
        }
    }

    fn fill<T: Real>(&self, a: &Bsr<T>, m: &mut DenseBlocks<T>) -> Result<(), SetupError> {
        match self.scaling {
            Scaling::Inverse => m.invert_diagonal(a, self.name())?,
            Scaling::Spai0 => spai0(a, m)?,
        }
        m.check_positive(a, self.name())
    }
}

/// What [`Damped`] builds.
pub struct DampedStep<T: Real, B: Backend> {
    recipe: Damped,
    on: B,
    pattern: Arc<Pattern>,
    host: DenseBlocks<T>,
    spectrum: Spectrum<T>,
    there: Option<SpectrumThere<B>>,
    radius: f64,
    class: Class,
    /// ρ and the class of what is prepared.
    prepared: (f64, Class),
    a: B::Matrix,
    m: B::Blocks,
    step: B::Vector,
    ahead: B::Vector,
}

/// ρ(M A) and what the step promises.
fn measure<T: Real>(
    recipe: &Damped,
    a: &Bsr<T>,
    m: &DenseBlocks<T>,
    spectrum: &mut Spectrum<T>,
) -> Result<(f64, Class), SetupError> {
    let radius = spectrum.bound(a, m)?;
    let symmetric = recipe.symmetric || a.asymmetric_pair(T::EPSILON.sqrt()).is_none();
    Ok((radius, if symmetric { Class::Symmetric } else { Class::Linear }))
}

impl<T: Real, B: Backend> Setup<T, B> for Damped {
    type Built = DampedStep<T, B>;

    fn build_from(&self, system: System<'_, T>, on: &B) -> Result<Self::Built, SetupError> {
        if !(self.factor > 0.0 && self.factor < 2.0) {
            let (name, range) = ("Damped::factor", "above 0 and below 2");
            return Err(Error::Parameter { name, value: self.factor, range }.into());
        }
        system.check()?;
        let a = &*system.whole()?;
        a.check_finite()?;
        let b = a.block().0;
        let mut host = DenseBlocks::new(b, vec![T::zero(); a.pattern().rows() * b * b])?;
        self.fill(a, &mut host)?;
        let mut spectrum = Spectrum::new(self.lanczos_steps, self.safety);
        let (radius, class) = measure(self, a, &host, &mut spectrum)?;
        let step = on.vector(&vec![zero(); a.shape().0])?;
        Ok(DampedStep {
            recipe: *self,
            on: on.clone(),
            pattern: a.pattern().clone(),
            spectrum,
            there: None,
            radius,
            class,
            prepared: (radius, class),
            a: on.matrix(a)?,
            m: on.blocks(&host)?,
            host,
            ahead: step.like()?,
            step,
        })
    }
}

impl<T: Real, B: Backend> DampedStep<T, B> {
    /// ρ, a bound of the spectrum of M A.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// ω.
    fn omega(&self) -> B::Real {
        B::Real::of(self.recipe.factor / self.radius)
    }
}

impl<T: Real, B: Backend> Preconditioner<B::Vector> for DampedStep<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        self.start(r, z);
    }

    fn class(&self) -> Class {
        self.class
    }

    fn size(&self) -> Option<usize> {
        Some(self.host.count() * self.host.size())
    }
}

impl<T: Real, B: Backend> Smoother<B> for DampedStep<T, B> {
    fn matrix(&self) -> &B::Matrix {
        &self.a
    }

    fn start(&mut self, b: &B::Vector, x: &mut B::Vector) {
        self.m.apply(self.omega(), b, zero(), x);
    }

    fn relax(&mut self, b: &B::Vector, x: &mut B::Vector) {
        let omega = self.omega();
        self.a.relax_into(&self.m, omega, zero(), b, x, &mut self.step, &mut self.ahead);
        mem::swap(x, &mut self.ahead);
    }

    fn radius(&self) -> Option<f64> {
        (self.recipe.scaling == Scaling::Inverse).then_some(self.radius)
    }

    fn prepared_radius(&self) -> Option<f64> {
        (self.recipe.scaling == Scaling::Inverse).then_some(self.prepared.0)
    }

    fn follow_here(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericPlace,
    {
        if self.recipe.scaling == Scaling::Spai0 {
            return Err(SetupError::NotHere { method: "spai0" });
        }
        fill(&mut self.a)?;
        let here = (&self.on, &self.a, &mut self.m);
        self.radius = SpectrumThere::follow(&mut self.there, &self.spectrum, here, self.recipe.name())?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        let (n, blocks) = (self.host.count() * self.host.size(), self.host.values().len());
        let stored = self.pattern.len() * self.host.size().pow(2) + blocks;
        let place = stored * size_of::<B::Stored>() + 2 * n * size_of::<B::Real>();
        place + blocks * size_of::<T>() + self.spectrum.bytes()
    }
}

impl<T: Real, B: Backend> Update<T> for DampedStep<T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        system.check()?;
        let a = &*system.whole()?;
        if a.block().0 != self.host.size() || !Pattern::same(a.pattern(), &self.pattern) {
            *self = self.recipe.build_from(system, &self.on)?;
            return Ok(Reused::Nothing);
        }
        self.prepare(a)?;
        self.commit(a)?;
        Ok(Reused::Structure)
    }
}

impl<T: Real, B: Backend> Staged<T> for DampedStep<T, B> {
    fn prepare(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        a.check_finite()?;
        self.recipe.fill(a, &mut self.host)?;
        check_range::<T, B::Stored>("the matrix", a.values())?;
        check_range::<T, B::Stored>("the block diagonal", self.host.values())?;
        self.prepared = measure(&self.recipe, a, &self.host, &mut self.spectrum)?;
        Ok(())
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        (self.radius, self.class) = self.prepared;
        self.a.set_values(a)?;
        self.m.set_values(&self.host)?;
        Ok(())
    }
}
