//! Jacobi: z = ω D⁻¹ r.
//!
//! | symbol | field |
//! |---|---|
//! | ω | `omega` |
//! | D = diag(A), or dᵢ = Σⱼ \|aᵢⱼ\| if `l1` | `Diagonal::d` holds ω D⁻¹ |

use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::{Backend, Merged, Reused, Setup, SetupError, Update};
use coarsen_core::parallel::{self, Groups, each, tree};
use coarsen_core::{Error, Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_sparse::{Bsr, Pattern, System};
use num_traits::{one, zero};

use crate::checks;

/// The number of nodes per task of a setup.
const LEAF: usize = 1024;

/// Damped or l1 Jacobi on scalar unknowns.
///
/// M⁻¹ = ω D⁻¹, where D is the diagonal of A or, if `l1`, dᵢ = Σⱼ |aᵢⱼ|. With `l1` the stationary iteration
/// converges for every symmetric positive definite matrix, and M is positive definite for every matrix without empty
/// rows, as `Minres` needs it for indefinite ones. Under conjugate gradients ω has no effect. *Use*
/// as the cheap default; on vector problems [`BlockJacobi`](crate::BlockJacobi) is stronger. *Memory* a
/// vector on the host and a vector on the backend. *Cost* 3 vector passes per application. *Reference* Saad
/// 2003, §4.1; l1: Baker, Falgout, Kolev, Yang 2011, SIAM J. Sci. Comput. 33, §5.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Preconditioner;
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (1, 1, 4.0)])?;
/// let mut m = coarsen_relax::Jacobi::default().build(&a, &Cpu::new())?;
/// let mut z = vec![0.0; 2];
/// m.apply(&vec![1.0, 1.0], &mut z);
/// assert_eq!(z, [0.5, 0.25]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jacobi {
    /// The damping ω, above 0.
    pub omega: f64,
    /// Whether row sums of absolute values replace the diagonal.
    pub l1: bool,
}

impl Default for Jacobi {
    /// Returns ω = 1 with the plain diagonal.
    fn default() -> Self {
        Self { omega: 1.0, l1: false }
    }
}

impl Jacobi {
    /// Writes ω dᵢ⁻¹ for every row of a finite A to `d`, and returns the kind of M. Nothing is written if a
    /// diagonal entry is zero or V cannot hold ω dᵢ⁻¹.
    fn invert<T: Real, V: Real>(&self, a: &Bsr<T>, d: &mut [V]) -> Result<PreconditionerKind, SetupError> {
        let (nodes, b, parallel) = (a.pattern().rows(), a.block().0, parallel::worth(a.nnz()));
        // The divisor of scalar row r of node i, whose diagonal block is `own`.
        let divisor = |i: usize, own: Option<&[T]>, r: usize| -> T {
            if self.l1 {
                let sum = |block: &[T]| block[r * b..(r + 1) * b].iter().map(|v| v.abs()).sum::<T>();
                a.row(i).map(|(_, block)| sum(block)).sum()
            } else {
                own.map_or(T::zero(), |own| own[r * (b + 1)])
            }
        };
        let own = |i: usize| a.pattern().find(i, i).map(|at| a.value(at));
        let check = |nodes: Range<usize>| {
            let mut kind = PreconditionerKind::Symmetric;
            for i in nodes {
                let own = own(i);
                for r in 0..b {
                    let divisor = divisor(i, own, r);
                    if divisor == T::zero() {
                        return Err(SetupError::ZeroDiagonal { row: i * b + r, method: "jacobi" });
                    }
                    let value = self.omega / divisor.as_f64();
                    let stored = V::from_f64(value);
                    if !stored.is_finite() || stored == V::zero() {
                        let what = "the inverted diagonal";
                        return Err(Error::Range { what, value, storage: V::NAME }.into());
                    }
                    if divisor < T::zero() {
                        kind = PreconditionerKind::Linear; // M is not positive definite
                    }
                }
            }
            Ok(kind)
        };
        let kind = tree(0..nodes, LEAF, parallel, &check, &|first, second| Ok(first?.max(second?)))?;
        let write = |(nodes, d): (Range<usize>, Groups<&mut [V]>)| {
            for (i, d) in nodes.zip(d.0.chunks_exact_mut(b)) {
                let own = own(i);
                for (r, d) in d.iter_mut().enumerate() {
                    *d = V::from_f64(self.omega / divisor(i, own, r).as_f64());
                }
            }
        };
        each((0..nodes, Groups(d, b)), LEAF, parallel, &write);
        Ok(kind)
    }
}

/// The preconditioner that [`Jacobi`] builds: ω D⁻¹ as a vector of the backend.
pub struct Diagonal<B: Backend> {
    parameters: Jacobi,
    backend: B,
    pattern: Arc<Pattern>,
    kind: PreconditionerKind,
    host: Vec<B::Real>,
    d: B::Vector,
    merged: Merged,
}

coarsen_backend::inherent_build!(Jacobi);

impl<T: Real, B: Backend> Setup<T, B> for Jacobi {
    type Built = Diagonal<B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Diagonal<B>, SetupError> {
        checks::omega("Jacobi::omega", self.omega)?;
        let a = &*checks::finite(&system)?;
        let mut host = vec![zero(); a.shape().0];
        let kind = self.invert(a, &mut host)?;
        let d = backend.vector(&host)?;
        let (backend, pattern) = (backend.clone(), a.pattern().clone());
        Ok(Diagonal { parameters: *self, backend, pattern, kind, host, d, merged: Merged::default() })
    }
}

impl<B: Backend> Preconditioner<B::Vector> for Diagonal<B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        z.hadamard(&r.scalar(one()), &self.d, r, &r.scalar(zero()));
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.host.len())
    }
}

coarsen_backend::inherent_update!(Diagonal<B: Backend>);

impl<T: Real, B: Backend> Update<T> for Diagonal<B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let pattern = self.pattern.clone();
        Merged::update(
            self,
            |method| &mut method.merged,
            &system,
            &pattern,
            |method, a| {
                a.check_finite()?;
                if a.shape().0 != method.host.len() || !Pattern::same(a.pattern(), &method.pattern) {
                    *method = method.parameters.build_from(system, &method.backend)?;
                    return Ok(Reused::Nothing);
                }
                method.kind = method.parameters.invert(a, &mut method.host)?;
                method.backend.write(&method.host, &mut method.d)?;
                Ok(Reused::Structure)
            },
        )
    }
}
