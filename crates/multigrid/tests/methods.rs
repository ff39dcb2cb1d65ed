//! The small methods: what each promises of its convergence, and that the hierarchy treats them as it does smoothed aggregation.

mod common;

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reused, Setup, SetupError, UpdateExt};
use coarsen_core::{Error, Stop};
use coarsen_krylov::{Cg, FlexibleCg, Krylov, Richardson};
use coarsen_multigrid::{
    Coarse, Coarsening, Geometric, Grid, Hierarchy, Keep, Multigrid, PlainAggregation, RugeStueben,
};
use coarsen_sparse::{Bsr, assembly};

use common::{applied, dot, problem};

fn solved<C: Coarsening<f64> + 'static>(
    recipe: Multigrid<C>,
    a: &Bsr<f64>,
    method: &mut dyn Krylov<Vec<f64>>,
) -> (usize, Hierarchy<f64, Cpu, C>) {
    let mut m = recipe.build(a, &Cpu::new()).unwrap();
    let (b, mut x) = (vec![1.0; a.shape().0], vec![0.0; a.shape().0]);
    let report = method.solve(a, &mut m, &b, &mut x).unwrap();
    (report.converged().unwrap().iterations, m)
}

/// Cycles alone: 14 take ten digits in the plane and 17 in space, so a cycle leaves a fifth or a quarter of the residual, whatever the mesh width.
#[test]
fn the_contraction_of_a_geometric_cycle_does_not_depend_on_the_mesh() {
    let cycles = |spec: &str, points: &[usize]| {
        let a = problem(spec).matrix;
        let mut richardson = Richardson::new(Stop::relative(1e-10));
        let (cycles, m) = solved(Multigrid::geometric(points), &a, &mut richardson);
        assert!(m.levels() > 1 && m.operator_complexity() < 1.7, "{m}");
        cycles
    };
    let plane = [31, 63, 127, 255].map(|n| cycles(&format!("poisson2d:{n}"), &[n, n]));
    assert!(plane.iter().all(|c| (12..=14).contains(c)), "{plane:?}");
    let space = [15, 31].map(|n| cycles(&format!("poisson3d:{n}"), &[n, n, n]));
    assert!(space.iter().all(|c| (15..=17).contains(c)), "{space:?}");
}

/// The iterations of PyAMG 5 with the same θ, first pass, direct interpolation, smoother and size of the coarsest level; measured once.
#[test]
fn ruge_stueben_takes_no_more_iterations_than_pyamg() {
    for (spec, pyamg) in [
        ("poisson2d:150", 9),
        ("anisotropic2d:150", 25),
        ("jump3d:24", 9),
        ("poisson3d:24", 7),
        ("graph:5000", 13),
    ] {
        let a = problem(spec).matrix;
        let (found, m) = solved(Multigrid::ruge_stueben(), &a, &mut Cg::new(Stop::relative(1e-8)));
        assert!(10 * found <= 11 * pyamg, "{spec}: {found} of {pyamg}\n{m}");
        assert!(m.aggregates(0).is_none() && m.operator_complexity() < 2.8, "{spec}\n{m}");
    }
}

#[test]
fn a_k_cycle_over_plain_aggregates_hardly_grows() {
    let iterations = [50, 100, 200].map(|n| {
        let a = problem(&format!("poisson2d:{n}")).matrix;
        let (its, m) = solved(Multigrid::plain_aggregation(), &a, &mut FlexibleCg::new(Stop::relative(1e-8)));
        assert!(m.operator_complexity() < 1.4, "{m}");
        its
    });
    assert!(iterations.iter().all(|&its| its <= 14), "{iterations:?}");
}

/// Aggregates of at most four nodes that pull each other, each node in one.
#[test]
fn plain_aggregates_are_pairs_of_pairs() {
    let a = problem("elasticity3d:8").matrix;
    let m = Multigrid { coarse_size: 50, ..Multigrid::plain_aggregation() }.build(&a, &Cpu::new()).unwrap();
    let aggregates = m.aggregates(0).unwrap();
    let count = m.matrix(1).unwrap().pattern().rows();
    let mut members = vec![Vec::new(); count];
    aggregates.iter().enumerate().for_each(|(i, &g)| members[g as usize].push(i));
    assert!(members.iter().all(|list| (1..=4).contains(&list.len())));
    let connected = |list: &Vec<usize>| {
        list.iter()
            .all(|&i| list.len() == 1 || list.iter().any(|&j| i != j && a.pattern().find(i, j).is_some()))
    };
    assert!(members.iter().all(connected));
    let p = m.prolongation(0).unwrap();
    assert!((0..p.pattern().len()).all(|k| p.value(k) == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]));
}

/// 3 x 3 blocks a I: three copies of the scalar system, solved by three copies of the scalar cycle.
#[test]
fn weights_act_on_every_unknown_of_a_node() {
    let scalar = problem("poisson2d:41").matrix;
    let places: Vec<(u32, u32)> =
        (0..41 * 41).flat_map(|i| scalar.pattern().row(i).iter().map(move |&j| (i as u32, j))).collect();
    let values: Vec<f64> =
        scalar.values().iter().flat_map(|v| (0..9).map(move |e| if e % 4 == 0 { *v } else { 0.0 })).collect();
    let n = scalar.shape().0;
    let blocks = assembly::from_blocks(3 * n, 3 * n, (3, 3), &places, &values).unwrap();
    let recipe = Multigrid { levels: 3, coarse_size: 0, ..Multigrid::geometric(&[41, 41]) };
    let (mut one, mut three) =
        (recipe.build(&scalar, &Cpu::new()).unwrap(), recipe.build(&blocks, &Cpu::new()).unwrap());
    let r = noise(n, 3);
    let copies: Vec<f64> = r.iter().flat_map(|v| [*v, 2.0 * v, -v]).collect();
    let (z, all) = (applied(&mut one, &r), applied(&mut three, &copies));
    for (z, all) in z.iter().zip(all.chunks_exact(3)) {
        assert!([all[0] - z, all[1] - 2.0 * z, all[2] + z].iter().all(|d| d.abs() < 1e-12));
    }
}

#[test]
fn cycles_are_symmetric_and_positive() {
    fn law<C: Coarsening<f64> + 'static>(recipe: Multigrid<C>, a: &Bsr<f64>) {
        let mut m = Multigrid { coarse_size: 30, ..recipe }.build(a, &Cpu::new()).unwrap();
        assert!(m.levels() > 2, "{m}");
        let [u, v] = [2, 3].map(|seed| noise(a.shape().0, seed));
        let (mu, mv) = (applied(&mut m, &u), applied(&mut m, &v));
        let scale = (dot(&u, &mu) * dot(&v, &mv)).sqrt();
        assert!((dot(&u, &mv) - dot(&v, &mu)).abs() < 1e-12 * scale, "{m}");
    }
    let a = problem("poisson2d:31").matrix;
    law(Multigrid::geometric(&[31, 31]), &a);
    law(Multigrid::ruge_stueben(), &a);
    law(Multigrid::of(PlainAggregation::default()), &a);
}

/// The provided `refresh`: what a build makes where the pattern of P stays, else an error and the old hierarchy.
#[test]
fn new_values_refresh_a_prolongation_of_the_same_pattern() {
    let a = problem("jump3d:16").matrix;
    let recipe = Multigrid { keep: Keep::Aggregates, levels: 2, ..Multigrid::ruge_stueben() };
    let mut m = recipe.build(&a, &Cpu::new()).unwrap();
    let r = noise(a.shape().0, 5);
    let before = applied(&mut m, &r);
    let mut firmer = a.clone();
    let diagonal: Vec<usize> = (0..a.shape().0).map(|i| a.pattern().find(i, i).unwrap()).collect();
    diagonal.iter().for_each(|&k| firmer.values_mut()[k] *= 1.3);
    assert_eq!(m.update(&firmer).unwrap(), Reused::Structure);
    let mut built = recipe.build(&firmer, &Cpu::new()).unwrap();
    assert_eq!(applied(&mut m, &r), applied(&mut built, &r));
    m.update(&a).unwrap();
    assert_eq!(applied(&mut m, &r), before);
    // Couplings along one axis alone are strong: another C.
    let mut other = a.clone();
    for i in 0..a.shape().0 {
        for k in a.pattern().range(i) {
            let apart = i.abs_diff(a.pattern().indices()[k] as usize);
            other.values_mut()[k] = if apart == 1 { -10.0 } else { a.values()[k].signum() * 0.1 };
        }
    }
    diagonal.iter().for_each(|&k| other.values_mut()[k] = 50.0);
    let refused = m.update(&other).unwrap_err();
    assert!(refused.to_string().contains("build anew"), "{refused}");
    assert_eq!(applied(&mut m, &r), before);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (grid, blocks) = (problem("poisson2d:30").matrix, problem("elasticity3d:6").matrix);
    let shape = |refused: Option<SetupError>, expected: usize, found: usize| match refused {
        Some(SetupError::Place(Error::Shape { expected: e, found: f, .. })) => {
            assert_eq!((e, f), (expected, found))
        }
        other => panic!("{other:?}"),
    };
    shape(Multigrid::geometric(&[30, 31]).build(&grid, &Cpu::new()).err(), 930, 900);
    shape(Multigrid::ruge_stueben().build(&blocks, &Cpu::new()).err(), 1, 3);
    for theta in [f64::NAN, -0.1, 1.1] {
        let refused = Multigrid::of(RugeStueben { theta }).build(&grid, &Cpu::new()).err().unwrap();
        assert!(refused.to_string().contains("theta"), "{refused}");
        let refused = Multigrid::of(PlainAggregation { theta }).build(&grid, &Cpu::new()).err().unwrap();
        assert!(refused.to_string().contains("theta"), "{refused}");
    }
}

/// Bilinear transfers with the five-point matrix of every grid, times a factor that an update changes.
#[derive(Clone)]
struct Discretised(Geometric);

impl Coarsening<f64> for Discretised {
    type State = [usize; 3];

    fn coarsen(
        &self,
        fine: &Grid<'_, f64>,
        above: Option<&[usize; 3]>,
    ) -> Result<Option<Coarse<f64, [usize; 3]>>, SetupError> {
        self.0.coarsen(fine, above)
    }

    fn matrix(
        &self,
        fine: &Grid<'_, f64>,
        coarse: &Coarse<f64, [usize; 3]>,
    ) -> Result<Option<Bsr<f64>>, SetupError> {
        let mut a = problem(&format!("poisson2d:{}", coarse.state[0])).matrix;
        let factor = fine.a.get(0, 0) / a.get(0, 0);
        a.values_mut().iter_mut().for_each(|v| *v *= factor);
        Ok(Some(a))
    }

    fn name(&self) -> &'static str {
        "discretised"
    }
}

/// Rows of five on every level, where PᵀAP has nine, and cycles as good; updates follow, bit for bit as a build.
#[test]
fn a_method_may_bring_its_own_coarse_matrices() {
    let recipe = |n: usize| Multigrid::of(Discretised(Geometric { points: [n, n, 1] }));
    let cycles = [63, 127].map(|n| {
        let a = problem(&format!("poisson2d:{n}")).matrix;
        let (cycles, m) = solved(recipe(n), &a, &mut Richardson::new(Stop::relative(1e-10)));
        let coarse = m.matrix(1).unwrap();
        assert!(coarse.nnz() < 5 * coarse.shape().0 && m.operator_complexity() < 1.34, "{m}");
        cycles
    });
    assert!(cycles.iter().all(|c| (10..=14).contains(c)), "{cycles:?}");
    let (a, r) = (problem("poisson2d:63").matrix, noise(63 * 63, 8));
    let mut double = a.clone();
    double.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    let mut m = recipe(63).build(&a, &Cpu::new()).unwrap();
    let before = applied(&mut m, &r);
    m.update(&double).unwrap();
    assert_eq!(applied(&mut m, &r), applied(&mut recipe(63).build(&double, &Cpu::new()).unwrap(), &r));
    m.update(&a).unwrap();
    assert_eq!(applied(&mut m, &r), before);
}

/// A matrix of another grid than P leads to.
#[test]
fn coarse_matrices_that_do_not_fit_are_refused() {
    #[derive(Clone)]
    struct Wrong(usize);
    impl Coarsening<f64> for Wrong {
        type State = ();
        fn coarsen(&self, fine: &Grid<'_, f64>, _: Option<&()>) -> Result<Option<Coarse<f64>>, SetupError> {
            let halves: Vec<_> = (0..fine.a.shape().0 as u32).map(|i| (i, i / 2, 1.0)).collect();
            let columns = fine.a.shape().0.div_ceil(2);
            Ok(Some(Coarse::new(assembly::from_triplets(halves.len(), columns, &halves)?, ())))
        }
        fn matrix(&self, _: &Grid<'_, f64>, _: &Coarse<f64>) -> Result<Option<Bsr<f64>>, SetupError> {
            Ok(Some(problem(&format!("poisson2d:{}", self.0)).matrix))
        }
        fn name(&self) -> &'static str {
            "wrong"
        }
    }
    let a = problem("poisson2d:40").matrix;
    let recipe = |n| Multigrid { levels: 2, ..Multigrid::of(Wrong(n)) };
    let refused = recipe(30).build(&a, &Cpu::new()).err().unwrap();
    assert!(refused.to_string().contains("expected size 800, found 900"), "{refused}");
}
