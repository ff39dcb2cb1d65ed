//! Estimates of device memory before a setup.

use coarsen_core::Real;
use coarsen_schwarz::Schwarz;
use coarsen_sparse::Bsr;

use crate::schwarz::lists::{SIDE, TILE};
use crate::schwarz::meeting::Meeting;
use crate::schwarz::parameters::stored;
use crate::schwarz::structure::{self, capacities};
use crate::schwarz::{DeviceSchwarz, StructureSource};
use crate::{DeviceBackend, DeviceMatrix, Format};

/// The numbers per node in all lists: order, parent, children, ranges, offsets, gathered blocks, `alone`,
/// marks.
const LISTS: usize = 11;

/// Sizes of lists, in numbers of 4 bytes, if the device chooses the structure.
mod chosen {
    /// Per node: order, parent, position, part, mark, start of its couplings; for a coarse node also the
    /// range of its children (2).
    pub(super) const NODE: usize = 8;
    /// In addition per node of the finest level: `own`, `alone`, `rank`, `tally` (2), `begins` (2), sort key
    /// (2), sort orders (3), digits, sums, `touched`.
    pub(super) const FINEST: usize = 15;
    /// Per domain: range (2), offset, repair, tally, weight (2).
    pub(super) const DOMAIN: usize = 7;
    /// Per block: a slot and a node in each of three lists of couplings (of a level, of the next level, and
    /// inside domains).
    pub(super) const BLOCK: usize = 6;
    /// In bytes: bounding boxes, counts, and the end entries of lists.
    pub(super) const BYTES: usize = 8 << 10;
}

/// Returns the number of values stored for the inverse of a domain of `unknowns` unknowns.
fn values(unknowns: usize) -> usize {
    let tiles = unknowns.div_ceil(SIDE);
    tiles * (tiles + 1) / 2 * TILE
}

impl DeviceSchwarz {
    /// Returns the bytes that a build from `a` allocates on a device, including positions. *Use* with
    /// [`DeviceBackend::check_memory`] before a setup.
    ///
    /// If the device chooses the structure, an average of eight connected parts per domain is assumed; a
    /// build with more parts needs more memory. Otherwise the result is that of [`DeviceBackend::domain_bytes`].
    /// *Cost* as [`DeviceBackend::matrix_bytes`].
    pub fn bytes<T: Real, V: Real, S: Real>(&self, backend: &DeviceBackend<V, S>, a: &Bsr<T>) -> u64 {
        let Schwarz { domain, levels, .. } = self.schwarz;
        if self.structure == StructureSource::Host {
            return backend.domain_bytes(&self.schwarz, a);
        }
        self.bytes_of(
            backend,
            a,
            &capacities(a.pattern().rows(), domain.clamp(2, structure::MOST), levels, &[]),
        )
    }

    /// Returns [`bytes`](Self::bytes) for up to `capacities[k]` nodes on level k.
    pub(super) fn bytes_of<T: Real, V: Real, S: Real>(
        &self,
        backend: &DeviceBackend<V, S>,
        a: &Bsr<T>,
        capacities: &[usize],
    ) -> u64 {
        let Schwarz { domain, storage, .. } = self.schwarz;
        let (nodes, block, domain) = (capacities[0], a.block().0, domain.clamp(2, structure::MOST));
        let all: usize = capacities.iter().sum();
        let domains: usize = capacities.iter().map(|nodes| nodes.div_ceil(domain)).sum();
        let lists = chosen::NODE * all
            + chosen::FINEST * nodes
            + chosen::DOMAIN * domains
            + chosen::BLOCK * a.pattern().len();
        // Per coarse node: a diagonal block and its `sizes`, a residual and a correction.
        let coarse = (all - nodes) * (block * (block + 1) * size_of::<f64>() + 2 * block * size_of::<V>());
        // Without coarse levels, an entry of each domain for those of a caller.
        let below = if capacities.len() == 1 { domains * block * size_of::<V>() } else { 0 };
        let inverses = domains * values(domain * block) * stored(storage).1;
        let positions = 3 * nodes * size_of::<V>();
        let beside = self.beside(block * block * size_of::<S>(), [capacities.len(), nodes, all]);
        let own = lists * size_of::<u32>() + coarse + below + inverses + positions + beside + chosen::BYTES;
        backend.matrix_bytes(a) + own as u64
    }

    /// Returns the bytes of contact beside the matrix, in blocks of `block` bytes, for a number of levels and of nodes,
    /// of the finest and of all levels.
    pub(super) fn beside(&self, block: usize, [levels, fine, all]: [usize; 3]) -> usize {
        if self.contacts == 0 {
            return 0;
        }
        // The couplings of a level and of the next level: a slot and a node each.
        let lists = if self.structure == StructureSource::Device { 16 } else { 0 };
        let sets = self.contacts * (block + 4) + 8 * (fine + 1);
        sets + lists * self.contacts + Meeting::bytes(self.contacts, levels, [fine, all])
    }
}

impl<V: Real, S: Real> DeviceBackend<V, S> {
    /// Returns the bytes that a matrix needs on this device, in the layout that
    /// [`Backend::matrix`](coarsen_backend::Backend::matrix) chooses. *Cost* one pass over its rows.
    pub fn matrix_bytes<T: Real>(&self, a: &Bsr<T>) -> u64 {
        let format = Format::suiting(a.pattern(), self.device());
        DeviceMatrix::<V, S>::bytes(a.pattern(), a.block(), format) as u64
    }

    /// Returns the bytes that multilevel domains of `a` need on this device if the host chooses the
    /// structure. *Use* with [`check_memory`](Self::check_memory) before a setup. The result is for
    /// [`DeviceSchwarz`]; [`Schwarz`] needs less. If the device chooses the structure, use
    /// [`DeviceSchwarz::bytes`] instead.
    ///
    /// Domains are assumed to be full: every `domain` nodes of b unknowns have a packed inverse of t (t + 1)
    /// / 2 tiles of 64 values, with t = ⌈`domain` · b / 8⌉. The sizes of the coarser levels form a geometric
    /// series. A graph with many small components has more, but smaller, domains. *Cost* as
    /// [`matrix_bytes`](Self::matrix_bytes).
    pub fn domain_bytes<T: Real>(&self, schwarz: &Schwarz, a: &Bsr<T>) -> u64 {
        let (nodes, block, domain) = (a.pattern().rows(), a.block().0, schwarz.domain.max(2));
        let inverse = values(domain * block) * stored(schwarz.storage).1 + size_of::<V>();
        let node = block * block * size_of::<f64>() + (LISTS + 2 * block) * size_of::<u32>();
        let couplings = a.pattern().len() * size_of::<[u32; 2]>();
        // The coarser levels together have 1 / (domain - 1) times the nodes of the finest level.
        let finest = nodes.div_ceil(domain) * inverse + nodes * node;
        let all = finest + finest / (domain - 1) + inverse;
        self.matrix_bytes(a) + (all + couplings) as u64
    }
}
