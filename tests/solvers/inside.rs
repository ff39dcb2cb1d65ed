//! Constraints inside the iteration alone (Baraff & Witkin 1998, §5.3): why the matrix is filtered first.

use std::cell::RefCell;

use coarsen::prelude::*;
use coarsen::problems::Problem;
use coarsen::sparse::Projector;

/// S A on vectors of the range of S.
struct Operator<'a> {
    a: &'a Bsr<f64>,
    s: &'a Projector,
    room: RefCell<Vec<f64>>,
}

impl LinearOperator<Vec<f64>> for Operator<'_> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        let mut ax = self.room.borrow_mut();
        self.a.apply(x, &mut ax);
        self.s.apply(&ax, y);
    }
}

/// S M⁻¹ on residuals, which lie in the range of S.
struct Filter<'a, M> {
    m: M,
    s: &'a Projector,
    room: Vec<f64>,
}

impl<M: Preconditioner<Vec<f64>>> Preconditioner<Vec<f64>> for Filter<'_, M> {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        self.m.apply(r, &mut self.room);
        self.s.apply(&self.room, z);
    }
}

/// Iterations with a preconditioner that does not know the constraints, all of them homogeneous.
fn iterations(p: &Problem, m: impl Preconditioner<Vec<f64>>) -> usize {
    let constraints = p.constraints.as_ref().unwrap();
    let s = Projector::new(constraints, 64).unwrap();
    let zeros = || vec![0.0; p.matrix.shape().0];
    let (mut b, mut y) = (zeros(), zeros());
    s.apply(&p.right_hand_side(1), &mut b);
    let operator = Operator { a: &p.matrix, s: &s, room: RefCell::new(zeros()) };
    let mut filter = Filter { m, s: &s, room: zeros() };
    let stop = Stop { max_iterations: 5000, ..Stop::relative(1e-6) };
    Cg::new(stop).solve(&operator, &mut filter, &b, &mut y).unwrap().iterations
}

/// The other half of Fig. 8 of Tamstorf, Jones, McCormick 2015: without filtering the matrix, smoothed aggregation and multilevel Schwarz lose what they are for.
#[test]
fn projection_inside_alone_is_not_enough() {
    let pinned = |share| coarsen::problems::pinned(41, 0.01, share).unwrap();
    let on = Cpu::new();
    let sa = |p: &Problem| Multigrid::smoothed_aggregation().build(p.system(), &on).unwrap();
    let mas = |p: &Problem| Schwarz::multilevel().build(p.system(), &on).unwrap();
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
