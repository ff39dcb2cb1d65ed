//! ILU(0): incomplete LU factors on the pattern of A.

use coarsen_backend::{Backend, Setup, SetupError};
use coarsen_core::{Cancel, PreconditionerKind, Real};
use coarsen_sparse::{Bsr, System};

use crate::checks;

use super::{Factorise, Fault, IncompleteFactor, Order, Workspace, build, eliminate};

/// Incomplete LU without fill, on blocks.
///
/// *Use* for unsymmetric systems under `Gmres` or `BiCgStab`. On a symmetric matrix with positive pivots the
/// preconditioner is symmetric, and `Cg` accepts it. For other pivots [`Ic0`](super::Ic0) shifts the
/// diagonal. *Memory* as much as A, and twice as much from the first update on. *Cost* one pass over the
/// factors per application. *Reference* Saad 2003, §10.3.2.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Preconditioner;
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (1, 0, 1.0), (1, 1, 4.0)])?;
/// let mut m = coarsen_relax::Ilu0.build(&a, &Cpu::new())?;
/// let mut z = vec![0.0; 2];
/// m.apply(&vec![2.0, 5.0], &mut z);
/// assert_eq!(z, [1.0, 1.0]); // exact on a triangular matrix
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ilu0;

impl Factorise for Ilu0 {
    const NAME: &'static str = "ilu0";

    fn factorise<T: Real>(
        &self,
        a: &Bsr<T>,
        order: &Order,
        to: &mut Workspace<T>,
        cancel: Option<&Cancel>,
    ) -> Result<(PreconditionerKind, f64), SetupError> {
        let b = a.block().0;
        if checks::symmetric(a) {
            order.gather(a, &mut to.factors)?;
            match eliminate(&mut to.factors, order, &mut to.pivots, true, cancel) {
                Ok(()) => return Ok((PreconditionerKind::Symmetric, 0.0)),
                Err(Fault::Cancelled) => return Err(SetupError::Cancelled),
                Err(Fault::Pivot { .. }) => (),
            }
        }
        order.gather(a, &mut to.factors)?;
        match eliminate(&mut to.factors, order, &mut to.pivots, false, cancel) {
            Ok(()) => Ok((PreconditionerKind::Linear, 0.0)),
            Err(Fault::Cancelled) => Err(SetupError::Cancelled),
            Err(Fault::Pivot { row, .. }) => {
                Err(SetupError::ZeroPivot { method: "ilu0", row: order.old(row) * b })
            }
        }
    }
}

coarsen_backend::inherent_build!(Ilu0);

impl<T: Real, V: Real, B: Backend<Vector = Vec<V>, Real = V>> Setup<T, B> for Ilu0 {
    type Built = IncompleteFactor<Self, T, B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError> {
        build(*self, system, backend)
    }
}
