//! Assembly from elements.

use coarsen_sparse::assembly::{Assembly, from_blocks};
use coarsen_sparse::{Bsr, SparseError};

/// The quads of a closed strip. Every row is reached by its elements in a different order.
fn strip(n: u32) -> Vec<[u32; 4]> {
    (0..n).map(|e| [e, (e * 7 + 1) % n, (e * 3 + 2) % n, (n - e) % n]).collect()
}

fn noise(count: usize) -> Vec<f64> {
    (0..count).map(|k| (k as f64 * 0.37).sin()).collect()
}

#[test]
fn element_assembly_equals_assembly_from_blocks() {
    for b in [1, 2, 3] {
        let corners = strip(50);
        let places: Vec<(u32, u32)> = corners
            .iter()
            .flat_map(|c| c.iter().flat_map(move |&i| c.iter().map(move |&j| (i, j))))
            .collect();
        let plan = Assembly::of_elements(50, &corners).unwrap();
        let stream = noise(places.len() * b * b);
        let mut a = plan.zeros(b).unwrap();
        a.values_mut().fill(f64::NAN);
        plan.fill(&stream, &mut a).unwrap();
        assert_eq!(a, from_blocks((50, 50), (b, b), &places, &stream).unwrap());
    }
}

#[test]
fn threads_do_not_change_bits() {
    let corners = strip(5000);
    let stream = noise(5000 * 16 * 9);
    let run = || {
        let plan = Assembly::of_elements(5000, &corners).unwrap();
        let mut a = plan.zeros(3).unwrap();
        plan.fill(&stream, &mut a).unwrap();
        a
    };
    crate::same_bits(run);
}

#[test]
fn arguments_of_wrong_length_are_named_and_change_nothing() {
    let plan = Assembly::of_elements(3, &[[0, 1], [1, 2]]).unwrap();
    let mut a = plan.zeros::<f64>(1).unwrap();
    assert!(matches!(plan.fill(&[1.0], &mut a), Err(SparseError::Length { expected: 8, found: 1, .. })));
    let mut other = Bsr::<f64>::identity(3, 1).unwrap();
    assert!(matches!(plan.fill(&[1.0; 8], &mut other), Err(SparseError::Pattern { .. })));
    assert_eq!(other, Bsr::identity(3, 1).unwrap());
    let outside = Assembly::new(2, 3, [(0, 0), (1, 3)]).unwrap_err();
    assert_eq!(outside, SparseError::Column { row: 1, column: 3, columns: 3 });
    let outside = Assembly::of_elements(2, &[[0, 2]]).unwrap_err();
    assert_eq!(outside, SparseError::Column { row: 0, column: 2, columns: 2 });
    assert!(Assembly::of_elements::<3>(0, &[]).unwrap().is_empty());
}
