//! An upper estimate of the spectrum of D⁻¹A, for the interval of Chebyshev and the damping of a
//! prolongation.
//!
//! Steps of Lanczos approach ρ(D⁻¹A) from below, so their result is multiplied by a safety factor. For
//! scalars ρ(D⁻¹A) ≤ ‖D⁻¹A‖∞ = maxᵢ Σⱼ |aᵢⱼ| / |aᵢᵢ| is a guaranteed bound, which costs one pass over A. For
//! diagonally dominant rows this bound is at most 2. It is exact for the 5- and 7-point stencils, and a third
//! too large for the 9-point stencil. The smaller of the two values is used, and Lanczos stops once it
//! reaches the bound. The result bounds ρ unless the error of Lanczos exceeds the safety factor. A smoother would then
//! diverge, so smoothers ask for a margin, within which the bound is certain ([`SpectralRadius::margin`]).
//!
//! Lanczos needs an inner product by D⁻¹. Unsymmetric diagonal blocks have none. For them the bound is that of the
//! nonnegative matrix B = |D⁻¹A|: ρ(D⁻¹A) ≤ ρ(B) ≤ maxᵢ (B x)ᵢ / xᵢ for each x > 0. From x = 1, which gives the row sums,
//! steps x ← B x lower it, whatever the scaling of the unknowns (Collatz 1942; Varga 2000, Theorem 2.2).

use std::mem;
use std::ops::Range;

use coarsen_backend::{Backend, DenseBlocks, NumericBackend, SetupError};
use coarsen_core::parallel::{self, Groups, each, tree};
use coarsen_core::{LinearOperator, Preconditioner, PreconditionerKind, Real, compiled};
use coarsen_krylov::{SpectralRadius, start_vector};
use coarsen_sparse::Bsr;
use num_traits::{one, zero};

use crate::checks;

/// The number of rows per task.
const LEAF: usize = 4096;

/// The smallest number of unknowns for which a part of the rows is tried first.
const MANY: usize = 1 << 16;
/// The inverse of the fraction of rows in this part.
const SHARE: usize = 8;

/// The largest number of steps x ← |D⁻¹A| x. They end when a step lowers the bound by less than [`SLOW`].
const STEPS: usize = 30;
const SLOW: f64 = 0.01;

/// Estimates ρ(D⁻¹A) from above for symmetric A with positive definite diagonal blocks D, and bounds it for unsymmetric
/// diagonal blocks.
///
/// *Cost* `steps` products with A and D⁻¹, one more with a margin, and up to four times as many while the estimate
/// still grows or is not certain. For scalars the row sums need one more pass; the rest is cheap if an eighth of the
/// rows suffices to reach their bound. For unsymmetric b × b blocks up to 30 passes with b times the work of a product,
/// and two vectors in f64. The first estimate with all of A allocates five vectors and keeps them for later
/// calls of [`bound`](Self::bound). *Reference* row sums: Gershgorin 1931; Lanczos: Tamstorf, Jones, McCormick 2015,
/// §7.
///
/// ```
/// use coarsen_backend::DenseBlocks;
/// use coarsen_relax::Spectrum;
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)])?;
/// let inverses = DenseBlocks::inverse_diagonal(&a, "example")?;
/// assert_eq!(Spectrum::new(10, 1.1).bound(&a, &inverses)?, 1.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Spectrum<T: Real> {
    estimate: SpectralRadius<Vec<T>>,
    start: Vec<T>,
    /// The estimate for a part of A.
    part_estimate: SpectralRadius<Vec<T>>,
    part: Vec<T>,
    /// x and |D⁻¹A| x for unsymmetric diagonal blocks.
    positive: [Vec<f64>; 2],
}

impl<T: Real> Spectrum<T> {
    /// Returns an estimate by at least `steps` steps of Lanczos, multiplied by `safety`.
    pub fn new(steps: usize, safety: f64) -> Self {
        let [mut estimate, mut part_estimate] = [SpectralRadius::default(), SpectralRadius::default()];
        (estimate.steps, estimate.safety) = (steps, safety);
        (part_estimate.steps, part_estimate.safety) = (steps, safety);
        Self { estimate, start: Vec::new(), part_estimate, part: Vec::new(), positive: Default::default() }
    }

    /// Lets Lanczos continue until ρ is certain to be less than `margin` times the bound
    /// ([`SpectralRadius::margin`]).
    pub(crate) fn with_margin(mut self, margin: f64) -> Self {
        self.estimate.margin = margin;
        self
    }

    /// Returns the bound of ρ(D⁻¹A); 1 for an empty matrix.
    ///
    /// # Errors
    /// The errors of [`SpectralRadius::estimate`]: parameters out of range, or an A that is zero or has NaN.
    pub fn bound(&mut self, a: &Bsr<T>, inverses: &DenseBlocks<T>) -> Result<f64, SetupError> {
        BOUND.of::<Bound<T>>()(self, a, inverses)
    }

    fn bound_plain(&mut self, a: &Bsr<T>, inverses: &DenseBlocks<T>) -> Result<f64, SetupError> {
        if a.shape().0 == 0 {
            return Ok(1.0);
        }
        if !checks::has_symmetric_diagonal(a) {
            let bound = self.nonnegative(a, inverses);
            if bound.is_finite() {
                return Ok(bound);
            }
        }
        let bound = usable(row_sums(a, inverses));
        if self.is_reached(bound, a, inverses) {
            return Ok(bound);
        }
        if self.start.len() != a.shape().0 {
            self.start = start_vector(a.shape().0);
        }
        self.estimate.ceiling = bound;
        Ok(self.estimate.estimate(a, &mut &*inverses, &self.start)?.as_f64())
    }

    /// Whether the estimate for rows and columns in the middle of A reaches a bound for all of A. No
    /// eigenvalue of a principal block is larger than the largest eigenvalue of A.
    ///
    /// Lanczos starts in the middle of the block, and each step reaches only the neighbours of the previous
    /// rows. If couplings span at most a few hundredths of all rows, the result is therefore the same as for
    /// all of A.
    fn is_reached(&mut self, bound: f64, a: &Bsr<T>, inverses: &DenseBlocks<T>) -> bool {
        let n = a.shape().0;
        if bound == f64::INFINITY || n < MANY {
            return false;
        }
        let (size, first) = (n / SHARE, (n - n / SHARE) / 2);
        if self.part.len() != size {
            self.part = start_vector(size);
            let outside = (size - size / 4) / 2;
            self.part[..outside].fill(T::zero());
            self.part[size - outside..].fill(T::zero());
        }
        self.part_estimate.ceiling = bound;
        let rows = first..first + size;
        let part = PrincipalBlock { a, rows: rows.clone() };
        let found =
            self.part_estimate.estimate(&part, &mut PrincipalInverses(&inverses.values()[rows]), &self.part);
        found.is_ok_and(|radius| radius.as_f64() >= bound)
    }

    /// Returns the size in bytes of the vectors that Lanczos keeps.
    pub fn bytes(&self) -> usize {
        let positive: usize = self.positive.iter().map(|x| size_of_val(&x[..])).sum();
        5 * (size_of_val(&self.start[..]) + size_of_val(&self.part[..])) + positive
    }

    /// Returns the least of maxᵢ (B x)ᵢ / xᵢ in steps x ← B x, with B = |D⁻¹A|. It is not finite if A is not.
    fn nonnegative(&mut self, a: &Bsr<T>, inverses: &DenseBlocks<T>) -> f64 {
        let [x, y] = &mut self.positive;
        x.clear();
        x.resize(a.shape().0, 1.0);
        y.resize(a.shape().0, 0.0);
        let b = a.block().0;
        let mut bound = f64::INFINITY;
        for _ in 0..STEPS {
            let pieces = (0..a.pattern().rows(), Groups(&mut y[..], b));
            each(pieces, BLOCKS, parallel::worth(a.nnz()), &|(rows, y): (
                Range<usize>,
                Groups<&mut [f64]>,
            )| {
                for (i, y) in rows.zip(y.0.chunks_exact_mut(b)) {
                    row_of_nonnegative(a, inverses, i, x, y);
                }
            });
            let ratio = |(x, y): (&[f64], &[f64])| {
                x.iter().zip(y).fold([0.0, 0.0], |[most, top], (&x, &y)| {
                    [larger(most, if y > 0.0 { y / x } else { y }), larger(top, y)]
                })
            };
            let both =
                |left: [f64; 2], right: [f64; 2]| [larger(left[0], right[0]), larger(left[1], right[1])];
            let [now, top] = tree((&x[..], &y[..]), LEAF, parallel::worth(x.len()), &ratio, &both);
            if !(now < (1.0 - SLOW) * bound && top > 0.0) {
                return if now.is_nan() { now } else { bound.min(now) };
            }
            bound = now;
            let scale = |y: &mut [f64]| y.iter_mut().for_each(|y| *y /= top);
            each(&mut y[..], LEAF, parallel::worth(a.shape().0), &scale);
            mem::swap(x, y);
        }
        bound
    }
}

compiled!(
    BOUND: Bound<T> =
        fn(&mut Spectrum<T>, &Bsr<T>, &DenseBlocks<T>) -> Result<f64, SetupError>, Spectrum::bound_plain
);

/// A principal block of a matrix of scalars.
struct PrincipalBlock<'a, T> {
    a: &'a Bsr<T>,
    rows: Range<usize>,
}

impl<T: Real> LinearOperator<Vec<T>> for PrincipalBlock<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.rows.len(), self.rows.len())
    }

    fn apply(&self, x: &Vec<T>, y: &mut Vec<T>) {
        let (pattern, first) = (self.a.pattern(), self.rows.start);
        let pieces = (self.rows.clone(), &mut y[..]);
        let worth = parallel::worth_product(self.a.nnz() / SHARE);
        each(pieces, LEAF, worth, &|(rows, y): (Range<usize>, &mut [T])| {
            for (y, i) in y.iter_mut().zip(rows) {
                let range = pattern.range(i);
                let entries = pattern.indices()[range.clone()].iter().zip(&self.a.values()[range]);
                *y = entries.fold(T::zero(), |sum, (&j, &a)| {
                    x.get((j as usize).wrapping_sub(first)).map_or(sum, |&x| sum + a * x)
                });
            }
        });
    }
}

/// The inverted diagonal of a principal block.
struct PrincipalInverses<'a, T>(&'a [T]);

impl<T: Real> Preconditioner<Vec<T>> for PrincipalInverses<'_, T> {
    fn apply(&mut self, r: &Vec<T>, z: &mut Vec<T>) {
        let pieces = (&mut z[..], &r[..], self.0);
        each(pieces, LEAF, parallel::worth(r.len()), &|(z, r, d): (&mut [T], &[T], &[T])| {
            z.iter_mut().zip(r).zip(d).for_each(|((z, &r), &d)| *z = d * r);
        });
    }

    /// Negative entries are detected by the caller or by the estimate.
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// A [`Spectrum`] on a backend that computes the numeric phase itself.
pub(crate) struct DeviceSpectrum<B: Backend> {
    estimate: SpectralRadius<B::Vector>,
    start: B::Vector,
}

impl<B: NumericBackend> DeviceSpectrum<B> {
    /// Computes D, the inverses of the diagonal blocks of A, and returns the bound of ρ(D⁻¹A). Unlike
    /// [`Spectrum::bound`] it does not try a part of A first. The first call allocates.
    pub(crate) fn update<T: Real>(
        there: &mut Option<Self>,
        of: &Spectrum<T>,
        (backend, a, d): (&B, &B::Matrix, &mut B::Blocks),
        method: &'static str,
    ) -> Result<f64, SetupError> {
        let row_sum = backend.invert_diagonal(a, d, method)?;
        let n = a.shape().0;
        if n == 0 {
            return Ok(1.0);
        }
        let kept = match there {
            Some(kept) => kept,
            none => {
                let mut estimate = SpectralRadius::default();
                (estimate.steps, estimate.safety) = (of.estimate.steps, of.estimate.safety);
                estimate.margin = of.estimate.margin;
                none.insert(Self { estimate, start: backend.vector(&start_vector(n))? })
            }
        };
        kept.estimate.ceiling = usable(row_sum);
        Ok(kept.estimate.estimate(a, &mut Inverses::<B>(d), &kept.start)?.as_f64())
    }
}

/// D⁻¹ on a backend.
struct Inverses<'a, B: Backend>(&'a B::Blocks);

impl<B: Backend> Preconditioner<B::Vector> for Inverses<'_, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        B::apply_blocks(self.0, one(), r, zero(), z);
    }

    /// For blocks that are not positive definite the estimate returns an error.
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    /// Returns `None`; the caller creates vectors of the size of the matrix.
    fn size(&self) -> Option<usize> {
        None
    }
}

/// Returns the bound, or infinity if there is no bound or it is zero or NaN. For an A that is zero or has NaN
/// the estimate then returns an error.
fn usable(bound: Option<f64>) -> f64 {
    bound.filter(|bound| *bound > 0.0).unwrap_or(f64::INFINITY)
}

/// Returns maxᵢ Σⱼ |aᵢⱼ| / |aᵢᵢ| for a matrix of scalars, `None` for blocks.
fn row_sums<T: Real>(a: &Bsr<T>, inverses: &DenseBlocks<T>) -> Option<f64> {
    if a.block() != (1, 1) {
        return None;
    }
    let pattern = a.pattern();
    let leaf = |rows: Range<usize>| {
        rows.fold(T::zero(), |largest, i| {
            let sum = a.values()[pattern.range(i)].iter().fold(T::zero(), |s, v| s + v.abs());
            larger(largest, sum * inverses.block(i)[0].abs())
        })
    };
    Some(tree(0..pattern.rows(), LEAF, parallel::worth(a.nnz()), &leaf, &larger).as_f64())
}

/// The number of block rows per task with b × b products.
const BLOCKS: usize = 512;

/// Computes block row i of |D⁻¹A| x.
fn row_of_nonnegative<T: Real>(a: &Bsr<T>, inverses: &DenseBlocks<T>, i: usize, x: &[f64], y: &mut [f64]) {
    let b = y.len();
    y.fill(0.0);
    for (j, block) in a.row(i) {
        for (y, d) in y.iter_mut().zip(inverses.block(i).chunks_exact(b)) {
            for (q, x) in x[j * b..][..b].iter().enumerate() {
                let column = block[q..].iter().step_by(b);
                *y += x * d.iter().zip(column).map(|(d, v)| d.as_f64() * v.as_f64()).sum::<f64>().abs();
            }
        }
    }
}

/// Returns the larger of two numbers, or NaN if one of them is NaN.
fn larger<T: Real>(a: T, b: T) -> T {
    if a.is_nan() || a > b { a } else { b }
}
