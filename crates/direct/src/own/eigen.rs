//! A = V Λ Vᵀ of a full symmetric matrix: Householder reflections to tridiagonal form, and QL steps with
//! implicit shifts.
//!
//! | symbol | name here |
//! |---|---|
//! | reflection I − β v vᵀ of step k | `scales[k]`, and v in place of column k below the diagonal |
//! | p = β A v, w = p − (β pᵀ v / 2) v | `w`, a column of V that is not needed yet |
//! | diagonal and subdiagonal of T = Qᵀ A Q | `d`, `e` |
//! | c, s of a plane rotation | `c`, `s` |
//!
//! *Reference* Golub and Van Loan 2013, sections 8.3.1 (tridiagonal form) and 8.3.5; Bowdler, Martin, Reinsch
//! and Wilkinson 1968, "The QR and QL algorithms for symmetric matrices" (tql2).

use coarsen_core::power_of_two;

use crate::DirectError;

/// The largest number of steps per eigenvalue; two are usual.
const STEPS: usize = 60;

/// T = Qᵀ A Q with diagonal `d` and subdiagonal `e`: e_k couples k and k + 1. `a` is overwritten, and `q` is
/// Q by columns.
pub(super) fn tridiagonalise(a: &mut [f64], q: &mut [f64], d: &mut [f64], e: &mut [f64], scales: &mut [f64]) {
    let n = d.len();
    for k in 0..n {
        d[k] = a[k * n + k];
        (e[k], scales[k]) = (0.0, 0.0);
        if k + 2 < n {
            (e[k], scales[k]) = reflector(&mut a[k * n + k + 1..(k + 1) * n]);
            if scales[k] != 0.0 {
                reflect_both_sides(a, k, n, scales[k], &mut q[..n]);
            }
        } else if k + 1 < n {
            e[k] = a[k * n + k + 1];
        }
    }
    accumulate(a, q, scales);
}

/// v and β with (I − β v vᵀ) x = α e₁; v overwrites x, and α and β are returned. x is scaled, so that squares
/// neither overflow nor underflow.
fn reflector(x: &mut [f64]) -> (f64, f64) {
    let size = power_of_two(x.iter().fold(0.0, |most, v| v.abs().max(most)));
    if x[1..].iter().all(|v| *v == 0.0) {
        return (x[0], 0.0);
    }
    x.iter_mut().for_each(|v| *v /= size);
    let norm = dot(x, x).sqrt();
    let alpha = if x[0] > 0.0 { -norm } else { norm };
    x[0] -= alpha;
    (alpha * size, 2.0 / dot(x, x))
}

/// A₂₂ − v wᵀ − w vᵀ, for the rows and columns after k.
fn reflect_both_sides(a: &mut [f64], k: usize, n: usize, beta: f64, w: &mut [f64]) {
    let (done, rest) = a.split_at_mut((k + 1) * n);
    let (v, w) = (&done[k * n + k + 1..], &mut w[k + 1..]);
    w.fill(0.0);
    for (column, v_j) in rest.chunks_exact(n).zip(v) {
        w.iter_mut().zip(&column[k + 1..]).for_each(|(w, a)| *w += beta * a * v_j);
    }
    let half = 0.5 * beta * dot(w, v);
    w.iter_mut().zip(v).for_each(|(w, v)| *w -= half * v);
    for ((column, v_j), w_j) in rest.chunks_exact_mut(n).zip(v).zip(&*w) {
        for ((a, v), w) in column[k + 1..].iter_mut().zip(v).zip(&*w) {
            *a -= v * w_j + w * v_j;
        }
    }
}

/// Q = H₀ H₁ …, computed from the last reflection to the first: reflection k changes only rows and columns
/// after k.
fn accumulate(a: &[f64], q: &mut [f64], scales: &[f64]) {
    let n = scales.len();
    q.fill(0.0);
    (0..n).for_each(|i| q[i * n + i] = 1.0);
    for k in (0..n).rev().filter(|&k| scales[k] != 0.0) {
        let v = &a[k * n + k + 1..(k + 1) * n];
        for column in q[(k + 1) * n..].chunks_exact_mut(n) {
            let s = scales[k] * dot(&column[k + 1..], v);
            column[k + 1..].iter_mut().zip(v).for_each(|(q, v)| *q -= s * v);
        }
    }
}

/// T = V Λ Vᵀ: `d` becomes Λ, and the columns of `q` are rotated in the same way.
pub(super) fn diagonalise(d: &mut [f64], e: &mut [f64], q: &mut [f64]) -> Result<(), DirectError> {
    let n = d.len();
    let size = (0..n).fold(0.0, |most: f64, k| most.max(d[k].abs()).max(e[k].abs()));
    let small = |d: &[f64], e: &[f64], k: usize| {
        e[k].abs() <= f64::EPSILON * (d[k].abs() + d[k + 1].abs() + f64::EPSILON * size)
    };
    for l in 0..n {
        let mut steps = 0;
        loop {
            let m = (l..n - 1).find(|&k| small(d, e, k)).unwrap_or(n - 1);
            if m == l {
                break;
            }
            steps += 1;
            if steps > STEPS || !size.is_finite() {
                return Err(DirectError::Spectrum { size: n });
            }
            step(d, e, q, l, m);
        }
    }
    Ok(())
}

/// One implicit QL step on rows l to m, with the shift of Wilkinson.
fn step(d: &mut [f64], e: &mut [f64], q: &mut [f64], l: usize, m: usize) {
    let n = d.len();
    let half = (d[l + 1] - d[l]) / (2.0 * e[l]);
    let root = half.hypot(1.0);
    let mut g = d[m] - d[l] + e[l] / (half + root.copysign(half));
    let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
    for i in (l..m).rev() {
        let (f, b) = (s * e[i], c * e[i]);
        let r = f.hypot(g);
        e[i + 1] = r;
        if r == 0.0 {
            // The matrix splits into two blocks here.
            d[i + 1] -= p;
            e[m] = 0.0;
            return;
        }
        (s, c) = (f / r, g / r);
        g = d[i + 1] - p;
        let t = (d[i] - g) * s + 2.0 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
        let (left, right) = q[i * n..(i + 2) * n].split_at_mut(n);
        for (x, y) in left.iter_mut().zip(right) {
            (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
        }
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0.0;
}

/// Sorts the values and the corresponding columns of all `matrices` by the order `before`.
pub(super) fn sort(values: &mut [f64], matrices: &mut [&mut [f64]], before: impl Fn(f64, f64) -> bool) {
    let n = values.len();
    for k in 0..n {
        let first = (k + 1..n).fold(k, |first, i| if before(values[i], values[first]) { i } else { first });
        if first != k {
            values.swap(k, first);
            for matrix in matrices.iter_mut() {
                let (head, tail) = matrix.split_at_mut(first * n);
                head[k * n..(k + 1) * n].swap_with_slice(&mut tail[..n]);
            }
        }
    }
}

/// xᵀ y.
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
