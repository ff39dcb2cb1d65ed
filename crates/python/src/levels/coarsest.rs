//! Methods of the coarsest level: factors, the pseudo-inverse, Krylov methods, functions of the user.

use std::sync::Arc;

use coarsen::direct::{Dense, Direct, Factor, Method, PseudoInverse};
use coarsen::krylov::Krylov;
use coarsen::sparse::{Bsr, GalerkinPlan, Zeros};
use coarsen::{BiCgStab, Cg, FlexibleCg, Gmres, Identity, Minres, Preconditioner, Stop};
use pyo3::prelude::*;

use super::blocks::{Fault, Sparse};
use super::relaxation::Relaxation;
use super::strength::selected;
use crate::callback::{Failure, call};

/// A sparse factor; rows and columns of zeros, which dependent near-kernel vectors leave, are left out.
pub(crate) struct Factored {
    factor: Option<Factor>,
    /// The unknowns of the factor.
    kept: Vec<u32>,
    b: Vec<f64>,
    x: Vec<f64>,
}

impl Factored {
    pub(crate) fn new(a: &Sparse, method: Method) -> Result<Self, Fault> {
        let a = a.reblock((1, 1), Zeros::Drop)?;
        let pattern = a.pattern();
        let mut filled = vec![false; pattern.columns()];
        pattern.indices().iter().for_each(|&j| filled[j as usize] = true);
        let kept: Vec<u32> = (0..filled.len() as u32).filter(|&i| filled[i as usize]).collect();
        let mut numbers = vec![u32::MAX; filled.len()];
        kept.iter().zip(0..).for_each(|(&i, number)| numbers[i as usize] = number);
        let entries: Vec<(u32, u32, f64)> = kept
            .iter()
            .flat_map(|&i| a.row(i as usize).map(move |(j, v)| (i, j, v[0])))
            .map(|(i, j, v)| (numbers[i as usize], numbers[j], v))
            .collect();
        let n = kept.len();
        let a = coarsen::assembly::from_triplets(n, n, &entries)?;
        let parameters = Direct { method, accept: f64::INFINITY, ..Direct::default() };
        let factor = if n == 0 { None } else { Some(parameters.factor(&a)?) };
        Ok(Self { factor, kept, b: vec![0.0; n], x: vec![0.0; n] })
    }
}

impl Relaxation for Factored {
    fn run(&mut self, b: &Vec<f64>, x: &mut Vec<f64>) {
        let Self { factor: Some(factor), kept, b: own, x: solution } = self else { return };
        kept.iter().zip(&mut *own).for_each(|(&i, own)| *own = b[i as usize]);
        // A right-hand side that is not finite gives a solution that is not finite.
        match factor.solve(own, solution) {
            Ok(_) => kept.iter().zip(&*solution).for_each(|(&i, s)| x[i as usize] = *s),
            Err(_) => x.fill(f64::NAN),
        }
    }
}

/// A⁺ with singular values above max(absolute, relative σ₁).
pub(crate) struct Pseudo {
    /// `None` if no singular value counts.
    inverse: Option<PseudoInverse>,
}

impl Pseudo {
    pub(crate) fn new(a: &Sparse, absolute: f64, relative: Option<f64>) -> Result<Self, Fault> {
        let n = a.shape().0;
        let invert = |tolerance: f64| Dense { tolerance, ..Dense::default() }.invert(a);
        let relative = relative.unwrap_or(n as f64 * f64::EPSILON);
        let mut tolerance = relative;
        if absolute > 0.0 {
            let largest = invert(0.0)?.spectrum().iter().fold(0.0, |m: f64, s| m.max(s.abs()));
            tolerance = tolerance.max(absolute / largest.max(f64::MIN_POSITIVE));
        }
        let inverse = if tolerance < 1.0 { Some(invert(tolerance)?) } else { None };
        Ok(Self { inverse })
    }
}

impl Relaxation for Pseudo {
    fn run(&mut self, b: &Vec<f64>, x: &mut Vec<f64>) {
        match &mut self.inverse {
            Some(inverse) => inverse.apply(b, x),
            None => x.fill(0.0),
        }
    }
}

/// A Krylov method without a preconditioner, from the x given.
pub(crate) struct Inner {
    a: Arc<Sparse>,
    method: Box<dyn Krylov<Vec<f64>> + Send>,
}

/// A Krylov method by its name; flexible conjugate gradients for a preconditioner that varies is `fcg`.
pub(crate) fn method(
    name: &str,
    stop: Stop<f64>,
    restart: usize,
) -> Result<Box<dyn Krylov<Vec<f64>> + Send>, Fault> {
    Ok(match name {
        "cg" => Box::new(Cg::new(stop)),
        "fcg" => Box::new(FlexibleCg::new(stop)),
        "minres" => Box::new(Minres::new(stop)),
        "bicgstab" => Box::new(BiCgStab::new(stop)),
        "gmres" | "fgmres" => {
            let mut method = Gmres::new(stop);
            method.restart = restart.max(1);
            method.flexible = name == "fgmres";
            Box::new(method)
        }
        _ => return Err(format!("unknown Krylov method \"{name}\"").into()),
    })
}

impl Inner {
    pub(crate) fn new(
        a: &Arc<Sparse>,
        name: &str,
        tolerance: f64,
        most: usize,
        restart: usize,
    ) -> Result<Self, Fault> {
        let stop = Stop { max_iterations: most, ..Stop::relative(tolerance) };
        Ok(Self { a: a.clone(), method: method(name, stop, restart)? })
    }
}

impl Relaxation for Inner {
    fn run(&mut self, b: &Vec<f64>, x: &mut Vec<f64>) {
        // An inner solve that does not converge still improves x; the outer one tells whether that is enough.
        if self.method.solve(&*self.a, &mut Identity, b, x).is_err() {
            x.fill(f64::NAN);
        }
    }
}

/// x = f(b) by a function of Python.
pub(crate) struct Called {
    pub(crate) f: Py<PyAny>,
    pub(crate) failure: Arc<Failure>,
}

impl Relaxation for Called {
    fn run(&mut self, b: &Vec<f64>, x: &mut Vec<f64>) {
        call(&self.f, &self.failure, b, x);
    }
}

/// A without scalar zeros, for 1x1 blocks.
pub(crate) fn without_zeros(a: Sparse) -> Result<Sparse, Fault> {
    let zeros = a.block() == (1, 1) && a.values().contains(&0.0);
    if zeros { selected(&a, |_, _, k| Some(a.values()[k]).filter(|v| *v != 0.0)) } else { Ok(a) }
}

/// Pᵀ A P.
pub(crate) fn galerkin(a: &Sparse, p: &Sparse) -> Result<Sparse, Fault> {
    without_zeros(GalerkinPlan::new(a, p)?.build(a, p)?)
}

/// R A P.
pub(crate) fn triple(r: &Sparse, a: &Sparse, p: &Sparse) -> Result<Sparse, Fault> {
    let ap: Bsr<f64> = coarsen::sparse::multiply(a, p)?;
    without_zeros(coarsen::sparse::multiply(r, &ap)?)
}
