//! The values of S A S + σ (I − S), eq. (7).
//!
//! With S = I − W Wᵀ, each block row is first projected from the right, group by group: B ← B − (B q) qᵀ for
//! the columns q of W. Then it is projected from the left. For a group of one node, one task does both for
//! its row. For a group of several nodes, all rows must be projected from the right first.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, tree};
use coarsen_sparse::{BlockRows, Bsr, Pattern};

use super::factor::Factors;
use super::groups::{NONE, refill};

/// σ as a fraction of the stiffness of A in the directions of the constraints. Such a σ lies between the
/// stiff modes, which smoothers reduce, and the soft modes, which coarse levels reduce. So σ does not stiffen
/// coarse modes that slightly violate the constraints.
const SHARE: f64 = 0.1;

/// σ of a group without a positive diagonal block.
const NO_SCALE: f64 = 1.0;

/// The number of rows per task of the sum.
const LEAF: usize = 1024;

/// Memory of the numeric phase.
#[derive(Clone, Debug, Default)]
pub(super) struct Numeric {
    /// The start of Wᵀ (A S) of each group with several nodes, and the end of the last group.
    starts: Vec<usize>,
    /// The products Wᵀ (A S), one basis vector after the other. The columns are those of the rows of the
    /// group.
    products: Vec<f64>,
    /// σ of each group.
    scales: Vec<f64>,
}

impl Numeric {
    /// Writes S A S + σ (I − S) to `values`, which belong to `pattern`. The values are computed in `f64` and
    /// rounded once, or twice in groups of several nodes.
    ///
    /// σ is a tenth of the stiffness of A in the directions of a group's constraints, or the mean Rayleigh
    /// quotient of translations if that is larger, but never more than the stiffness. The stiffness is the
    /// mean of qᵀ A q restricted to one node at a time.
    // Deviation: the paper has one σ for all groups. Here each group has its own σ, so that σ has the scale
    // of its nodes, light or stiff. Rayleigh quotients, their means and all values in between lie in the
    // field of values of A, as the bound on the condition number requires.
    pub(super) fn fill<T: Real>(&mut self, a: &Bsr<T>, f: &Factors, pattern: &Pattern, values: &mut [T]) {
        let (b, groups) = (f.block, &f.groups);
        self.scales.clear();
        let softest = if groups.count() > 0 { translations(a) } else { 0.0 };
        self.scales.extend((0..groups.count()).map(|g| scale(a, f, g, softest)));
        let (scales, size, work) = (&self.scales, b * b, 4 * pattern.len() * b * b);
        BlockRows::new(pattern.offsets(), size, &mut *values).for_each(work, |i, row| {
            spread(a, i, pattern.row(i), row);
            right(f, pattern.row(i), row);
            if groups.of[i] != NONE && !groups.has_several_nodes(groups.of[i] as usize) {
                let g = groups.of[i] as usize;
                for block in row.chunks_exact_mut(size) {
                    left(f, g, block);
                }
                add_complement(f, g, i, scales[g], pattern.row(i), row);
            }
        });
        // Only groups of several nodes need the following steps.
        refill(&mut self.starts, groups.count() + 1, 0);
        for g in 0..groups.count() {
            let columns =
                if groups.has_several_nodes(g) { pattern.row(groups.nodes(g)[0] as usize).len() } else { 0 };
            self.starts[g + 1] = self.starts[g] + f.rank(g) * columns * b;
        }
        let end = self.starts[groups.count()];
        if end == 0 {
            return;
        }
        refill(&mut self.products, end, 0.0);
        let done = &*values;
        BlockRows::new(&self.starts, 1, &mut self.products).for_each(end * b, |g, products| {
            if !products.is_empty() {
                multiply(f, g, pattern, done, products);
            }
        });
        let (starts, products) = (&self.starts, &self.products);
        BlockRows::new(pattern.offsets(), size, values).for_each(work, |i, row| {
            if groups.several_nodes(i).is_some() {
                let g = groups.of[i] as usize;
                finish(f, g, i, &products[starts[g]..starts[g + 1]], row);
                add_complement(f, g, i, scales[g], pattern.row(i), row);
            }
        });
    }
}

/// σ of a group, in the field of values of A; 1 if A has no positive diagonal block in the group.
fn scale<T: Real>(a: &Bsr<T>, f: &Factors, g: usize, softest: f64) -> f64 {
    let (b, nodes) = (f.block, f.groups.nodes(g));
    let quotient = |(&i, q): (&u32, &[f64])| -> f64 {
        let Some(at) = a.pattern().find(i as usize, i as usize) else { return 0.0 };
        let rows = a.value(at).chunks_exact(b).zip(q);
        rows.map(|(row, p)| p * row.iter().zip(q).map(|(v, q)| v.as_f64() * q).sum::<f64>()).sum()
    };
    let all = f.basis(g).flat_map(|q| nodes.iter().zip(q.chunks_exact(b)));
    let mean = all.map(quotient).sum::<f64>() / f.rank(g) as f64;
    if mean > 0.0 && mean.is_finite() { mean.min(softest.max(SHARE * mean)) } else { NO_SCALE }
}

/// The mean Rayleigh quotient of the translations, one per unknown of a node.
fn translations<T: Real>(a: &Bsr<T>) -> f64 {
    let b = a.block().0;
    let leaf = |rows: Range<usize>| -> f64 {
        let range = a.pattern().offsets()[rows.start]..a.pattern().offsets()[rows.end];
        a.values()[range.start * b * b..range.end * b * b]
            .chunks_exact(b * b)
            .map(|block| trace(block, b))
            .sum()
    };
    let sum = tree(0..a.pattern().rows(), LEAF, parallel::worth(a.pattern().len() * b), &leaf, &|a, b| a + b);
    sum / a.shape().0 as f64
}

fn trace<T: Real>(block: &[T], b: usize) -> f64 {
    block.iter().step_by(b + 1).map(|d| d.as_f64()).sum()
}

/// Row i of A, expanded to the columns of S A S.
fn spread<T: Real>(a: &Bsr<T>, i: usize, columns: &[u32], row: &mut [T]) {
    let (size, own) = (a.block().0 * a.block().1, a.pattern().row(i));
    let range = a.pattern().range(i);
    let from = &a.values()[range.start * size..range.end * size];
    if own.len() == columns.len() {
        return row.copy_from_slice(from);
    }
    row.fill(T::zero());
    let mut at = 0;
    for (&j, block) in own.iter().zip(from.chunks_exact(size)) {
        while columns[at] < j {
            at += 1;
        }
        row[at * size..(at + 1) * size].copy_from_slice(block);
    }
}

/// B ← B S for one block row.
fn right<T: Real>(f: &Factors, columns: &[u32], row: &mut [T]) {
    let (b, groups) = (f.block, &f.groups);
    for (at, &j) in columns.iter().enumerate() {
        let g = groups.of[j as usize];
        // A row that contains one column of a group contains all of them. The first node handles the group.
        if g == NONE || groups.place[j as usize] > 0 {
            continue;
        }
        let nodes = groups.nodes(g as usize);
        for q in f.basis(g as usize) {
            for r in 0..b {
                let (mut share, mut p) = (0.0, at);
                for (&k, q) in nodes.iter().zip(q.chunks_exact(b)) {
                    p = seek(columns, p, k);
                    let entries = &row[(p * b + r) * b..(p * b + r + 1) * b];
                    share += entries.iter().zip(q).map(|(v, q)| v.as_f64() * q).sum::<f64>();
                }
                if share == 0.0 {
                    continue;
                }
                p = at;
                for (&k, q) in nodes.iter().zip(q.chunks_exact(b)) {
                    p = seek(columns, p, k);
                    let entries = &mut row[(p * b + r) * b..(p * b + r + 1) * b];
                    entries.iter_mut().zip(q).for_each(|(v, q)| *v = T::from_f64(v.as_f64() - share * q));
                }
            }
        }
    }
}

/// B ← S B for one block in the row of a group of one node.
fn left<T: Real>(f: &Factors, g: usize, block: &mut [T]) {
    let b = f.block;
    for q in f.basis(g) {
        for c in 0..b {
            let share: f64 = (0..b).map(|r| q[r] * block[r * b + c].as_f64()).sum();
            (0..b).for_each(|r| block[r * b + c] = T::from_f64(block[r * b + c].as_f64() - share * q[r]));
        }
    }
}

/// Wᵀ B for the rows of a group of several nodes.
fn multiply<T: Real>(f: &Factors, g: usize, pattern: &Pattern, values: &[T], products: &mut [f64]) {
    let (b, nodes) = (f.block, f.groups.nodes(g));
    let width = products.len() / f.rank(g);
    for (at, &k) in nodes.iter().enumerate() {
        let range = pattern.range(k as usize);
        let row = &values[range.start * b * b..range.end * b * b];
        for (q, product) in f.basis(g).zip(products.chunks_exact_mut(width)) {
            let q = &q[at * b..(at + 1) * b];
            for (block, sums) in row.chunks_exact(b * b).zip(product.chunks_exact_mut(b)) {
                for (entries, q) in block.chunks_exact(b).zip(q).filter(|(_, q)| **q != 0.0) {
                    sums.iter_mut().zip(entries).for_each(|(s, v)| *s += q * v.as_f64());
                }
            }
        }
    }
}

/// B ← B − W (Wᵀ B) for the row of node i.
fn finish<T: Real>(f: &Factors, g: usize, i: usize, products: &[f64], row: &mut [T]) {
    let (b, at) = (f.block, f.groups.place[i] as usize * f.block);
    let width = products.len() / f.rank(g);
    for (q, product) in f.basis(g).zip(products.chunks_exact(width)) {
        let q = &q[at..at + b];
        for (block, sums) in row.chunks_exact_mut(b * b).zip(product.chunks_exact(b)) {
            for (entries, q) in block.chunks_exact_mut(b).zip(q) {
                entries.iter_mut().zip(sums).for_each(|(v, s)| *v = T::from_f64(v.as_f64() - q * s));
            }
        }
    }
}

/// B ← B + σ W Wᵀ for the row of node i of group g.
fn add_complement<T: Real>(f: &Factors, g: usize, i: usize, sigma: f64, columns: &[u32], row: &mut [T]) {
    let (b, own) = (f.block, f.groups.place[i] as usize * f.block);
    let mut p = 0;
    for (at, &k) in f.groups.nodes(g).iter().enumerate() {
        p = seek(columns, p, k);
        let block = &mut row[p * b * b..(p + 1) * b * b];
        for (r, entries) in block.chunks_exact_mut(b).enumerate() {
            for (c, v) in entries.iter_mut().enumerate() {
                let part: f64 = f.basis(g).map(|q| q[own + r] * q[at * b + c]).sum();
                *v = T::from_f64(v.as_f64() + sigma * part);
            }
        }
    }
}

/// The index of column k, which is at `from` or later.
#[inline]
fn seek(columns: &[u32], from: usize, k: u32) -> usize {
    let mut at = from;
    while columns[at] < k {
        at += 1;
    }
    at
}
