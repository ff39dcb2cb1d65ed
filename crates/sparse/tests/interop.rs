//! Conversions to other libraries and back, for random rectangular unsymmetric matrices with several block
//! sizes.
#![cfg(all(feature = "sprs", feature = "nalgebra-sparse", feature = "faer"))]

use coarsen_sparse::interop::{InteropError, faer, nalgebra_sparse, sprs};
use coarsen_sparse::{Bsr, Zeros, assembly};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SEED: u64 = 11;

/// Random matrices, including empty matrices, with several block sizes.
fn matrices() -> Vec<Bsr<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let shapes = [
        (0, 0, 1, 1),
        (0, 5, 1, 1),
        (5, 0, 1, 1),
        (1, 1, 1, 1),
        (7, 9, 1, 1),
        (40, 31, 1, 1),
        (6, 5, 3, 3),
        (8, 4, 3, 2),
    ];
    shapes
        .map(|(m, n, r, c)| {
            let (rows, columns) = (m * r, n * c);
            let count = if rows * columns == 0 { 0 } else { 3 * rows };
            let entries: Vec<_> = (0..count)
                .map(|_| {
                    (
                        rng.random_range(0..rows) as u32,
                        rng.random_range(0..columns) as u32,
                        rng.random_range(-1.0..1.0),
                    )
                })
                .collect();
            assembly::from_triplets_blocked(rows, columns, (r, c), &entries).unwrap()
        })
        .into()
}

fn scalar(a: &Bsr<f64>) -> Bsr<f64> {
    a.reblock((1, 1), Zeros::Keep).unwrap()
}

/// The offsets of some rows, or columns, of a matrix begin with the number of entries before them.
#[test]
fn parts_of_sprs_matrices_are_matrices() {
    let a = assembly::from_triplets(3, 3, &[(0, 0, 1.0), (0, 1, 2.0), (1, 2, 3.0), (2, 0, 4.0)]).unwrap();
    let rows = sprs::into_csr(a.clone()).unwrap().slice_outer(1..3).to_owned();
    let last = assembly::from_triplets(2, 3, &[(0, 2, 3.0), (1, 0, 4.0)]).unwrap();
    assert_eq!(sprs::from_owned(rows).unwrap(), last);
    let columns = sprs::to_csc(&a).unwrap().slice_outer(1..3).to_owned();
    let last = assembly::from_triplets(3, 2, &[(0, 0, 2.0), (1, 1, 3.0)]).unwrap();
    assert_eq!(sprs::from_owned(columns).unwrap(), last);
}

#[test]
fn sprs_round_trip_keeps_the_matrix() {
    for a in matrices() {
        let csr = sprs::into_csr(a.clone()).unwrap();
        assert!(csr.is_csr() && csr.shape() == a.shape());
        assert_eq!(sprs::from_sprs(&csr).unwrap(), scalar(&a));
        let csc = sprs::to_csc(&a).unwrap();
        assert!(csc.is_csc() && csc.shape() == a.shape());
        for (&v, (i, j)) in csc.iter() {
            assert_eq!(v, a.get(i as usize, j as usize));
        }
        assert_eq!(sprs::from_sprs(&csc.view()).unwrap(), scalar(&a));
        let wide = ::sprs::CsMat::new(
            a.shape(),
            csr.indptr().to_proper().to_vec(),
            widen(csr.indices()),
            csr.data().to_vec(),
        );
        assert_eq!(sprs::from_sprs(&wide).unwrap(), scalar(&a));
        assert_eq!(sprs::from_owned(csr).unwrap(), scalar(&a));
        assert_eq!(sprs::from_owned(csc).unwrap(), scalar(&a));
    }
}

fn widen(indices: &[u32]) -> Vec<usize> {
    indices.iter().map(|&j| j as usize).collect()
}

#[test]
fn sprs_views_and_moves_copy_nothing() {
    let a = scalar(&matrices()[5]);
    let view = sprs::view(&a).unwrap();
    assert!(std::ptr::eq(view.data(), a.values()) && std::ptr::eq(view.indices(), a.pattern().indices()));
    let (values, indices) = (a.values().as_ptr(), a.pattern().indices().as_ptr());
    let there = sprs::into_csr(a).unwrap();
    assert_eq!((there.data().as_ptr(), there.indices().as_ptr()), (values, indices));
    let back = sprs::from_owned(there).unwrap();
    assert_eq!((back.values().as_ptr(), back.pattern().indices().as_ptr()), (values, indices));
    let blocks = Bsr::<f64>::identity(2, 3).unwrap();
    assert_eq!(sprs::view(&blocks).err(), Some(InteropError::Blocks { rows: 3, columns: 3 }));
}

#[test]
fn nalgebra_sparse_round_trip_keeps_the_matrix() {
    for a in matrices() {
        let csr = nalgebra_sparse::into_csr(a.clone()).unwrap();
        assert_eq!(nalgebra_sparse::from_csr(&csr).unwrap(), scalar(&a));
        let csc = nalgebra_sparse::to_csc(&a).unwrap();
        for (i, j, &v) in csc.triplet_iter() {
            assert_eq!(v, a.get(i, j));
        }
        assert_eq!(nalgebra_sparse::from_csc(&csc).unwrap(), scalar(&a));
        let coo = nalgebra_sparse::into_coo(a.clone()).unwrap();
        assert_eq!(nalgebra_sparse::from_coo(&coo).unwrap(), scalar(&a));
    }
}

#[test]
fn faer_round_trip_keeps_the_matrix() {
    for a in matrices() {
        let rows = faer::into_row_mat(a.clone()).unwrap();
        assert_eq!(faer::from_row_mat(rows.as_ref()).unwrap(), scalar(&a));
        let columns = faer::to_col_mat(&a).unwrap();
        for t in columns.triplet_iter() {
            assert_eq!(*t.val, a.get(t.row, t.col));
        }
        assert_eq!(faer::from_col_mat(columns.as_ref()).unwrap(), scalar(&a));
        let a = scalar(&a);
        let offsets = faer::narrow_offsets(&a).unwrap();
        let view = faer::view(&a, &offsets).unwrap();
        assert!(std::ptr::eq(view.val(), a.values()));
        assert_eq!(faer::from_row_mat(view).unwrap(), a);
    }
}

#[test]
fn faer_rows_with_gaps_and_disorder() {
    // Row 0 has the entries (2, 5.0), (0, 1.0) and an unused third place; row 1 has (1, 7.0).
    let (offsets, lengths, columns) = ([0_u32, 3, 4], [2_u32, 1], [2_u32, 0, 9, 1]);
    let symbolic = ::faer::sparse::SymbolicSparseRowMatRef::new_unsorted_checked(
        2,
        3,
        &offsets,
        Some(&lengths),
        &columns,
    );
    let m = ::faer::sparse::SparseRowMatRef::new(symbolic, &[5.0, 1.0, 0.0, 7.0]);
    let expected = assembly::from_triplets(2, 3, &[(0, 0, 1.0), (0, 2, 5.0), (1, 1, 7.0)]).unwrap();
    assert_eq!(faer::from_row_mat(m).unwrap(), expected);
}

#[test]
fn duplicates_are_summed() {
    let (offsets, columns) = ([0_u32, 3], [2_u32, 0, 2]);
    let symbolic =
        ::faer::sparse::SymbolicSparseRowMatRef::new_unsorted_checked(1, 3, &offsets, None, &columns);
    let m = faer::from_row_mat(::faer::sparse::SparseRowMatRef::new(symbolic, &[1.0, 2.0, 4.0])).unwrap();
    assert_eq!((m.pattern().row(0), m.values()), (&[0, 2][..], &[2.0, 5.0][..]));
}

#[test]
fn indices_beyond_u32_are_refused() {
    let m = ::nalgebra_sparse::CsrMatrix::try_from_csr_data(1, 1 << 40, vec![0, 1], vec![1 << 39], vec![1.0]);
    let error = nalgebra_sparse::from_csr(&m.unwrap()).unwrap_err();
    assert!(matches!(error, InteropError::TooLarge { what: "columns", .. }));
}

#[test]
fn foreign_offsets_are_refused() {
    let a = Bsr::<f64>::identity(2, 1).unwrap();
    let expected = InteropError::Offsets { expected: 3, entries: 2, found: 2, end: 2 };
    assert_eq!(faer::view(&a, &[0, 2]).err(), Some(expected));
    assert!(matches!(faer::view(&a, &[0, 0, 2]), Err(InteropError::Offsets { .. })));
}

#[test]
fn dense_vectors_move() {
    use ::nalgebra_sparse::na::DVector;
    let x = vec![1.0, 2.0];
    let at = x.as_ptr();
    let x = Vec::from(DVector::from_vec(x).data);
    assert_eq!(x.as_ptr(), at);
    let column = ::faer::ColRef::from_slice(&x);
    assert_eq!(column.try_as_col_major().unwrap().as_slice().as_ptr(), at);
}
