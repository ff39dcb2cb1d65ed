//! The proofs of a diagnosis, and the choice among several proofs.

use coarsen_diagnose::{Definiteness, Witness, diagnose};
use coarsen_sparse::{Bsr, assembly};

fn scalars(n: usize, entries: &[(u32, u32, f64)]) -> Bsr<f64> {
    assembly::from_triplets(n, n, entries).unwrap()
}

/// A symmetric matrix: for every (i, j) off the diagonal, (j, i) is added.
fn symmetric(n: usize, upper: &[(u32, u32, f64)]) -> Bsr<f64> {
    let mirror = upper.iter().filter(|e| e.0 != e.1).map(|&(i, j, v)| (j, i, v));
    scalars(n, &upper.iter().copied().chain(mirror).collect::<Vec<_>>())
}

fn definiteness(a: &Bsr<f64>) -> Definiteness {
    diagnose(a).values.unwrap().definiteness
}

/// a_ij² / (a_ii a_jj) is 225 for rows 0 and 1, and 400 for rows 2 and 3, whose entries are smaller.
#[test]
fn the_pair_with_the_largest_ratio_is_named() {
    let diagonal = [1.0, 1.0, 1.0, 0.01];
    let mut entries: Vec<(u32, u32, f64)> = (0..).zip(diagonal).map(|(i, d)| (i, i, d)).collect();
    entries.extend([(0, 1, 15.0), (2, 3, 2.0)]);
    match definiteness(&symmetric(4, &entries)) {
        Definiteness::Indefinite(Witness::Pair { rows, ratio }) => {
            assert_eq!(rows, (2, 3));
            assert!((ratio - 400.0).abs() < 1e-9, "{ratio}");
        }
        other => panic!("{other:?}"),
    }
}

/// Two entries without transposed entry, one above and one below the diagonal.
#[test]
fn the_earlier_of_two_equal_differences_is_named() {
    let a = scalars(3, &[(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0), (0, 1, 1.0), (2, 0, 1.0)]);
    let symmetry = diagnose(&a).values.unwrap().symmetry;
    assert_eq!((symmetry.worst, symmetry.one_sided), (Some((0, 1, 1.0, 0.0)), 2));
}

/// x = (1, −1, 0) has xᵀ A x = 0 and (A x)₂ = difference, which must exceed the square root of the tolerance.
#[test]
fn a_difference_of_round_off_proves_nothing() {
    let root = 1e-12_f64.sqrt();
    for (difference, proved) in [(0.5 * root, false), (root, false), (2.0 * root, true)] {
        let a = symmetric(3, &[(0, 0, 1.0), (0, 1, 1.0), (0, 2, difference), (1, 1, 1.0), (2, 2, 1.0)]);
        let expected = match proved {
            true => Definiteness::Indefinite(Witness::Triple { rows: (0, 1, 2) }),
            false => Definiteness::MaybePositive,
        };
        assert_eq!(definiteness(&a), expected, "{difference:e}");
    }
}

/// Rows 0 and 1 are singular together. A stored zero does not connect them with the strictly dominant row 2.
#[test]
fn a_stored_zero_proves_nothing() {
    let entries = [(0, 0, 1.0), (0, 1, -1.0), (1, 1, 1.0), (1, 2, 0.0), (2, 2, 2.0)];
    let stored = symmetric(3, &entries);
    assert_eq!(stored.nnz(), 7);
    let diagnosis = diagnose(&stored);
    let values = diagnosis.values.unwrap();
    assert_eq!((values.definiteness, values.unconstrained), (Definiteness::MaybePositive, 1));
    assert_eq!((diagnosis.structure.components, diagnosis.structure.connected), (2, 1));
    // A number in place of the zero connects them, and then row 2 holds the others.
    let held = symmetric(3, &[(0, 0, 1.5), (0, 1, -1.0), (1, 1, 1.5), (1, 2, -0.5), (2, 2, 2.0)]);
    assert_eq!(definiteness(&held), Definiteness::Positive);
}
