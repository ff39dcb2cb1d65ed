//! Symmetric Gauss-Seidel and SSOR: a forward sweep and a backward sweep from zero.
//!
//! | symbol | field |
//! |---|---|
//! | ω | `omega` |
//! | A = L + D + U | in the order of the row sets of the backend |

use std::sync::Arc;

use coarsen_backend::{
    Backend, DenseBlocks, Matrix, Merged, NumericBackend, Reused, Setup, SetupError, Smoother, SmootherFacts,
    StoredBySmoother, SweepDirection, Update, check_blocks, check_storable,
};
use coarsen_core::{Error, LinearOperator, Preconditioner, PreconditionerKind, Real};
use coarsen_sparse::{Bsr, Pattern, System};

use crate::checks;

/// Symmetric Gauss-Seidel on blocks, or SSOR with ω ≠ 1.
///
/// M = ω/(2 − ω) (D/ω + L) D⁻¹ (D/ω + U): one forward and one backward sweep from a zero guess. On a CPU rows
/// are visited in natural order inside a few large chunks, and chunks of one colour are not coupled. So the
/// result is the same, to the last bit, with any number of threads, and the convergence is close to that of
/// the natural order. *Use* for symmetric positive definite systems. It is stronger than block Jacobi, weaker
/// than [`Ic0`](crate::Ic0), and cannot break down. *Memory* b² values per node on the host; on the backend a
/// copy of A and b² values per node. *Cost* one pass over A per sweep. If A is symmetric and the backend has [a
/// smoother](Backend::gauss_seidel) that stores half of A, the copy and the passes are half as large, and the
/// residual after the first sweep from zero has no extra cost. *Reference* Saad 2003, §4.1 and §10.2,
/// (10.10).
///
/// ```
/// use coarsen_backend::Cpu;
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
    /// The relaxation factor ω, above 0 and below 2.
    pub omega: f64,
    /// The number of pairs of sweeps per application, at least 1.
    pub sweeps: usize,
    /// Whether A is known to be symmetric to round-off, now and after every update, which saves the pass over A that
    /// checks it. *Do not* set it for another A: sweeps over half of A then read only that half.
    pub symmetric: bool,
}

impl Default for GaussSeidel {
    /// Returns one pair of sweeps with ω = 1: symmetric Gauss-Seidel.
    fn default() -> Self {
        Self { omega: 1.0, sweeps: 1, symmetric: false }
    }
}

impl GaussSeidel {
    /// Tests whether A is symmetric to round-off, which half storage requires, and whether it is symmetric in
    /// half of its digits, which `Cg` requires.
    fn symmetry<T: Real>(&self, a: &Bsr<T>) -> Symmetry {
        let to_round_off = self.symmetric || a.asymmetric_pair(Bsr::<T>::symmetry_round_off()).is_none();
        Symmetry { to_round_off, to_half_digits: to_round_off || checks::symmetric(a) }
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

    /// Returns the smoother of the backend ([`Backend::gauss_seidel`]), or `None` if A is not symmetric to
    /// round-off or the backend has no such smoother for A.
    ///
    /// # Errors
    /// The errors of the build.
    pub fn build_half<T: Real, B: Backend>(
        &self,
        a: &Bsr<T>,
        backend: &B,
    ) -> Result<Option<SymmetricGaussSeidel<T, B>>, SetupError> {
        self.validate()?;
        let own = backend.gauss_seidel(a, self.omega, self.symmetric)?;
        Ok(own.map(|own| self.around(own, true, Symmetry::TO_ROUND_OFF, a, backend)))
    }

    fn around<T: Real, B: Backend>(
        &self,
        sweeps: Box<dyn Smoother<B, T>>,
        own: bool,
        symmetry: Symmetry,
        a: &Bsr<T>,
        backend: &B,
    ) -> SymmetricGaussSeidel<T, B> {
        SymmetricGaussSeidel {
            parameters: *self,
            backend: backend.clone(),
            pattern: a.pattern().clone(),
            block: a.block().0,
            sweeps,
            own,
            successor: None,
            symmetry,
            next: symmetry,
            merged: Merged::default(),
        }
    }
}

#[derive(Clone, Copy)]
struct Symmetry {
    to_round_off: bool,
    to_half_digits: bool,
}

impl Symmetry {
    const TO_ROUND_OFF: Self = Self { to_round_off: true, to_half_digits: true };
}

/// The preconditioner and smoother that [`GaussSeidel`] builds: A, the inverses of its diagonal blocks and
/// the order of its rows, on the backend.
pub struct SymmetricGaussSeidel<T: Real, B: Backend> {
    parameters: GaussSeidel,
    backend: B,
    pattern: Arc<Pattern>,
    block: usize,
    /// One sweep per step: [`RowGaussSeidel`], or the smoother of the backend.
    sweeps: Box<dyn Smoother<B, T>>,
    own: bool,
    /// The smoother that replaces `sweeps` at the next commit, after a change of symmetry.
    successor: Option<Box<dyn Smoother<B, T>>>,
    symmetry: Symmetry,
    /// The symmetry of the prepared matrix.
    next: Symmetry,
    merged: Merged,
}

coarsen_backend::inherent_build!(GaussSeidel);

impl<T: Real, B: Backend> Setup<T, B> for GaussSeidel {
    type Built = SymmetricGaussSeidel<T, B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError> {
        let a = &*checks::square(&system)?;
        if let Some(half) = self.build_half(a, backend)? {
            return Ok(half);
        }
        a.check_finite()?;
        let rows = Box::new(RowGaussSeidel::new(a, self.omega, backend)?);
        Ok(self.around(rows, false, self.symmetry(a), a, backend))
    }
}

impl<T: Real, B: Backend> Preconditioner<B::Vector> for SymmetricGaussSeidel<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        checks::one_column(self.pattern.rows() * self.block, r, z);
        let stored = &StoredBySmoother;
        self.sweeps.pre_smooth(stored, r, z);
        self.sweeps.post_smooth(stored, r, z);
        for _ in 1..self.parameters.sweeps {
            self.sweeps.smooth(stored, r, z);
            self.sweeps.post_smooth(stored, r, z);
        }
    }

    fn kind(&self) -> PreconditionerKind {
        if self.symmetry.to_half_digits { self.sweeps.kind() } else { PreconditionerKind::Linear }
    }

    fn size(&self) -> Option<usize> {
        Some(self.pattern.rows() * self.block)
    }
}

impl<T: Real, B: Backend> Smoother<B, T> for SymmetricGaussSeidel<T, B> {
    fn operator(&self) -> Option<&dyn LinearOperator<B::Vector>> {
        self.sweeps.operator()
    }

    fn kind(&self) -> PreconditionerKind {
        Preconditioner::kind(self)
    }

    fn matrix(&self) -> Option<&B::Matrix> {
        self.sweeps.matrix()
    }

    fn interleaves(&self) -> bool {
        self.sweeps.interleaves()
    }

    fn pre_smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        self.sweeps.pre_smooth(a, b, x);
        (1..self.parameters.sweeps).for_each(|_| self.sweeps.smooth(a, b, x));
    }

    fn pre_smooth_residual(
        &mut self,
        a: &dyn LinearOperator<B::Vector>,
        b: &B::Vector,
        x: &mut B::Vector,
        r: &mut B::Vector,
    ) {
        if self.parameters.sweeps == 1 {
            return self.sweeps.pre_smooth_residual(a, b, x, r);
        }
        self.pre_smooth(a, b, x);
        self.operator().unwrap_or(a).residual(b, x, r);
    }

    /// Runs forward sweeps.
    fn smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        (0..self.parameters.sweeps).for_each(|_| self.sweeps.smooth(a, b, x));
    }

    /// Runs backward sweeps.
    fn post_smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        (0..self.parameters.sweeps).for_each(|_| self.sweeps.post_smooth(a, b, x));
    }

    fn facts(&self) -> SmootherFacts<'_, T> {
        self.successor.as_ref().unwrap_or(&self.sweeps).facts()
    }

    fn update_on_device(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericBackend,
    {
        self.sweeps.update_on_device(fill)
    }

    fn prepare(&mut self, a: &Bsr<T>) -> Result<Reused, SetupError> {
        self.successor = None;
        self.sweeps.prepare(a)?;
        let before = self.symmetry;
        let next = match self.sweeps.facts().largest {
            Some(_) => Symmetry::TO_ROUND_OFF,
            None => self.parameters.symmetry(a),
        };
        self.next = next;
        if self.own && !next.to_round_off {
            self.successor = Some(Box::new(RowGaussSeidel::new(a, self.parameters.omega, &self.backend)?));
        } else if next.to_round_off && !before.to_round_off {
            self.successor =
                self.backend.gauss_seidel(a, self.parameters.omega, self.parameters.symmetric)?;
        }
        Ok(Reused::Structure)
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.symmetry = self.next;
        let Some(successor) = self.successor.take() else { return self.sweeps.commit(a) };
        (self.sweeps, self.own) = (successor, self.next.to_round_off);
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.sweeps.bytes()
    }
}

coarsen_backend::inherent_update!(SymmetricGaussSeidel<T: Real, B: Backend>);

impl<T: Real, B: Backend> Update<T> for SymmetricGaussSeidel<T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let (block, pattern) = (self.block, self.pattern.clone());
        let build = |old: &Self, system: System<'_, T>| old.parameters.build_from(system, &old.backend);
        checks::update_in_phases(self, |method| &mut method.merged, system, (block, &pattern), build)
    }
}

/// Sweeps over whole rows, on any backend, for any A: forward before the coarse correction, backward after it.
struct RowGaussSeidel<T, B: Backend> {
    backend: B,
    omega: B::Real,
    a: B::Matrix,
    d: B::Blocks,
    rows: B::Rows,
    inverses: DenseBlocks<T>,
    kind: PreconditionerKind,
    bytes: usize,
}

impl<T: Real, B: Backend> RowGaussSeidel<T, B> {
    fn new(a: &Bsr<T>, omega: f64, backend: &B) -> Result<Self, SetupError> {
        let inverses = DenseBlocks::inverse_diagonal(a, "gauss-seidel")?;
        let stored = (a.values().len() + inverses.values().len()) * size_of::<B::Stored>();
        Ok(Self {
            backend: backend.clone(),
            omega: B::Real::from_f64(omega),
            a: backend.matrix(a)?,
            d: backend.blocks(&inverses)?,
            rows: backend.rows(&backend.relaxation_order(a.pattern()))?,
            kind: inverses.kind(),
            bytes: stored + size_of_val(inverses.values()),
            inverses,
        })
    }
}

impl<T: Real, B: Backend> Smoother<B, T> for RowGaussSeidel<T, B> {
    /// Returns the kind for a symmetric A.
    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn matrix(&self) -> Option<&B::Matrix> {
        Some(&self.a)
    }

    fn smooth(&mut self, _: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        self.a.relax(&self.rows, SweepDirection::Forward, &self.d, self.omega, b, x);
    }

    fn post_smooth(&mut self, _: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        self.a.relax(&self.rows, SweepDirection::Backward, &self.d, self.omega, b, x);
    }

    fn facts(&self) -> SmootherFacts<'_, T> {
        SmootherFacts { inverses: Some(&self.inverses), ..SmootherFacts::default() }
    }

    fn update_on_device(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericBackend,
    {
        fill(&mut self.a)?;
        self.backend.invert_diagonal(&self.a, &mut self.d, "gauss-seidel")?;
        Ok(())
    }

    fn prepare(&mut self, a: &Bsr<T>) -> Result<Reused, SetupError> {
        check_storable::<T, B::Stored>("the matrix", a)?;
        self.inverses.invert_diagonal(a, "gauss-seidel")?;
        check_blocks::<T, B::Stored>("the inverse of the diagonal", &self.inverses)?;
        Ok(Reused::Structure)
    }

    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        self.kind = self.inverses.kind();
        self.a.set_values(a)?;
        Ok(B::set_blocks(&mut self.d, &self.inverses)?)
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
