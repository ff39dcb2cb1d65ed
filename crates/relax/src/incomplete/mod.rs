//! Incomplete factorisation on the pattern of A: IC(0) and ILU(0), on blocks.
//!
//! A ≈ (L + I) D (I + D⁻¹U) with L and U on the strict pattern of A. Rows are eliminated in the order of the
//! row sets of the backend: sets one after the other, the chunks of a set in parallel, rows inside a chunk in
//! natural order. On a CPU a system of fewer than 8192 nodes is one chunk in natural order; larger systems
//! have a few large chunks.
//!
//! | file | step |
//! |---|---|
//! | `order` | P A Pᵀ in the order of the row sets |
//! | `eliminate` | the factors, row by row, the chunks of a set in parallel |
//! | `substitute` | z = U⁻¹ L⁻¹ r, the chunks of a set in parallel |
//! | `ic0`, `ilu0` | the parameters |

mod eliminate;
mod ic0;
mod ilu0;
mod order;
mod substitute;

use coarsen_backend::{Backend, DenseBlocks, Merged, Reused, SetupError, Update, check_blocks, check_range};
use coarsen_core::{Cancel, Error, Preconditioner, PreconditionerKind, Real, parallel};
use coarsen_sparse::{Bsr, System};

use crate::checks;

use eliminate::{Fault, eliminate};
use order::Order;
use substitute::Substitution;

pub use ic0::Ic0;
pub use ilu0::Ilu0;

/// The preconditioner that [`Ic0`] and [`Ilu0`] build: incomplete factors of P A Pᵀ on the host.
///
/// `R` has the parameters, `T` the scalar of the matrix, `B` a backend whose vectors are `Vec`s. *Memory* as much as
/// A, and b² values per node. The first update allocates the same amount again, in `T`, and keeps it.
pub struct IncompleteFactor<R, T, B: Backend> {
    parameters: R,
    backend: B,
    order: Order,
    /// L below the diagonal and U above the diagonal; the diagonal is not read.
    factors: Bsr<B::Stored>,
    pivots: DenseBlocks<B::Stored>,
    workspace: Option<Workspace<T>>,
    scratch: Vec<B::Real>,
    kind: PreconditionerKind,
    shift: f64,
    merged: Merged,
}

/// The workspace of a factorisation, in the precision of the matrix; an update keeps it for later updates.
struct Workspace<T> {
    factors: Bsr<T>,
    pivots: DenseBlocks<T>,
}

impl<T: Real> Workspace<T> {
    fn new(order: &Order, block: usize) -> Result<Self, SetupError> {
        let nodes = order.pattern().rows();
        Ok(Self {
            factors: Bsr::zeros(order.pattern().clone(), (block, block))?,
            pivots: DenseBlocks::new(block, vec![T::zero(); nodes * block * block])?,
        })
    }

    /// Returns an error if storage cannot hold the factors.
    fn fits<S: Real>(&self) -> Result<(), Error> {
        check_range::<T, S>("the incomplete factor", self.factors.values())?;
        check_blocks::<T, S>("the inverse of the diagonal", &self.pivots)
    }
}

/// The factorisation with some parameters.
trait Factorise: Copy + Send {
    /// The name of the method in messages.
    const NAME: &'static str;

    /// Fills the workspace with the factors of a finite A; returns the kind of M and the relative diagonal
    /// shift.
    ///
    /// # Errors
    /// [`SetupError`] with the row, or [`SetupError::Cancelled`] once `cancel` is set; the contents of the workspace are then
    /// undefined.
    fn factorise<T: Real>(
        &self,
        a: &Bsr<T>,
        order: &Order,
        to: &mut Workspace<T>,
        cancel: Option<&Cancel>,
    ) -> Result<(PreconditionerKind, f64), SetupError>;
}

/// Builds the factors in the order of the backend.
fn build<R: Factorise, T: Real, B: Backend>(
    parameters: R,
    system: System<'_, T>,
    backend: &B,
) -> Result<IncompleteFactor<R, T, B>, SetupError> {
    let a = &*checks::finite(&system)?;
    let order = Order::new(&backend.relaxation_order(a.pattern()), a.block().0, R::NAME)?;
    let mut workspace = Workspace::new(&order, a.block().0)?;
    let (kind, shift) = parameters.factorise(a, &order, &mut workspace, system.cancel)?;
    workspace.fits::<B::Stored>()?;
    let scratch = if order.is_natural() { Vec::new() } else { vec![B::Real::default(); a.shape().0] };
    let (factors, pivots) = (workspace.factors.to(), workspace.pivots.to());
    Ok(IncompleteFactor {
        parameters,
        backend: backend.clone(),
        order,
        factors,
        pivots,
        workspace: None,
        scratch,
        kind,
        shift,
        merged: Merged::default(),
    })
}

impl<R, T, B: Backend> IncompleteFactor<R, T, B> {
    /// Returns the diagonal shift with which the factorisation succeeded, as a fraction of the diagonal; 0 if
    /// no shift was needed.
    pub fn shift(&self) -> f64 {
        self.shift
    }
}

coarsen_backend::inherent_update!(IncompleteFactor<R, T, B: Backend>);

impl<R: Factorise, T: Real, B: Backend> Update<T> for IncompleteFactor<R, T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let pattern = self.order.of().clone();
        Merged::update(
            self,
            |method| &mut method.merged,
            &system,
            &pattern,
            |method, a| {
                a.check_finite()?;
                if checks::same(a, method.factors.block().0, method.order.of()) {
                    return refactor(method, a, system.cancel);
                }
                *method = build(method.parameters, system, &method.backend)?;
                Ok(Reused::Nothing)
            },
        )
    }
}

/// Factorises new values on the pattern of the factor.
fn refactor<R: Factorise, T: Real, B: Backend>(
    factor: &mut IncompleteFactor<R, T, B>,
    a: &Bsr<T>,
    cancel: Option<&Cancel>,
) -> Result<Reused, SetupError> {
    let workspace = match &mut factor.workspace {
        Some(workspace) => workspace,
        none => none.insert(Workspace::new(&factor.order, a.block().0)?),
    };
    let (kind, shift) = factor.parameters.factorise(a, &factor.order, workspace, cancel)?;
    workspace.fits::<B::Stored>()?;
    (factor.kind, factor.shift) = (kind, shift);
    parallel::map(workspace.factors.values(), factor.factors.values_mut(), |v| v.to());
    parallel::map(workspace.pivots.values(), factor.pivots.values_mut(), |v| v.to());
    Ok(Reused::Structure)
}

impl<R, T: Real, V: Real, B: Backend<Vector = Vec<V>, Real = V>> Preconditioner<Vec<V>>
    for IncompleteFactor<R, T, B>
{
    fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        let n = self.factors.shape().0;
        assert!(
            r.len() == n && z.len() == n,
            "incomplete factor: {n} rows met r of {} and z of {}",
            r.len(),
            z.len()
        );
        Substitution::run(&self.factors, self.pivots.values(), &self.order, r, &mut self.scratch, z);
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.factors.shape().0)
    }
}
