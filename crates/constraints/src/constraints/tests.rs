use super::*;

fn row(c: &Constraints, k: usize) -> (Vec<usize>, Vec<f64>, f64) {
    let (nodes, parts): (Vec<usize>, Vec<&[f64]>) = c.terms(k).unzip();
    (nodes, parts.concat(), c.value(k))
}

#[test]
fn rows_are_those_of_the_formulas() {
    let mut c = Constraints::new(6, 3).unwrap();
    c.point(5, &[1.0, 2.0, 3.0]).unwrap();
    assert_eq!(row(&c, 1), (vec![5], vec![0.0, 1.0, 0.0], 2.0));
    c.line(4, &[0.0, 0.0, -2.0], &[1.0, 2.0, 3.0]).unwrap();
    assert_eq!(row(&c, 3), (vec![4], vec![1.0, 0.0, 0.0], 1.0));
    assert_eq!(row(&c, 4), (vec![4], vec![0.0, 1.0, 0.0], 2.0));
    c.plane(3, &[0.0, 3.0, 4.0], 5.0).unwrap();
    assert_eq!(row(&c, 5), (vec![3], vec![0.0, 3.0, 4.0], 5.0));
    c.vertex_face(0, [1, 2, 3], [0.25, 0.25, 0.5], &[0.0, 0.0, 2.0], 0.1).unwrap();
    let expected = vec![0.0, 0.0, 2.0, 0.0, 0.0, -0.5, 0.0, 0.0, -0.5, 0.0, 0.0, -1.0];
    assert_eq!(row(&c, 6), (vec![0, 1, 2, 3], expected, 0.1));
    c.edge_edge([0, 1], [2, 3], [0.25, 0.5], &[1.0, 0.0, 0.0], 0.0).unwrap();
    let expected = [0.75, 0.25, -0.5, -0.5].iter().flat_map(|&v| [v, 0.0, 0.0]).collect();
    assert_eq!(row(&c, 7), (vec![0, 1, 2, 3], expected, 0.0));
    c.equation(&[(2, &[1.0, 0.0, 0.0]), (2, &[1.0, 1.0, 0.0])], 7.0).unwrap();
    assert_eq!(row(&c, 8), (vec![2], vec![2.0, 1.0, 0.0], 7.0));
    c.equation(&[(1, &[1.0, 1.0, 0.0]), (2, &[1.0, 2.0, 0.0]), (2, &[3.0, -1.0, 0.0])], 6.0).unwrap();
    assert_eq!(row(&c, 9), (vec![1, 2], vec![1.0, 1.0, 0.0, 4.0, 1.0, 0.0], 6.0));
    c.clear();
    assert!(c.is_empty() && c.plane(0, &[1.0, 0.0, 0.0], 0.0).is_ok() && c.nodes_of(0) == [0]);
}

#[test]
fn lines_hold_what_is_across_them() {
    let mut c = Constraints::new(1, 3).unwrap();
    let (direction, at) = ([1.0, -2.0, 0.5], [0.3, 0.2, 0.1]);
    c.line(0, &direction, &at).unwrap();
    assert_eq!(c.len(), 2);
    for k in 0..2 {
        let (_, part, value) = row(&c, k);
        let dot = |v: &[f64]| part.iter().zip(v).map(|(a, b)| a * b).sum::<f64>();
        assert!(dot(&direction).abs() < 1e-15 && (dot(&at) - value).abs() < 1e-15);
    }
}

#[test]
fn a_sparse_matrix_gives_its_rows() {
    let c = coarsen_sparse::assembly::from_triplets(2, 4, &[(0, 0, 1.0), (0, 3, -1.0), (1, 2, 5.0)]).unwrap();
    let c = c.reblock((1, 2), coarsen_sparse::Zeros::Keep).unwrap();
    let mut all = Constraints::new(2, 2).unwrap();
    all.rows(&c, &[0.5, 1.0]).unwrap();
    assert_eq!(row(&all, 0), (vec![0, 1], vec![1.0, 0.0, 0.0, -1.0], 0.5));
    assert_eq!(row(&all, 1), (vec![1], vec![5.0, 0.0], 1.0));
    assert!(matches!(all.rows(&c, &[0.5]), Err(ConstraintError::Fit(Error::Shape { expected: 2, .. }))));
}

#[test]
fn nonsense_is_named_and_not_added() {
    use ConstraintError as E;
    let mut c = Constraints::new(4, 3).unwrap();
    let z = [0.0, 0.0, 1.0];
    assert_eq!(c.plane(4, &z, 0.0), Err(E::Node { constraint: 0, node: 4, nodes: 4 }));
    assert_eq!(c.point(9, &z), Err(E::Node { constraint: 0, node: 9, nodes: 4 }));
    assert_eq!(c.plane(1, &[0.0; 3], 0.0), Err(E::Vanishing { constraint: 0, nodes: vec![1] }));
    assert_eq!(c.line(1, &[0.0; 3], &z), Err(E::Vanishing { constraint: 0, nodes: vec![1] }));
    assert_eq!(c.plane(1, &z, f64::NAN), Err(E::NotFinite { constraint: 0, nodes: vec![1] }));
    assert!(matches!(c.point(2, &[0.0, f64::INFINITY, 0.0]), Err(E::NotFinite { .. })));
    assert_eq!(
        c.vertex_face(1, [2, 1, 3], [0.2, 0.3, 0.5], &z, 0.0),
        Err(E::Itself { constraint: 0, node: 1 })
    );
    assert!(matches!(c.edge_edge([0, 1], [2, 0], [0.5; 2], &z, 0.0), Err(E::Itself { node: 0, .. })));
    let cancelled: [(usize, &[f64]); 3] =
        [(3, &[0.0, 0.0, 0.1]), (3, &[0.0, 0.0, 0.2]), (3, &[0.0, 0.0, -0.3])];
    assert_eq!(c.equation(&cancelled, 1.0), Err(E::Vanishing { constraint: 0, nodes: vec![3] }));
    assert!(matches!(c.plane(0, &[1.0], 0.0), Err(E::Fit(Error::Shape { expected: 3, found: 1, .. }))));
    assert!(matches!(Constraints::new(1, 0), Err(E::Fit(Error::Parameter { name: "block", .. }))));
    assert_eq!(c, Constraints::new(4, 3).unwrap());
}
