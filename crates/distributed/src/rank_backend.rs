//! Where a rank keeps its vectors and matrices: in the memory of the host, or at another backend such as a device.
//!
//! A preconditioner over ranks makes its structure on the host, with [`GlobalRows`], and keeps what an application
//! needs at a [`RankBackend`]. So it has one code for all backends.

use std::mem;
use std::sync::Arc;

use coarsen_backend::{Backend, Cpu, DenseBlocks};
use coarsen_core::{LinearOperator, Vector};

use crate::{
    CommError, Communicator, DistError, DistMatrix, DistVector, GlobalRows, Partition, Redistribution, Spmv,
};

/// A backend of a rank, from which the backend of all ranks is made. *Implement* for a backend whose entries are not in the
/// memory of the host.
///
/// All ranks call the methods with a `Result` together, and return an error together. A backend that fails stops the
/// group, so that no rank waits for its messages.
pub trait RankBackend<C: Communicator>: Clone {
    /// The backend of the entries of one rank.
    type Local: Backend<Real = f64, Stored = f64>;
    /// Vectors over ranks.
    type Vector: Vector<Real = f64>;
    /// Matrices over ranks.
    type Matrix: LinearOperator<Self::Vector>;
    /// Moves of entries between two partitions.
    type Redistribution;

    /// The backend of the entries of this rank.
    fn local(&self) -> &Self::Local;

    /// A vector from the entries of this rank.
    ///
    /// # Errors
    /// [`DistError::Length`] for another number of entries, errors of the backend and of communication.
    fn vector(&self, partition: &Arc<Partition<C>>, own: &[f64]) -> Result<Self::Vector, DistError>;

    /// A vector of zeros.
    ///
    /// # Errors
    /// Those of [`vector`](Self::vector).
    fn zeros(&self, partition: &Arc<Partition<C>>) -> Result<Self::Vector, DistError> {
        self.vector(partition, &vec![0.0; partition.count() * partition.layout().block()])
    }

    /// The division of the entries among ranks.
    fn partition(v: &Self::Vector) -> &Arc<Partition<C>>;

    /// Starts what is enqueued on the backend, without synchronisation.
    fn start(&self) {}

    /// The entries of this rank.
    fn own(v: &Self::Vector) -> &<Self::Local as Backend>::Vector;

    /// Changes the entries of this rank. *Panics* if `with` changes their number.
    fn change(v: &mut Self::Vector, with: impl FnOnce(&mut <Self::Local as Backend>::Vector));

    /// Copies the entries of this rank to the host. *Panics* on another length.
    ///
    /// # Errors
    /// The error with which the group stops if the backend fails.
    fn read(v: &Self::Vector, own: &mut [f64]) -> Result<(), CommError>;

    /// Copies entries of the host to those of this rank. *Panics* on another length.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn write(own: &[f64], v: &mut Self::Vector) -> Result<(), CommError>;

    /// A matrix from the rows of each rank, which takes vectors of the partition `columns` to those of `rows`.
    ///
    /// # Errors
    /// Those of [`DistMatrix::new`], and errors of the backend.
    fn matrix(
        &self,
        rows: &Arc<Partition<C>>,
        columns: &Arc<Partition<C>>,
        own: &GlobalRows<f64>,
    ) -> Result<Self::Matrix, DistError>;

    /// y ← y + A x; `scratch` is any vector of the layout of y.
    fn add_product(a: &Self::Matrix, x: &Self::Vector, y: &mut Self::Vector, scratch: &mut Self::Vector) {
        a.apply(x, scratch);
        y.axpy(&y.scalar(1.0), scratch);
    }

    /// One step of a relaxation in which all rows are updated at the same time: s ← β s + ω D (b − A x), x ← x + s. If
    /// β = 0, the old s is not read. `scratch` is any vector of the layout of x.
    ///
    /// *Cost* two more passes over vectors than the product; a backend may do all in one.
    fn relax(
        a: &Self::Matrix,
        d: &<Self::Local as Backend>::Blocks,
        [omega, beta]: [f64; 2],
        b: &Self::Vector,
        x: &mut Self::Vector,
        [s, scratch]: [&mut Self::Vector; 2],
    ) {
        a.residual(b, x, scratch);
        Self::change(s, |s| Self::Local::apply_blocks(d, omega, Self::own(scratch), beta, s));
        x.axpy(&x.scalar(1.0), s);
    }

    /// New values of the same pattern.
    ///
    /// # Errors
    /// On every rank if the rows of any rank do not fit or have another pattern: the old values are then kept. Also errors
    /// of the backend.
    fn set_values(a: &mut Self::Matrix, own: &GlobalRows<f64>) -> Result<(), DistError>;

    /// Moves from the partition `from` to the partition `to`.
    ///
    /// # Errors
    /// Those of [`Redistribution::new`], and errors of the backend.
    fn redistribution(
        &self,
        from: &Arc<Partition<C>>,
        to: &Arc<Partition<C>>,
    ) -> Result<Self::Redistribution, DistError>;

    /// Moves the vector `from`, of the first partition of [`redistribution`](Self::redistribution), to `into`, of the second.
    /// *Panics* on vectors of other partitions.
    ///
    /// # Errors
    /// Errors of communication, also if the backend fails.
    fn forward(
        redistribution: &Self::Redistribution,
        from: &Self::Vector,
        into: &mut Self::Vector,
    ) -> Result<(), CommError>;

    /// The reverse of [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    fn back(
        redistribution: &Self::Redistribution,
        from: &Self::Vector,
        into: &mut Self::Vector,
    ) -> Result<(), CommError>;
}

/// The memory of the host: [`DistVector`] and [`DistMatrix`] with products of [`Spmv::Halo`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Host(Cpu);

impl<C: Communicator> RankBackend<C> for Host {
    type Local = Cpu;
    type Vector = DistVector<C>;
    type Matrix = DistMatrix<C>;
    type Redistribution = Redistribution<C>;

    fn local(&self) -> &Cpu {
        &self.0
    }

    fn vector(&self, partition: &Arc<Partition<C>>, own: &[f64]) -> Result<DistVector<C>, DistError> {
        partition.vector(own.to_vec())
    }

    fn partition(v: &DistVector<C>) -> &Arc<Partition<C>> {
        v.partition()
    }

    fn own(v: &DistVector<C>) -> &Vec<f64> {
        v.vec()
    }

    fn change(v: &mut DistVector<C>, with: impl FnOnce(&mut Vec<f64>)) {
        let expected = v.own().len();
        with(v.vec_mut());
        assert_eq!(v.own().len(), expected, "change: the entries of this rank");
    }

    fn read(v: &DistVector<C>, own: &mut [f64]) -> Result<(), CommError> {
        own.copy_from_slice(v.own());
        Ok(())
    }

    fn write(own: &[f64], v: &mut DistVector<C>) -> Result<(), CommError> {
        v.own_mut().copy_from_slice(own);
        Ok(())
    }

    fn matrix(
        &self,
        rows: &Arc<Partition<C>>,
        columns: &Arc<Partition<C>>,
        own: &GlobalRows<f64>,
    ) -> Result<DistMatrix<C>, DistError> {
        DistMatrix::new(rows, columns, own, Spmv::Halo)
    }

    fn add_product(a: &DistMatrix<C>, x: &DistVector<C>, y: &mut DistVector<C>, _: &mut DistVector<C>) {
        a.add_to(x, y);
    }

    fn relax(
        a: &DistMatrix<C>,
        d: &DenseBlocks<f64>,
        factors: [f64; 2],
        b: &DistVector<C>,
        x: &mut DistVector<C>,
        [s, scratch]: [&mut DistVector<C>; 2],
    ) {
        a.relax_into(d, factors, b, x, s, scratch);
        // The entries are swapped, not the vectors: x keeps its partition, which may be another object than that of `scratch`.
        mem::swap(x.vec_mut(), scratch.vec_mut());
    }

    fn set_values(a: &mut DistMatrix<C>, own: &GlobalRows<f64>) -> Result<(), DistError> {
        a.set_values_of_pattern(own)
    }

    fn redistribution(
        &self,
        from: &Arc<Partition<C>>,
        to: &Arc<Partition<C>>,
    ) -> Result<Redistribution<C>, DistError> {
        Redistribution::new(from, to)
    }

    fn forward(
        redistribution: &Redistribution<C>,
        from: &DistVector<C>,
        into: &mut DistVector<C>,
    ) -> Result<(), CommError> {
        redistribution.forward(from.own(), into.own_mut())
    }

    fn back(
        redistribution: &Redistribution<C>,
        from: &DistVector<C>,
        into: &mut DistVector<C>,
    ) -> Result<(), CommError> {
        redistribution.back(from.own(), into.own_mut())
    }
}
