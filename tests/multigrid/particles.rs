//! Stiffness from particles by quadratic B-splines, as the material point method assembles it.

use std::collections::BTreeMap;

use coarsen_backend::conformance::noise;
use coarsen_sparse::{Bsr, assembly};

/// The weight gradients of one particle: the place of each node, and ∇ω.
pub(crate) type Gradients = Vec<([i32; 3], [f64; 3])>;

/// Particles at random places in the cells of a ball, two per axis and cell.
pub(crate) fn ball(cells: i32, seed: u64) -> Vec<[f64; 3]> {
    let radius = f64::from(cells) / 2.0;
    let lattice = |k: usize| (k as f64 + 0.5) / 2.0 - radius;
    let count = 2 * cells as usize;
    let places =
        (0..count * count * count).map(|p| [p / count / count, p / count % count, p % count].map(lattice));
    let inside: Vec<_> = places.filter(|x| x.iter().map(|c| c * c).sum::<f64>() < radius * radius).collect();
    let moves = noise(3 * inside.len(), seed);
    let moved = |(x, by): (&[f64; 3], &[f64])| [0, 1, 2].map(|d| x[d] + 0.2 * by[d].clamp(-1.0, 1.0));
    inside.iter().zip(moves.chunks_exact(3)).map(moved).collect()
}

/// The value and the slope of a quadratic B-spline.
fn spline(x: f64) -> (f64, f64) {
    match x.abs() {
        a if a < 0.5 => (0.75 - x * x, -2.0 * x),
        a if a < 1.5 => (0.5 * (1.5 - a) * (1.5 - a), -x.signum() * (1.5 - a)),
        _ => (0.0, 0.0),
    }
}

/// ∇ω_ip of the 27 nodes around a particle.
pub(crate) fn gradients(x: &[f64; 3]) -> Gradients {
    let base = x.map(|c| (c - 0.5).floor() as i32);
    let node = |k: i32| [base[0] + k / 9, base[1] + k / 3 % 3, base[2] + k % 3];
    let at = |k: i32| {
        let [(a, da), (b, db), (c, dc)] = [0, 1, 2].map(|d| spline(x[d] - f64::from(node(k)[d])));
        (node(k), [da * b * c, a * db * c, a * b * dc])
    };
    (0..27).map(at).collect()
}

/// Σ_i w_ij ∇ω_ip with hats of the given spacing between the levels: eq. 8, one level further.
pub(crate) fn composed(fine: &Gradients) -> Gradients {
    let mut coarse = BTreeMap::<[i32; 3], [f64; 3]>::new();
    for (i, g) in fine {
        let lower = i.map(|k| k.div_euclid(2));
        for k in 0..8 {
            let j = [lower[0] + k / 4, lower[1] + k / 2 % 2, lower[2] + k % 2];
            let w: f64 = (0..3).map(|d| 1.0 - (f64::from(i[d]) / 2.0 - f64::from(j[d])).abs()).product();
            if w > 0.0 {
                let sum = coarse.entry(j).or_default();
                (0..3).for_each(|d| sum[d] += w * g[d]);
            }
        }
    }
    coarse.into_iter().collect()
}

/// The places of all nodes with an entry, in order, and Σ_p λ g gᵀ + μ (gᵀ g I + g gᵀ), and a mass on the
/// diagonal.
pub(crate) fn stiffness(particles: &[Gradients], mass: f64) -> (Vec<[i32; 3]>, Bsr<f64>) {
    let mut number = BTreeMap::new();
    number.extend(particles.iter().flatten().map(|(i, _)| (*i, 0)));
    number.values_mut().zip(0_u32..).for_each(|(number, k)| *number = k);
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for particle in particles {
        for (i, g) in particle {
            for (j, h) in particle {
                places.push((number[i], number[j]));
                let product: f64 = g.iter().zip(h).map(|(g, h)| g * h).sum();
                for (r, c) in (0..3).flat_map(|r| (0..3).map(move |c| (r, c))) {
                    let unit = if r == c { product } else { 0.0 };
                    values.push(2.0 * g[r] * h[c] + unit + g[c] * h[r]);
                }
            }
        }
    }
    for &k in number.values() {
        places.push((k, k));
        values.extend((0..9).map(|e| if e % 4 == 0 { mass } else { 0.0 }));
    }
    let n = number.len();
    let a = assembly::from_blocks((n, n), (3, 3), &places, &values).unwrap();
    (number.into_keys().collect(), a)
}
