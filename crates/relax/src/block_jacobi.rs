//! Block Jacobi: z = ω D⁻¹ r with D the block diagonal, damped or l1.

use std::sync::Arc;

use coarsen_backend::{Backend, DenseBlocks, Merged, Reused, Setup, SetupError, Update};
use coarsen_core::{Preconditioner, PreconditionerKind, Real};
use coarsen_sparse::{Bsr, Pattern, System};
use num_traits::zero;

use crate::checks;

/// Damped or l1 block Jacobi: M⁻¹ = ω blockdiag(A)⁻¹, one block per node.
///
/// With `l1` the stationary iteration converges for every symmetric positive definite matrix. Unlike point
/// Jacobi, the method is invariant under a change of basis in each node. *Use* for displacement and velocity
/// systems, with the nodes as blocks; on 1x1 blocks it is [`Jacobi`](crate::Jacobi). *Memory* b² values per
/// node, on the host and on the backend. *Cost* one pass over the inverses and 2 vector passes per application.
/// *Reference* Saad 2003, §4.1.1; l1: Baker, Falgout, Kolev, Yang 2011, SIAM J. Sci. Comput. 33, §5.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Preconditioner;
/// use coarsen_sparse::assembly::from_blocks;
/// let a = from_blocks((1, 1), (2, 2), &[(0, 0)], &[2.0, 1.0, 1.0, 1.0])?;
/// let mut m = coarsen_relax::BlockJacobi::default().build(&a, &Cpu::new())?;
/// let mut z = vec![0.0; 2];
/// m.apply(&vec![1.0, 0.0], &mut z);
/// assert_eq!(z, [1.0, -1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockJacobi {
    /// The damping ω, above 0; it has no effect under conjugate gradients.
    pub omega: f64,
    /// Whether the sums of absolute values outside the diagonal block are added to the diagonal of A.
    pub l1: bool,
}

impl Default for BlockJacobi {
    /// Returns ω = 1 with the plain diagonal blocks.
    fn default() -> Self {
        Self { omega: 1.0, l1: false }
    }
}

impl BlockJacobi {
    /// Writes D⁻¹ into existing blocks, and returns the kind of M. Checks that every entry of A is finite.
    fn invert<T: Real>(
        &self,
        a: &Bsr<T>,
        inverses: &mut DenseBlocks<T>,
    ) -> Result<PreconditionerKind, SetupError> {
        if self.l1 {
            inverses.invert_l1_diagonal(a, "l1 block-jacobi")?; // sums all of A, and finds NaN and infinity
        } else {
            a.check_finite()?;
            inverses.invert_diagonal(a, "block-jacobi")?;
        }
        let symmetric = checks::has_symmetric_diagonal(a);
        Ok(if symmetric { inverses.kind() } else { PreconditionerKind::Linear })
    }
}

/// The preconditioner that [`BlockJacobi`] builds: the inverses of the diagonal blocks on the backend.
pub struct BlockDiagonal<T, B: Backend> {
    parameters: BlockJacobi,
    backend: B,
    pattern: Arc<Pattern>,
    kind: PreconditionerKind,
    inverses: DenseBlocks<T>,
    d: B::Blocks,
    merged: Merged,
}

coarsen_backend::inherent_build!(BlockJacobi);

impl<T: Real, B: Backend> Setup<T, B> for BlockJacobi {
    type Built = BlockDiagonal<T, B>;

    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<BlockDiagonal<T, B>, SetupError> {
        checks::omega("BlockJacobi::omega", self.omega)?;
        let a = &*checks::square(&system)?;
        let area = a.block().0.pow(2);
        let mut inverses = DenseBlocks::new(a.block().0, vec![T::zero(); a.pattern().rows() * area])?;
        let kind = self.invert(a, &mut inverses)?;
        let d = backend.blocks(&inverses)?;
        let (backend, pattern) = (backend.clone(), a.pattern().clone());
        Ok(BlockDiagonal {
            parameters: *self,
            backend,
            pattern,
            kind,
            inverses,
            d,
            merged: Merged::default(),
        })
    }
}

impl<T: Real, B: Backend> Preconditioner<B::Vector> for BlockDiagonal<T, B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        checks::one_column(self.inverses.count() * self.inverses.size(), r, z);
        B::apply_blocks(&self.d, B::Real::from_f64(self.parameters.omega), r, zero(), z);
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.inverses.count() * self.inverses.size())
    }
}

coarsen_backend::inherent_update!(BlockDiagonal<T, B: Backend>);

impl<T: Real, B: Backend> Update<T> for BlockDiagonal<T, B> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let pattern = self.pattern.clone();
        Merged::update(
            self,
            |method| &mut method.merged,
            &system,
            &pattern,
            |method, a| {
                if !checks::same(a, method.inverses.size(), &method.pattern) {
                    *method = method.parameters.build_from(system, &method.backend)?;
                    return Ok(Reused::Nothing);
                }
                let kind = method.parameters.invert(a, &mut method.inverses)?;
                B::set_blocks(&mut method.d, &method.inverses)?;
                method.kind = kind;
                Ok(Reused::Structure)
            },
        )
    }
}
