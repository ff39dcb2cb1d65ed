//! Prescribed values, single triangles, and levels of symmetry; on inputs after public bug reports too.

use coarsen_core::parallel;
use coarsen_diagnose::{Finding, Triangle, diagnose};
use coarsen_sparse::Bsr;
use coarsen_sparse::assembly::{from_triplets, from_triplets_blocked};

use crate::findings::{matrix, sample, values};

/// A matrix of the folder of cases, if available.
fn case(name: &str) -> Option<Bsr<f64>> {
    Some(coarsen_matrix_market::read(crate::data::data()?.join("cases").join(name)).unwrap())
}

/// A matrix of springs in a row, fixed at its ends, with `extra` on the diagonal of some rows.
fn springs(stiffness: f64, extra: f64, rows: &[u32]) -> Bsr<f64> {
    let n = 40;
    let mut entries: Vec<_> = (0..n).map(|i| (i, i, 2.0 * stiffness)).collect();
    entries.extend((1..n).flat_map(|i| [(i - 1, i, -stiffness), (i, i - 1, -stiffness)]));
    entries.extend(rows.iter().map(|&i| (i, i, extra)));
    from_triplets(n as usize, n as usize, &entries).unwrap()
}

#[test]
fn values_prescribed_by_huge_diagonals_are_listed() {
    for stiffness in [1e-3, 1.0, 2e11] {
        let d = diagnose(&springs(stiffness, 1e30, &[0, 7, 39]));
        assert_eq!(values(&d).prescribed, [0, 7, 39]);
        assert!(d.findings.contains(&Finding::Prescribed(sample(&[0, 7, 39]))), "{d}");
        assert!(!d.findings.iter().any(|f| matches!(f, Finding::Scale { .. })), "{d}");
        assert!(d.to_string().contains("3 rows (0, 7, 39)"), "{d}");
    }
    // An eliminated row with a huge diagonal entry dominates |b| as well.
    let mut alone = springs(1.0, 1e30, &[0]);
    let (one, other) = (alone.pattern().find(0, 1).unwrap(), alone.pattern().find(1, 0).unwrap());
    (alone.values_mut()[one], alone.values_mut()[other]) = (0.0, 0.0);
    assert_eq!(values(&diagnose(&alone)).prescribed, [0]);
}

/// Contact springs, heavy bodies, identity rows and units that differ are no prescribed values.
#[test]
fn stiff_springs_prescribe_nothing() {
    for extra in [1.0, 1e4, 1e8, 1e12] {
        for stiffness in [1e-3, 1.0, 1e9] {
            let d = diagnose(&springs(stiffness, extra * stiffness, &[0, 7, 39]));
            assert!(values(&d).prescribed.is_empty(), "{extra} {stiffness}: {d}");
        }
    }
    let mut units = springs(1.0, 0.0, &[]);
    let places: Vec<usize> = (0..20).flat_map(|i| units.pattern().range(i)).collect();
    places.iter().for_each(|&k| units.values_mut()[k] *= 1e20);
    assert!(values(&diagnose(&units)).prescribed.is_empty());
    let diagonal = matrix([[1e30, 0.0], [0.0, 1.0]]);
    assert!(values(&diagnose(&diagonal)).prescribed.is_empty(), "no other row is coupled");
}

#[test]
fn prescribed_values_of_a_case_are_listed() {
    let Some(a) = case("08-tgv1e30.mtx.gz") else { return };
    let huge: Vec<usize> = (0..a.shape().0).filter(|&i| a.get(i, i) > 1e29).collect();
    assert!(!huge.is_empty());
    assert_eq!(values(&diagnose(&a)).prescribed, huge);
}

#[test]
fn a_single_triangle_is_named() {
    let upper = matrix([[2.0, -1.0, 0.0], [0.0, 2.0, -1.0], [0.0, 0.0, 2.0]]);
    let d = diagnose(&upper);
    assert_eq!(values(&d).symmetry.triangle, Some(Triangle::Upper));
    assert!(d.findings.contains(&Finding::OneTriangle(Triangle::Upper)), "{d}");
    assert!(!d.findings.iter().any(|f| matches!(f, Finding::Unsymmetric { .. })), "{d}");
    assert!(d.to_string().contains("none below"), "{d}");
    let lower = matrix([[2.0, 0.0, 0.0], [-1.0, 2.0, 0.0], [0.0, -1.0, 2.0]]);
    assert_eq!(values(&diagnose(&lower)).symmetry.triangle, Some(Triangle::Lower));
    for b in [1, 2, 4] {
        let entries =
            [(0, 0, 4.0), (1, 1, 4.0), (2, 2, 4.0), (3, 3, 4.0), (0, 1, 1.0), (0, 3, 1.0), (1, 2, 0.5)];
        let a = from_triplets_blocked(4, 4, (b, b), &entries).unwrap();
        assert_eq!(values(&diagnose(&a)).symmetry.triangle, Some(Triangle::Upper), "{b}");
        let a = from_triplets_blocked(4, 4, (b, b), &[&entries[..], &[(3, 2, 1.0)]].concat()).unwrap();
        assert_eq!(values(&diagnose(&a)).symmetry.triangle, None, "{b}");
    }
    assert_eq!(values(&diagnose(&matrix([[1.0, 0.0], [0.0, 2.0]]))).symmetry.triangle, None);
    let Some(a) = case("06-upper-only.mtx") else { return };
    let d = diagnose(&a);
    assert!(d.findings.contains(&Finding::OneTriangle(Triangle::Upper)), "{d}");
}

/// Numbers that differ are printed with the digits in which they differ.
#[test]
fn an_asymmetry_never_shows_two_equal_numbers() {
    for difference in [1e-1, 1e-5, 1e-7, 1e-12, f64::EPSILON] {
        let (ij, ji) = (1.0 / 3.0, (1.0 + difference) / 3.0);
        let finding =
            Finding::Unsymmetric { pair: (0, 1), values: (ij, ji), relative: difference, one_sided: 0 };
        let text = finding.to_string();
        let shown: Vec<&str> =
            text.split(" is ").skip(1).map(|part| part.split(',').next().unwrap()).collect();
        assert!(shown[0] != shown[1], "{text}");
    }
}

#[test]
fn symmetric_to_single_precision_is_a_level_of_its_own() {
    let off =
        |difference: f64| values(&diagnose(&matrix([[4.0, 1.0], [1.0 + difference, 4.0]]))).symmetry.clone();
    assert!(off(1e-9).holds() && off(1e-9).holds_in_single());
    assert!(!off(1e-6).holds() && off(1e-6).holds_in_single());
    assert!(!off(1e-5).holds_in_single());
    let Some(a) = case("16-almost-sym.mtx") else { return };
    let d = diagnose(&a);
    let symmetry = &values(&d).symmetry;
    assert!(!symmetry.holds() && symmetry.holds_in_single(), "{d}");
    let finding = d.findings.iter().find(|f| matches!(f, Finding::Unsymmetric { .. })).unwrap().to_string();
    assert!(finding.contains("single precision"), "{finding}");
}

/// Matrices that several tasks compare, some with entries on one side only, against plain loops.
#[test]
fn tasks_compare_as_plain_loops_do() {
    let mut state = 1_u64;
    let mut next = |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % below
    };
    for (b, one_sided) in [(1, false), (1, true), (2, true), (3, false), (5, true)] {
        let n = 10_020 * if b == 1 { 1 } else { b as u32 };
        let mut entries: Vec<_> = (0..n).map(|i| (i, i, 4.0)).collect();
        for k in 0..2 * n {
            let i = next(n);
            let j = if k % 4 == 0 { next(n) } else { (i + 1 + next(40)) % n };
            if i == j {
                continue;
            }
            let v = f64::from(1 + next(8)) / 8.0;
            entries.push((i, j, v));
            if !one_sided || k % 5 > 0 {
                entries.push((j, i, if k % 7 == 0 { v / 2.0 } else { v }));
            }
        }
        let a = from_triplets_blocked(n as usize, n as usize, (b, b), &entries).unwrap();
        let (mut above, mut relative) = (0, 0.0_f64);
        for node in 0..a.pattern().rows() {
            for (other, block) in a.row(node) {
                for (e, &v) in block.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                    let (i, j) = (node * b + e / b, other * b + e % b);
                    let there = a.get(j, i);
                    above += usize::from(there == 0.0);
                    relative = relative.max((v - there).abs() / v.max(there).max(4.0));
                }
            }
        }
        let find = || values(&diagnose(&a)).symmetry.clone();
        let found = find();
        assert_eq!((found.one_sided, found.relative), (above, relative), "{b} {one_sided}");
        let (i, j, ij, ji) = found.worst.unwrap();
        assert_eq!((a.get(i, j), a.get(j, i), i < j), (ij, ji, true));
        assert_eq!(parallel::threads(5, find).unwrap(), found);
    }
}
