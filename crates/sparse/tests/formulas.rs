//! What is said of matrices and files, against plain loops.

use std::io::{self, Read};

use coarsen_sparse::assembly::{from_triplets, from_triplets_blocked};
use coarsen_sparse::diagnose::{Definiteness, Finding, diagnose};
use coarsen_sparse::matrix_market::{Problem, Source};
use coarsen_sparse::{Contacts, Dirichlet, Pattern, Sum, detect_block_size};

/// A path of n nodes, its first row sum off by `off` of its entries, all times `scale`.
fn path(n: u32, off: f64, scale: f64) -> coarsen_sparse::Bsr<f64> {
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
        let floating = |off| diagnose(&path(9, off, scale)).values.unwrap().floating;
        assert_eq!((floating(0.0), floating(1e-14), floating(1e-9)), (1, 1, 0), "{scale}");
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

/// The sample of a large pattern reaches its end.
#[test]
fn nodes_are_found_behind_a_head_of_scalars() {
    let n = 18_000_usize;
    let mut offsets = vec![0];
    let mut columns: Vec<u32> = Vec::new();
    for i in 0..n {
        match i < 500 {
            true => columns.push(i as u32),
            false => columns.extend((i / 3 * 3..i / 3 * 3 + 3).map(|j| j as u32)),
        }
        offsets.push(columns.len());
    }
    assert_eq!(detect_block_size(&Pattern::new(n, offsets, columns).unwrap()), 3);
}

#[test]
fn free_unknowns_are_listed_in_order() {
    let free =
        Dirichlet::new(5, [(3, 1.0), (0, 2.0)]).unwrap().eliminate(&path(5, 1.0, 1.0), &[0.0; 5]).unwrap();
    assert_eq!(free.free(), [1, 2, 4]);
}

#[test]
fn a_merge_fits_its_own_target_alone() {
    let elastic = path(4, 1.0, 1.0);
    let mut contact = Contacts::new(4, 1).unwrap();
    contact.replace(&[(0, 1), (0, 3)], &[10.0, 5.0]).unwrap();
    let sum = Sum { elastic: &elastic, contact: &contact };
    let mut target = sum.merge().unwrap();
    let expected = target.clone();
    target.values_mut().fill(f64::NAN);
    sum.merge_into(&mut target).unwrap();
    assert_eq!(target, expected);
}

/// A stream that breaks off.
struct Broken(&'static [u8], io::ErrorKind);

impl Read for Broken {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.0.read(to)? {
            0 => Err(self.1.into()),
            read => Ok(read),
        }
    }
}

#[test]
fn what_breaks_off_is_blamed_for_what_it_is() {
    let head = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n";
    for kind in [io::ErrorKind::UnexpectedEof, io::ErrorKind::InvalidData, io::ErrorKind::ConnectionReset] {
        let error = Source::new(Broken(head, kind)).system().unwrap_err();
        assert_eq!(error.problem, Problem::Read { kind });
    }
}

#[test]
fn a_word_that_is_no_value_is_told_as_such() {
    let file = |word: &str| format!("%%MatrixMarket matrix array real general\n2 1\n1.0\n{word}\n");
    let problem = |word: &str| Source::new(io::Cursor::new(file(word))).vector().unwrap_err().problem;
    assert!(matches!(problem("abc"), Problem::Value { found } if found == "abc"));
    assert!(matches!(problem("nan"), Problem::NotFinite { .. }));
    assert!(matches!(problem("1 2"), Problem::Words { expected: "value", .. }));
}
