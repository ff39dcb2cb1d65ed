//! Matrices whose block rows are divided among ranks, each of which keeps its rows on a device.
//!
//! | symbol | here | |
//! |---|---|---|
//! | A_ii | `own` | columns of this rank |
//! | A_ij, all j | `ghosts` | columns of other ranks, of the rows at the border |
//! | v_i, v_j | x, `values` | own entries and ghosts |
//!
//! | step of a product | queue of kernels | second queue | host |
//! |---|---|---|---|
//! | 1 | entries at the border are gathered | | |
//! | 2 | A_ii v_i | they come to the host | |
//! | 3 | A_ii v_i goes on | ghosts of each neighbour go to the device | sends, and waits for messages |
//! | 4 | y += A_ij v_j at the border | | |
//!
//! So transfers and messages are hidden behind A_ii v_i, as those of Li et al. 2020, eq. 7, with one product for all ghosts.
//! A processor as a device runs transfers on the cores of the kernels: there A_ii v_i begins when the entries at the border are
//! on the host, else they would come after it.

use std::cell::RefCell;
use std::sync::Arc;

use coarsen_backend::{Backend, Matrix};
use coarsen_core::{LinearOperator, Real, Vector};
use coarsen_device::{DeviceBackend, DeviceBorder, DeviceMatrix, DeviceVector};
use coarsen_distributed::{Border, BorderMessages, Communicator, DistError, GlobalRows, Partition, agree};

use super::{DistDeviceVector, fail, of_device};

/// The block rows of one rank of a matrix, in the memory of a device.
///
/// If the ranks cannot communicate or a device fails, products are NaN, and `sync` of the vector returns the error.
/// Products are those of the CPU to round-off; sums of a row begin with the columns of this rank, as in
/// [`Spmv::Halo`](coarsen_distributed::Spmv::Halo). *Memory* the rows of this rank on host and device. *Cost* of a
/// product: four launches, one synchronisation, and one more for each neighbour.
///
/// ```
/// use coarsen_core::{LinearOperator, Vector};
/// use coarsen_distributed::{GlobalRows, Layout, Partition, SelfComm};
/// use coarsen_distributed_solvers::{DistDeviceMatrix, DistDeviceVector};
/// let Ok(device) = coarsen_opencl::default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let partition = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
/// let rows = GlobalRows::new(0, (1, 1), vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 1.0, 3.0])?;
/// let a = DistDeviceMatrix::new(&device, &partition, &rows)?;
/// let x = DistDeviceVector::new(&partition, &device, &[1.0, 1.0])?;
/// let mut y = x.like()?;
/// a.apply(&x, &mut y);
/// assert_eq!(y.read()?, [3.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DistDeviceMatrix<C: Communicator, T: Real = f64> {
    border: Border<C, T>,
    own: DeviceMatrix<T>,
    ghosts: DeviceMatrix<T>,
    scratch: RefCell<Scratch<C::Request, T>>,
}

/// Memory of products.
struct Scratch<R, T: Real> {
    messages: BorderMessages<R, T>,
    exchange: DeviceBorder<T>,
    outgoing: Vec<T>,
    /// The entries of x of other ranks, and the product with them.
    values: DeviceVector<T>,
    at_border: DeviceVector<T>,
}

impl<C: Communicator, T: Real> DistDeviceMatrix<C, T> {
    /// A square matrix from the rows of each rank, copied to the device of the rank. All ranks call it.
    ///
    /// # Errors
    /// On every rank: those of [`DistMatrix::new`](coarsen_distributed::DistMatrix::new), and errors of a device.
    pub fn new(
        device: &DeviceBackend<T>,
        partition: &Arc<Partition<C>>,
        own: &GlobalRows<T>,
    ) -> Result<Self, DistError> {
        Self::between(device, partition, partition, own)
    }

    /// As [`new`](Self::new), for a matrix that takes vectors of the partition `columns` to vectors of the partition `rows`.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn between(
        device: &DeviceBackend<T>,
        rows: &Arc<Partition<C>>,
        columns: &Arc<Partition<C>>,
        own: &GlobalRows<T>,
    ) -> Result<Self, DistError> {
        let border = Border::new(rows, columns, own)?;
        let sizes = [columns.layout().block(), rows.layout().block()];
        let there = || {
            let parts = (device.matrix(border.own())?, device.matrix(border.ghosts())?);
            let lists = [border.sent(), border.at_border()];
            let exchange = DeviceBorder::new(device, sizes, [columns.count(), rows.count()], lists)?;
            let values = device.zeros(border.ghosts().pattern().columns() * sizes[0])?;
            let at_border = device.zeros(border.at_border().len() * sizes[1])?;
            Ok((parts, exchange, values, at_border))
        };
        let ((own, ghosts), exchange, values, at_border) = agree(rows.comm(), there().map_err(of_device))?;
        let outgoing = vec![T::zero(); border.sent().len() * sizes[0]];
        let messages = BorderMessages::default();
        let scratch = RefCell::new(Scratch { messages, exchange, outgoing, values, at_border });
        Ok(Self { border, own, ghosts, scratch })
    }

    /// Replaces the values; lists and device memory are kept. All ranks call it.
    ///
    /// # Errors
    /// On every rank if the rows of any rank do not fit or have another pattern: the old values are then kept. Also errors
    /// of a device.
    pub fn set_values(&mut self, own: &GlobalRows<T>) -> Result<(), DistError> {
        self.border.set_values(own)?;
        let (border, there) = (&self.border, &mut self.own);
        let done = Matrix::<DeviceBackend<T>>::set_values(there, border.own())
            .and_then(|()| Matrix::<DeviceBackend<T>>::set_values(&mut self.ghosts, border.ghosts()));
        agree(self.border.rows().comm(), done.map_err(of_device))
    }

    /// The division of the rows among ranks.
    pub fn rows(&self) -> &Arc<Partition<C>> {
        self.border.rows()
    }

    /// The division of the columns among ranks.
    pub fn columns(&self) -> &Arc<Partition<C>> {
        self.border.columns()
    }

    /// The columns of this rank, on its device.
    pub fn own(&self) -> &DeviceMatrix<T> {
        &self.own
    }

    /// The number of block columns of other ranks that occur in the rows of this rank.
    pub fn ghosts(&self) -> usize {
        self.border.ghosts().pattern().columns()
    }

    /// The number of bytes that this rank sends in a product.
    pub fn bytes_sent(&self) -> usize {
        self.border.sent().len() * self.border.columns().layout().block() * size_of::<T>()
    }

    fn multiply(&self, x: &DeviceVector<T>, y: &mut DeviceVector<T>) -> Result<(), DistError> {
        let Scratch { messages, exchange, outgoing, values, at_border } = &mut *self.scratch.borrow_mut();
        exchange.begin(x).map_err(of_device)?; // 1
        if x.backend().device().accelerator {
            self.own.apply(x, y); // 2
            exchange.end(outgoing).map_err(of_device)?;
        } else {
            exchange.end(outgoing).map_err(of_device)?;
            self.own.apply(x, y); // 2
            x.backend().start();
        }
        self.border.send(outgoing, messages)?; // 3
        self.border
            .receive(messages, |first, ghosts| exchange.receive(values, first, ghosts).map_err(of_device))?;
        if at_border.size() > 0 {
            self.ghosts.apply(values, at_border); // 4
            exchange.add(at_border, y);
        }
        self.border.worked();
        Ok(())
    }
}

impl<C: Communicator, T: Real> LinearOperator<DistDeviceVector<C, T>> for DistDeviceMatrix<C, T> {
    fn shape(&self) -> (usize, usize) {
        (self.rows().layout().unknowns(), self.border.columns().layout().unknowns())
    }

    fn apply(&self, x: &DistDeviceVector<C, T>, y: &mut DistDeviceVector<C, T>) {
        let fits = x.partition().is_same(self.border.columns()) && y.partition().is_same(self.rows());
        assert!(fits, "apply: vectors of other layouts");
        if let Err(error) = self.multiply(x.own(), y.own_mut()) {
            fail(self.rows().comm(), &error);
            y.fill(T::nan());
        }
    }
}
