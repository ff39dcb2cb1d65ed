//! What is taken of a device, before anything is set up.

use coarsen_core::Real;
use coarsen_schwarz::{Schwarz, Storage};
use coarsen_sparse::Bsr;

use crate::{DeviceMatrix, Format, OpenCl};

/// Rows and columns of a tile of a packed inverse.
const TILE: usize = 8;

/// Numbers of the lists of a node: order, parent, children, ranges, offsets, what it gathers, marks.
const LISTS: usize = 10;

impl<V: Real, S: Real> OpenCl<V, S> {
    /// Bytes that a matrix takes here, in the layout that [`Backend::matrix`](coarsen_backend::Backend::matrix) chooses. *Cost* one pass over its rows.
    pub fn matrix_bytes<T: Real>(&self, a: &Bsr<T>) -> u64 {
        let format = Format::suiting(a.pattern(), self.device());
        DeviceMatrix::<V, S>::bytes(a.pattern(), a.block(), format) as u64
    }

    /// Bytes that multilevel domains of `a` take here, of [`DeviceSchwarz`](crate::DeviceSchwarz) or of [`Schwarz`], which takes less: for
    /// [`check_room`](Self::check_room), before a setup.
    ///
    /// Domains are taken for full: every `domain` nodes of b unknowns have a packed inverse of t (t + 1) / 2 tiles of 64 values, t = ⌈`domain` · b / 8⌉;
    /// coarser levels are a geometric series. Where the graph falls into small parts there are more domains, which are smaller. *Cost* as
    /// [`matrix_bytes`](Self::matrix_bytes).
    pub fn domain_bytes<T: Real>(&self, recipe: &Schwarz, a: &Bsr<T>) -> u64 {
        let (nodes, block, domain) = (a.pattern().rows(), a.block().0, recipe.domain.max(2));
        let tiles = (domain * block).div_ceil(TILE);
        let stored = match recipe.storage {
            Storage::Single => size_of::<f32>(),
            Storage::Double => size_of::<f64>(),
        };
        let inverse = tiles * (tiles + 1) / 2 * TILE * TILE * stored;
        let node = block * block * size_of::<f64>() + (LISTS + 2 * block) * size_of::<u32>();
        let couplings = a.pattern().len() * size_of::<[u32; 2]>();
        // The levels above the finest have a share of 1 / (domain - 1) of its nodes.
        let finest = nodes.div_ceil(domain) * inverse + nodes * node;
        let all = finest + finest / (domain - 1) + inverse;
        self.matrix_bytes(a) + (all + couplings) as u64
    }
}
