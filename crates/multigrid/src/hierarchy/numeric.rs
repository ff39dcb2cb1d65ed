//! New values on an unchanged structure, computed on the backend of the matrix.
//!
//! From fine to coarse, the backend computes the values of each level: A, its inverted diagonal, the bound of
//! its spectrum, and PᵀAP for the next level. The host reads a few numbers per level and the coarsest matrix,
//! which it factors.

use coarsen_backend::{NumericBackend, SetupError, Transfer};
use coarsen_core::{Error, Real};
use coarsen_sparse::Bsr;

use super::smoother::LevelSmoother;
use super::{Hierarchy, term};
use crate::Grid;

/// The data for [`Hierarchy::update_on_device`]: the list of block products of each coarse block, and memory
/// for the coarsest matrix.
///
/// A plan is valid for the hierarchy that made it, until that hierarchy is built again.
pub struct NumericPlan<T: Real, B: NumericBackend> {
    products: Vec<B::Galerkin>,
    /// For each Galerkin product, the correction for the terms of its two levels.
    offsets: Vec<Option<B::Matrix>>,
    /// The coarsest matrix on the backend; `None` for a hierarchy of one level.
    coarsest: Option<B::Matrix>,
    host: Bsr<T>,
}

impl<T: Real, B: NumericBackend> Hierarchy<T, B> {
    /// Returns the plan of all levels. The lists of block products are copied once to the backend, with 8 bytes
    /// per product.
    ///
    /// # Errors
    /// [`SetupError::HostOnly`] if the method makes its own coarse matrices or the backend does not store P as a
    /// matrix, and the errors of the backend.
    pub fn numeric_plan(&self) -> Result<NumericPlan<T, B>, SetupError> {
        if self.levels.iter().any(|level| level.host.own) {
            return Err(SetupError::HostOnly { method: self.method.name() });
        }
        let last = self.levels.last().map(|level| &level.host.matrix);
        let host = match last {
            Some(matrix) => matrix.clone(),
            None => Bsr::zeros(self.pattern.clone(), (self.block, self.block))?,
        };
        let coarsest = last.map(|matrix| self.backend.matrix(matrix)).transpose()?;
        let mut products = Vec::with_capacity(self.levels.len());
        let mut offsets = Vec::with_capacity(self.levels.len());
        for (l, level) in self.levels.iter().enumerate() {
            let next = self.levels.get(l + 1).map(|next| whole(&next.smoother)).transpose()?;
            let Some(coarse) = next.or(coarsest.as_ref()) else { break };
            let matrices = [whole(&level.smoother)?, stored(&*level.transfer)?, coarse];
            products.push(self.backend.galerkin(matrices, &level.host.coarse.without_basis)?);
            let fine =
                l.checked_sub(1).map(|above| (&self.levels[above].host.matrix, level.with_term.now.as_ref()));
            let with_term = self.levels.get(l + 1).map_or(&self.with_term, |next| &next.with_term);
            let host = &level.host;
            let coarse = (&host.matrix, with_term.now.as_ref());
            let offset = term::offset(fine, &host.coarse.prolongation, coarse)?;
            offsets.push(offset.map(|offset| self.backend.matrix(&offset)).transpose()?);
        }
        Ok(NumericPlan { products, offsets, coarsest, host })
    }

    /// Updates the hierarchy to a matrix on the backend, which has the pattern and layout of the build.
    /// Matrices, inverted diagonals and bounds of all levels are computed on the backend.
    ///
    /// Prolongations are kept, as with [`Keep::Transfers`](crate::Keep::Transfers). Nodes left out of
    /// aggregation stay left out, so build again after constraints are released. Host matrices
    /// ([`matrix`](Self::matrix)) keep the values of the last build or update; `update` can be called at any
    /// time. Symmetry is not checked: the kind is kept, and the caller must ensure that the new values
    /// belong to it. *Deviation* from `update`: a coarse node that has become free to move causes an error,
    /// and terms of levels keep the values of the build. *Cost*: the Galerkin products; two numbers read per
    /// Lanczos step of Chebyshev and damped smoothers; a copy of the coarsest matrix to the host, and of its
    /// factor or inverse back to the backend.
    ///
    /// # Errors
    /// [`SetupError::Level`] with level and row of an unusable diagonal block, [`SetupError::HostOnly`] for a
    /// smoother that updates only on the host, [`SetupError::Coarsest`], and the errors of the backend. After
    /// an error, update with a valid matrix before using the hierarchy.
    pub fn update_on_device(
        &mut self,
        a: &B::Matrix,
        plan: &mut NumericPlan<T, B>,
    ) -> Result<(), SetupError> {
        let Self { backend, levels, bottom, .. } = self;
        if plan.products.len() != levels.len() {
            return Err(Error::Pattern { what: "the numeric plan of another hierarchy" }.into());
        }
        for l in 0..levels.len() {
            let (finer, here) = levels.split_at_mut(l);
            let above = finer.last().map(|fine| Ok((whole(&fine.smoother)?, stored(&*fine.transfer)?)));
            let above = above.transpose().map_err(|cause: SetupError| cause.on_level(l))?;
            let fill = &mut |to: &mut B::Matrix| match above.zip(plan.products[..l].last()) {
                None => backend.copy_values(a, to),
                Some(((a, p), product)) => {
                    backend.product(product, a, p, to)?;
                    plan.offsets[l - 1].iter().try_for_each(|offset| backend.add(product, offset, to))
                }
            };
            here[0].smoother.update_on_device(fill).map_err(|cause| cause.on_level(l))?;
        }
        match (levels.last(), plan.products.last(), &mut plan.coarsest) {
            (Some(fine), Some(product), Some(coarsest)) => {
                backend.product(product, whole(&fine.smoother)?, stored(&*fine.transfer)?, coarsest)?;
                let offset = plan.offsets.last().and_then(Option::as_ref);
                offset.map_or(Ok(()), |offset| backend.add(product, offset, coarsest))?;
                backend.read_values(coarsest, &mut plan.host)?;
            }
            _ => backend.read_values(a, &mut plan.host)?,
        }
        let near_kernel = levels.last().and_then(|level| level.host.coarse.near_kernel.as_ref());
        let grid = Grid { near_kernel, depth: levels.len(), ..Grid::new(&plan.host) };
        bottom.update(&grid).map_err(|cause| cause.on_level(levels.len()))
    }
}

/// Returns the matrix A of a level.
fn whole<T: Real, B: NumericBackend>(smoother: &LevelSmoother<T, B>) -> Result<&B::Matrix, SetupError> {
    smoother
        .matrix()
        .ok_or(SetupError::HostOnly { method: "a smoother that does not store the whole matrix" })
}

/// Returns the matrix P that the transfer of a level stores.
fn stored<T: Real, B: NumericBackend>(transfer: &dyn Transfer<T, B>) -> Result<&B::Matrix, SetupError> {
    transfer.matrix().ok_or(SetupError::HostOnly { method: "a transfer that does not store P as a matrix" })
}
