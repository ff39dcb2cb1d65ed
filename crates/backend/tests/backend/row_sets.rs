//! Row sets: chunks of one set are not coupled.

use std::sync::Arc;

use coarsen_backend::RowSets;
use coarsen_sparse::Pattern;

/// Returns the 5-point pattern of an n x n grid.
fn grid(n: usize) -> Arc<Pattern> {
    let (mut offsets, mut indices) = (vec![0], vec![]);
    for i in 0..n * n {
        let (r, c) = (i / n, i % n);
        let near = [
            (r > 0, i.wrapping_sub(n)),
            (c > 0, i.wrapping_sub(1)),
            (true, i),
            (c + 1 < n, i + 1),
            (r + 1 < n, i + n),
        ];
        indices.extend(near.iter().filter(|x| x.0).map(|x| x.1 as u32));
        offsets.push(indices.len());
    }
    Arc::new(Pattern::new(n * n, offsets, indices).unwrap())
}

#[test]
fn chunks_of_a_set_are_not_coupled() {
    let pattern = grid(20);
    for rows in [1, 7, 40, 100, 400] {
        let sets = RowSets::chunked(&pattern, rows);
        let mut order: Vec<usize> = sets.order().collect();
        for set in sets.sets() {
            for (a, chunk) in set.iter().enumerate() {
                for (i, other) in chunk.clone().flat_map(|i| set.iter().enumerate().map(move |o| (i, o))) {
                    let coupled = pattern.row(i).iter().any(|&j| other.1.contains(&(j as usize)));
                    assert!(
                        other.0 == a || !coupled,
                        "{rows}: row {i} is coupled to another chunk of its set"
                    );
                }
            }
        }
        order.sort_unstable();
        assert!(order.into_iter().eq(0..400));
    }
    assert_eq!(RowSets::chunked(&pattern, 40).sets().len(), 2);
    assert_eq!(RowSets::chunked(&pattern, 400).sets()[0][0], 0..400);
}
