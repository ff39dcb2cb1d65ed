//! Block rows that have changed, marked in device memory.

use coarsen_core::{Error, Real};

use crate::error::same_length;
use crate::memory::Buffer;
use crate::queue::{Arg, Items};
use crate::schwarz::kernels::{self, Contact};
use crate::{DeviceBackend, DeviceContacts};

/// The block rows whose domains a patch recomputes.
#[derive(Clone, Copy)]
pub enum Touched<'a, V: Real> {
    /// Rows that the host knows. Their list is uploaded, with a synchronisation.
    Rows(&'a [u32]),
    /// Rows that are marked in device memory. No transfer, no synchronisation.
    Marked(&'a DeviceTouched<V>),
}

/// Marks of block rows in device memory, for [`Touched::Marked`].
///
/// *Use* if contact is assembled on the device: mark the rows of the old set, assemble, mark the rows of the new set,
/// and patch. No number travels to the host. *Not* for rows that the host knows: pass them as
/// [`Touched::Rows`]. *Not* if values of the matrix itself have changed, as
/// after a step of Newton's method: only rows of contact sets can be marked, so take
/// [`update_on_device`](crate::DeviceSubdomains::update_on_device). *Cost* one launch per call. *Memory* 4 bytes per
/// block row.
pub struct DeviceTouched<V: Real> {
    pub(crate) backend: DeviceBackend<V>,
    pub(crate) rows: usize,
    pub(crate) marks: Buffer,
    module: usize,
}

impl<V: Real> DeviceTouched<V> {
    /// Returns `rows` block rows, none of them marked.
    ///
    /// # Errors
    /// [`Error::Memory`] if they do not fit, [`Error::Build`] and [`Error::Device`] of the driver.
    pub fn new<S>(backend: &DeviceBackend<V, S>, rows: usize) -> Result<Self, Error> {
        let backend = backend.plain();
        let mut queue = backend.queue();
        let module = queue.module(&kernels::meet())?;
        let marks = queue.list(&vec![0; rows])?;
        drop(queue);
        Ok(Self { backend, rows, marks, module })
    }

    /// Clears all marks. Does not synchronise.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend has failed.
    pub fn clear(&mut self) -> Result<(), Error> {
        let mut queue = self.backend.queue();
        queue.fill_list(&self.marks, self.rows, 0);
        queue.state()
    }

    /// Marks the rows in which a contact set has a block. Does not synchronise.
    ///
    /// # Errors
    /// [`Error::Shape`] for a set of another number of nodes, [`Error::Device`] if the backend has failed.
    pub fn mark<S: Real>(&mut self, contact: &DeviceContacts<V, S>) -> Result<(), Error> {
        same_length("nodes of a contact set", self.rows, contact.nodes())?;
        self.backend.assert_same(&contact.backend);
        let args = [Arg::Count(self.rows), Arg::Memory(&contact.starts), Arg::Memory(&self.marks)];
        let mut queue = self.backend.queue();
        queue.launch(Contact::Touched.of(self.module), Items::Entries(self.rows), &args);
        queue.state()
    }

    /// Returns the marked rows, in increasing order. Synchronises once.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend has failed.
    pub fn read(&self) -> Result<Vec<u32>, Error> {
        let mut marks = vec![0; self.rows];
        self.backend.queue().read_list(&self.marks, &mut marks)?;
        Ok((0..self.rows as u32).filter(|&i| marks[i as usize] != 0).collect())
    }
}
