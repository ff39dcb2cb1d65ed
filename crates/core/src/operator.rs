//! Linear operators: y = A x.

use std::marker::PhantomData;

use crate::{Dot, Vector};

/// A linear map on vectors of type `V`: the system matrix, a product of matrices, or code without a matrix.
///
/// `apply` must give the same y for the same x. An operator may keep scratch memory behind a `RefCell`, such
/// as values received from other ranks or the intermediate vector of a product. It is then `Send` but not
/// `Sync`. Nothing here requires `Sync`, and `apply` is never called from within itself. Solvers take
/// operators as `&dyn LinearOperator<V>`; the cost of one virtual call per product is negligible.
///
/// *Panics* if a vector has the wrong length. Solvers check [`shape`](Self::shape) first and return
/// [`Error::Shape`](crate::Error::Shape).
///
/// ```
/// use coarsen_core::{LinearOperator, from_fn};
/// let twice = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| y.iter_mut().zip(x).for_each(|(y, x)| *y = 2.0 * x));
/// let mut y = vec![0.0; 2];
/// twice.apply(&vec![1.0, 2.0], &mut y);
/// assert_eq!(y, [2.0, 4.0]);
/// ```
pub trait LinearOperator<V: Vector> {
    /// The numbers of rows and columns, in scalars, summed over all ranks.
    fn shape(&self) -> (usize, usize);

    /// y = A x.
    fn apply(&self, x: &V, y: &mut V);

    /// yⱼ = A xⱼ for all j. *Panics* if there are not as many y as x.
    ///
    /// The default makes one pass over A per vector; a matrix format may override it with one pass for
    /// several vectors.
    fn apply_many(&self, x: &[V], y: &mut [V]) {
        assert_eq!(x.len(), y.len(), "apply_many: vectors");
        x.iter().zip(y).for_each(|(x, y)| self.apply(x, y));
    }

    /// y = A x for a square A. Returns x·y (the curvature along x) and Σ|xᵢyᵢ|.
    ///
    /// The default makes a second pass over x and y; formats override it to avoid this pass.
    fn apply_dot(&self, x: &V, y: &mut V) -> Dot<V::Scalar> {
        self.apply(x, y);
        x.dot_magnitude(y)
    }

    /// r = b − A x.
    ///
    /// The default makes a second pass over b and r; formats override it to avoid this pass.
    fn residual(&self, b: &V, x: &V, r: &mut V) {
        self.apply(x, r);
        r.axpby(&b.scalar(num_traits::one()), b, &b.scalar(-num_traits::one::<V::Real>()));
    }
}

/// The borrowed operator.
impl<V: Vector, A: LinearOperator<V> + ?Sized> LinearOperator<V> for &A {
    fn shape(&self) -> (usize, usize) {
        (**self).shape()
    }

    fn apply(&self, x: &V, y: &mut V) {
        (**self).apply(x, y);
    }

    fn apply_many(&self, x: &[V], y: &mut [V]) {
        (**self).apply_many(x, y);
    }

    fn apply_dot(&self, x: &V, y: &mut V) -> Dot<V::Scalar> {
        (**self).apply_dot(x, y)
    }

    fn residual(&self, b: &V, x: &V, r: &mut V) {
        (**self).residual(b, x, r);
    }
}

/// A closure as a square operator; created by [`from_fn`].
pub struct FromFn<V, F> {
    n: usize,
    f: F,
    of: PhantomData<fn(&V)>,
}

/// The matrix-free operator of size n x n for a closure `f(x, y)` that computes y = A x and overwrites y.
///
/// *Use* for stencils and products of operators. `Jacobi` and `Chebyshev` have a constructor `matrix_free`
/// for such operators. Other preconditioners need an assembled matrix that approximates A.
pub fn from_fn<V: Vector, F: Fn(&V, &mut V)>(n: usize, f: F) -> FromFn<V, F> {
    FromFn { n, f, of: PhantomData }
}

impl<V: Vector, F: Fn(&V, &mut V)> LinearOperator<V> for FromFn<V, F> {
    fn shape(&self) -> (usize, usize) {
        (self.n, self.n)
    }

    fn apply(&self, x: &V, y: &mut V) {
        (self.f)(x, y);
    }
}
