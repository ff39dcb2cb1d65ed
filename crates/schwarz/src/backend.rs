//! The operations of multilevel domains that a backend implements.
//!
//! A backend implements [`SchwarzBackend::domains`] and returns a type that implements [`Domains`];
//! [`Subdomains`](crate::Subdomains) uses only this trait. A device keeps the lists of the [`Plan`] and the
//! packed inverses in its memory, and uses one work group per domain. The group gathers and sums for the
//! restriction, multiplies by the packed inverse in local memory, and scatters for the prolongation. No step
//! needs atomic operations, because a node is in only one domain.

use std::sync::Arc;

use coarsen_backend::{Backend, SetupError};
use coarsen_core::{Error, Vector};

use crate::options::{Coarse, Storage};
use crate::plan::Plan;

/// The values of packed inverses, in the precision of the recipe.
///
/// A matrix of m rows is cut into tiles of 8 x 8, padded with zeros. Tiles on and below the diagonal are
/// stored by block columns, each tile by columns; diagonal tiles are stored whole. *Memory* 4,992 values for
/// 96 rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Packed {
    /// The values in `f32`, 4 bytes each.
    Single(Vec<f32>),
    /// The values in `f64`, 8 bytes each.
    Double(Vec<f64>),
}

impl Packed {
    /// Returns `count` zeros in the given precision.
    pub(crate) fn zeros(storage: Storage, count: usize) -> Self {
        match storage {
            Storage::Single => Self::Single(vec![0.0; count]),
            Storage::Double => Self::Double(vec![0.0; count]),
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        match self {
            Self::Single(values) => values.len(),
            Self::Double(values) => values.len(),
        }
    }

    /// Returns the size of the values in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Single(values) => size_of_val(&values[..]),
            Self::Double(values) => size_of_val(&values[..]),
        }
    }

    /// Returns value k.
    pub(crate) fn get(&self, k: usize) -> f64 {
        match self {
            Self::Single(values) => f64::from(values[k]),
            Self::Double(values) => values[k],
        }
    }
}

/// All values that an application uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Inverses {
    /// For each level, the inverses of its domains one after the other.
    pub packed: Vec<Packed>,
    /// The inverse diagonal blocks of nodes in no domain, row-major.
    pub left_out: Vec<f64>,
    /// The weight of each level.
    pub weights: Vec<f64>,
}

/// The part of [`Inverses`] that an edit changes.
#[derive(Clone, Copy, Debug)]
pub enum Changed<'a> {
    /// All values.
    All,
    /// The inverses of these domains of each level, in increasing order, and of nodes in no domain.
    Domains(&'a [Vec<u32>]),
    /// The weights of the levels.
    Weights,
}

/// A backend that can hold multilevel domains.
pub trait SchwarzBackend: Backend {
    /// Copies inverses to the backend.
    ///
    /// # Errors
    /// [`Error::Device`] if the memory cannot be allocated.
    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<Box<dyn Domains<Self::Vector>>, Error>;

    /// Returns the solver of the coarsest level on this backend for a recipe with the solver `asked`.
    ///
    /// A remote backend uses domains for [`Coarse::Auto`], because solves with a sparse factor run on the host.
    fn coarse(&self, asked: Coarse) -> Coarse {
        asked
    }
}

/// A change of the inverses.
pub type Change<'a> = &'a mut dyn FnMut(&mut Inverses) -> Result<(), SetupError>;

/// The solver of the coarsest level, from its residual to its correction.
pub type Top<'a, R> = dyn FnMut(&Vec<R>, &mut Vec<R>) + 'a;

/// Multilevel domains on a backend whose vectors are `V`.
pub trait Domains<V: Vector>: Send {
    /// Computes z = Σ_l w_l C_lᵀ (Σ_d S_dᵀ A_d⁻¹ S_d) C_l r + C_tᵀ top(C_t r) over `levels`, and applies the
    /// diagonal inverses of nodes in no domain.
    ///
    /// C_l sums the values of the nodes of a supernode. `top` is called only if the plan has a level that is
    /// solved as one system. *Cost* one pass over the inverses, two passes over r, one over z.
    fn apply(&mut self, r: &V, top: &mut Top<'_, V::Real>, z: &mut V);

    /// Sums r over the domains of the finest level, domain by domain. The caller has the entries on the host.
    ///
    /// *Use* for coarser levels that are elsewhere, such as over ranks. *Cost* one pass over r; a device waits once. The
    /// sums are NaN if the backend has failed.
    fn restrict(&mut self, r: &V, sums: &mut [V::Real]);

    /// Adds the correction of each domain of the finest level to z at its nodes; the transpose of
    /// [`restrict`](Self::restrict).
    fn prolong(&mut self, corrections: &[V::Real], z: &mut V);

    /// Changes a part of the inverses. A device changes its copy on the host and uploads only this part, unless `change`
    /// fails: applications then use the old inverses.
    ///
    /// # Errors
    /// Those of `change`, and [`Error::Device`].
    fn edit(&mut self, changed: Changed<'_>, change: Change<'_>) -> Result<(), SetupError>;
}
