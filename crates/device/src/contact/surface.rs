//! The surface that kernels of contact are given, and their flags.

use coarsen_core::{Error, Real};
use coarsen_elastic::SurfaceKernel;

use crate::DeviceBackend;
use crate::driver::Type;
use crate::error::same_length;
use crate::memory::{Buffer, bytes};
use crate::program::{Entry, Module, kernels};
use crate::queue::Arg;

kernels! {
    Step {
        Nodes = "coarsen_contact_nodes",
        Parts = "coarsen_contact_parts",
        Cell = "coarsen_contact_cell",
        CountCells = "coarsen_contact_count_cells",
        Cells = "coarsen_contact_cells",
        Buckets = "coarsen_contact_buckets",
        CountPairs = "coarsen_contact_count_pairs",
        Pairs = "coarsen_contact_pairs",
        Inside = "coarsen_contact_inside",
        Near = "coarsen_contact_near",
        Touches = "coarsen_contact_touches",
        Around = "coarsen_contact_around",
        Last = "coarsen_contact_last",
        Bounds = "coarsen_contact_bounds",
        Least = "coarsen_contact_least",
    }
}

/// The lists of `kernels/contact/surface.cl` that do not change, and flags.
pub(super) struct Surface<V: Real> {
    pub(super) backend: DeviceBackend<V>,
    module: usize,
    pub(super) nodes: usize,
    pub(super) free: usize,
    vertices: usize,
    pub(super) triangles: usize,
    edges: usize,
    vertex: Buffer,
    corners: Buffer,
    pub(super) rest: Buffer,
    pub(super) held: Buffer,
    pub(super) thickness: V,
    pub(super) min_distance: V,
    /// Whether pairs are missing; all are before the first search.
    pub(super) missing: Buffer,
    /// Whether a node has left its box, and whether its position is not finite.
    pub(super) outside: Buffer,
    /// The largest counts since they were read, and whether a node had left its box.
    pub(super) status: Buffer,
}

/// Checks that the lists of a surface fit, and that its numbers are finite.
fn check<V: Real>(of: &SurfaceKernel) -> Result<(), Error> {
    let SurfaceKernel { pair, friction, vertices, edges, triangles, rest, thickness, min_distance, .. } = of;
    let shape = |what, expected, found| Err(Error::Shape { what, expected, found });
    for (what, found) in [("triangles of a surface", triangles.len()), ("free nodes of a surface", pair.free)]
    {
        if found == 0 {
            return shape(what, 1, 0);
        }
    }
    let nodes = pair.free.saturating_add(pair.held.len());
    let used = [&vertices[..], edges.as_flattened(), triangles.as_flattened()].map(|list| list.iter().max());
    if let Some(&node) = used.into_iter().flatten().find(|node| **node as usize >= nodes) {
        return shape("nodes of a surface", nodes, node as usize + 1);
    }
    same_length("edges of a surface at rest", edges.len(), rest.len())?;
    if let Some(friction) = friction {
        same_length("free nodes of friction", pair.free, friction.free)?;
        same_length("held nodes of friction", pair.held.len(), friction.held.len())?;
        if let Some(node) = pair.held.iter().zip(&friction.held).position(|(a, b)| a != b) {
            let (name, range) = ("SurfaceKernel::friction, a held node", "where that of the pairs is");
            return Err(Error::Parameter { name, value: node as f64, range });
        }
    }
    for (what, numbers) in
        [("held nodes of a surface", pair.held.as_flattened()), ("edges at rest", &rest[..])]
    {
        if let Some(index) = numbers.iter().position(|x| !V::from_f64(*x).is_finite()) {
            return Err(Error::NotFinite { what, index });
        }
    }
    let [thick, least] = [thickness, min_distance].map(|x| V::from_f64(*x));
    if !(thick > V::zero() && thick.is_finite()) {
        let (name, range) =
            ("SurfaceKernel::thickness", "positive and finite in the precision of the backend");
        return Err(Error::Parameter { name, value: *thickness, range });
    }
    if !(least >= V::zero() && least < thick) {
        let (name, range) = ("SurfaceKernel::min_distance", "at least 0 and below the thickness");
        return Err(Error::Parameter { name, value: *min_distance, range });
    }
    Ok(())
}

impl<V: Real> Surface<V> {
    pub(super) fn new<S>(backend: &DeviceBackend<V, S>, of: &SurfaceKernel) -> Result<Self, Error> {
        check::<V>(of)?;
        let (free, nodes) = (of.pair.free, of.pair.free + of.pair.held.len());
        let corners = [of.triangles.as_flattened(), of.edges.as_flattened()].concat();
        let limit = i32::MAX as usize;
        let (what, count) = ("parts of a surface", of.vertices.len() + of.edges.len() + of.triangles.len());
        if count.max(nodes) > limit {
            return Err(Error::TooLarge { what, count, limit });
        }
        let real = |host: &[f64]| host.iter().map(|&v| V::from_f64(v)).collect::<Vec<V>>();
        let (rest, held) = (real(&of.rest), real(of.pair.held.as_flattened()));
        let mut queue = backend.queue();
        let options = format!("-D EPSILON={:e}", V::EPSILON.as_f64());
        let module = Module { sources: &coarsen_kernels::CONTACT, kernels: Step::NAMES, options };
        let module = queue.module_with(&module, of.detection)?;
        let mut upload = |host: &[V]| queue.allocate(Type::of::<V>(), size_of_val(host), Some(bytes(host)));
        let (rest, held) = (upload(&rest)?, upload(&held)?);
        let mut list = |host: &[u32]| queue.list(host);
        let (vertex, corners) = (list(&of.vertices)?, list(&corners)?);
        let (missing, outside, status) = (list(&[1])?, list(&[0; 2])?, list(&[0; 4])?);
        drop(queue);
        Ok(Self {
            backend: backend.plain(),
            module,
            nodes,
            free,
            vertices: of.vertices.len(),
            triangles: of.triangles.len(),
            edges: of.edges.len(),
            vertex,
            corners,
            rest,
            held,
            thickness: V::from_f64(of.thickness),
            min_distance: V::from_f64(of.min_distance),
            missing,
            outside,
            status,
        })
    }

    /// The number of triangles and edges.
    pub(super) fn parts(&self) -> usize {
        self.triangles + self.edges
    }

    /// The number of vertices and edges.
    pub(super) fn queries(&self) -> usize {
        self.vertices + self.edges
    }

    pub(super) fn step(&self, step: Step) -> Entry {
        step.of(self.module)
    }

    /// The arguments SURFACE of kernels.
    pub(super) fn args(&self) -> [Arg<'_, V>; 7] {
        let [nodes, free, vertices] = [self.nodes, self.free, self.vertices].map(Arg::Count);
        let [triangles, edges] = [self.triangles, self.edges].map(Arg::Count);
        let [vertex, corners] = [&self.vertex, &self.corners].map(Arg::Memory);
        [nodes, free, vertices, triangles, edges, vertex, corners]
    }
}
