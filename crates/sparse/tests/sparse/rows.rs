//! Loops over block rows.

use coarsen_core::parallel;
use coarsen_sparse::BlockRows;

#[test]
fn every_row_gets_its_own_blocks() {
    let mut offsets = vec![0];
    (0..1000).for_each(|i| offsets.push(offsets[i] + i % 7));
    let mut values = vec![usize::MAX; offsets[1000] * 2];
    let fill = || BlockRows::new(&offsets, 2, &mut values).for_each(1 << 20, |i, row| row.fill(i));
    parallel::threads(3, fill).unwrap();
    for i in 0..1000 {
        assert!(values[offsets[i] * 2..offsets[i + 1] * 2].iter().all(|&v| v == i));
    }
}
