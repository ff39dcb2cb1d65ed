//! The operations of multilevel domains that a backend implements.
//!
//! A backend implements [`SchwarzBackend`], and [`Subdomains`](crate::Subdomains) uses only this trait. A device
//! keeps the lists of the [`Plan`] and the packed inverses in its memory, and uses one work group per domain. The
//! group gathers and sums for the restriction, multiplies by the packed inverse in local memory, and scatters for
//! the prolongation. No step needs atomic operations, because a node is in only one domain.

use std::sync::Arc;

use coarsen_backend::Backend;
use coarsen_core::Error;

use crate::options::Storage;
use crate::plan::Plan;

/// The values of packed inverses, in the precision of the parameters.
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

/// The part of [`Inverses`] that has changed.
#[derive(Clone, Copy, Debug)]
pub enum Changed<'a> {
    /// All values.
    All,
    /// The inverses of these domains of each level, in increasing order, and of nodes in no domain.
    Domains(&'a [Vec<u32>]),
    /// The weights of the levels.
    Weights,
}

/// The solver of the coarsest level, from its residual to its correction.
pub type Top<'a, R> = dyn FnMut(&Vec<R>, &mut Vec<R>) + 'a;

/// A backend that can hold multilevel domains.
pub trait SchwarzBackend: Backend {
    /// Multilevel domains of this backend.
    type Domains: Send;

    /// Copies inverses to the backend.
    ///
    /// # Errors
    /// [`Error::Device`] if the memory cannot be allocated.
    fn domains(&self, plan: &Arc<Plan>, inverses: Inverses) -> Result<Self::Domains, Error>;

    /// Returns the inverses, on a device its copy on the host. [`upload`](Self::upload) follows their changes.
    fn inverses<'a>(&self, domains: &'a mut Self::Domains) -> &'a mut Inverses;

    /// Copies changed inverses to a device.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn upload(&self, domains: &mut Self::Domains, changed: Changed<'_>) -> Result<(), Error> {
        let _ = (domains, changed);
        Ok(())
    }

    /// Computes z = Σ_l w_l C_lᵀ (Σ_d S_dᵀ A_d⁻¹ S_d) C_l r + C_tᵀ top(C_t r) over `levels`, and applies the
    /// diagonal inverses of nodes in no domain.
    ///
    /// C_l sums the values of the nodes of a supernode. `top` is called only if the plan has a level that is
    /// solved as one system. *Cost* one pass over the inverses, two passes over r, one over z.
    fn apply_domains(
        &self,
        domains: &mut Self::Domains,
        r: &Self::Vector,
        top: &mut Top<'_, Self::Real>,
        z: &mut Self::Vector,
    );

    /// Sums r over the domains of the finest level, domain by domain. The caller has the entries on the host.
    ///
    /// *Use* for coarser levels that are elsewhere, such as over ranks. *Cost* one pass over r; a device synchronises once. The
    /// sums are NaN if the backend has failed.
    fn restrict(&self, domains: &mut Self::Domains, r: &Self::Vector, sums: &mut [Self::Real]);

    /// Adds the correction of each domain of the finest level to z at its nodes; the transpose of
    /// [`restrict`](Self::restrict).
    fn prolong(&self, domains: &mut Self::Domains, corrections: &[Self::Real], z: &mut Self::Vector);
}
