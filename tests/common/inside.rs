//! Constraints only inside the iteration: the filter of Baraff & Witkin 1998, §5.3, with a preconditioner
//! built from A alone.

use std::cell::RefCell;

use coarsen::PreconditionerKind;
use coarsen::constraints::{Constraints, Projector};
use coarsen::prelude::*;

/// S A on vectors of the range of S.
struct Operator<'a> {
    a: &'a Bsr<f64>,
    s: &'a Projector,
    workspace: RefCell<Vec<f64>>,
}

impl LinearOperator<Vec<f64>> for Operator<'_> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        let mut ax = self.workspace.borrow_mut();
        self.a.apply(x, &mut ax);
        self.s.apply(&ax, y);
    }
}

/// S M⁻¹ on residuals, which lie in the range of S.
struct Filter<'a, M> {
    m: M,
    s: &'a Projector,
    workspace: Vec<f64>,
}

impl<M: Preconditioner<Vec<f64>>> Preconditioner<Vec<f64>> for Filter<'_, M> {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        self.m.apply(r, &mut self.workspace);
        self.s.apply(&self.workspace, z);
    }

    fn kind(&self) -> PreconditionerKind {
        self.m.kind()
    }

    fn size(&self) -> Option<usize> {
        Some(self.workspace.len())
    }
}

/// Solves A x = b under constraints; `m` is built from A.
pub(crate) fn solve(
    a: &Bsr<f64>,
    m: impl Preconditioner<Vec<f64>>,
    constraints: &Constraints,
    b: &[f64],
    x: &mut [f64],
    stop: Stop<f64>,
) -> Result<Report<f64>, Box<dyn std::error::Error + Send + Sync>> {
    let s = Projector::new(constraints, 64)?;
    let zeros = || vec![0.0; b.len()];
    let (mut z, mut az, mut c) = (zeros(), zeros(), zeros());
    s.complete(&mut z);
    a.apply(&z, &mut az);
    let left: Vec<f64> = b.iter().zip(&az).map(|(b, az)| b - az).collect();
    s.apply(&left, &mut c);
    let mut y = zeros();
    let operator = Operator { a, s: &s, workspace: RefCell::new(zeros()) };
    let mut filter = Filter { m, s: &s, workspace: zeros() };
    let report = Cg::new(stop).solve(&operator, &mut filter, &c, &mut y)?;
    x.iter_mut().zip(y.iter().zip(&z)).for_each(|(x, (y, z))| *x = y + z);
    Ok(report)
}
