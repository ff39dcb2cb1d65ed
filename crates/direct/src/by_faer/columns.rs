//! A block matrix as scalar compressed columns, and its fill-reducing ordering.
//!
//! A is stored by rows, which are the columns of Aᵀ. For symmetric A the entries right of the diagonal in row
//! i are the entries below the diagonal in column i. So no transpose is formed.

use coarsen_sparse::Bsr;
use faer::Side;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::{SupernodalThreshold, amd};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};

use crate::DirectError;

/// The ratio of the sizes of rows, or of rows and diagonal, from which a matrix is scaled.
const RANGE: f64 = 1e3;

/// The part of each row that is copied.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Part {
    /// Row i from its diagonal on: the lower triangle of a symmetric matrix, by columns.
    Lower,
    /// All of row i: the transpose, by columns.
    Transpose,
}

/// Scalar compressed columns.
pub(crate) struct Columns {
    part: Part,
    starts: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
}

impl Columns {
    /// Copies the part of a square matrix, with its values.
    pub(crate) fn new(a: &Bsr<f64>, part: Part) -> Self {
        let n = a.shape().0;
        let (mut starts, mut rows) = (vec![0; n + 1], Vec::with_capacity(a.nnz()));
        let mut values = Vec::with_capacity(a.nnz());
        scalars(a, part, |i, j, v| {
            rows.push(j);
            values.push(v);
            starts[i + 1] = rows.len();
        });
        (0..n).for_each(|i| starts[i + 1] = starts[i + 1].max(starts[i])); // rows without entries
        Self { part, starts, rows, values }
    }

    /// Copies new values on the same pattern.
    pub(crate) fn refill(&mut self, a: &Bsr<f64>) {
        let mut places = self.values.iter_mut();
        scalars(a, self.part, |_, _, v| {
            if let Some(place) = places.next() {
                *place = v;
            }
        });
    }

    /// Changes all signs.
    pub(crate) fn negate(&mut self) {
        self.values.iter_mut().for_each(|v| *v = -*v);
    }

    /// The number of rows.
    pub(crate) fn size(&self) -> usize {
        self.starts.len() - 1
    }

    /// a_ii if it is stored, otherwise 0; for [`Part::Lower`].
    pub(crate) fn diagonal(&self, i: usize) -> f64 {
        let first = self.starts[i];
        if first < self.starts[i + 1] && self.rows[first] == i { self.values[first] } else { 0.0 }
    }

    /// max |aᵢⱼ| of each row of the symmetric matrix; for [`Part::Lower`].
    pub(crate) fn sizes(&self, sizes: &mut [f64]) {
        sizes.fill(0.0);
        for j in 0..self.size() {
            for k in self.starts[j]..self.starts[j + 1] {
                let (i, v) = (self.rows[k], self.values[k].abs());
                sizes[i] = sizes[i].max(v);
                sizes[j] = sizes[j].max(v);
            }
        }
    }

    /// Scales A to S A S with powers of two sᵢ, so that the largest entries of all rows are about equal, unless they differ
    /// by less than 1e3; for [`Part::Lower`]. If some diagonal entries are zero, and others are 1e3 times smaller than their
    /// rows, all entries of the diagonal become about 1 first: in the saddle-point matrix [K B; Bᵀ 0], K may be of any size
    /// beside B, and a K that is too small delays pivots. `sizes` becomes max |aᵢⱼ| of each row of S A S. *Reference* Ruiz
    /// 2001, "A scaling algorithm to equilibrate both rows and columns norms in matrices".
    pub(crate) fn equilibrate(&mut self, s: &mut [f64], sizes: &mut [f64]) {
        const SWEEPS: usize = 4;
        s.fill(1.0);
        self.sizes(sizes);
        if self.has_small_diagonal(sizes) {
            self.scale_by_diagonal(s, sizes);
        }
        let positive = sizes.iter().filter(|size| **size > 0.0);
        let (least, most) = positive.fold((f64::INFINITY, 0.0_f64), |(l, m), v| (l.min(*v), m.max(*v)));
        if most <= RANGE * least {
            return;
        }
        for _ in 0..SWEEPS {
            for size in sizes.iter_mut() {
                let ordinary = *size > f64::MIN_POSITIVE && size.is_finite();
                *size = if ordinary { (-0.5 * size.log2()).trunc().exp2() } else { 1.0 };
            }
            if sizes.iter().all(|t| *t == 1.0) {
                break;
            }
            s.iter_mut().zip(&*sizes).for_each(|(s, t)| *s *= t);
            self.scale(sizes);
            self.sizes(sizes);
        }
        self.sizes(sizes);
    }

    /// Whether some diagonal entries are zero, and others much smaller than the largest entries of their rows, `sizes`.
    fn has_small_diagonal(&self, sizes: &[f64]) -> bool {
        let all = || (0..self.size()).map(|i| (self.diagonal(i).abs(), sizes[i]));
        all().any(|(d, _)| d == 0.0) && all().any(|(d, size)| d > 0.0 && RANGE * d < size)
    }

    /// Scales A to S A S, so that the entries of its diagonal are about 1, and the largest entries of rows whose diagonal is
    /// zero; `sizes` becomes max |aᵢⱼ| of each row.
    fn scale_by_diagonal(&mut self, s: &mut [f64], sizes: &mut [f64]) {
        let root = |v: f64, power: f64| {
            let ordinary = v > f64::MIN_POSITIVE && v.is_finite();
            if ordinary { (power * v.log2()).round().exp2() } else { 1.0 }
        };
        let diagonal = |i: usize| self.diagonal(i).abs();
        (0..self.size()).for_each(|i| s[i] = root(diagonal(i), -0.5));
        sizes.fill(0.0);
        self.each(|i, j, at| {
            let v = self.values[at].abs();
            sizes[i] = sizes[i].max(v * s[j]);
            sizes[j] = sizes[j].max(v * s[i]);
        });
        (0..self.size()).filter(|&i| diagonal(i) == 0.0).for_each(|i| s[i] = root(sizes[i], -1.0));
        self.scale(s);
        self.sizes(sizes);
    }

    /// Scales A to S A S.
    fn scale(&mut self, s: &[f64]) {
        for j in 0..self.size() {
            for k in self.starts[j]..self.starts[j + 1] {
                self.values[k] *= s[self.rows[k]] * s[j];
            }
        }
    }

    /// Calls `f(i, j, at)` for the stored entries (i, j) with the index of their value.
    pub(crate) fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        for j in 0..self.size() {
            (self.starts[j]..self.starts[j + 1]).for_each(|at| f(self.rows[at], j, at));
        }
    }

    /// The value of this index.
    pub(crate) fn value(&self, at: usize) -> f64 {
        self.values[at]
    }

    /// The number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        8 * (self.starts.len() + self.rows.len() + self.values.len())
    }

    /// The structure as a type of faer.
    pub(crate) fn structure(&self) -> SymbolicSparseColMatRef<'_, usize> {
        let n = self.size();
        SymbolicSparseColMatRef::new_checked(n, n, &self.starts, None, &self.rows)
    }

    /// The structure of the transpose: starts, and rows.
    pub(crate) fn turned(&self) -> (Vec<usize>, Vec<usize>) {
        let mut starts = vec![0; self.size() + 1];
        self.rows.iter().for_each(|&i| starts[i + 1] += 1);
        (0..self.size()).for_each(|i| starts[i + 1] += starts[i]);
        let (mut next, mut rows) = (starts.clone(), vec![0; self.rows.len()]);
        self.each(|i, j, _| {
            rows[next[i]] = j;
            next[i] += 1;
        });
        (starts, rows)
    }

    /// The matrix as a type of faer.
    pub(crate) fn matrix(&self) -> SparseColMatRef<'_, usize, f64> {
        SparseColMatRef::new(self.structure(), &self.values)
    }
}

/// Calls `f(i, j, a_ij)` for the stored scalars of a part, row by row, with ascending columns.
fn scalars(a: &Bsr<f64>, part: Part, mut f: impl FnMut(usize, usize, f64)) {
    let (r, c) = a.block();
    for i in 0..a.shape().0 {
        for (block_column, values) in a.row(i / r) {
            for (k, &v) in values[i % r * c..(i % r + 1) * c].iter().enumerate() {
                let j = block_column * c + k;
                if part == Part::Transpose || j >= i {
                    f(i, j, v);
                }
            }
        }
    }
}

/// The structure of L for the lower triangle of a symmetric matrix, ordered by approximate minimum degree.
///
/// The ordering works on blocks and is expanded to scalars. The scalars of a block are eliminated together,
/// and the graph is smaller by the square of the block size.
///
/// *Reference* Amestoy, Davis and Duff 1996, "An approximate minimum degree ordering algorithm".
pub(crate) fn analyse(
    a: &Bsr<f64>,
    lower: &Columns,
    supernodal: SupernodalThreshold,
) -> Result<SymbolicCholesky<usize>, DirectError> {
    let memory = |_| DirectError::Memory { bytes: 2 * lower.bytes() };
    let (nodes, b) = (a.pattern().rows(), a.block().0);
    let (mut order, mut inverse) = (vec![0_usize; nodes], vec![0_usize; nodes]);
    let blocks: Vec<usize> = a.pattern().indices().iter().map(|&j| j as usize).collect();
    let graph = SymbolicSparseColMatRef::new_checked(nodes, nodes, a.pattern().offsets(), None, &blocks);
    let needed = amd::order_maybe_unsorted_scratch::<usize>(nodes, blocks.len());
    let mut scratch = MemBuffer::try_new(needed)
        .map_err(|_| DirectError::Memory { bytes: needed.unaligned_bytes_required() })?;
    let control = amd::Control::default();
    amd::order_maybe_unsorted(&mut order, &mut inverse, graph, control, MemStack::new(&mut scratch))
        .map_err(memory)?;

    let expand = |p: &[usize]| -> Vec<usize> { p.iter().flat_map(|&i| i * b..(i + 1) * b).collect() };
    let (order, inverse) = (expand(&order), expand(&inverse));
    let order = PermRef::new_checked(&order, &inverse, nodes * b);
    let params = CholeskySymbolicParams {
        supernodal_flop_ratio_threshold: supernodal,
        ..CholeskySymbolicParams::default()
    };
    factorize_symbolic_cholesky(lower.structure(), Side::Lower, SymmetricOrdering::Custom(order), params)
        .map_err(memory)
}
