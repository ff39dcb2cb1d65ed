//! Prolongations of smoothed aggregation: the tentative T, and its smoothing.
//!
//! | symbol | here |
//! |---|---|
//! | b, k | the unknowns of a fine node; the near-kernel vectors, which are the unknowns of a coarse node |
//! | T, B_c | tentative prolongation and coarse near-kernel: B = T B_c on aggregated nodes |
//! | N | the pattern of P, from couplings of C |
//!
//! *Reference* Vaněk, Mandel & Brezina 1996; energy: Olson, Schroder & Tuminaro 2011, "A general interpolation strategy
//! for algebraic multigrid using energy minimization", SIAM J. Sci. Comput. 33, §3.

use std::sync::Arc;

use coarsen::Cancel;
use coarsen::backend::SetupError;
use coarsen::sparse::{BlockRows, Bsr, Pattern, assembly, multiply};

use super::blocks::{Fault, Sparse, rows_of};
use super::dense::pseudo_inverse;

/// Returns T in blocks of b x k and B_c, row-major. `aggregates` gives the aggregate of each node, negative for none;
/// `near_kernel` is B, row-major. A column of B on an aggregate is dropped if at most the fraction `spanned` of its length is
/// orthogonal to those before it.
pub(crate) fn tentative(
    aggregates: &[i32],
    count: usize,
    (near_kernel, k): (&[f64], usize),
    spanned: f64,
) -> Result<(Sparse, Vec<f64>), Fault> {
    let nodes = aggregates.len();
    let b = near_kernel.len() / k.max(1) / nodes.max(1);
    if nodes * b * k != near_kernel.len() || k == 0 {
        return Err("B does not have the same number of rows for each node of the aggregation".into());
    }
    let mut offsets = vec![0];
    let mut columns = Vec::new();
    for &g in aggregates {
        if g >= 0 {
            columns.push(g as u32);
        }
        offsets.push(columns.len());
    }
    let mut members = vec![Vec::new(); count];
    for (i, &g) in aggregates.iter().enumerate().filter(|(_, g)| **g >= 0) {
        members.get_mut(g as usize).ok_or("an aggregate beyond the last column of AggOp")?.push(i);
    }
    let mut t = Bsr::zeros(Arc::new(Pattern::new(count, offsets, columns)?), (b, k))?;
    let mut coarse = vec![0.0; count * k * k];
    for (own, r) in members.iter().zip(coarse.chunks_exact_mut(k * k)) {
        let m = own.len() * b;
        let rows = || own.iter().flat_map(|&i| i * b..(i + 1) * b);
        let mut q = vec![0.0; m * k]; // by columns
        for c in 0..k {
            let (done, rest) = q.split_at_mut(c * m);
            let column = &mut rest[..m];
            rows().zip(&mut *column).for_each(|(row, v)| *v = near_kernel[row * k + c]);
            let before = length(column);
            for (p, basis) in done.chunks_exact(m.max(1)).enumerate() {
                let share: f64 = basis.iter().zip(&*column).map(|(q, v)| q * v).sum();
                r[p * k + c] = share;
                column.iter_mut().zip(basis).for_each(|(v, q)| *v -= share * q);
            }
            let after = length(column);
            if after > spanned * before {
                r[c * k + c] = after;
                column.iter_mut().for_each(|v| *v /= after);
            } else {
                column.fill(0.0);
            }
        }
        for (at, &i) in own.iter().enumerate() {
            let block = t.pattern().range(i).start * b * k;
            for (row, values) in t.values_mut()[block..block + b * k].chunks_exact_mut(k).enumerate() {
                values.iter_mut().enumerate().for_each(|(c, v)| *v = q[c * m + at * b + row]);
            }
        }
    }
    Ok((t, coarse))
}

fn length(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The matrix with a stored diagonal block in each row; square.
pub(crate) fn with_diagonal(a: &Sparse) -> Result<Sparse, Fault> {
    let pattern = a.pattern();
    if (0..pattern.rows()).all(|i| pattern.find(i, i).is_some()) {
        return Ok(a.clone());
    }
    let n = pattern.rows();
    let stored = (0..n).flat_map(|i| pattern.row(i).iter().map(move |&j| (i as u32, j)));
    let places: Vec<(u32, u32)> = stored.chain((0..n as u32).map(|i| (i, i))).collect();
    let size = a.block().0 * a.block().1;
    let values: Vec<f64> = a.values().iter().copied().chain(std::iter::repeat_n(0.0, n * size)).collect();
    Ok(assembly::from_blocks((n, pattern.columns()), a.block(), &places, &values)?)
}

/// I − D A for the diagonal D of the scalar rows.
pub(crate) fn identity_minus(a: &Sparse, d: impl Fn(usize) -> f64 + Sync) -> Result<Sparse, Fault> {
    let mut s = with_diagonal(a)?;
    let (b, pattern) = (s.block().0, s.pattern().clone());
    rows_of(&mut s, |i, row| {
        for (&j, block) in pattern.row(i).iter().zip(row.chunks_exact_mut(b * b)) {
            for (r, values) in block.chunks_exact_mut(b).enumerate() {
                let scale = d(i * b + r);
                values.iter_mut().for_each(|v| *v *= -scale);
                if j as usize == i {
                    values[r] += 1.0;
                }
            }
        }
    });
    Ok(s)
}

/// I − D A for blocks D, row-major, one after the other.
fn identity_minus_blocks(a: &Sparse, d: &[f64]) -> Result<Sparse, Fault> {
    let mut s = with_diagonal(a)?;
    let (b, pattern) = (s.block().0, s.pattern().clone());
    rows_of(&mut s, |i, row| {
        let d = &d[i * b * b..(i + 1) * b * b];
        for (&j, block) in pattern.row(i).iter().zip(row.chunks_exact_mut(b * b)) {
            let old = block.to_vec();
            for (at, v) in block.iter_mut().enumerate() {
                let (r, c) = (at / b, at % b);
                *v = -(0..b).map(|m| d[r * b + m] * old[m * b + c]).sum::<f64>();
                *v += if j as usize == i && r == c { 1.0 } else { 0.0 };
            }
        }
    });
    Ok(s)
}

/// The diagonal matrix by which prolongation smoothers weigh A.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weighting {
    /// The inverse of the diagonal.
    Diagonal,
    /// The inverses of the diagonal blocks.
    Block,
    /// The inverse of Σⱼ |a_ij|.
    Local,
    /// The identity.
    None,
}

impl Weighting {
    /// D in blocks, row-major, one after the other.
    pub(crate) fn blocks(self, a: &Sparse) -> Vec<f64> {
        let b = a.block().0;
        let mut d = vec![0.0; a.shape().0 * b];
        let pattern = a.pattern();
        for (i, d) in d.chunks_exact_mut(b * b).enumerate() {
            let own = pattern.find(i, i).map(|k| a.value(k));
            match self {
                Self::Block => {
                    if let Some(own) = own {
                        d.copy_from_slice(&pseudo_inverse(own, b));
                    }
                }
                _ => (0..b).for_each(|r| {
                    let sum = || a.row(i).flat_map(|(_, v)| &v[r * b..(r + 1) * b]).map(|v| v.abs()).sum();
                    d[r * b + r] = match self {
                        Self::Diagonal => inverse(own.map_or(0.0, |v| v[r * b + r])),
                        Self::Local => inverse(sum()),
                        _ => 1.0,
                    };
                }),
            }
        }
        d
    }
}

fn inverse(v: f64) -> f64 {
    if v == 0.0 { 0.0 } else { 1.0 / v }
}

/// P = (I − ω D A)ᵈ T. ω includes the division by the spectral radius.
pub(crate) fn smoothed(
    a: &Sparse,
    t: &Sparse,
    omega: f64,
    weighting: Weighting,
    degree: usize,
    cancel: &Cancel,
) -> Result<Sparse, Fault> {
    let mut d = weighting.blocks(a);
    d.iter_mut().for_each(|v| *v *= omega);
    let s = identity_minus_blocks(a, &d)?;
    let mut p = t.clone();
    for _ in 0..degree {
        SetupError::unless_cancelled(Some(cancel))?;
        p = multiply(&s, &p)?;
    }
    Ok(p)
}

/// A without the couplings that are not in C.
pub(crate) fn filtered(a: &Sparse, c: &Sparse) -> Result<Sparse, Fault> {
    let (pattern, size) = (a.pattern(), a.block().0 * a.block().1);
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..pattern.rows() {
        for k in pattern.range(i).filter(|&k| c.pattern().find(i, pattern.indices()[k] as usize).is_some()) {
            indices.push(pattern.indices()[k]);
            values.extend_from_slice(&a.values()[k * size..(k + 1) * size]);
        }
        offsets.push(indices.len());
    }
    Ok(Bsr::new(Arc::new(Pattern::new(pattern.columns(), offsets, indices)?), a.block(), values)?)
}

/// As [`smoothed`], but each step keeps P B_c; for an A without some couplings.
pub(crate) fn smoothed_with_constraints(
    a: &Sparse,
    t: &Sparse,
    (omega, weighting, degree): (f64, Weighting, usize),
    coarse: (&[f64], usize),
    cancel: &Cancel,
) -> Result<Sparse, Fault> {
    let mut p = t.clone();
    let mut d = weighting.blocks(a);
    d.iter_mut().for_each(|v| *v *= omega);
    let mut s = with_diagonal(a)?;
    left_multiply(&mut s, &d);
    for _ in 0..degree {
        SetupError::unless_cancelled(Some(cancel))?;
        let mut u = multiply(&s, &p)?;
        SetupError::unless_cancelled(Some(cancel))?;
        Constraints::new(u.pattern(), u.block().1, coarse).satisfy(&mut u);
        let mut next = embedded(&p, u.pattern())?;
        next.values_mut().iter_mut().zip(u.values()).for_each(|(p, u)| *p -= u);
        p = next;
    }
    Ok(p)
}

/// The Krylov method that minimises the energy of P.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Minimiser {
    /// Conjugate gradients, for symmetric positive definite A.
    Cg,
    /// Conjugate gradients on the normal equations.
    Cgnr,
    /// Generalised minimal residuals.
    Gmres,
}

/// The options of [`energy`].
pub(crate) struct Energy {
    pub(crate) by: Minimiser,
    pub(crate) steps: usize,
    pub(crate) tolerance: f64,
    /// N is the pattern of Cᵈ T.
    pub(crate) degree: usize,
    pub(crate) weighting: Weighting,
}

/// Returns P with the pattern N that minimises the energy of its columns, or the residual of A P = 0, from T with
/// P B_c = T B_c.
pub(crate) fn energy(
    a: &Sparse,
    t: &Sparse,
    c: &Sparse,
    coarse: (&[f64], usize),
    options: &Energy,
    cancel: &Cancel,
) -> Result<Sparse, Fault> {
    let ones = |of: &Arc<Pattern>| Bsr::new(of.clone(), (1, 1), vec![1.0; of.len()]);
    let mut allowed = ones(t.pattern())?;
    for _ in 0..options.degree {
        SetupError::unless_cancelled(Some(cancel))?;
        allowed = multiply(&ones(c.pattern())?, &allowed)?;
    }
    let pattern = union(allowed.pattern(), t.pattern())?;
    SetupError::unless_cancelled(Some(cancel))?;
    let constraints = Constraints::new(&pattern, t.block().1, coarse);
    let mut p = embedded(t, &pattern)?;
    let normal = options.by == Minimiser::Cgnr;
    let at = if normal { Some(a.transpose()?) } else { None };
    let d = match &at {
        None => options.weighting.blocks(a),
        Some(at) => normal_diagonal(at),
    };
    // A P, or AᵀA P, on the pattern and orthogonal to B_c.
    let apply = |p: &Sparse, sign: f64| -> Result<Sparse, Fault> {
        SetupError::unless_cancelled(Some(cancel))?;
        let mut product = match &at {
            None => product_on(&pattern, a, p)?,
            Some(at) => product_on(&pattern, at, &multiply(a, p)?)?,
        };
        SetupError::unless_cancelled(Some(cancel))?;
        product.values_mut().iter_mut().for_each(|v| *v *= sign);
        if options.by == Minimiser::Gmres {
            left_multiply(&mut product, &d);
        }
        constraints.satisfy(&mut product);
        Ok(product)
    };
    let r = apply(&p, -1.0)?;
    match options.by {
        Minimiser::Gmres => minimal_residual(r, &mut p, options, &apply)?,
        _ => conjugate_gradients(r, &mut p, &d, options, &apply)?,
    }
    Ok(p)
}

/// A P on the pattern of P, where sign is 1; with sign −1 the residual of A P = 0.
type Apply<'a> = dyn Fn(&Sparse, f64) -> Result<Sparse, Fault> + 'a;

fn conjugate_gradients(
    mut r: Sparse,
    p: &mut Sparse,
    d: &[f64],
    options: &Energy,
    apply: &Apply<'_>,
) -> Result<(), Fault> {
    let mut direction: Option<Sparse> = None;
    let mut old = 0.0;
    for _ in 0..options.steps {
        let mut z = r.clone();
        left_multiply(&mut z, d);
        let rho = inner(&r, &z);
        if rho < options.tolerance {
            break;
        }
        if let Some(before) = &direction {
            add(&mut z, rho / old, before);
        }
        old = rho;
        let q = apply(&z, 1.0)?;
        let alpha = rho / inner(&z, &q);
        add(p, alpha, &z);
        add(&mut r, -alpha, &q);
        direction = Some(z);
    }
    Ok(())
}

fn minimal_residual(r: Sparse, p: &mut Sparse, options: &Energy, apply: &Apply<'_>) -> Result<(), Fault> {
    let first = inner(&r, &r).sqrt();
    if first <= options.tolerance {
        return Ok(());
    }
    let mut basis = vec![r];
    basis[0].values_mut().iter_mut().for_each(|v| *v /= first);
    // The columns of the Hessenberg matrix; the least-squares problem is small and is solved by its normal equations
    // through A⁺.
    let mut h: Vec<Vec<f64>> = Vec::new();
    while h.len() < options.steps {
        let mut w = apply(&basis[h.len()], 1.0)?;
        let mut column = Vec::new();
        for v in &basis {
            let share = inner(v, &w);
            add(&mut w, -share, v);
            column.push(share);
        }
        let length = inner(&w, &w).sqrt();
        column.push(length);
        h.push(column);
        if length <= f64::EPSILON * first {
            break;
        }
        w.values_mut().iter_mut().for_each(|v| *v /= length);
        basis.push(w);
    }
    let n = h.len();
    let at = |i: usize, j: usize| h[j].get(i).copied().unwrap_or(0.0);
    let mut left = vec![0.0; n * n];
    for (k, v) in left.iter_mut().enumerate() {
        *v = (0..=n).map(|i| at(i, k / n) * at(i, k % n)).sum();
    }
    let mut y: Vec<f64> = (0..n).map(|j| first * at(0, j)).collect();
    super::dense::pseudo_solve(&left, n, &mut y);
    basis.iter().zip(y).for_each(|(v, y)| add(p, y, v));
    Ok(())
}

fn inner(a: &Sparse, b: &Sparse) -> f64 {
    a.values().iter().zip(b.values()).map(|(a, b)| a * b).sum()
}

/// Y ← Y + s X for the same pattern.
fn add(y: &mut Sparse, s: f64, x: &Sparse) {
    y.values_mut().iter_mut().zip(x.values()).for_each(|(y, x)| *y += s * x);
}

/// The inverses of the diagonal of AᵀA in blocks.
fn normal_diagonal(at: &Sparse) -> Vec<f64> {
    let (b, m) = at.block();
    let mut d = vec![0.0; at.shape().0 * b];
    for (i, d) in d.chunks_exact_mut(b * b).enumerate() {
        for r in 0..b {
            let row = at.row(i).flat_map(|(_, v)| &v[r * m..(r + 1) * m]);
            d[r * b + r] = inverse(row.map(|v| v * v).sum());
        }
    }
    d
}

/// M ← D M for blocks D.
fn left_multiply(m: &mut Sparse, d: &[f64]) {
    let (b, k) = m.block();
    rows_of(m, |i, row| {
        let d = &d[i * b * b..(i + 1) * b * b];
        let mut old = vec![0.0; b * k];
        for block in row.chunks_exact_mut(b * k) {
            old.copy_from_slice(block);
            for (at, v) in block.iter_mut().enumerate() {
                *v = (0..b).map(|m| d[at / k * b + m] * old[m * k + at % k]).sum();
            }
        }
    });
}

/// The blocks of A B at the places of a pattern.
pub(crate) fn product_on(pattern: &Arc<Pattern>, a: &Sparse, b: &Sparse) -> Result<Sparse, Fault> {
    let ((r, m), c) = (a.block(), b.block().1);
    let mut product = Bsr::zeros(pattern.clone(), (r, c))?;
    let work = a.pattern().len() * 16 * r * m * c;
    BlockRows::new(pattern.offsets(), r * c, product.values_mut()).for_each(work, |i, row| {
        let columns = pattern.row(i);
        for (l, left) in a.row(i) {
            for (j, right) in b.row(l) {
                let Ok(k) = columns.binary_search(&(j as u32)) else { continue };
                for (at, v) in row[k * r * c..(k + 1) * r * c].iter_mut().enumerate() {
                    let (y, x) = (at / c, at % c);
                    *v += (0..m).map(|e| left[y * m + e] * right[e * c + x]).sum::<f64>();
                }
            }
        }
    });
    Ok(product)
}

fn union(a: &Pattern, b: &Pattern) -> Result<Arc<Pattern>, Fault> {
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for i in 0..a.rows() {
        let mut row: Vec<u32> = a.row(i).iter().chain(b.row(i)).copied().collect();
        row.sort_unstable();
        row.dedup();
        indices.extend(row);
        offsets.push(indices.len());
    }
    Ok(Arc::new(Pattern::new(a.columns(), offsets, indices)?))
}

/// The matrix on a pattern that holds its own.
fn embedded(a: &Sparse, pattern: &Arc<Pattern>) -> Result<Sparse, Fault> {
    let size = a.block().0 * a.block().1;
    let mut whole = Bsr::zeros(pattern.clone(), a.block())?;
    for i in 0..pattern.rows() {
        for (j, block) in a.row(i) {
            let k = pattern.find(i, j).ok_or("a block of T outside the pattern of P")?;
            whole.values_mut()[k * size..(k + 1) * size].copy_from_slice(block);
        }
    }
    Ok(whole)
}

/// U B_c = 0 for updates U of P, row by row.
struct Constraints<'a> {
    /// The columns of a block of U.
    width: usize,
    coarse: &'a [f64],
    vectors: usize,
    /// (Σⱼ Bⱼᵀ Bⱼ)⁺ over the columns j of each block row.
    inverses: Vec<f64>,
}

impl<'a> Constraints<'a> {
    fn new(pattern: &Pattern, width: usize, (coarse, vectors): (&'a [f64], usize)) -> Self {
        let k = vectors;
        let mut inverses = vec![0.0; pattern.rows() * k * k];
        let offsets: Vec<usize> = (0..=pattern.rows()).collect();
        BlockRows::new(&offsets, k * k, &mut inverses).for_each(pattern.len() * k * k * 8, |i, out| {
            let mut sum = vec![0.0; k * k];
            for &j in pattern.row(i) {
                for row in coarse[j as usize * width * k..(j as usize + 1) * width * k].chunks_exact(k) {
                    (0..k * k).for_each(|at| sum[at] += row[at / k] * row[at % k]);
                }
            }
            out.copy_from_slice(&pseudo_inverse(&sum, k));
        });
        Self { width, coarse, vectors, inverses }
    }

    /// Projects every row of U, so that U B_c = 0.
    fn satisfy(&self, u: &mut Sparse) {
        let (k, width, b) = (self.vectors, self.width, u.block().0);
        let pattern = u.pattern().clone();
        rows_of(u, |i, row| {
            let of = |j: u32| &self.coarse[j as usize * width * k..(j as usize + 1) * width * k];
            let inverse = &self.inverses[i * k * k..(i + 1) * k * k];
            for r in 0..b {
                let mut ub = vec![0.0; k];
                for (&j, block) in pattern.row(i).iter().zip(row.chunks_exact(b * width)) {
                    for (u, bc) in block[r * width..(r + 1) * width].iter().zip(of(j).chunks_exact(k)) {
                        ub.iter_mut().zip(bc).for_each(|(s, bc)| *s += u * bc);
                    }
                }
                let shares: Vec<f64> = inverse
                    .chunks_exact(k)
                    .map(|row| row.iter().zip(&ub).map(|(a, b)| a * b).sum())
                    .collect();
                for (&j, block) in pattern.row(i).iter().zip(row.chunks_exact_mut(b * width)) {
                    for (u, bc) in block[r * width..(r + 1) * width].iter_mut().zip(of(j).chunks_exact(k)) {
                        *u -= bc.iter().zip(&shares).map(|(b, s)| b * s).sum::<f64>();
                    }
                }
            }
        });
    }
}
