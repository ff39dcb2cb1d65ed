//! The trait of all Krylov methods.

use coarsen_core::{Error, LinearOperator, Monitor, Preconditioner, Report, Stop, Vector};

/// An iterative method for A x = b; object-safe.
///
/// On entry x is the starting guess, on return the solution. At the iteration limit, or if a monitor stops
/// the solve, x is the last iterate (for `BiCgStab`, `Minres` and `Richardson` the iterate of smallest
/// residual). For every other outcome, including divergence, x is the best finite iterate found. x contains
/// NaN only if the guess did. The residual in the report is recomputed from x.
///
/// A method keeps its vectors after the first solve. A later solve with the same size and layout allocates
/// nothing. Outside a thread pool this does not hold for loops over more than
/// [`THRESHOLD`](coarsen_core::parallel::THRESHOLD) entries: each of these loops enters the pool, and rayon
/// allocates 1.5 KB every 63 times. To avoid this, wrap the program in
/// [`threads`](coarsen_core::parallel::threads).
///
/// b may have any magnitude. If ‖b‖₂² overflows or underflows, x and b are divided by a power of two during
/// the solve. This costs a vector and a few passes and loses no accuracy. Monitors then receive no x. If the
/// scaled residual of the guess cannot be squared, the guess is replaced by zeros.
///
/// ```
/// use coarsen_core::{Identity, Stop, from_fn};
/// use coarsen_krylov::{Cg, Krylov};
/// let a = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| *y = vec![4.0 * x[0] + x[1], x[0] + 3.0 * x[1]]);
/// let (b, mut x) = (vec![1.0, 2.0], vec![0.0; 2]);
/// let report = Cg::new(Stop::relative(1e-12)).solve(&a, &mut Identity, &b, &mut x)?.converged()?;
/// assert!(report.iterations <= 2 && (x[0] - 1.0 / 11.0).abs() < 1e-12);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
pub trait Krylov<V: Vector> {
    /// Solves A x = b with preconditioner M from the guess x; `monitor` is called at every convergence test.
    ///
    /// If b = 0, the result is x = 0 in 0 iterations. An exact guess is returned in 0 iterations.
    /// [`Report::outcome`] states how the solve ended.
    ///
    /// # Errors
    /// Before anything is written: [`Error::NotSquare`], [`Error::Shape`], [`Error::Layout`],
    /// [`Error::Parameter`] for the stopping rule and the fields of the method, [`Error::Preconditioner`] for
    /// a class that the method cannot use, and [`Error::NotFinite`] with the index of the first NaN or
    /// infinity in b or x, if it can be found. Later only [`Error::Device`] and [`Error::Memory`].
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut dyn Monitor<V>,
    ) -> Result<Report<V::Real>, Error>;

    /// The stopping rule, for changes between solves (such as the forcing terms of an inexact Newton method).
    fn stop_mut(&mut self) -> &mut Stop<V::Real>;

    /// Sets the tolerance for √(rᵀM⁻¹r) relative to its first value. A solve then ends when this tolerance or
    /// the stopping rule is met; `None` removes the tolerance. Returns whether the method has this test: `Cg`
    /// and `FlexibleCg` have it.
    fn stop_in_preconditioner(&mut self, tolerance: Option<V::Real>) -> bool {
        let _ = tolerance;
        false
    }

    /// [`solve_with`](Self::solve_with) without a monitor.
    ///
    /// # Errors
    /// As [`solve_with`](Self::solve_with).
    fn solve(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
    ) -> Result<Report<V::Real>, Error> {
        self.solve_with(a, m, b, x, &mut ())
    }
}

impl<V: Vector, K: Krylov<V> + ?Sized> Krylov<V> for Box<K> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut dyn Monitor<V>,
    ) -> Result<Report<V::Real>, Error> {
        (**self).solve_with(a, m, b, x, monitor)
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        (**self).stop_mut()
    }

    fn stop_in_preconditioner(&mut self, tolerance: Option<V::Real>) -> bool {
        (**self).stop_in_preconditioner(tolerance)
    }
}
