//! Hierarchies in f32 for vectors in f64.

use coarsen_backend::{Cpu, Setup, SetupError};
use coarsen_core::F32Preconditioner;
use coarsen_sparse::System;

use crate::{Coarsening, Hierarchy, Multigrid};

/// A hierarchy that is computed and applied in f32, for vectors in f64.
pub type F32Hierarchy = F32Preconditioner<Hierarchy<f32, Cpu<f32>>>;

impl<C: Coarsening<f32>> Multigrid<C> {
    /// Builds the hierarchy of a system that was rounded to f32, as a preconditioner of vectors in f64.
    ///
    /// The setup, the levels and the cycle are in f32, while with `Cpu::mixed()` only the values of the levels are.
    /// *Use* for a preconditioner of a matrix in the range of f32 whose rounded entries still are positive definite.
    /// For updates round the new matrix and call [`F32Preconditioner::get_mut`].
    /// *Cost* and *memory* about half of those in f64.
    ///
    /// # Errors
    /// Those of [`Setup::build_from`]. Entries that are too large for f32 are not finite and are reported with their
    /// row.
    ///
    /// ```
    /// use coarsen_core::Stop;
    /// use coarsen_krylov::Cg;
    /// use coarsen_multigrid::Multigrid;
    /// use coarsen_sparse::System;
    /// let a = coarsen_problems::Problem::parse("poisson2d:40", &Default::default())?.matrix;
    /// let mut m = Multigrid::geometric([40, 40, 1]).build_f32(System::from(&a.to::<f32>()))?;
    /// let (b, mut x) = (vec![1.0_f64; 1600], vec![0.0; 1600]);
    /// let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x)?.converged()?;
    /// assert!(report.iterations < 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_f32(&self, system: System<'_, f32>) -> Result<F32Hierarchy, SetupError> {
        let n = system.matrix.shape().0;
        Ok(F32Preconditioner::new(self.build_from(system, &Cpu::single())?, n)?)
    }
}
