//! Incomplete factorisation on the pattern of A: IC(0) and ILU(0), on blocks.
//!
//! A ≈ (L + I) D (I + D⁻¹U) with L and U on the strict pattern of A. Rows are taken in the order of the row sets of the place: sets one after
//! the other, the chunks of a set at once, rows inside a chunk in natural order. On a CPU a system of up to 4096 nodes is
//! one chunk, which is the natural order itself; larger ones have a few thick chunks.
//!
//! | file | step |
//! |---|---|
//! | `order` | P A Pᵀ in the order of the row sets |
//! | `eliminate` | the factors, row by row |
//! | `substitute` | z = U⁻¹ L⁻¹ r, the chunks of a set in parallel |
//! | `ic0`, `ilu0` | the recipes |

mod eliminate;
mod ic0;
mod ilu0;
mod order;
mod substitute;

use coarsen_backend::{Backend, DenseBlocks, Reused, SetupError, Update, check_range};
use coarsen_core::{Class, Error, Preconditioner, Real};
use coarsen_sparse::{Bsr, Pattern, System};

use eliminate::{Fault, eliminate};
use order::Order;
use substitute::substitute;

pub use ic0::Ic0;
pub use ilu0::Ilu0;

/// What [`Ic0`] and [`Ilu0`] build: incomplete factors of P A Pᵀ on the host.
///
/// `R` is the recipe, `T` the scalar of the matrix it follows, `B` a place whose vectors are `Vec`s. *Memory* as A, and
/// b² values a node; an update needs as much again, in `T`, and keeps it.
pub struct IncompleteFactor<R, T, B: Backend> {
    recipe: R,
    on: B,
    order: Order,
    /// L below the diagonal, U above it; the diagonal is not read.
    factors: Bsr<B::Stored>,
    pivots: DenseBlocks<B::Stored>,
    workspace: Option<Workspace<T>>,
    scratch: Vec<B::Real>,
    class: Class,
    shift: f64,
}

/// Where a factorisation is made, in the scalar of the matrix; kept from the first update on.
struct Workspace<T> {
    factors: Bsr<T>,
    pivots: DenseBlocks<T>,
    /// Where each column stands in the row being eliminated.
    place: Vec<u32>,
}

impl<T: Real> Workspace<T> {
    fn new(order: &Order, block: usize) -> Result<Self, SetupError> {
        let nodes = order.pattern().rows();
        Ok(Self {
            factors: Bsr::zeros(order.pattern().clone(), (block, block))?,
            pivots: DenseBlocks::new(block, vec![T::zero(); nodes * block * block])?,
            place: vec![0; nodes],
        })
    }

    /// Refuses factors that storage cannot hold.
    fn fits<S: Real>(&self) -> Result<(), Error> {
        check_range::<T, S>("the incomplete factor", self.factors.values())?;
        check_range::<T, S>("the inverse of the diagonal", self.pivots.values())
    }
}

/// How a recipe factorises.
trait Factorise: Copy + Send {
    /// The method's name in messages.
    const NAME: &'static str;

    /// Fills the workspace with the factors of A; returns what M promises and the relative diagonal shift used.
    ///
    /// # Errors
    /// [`SetupError`] names the row; the workspace is then garbage.
    fn factorise<T: Real>(
        &self,
        a: &Bsr<T>,
        order: &Order,
        to: &mut Workspace<T>,
    ) -> Result<(Class, f64), SetupError>;
}

/// Factorises in the order that the place prefers.
fn build<R: Factorise, T: Real, B: Backend>(
    recipe: R,
    system: System<'_, T>,
    on: &B,
) -> Result<IncompleteFactor<R, T, B>, SetupError> {
    system.check()?;
    let a = &*system.whole()?;
    let order = Order::new(&on.relaxation_order(a.pattern()), a.block().0, R::NAME)?;
    let mut workspace = Workspace::new(&order, a.block().0)?;
    let (class, shift) = recipe.factorise(a, &order, &mut workspace)?;
    workspace.fits::<B::Stored>()?;
    let scratch = if order.is_natural() { Vec::new() } else { vec![B::Real::default(); a.shape().0] };
    let (factors, pivots) = (workspace.factors.to(), workspace.pivots.to());
    Ok(IncompleteFactor {
        recipe,
        on: on.clone(),
        order,
        factors,
        pivots,
        workspace: None,
        scratch,
        class,
        shift,
    })
}

impl<R, T, B: Backend> IncompleteFactor<R, T, B> {
    /// The share of the diagonal that was added to it before the factorisation succeeded; 0 where none was needed.
    pub fn shift(&self) -> f64 {
        self.shift
    }
}

fn round<T: Real, S: Real>(from: &[T], to: &mut [S]) {
    to.iter_mut().zip(from).for_each(|(s, v)| *s = v.to());
}

impl<R: Factorise, T: Real, B: Backend> Update<T> for IncompleteFactor<R, T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        system.check()?;
        let a = &*system.whole()?;
        if a.block() != self.factors.block() || !Pattern::same(a.pattern(), self.order.of()) {
            *self = build(self.recipe, system, &self.on)?;
            return Ok(Reused::Nothing);
        }
        let workspace = match &mut self.workspace {
            Some(workspace) => workspace,
            none => none.insert(Workspace::new(&self.order, a.block().0)?),
        };
        let (class, shift) = self.recipe.factorise(a, &self.order, workspace)?;
        workspace.fits::<B::Stored>()?;
        (self.class, self.shift) = (class, shift);
        round(workspace.factors.values(), self.factors.values_mut());
        round(workspace.pivots.values(), self.pivots.values_mut());
        Ok(Reused::Structure)
    }
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
        match self.order.permutation() {
            None => {
                z.copy_from_slice(r);
                substitute(&self.factors, &self.pivots, &self.order, z);
            }
            Some(p) => {
                let b = self.factors.block().0;
                p.apply(b, r, &mut self.scratch);
                substitute(&self.factors, &self.pivots, &self.order, &mut self.scratch);
                p.apply_inverse(b, &self.scratch, z);
            }
        }
    }

    fn class(&self) -> Class {
        self.class
    }

    fn size(&self) -> Option<usize> {
        Some(self.factors.shape().0)
    }
}
