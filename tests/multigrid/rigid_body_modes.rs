//! Rigid-body modes of coarse nodes. A hierarchy does not show which test of a block found it regular, so the file
//! of `src` is compiled here again.

use coarsen_sparse::{Bsr, GalerkinPlan, Prolongation, TransposePlan, assembly};

#[path = "../../crates/multigrid/src/hierarchy/rigid_modes.rs"]
mod rigid_modes;

/// Returns the result for one coarse node with P = I, so that PᵀAP = A.
fn held(block: [f64; 9]) -> Vec<f64> {
    let a = assembly::from_blocks((1, 1), (3, 3), &[(0, 0)], &block).unwrap();
    let mut coarse = a.clone();
    let p = Prolongation::from(Bsr::identity(1, 3).unwrap());
    let transpose = TransposePlan::new(p.pattern()).unwrap();
    rigid_modes::RigidModes::new(&a, &coarse).regularise(&mut coarse, (&a, None), &p, &transpose);
    coarse.values().to_vec()
}

#[test]
fn rigid_modes_get_a_diagonal_and_others_keep_theirs() {
    // v = (1, −1, 0): two unknowns that move together.
    let v = held([2.0, 2.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 1.0]);
    let expected = [3.0, 1.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0, 1.0];
    assert!(v.iter().zip(expected).all(|(v, e)| (v - e).abs() < 1e-14), "{v:?}");
    // Three unknowns with two rigid-body modes: the values on (1, 1, 1) are kept, and the block becomes
    // regular.
    let v = held([1.0; 9]);
    let times_ones: Vec<f64> = v.chunks_exact(3).map(|row| row.iter().sum()).collect();
    assert!(times_ones.iter().all(|s| (s - 3.0_f64).abs() < 1e-14), "{times_ones:?}");
    let minor = v[0] * v[4] - v[1] * v[3];
    assert!(minor > 1.0 && v[0] * v[8] - v[2] * v[6] > 1.0, "{v:?}");
}

/// A block that passes the quick test has full rank by complete pivoting. Clearly regular blocks pass the
/// test.
#[test]
fn the_quick_rank_test_agrees_with_complete_pivoting() {
    for (k, seed) in (1..=rigid_modes::LARGEST).flat_map(|k| (0..40).map(move |seed| (k, seed))) {
        let x = coarsen_krylov::start_vector::<f64>(k * k * (seed + 2));
        let x = &x[k * k * seed..k * k * (seed + 1)];
        let mut g: Vec<f64> =
            (0..k * k).map(|e| (0..k).map(|m| x[e / k * k + m] * x[e % k * k + m]).sum()).collect();
        let small = 10.0_f64.powi(-(seed as i32)); // from regular to singular
        (0..k).for_each(|c| (g[(k - 1) * k + c], g[c * k + k - 1]) = (small * g[c], small * g[c]));
        g[k * k - 1] = small * small * g[0];
        let sizes: Vec<f64> = (0..k).map(|c| g[c * (k + 1)].max(1e-300)).collect();
        assert!(
            !rigid_modes::regular(&g, &sizes) || rigid_modes::Workspace::new(k).rank(&g, &sizes) == k,
            "{k}, {seed}"
        );
    }
    assert!(
        rigid_modes::regular(&[2.0, 1.0, 1.0, 2.0], &[2.0, 2.0])
            && rigid_modes::regular(&[1e-100], &[1e-100])
    );
    for (g, sizes) in [([1.0; 4], [1.0; 2]), ([1.0, 0.0, 0.0, 0.0], [1.0, 0.0]), ([f64::NAN; 4], [1.0; 2])] {
        assert!(!rigid_modes::regular(&g, &sizes), "{g:?}");
    }
}

/// The scalar test, which uses only the largest entries, passes no node that the exact test marks.
#[test]
fn scalars_pass_the_first_test_only_without_rigid_modes() {
    let tests = |diagonal: [f64; 2], coupling: f64| {
        let [first, second] = diagonal;
        let entries = [(0, 0, first), (0, 1, coupling), (1, 0, coupling), (1, 1, second)];
        let a = assembly::from_triplets(2, 2, &entries).unwrap();
        let p = assembly::from_triplets(2, 1, &[(0, 0, 0.5_f64.sqrt()), (1, 0, 0.5_f64.sqrt())]).unwrap();
        let p = Prolongation::from(p);
        let transpose = TransposePlan::new(p.pattern()).unwrap();
        let coarse = GalerkinPlan::new(&a, &p).unwrap().build(&a, &p).unwrap();
        let mut exact = rigid_modes::RigidModes::new(&a, &coarse);
        exact.measure(&a, &p, &transpose);
        exact.suspect(&coarse);
        (rigid_modes::stiff(&coarse, coarsen_core::largest(a.values()), &p, &transpose), exact.suspects[0])
    };
    assert_eq!(tests([2.0, 2.0], -1.0), (true, false));
    assert_eq!(tests([1.0, 1.0], -1.0), (false, true)); // rigid-body mode
    assert_eq!(tests([f64::NAN, 1.0], -1.0), (false, true));
    assert!(!tests([1e14, 1.0], -1.0).1, "contrast is left to the exact test, which marks nothing");
}

#[test]
fn regular_and_indefinite_blocks_stay() {
    for block in
        [[2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 1e-9], [1.0, 2.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0]]
    {
        assert_eq!(held(block), block);
    }
}

/// The test without the diagonal of A accepts a block only if the exact test leaves it as it is.
#[test]
fn a_bound_of_all_values_agrees_with_complete_pivoting() {
    for k in [2, 3, 6, 12] {
        let p = Prolongation::from(Bsr::identity(1, k).unwrap());
        let transpose = TransposePlan::new(p.pattern()).unwrap();
        // 1 on the diagonal, and s elsewhere: singular for s = 1.
        let mut accepted = Vec::new();
        for s in [0.0, 0.5, 1.0 - 1e-9, 1.0] {
            let values: Vec<f64> = (0..k * k).map(|e| if e / k == e % k { 1.0 } else { s }).collect();
            let a = assembly::from_blocks((1, 1), (k, k), &[(0, 0)], &values).unwrap();
            let mut modes = rigid_modes::RigidModes::new(&a, &a);
            let [first, again] = [0, 1].map(|_| modes.is_regular(&a, 1.0, &p, &transpose));
            assert_eq!(first, again);
            let mut coarse = a.clone();
            modes.regularise(&mut coarse, (&a, None), &p, &transpose);
            assert!(!first || coarse == a, "{k} {s}");
            accepted.push(first);
        }
        assert!(accepted[0] && accepted[1] && !accepted[3], "{k}: {accepted:?}");
    }
}
