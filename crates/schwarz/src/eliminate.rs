//! The inverse of a small symmetric positive definite matrix (Algorithm 1, §6.2), in tiles.
//!
//! 1. One-way Gauss-Jordan elimination of \[A | I\] to \[U | L⁻¹\], in place: step k subtracts multiples of block row k from the rows
//!    below it, in the part that is still A and in the part that has become L⁻¹. With A = L D Lᵀ, D is what stands on the diagonal.
//! 2. M⁻¹ = L⁻ᵀ D⁻¹ L⁻¹, which is positive definite whatever the rounding of L⁻¹ was.
//!
//! Deviation: rows, columns and D are taken in blocks of 8, the side of a tile, so that every step is a product of tiles in registers.
//! Both stages take m³ / 2 multiplications together, where two row reductions would take m³.
//!
//! | symbol | name |
//! |---|---|
//! | A, then L⁻¹ below the diagonal, then M⁻¹ | `a` |
//! | D_k⁻¹ | `d[k]` |
//! | A_ik D_k⁻¹, the factors of step k | `f[i]` |
//! | D_k⁻¹ (L⁻¹)_kj | `q` |

use coarsen_core::Real;

use crate::packed::{AREA, SIDE, length, part, side, tile};
use crate::simd::{Kernel, dispatch, multiply_add};

type Tile<E> = [E; AREA];

/// Room for one matrix and its elimination.
pub(crate) struct Workspace<E> {
    /// The matrix, packed; its inverse after [`invert`](Self::invert).
    pub(crate) a: Vec<E>,
    q: Vec<E>,
    d: Vec<Tile<E>>,
    f: Vec<Tile<E>>,
}

impl<E: Real> Workspace<E> {
    /// Room for matrices of up to `m` rows.
    pub(crate) fn new(m: usize) -> Self {
        let zeros = vec![E::zero(); length(m)];
        let tiles = vec![[E::zero(); AREA]; side(m)];
        Self { a: zeros.clone(), q: zeros, d: tiles.clone(), f: tiles }
    }

    /// The zero matrix of `side` tiles along a side.
    pub(crate) fn clear(&mut self, side: usize) {
        self.a[..tile(side, side, side)].fill(E::zero());
    }

    /// Replaces the matrix, whose diagonal tiles are whole, by its inverse; returns the smallest pivot, which is not positive where the
    /// matrix is not positive definite to round-off: `a` then holds nothing of use.
    pub(crate) fn invert(&mut self, side: usize) -> E {
        dispatch(Invert { w: self, side })
    }
}

struct Invert<'a, E> {
    w: &'a mut Workspace<E>,
    side: usize,
}

impl<E: Real> Kernel for Invert<'_, E> {
    type Out = E;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> E {
        let (w, n) = (self.w, self.side);
        let least = reduce::<FMA, E>(w, n);
        if least > E::zero() {
            multiply_out::<FMA, E>(w, n);
        }
        least
    }
}

/// Stage 1; the smallest pivot.
#[inline(always)]
fn reduce<const FMA: bool, E: Real>(w: &mut Workspace<E>, n: usize) -> E {
    let mut least = E::infinity();
    for k in 0..n {
        w.d[k] = *get(&w.a, n, k, k);
        let pivot = invert_tile::<FMA, E>(&mut w.d[k]);
        if pivot.is_nan() || pivot <= E::zero() {
            return E::zero();
        }
        least = least.min(pivot);
        for i in k + 1..n {
            let mut f = [E::zero(); AREA];
            accumulate::<FMA, E>(&mut f, get(&w.a, n, i, k), &w.d[k]);
            w.f[i] = f.map(|v| -v);
        }
        for i in k + 1..n {
            let f = w.f[i];
            for j in 0..k {
                let row = *get(&w.a, n, k, j);
                accumulate::<FMA, E>(get_mut(&mut w.a, n, i, j), &f, &row);
            }
            for j in k + 1..=i {
                let column = *get(&w.a, n, j, k);
                accumulate_transposed::<FMA, E>(get_mut(&mut w.a, n, i, j), &f, &column);
            }
        }
        for i in k + 1..n {
            *get_mut(&mut w.a, n, i, k) = w.f[i];
        }
    }
    least
}

/// Stage 2. Rows are replaced from the top: row i of M⁻¹ needs rows below i of L⁻¹ only.
#[inline(always)]
fn multiply_out<const FMA: bool, E: Real>(w: &mut Workspace<E>, n: usize) {
    for k in 0..n {
        for j in 0..k {
            let mut q = [E::zero(); AREA];
            accumulate::<FMA, E>(&mut q, &w.d[k], get(&w.a, n, k, j));
            *get_mut(&mut w.q, n, k, j) = q;
        }
        *get_mut(&mut w.q, n, k, k) = w.d[k];
    }
    for i in 0..n {
        for k in i + 1..n {
            w.f[k] = transpose(get(&w.a, n, k, i));
        }
        for j in 0..=i {
            let mut m = *get(&w.q, n, i, j);
            for k in i + 1..n {
                accumulate::<FMA, E>(&mut m, &w.f[k], get(&w.q, n, k, j));
            }
            if i == j {
                mirror(&mut m);
            }
            *get_mut(&mut w.a, n, i, j) = m;
        }
    }
}

#[inline(always)]
fn get<E>(a: &[E], n: usize, i: usize, j: usize) -> &Tile<E> {
    a[part(n, i, j)].first_chunk().expect("a part is a tile")
}

#[inline(always)]
fn get_mut<E>(a: &mut [E], n: usize, i: usize, j: usize) -> &mut Tile<E> {
    a[part(n, i, j)].first_chunk_mut().expect("a part is a tile")
}

/// c += l r.
#[inline(always)]
fn accumulate<const FMA: bool, E: Real>(c: &mut Tile<E>, l: &Tile<E>, r: &Tile<E>) {
    let mut sum = *c;
    for k in 0..SIDE {
        for column in 0..SIDE {
            let factor = r[column * SIDE + k];
            for row in 0..SIDE {
                let s = &mut sum[column * SIDE + row];
                *s = multiply_add::<FMA, E>(l[k * SIDE + row], factor, *s);
            }
        }
    }
    *c = sum;
}

/// c += l rᵀ.
#[inline(always)]
fn accumulate_transposed<const FMA: bool, E: Real>(c: &mut Tile<E>, l: &Tile<E>, r: &Tile<E>) {
    let mut sum = *c;
    for k in 0..SIDE {
        for column in 0..SIDE {
            let factor = r[k * SIDE + column];
            for row in 0..SIDE {
                let s = &mut sum[column * SIDE + row];
                *s = multiply_add::<FMA, E>(l[k * SIDE + row], factor, *s);
            }
        }
    }
    *c = sum;
}

#[inline(always)]
fn transpose<E: Real>(t: &Tile<E>) -> Tile<E> {
    std::array::from_fn(|at| t[at % SIDE * SIDE + at / SIDE])
}

/// The part above the diagonal of a tile becomes that below it.
#[inline(always)]
fn mirror<E: Real>(t: &mut Tile<E>) {
    for column in 0..SIDE {
        for row in 0..column {
            t[column * SIDE + row] = t[row * SIDE + column];
        }
    }
}

/// The inverse of one tile by Gauss-Jordan elimination; the smallest pivot.
#[inline(always)]
fn invert_tile<const FMA: bool, E: Real>(t: &mut Tile<E>) -> E {
    let mut least = E::infinity();
    for k in 0..SIDE {
        let pivot = t[k * SIDE + k];
        least = if pivot.is_nan() { pivot } else { least.min(pivot) };
        let d = E::one() / pivot;
        let mut factors: [E; SIDE] = std::array::from_fn(|row| -t[k * SIDE + row]);
        factors[k] = E::zero();
        for column in 0..SIDE {
            let scaled = t[column * SIDE + k] * d;
            for row in 0..SIDE {
                let v = &mut t[column * SIDE + row];
                *v = multiply_add::<FMA, E>(factors[row], scaled, *v);
            }
            t[column * SIDE + k] = scaled;
        }
        for row in 0..SIDE {
            t[k * SIDE + row] = factors[row] * d;
        }
        t[k * SIDE + k] = d;
        if least.is_nan() {
            return least;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::entry;
    use coarsen_backend::conformance::noise;

    /// B Bᵀ + I for a random B of m rows.
    fn positive(m: usize) -> Vec<f64> {
        let b = noise(m * m, m as u64);
        let dot = |i: usize, j: usize| (0..m).map(|k| b[i * m + k] * b[j * m + k]).sum::<f64>();
        (0..m * m).map(|at| dot(at / m, at % m) + if at / m == at % m { 1.0 } else { 0.0 }).collect()
    }

    fn pack<E: Real>(w: &mut Workspace<E>, m: usize, a: &[f64]) {
        let n = side(m);
        w.clear(n);
        for (i, j) in (0..m).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            w.a[entry(n, i, j)] = E::of(a[i * m + j]);
            w.a[tile(n, i / SIDE, j / SIDE)
                + if i / SIDE == j / SIDE {
                    i % SIDE * SIDE + j % SIDE
                } else {
                    j % SIDE * SIDE + i % SIDE
                }] = E::of(a[i * m + j]);
        }
        for i in m..n * SIDE {
            w.a[entry(n, i, i)] = E::one();
        }
    }

    fn off<E: Real>(m: usize) -> f64 {
        let (a, n) = (positive(m), side(m));
        let mut w = Workspace::<E>::new(m);
        pack(&mut w, m, &a);
        assert!(w.invert(n) > E::zero());
        let at = |i: usize, j: usize| w.a[entry(n, i.max(j), i.min(j))].wide();
        let product = |i: usize, j: usize| (0..m).map(|k| a[i * m + k] * at(k, j)).sum::<f64>();
        let residual = |i: usize, j: usize| (product(i, j) - if i == j { 1.0 } else { 0.0 }).abs();
        (0..m * m).map(|ij| residual(ij / m, ij % m)).fold(0.0, f64::max)
    }

    #[test]
    fn a_times_its_inverse_is_the_identity() {
        for m in [1, 2, 7, 8, 9, 24, 48, 96] {
            assert!(off::<f64>(m) < 1e-10, "{m}: {:.1e}", off::<f64>(m));
            assert!(off::<f32>(m) < 0.05, "{m}: {:.1e}", off::<f32>(m));
        }
    }

    #[test]
    fn two_by_two_by_hand() {
        let mut w = Workspace::<f64>::new(2);
        pack(&mut w, 2, &[2.0, 1.0, 1.0, 1.0]);
        assert_eq!(w.invert(1), 0.5); // the Schur complement of 2
        assert_eq!([w.a[0], w.a[1], w.a[8], w.a[9]], [1.0, -1.0, -1.0, 2.0]);
    }

    #[test]
    fn what_is_not_positive_definite_is_told() {
        let mut w = Workspace::<f64>::new(2);
        for a in [[1.0, 2.0, 2.0, 1.0], [0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0], [f64::NAN, 0.0, 0.0, 1.0]]
        {
            pack(&mut w, 2, &a);
            assert!(w.invert(1) <= 0.0, "{a:?}");
        }
    }
}
