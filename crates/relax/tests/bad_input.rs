//! Bad parameters and bad matrices are named; M promises no more than it keeps.

use coarsen_backend::{Cpu, Setup, SetupError};
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
