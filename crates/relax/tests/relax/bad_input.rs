//! Errors report bad parameters and bad matrices.

use coarsen_backend::{Cpu, Setup, SetupError, Update};
use coarsen_core::{Error, Preconditioner};
use coarsen_relax::{BlockJacobi, Chebyshev, GaussSeidel, Ic0, Ilu0, Jacobi, Scaling};
use coarsen_sparse::{Bsr, SparseError, assembly};

type Single = Cpu<f32, f32>;

#[test]
fn damping_must_be_positive() {
    let a = Bsr::<f64>::identity(1, 1).unwrap();
    for omega in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let point = Jacobi { omega, l1: false }.build(&a, &Cpu::new()).err();
        let block = BlockJacobi { omega, l1: true }.build(&a, &Cpu::new()).err();
        for (fault, expected) in [(point, "Jacobi::omega"), (block, "BlockJacobi::omega")] {
            let named =
                matches!(fault, Some(SetupError::Core(Error::Parameter { name, .. })) if name == expected);
            assert!(named, "{omega}: {fault:?}");
        }
    }
}

/// Returns the errors of a method in f32 for a bad matrix: the error of a build, and the error of an update.
/// The failed update must leave the old state unchanged.
fn refusals<S: Setup<f64, Single>>(
    parameters: &S,
    good: &Bsr<f64>,
    bad: &Bsr<f64>,
) -> [Option<SetupError>; 2] {
    let mut kept = parameters.build(good, &Single::single()).unwrap();
    let applied = |m: &mut S::Built| {
        let n = good.shape().0;
        let mut z = vec![0.0; n];
        m.apply(&(0..n).map(|i| 1.0 + i as f32).collect(), &mut z);
        z
    };
    let before = applied(&mut kept);
    let errors = [parameters.build(bad, &Single::single()).err(), kept.update_from(bad.into()).err()];
    assert_eq!(applied(&mut kept), before);
    errors
}

fn out_of_range(error: &Option<SetupError>) -> bool {
    matches!(error, Some(SetupError::Core(Error::Range { storage: "f32", .. })))
}

/// Returns a matrix of two scalars.
fn two(d: f64, off: f64) -> Bsr<f64> {
    assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, off), (1, 0, 1.0), (1, 1, d)]).unwrap()
}

/// Returns a chain of three nodes of two unknowns: `block` is the diagonal block of the second node,
/// `between` an entry of the coupling of the second node to the third.
fn three(block: [[f64; 2]; 2], between: f64) -> Bsr<f64> {
    let places = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)];
    let [[p, q], [r, s]] = block;
    let own = [4.0, 1.0, 1.0, 4.0];
    let near = [0.5, 0.0, 0.0, 0.5];
    let linked = [0.5, 0.0, between, 0.5];
    let values = [own, near, near, [p, q, r, s], linked, near, own].concat();
    assembly::from_blocks((3, 3), (2, 2), &places, &values).unwrap()
}

/// A diagonal whose inverse f32 cannot hold is refused in a build and in an update.
#[test]
fn diagonals_beyond_the_range_are_refused() {
    for l1 in [false, true] {
        for (d, off) in [(1e50, 1.0), (if l1 { 1e60 } else { 1e-50 }, 1.0), (-1e50, 1.0)] {
            let a = two(d, off);
            assert!(Jacobi { omega: 1.0, l1 }.build(&a, &Cpu::new()).is_ok(), "{d:e} in f64");
            let errors = refusals(&Jacobi { omega: 1.0, l1 }, &two(4.0, 1.0), &a);
            assert!(errors.iter().all(out_of_range), "{d:e}, l1 {l1}: {errors:?}");
            let errors = refusals(&BlockJacobi { omega: 1.0, l1 }, &two(4.0, 1.0), &a);
            assert!(errors.iter().all(out_of_range), "{d:e}, blocks, l1 {l1}: {errors:?}");
        }
    }
}

/// A block with one row out of range is refused, for any values of the other blocks.
#[test]
fn blocks_beyond_the_range_are_refused() {
    let good = three([[4.0, 1.0], [1.0, 4.0]], 0.0);
    let (huge, stiff, soft) =
        ([[4e50, 1e50], [1e50, 4e50]], [[1e50, 0.0], [0.0, 4.0]], [[1e-50, 0.0], [0.0, 4.0]]);
    for (l1, block) in [(false, huge), (false, stiff), (false, soft), (true, huge), (true, stiff)] {
        let (parameters, a) = (BlockJacobi { omega: 1.0, l1 }, three(block, 0.0));
        assert!(parameters.build(&a, &Cpu::new()).is_ok(), "{block:?} in f64");
        let errors = refusals(&parameters, &good, &a);
        assert!(errors.iter().all(out_of_range), "{block:?}, l1 {l1}: {errors:?}");
    }
    // The inverse of a soft row is too large, the corresponding row of SPAI-0 is too small.
    for (what, good, bad) in
        [("blocks", &good, &three(soft, 0.0)), ("scalars", &two(4.0, 1.0), &two(1e-50, 1.0))]
    {
        let errors = refusals(&GaussSeidel::default(), good, bad);
        assert!(errors.iter().all(out_of_range), "gauss-seidel on {what}: {errors:?}");
        for scaling in [Scaling::Inverse, Scaling::Spai0] {
            let errors = refusals(&Chebyshev { scaling, ..Default::default() }, good, bad);
            assert!(errors.iter().all(out_of_range), "{scaling:?} on {what}: {errors:?}");
        }
    }
}

/// NaN and infinity are refused with their position, including entries outside the diagonal.
#[test]
fn nan_and_infinity_are_refused_with_their_position() {
    let blocks = three([[4.0, 1.0], [1.0, 4.0]], 0.0);
    for bad in [f64::NAN, f64::INFINITY] {
        for (good, a, (row, column)) in [
            (two(4.0, 1.0), two(4.0, bad), (0, 1)),
            (two(4.0, 1.0), two(bad, 1.0), (1, 1)),
            (blocks.clone(), three([[4.0, 1.0], [1.0, 4.0]], bad), (3, 4)),
            (blocks.clone(), three([[4.0, bad], [1.0, 4.0]], 0.0), (2, 3)),
        ] {
            let expected = [0; 2].map(|_| Some(SparseError::NotFinite { row, column }.into()));
            for l1 in [false, true] {
                assert_eq!(refusals(&Jacobi { omega: 1.0, l1 }, &good, &a), expected, "l1 {l1}");
                assert_eq!(refusals(&BlockJacobi { omega: 1.0, l1 }, &good, &a), expected, "blocks, l1 {l1}");
            }
            for scaling in [Scaling::Inverse, Scaling::Spai0] {
                let chebyshev = Chebyshev { scaling, ..Default::default() };
                assert_eq!(refusals(&chebyshev, &good, &a), expected, "{scaling:?}");
            }
            assert_eq!(refusals(&GaussSeidel::default(), &good, &a), expected);
            assert_eq!(refusals(&Ic0::default(), &good, &a), expected);
            assert_eq!(refusals(&Ilu0, &good, &a), expected);
        }
    }
}

/// An update reads the values on and below the diagonal; those above it may be larger by the tolerance of symmetry.
#[test]
fn values_above_the_diagonal_are_in_the_range_of_storage() {
    let with = |below: f64, above: f64| {
        assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, above), (1, 0, below), (1, 1, 1.0)]).unwrap()
    };
    // Values above the largest number and half of the unit of its last place become infinite.
    let limit = f64::from(f32::MAX) * (1.0 + f64::from(f32::EPSILON) / 4.0);
    let bad = with(limit * (1.0 - 5e-9), limit * (1.0 + 5e-9));
    assert_eq!(bad.asymmetric_pair(Bsr::<f64>::symmetry_tolerance()), None);
    let errors = refusals(&Chebyshev::default(), &with(0.5, 0.5), &bad);
    assert!(errors.iter().all(out_of_range), "{errors:?}");
}

/// If the sum of finite entries overflows, the error names no entry.
#[test]
fn row_sums_that_overflow_are_refused() {
    let error = BlockJacobi { omega: 1.0, l1: true }.build(&two(1e308, 1e308), &Cpu::new()).err();
    assert_eq!(error, None);
    let a = assembly::from_triplets(2, 2, &[(0, 0, 1e308), (0, 1, 1e308), (1, 1, 1.0)]).unwrap();
    let error = BlockJacobi { omega: 1.0, l1: true }.build(&a, &Cpu::new()).err();
    assert!(matches!(error, Some(SetupError::Core(Error::Range { storage: "f64", .. }))), "{error:?}");
}

#[test]
fn pivots_that_cannot_be_used_are_named() {
    let fault = |a: &Bsr<f64>| {
        let backend = Cpu::new();
        [
            Ic0::default().build(a, &backend).err(),
            Ilu0.build(a, &backend).err(),
            Chebyshev::default().build(a, &backend).err(),
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
fn an_empty_system_is_accepted() {
    let none = Bsr::<f64>::identity(0, 3).unwrap();
    let mut m = Chebyshev::default().build(&none, &Cpu::new()).unwrap();
    m.apply(&Vec::new(), &mut Vec::new());
}
