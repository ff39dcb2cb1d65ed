//! Matrices whose block rows are divided among ranks, and their products.
//!
//! | symbol | here | |
//! |---|---|---|
//! | n | `partition.comm().size()` | number of ranks |
//! | A_ij, v_j | `Parts`, sub-vectors | blocks of this rank i, and the sub-vector of rank j |
//! | C_j, T_j | | the times of A_ij v_j and of receiving v_j |
//! | S_j | | the time at which A_ij v_j is done |
//!
//! | [`Spmv`] | messages | time | bits |
//! |---|---|---|---|
//! | `Blocking` | whole sub-vectors | S_j = Σ T + Σ C, eq. 6 | depend on the partition |
//! | `Pipelined` | whole sub-vectors | S_j = max(S_{j−1}, Σ T) + C_j, eq. 7 | depend on the partition and the schedule |
//! | `Halo` | the entries that neighbours need | eq. 7 with short T | depend on the partition |
//! | `Reproducible` | as `Halo` | eq. 6 with short T | the same for any number of ranks |
//!
//! Equation numbers refer to Li et al. 2020, §3.1.
//!
//! | file | what |
//! |---|---|
//! | `mod` | the matrix and its modes |
//! | `product` | y = A x, y + A x, b − A x and xᵀA x in each mode |
//! | `relax` | a step of relaxation in the pass of a product |
//! | [`rows`](GlobalRows) | the rows of a rank with global columns |
//! | `split` | local matrices, ghosts |
//! | [`border`](Border) | two parts and their messages, for products on a device |
//! | `pipeline` | the exchange of whole sub-vectors along a schedule |
//! | `halo` | halo lists and their exchange |
//! | `chunks` | products by chunks of rows |
//! | `collected` | the rows of all ranks on one rank |

mod border;
mod chunks;
mod collected;
mod halo;
mod pipeline;
mod product;
mod relax;
mod rows;
mod split;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern, SparseError};

use crate::agree::agree;
use crate::communicator::check_equal;
use crate::{Communicator, DistError, Partition, Schedule};
use halo::Halo;
use pipeline::Queues;
use split::{Ghosts, Merged, Parts};

pub use border::{Border, BorderMessages};
pub use rows::GlobalRows;

/// How a distributed matrix is multiplied with a vector.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Spmv {
    /// Every rank waits for all sub-vectors and then multiplies: the baseline of eq. 6.
    Blocking(Schedule),
    /// Every rank multiplies with each sub-vector as it arrives: eq. 5 and 7. *Use* if most entries of x are
    /// needed everywhere, or if the halo lists change in every product.
    Pipelined(Schedule),
    /// Only the entries in halo lists are sent. The diagonal part is multiplied meanwhile, then the part of
    /// each neighbour. The default.
    #[default]
    Halo,
    /// As `Halo`, but every row is summed in the global order of its columns, after all ghosts have arrived.
    /// Products have the same bits at any number of ranks, and the bits of the same matrix on one rank.
    Reproducible,
}

impl Spmv {
    /// The mode and its schedule as bytes, which ranks compare.
    fn bytes(&self) -> Vec<u8> {
        let (mode, schedule) = match self {
            Self::Blocking(schedule) => (0, Some(schedule)),
            Self::Pipelined(schedule) => (1, Some(schedule)),
            Self::Halo => (2, None),
            Self::Reproducible => (3, None),
        };
        let mut bytes = vec![mode];
        if let Some(schedule) = schedule {
            for rank in 0..schedule.ranks() {
                for node in schedule.queue(rank) {
                    bytes.extend((node.peer as u64).to_le_bytes());
                    bytes.extend((node.vector as u64).to_le_bytes());
                }
            }
        }
        bytes
    }
}

enum Local<T> {
    Merged(Merged<T>),
    Parts(Parts<T>),
}

impl<T: Real> Local<T> {
    fn new(
        merged: bool,
        own: &GlobalRows<T>,
        ghosts: &Ghosts,
        range: Range<u64>,
    ) -> Result<Self, SparseError> {
        match merged {
            true => Merged::new(own, ghosts, range).map(Self::Merged),
            false => Parts::new(own, ghosts, range).map(Self::Parts),
        }
    }

    /// The number of stored scalars in own columns, or in all columns if they are one matrix.
    fn nnz(&self) -> usize {
        match self {
            Self::Parts(parts) => parts.own.nnz(),
            Self::Merged(merged) => merged.all.nnz(),
        }
    }

    /// The number of leaves of a product with its sums.
    fn leaves(&self) -> usize {
        match self {
            Self::Merged(_) => 0,
            Self::Parts(parts) => chunks::leaves(&parts.own),
        }
    }

    fn has_pattern_of(&self, other: &Self) -> bool {
        let same = |a: &Bsr<T>, b: &Bsr<T>| Pattern::same(a.pattern(), b.pattern());
        match (self, other) {
            (Self::Merged(a), Self::Merged(b)) => same(&a.all, &b.all),
            (Self::Parts(a), Self::Parts(b)) => {
                same(&a.own, &b.own) && a.others.iter().zip(&b.others).all(|(a, b)| a.has_pattern_of(b))
            }
            _ => false,
        }
    }
}

/// The error for rows whose messages or lists are others.
fn other_pattern() -> DistError {
    let error = coarsen_core::Error::Pattern { what: "the rows of a distributed matrix" };
    DistError::Setup(error.into())
}

enum Exchange {
    Whole(Schedule),
    Halo(Halo),
}

/// Memory of products; only the ghosts keep their values.
struct Scratch<T, R> {
    ghosts: Vec<T>,
    all: Vec<T>,
    requests: Vec<R>,
    queues: Queues<R>,
    /// Σ xᵢyᵢ and Σ |xᵢyᵢ| of each leaf of rows.
    sums: Vec<[f64; 2]>,
}

/// The block rows of one rank of a matrix.
///
/// If the ranks cannot communicate, products are NaN, and `sync` of the vector returns the error.
///
/// *Memory* the rows of this rank, the ghosts, and the halo lists; in the modes with whole sub-vectors all
/// sub-vectors during a product.
///
/// ```
/// use coarsen_core::{LinearOperator, Vector};
/// use coarsen_distributed::{DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv};
/// let partition = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
/// let rows = GlobalRows::new(0, (1, 1), vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 1.0, 3.0])?;
/// let a = DistMatrix::new(&partition, &partition, &rows, Spmv::default())?;
/// let (x, mut y) = (partition.vector(vec![1.0, 1.0])?, partition.vector(vec![0.0; 2])?);
/// a.apply(&x, &mut y);
/// assert_eq!(y.own(), [3.0, 3.0]);
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub struct DistMatrix<C: Communicator, T = f64> {
    rows: Arc<Partition<C>>,
    columns: Arc<Partition<C>>,
    ghosts: Ghosts,
    local: Local<T>,
    exchange: Exchange,
    scratch: RefCell<Scratch<T, C::Request>>,
}

impl<C: Communicator, T: Real> DistMatrix<C, T> {
    /// A matrix from the rows of each rank. Products take vectors of the partition `columns` to vectors of
    /// the partition `rows`. All ranks call it.
    ///
    /// # Errors
    /// On every rank if the rows or columns of any rank do not fit ([`DistError::Elsewhere`] on the other
    /// ranks): [`DistError::Communicators`], [`DistError::Row`],
    /// [`DistError::Length`] for another block size, [`DistError::Column`], [`DistError::Ranks`] for a
    /// schedule of another number of ranks, [`CommError::Disagree`](crate::CommError::Disagree) if ranks pass different modes or schedules.
    /// Also errors of communication.
    pub fn new(
        rows: &Arc<Partition<C>>,
        columns: &Arc<Partition<C>>,
        own: &GlobalRows<T>,
        mode: Spmv,
    ) -> Result<Self, DistError> {
        let comm = rows.comm();
        check_equal(comm, "the mode of products", &mode.bytes())?;
        let checked = check(rows, columns, own, &mode);
        agree(comm, checked)?;
        let ghosts = Ghosts::of(own, columns.layout(), columns.rank());
        let range = columns.layout().range(columns.rank());
        let merged = matches!(mode, Spmv::Blocking(_) | Spmv::Reproducible);
        let local = agree(comm, Local::new(merged, own, &ghosts, range).map_err(DistError::from))?;
        let exchange = match mode {
            Spmv::Blocking(schedule) | Spmv::Pipelined(schedule) => {
                pipeline::reserve::<C, T>(columns, &schedule);
                Exchange::Whole(schedule)
            }
            Spmv::Halo | Spmv::Reproducible => Exchange::Halo(Halo::new(columns, &ghosts)?),
        };
        let scratch = Scratch {
            ghosts: vec![T::zero(); ghosts.columns.len() * own.block().1],
            all: Vec::new(),
            requests: Vec::new(),
            queues: Queues::default(),
            sums: Vec::with_capacity(local.leaves()),
        };
        let (rows, columns, scratch) = (rows.clone(), columns.clone(), RefCell::new(scratch));
        Ok(Self { rows, columns, ghosts, local, exchange, scratch })
    }

    /// Replaces the values; halo lists are kept. All ranks call it.
    ///
    /// # Errors
    /// On every rank if the rows of any rank do not fit, or have other columns of other ranks: [`renew`](Self::renew) takes
    /// those. The old values are then kept.
    pub fn set_values(&mut self, own: &GlobalRows<T>) -> Result<(), DistError> {
        let local = self.local_of(own);
        self.local = agree(self.rows.comm(), local)?;
        Ok(())
    }

    /// Replaces the rows, which may have any columns. Halo lists that stay are not sent again. All ranks call it.
    ///
    /// *Use* for a pattern that changes at a few places, such as with contact that comes and goes. *Cost* the local
    /// matrices, two gathers, of which one has two numbers for each changed list, and a message for each changed
    /// list. [`new`](Self::new) has two gathers more, and sends all lists. *Memory* the old and the new local matrices
    /// during the call.
    ///
    /// ```
    /// use coarsen_distributed::{DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv};
    /// let partition = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
    /// let rows = GlobalRows::new(0, (1, 1), vec![0, 1, 2], vec![0, 1], vec![2.0, 3.0])?;
    /// let mut a = DistMatrix::new(&partition, &partition, &rows, Spmv::default())?;
    /// a.renew(&GlobalRows::new(0, (1, 1), vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 1.0, 3.0])?)?;
    /// # Ok::<(), coarsen_distributed::DistError>(())
    /// ```
    ///
    /// # Errors
    /// On every rank if the rows of any rank do not fit; the old rows are then kept. Also errors of communication.
    pub fn renew(&mut self, own: &GlobalRows<T>) -> Result<(), DistError> {
        let renewed = own.check(&self.rows, &self.columns).and_then(|()| {
            let ghosts = Ghosts::of(own, self.columns.layout(), self.columns.rank());
            Ok((self.local_with(own, &ghosts)?, ghosts))
        });
        let (local, ghosts) = agree(self.rows.comm(), renewed)?;
        if let Exchange::Halo(halo) = &mut self.exchange {
            halo.renew(&self.columns, &self.ghosts, &ghosts)?;
        }
        let scratch = self.scratch.get_mut();
        scratch.ghosts.resize(ghosts.columns.len() * own.block().1, T::zero());
        scratch.sums.clear();
        scratch.sums.reserve(local.leaves());
        (self.local, self.ghosts) = (local, ghosts);
        Ok(())
    }

    /// As [`set_values`](Self::set_values), for the same pattern alone.
    pub(crate) fn set_values_of_pattern(&mut self, own: &GlobalRows<T>) -> Result<(), DistError> {
        let local = self.local_of(own).and_then(|local| match local.has_pattern_of(&self.local) {
            true => Ok(local),
            false => Err(other_pattern()),
        });
        self.local = agree(self.rows.comm(), local)?;
        Ok(())
    }

    /// The local matrices of rows with the same columns of other ranks.
    fn local_of(&self, own: &GlobalRows<T>) -> Result<Local<T>, DistError> {
        own.check(&self.rows, &self.columns)?;
        let ghosts = Ghosts::of(own, self.columns.layout(), self.columns.rank());
        if ghosts.columns != self.ghosts.columns {
            return Err(other_pattern());
        }
        self.local_with(own, &ghosts)
    }

    /// The local matrices of rows with these ghosts, for the same mode.
    fn local_with(&self, own: &GlobalRows<T>, ghosts: &Ghosts) -> Result<Local<T>, DistError> {
        let merged = matches!(self.local, Local::Merged(_));
        let range = self.columns.layout().range(self.columns.rank());
        Local::new(merged, own, ghosts, range).map_err(DistError::from)
    }

    /// The division of the rows among ranks.
    pub fn rows(&self) -> &Arc<Partition<C>> {
        &self.rows
    }

    /// The numbers of rows and columns, in unknowns of all ranks.
    pub fn unknowns(&self) -> [usize; 2] {
        [self.rows.layout().unknowns(), self.columns.layout().unknowns()]
    }

    /// Whether rows and columns are divided in the same way.
    pub(crate) fn is_square(&self) -> bool {
        self.rows.is_same(&self.columns)
    }

    /// The number of bytes that this rank sends in a product.
    pub fn bytes_sent(&self) -> usize {
        let blocks = match &self.exchange {
            Exchange::Whole(schedule) => pipeline::sent(&self.columns, schedule),
            Exchange::Halo(halo) => halo.sent(),
        };
        blocks * self.columns.layout().block() * size_of::<T>()
    }

    /// The number of block columns of other ranks that occur in the rows of this rank.
    pub fn ghosts(&self) -> usize {
        self.ghosts.columns.len()
    }

    /// The diagonal block of row k of this rank; `None` if it is not stored.
    pub(crate) fn diagonal_block(&self, k: usize) -> Option<&[T]> {
        let (a, column) = match &self.local {
            Local::Merged(merged) => (&merged.all, merged.before + k),
            Local::Parts(parts) => (&parts.own, k),
        };
        a.pattern().find(k, column).map(|at| a.value(at))
    }
}

fn check<C: Communicator, T: Real>(
    rows: &Partition<C>,
    columns: &Partition<C>,
    own: &GlobalRows<T>,
    mode: &Spmv,
) -> Result<(), DistError> {
    own.check(rows, columns)?;
    match mode {
        Spmv::Blocking(schedule) | Spmv::Pipelined(schedule) if schedule.ranks() != rows.comm().size() => {
            Err(DistError::Ranks { parts: schedule.ranks(), ranks: rows.comm().size() })
        }
        _ => Ok(()),
    }
}
