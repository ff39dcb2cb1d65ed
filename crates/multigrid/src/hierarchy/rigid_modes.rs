//! Diagonal terms that regularise the rigid-body modes of bodies that became one coarse node.
//!
//! | symbol | what |
//! |---|---|
//! | G | diagonal block of PᵀAP, k x k |
//! | S | diag(pᵀ diag(A) p) over the columns p of P that belong to this node |
//! | C | S^(−1/2) G S^(−1/2), whose largest eigenvalues are of the order of 1 |
//! | V | columns of length 1 that span the null space of C |

use std::ops::Range;

use coarsen_backend::DenseBlocks;
use coarsen_core::parallel::{self, Groups, each, tree};
use coarsen_core::small_dense::Cholesky;
use coarsen_core::{Real, largest};
use coarsen_sparse::{Bsr, Prolongation, TransposePlan};

/// The number of coarse nodes per task.
const LEAF: usize = 256;

/// Pivots of C below this multiple of EPSILON count as 0. It is the round-off of two sums of about ten terms.
const ROUND_OFF: f64 = 64.0;

/// The largest number of unknowns per coarse node for which a quick test is used.
pub(super) const LARGEST: usize = 12;
/// The largest number of unknowns for which the product of pivots is used.
const FEW: usize = 6;
/// The factor by which pivots of the quick test must exceed round-off.
const MARGIN: f64 = 64.0;

/// Workspace to test one diagonal block at a time.
pub(super) struct RigidModes<T> {
    /// diag(A).
    diagonal: Vec<T>,
    /// pᵀ diag(A) p of every column p of P.
    sizes: Vec<T>,
    /// pᵀ p of every column of a P that does not change; empty before the first quick test of all nodes.
    norms: Vec<T>,
    /// For each coarse node, whether its C may be singular.
    pub(super) suspects: Vec<bool>,
    workspace: Workspace,
}

/// Workspace of one diagonal block.
pub(super) struct Workspace {
    /// G and the diagonal of S.
    g: Vec<f64>,
    s: Vec<f64>,
    /// A vector with G v = 0, then S^(1/2) times a column of V.
    v: Vec<f64>,
    factor: Cholesky,
}

impl Workspace {
    pub(super) fn new(k: usize) -> Self {
        let g = vec![0.0; k * k];
        let factor = Cholesky::pivoted(&g, k, 0.0); // allocates its memory
        Self { g, s: vec![0.0; k], v: vec![0.0; k], factor }
    }

    /// Factors G, with pivots as fractions of `sizes`, the diagonal of S. Returns the rank, which is full for an indefinite
    /// G.
    pub(super) fn rank<T: Real>(&mut self, g: &[T], sizes: &[T]) -> usize {
        self.g.iter_mut().zip(g).for_each(|(to, g)| *to = g.as_f64());
        // A column without a basis function has the size 0, and then no pivot.
        self.s.iter_mut().zip(sizes).for_each(|(to, size)| *to = size.as_f64().max(0.0));
        self.factor.factor(&self.g, &self.s, ROUND_OFF * T::EPSILON.as_f64());
        if self.factor.negative { sizes.len() } else { self.factor.rank }
    }

    /// Adds Sᵛ V Vᵀ Sᵛ, v = 1/2, to G, if C is singular; `sizes` is the diagonal of S.
    pub(super) fn regularise<T: Real>(&mut self, g: &mut [T], sizes: &[T]) {
        let rank = self.rank(g, sizes);
        let Self { s, v, factor, .. } = self;
        for &c in factor.order[rank..].iter().filter(|&&c| s[c] > 0.0) {
            factor.null_vector(c, v);
            let length = v.iter().zip(&*s).map(|(v, s)| s * v * v).sum::<f64>().sqrt();
            v.iter_mut().zip(&*s).for_each(|(v, s)| *v *= s / length);
            for (row, v_i) in g.chunks_exact_mut(sizes.len()).zip(&*v) {
                row.iter_mut().zip(&*v).for_each(|(g, v_j)| *g += T::from_f64(v_i * v_j));
            }
        }
    }
}

impl<T: Real> RigidModes<T> {
    /// Returns a workspace for a fine and a coarse matrix.
    pub(super) fn new(a: &Bsr<T>, coarse: &Bsr<T>) -> Self {
        Self {
            diagonal: vec![T::zero(); a.shape().0],
            sizes: vec![T::zero(); coarse.shape().0],
            norms: Vec::new(),
            suspects: vec![false; coarse.pattern().rows()],
            workspace: Workspace::new(coarse.block().0),
        }
    }

    /// Adds Sᵛ V Vᵀ Sᵛ, v = 1/2, to every singular diagonal block of `coarse` = PᵀAP. `inverses` are those
    /// of the diagonal of A, or of A with a term added.
    ///
    /// For semidefinite A, vᵀ Pᵀ A P v = 0 implies A P v = 0. The right-hand side of a solvable system is
    /// orthogonal to P v, so the added term only makes the block regular. An indefinite block is left
    /// unchanged, and a later check reports it.
    pub(super) fn regularise(
        &mut self,
        coarse: &mut Bsr<T>,
        (a, inverses): (&Bsr<T>, Option<&DenseBlocks<T>>),
        p: &Prolongation<T>,
        transpose: &TransposePlan,
    ) {
        let largest = || inverses.map_or_else(|| largest(a.values()), largest_diagonal);
        if p.block() == (1, 1) && stiff(coarse, largest(), p, transpose) {
            return;
        }
        self.measure(a, p, transpose);
        let (k, pattern) = (p.block().1, coarse.pattern().clone());
        self.suspect(coarse);
        for j in 0..pattern.rows() {
            if !self.suspects[j] {
                continue;
            }
            let Some(at) = pattern.find(j, j) else { continue };
            let g = &mut coarse.values_mut()[at * k * k..(at + 1) * k * k];
            self.workspace.regularise(g, &self.sizes[j * k..(j + 1) * k]);
        }
    }

    /// Whether certainly no C is singular, for the P of all earlier calls, if no value of A exceeds `largest`.
    ///
    /// S is bounded from above by `largest` pᵀ p, and with a larger S the eigenvalues of C are smaller. *Cost* no pass
    /// over A.
    pub(super) fn is_regular(
        &mut self,
        coarse: &Bsr<T>,
        largest: T,
        p: &Prolongation<T>,
        transpose: &TransposePlan,
    ) -> bool {
        let k = p.block().1;
        if self.norms.is_empty() {
            self.diagonal.fill(T::one());
            self.square(p, transpose);
            self.norms = self.sizes.clone();
        }
        self.sizes.iter_mut().zip(&self.norms).for_each(|(size, norm)| *size = largest * *norm);
        self.suspect(coarse);
        k <= LARGEST && !self.suspects.contains(&true)
    }

    /// Marks the nodes whose C may be singular.
    pub(super) fn suspect(&mut self, coarse: &Bsr<T>) {
        let (k, pattern, sizes) = (coarse.block().0, coarse.pattern(), &self.sizes);
        let pieces = (0..pattern.rows(), &mut self.suspects[..]);
        each(pieces, LEAF, parallel::worth(4 * sizes.len() * k * k), &|(nodes, out): (
            Range<usize>,
            &mut [bool],
        )| {
            for (j, out) in nodes.zip(out) {
                let block = pattern.find(j, j).map(|at| coarse.value(at));
                *out = block.is_some_and(|g| !regular(g, &sizes[j * k..(j + 1) * k]));
            }
        });
    }

    /// Computes S of every node from the rows of P that have entries for the node.
    pub(super) fn measure(&mut self, a: &Bsr<T>, p: &Prolongation<T>, transpose: &TransposePlan) {
        a.copy_diagonal(&mut self.diagonal);
        self.square(p, transpose);
    }

    /// Computes pᵀ diag(d) p of every column of P from `diagonal`, which has d.
    fn square(&mut self, p: &Prolongation<T>, transpose: &TransposePlan) {
        let k = p.block().1;
        let diagonal = &self.diagonal;
        let pieces = (0..p.pattern().columns(), Groups(&mut self.sizes[..], k));
        let leaf = |(nodes, sizes): (Range<usize>, Groups<&mut [T]>)| {
            p.squared_columns(diagonal, transpose, nodes.start, sizes.0);
        };
        each(pieces, LEAF, parallel::worth(4 * p.pattern().len() * p.block().0 * k), &leaf);
    }
}

/// The largest diagonal entry of a matrix of scalars, from the positive inverses of its diagonal.
fn largest_diagonal<T: Real>(inverses: &DenseBlocks<T>) -> T {
    let least = |d: &[T]| d.iter().fold(T::infinity(), |least, &d| if d < least { d } else { least });
    let (values, worth) = (inverses.values(), parallel::worth(inverses.values().len()));
    tree(values, parallel::LEAF, worth, &least, &|a: T, b: T| if a < b { a } else { b }).recip()
}

/// Whether certainly no scalar C is near 0. S is bounded from above by the largest entries of P and of the diagonal of A.
pub(super) fn stiff<T: Real>(
    coarse: &Bsr<T>,
    diagonal: T,
    p: &Prolongation<T>,
    transpose: &TransposePlan,
) -> bool {
    let step = if p.values().is_empty() { T::one() } else { largest(p.values()) };
    let tiny = T::from_f64(MARGIN * ROUND_OFF * T::EPSILON.as_f64()) * diagonal * step * step;
    let (pattern, restriction) = (coarse.pattern(), transpose.pattern());
    let leaf = |mut nodes: Range<usize>| {
        nodes.all(|j| {
            let entries = T::from_f64(restriction.range(j).len() as f64);
            pattern.find(j, j).is_some_and(|at| coarse.value(at)[0] > tiny * entries)
        })
    };
    tree(0..pattern.rows(), LEAF, parallel::worth(coarse.nnz()), &leaf, &|left, right| left && right)
}

/// Whether C is certainly regular: the smallest pivot of complete pivoting is well above round-off.
///
/// For few unknowns the product of all pivots, each divided by the largest diagonal entry, bounds this pivot from
/// below. For more unknowns that product is too small, and 1 / ‖L⁻¹‖² with C = L Lᵀ is used, which bounds the smallest
/// eigenvalue of C and so every pivot.
pub(super) fn regular<T: Real>(g: &[T], sizes: &[T]) -> bool {
    let (k, mut c) = (sizes.len(), [T::zero(); LARGEST * LARGEST]);
    if k > LARGEST || sizes.iter().any(|&s| s <= T::zero()) {
        return false;
    }
    let mut roots = [T::zero(); LARGEST];
    roots.iter_mut().zip(sizes).for_each(|(root, s)| *root = s.sqrt().recip());
    for (i, row) in g.chunks_exact(k).enumerate() {
        row.iter().enumerate().for_each(|(j, &g)| c[i * k + j] = g * roots[i] * roots[j]);
    }
    let largest = (0..k).fold(T::zero(), |m, i| m.max(c[i * (k + 1)]));
    let mut smallest = largest;
    for p in 0..k {
        let pivot = c[p * (k + 1)];
        if pivot.is_nan() || pivot <= T::zero() {
            return false;
        }
        smallest *= pivot / largest;
        for i in p + 1..k {
            let factor = c[i * k + p] / pivot;
            for j in p + 1..k {
                let step = factor * c[p * k + j];
                c[i * k + j] -= step;
            }
            c[i * k + p] = factor; // of L with a unit diagonal, C = L D Lᵀ
        }
    }
    if k > FEW {
        smallest = inverse_norm(&c, k).recip();
    }
    smallest > T::from_f64(MARGIN * ROUND_OFF * T::EPSILON.as_f64())
}

/// ‖D^(−½) L⁻¹‖² in the Frobenius norm; `c` has D on the diagonal and L, with a unit diagonal, below it.
fn inverse_norm<T: Real>(c: &[T], k: usize) -> T {
    let mut norm = T::zero();
    for j in 0..k {
        let mut column = [T::zero(); LARGEST]; // column j of L⁻¹
        column[j] = T::one();
        norm += c[j * (k + 1)].recip();
        for i in j + 1..k {
            column[i] = -(j..i).fold(T::zero(), |s, m| s + c[i * k + m] * column[m]);
            norm += column[i] * column[i] / c[i * (k + 1)];
        }
    }
    norm
}
