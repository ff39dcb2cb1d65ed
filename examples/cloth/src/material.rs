//! What cloth is made of: energies of stretching and bending.
//!
//! | name | in the plane | bending |
//! |---|---|---|
//! | `woven` | threads along u and v: Baraff & Witkin 1998 | quadratic: Bergou et al. 2006 |
//! | `baraff-witkin` | the same | by angles, Baraff & Witkin 1998, §4 |
//! | `corotational` | alike in all directions, co-rotational: Wu, Wang & Wang 2022, §4.2 | quadratic |
//! | `shell` | the same | by angles: Grinspun et al. 2003 |
//! | `anisotropic` | by direction and strain: Wang et al. 2011 | by angles, with a stiffness by direction |
//! | `springs` | springs along edges: Provot 1995; stiffness: Van Gelder 1998 | springs between the tips of hinges |
//!
//! Quadratic bending is for sheets that are flat at rest; for others it is that by angles. Springs and bending know the
//! lengths and angles of the mesh in space, also if a garment is sewn from flat pieces.
//!
//! The numbers of `anisotropic` are ours, not those that Wang et al. measured: cloth that is stiffer along u than along v,
//! stiffens when threads are straight and when they jam by shearing, and bends most easily between its threads.

use std::collections::HashMap;

use clap::ValueEnum;
use coarsen::elastic::{
    AnisotropicMembrane, Bending, BodyError, ByDirection, CoRotationalMembrane, Element, Elements, Fabric,
    Hinge, Lame, Membrane, Orthotropic, PlanarStiffness, Potential, Shell, Spring, Springs,
};

use examples_scene::fields;

use crate::fault::SceneError;
use crate::sheet::Sheet;

/// A material by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Material {
    /// Threads, and quadratic bending.
    Woven,
    /// Threads, and bending by angles.
    BaraffWitkin,
    /// Alike in all directions, and quadratic bending: the cloth of Wu, Wang & Wang 2022.
    Corotational,
    /// Alike in all directions, and bending by angles.
    Shell,
    /// Stiff by direction and strain.
    Anisotropic,
    /// Masses and springs.
    Springs,
}

fields!(unit Material);

/// The strains of the samples of anisotropic cloth.
const STRAINS: [f64; 3] = [0.02, 0.06, 0.15];

/// c₁₁, c₁₂, c₂₂ in units of the stiffness for stretching and c₃₃ in units of that for shearing, at these strains along
/// u, between, and along v.
const STIFFNESS: [[[f64; 4]; 3]; 3] = [
    [[1.0, 0.1, 0.8, 1.0], [1.6, 0.15, 0.8, 1.2], [4.0, 0.2, 0.8, 1.5]],
    [[1.0, 0.1, 0.8, 1.0], [1.0, 0.1, 0.8, 1.5], [1.2, 0.2, 1.0, 4.0]],
    [[1.0, 0.1, 0.8, 1.0], [1.0, 0.15, 1.2, 1.2], [1.0, 0.2, 2.8, 1.5]],
];

/// The bending stiffness of anisotropic cloth along u, between, and along v, in units of that of others.
const BEND: ByDirection = ByDirection([1.0, 0.5, 0.7]);

/// The stiffness of springs between tips, in units of those along edges.
const FLEXION: f64 = 1e-2;

/// Poisson's ratio of cloth that is alike in all directions.
const POISSON: f64 = 0.3;

/// An energy of cloth with held vertices that may move.
pub(crate) trait Woven: Potential {
    /// Moves the held vertices; `positions` have all vertices.
    fn hold(&mut self, positions: &[[f64; 3]]);
}

impl<M: Element<K>, const K: usize> Woven for Elements<M, K> {
    fn hold(&mut self, positions: &[[f64; 3]]) {
        self.hold(positions);
    }
}

/// What all materials need: moduli in N/m and N m, and the sheet.
pub(crate) struct Cut<'a> {
    /// Stretching and shearing.
    pub(crate) fabric: Fabric,
    /// Bending.
    pub(crate) bending: f64,
    /// The sheet at rest.
    pub(crate) sheet: &'a Sheet,
    /// Whether each vertex is held, those of obstacles too.
    pub(crate) held: &'a [bool],
    /// The positions of all vertices at the start.
    pub(crate) positions: &'a [[f64; 3]],
}

impl Material {
    /// The energies of a sheet; the first has the largest pattern.
    ///
    /// # Errors
    /// [`SceneError::Curved`] for a material that needs a flat sheet, and errors of the energies.
    pub(crate) fn parts(self, cut: &Cut<'_>) -> Result<Vec<Box<dyn Woven>>, SceneError> {
        let &Cut { fabric, bending, sheet, held, positions } = cut;
        let triangles = &sheet.triangles;
        if sheet.curved
            && sheet.pattern.is_none()
            && matches!(self, Self::Corotational | Self::Shell | Self::Anisotropic)
        {
            return Err(SceneError::Curved { material: self });
        }
        // Vertices of obstacles belong to no triangle of the cloth.
        let mut rest = sheet.rest.clone();
        rest.resize(positions.len(), [0.0; 3]);
        let pattern = sheet.flat();
        let bent = |by_angles: bool| -> Result<Box<dyn Woven>, BodyError> {
            Ok(if by_angles || sheet.curved {
                Box::new(Shell::new(bending, triangles, &rest, held, positions)?)
            } else {
                Box::new(Bending::new(bending, triangles, &rest, held, positions)?)
            })
        };
        let threads = || -> Result<Box<dyn Woven>, BodyError> {
            Ok(Box::new(match sheet.curved && sheet.pattern.is_none() {
                true => Membrane::in_space(fabric, triangles, held, positions)?,
                false => Membrane::of_pattern(fabric, triangles, &pattern, held, positions)?,
            }))
        };
        let alike = || -> Result<Box<dyn Woven>, BodyError> {
            let law = Lame::plane_stress(fabric.stretch * (1.0 - POISSON * POISSON), POISSON);
            Ok(Box::new(CoRotationalMembrane::of_pattern(law, triangles, &pattern, held, positions)?))
        };
        let by_direction = || -> Result<Vec<Box<dyn Woven>>, BodyError> {
            let edges = directions(triangles, &pattern);
            let stiffness = |[a, b, ..]: [u32; 4]| {
                let [u, v] = edges[&[a.min(b), a.max(b)]];
                bending * BEND.at([-v, u]) // across the edge
            };
            let shell = Shell::by_hinge(stiffness, triangles, &rest, held, positions)?;
            let planar = planar(fabric)?;
            let membrane = AnisotropicMembrane::of_pattern(planar, triangles, &pattern, held, positions)?;
            Ok(vec![Box::new(shell), Box::new(membrane)])
        };
        Ok(match self {
            Self::Anisotropic => by_direction()?,
            Self::Woven => vec![bent(false)?, threads()?],
            Self::BaraffWitkin => vec![bent(true)?, threads()?],
            Self::Corotational => vec![bent(false)?, alike()?],
            Self::Shell => vec![bent(true)?, alike()?],
            Self::Springs => vec![Box::new(Springs::new(springs(fabric.stretch, sheet), held, positions)?)],
        })
    }
}

/// The stiffness of anisotropic cloth in its plane.
fn planar(fabric: Fabric) -> Result<PlanarStiffness, BodyError> {
    let Fabric { stretch: k, shear, .. } = fabric;
    let sample = |[a, b, c, d]: [f64; 4]| Orthotropic { c11: k * a, c12: k * b, c22: k * c, c33: shear * d };
    let [u, between, v] = STIFFNESS.map(|of_strains| of_strains.map(sample));
    PlanarStiffness::new(&STRAINS, [&u, &between, &v])
}

/// The direction of each edge in flat cloth, by its smaller and its larger end. A seam has that of its first triangle.
fn directions(triangles: &[[u32; 3]], pattern: &[[[f64; 2]; 3]]) -> HashMap<[u32; 2], [f64; 2]> {
    let mut edges = HashMap::new();
    for (corners, at) in triangles.iter().zip(pattern) {
        for (i, j) in [(0, 1), (1, 2), (2, 0)] {
            let ends = [corners[i].min(corners[j]), corners[i].max(corners[j])];
            edges.entry(ends).or_insert([at[j][0] - at[i][0], at[j][1] - at[i][1]]);
        }
    }
    edges
}

/// Springs along all edges, with k Σ a / L² over the triangles at an edge of length L (Van Gelder 1998), and softer ones
/// between the tips of hinges.
fn springs(stretch: f64, sheet: &Sheet) -> Vec<Spring> {
    let length = |a: u32, b: u32| sheet.length([a, b]);
    let mut springs: Vec<Spring> = Vec::new();
    for same in sheet.sides().chunk_by(|a, b| a.0 == b.0) {
        let (ends, area) = (same[0].0, same.iter().map(|(_, t)| sheet.area(*t)).sum::<f64>());
        let length = length(ends[0], ends[1]);
        springs.push(Spring { ends, stiffness: stretch * area / (length * length), length });
    }
    for hinge in Hinge::all(&sheet.triangles, |i| sheet.rest[i as usize], 1.0) {
        let [_, _, p, q] = hinge.corners;
        springs.push(Spring { ends: [p, q], stiffness: FLEXION * stretch, length: length(p, q) });
    }
    springs
}
