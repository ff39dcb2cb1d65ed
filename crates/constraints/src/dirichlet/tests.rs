use coarsen_core::SplitMix64;
use coarsen_sparse::assembly;

use super::*;

/// n numbers in [-1, 1).
fn random(n: usize, seed: u64) -> Vec<f64> {
    SplitMix64::new(seed).numbers(n)
}

/// A symmetric matrix of n x n blocks of b x b, all of them stored.
fn symmetric(n: usize, b: usize) -> Bsr<f64> {
    let v = random(n * b * n * b, 5);
    let size = (n * b) as u32;
    let at = |i: u32, j: u32| v[(i.min(j) * size + i.max(j)) as usize];
    let all = (0..size * size).map(|e| (e / size, e % size, at(e / size, e % size)));
    let entries: Vec<_> = all.collect();
    assembly::from_triplets_blocked(n * b, n * b, (b, b), &entries).unwrap()
}

fn product(a: &Bsr<f64>, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    a.apply(&x.to_vec(), &mut y);
    y
}

/// Both methods keep the solution. If b = A x and g = x on fixed unknowns, x solves the new systems.
#[test]
fn the_solution_is_kept() {
    for (n, b, fixed, block) in [(5, 1, vec![3, 0], 1), (4, 3, vec![3, 4, 5], 3), (4, 3, vec![0, 7], 1)] {
        let a = symmetric(n, b);
        let x = random(n * b, 9);
        let rhs = product(&a, &x);
        let given = Dirichlet::new(n * b, fixed.iter().map(|&i| (i, x[i]))).unwrap();
        let (mut imposed, mut imposed_rhs) = (a.clone(), rhs.clone());
        given.impose(&mut imposed, &mut imposed_rhs).unwrap();
        let close = |y: &[f64], z: &[f64]| y.iter().zip(z).all(|(y, z)| (y - z).abs() < 1e-13);
        assert!(close(&product(&imposed, &x), &imposed_rhs));
        for i in 0..n * b {
            for j in 0..n * b {
                let identity = f64::from(u8::from(i == j));
                let free = !given.is_fixed(i) && !given.is_fixed(j);
                assert_eq!(imposed.get(i, j), if free { a.get(i, j) } else { identity });
            }
        }
        let small = given.eliminate(&a, &rhs).unwrap();
        assert_eq!(small.matrix.block(), (block, block));
        assert_eq!(small.matrix.shape().0, n * b - fixed.len());
        let free = small.restrict(&x);
        assert!(close(&product(&small.matrix, &free), &small.rhs));
        assert_eq!(small.recover(&free), x);
        let unknowns: Vec<u32> = (0..n * b).filter(|&i| !given.is_fixed(i)).map(|i| i as u32).collect();
        assert_eq!(small.free(), unknowns);
    }
}

#[test]
fn threads_do_not_change_bits() {
    let a = {
        let mut entries: Vec<(u32, u32)> = (0..8000).map(|i| (i, i)).collect();
        let places = random(2 * 4 * 8000, 1);
        let place = |v: f64| ((v + 1.0) * 4000.0) as u32;
        entries.extend(places.as_chunks::<2>().0.iter().map(|&[i, j]| (place(i), place(j))));
        let values = random(entries.len() * 9, 2);
        assembly::from_blocks((8000, 8000), (3, 3), &entries, &values).unwrap()
    };
    let given = Dirichlet::new(24_000, (0..24_000).step_by(7).map(|i| (i, i as f64))).unwrap();
    let run = || {
        let (mut a, mut b) = (a.clone(), random(24_000, 3));
        given.impose(&mut a, &mut b).unwrap();
        (a, b)
    };
    assert_eq!(parallel::threads(1, run).unwrap(), parallel::threads(5, run).unwrap());
}

#[test]
fn bad_values_are_named() {
    use DirichletError as E;
    let twice = Dirichlet::new(3, [(1, 2.0), (1, 2.0), (1, 3.0)]);
    assert_eq!(twice, Err(E::Contradiction { unknown: 1, first: 2.0, second: 3.0 }));
    assert!(Dirichlet::new(3, [(1, 2.0), (1, 2.0)]).is_ok());
    assert_eq!(Dirichlet::new(3, [(3, 0.0)]), Err(E::Unknown { unknown: 3, size: 3 }));
    assert_eq!(Dirichlet::new(3, [(2, f64::NAN)]), Err(E::NotFinite { unknown: 2 }));
    let mut a = assembly::from_triplets(2, 2, &[(0, 0, 1.0), (1, 0, 1.0)]).unwrap();
    let (before, mut b) = (a.clone(), [1.0, 1.0]);
    let given = Dirichlet::new(2, [(1, 5.0)]).unwrap();
    assert_eq!(given.impose(&mut a, &mut b), Err(E::NoDiagonal { unknown: 1 }));
    assert_eq!((a, b), (before.clone(), [1.0, 1.0]));
    assert!(matches!(given.eliminate(&before, &[1.0]), Err(E::Fit(Error::Shape { .. }))));
    assert_eq!(given.eliminate(&before, &b).unwrap().matrix.values(), [1.0]);
}
