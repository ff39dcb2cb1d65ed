//! The system that is solved in place of the given one: without prescribed values, and with a symmetric matrix for
//! preconditioners.

use std::borrow::Cow;
use std::fmt;

use coarsen_core::LinearOperator;
use coarsen_diagnose::{Diagnosis, diagnose};
use coarsen_sparse::{Bsr, NearKernel};

use crate::Ending;

/// The largest |A v| of a vector v of the null space, relative to its value without cancellation.
const NULL: f64 = 1e-6;

/// A matrix A without the rows that prescribe a value by a huge diagonal entry, its symmetric part if A is
/// symmetric only to single precision, and its null space.
///
/// A row p with a_pp ≥ 1e15 Σ |a_pj| prescribes x_p = b_p / a_pp: the other entries do not change x_p in f64. In the residual of
/// the whole system these rows hide all others, since ‖b‖ is about a_pp |x_p|. So x_p is set, its couplings move to the
/// right-hand side, and the residual of the other rows decides. `Display` says what was changed. *Cost* a copy of A if a
/// row is prescribed, and one if A is nearly symmetric; otherwise nothing.
pub struct Problem<'a> {
    /// Vectors that A maps to zero; none at first.
    pub null_space: Option<NearKernel>,
    given: Cow<'a, Bsr<f64>>,
    /// The prescribed rows in increasing order.
    prescribed: Vec<usize>,
    /// A without the couplings of prescribed rows, if there are any.
    reduced: Option<Bsr<f64>>,
    /// (A + Aᵀ) / 2, if preconditioners need it.
    pub(crate) symmetrised: Option<Bsr<f64>>,
    /// The diagnosis of the matrix that preconditioners see.
    diagnosis: Option<Diagnosis>,
}

impl<'a> Problem<'a> {
    /// Adapts a square matrix by its diagnosis; `symmetrise` allows preconditioners of its symmetric part.
    pub fn new(a: Cow<'a, Bsr<f64>>, diagnosis: &Diagnosis, symmetrise: bool) -> Self {
        let (null_space, prescribed) = (None, Vec::new());
        let mut problem =
            Self { null_space, given: a, prescribed, reduced: None, symmetrised: None, diagnosis: None };
        let Some(values) = &diagnosis.values else { return problem };
        if !values.prescribed.is_empty() {
            problem.prescribed.clone_from(&values.prescribed);
            let reduced = without_couplings(&problem.given, &problem.prescribed);
            problem.diagnosis = Some(diagnose(&reduced));
            problem.reduced = Some(reduced);
        }
        let adapted = problem.diagnosis.as_ref().unwrap_or(diagnosis).values.as_ref();
        let is_almost = adapted.is_some_and(|v| !v.symmetry.holds() && v.symmetry.holds_in_single());
        if symmetrise
            && is_almost
            && let Ok(transposed) = problem.matrix().transpose()
        {
            let mut half = problem.matrix() + &transposed;
            half.values_mut().iter_mut().for_each(|v| *v *= 0.5);
            problem.diagnosis = Some(diagnose(&half));
            problem.symmetrised = Some(half);
        }
        problem
    }

    /// The matrix that is multiplied and factored.
    pub fn matrix(&self) -> &Bsr<f64> {
        self.reduced.as_ref().unwrap_or(&self.given)
    }

    /// The matrix of which preconditioners are built.
    pub fn preconditioned(&self) -> &Bsr<f64> {
        self.symmetrised.as_ref().unwrap_or_else(|| self.matrix())
    }

    /// The diagnosis of [`preconditioned`](Self::preconditioned), if it is not the given matrix.
    pub fn diagnosis(&self) -> Option<&Diagnosis> {
        self.diagnosis.as_ref()
    }

    /// Whether the given matrix is solved as it is.
    pub fn is_given(&self) -> bool {
        self.prescribed.is_empty() && self.symmetrised.is_none()
    }

    /// The right-hand side for [`matrix`](Self::matrix): zero in prescribed rows, and without their couplings in others.
    pub(crate) fn right_hand_side<'b>(&self, b: &'b [f64]) -> Cow<'b, [f64]> {
        if self.prescribed.is_empty() {
            return Cow::Borrowed(b);
        }
        let (mut fixed, mut c) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        self.set_prescribed(b, &mut fixed);
        self.given.residual(&b.to_vec(), &fixed, &mut c);
        self.prescribed.iter().for_each(|&p| c[p] = 0.0);
        Cow::Owned(c)
    }

    /// Checks that an operator A maps the null space to zero. Returns a vector that Aᵀ does not map to zero, if A is not
    /// `symmetric` and there is one, and |Aᵀ v| relative to its value without cancellation.
    pub(crate) fn check_null_space(
        &self,
        a: &Bsr<f64>,
        symmetric: bool,
    ) -> Result<Option<(usize, f64)>, Ending> {
        let Some(vectors) = &self.null_space else { return Ok(None) };
        let wrong = |a: &Bsr<f64>| -> Result<Option<(usize, f64)>, Ending> {
            Ok(vectors.quality(a)?.iter().map(|q| q.all).enumerate().find(|(_, share)| *share > NULL))
        };
        if let Some((vector, share)) = wrong(a)? {
            return Err(Ending::NotNull { vector, share, of_transpose: false });
        }
        if symmetric {
            return Ok(None);
        }
        wrong(&a.transpose().map_err(|error| Ending::Setup(error.into()))?)
    }

    /// Zeros the prescribed rows of a guess.
    pub(crate) fn start(&self, x: &mut [f64]) {
        self.prescribed.iter().for_each(|&p| x[p] = 0.0);
    }

    /// Completes a solution by the prescribed values.
    pub(crate) fn set_prescribed(&self, b: &[f64], x: &mut [f64]) {
        self.prescribed.iter().for_each(|&p| x[p] = b[p] / self.given.get(p, p));
    }
}

impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prescribed = self.prescribed.len();
        if prescribed > 0 {
            write!(f, "{prescribed} prescribed values are set, and the residual is that of the other rows")?;
        }
        if self.symmetrised.is_some() {
            let begin = if prescribed > 0 { "; " } else { "" };
            write!(
                f,
                "{begin}the matrix is symmetric to single precision: preconditioners are built of (A + A^T) / 2, and A is multiplied as it is"
            )?;
        }
        Ok(())
    }
}

/// A without the couplings of some rows and columns, whose diagonal becomes the mean size of the others, with their sign.
fn without_couplings(a: &Bsr<f64>, rows: &[usize]) -> Bsr<f64> {
    let b = a.block().0;
    let mut fixed = vec![false; a.shape().0];
    rows.iter().for_each(|&p| fixed[p] = true);
    let diagonal = a.diagonal();
    let free: Vec<f64> = diagonal.iter().zip(&fixed).filter(|(_, fixed)| !**fixed).map(|(d, _)| *d).collect();
    let sum: f64 = free.iter().map(|d| d.abs()).sum();
    let sign = if free.iter().all(|d| *d <= 0.0) { -1.0 } else { 1.0 };
    let mean = if sum > 0.0 { sign * sum / free.len() as f64 } else { 1.0 };
    let mut reduced = a.clone();
    let mut blocks = reduced.values_mut().chunks_exact_mut(b * b);
    for i in 0..a.pattern().rows() {
        for (&j, block) in a.pattern().row(i).iter().zip(&mut blocks) {
            for (k, value) in block.iter_mut().enumerate() {
                let (row, column) = (i * b + k / b, j as usize * b + k % b);
                if fixed[row] || fixed[column] {
                    *value = if row == column { mean } else { 0.0 };
                }
            }
        }
    }
    reduced
}
