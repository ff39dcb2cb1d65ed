//! Smoothed aggregation compared with plain loops over its formulas: bases, smoothing with A and with A_F,
//! near-kernels and aggregates.

use coarsen_backend::conformance::noise;
use coarsen_krylov::start_vector;
use coarsen_multigrid::{Coarsening, Grid};
use coarsen_smoothed_aggregation::{Modes, SmoothedAggregation, Spreading};
use coarsen_sparse::{Bsr, NearKernel, Strength, assembly};

use crate::common::grid;

type Dense = Vec<Vec<f64>>;

const NONE: u32 = u32::MAX;

fn dense(a: &Bsr<f64>) -> Dense {
    let (rows, columns) = a.shape();
    (0..rows).map(|i| (0..columns).map(|j| a.get(i, j)).collect()).collect()
}

fn product(a: &Dense, b: &Dense) -> Dense {
    let entry = |row: &Vec<f64>, j: usize| row.iter().zip(b).map(|(v, b)| v * b[j]).sum();
    a.iter().map(|row| (0..b[0].len()).map(|j| entry(row, j)).collect()).collect()
}

/// Returns A⁻¹ B by elimination, for a small A.
fn solve(mut a: Dense, mut b: Dense) -> Dense {
    let n = a.len();
    for p in 0..n {
        let pivot = (p..n).fold(p, |best, i| if a[i][p].abs() > a[best][p].abs() { i } else { best });
        a.swap(p, pivot);
        b.swap(p, pivot);
        for i in (0..n).filter(|&i| i != p) {
            let factor = a[i][p] / a[p][p];
            (0..n).for_each(|j| a[i][j] -= factor * a[p][j]);
            (0..b[0].len()).for_each(|j| b[i][j] -= factor * b[p][j]);
        }
    }
    (0..n).map(|i| b[i].iter().map(|v| v / a[i][i]).collect()).collect()
}

/// Returns D⁻¹ M, where D is the block diagonal of A.
fn scaled(a: &Dense, b: usize, m: &Dense) -> Dense {
    let of = |i: usize| {
        let rows = i * b..(i + 1) * b;
        solve(rows.clone().map(|r| a[r][rows.clone()].to_vec()).collect(), m[rows.clone()].to_vec())
    };
    (0..a.len() / b).flat_map(of).collect()
}

/// Returns a symmetric matrix of nodes on a ring in blocks of size `b`, with `own` on the diagonal. Each node
/// is coupled to eight neighbours, and half of the couplings are weak.
fn ring(nodes: usize, b: usize, own: &dyn Fn(usize) -> f64, seed: u64) -> Bsr<f64> {
    let (mut entries, values) = (Vec::new(), noise(nodes * 5 * b * b, seed));
    for i in 0..nodes {
        for (at, far) in [0, 1, 3, 4, 7].into_iter().enumerate() {
            let (j, block) = ((i + far) % nodes, &values[(5 * i + at) * b * b..][..b * b]);
            let draw = values[(3 * i + at) * b * b / 2].abs();
            let size = if at == 0 {
                0.1
            } else if draw < 0.5 {
                0.05 * draw
            } else {
                0.6 * draw / (b as f64).sqrt()
            };
            for (k, v) in block.iter().enumerate() {
                let (r, c) = ((i * b + k / b) as u32, (j * b + k % b) as u32);
                entries.extend([(r, c, size * v), (c, r, size * v)]);
            }
        }
        entries.extend((i * b..(i + 1) * b).map(|r| (r as u32, r as u32, own(i))));
    }
    assembly::from_triplets_blocked(nodes * b, nodes * b, (b, b), &entries).unwrap()
}

/// Returns the matrix with unknown `row` held: its row and column are zero except on the diagonal.
fn held(a: &Bsr<f64>, row: usize) -> Bsr<f64> {
    let (pattern, (b, _), mut values) = a.clone().into_parts();
    for i in 0..pattern.rows() {
        for k in pattern.range(i) {
            let j = pattern.indices()[k] as usize;
            for (e, v) in values[k * b * b..(k + 1) * b * b].iter_mut().enumerate() {
                let (r, c) = (i * b + e / b, j * b + e % b);
                *v = if r != c && (r == row || c == row) { 0.0 } else { *v };
            }
        }
    }
    Bsr::new(pattern, (b, b), values).unwrap()
}

/// Returns P̂ and R. On the rows of each aggregate, K = Q R, where Q has orthonormal columns and R a positive
/// diagonal.
fn tentative(k: &Dense, b: usize, aggregates: &[u32], count: usize) -> (Dense, Dense) {
    let columns = k[0].len();
    let (mut q, mut r) =
        (vec![vec![0.0; count * columns]; k.len()], vec![vec![0.0; columns]; count * columns]);
    for g in 0..count {
        let rows: Vec<usize> = (0..k.len()).filter(|&i| aggregates[i / b] == g as u32).collect();
        for c in 0..columns {
            let mut v: Vec<f64> = rows.iter().map(|&i| k[i][c]).collect();
            for p in (0..c).chain(0..c) {
                let basis: Vec<f64> = rows.iter().map(|&i| q[i][g * columns + p]).collect();
                let share: f64 = v.iter().zip(&basis).map(|(v, q)| v * q).sum();
                r[g * columns + p][c] += share;
                v.iter_mut().zip(&basis).for_each(|(v, q)| *v -= share * q);
            }
            let size = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            r[g * columns + c][c] = size;
            rows.iter().zip(v).for_each(|(&i, v)| q[i][g * columns + c] = v / size);
        }
    }
    (q, r)
}

fn rows(k: &NearKernel) -> Dense {
    (0..k.size()).map(|i| k.row(i).to_vec()).collect()
}

fn kernel(n: usize, k: usize, seed: u64) -> NearKernel {
    NearKernel::from_rows(k, noise(n * k, seed)).unwrap()
}

fn off(x: &Dense, y: &Dense) -> f64 {
    assert_eq!((x.len(), x[0].len()), (y.len(), y[0].len()));
    let size = y.iter().flatten().fold(0.0_f64, |m, v| m.max(v.abs()));
    x.iter().flatten().zip(y.iter().flatten()).fold(0.0_f64, |m, (x, y)| m.max((x - y).abs())) / size
}

/// Sets the blocks that are at most `share` times the largest block of their row to zero, but not the block
/// of the aggregate of the node. Returns the number of these blocks.
fn pruned(p: &mut Dense, (b, k): (usize, usize), aggregates: &[u32], share: f64) -> usize {
    let (count, mut gone) = (p[0].len() / k, 0);
    for i in 0..p.len() / b {
        let size = |p: &Dense, g: usize| {
            (i * b..(i + 1) * b).flat_map(|r| &p[r][g * k..(g + 1) * k]).fold(0.0_f64, |m, v| m.max(v.abs()))
        };
        let limit = share * (0..count).map(|g| size(p, g)).fold(0.0, f64::max);
        for g in (0..count).filter(|&g| g as u32 != aggregates[i]) {
            if size(p, g) > 0.0 && size(p, g) <= limit {
                gone += 1;
                (i * b..(i + 1) * b).for_each(|r| p[r][g * k..(g + 1) * k].fill(0.0));
            }
        }
    }
    gone
}

/// P = (I − ω/ρ D⁻¹A) P̂ for given sets, in blocks of any size, with a K of any scale. On the finest level K
/// is held in the rows in which A is held. On coarser levels it is held already.
#[test]
fn prolongations_are_their_formula() {
    let (nodes, omega, radius) = (18, 1.1, 2.3);
    let sets: Vec<u32> = (0..nodes as u32).map(|i| if i == 7 { NONE } else { i / 6 }).collect();
    for (b, k) in [(1, 1), (1, 2), (2, 2), (2, 3), (3, 2), (3, 3), (3, 6), (4, 1), (6, 6)] {
        for (depth, scale, prune) in [(0, 1.0, 0.0), (1, 1e-9, 0.0), (0, 1e7, 0.2), (2, 1.0, 0.5)] {
            let a = held(&ring(nodes, b, &|i| 7.0 + i as f64 / 5.0, 3), 2 * b);
            let modes = kernel(nodes * b, k, 4);
            let modes = NearKernel::from_rows(k, modes.values().iter().map(|v| v * scale).collect()).unwrap();
            let positions: Vec<[f64; 3]> =
                noise(3 * nodes, 5).chunks_exact(3).map(|x| [x[0], 2.0 + x[1], x[2] - 7.0]).collect();
            let fine = Grid {
                near_kernel: Some(&modes),
                positions: Some(&positions),
                radius: Some(radius),
                sets: Some(&sets),
                depth,
                ..grid(&a)
            };
            let parameters =
                SmoothedAggregation { omega_of_sets: omega, prune, rotations_from: 0, ..Default::default() };
            let above = (depth > 0).then(|| Spreading::new(a.pattern(), Vec::new()));
            let coarse = parameters.coarsen(&fine, above.as_ref()).unwrap().unwrap();
            let mut values = rows(&modes);
            if depth == 0 {
                values[2 * b].fill(0.0);
            }
            let (basis, r) = tentative(&values, b, &sets, 3);
            let a = dense(&a);
            let step = scaled(&a, b, &product(&a, &basis));
            let mut p = basis.clone();
            for (i, row) in p.iter_mut().enumerate() {
                let factor = if sets[i / b] == NONE { 0.0 } else { omega / radius };
                row.iter_mut().zip(&step[i]).for_each(|(p, s)| *p -= factor * s);
            }
            let gone = pruned(&mut p, (b, k), &sets, prune);
            assert_eq!(gone > 0, prune > 0.0, "blocks of {b} x {k}: {gone} are left out");
            let found = dense(coarse.prolongation.matrix().unwrap());
            assert!(off(&found, &p) < 1e-12, "blocks of {b} x {k}: {:.1e}", off(&found, &p));
            assert!(off(&rows(coarse.near_kernel.as_ref().unwrap()), &r) < 1e-12, "blocks of {b} x {k}: R");
            assert_eq!((coarse.without_basis.len(), coarse.aggregates.as_ref()), (0, Some(&sets)));
            for (g, centre) in coarse.positions.unwrap().iter().enumerate() {
                let of: Vec<usize> = (0..nodes).filter(|&i| sets[i] == g as u32).collect();
                for d in 0..3 {
                    let mean = of.iter().map(|&i| positions[i][d]).sum::<f64>() / of.len() as f64;
                    assert!((centre[d] - mean).abs() < 1e-14, "the centre of {of:?}");
                }
            }
        }
    }
}

/// K ← K − 4/(3ρ) D⁻¹A K, `kernel_sweeps` times, with constraints held; 20 times more for random columns.
#[test]
fn guessed_modes_are_relaxed() {
    let (nodes, radius) = (20, 2.6);
    for (b, modes, sweeps) in
        [(3, Modes::Known, 2), (1, Modes::Known, 1), (2, Modes::Found(3), 21), (3, Modes::Found(2), 22)]
    {
        let a = held(&ring(nodes, b, &|i| 6.0 + i as f64 / 7.0, 8), 2 * b);
        let n = nodes * b;
        let kernel_sweeps = if sweeps > 20 { sweeps - 20 } else { sweeps };
        let parameters =
            SmoothedAggregation { modes, kernel_sweeps, dominance: 0.0, omega: 0.0, ..Default::default() };
        let coarse = parameters.coarsen(&Grid { radius: Some(radius), ..grid(&a) }, None).unwrap().unwrap();
        let mut k: Dense = match modes {
            Modes::Found(count) => {
                let all = start_vector::<f64>(n * count);
                (0..n).map(|i| (0..count).map(|c| all[c * n + i]).collect()).collect()
            }
            _ => (0..n).map(|i| (0..b).map(|c| f64::from(u8::from(i % b == c))).collect()).collect(),
        };
        let a = dense(&a);
        k[2 * b].fill(0.0);
        for _ in 0..sweeps {
            let step = scaled(&a, b, &product(&a, &k));
            for i in (0..n).filter(|&i| i != 2 * b) {
                k[i].iter_mut().zip(&step[i]).for_each(|(k, s)| *k -= 4.0 / 3.0 / radius * s);
            }
        }
        let (basis, r) =
            tentative(&k, b, coarse.aggregates.as_ref().unwrap(), coarse.prolongation.pattern().columns());
        let found = dense(coarse.prolongation.matrix().unwrap());
        assert!(off(&found, &basis) < 1e-9, "{modes:?} of blocks of {b}: {:.1e}", off(&found, &basis));
        assert!(off(&rows(coarse.near_kernel.as_ref().unwrap()), &r) < 1e-9, "{modes:?} of blocks of {b}: R");
    }
}

/// Constants are divided by the root of the mean diagonal of each node if these roots differ by a factor
/// above 4 and the division more than halves the energy, vᵀAv / vᵀ diag(A) v. `Modes::Constants` stay
/// unchanged.
#[test]
fn modes_follow_the_scale_of_a_matrix_where_that_saves_energy() {
    let mut taken = [0; 4];
    for (seed, b) in (0..120).map(|seed| (seed, 1 + seed as usize % 2)) {
        let (nodes, wide) = (6, 0.35 + 0.01 * seed as f64);
        let n = nodes * b;
        let scale: Vec<f64> = noise(nodes, seed).iter().map(|v| 10_f64.powf(wide * v)).collect();
        let mut entries = Vec::new();
        let values = noise(n * n, seed + 500);
        for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
            let (low, high) = (scale[i / b].min(scale[j / b]), scale[i / b].max(scale[j / b]));
            let size = low * if seed % 5 < 2 { high } else { low }; // scaled nodes or jumps between regions
            let v = if i == j { 1.0 + 0.5 * values[i * n + j] } else { -0.35 * values[i * n + j].abs() };
            entries.push((i as u32, j as u32, if i % b == j % b { v } else { 0.1 * v } * size));
        }
        let a = assembly::from_triplets_blocked(n, n, (b, b), &entries).unwrap();
        let root = |node: usize| {
            ((node * b..(node + 1) * b).map(|r| a.get(r, r)).sum::<f64>() / b as f64).sqrt().recip()
        };
        let energy = |v: &dyn Fn(usize) -> f64| {
            let of = |c: usize| {
                let rows: Vec<usize> = (0..nodes).map(|i| i * b + c).collect();
                let pairs = rows.iter().flat_map(|&i| rows.iter().map(move |&j| (i, j)));
                let energy: f64 = pairs.map(|(i, j)| v(i / b) * a.get(i, j) * v(j / b)).sum();
                energy / rows.iter().map(|&i| v(i / b).powi(2) * a.get(i, i)).sum::<f64>()
            };
            (0..b).map(of).sum::<f64>() / b as f64
        };
        let (least, most) =
            (0..nodes).map(root).fold((f64::MAX, 0.0), |(l, m): (f64, f64), s| (l.min(s), m.max(s)));
        let saves = energy(&root) < 0.5 * energy(&|_| 1.0);
        let follows = most > 4.0 * least && saves;
        taken[2 * usize::from(most > 4.0 * least) + usize::from(saves)] += 1;
        let sets = vec![0; nodes];
        for (modes, follows) in [(Modes::Known, follows), (Modes::Constants, false)] {
            let fine = Grid { sets: Some(&sets), ..grid(&a) };
            let parameters = SmoothedAggregation { modes, ..Default::default() };
            let found =
                dense(parameters.coarsen(&fine, None).unwrap().unwrap().prolongation.matrix().unwrap());
            let v: Vec<f64> = (0..nodes).map(|i| if follows { root(i) } else { 1.0 }).collect();
            let size = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            let expected: Dense = (0..n)
                .map(|i| (0..b).map(|c| if i % b == c { v[i / b] / size } else { 0.0 }).collect())
                .collect();
            assert!(off(&found, &expected) < 1e-12, "{modes:?} of matrix {seed}, scaled: {follows}");
        }
    }
    assert!(taken.iter().all(|&t| t > 3), "{taken:?}: matrices by ratio of scales and by energy");
}

/// Rows of P with A_F: weak couplings times s_j / s_i are added to the diagonal, and ω/2 replaces ω/ρ. A row
/// uses A if it has no weak or no strong coupling, exceeds the threshold `pull`, or has too large entries in
/// P.
#[test]
fn weak_couplings_are_lumped() {
    let (nodes, omega, radius) = (60, 1.2, 2.5);
    for (b, k) in [(1, 1), (2, 2), (2, 3), (3, 6)] {
        let (mut lumped, mut kept, mut pulled) = (0, 0, 0);
        for seed in 0..8 {
            let a = ring(
                nodes,
                b,
                &|i| if i % 6 == 0 { 0.35 } else { 0.7 + (i * 7 % 11) as f64 / 4.0 },
                20 + seed,
            );
            let modes = kernel(nodes * b, k, 30 + seed);
            let fine = Grid { near_kernel: Some(&modes), radius: Some(radius), depth: 1, ..grid(&a) };
            let parameters = SmoothedAggregation { omega, prune: 0.0, ..Default::default() };
            let above = Spreading::new(a.pattern(), vec![true]);
            let coarse = parameters.coarsen(&fine, Some(&above)).unwrap().unwrap();
            if coarse.state.couplings().is_empty() {
                continue; // too many are tied
            }
            let measure = Strength::Symmetric { theta: 0.04 };
            let weights = measure.weights(&a, false).unwrap();
            let strong = measure.strong(a.pattern(), &weights);
            let count = coarse.prolongation.pattern().columns();
            let (basis, _) = tentative(&rows(&modes), b, coarse.aggregates.as_ref().unwrap(), count);
            let full = dense(&a);
            let plain = scaled(&full, b, &product(&full, &basis));
            let size = |i: usize| -> f64 {
                let translations = (i * b..(i + 1) * b).flat_map(|r| &modes.row(r)[..b.min(k)]);
                translations.map(|v| v * v).sum::<f64>().sqrt()
            };
            let largest = |rows: &[Vec<f64>]| rows.iter().flatten().fold(0.0_f64, |m, v| m.max(v.abs()));
            let mut p = vec![vec![0.0; count * k]; nodes * b];
            for i in (0..nodes).filter(|&i| coarse.aggregates.as_ref().unwrap()[i] != NONE) {
                let own = i * b..(i + 1) * b;
                let range = a.pattern().range(i);
                let (mut d, mut pull) = (vec![vec![0.0; b]; b], 0.0);
                let mut af = vec![vec![0.0; nodes * b]; b];
                for at in range.clone() {
                    let (j, block) = (a.pattern().indices()[at] as usize, a.value(at));
                    if j != i && strong[at] {
                        pull += (0..b).map(|e| block[e * b + e]).sum::<f64>().abs();
                        (0..b * b).for_each(|e| af[e / b][j * b + e % b] = block[e]);
                    } else {
                        (0..b * b).for_each(|e| d[e / b][e % b] += size(j) / size(i) * block[e]);
                    }
                }
                for r in 0..b {
                    af[r][own.clone()].copy_from_slice(&d[r]);
                }
                let trace: f64 = (0..b).map(|e| d[e][e]).sum();
                let unit = (0..b).map(|r| (0..b).map(|c| f64::from(u8::from(r == c))).collect()).collect();
                let positive = solve(d.clone(), unit).iter().enumerate().all(|(e, row)| row[e] > 0.0);
                let step = solve(d, product(&af, &basis));
                let made = |step: &[Vec<f64>], factor: f64| -> Dense {
                    let parts = step.iter().zip(&basis[own.clone()]);
                    parts.map(|(s, q)| s.iter().zip(q).map(|(s, q)| q - factor * s).collect()).collect()
                };
                let filtered = made(&step, omega / 2.0);
                let weak = range.clone().any(|at| !strong[at] && a.pattern().indices()[at] as usize != i);
                let held = pull > 0.0 && pull <= 1.25 * trace && positive;
                let takes = weak && held && largest(&filtered) <= 4.0 * largest(&basis[own.clone()]);
                let values = if takes { filtered } else { made(&plain[own.clone()], omega / radius) };
                p[own].clone_from_slice(&values);
                (lumped, kept) = (lumped + usize::from(takes), kept + usize::from(!takes));
                pulled += usize::from(weak && pull > 1.25 * trace && positive);
                let said = &coarse.state.couplings()[range.clone()];
                let spreads = |at: usize| !takes || strong[at] || a.pattern().indices()[at] as usize == i;
                let told = range.zip(said).filter(|(at, _)| a.pattern().indices()[*at] as usize != i);
                assert!(
                    told.into_iter().all(|(at, &said)| said == spreads(at)),
                    "row {i} of blocks {b} x {k}"
                );
            }
            let found = dense(coarse.prolongation.matrix().unwrap());
            assert!(off(&found, &p) < 1e-11, "blocks of {b} x {k}: {:.1e}", off(&found, &p));
        }
        assert!(
            lumped > 200 && kept > pulled && pulled > 2,
            "blocks of {b} x {k}: {lumped}, {kept}, {pulled}"
        );
    }
}
