//! Operators `*`, `+` and `-`, for programs and tests that are written like formulas.

use std::ops::{Add, Mul, Neg};
use std::sync::Arc;

use coarsen_core::{LinearOperator, Real};

use crate::{Bsr, Pattern};

/// y = A x in a new vector. Loops that must not allocate use [`apply`](LinearOperator::apply).
///
/// *Panics* if the length of x is not the number of columns of A.
///
/// ```
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 1, 3.0)])?;
/// assert_eq!(&a * &vec![1.0, 2.0], [4.0, 6.0]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
impl<T: Real, V: Real> Mul<&Vec<V>> for &Bsr<T> {
    type Output = Vec<V>;

    fn mul(self, x: &Vec<V>) -> Vec<V> {
        let mut y = vec![V::zero(); self.shape().0];
        self.apply(x, &mut y);
        y
    }
}

/// A + B over the union of both patterns. *Cost* one serial pass over A and B.
///
/// *Panics* if the shapes or the block sizes differ.
///
/// ```
/// use coarsen_sparse::assembly::from_triplets;
/// let (a, b) = (from_triplets(2, 2, &[(0, 0, 2.0)])?, from_triplets(2, 2, &[(0, 0, 1.0), (1, 0, 5.0)])?);
/// let sum = &a + &b;
/// assert_eq!((sum.get(0, 0), sum.get(1, 0), sum.nnz()), (3.0, 5.0, 2));
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
impl<T: Real> Add for &Bsr<T> {
    type Output = Bsr<T>;

    fn add(self, other: Self) -> Bsr<T> {
        assert!(
            self.shape() == other.shape() && self.block() == other.block(),
            "A + B: A is {:?} in blocks of {:?}, B is {:?} in blocks of {:?}",
            self.shape(),
            self.block(),
            other.shape(),
            other.block()
        );
        let (p, q) = (self.pattern(), other.pattern());
        if Pattern::same(p, q) {
            let mut sum = self.clone();
            sum.values_mut().iter_mut().zip(other.values()).for_each(|(s, v)| *s += *v);
            return sum;
        }
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..p.rows() {
            let (mut here, mut there) = (self.row(i).peekable(), other.row(i).peekable());
            while let Some(j) = here.peek().iter().chain(&there.peek()).map(|entry| entry.0).min() {
                indices.push(j as u32);
                let mine = here.next_if(|entry| entry.0 == j).map(|entry| entry.1);
                match (mine, there.next_if(|entry| entry.0 == j).map(|entry| entry.1)) {
                    (Some(v), Some(w)) => values.extend(v.iter().zip(w).map(|(v, w)| *v + *w)),
                    (v, w) => values.extend_from_slice(v.or(w).unwrap_or_default()),
                }
            }
            offsets.push(indices.len());
        }
        let pattern = Pattern::new(p.columns(), offsets, indices).expect("merged rows are sorted");
        Bsr::new(Arc::new(pattern), self.block(), values).expect("every block has its values")
    }
}

/// −A.
///
/// ```
/// let a = coarsen_sparse::assembly::from_triplets(1, 1, &[(0, 0, 2.0)])?;
/// assert_eq!((-&a).get(0, 0), -2.0);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
impl<T: Real> Neg for &Bsr<T> {
    type Output = Bsr<T>;

    fn neg(self) -> Bsr<T> {
        let mut negative = self.clone();
        negative.values_mut().iter_mut().for_each(|v| *v = -*v);
        negative
    }
}
