//! Skinning: rest positions, heterogeneous bodies, cuts and solves by component.

use coarsen_skinning::{skinning, skinning_levels};
use std::sync::Arc;

use coarsen_backend::{Componentwise, Cpu, SetupError};
use coarsen_core::{Preconditioner, PreconditionerKind, Real, Stop};
use coarsen_krylov::Cg;
use coarsen_multigrid::Smoothing;
use coarsen_multigrid::{Coarsest, Hierarchy, JacobiCg, Multigrid};
use coarsen_problems::{Material, Problem, cloth, softcube};
use coarsen_relax::GaussSeidel;
use coarsen_skinning::Weights;
use coarsen_skinning::{Controlled, Cut, Sampling, Skinning};
use coarsen_sparse::{Bsr, Contacts, Pattern, Stencil, System, assembly};

use crate::common::applied;

fn iterations(a: &Bsr<f64>, m: &mut impl Preconditioner<Vec<f64>>) -> usize {
    let b: Vec<f64> = (0..a.shape().0).map(|i| ((i * 7919) % 101) as f64 - 50.0).collect();
    let mut x = vec![0.0; b.len()];
    Cg::new(Stop::relative(1e-6)).solve(a, m, &b, &mut x).unwrap().converged().unwrap().iterations
}

fn system<'a>(p: &'a Problem, a: &'a Bsr<f64>) -> System<'a, f64> {
    System { positions: Some(&p.positions), ..System::from(a) }
}

/// U is bitwise the same after an update, even if the system has other positions.
#[test]
fn rest_positions_are_read_once() {
    let p = softcube(5, 0.03, Material::Linear, &|_, _| 1.0).unwrap();
    let mut m = skinning_levels(&[20, 4]).build(system(&p, &p.matrix), &Cpu::new()).unwrap();
    let before = m.prolongation(0).unwrap().clone();
    let moved: Vec<[f64; 3]> = p.positions.iter().map(|x| x.map(|c| 3.0 - c * c)).collect();
    m.update(System { positions: Some(&moved), ..System::from(&p.matrix) }).unwrap();
    assert_eq!(m.prolongation(0).unwrap(), &before);

    // A new pair builds coarse matrices anew, with the same control points, from positions that are not rest positions.
    let control_points = m.state::<Controlled>(0).unwrap().control_points().clone();
    let mut contact = Contacts::new(p.positions.len(), 3).unwrap();
    contact.assemble(&[Stencil::point_point(0, 99)], &[1e3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
    let touching = System { contact: Some(&contact), ..System::from(&p.matrix) };
    for positions in [Some(&moved[..]), None] {
        m.update(System { positions, ..touching }).unwrap();
        assert_eq!(
            (m.prolongation(0).unwrap(), m.state::<Controlled>(0).unwrap().control_points()),
            (&before, &control_points)
        );
        m.update(System { positions, ..System::from(&p.matrix) }).unwrap();
        assert_eq!(m.prolongation(0).unwrap(), &before);
    }
}

/// Eight cubes of alternating stiffness, with a contrast of 1000, and control points much smaller than a cube.
#[test]
fn control_points_by_stiffness_suit_heterogeneous_bodies() {
    let hard = |x: [f64; 3]| (0..3).filter(|&k| x[k] > 0.5).count() % 2 == 0;
    let p = softcube(12, 0.3, Material::Linear, &|_, x| if hard(x) { 1e3 } else { 1.0 }).unwrap();
    let [uniform, stiffness] = [Sampling::Uniform, Sampling::Stiffness].map(|sampling| {
        let coarsening = Skinning { sampling, nodes_per_control_point: 30, ..Skinning::default() };
        let parameters = Multigrid { coarsening, ..skinning() };
        iterations(&p.matrix, &mut parameters.build(system(&p, &p.matrix), &Cpu::new()).unwrap())
    });
    assert!(5 * stiffness <= 4 * uniform, "{uniform} -> {stiffness}");
}

/// A sheet is cut to half of its width. Old control points stay, and cycles are as good as with control points sampled
/// anew.
#[test]
fn a_cut_needs_few_new_control_points() {
    let n = 40;
    let p = cloth(n, 0.01).unwrap();
    let apart = |i: usize, j: usize| (i / n < n / 2) != (j / n < n / 2) && i % n < n / 2 && j % n < n / 2;
    let (mut places, mut values, mut touched) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n * n {
        for (j, block) in p.matrix.row(i) {
            if apart(i, j) {
                touched.push(i as u32);
            } else {
                places.push((i as u32, j as u32));
                values.extend_from_slice(block);
            }
        }
    }
    touched.dedup();
    let cut = assembly::from_blocks((n * n, n * n), (3, 3), &places, &values).unwrap();
    assert!(!Pattern::same(cut.pattern(), p.matrix.pattern()));
    let (parameters, backend) = (skinning(), Cpu::new());
    let before = parameters.build(system(&p, &p.matrix), &backend).unwrap();
    let control_points = before.state::<Controlled>(0).unwrap().control_points().clone();
    let old = control_points.order.len();
    let coarsening = Skinning { cut: Some(Cut { control_points, touched }), ..Skinning::default() };
    let mut after = Multigrid { coarsening, ..skinning() }.build(system(&p, &cut), &backend).unwrap();
    let now = after.state::<Controlled>(0).unwrap().control_points();
    assert!(now.order.len() <= old + 4, "{old} -> {}", now.order.len());
    let smaller = cloth(n - 1, 0.01).unwrap();
    let coarsening = Skinning {
        cut: Some(Cut {
            control_points: before.state::<Controlled>(0).unwrap().control_points().clone(),
            touched: vec![],
        }),
        ..Skinning::default()
    };
    let refused = Multigrid { coarsening, ..skinning() };
    assert!(refused.build(system(&smaller, &smaller.matrix), &backend).is_err(), "nodes that are gone");
    let mut rebuilt = parameters.build(system(&p, &cut), &backend).unwrap();
    let [patched, rebuilt] = [iterations(&cut, &mut after), iterations(&cut, &mut rebuilt)];
    assert!(5 * patched <= 6 * rebuilt, "{patched} of {rebuilt}");

    // A new contact keeps the cut.
    let cut_control_points = after.state::<Controlled>(0).unwrap().control_points().clone();
    let mut contact = Contacts::new(n * n, 3).unwrap();
    contact.assemble(&[Stencil::point_point(0, (n * n - 1) as u32)], &[1.0; 9]).unwrap();
    after.update(System { contact: Some(&contact), ..system(&p, &cut) }).unwrap();
    assert_eq!(after.state::<Controlled>(0).unwrap().control_points(), &cut_control_points);

    // The cut belongs to its pattern: another pattern is sampled as a whole.
    after.update(system(&p, &p.matrix)).unwrap();
    assert_eq!(
        after.state::<Controlled>(0).unwrap().control_points(),
        before.state::<Controlled>(0).unwrap().control_points()
    );
}

#[test]
fn bad_options_of_skinning_are_named() {
    let p = softcube(3, 0.03, Material::Linear, &|_, _| 1.0).unwrap();
    let backend = Cpu::<f64>::new();
    let alone = Multigrid { coarse_size: 10, ..skinning() };
    assert_eq!(alone.build(&p.matrix, &backend).err(), Some(SetupError::NoPositions { method: "skinning" }));
    let with = |coarsening| Multigrid { coarsening, coarse_size: 10, ..skinning() };
    let default = Skinning::default;
    let cases = [
        (Skinning { rest: Some(Arc::new([[0.0; 3]; 2])), ..default() }, "rest positions (one per block row)"),
        (Skinning { rest: Some(vec![[f64::NAN; 3]; 64].into()), ..default() }, "rest positions"),
        (Skinning { given: vec![3, 64], ..default() }, "node 64 of Skinning::given does not exist"),
        (Skinning { control_points: vec![4, 20], ..default() }, "Skinning::control_points is 20"),
        (Skinning { control_points: vec![20, 20], ..default() }, "Skinning::control_points is 20"),
        (Skinning { control_points: vec![20, 0], ..default() }, "Skinning::control_points is 0"),
        (
            Skinning { control_points: vec![20, 2], given: vec![1, 2, 3], ..default() },
            "Skinning::control_points is 2",
        ),
        (Skinning { nodes_per_control_point: 0, ..default() }, "Skinning::nodes_per_control_point is 0"),
        (Skinning { coarsening_ratio: 1, ..default() }, "Skinning::coarsening_ratio is 1"),
    ];
    for (coarsening, text) in cases {
        let error = with(coarsening).build(system(&p, &p.matrix), &backend).err().expect(text).to_string();
        assert!(error.contains(text), "{error}");
    }
    let four: Vec<_> = (0..8).flat_map(|i| [(i, i, 2.0), (i, i ^ 1, -1.0)]).collect();
    let four = assembly::from_triplets(8, 8, &four).unwrap();
    let few = with(Skinning { control_points: vec![8, 2], ..default() });
    let few = Multigrid { coarse_size: 0, ..few };
    let positions: Vec<[f64; 3]> = (0..8).map(|i| [f64::from(i), 0.0, 0.0]).collect();
    let error = few.build(System { positions: Some(&positions), ..System::from(&four) }, &backend).err();
    assert!(
        error
            .unwrap()
            .to_string()
            .contains("4 parts without couplings between them, but coarse level 2 has 2")
    );
}

/// For A = a ⊗ I₃, the scalar hierarchy needs as many iterations as the hierarchy of blocks. A block that
/// couples components is reported.
#[test]
fn components_are_solved_one_by_one() {
    let p = softcube(8, 0.03, Material::Linear, &|_, _| 1.0).unwrap();
    let mut a = p.matrix.clone();
    for block in a.values_mut().chunks_exact_mut(9) {
        let mean = (block[0] + block[4] + block[8]) / 3.0;
        (0..9).for_each(|e| block[e] = if e % 4 == 0 { mean } else { 0.0 });
    }
    let parameters = Multigrid { coarse_size: 0, ..skinning() };
    let each = Componentwise { scalar: parameters.clone() };
    let (backend, rest) = (Cpu::new(), system(&p, &a));
    let mut m = each.build(rest, &backend).unwrap();
    let blocks = iterations(&a, &mut parameters.build(rest, &backend).unwrap());
    let apart = iterations(&a, &mut m);
    assert!(apart.abs_diff(blocks) <= blocks.div_ceil(3), "{apart} of {blocks}");
    let (r, mut z) = (vec![1.0; a.shape().0], vec![0.0; a.shape().0]);
    m.apply(&r, &mut z);
    let mut twice = a.clone();
    twice.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    m.update(system(&p, &twice)).unwrap();
    let mut half = z.clone();
    m.apply(&r, &mut half);
    assert!(z.iter().zip(&half).all(|(z, half)| (z - 2.0 * half).abs() <= 1e-12 * z.abs().max(1e-3)));
    let refused = each.build(system(&p, &p.matrix), &backend).err().unwrap();
    assert!(matches!(refused, SetupError::Coupled { .. }), "{refused}");
    assert!(m.update(system(&p, &p.matrix)).is_err());
    let mut same = z.clone();
    m.apply(&r, &mut same);
    assert_eq!(same, half, "after an error");
}

/// Contact does not enter the graph of the control points, and its scalar is the mean of its diagonal.
#[test]
fn contact_of_components_stays_apart() {
    let p = softcube(6, 0.03, Material::Linear, &|_, _| 1.0).unwrap();
    let mut a = p.matrix.clone();
    a.values_mut().chunks_exact_mut(9).for_each(|block| {
        let first = block[0];
        (0..9).for_each(|e| block[e] = if e % 4 == 0 { first } else { 0.0 });
    });
    let nodes = a.pattern().rows();
    let scalars = a.values().chunks_exact(9).map(|block| block[0]).collect();
    let scalar = Bsr::new(a.pattern().clone(), (1, 1), scalars).unwrap();
    let stencils: Vec<Stencil> = (0..9).map(|k| Stencil::point_point(k, nodes as u32 - 1 - k)).collect();
    let mut contact = Contacts::new(nodes, 3).unwrap();
    // Twice n nᵀ with n = (1, 1, 1): the mean of the diagonal is 2.
    contact.assemble(&stencils, &[2.0; 9].repeat(stencils.len())).unwrap();
    let mut means = Contacts::new(nodes, 1).unwrap();
    means.assemble(&stencils, &vec![2.0; stencils.len()]).unwrap();
    let (parameters, backend) = (Multigrid { coarse_size: 0, ..skinning_levels(&[20, 4]) }, Cpu::new());
    let each = Componentwise { scalar: parameters.clone() };
    let mut m = each.build(System { contact: Some(&contact), ..system(&p, &a) }, &backend).unwrap();
    let mut one =
        parameters.build(System { contact: Some(&means), ..system(&p, &scalar) }, &backend).unwrap();
    let rebuilt = parameters.build(system(&p, &scalar), &backend).unwrap();
    assert_eq!(
        one.state::<Controlled>(0).unwrap().control_points(),
        rebuilt.state::<Controlled>(0).unwrap().control_points()
    );
    let r: Vec<f64> = (0..nodes).map(|i| (i as f64).sin()).collect();
    let (mut z, mut expected) = (vec![0.0; 3 * nodes], vec![0.0; nodes]);
    m.apply(&r.iter().flat_map(|r| [0.0, *r, 0.0]).collect(), &mut z);
    one.apply(&r, &mut expected);
    let largest = expected.iter().fold(0.0, |m: f64, e| m.max(e.abs()));
    let near = |(z, &e): (&[f64], &f64)| z[0] == 0.0 && z[2] == 0.0 && (z[1] - e).abs() < 1e-12 * largest;
    assert!(z.chunks(3).zip(&expected).all(near));
}

/// Harmonic weights of a straight rope are linear, so a motion of all control points moves no node. The coarse matrix
/// is singular, and the cycle still converges.
#[test]
fn a_straight_rope_with_smooth_weights_is_solved() {
    let n = 200_u32;
    let places: Vec<(u32, u32)> =
        (0..n).flat_map(|i| (i.saturating_sub(1)..(i + 2).min(n)).map(move |j| (i, j))).collect();
    let value = |&(i, j): &(u32, u32)| if i == j { 2.01 } else { -1.0 };
    let block = |v: f64| (0..9).map(move |e| if e % 4 == 0 { v } else { 0.0 });
    let values: Vec<f64> = places.iter().flat_map(|place| block(value(place))).collect();
    let size = n as usize;
    let a = assembly::from_blocks((size, size), (3, 3), &places, &values).unwrap();
    let rest: Vec<[f64; 3]> = (0..n).map(|i| [0.3, 0.4, 0.5].map(|d| d * f64::from(i))).collect();
    let coarsening =
        Skinning { weights: Weights::Harmonic, control_points: vec![20, 5], ..Skinning::default() };
    let parameters = Multigrid { coarse_size: 0, coarsening, ..skinning() };
    let mut m = parameters.build(System { positions: Some(&rest), ..System::from(&a) }, &Cpu::new()).unwrap();
    let found = iterations(&a, &mut m);
    assert!(found <= 20, "{found}");
}

/// Flat control points have terms on every level. An update that fails on a coarse level, or in the coarsest solve,
/// leaves all matrices with terms; one that succeeds replaces them all.
#[test]
fn a_failed_update_leaves_the_matrices_with_terms() {
    let p = cloth(21, 0.01).unwrap();
    let smoothing = Smoothing::GaussSeidel(GaussSeidel::default());
    let coarsest = Coarsest::Iterative(JacobiCg::default());
    let flat: Arc<[[f64; 3]]> = p.positions.iter().map(|x| [x[0], 0.0, x[2]]).collect();
    let with = |control_points: &[usize]| Skinning {
        control_points: control_points.to_vec(),
        rest: Some(flat.clone()),
        ..Skinning::default()
    };
    for parameters in [
        Multigrid { smoothing, coarsening: with(&[60, 10]), ..skinning_levels(&[]) },
        Multigrid { smoothing, coarsest, coarsening: with(&[60]), ..skinning_levels(&[]) },
    ] {
        let mut m = parameters.build(p.system(), &Cpu::new()).unwrap();
        let seen = |m: &Hierarchy| -> Vec<Option<Bsr<f64>>> {
            (0..m.levels()).map(|level| m.matrix_with_term(level).cloned()).collect()
        };
        let r = p.right_hand_side(1);
        let (before, z) = (seen(&m), applied(&mut m, &r));
        assert!(before[0].is_none() && before[1..].iter().all(Option::is_some));
        assert!(m.matrix_with_term(m.levels()).is_none());

        // Every diagonal block is positive definite, but the products for smooth motions are not.
        let mut soft = p.matrix.clone();
        for i in 0..soft.pattern().rows() {
            let at = soft.pattern().find(i, i).unwrap();
            soft.values_mut()[9 * at..9 * (at + 1)].iter_mut().for_each(|v| *v *= 0.1);
        }
        let failed = m.update(&soft).unwrap_err();
        assert!(matches!(failed, SetupError::Level { level: 1, .. }), "{failed}");
        assert_eq!((seen(&m), applied(&mut m, &r)), (before.clone(), z.clone()));

        let mut stiffer = p.matrix.clone();
        stiffer.values_mut().iter_mut().for_each(|v| *v *= 4.0);
        m.update(&stiffer).unwrap();
        for (now, before) in seen(&m)[1..].iter().flatten().zip(before[1..].iter().flatten()) {
            assert!(now.values().iter().zip(before.values()).all(|(now, before)| *now == 4.0 * before));
        }
        // Cycles use these matrices; a factor of four rounds nothing.
        assert!(applied(&mut m, &r).iter().zip(&z).all(|(now, before)| 4.0 * now == *before));
    }
}

/// The one pass of an update over a symmetric matrix sees every value: a NaN anywhere is named and changes no bit, and
/// a matrix that is no longer symmetric is of another kind. New values give the bits of a build.
#[test]
fn an_update_looks_at_every_value() {
    let p = softcube(9, 0.03, Material::Linear, &|_, _| 1.0).unwrap();
    let last = p.matrix.pattern().len() - 1;
    let first_upper = p.matrix.pattern().row(0).len() - 1;
    fn check(p: &Problem, backend: &Cpu<f64, impl Real>, places: [usize; 3]) {
        let parameters = skinning_levels(&[60, 8]);
        let mut m = parameters.build(system(p, &p.matrix), backend).unwrap();
        let r = p.right_hand_side(1);
        let mut stiffer = p.matrix.clone();
        stiffer.values_mut().iter_mut().for_each(|v| *v *= 1.7);
        m.update(system(p, &stiffer)).unwrap();
        let z = applied(&mut m, &r);
        let mut rebuilt = parameters.build(system(p, &stiffer), backend).unwrap();
        assert_eq!(z, applied(&mut rebuilt, &r), "a build");
        for at in places {
            for bad in [f64::NAN, f64::INFINITY] {
                let mut damaged = p.matrix.clone();
                damaged.values_mut()[at] = bad;
                let error = m.update(system(p, &damaged)).unwrap_err().to_string();
                assert!(error.contains("finite"), "{at}: {error}");
                assert_eq!(applied(&mut m, &r), z, "{at}: {error}");
            }
        }
        let mut skew = p.matrix.clone();
        let size = p.matrix.values().iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        skew.values_mut()[places[0]] += 0.1 * size;
        m.update(system(p, &skew)).unwrap();
        assert_ne!(m.kind(), PreconditionerKind::Symmetric);
        m.update(system(p, &stiffer)).unwrap();
        assert_eq!(m.kind(), PreconditionerKind::Symmetric, "symmetric again");
        // The coarsest factor may keep the kind of the matrix before, so the bits may differ.
        let size = z.iter().fold(0.0_f64, |most, z| most.max(z.abs()));
        assert!(applied(&mut m, &r).iter().zip(&z).all(|(now, z)| (now - z).abs() < 1e-5 * size));
    }
    // Above the diagonal, below it, and on it.
    let places = [9 * first_upper, 9 * (last - 1), 9 * last];
    check(&p, &Cpu::new(), places);
    check(&p, &Cpu::mixed(), places);
}
