//! The detection of contacts: vertices inside tetrahedra, and the triangles through which they leave.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x_v | `at[vertex]` | a vertex of a surface |
//! | β | `beta` | its barycentric coordinates in a tetrahedron that contains it |
//! | X | | the same point of the body at rest: Σ β_a X_a |
//!
//! 1. The vertices of all surfaces are hashed. Each tetrahedron queries the vertices in its box. The vertices
//!    of an armadillo take 9,000 entries of the hash; the boxes of its tetrahedra would take forty times as
//!    many.
//! 2. The triangle through which the vertex leaves is searched from the point X of the body at rest, which
//!    works at any depth. McAdams, Zhu, Selle, Empey, Tamstorf, Teran & Sifakis 2011, "Efficient elasticity
//!    for character skinning with contact and collisions", do the same with a distance field at rest.

use std::ops::Range;

use coarsen_core::parallel;
use coarsen_mesh::{Mesh, Problem};
use coarsen_sparse::by_bucket;

use crate::aabb::mean_extent;
use crate::components::bodies;
use crate::rest_surface::RestSurface;
use crate::triangle::{Inside, combine};
use crate::{Aabb, Contact, ContactError, SpatialHash};

/// The number of tetrahedra per task.
const LEAF: usize = 512;

/// The number of hits per task.
const FEW: usize = 16;

/// The number of scalar operations per tetrahedron and per hit, used to decide whether threads pay off.
const WORK: usize = 100;
const SEARCH: usize = 4000;

/// A vertex inside a tetrahedron.
#[derive(Clone, Copy)]
struct Hit {
    vertex: u32,
    element: u32,
    beta: [f64; 4],
}

/// The bodies of a mesh, and memory for the results of a detection.
pub(crate) struct Detector {
    tetrahedra: Vec<[u32; 4]>,
    /// The body of each node.
    body: Vec<u32>,
    /// The nodes of all surfaces.
    vertices: Vec<u32>,
    rest: Vec<[f64; 3]>,
    /// The surface of each body.
    surfaces: Vec<RestSurface>,
    /// The mean extent of the tetrahedra at rest.
    cell: f64,
    hash: SpatialHash,
    /// The hits that each task has found.
    leaves: Vec<Vec<Hit>>,
    hits: Vec<Hit>,
    contacts: Vec<Option<Contact>>,
}

impl Detector {
    /// Returns a detector for the bodies of a mesh, which gives their rest shapes.
    pub(crate) fn new(mesh: &Mesh) -> Result<Self, ContactError> {
        mesh.check().map_err(Problem::from)?;
        mesh.check_tetrahedra()?;
        let (rest, tetrahedra) = (mesh.positions.clone(), mesh.tetrahedra.clone());
        let triangles = mesh.surface();
        let mut vertices = triangles.as_flattened().to_vec();
        vertices.sort_unstable();
        vertices.dedup();
        let (body, count) = bodies(rest.len(), &tetrahedra);
        let of = triangles.iter().map(|t| Some(body[t[0] as usize] as usize));
        let (starts, sorted) = by_bucket(count, of);
        let surface = |ends: &[usize]| {
            let own = sorted[ends[0]..ends[1]].iter().map(|&t| triangles[t as usize]).collect();
            RestSurface::new(own, &rest)
        };
        let surfaces = starts.windows(2).map(surface).collect::<Result<_, _>>()?;
        let cell = mean_extent(tetrahedra.iter().map(|t| Aabb::of(t.map(|v| rest[v as usize]))));
        let leaves = vec![Vec::new(); tetrahedra.len().div_ceil(LEAF)];
        let (hash, hits, contacts) = (SpatialHash::default(), Vec::new(), Vec::new());
        Ok(Self { tetrahedra, body, vertices, rest, surfaces, cell, hash, leaves, hits, contacts })
    }

    /// Replaces `found` by the contacts at these positions, sorted by vertex.
    pub(crate) fn find(&mut self, at: &[[f64; 3]], found: &mut Vec<Contact>) -> Result<(), ContactError> {
        found.clear();
        if let Some(node) = parallel::position(at, |x| x.iter().any(|x| !x.is_finite())) {
            return Err(ContactError::Position { node });
        }
        let vertices = &self.vertices;
        self.hash.rebuild(vertices.len(), Some(self.cell), |i| Aabb::of([at[vertices[i] as usize]]))?;
        self.find_hits(at);
        self.find_contacts(at);
        for contact in self.contacts.iter().flatten() {
            // A vertex on a face between two tetrahedra is found in both.
            let mut same = found.iter().rev().take_while(|other| other.vertex == contact.vertex);
            if !same.any(|other| other.face == contact.face) {
                found.push(*contact);
            }
        }
        Ok(())
    }

    /// Step 1: finds all vertices inside tetrahedra, except for the corners of these tetrahedra.
    fn find_hits(&mut self, at: &[[f64; 3]]) {
        let Self { tetrahedra, vertices, hash, leaves, hits, .. } = self;
        let search = |(range, leaves): (Range<usize>, &mut [Vec<Hit>])| {
            for (leaf, hits) in range.zip(leaves) {
                hits.clear();
                let elements = LEAF * leaf..tetrahedra.len().min(LEAF * (leaf + 1));
                for element in elements {
                    add_hits(element as u32, &tetrahedra[element], vertices, at, hash, hits);
                }
            }
        };
        let parallel = parallel::worth(tetrahedra.len() * WORK);
        parallel::each((0..leaves.len(), &mut leaves[..]), 1, parallel, &search);
        hits.clear();
        leaves.iter().for_each(|leaf| hits.extend_from_slice(leaf));
        hits.sort_unstable_by_key(|hit| (hit.vertex, hit.element));
    }

    /// Step 2: finds the contact of each hit.
    fn find_contacts(&mut self, at: &[[f64; 3]]) {
        let Self { tetrahedra, body, rest, surfaces, hits, contacts, .. } = self;
        contacts.clear();
        contacts.resize(hits.len(), None);
        let contact = |hit: &Hit| {
            let corners = &tetrahedra[hit.element as usize];
            let point = combine(&hit.beta, &corners.map(|v| rest[v as usize])); // X
            surfaces[body[corners[0] as usize] as usize].leave(hit.vertex, point, rest, at)
        };
        let search = |(hits, contacts): (&[Hit], &mut [Option<Contact>])| {
            hits.iter().zip(contacts).for_each(|(hit, to)| *to = contact(hit));
        };
        let parallel = parallel::worth(hits.len() * SEARCH);
        parallel::each((&hits[..], &mut contacts[..]), FEW, parallel, &search);
    }
}

/// Appends the vertices inside one tetrahedron.
fn add_hits(
    element: u32,
    corners: &[u32; 4],
    vertices: &[u32],
    at: &[[f64; 3]],
    hash: &SpatialHash,
    hits: &mut Vec<Hit>,
) {
    let points = corners.map(|v| at[v as usize]);
    let mut inside = None;
    hash.query(&Aabb::of(points), |i| {
        let vertex = vertices[i as usize];
        if corners.contains(&vertex) {
            return;
        }
        let inside = inside.get_or_insert_with(|| Inside::new(points));
        if let Some(beta) = inside.coordinates(at[vertex as usize]) {
            hits.push(Hit { vertex, element, beta });
        }
    });
}
