//! The rows of a rank in two parts, for products that another backend computes.
//!
//! | symbol | here | |
//! |---|---|---|
//! | A_ii | [`Border::own`] | columns of this rank |
//! | A_ij, all j | [`Border::ghosts`] | columns of other ranks, of the rows that have any |
//! | v_j | | the entries of rank j among the ghosts |

use std::sync::Arc;

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern};

use super::halo::Halo;
use super::rows::GlobalRows;
use super::split::{Ghosts, Inside, OffDiagonal};
use super::{check, other_pattern};
use crate::agree::agree;
use crate::{CommError, Communicator, DistError, Partition, Spmv, unpack};

/// The rows of a rank in two parts, and the messages of a product with them.
///
/// *Use* if the parts are multiplied elsewhere than in [`DistMatrix`](crate::DistMatrix), such as on a device: send the
/// entries of [`sent`](Self::sent), multiply with `own`, receive the ghosts, and add the product with `ghosts` to the
/// rows of `at_border`. *Memory* the rows of this rank, and the lists of nodes at its border.
///
/// ```
/// use coarsen_distributed::{Border, GlobalRows, Layout, Partition, SelfComm};
/// let partition = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
/// let rows = GlobalRows::new(0, (1, 1), vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 1.0, 3.0])?;
/// let border = Border::new(&partition, &partition, &rows)?;
/// assert_eq!((border.own().nnz(), border.at_border().len(), border.sent().len()), (3, 0, 0));
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub struct Border<C: Communicator, T = f64> {
    partition: Arc<Partition<C>>,
    columns: Arc<Partition<C>>,
    of_others: Ghosts,
    own: Bsr<T>,
    ghosts: Bsr<T>,
    rows: Vec<u32>,
    sent: Vec<u32>,
    halo: Halo,
}

/// Messages under way, with memory that is used again.
pub struct BorderMessages<R, T> {
    requests: Vec<R>,
    values: Vec<T>,
}

impl<R, T> Default for BorderMessages<R, T> {
    fn default() -> Self {
        Self { requests: Vec::new(), values: Vec::new() }
    }
}

impl<C: Communicator, T: Real> Border<C, T> {
    /// Divides the rows of each rank. All ranks call it.
    ///
    /// # Errors
    /// Those of [`DistMatrix::new`](crate::DistMatrix::new).
    pub fn new(
        rows: &Arc<Partition<C>>,
        columns: &Arc<Partition<C>>,
        own: &GlobalRows<T>,
    ) -> Result<Self, DistError> {
        agree(rows.comm(), check(rows, columns, own, &Spmv::Halo))?;
        let of_others = Ghosts::of(own, columns.layout(), columns.rank());
        let (partition, columns) = (rows.clone(), columns.clone());
        let (own, rows, ghosts) = agree(columns.comm(), divide(&columns, own, &of_others))?;
        let halo = Halo::new(&columns, &of_others)?;
        let sent = halo.sends.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
        Ok(Self { partition, columns, of_others, own, ghosts, rows, sent, halo })
    }

    /// Replaces the values; the lists of nodes are kept. All ranks call it.
    ///
    /// # Errors
    /// Those of [`DistMatrix::set_values`](crate::DistMatrix::set_values), also for another pattern. The old values are then
    /// kept.
    pub fn set_values(&mut self, own: &GlobalRows<T>) -> Result<(), DistError> {
        let renewed = own.check(&self.partition, &self.columns).and_then(|()| {
            let of_others = Ghosts::of(own, self.columns.layout(), self.columns.rank());
            let (own, rows, ghosts) = divide(&self.columns, own, &of_others)?;
            let same = of_others.columns == self.of_others.columns
                && rows == self.rows
                && Pattern::same(own.pattern(), self.own.pattern())
                && Pattern::same(ghosts.pattern(), self.ghosts.pattern());
            if same { Ok((own, ghosts)) } else { Err(other_pattern()) }
        });
        (self.own, self.ghosts) = agree(self.columns.comm(), renewed)?;
        Ok(())
    }

    /// The division of the rows.
    pub fn rows(&self) -> &Arc<Partition<C>> {
        &self.partition
    }

    /// The division of the columns.
    pub fn columns(&self) -> &Arc<Partition<C>> {
        &self.columns
    }

    /// The columns of this rank.
    pub fn own(&self) -> &Bsr<T> {
        &self.own
    }

    /// The columns of other ranks, of the rows of [`at_border`](Self::at_border) alone. Columns are the ghosts, in
    /// their global order.
    pub fn ghosts(&self) -> &Bsr<T> {
        &self.ghosts
    }

    /// The block rows of this rank with columns of other ranks, increasing.
    pub fn at_border(&self) -> &[u32] {
        &self.rows
    }

    /// The block rows of this rank whose entries of x other ranks need, rank by rank.
    pub fn sent(&self) -> &[u32] {
        &self.sent
    }

    /// Sends the entries of x of [`sent`](Self::sent), and makes one receive per neighbour. *Panics* on another length.
    ///
    /// # Errors
    /// Errors of communication.
    pub fn send(&self, entries: &[T], messages: &mut BorderMessages<C::Request, T>) -> Result<(), CommError> {
        let c = self.columns.layout().block();
        assert_eq!(entries.len(), self.sent.len() * c, "the entries that are sent");
        self.halo.begin_gathered(self.columns.comm(), entries, c, &mut messages.requests)
    }

    /// Waits for the entries of each neighbour, and calls `with` on where they begin among the ghosts, in scalars, and on
    /// the entries.
    ///
    /// # Errors
    /// Those of `with`, and errors of communication.
    pub fn receive<E: From<CommError>>(
        &self,
        messages: &mut BorderMessages<C::Request, T>,
        mut with: impl FnMut(usize, &[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (comm, c) = (self.columns.comm(), self.columns.layout().block());
        for ((_, range), request) in self.halo.receives.iter().zip(messages.requests.drain(..)) {
            let data = comm.wait(request)?;
            messages.values.clear();
            messages.values.extend(unpack::<T>(&data));
            comm.recycle(data);
            with(range.start * c, &messages.values)?;
        }
        Ok(())
    }

    /// Tells the communicator that both parts were multiplied; see [`Communicator::worked`].
    pub fn worked(&self) {
        self.columns.comm().worked(self.own.nnz() + self.ghosts.nnz());
    }
}

/// The columns of this rank; the rows with ghosts, and their parts of all owners in one matrix.
fn divide<C: Communicator, T: Real>(
    columns: &Partition<C>,
    own: &GlobalRows<T>,
    ghosts: &Ghosts,
) -> Result<(Bsr<T>, Vec<u32>, Bsr<T>), DistError> {
    let inside = Inside::new(own, columns.layout().range(columns.rank()));
    let joined = OffDiagonal::new(&inside, &inside.border(), &ghosts.columns)?;
    Ok((inside.own()?, joined.rows, joined.a))
}
