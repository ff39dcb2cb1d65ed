//! Invalid block sizes are rejected.

use coarsen_sparse::{SparseError, Zeros, assembly};

#[test]
fn blocks_of_no_rows_or_columns_are_refused_even_where_there_is_nothing() {
    for (rows, columns, block) in
        [(0, 3, (0, 1)), (3, 0, (1, 0)), (0, 0, (0, 0)), (2, 2, (0, 1)), (2, 2, (1, 0))]
    {
        let nothing = assembly::from_triplets::<f64>(rows, columns, &[]).unwrap();
        for zeros in [Zeros::Keep, Zeros::Drop] {
            let refused = nothing.reblock(block, zeros).unwrap_err();
            assert!(matches!(refused, SparseError::BlockSize { .. }), "{block:?} of {rows} x {columns}");
        }
    }
}
