//! A constant matrix with an inner solve.

use coarsen_core::{LinearOperator, Outcome, Preconditioner, Real, Vector};
use coarsen_krylov::Krylov;

use crate::direction::{fits, minus, vectors};
use crate::line_search::within;
use crate::{DescentError, Direction, Proposal, Refusal};

/// The direction d = −A⁻¹ ∇f(x) for a constant matrix A, solved by a Krylov method: the global step of
/// Projective Dynamics.
///
/// A must bound the Hessian from above, so that steps of 1 descend; an example is a weighted Laplacian plus
/// M/h². *Use* if A is too large to factor. With a factorisation, [`Gradient::fixed`](crate::Gradient::fixed)
/// needs no inner iterations. *Cost* of an iteration: 1 inner solve. *Memory*: 1 vector, and the vectors of
/// the inner method. *Reference* Xian, Tong & Liu 2019, Algorithm 1 with Eq. 3; Bouaziz et al. 2014.
///
/// ```
/// use coarsen_core::{Identity, Stop, from_fn};
/// use coarsen_krylov::Cg;
/// use coarsen_optimize::{Backtracking, Constant, Descent, Rosenbrock};
/// let a = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| y.iter_mut().zip(x).for_each(|(y, x)| *y = 1000.0 * x));
/// let mut direction = Constant::new(a, Identity, Cg::new(Stop::relative(1e-3)));
/// let mut x = vec![0.9, 0.8];
/// Descent::new(Backtracking::default(), Stop::absolute(0.1)).minimize(&mut Rosenbrock, &mut direction, &mut x)?.converged()?;
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct Constant<V: Vector, A, M, K> {
    /// The matrix A.
    pub matrix: A,
    /// The preconditioner of A.
    pub inverse: M,
    /// The inner method with its tolerance.
    pub inner: K,
    iterations: usize,
    p: Vec<V>,
}

impl<V: Vector, A: LinearOperator<V>, M: Preconditioner<V>, K: Krylov<V>> Constant<V, A, M, K> {
    /// Returns the direction for a matrix, its preconditioner and an inner method.
    pub fn new(matrix: A, inverse: M, inner: K) -> Self {
        Self { matrix, inverse, inner, iterations: 0, p: Vec::new() }
    }
}

impl<V, F, A, M, K> Direction<V, F> for Constant<V, A, M, K>
where
    V: Vector,
    F: ?Sized,
    A: LinearOperator<V>,
    M: Preconditioner<V>,
    K: Krylov<V>,
{
    fn prepare(&mut self, x: &V) -> Result<(), DescentError> {
        fits(&self.inverse, x)?;
        let budget = self.inner.stop_mut().max_iterations;
        within("Constant::inner, max_iterations", V::Real::from_f64(budget as f64), budget > 0, "1 or more")?;
        vectors::<V, 1>(&mut self.p, x)?;
        Ok(())
    }

    fn propose(&mut self, _: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        let [p] = vectors(&mut self.p, x)?;
        p.fill(num_traits::zero());
        let report = self.inner.solve(&self.matrix, &mut self.inverse, g, p)?;
        self.iterations += report.iterations;
        Ok(match report.outcome {
            Outcome::Converged | Outcome::IterationLimit | Outcome::Stagnated => {
                d.scaled(&minus(g), p);
                Proposal::Unit
            }
            outcome => Proposal::Refused(Refusal::Inner(outcome)),
        })
    }

    fn inner_iterations(&self) -> usize {
        self.iterations
    }
}
