//! Constraints only inside the iteration (Baraff & Witkin 1998, §5.3), which shows why the matrix is filtered
//! first.

use coarsen::prelude::*;
use coarsen::problems::Problem;

#[path = "../common/inside.rs"]
mod projected;

/// Iterations with a preconditioner built from A alone.
fn iterations(p: &Problem, m: impl Preconditioner<Vec<f64>>) -> usize {
    let (b, constraints) = (p.right_hand_side(1), p.constraints.as_ref().unwrap());
    let (mut x, stop) = (vec![0.0; b.len()], Stop { max_iterations: 5000, ..Stop::relative(1e-6) });
    projected::solve(&p.matrix, m, constraints, &b, &mut x, stop).unwrap().iterations
}

/// The other half of Fig. 8 of Tamstorf, Jones, McCormick 2015: if the matrix is not filtered, smoothed
/// aggregation and multilevel Schwarz become ineffective.
#[test]
fn projection_inside_alone_is_not_enough() {
    let pinned = |share| coarsen::problems::pinned(41, 0.01, share).unwrap();
    let backend = Cpu::new();
    let sa = |p: &Problem| tamstorf().build(p.system(), &backend).unwrap();
    let mas = |p: &Problem| Schwarz::multilevel().build(p.system(), &backend).unwrap();
    let (free, held) = (pinned(0.0), pinned(0.3));
    let iterations_free = |m: &mut dyn Preconditioner<Vec<f64>>| {
        let mut x = vec![0.0; free.matrix.shape().0];
        Cg::new(Stop::relative(1e-6))
            .solve(&free.matrix, m, &free.right_hand_side(1), &mut x)
            .unwrap()
            .converged()
            .unwrap()
            .iterations
    };
    let (sa_free, mas_free) = (iterations_free(&mut sa(&free)), iterations_free(&mut mas(&free)));
    let (sa_held, mas_held) = (iterations(&held, sa(&held)), iterations(&held, mas(&held)));
    assert!(sa_held > 3 * sa_free, "SA: {sa_held} iterations, {sa_free} without constraints");
    assert!(2 * mas_held > 3 * mas_free, "MAS: {mas_held} iterations, {mas_free} without constraints");
}
