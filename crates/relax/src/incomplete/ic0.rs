//! IC(0): incomplete Cholesky factors on the pattern of A.

use coarsen_backend::{Backend, Setup, SetupError};
use coarsen_core::{Cancel, PreconditionerKind, Real};
use coarsen_sparse::{Bsr, System};

use crate::checks;

use super::{Factorise, Fault, IncompleteFactor, Order, Workspace, build, eliminate};

/// Incomplete Cholesky without fill, on blocks, with a diagonal shift if a pivot is not positive.
///
/// M = (L + I) D (L + I)ᵀ, the factors of ILU(0) on a symmetric matrix (U = D Lᵀ). Both L and U are stored:
/// substitution by rows of U runs in parallel, and substitution by columns of L does not. If some Dᵢ is not
/// positive definite, A + α diag(A) is factorised instead, so that M stays positive definite. The shift α is
/// `first_shift` times 1, 2, 4, … up to 1 (Manteuffel 1980). *Use* for symmetric positive definite systems of
/// moderate size and condition. *Memory* as much as A, and twice as much from the first update on. *Cost* one
/// pass over the factors per application; one elimination per shift. *Reference* Meijerink & van der Vorst
/// 1977; Manteuffel 1980, Math. Comp. 34; Saad 2003, §10.3.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Preconditioner;
/// let entries = [(0, 0, 4.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 3.0)];
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &entries)?;
/// let mut m = coarsen_relax::Ic0::default().build(&a, &Cpu::new())?;
/// let mut z = vec![0.0; 2];
/// m.apply(&vec![6.0, 5.0], &mut z);
/// assert_eq!(z, [1.0, 1.0]); // exact where there is no fill to drop
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ic0 {
    /// The first shift that is tried, as a fraction of the diagonal.
    pub first_shift: f64,
}

impl Default for Ic0 {
    /// Returns a first shift of 1e-3, as in Lin and Moré 1999.
    fn default() -> Self {
        Self { first_shift: 1e-3 }
    }
}

impl Factorise for Ic0 {
    const NAME: &'static str = "ic0";

    fn factorise<T: Real>(
        &self,
        a: &Bsr<T>,
        order: &Order,
        to: &mut Workspace<T>,
        cancel: Option<&Cancel>,
    ) -> Result<(PreconditionerKind, f64), SetupError> {
        if let Some((row, column)) = checks::asymmetric(a) {
            return Err(SetupError::Unsymmetric { method: "ic0", row, column });
        }
        let b = a.block().0;
        let mut shift = 0.0;
        loop {
            order.gather(a, &mut to.factors)?;
            if shift > 0.0 {
                let values = to.factors.values_mut();
                for &k in order.diagonal() {
                    values[k * b * b..(k + 1) * b * b]
                        .iter_mut()
                        .step_by(b + 1)
                        .for_each(|d| *d += *d * T::from_f64(shift));
                }
            }
            match eliminate(&mut to.factors, order, &mut to.pivots, true, cancel) {
                Ok(()) => return Ok((PreconditionerKind::Symmetric, shift)),
                Err(Fault::Cancelled) => return Err(SetupError::Cancelled),
                Err(Fault::Pivot { row, pivot }) if shift >= 1.0 => {
                    let row = order.old(row) * b;
                    return Err(SetupError::Pivot { method: "ic0", row, pivot, shift });
                }
                Err(Fault::Pivot { .. }) => shift = (2.0 * shift).clamp(self.first_shift, 1.0),
            }
        }
    }
}

coarsen_backend::inherent_build!(Ic0);

impl<T: Real, V: Real, B: Backend<Vector = Vec<V>, Real = V>> Setup<T, B> for Ic0 {
    type Built = IncompleteFactor<Self, T, B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError> {
        if !(self.first_shift > 0.0 && self.first_shift <= 1.0) {
            let (name, range) = ("Ic0::first_shift", "above 0 and at most 1");
            return Err(coarsen_core::Error::Parameter { name, value: self.first_shift, range }.into());
        }
        build(*self, system, backend)
    }
}
