//! SPAI-0: the block diagonal M for which M A is closest to the identity.
//!
//! | symbol | meaning |
//! |---|---|
//! | Mᵢ | the block of M of node i, symmetric |
//! | Gᵢ | Σⱼ Aᵢⱼ Aᵢⱼᵀ, the Gram matrix of the rows of node i |
//! | Q, γ | the eigenvectors and eigenvalues of Gᵢ |
//!
//! ‖I − M A‖²_F is a sum over nodes. For symmetric Mᵢ its gradient vanishes if Mᵢ Gᵢ + Gᵢ Mᵢ = Aᵢᵢ + Aᵢᵢᵀ, a
//! Lyapunov equation, whose solution is positive definite if Aᵢᵢ is. In the basis of eigenvectors of Gᵢ the
//! solution is (Qᵀ Mᵢ Q)ₖₗ = (Qᵀ(Aᵢᵢ + Aᵢᵢᵀ)Q)ₖₗ / (γₖ + γₗ). For 1x1 blocks Mᵢ = aᵢᵢ / Σⱼ aᵢⱼ².
//!
//! *Reference* Bröker & Grote 2002, Appl. Numer. Math. 41, §3 (scalars).

use coarsen_backend::{Backend, DenseBlocks, Setup, SetupError};
use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, tree};
use coarsen_core::small_dense::{Scratch, diagonalise};
use coarsen_sparse::{Bsr, System};

use crate::{Chebyshev, ChebyshevPolynomial, Scaling};

/// One damped step of SPAI-0: x ← x + ω M (b − A x), where M is the symmetric block diagonal that minimises
/// ‖I − M A‖ in the Frobenius norm.
///
/// ω = 2 / (β + β/4) as in [`DampedJacobi`](crate::DampedJacobi), where β is a bound of ρ(M A). *Use* as a
/// smoother if rows are far from diagonal dominance: in such rows M is smaller than D⁻¹. *Not* on devices
/// that compute the setup, because M is computed on the host. *Cost* as for
/// [`DampedJacobi`](crate::DampedJacobi), and one more pass over A in setup. *Reference* Bröker & Grote 2002,
/// Appl. Numer. Math. 41, §3 (scalars).
///
/// ```
/// use coarsen_backend::{Cpu, Smoother};
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (1, 1, 4.0)])?;
/// let mut m = coarsen_relax::Spai0::default().build(&a, &Cpu::new())?;
/// let mut x = vec![0.0; 2];
/// m.pre_smooth(&a, &vec![2.0, 4.0], &mut x);
/// assert!(x[0] > 0.5 && x[1] > 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spai0 {
    /// Whether A is known to be symmetric, which saves the pass over A that checks it.
    pub symmetric: bool,
}

coarsen_backend::inherent_build!(Spai0);

impl<T: Real, B: Backend> Setup<T, B> for Spai0 {
    /// The step is the Chebyshev polynomial of degree 1.
    type Built = ChebyshevPolynomial<T, B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError> {
        let (scaling, symmetric) = (Scaling::Spai0, self.symmetric);
        let step = Chebyshev { degree: 1, ratio: 4.0, scaling, symmetric, ..Chebyshev::default() };
        step.build_from(system, backend)
    }
}

/// The entries of the three matrices of a block of 12 x 12, the largest whose workspace is on the stack.
const STACK: usize = 3 * 144;

/// Fills the blocks of M, in parallel.
///
/// # Errors
/// [`SetupError::ZeroDiagonal`] with the first row of a node whose diagonal block is missing or whose blocks
/// are all zero.
pub(crate) fn spai0<T: Real>(a: &Bsr<T>, m: &mut DenseBlocks<T>) -> Result<(), SetupError> {
    let b = m.size();
    let leaf = |(rows, m): (std::ops::Range<usize>, Groups<&mut [T]>)| {
        let mut memory = Scratch::<f64, STACK>::new(3 * b * b);
        let (gram, rest) = memory.values().split_at_mut(b * b);
        let (q, scratch) = rest.split_at_mut(b * b);
        for (i, m) in rows.zip(m.0.chunks_exact_mut(b * b)) {
            let missing = SetupError::ZeroDiagonal { row: i * b, method: "spai0" };
            let diagonal = a.value(a.pattern().find(i, i).ok_or(missing)?);
            // Entries are divided by the largest entry, so that no square leaves the range.
            let scale = a.row(i).flat_map(|(_, v)| v).fold(0.0_f64, |s, v| s.max(v.as_f64().abs()));
            if scale == 0.0 {
                return Err(SetupError::ZeroDiagonal { row: i * b, method: "spai0" });
            }
            gram.fill(0.0);
            for (_, block) in a.row(i) {
                for r in 0..b {
                    for c in 0..b {
                        let of = |row: usize, k: usize| block[row * b + k].as_f64() / scale;
                        gram[r * b + c] += (0..b).map(|k| of(r, k) * of(c, k)).sum::<f64>();
                    }
                }
            }
            diagonalise(gram, q, b);
            // scratch = Qᵀ (Aᵢᵢ + Aᵢᵢᵀ) Q, divided by the sums of eigenvalues
            for k in 0..b {
                for l in 0..b {
                    let mut sum = 0.0;
                    for r in 0..b {
                        for c in 0..b {
                            let twice = (diagonal[r * b + c].as_f64() + diagonal[c * b + r].as_f64()) / scale;
                            sum += q[r * b + k] * twice * q[c * b + l];
                        }
                    }
                    scratch[k * b + l] = sum / (gram[k * b + k] + gram[l * b + l]);
                }
            }
            for r in 0..b {
                for c in 0..b {
                    let mut sum = 0.0;
                    for k in 0..b {
                        for l in 0..b {
                            sum += q[r * b + k] * scratch[k * b + l] * q[c * b + l];
                        }
                    }
                    m[r * b + c] = T::from_f64(sum / scale);
                }
            }
        }
        Ok(())
    };
    let parallel = parallel::worth(a.nnz() * b);
    let pieces = (0..a.pattern().rows(), Groups(m.values_mut(), b * b));
    tree(pieces, 1024, parallel, &leaf, &|left: Result<(), SetupError>, right| left.and(right))
}
