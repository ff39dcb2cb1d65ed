//! Cycles over levels with their own transfers and relaxation, in the order of PyAMG.
//!
//! | cycle | on the next coarser level |
//! |---|---|
//! | V, W | one visit, two visits |
//! | F | an F-cycle, then V-cycles (one by default) |
//! | AMLI | two visits, whose corrections are made conjugate; the cycle is then not linear |
//!
//! *Reference* Briggs, Henson & McCormick 2000, ch. 3; Axelsson & Vassilevski 1989, Numer. Math. 56 (AMLI).

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use coarsen::{LinearOperator, Preconditioner, PreconditionerKind};

use super::blocks::{Fault, Sparse};
use super::relaxation::Relaxation;

/// A relaxation method that several levels or cycles may use.
pub(crate) type Shared = Arc<Mutex<Box<dyn Relaxation>>>;

/// The order in which levels are visited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cycle {
    V,
    W,
    /// The number of V-cycles after the F-cycle.
    F(usize),
    Amli,
}

impl Cycle {
    pub(crate) fn parse(name: &str, after: usize) -> Result<Self, Fault> {
        match name {
            "V" => Ok(Self::V),
            "W" => Ok(Self::W),
            "F" => Ok(Self::F(after)),
            "AMLI" => Ok(Self::Amli),
            _ => Err(format!("unknown cycle \"{name}\"").into()),
        }
    }
}

/// A level above the coarsest one.
pub(crate) struct Level {
    a: Arc<Sparse>,
    p: Arc<Sparse>,
    r: Arc<Sparse>,
    before: Shared,
    after: Shared,
    residual: Vec<f64>,
    coarse_b: Vec<f64>,
    coarse_x: Vec<f64>,
    /// Two directions and their products with the coarse matrix, for AMLI.
    directions: [Vec<f64>; 4],
}

impl Level {
    /// Checks that the matrices fit.
    pub(crate) fn new(
        a: Arc<Sparse>,
        p: Arc<Sparse>,
        r: Arc<Sparse>,
        [before, after]: [Shared; 2],
    ) -> Result<Self, Fault> {
        let (n, m) = p.shape();
        if a.shape() != (n, n) || r.shape() != (m, n) {
            return Err(format!(
                "A of {:?}, P of {:?} and R of {:?} do not fit",
                a.shape(),
                p.shape(),
                r.shape()
            )
            .into());
        }
        let [coarse_b, coarse_x] = [(); 2].map(|()| vec![0.0; m]);
        Ok(Self {
            a,
            p,
            r,
            before,
            after,
            residual: vec![0.0; n],
            coarse_b,
            coarse_x,
            directions: Default::default(),
        })
    }
}

/// The levels above the coarsest one, and the method of the coarsest one.
pub(crate) struct Levels {
    levels: Vec<Level>,
    coarsest: Shared,
    /// The finest matrix.
    a: Arc<Sparse>,
}

fn relax(by: &Shared, b: &Vec<f64>, x: &mut Vec<f64>) {
    by.lock().unwrap_or_else(PoisonError::into_inner).run(b, x);
}

impl Levels {
    /// `last` is the coarsest matrix.
    pub(crate) fn new(levels: Vec<Level>, last: &Arc<Sparse>, coarsest: Shared) -> Result<Self, Fault> {
        let next = levels.iter().skip(1).map(|level| &level.a).chain([last]);
        for (level, next) in levels.iter().zip(next) {
            if level.p.shape().1 != next.shape().0 {
                return Err("the columns of P are not the rows of the next matrix".into());
            }
        }
        let a = levels.first().map_or(last, |level| &level.a).clone();
        Ok(Self { levels, coarsest, a })
    }

    pub(crate) fn size(&self) -> usize {
        self.a.shape().0
    }

    /// The finest matrix.
    pub(crate) fn matrix(&self) -> &Arc<Sparse> {
        &self.a
    }

    /// Improves x by one cycle.
    pub(crate) fn cycle(&mut self, kind: Cycle, b: &Vec<f64>, x: &mut Vec<f64>) {
        if self.levels.is_empty() {
            x.fill(0.0);
            return relax(&self.coarsest, b, x);
        }
        visit(&mut self.levels, &self.coarsest, kind, b, x);
    }

    /// Runs cycles until ‖b − A x‖ < tolerance · ‖b‖ (1 if b = 0), at most `most`. `monitor` receives x and the residual norm
    /// after each cycle; its `Break` ends the solve. Returns all norms, that of the guess first, and whether the last one is
    /// below the tolerance.
    pub(crate) fn solve(
        &mut self,
        kind: Cycle,
        b: &Vec<f64>,
        x: &mut Vec<f64>,
        (tolerance, most): (f64, usize),
        monitor: &mut dyn FnMut(&[f64], f64) -> ControlFlow<()>,
    ) -> (Vec<f64>, bool) {
        let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let size = Some(norm(b)).filter(|size| *size > 0.0).unwrap_or(1.0);
        let mut r = vec![0.0; b.len()];
        self.a.residual(b, x, &mut r);
        let mut norms = vec![norm(&r)];
        for _ in 0..most {
            self.cycle(kind, b, x);
            self.a.residual(b, x, &mut r);
            let now = norm(&r);
            norms.push(now);
            let ends = monitor(x, now).is_break();
            if now < tolerance * size {
                return (norms, true);
            }
            if ends {
                break;
            }
        }
        (norms, false)
    }
}

fn visit(levels: &mut [Level], coarsest: &Shared, kind: Cycle, b: &Vec<f64>, x: &mut Vec<f64>) {
    let Some((level, coarser)) = levels.split_first_mut() else { return };
    relax(&level.before, b, x);
    level.a.residual(b, x, &mut level.residual);
    level.r.apply(&level.residual, &mut level.coarse_b);
    let Level { coarse_b: cb, coarse_x: cx, directions, .. } = level;
    cx.fill(0.0);
    if coarser.is_empty() {
        relax(coarsest, cb, cx);
    } else {
        match kind {
            Cycle::V => visit(coarser, coarsest, kind, cb, cx),
            Cycle::W => (0..2).for_each(|_| visit(coarser, coarsest, kind, cb, cx)),
            Cycle::F(after) => {
                visit(coarser, coarsest, kind, cb, cx);
                (0..after).for_each(|_| visit(coarser, coarsest, Cycle::V, cb, cx));
            }
            Cycle::Amli => conjugate_visits(coarser, coarsest, cb, cx, directions),
        }
    }
    level.p.apply_add(1.0, &level.coarse_x, 1.0, x);
    relax(&level.after, b, x);
}

/// Two visits from zero; x is the combination of their results of smallest energy. `b` becomes the residual.
fn conjugate_visits(
    levels: &mut [Level],
    coarsest: &Shared,
    b: &mut Vec<f64>,
    x: &mut [f64],
    [p, ap, q, aq]: &mut [Vec<f64>; 4],
) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let share = |top: f64, bottom: f64| if bottom == 0.0 { 0.0 } else { top / bottom };
    [&mut *p, ap, q, aq].into_iter().for_each(|v| v.resize(x.len(), 0.0));
    p.fill(0.0);
    visit(levels, coarsest, Cycle::Amli, b, p);
    levels[0].a.apply(p, ap);
    let alpha = share(dot(p, b), dot(p, ap));
    x.iter_mut().zip(&*p).for_each(|(x, p)| *x += alpha * p);
    b.iter_mut().zip(&*ap).for_each(|(b, ap)| *b -= alpha * ap);
    q.fill(0.0);
    visit(levels, coarsest, Cycle::Amli, b, q);
    levels[0].a.apply(q, aq);
    let beta = share(dot(p, aq), dot(p, ap));
    q.iter_mut().zip(&*p).for_each(|(q, p)| *q -= beta * p);
    aq.iter_mut().zip(&*ap).for_each(|(aq, ap)| *aq -= beta * ap);
    let alpha = share(dot(q, b), dot(q, aq));
    x.iter_mut().zip(&*q).for_each(|(x, q)| *x += alpha * q);
}

/// One cycle from zero as a preconditioner.
pub(crate) struct OneCycle<'a> {
    pub(crate) levels: &'a mut Levels,
    pub(crate) cycle: Cycle,
    /// What the Krylov method requires; whether the cycle has this property is for the caller to know.
    pub(crate) kind: PreconditionerKind,
}

impl Preconditioner<Vec<f64>> for OneCycle<'_> {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        z.fill(0.0);
        self.levels.cycle(self.cycle, r, z);
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.levels.size())
    }
}
