//! A finest level without a matrix, over a hierarchy with matrices.

use coarsen_backend::{Backend, Reused, Setup, SetupError, Smoother, Transfer, Update};
use coarsen_core::{Error, LinearOperator, Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_sparse::{Prolongation, System, TransposePlan};
use num_traits::zero;

use crate::{Coarsening, Hierarchy, Multigrid, SmootherParameters};

/// A V-cycle whose finest level is an operator, made by [`Multigrid::under`].
///
/// The caller provides the coarse matrix, discretised on the coarse grid or
/// assembled from products of A with the columns of P. *Cost* of an application: two steps of the smoother,
/// one residual with A, two transfers, and a cycle of the coarser hierarchy. *Memory*: one vector of the
/// finest level and two vectors of the next level.
pub struct MatrixFree<'a, T: Real, B: Backend, M> {
    a: &'a (dyn LinearOperator<B::Vector> + Sync),
    smoother: M,
    transfer: Box<dyn Transfer<T, B>>,
    below: Hierarchy<T, B>,
    residual: B::Vector,
    coarse_b: B::Vector,
    coarse_x: B::Vector,
}

impl<C, S> Multigrid<C, S> {
    /// Returns a cycle whose finest level is the operator `a`, above the hierarchy that these parameters build for the
    /// coarse system.
    ///
    /// `prolongation` maps from the unknowns of `coarse` to the unknowns of the operator. The cycle is
    /// symmetric positive definite if the smoother is self-adjoint and converges in energy, and if P and the
    /// coarse matrix belong to the same operator.
    ///
    /// ```
    /// use coarsen_backend::Cpu;
    /// use coarsen_core::{Stop, from_fn};
    /// use coarsen_krylov::Cg;
    /// use coarsen_multigrid::{Geometric, Multigrid};
    /// use coarsen_relax::Chebyshev;
    /// let n = 255; // −u″ on a line, h = 1/256
    /// let a = from_fn(n, move |x: &Vec<f64>, y: &mut Vec<f64>| {
    ///     let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
    ///     (0..n).for_each(|i| y[i] = 2.0 * x[i] - at(i.wrapping_sub(1)) - at(i + 1));
    /// });
    /// let backend = Cpu::new();
    /// let smoother = Chebyshev { degree: 2, ratio: 4.0, ..Chebyshev::default() };
    /// let smoother = smoother.matrix_free(&a, &[2.0; 255], &backend)?;
    /// let line = |i: u32| [(i, i, 1.0), (i, i + 1, -0.5), (i + 1, i, -0.5)]; // PᵀAP, by hand
    /// let entries: Vec<_> = (0..127).flat_map(line).filter(|&(i, j, _)| i.max(j) < 127).collect();
    /// let coarse = coarsen_sparse::assembly::from_triplets(127, 127, &entries)?;
    /// let (p, _) = Geometric::interpolate([255, 1, 1], 1)?.ok_or("a grid that can be coarsened")?;
    /// let mut m = Multigrid::geometric([127, 1, 1]).under(&a, smoother, &p, &coarse, &backend)?;
    /// let (b, mut x) = (vec![1.0; n], vec![0.0; n]);
    /// let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x)?.converged()?;
    /// assert!(report.iterations < 12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if P does not map from the coarse system to the operator, and the errors of the
    /// build.
    pub fn under<'a, 'c, T, B, M>(
        &self,
        a: &'a (dyn LinearOperator<B::Vector> + Sync),
        smoother: M,
        prolongation: &Prolongation<T>,
        coarse: impl Into<System<'c, T>>,
        backend: &B,
    ) -> Result<MatrixFree<'a, T, B, M>, SetupError>
    where
        T: Real + 'c,
        B: Backend,
        M: Smoother<B, T>,
        C: Coarsening<T>,
        S: SmootherParameters<B, T>,
    {
        let system = coarse.into();
        let (fine, columns) = prolongation.shape();
        let (rows, unknowns) = (a.shape().0, system.matrix.shape().0);
        for (what, expected, found) in [
            ("rows of the prolongation under an operator", rows, fine),
            ("columns of the prolongation under an operator", unknowns, columns),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found }.into());
            }
        }
        let transfer = backend.transfer(prolongation, &TransposePlan::new(prolongation.pattern())?)?;
        let coarse_b = backend.vector(&vec![zero(); unknowns])?;
        Ok(MatrixFree {
            a,
            smoother,
            transfer,
            below: self.build_from(system, backend)?,
            residual: backend.vector(&vec![zero(); rows])?,
            coarse_x: coarse_b.like()?,
            coarse_b,
        })
    }
}

impl<T: Real, B: Backend, M> MatrixFree<'_, T, B, M> {
    /// Returns the hierarchy of the coarse system.
    pub fn below(&self) -> &Hierarchy<T, B> {
        &self.below
    }
}

impl<T: Real, B: Backend, M: Smoother<B, T>> Preconditioner<B::Vector> for MatrixFree<'_, T, B, M> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        self.smoother.pre_smooth_residual(self.a, r, z, &mut self.residual);
        self.transfer.restrict(&self.residual, &mut self.coarse_b);
        self.below.apply(&self.coarse_b, &mut self.coarse_x);
        self.transfer.prolong_add(&self.coarse_x, z);
        self.smoother.post_smooth(self.a, r, z);
    }

    /// The weaker kind of the smoother and of the coarser levels.
    fn kind(&self) -> PreconditionerKind {
        self.smoother.kind().max(self.below.kind())
    }

    fn size(&self) -> Option<usize> {
        Some(self.residual.size())
    }
}

coarsen_backend::inherent_update!(MatrixFree<'a, T: Real, B: Backend, M>);

/// Updates the coarse system; the caller updates the smoother of the finest level.
impl<T: Real, B: Backend, M> Update<T> for MatrixFree<'_, T, B, M> {
    fn update_from(&mut self, coarse: System<'_, T>) -> Result<Reused, SetupError> {
        let (expected, found) = (self.coarse_b.size(), coarse.matrix.shape().0);
        if expected != found {
            return Err(Error::Shape { what: "unknowns of the coarse system", expected, found }.into());
        }
        self.below.update_from(coarse)
    }
}
