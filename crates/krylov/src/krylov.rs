//! The signature of every method.

use coarsen_core::{Error, LinearOperator, Monitor, Preconditioner, Report, Stop, Vector};

/// An iterative method for A x = b, object safe.
///
/// x is the starting guess on entry. On return it is the solution, the last iterate where the budget is spent or a monitor
/// stopped the solve (`BiCgStab`, `Minres` and `Richardson`: the one of smallest residual), and the best finite one seen otherwise, also where the
/// solve diverged: never NaN unless the guess was. The residual in the report is recomputed from it. A method owns its vectors after the first solve: the next
/// one of the same length at the same place allocates nothing. (Called from outside a thread pool, loops over more than
/// [`THRESHOLD`](coarsen_core::parallel::THRESHOLD) entries enter one, and the queue of rayon allocates 1.5 KB at every 63rd: wrap the program in
/// [`threads`](coarsen_core::parallel::threads).)
///
/// b may have any size: where its square leaves the range of ordinary ones, x and b are divided by a power of two while the solve runs, which costs
/// a vector and a few passes and loses nothing (monitors then see no x, and a guess whose residual has no square in those units counts as zeros).
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
    /// Solves A x = b with preconditioner M from the guess x; `monitor` sees every look.
    ///
    /// A right-hand side of zeros gives x = 0 in 0 iterations, and so does an exact guess keep x. How the mathematics
    /// ended is in [`Report::outcome`].
    ///
    /// # Errors
    /// Before anything is written: [`Error::NotSquare`], [`Error::Shape`], [`Error::Layout`], [`Error::Parameter`] for the stopping rule and
    /// the fields of the method, [`Error::Preconditioner`] for one of a class the method cannot use,
    /// [`Error::NotFinite`] with the index of the first NaN or infinity in b or x, where the place can tell. Later only
    /// [`Error::Device`] and [`Error::Memory`].
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut dyn Monitor<V>,
    ) -> Result<Report<V::Real>, Error>;

    /// The stopping rule, to be changed between solves (the forcing terms of an inexact Newton method).
    fn stop_mut(&mut self) -> &mut Stop<V::Real>;

    /// [`solve_with`](Self::solve_with) and nobody looking on.
    ///
    /// # Errors
    /// Those of [`solve_with`](Self::solve_with).
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
}
