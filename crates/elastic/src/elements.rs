//! Energies that are sums over elements of K nodes.
//!
//! Tetrahedra, springs, triangles and hinges implement [`Element`]. The loops over elements are in `loops`.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_sparse::Pattern;

use crate::loops::Loops;
use crate::nodes::{HELD, Nodes};
use crate::{BodyError, Curvature, ElementKernel, Energy, Potential};

/// The number of elements per task of a parallel loop.
pub(crate) const LEAF: usize = 64;

/// The number of element Hessians that are stored at a time.
pub(crate) const BATCH: usize = 4096;

/// The Hessian ∂²E/∂x_a∂x_b of an element as `h[a][p][b][q]`, for the components p and q of x_a and x_b.
pub type Stiffness<const K: usize> = [[[[f64; 3]; K]; 3]; K];

/// The energy of elements with K nodes. Each function gets the number of an element and the positions of its
/// nodes. The type owns its data or shares it by `Arc`: it is `'static`, so that a static can list its loops.
pub trait Element<const K: usize>: Sync + 'static {
    /// The number of scalar operations per element, used to decide whether threads pay off.
    const WORK: usize;

    /// The energy of an element.
    fn energy(&self, e: usize, x: &[[f64; 3]; K]) -> Energy;

    /// The gradient ∂E/∂x_a.
    fn gradient(&self, e: usize, x: &[[f64; 3]; K]) -> [[f64; 3]; K];

    /// Adds ∂²E/∂x_a∂x_b to `h`, or the approximation that `curvature` selects.
    fn add_hessian(&self, e: usize, x: &[[f64; 3]; K], curvature: Curvature, h: &mut Stiffness<K>);

    /// The largest α for which x + α d is known to be valid; ∞ by default.
    fn max_step(&self, e: usize, x: &[[f64; 3]; K], d: &[[f64; 3]; K]) -> f64 {
        let _ = (e, x, d);
        f64::INFINITY
    }

    /// The characteristic force of a node, a stiffness times an extent. `around` lists the elements at the
    /// node, each with the number of its corner there.
    fn characteristic(&self, around: &mut dyn Iterator<Item = (usize, usize)>) -> f64 {
        let _ = around;
        0.0
    }

    /// Whether [`max_step`](Self::max_step) ever returns a finite bound.
    fn bounds_steps(&self) -> bool {
        false
    }

    /// The source of a device that computes an element, the numbers that it reads for each element, and those for all; `None` if
    /// there is none. See [`ElementKernel`].
    fn kernel(&self) -> Option<(&'static str, Vec<f64>, Vec<f64>)> {
        None
    }

    /// The loops over elements. The default is right for every kind of elements; it is compiled in the crate that
    /// calls it. An override with a static of this crate is compiled once, and runs optimised code in programs
    /// that are built without optimisation.
    fn loops() -> &'static Loops<Self, K>
    where
        Self: Sized,
    {
        &Loops::GENERIC
    }
}

/// A [`Potential`] that is a sum over elements; some of the nodes are held.
///
/// Loops over elements run in parallel. Sums have a fixed order, so results are bitwise the same for any
/// number of threads. Evaluations allocate nothing. Element Hessians are added to the matrix on one thread.
/// *Memory*: 8 K² + 24 K bytes per element, and 4,096 element Hessians.
pub struct Elements<M, const K: usize> {
    /// The energy of an element.
    pub(crate) model: M,
    pub(crate) corners: Vec<[u32; K]>,
    pub(crate) nodes: Nodes,
    /// The elements at free node i as (element, corner), in order, from `starts[i]` to `starts[i + 1]`.
    pub(crate) around: Vec<(u32, u32)>,
    pub(crate) starts: Vec<usize>,
    pub(crate) pattern: Arc<Pattern>,
    pub(crate) blocks: Vec<[[usize; K]; K]>,
    pub(crate) forces: Vec<[[f64; 3]; K]>,
    pub(crate) hessians: Vec<Stiffness<K>>,
}

impl<M: Element<K>, const K: usize> Elements<M, K> {
    /// Returns the potential of elements with these `corners`. `held` nodes stay at their `positions`, and
    /// `what` is the name of an element in errors.
    ///
    /// # Errors
    /// [`BodyError`] if a corner does not exist, lists have different lengths, or no node is free.
    pub fn of(
        what: &'static str,
        model: M,
        corners: Vec<[u32; K]>,
        held: &[bool],
        positions: &[[f64; 3]],
    ) -> Result<Self, BodyError> {
        let nodes = Nodes::new(held, positions)?;
        check_corners(what, &corners, positions.len())?;
        let (pattern, blocks) = nodes.pattern(&corners)?;
        let mut starts = vec![0; nodes.free + 1];
        let mut incident: Vec<(u32, u32, u32)> = Vec::with_capacity(K * corners.len());
        for (e, corners) in corners.iter().enumerate() {
            for (corner, &node) in corners.iter().enumerate() {
                let slot = nodes.slots[node as usize];
                if slot != HELD {
                    incident.push((slot, e as u32, corner as u32));
                    starts[slot as usize + 1] += 1;
                }
            }
        }
        incident.sort_unstable();
        (0..nodes.free).for_each(|i| starts[i + 1] += starts[i]);
        let around = incident.into_iter().map(|(_, e, corner)| (e, corner)).collect();
        let forces = vec![[[0.0; 3]; K]; corners.len()];
        let hessians = vec![[[[[0.0; 3]; K]; 3]; K]; corners.len().min(BATCH)];
        Ok(Self { model, corners, nodes, around, starts, pattern, blocks, forces, hessians })
    }

    /// Moves the held nodes; `positions` has one entry per node of the mesh. *Panics* on another length.
    pub fn hold(&mut self, positions: &[[f64; 3]]) {
        self.nodes.hold(positions);
    }

    /// Returns the positions x of the free nodes from the positions of all nodes of the mesh.
    pub fn free(&self, all: &[[f64; 3]]) -> Vec<f64> {
        self.nodes.gather(all)
    }

    /// Returns the number in the mesh of the first free node that belongs to no element.
    pub(crate) fn loose(&self) -> Option<usize> {
        let untouched = |slot: &u32| {
            let slot = *slot as usize;
            slot != HELD as usize && self.starts[slot] == self.starts[slot + 1]
        };
        self.nodes.slots.iter().position(untouched)
    }

    /// Calls `fold` for each free node with the elements at the node, each with the number of its corner
    /// there.
    pub(crate) fn fold<T>(&self, fold: impl Fn(&mut dyn Iterator<Item = (usize, usize)>) -> T) -> Vec<T> {
        let of = |ends: &[usize]| {
            let around = &self.around[ends[0]..ends[1]];
            fold(&mut around.iter().map(|&(e, corner)| (e as usize, corner as usize)))
        };
        self.starts.windows(2).map(of).collect()
    }
}

/// Checks that all corners are nodes.
pub(crate) fn check_corners<const K: usize>(
    what: &'static str,
    corners: &[[u32; K]],
    nodes: usize,
) -> Result<(), BodyError> {
    for (index, corners) in corners.iter().enumerate() {
        if let Some(&node) = corners.iter().find(|&&c| c as usize >= nodes) {
            return Err(BodyError::Node { what, index, node: node as usize, nodes });
        }
    }
    Ok(())
}

impl<M: Element<K>, const K: usize> Potential for Elements<M, K> {
    fn nodes(&self) -> usize {
        self.nodes.free
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        assert_eq!(x.len(), 3 * self.nodes.free, "energy: wrong length");
        (M::loops().energy)(self, x)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        assert_eq!(g.len(), 3 * self.nodes.free, "add_gradient: wrong length");
        (M::loops().add_gradient)(self, x, g);
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        assert_eq!(values.len(), 9 * self.pattern.len(), "add_hessian: wrong length");
        (M::loops().add_hessian)(self, x, curvature, values);
    }

    fn add_characteristic(&self, forces: &mut [f64]) {
        let own = self.fold(|around| self.model.characteristic(around));
        forces.iter_mut().zip(own).for_each(|(force, own)| *force += own);
    }

    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        if !self.model.bounds_steps() {
            return f64::INFINITY;
        }
        let Self { model, corners, nodes, .. } = self;
        let leaf = |range: Range<usize>| {
            let step = |e: usize| {
                let c = &corners[e];
                model.max_step(e, &c.map(|c| nodes.at(c, x)), &c.map(|c| nodes.along(c, d)))
            };
            range.map(step).fold(f64::INFINITY, f64::min)
        };
        let parallel = parallel::worth(corners.len() * M::WORK);
        parallel::tree(0..corners.len(), LEAF, parallel, &leaf, &f64::min)
    }

    fn kernels(&self) -> Result<Vec<ElementKernel>, BodyError> {
        let Self { model, corners, nodes, .. } = self;
        let (source, data, common) = model.kernel().ok_or_else(BodyError::no_kernel::<Self>)?;
        let all = 0..nodes.count() as u32;
        let held = all.filter(|&node| nodes.slot(node).is_none());
        let mut numbers = nodes.slots.clone();
        held.clone().zip(nodes.free as u32..).for_each(|(node, number)| numbers[node as usize] = number);
        Ok(vec![ElementKernel {
            source,
            corners: K,
            free: nodes.free,
            elements: corners.as_flattened().iter().map(|&node| numbers[node as usize]).collect(),
            held: held.map(|node| nodes.at(node, &[])).collect(),
            data,
            common,
            bounds_steps: model.bounds_steps(),
            renewed: false,
        }])
    }
}

/// Computes h += weight w wᵀ.
pub(crate) fn add_outer<const K: usize>(weight: f64, w: &[[f64; 3]; K], h: &mut Stiffness<K>) {
    let w = w.as_flattened();
    for (row, &left) in h.as_flattened_mut().iter_mut().zip(w) {
        let left = weight * left;
        row.as_flattened_mut().iter_mut().zip(w).for_each(|(h, &right)| *h += left * right);
    }
}
