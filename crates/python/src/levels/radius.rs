//! The spectral radius of D A for the weights of prolongation smoothers and relaxation.

use coarsen::backend::{Backend, Cpu, DenseBlocks, SetupError};
use coarsen::krylov::{SpectralRadius, start_vector};
use coarsen::sparse::Bsr;
use coarsen::{Cancel, Dot, LinearOperator, Preconditioner, PreconditionerKind};

use super::blocks::{Fault, Sparse};
use super::prolongation::Weighting;

/// The steps of the Lanczos process.
const LANCZOS: usize = 30;

/// The steps of Arnoldi's process, which keeps all vectors, for a D A that is not symmetric in the inner product of D⁻¹.
const ARNOLDI: usize = 15;

/// An estimate of ρ(D A) from below, usually by less than a few per cent; 0 for a zero matrix.
///
/// *Reference* Golub & Van Loan 2013, §10.1 and §10.5.
pub(crate) fn radius(a: &Sparse, weighting: Weighting, cancel: &Cancel) -> Result<f64, Fault> {
    let blocks = weighting.blocks(a);
    let mut d = Weighted { d: Cpu::new().blocks(&DenseBlocks::new(a.block().0, blocks)?)?, n: a.shape().0 };
    let start = start_vector(a.shape().0);
    if a.asymmetric_pair(Bsr::<f64>::symmetry_tolerance()).is_none() {
        let mut lanczos = SpectralRadius::default();
        (lanczos.steps, lanczos.safety) = (LANCZOS, 1.0);
        // D may be indefinite.
        if let Ok(found) = lanczos.estimate(&CancellableOperator { a, cancel }, &mut d, &start) {
            return Ok(found);
        }
    }
    by_arnoldi(a, &mut d, start, cancel)
}

/// A, whose products are not numbers once the flag is set, so that an estimate ends.
struct CancellableOperator<'a> {
    a: &'a Sparse,
    cancel: &'a Cancel,
}

impl LinearOperator<Vec<f64>> for CancellableOperator<'_> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        match self.cancel.is_cancelled() {
            true => y.fill(f64::NAN),
            false => self.a.apply(x, y),
        }
    }

    fn apply_dot(&self, x: &Vec<f64>, y: &mut Vec<f64>) -> Dot<f64> {
        match self.cancel.is_cancelled() {
            true => Dot { value: f64::NAN, magnitude: f64::NAN },
            false => self.a.apply_dot(x, y),
        }
    }
}

/// D as a preconditioner.
struct Weighted {
    d: DenseBlocks<f64>,
    n: usize,
}

impl Preconditioner<Vec<f64>> for Weighted {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        Cpu::<f64>::apply_blocks(&self.d, 1.0, r, 0.0, z);
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.n)
    }
}

/// The spectral radius of the Hessenberg matrix of [`ARNOLDI`] steps.
fn by_arnoldi(a: &Sparse, d: &mut Weighted, mut v: Vec<f64>, cancel: &Cancel) -> Result<f64, Fault> {
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let (mut basis, mut columns): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    let (mut product, mut w) = (vec![0.0; v.len()], vec![0.0; v.len()]);
    let mut length = norm(&v);
    while length > 0.0 && length.is_finite() && columns.len() < ARNOLDI {
        SetupError::unless_cancelled(Some(cancel))?;
        v.iter_mut().for_each(|v| *v /= length);
        a.apply(&v, &mut product);
        d.apply(&product, &mut w);
        basis.push(std::mem::take(&mut v));
        let before = norm(&w);
        let mut column = Vec::new();
        for q in &basis {
            let share: f64 = q.iter().zip(&w).map(|(q, w)| q * w).sum();
            w.iter_mut().zip(q).for_each(|(w, q)| *w -= share * q);
            column.push(share);
        }
        length = norm(&w);
        length = if length > 1e-10 * before { length } else { 0.0 };
        column.push(length);
        columns.push(column);
        v.clone_from(&w);
    }
    let m = columns.len();
    let h = (0..m * m).map(|k| columns[k % m].get(k / m).copied().unwrap_or(0.0)).collect();
    Ok(of_power(h, m))
}

/// ρ(H) = lim ‖Hᵏ‖^(1/k) for k = 2¹².
fn of_power(mut h: Vec<f64>, m: usize) -> f64 {
    let (mut logarithm, mut power) = (0.0, 1.0);
    for _ in 0..12 {
        let size = h.iter().map(|v| v * v).sum::<f64>().sqrt();
        if size == 0.0 || !size.is_finite() {
            return 0.0;
        }
        logarithm += size.ln() / power;
        h.iter_mut().for_each(|v| *v /= size);
        let square = |k: usize| (0..m).map(|l| h[k / m * m + l] * h[l * m + k % m]).sum();
        h = (0..m * m).map(square).collect();
        power *= 2.0;
    }
    let size = h.iter().map(|v| v * v).sum::<f64>().sqrt();
    (logarithm + size.ln() / power).exp()
}
