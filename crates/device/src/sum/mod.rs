//! A matrix of a backend plus a small, changing set of blocks.

mod contacts;

use coarsen_core::{Error, Real};

use crate::error::same_length;
use crate::matrix::{self, Operand};
use crate::{DeviceBlocks, DeviceMatrix, DeviceVector};

pub use contacts::DeviceContacts;

/// A + C in device memory: the counterpart of [`Sum`](coarsen_sparse::Sum).
///
/// An item computes a block row of A and then the contact blocks of that row, which are stored row after row.
/// A product is one pass and one launch, and every run gives the same bits. For a row without contact only a
/// pointer is read. *Use* if contact changes so often that a new matrix for each pattern would cost more.
/// Gauss-Seidel needs row sets of the merged pattern: use [`Sum::merge`](coarsen_sparse::Sum::merge).
/// *Reference* Wu et al. 2022, §4.2; Li et al. 2020, "P-Cloth", §3.2.
#[derive(Debug)]
pub struct DeviceSum<'a, V: Real, S: Real = V> {
    elastic: &'a DeviceMatrix<V, S>,
    contact: &'a DeviceContacts<V, S>,
    module: usize,
}

impl<'a, V: Real, S: Real> DeviceSum<'a, V, S> {
    /// Returns the sum of two parts of one backend. The first call compiles the kernels; later calls cost
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Shape`] unless A is square with square blocks and C has its number of nodes and block size;
    /// [`Error::Build`] of the driver.
    pub fn new(elastic: &'a DeviceMatrix<V, S>, contact: &'a DeviceContacts<V, S>) -> Result<Self, Error> {
        let (pattern, block) = (elastic.pattern(), elastic.block());
        same_length("sum, block columns of the elastic matrix", pattern.rows(), pattern.columns())?;
        same_length("sum, columns of an elastic block", block.0, block.1)?;
        same_length("sum, nodes of the contact set", pattern.rows(), contact.nodes())?;
        same_length("sum, block size of the contact set", block.0, contact.block())?;
        elastic.backend().assert_same(&contact.backend);
        let parts = matrix::Parts::WithContact;
        let (slices, ranges) = ((elastic.slice(), elastic.items_per_row()), elastic.ranges().len());
        let module = matrix::module::<V, S>(&mut elastic.backend().queue(), block, slices, ranges, parts)?;
        Ok(Self { elastic, contact, module })
    }

    /// Returns A.
    pub(crate) fn elastic(&self) -> &'a DeviceMatrix<V, S> {
        self.elastic
    }

    /// Returns C.
    pub(crate) fn contact(&self) -> &'a DeviceContacts<V, S> {
        self.contact
    }

    /// Computes y = a (A + C) x + b y; if b = 0, the old y is not read.
    pub fn apply_add(&self, a: V, x: &DeviceVector<V>, b: V, y: &mut DeviceVector<V>) {
        self.operand().apply_add(a, x, b, y);
    }

    /// One step of a relaxation in which all rows are updated at the same time: s ← β s + ω D (b − (A + C)
    /// x), y ← x + s, in one pass. If β = 0, the old s is not read.
    ///
    /// *Panics* if D has another size; [`DeviceJacobi`](crate::DeviceJacobi) computes D of the sum.
    #[allow(clippy::too_many_arguments)] // the letters of the formula
    pub fn relax_into(
        &self,
        d: &DeviceBlocks<V, S>,
        omega: V,
        beta: V,
        b: &DeviceVector<V>,
        x: &DeviceVector<V>,
        s: &mut DeviceVector<V>,
        y: &mut DeviceVector<V>,
    ) {
        self.operand().relax_into(d, [omega, beta], b, x, s, y);
    }

    pub(crate) fn operand(&self) -> Operand<'_, V, S> {
        self.elastic.operand().with(self.module, self.contact.args())
    }
}
