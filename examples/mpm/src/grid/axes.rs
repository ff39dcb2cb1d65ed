//! Sums over the 27 nodes of a particle, one axis after the other.
//!
//! > Σ_i v_i ∂w_ip/∂x = Σ_z w_z Σ_y w_y Σ_x w'_x v_xyz    and so on
//!
//! The inner sums serve several outer ones, so that 27 nodes need 90 multiplications with four lanes each. The sums
//! are compiled for the instructions of the machine (`coarsen_core::simd`).

use coarsen_core::simd::{Pack, Set};

use super::packs::{eight, four, store};
use super::tiles::{Tile, place};
use crate::particles::{Matrix, Particle};
use crate::weights::Weights;

/// The place in its tile of the first node of a particle.
#[inline(always)]
fn first(weights: &Weights) -> usize {
    let [x, y, z] = weights.base;
    place([(x & 3) as usize, (y & 3) as usize, (z & 3) as usize])
}

/// The same number in four lanes.
#[inline(always)]
fn splat<I: Set<f64>>(set: I, number: f64) -> I::Four {
    I::Four::splat(set, number)
}

/// Stores the lanes of a pack.
#[inline(always)]
fn lanes<I: Set<f64>>(pack: I::Four) -> [f64; 4] {
    let mut numbers = [0.0; 4];
    store(pack, &mut numbers, 0);
    numbers
}

/// Σ_i w_i v_i, and for each axis the same sum with d in place of the weights on this axis.
#[inline(always)]
fn moments<I: Set<f64>>(
    set: I,
    weights: &Weights,
    d: &[[f64; 3]; 3],
    tile: &Tile<4>,
) -> (I::Four, [I::Four; 3]) {
    let (first, w) = (first(weights), &weights.w);
    let zero = I::Four::zero(set);
    let (mut sum, mut sums) = (zero, [zero; 3]);
    for z in 0..3 {
        let (mut plane, mut planes) = (zero, [zero; 2]);
        for y in 0..3 {
            let (mut line, mut slope) = (zero, zero);
            for x in 0..3 {
                let v = four(set, &tile[first + place([x, y, z])], 0);
                line = v.mul_add(splat(set, w[0][x]), line);
                slope = v.mul_add(splat(set, d[0][x]), slope);
            }
            plane = line.mul_add(splat(set, w[1][y]), plane);
            planes[0] = slope.mul_add(splat(set, w[1][y]), planes[0]);
            planes[1] = line.mul_add(splat(set, d[1][y]), planes[1]);
        }
        sum = plane.mul_add(splat(set, w[2][z]), sum);
        sums[0] = planes[0].mul_add(splat(set, w[2][z]), sums[0]);
        sums[1] = planes[1].mul_add(splat(set, w[2][z]), sums[1]);
        sums[2] = plane.mul_add(splat(set, d[2][z]), sums[2]);
    }
    (sum, sums)
}

/// The matrix with these columns.
#[inline(always)]
fn of_columns<I: Set<f64>>(columns: [I::Four; 3]) -> Matrix {
    let [x, y, z] = columns;
    let ([x, y, z], mut matrix) = ([lanes::<I>(x), lanes::<I>(y), lanes::<I>(z)], Matrix::default());
    for i in 0..3 {
        matrix[i] = [x[i], y[i], z[i]];
    }
    matrix
}

/// Σ_i v_i ∇w_ipᵀ of values v on the nodes of a tile.
#[inline(always)]
pub(crate) fn gradient<I: Set<f64>>(set: I, weights: &Weights, tile: &Tile<4>) -> Matrix {
    of_columns::<I>(moments(set, weights, &weights.dw, tile).1)
}

/// Σ_i w_ip v_i, and Σ_i w_ip v_i (x_i − x_p)ᵀ for a particle at x_p.
#[inline(always)]
pub(crate) fn means<I: Set<f64>>(
    set: I,
    weights: &Weights,
    arms: &[[f64; 3]; 3],
    tile: &Tile<4>,
) -> ([f64; 3], Matrix) {
    let mut d = *arms;
    for axis in 0..3 {
        for k in 0..3 {
            d[axis][k] *= weights.w[axis][k];
        }
    }
    let (mean, moments) = moments(set, weights, &d, tile);
    let [x, y, z, _] = lanes::<I>(mean);
    ([x, y, z], of_columns::<I>(moments))
}

/// Adds T ∇w_ip to each node i.
#[inline(always)]
pub(crate) fn spread<I: Set<f64>>(set: I, weights: &Weights, t: &Matrix, tile: &mut Tile<4>) {
    let (first, Weights { w, dw, .. }) = (first(weights), weights);
    let zero = I::Four::zero(set);
    let x_column = four(set, &[t[0][0], t[1][0], t[2][0], 0.0], 0);
    let y_column = four(set, &[t[0][1], t[1][1], t[2][1], 0.0], 0);
    let z_column = four(set, &[t[0][2], t[1][2], t[2][2], 0.0], 0);
    for z in 0..3 {
        let x_plane = x_column.mul_add(splat(set, w[2][z]), zero);
        let y_plane = y_column.mul_add(splat(set, w[2][z]), zero);
        let z_plane = z_column.mul_add(splat(set, dw[2][z]), zero);
        for y in 0..3 {
            let slope = x_plane.mul_add(splat(set, w[1][y]), zero);
            let line = y_plane.mul_add(splat(set, dw[1][y]), z_plane.mul_add(splat(set, w[1][y]), zero));
            for x in 0..3 {
                let at = first + place([x, y, z]);
                let sum = line.mul_add(splat(set, w[0][x]), four(set, &tile[at], 0));
                let sum = slope.mul_add(splat(set, dw[0][x]), sum);
                store(sum, &mut tile[at], 0);
            }
        }
    }
}

/// Adds w_ip m (v_p + C_p (x_i − x_p)), w_ip m and w_ip m ξ to each node i.
#[inline(always)]
pub(crate) fn give<I: Set<f64>>(
    set: I,
    weights: &Weights,
    particle: &Particle,
    [mass, xi]: [f64; 2],
    dx: f64,
    tile: &mut Tile<8>,
) {
    let (first, w, Particle { x, v, c, .. }) = (first(weights), &weights.w, particle);
    let zero = I::Eight::zero(set);
    let arm = weights.arm([0; 3], *x, dx);
    let mut base = [0.0, 0.0, 0.0, mass, mass * xi, 0.0, 0.0, 0.0];
    for k in 0..3 {
        base[k] = mass * (v[k] + c[k][0] * arm[0] + c[k][1] * arm[1] + c[k][2] * arm[2]);
    }
    let base = eight(set, &base, 0);
    // From one node to the next on each axis.
    let step = mass * dx;
    let x_step = eight(set, &[step * c[0][0], step * c[1][0], step * c[2][0], 0.0, 0.0, 0.0, 0.0, 0.0], 0);
    let y_step = eight(set, &[step * c[0][1], step * c[1][1], step * c[2][1], 0.0, 0.0, 0.0, 0.0, 0.0], 0);
    let z_step = eight(set, &[step * c[0][2], step * c[1][2], step * c[2][2], 0.0, 0.0, 0.0, 0.0, 0.0], 0);
    for z in 0..3 {
        let plane = z_step.mul_add(I::Eight::splat(set, z as f64), base);
        for y in 0..3 {
            let share = I::Eight::splat(set, w[1][y] * w[2][z]);
            let line = y_step.mul_add(I::Eight::splat(set, y as f64), plane).mul_add(share, zero);
            let step = x_step.mul_add(share, zero);
            for x in 0..3 {
                let at = first + place([x, y, z]);
                let value = step.mul_add(I::Eight::splat(set, x as f64), line);
                let node = eight(set, &tile[at], 0);
                store(value.mul_add(I::Eight::splat(set, w[0][x]), node), &mut tile[at], 0);
            }
        }
    }
}
