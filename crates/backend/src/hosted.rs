//! A host method on any backend.

use coarsen_core::{Preconditioner, PreconditionerKind, Real, Vector};
use coarsen_sparse::System;
use num_traits::{Float, zero};

use crate::{Backend, Reused, SetupError, Update};

/// A preconditioner of host vectors, applied to vectors of a backend: it reads r, applies the method and writes
/// z.
///
/// *Use* for methods that exist only on the host, such as sparse factors. *Not* if the host would synchronise often
/// ([`Backend::is_remote`]): each application synchronises to read r. *Cost* two copies of a vector in addition to the
/// application, across the bus if the backend is remote, without allocation. *Memory* two host vectors.
///
/// If the backend fails while numbers are read or written, z is filled with NaN, which ends a solve.
///
/// ```
/// use coarsen_backend::{Cpu, Hosted};
/// use coarsen_core::{Identity, Preconditioner};
/// struct Halves;
/// # impl Preconditioner<Vec<f64>> for Halves {
/// #     fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
/// #         z.iter_mut().zip(r).for_each(|(z, r)| *z = r / 2.0);
/// #     }
/// #     fn kind(&self) -> coarsen_core::PreconditionerKind {
/// #         coarsen_core::PreconditionerKind::Symmetric
/// #     }
/// #     fn size(&self) -> Option<usize> {
/// #         Some(2)
/// #     }
/// # }
/// let mut m = Hosted::new(Halves, 2, &Cpu::new());
/// let mut z = vec![0.0; 2];
/// m.apply(&vec![1.0, 2.0], &mut z);
/// assert_eq!(z, [0.5, 1.0]);
/// ```
pub struct Hosted<B: Backend, M> {
    backend: B,
    method: M,
    r: Vec<B::Real>,
    z: Vec<B::Real>,
}

impl<B: Backend, M> Hosted<B, M> {
    /// Wraps `method`, which takes vectors of `size` numbers, for vectors of `backend`.
    pub fn new(method: M, size: usize, backend: &B) -> Self {
        Self { backend: backend.clone(), method, r: vec![zero(); size], z: vec![zero(); size] }
    }

    /// Returns the host method.
    pub fn method(&self) -> &M {
        &self.method
    }

    /// Returns the host method, mutable.
    pub fn method_mut(&mut self) -> &mut M {
        &mut self.method
    }
}

impl<B: Backend, M: Preconditioner<Vec<B::Real>>> Preconditioner<B::Vector> for Hosted<B, M> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        let n = self.r.len();
        assert!(
            r.size() == n && z.size() == n,
            "apply: a method of size {n} met vectors of {} and {}",
            r.size(),
            z.size()
        );
        let read = self.backend.read(r, &mut self.r);
        self.method.apply(&self.r, &mut self.z);
        if read.and_then(|()| self.backend.write(&self.z, z)).is_err() {
            z.fill(B::Real::nan());
        }
    }

    fn kind(&self) -> PreconditionerKind {
        self.method.kind()
    }

    fn size(&self) -> Option<usize> {
        Some(self.r.len())
    }
}

crate::inherent_update!(Hosted<B: Backend, M>);

/// Updates the method, and the length of its vectors if the size of the system has changed.
impl<T: Real, B: Backend, M: Update<T>> Update<T> for Hosted<B, M> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        let reused = self.method.update_from(system)?;
        let n = system.matrix.shape().0;
        self.r.resize(n, zero());
        self.z.resize(n, zero());
        Ok(reused)
    }
}
