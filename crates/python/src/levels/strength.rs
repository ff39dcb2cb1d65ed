//! Strength of connection as programs for PyAMG define it: a scalar matrix C over the nodes of A.
//!
//! C holds its diagonal. A larger value means a stronger connection, and the largest of each row is 1.
//!
//! *Reference* symmetric: Vaněk, Mandel & Brezina 1996, §5.1. Classical: Ruge & Stüben 1987, §4.6.1. Evolution: Olson,
//! Schroder & Tuminaro 2010, "A new perspective on strength measures in algebraic multigrid", Numer. Linear Algebra
//! Appl. 17, §3.

use std::sync::Arc;

use coarsen::Cancel;
use coarsen::backend::SetupError;
use coarsen::sparse::{Bsr, Pattern, Zeros, multiply};

use super::blocks::{Fault, Sparse, rows_of};
use super::dense::pseudo_solve;
use super::prolongation::product_on;

/// What stands for a block in the classical measure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Norm {
    /// The largest absolute entry.
    Abs,
    /// The smallest entry; only negative couplings are strong.
    Min,
    /// The square of the Frobenius norm.
    Fro,
}

/// |a_ij| ≥ θ (|a_ii| |a_jj|)^½; for blocks in the Frobenius norm. With θ = 0 couplings of blocks are equally strong; `blocks`
/// says that blocks of 1x1 count as blocks.
pub(crate) fn symmetric(a: &Sparse, theta: f64, blocks: bool) -> Result<Sparse, Fault> {
    let blocks = blocks || a.block() != (1, 1);
    let size = |k: usize| a.value(k).iter().map(|v| v * v).sum::<f64>().sqrt();
    if blocks && theta == 0.0 {
        return Ok(Bsr::new(a.pattern().clone(), (1, 1), vec![1.0; a.pattern().len()])?);
    }
    let pattern = a.pattern();
    let diagonal: Vec<f64> = (0..pattern.rows()).map(|i| pattern.find(i, i).map_or(0.0, size)).collect();
    let strong = |i: usize, j: usize, v: f64| v * v >= theta * theta * diagonal[i] * diagonal[j];
    scaled(selected(a, |i, j, k| {
        let v = size(k);
        (i == j || strong(i, j, v)).then_some(v)
    })?)
}

/// |a_ij| ≥ θ max |a_ik| over k ≠ i; −a_ij and −a_ik for [`Norm::Min`].
pub(crate) fn classical(a: &Sparse, theta: f64, norm: Norm) -> Result<Sparse, Fault> {
    let of = |k: usize| {
        let block = a.value(k);
        let v = match norm {
            Norm::Abs => block.iter().fold(0.0, |m: f64, v| m.max(v.abs())),
            Norm::Min => block.iter().fold(f64::INFINITY, |m, &v| m.min(v)),
            Norm::Fro if block.len() == 1 => block[0],
            Norm::Fro => block.iter().map(|v| v * v).sum(),
        };
        if v.abs() < 1e-16 { 0.0 } else { v }
    };
    let pattern = a.pattern();
    let values: Vec<f64> = (0..pattern.len()).map(of).collect();
    let weight = |k: usize| if norm == Norm::Min { -values[k] } else { values[k].abs() };
    let largest = |i: usize| {
        let others = pattern.range(i).filter(|&k| pattern.indices()[k] as usize != i);
        others.map(weight).fold(0.0, f64::max)
    };
    let limits: Vec<f64> = (0..pattern.rows()).map(|i| theta * largest(i)).collect();
    let kept = selected(a, |i, j, k| {
        (i == j || weight(k) >= limits[i]).then(|| values[k].abs()).filter(|v| *v > 0.0)
    })?;
    scaled(kept)
}

/// The options of [`evolution`].
pub(crate) struct Evolution {
    /// A coupling is strong if its distance is below ε times the smallest of its row; infinity keeps all.
    pub(crate) epsilon: f64,
    /// The number of time steps.
    pub(crate) steps: usize,
    /// Whether D weighs the projection.
    pub(crate) weighted: bool,
    /// Whether the distances are averaged with their transposes.
    pub(crate) symmetrised: bool,
}

/// The distance of two unknowns is the relative error |1 − z̃ⱼ / zⱼ|, where z = (I − D⁻¹A / ρ)ᵏ eᵢ on the pattern of
/// row i, and z̃ is its best approximation by `near_kernel` (row-major, `vectors` columns) with z̃ᵢ = zᵢ. `radius` is
/// ρ(D⁻¹A).
pub(crate) fn evolution(
    a: &Sparse,
    (near_kernel, vectors): (&[f64], usize),
    radius: f64,
    options: &Evolution,
    cancel: &Cancel,
) -> Result<Sparse, Fault> {
    let b = a.block().0;
    let scalars = a.reblock((1, 1), Zeros::Drop)?;
    let n = scalars.shape().0;
    let diagonal = scalars.diagonal();
    let scale = |i: usize| if diagonal[i] == 0.0 { 1.0 } else { 1.0 / diagonal[i] } / radius;
    let step = super::prolongation::identity_minus(&scalars, scale)?.transpose()?;
    // Only couplings of the same unknown of two nodes are measured.
    let mask = selected(&scalars, |i, j, _| (i % b == j % b).then_some(1.0))?;
    let squares = options.steps.ilog2();
    let rest = options.steps - (1 << squares);
    let mut power = step.clone();
    let whole = if rest > 0 { squares } else { squares.saturating_sub(1) };
    for _ in 0..whole {
        SetupError::unless_cancelled(Some(cancel))?;
        power = multiply(&power, &power)?;
    }
    let z = if rest > 0 {
        for _ in 1..rest {
            SetupError::unless_cancelled(Some(cancel))?;
            power = multiply(&power, &step)?;
        }
        SetupError::unless_cancelled(Some(cancel))?;
        product_on(mask.pattern(), &power, &step)?
    } else if squares > 0 {
        product_on(mask.pattern(), &power, &power)?
    } else {
        product_on(mask.pattern(), &power, &Bsr::identity(n, 1)?)?
    };
    let z = selected(&z, |_, _, k| Some(z.values()[k]).filter(|v| *v != 0.0))?;
    let weights: Vec<f64> = if options.weighted { diagonal } else { vec![1.0; n] };
    let mut distance = z.clone();
    for i in 0..n {
        SetupError::unless_cancelled(Some(cancel))?;
        let range = z.pattern().range(i);
        let row = Row { i, columns: z.pattern().row(i), z: &z.values()[range.clone()] };
        let out = &mut distance.values_mut()[range];
        match vectors {
            1 => row.by_one(near_kernel, out),
            _ => row.by_many((near_kernel, vectors), &weights, out),
        }
    }
    SetupError::unless_cancelled(Some(cancel))?;
    if options.epsilon.is_finite() {
        for i in 0..n {
            let range = distance.pattern().range(i);
            let columns = distance.pattern().clone();
            let row = &mut distance.values_mut()[range];
            let others = || columns.row(i).iter().map(|&j| j as usize != i);
            let near = row.iter().zip(others()).filter(|(v, other)| *other && **v != 0.0);
            let limit = options.epsilon * near.fold(f64::INFINITY, |m, (v, _)| m.min(*v));
            row.iter_mut()
                .zip(others())
                .filter(|(v, other)| *other && **v >= limit)
                .for_each(|(v, _)| *v = 0.0);
        }
    }
    let mut entries = Vec::new();
    let half = if options.symmetrised { 0.5 } else { 1.0 };
    for i in 0..n {
        entries.push((i as u32, i as u32, 1.0));
        for (j, v) in distance.row(i).filter(|(j, v)| *j != i && v[0] != 0.0) {
            entries.push((i as u32, j as u32, half * v[0]));
            if options.symmetrised {
                entries.push((j as u32, i as u32, half * v[0]));
            }
        }
    }
    SetupError::unless_cancelled(Some(cancel))?;
    let distance = coarsen::sparse::assembly::from_triplets(n, n, &entries)?.reblock((b, b), Zeros::Keep)?;
    let least =
        |k: usize| distance.value(k).iter().filter(|v| **v != 0.0).fold(f64::INFINITY, |m, &v| m.min(v));
    scaled(selected(&distance, |_, _, k| Some(1.0 / least(k)))?)
}

/// z on the pattern of row i.
struct Row<'a> {
    i: usize,
    columns: &'a [u32],
    z: &'a [f64],
}

/// A distance of zero would read as no coupling.
const NEAREST: f64 = 1e-4;

impl Row<'_> {
    /// One vector v: z̃ⱼ = zᵢ vⱼ / vᵢ.
    fn by_one(&self, v: &[f64], out: &mut [f64]) {
        let at = |j: usize| if v[j] == 0.0 { 1.0 } else { v[j] };
        let own = self.columns.iter().position(|&j| j as usize == self.i).map_or(0.0, |k| self.z[k]);
        let factor = own / at(self.i);
        for ((&j, &z), out) in self.columns.iter().zip(self.z).zip(out) {
            *out = distance(factor * at(j as usize), z);
        }
    }

    /// Several vectors: minimises (z − B x)ᵀ W (z − B x) under (B x)ᵢ = zᵢ.
    fn by_many(&self, (v, k): (&[f64], usize), weights: &[f64], out: &mut [f64]) {
        if self.columns.len() <= k {
            return out.fill(1.0);
        }
        let m = k + 1;
        let (mut left, mut right) = (vec![0.0; m * m], vec![0.0; m]);
        right[k] = 1.0;
        for (&j, &z) in self.columns.iter().zip(self.z) {
            let (row, w) = (&v[j as usize * k..(j as usize + 1) * k], weights[j as usize]);
            for p in 0..k {
                right[p] += 2.0 * w * row[p] * z;
                (0..k).for_each(|q| left[p * m + q] += 2.0 * w * row[p] * row[q]);
            }
            if j as usize == self.i {
                right[k] = z;
            }
        }
        let own = &v[self.i * k..(self.i + 1) * k];
        for p in 0..k {
            left[k * m + p] = own[p];
            left[p * m + k] = weights[self.i] * own[p];
        }
        pseudo_solve(&left, m, &mut right);
        let best = |j: u32| {
            let row = &v[j as usize * k..(j as usize + 1) * k];
            row.iter().zip(&right).map(|(b, x)| b * x).sum::<f64>()
        };
        let largest = self.columns.iter().fold(0.0, |m: f64, &j| m.max(best(j).abs()));
        for ((&j, &z), out) in self.columns.iter().zip(self.z).zip(out) {
            let v = best(j);
            let v = if v.abs() < 1e6 * f64::EPSILON * largest { 0.0 } else { v };
            *out = if j as usize == self.i { 1.0 } else { distance(v, z) };
        }
    }
}

/// |1 − z̃ / z|; 0 for a weak coupling, where the signs differ or z̃ is small.
fn distance(best: f64, z: f64) -> f64 {
    let ratio = best / z;
    if ratio < NEAREST {
        return 0.0;
    }
    let error = (1.0 - ratio).abs();
    if error < f64::EPSILON.sqrt() { NEAREST } else { error }
}

/// Replaces the rows and columns of diagonally dominant nodes, |a_ii| > θ Σ |a_ij|, by those of the identity.
pub(crate) fn without_dominant(a: &Sparse, c: &Sparse, theta: f64) -> Result<Sparse, Fault> {
    let b = a.block().0;
    let mut dominant = vec![true; a.pattern().rows()];
    for (i, dominant) in dominant.iter_mut().enumerate() {
        for r in 0..b {
            let (mut own, mut sum) = (0.0, 0.0);
            for (j, block) in a.row(i) {
                for (s, v) in block[r * b..(r + 1) * b].iter().enumerate() {
                    *(if j == i && s == r { &mut own } else { &mut sum }) += v.abs();
                }
            }
            *dominant &= own > theta * sum;
        }
    }
    if c.pattern().rows() != dominant.len() {
        return Err("diagonal_dominance: C does not have one row for each node of A".into());
    }
    let with = super::prolongation::with_diagonal(c)?;
    selected(&with, |i, j, k| match (i == j, dominant[i] || dominant[j]) {
        (true, true) => Some(1.0),
        (false, true) => None,
        _ => Some(with.values()[k]).filter(|v| *v != 0.0),
    })
}

/// Returns the scalar matrix of the blocks for which `value(i, j, k)` is some.
pub(crate) fn selected(
    a: &Sparse,
    value: impl Fn(usize, usize, usize) -> Option<f64>,
) -> Result<Sparse, Fault> {
    let pattern = a.pattern();
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::with_capacity(pattern.len()), Vec::new());
    for i in 0..pattern.rows() {
        for k in pattern.range(i) {
            let j = pattern.indices()[k];
            if let Some(v) = value(i, j as usize, k) {
                indices.push(j);
                values.push(v);
            }
        }
        offsets.push(indices.len());
    }
    Ok(Bsr::new(Arc::new(Pattern::new(pattern.columns(), offsets, indices)?), (1, 1), values)?)
}

/// Divides each row by its largest absolute value.
fn scaled(mut c: Sparse) -> Result<Sparse, Fault> {
    rows_of(&mut c, |_, row| {
        let largest = row.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        if largest > 0.0 {
            row.iter_mut().for_each(|v| *v = v.abs() / largest);
        }
    });
    Ok(c)
}
