//! Smoothers of levels: fitted to the matrix, and in a number of steps for each level.

use coarsen_backend::{Cpu, Setup};
use coarsen_core::Stop;
use coarsen_krylov::{Cg, Krylov};
use coarsen_multigrid::{Grid, Multigrid, PerLevel, SmootherRecipe, Smoothing};
use coarsen_problems::{Problem, cloth};
use coarsen_relax::DampedJacobi;
use coarsen_sparse::Permutation;

#[test]
fn what_is_fitted_halves_blocks_for_half_as_many_iterations_more() {
    for (spec, halved) in [("cloth:61", true), ("elasticity3d:10", true), ("poisson2d:60", false)] {
        let p = Problem::parse(spec, &Default::default()).unwrap();
        let b = p.right_hand_side(1);
        let run = |smoothing: Smoothing| {
            let recipe = Multigrid { smoothing, ..Multigrid::tamstorf() };
            let mut m = recipe.build(p.system(), &Cpu::mixed()).unwrap();
            let mut x = vec![0.0; b.len()];
            let report = Cg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
            (report.converged().unwrap().iterations, m.bytes())
        };
        let (fitted, second) = (run(Smoothing::Fitted), run(Multigrid::tamstorf().smoothing));
        assert!(2 * fitted.0 <= 3 * second.0, "{spec}: {} of {}", fitted.0, second.0);
        assert_eq!(fitted.1 < second.1, halved, "{spec}: {} of {} bytes", fitted.1, second.1);
    }
}

/// Gauss-Seidel over half of A fits neither a shuffled sheet, which couples all chunks, nor a matrix that
/// is not symmetric. Both get Chebyshev.
#[test]
fn what_does_not_fit_is_left_to_chebyshev() {
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
    let (p, on) = (cloth(20, 0.01).unwrap(), Cpu::new());
    let b = p.right_hand_side(1);
    let jacobi = Smoothing::DampedJacobi(DampedJacobi::default());
    let grid = Grid::new(&p.matrix);
    let of = |steps| PerLevel { steps: vec![(jacobi, steps)] };
    let (mut one, mut two) = (of(1).smoother(&grid, &on).unwrap(), of(2).smoother(&grid, &on).unwrap());
    let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
    one.pre_smooth(&b, &mut x);
    one.smooth(&b, &mut x);
    two.pre_smooth(&b, &mut y);
    assert_eq!(x, y);
    let [few, many] = [1, 5].map(|steps| {
        let recipe = Multigrid::skinning_levels(&[40, 8]).smoothed_by(of(steps));
        let (mut m, mut x) = (recipe.build(p.system(), &on).unwrap(), vec![0.0; b.len()]);
        let report = Cg::new(Stop::relative(1e-8)).solve(&p.matrix, &mut m, &b, &mut x).unwrap();
        report.converged().unwrap().iterations
    });
    assert!(3 * many < 2 * few, "{few} -> {many}");
}

#[test]
fn no_steps_are_refused() {
    let p = cloth(5, 0.01).unwrap();
    let grid = Grid::new(&p.matrix);
    for steps in [vec![], vec![(Smoothing::Fitted, 0)]] {
        assert!(PerLevel { steps }.smoother(&grid, &Cpu::<f64, f64>::default()).is_err());
    }
}
