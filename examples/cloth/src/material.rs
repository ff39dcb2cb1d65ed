//! What cloth is made of: energies of stretching and bending.
//!
//! | name | in the plane | bending |
//! |---|---|---|
//! | `woven` | threads along u and v: Baraff & Witkin 1998 | quadratic: Bergou et al. 2006 |
//! | `baraff-witkin` | the same | by angles, Baraff & Witkin 1998, §4 |
//! | `corotational` | alike in all directions, co-rotational | quadratic |
//! | `shell` | the same | by angles: Grinspun et al. 2003 |
//! | `springs` | springs along edges: Provot 1995; stiffness: Van Gelder 1998 | springs between the tips of hinges |
//!
//! Quadratic bending is for sheets that are flat at rest; for others it is that by angles. Springs and bending know the
//! lengths and angles of the mesh in space, also if a garment is sewn from flat pieces.

use clap::ValueEnum;
use coarsen::elastic::{
    Bending, BodyError, CoRotationalMembrane, Element, Elements, Fabric, Hinge, Lame, Membrane, Potential,
    Shell, Spring, Springs,
};

use crate::fault::SceneError;
use crate::sheet::Sheet;

/// A material by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Material {
    /// Threads, and quadratic bending.
    Woven,
    /// Threads, and bending by angles.
    BaraffWitkin,
    /// Alike in all directions, and quadratic bending.
    Corotational,
    /// Alike in all directions, and bending by angles.
    Shell,
    /// Masses and springs.
    Springs,
}

/// The stiffness of springs between tips, in units of those along edges.
const FLEXION: f64 = 1e-2;

/// Poisson's ratio of cloth that is alike in all directions.
const POISSON: f64 = 0.3;

/// An energy of cloth with held vertices that may move.
pub(crate) trait Woven: Potential {
    /// Moves the held vertices; `positions` has all vertices.
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
        if sheet.curved && sheet.pattern.is_none() && matches!(self, Self::Corotational | Self::Shell) {
            return Err(SceneError::Curved { material: self });
        }
        // Vertices of obstacles belong to no triangle of the cloth.
        let mut rest = sheet.rest.clone();
        rest.resize(positions.len(), [0.0; 3]);
        let flat: Vec<[f64; 2]> = rest.iter().map(|&[u, v, _]| [u, v]).collect();
        let bent = |by_angles: bool| -> Result<Box<dyn Woven>, BodyError> {
            Ok(if by_angles || sheet.curved {
                Box::new(Shell::new(bending, triangles, &rest, held, positions)?)
            } else {
                Box::new(Bending::new(bending, triangles, &rest, held, positions)?)
            })
        };
        let threads = || -> Result<Box<dyn Woven>, BodyError> {
            Ok(Box::new(match &sheet.pattern {
                Some(pattern) => Membrane::of_pattern(fabric, triangles, pattern, held, positions)?,
                None if sheet.curved => Membrane::in_space(fabric, triangles, held, positions)?,
                None => Membrane::new(fabric, triangles, &flat, held, positions)?,
            }))
        };
        let alike = || -> Result<Box<dyn Woven>, BodyError> {
            let law = Lame::plane_stress(fabric.stretch * (1.0 - POISSON * POISSON), POISSON);
            Ok(Box::new(match &sheet.pattern {
                Some(pattern) => CoRotationalMembrane::of_pattern(law, triangles, pattern, held, positions)?,
                None => CoRotationalMembrane::new(law, triangles, &flat, held, positions)?,
            }))
        };
        Ok(match self {
            Self::Woven => vec![bent(false)?, threads()?],
            Self::BaraffWitkin => vec![bent(true)?, threads()?],
            Self::Corotational => vec![bent(false)?, alike()?],
            Self::Shell => vec![bent(true)?, alike()?],
            Self::Springs => vec![Box::new(Springs::new(springs(fabric.stretch, sheet), held, positions)?)],
        })
    }
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
