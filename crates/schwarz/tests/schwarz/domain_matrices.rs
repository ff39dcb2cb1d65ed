//! The inverses of domain matrices: places and scales of blocks, elimination, and what is not positive
//! definite.

use coarsen_backend::Cpu;
use coarsen_backend::conformance::noise;
use coarsen_schwarz::{Arithmetic, Coarse, Order, Repair, Schwarz, Storage, Subdomains};
use coarsen_sparse::{Bsr, assembly};

use crate::common::{adjacent, columns};

/// Returns a matrix with all couplings, in blocks of `b`.
fn full(n: usize, b: usize, values: &[f64]) -> Bsr<f64> {
    let entries: Vec<_> = (0..n * n).map(|k| ((k / n) as u32, (k % n) as u32, values[k])).collect();
    assembly::from_triplets_blocked(n, n, (b, b), &entries).unwrap()
}

/// Returns B Bᵀ + I for a random B of m rows.
fn positive(m: usize) -> Vec<f64> {
    let b = noise(m * m, m as u64);
    let dot = |i: usize, j: usize| (0..m).map(|k| b[i * m + k] * b[j * m + k]).sum::<f64>();
    (0..m * m).map(|at| dot(at / m, at % m) + if at / m == at % m { 1.0 } else { 0.0 }).collect()
}

/// Returns parameters of one level, whose domains have up to `nodes` nodes.
fn parameters(nodes: usize) -> Schwarz {
    Schwarz { order: Order::Natural, ..adjacent(nodes, 1, Coarse::Domains) }
}

fn built(parameters: Schwarz, a: &Bsr<f64>) -> Subdomains<f64, Cpu> {
    parameters.build(a, &Cpu::new()).unwrap()
}

/// The inverse of a domain of blocks is its inverse. Scaled unknowns scale it without any rounding, since
/// matrices are scaled to a unit diagonal, and `f32` rounds each entry once.
#[test]
fn blocks_find_their_places() {
    for b in [1, 2, 3, 4, 6, 7] {
        let n = 5 * b;
        let values = positive(n);
        let d = |i: usize| 2.0_f64.powi((i * 3 % 7) as i32 - 3);
        let scaled: Vec<f64> = (0..n * n).map(|k| values[k] * d(k / n) * d(k % n)).collect();
        let inverse = |values: &[f64], storage| {
            let mut m = built(Schwarz { storage, ..parameters(5) }, &full(n, b, values));
            assert_eq!((m.plan().domains(0), m.repairs().count()), (1, 0));
            columns(&mut m, n)
        };
        let m = inverse(&values, Storage::Double);
        for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
            let product: f64 = (0..n).map(|k| values[i * n + k] * m[j][k]).sum();
            assert!((product - if i == j { 1.0 } else { 0.0 }).abs() < 1e-10, "{b}: ({i}, {j})");
        }
        let (of_scaled, single) = (inverse(&scaled, Storage::Double), inverse(&scaled, Storage::Single));
        for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
            assert_eq!(of_scaled[j][i] * d(i) * d(j), m[j][i], "{b}: ({i}, {j})");
            assert_eq!(single[j][i], f64::from(of_scaled[j][i] as f32), "{b}: ({i}, {j})");
        }
    }
}

/// A positive and an indefinite block, strongly coupled.
#[test]
fn diagonal_blocks_stand_for_what_is_indefinite() {
    #[rustfmt::skip]
    let a = full(4, 2, &[
        1.0, 0.5, 0.0, 0.0,
        0.5, 1.0, 9.0, 0.0,
        0.0, 9.0, 1.0, 2.0,
        0.0, 0.0, 2.0, 1.0,
    ]);
    let mut m = built(parameters(2), &a);
    assert_eq!(m.repairs().collect::<Vec<_>>(), [(0, 0, Repair::BlockDiagonal)]);
    let m = columns(&mut m, 4);
    assert!((m[0][0] - 4.0 / 3.0).abs() < 1e-15 && (m[0][1] + 2.0 / 3.0).abs() < 1e-15);
    assert_eq!([m[1][2], m[2][2], m[2][3], m[3][3]], [0.0, 1.0, 0.0, 1.0]);
}

/// Returns the largest entry of A M − I over the domains of m nodes; three nodes in domains of two give a
/// domain of one node.
fn off(m: usize, storage: Storage, arithmetic: Arithmetic) -> f64 {
    let n = if m == 1 { 3 } else { m };
    let values = positive(n);
    let mut built = built(Schwarz { storage, arithmetic, ..parameters(m.max(2)) }, &full(n, 1, &values));
    assert_eq!(built.repairs().count(), 0);
    let members = (0..built.plan().domains(0)).map(|d| built.plan().members(0, d).to_vec());
    let nodes = members.into_iter().find(|nodes| nodes.len() == m).unwrap();
    let inverse = columns(&mut built, n);
    let residual = |i: u32, j: u32| {
        let term = |&k: &u32| values[i as usize * n + k as usize] * inverse[j as usize][k as usize];
        (nodes.iter().map(term).sum::<f64>() - if i == j { 1.0 } else { 0.0 }).abs()
    };
    nodes
        .iter()
        .flat_map(|&i| nodes.iter().map(move |&j| (i, j)))
        .map(|(i, j)| residual(i, j))
        .fold(0.0, f64::max)
}

#[test]
fn a_times_its_inverse_is_the_identity() {
    for m in [1, 2, 7, 8, 9, 24, 48, 96] {
        let double = off(m, Storage::Double, Arithmetic::Double);
        let single = off(m, Storage::Single, Arithmetic::Single);
        assert!(double < 1e-10, "{m}: {double:.1e}");
        assert!(single < 0.05, "{m}: {single:.1e}");
    }
}

/// The smallest pivot of a symmetric positive definite matrix, or a number that is not positive.
fn least_pivot(columns: &[Vec<f64>]) -> f64 {
    let (m, mut a, mut least) = (columns.len(), columns.to_vec(), f64::INFINITY);
    for k in 0..m {
        least = least.min(a[k][k]);
        for i in k + 1..m {
            let factor = a[k][i] / a[k][k];
            (k + 1..m).for_each(|j| a[j][i] -= factor * a[j][k]);
        }
    }
    least
}

/// Rᵀ R with the matrix R of Kahan: its diagonal is 1, its smallest pivot s^(2 m − 2), and its smallest eigenvalue is
/// smaller by a factor of up to 10⁷. Inverses stay positive definite when they are stored.
#[test]
fn no_pivot_bounds_the_smallest_eigenvalue() {
    for (m, s) in [(8, 0.5_f64), (8, 0.6), (16, 0.75), (20, 0.78), (32, 0.85)] {
        let c = (1.0 - s * s).sqrt();
        let r = |k: usize, j: usize| s.powi(k as i32) * if k == j { 1.0 } else { -c };
        let a = |i: usize, j: usize| (0..=i.min(j)).map(|k| r(k, i) * r(k, j)).sum::<f64>();
        let values: Vec<f64> = (0..m * m).map(|at| a(at / m, at % m)).collect();
        for (storage, arithmetic) in [
            (Storage::Single, Arithmetic::Single),
            (Storage::Single, Arithmetic::Double),
            (Storage::Double, Arithmetic::Double),
        ] {
            let mut built = built(Schwarz { storage, arithmetic, ..parameters(m) }, &full(m, 1, &values));
            assert_eq!(built.plan().domains(0), 1);
            let least = least_pivot(&columns(&mut built, m));
            assert!(least > 0.0, "{m}, {s}, {storage:?}, {arithmetic:?}: {least:.1e}");
        }
    }
}

/// The smallest pivot is the Schur complement, here 1 − c² after scaling: a domain is repaired where it is
/// below the limit of the storage.
#[test]
fn a_domain_of_two_is_repaired_below_the_pivot_limit() {
    let mut m = built(parameters(2), &full(2, 1, &[2.0, 1.0, 1.0, 1.0]));
    let found = columns(&mut m, 2).concat();
    assert!(found.iter().zip([1.0, -1.0, -1.0, 2.0]).all(|(v, e)| (v - e).abs() < 1e-15), "{found:?}");
    for (storage, least) in [(Storage::Single, 1e-6), (Storage::Double, 1e-13)] {
        assert_eq!(storage.least_pivot(), least);
        for (pivot, repair) in [(1.1 * least, None), (0.9 * least, Some((0, 0, Repair::Shifted)))] {
            let c = (1.0_f64 - pivot).sqrt();
            let m = built(Schwarz { storage, ..parameters(2) }, &full(2, 1, &[1.0, c, c, 1.0]));
            assert_eq!(m.repairs().next(), repair, "{storage:?}: {pivot:.1e}");
        }
    }
}

/// Indefinite and singular domains are repaired, and one with a zero pivot. A coarse matrix whose entries
/// leave the range of numbers contains NaN.
#[test]
fn indefinite_domains_are_repaired_and_reported() {
    let repaired = |parameters: Schwarz, a: &Bsr<f64>| {
        let mut m = built(parameters, a);
        assert!(columns(&mut m, a.shape().0).concat().iter().all(|v| v.is_finite()));
        m.repairs().collect::<Vec<_>>()
    };
    for (n, values, repair) in [
        (2, &[1.0, 2.0, 2.0, 1.0][..], Repair::BlockDiagonal),
        (2, &[1.0, 1.0, 1.0, 1.0], Repair::Shifted),
        (3, &[1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0], Repair::BlockDiagonal),
    ] {
        assert_eq!(repaired(parameters(n), &full(n, 1, values)), [(0, 0, repair)], "{values:?}");
    }
    let (own, across) = (1e308, -1e308);
    #[rustfmt::skip]
    let a = full(4, 1, &[
        own, -1e307, across, 0.0,
        -1e307, own, 0.0, across,
        across, 0.0, own, -1e307,
        0.0, across, -1e307, own,
    ]);
    let two = Schwarz { levels: 2, ..parameters(2) };
    let plan = two.plan(coarsen_sparse::System::from(&a)).unwrap();
    assert_eq!((plan.members(0, 0), plan.domains(0)), (&[0, 1][..], 2));
    assert_eq!(repaired(two, &a), [(1, 0, Repair::BlockDiagonal)]);
}
