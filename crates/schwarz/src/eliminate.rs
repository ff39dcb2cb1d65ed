//! The inverse of a small symmetric positive definite matrix (Algorithm 1, §6.2), in tiles.
//!
//! 1. One-way Gauss-Jordan elimination of \[A | I\] to \[U | L⁻¹\], in place. Step k subtracts multiples of
//!    block row k from the rows below it, in the remaining part of A and in the part that already contains
//!    L⁻¹. With A = L D Lᵀ, the diagonal then contains D.
//! 2. A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹, which is positive definite for any rounding of L⁻¹.
//!
//! Deviation: rows, columns and D are processed in blocks of 8, the side of a tile, so that every step is a
//! product of tiles in registers. Both stages together need m³ / 2 multiplications. An elimination of the
//! rows below and above each pivot would need m³.
//!
//! | symbol | name |
//! |---|---|
//! | A, then L⁻¹ below the diagonal, then A⁻¹ | `a` |
//! | D_k⁻¹ | `d[k]` |
//! | A_ik D_k⁻¹, the factors of step k | `f[i]` |
//! | D_k⁻¹ (L⁻¹)_kj | `q` |

use coarsen_core::Real;
use coarsen_core::simd::{self, Kernel, Pack, Set};

use crate::packed::{SIDE, load, side, store, tile_number as tile};

/// A tile, stored by columns.
type Tile<E> = [[E; SIDE]; SIDE];

/// A workspace for one matrix and its elimination.
pub(crate) struct Workspace<E> {
    /// The packed matrix; after [`invert`](Self::invert) its inverse.
    a: Vec<Tile<E>>,
    q: Vec<Tile<E>>,
    d: Vec<Tile<E>>,
    f: Vec<Tile<E>>,
}

impl<E: Real> Workspace<E> {
    /// Returns a workspace for matrices of up to `m` rows.
    pub(crate) fn new(m: usize) -> Self {
        let zeros = vec![[[E::zero(); SIDE]; SIDE]; tile(side(m), side(m), side(m))];
        let tiles = vec![[[E::zero(); SIDE]; SIDE]; side(m)];
        Self { a: zeros.clone(), q: zeros, d: tiles.clone(), f: tiles }
    }

    /// Sets the matrix of `side` x `side` tiles to zero.
    pub(crate) fn clear(&mut self, side: usize) {
        self.a[..tile(side, side, side)].fill([[E::zero(); SIDE]; SIDE]);
    }

    /// Returns the packed values.
    pub(crate) fn values(&self) -> &[E] {
        self.a.as_flattened().as_flattened()
    }

    pub(crate) fn values_mut(&mut self) -> &mut [E] {
        self.a.as_flattened_mut().as_flattened_mut()
    }

    /// Completes the diagonal tiles of a matrix of which only the lower part was written.
    pub(crate) fn mirror(&mut self, side: usize) {
        (0..side).for_each(|k| mirror(&mut self.a[tile(side, k, k)]));
    }

    /// Replaces the matrix by its inverse and returns the smallest pivot. The diagonal tiles of the matrix
    /// are stored whole. If the pivot is not positive, the matrix is not positive definite to round-off, and
    /// `a` is invalid.
    pub(crate) fn invert(&mut self, side: usize) -> E {
        simd::run(Invert { w: self, side })
    }
}

struct Invert<'a, E> {
    w: &'a mut Workspace<E>,
    side: usize,
}

impl<E: Real> Kernel<E> for Invert<'_, E> {
    type Output = E;

    #[inline(always)]
    fn run<I: Set<E>>(self, set: I) -> E {
        let (w, n) = (self.w, self.side);
        let least = reduce(set, w, n);
        if least > E::zero() {
            multiply_out(set, w, n);
        }
        least
    }
}

/// Runs stage 1; returns the smallest pivot.
#[inline(always)]
fn reduce<E: Real, I: Set<E>>(set: I, w: &mut Workspace<E>, n: usize) -> E {
    let zero = E::zero();
    let Workspace { a, d, f, .. } = w;
    let mut least = E::infinity();
    for k in 0..n {
        d[k] = a[tile(n, k, k)];
        let pivot = invert_tile(set, &mut d[k]);
        if pivot.is_nan() || pivot <= zero {
            return zero;
        }
        least = least.min(pivot);
        for i in k + 1..n {
            let mut product = [[zero; SIDE]; SIDE];
            accumulate(set, &mut product, &a[tile(n, i, k)], &d[k]);
            f[i] = product.map(|column| column.map(|v| -v));
        }
        for j in 0..k {
            let row = a[tile(n, k, j)];
            for i in k + 1..n {
                accumulate(set, &mut a[tile(n, i, j)], &f[i], &row);
            }
        }
        for j in k + 1..n {
            let column = transpose(&a[tile(n, j, k)]);
            for i in j..n {
                accumulate(set, &mut a[tile(n, i, j)], &f[i], &column);
            }
        }
        for i in k + 1..n {
            a[tile(n, i, k)] = f[i];
        }
    }
    least
}

/// Runs stage 2 from the top row on: row i of A⁻¹ needs only row i and the rows below it of L⁻¹.
#[inline(always)]
fn multiply_out<E: Real, I: Set<E>>(set: I, w: &mut Workspace<E>, n: usize) {
    let Workspace { a, q, d, f } = w;
    for k in 0..n {
        for j in 0..k {
            let mut product = [[E::zero(); SIDE]; SIDE];
            accumulate(set, &mut product, &d[k], &a[tile(n, k, j)]);
            q[tile(n, k, j)] = product;
        }
        q[tile(n, k, k)] = d[k];
    }
    for i in 0..n {
        for k in i + 1..n {
            f[k] = transpose(&a[tile(n, k, i)]);
        }
        for j in 0..=i {
            let mut m = q[tile(n, i, j)];
            for k in i + 1..n {
                accumulate(set, &mut m, &f[k], &q[tile(n, k, j)]);
            }
            if i == j {
                mirror(&mut m);
            }
            a[tile(n, i, j)] = m;
        }
    }
}

/// Computes c += l r.
#[inline(always)]
fn accumulate<E: Real, I: Set<E>>(set: I, c: &mut Tile<E>, l: &Tile<E>, r: &Tile<E>) {
    let mut columns = [I::Eight::zero(set); SIDE];
    for k in 0..SIDE {
        columns[k] = load(set, &l[k]);
    }
    for (c, r) in c.iter_mut().zip(r) {
        let mut sum: I::Eight = load(set, c);
        for k in 0..SIDE {
            sum = columns[k].mul_add(I::Eight::splat(set, r[k]), sum);
        }
        store::<E, I>(sum, c);
    }
}

#[inline(always)]
fn transpose<E: Real>(t: &Tile<E>) -> Tile<E> {
    let mut transposed = *t;
    for column in 0..SIDE {
        for row in 0..SIDE {
            transposed[column][row] = t[row][column];
        }
    }
    transposed
}

/// Copies the part of a tile below the diagonal to the part above the diagonal.
#[inline(always)]
fn mirror<E: Real>(t: &mut Tile<E>) {
    for column in 0..SIDE {
        for row in 0..column {
            t[column][row] = t[row][column];
        }
    }
}

/// Inverts one tile as stages 1 and 2 do, with pivots that are single numbers; returns the smallest pivot.
///
/// Gauss-Jordan elimination of all rows would give an inverse with errors of the condition of the tile, which may
/// exceed its smallest eigenvalue. L⁻ᵀ D⁻¹ L⁻¹ stays positive definite.
#[inline(always)]
fn invert_tile<E: Real, I: Set<E>>(set: I, t: &mut Tile<E>) -> E {
    let (zero, one) = (E::zero(), E::one());
    let (mut least, mut d) = (E::infinity(), [zero; SIDE]);
    for k in 0..SIDE {
        let pivot = t[k][k];
        if pivot.is_nan() {
            return pivot;
        }
        least = least.min(pivot);
        d[k] = one / pivot;
        // Lanes up to the pivot are multiplied by zero, because a pack has no masked product.
        let mut below = [zero; SIDE];
        below[k + 1..].fill(-one);
        let zeros = I::Eight::zero(set);
        let factors = load::<E, E, I>(set, &t[k]).mul_add(I::Eight::splat(set, d[k]), zeros);
        let lanes = factors.mul_add(load(set, &below), zeros);
        for column in t.iter_mut() {
            let row = I::Eight::splat(set, column[k]);
            store::<E, I>(lanes.mul_add(row, load(set, column)), column);
        }
        store::<E, I>(lanes, &mut t[k]); // of L⁻¹; U is not needed
        t[k][k] = one;
    }
    let rows = transpose(t);
    let mut columns = [I::Eight::zero(set); SIDE];
    for k in 0..SIDE {
        let row: I::Eight = load(set, &rows[k]);
        for j in 0..=k {
            columns[j] = row.mul_add(I::Eight::splat(set, d[k] * rows[k][j]), columns[j]);
        }
    }
    columns.iter().zip(t.iter_mut()).for_each(|(column, to)| store::<E, I>(*column, to));
    mirror(t); // rows k < j were left out of column j
    least
}
