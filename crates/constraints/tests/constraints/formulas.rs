//! Constraints compared with their formulas.

use coarsen_constraints::{ConstraintError, Constraints, Projector};
use coarsen_sparse::assembly;

/// The nodes of a row are those with nonzero coefficients. A stored block that is zero in this row adds no
/// node.
#[test]
fn rows_of_a_sparse_matrix_name_the_nodes_of_their_nonzeros() {
    let rows = [[1.0, 2.0, 0.0, 0.0, 3.0, 4.0], [0.0, 0.0, 5.0, 6.0, 0.0, 7.0]];
    let entries: Vec<(u32, u32, f64)> =
        (0..12).map(|at| ((at / 6) as u32, (at % 6) as u32, rows[at / 6][at % 6])).collect();
    let mut constraints = Constraints::new(3, 2).unwrap();
    constraints.rows(&assembly::from_triplets_blocked(2, 6, (2, 2), &entries).unwrap(), &[1.0, 2.0]).unwrap();
    assert_eq!(constraints.len(), 2);
    for (k, row) in rows.iter().enumerate() {
        let nodes: Vec<u32> =
            (0..3).filter(|&i| row[2 * i] != 0.0 || row[2 * i + 1] != 0.0).map(|i| i as u32).collect();
        assert_eq!(constraints.nodes_of(k), nodes);
    }
    let projector = Projector::new(&constraints, 8).unwrap();
    assert_eq!(projector.rank(), 2);
    let mut x = vec![0.0_f64; 6];
    projector.complete(&mut x);
    for (row, value) in rows.iter().zip([1.0, 2.0]) {
        assert!((row.iter().zip(&x).map(|(c, x)| c * x).sum::<f64>() - value).abs() < 1e-12);
    }
}

/// The implied value is the combination of the other values that gives the row scaled to unit length.
#[test]
fn a_contradiction_says_what_the_others_leave() {
    let left = |rows: &[(f64, f64, f64)]| {
        let mut constraints = Constraints::new(1, 2).unwrap();
        rows.iter().for_each(|&(x, y, value)| constraints.equation(&[(0, &[x, y])], value).unwrap());
        match Projector::new(&constraints, 8) {
            Err(ConstraintError::Contradiction { constraint, others, asked, left, .. }) => {
                (constraint, others, asked, left)
            }
            other => panic!("{:?}", other.map(|p| p.rank())),
        }
    };
    let (constraint, others, asked, value) = left(&[(1.0, 0.0, 2.0), (1.0, 0.0, 5.0)]);
    assert_eq!((constraint, others), (1, vec![0]));
    assert!((asked - 5.0).abs() < 1e-12 && (value - 2.0).abs() < 1e-12, "{asked} {value}");
    // x = 2 and y = 3 imply (3 x + 4 y) / 5 = (3 · 2 + 4 · 3) / 5.
    let (constraint, others, asked, value) = left(&[(1.0, 0.0, 2.0), (0.0, 1.0, 3.0), (3.0, 4.0, 35.0)]);
    assert_eq!((constraint, others), (2, vec![0, 1]));
    assert!((asked - 7.0).abs() < 1e-12 && (value - 18.0 / 5.0).abs() < 1e-12, "{asked} {value}");
}
