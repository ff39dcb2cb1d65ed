//! What a multigrid method has to say: how a grid becomes a coarser one.

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, NearKernel, Pattern, Prolongation, System};

/// One level as a coarsening sees it: matrix, near-kernel, geometry.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a, T> {
    /// The matrix of this level, square in square blocks.
    pub a: &'a Bsr<T>,
    /// Vectors v with A v small, where they are known.
    pub near_kernel: Option<&'a NearKernel>,
    /// One point a node, where they are known.
    pub positions: Option<&'a [[f64; 3]]>,
    /// A bound of ρ(D⁻¹A), D the block diagonal of A, where the smoother has found one.
    pub radius: Option<f64>,
    /// The set of each node, `u32::MAX` for nodes in none, where the smoother solves sets of nodes exactly:
    /// what it leaves to a coarser grid are errors that are smooth across them.
    pub sets: Option<&'a [u32]>,
    /// The inverses of the diagonal blocks, where the smoother has them.
    pub inverses: Option<&'a DenseBlocks<T>>,
    /// Which nodes are neighbours, where not all whose rows meet are.
    pub links: Option<&'a Pattern>,
    /// The finest matrix without contact, where contact is kept apart.
    pub elastic: Option<&'a Bsr<T>>,
    /// How many levels lie above; 0 is the finest.
    pub depth: usize,
}

impl<'a, T: Real> Grid<'a, T> {
    /// A finest level of which nothing but its matrix is known.
    pub fn new(a: &'a Bsr<T>) -> Self {
        Self {
            a,
            near_kernel: None,
            positions: None,
            radius: None,
            sets: None,
            inverses: None,
            links: None,
            elastic: None,
            depth: 0,
        }
    }

    /// The finest level of a system; `a` is its matrix with its contact.
    pub fn finest(system: &System<'a, T>, a: &'a Bsr<T>) -> Self {
        let System { matrix, contact, near_kernel, positions, links, .. } = *system;
        Self { near_kernel, positions, links, elastic: contact.map(|_| matrix), ..Self::new(a) }
    }

    /// The level below one of depth `depth` − 1, to which `coarse` leads and whose matrix is `a`.
    pub(crate) fn below<X>(coarse: &'a Coarse<T, X>, a: &'a Bsr<T>, depth: usize) -> Self {
        let (near_kernel, positions) = (coarse.near_kernel.as_ref(), coarse.positions.as_deref());
        Self { near_kernel, positions, links: coarse.links.as_ref(), depth, ..Self::new(a) }
    }
}

impl<T> Grid<'_, T> {
    /// Whether the near-kernel comes from the grid above.
    pub(crate) fn inherits(&self) -> bool {
        self.depth > 0 && self.near_kernel.is_some()
    }
}

/// The step from a grid to the next coarser one; `X` is what the method keeps of its own.
#[derive(Clone, Debug)]
pub struct Coarse<T, X = ()> {
    /// P: from coarse to fine unknowns, in blocks of b x k, as weights or as identities.
    pub prolongation: Prolongation<T>,
    /// The near-kernel in coarse coordinates.
    pub near_kernel: Option<NearKernel>,
    /// One point a coarse node.
    pub positions: Option<Vec<[f64; 3]>>,
    /// Which coarse nodes are neighbours, where the finer grid says so of its own.
    pub links: Option<Pattern>,
    /// Coarse scalar unknowns without a basis function, sorted: their columns of P are zero, and the
    /// hierarchy gives them a diagonal entry of the size of their node's.
    pub dead: Vec<u32>,
    /// The aggregate of each fine node, `u32::MAX` for nodes that relaxation alone solves; for methods that
    /// have aggregates.
    pub aggregates: Option<Vec<u32>>,
    /// What the method itself wants to know of this step, on the next coarser grid and in updates.
    pub state: X,
}

impl<T, X> Coarse<T, X> {
    /// A step of which nothing but its prolongation is known.
    pub fn new(prolongation: impl Into<Prolongation<T>>, state: X) -> Self {
        let prolongation = prolongation.into();
        let (near_kernel, positions, links) = (None, None, None);
        Self { prolongation, near_kernel, positions, links, dead: Vec::new(), aggregates: None, state }
    }
}

/// The one thing a multigrid method has to say.
///
/// The hierarchy does the rest: Galerkin products, smoothers, cycles, reuse. *Implement*
/// [`coarsen`](Self::coarsen) and [`name`](Self::name); the rest only where it can be done better. *Copy*
/// [`Geometric`](crate::Geometric), [`RugeStueben`](crate::RugeStueben) or
/// [`PlainAggregation`](crate::PlainAggregation), of one file each.
pub trait Coarsening<T: Real>: Clone {
    /// What a step keeps beside the transfers; `()` for nothing.
    type State: Clone;

    /// The next coarser grid, or `None` when this one cannot be coarsened further; `above` is what the step
    /// to `fine` has kept, none on the finest.
    ///
    /// # Errors
    /// [`SetupError`] names the row or node that stands in the way.
    fn coarsen(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Self::State>,
    ) -> Result<Option<Coarse<T, Self::State>>, SetupError>;

    /// New values of P for a grid with other values, on the pattern that `coarse` has.
    ///
    /// The provided one coarsens anew, and takes the values where the pattern is the same.
    ///
    /// # Errors
    /// As [`coarsen`](Self::coarsen), and [`Error::Pattern`] where the method finds another pattern; `coarse`
    /// stays as it is then.
    fn refresh(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&Self::State>,
        coarse: &mut Coarse<T, Self::State>,
    ) -> Result<(), SetupError> {
        let what = "the prolongation that new values ask for (build anew)";
        let next = self.coarsen(fine, above)?;
        let kept = next.and_then(|next| {
            let prolongation = next.prolongation.on_structure_of(&coarse.prolongation)?;
            Some(Coarse { prolongation, ..next })
        });
        *coarse = kept.ok_or(Error::Pattern { what })?;
        Ok(())
    }

    /// The matrix of the coarse grid, where the method has one of its own: discretised there, or assembled by
    /// particles. `None` for the Galerkin product PᵀAP.
    ///
    /// It is square, of the unknowns and blocks that P leads to, and in an update of the pattern that it had
    /// in the build; else the hierarchy refuses it.
    ///
    /// # Errors
    /// [`SetupError`] names the row or node that stands in the way.
    fn matrix(
        &self,
        fine: &Grid<'_, T>,
        coarse: &Coarse<T, Self::State>,
    ) -> Result<Option<Bsr<T>>, SetupError> {
        let _ = (fine, coarse);
        Ok(None)
    }

    /// Whether a level has a term T that only its smoother and its coarsest solve use: they work with A + T,
    /// and PᵀAP is made of A alone.
    ///
    /// `above` is what the step to this level has kept, none on the finest. *Use* to make free motions of a
    /// coarse level regular: added to A itself, such a term would stiffen real motions of every level below.
    /// The hierarchy then leaves singular diagonal blocks of this level to the method. No level by default.
    fn has_term(&self, above: Option<&Self::State>) -> bool {
        let _ = above;
        false
    }

    /// A ← A + T on a copy `a` of the matrix of a level that [has a term](Self::has_term), within its pattern.
    ///
    /// # Errors
    /// [`SetupError`] names the row or node that stands in the way.
    fn add_term(&self, a: &mut Bsr<T>, above: Option<&Self::State>) -> Result<(), SetupError> {
        let _ = (a, above);
        Ok(())
    }

    /// What a step keeps, for a matrix between the same nodes whose pattern is `after` and was `before`:
    /// contact that came or went.
    fn carried(&self, state: &Self::State, before: &Pattern, after: &Pattern) -> Self::State {
        let _ = (before, after);
        state.clone()
    }

    /// Bytes of what a step keeps.
    fn state_bytes(&self, state: &Self::State) -> usize {
        let _ = state;
        0
    }

    /// What tables call it.
    fn name(&self) -> &'static str;
}
