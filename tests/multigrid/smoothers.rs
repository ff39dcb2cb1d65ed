//! Smoothers of levels: fitted to the matrix, and in a number of steps for each level.

use coarsen::OverDomains;
use coarsen_backend::{Cpu, Reused, Smoother};
use coarsen_core::{LinearOperator, Preconditioner, PreconditionerKind, Stop};
use coarsen_krylov::Cg;
use coarsen_multigrid::{Grid, Multigrid, PerLevel, SmootherParameters, Smoothing};
use coarsen_problems::{Problem, cloth};
use coarsen_relax::{Chebyshev, DampedJacobi, Spai0};
use coarsen_skinning::skinning_levels;
use coarsen_smoothed_aggregation::{smoothed_aggregation, tamstorf};
use coarsen_sparse::{Bsr, Contacts, Permutation, Stencil, System};

use crate::common::applied;

#[test]
fn fitted_spreading_halves_the_blocks() {
    for (spec, halved) in [("cloth:61", true), ("elasticity3d:10", true), ("poisson2d:60", false)] {
        let p = Problem::parse(spec, &Default::default()).unwrap();
        let b = p.right_hand_side(1);
        let run = |smoothing: Smoothing| {
            let parameters = Multigrid { smoothing, ..tamstorf() };
            let mut m = parameters.build(p.system(), &Cpu::mixed()).unwrap();
            let mut x = vec![0.0; b.len()];
            let report = Cg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
            (report.converged().unwrap().iterations, m.bytes())
        };
        let (fitted, second) = (run(Smoothing::Fitted), run(tamstorf().smoothing));
        assert!(2 * fitted.0 <= 3 * second.0, "{spec}: {} of {}", fitted.0, second.0);
        assert_eq!(fitted.1 < second.1, halved, "{spec}: {} of {} bytes", fitted.1, second.1);
    }
}

/// Gauss-Seidel over half of A fits neither a shuffled sheet, which couples all chunks, nor a matrix that
/// is not symmetric. Both get Chebyshev.
#[test]
fn chebyshev_replaces_half_storage_that_does_not_fit() {
    let p = Problem::parse("cloth:121", &Default::default()).unwrap();
    let n = p.matrix.pattern().rows();
    let order = Permutation::new((0..n).map(|i| (i * 7919 % n) as u32).collect()).unwrap();
    let shuffled = p.matrix.permute(&order).unwrap();
    let mut wind = p.matrix.clone();
    let far = wind.pattern().range(n / 2).find(|&k| wind.pattern().indices()[k] as usize != n / 2).unwrap();
    wind.values_mut()[9 * far] += 1.0;
    for (a, whole) in [(&p.matrix, false), (&shuffled, true), (&wind, true)] {
        let grid = Grid::new(a);
        let smoother = Smoothing::Fitted.smoother(&grid, &Cpu::new()).unwrap();
        assert_eq!(smoother.matrix().is_some(), whole);
    }
}

/// Two repeated steps equal two single steps. With more steps fewer iterations are needed.
#[test]
fn steps_add_up() {
    let (p, backend) = (cloth(20, 0.01).unwrap(), Cpu::new());
    let b = p.right_hand_side(1);
    let jacobi = Smoothing::DampedJacobi(DampedJacobi::default());
    let grid = Grid::new(&p.matrix);
    let of = |steps| PerLevel { steps: vec![(jacobi, steps)] };
    let (mut one, mut two) =
        (of(1).smoother(&grid, &backend).unwrap(), of(2).smoother(&grid, &backend).unwrap());
    let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
    one.pre_smooth(&p.matrix, &b, &mut x);
    one.smooth(&p.matrix, &b, &mut x);
    two.pre_smooth(&p.matrix, &b, &mut y);
    assert_eq!(x, y);
    let [few, many] = [1, 5].map(|steps| {
        let parameters = skinning_levels(&[40, 8]).smoothed_by(of(steps));
        let (mut m, mut x) = (parameters.build(p.system(), &backend).unwrap(), vec![0.0; b.len()]);
        let report = Cg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
        report.converged().unwrap().iterations
    });
    assert!(3 * many < 2 * few, "{few} -> {many}");
}

struct Damped {
    d: Vec<f64>,
    r: Vec<f64>,
}

impl Damped {
    fn new(a: &Bsr<f64>) -> Self {
        let n = a.shape().0;
        Self { d: (0..n).map(|i| a.get(i, i)).collect(), r: vec![0.0; n] }
    }
}

impl Smoother for Damped {
    fn smooth(&mut self, a: &dyn LinearOperator<Vec<f64>>, b: &Vec<f64>, x: &mut Vec<f64>) {
        a.residual(b, x, &mut self.r);
        for i in 0..x.len() {
            x[i] += 0.7 * self.r[i] / self.d[i];
        }
    }
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }
}

/// A smoother of two functions is built again in an update, equals that of a build, and is kept if the update fails.
#[test]
fn a_step_and_a_kind_are_a_smoother() {
    let (p, backend) = (Problem::parse("poisson2d:60", &Default::default()).unwrap(), Cpu::new());
    let parameters =
        smoothed_aggregation().smoothed_by(|level: &Grid<f64>, _: &Cpu| Ok(Damped::new(level.a)));
    let mut m = parameters.build(&p.matrix, &backend).unwrap();
    let b = p.right_hand_side(1);
    let (before, bytes, mut x) = (applied(&mut m, &b), m.bytes(), vec![0.0; b.len()]);
    let report = Cg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
    assert!(report.converged().unwrap().iterations < 40 && m.levels() > 2);
    assert!(bytes > 2 * 8 * p.matrix.nnz(), "the level stores A");

    let mut changed = p.matrix.clone();
    changed.values_mut().iter_mut().for_each(|v| *v *= 4.0); // transfers keep their bits
    let mut broken = changed.clone();
    broken.values_mut()[17] = f64::NAN;
    assert!(m.update(&broken).is_err());
    assert_eq!(applied(&mut m, &b), before);
    assert_eq!(m.update(&changed).unwrap(), Reused::Structure);
    assert_eq!(applied(&mut m, &b), applied(&mut parameters.build(&changed, &backend).unwrap(), &b));
    m.update(&p.matrix).unwrap();
    assert_eq!(applied(&mut m, &b), before);
}

#[test]
fn no_steps_are_refused() {
    let p = cloth(5, 0.01).unwrap();
    let grid = Grid::new(&p.matrix);
    for steps in [vec![], vec![(Smoothing::Fitted, 0)]] {
        assert!(PerLevel { steps }.smoother(&grid, &Cpu::<f64, f64>::default()).is_err());
    }
}

/// A sheet with a few stiff contacts of four nodes each, of which a start vector of Lanczos has a small part.
fn with_contacts(stiff: f64, seed: usize) -> (Problem, Bsr<f64>) {
    let p = cloth(11, 0.01).unwrap();
    let n = p.positions.len();
    let size = stiff * p.matrix.values().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let stencils: Vec<Stencil> = (0..3)
        .map(|k| {
            let first = (seed * 31 + k * 37) % (n - 17);
            let [v, a, b, c] = [first + 16, first, first + 1, first + 11].map(|i| i as u32);
            Stencil::vertex_face(v, [a, b, c], [0.3, 0.3, 0.4])
        })
        .collect();
    let normal = |k: usize| [0, 1, 2].map(|axis| f64::from(u8::from(axis == (k + seed) % 3)));
    let stiffness: Vec<f64> =
        (0..3).flat_map(|k| (0..9).map(move |e| size * normal(k)[e / 3] * normal(k)[e % 3])).collect();
    let mut contact = Contacts::new(n, 3).unwrap();
    contact.assemble(&stencils, &stiffness).unwrap();
    let whole = System { contact: Some(&contact), ..p.system() }.whole().unwrap().into_owned();
    (p, whole)
}

/// Whether M is positive definite: its Cholesky factor exists.
fn is_positive(m: &mut dyn Preconditioner<Vec<f64>>, n: usize) -> bool {
    let mut factor: Vec<Vec<f64>> = Vec::new();
    for i in 0..n {
        let mut unit = vec![0.0; n];
        unit[i] = 1.0;
        let mut row = vec![0.0; n];
        m.apply(&unit, &mut row);
        for j in 0..i {
            let known: f64 = row[..j].iter().zip(&factor[j]).map(|(x, y)| x * y).sum();
            row[j] = (row[j] - known) / factor[j][j];
        }
        let pivot = row[i] - row[..i].iter().map(|x| x * x).sum::<f64>();
        if pivot <= 0.0 {
            return false;
        }
        row[i] = pivot.sqrt();
        row.truncate(i + 1);
        factor.push(row);
    }
    true
}

#[test]
fn cycles_are_positive_definite() {
    check_cycles([(1, 1e3), (3, 1e9)]);
}

#[test]
#[ignore = "2 s: run by .ci/full"]
fn long_cycles_are_positive_definite() {
    check_cycles([(0, 1.0), (2, 1e6)]);
}

/// Cycles whose smoother needs a bound of the spectrum are positive definite, with stiff contacts as well, at a build and
/// after an update. Contacts have a seed and a stiffness.
fn check_cycles(contacts: [(usize, f64); 2]) {
    let jacobi = Smoothing::DampedJacobi(DampedJacobi::default());
    let spai = Smoothing::Spai0(Spai0::default());
    for (seed, stiff) in contacts {
        let (p, a) = with_contacts(stiff, seed);
        let (_, other) = with_contacts(10.0 * stiff, seed);
        let (n, system) = (a.shape().0, System { matrix: &a, ..p.system() });
        for smoothing in [tamstorf().smoothing, jacobi, spai] {
            let parameters = Multigrid { smoothing, coarse_size: 40, ..tamstorf() };
            let mut m = parameters.build(system, &Cpu::new()).unwrap();
            assert!(m.levels() > 2 && is_positive(&mut m, n), "{stiff:e}, {smoothing:?}");
            assert_eq!(m.update(&other).unwrap(), Reused::Structure);
            assert!(is_positive(&mut m, n), "{stiff:e}, {smoothing:?}, updated");
        }
        let mut m = OverDomains::multiplicative().build(system, &Cpu::new()).unwrap();
        assert!(is_positive(&mut m, n), "{stiff:e}, domains");
        let mut m = Chebyshev::default().build(&a, &Cpu::new()).unwrap();
        assert!(is_positive(&mut m, n), "{stiff:e}, one level");
    }
}
