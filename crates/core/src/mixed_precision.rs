//! A rounded operator for products, the exact operator for residuals.

use crate::{Dot, Error, LinearOperator, Vector};

/// The operator A with rounded entries in products and exact entries in the residual b − A x.
///
/// Products with a matrix are limited by memory bandwidth, and f32 storage halves the memory traffic. The
/// exact residual corrects the rounding of the entries. *Use* in `Cg` with `replace_residual`, if κ(A) is
/// well below 1 / ε of the rounded storage, as in implicit steps of cloth and soft bodies. *Not* if rounding
/// to f32 makes the system singular to working precision: the solve then ends as stagnated. *Cost* one
/// rounded product per iteration, one exact product per residual; memory of both matrices.
/// *Reference* van der Vorst & Ye 2000, SIAM J. Sci. Comput. 22 (residual replacement); Clark, Babich,
/// Barros, Brower, Rebbi 2010, Comput. Phys. Commun. 181, §4 (reliable updates in mixed precision).
///
/// ```
/// use coarsen_core::{LinearOperator, MixedPrecision, from_fn};
/// let third = |x: &Vec<f64>, y: &mut Vec<f64>| y[0] = x[0] / 3.0;
/// let (exact, rounded) = (from_fn(1, third), from_fn(1, |x: &Vec<f64>, y: &mut Vec<f64>| y[0] = 0.3333 * x[0]));
/// let a = MixedPrecision::new::<Vec<f64>>(&exact, &rounded)?;
/// let (mut y, mut r) = (vec![0.0], vec![0.0]);
/// a.apply(&vec![3.0], &mut y);
/// a.residual(&vec![1.0], &vec![3.0], &mut r);
/// assert_eq!((y[0], r[0]), (0.3333 * 3.0, 0.0));
/// # Ok::<(), coarsen_core::Error>(())
/// ```
pub struct MixedPrecision<'a, A: ?Sized, R: ?Sized> {
    exact: &'a A,
    rounded: &'a R,
}

impl<'a, A: ?Sized, R: ?Sized> MixedPrecision<'a, A, R> {
    /// Combines both operators, which must have the same shape.
    ///
    /// # Errors
    /// [`Error::Shape`] if the numbers of rows or columns differ.
    pub fn new<V: Vector>(exact: &'a A, rounded: &'a R) -> Result<Self, Error>
    where
        A: LinearOperator<V>,
        R: LinearOperator<V>,
    {
        let ((rows, columns), (r, c)) = (exact.shape(), rounded.shape());
        for (what, expected, found) in
            [("rows of the rounded operator", rows, r), ("columns of the rounded operator", columns, c)]
        {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        Ok(Self { exact, rounded })
    }
}

impl<V, A, R> LinearOperator<V> for MixedPrecision<'_, A, R>
where
    V: Vector,
    A: LinearOperator<V> + ?Sized,
    R: LinearOperator<V> + ?Sized,
{
    fn shape(&self) -> (usize, usize) {
        self.exact.shape()
    }

    fn apply(&self, x: &V, y: &mut V) {
        self.rounded.apply(x, y);
    }

    fn apply_dot(&self, x: &V, y: &mut V) -> Dot<V::Scalar> {
        self.rounded.apply_dot(x, y)
    }

    fn residual(&self, b: &V, x: &V, r: &mut V) {
        self.exact.residual(b, x, r);
    }
}
