//! New values on old structure where the matrix is.
//!
//! Level by level, from the finest on: the values of A, its inverted diagonal, the bound of its spectrum, and
//! Pᵀ A P for the next level. The host sees a few numbers a level, and the coarsest matrix, which it factors.

use coarsen_backend::{NumericPlace, SetupError, Smoother, Transfer};
use coarsen_core::{Error, Real};
use coarsen_sparse::Bsr;

use super::Hierarchy;
use crate::Coarsening;

/// What [`Hierarchy::update_on_device`] needs beside the hierarchy: which products make each coarse block,
/// and where the coarsest matrix lands.
///
/// Belongs to the hierarchy that made it, until that one is built anew.
pub struct NumericPlan<T: Real, B: NumericPlace> {
    products: Vec<B::Galerkin>,
    /// The coarsest matrix, at the place and here; a hierarchy of one level has it from its caller.
    coarsest: Option<B::Matrix>,
    host: Bsr<T>,
}

impl<T: Real, B: NumericPlace, C: Coarsening<T>, S> Hierarchy<T, B, C, S> {
    /// The plan of all levels. Lists of block products travel, once: 8 bytes a product.
    ///
    /// # Errors
    /// [`SetupError::NotHere`] where the method makes coarse matrices or terms of its own, or the place has
    /// no matrix of P; and those of the place.
    pub fn numeric_plan(&self) -> Result<NumericPlan<T, B>, SetupError> {
        let termed = self.levels.iter().any(|level| level.seen.is_some()) || self.seen.is_some();
        if termed || self.levels.iter().any(|level| level.host.own) {
            return Err(SetupError::NotHere { method: self.recipe.coarsening.name() });
        }
        let last = self.levels.last().map(|level| &level.host.matrix);
        let host = match last {
            Some(matrix) => matrix.clone(),
            None => Bsr::zeros(self.pattern.clone(), (self.block, self.block))?,
        };
        let coarsest = last.map(|matrix| self.on.matrix(matrix)).transpose()?;
        let mut products = Vec::with_capacity(self.levels.len());
        for (l, level) in self.levels.iter().enumerate() {
            let next = self.levels.get(l + 1).map(|next| whole(&*next.smoother)).transpose()?;
            let Some(coarse) = next.or(coarsest.as_ref()) else { break };
            let matrices = [whole(&*level.smoother)?, stored(&*level.transfer)?, coarse];
            products.push(self.on.galerkin(matrices, &level.host.coarse.dead)?);
        }
        Ok(NumericPlan { products, coarsest, host })
    }

    /// Follows a matrix of the place, of the pattern and the layout that was built for: matrices, inverted
    /// diagonals and bounds of all levels are computed there.
    ///
    /// Prolongations stay, as with [`Keep::Transfers`](crate::Keep::Transfers), and so do nodes left out of
    /// aggregation: build anew after constraints are released. Matrices that the host shows
    /// ([`matrix`](Self::matrix)) stay those of the last build or update; `update` may follow at any time.
    /// Symmetry is not checked: the class stays, and the caller ensures that the new values have it too.
    /// *Deviation* from `update`: a coarse node that has become free to move is an error, not given a
    /// diagonal. *Cost* that of the products; Chebyshev and damped steps look at two numbers a Lanczos step,
    /// the coarsest matrix travels to the host and its factor or inverse back.
    ///
    /// # Errors
    /// [`SetupError::Level`] names level and row of a diagonal block that has no use, [`SetupError::NotHere`]
    /// a smoother that follows on the host alone, [`SetupError::Coarsest`], and those of the place. After an
    /// error the hierarchy must follow a sound matrix before it is used.
    pub fn update_on_device(
        &mut self,
        a: &B::Matrix,
        plan: &mut NumericPlan<T, B>,
    ) -> Result<(), SetupError> {
        let Self { on, levels, bottom, .. } = self;
        if plan.products.len() != levels.len() {
            return Err(Error::Pattern { what: "the numeric plan of another hierarchy" }.into());
        }
        for l in 0..levels.len() {
            let (finer, here) = levels.split_at_mut(l);
            let above = finer.last().map(|fine| Ok((whole(&*fine.smoother)?, stored(&*fine.transfer)?)));
            let above = above.transpose().map_err(|cause: SetupError| cause.on_level(l))?;
            let fill = &mut |to: &mut B::Matrix| match above.zip(plan.products[..l].last()) {
                None => on.copy_values(a, to),
                Some(((a, p), product)) => on.product(product, a, p, to),
            };
            here[0].smoother.update_on_device(fill).map_err(|cause| cause.on_level(l))?;
        }
        match (levels.last(), plan.products.last(), &mut plan.coarsest) {
            (Some(fine), Some(product), Some(coarsest)) => {
                on.product(product, whole(&*fine.smoother)?, stored(&*fine.transfer)?, coarsest)?;
                on.read_values(coarsest, &mut plan.host)?;
            }
            _ => on.read_values(a, &mut plan.host)?,
        }
        bottom.update(&plan.host).map_err(|cause| cause.on_level(levels.len()))
    }
}

/// A of a level as its smoother holds it.
fn whole<T: Real, B: NumericPlace>(smoother: &dyn Smoother<T, B>) -> Result<&B::Matrix, SetupError> {
    smoother.matrix().ok_or(SetupError::NotHere { method: "a smoother that does not store the whole matrix" })
}

/// P as the transfer of a level holds it.
fn stored<T: Real, B: NumericPlace>(transfer: &dyn Transfer<T, B>) -> Result<&B::Matrix, SetupError> {
    transfer.matrix().ok_or(SetupError::NotHere { method: "a transfer that does not store P as a matrix" })
}
