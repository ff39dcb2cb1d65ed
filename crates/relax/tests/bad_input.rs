//! Bad parameters and bad matrices are named; M promises no more than it keeps.

use coarsen_backend::{Cpu, Setup, SetupError, Update};
use coarsen_core::{Class, Error, Preconditioner};
use coarsen_relax::{BlockJacobi, Chebyshev, Ic0, Ilu0, Jacobi};
use coarsen_sparse::{Bsr, assembly};

fn dense<const N: usize>(entries: [[f64; N]; N]) -> Bsr<f64> {
    assembly::from_blocks(N, N, (N, N), &[(0, 0)], entries.as_flattened()).unwrap()
}

#[test]
fn damping_must_be_positive() {
    let a = dense([[1.0]]);
    for omega in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let point = Jacobi { omega, l1: false }.build(&a, &Cpu::new()).err();
        let block = BlockJacobi { omega, l1: true }.build(&a, &Cpu::new()).err();
        for (fault, expected) in [(point, "Jacobi::omega"), (block, "BlockJacobi::omega")] {
            let named =
                matches!(fault, Some(SetupError::Place(Error::Parameter { name, .. })) if name == expected);
            assert!(named, "{omega}: {fault:?}");
        }
    }
}

/// A diagonal whose inverse f32 cannot hold, and values that are none: named in a build and in an update, which leaves what was there.
#[test]
fn diagonals_beyond_the_range_and_numbers_that_are_none() {
    let two = |d: f64, off: f64| {
        assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, off), (1, 0, 1.0), (1, 1, d)]).unwrap()
    };
    let single = Cpu::<f32, f32>::single();
    let applied = |m: &mut dyn Preconditioner<Vec<f32>>| {
        let mut z = vec![0.0; 2];
        m.apply(&vec![1.0; 2], &mut z);
        z
    };
    for l1 in [false, true] {
        let jacobi = Jacobi { omega: 1.0, l1 };
        let mut kept = jacobi.build(&two(4.0, 1.0), &single).unwrap();
        let before = applied(&mut kept);
        for (d, off) in [(1e50, 1.0), (if l1 { 1e60 } else { 1e-50 }, 1.0), (-1e50, 1.0)] {
            let a = two(d, off);
            assert!(jacobi.build(&a, &Cpu::new()).is_ok(), "{d:e} in f64");
            for error in [jacobi.build(&a, &single).err(), kept.update_from((&a).into()).err()] {
                let range = matches!(error, Some(SetupError::Place(Error::Range { storage: "f32", .. })));
                assert!(range, "{d:e}, l1 {l1}: {error:?}");
            }
        }
        for bad in [f64::NAN, f64::INFINITY] {
            let a = two(4.0, bad);
            for error in [jacobi.build(&a, &single).err(), kept.update_from((&a).into()).err()] {
                let expected = coarsen_sparse::SparseError::NotFinite { row: 0, column: 1 };
                assert_eq!(error, Some(expected.into()), "l1 {l1}");
            }
        }
        assert_eq!(applied(&mut kept), before);
    }
}

#[test]
fn unsymmetric_blocks_make_an_unsymmetric_preconditioner() {
    let class = |a: &Bsr<f64>, l1| {
        let m = BlockJacobi { omega: 1.0, l1 }.build(a, &Cpu::new()).unwrap();
        Preconditioner::<Vec<f64>>::class(&m)
    };
    for l1 in [false, true] {
        assert_eq!(class(&dense([[2.0, 1.0], [1.0, 2.0]]), l1), Class::Symmetric);
        assert_eq!(class(&dense([[2.0, 1.0], [0.0, 2.0]]), l1), Class::Linear);
    }
}

#[test]
fn pivots_that_cannot_be_used_are_named() {
    let fault = |a: &Bsr<f64>| {
        let on = Cpu::new();
        [
            Ic0::default().build(a, &on).err(),
            Ilu0.build(a, &on).err(),
            Chebyshev::default().build(a, &on).err(),
        ]
    };
    let csr = |entries: &[(u32, u32, f64)]| assembly::from_triplets(2, 2, entries).unwrap();
    let singular = csr(&[(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 1.0)]);
    assert_eq!(fault(&singular)[1], Some(SetupError::ZeroPivot { method: "ilu0", row: 1 }));
    let [ic0, _, chebyshev] = fault(&csr(&[(0, 0, 2.0), (1, 1, -1.0)]));
    assert_eq!(ic0, Some(SetupError::Pivot { method: "ic0", row: 1, pivot: -2.0, shift: 1.0 }));
    let expected = SetupError::NotPositive { method: "chebyshev", row: 1, diagonal: -1.0 };
    assert_eq!(chebyshev, Some(expected));
}

#[test]
fn nothing_is_a_system_too() {
    let none = Bsr::<f64>::identity(0, 3).unwrap();
    let mut m = Chebyshev::default().build(&none, &Cpu::new()).unwrap();
    m.apply(&Vec::new(), &mut Vec::new());
}
