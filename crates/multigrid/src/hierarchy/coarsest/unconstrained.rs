//! The rigid motions of unconstrained components, as the kernel of a singular matrix.
//!
//! | symbol | what |
//! |---|---|
//! | K | near-kernel of the level; without one, rigid-body modes or constants |
//! | Q | K, orthonormal on each connected component of A |
//! | Z | the motions q = Q v of single components with qᵀ A q = 0 up to round-off, orthonormal |
//! | E | pinned unknowns: as many per component as it has motions, which are independent there |
//!
//! If A is positive semidefinite and Z spans its kernel, A⁺ = Π (A + E D Eᵀ)⁻¹ Π with Π = I − Z Zᵀ and any diagonal
//! D > 0: x = (A + E D Eᵀ)⁻¹ b with Zᵀ b = 0 has (Eᵀ Z)ᵀ D Eᵀ x = Zᵀ b = 0, and Eᵀ Z is regular, so Eᵀ x = 0 and
//! A x = b. The pattern of A stays, and its factor is as sparse as that of a regular matrix.
//!
//! *Reference* Bochev & Lehoucq 2005, "On the finite element solution of the pure Neumann problem", SIAM Rev. 47(1);
//! Farhat & Géradin 1998, "On the general solution by a direct method of a large-scale singular system of linear
//! equations: application to the analysis of floating structures", Int. J. Numer. Meth. Engng. 41, for bodies.

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_core::small_dense::diagonalise;
use coarsen_sparse::{Bsr, NearKernel, union_find};

use crate::Grid;

/// A motion has no energy if qᵀ A q is at most this fraction of the largest diagonal entry of its component.
const ROUND_OFF: f64 = 1e-12;

/// A column of K is spanned by the others on a component if at most this fraction of its length is left.
const SPANNED: f64 = 1e-10;

/// Z, and the memory in which it is computed.
#[derive(Default)]
pub(super) struct Motions {
    parts: Parts,
    /// Z by rows of κ numbers: the motions of the component of the row, then zeros.
    z: Vec<f64>,
    /// The number of motions of each component.
    counts: Vec<usize>,
    /// E with D.
    pins: Vec<(u32, f64)>,
    /// Modes for a level without a near-kernel.
    own: Option<NearKernel>,
    sums: Vec<f64>,
    /// The largest diagonal entry of each component.
    largest: Vec<f64>,
    /// A Q, then Qᵀ A Q of each component, then eigenvectors or the pinned rows of Z.
    product: Vec<f64>,
    energy: Vec<f64>,
    vectors: Vec<f64>,
    row: Vec<f64>,
    best: Vec<(f64, u32)>,
}

/// The connected components.
#[derive(Default)]
struct Parts {
    /// The component of each node.
    of: Vec<u32>,
    count: usize,
    /// The numbers of unknowns of a node and of columns of K.
    block: usize,
    columns: usize,
}

impl Parts {
    /// The component of scalar unknown i.
    fn of(&self, i: usize) -> usize {
        self.of[i / self.block] as usize
    }

    /// Numbers the components of the nodes that nonzero blocks connect.
    fn split<T: Real>(&mut self, a: &Bsr<T>) {
        let (of, nodes) = (&mut self.of, a.pattern().rows() as u32);
        of.clear();
        of.extend(0..nodes);
        for i in 0..nodes {
            for (j, _) in a.row(i as usize).filter(|(_, block)| block.iter().any(|v| !v.is_zero())) {
                union_find::join(of, i, j as u32);
            }
        }
        (self.count, self.block) = (union_find::number(of) as usize, a.block().0);
    }

    /// Column p of `left` times column q of `right`, on each component.
    fn dots(&self, (left, p): (&[f64], usize), (right, q): (&[f64], usize), sums: &mut Vec<f64>) {
        let k = self.columns;
        sums.clear();
        sums.resize(self.count, 0.0);
        for (i, (left, right)) in left.chunks_exact(k).zip(right.chunks_exact(k)).enumerate() {
            sums[self.of(i)] += left[p] * right[q];
        }
    }
}

impl Motions {
    /// The number of motions of all components.
    pub(super) fn count(&self) -> usize {
        self.pins.len()
    }

    /// Adds D at the pinned unknowns.
    pub(super) fn pin(&self, a: &mut Bsr<f64>) {
        let (b, pattern) = (self.parts.block, a.pattern().clone());
        for &(i, d) in &self.pins {
            let (node, at) = (i as usize / b, i as usize % b);
            if let Some(block) = pattern.find(node, node) {
                a.values_mut()[block * b * b + at * (b + 1)] += d;
            }
        }
    }

    /// v ← Π v.
    pub(super) fn project<V: Real>(&mut self, v: &mut [V]) {
        if self.pins.is_empty() {
            return;
        }
        let Self { parts, z, sums, .. } = self;
        let k = parts.columns;
        sums.clear();
        sums.resize(parts.count * k, 0.0);
        for (i, (v, z)) in v.iter().zip(z.chunks_exact(k)).enumerate() {
            let sums = &mut sums[parts.of(i) * k..][..k];
            sums.iter_mut().zip(z).for_each(|(sum, z)| *sum += z * v.as_f64());
        }
        for (i, (v, z)) in v.iter_mut().zip(z.chunks_exact(k)).enumerate() {
            let sums = &sums[parts.of(i) * k..][..k];
            *v = V::from_f64(v.as_f64() - sums.iter().zip(z).map(|(sum, z)| sum * z).sum::<f64>());
        }
    }

    /// Finds the motions of a symmetric A; allocates only where they need more memory than all before.
    pub(super) fn find<T: Real>(&mut self, grid: &Grid<'_, T>) -> Result<(), SetupError> {
        let (a, b) = (grid.a, grid.a.block().0);
        self.parts.split(a);
        let kernel = match (grid.near_kernel, grid.positions) {
            (Some(given), _) => given,
            (None, points) => {
                let own = match &mut self.own {
                    Some(own) => own,
                    none => none.insert(NearKernel::constants(0, 1)?),
                };
                match points.filter(|_| grid.depth == 0 && (b == 2 || b == 3)) {
                    Some(points) => own.set_rigid_body_modes(points, b)?,
                    None => own.set_constants(a.shape().0, b)?,
                }
                own
            }
        };
        self.parts.columns = kernel.vectors();
        self.z.clear();
        self.z.extend_from_slice(kernel.values());
        self.counts.clear();
        self.counts.resize(self.parts.count, 0);
        self.pins.clear();
        if self.parts.columns > 0 {
            self.orthonormalise();
            self.select(a);
            self.choose_pins(a);
        }
        Ok(())
    }

    /// Q from K. Columns that others span on a component become zero there.
    fn orthonormalise(&mut self) {
        let Self { parts, z, sums, largest: before, .. } = self;
        let k = parts.columns;
        for c in 0..k {
            parts.dots((z, c), (z, c), before);
            for p in (0..c).chain(0..c) {
                parts.dots((z, p), (z, c), sums);
                for (i, row) in z.chunks_exact_mut(k).enumerate() {
                    row[c] -= sums[parts.of(i)] * row[p];
                }
            }
            parts.dots((z, c), (z, c), sums);
            for (i, row) in z.chunks_exact_mut(k).enumerate() {
                let (left, before) = (sums[parts.of(i)], before[parts.of(i)]);
                row[c] = if left > SPANNED * SPANNED * before { row[c] / left.sqrt() } else { 0.0 };
            }
        }
    }

    /// Z from Q: the eigenvectors of Qᵀ A Q without energy.
    fn select<T: Real>(&mut self, a: &Bsr<T>) {
        let Self { parts, z, counts, sums, largest, product, energy, vectors, row, .. } = self;
        let (k, b) = (parts.columns, parts.block);
        largest.clear();
        largest.resize(parts.count, 0.0);
        for i in 0..a.pattern().rows() {
            let of = parts.of[i] as usize;
            for d in a.pattern().find(i, i).into_iter().flat_map(|at| a.value(at).iter().step_by(b + 1)) {
                largest[of] = largest[of].max(d.as_f64().abs());
            }
        }
        product.clear();
        product.resize(z.len(), 0.0);
        a.apply_columns(k, z, product);
        energy.clear();
        energy.resize(parts.count * k * k, 0.0);
        for (p, q) in (0..k).flat_map(|p| (0..=p).map(move |q| (p, q))) {
            parts.dots((z, p), (product, q), sums);
            for (energy, &sum) in energy.chunks_exact_mut(k * k).zip(&*sums) {
                (energy[p * k + q], energy[q * k + p]) = (sum, sum);
            }
        }
        for p in 0..k {
            parts.dots((z, p), (z, p), sums);
            for (energy, _) in energy.chunks_exact_mut(k * k).zip(&*sums).filter(|(_, length)| **length < 0.5)
            {
                energy[p * (k + 1)] = f64::INFINITY; // no motion; its row and column are zero
            }
        }
        vectors.clear();
        vectors.resize(parts.count * k * k, 0.0);
        let tolerance = ROUND_OFF.max(64.0 * T::EPSILON.as_f64());
        let matrices = energy.chunks_exact_mut(k * k).zip(vectors.chunks_exact_mut(k * k));
        for ((energy, vectors), (count, largest)) in matrices.zip(counts.iter_mut().zip(&*largest)) {
            diagonalise(energy, vectors, k);
            for e in 0..k {
                if energy[e * (k + 1)] <= tolerance * largest {
                    (0..k).for_each(|r| vectors.swap(r * k + e, r * k + *count));
                    energy.swap(e * (k + 1), *count * (k + 1));
                    *count += 1;
                }
            }
        }
        for (i, z) in z.chunks_exact_mut(k).enumerate() {
            let (c, vectors) = (parts.of(i), &vectors[parts.of(i) * k * k..]);
            row.clear();
            row.extend_from_slice(z);
            for (m, z) in z.iter_mut().enumerate() {
                let motion = row.iter().enumerate().map(|(r, q)| q * vectors[r * k + m]);
                *z = if m < counts[c] { motion.sum() } else { 0.0 };
            }
        }
    }

    /// Chooses E: one unknown of each component after the other, in which the motions not yet pinned are largest.
    fn choose_pins<T: Real>(&mut self, a: &Bsr<T>) {
        let Self { parts, z, counts, pins, largest, vectors, row, best, .. } = self;
        let (k, b) = (parts.columns, parts.block);
        for m in 0..counts.iter().max().copied().unwrap_or(0) {
            best.clear();
            best.resize(parts.count, (0.0, 0));
            for (i, z) in z.chunks_exact(k).enumerate().filter(|(i, _)| m < counts[parts.of(*i)]) {
                let c = parts.of(i);
                let left = unpinned(z, &vectors[c * k * k..][..m * k], row);
                if left > best[c].0 {
                    best[c] = (left, i as u32);
                }
            }
            for (c, &(left, i)) in best.iter().enumerate().filter(|(c, _)| m < counts[*c]) {
                let at = i as usize;
                unpinned(&z[at * k..(at + 1) * k], &vectors[c * k * k..][..m * k], row);
                let pinned = &mut vectors[c * k * k + m * k..][..k];
                pinned.iter_mut().zip(&*row).for_each(|(to, v)| *to = v / left.sqrt());
                let own =
                    a.pattern().find(at / b, at / b).map_or(0.0, |d| a.value(d)[at % b * (b + 1)].as_f64());
                let d = [own, largest[c]].into_iter().find(|d| *d > 0.0);
                pins.push((i, d.unwrap_or(1.0)));
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let Self { parts, z, counts, pins, own, sums, largest, product, energy, vectors, row, best } = self;
        let numbers = [z, sums, largest, product, energy, vectors, row];
        size_of_val(&parts.of[..])
            + size_of_val(&counts[..])
            + size_of_val(&pins[..])
            + size_of_val(&best[..])
            + own.as_ref().map_or(0, |own| size_of_val(own.values()))
            + numbers.iter().map(|v| size_of_val(&v[..])).sum::<usize>()
    }
}

/// The part of a row of Z orthogonal to the pinned rows, in `row`, and its squared length.
fn unpinned(z: &[f64], pinned: &[f64], row: &mut Vec<f64>) -> f64 {
    row.clear();
    row.extend_from_slice(z);
    for pinned in pinned.chunks_exact(z.len()) {
        let share: f64 = pinned.iter().zip(&*row).map(|(p, v)| p * v).sum();
        row.iter_mut().zip(pinned).for_each(|(v, p)| *v -= share * p);
    }
    row.iter().map(|v| v * v).sum()
}
