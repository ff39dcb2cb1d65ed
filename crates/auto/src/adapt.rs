//! The system that is solved in place of the given one: without prescribed values, and with a symmetric matrix for
//! preconditioners.

use std::borrow::Cow;
use std::fmt;

use coarsen_diagnose::{Diagnosis, diagnose};
use coarsen_sparse::Bsr;

/// A matrix A without the rows that prescribe a value by a huge diagonal entry, and its symmetric part if A is
/// symmetric only to single precision.
///
/// A row p with a_pp ≥ 1e15 Σ |a_pj| prescribes x_p = b_p / a_pp: the other entries do not change x_p in f64. In the residual of
/// the whole system these rows hide all others, since ‖b‖ is about a_pp |x_p|. So x_p is set, its couplings move to the
/// right-hand side, and the residual of the other rows decides. *Cost* a copy of A if a row is prescribed, and one if
/// A is nearly symmetric; otherwise nothing.
pub struct Adapted<'a> {
    given: Cow<'a, Bsr<f64>>,
    /// The prescribed rows in increasing order.
    prescribed: Vec<usize>,
    /// A without the couplings of prescribed rows, if there are any.
    reduced: Option<Bsr<f64>>,
    /// (A + Aᵀ) / 2, if preconditioners need it.
    symmetrised: Option<Bsr<f64>>,
    /// The diagnosis of the matrix that preconditioners see.
    diagnosis: Option<Diagnosis>,
}

impl<'a> Adapted<'a> {
    /// Adapts a matrix by its diagnosis; `symmetrise` allows preconditioners of its symmetric part.
    pub fn new(a: Cow<'a, Bsr<f64>>, diagnosis: &Diagnosis, symmetrise: bool) -> Self {
        let mut adapted =
            Self { given: a, prescribed: Vec::new(), reduced: None, symmetrised: None, diagnosis: None };
        let Some(values) = &diagnosis.values else { return adapted };
        if !values.prescribed.is_empty() {
            adapted.prescribed.clone_from(&values.prescribed);
            let reduced = without_couplings(&adapted.given, &adapted.prescribed);
            adapted.diagnosis = Some(diagnose(&reduced));
            adapted.reduced = Some(reduced);
        }
        let symmetry = adapted.diagnosis.as_ref().unwrap_or(diagnosis).values.as_ref().map(|v| &v.symmetry);
        if symmetrise && symmetry.is_some_and(|symmetry| !symmetry.holds() && symmetry.holds_in_single()) {
            adapted.symmetrised = symmetric_part(adapted.matrix());
            adapted.diagnosis = adapted.symmetrised.as_ref().map(diagnose).or(adapted.diagnosis);
        }
        adapted
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
    pub fn right_hand_side<'b>(&self, b: &'b [f64]) -> Cow<'b, [f64]> {
        if self.prescribed.is_empty() {
            return Cow::Borrowed(b);
        }
        let mut fixed = vec![0.0; b.len()];
        self.set_prescribed(b, &mut fixed);
        let mut c = vec![0.0; b.len()];
        coarsen_core::LinearOperator::residual(&*self.given, &b.to_vec(), &fixed, &mut c);
        self.prescribed.iter().for_each(|&p| c[p] = 0.0);
        Cow::Owned(c)
    }

    /// The guess for the adapted system: zero in prescribed rows.
    pub fn start(&self, x: &mut [f64]) {
        self.prescribed.iter().for_each(|&p| x[p] = 0.0);
    }

    /// Completes a solution of the adapted system by the prescribed values.
    pub fn set_prescribed(&self, b: &[f64], x: &mut [f64]) {
        self.prescribed.iter().for_each(|&p| x[p] = b[p] / self.given.get(p, p));
    }
}

impl fmt::Display for Adapted<'_> {
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
    let (n, b) = (a.shape().0, a.block().0);
    let mut fixed = vec![false; n];
    rows.iter().for_each(|&p| fixed[p] = true);
    let free = (0..n).filter(|&i| !fixed[i]).map(|i| a.get(i, i));
    let start = (0.0, 0_usize, true);
    let (sum, count, negative) =
        free.fold(start, |(sum, count, negative), d| (sum + d.abs(), count + 1, negative && d <= 0.0));
    let mean = if sum > 0.0 { sum / count as f64 } else { 1.0 };
    let mean = if negative && sum > 0.0 { -mean } else { mean };
    let mut reduced = a.clone();
    let pattern = a.pattern().clone();
    for (i, j, at) in (0..pattern.rows()).flat_map(|i| {
        let begin = pattern.offsets()[i];
        pattern.row(i).iter().enumerate().map(move |(k, &j)| (i, j as usize, begin + k)).collect::<Vec<_>>()
    }) {
        for (k, value) in reduced.values_mut()[at * b * b..(at + 1) * b * b].iter_mut().enumerate() {
            let (row, column) = (i * b + k / b, j * b + k % b);
            if fixed[row] || fixed[column] {
                *value = if row == column { mean } else { 0.0 };
            }
        }
    }
    reduced
}

/// (A + Aᵀ) / 2; `None` if A is not square.
fn symmetric_part(a: &Bsr<f64>) -> Option<Bsr<f64>> {
    let transposed = a.transpose().ok()?;
    let b = a.block().0;
    if a.pattern() == transposed.pattern() {
        let mut half = a.clone();
        half.values_mut().iter_mut().zip(transposed.values()).for_each(|(v, t)| *v = 0.5 * (*v + t));
        return Some(half);
    }
    let mut triplets = Vec::with_capacity(2 * a.pattern().len());
    let mut values = Vec::with_capacity(2 * a.values().len());
    for of in [a, &transposed] {
        for i in 0..of.pattern().rows() {
            for (j, block) in of.row(i) {
                triplets.push((i as u32, j as u32));
                values.extend(block.iter().map(|v| 0.5 * v));
            }
        }
    }
    let n = a.shape().0;
    coarsen_sparse::assembly::from_blocks(n, n, (b, b), &triplets, &values).ok()
}

#[cfg(test)]
mod tests {
    use coarsen_problems::{poisson2d, random_vector};

    use super::*;
    use crate::{Auto, relative_residual};

    /// The residual of the rows that are not prescribed decides.
    #[test]
    fn prescribed_values_hold_and_the_other_rows_are_solved() {
        let mut a = poisson2d(30).unwrap().matrix;
        let (mut b, n) = (random_vector(900, 1), 900);
        for p in [0, 17, 450] {
            let at = a.pattern().find(p, p).unwrap();
            a.values_mut()[at] = 1e30;
            b[p] = 0.01 * 1e30;
        }
        let mut x = vec![0.0; n];
        let solved = Auto::default().solve(&a, &b, &mut x).unwrap().converged().unwrap();
        assert!(solved.true_residual <= 1e-8 && [0, 17, 450].iter().all(|&p| x[p] == 0.01), "{solved}");
        let mut r = vec![0.0; n];
        coarsen_core::LinearOperator::residual(&a, &b, &x, &mut r);
        let free =
            |v: &[f64]| (0..n).filter(|i| ![0, 17, 450].contains(i)).map(|i| v[i] * v[i]).sum::<f64>().sqrt();
        assert!(free(&r) <= 1e-7 * free(&b), "{} of {}", free(&r), free(&b));
        // Springs of contact stay as they are.
        let at = a.pattern().find(17, 17).unwrap();
        for stiff in [1e4, 1e12] {
            a.values_mut()[at] = stiff;
            let adapted = Adapted::new(Cow::Borrowed(&a), &diagnose(&a), true);
            assert!(!adapted.prescribed.contains(&17));
        }
    }

    /// A matrix from single precision is solved by conjugate gradients, and the residual is that of the given matrix.
    #[test]
    fn almost_symmetric_matrices_are_solved_as_symmetric_ones() {
        let mut a = poisson2d(60).unwrap().matrix;
        let noise = random_vector(a.values().len(), 2);
        a.values_mut().iter_mut().zip(&noise).for_each(|(v, e)| *v *= 1.0 + 2e-8 * e);
        let (b, mut x) = (random_vector(3600, 1), vec![0.0; 3600]);
        let solved = Auto::default().solve(&a, &b, &mut x).unwrap().converged().unwrap();
        assert!(solved.plan.candidates.iter().all(|c| c.method != crate::Method::Gmres), "{solved}");
        assert!(relative_residual(&a, &b, &x) <= 1e-8);
    }
}
