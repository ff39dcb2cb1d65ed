//! Chebyshev: z = p(M A) M r, where the error polynomial of p is the smallest on an interval.
//!
//! | symbol | here |
//! |---|---|
//! | M | `m`: blockdiag(A)⁻¹ or SPAI-0 |
//! | α, β | ends of the interval, β = `radius`, α = β / `ratio` |
//! | θ, δ, σ₁ | (β + α)/2, (β − α)/2, θ/δ |
//! | ρₖ | `rho` |
//! | dₖ | `d`, the correction, in `vectors` |
//! | xₖ | `x` and `ahead` in turn |
//!
//! Numbers at line ends are the line numbers of Saad 2003, Algorithm 12.1, with M r instead of r.

use std::mem;
use std::sync::Arc;

use coarsen_backend::{
    Backend, DenseBlocks, Matrix, Merged, NumericBackend, Reused, Setup, SetupError, Smoother, SmootherFacts,
    StoredBySmoother, Update, check_blocks, check_range, check_storable,
};
use coarsen_core::parallel::{self, tree};
use coarsen_core::{Error, LinearOperator, Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_sparse::{Bsr, Pattern, System};
use num_traits::zero;

use crate::spai0::spai0;
use crate::spectrum::DeviceSpectrum;
use crate::{Spectrum, checks};

/// The block diagonal M of a [`Chebyshev`] polynomial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scaling {
    /// The inverses of the diagonal blocks.
    #[default]
    Inverse,
    /// The symmetric blocks that minimise ‖I − M A‖ in the Frobenius norm. In rows far from diagonal
    /// dominance they are smaller than the inverses. *Cost* one more pass over A in setup. *Reference* Bröker
    /// & Grote 2002.
    Spai0,
}

/// A Chebyshev polynomial in M A, with M a block-diagonal approximation of A⁻¹.
///
/// From a zero guess the error polynomial is Tₘ((θ − t)/δ) / Tₘ(θ/δ), the smallest polynomial of degree m on
/// \[α, β\]. An application needs m products with M and m − 1 products with A. β is the bound of ρ(M A) that
/// [`Spectrum`] computes. The error polynomial is between −1 and 1 up to α + β, and Lanczos continues until the
/// spectrum is certain to be below. So for symmetric positive definite A, the preconditioner is symmetric
/// positive definite, except for the share of start vectors and the round-off that
/// [`SpectralRadius::margin`](coarsen_krylov::SpectralRadius::margin) names; `Cg` then reports it. *Use* if inner
/// products and triangular solves are expensive: on devices and many cores. A `ratio` of 30 suits a preconditioner for
/// `Cg`, 4 to 10 a smoother. Degree 1 is [`DampedJacobi`](crate::DampedJacobi), or [`Spai0`](crate::Spai0); as a
/// preconditioner of conjugate gradients, `DampedJacobi` equals block Jacobi. *Memory* on the backend a copy of A, b²
/// values per node and 2 vectors, 16 more once columns are interleaved; on the host b² values per node and 5 vectors,
/// or 5/8 of one vector if row sums bound the spectrum of scalars. *Cost* an application reads A m − 1 times from a zero guess and m times otherwise, each
/// time in one pass that also reads M and 3 vectors and writes 2. *Reference* Saad 2003, §12.3.2, Algorithm 12.1;
/// Tamstorf, Jones, McCormick 2015, §7 (smoother and spectral radius); Adams, Brezina, Hu, Tuminaro 2003, J. Comput.
/// Phys. 188.
///
/// ```
/// use coarsen_backend::Cpu;
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
    /// The degree m of the error polynomial, at least 1.
    pub degree: usize,
    /// The ratio β / α, above 1.
    pub ratio: f64,
    /// The block diagonal M.
    pub scaling: Scaling,
    /// The minimal number of generalized Lanczos steps for the spectral radius. They continue until the margin is
    /// certain.
    pub lanczos_steps: usize,
    /// The factor that multiplies the estimate, because the estimate approaches the radius from below.
    pub safety: f64,
    /// Whether A is known to be symmetric, which saves the pass over A that checks it.
    pub symmetric: bool,
}

impl Default for Chebyshev {
    /// Returns degree 4 on \[β/30, β\], 6 Lanczos steps, safety 1.1.
    fn default() -> Self {
        let scaling = Scaling::Inverse;
        Self { degree: 4, ratio: 30.0, scaling, lanczos_steps: 6, safety: 1.1, symmetric: false }
    }
}

impl Chebyshev {
    /// Returns the name of the method in messages.
    fn name(&self) -> &'static str {
        match (self.scaling, self.degree) {
            (Scaling::Spai0, _) => "spai0",
            (Scaling::Inverse, 1) => "damped jacobi",
            (Scaling::Inverse, _) => "chebyshev",
        }
    }

    /// Fills the blocks of M.
    fn fill<T: Real>(&self, a: &Bsr<T>, m: &mut DenseBlocks<T>) -> Result<(), SetupError> {
        match self.scaling {
            Scaling::Inverse => m.invert_diagonal(a, self.name())?,
            Scaling::Spai0 => spai0(a, m)?,
        }
        m.check_positive(a, self.name())
    }

    /// As [`fill`](Self::fill), in one pass over A that also finds its largest value, for a symmetric finite matrix of scalars
    /// that is not known to be one. Returns this value; `None`, with arbitrary `m`, in all other cases.
    fn fill_symmetric<T: Real>(&self, a: &Bsr<T>, m: &mut DenseBlocks<T>) -> Result<Option<T>, SetupError> {
        let fits = !self.symmetric && self.scaling == Scaling::Inverse && a.block() == (1, 1);
        let largest = fits.then(|| invert_symmetric(a, m)).flatten();
        if largest.is_some() {
            m.check_positive(a, self.name())?;
        }
        Ok(largest)
    }

    /// Returns 1/θ, the factor of the first correction d = M r / θ, and the factors ω and β of the corrections
    /// d ← β d + ω M r for k = 1 to m − 1, if the spectrum of M A is at most `radius`.
    ///
    /// *Use* for the polynomial with other products, as over ranks. *Deviation*: the residual r is computed from x, not by its
    /// recurrence, so that a step is one pass.
    pub fn factors(&self, radius: f64) -> (f64, impl Iterator<Item = [f64; 2]> + use<>) {
        let (beta, alpha) = (radius, radius / self.ratio);
        let [theta, delta] = [0.5 * (beta + alpha), 0.5 * (beta - alpha)];
        let sigma = theta / delta; // 1
        let mut rho = 1.0 / sigma; // 2
        let later = (1..self.degree).map(move |_| {
            let next = 1.0 / (2.0 * sigma - rho); // 6
            let factors = [2.0 * next / delta, next * rho];
            rho = next;
            factors
        });
        (1.0 / theta, later)
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        if self.degree == 0 {
            return Err(Error::Parameter { name: "Chebyshev::degree", value: 0.0, range: "1 or more" });
        }
        check_ratio("Chebyshev::ratio", self.ratio)
    }
}

/// Inverts the diagonal of a symmetric finite matrix of scalars, in the pass that finds that it is one. Returns its largest
/// value; `None`, with arbitrary `m`, for other matrices and for a diagonal without inverses.
fn invert_symmetric<T: Real>(a: &Bsr<T>, m: &mut DenseBlocks<T>) -> Option<T> {
    let found = a.symmetric_diagonal(Bsr::<T>::symmetry_tolerance(), m.values_mut());
    let largest = found.filter(|largest| !largest.is_nan())?;
    let invert = |d: &mut [T]| {
        d.iter_mut().fold(true, |regular, d| {
            *d = T::one() / *d;
            regular & d.is_finite()
        })
    };
    let worth = parallel::worth(a.shape().0);
    tree(m.values_mut(), parallel::LEAF, worth, &invert, &|left, right| left & right).then_some(largest)
}

/// Returns an error if the interval is empty or reaches 0.
pub(crate) fn check_ratio(name: &'static str, value: f64) -> Result<(), Error> {
    let fits = value > 1.0 && value.is_finite();
    if fits { Ok(()) } else { Err(Error::Parameter { name, value, range: "above 1" }) }
}

/// The preconditioner and smoother that [`Chebyshev`] builds.
pub struct ChebyshevPolynomial<T: Real, B: Backend> {
    parameters: Chebyshev,
    backend: B,
    pattern: Arc<Pattern>,
    host: DenseBlocks<T>,
    spectrum: Spectrum<T>,
    on_device: Option<DeviceSpectrum<B>>,
    radius: f64,
    kind: PreconditionerKind,
    /// β and the kind for the prepared matrix.
    next: (f64, PreconditionerKind),
    a: B::Matrix,
    m: B::Blocks,
    /// d and `ahead`.
    vectors: [B::Vector; 2],
    /// Those of interleaved columns, once there were some.
    interleaved: Option<[B::Vector; 2]>,
    merged: Merged,
}

coarsen_backend::inherent_build!(Chebyshev);

impl<T: Real, B: Backend> Setup<T, B> for Chebyshev {
    type Built = ChebyshevPolynomial<T, B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError> {
        self.validate()?;
        let a = &*checks::square(&system)?;
        let b = a.block().0;
        let mut host = DenseBlocks::new(b, vec![T::zero(); a.pattern().rows() * b * b])?;
        let symmetric = self.fill_symmetric(a, &mut host)?.is_some();
        if !symmetric {
            a.check_finite()?;
            self.fill(a, &mut host)?;
        }
        SetupError::unless_cancelled(system.cancel)?;
        let margin = 1.0 + 1.0 / self.ratio; // α + β
        let mut spectrum = Spectrum::new(self.lanczos_steps, self.safety).with_margin(margin);
        let symmetric = symmetric || self.symmetric;
        let (radius, kind) = checks::radius_and_kind(symmetric, &mut spectrum, a, &host)?;
        SetupError::unless_cancelled(system.cancel)?;
        let d = backend.vector(&vec![zero(); a.shape().0])?;
        Ok(ChebyshevPolynomial {
            parameters: *self,
            backend: backend.clone(),
            pattern: a.pattern().clone(),
            spectrum,
            on_device: None,
            radius,
            kind,
            next: (radius, kind),
            a: backend.matrix(a)?,
            m: backend.blocks(&host)?,
            host,
            vectors: [d.like()?, d],
            interleaved: None,
            merged: Merged::default(),
        })
    }
}

impl<T: Real, B: Backend> ChebyshevPolynomial<T, B> {
    /// Returns β, a bound of the spectrum of M A.
    pub fn radius(&self) -> f64 {
        self.radius
    }
}

impl<T: Real, B: Backend> Preconditioner<B::Vector> for ChebyshevPolynomial<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        checks::one_column(self.host.count() * self.host.size(), r, z);
        self.pre_smooth(&StoredBySmoother, r, z);
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.host.count() * self.host.size())
    }
}

/// Returns the vectors that are like b, which may interleave columns.
fn vectors_like<'a, V: Vector>(
    single: &'a mut [V; 2],
    interleaved: &'a mut Option<[V; 2]>,
    b: &V,
) -> &'a mut [V; 2] {
    if single[0].same_layout(b) {
        return single;
    }
    if interleaved.as_ref().is_some_and(|vectors| !vectors[0].same_layout(b)) {
        *interleaved = None;
    }
    interleaved.get_or_insert_with(|| {
        let like =
            || b.like().expect("backends that interleave columns have vectors in the memory of the host");
        [like(), like()]
    })
}

impl<T: Real, B: Backend> ChebyshevPolynomial<T, B> {
    /// Computes d ← β d + ω M (b − A x), x ← x + d.
    fn step(&mut self, omega: f64, beta: f64, b: &B::Vector, x: &mut B::Vector) {
        let (omega, beta) = (B::Real::from_f64(omega), B::Real::from_f64(beta));
        let [d, ahead] = vectors_like(&mut self.vectors, &mut self.interleaved, b);
        self.a.relax_into(&self.m, omega, beta, b, x, d, ahead);
        mem::swap(x, ahead);
    }
}

impl<T: Real, B: Backend> Smoother<B, T> for ChebyshevPolynomial<T, B> {
    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn matrix(&self) -> Option<&B::Matrix> {
        Some(&self.a)
    }

    fn interleaves(&self) -> bool {
        true
    }

    fn pre_smooth(&mut self, _: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        let (first, later) = self.parameters.factors(self.radius);
        if self.parameters.degree == 1 {
            // Only x is needed, not d.
            return B::apply_blocks(&self.m, B::Real::from_f64(first), b, zero(), x);
        }
        let [d, _] = vectors_like(&mut self.vectors, &mut self.interleaved, b);
        B::apply_blocks(&self.m, B::Real::from_f64(first), b, zero(), d); // 2
        x.copy(d); // 4
        later.for_each(|[omega, beta]| self.step(omega, beta, b, x)); // 7, 4, 5
    }

    fn smooth(&mut self, _: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        let (first, later) = self.parameters.factors(self.radius);
        self.step(first, 0.0, b, x); // 2, 4
        later.for_each(|[omega, beta]| self.step(omega, beta, b, x)); // 7, 4, 5
    }

    fn facts(&self) -> SmootherFacts<'_, T> {
        if self.parameters.scaling == Scaling::Spai0 {
            return SmootherFacts::default();
        }
        SmootherFacts { radius: Some(self.next.0), inverses: Some(&self.host), ..SmootherFacts::default() }
    }

    fn update_on_device(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericBackend,
    {
        if self.parameters.scaling == Scaling::Spai0 {
            return Err(SetupError::HostOnly { method: "spai0" });
        }
        fill(&mut self.a)?;
        let there = (&self.backend, &self.a, &mut self.m);
        self.radius =
            DeviceSpectrum::update(&mut self.on_device, &self.spectrum, there, self.parameters.name())?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        let (n, blocks) = (self.host.count() * self.host.size(), self.host.values().len());
        let area = self.host.size().pow(2);
        let numbers = 2 * n + self.interleaved.as_ref().map_or(0, |vectors| 2 * vectors[0].size());
        let place =
            (self.pattern.len() * area + blocks) * size_of::<B::Stored>() + numbers * size_of::<B::Real>();
        place + blocks * size_of::<T>() + self.spectrum.bytes()
    }

    fn prepare(&mut self, a: &Bsr<T>) -> Result<Reused, SetupError> {
        let largest = self.parameters.fill_symmetric(a, &mut self.host)?;
        if let Some(largest) = largest {
            // A value above the diagonal may be larger by the tolerance.
            let bound = largest * (T::one() + Bsr::<T>::symmetry_tolerance());
            check_range::<T, B::Stored>("the matrix", &[largest])?;
            check_range::<T, B::Stored>("the matrix", &[bound])?;
        } else {
            check_storable::<T, B::Stored>("the matrix", a)?;
            self.parameters.fill(a, &mut self.host)?;
        }
        check_blocks::<T, B::Stored>("the block diagonal", &self.host)?;
        let symmetric = largest.is_some() || self.parameters.symmetric;
        self.next = checks::radius_and_kind(symmetric, &mut self.spectrum, a, &self.host)?;
        Ok(Reused::Structure)
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        (self.radius, self.kind) = self.next;
        self.a.set_values(a)?;
        Ok(B::set_blocks(&mut self.m, &self.host)?)
    }
}

coarsen_backend::inherent_update!(ChebyshevPolynomial<T: Real, B: Backend>);

impl<T: Real, B: Backend> Update<T> for ChebyshevPolynomial<T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let (block, pattern) = (self.host.size(), self.pattern.clone());
        let build = |old: &Self, system: System<'_, T>| old.parameters.build_from(system, &old.backend);
        checks::update_in_phases(self, |method| &mut method.merged, system, (block, &pattern), build)
    }
}
