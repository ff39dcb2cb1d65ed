//! The relaxation methods of a hierarchy, which improve x in A x = b in place.
//!
//! | method | one iteration |
//! |---|---|
//! | [`Sweeps`] | Gauss-Seidel and SOR: xᵢ ← xᵢ + ω Dᵢ (b − A x)ᵢ, node by node |
//! | [`Jacobi`] | x ← x + ω D (b − A x) |
//! | [`Polynomial`] | x ← x + q(A) (b − A x): Richardson and Chebyshev |
//! | [`NormalEquations`] | Gauss-Seidel on A Aᵀ y = b with x = Aᵀ y (Kaczmarz), or on AᵀA x = Aᵀ b; Jacobi on the first |
//! | [`Schwarz`] | the exact solution on each row and its neighbours, one after the other |
//!
//! Sweeps have the order of [`RowSets`]: the natural order below 8192 nodes, and above it inside a few chunks.

use std::sync::Arc;

use coarsen::backend::{
    Backend, Cpu, CpuMatrix, DenseBlocks, Matrix as _, RowSets, SetupError, SweepDirection,
};
use coarsen::sparse::{Bsr, Zeros};
use coarsen::{Cancel, LinearOperator};

use super::blocks::{Fault, Sparse};
use super::dense::pseudo_inverse;

/// The order of the rows in an iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Forward,
    Backward,
    /// Forward, then backward.
    Symmetric,
}

impl Order {
    pub(crate) fn parse(name: &str) -> Result<Self, Fault> {
        match name {
            "forward" => Ok(Self::Forward),
            "backward" => Ok(Self::Backward),
            "symmetric" => Ok(Self::Symmetric),
            _ => Err(format!("sweep is \"forward\", \"backward\" or \"symmetric\", not \"{name}\"").into()),
        }
    }

    fn sweeps(self) -> &'static [SweepDirection] {
        match self {
            Self::Forward => &[SweepDirection::Forward],
            Self::Backward => &[SweepDirection::Backward],
            Self::Symmetric => &[SweepDirection::Forward, SweepDirection::Backward],
        }
    }

    /// Calls `f` for all rows, in each direction.
    fn rows(self, n: usize, mut f: impl FnMut(usize)) {
        for sweep in self.sweeps() {
            match sweep {
                SweepDirection::Forward => (0..n).for_each(&mut f),
                SweepDirection::Backward => (0..n).rev().for_each(&mut f),
            }
        }
    }
}

/// A relaxation method with its data.
pub(crate) trait Relaxation: Send {
    /// Improves x in A x = b.
    #[allow(clippy::ptr_arg)] // vectors of the backend
    fn run(&mut self, b: &Vec<f64>, x: &mut Vec<f64>);
}

/// No relaxation.
pub(crate) struct Nothing;

impl Relaxation for Nothing {
    fn run(&mut self, _: &Vec<f64>, _: &mut Vec<f64>) {}
}

/// The inverses of the diagonal blocks of a square matrix; pseudo-inverses of singular blocks, zeros for missing ones.
fn inverse_diagonal(a: &Sparse) -> Result<DenseBlocks<f64>, Fault> {
    let (b, pattern) = (a.block().0, a.pattern());
    let mut values = vec![0.0; a.shape().0 * b];
    for (i, d) in values.chunks_exact_mut(b * b).enumerate() {
        if let Some(k) = pattern.find(i, i) {
            d.copy_from_slice(&pseudo_inverse(a.value(k), b));
        }
    }
    Ok(Cpu::new().blocks(&DenseBlocks::new(b, values)?)?)
}

/// A in blocks of `size` x `size`; shared if it has them already.
fn in_blocks(a: &Arc<Sparse>, size: usize) -> Result<Arc<Sparse>, Fault> {
    let same = a.block() == (size, size);
    Ok(if same { a.clone() } else { Arc::new(a.reblock((size, size), Zeros::Keep)?) })
}

/// Gauss-Seidel, or SOR with ω ≠ 1, on blocks.
pub(crate) struct Sweeps {
    a: CpuMatrix<f64, f64>,
    d: DenseBlocks<f64>,
    rows: RowSets,
    omega: f64,
    order: Order,
    iterations: usize,
}

impl Sweeps {
    pub(crate) fn new(
        a: &Arc<Sparse>,
        size: usize,
        omega: f64,
        order: Order,
        iterations: usize,
    ) -> Result<Self, Fault> {
        let (a, backend) = (in_blocks(a, size)?, Cpu::new());
        let (d, rows) = (inverse_diagonal(&a)?, backend.relaxation_order(a.pattern()));
        Ok(Self { a: backend.matrix(&*a)?, d, rows, omega, order, iterations })
    }
}

impl Relaxation for Sweeps {
    fn run(&mut self, b: &Vec<f64>, x: &mut Vec<f64>) {
        for _ in 0..self.iterations {
            for &sweep in self.order.sweeps() {
                self.a.relax(&self.rows, sweep, &self.d, self.omega, b, x);
            }
        }
    }
}

/// Damped Jacobi on blocks. ω includes the division by the spectral radius.
pub(crate) struct Jacobi {
    a: CpuMatrix<f64, f64>,
    d: DenseBlocks<f64>,
    omega: f64,
    iterations: usize,
    step: Vec<f64>,
    next: Vec<f64>,
}

impl Jacobi {
    pub(crate) fn new(a: &Arc<Sparse>, size: usize, omega: f64, iterations: usize) -> Result<Self, Fault> {
        let a = in_blocks(a, size)?;
        let (step, next) = (vec![0.0; a.shape().0], vec![0.0; a.shape().0]);
        Ok(Self { d: inverse_diagonal(&a)?, a: Cpu::new().matrix(&*a)?, omega, iterations, step, next })
    }
}

impl Relaxation for Jacobi {
    fn run(&mut self, b: &Vec<f64>, x: &mut Vec<f64>) {
        for _ in 0..self.iterations {
            self.a.relax_into(&self.d, self.omega, 0.0, b, x, &mut self.step, &mut self.next);
            std::mem::swap(x, &mut self.next);
        }
    }
}

/// x ← x + q(A) (b − A x), with the coefficients of q from the highest power.
pub(crate) struct Polynomial {
    a: Arc<Sparse>,
    coefficients: Vec<f64>,
    iterations: usize,
    r: Vec<f64>,
    h: Vec<f64>,
    next: Vec<f64>,
}

impl Polynomial {
    pub(crate) fn new(a: &Arc<Sparse>, coefficients: Vec<f64>, iterations: usize) -> Self {
        let [r, h, next] = [(); 3].map(|()| vec![0.0; a.shape().0]);
        Self { a: a.clone(), coefficients, iterations, r, h, next }
    }
}

impl Relaxation for Polynomial {
    fn run(&mut self, b: &Vec<f64>, x: &mut Vec<f64>) {
        let Self { a, coefficients, iterations, r, h, next } = self;
        for _ in 0..*iterations {
            a.residual(b, x, r);
            h.fill(0.0);
            for (k, c) in coefficients.iter().enumerate() {
                if k > 0 {
                    a.apply(h, next);
                    std::mem::swap(h, next);
                }
                h.iter_mut().zip(&*r).for_each(|(h, r)| *h += c * r);
            }
            x.iter_mut().zip(&*h).for_each(|(x, h)| *x += h);
        }
    }
}

/// The normal equations that a method relaxes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Normal {
    /// A Aᵀ y = b, x = Aᵀ y, row by row.
    Rows,
    /// AᵀA x = Aᵀ b, column by column.
    Columns,
    /// All rows of A Aᵀ y = b at the same time.
    Jacobi,
}

/// Relaxation of normal equations, on scalars.
pub(crate) struct NormalEquations {
    of: Normal,
    /// A, or Aᵀ for columns.
    a: Arc<Sparse>,
    /// The inverses of the squares of the rows of `a`.
    d: Vec<f64>,
    omega: f64,
    order: Order,
    iterations: usize,
    r: Vec<f64>,
}

impl NormalEquations {
    pub(crate) fn new(
        a: &Arc<Sparse>,
        of: Normal,
        omega: f64,
        order: Order,
        iterations: usize,
    ) -> Result<Self, Fault> {
        let scalars = in_blocks(a, 1)?;
        let a = if of == Normal::Columns { Arc::new(scalars.transpose()?) } else { scalars };
        let square = |i: usize| a.row(i).map(|(_, v)| v[0] * v[0]).sum::<f64>();
        let d = (0..a.shape().0).map(square).map(|v| if v == 0.0 { 0.0 } else { 1.0 / v }).collect();
        let r = vec![0.0; a.shape().0];
        Ok(Self { of, a, d, omega, order, iterations, r })
    }
}

impl Relaxation for NormalEquations {
    fn run(&mut self, b: &Vec<f64>, x: &mut Vec<f64>) {
        let Self { of, a, d, omega, order, iterations, r } = self;
        let product = |i: usize, x: &[f64]| a.row(i).map(|(j, v)| v[0] * x[j]).sum::<f64>();
        for _ in 0..*iterations {
            match of {
                Normal::Rows => order.rows(d.len(), |i| {
                    let step = *omega * d[i] * (b[i] - product(i, x));
                    a.row(i).for_each(|(j, v)| x[j] += step * v[0]);
                }),
                Normal::Columns => {
                    // r = b − A x, where row i of `a` is column i of A.
                    r.copy_from_slice(b);
                    (0..d.len()).for_each(|i| a.row(i).for_each(|(j, v)| r[j] -= v[0] * x[i]));
                    order.rows(d.len(), |i| {
                        let step = *omega * d[i] * product(i, r);
                        x[i] += step;
                        a.row(i).for_each(|(j, v)| r[j] -= step * v[0]);
                    });
                }
                Normal::Jacobi => {
                    a.residual(b, x, r);
                    (0..d.len()).for_each(|i| {
                        let step = *omega * d[i] * r[i];
                        a.row(i).for_each(|(j, v)| x[j] += step * v[0]);
                    });
                }
            }
        }
    }
}

/// Multiplicative Schwarz with the columns of each row of a pattern as domains, on scalars.
pub(crate) struct Schwarz {
    a: Arc<Sparse>,
    /// The pattern whose rows are the domains.
    domains: Arc<coarsen::sparse::Pattern>,
    /// The inverse of each domain, row-major, one after the other.
    inverses: Vec<Vec<f64>>,
    order: Order,
    iterations: usize,
}

impl Schwarz {
    pub(crate) fn new(
        a: &Arc<Sparse>,
        domains: Option<&Sparse>,
        order: Order,
        iterations: usize,
        cancel: &Cancel,
    ) -> Result<Self, Fault> {
        let a = in_blocks(a, 1)?;
        let domains = domains.map_or(a.pattern(), Bsr::pattern).clone();
        let invert = |i: usize| -> Result<Vec<f64>, SetupError> {
            SetupError::unless_cancelled(Some(cancel))?;
            let own = domains.row(i);
            let m = own.len();
            let mut block = vec![0.0; m * m];
            for (row, &k) in block.chunks_exact_mut(m.max(1)).zip(own) {
                for (j, v) in a.row(k as usize) {
                    if let Ok(at) = own.binary_search(&(j as u32)) {
                        row[at] = v[0];
                    }
                }
            }
            Ok(if m == 0 { Vec::new() } else { pseudo_inverse(&block, m) })
        };
        let inverses = (0..domains.rows()).map(invert).collect::<Result<_, _>>()?;
        Ok(Self { a, domains, inverses, order, iterations })
    }
}

impl Relaxation for Schwarz {
    fn run(&mut self, b: &Vec<f64>, x: &mut Vec<f64>) {
        let Self { a, domains, inverses, order, iterations } = self;
        let mut r = Vec::new();
        for _ in 0..*iterations {
            order.rows(domains.rows(), |i| {
                let own = domains.row(i);
                let residual =
                    |&k: &u32| b[k as usize] - a.row(k as usize).map(|(j, v)| v[0] * x[j]).sum::<f64>();
                r.clear();
                r.extend(own.iter().map(residual));
                for (&k, row) in own.iter().zip(inverses[i].chunks_exact(own.len().max(1))) {
                    x[k as usize] += row.iter().zip(&r).map(|(d, r)| d * r).sum::<f64>();
                }
            });
        }
    }
}
