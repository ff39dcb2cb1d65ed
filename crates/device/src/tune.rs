//! Work groups of the size that suits a device.
//!
//! Entry-wise kernels and products run in groups of any size and give the same bits in all of them; how fast
//! they are depends on the device. Sums are left alone: their bits depend on the width of a group.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coarsen_backend::Backend;
use coarsen_core::{Error, LinearOperator, Real, Vector};
use coarsen_sparse::{Bsr, Pattern, SparseError};

use crate::OnDevice;

/// Rows of the matrix that is multiplied.
const ROWS: usize = 1 << 17;

/// Entries to each side of its diagonal.
const BAND: usize = 4;

/// Calls of each kernel, of which the fastest counts.
const CALLS: usize = 7;

impl<V: Real> OnDevice<V> {
    /// Measures which size of a work group is the fastest for a vector operation and a product together,
    /// takes it, and keeps it in the cache for places to come; returns it.
    ///
    /// *Cost* some seconds at the first time, most of them in the compiler of the device. *Use* once on a new
    /// device.
    ///
    /// # Errors
    /// [`Error::Memory`] and [`Error::Device`].
    pub fn tune(&self) -> Result<usize, Error> {
        let band = band::<V>().expect("a band is a pattern");
        let (a, x) = (self.matrix(&band)?, self.vector(&[V::one(); ROWS])?);
        let (mut y, half) = (x.like()?, x.scalar(V::of(0.5)));
        let (usual, all) = {
            let queue = self.queue();
            (queue.local(), queue.locals())
        };
        let mut best = (Duration::MAX, usual);
        for local in all {
            self.queue().set_local(local);
            let mut least = Duration::MAX;
            for _ in 0..CALLS {
                self.sync()?;
                let start = Instant::now();
                y.axpby(&half, &x, &half);
                a.apply(&x, &mut y);
                self.sync()?;
                least = least.min(start.elapsed());
            }
            best = best.min((least, local));
        }
        self.queue().keep_local(best.1);
        Ok(best.1)
    }
}

/// A matrix with nine entries in a row.
fn band<V: Real>() -> Result<Bsr<V>, SparseError> {
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for i in 0..ROWS {
        indices.extend((i.saturating_sub(BAND)..ROWS.min(i + BAND + 1)).map(|j| j as u32));
        offsets.push(indices.len());
    }
    let values = vec![V::one(); indices.len()];
    Bsr::new(Arc::new(Pattern::new(ROWS, offsets, indices)?), (1, 1), values)
}
