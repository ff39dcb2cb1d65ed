//! The sum of a static matrix and a small, changing set of blocks.
//!
//! A product makes one pass over the block rows. Each leaf of the fixed tree multiplies its rows of the
//! matrix and then adds its contact blocks. So the bits do not depend on the number of threads, and the extra
//! cost is that of the contact blocks.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel::{self, Groups, each, tree};
use coarsen_core::simd::{self, Kernel, Pack, Set};
use coarsen_core::{Dot, LinearOperator, Real, compiled, products};

use crate::rows::{BlockRows, LEAF as LEAF_ROWS};
use crate::{Bsr, Contacts, Pattern, SparseError, fits, row_product};

/// The number of scalar rows per leaf, as in the product with the matrix alone.
const ROWS: usize = 1024;

/// The number of contact blocks of a row that are multiplied at a time.
const TOGETHER: usize = 32;

/// A + C as one operator: an elastic matrix A with a fixed pattern, and contact blocks C that change.
///
/// *Use* if contact changes too often to build a new matrix each time. Preconditioners that receive both
/// parts can be repaired locally. For other preconditioners use [`merge`](Self::merge). *Cost* of a product:
/// a product with A and one with the contact blocks.
///
/// *Reference* Wu et al. 2022, §4.2; Li et al. 2020, "P-Cloth", §3.2.
///
/// ```
/// use coarsen_core::LinearOperator;
/// use coarsen_sparse::{Bsr, Contacts, Sum};
/// let elastic = Bsr::<f64>::identity(2, 1)?;
/// let mut contact = Contacts::new(2, 1)?;
/// contact.replace(&[(0, 1)], &[10.0])?;
/// let sum = Sum { elastic: &elastic, contact: &contact };
/// let mut y = vec![0.0; 2];
/// sum.apply(&vec![1.0, 2.0], &mut y);
/// assert_eq!(y, [21.0, 2.0]);
/// assert_eq!(sum.merge()?.get(0, 1), 10.0);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sum<'a, T> {
    /// A: square, with square blocks.
    pub elastic: &'a Bsr<T>,
    /// C: blocks of the same size as in A, between the same nodes.
    pub contact: &'a Contacts<T>,
}

compiled!(
    LEAF: Leaf<T, V> =
        fn(&Sum<'_, T>, Range<usize>, &[V], &mut [V]), (|sum, rows, x, y| sum.leaf_rows(rows, x, y))
);

impl<T: Real> Sum<'_, T> {
    /// Checks that A and C fit together; the other methods check this too.
    ///
    /// # Errors
    /// [`SparseError::Shape`] unless A is square with square blocks, and C has the same nodes and block size.
    pub fn check(&self) -> Result<(), SparseError> {
        let (pattern, (r, c)) = (self.elastic.pattern(), self.elastic.block());
        fits::sizes([
            ("sum, block columns of the elastic matrix", pattern.rows(), pattern.columns()),
            ("sum, columns of an elastic block", r, c),
            ("sum, nodes of the contact set", pattern.rows(), self.contact.nodes()),
            ("sum, block size of the contact set", r, self.contact.block()),
        ])
    }

    /// A + C as one matrix, with the union of both patterns.
    ///
    /// *Cost* two passes over the pattern of A and one over A. *Use* [`merge_in`](Self::merge_in) for updates.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn merge(&self) -> Result<Bsr<T>, SparseError> {
        self.check()?;
        self.merged(Arc::new(self.union()?))
    }

    /// A + C in `memory`, that of an earlier merge. If its pattern, or else `known`, is exactly the union of both,
    /// the result has the same `Arc` of it, so that a [`Pattern::same`] with it costs nothing; otherwise a new one.
    ///
    /// *Use* in every update of an object that needs one matrix. *Cost* a pass over the pattern of A and one over A; memory is
    /// allocated only for another pattern, and in the first call.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use coarsen_sparse::{Bsr, Contacts, Sum};
    /// let elastic = Bsr::<f64>::identity(2, 1)?;
    /// let mut contact = Contacts::new(2, 1)?;
    /// contact.replace(&[(0, 1)], &[10.0])?;
    /// let (built, mut memory) = (Sum { elastic: &elastic, contact: &contact }.merge()?, None);
    /// contact.replace(&[(0, 1)], &[20.0])?; // another stiffness
    /// let next = Sum { elastic: &elastic, contact: &contact }.merge_in(&mut memory, built.pattern())?;
    /// assert_eq!(next.get(0, 1), 20.0);
    /// assert!(Arc::ptr_eq(next.pattern(), built.pattern()));
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn merge_in<'r>(
        &self,
        memory: &'r mut Option<Bsr<T>>,
        known: &Arc<Pattern>,
    ) -> Result<&'r mut Bsr<T>, SparseError> {
        self.check()?;
        let block = self.elastic.block();
        let merged =
            match memory.take().filter(|memory| memory.block() == block && self.fits(memory.pattern())) {
                Some(mut merged) => {
                    self.fill(&mut merged);
                    merged
                }
                None if self.fits(known) => self.merged(known.clone())?,
                None => self.merged(Arc::new(self.union()?))?,
            };
        Ok(memory.insert(merged))
    }

    /// A + C on a pattern that contains both.
    fn merged(&self, pattern: Arc<Pattern>) -> Result<Bsr<T>, SparseError> {
        let mut merged = Bsr::zeros(pattern, self.elastic.block())?;
        self.fill(&mut merged);
        Ok(merged)
    }

    /// The union of the patterns of A and C.
    fn union(&self) -> Result<Pattern, SparseError> {
        let a = self.elastic.pattern();
        let parallel = parallel::worth(a.len() + self.contact.len());
        let mut offsets = vec![0; a.rows() + 1];
        let count = |(rows, counts): (Range<usize>, &mut [usize])| {
            self.rows(rows.clone(), |i, contact| {
                merge_row(a.row(i), contact, |_| counts[i - rows.start] += 1)
            });
        };
        each((0..a.rows(), &mut offsets[1..]), ROWS, parallel, &count);
        (0..a.rows()).for_each(|i| offsets[i + 1] += offsets[i]);
        let mut indices = vec![0; offsets[a.rows()]];
        let list = |leaf: BlockRows<'_, u32>| {
            let mut to = leaf.values.iter_mut();
            self.rows(leaf.rows, |i, contact| {
                merge_row(a.row(i), contact, |j| to.next().into_iter().for_each(|to| *to = j));
            });
        };
        each(BlockRows::new(&offsets, 1, &mut indices), ROWS, parallel, &list);
        Pattern::new(a.columns(), offsets, indices)
    }

    /// Calls `f` with each of some block rows and the places of its contact blocks.
    fn rows(&self, rows: Range<usize>, mut f: impl FnMut(usize, &[(u32, u32)])) {
        let places = self.contact.places();
        let mut rest = &places[places.partition_point(|p| (p.0 as usize) < rows.start)..];
        for i in rows {
            let (row, later) = rest.split_at(rest.iter().take_while(|p| p.0 as usize == i).count());
            rest = later;
            f(i, row);
        }
    }

    /// Whether a pattern is the union of those of A and C.
    fn fits(&self, t: &Pattern) -> bool {
        let a = self.elastic.pattern();
        if (t.rows(), t.columns()) != (a.rows(), a.columns()) {
            return false;
        }
        let all = |rows: Range<usize>| {
            let mut fit = true;
            self.rows(rows, |i, contact| {
                let mut row = t.row(i).iter();
                fit = fit && a.row(i).iter().all(|j| row.any(|k| k == j));
                fit = fit && contact.iter().all(|place| t.find(i, place.1 as usize).is_some());
                if fit {
                    let more = contact.iter().filter(|place| a.find(i, place.1 as usize).is_none()).count();
                    fit = t.row(i).len() == a.row(i).len() + more;
                }
            });
            fit
        };
        tree(0..a.rows(), ROWS, parallel::worth(t.len()), &all, &|x, y| x && y)
    }

    /// Writes the values of A + C into a matrix that is known to contain all blocks.
    fn fill(&self, target: &mut Bsr<T>) {
        let (pattern, size) = (target.pattern().clone(), self.contact.block().pow(2));
        let leaf = |leaf: BlockRows<'_, T>| {
            let mut contact = self.contact.blocks(leaf.rows.clone()).peekable();
            leaf.in_order(|i, values| {
                values.fill(T::zero());
                add_row(pattern.row(i), values, self.elastic.row(i));
                let touching = std::iter::from_fn(|| contact.next_if(|block| block.0 == i));
                add_row(pattern.row(i), values, touching.map(|(_, j, block)| (j, block)));
            });
        };
        let rows = BlockRows::new(pattern.offsets(), size, target.values_mut());
        each(rows, LEAF_ROWS, parallel::worth(pattern.len() * size), &leaf);
    }

    /// (A x + C x) for the block rows of one leaf; `y` contains only these rows.
    fn leaf<V: Real>(&self, rows: Range<usize>, x: &[V], y: &mut [V]) {
        LEAF.of::<Leaf<T, V>>()(self, rows, x, y);
    }

    fn leaf_rows<V: Real>(&self, rows: Range<usize>, x: &[V], y: &mut [V]) {
        self.elastic.multiply_rows(rows.clone(), x, y);
        simd::run(AddContact { contact: self.contact, rows, x, y });
    }

    /// The number of block rows per leaf, and whether the product is large enough for several threads.
    fn cut(&self) -> (usize, bool) {
        let work = self.elastic.nnz() + self.contact.values().len();
        ((ROWS / self.contact.block()).max(1), parallel::worth_product(work))
    }

    fn assert_fits<V>(&self, x: &[V], y: &[V]) {
        let n = self.elastic.shape().0;
        assert!(self.check().is_ok(), "apply: elastic matrix and contact set do not fit; see Sum::check");
        assert!(
            x.len() == n && y.len() == n,
            "apply: a {n} x {n} sum, but x has {} entries and y has {}",
            x.len(),
            y.len()
        );
    }
}

/// Adds C x for the block rows `rows` to y, which contains only these rows.
struct AddContact<'a, T, V> {
    contact: &'a Contacts<T>,
    rows: Range<usize>,
    x: &'a [V],
    y: &'a mut [V],
}

impl<T: Real, V: Real> Kernel<V> for AddContact<'_, T, V> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        match self.contact.block() {
            1 => self.fixed::<I, I::Four, 1>(set),
            2 => self.fixed::<I, I::Four, 2>(set),
            3 => self.fixed::<I, I::Four, 3>(set),
            6 => self.fixed::<I, I::Eight, 6>(set),
            b => self.any(b),
        }
    }
}

impl<T: Real, V: Real> AddContact<'_, T, V> {
    /// The kernel for blocks of B x B: up to [`TOGETHER`] blocks of a row at a time.
    #[inline(always)]
    fn fixed<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(self, set: I) {
        let Self { contact, rows, x, y } = self;
        assert!(contact.block() == B && x.len() == contact.nodes() * B);
        let (mut places, mut values) = contact.rows(rows.clone());
        let mut columns = [0; TOGETHER];
        while let Some(&(i, _)) = places.first() {
            let count = places.iter().take(TOGETHER).take_while(|place| place.0 == i).count();
            columns.iter_mut().zip(&places[..count]).for_each(|(to, place)| *to = place.1);
            // SAFETY: there are B² values for each place. Columns of a row increase and are below the number of nodes, so that x
            // has B numbers for each, and B more before the last.
            let sums = unsafe {
                row_product::<V, T, I, P, B, B, true>(set, values.as_ptr(), &columns[..count], x.as_ptr())
            };
            let y = &mut y[(i as usize - rows.start) * B..][..B];
            y.iter_mut().zip(sums).for_each(|(y, sum)| *y += sum);
            (places, values) = (&places[count..], &values[count * B * B..]);
        }
    }

    /// The kernel for any block size.
    #[inline(always)]
    fn any(self, b: usize) {
        let first = self.rows.start;
        for (i, j, block) in self.contact.blocks(self.rows) {
            let (x, y) = (&self.x[j * b..(j + 1) * b], &mut self.y[(i - first) * b..(i - first + 1) * b]);
            for (y, row) in y.iter_mut().zip(block.chunks_exact(b)) {
                *y += row.iter().zip(x).map(|(a, &x)| a.to::<V>() * x).sum();
            }
        }
    }
}

/// Calls `f` for each column of a row of A or of contact, in increasing order.
fn merge_row(elastic: &[u32], contact: &[(u32, u32)], mut f: impl FnMut(u32)) {
    let (mut row, mut here) = (elastic.iter().peekable(), contact.iter().map(|place| &place.1).peekable());
    loop {
        let next = match (row.peek(), here.peek()) {
            (Some(&&j), Some(&&k)) => j.min(k),
            (Some(&&j), None) | (None, Some(&&j)) => j,
            (None, None) => return,
        };
        row.next_if(|&&j| j == next);
        here.next_if(|&&j| j == next);
        f(next);
    }
}

/// Adds blocks, in order of increasing columns, to a matrix row that contains all these columns.
fn add_row<'a, T: Real>(columns: &[u32], row: &mut [T], blocks: impl Iterator<Item = (usize, &'a [T])>) {
    let mut at = 0;
    for (j, block) in blocks {
        while (columns[at] as usize) < j {
            at += 1;
        }
        let target = &mut row[at * block.len()..(at + 1) * block.len()];
        target.iter_mut().zip(block).for_each(|(t, &v)| *t += v);
    }
}

impl<T: Real, V: Real> LinearOperator<Vec<V>> for Sum<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.elastic.shape()
    }

    fn apply(&self, x: &Vec<V>, y: &mut Vec<V>) {
        self.assert_fits(x, y);
        let (length, parallel) = self.cut();
        let rows = (0..self.contact.nodes(), Groups(&mut y[..], self.contact.block()));
        let body = |(rows, y): (Range<usize>, Groups<&mut [V]>)| self.leaf(rows, x, y.0);
        each(rows, length, parallel, &body);
    }

    fn apply_dot(&self, x: &Vec<V>, y: &mut Vec<V>) -> Dot<V> {
        self.assert_fits(x, y);
        let ((length, parallel), b) = (self.cut(), self.contact.block());
        let rows = (0..self.contact.nodes(), Groups(&x[..], b), Groups(&mut y[..], b));
        let body = |(rows, x_rows, y): (Range<usize>, Groups<&[V]>, Groups<&mut [V]>)| {
            self.leaf(rows, x, y.0);
            products(x_rows.0, y.0)
        };
        let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
        let [value, magnitude] = tree(rows, length, parallel, &body, &add);
        Dot { value: V::from_f64(value), magnitude: V::from_f64(magnitude) }
    }

    fn residual(&self, b: &Vec<V>, x: &Vec<V>, r: &mut Vec<V>) {
        self.assert_fits(x, r);
        assert_eq!(b.len(), r.len(), "residual: b and r differ in length");
        let ((length, parallel), k) = (self.cut(), self.contact.block());
        let rows = (0..self.contact.nodes(), Groups(&b[..], k), Groups(&mut r[..], k));
        let body = |(rows, b, r): (Range<usize>, Groups<&[V]>, Groups<&mut [V]>)| {
            self.leaf(rows, x, r.0);
            r.0.iter_mut().zip(b.0).for_each(|(r, &b)| *r = b - *r);
        };
        each(rows, length, parallel, &body);
    }
}
