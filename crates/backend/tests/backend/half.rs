//! Sweeps over half of a symmetric matrix compared with sweeps over whole rows.

use coarsen_backend::conformance::{noise, ring};
use coarsen_backend::{
    Backend, Cpu, DenseBlocks, Matrix, RowSets, Smoother, StoredBySmoother, SweepDirection,
};
use coarsen_core::parallel::threads;
use coarsen_core::{Error, LinearOperator, Real};
use coarsen_sparse::Bsr;
use coarsen_sparse::assembly::from_blocks;

/// The block sizes with half storage.
const BLOCKS: [usize; 3] = [2, 3, 6];

/// Returns a symmetric band of n nodes in b x b blocks; some rows have fewer neighbours.
fn band(n: usize, b: usize) -> Bsr<f64> {
    coupled_at(&[1, 2, 5, 6, 7, 8, 9], n, b)
}

/// The same with couplings of nodes at these distances.
fn coupled_at(distances: &[usize], n: usize, b: usize) -> Bsr<f64> {
    let row = |i: usize| {
        let before = distances.iter().rev().filter_map(move |&d| i.checked_sub(d));
        let after = distances.iter().map(move |&d| i + d).filter(move |&j| j < n);
        let neighbours = move |&j: &usize| i == j || (i + j) % 11 != 3;
        before.chain([i]).chain(after).filter(neighbours).map(move |j| (i as u32, j as u32))
    };
    let places: Vec<(u32, u32)> = (0..n).flat_map(row).collect();
    let mut values = Vec::new();
    for &(i, j) in &places {
        let block = noise(b * b, u64::from(i.min(j)) * 1000 + u64::from(i.max(j)));
        let entry = |r: usize, c: usize| match i.cmp(&j) {
            std::cmp::Ordering::Less => block[r * b + c],
            std::cmp::Ordering::Greater => block[c * b + r],
            std::cmp::Ordering::Equal => {
                block[r.min(c) * b + r.max(c)] + if r == c { 8.0 * b as f64 } else { 0.0 }
            }
        };
        values.extend((0..b * b).map(|e| entry(e / b, e % b)));
    }
    from_blocks((n, n), (b, b), &places, &values).unwrap()
}

fn half_of<S: Real>(
    backend: Cpu<f64, S>,
    sets: &RowSets,
    a: &Bsr<f64>,
    omega: f64,
) -> Box<dyn Smoother<Cpu<f64, S>>> {
    backend.gauss_seidel_over(sets, a, omega).unwrap().unwrap()
}

fn sweep<S: Real>(
    half: &mut dyn Smoother<Cpu<f64, S>>,
    direction: SweepDirection,
    b: &Vec<f64>,
    x: &mut Vec<f64>,
) {
    match direction {
        SweepDirection::Forward => half.smooth(&StoredBySmoother, b, x),
        SweepDirection::Backward => half.post_smooth(&StoredBySmoother, b, x),
    }
}

fn same(found: &[f64], expected: &[f64], what: &str) {
    close(found, expected, 1e-12, what);
}

fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    let gap = found.iter().zip(expected).map(|(f, e)| (f - e).abs()).fold(0.0, f64::max);
    let size = expected.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
    assert!(gap < tolerance * size, "{what}: {gap:e}");
}

/// Every pass equals the pass over whole rows in the same order.
#[test]
fn halves_do_what_whole_rows_do() {
    for (b, n) in BLOCKS.into_iter().flat_map(|b| [0, 1, 30, 200].map(|n| (b, n))) {
        let a = band(n, b);
        let d = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
        // Couplings between chunks are stored twice, once, and twice since they are few; then there are none.
        for chunk in [16, 25, 60, 1000] {
            let sets = RowSets::chunked(a.pattern(), chunk);
            let backend = Cpu::new();
            let half = half_of(backend, &sets, &a, 1.0);
            let (whole, blocks) = (backend.matrix(&a).unwrap(), backend.blocks(&d).unwrap());
            let [rhs, start] = [1, 2].map(|seed| noise(n * b, seed));
            let (mut y, mut expected) = (start.clone(), start.clone());
            half.operator().unwrap().apply(&rhs, &mut y);
            whole.apply(&rhs, &mut expected);
            same(&y, &expected, "product");
            half.operator().unwrap().residual(&rhs, &start, &mut y);
            whole.residual(&rhs, &start, &mut expected);
            same(&y, &expected, "residual");
            for omega in [1.0, 0.7] {
                let mut half = half_of(backend, &sets, &a, omega);
                let (mut x, mut r, mut alone) = (start.clone(), start.clone(), start.clone());
                half.pre_smooth_residual(&StoredBySmoother, &rhs, &mut x, &mut r);
                half.pre_smooth(&StoredBySmoother, &rhs, &mut alone);
                let mut expected = vec![0.0; n * b];
                whole.relax(&sets, SweepDirection::Forward, &blocks, omega, &rhs, &mut expected);
                same(&x, &expected, "start");
                assert_eq!(x, alone);
                let mut left = expected.clone();
                whole.residual(&rhs, &expected, &mut left);
                same(&r, &left, "residual of the start");
                for direction in [SweepDirection::Backward, SweepDirection::Forward] {
                    let (mut x, mut expected) = (start.clone(), start.clone());
                    sweep(&mut *half, direction, &rhs, &mut x);
                    whole.relax(&sets, direction, &blocks, omega, &rhs, &mut expected);
                    same(&x, &expected, "sweep");
                }
            }
        }
    }
}

/// The rounding of D⁻¹ in storage affects the accuracy of a sweep, but not its residual or fixed point.
#[test]
fn stiff_blocks_in_f32_keep_residuals_and_solutions() {
    // Couplings between chunks are stored twice, and once. The image of a solution is 1e5 times as large, so that many
    // couplings to a stiff block have a round-off of 1e-12.
    for (distances, chunk, tolerance) in [(&[1, 2, 9][..], 60, 1e-12), (&[1, 2, 5, 6, 7, 8, 9], 25, 1e-11)] {
        stiff_blocks(coupled_at(distances, 200, 3), chunk, tolerance);
    }
}

fn stiff_blocks(mut a: Bsr<f64>, chunk: usize, tolerance: f64) {
    for i in (0..200).step_by(7) {
        let k = a.pattern().find(i, i).unwrap();
        for (e, v) in a.values_mut()[9 * k..9 * (k + 1)].iter_mut().enumerate() {
            *v += 1e5 * [0.6, 0.8, 0.0][e / 3] * [0.6, 0.8, 0.0][e % 3];
        }
    }
    let sets = RowSets::chunked(a.pattern(), chunk);
    let mut half = half_of(Cpu::mixed(), &sets, &a, 1.0);
    let whole = Cpu::mixed().matrix(&a).unwrap();
    let b = noise(600, 1);
    let (mut x, mut r, mut expected) = (b.clone(), b.clone(), b.clone());
    half.pre_smooth_residual(&StoredBySmoother, &b, &mut x, &mut r);
    whole.residual(&b, &x, &mut expected);
    same(&r, &expected, "residual of the start");
    let mut image = b.clone();
    whole.apply(&b, &mut image);
    for direction in [SweepDirection::Forward, SweepDirection::Backward] {
        let mut x = b.clone();
        sweep(&mut *half, direction, &image, &mut x);
        close(&x, &b, tolerance, "a solution");
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let a = band(4000, 3);
    let rhs = noise(a.shape().0, 1);
    for chunk in [25, 250] {
        let sets = RowSets::chunked(a.pattern(), chunk);
        let run = || {
            let mut half = half_of(Cpu::mixed(), &sets, &a, 1.0);
            let (mut x, mut r, mut y) = (rhs.clone(), rhs.clone(), rhs.clone());
            half.pre_smooth_residual(&StoredBySmoother, &rhs, &mut x, &mut r);
            half.post_smooth(&StoredBySmoother, &rhs, &mut x);
            half.smooth(&StoredBySmoother, &rhs, &mut x);
            half.operator().unwrap().apply(&rhs, &mut y);
            (x, r, y)
        };
        let one = threads(1, run).unwrap();
        assert_eq!(one, threads(2, run).unwrap());
        assert_eq!(one, threads(7, run).unwrap());
    }
}

/// Half storage does not pay with many couplings between chunks, unless they are stored once.
#[test]
fn far_couplings_are_left_to_whole_rows() {
    let pays = |a: &Bsr<f64>, chunk: usize| {
        let sets = RowSets::chunked(a.pattern(), chunk);
        Cpu::new().gauss_seidel_over(&sets, a, 1.0).unwrap().is_some()
    };
    let a = ring(1000, 3);
    assert!(!pays(&a, 30));
    assert!(pays(&a, 1000));
    let a = coupled_at(&[12, 13, 14], 1000, 3); // half of the couplings leave a chunk
    assert!(!pays(&a, 27));
    assert!(pays(&a, 28));
}

/// Couplings between chunks are stored once if they are many and no row is coupled to two chunks: with 25 rows
/// in a chunk, but not with 16, in which the couplings to both sides overlap, and not with 50.
#[test]
fn many_couplings_between_chunks_are_stored_once() {
    let a = band(2000, 3);
    let bytes = |chunk| {
        let sets = RowSets::chunked(a.pattern(), chunk);
        half_of(Cpu::new(), &sets, &a, 1.0).bytes() as f64
    };
    let least = bytes(2000);
    let shares = [16, 25, 50].map(|chunk| bytes(chunk) / least);
    assert!(shares[0] > 1.15 && shares[1] < 1.04 && shares[2] > 1.06, "{shares:?}");
}

/// Sets of another pattern would lead to rows that the matrix does not have.
#[test]
fn sets_of_another_matrix_are_refused() {
    let (a, longer) = (band(30, 3), band(31, 3));
    let refused = Cpu::new().gauss_seidel_over(&RowSets::chunked(longer.pattern(), 1), &a, 1.0).err();
    assert_eq!(refused, Some(Error::Pattern { what: "a matrix and the row sets of its sweeps" }.into()));
}
