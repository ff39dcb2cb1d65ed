//! One implicit Euler step of a sheet of cloth that hangs between two bars.
//!
//! A Newton step of implicit Euler solves the system below: Baraff & Witkin 1998, *Large Steps in Cloth
//! Simulation*, §3; also Tamstorf, Jones & McCormick 2015, *Smoothed Aggregation Multigrid for Cloth
//! Simulation*, and Wu, Wang & Wang 2022, *A GPU-Based Multilevel Additive Schwarz Preconditioner for Cloth
//! and Deformable Body Simulation*.
//!
//! > A Δx = b,  A = M + Δt² K    (1)
//!
//! M are lumped masses, and K is the stiffness of stretching, shearing and bending. Stretching divided by
//! inertia is about k Δt² / (ρ h²) with the spacing h = 1 / (N − 1). This ratio is 1,000 for N = 101 and Δt =
//! 0.002 s, and grows as Δt² N².
//!
//! | file | what |
//! |---|---|
//! | [`sheet`] | vertices, triangles and hinges |
//!
//! Stretching, shearing and bending come from [`coarsen_elastic`].

mod sheet;

use coarsen_elastic::Fabric;

use crate::by_rows::ByRows;
use crate::elements::{Incidence, around};
use crate::grid::Grid;
use crate::{Problem, ProblemError, rows};
pub(crate) use sheet::Sheet;

/// Stretching and shearing stiffness, N/m.
pub(crate) const FABRIC: Fabric = Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 };

/// The bending modulus, N m: three times the 5e-5 that the formula of Bergou et al. has for cotton.
const BENDING: f64 = 3.0 * 5e-5;

/// Mass per area, kg/m².
pub(crate) const DENSITY: f64 = 0.2;

/// Returns the implicit Euler step of Δt = `dt` seconds for a sheet of 1 m x 1 m with N x N vertices; 3x3
/// blocks.
///
/// The sheet sags and is wrinkled, and its vertices deviate from the grid by up to 2 % of the grid spacing.
/// The sides u = 0 and u = 1 are held: their rows are identities without couplings. The stiffness is 5·10³
/// N/m for stretching, 10³ N/m for shearing, and 1.5·10⁻⁴ N m for bending. The mass is 0.2 kg/m². The
/// near-kernel consists of the rigid-body modes about the centroid, with zeros on held rows.
///
/// *Use* dt = 0.002 or 0.010, as in the measurements of other libraries.
///
/// ```
/// let p = coarsen_problems::cloth(21, 0.01)?;
/// assert_eq!(p.matrix.shape(), (1323, 1323));
/// assert_eq!(p.matrix.get(0, 0), 1.0);
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
///
/// # Errors
/// [`ProblemError::Size`] for n < 3 (no vertex would be free), [`ProblemError::Value`] for a `dt` that is not
/// positive and finite, [`ProblemError::TooLarge`].
pub fn cloth(n: usize, dt: f64) -> Result<Problem, ProblemError> {
    system(n, dt)?.whole()
}

/// The system of a sheet of N x N vertices, without its matrix.
pub(crate) fn system(n: usize, dt: f64) -> Result<ByRows<'static>, ProblemError> {
    ProblemError::check_positive("dt", dt)?;
    ProblemError::check_size("cloth", n, 3, 1)?;
    let sheet = Sheet::new(Grid::new(("cloth", n), [n, n, 1], 3)?, n);
    let positions = sheet.positions.clone();
    let system = ByRows::new(format!("cloth:{n} dt={dt}"), 3, positions, move |_, nodes| {
        let triangles = around(&sheet.triangles, nodes);
        let hinges = sheet.hinges_of(&triangles);
        let triangles_at = Incidence::new(nodes.of(), &triangles);
        let hinge_corners: Vec<[u32; 4]> = hinges.iter().map(|hinge| hinge.corners).collect();
        let hinges_at = Incidence::new(nodes.of(), &hinge_corners);
        Ok(rows::assemble(nodes, 3, &|i, row| {
            if sheet.held(i) {
                return row.add_identity(i, 1.0);
            }
            for (t, a) in triangles_at.of(i) {
                let triangle = sheet.curved(triangles[t]);
                row.add_identity(i, DENSITY * triangle.area / 3.0); // M
                for (b, &j) in triangles[t].iter().enumerate() {
                    if !sheet.held(j as usize) {
                        row.add(j as usize, &triangle.stiffness(a, b).map(|k| dt * dt * k));
                    }
                }
            }
            for (hinge, a) in hinges_at.of(i).map(|(h, a)| (&hinges[h], a)) {
                for (b, &j) in hinge.corners.iter().enumerate() {
                    if !sheet.held(j as usize) {
                        row.add_identity(j as usize, dt * dt * hinge.stiffness(a, b));
                    }
                }
            }
        })?) // (1)
    });
    Ok(ByRows { held: n, ..system })
}
