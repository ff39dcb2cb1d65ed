//! The interface of a multigrid method: the step from a grid to the next coarser grid.

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::{Cancel, Error, Real};
use coarsen_sparse::{Bsr, GalerkinPlan, NearKernel, Pattern, Prolongation, System};

/// One level: its matrix, near-kernel and geometry.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a, T> {
    /// The matrix of this level, square in square blocks.
    pub a: &'a Bsr<T>,
    /// Vectors v with A v small, if known.
    pub near_kernel: Option<&'a NearKernel>,
    /// One point per node, if known.
    pub positions: Option<&'a [[f64; 3]]>,
    /// An upper bound of ρ(D⁻¹A), where D is the block diagonal of A, if the smoother has computed it.
    pub radius: Option<f64>,
    /// The set of each node, if the smoother solves sets of nodes exactly; `u32::MAX` for nodes in no set.
    /// The remaining error is smooth within each set.
    pub sets: Option<&'a [u32]>,
    /// The inverses of the diagonal blocks, if the smoother has them.
    pub inverses: Option<&'a DenseBlocks<T>>,
    /// The largest absolute value of A up to round-off, if the smoother has found, or was told, that A is symmetric to
    /// round-off.
    pub largest: Option<T>,
    /// The neighbours of each node, if they differ from the pattern of A.
    pub links: Option<&'a Pattern>,
    /// The finest matrix without contact, if contact is stored separately.
    pub elastic: Option<&'a Bsr<T>>,
    /// The flag that ends the setup of this level when it is raised.
    pub cancel: Option<&'a Cancel>,
    /// The number of finer levels; 0 for the finest level.
    pub depth: usize,
}

impl<'a, T: Real> Grid<'a, T> {
    /// Returns a finest level with a matrix and no further data.
    pub fn new(a: &'a Bsr<T>) -> Self {
        Self {
            a,
            near_kernel: None,
            positions: None,
            radius: None,
            sets: None,
            inverses: None,
            largest: None,
            links: None,
            elastic: None,
            cancel: None,
            depth: 0,
        }
    }

    /// Returns the finest level of a system; `a` is its matrix including contact.
    pub fn finest(system: &System<'a, T>, a: &'a Bsr<T>) -> Self {
        let System { matrix, contact, near_kernel, positions, links, cancel } = *system;
        let elastic = contact.map(|_| matrix);
        Self { near_kernel, positions, links, elastic, cancel, ..Self::new(a) }
    }

    /// Returns the level at `depth` with the matrix `a`; `coarse` is the step from `depth` − 1.
    pub(crate) fn below<X: ?Sized>(coarse: &'a Coarse<T, X>, a: &'a Bsr<T>, depth: usize) -> Self {
        let (near_kernel, positions) = (coarse.near_kernel.as_ref(), coarse.positions.as_deref());
        Self { near_kernel, positions, links: coarse.links.as_ref(), depth, ..Self::new(a) }
    }
}

impl<T> Grid<'_, T> {
    /// Whether the near-kernel comes from the next finer grid.
    pub fn inherits(&self) -> bool {
        self.depth > 0 && self.near_kernel.is_some()
    }
}

/// The step from a grid to the next coarser grid; `X` is private data of the method.
#[derive(Clone, Debug)]
pub struct Coarse<T, X: ?Sized = ()> {
    /// P: from coarse to fine unknowns, in blocks of b x k. Blocks are stored in full, as weights, or as
    /// identities.
    pub prolongation: Prolongation<T>,
    /// The near-kernel in coarse coordinates.
    pub near_kernel: Option<NearKernel>,
    /// One point per coarse node.
    pub positions: Option<Vec<[f64; 3]>>,
    /// The neighbours of each coarse node, if the finer grid has `links`.
    pub links: Option<Pattern>,
    /// The coarse scalar unknowns without a basis function, sorted. Their columns of P are zero; the
    /// hierarchy gives them a diagonal entry of the size of the other diagonal entries of the node.
    pub without_basis: Vec<u32>,
    /// The aggregate of each fine node, `u32::MAX` for nodes that only relaxation solves; `None` for methods
    /// without aggregates.
    pub aggregates: Option<Vec<u32>>,
    /// The matrix of the coarse grid if the method makes its own, by discretisation or by assembly from particles;
    /// `None` for the Galerkin product PᵀAP. It must be square, and its rows must have the numbering and block size of
    /// the columns of P; the hierarchy returns an error for any other matrix, and takes this one out.
    pub matrix: Option<Bsr<T>>,
    /// Whether the coarse level has a term T. Its smoother or the coarsest solve then uses A + T
    /// ([`Coarsening::add_term`]), but the next PᵀAP is computed from A.
    ///
    /// *Use* to make a coarse level with rigid-body modes regular. Added to A itself, T would stiffen motions of all coarser
    /// levels. If a level has a term, the hierarchy does not regularise its singular diagonal blocks.
    pub has_term: bool,
    /// The size of the state in bytes, for the table.
    pub state_bytes: usize,
    /// The private data of the method for this step, used on the next coarser grid and in updates.
    pub state: X,
}

impl<T, X> Coarse<T, X> {
    /// Returns a step with a prolongation and no further data.
    pub fn new(prolongation: impl Into<Prolongation<T>>, state: X) -> Self {
        let prolongation = prolongation.into();
        Self {
            prolongation,
            near_kernel: None,
            positions: None,
            links: None,
            without_basis: Vec::new(),
            aggregates: None,
            matrix: None,
            has_term: false,
            state_bytes: 0,
            state,
        }
    }
}

/// The interface of a multigrid method.
///
/// The hierarchy provides Galerkin products, smoothers, cycles and updates. *Implement*
/// [`coarsen`](Self::coarsen) and [`name`](Self::name), and the other four functions only to improve on their
/// defaults. As a template, *copy* [`Geometric`](crate::Geometric), or the crate of
/// Ruge-Stueben coarsening, which have one file each.
pub trait Coarsening<T: Real>: Clone + Send + 'static {
    /// The data stored with each step in addition to the transfers; `()` for no data.
    type State: Clone + Send + 'static;

    /// Returns the next coarser grid, or `None` if the grid cannot be coarsened further. `above` is the state
    /// of the step to `fine`, `None` on the finest level.
    ///
    /// # Errors
    /// [`SetupError`] with the row or node at fault.
    fn coarsen(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Self::State>,
    ) -> Result<Option<Coarse<T, Self::State>>, SetupError>;

    /// Computes new values of P for new values of the grid, on the pattern of `coarse`, and the
    /// [matrix](Coarse::matrix) of a method that makes its own.
    ///
    /// A method with a matrix of its own is called in every update, and after a change of contact with another pattern of
    /// A; its new P is used with [`Keep::Aggregates`](crate::Keep::Aggregates) only. In an update the matrix must have
    /// the pattern of the build. The default coarsens again and takes the new values if the pattern of P is the same.
    ///
    /// # Errors
    /// The errors of [`coarsen`](Self::coarsen), and [`Error::Pattern`] if the new P has another pattern;
    /// `coarse` is then unchanged.
    fn refresh(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Self::State>,
        coarse: &mut Coarse<T, Self::State>,
    ) -> Result<(), SetupError> {
        let what = "the prolongation for new values (build anew)";
        let next = self.coarsen(fine, above)?;
        let kept = next.and_then(|next| {
            let prolongation = on_structure_of(&next.prolongation, &coarse.prolongation)?;
            Some(Coarse { prolongation, ..next })
        });
        *coarse = kept.ok_or(Error::Pattern { what })?;
        Ok(())
    }

    /// Returns PᵀAP; `plan` is the plan of this product. With `into`, the result of an earlier call for the same patterns,
    /// only values are computed, in this matrix.
    ///
    /// Without `into`, A is the matrix of [`coarsen`](Self::coarsen), or has another pattern after a change of contact;
    /// a state that depends on the pattern is then adapted. The default uses the plan. *Implement* it also if the structure of
    /// the grid allows a faster product.
    ///
    /// # Errors
    /// [`SetupError`] for products that are too large, and for matrices of another pattern.
    fn product(
        &self,
        a: &Bsr<T>,
        coarse: &mut Coarse<T, Self::State>,
        plan: &mut GalerkinPlan<T>,
        into: Option<Bsr<T>>,
    ) -> Result<Bsr<T>, SetupError> {
        let Some(mut made) = into else { return Ok(plan.build(a, &coarse.prolongation)?) };
        plan.update(a, &coarse.prolongation, &mut made)?;
        Ok(made)
    }

    /// Computes A ← A + T for a level that [has a term](Coarse::has_term). `a` is a copy of the matrix of this level, whose
    /// pattern must not change, and `above` the state of the step to it. The default adds nothing.
    ///
    /// # Errors
    /// [`SetupError`] with the row or node at fault.
    fn add_term(&self, a: &mut Bsr<T>, above: &Self::State) -> Result<(), SetupError> {
        let _ = (a, above);
        Ok(())
    }

    /// Returns the method for a build that replaces a hierarchy because a pattern has changed: that of A without contact,
    /// or only that of contact. In the second case `first` is the state of the first step, and the hierarchy uses the
    /// returned method once; in the first case it keeps it.
    ///
    /// The default is the same method. *Implement* it if a parameter belongs to one pattern, as a cut does, or if
    /// transfers depend on the body alone, so that they need not be computed again.
    fn changed(&self, first: Option<&Self::State>) -> Self {
        let _ = first;
        self.clone()
    }

    /// Returns the name printed in tables.
    fn name(&self) -> &'static str;
}

/// Returns P with the shared pattern of `old`; `None` if the form, the pattern or the block size differs.
fn on_structure_of<T: Real>(p: &Prolongation<T>, old: &Prolongation<T>) -> Option<Prolongation<T>> {
    use Prolongation::{Blocks, Identities, Weights};
    if p.block() != old.block() || !Pattern::same(p.pattern(), old.pattern()) {
        return None;
    }
    let mut new = old.clone();
    match (p, &new) {
        (Blocks(_), Blocks(_)) | (Weights(_), Weights(_)) => new.values_mut().copy_from_slice(p.values()),
        (Identities(_), Identities(_)) => (),
        _ => return None,
    }
    Some(new)
}
