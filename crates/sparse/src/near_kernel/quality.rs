//! How well a matrix annihilates a near-kernel, and whether one of the two is ordered by component.

use std::fmt;
use std::ops::Range;

use coarsen_core::parallel::{tree, worth_product};
use coarsen_core::{Error, Real};

use super::NearKernel;
use crate::{Bsr, Permutation};

/// The number of block rows per task.
const LEAF: usize = 1024;

/// A row is free if the absolute value of its sum is at most this fraction of the sum of its absolute values.
const FREE: f64 = 1e-6;

/// The other order is found if it makes |A v| this many times smaller.
const SMALLER: f64 = 10.0;

/// Up to this share of |A| |v|, |A v| is small and there is nothing to find. Another order gives 0.1 to 1.
const SMALL: f64 = 0.01;

/// The largest number of unknowns per node for which the order by component is tested.
const COMPONENTS: usize = 6;

/// A measure of how well a matrix annihilates a vector b; see [`NearKernel::quality`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// ‖A b‖ / ‖ |A| |b| ‖ over all rows: 0 for a kernel vector, 1 without cancellation.
    pub all: f64,
    /// ‖A b‖ / ‖ |A| |b| ‖ over the free rows (rows with zero sum); `None` without free rows.
    pub free: Option<f64>,
}

/// A matrix and a near-kernel of which one is ordered by component and the other by node; see
/// [`NearKernel::by_component`]. Its text says which one, and what to do.
///
/// By node, the unknowns of a node follow each other. By component, all first components come before all second ones.
#[derive(Clone, Debug, PartialEq)]
pub struct ByComponent {
    /// Whether the matrix is ordered by component; otherwise the near-kernel is.
    pub matrix: bool,
    /// The number of unknowns per node.
    pub components: usize,
    /// ‖A v‖ / ‖ |A| |v| ‖ of the worst vector, in the given orders.
    pub before: f64,
    /// The same with both ordered by node.
    pub after: f64,
    /// The permutation P of unknowns that orders by node what is ordered by component.
    pub to_nodes: Permutation,
}

impl fmt::Display for ByComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { components, before, after, .. } = self;
        let (this, other) = match self.matrix {
            true => ("the matrix", "the near-kernel or the coordinates"),
            false => ("the near-kernel", "the matrix"),
        };
        write!(
            f,
            "{this} is ordered by component and {other} by node: |A v| is {before:.0e} of |A| |v|, and {after:.0e} in one \
             order; number the {components} unknowns of a node one after the other in {this}"
        )
    }
}

/// Sums of (A b)² and of (|A| |b|)² for each vector, over all rows and over free rows; whether a row is free.
type Sums = (Vec<[f64; 4]>, bool);

impl NearKernel {
    /// Returns how well `a` annihilates each vector.
    ///
    /// For a vector b, the result is the norm of A b relative to the norm of |A| |b|, over all rows and over
    /// the *free* rows only. A row is free if its sum over each component of a block vanishes (up to 1e-6 of
    /// the absolute sum), so that neither a constraint nor inertia acts on it. Rows next to a constraint do
    /// not annihilate rigid motions, so only free rows can detect wrong modes. On free rows the result is
    /// round-off for the rigid-body modes of a body at rest, and up to 1 for wrong signs or a wrong order.
    ///
    /// *Cost* k products with A and k with |A|, in one parallel pass over A with the same bits for any number of threads.
    ///
    /// # Errors
    /// [`Error::Shape`] for a matrix of a different size.
    pub fn quality<T: Real>(&self, a: &Bsr<T>) -> Result<Vec<Quality>, Error> {
        let components = a.block().1;
        self.measure(a, components, &|j| j % components)
    }

    /// Finds out whether one of `a` and the near-kernel is ordered by component and the other by node: |A v| is then at
    /// least ten times smaller with both in one order.
    ///
    /// Two to six unknowns per node are tried, whatever the blocks of A. |A v| is compared for the worst vector,
    /// over the rows whose sum over each component vanishes (over all rows if there are none), and it also becomes smaller
    /// over all rows. `None` if |A v| is small in
    /// the given orders, or in no order. *Use* before a setup that takes a near-kernel or rigid-body modes from coordinates.
    /// With P = [`to_nodes`](ByComponent::to_nodes) and 1 × 1 blocks, P A Pᵀ is by node if the matrix is by component;
    /// otherwise P v is by node.
    /// *Cost* that of [`quality`](Self::quality), and up to twenty times as much if |A v| is not small.
    ///
    /// ```
    /// use coarsen_sparse::{NearKernel, assembly};
    /// // Two springs along x and two along y between three nodes, by node.
    /// let spring = [(0, 0, 1.0), (0, 2, -1.0), (2, 0, -1.0), (2, 2, 1.0)];
    /// let entries: Vec<_> = (0..4).flat_map(|s| spring.map(|(i, j, v)| (i + s, j + s, v))).collect();
    /// let a = assembly::from_triplets(6, 6, &entries)?;
    /// let translations = NearKernel::constants(6, 2)?;
    /// assert_eq!(translations.by_component(&a)?, None);
    /// let by_component = NearKernel::from_columns(&[&[1., 1., 1., 0., 0., 0.], &[0., 0., 0., 1., 1., 1.]])?;
    /// let found = by_component.by_component(&a)?.expect("another order than that of the matrix");
    /// assert_eq!((found.matrix, found.components, found.after), (false, 2, 0.0));
    /// assert_eq!(by_component.permuted(&found.to_nodes)?, translations);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`quality`](Self::quality).
    pub fn by_component<T: Real>(&self, a: &Bsr<T>) -> Result<Option<ByComponent>, Error> {
        if worst(&self.quality(a)?)[0] <= SMALL {
            return Ok(None);
        }
        let (n, mut best) = (self.size(), None::<ByComponent>);
        for components in (2..=COMPONENTS).filter(|&k| n > k && n.is_multiple_of(k)) {
            let nodes = n / components;
            let order = (0..n).map(|i| (i % components * nodes + i / components) as u32).collect();
            let Ok(to_nodes) = Permutation::new(order) else { continue };
            for (matrix, order) in [(false, to_nodes.clone()), (true, to_nodes.inverse())] {
                let component = |j: usize| if matrix { j / nodes } else { j % components };
                let [before, all_before] = worst(&self.measure(a, components, &component)?);
                let [after, all_after] = worst(&self.permuted(&order)?.measure(a, components, &component)?);
                let is_smaller = SMALLER * after < before && all_after < all_before;
                if is_smaller && best.as_ref().is_none_or(|best| after < best.after) {
                    let to_nodes = to_nodes.clone();
                    best = Some(ByComponent { matrix, components, before, after, to_nodes });
                }
            }
        }
        Ok(best)
    }

    /// P B: row i is row `permutation.to_old(i)`.
    ///
    /// # Errors
    /// [`Error::Shape`] for a permutation of another size.
    pub fn permuted(&self, permutation: &Permutation) -> Result<Self, Error> {
        let (expected, found) = (self.size(), permutation.len());
        if expected != found {
            return Err(Error::Shape { what: "permutation of a near-kernel", expected, found });
        }
        let mut values = vec![0.0; self.values.len()];
        if self.vectors > 0 {
            permutation.apply(self.vectors, &self.values, &mut values);
        }
        Ok(Self { vectors: self.vectors, values })
    }

    /// [`quality`](Self::quality), where unknown j belongs to the component `component(j)`.
    fn measure<T: Real>(
        &self,
        a: &Bsr<T>,
        components: usize,
        component: &(dyn Fn(usize) -> usize + Sync),
    ) -> Result<Vec<Quality>, Error> {
        let (columns, k) = (a.shape().1, self.vectors);
        if columns != self.size() {
            return Err(Error::Shape { what: "near-kernel", expected: columns, found: self.size() });
        }
        let leaf = |rows: Range<usize>| self.sums(a, rows, components, component);
        let add = |(mut sums, any): Sums, (others, other): Sums| {
            let pairs = sums.iter_mut().flatten().zip(others.iter().flatten());
            pairs.for_each(|(sum, other)| *sum += other);
            (sums, any || other)
        };
        let work = worth_product(a.nnz() * k.max(1));
        let (sums, any_free) = tree(0..a.pattern().rows(), LEAF, work, &leaf, &add);
        let ratio = |a: f64, b: f64| if b > 0.0 { (a / b).sqrt() } else { 0.0 };
        let quality =
            |s: &[f64; 4]| Quality { all: ratio(s[0], s[1]), free: any_free.then(|| ratio(s[2], s[3])) };
        Ok(sums.iter().map(quality).collect())
    }

    /// The sums of some block rows.
    fn sums<T: Real>(
        &self,
        a: &Bsr<T>,
        rows: Range<usize>,
        components: usize,
        component: &(dyn Fn(usize) -> usize + Sync),
    ) -> Sums {
        let ((r, c), k) = (a.block(), self.vectors);
        let mut sums = vec![[0.0_f64; 4]; k];
        let (mut product, mut size) = (vec![0.0_f64; k], vec![0.0_f64; k]);
        let mut row_sums = vec![0.0_f64; components];
        let mut any_free = false;
        for i in rows.start * r..rows.end * r {
            product.fill(0.0);
            size.fill(0.0);
            row_sums.fill(0.0);
            let mut absolute = 0.0;
            for (j, block) in a.row(i / r) {
                for (q, v) in block[i % r * c..(i % r + 1) * c].iter().map(|v| v.as_f64()).enumerate() {
                    row_sums[component(j * c + q)] += v;
                    absolute += v.abs();
                    for (m, b) in self.row(j * c + q).iter().enumerate() {
                        product[m] += v * b;
                        size[m] += (v * b).abs();
                    }
                }
            }
            let free = absolute > 0.0 && row_sums.iter().all(|s| s.abs() <= FREE * absolute);
            any_free |= free;
            for m in 0..k {
                let squares = [product[m] * product[m], size[m] * size[m]];
                for (s, square) in squares.into_iter().enumerate() {
                    sums[m][s] += square;
                    sums[m][s + 2] += if free { square } else { 0.0 };
                }
            }
        }
        (sums, any_free)
    }
}

/// |A v| of the worst vector over free rows, if there are any, and over all rows.
fn worst(quality: &[Quality]) -> [f64; 2] {
    let largest = |of: fn(&Quality) -> f64| quality.iter().map(of).fold(0.0, f64::max);
    [largest(|q| q.free.unwrap_or(q.all)), largest(|q| q.all)]
}
