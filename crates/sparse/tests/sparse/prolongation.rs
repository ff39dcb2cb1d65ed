//! Prolongations by weights and identities.

use coarsen_sparse::{Bsr, Prolongation, TransposePlan, assembly};

#[test]
fn weights_and_identities_are_what_they_stand_for() {
    let w = assembly::from_blocks((2, 2), (1, 2), &[(0, 0), (1, 0), (1, 1)], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let w = w.unwrap();
    let p = Prolongation::weights(w.clone(), 3).unwrap();
    assert_eq!((p.shape(), p.block()), ((6, 12), (3, 6)));
    let whole = p.to_matrix().unwrap().into_owned();
    for (i, j) in (0..6).flat_map(|i| (0..12).map(move |j| (i, j))) {
        let expected = if i % 3 == j % 3 { w.get(i / 3, j / 3) } else { 0.0 };
        assert_eq!(whole.get(i, j), expected, "{i}, {j}");
    }
    let p = Prolongation::<f64>::identities(w.pattern().clone(), 2).unwrap();
    let whole = p.to_matrix().unwrap().into_owned();
    for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
        let meet = i % 2 == j % 2 && w.pattern().find(i / 2, j / 2).is_some();
        assert_eq!(whole.get(i, j), f64::from(u8::from(meet)), "{i}, {j}");
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let two = Bsr::<f64>::identity(2, 2).unwrap();
    assert!(Prolongation::weights(two.clone(), 3).is_err());
    assert!(Prolongation::weights(Bsr::<f64>::identity(2, 1).unwrap(), 0).is_err());
    assert!(Prolongation::<f64>::identities(two.pattern().clone(), 0).is_err());
}

#[test]
fn squared_columns_are_the_diagonal_of_a_product() {
    let w = assembly::from_triplets(3, 2, &[(0, 0, 0.5), (1, 0, 2.0), (1, 1, 3.0), (2, 1, 1.0)]).unwrap();
    let d: Vec<f64> = (1..=6).map(f64::from).collect();
    let kinds = [
        Prolongation::weights(w.clone(), 2).unwrap(),
        Prolongation::identities(w.pattern().clone(), 2).unwrap(),
    ];
    for p in kinds {
        let transpose = TransposePlan::new(p.pattern()).unwrap();
        let whole = Prolongation::Blocks(p.to_matrix().unwrap().into_owned());
        let sizes = [&p, &whole].map(|p| {
            let mut sizes = vec![0.0; 4];
            p.squared_columns(&d, &transpose, 0, &mut sizes);
            sizes
        });
        let plain =
            |j: usize| (0..6).map(|i| d[i] * whole.to_matrix().unwrap().get(i, j).powi(2)).sum::<f64>();
        assert_eq!(sizes[0], (0..4).map(plain).collect::<Vec<_>>());
        assert_eq!(sizes[0], sizes[1]);
    }
}
