//! Every finding, on matrices small enough to check by hand, and the results for real matrices.

use coarsen_core::parallel;
use coarsen_diagnose::{
    Definiteness, Diagnosis, Finding, Sample, Severity, Triangle, Values, Witness, diagnose,
};
use coarsen_sparse::Bsr;
use coarsen_sparse::assembly::{from_triplets, from_triplets_blocked};

/// A matrix from dense rows; zeros are not stored.
pub(crate) fn matrix<const N: usize, const M: usize>(rows: [[f64; M]; N]) -> Bsr<f64> {
    let all = (0..N * M).map(|e| ((e / M) as u32, (e % M) as u32, rows[e / M][e % M]));
    from_triplets(N, M, &all.filter(|e| e.2 != 0.0).collect::<Vec<_>>()).unwrap()
}

pub(crate) fn sample(rows: &[usize]) -> Sample {
    Sample { count: rows.len(), rows: rows.to_vec() }
}

pub(crate) fn values(d: &Diagnosis) -> &Values {
    d.values.as_ref().unwrap()
}

#[test]
fn a_good_matrix_has_no_finding() {
    let d = diagnose(&matrix([
        [2.0, -1.0, 0.0, 0.0, 0.0],
        [-1.0, 2.0, -1.0, 0.0, 0.0],
        [0.0, -1.0, 2.0, -1.0, 0.0],
        [0.0, 0.0, -1.0, 2.0, -1.0],
        [0.0, 0.0, 0.0, -1.0, 2.0],
    ]));
    let dense = Finding::Dense { density: 13.0 / 25.0 }; // for small matrices
    assert_eq!(d.findings, [dense]);
    assert_eq!((values(&d).definiteness.clone(), d.is_symmetric()), (Definiteness::Positive, true));
    assert_eq!((d.structure.row_lengths, d.structure.components, values(&d).nonzeros), ((2, 3), 1, 13));
}

#[test]
fn entries_that_are_not_finite_are_an_error() {
    let mut a = matrix([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]]);
    a.values_mut()[4] = f64::INFINITY; // (2, 2)
    let d = diagnose(&a);
    assert_eq!(d.findings[0], Finding::NotFinite { rows: sample(&[2]), column: 2 });
    assert_eq!((d.severity(), d.values), (Some(Severity::Error), None));
}

#[test]
fn empty_rows_are_found() {
    let zero_stored = from_triplets(3, 3, &[(0, 0, 1.0), (1, 1, 0.0)]).unwrap();
    assert_eq!(diagnose(&zero_stored).findings[0], Finding::EmptyRows(sample(&[1, 2])));
}

#[test]
fn a_matrix_that_is_not_square_is_an_error() {
    let d = diagnose(&matrix([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]));
    assert_eq!(d.findings[0], Finding::NotSquare { rows: 2, columns: 3 });
    assert!(d.values.is_none());
}

#[test]
fn zero_and_negative_diagonals_are_found() {
    let d = diagnose(&matrix([[2.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, -3.0]]));
    assert!(d.findings.contains(&Finding::ZeroDiagonal(sample(&[1]))));
    assert!(d.findings.contains(&Finding::NegativeDiagonal(sample(&[2]))));
    let witness = Witness::Diagonal { positive: 0, negative: 2 };
    assert!(d.findings.contains(&Finding::Indefinite(witness)));
    assert_eq!((values(&d).zero_diagonal, values(&d).negative_diagonal), (1, 1));
}

/// In a matrix of ones every pair of rows is tight. A comparison of all pairs would take minutes.
#[test]
fn rows_in_proportion_are_compared_once() {
    let n = 1500_u32;
    let ones = |last: f64| {
        let value = |i: u32, j: u32| if (i, j) == (n - 1, n - 1) { last } else { 1.0 };
        let entries: Vec<_> = (0..n * n).map(|e| (e / n, e % n, value(e / n, e % n))).collect();
        values(&diagnose(&from_triplets(n as usize, n as usize, &entries).unwrap())).definiteness.clone()
    };
    assert_eq!(ones(1.0), Definiteness::MaybePositive);
    assert_eq!(ones(2.0), Definiteness::MaybePositive);
}

#[test]
fn negative_definite_matrices_are_told_apart() {
    let d = diagnose(&matrix([[-2.0, 1.0, 0.0], [1.0, -2.0, 1.0], [0.0, 1.0, -2.0]]));
    assert!(d.findings.contains(&Finding::AllNegative), "{d}");
    assert!(!d.to_string().contains("negate"), "{d}");
    assert_eq!(d.severity(), Some(Severity::Note));
    assert_eq!(values(&d).definiteness, Definiteness::Negative);
    assert_eq!(values(&d).positive_off_diagonal, 0.0); // −A is an M-matrix
}

#[test]
fn pairs_prove_indefiniteness() {
    let d = diagnose(&matrix([[1.0, 0.0, 0.5], [0.0, 4.0, 3.0], [0.5, 3.0, 1.0]]));
    let witness = Witness::Pair { rows: (1, 2), ratio: 9.0 / 4.0 };
    assert_eq!(d.findings[0], Finding::Indefinite(witness));
    let saddle = diagnose(&matrix([[1.0, 1.0], [1.0, 0.0]]));
    let witness = Witness::Pair { rows: (0, 1), ratio: f64::INFINITY };
    assert!(saddle.findings.contains(&Finding::Indefinite(witness)));
}

#[test]
fn tight_pairs_prove_indefiniteness_only_with_a_third() {
    let path = diagnose(&matrix([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])); // det = −1
    assert_eq!(path.findings[0], Finding::Indefinite(Witness::Triple { rows: (0, 1, 2) }));
    let ones = diagnose(&matrix([[1.0; 3]; 3])); // v vᵀ: semidefinite
    assert_eq!(values(&ones).definiteness, Definiteness::MaybePositive);
}

/// All symmetric 3x3 matrices with entries in −2..=2, compared with their principal minors, which are exact
/// in integer arithmetic.
#[test]
fn proved_definiteness_agrees_with_the_principal_minors() {
    let mut proved = [0; 3];
    for code in 0..5_i32.pow(6) {
        let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|k| code / 5_i32.pow(k) % 5 - 2);
        let minors = |a: i32, b: i32, c: i32, d: i32, e: i32, f: i32| {
            let det = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e);
            ([a, b, c], [a * b - d * d, a * c - e * e, b * c - f * f], det)
        };
        let (one, two, three) = minors(a, b, c, d, e, f);
        let (minus_one, _, minus_three) = minors(-a, -b, -c, -d, -e, -f);
        let semidefinite =
            |one: [i32; 3], three: i32| one.into_iter().chain(two).all(|m| m >= 0) && three >= 0;
        let definite = |one: [i32; 3], three: i32| one[0] > 0 && two[0] > 0 && three > 0;
        let rows = [[a, d, e], [d, b, f], [e, f, c]].map(|row| row.map(f64::from));
        let diagnosis = diagnose(&matrix(rows));
        match &values(&diagnosis).definiteness {
            Definiteness::Positive => assert!(definite(one, three), "{rows:?}"),
            Definiteness::Negative => assert!(definite(minus_one, minus_three), "{rows:?}"),
            Definiteness::Indefinite(witness) => {
                assert!(
                    !semidefinite(one, three) && !semidefinite(minus_one, minus_three),
                    "{rows:?} {witness}"
                );
                proved[2] += 1;
            }
            _ => {}
        }
        proved[0] += usize::from(values(&diagnosis).definiteness == Definiteness::Positive);
        proved[1] += usize::from(values(&diagnosis).definiteness == Definiteness::Negative);
        if values(&diagnosis).unconstrained > 0 {
            assert_eq!(three, 0, "{rows:?}");
        }
    }
    assert!(proved[0] > 50 && proved[0] == proved[1] && proved[2] > 1000, "{proved:?}");
}

#[test]
fn structure_and_values_may_be_unsymmetric() {
    let d = diagnose(&matrix([[4.0, 1.0, 0.0], [3.0, 4.0, 0.0], [1.0, 0.0, 4.0]]));
    let worst = Finding::Unsymmetric { pair: (0, 1), values: (1.0, 3.0), relative: 0.5, one_sided: 1 };
    assert_eq!(d.findings[0], worst);
    assert_eq!(values(&d).definiteness, Definiteness::Unsymmetric);
    let nearly = diagnose(&matrix([[4.0, 1.0], [1.0 + 1e-9, 4.0]]));
    assert!(nearly.is_symmetric());
    assert!(nearly.findings.iter().any(|f| matches!(f, Finding::NearlySymmetric { .. })));
}

#[test]
fn the_form_of_storage_does_not_change_symmetry() {
    let entries = [(0, 0, 4.0), (1, 1, 4.0), (2, 2, 4.0), (3, 3, 4.0), (0, 1, 1.0), (3, 0, 1.0), (2, 1, 0.5)];
    let reference = values(&diagnose(&from_triplets(4, 4, &entries).unwrap())).clone();
    assert_eq!(reference.symmetry.one_sided, 3);
    for b in [2, 4] {
        let d = diagnose(&from_triplets_blocked(4, 4, (b, b), &entries).unwrap());
        let v = values(&d);
        assert_eq!(v.symmetry.relative, reference.symmetry.relative);
        assert_eq!(v.symmetry.one_sided, 3);
        assert_eq!((v.nonzeros, v.not_dominant), (reference.nonzeros, reference.not_dominant));
    }
}

#[test]
fn constraints_on_rows_alone_are_recognised() {
    let d = diagnose(&matrix([[1.0, 0.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]]));
    assert_eq!(d.findings[0], Finding::OneSidedConstraints(sample(&[0])));
    assert!(d.findings.contains(&Finding::Fixed(sample(&[0]))));
}

#[test]
fn rows_with_only_a_diagonal_are_found() {
    let d = diagnose(&matrix([
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 3.0, 0.0, 0.0],
        [0.0, 0.0, 2.0, 1.0],
        [0.0, 0.0, 1.0, 2.0],
    ]));
    assert!(d.findings.contains(&Finding::Fixed(sample(&[0]))));
    assert!(d.findings.contains(&Finding::DiagonalOnly(sample(&[1]))));
    assert_eq!((d.structure.components, d.structure.connected), (3, 1));
}

#[test]
fn unconstrained_components_are_found() {
    let d = diagnose(&matrix([
        [1.0, -1.0, 0.0, 0.0],
        [-1.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 2.0, -1.0],
        [0.0, 0.0, -1.0, 1.0],
    ]));
    assert_eq!(d.findings[0], Finding::Unconstrained { components: 1, rows: sample(&[0]) });
    assert!(d.findings.contains(&Finding::Components { count: 2, largest: 2 }));
    assert_eq!(values(&d).definiteness, Definiteness::MaybePositive);
}

#[test]
fn unconstrained_components_are_found_for_each_unknown_of_a_block() {
    let spring = |fixed: f64| {
        let e = [(0, 0, 1.0), (0, 2, -1.0), (2, 0, -1.0), (2, 2, 1.0), (1, 1, fixed), (3, 3, fixed)];
        let e = [&e[..], &[(1, 3, -1.0), (3, 1, -1.0)]].concat();
        diagnose(&from_triplets_blocked(4, 4, (2, 2), &e).unwrap())
    };
    assert_eq!(values(&spring(1.0)).unconstrained, 1);
    assert_eq!(values(&spring(2.0)).unconstrained, 0);
}

/// If sums of absolute values overflow, row sums are not reported as vanishing.
#[test]
fn huge_entries_are_not_called_unconstrained() {
    let (d, off) = (1.7e308, -0.8e308);
    let a = matrix([[d, off, off], [off, d, off], [off, off, d]]);
    assert_eq!(values(&diagnose(&a)).unconstrained, 0);
}

/// A scalar problem stored in blocks. The kernel consists of constants that are equal for all unknowns.
#[test]
fn laplacians_are_unconstrained_in_any_blocking() {
    let n = 8_u32;
    let entries: Vec<_> =
        (0..n * n).map(|e| (e / n, e % n, if e / n == e % n { f64::from(n - 1) } else { -1.0 })).collect();
    for b in [1, 2, 4] {
        let a = from_triplets_blocked(8, 8, (b, b), &entries).unwrap();
        assert_eq!(values(&diagnose(&a)).unconstrained, 1, "{b}");
    }
}

#[test]
fn bad_scaling_dominance_and_signs_are_found() {
    let d = diagnose(&matrix([[1e10, 0.0, 1.0], [0.0, 1.0, 0.9], [1.0, 0.9, 1.0]]));
    assert_eq!(d.findings[0], Finding::Scale { least: (1, 1.0), most: (0, 1e10) });
    assert!(d.findings.contains(&Finding::NotDominant { share: 1.0 / 3.0, rows: sample(&[2]) }));
    assert!(d.findings.contains(&Finding::PositiveOffDiagonal { share: 1.0, rows: sample(&[0, 1, 2]) }));
}

#[test]
fn blocks_and_density_are_found() {
    let block = [[4.0, 1.0, 1.0], [1.0, 4.0, 1.0], [1.0, 1.0, 4.0]];
    let entries: Vec<(u32, u32, f64)> = (0..5 * 9_u32)
        .map(|e| (e / 9 * 3 + e % 9 / 3, e / 9 * 3 + e % 3, block[(e % 9 / 3) as usize][(e % 3) as usize]))
        .collect();
    let d = diagnose(&from_triplets(15, 15, &entries).unwrap());
    assert!(d.findings.contains(&Finding::Blocks { size: 3, fill: 1.0 }), "{d}");
    let best = d.structure.blocking.unwrap().size;
    assert_eq!(best, coarsen_sparse::detect_block_size(from_triplets(15, 15, &entries).unwrap().pattern()));
    assert!(diagnose(&matrix([[1.0; 2]; 2])).findings.contains(&Finding::Dense { density: 1.0 }));
}

#[test]
fn an_empty_matrix_has_no_finding() {
    let d = diagnose(&from_triplets::<f64>(0, 0, &[]).unwrap());
    assert_eq!((d.severity(), values(&d).definiteness.clone()), (None, Definiteness::Unknown));
    assert!(!d.to_string().is_empty());
}

#[test]
fn single_precision_has_its_own_round_off() {
    let laplacian = [(0, 0, 0.3_f32), (0, 1, -0.3), (1, 0, -0.3), (1, 1, 0.3 + 3e-8)];
    assert_eq!(values(&diagnose(&from_triplets(2, 2, &laplacian).unwrap())).unconstrained, 1);
}

#[test]
fn threads_do_not_change_the_diagnosis() {
    let a = crate::random::matrix(3000, 3000, (3, 3), 6, 8);
    let one = parallel::threads(1, || diagnose(&a)).unwrap();
    assert_eq!(one, parallel::threads(5, || diagnose(&a)).unwrap());
}

#[test]
fn every_finding_prints_and_says_what_to_do() {
    let rows = || Sample { count: 9, rows: vec![0, 1, 2, 3, 4] };
    let all = [
        Finding::NotSquare { rows: 2, columns: 3 },
        Finding::NotFinite { rows: rows(), column: 1 },
        Finding::EmptyRows(rows()),
        Finding::ZeroDiagonal(rows()),
        Finding::NegativeDiagonal(rows()),
        Finding::AllNegative,
        Finding::OneTriangle(Triangle::Upper),
        Finding::Prescribed(rows()),
        Finding::OneSidedConstraints(rows()),
        Finding::Unsymmetric { pair: (0, 1), values: (1.0, 2.0), relative: 0.5, one_sided: 0 },
        Finding::NearlySymmetric { relative: 1e-10 },
        Finding::Indefinite(Witness::Triple { rows: (0, 1, 2) }),
        Finding::Unconstrained { components: 1, rows: rows() },
        Finding::Scale { least: (0, 1e-9), most: (1, 1.0) },
        Finding::Fixed(rows()),
        Finding::DiagonalOnly(rows()),
        Finding::NotDominant { share: 0.5, rows: rows() },
        Finding::PositiveOffDiagonal { share: 0.5, rows: rows() },
        Finding::Components { count: 2, largest: 3 },
        Finding::Blocks { size: 3, fill: 0.9 },
        Finding::Dense { density: 0.5 },
    ];
    for finding in all {
        assert!(finding.to_string().contains(';'), "{finding}");
    }
    assert_eq!(rows().to_string(), "rows (0, 1, 2, 3, 4, ...)");
}

/// A matrix of the data folder, if available.
fn real(name: &str) -> Option<Bsr<f64>> {
    let file = crate::data::data()?.join(format!("matrices/{name}.mtx.gz"));
    println!("{name}");
    Some(coarsen_matrix_market::read(file).unwrap())
}

#[test]
fn real_matrices_are_what_their_index_says() {
    let counts = [("e05r0500", 74), ("west0479", 471)];
    for (name, zeros) in counts {
        let Some(a) = real(name) else { return };
        let d = diagnose(&a);
        assert_eq!(values(&d).zero_diagonal, zeros, "{name}: {d}");
        assert!(!d.is_symmetric() && d.severity() == Some(Severity::Warning), "{name}: {d}");
    }
    for name in ["pyamg_unit_square", "metis_4elt_laplacian"] {
        let Some(a) = real(name) else { return };
        assert_eq!(values(&diagnose(&a)).unconstrained, 1, "{name}");
    }
    let Some(sherman) = real("sherman1") else { return };
    let d = diagnose(&sherman);
    assert!(d.findings.contains(&Finding::AllNegative), "{d}");
    let Some(jagmesh) = real("jagmesh7") else { return };
    let d = diagnose(&jagmesh);
    assert!(matches!(values(&d).definiteness, Definiteness::Indefinite(_)), "{d}");
    let Some(roof) = real("bcsstk14") else { return };
    assert!(values(&diagnose(&roof)).fixed > 0);
}
