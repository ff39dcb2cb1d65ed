//! Conformance of the CPU in each precision, and of the reference.

use coarsen_backend::{Cpu, Reference, conformance};

#[test]
fn every_primitive_equals_the_reference() {
    conformance::check(&Cpu::new(), 1e-14);
    conformance::check(&Cpu::mixed(), 1e-6);
    conformance::check(&Cpu::single(), 1e-6);
    conformance::check(&Reference::default(), 1e-14);
}

/// A large sweep over several chunks gives the same bits with 1, 2 and 7 threads, and is close to the natural
/// order.
#[test]
fn relaxation_has_the_same_bits_at_any_thread_count() {
    use coarsen_backend::{Backend, DenseBlocks, Matrix, SweepDirection};
    let n = 100_000;
    // The ring without its far links: chunks are coupled only to their neighbours.
    let entries: Vec<(u32, u32, f64)> =
        (0..n).flat_map(|i| [(i, i, 4.0), (i, (i + 1) % n, -1.0), (i, (i + n - 1) % n, -1.5)]).collect();
    let a = coarsen_sparse::assembly::from_triplets(n as usize, n as usize, &entries).unwrap();
    let backend = Cpu::new();
    let rows = backend.relaxation_order(a.pattern());
    assert!(rows.sets().len() > 1 && rows.sets().len() < 4);
    let d = backend.blocks(&DenseBlocks::inverse_diagonal(&a, "test").unwrap()).unwrap();
    let (matrix, b) = (backend.matrix(&a).unwrap(), conformance::noise(n as usize, 3));
    let sweep = || {
        let mut x = vec![0.0; n as usize];
        matrix.relax(&rows, SweepDirection::Forward, &d, 1.2, &b, &mut x);
        matrix.relax(&rows, SweepDirection::Backward, &d, 1.2, &b, &mut x);
        x
    };
    let one = coarsen_core::parallel::threads(1, sweep).unwrap();
    for threads in [2, 7] {
        assert_eq!(one, coarsen_core::parallel::threads(threads, sweep).unwrap());
    }
}

/// A matrix that is not square is refused, because columns beyond the number of rows would be read beyond the
/// end of x.
#[test]
#[should_panic(expected = "not square")]
fn matrices_with_more_columns_than_rows_are_not_relaxed() {
    use coarsen_backend::{Backend, DenseBlocks, Matrix, RowSets, SweepDirection};
    let a = coarsen_sparse::assembly::from_triplets(2, 9, &[(0, 0, 1.0), (0, 8, 1.0), (1, 1, 1.0)]).unwrap();
    let backend = Cpu::new();
    let rows = backend.rows(&RowSets::chunked(a.pattern(), 2)).unwrap();
    let d = backend.blocks(&DenseBlocks::new(1, vec![1.0; 2]).unwrap()).unwrap();
    backend.matrix(&a).unwrap().relax(
        &rows,
        SweepDirection::Forward,
        &d,
        1.0,
        &vec![1.0; 2],
        &mut vec![0.0; 2],
    );
}

/// Values that storage cannot hold are refused; they do not become infinity or zero.
#[test]
fn values_outside_the_range_of_storage_are_refused() {
    use coarsen_backend::{Backend, Matrix};
    use coarsen_core::{Error, LinearOperator};
    let scaled = |s: f64| coarsen_sparse::assembly::from_triplets(1, 1, &[(0, 0, s)]).unwrap();
    for s in [1e200, 1e-200] {
        assert!(matches!(Cpu::mixed().matrix(&scaled(s)), Err(Error::Range { .. })), "{s:e}");
        assert!(Cpu::new().matrix(&scaled(s)).is_ok());
        let mut kept = Cpu::single().matrix(&scaled(2.0)).unwrap();
        assert!(kept.set_values(&scaled(s)).is_err());
        let mut y = vec![0.0_f32];
        kept.apply(&vec![1.0], &mut y);
        assert_eq!(y, [2.0]);
    }
}

/// Blocks are refused if one of thousands of rows would become zero or infinite in storage.
#[test]
fn blocks_with_a_row_outside_the_range_of_storage_are_refused() {
    use coarsen_backend::{Backend, DenseBlocks};
    use coarsen_core::Error;
    for size in [1, 2, 3, 40] {
        let count = 10_000 / size;
        let blocks = |row: usize, v: f64| {
            let mut values = vec![1.0; count * size * size];
            values[row * size..(row + 1) * size].fill(v);
            DenseBlocks::new(size, values).unwrap()
        };
        let mut kept = Cpu::single().blocks(&blocks(0, 2.0)).unwrap();
        let before = kept.clone();
        for row in [0, 1, 1024, 5000, count * size - 1] {
            for v in [1e50, 1e-50, -1e-50] {
                let host = blocks(row, v);
                let range = |found: Option<Error>| matches!(found, Some(Error::Range { storage: "f32", .. }));
                assert!(range(Cpu::mixed().blocks(&host).err()), "{size}, row {row}: {v:e}");
                assert!(range(Cpu::<f32>::set_blocks(&mut kept, &host).err()), "{size}, row {row}: {v:e}");
                assert!(Cpu::new().blocks(&host).is_ok());
            }
            // A row of zeros is accepted.
            assert!(Cpu::mixed().blocks(&blocks(row, 0.0)).is_ok(), "{size}, row {row}");
        }
        assert_eq!(kept, before);
    }
}
