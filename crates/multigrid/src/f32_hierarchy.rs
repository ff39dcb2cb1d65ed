//! Hierarchies in f32 for systems in f64.

use std::array;
use std::cell::Cell;
use std::mem;

use coarsen_backend::{Cpu, Merged, Reused, Setup, SetupError, Update, interleave, separate};
use coarsen_core::{
    F32Preconditioner, LinearOperator, Preconditioner, PreconditionerKind, Real, largest, parallel,
    power_of_two,
};
use coarsen_sparse::{Bsr, COLUMNS, Pattern, System};

use crate::{Coarsening, Hierarchy, Multigrid};

/// Entries that no cache holds in f64: products of blocks in f32 then take less time. Those of scalars gain little, since a column
/// takes half as many bytes as an entry.
const LARGE: usize = 1 << 21;

/// A hierarchy that is computed and applied in f32, for a system and vectors in f64. Updates round the new matrix.
pub struct F32Hierarchy {
    hierarchy: F32Preconditioner<Hierarchy<f32, Cpu<f32>>>,
    /// The rounded matrix.
    matrix: Bsr<f32>,
    /// The matrix to which updates are rounded if the smoother shares the memory of `matrix`, after the first update.
    spare: Option<Bsr<f32>>,
    merged: Merged,
}

impl<C: Coarsening<f32>> Multigrid<C> {
    /// Builds the hierarchy of a system that is rounded to f32, as a preconditioner of vectors in f64.
    ///
    /// The setup, the levels and the cycle are in f32, while with `Cpu::mixed()` only the values of the levels are.
    /// *Use* for a preconditioner of a matrix in the range of f32 whose rounded entries still are positive definite.
    /// *Cost* and *memory* about half of those in f64, and a copy of A in f32, which smoothers over whole rows share until the
    /// first update.
    ///
    /// # Errors
    /// Those of [`Setup::build_from`]. Entries that are too large for f32 are not finite and are reported with their
    /// row.
    ///
    /// ```
    /// use coarsen_core::Stop;
    /// use coarsen_krylov::Cg;
    /// use coarsen_multigrid::Multigrid;
    /// let a = coarsen_problems::Problem::parse("poisson2d:40", &Default::default())?.matrix;
    /// let mut m = Multigrid::geometric([40, 40, 1]).build_f32((&a).into())?;
    /// let (b, mut x) = (vec![1.0_f64; 1600], vec![0.0; 1600]);
    /// let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x)?.converged()?;
    /// assert!(report.iterations < 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_f32(&self, system: System<'_, f64>) -> Result<F32Hierarchy, SetupError> {
        let matrix = system.whole()?.to::<f32>().shared();
        let hierarchy = self.build_from(rounded(system, &matrix), &Cpu::single())?;
        let hierarchy = F32Preconditioner::new(hierarchy, matrix.shape().0)?;
        Ok(F32Hierarchy { hierarchy, matrix, spare: None, merged: Merged::default() })
    }
}

/// The system with a matrix in f32 that includes its contact.
fn rounded<'a>(system: System<'a, f64>, matrix: &'a Bsr<f32>) -> System<'a, f32> {
    let System { positions, near_kernel, links, cancel, .. } = system;
    System { positions, near_kernel, links, cancel, ..System::from(matrix) }
}

impl F32Hierarchy {
    /// The hierarchy of the rounded system.
    pub fn get(&self) -> &Hierarchy<f32, Cpu<f32>> {
        self.hierarchy.get()
    }
}

impl<V: Real> Preconditioner<Vec<V>> for F32Hierarchy {
    fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        self.hierarchy.apply(r, z);
    }

    /// As that of [`Hierarchy`]; vectors are rounded where they are interleaved.
    fn apply_many(&mut self, r: &[Vec<V>], z: &mut [Vec<V>]) {
        assert_eq!(r.len(), z.len(), "apply_many: vectors");
        for (r, z) in r.chunks(COLUMNS).zip(z.chunks_mut(COLUMNS)) {
            let scales = Cell::new([1.0; COLUMNS]); // powers of two, whose reciprocals are exact
            let pack = |b: &mut Vec<f32>| {
                scales.set(array::from_fn(|c| r.get(c).map_or(1.0, |r| power_of_two(largest(r).as_f64()))));
                interleave(r, scales.get().map(f64::recip), b);
            };
            let unpack = |x: &Vec<f32>| separate(x, scales.get(), z);
            if !self.hierarchy.get_mut().apply_interleaved(r.len(), pack, unpack) {
                r.iter().zip(z).for_each(|(r, z)| self.hierarchy.apply(r, z));
            }
        }
    }

    fn rounded(&self) -> Option<Box<dyn LinearOperator<Vec<V>>>> {
        let pays = self.matrix.nnz() >= LARGE && self.matrix.block() != (1, 1);
        pays.then(|| Box::new(self.matrix.clone()) as _) // its values are shared
    }

    fn kind(&self) -> PreconditionerKind {
        Preconditioner::<Vec<V>>::kind(&self.hierarchy)
    }

    fn size(&self) -> Option<usize> {
        Preconditioner::<Vec<V>>::size(&self.hierarchy)
    }
}

coarsen_backend::inherent_update!(F32Hierarchy);

impl Update<f64> for F32Hierarchy {
    fn update_from(&mut self, system: System<'_, f64>) -> Result<Reused, SetupError> {
        let known = self.matrix.pattern().clone();
        let whole = self.merged.whole(&system, &known)?;
        let is_known = Pattern::same(&known, whole.pattern()) && self.matrix.block() == whole.block();
        if is_known && !self.matrix.is_shared() {
            parallel::map(whole.values(), self.matrix.values_mut(), |v| *v as f32);
            return self.hierarchy.get_mut().update_from(rounded(system, &self.matrix));
        }
        let next = match self.spare.take().filter(|_| is_known) {
            Some(mut next) => {
                parallel::map(whole.values(), next.values_mut(), |v| *v as f32);
                next
            }
            None if is_known => {
                let (_, block, values) = whole.to::<f32>().into_parts();
                Bsr::new(known, block, values)?.shared()
            }
            None => whole.to::<f32>().shared(),
        };
        let next = self.spare.insert(next);
        let reused = self.hierarchy.get_mut().update_from(rounded(system, next))?;
        mem::swap(&mut self.matrix, next);
        if !is_known {
            self.spare = None; // of another pattern
        }
        Ok(reused)
    }
}
