//! The best work-group size for a device.
//!
//! Entry-wise kernels and products give the same bits for every work-group size, so the fastest size for the
//! device is used. The group size of sums is fixed, because their bits depend on it.

use std::time::{Duration, Instant};

use coarsen_backend::Backend;
use coarsen_core::{Error, LinearOperator, Real, Vector};
use coarsen_sparse::assembly::from_triplets;
use coarsen_sparse::{Bsr, SparseError};

use crate::DeviceBackend;

/// The number of rows of the test matrix.
const ROWS: usize = 1 << 17;

/// The number of entries on each side of its diagonal.
const BAND: usize = 4;

/// The number of calls of each kernel; the fastest call counts.
const CALLS: usize = 7;

impl<V: Real> DeviceBackend<V> {
    /// Finds the work-group size for which a vector operation and a product together are fastest. The size is
    /// used from now on, stored in the cache for later backends, and returned.
    ///
    /// *Cost* some seconds the first time, most of them in the compiler of the device. *Use* once on a new
    /// device.
    ///
    /// # Errors
    /// [`Error::Memory`] and [`Error::Device`].
    pub fn tune(&self) -> Result<usize, Error> {
        let band = band::<V>().expect("a band is a pattern");
        let (a, x) = (self.matrix(&band)?, self.vector(&[V::one(); ROWS])?);
        let (mut y, half) = (x.like()?, x.scalar(V::from_f64(0.5)));
        let (usual, all) = {
            let program = &self.queue().program;
            (program.local, program.locals())
        };
        let mut best = (Duration::MAX, usual);
        for local in all {
            self.queue().program.local = local;
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

/// Returns a band matrix with nine entries per row.
fn band<V: Real>() -> Result<Bsr<V>, SparseError> {
    let row = |i: usize| (i.saturating_sub(BAND)..ROWS.min(i + BAND + 1)).map(move |j| (i as u32, j as u32));
    let entries: Vec<_> = (0..ROWS).flat_map(row).map(|(i, j)| (i, j, V::one())).collect();
    from_triplets(ROWS, ROWS, &entries)
}
