//! Factors and pseudo-inverses as preconditioners that are updated with their system, on any backend.

use coarsen_backend::{Backend, Hosted, Merged, Reused, Setup, SetupError, Update};
use coarsen_core::{Error, Real};
use coarsen_sparse::{SparseError, System};

use crate::{Dense, Direct, DirectError, Factor, PseudoInverse};

coarsen_backend::inherent_build!(Direct);

/// The factor of A, or of A + C with contact, as one pair of triangular solves without refinement. It stays
/// on the host for every backend: see [`Hosted`].
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Preconditioner;
/// use coarsen_direct::Direct;
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)])?;
/// let mut m = Direct::default().build(&a, &Cpu::new())?;
/// let mut x = vec![0.0; 2];
/// m.apply(&vec![3.0, 3.0], &mut x);
/// assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 1.0).abs() < 1e-15);
/// m.update(&a)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<T: Real, B: Backend> Setup<T, B> for Direct {
    type Built = Hosted<B, Factor>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError> {
        system.check()?;
        let a = &*system.whole()?;
        Ok(Hosted::new(self.factor(a)?, a.shape().0, backend))
    }
}

coarsen_backend::inherent_update!(Factor);

/// New values on the same pattern are factored in the memory of the old factor ([`Factor::refactor`]); a new
/// pattern is factored from the beginning.
///
/// *Deviation* from a new build: with [`Method::Auto`](crate::Method::Auto) a method that works is kept even
/// if a build would now choose a cheaper method.
impl<T: Real> Update<T> for Factor {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let pattern = self.pattern().clone();
        Merged::update(
            self,
            |factor| &mut factor.merged,
            &system,
            &pattern,
            |factor, a| {
                if factor.fits(a) {
                    factor.refactor(a)?;
                    return Ok(Reused::Structure);
                }
                *factor = factor.parameters().factor(a)?;
                Ok(Reused::Nothing)
            },
        )
    }
}

coarsen_backend::inherent_build!(Dense);

/// A⁺ on the host, for every backend: see [`Hosted`].
impl<T: Real, B: Backend> Setup<T, B> for Dense {
    type Built = Hosted<B, PseudoInverse>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError> {
        system.check()?;
        let a = &*system.whole()?;
        Ok(Hosted::new(self.invert(a)?, a.shape().0, backend))
    }
}

coarsen_backend::inherent_update!(PseudoInverse);

/// A dense inverse has no sparsity pattern: the result is [`Reused::Structure`] for every system of its size.
impl<T: Real> Update<T> for PseudoInverse {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let pattern = system.matrix.pattern();
        Merged::update(
            self,
            |inverse| &mut inverse.merged,
            &system,
            pattern,
            |inverse, a| {
                if a.shape().0 == inverse.spectrum().len() {
                    inverse.reinvert(a)?;
                    return Ok(Reused::Structure);
                }
                *inverse = inverse.parameters().invert(a)?;
                Ok(Reused::Nothing)
            },
        )
    }
}

impl From<DirectError> for SetupError {
    fn from(error: DirectError) -> Self {
        match error {
            DirectError::Parameter { name, value, range } => Error::Parameter { name, value, range }.into(),
            DirectError::NotFinite { row, column } => SparseError::NotFinite { row, column }.into(),
            error => Self::Factor { why: error.to_string() },
        }
    }
}
