//! Diagnoses compared with plain loops.

use coarsen_diagnose::{Definiteness, Finding, diagnose};
use coarsen_sparse::Bsr;
use coarsen_sparse::assembly::{from_triplets, from_triplets_blocked};

/// The Laplacian of a path of n nodes with `off` added to its first diagonal entry, multiplied by `scale`.
fn path(n: u32, off: f64, scale: f64) -> Bsr<f64> {
    let entries: Vec<_> = (1..n)
        .flat_map(|i| [(i, i, 1.0), (i - 1, i - 1, 1.0), (i, i - 1, -1.0), (i - 1, i, -1.0)])
        .chain([(0, 0, off)])
        .map(|(i, j, v)| (i, j, scale * v))
        .collect();
    from_triplets(n as usize, n as usize, &entries).unwrap()
}

#[test]
fn a_row_sum_is_judged_beside_the_entries_of_its_row() {
    for scale in [1e-6, 1.0, 1e6] {
        let unconstrained = |off| diagnose(&path(9, off, scale)).values.unwrap().unconstrained;
        assert_eq!((unconstrained(0.0), unconstrained(1e-14), unconstrained(1e-9)), (1, 1, 0), "{scale}");
    }
}

#[test]
fn rows_without_entries_are_counted_and_leave_signs_unknown() {
    let a = from_triplets(4, 4, &[(0, 0, 2.0), (2, 2, 1.0)]).unwrap();
    let values = diagnose(&a).values.unwrap();
    assert_eq!((values.empty, values.zero_diagonal, values.nonzeros), (2, 0, 2));
    assert_eq!(values.definiteness, Definiteness::Unknown);
}

#[test]
fn memory_is_that_of_the_arrays() {
    let a = from_triplets_blocked(6, 6, (2, 2), &[(0, 0, 1.0), (1, 4, 1.0), (5, 5, 1.0)]).unwrap();
    let memory = diagnose(&a).structure.memory;
    assert_eq!((memory.scalar_matrix, memory.vector), (12 * (8 + 4) + 7 * 8, 6 * 8));
    assert_eq!((memory.incomplete_factor, memory.dense), ((12 + 6) / 2 * 12 + 7 * 8, 36 * 8));
}

#[test]
fn the_first_entry_that_is_not_finite_is_named() {
    for (row, column) in [(2, 3), (3, 0), (5, 4), (0, 1)] {
        let mut entries: Vec<(u32, u32, f64)> =
            (0..6).flat_map(|i| (0..6).map(move |j| (i, j, 1.0))).collect();
        entries[6 * row + column].2 = f64::NAN;
        entries[35].2 = f64::INFINITY;
        let found = diagnose(&from_triplets_blocked(6, 6, (3, 3), &entries).unwrap()).findings;
        let Some(Finding::NotFinite { rows, column: at }) = found.first() else { panic!("{found:?}") };
        assert_eq!((rows.rows[0], *at), (row, column));
    }
}

#[test]
fn of_pairs_that_differ_as_much_the_first_is_told() {
    let n = 1000_u32;
    let mut entries: Vec<_> = (0..n).map(|i| (i, i, 1.0)).collect();
    entries.extend([(10, 20, 0.5), (20, 10, 0.25), (900, 950, 0.5), (950, 900, 0.25)]);
    let symmetry =
        diagnose(&from_triplets(n as usize, n as usize, &entries).unwrap()).values.unwrap().symmetry;
    assert_eq!(symmetry.worst, Some((10, 20, 0.5, 0.25)));
}

/// The nonzero entries of a dense matrix, in blocks.
fn blocks<const N: usize>(rows: [[f64; N]; N], b: usize) -> Bsr<f64> {
    let entries: Vec<(u32, u32, f64)> = (0..N * N)
        .map(|at| ((at / N) as u32, (at % N) as u32, rows[at / N][at % N]))
        .filter(|e| e.2 != 0.0)
        .collect();
    from_triplets_blocked(N, N, (b, b), &entries).unwrap()
}

/// The diagnosis of a matrix in blocks equals the diagnosis of its scalars.
#[test]
fn a_diagnosis_does_not_depend_on_blocks() {
    let all = [
        // x = (1, −1, 0, 0) has xᵀAx = 0 and (Ax)₂ ≠ 0.
        [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 5.0, 1.0], [0.0, 0.0, 1.0, 5.0]],
        // The same for the last two rows, and for rows in different blocks.
        [[5.0, 1.0, 0.0, 0.0], [1.0, 5.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]],
        [[5.0, 1.0, 0.0, 0.5], [1.0, 4.0, 2.0, 0.0], [0.0, 2.0, 1.0, 1.0], [0.5, 0.0, 1.0, 7.0]],
        // A negative minor in the second block, a dominant matrix, and a matrix with vanishing row sums.
        [[5.0, 1.0, 0.0, 0.0], [1.0, 5.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 3.0, 2.0]],
        [[5.0, 1.0, 0.0, 0.0], [1.0, 5.0, -1.0, 0.0], [0.0, -1.0, 3.0, 1.0], [0.0, 0.0, 1.0, 4.0]],
        [[1.0, -1.0, 0.0, 0.0], [-1.0, 2.0, -1.0, 0.0], [0.0, -1.0, 2.0, -1.0], [0.0, 0.0, -1.0, 1.0]],
    ];
    let mut seen = Vec::new();
    for rows in all {
        let [scalars, pairs, whole] =
            [1, 2, 4].map(|b| format!("{:?}", diagnose(&blocks(rows, b)).values.unwrap().definiteness));
        assert_eq!((&scalars, &scalars), (&pairs, &whole));
        seen.push(scalars);
    }
    for (k, expected) in
        ["(0, 1, 2)", "(2, 3, 1)", "(1, 2", "(2, 3)", "Positive", "MaybePositive"].iter().enumerate()
    {
        assert!(seen[k].contains(expected), "{}: {expected}", seen[k]);
    }
}

/// Counts paths without constraints.
#[test]
fn floating_components_are_counted() {
    for (count, words) in [(1, "1 connected component at"), (3, "3 connected components at")] {
        let entries: Vec<(u32, u32, f64)> = (0..count)
            .flat_map(|k| {
                let (i, j) = (2 * k, 2 * k + 1);
                [(i, i, 1.0), (i, j, -1.0), (j, i, -1.0), (j, j, 1.0)]
            })
            .collect();
        let size = 2 * count as usize;
        let found = diagnose(&from_triplets(size, size, &entries).unwrap());
        let told: Vec<String> = found.findings.iter().map(|f| f.to_string()).collect();
        assert!(told.iter().any(|line| line.contains(words)), "{told:?}");
    }
}

/// In the order of a chain each node but the first has an earlier neighbour: one component, unless a link is a stored zero.
#[test]
fn components_follow_nonzeros_in_the_order_of_a_chain() {
    for (link, expected) in [(-1.0, (1, 200)), (0.0, (2, 100))] {
        let beside = |i: u32| if i == 100 { link } else { -1.0 };
        let entries: Vec<_> = (0..200)
            .flat_map(|i| {
                let before = (i > 0).then(|| [(i, i - 1, beside(i)), (i - 1, i, beside(i))]);
                [(i, i, 2.0)].into_iter().chain(before.into_iter().flatten())
            })
            .collect();
        let structure = diagnose(&from_triplets(200, 200, &entries).unwrap()).structure;
        assert_eq!((structure.components, structure.largest_component), expected, "{link}");
    }
}
