//! The elastic part of several sheets, assembled in place in every step.

use coarsen_core::parallel;
use coarsen_elastic::{Curved, Hinge};
use coarsen_sparse::assembly::Assembly;
use coarsen_sparse::{Bsr, SparseError};

use crate::cloth::{DENSITY, Sheet};

/// The density of bodies with prescribed motion divided by the density of cloth. Their inertia is then far
/// above the stiffness of all contacts.
const HEAVY: f64 = 1e12;

/// The elastic part E = M + Δt² K of moving sheets.
pub(super) struct Elastic {
    pub(super) sheet: Sheet,
    /// The number of triangles of cloth. The triangles after them are heavy.
    light: usize,
    pub(super) matrix: Bsr<f64>,
    triangles: Vec<Curved>,
    hinges: Vec<Hinge>,
    plan: Assembly,
}

impl Elastic {
    /// Computes the pattern and allocates the values. Blocks of triangles are assembled first, then blocks of
    /// hinges.
    pub(super) fn new(sheet: Sheet, light: usize) -> Result<Self, SparseError> {
        let hinges = sheet.hinges();
        let nodes = sheet.positions.len();
        let of_triangles = 9 * sheet.triangles.len();
        let place = |entry: usize| {
            if entry < of_triangles {
                let corners = sheet.triangles[entry / 9];
                return (corners[entry / 3 % 3], corners[entry % 3]);
            }
            let entry = entry - of_triangles;
            let corners = hinges[entry / 16].corners;
            (corners[entry / 4 % 4], corners[entry % 4])
        };
        let plan = Assembly::new(nodes, nodes, (0..of_triangles + 16 * hinges.len()).map(place))?;
        let matrix = plan.zeros(3)?;
        let triangles = (0..sheet.triangles.len()).map(|t| sheet.triangle(t)).collect();
        Ok(Self { sheet, light, matrix, triangles, hinges, plan })
    }

    /// Recomputes the values for the positions of the sheet.
    pub(super) fn assemble(&mut self, dt: f64) -> Result<(), SparseError> {
        let Self { sheet, light, matrix, triangles, hinges, plan } = self;
        let numbers = 0..triangles.len();
        let leaf = |(numbers, triangles): (std::ops::Range<usize>, &mut [Curved])| {
            numbers.zip(triangles).for_each(|(t, triangle)| *triangle = sheet.triangle(t));
        };
        parallel::each(
            (numbers, &mut triangles[..]),
            1024,
            parallel::worth(100 * sheet.triangles.len()),
            &leaf,
        );
        let of_triangles = 9 * triangles.len();
        plan.fill_with(matrix, |entry, sum| {
            let identity = |sum: &mut [f64], s: f64| sum.iter_mut().step_by(4).for_each(|v| *v += s);
            if entry < of_triangles {
                let (triangle, a, b) = (&triangles[entry / 9], entry / 3 % 3, entry % 3);
                let k = triangle.stiffness(a, b);
                sum.iter_mut().zip(k).for_each(|(s, k)| *s += dt * dt * k);
                if a == b {
                    let density = if entry / 9 < *light { DENSITY } else { DENSITY * HEAVY };
                    identity(sum, density * triangle.area / 3.0); // M
                }
            } else {
                let (hinge, ab) = (&hinges[(entry - of_triangles) / 16], (entry - of_triangles) % 16);
                identity(sum, dt * dt * hinge.stiffness(ab / 4, ab % 4));
            }
        })?;
        matrix.check_finite() // values may overflow, for example with a time step of 1e200
    }
}
