//! The small methods: their convergence, and their use in a hierarchy.

use coarsen_ruge_stueben::ruge_stueben;
use coarsen_smoothed_aggregation::plain_aggregation;
use std::sync::Arc;

use coarsen_backend::conformance::noise;
use coarsen_backend::{Cpu, Reused, SetupError};
use coarsen_core::{Cancel, Error, LinearOperator, Preconditioner, Real, Stop, parallel};
use coarsen_krylov::{Cg, FlexibleCg, Krylov, Richardson};
use coarsen_multigrid::{Coarse, Coarsening, Geometric, Grid, Hierarchy, Keep, Multigrid};
use coarsen_ruge_stueben::{Interpolation, RugeStueben, interpolation, splitting};
use coarsen_smoothed_aggregation::PlainAggregation;
use coarsen_sparse::{Bsr, Pattern, Prolongation, assembly};

use crate::common::{applied, dot, path, problem};

fn solved<C: Coarsening<f64> + 'static>(
    parameters: Multigrid<C>,
    a: &Bsr<f64>,
    method: &mut dyn Krylov<Vec<f64>>,
) -> (usize, Hierarchy) {
    let mut m = parameters.build(a, &Cpu::new()).unwrap();
    let (b, mut x) = (vec![1.0; a.shape().0], vec![0.0; a.shape().0]);
    let report = method.solve(a, &mut m, &b, &mut x).unwrap();
    (report.converged().unwrap().iterations, m)
}

/// Without a Krylov method, ten digits take 14 cycles in 2D and 17 in 3D. A cycle thus multiplies the
/// residual by a fifth to a quarter for any mesh width.
#[test]
fn the_contraction_of_a_geometric_cycle_does_not_depend_on_the_mesh() {
    let cycles = |spec: &str, points: [usize; 3]| {
        let a = problem(spec).matrix;
        let mut richardson = Richardson::new(Stop::relative(1e-10));
        let (cycles, m) = solved(Multigrid::geometric(points), &a, &mut richardson);
        assert!(m.levels() > 1 && m.operator_complexity() < 1.7, "{m}");
        cycles
    };
    let plane = [31, 63, 127, 255].map(|n| cycles(&format!("poisson2d:{n}"), [n, n, 1]));
    assert!(plane.iter().all(|c| (12..=14).contains(c)), "{plane:?}");
    let space = [15, 31].map(|n| cycles(&format!("poisson3d:{n}"), [n, n, n]));
    assert!(space.iter().all(|c| (15..=17).contains(c)), "{space:?}");
}

/// Compares with the iterations of PyAMG 5.4.1 on the same matrices with b = 1, measured once:
/// `ruge_stuben_solver` with `strength=('classical', {'theta': 0.25})`, `CF=('RS', {'second_pass': False})`,
/// `interpolation='direct'`, Gauss-Seidel forward before and backward after, `max_coarse=500`, and `solve(b,
/// tol=1e-8, accel='cg')`.
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
        let (found, m) = solved(ruge_stueben(), &a, &mut Cg::new(Stop::relative(1e-8)));
        assert!(10 * found <= 11 * pyamg, "{spec}: {found} of {pyamg}\n{m}");
        assert!(m.aggregates(0).is_none() && m.operator_complexity() < 2.8, "{spec}\n{m}");
    }
}

const INTERPOLATIONS: [Interpolation; 3] =
    [Interpolation::Direct, Interpolation::Classical, Interpolation::Modified];

fn interpolated(interpolation: Interpolation) -> Multigrid<RugeStueben> {
    Multigrid::of(RugeStueben { interpolation, ..RugeStueben::default() })
}

/// Compares with PyAMG 5.4.1 as above, with `interpolation=('classical', {'modified': modified})`, and with the second pass
/// unless modified.
#[test]
fn classical_interpolation_takes_as_few_iterations_as_in_pyamg() {
    for (spec, interpolation, pyamg) in [
        ("poisson2d:150", Interpolation::Classical, 8),
        ("poisson2d:150", Interpolation::Modified, 8),
        ("anisotropic2d:150", Interpolation::Classical, 16),
        ("anisotropic2d:150", Interpolation::Modified, 16),
    ] {
        let a = problem(spec).matrix;
        let (found, m) = solved(interpolated(interpolation), &a, &mut Cg::new(Stop::relative(1e-8)));
        assert!(found <= pyamg + 1, "{spec} {interpolation:?}: {found} of {pyamg}\n{m}");
        assert!(m.operator_complexity() < 2.8, "{spec} {interpolation:?}\n{m}");
    }
}

/// P and the splitting have the same bits with one thread and with two; the system is large enough for two.
#[test]
fn threads_do_not_change_a_coarsening() {
    let a = problem("jump3d:32").matrix;
    let step = |interpolation: Interpolation| {
        let method = RugeStueben { interpolation, ..RugeStueben::default() };
        let step = method.coarsen(&Grid::new(&a), None).unwrap().unwrap();
        (step.prolongation.matrix().cloned(), step.state)
    };
    for interpolation in INTERPOLATIONS {
        let [one, two] = [1, 2].map(|n| parallel::threads(n, || step(interpolation)).unwrap());
        assert_eq!(one, two, "{interpolation:?}");
    }
    let plain = || PlainAggregation::default().coarsen(&Grid::new(&a), None).unwrap().unwrap().aggregates;
    let [one, two] = [1, 2].map(|n| parallel::threads(n, plain).unwrap());
    assert_eq!(one, two);
}

/// A coarse unknown is its own interpolation: a row of P with a one.
#[test]
fn coarse_unknowns_are_injected() {
    let a = problem("graph:1000").matrix;
    for interpolation in INTERPOLATIONS {
        let method = RugeStueben { interpolation, ..RugeStueben::default() };
        let step = method.coarsen(&Grid::new(&a), None).unwrap().unwrap();
        let (p, numbers) = (step.prolongation.matrix().unwrap(), &step.state.0);
        let coarse = (0..numbers.len()).filter(|&i| numbers[i] != u32::MAX);
        assert!(coarse.clone().count() == p.shape().1 && coarse.clone().count() > 100);
        for i in coarse {
            assert_eq!((p.pattern().row(i), p.get(i, numbers[i] as usize)), (&numbers[i..=i], 1.0));
        }
    }
}

/// The unknowns on which each unknown depends strongly, for θ = 1/4.
fn strong_of(a: &Bsr<f64>) -> Pattern {
    let others = |i: usize| a.row(i).filter(move |(j, _)| *j != i);
    let row = |i: usize| {
        let largest = others(i).fold(0.0, |m: f64, (_, v)| m.max(v[0].abs()));
        others(i).filter(move |(_, v)| v[0].abs() >= 0.25 * largest).map(|(j, _)| j as u32)
    };
    Pattern::from_rows(a.shape().0, a.shape().1, 0, row).unwrap()
}

#[test]
fn interpolation_from_a_splitting_is_that_of_the_hierarchy() {
    let a = problem("anisotropic2d:20").matrix;
    let strong = strong_of(&a);
    for by in INTERPOLATIONS {
        let coarse = splitting(&strong, by == Interpolation::Classical, None).unwrap();
        let p = interpolation(&a, &strong, &coarse, by, None).unwrap();
        let method = RugeStueben { interpolation: by, ..RugeStueben::default() };
        let step = method.coarsen(&Grid::new(&a), None).unwrap().unwrap();
        assert_eq!(step.prolongation.matrix(), Some(&p), "{by:?}");
    }
}

#[test]
fn fine_unknowns_that_depend_on_each_other_share_a_coarse_one_after_the_second_pass() {
    let share = |strong: &Pattern, coarse: &[bool]| {
        let of = |i: usize| strong.row(i).iter().filter(|&&j| coarse[j as usize]);
        let pairs = (0..strong.rows()).flat_map(|i| strong.row(i).iter().map(move |&j| (i, j as usize)));
        let mut fine = pairs.filter(|&(i, j)| !coarse[i] && !coarse[j]);
        fine.all(|(i, j)| of(i).any(|k| of(j).any(|l| k == l)))
    };
    let a = problem("graph:1000").matrix;
    let strong = strong_of(&a);
    let [first, second] = [false, true].map(|second| splitting(&strong, second, None).unwrap());
    assert!(!share(&strong, &first) && share(&strong, &second));
    assert!(first.iter().zip(&second).all(|(first, second)| first <= second));
}

/// Rows that sum to zero are interpolated from a constant exactly. On a path with every second unknown coarse all weights are
/// one half; a row with a strong fine neighbour by hand: a₀₁ = a₀₂ = −1, and 1 depends on 2 and 3 alike.
#[test]
fn interpolation_reproduces_constants() {
    let path = path(9);
    let coarse: Vec<bool> = (0..9).map(|i| i % 2 == 1).collect();
    for by in INTERPOLATIONS {
        let p = interpolation(&path, &strong_of(&path), &coarse, by, None).unwrap();
        assert!((1..4).all(|j| p.get(2 * j, j - 1) == 0.5 && p.get(2 * j, j) == 0.5), "{by:?}");
    }
    let a = problem("poisson2d:12").matrix;
    let strong = strong_of(&a);
    let coarse = splitting(&strong, true, None).unwrap();
    let (mut sums, constant) = (vec![0.0_f64; 144], vec![1.0; 144]);
    a.apply(&constant, &mut sums);
    for by in INTERPOLATIONS {
        let p = interpolation(&a, &strong, &coarse, by, None).unwrap();
        let (mut ones, constant) = (vec![0.0_f64; 144], vec![1.0; p.shape().1]);
        p.apply(&constant, &mut ones);
        let inner = sums.iter().zip(&ones).filter(|(sum, _)| sum.abs() < 1e-14);
        assert!(
            inner.clone().count() > 50 && inner.map(|(_, v)| (v - 1.0).abs()).all(|off| off < 1e-12),
            "{by:?}"
        );
    }
    let entries =
        [(0, 0, 2.0), (0, 1, -1.0), (0, 2, -1.0), (1, 0, -1.0), (1, 1, 3.0), (1, 2, -1.0), (1, 3, -1.0)];
    let rest = [(2, 0, -1.0), (2, 1, -1.0), (2, 2, 2.0), (3, 1, -1.0), (3, 3, 1.0)];
    let a = assembly::from_triplets(4, 4, &[&entries[..], &rest].concat()).unwrap();
    let (strong, coarse) = (strong_of(&a), [false, false, true, true]);
    let p = interpolation(&a, &strong, &coarse, Interpolation::Classical, None).unwrap();
    // 0: a₀₁ goes to 2, the only coarse unknown of 0. 1: a₁₀ goes to 2 as well, since 0 does not depend on 3.
    assert_eq!((p.get(0, 0), p.get(1, 0), p.get(1, 1)), (1.0, 2.0 / 3.0, 1.0 / 3.0));
}

#[test]
fn interpolation_refuses_what_does_not_fit() {
    let a = path(4);
    let strong = strong_of(&a);
    let wide = Pattern::from_rows(4, 5, 0, |i| std::iter::once(i as u32 + 1)).unwrap();
    assert!(splitting(&wide, false, None).is_err());
    assert!(interpolation(&a, &strong, &[true; 3], Interpolation::Direct, None).is_err());
    for strong in [&wide, &strong_of(&path(3))] {
        assert!(interpolation(&a, strong, &[true; 4], Interpolation::Direct, None).is_err());
    }
}

#[test]
fn splitting_and_interpolation_end_once_the_flag_is_set() {
    let (a, cancel) = (problem("poisson2d:12").matrix, Cancel::new());
    let strong = strong_of(&a);
    let coarse = splitting(&strong, true, Some(&cancel)).unwrap();
    let ended = Some(SetupError::Cancelled);
    for by in INTERPOLATIONS {
        let method = RugeStueben { interpolation: by, ..RugeStueben::default() };
        let grid = Grid { cancel: Some(&cancel), ..Grid::new(&a) };
        let mut step = method.coarsen(&grid, None).unwrap().unwrap();
        let before = step.prolongation.clone();
        cancel.cancel();
        assert_eq!(interpolation(&a, &strong, &coarse, by, Some(&cancel)).err(), ended, "{by:?}");
        assert_eq!(method.refresh(&grid, None, &mut step).err(), ended, "{by:?}");
        assert_eq!(step.prolongation.matrix(), before.matrix(), "{by:?}");
        cancel.reset();
    }
    cancel.cancel();
    assert_eq!(splitting(&strong, true, Some(&cancel)).err(), ended);
}

#[test]
fn a_k_cycle_over_plain_aggregates_hardly_grows() {
    let iterations = [50, 100, 200].map(|n| {
        let a = problem(&format!("poisson2d:{n}")).matrix;
        let (its, m) = solved(plain_aggregation(), &a, &mut FlexibleCg::new(Stop::relative(1e-8)));
        assert!(m.operator_complexity() < 1.4, "{m}");
        its
    });
    assert!(iterations.iter().all(|&its| its <= 14), "{iterations:?}");
}

/// Algorithm 3 of Notay 2010 in plain loops over dense strengths: the pair of each node, and the number of pairs.
fn paired(w: &[Vec<f64>], alone: &[bool]) -> (Vec<u32>, u32) {
    let largest: Vec<f64> = w.iter().map(|row| row.iter().copied().fold(0.0, f64::max)).collect();
    let (mut pair, mut count) = (vec![u32::MAX; w.len()], 0);
    for i in 0..w.len() {
        if alone[i] || pair[i] != u32::MAX {
            continue;
        }
        let mut best = i;
        for j in 0..w.len() {
            let is_strong = w[i][j] > 0.0 && w[i][j] >= 0.25 * largest[i].max(largest[j]);
            if is_strong && !alone[j] && pair[j] == u32::MAX && (best == i || w[i][j] > w[i][best]) {
                best = j;
            }
        }
        (pair[i], pair[best]) = (count, count);
        count += 1;
    }
    (pair, count)
}

#[test]
fn plain_aggregates_are_those_of_dense_strengths() {
    for spec in ["elasticity3d:5", "graph:300", "jump3d:8"] {
        let a = problem(spec).matrix;
        let (n, b) = (a.pattern().rows(), a.block().0);
        let trace = |block: &[f64]| block.iter().step_by(b + 1).sum::<f64>();
        let (mut w, mut alone) = (vec![vec![0.0; n]; n], vec![false; n]);
        for i in 0..n {
            let (mut own, mut others) = (0.0, 0.0);
            for (j, block) in a.row(i) {
                *(if j == i { &mut own } else { &mut others }) += trace(block).abs();
                if j != i {
                    w[i][j] = (-trace(block)).max(0.0);
                }
            }
            alone[i] = own > 5.0 * others;
        }
        let (pairs, count) = paired(&w, &alone);
        let mut sums = vec![vec![0.0; count as usize]; count as usize];
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            if pairs[i].max(pairs[j]) != u32::MAX && pairs[i] != pairs[j] {
                sums[pairs[i] as usize][pairs[j] as usize] += w[i][j];
            }
        }
        let (quads, _) = paired(&sums, &vec![false; count as usize]);
        let expected: Vec<u32> =
            pairs.iter().map(|&pair| quads.get(pair as usize).copied().unwrap_or(u32::MAX)).collect();
        let found = PlainAggregation::default().coarsen(&Grid::new(&a), None).unwrap().unwrap();
        assert_eq!(found.aggregates, Some(expected), "{spec}");
    }
}

/// Aggregates have at most four nodes, all coupled, and every node is in an aggregate.
#[test]
fn plain_aggregates_are_pairs_of_pairs() {
    let a = problem("elasticity3d:8").matrix;
    let m = Multigrid { coarse_size: 50, ..plain_aggregation() }.build(&a, &Cpu::new()).unwrap();
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
    let columns = p.pattern().indices();
    assert!(matches!(p, Prolongation::Identities(_)) && p.block() == (3, 3) && columns == aggregates);
}

/// A system with 3 x 3 blocks a I is three copies of a scalar system. Its cycle is three copies of the scalar
/// cycle.
#[test]
fn weights_act_on_every_unknown_of_a_node() {
    let scalar = problem("poisson2d:41").matrix;
    let places: Vec<(u32, u32)> =
        (0..41 * 41).flat_map(|i| scalar.pattern().row(i).iter().map(move |&j| (i as u32, j))).collect();
    let values: Vec<f64> =
        scalar.values().iter().flat_map(|v| (0..9).map(move |e| if e % 4 == 0 { *v } else { 0.0 })).collect();
    let n = scalar.shape().0;
    let blocks = assembly::from_blocks((n, n), (3, 3), &places, &values).unwrap();
    let parameters = Multigrid { levels: 3, coarse_size: 0, ..Multigrid::geometric([41, 41, 1]) };
    let (mut one, mut three) =
        (parameters.build(&scalar, &Cpu::new()).unwrap(), parameters.build(&blocks, &Cpu::new()).unwrap());
    let r = noise(n, 3);
    let copies: Vec<f64> = r.iter().flat_map(|v| [*v, 2.0 * v, -v]).collect();
    let (z, all) = (applied(&mut one, &r), applied(&mut three, &copies));
    for (z, all) in z.iter().zip(all.chunks_exact(3)) {
        assert!([all[0] - z, all[1] - 2.0 * z, all[2] + z].iter().all(|d| d.abs() < 1e-12));
    }
}

#[test]
fn cycles_are_symmetric_and_positive() {
    /// Checks a cycle in one precision: symmetric, positive, and bitwise equal after an update to unchanged
    /// values.
    fn holds<T, V, S, C>(parameters: &Multigrid<C>, a: &Bsr<T>, backend: Cpu<V, S>, tolerance: f64)
    where
        T: Real,
        V: Real,
        S: Real,
        C: Coarsening<T> + 'static,
    {
        let mut m = Multigrid { coarse_size: 30, ..parameters.clone() }.build(a, &backend).unwrap();
        assert!(m.levels() > 2, "{m}");
        let apply = |m: &mut dyn Preconditioner<Vec<V>>, r: &[f64]| -> Vec<f64> {
            let (r, mut z) =
                (r.iter().map(|&r| V::from_f64(r)).collect::<Vec<_>>(), vec![V::zero(); r.len()]);
            m.apply(&r, &mut z);
            z.iter().map(|z| z.as_f64()).collect()
        };
        let [u, v] = [2, 3].map(|seed| noise(a.shape().0, seed));
        let (mu, mv) = (apply(&mut m, &u), apply(&mut m, &v));
        let scale = (dot(&u, &mu) * dot(&v, &mv)).sqrt();
        assert!(dot(&u, &mu) > 0.0 && dot(&v, &mv) > 0.0, "{m}");
        assert!((dot(&u, &mv) - dot(&v, &mu)).abs() < tolerance * scale, "{m}");
        assert_eq!(m.update(a).unwrap(), Reused::Structure);
        assert_eq!(apply(&mut m, &u), mu, "{m}");
    }
    fn invariant<C: Coarsening<f64> + Coarsening<f32> + 'static>(parameters: Multigrid<C>, a: &Bsr<f64>) {
        holds(&parameters, a, Cpu::new(), 1e-12);
        holds(&parameters, a, Cpu::mixed(), 1e-5);
        holds(&parameters, &a.to::<f32>(), Cpu::single(), 1e-5);
    }
    let a = problem("poisson2d:31").matrix;
    invariant(Multigrid::geometric([31, 31, 1]), &a);
    for interpolation in INTERPOLATIONS {
        invariant(interpolated(interpolation), &a);
    }
    invariant(Multigrid::of(PlainAggregation::default()), &a);
}

/// Returns `a` with some stronger and some weaker couplings and a dominant diagonal, for which Ruge-Stueben
/// would choose other coarse unknowns.
fn other_values(a: &Bsr<f64>) -> Bsr<f64> {
    let mut other = a.clone();
    for i in 0..a.shape().0 {
        for k in a.pattern().range(i) {
            let j = a.pattern().indices()[k] as usize;
            other.values_mut()[k] = match i.abs_diff(j) {
                0 => 25.0,
                1 => -10.0,
                _ => -0.1 * a.values()[k].abs(),
            };
        }
    }
    other
}

/// Ruge-Stueben with the default `refresh`.
#[derive(Clone)]
struct Anew(RugeStueben);

impl Coarsening<f64> for Anew {
    type State = <RugeStueben as Coarsening<f64>>::State;
    fn coarsen(
        &self,
        fine: &Grid<'_, f64>,
        above: Option<&Self::State>,
    ) -> Result<Option<Coarse<f64, Self::State>>, SetupError> {
        self.0.coarsen(fine, above)
    }
    fn name(&self) -> &'static str {
        "anew"
    }
}

/// An update computes new weights for the old coarse unknowns. All interpolations reproduce constants if rows sum
/// to zero. The problem is small, because a singular coarsest level gets a dense inverse.
#[test]
fn new_values_are_interpolated_between_the_same_unknowns() {
    let a = problem("jump3d:8").matrix;
    let mut free = other_values(&a);
    for i in 0..a.shape().0 {
        let sum: f64 = free.row(i).filter(|(j, _)| *j != i).map(|(_, v)| v[0]).sum();
        let k = a.pattern().find(i, i).unwrap();
        free.values_mut()[k] = -sum;
    }
    for interpolation in INTERPOLATIONS {
        let parameters = Multigrid { keep: Keep::Aggregates, levels: 2, ..interpolated(interpolation) };
        let mut m = parameters.build(&a, &Cpu::new()).unwrap();
        let r = noise(a.shape().0, 5);
        let (before, p) = (applied(&mut m, &r), m.prolongation(0).unwrap().clone());
        assert_eq!(m.update(&free).unwrap(), Reused::Structure);
        let new = m.prolongation(0).and_then(Prolongation::matrix).unwrap();
        assert!(Arc::ptr_eq(new.pattern(), p.pattern()));
        let mut reproduced = 0;
        for i in (0..new.pattern().rows()).filter(|&i| !new.pattern().row(i).is_empty()) {
            let sum: f64 = new.row(i).map(|(_, v)| v[0]).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{interpolation:?}, row {i}: {sum}");
            reproduced += 1;
        }
        assert!(2 * reproduced > new.pattern().rows());
        m.update(&a).unwrap();
        assert_eq!(applied(&mut m, &r), before);
    }
    let plain = Multigrid { keep: Keep::Aggregates, ..plain_aggregation() };
    let mut plain = plain.build(&a, &Cpu::new()).unwrap();
    assert_eq!(plain.update(&free).unwrap(), Reused::Structure);
}

/// The default `refresh` gives the P of a build if its pattern is unchanged. Otherwise it returns an error,
/// and the old hierarchy is kept.
#[test]
fn a_coarsening_without_a_refresh_is_asked_again() {
    let a = problem("jump3d:16").matrix;
    let parameters =
        Multigrid { keep: Keep::Aggregates, levels: 2, ..Multigrid::of(Anew(RugeStueben::default())) };
    let mut m = parameters.build(&a, &Cpu::new()).unwrap();
    let r = noise(a.shape().0, 5);
    let before = applied(&mut m, &r);
    let mut firmer = a.clone();
    for i in 0..a.shape().0 {
        firmer.values_mut()[a.pattern().find(i, i).unwrap()] *= 1.3;
    }
    assert_eq!(m.update(&firmer).unwrap(), Reused::Structure);
    let mut built = parameters.build(&firmer, &Cpu::new()).unwrap();
    assert_eq!(applied(&mut m, &r), applied(&mut built, &r));
    m.update(&a).unwrap();
    assert_eq!(applied(&mut m, &r), before);
    let refused = m.update(&other_values(&a)).unwrap_err();
    assert!(refused.to_string().contains("build anew"), "{refused}");
    assert_eq!(applied(&mut m, &r), before);
}

/// A build and an update report a negative diagonal entry with its row.
#[test]
fn negative_diagonals_are_named() {
    fn invariant<C: Coarsening<f64> + 'static>(parameters: Multigrid<C>, a: &Bsr<f64>) {
        let mut bad = a.clone();
        bad.values_mut()[a.pattern().find(100, 100).unwrap()] = -4.0;
        let named = |refused: SetupError| {
            assert!(matches!(refused, SetupError::NotPositive { row: 100, .. }), "{refused}")
        };
        named(parameters.build(&bad, &Cpu::new()).err().unwrap());
        named(parameters.build(a, &Cpu::new()).unwrap().update(&bad).unwrap_err());
    }
    let a = problem("poisson2d:31").matrix;
    invariant(Multigrid::geometric([31, 31, 1]), &a);
    invariant(ruge_stueben(), &a);
    invariant(plain_aggregation(), &a);
}

/// Held rows have no couplings and are in no aggregate. No aggregate contains two nodes that are coupled but
/// are not neighbours.
#[test]
fn plain_aggregates_leave_out_what_is_held_or_tied() {
    let (n, tie) = (40_u32, 1000.0);
    let mut entries: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, 2.0)).collect();
    for i in 1..n - 1 {
        entries.extend([(i, i - 1, -1.0), (i - 1, i, -1.0)]);
    }
    for (i, j) in [(5, 30), (8, 20)] {
        entries.extend([(i, i, tie), (j, j, tie), (i, j, -tie), (j, i, -tie)]);
    }
    let a = assembly::from_triplets(40, 40, &entries).unwrap();
    let chain: Vec<(u32, u32, f64)> =
        (0..n).flat_map(|i| (i.saturating_sub(1)..=(i + 1).min(n - 1)).map(move |j| (i, j, 1.0))).collect();
    let links = assembly::from_triplets::<f64>(40, 40, &chain).unwrap();
    let fine = Grid { links: Some(links.pattern()), ..Grid::new(&a) };
    let coarse = PlainAggregation::default().coarsen(&fine, None).unwrap().unwrap();
    let aggregates = coarse.aggregates.unwrap();
    assert_eq!(aggregates.iter().position(|&g| g == u32::MAX), Some(39));
    assert!(aggregates[5] != aggregates[30] && aggregates[8] != aggregates[20], "{aggregates:?}");
    assert!(coarse.prolongation.pattern().row(39).is_empty() && coarse.links.is_some());
    let tied = PlainAggregation::default().coarsen(&Grid::new(&a), None).unwrap().unwrap();
    assert_eq!(tied.aggregates.map(|g| g[5] == g[30]), Some(true));
}

#[test]
fn coarsenings_of_another_shape_are_refused() {
    let (grid, blocks) = (problem("poisson2d:30").matrix, problem("elasticity3d:6").matrix);
    let shape = |refused: Option<SetupError>, expected: usize, found: usize| match refused {
        Some(SetupError::Core(Error::Shape { expected: e, found: f, .. })) => {
            assert_eq!((e, f), (expected, found))
        }
        other => panic!("{other:?}"),
    };
    shape(Multigrid::geometric([30, 31, 1]).build(&grid, &Cpu::new()).err(), 930, 900);
    shape(ruge_stueben().build(&blocks, &Cpu::new()).err(), 1, 3);
    for theta in [f64::NAN, -0.1, 1.1] {
        let refused = Multigrid::of(RugeStueben { theta, ..RugeStueben::default() })
            .build(&grid, &Cpu::new())
            .err()
            .unwrap();
        assert!(refused.to_string().contains("theta"), "{refused}");
        let refused = Multigrid::of(PlainAggregation { theta }).build(&grid, &Cpu::new()).err().unwrap();
        assert!(refused.to_string().contains("theta"), "{refused}");
    }
}

/// Bilinear transfers with the five-point matrix on every grid, times a factor that an update changes.
#[derive(Clone)]
struct Discretised(Geometric);

impl Coarsening<f64> for Discretised {
    type State = [usize; 3];

    fn coarsen(
        &self,
        fine: &Grid<'_, f64>,
        above: Option<&[usize; 3]>,
    ) -> Result<Option<Coarse<f64, [usize; 3]>>, SetupError> {
        let Some(coarse) = self.0.coarsen(fine, above)? else { return Ok(None) };
        let mut a = problem(&format!("poisson2d:{}", coarse.state[0])).matrix;
        let factor = fine.a.get(0, 0) / a.get(0, 0);
        a.values_mut().iter_mut().for_each(|v| *v *= factor);
        Ok(Some(Coarse { matrix: Some(a), ..coarse }))
    }

    fn name(&self) -> &'static str {
        "discretised"
    }
}

/// The coarse matrices of this method have five entries per row on every level, where PᵀAP has nine, and
/// cycles are equally good. An update is bitwise equal to a build.
#[test]
fn a_method_may_bring_its_own_coarse_matrices() {
    let parameters = |n: usize| Multigrid::of(Discretised(Geometric { points: [n, n, 1] }));
    let cycles = [63, 127].map(|n| {
        let a = problem(&format!("poisson2d:{n}")).matrix;
        let (cycles, m) = solved(parameters(n), &a, &mut Richardson::new(Stop::relative(1e-10)));
        let coarse = m.matrix(1).unwrap();
        assert!(coarse.nnz() < 5 * coarse.shape().0 && m.operator_complexity() < 1.34, "{m}");
        cycles
    });
    assert!(cycles.iter().all(|c| (10..=14).contains(c)), "{cycles:?}");
    let (a, r) = (problem("poisson2d:63").matrix, noise(63 * 63, 8));
    let mut double = a.clone();
    double.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    let mut m = parameters(63).build(&a, &Cpu::new()).unwrap();
    let before = applied(&mut m, &r);
    m.update(&double).unwrap();
    assert_eq!(applied(&mut m, &r), applied(&mut parameters(63).build(&double, &Cpu::new()).unwrap(), &r));
    m.update(&a).unwrap();
    assert_eq!(applied(&mut m, &r), before);
}

/// A method whose coarse matrix and P belong to different grids.
#[test]
fn coarse_matrices_that_do_not_fit_are_refused() {
    #[derive(Clone)]
    struct Wrong(usize);
    impl Coarsening<f64> for Wrong {
        type State = ();
        fn coarsen(&self, fine: &Grid<'_, f64>, _: Option<&()>) -> Result<Option<Coarse<f64>>, SetupError> {
            let halves: Vec<_> = (0..fine.a.shape().0 as u32).map(|i| (i, i / 2, 1.0)).collect();
            let columns = fine.a.shape().0.div_ceil(2);
            let matrix = Some(problem(&format!("poisson2d:{}", self.0)).matrix);
            let p = assembly::from_triplets(halves.len(), columns, &halves)?;
            Ok(Some(Coarse { matrix, ..Coarse::new(p, ()) }))
        }
        fn name(&self) -> &'static str {
            "wrong"
        }
    }
    let a = problem("poisson2d:40").matrix;
    let parameters = |n| Multigrid { levels: 2, ..Multigrid::of(Wrong(n)) };
    let refused = parameters(30).build(&a, &Cpu::new()).err().unwrap();
    assert!(refused.to_string().contains("found size 900, expected 800"), "{refused}");
}
