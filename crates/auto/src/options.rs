//! The parameters.

use crate::{Method, Precond};

/// The default memory limit of a factor: 4 GiB.
pub const MEMORY: usize = 4 << 30;

/// Solves a system by the method with the lowest forecast, and limits the cost of wrong forecasts.
///
/// *Use* for a system that is solved once. For systems that follow each other `coarsen::Solver` keeps what it chose. *Cost*, in
/// the units of [`Costs`](crate::Costs): at most three times the cost of all methods tried, and at most three times the
/// cost of a sparse factor, if a factor is possible. If A is symmetric only to single precision, preconditioners are built of
/// (A + Aᵀ) / 2 and A is multiplied as it is, also if `method` prescribes conjugate gradients; the command asks for
/// `--symmetrize` there. A null space is given by [`Problem`](crate::Problem) and [`Plan::solve`](crate::Plan::solve). *Memory*: the
/// preconditioners that were tried, and a factor of up to `memory` bytes.
///
/// ```
/// use coarsen_auto::{Auto, Method};
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)])?;
/// let auto = Auto::default();
/// assert_eq!(auto.plan(&a)?.begins().0, Method::Direct);
/// let mut x = [0.0; 2];
/// let solved = auto.solve(&a, &[3.0, 3.0], &mut x)?.converged()?;
/// assert!((x[0] - 1.0).abs() < 1e-12);
/// println!("{solved}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Auto {
    /// The tolerance for the relative residual ‖b − A x‖ / ‖b‖; 1e-8 by default.
    pub tolerance: f64,
    /// A residual norm ‖b − A x‖ that is small enough whatever ‖b‖ is, in the unit of b; 0 by default.
    pub absolute: f64,
    /// The maximal number of iterations of all methods together; 5000 by default.
    pub max_iterations: usize,
    /// The memory limit in bytes for a factor, if iterations are an alternative. The default is [`MEMORY`] and does not
    /// depend on the free memory.
    pub memory: usize,
    /// The method, if it is prescribed.
    pub method: Option<Method>,
    /// The preconditioner, if it is prescribed; there is then no factor, unless the method is [`Method::Direct`].
    pub precond: Option<Precond>,
    /// Whether a factor is excluded.
    pub iterate: bool,
    /// Whether preconditioners are first tried in f32; the default.
    pub single: bool,
    /// Whether smoothed aggregation is a variable preconditioner (a K-cycle), so that conjugate gradients must be flexible.
    pub varies: bool,
}

impl Default for Auto {
    fn default() -> Self {
        Self {
            tolerance: 1e-8,
            absolute: 0.0,
            max_iterations: 5000,
            memory: MEMORY,
            method: None,
            precond: None,
            iterate: false,
            single: true,
            varies: false,
        }
    }
}
