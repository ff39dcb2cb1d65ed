//! One implicit step of a soft body of tetrahedra: linear, or neo-Hookean in a deformed state.
//!
//! > A = M + Δt² K    (1)
//!
//! with the projected Hessian K of [`Tetrahedra`]. The linear body uses [`CoRotational`] at rest, which has
//! the same Hessian as linear elasticity; the nonlinear body uses [`NeoHookean`] (Bonet & Wood 2008) in a
//! bent state.

use coarsen_elastic::{BodyError, CoRotational, Curvature, Density, Lame, NeoHookean, Potential, Tetrahedra};
use coarsen_mesh::Mesh;
use coarsen_sparse::Bsr;

use crate::by_rows::{ByRows, Nodes};
use crate::elements::{marked, touches};
use crate::grid::Grid;
use crate::{Problem, ProblemError, rows};

/// Young's modulus E, Pa.
const YOUNG: f64 = 5e5;
/// The Poisson ratio ν.
const POISSON: f64 = 0.4;
/// The density, kg/m³.
const DENSITY: f64 = 1000.0;
/// The longest side of a body from a file, m.
const SIDE: f64 = 1.0;
/// The amplitude of the bend of the deformed state, relative to the size of the body.
const BEND: f64 = 0.15;

/// The material of a soft body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Material {
    /// Linear elasticity at rest.
    Linear,
    /// Neo-Hookean, bent and twisted.
    NeoHookean,
}

/// Returns the implicit Euler step of Δt = `dt` seconds for a soft body without held vertices; 3x3 blocks.
///
/// The body consists of the tetrahedra of a file that [`coarsen_mesh::read`] can read, and is scaled to 1 m.
///
/// `young` returns a factor of the stiffness of an element, given its number and centroid; `|_, _| 1.0` gives
/// a homogeneous body.
///
/// # Errors
/// [`ProblemError::Mesh`] if the file has no valid mesh, [`ProblemError::Value`] for a `dt` that is not
/// positive and finite.
pub fn softbody(
    file: &str,
    dt: f64,
    material: Material,
    young: &dyn Fn(usize, [f64; 3]) -> f64,
) -> Result<Problem, ProblemError> {
    of_file(file, dt, material, young)?.whole()
}

/// Returns the problem [`softbody`] for a cube of N³ cells of five tetrahedra each.
///
/// ```
/// use coarsen_problems::{Material, softcube};
/// let p = softcube(4, 0.01, Material::NeoHookean, &|_, _| 1.0)?;
/// assert_eq!(p.matrix.shape(), (375, 375));
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
///
/// # Errors
/// [`ProblemError::Size`] for n = 0, [`ProblemError::TooLarge`], [`ProblemError::Value`].
pub fn softcube(
    n: usize,
    dt: f64,
    material: Material,
    young: &dyn Fn(usize, [f64; 3]) -> f64,
) -> Result<Problem, ProblemError> {
    cube(n, dt, material, young)?.whole()
}

/// As [`softbody`], without the matrix.
pub(crate) fn of_file<'a>(
    file: &str,
    dt: f64,
    material: Material,
    young: &'a dyn Fn(usize, [f64; 3]) -> f64,
) -> Result<ByRows<'a>, ProblemError> {
    let mesh = coarsen_mesh::read_tetrahedra(file)?.scaled(SIDE);
    let stem = file.rsplit('/').next().unwrap_or(file);
    system(format!("softbody:{stem} dt={dt}"), mesh, dt, material, young)
}

/// As [`softcube`], without the matrix.
pub(crate) fn cube(
    n: usize,
    dt: f64,
    material: Material,
    young: &dyn Fn(usize, [f64; 3]) -> f64,
) -> Result<ByRows<'_>, ProblemError> {
    ProblemError::check_size("softbody", n, 1, 1)?;
    let nodes = Grid::new(("softbody", n), [n.saturating_add(1); 3], 3)?;
    let mut tetrahedra = Vec::with_capacity(5 * n * n * n);
    for (x, y, z) in (0..n * n * n).map(|c| (c / (n * n), c / n % n, c % n)) {
        let at = |k: usize| nodes.index([x + (k >> 2), y + (k >> 1 & 1), z + (k & 1)]) as u32;
        let five = if (x + y + z).is_multiple_of(2) {
            [[0, 1, 2, 4], [3, 1, 7, 2], [5, 1, 4, 7], [6, 2, 7, 4], [1, 2, 4, 7]]
        } else {
            [[1, 0, 5, 3], [2, 0, 3, 6], [4, 0, 6, 5], [7, 3, 5, 6], [0, 3, 6, 5]]
        };
        tetrahedra.extend(five.map(|t| t.map(at)));
    }
    let positions = nodes.positions(|[x, y, z]| [x, y, z].map(|c| c as f64 / n as f64));
    let mesh = Mesh { positions, tetrahedra, ..Mesh::default() };
    system(format!("softbody:{n} dt={dt}"), mesh, dt, material, young)
}

/// The system of a body at rest, whose nodes are moved to its state.
fn system(
    name: String,
    mesh: Mesh,
    dt: f64,
    material: Material,
    young: &dyn Fn(usize, [f64; 3]) -> f64,
) -> Result<ByRows<'_>, ProblemError> {
    ProblemError::check_positive("dt", dt)?;
    let body = Body { mesh: mesh.oriented(), dt, young };
    let state = |p: [f64; 3]| match material {
        Material::Linear => p,
        Material::NeoHookean => bent(p),
    };
    let deformed = body.mesh.positions.iter().map(|&p| state(p)).collect();
    // The tetrahedra at the nodes have all that their rows need. A piece keeps the order of nodes and tetrahedra, so that
    // sums have the bits of the whole.
    Ok(ByRows::new(name, 3, deformed, move |x, nodes| {
        if nodes.count() == 0 {
            return Ok(rows::assemble(nodes, 3, &|_, _| ())?); // a body without nodes is an error
        }
        let part = Piece::at(&body.mesh, nodes);
        let system = match material {
            Material::Linear => body.system(CoRotational, x, &part)?,
            Material::NeoHookean => body.system(NeoHookean, x, &part)?,
        };
        if nodes.is_all() {
            system.check_finite()?;
            return Ok(system);
        }
        Ok(rows::assemble(nodes, 3, &|i, row| {
            let own = part.nodes.binary_search(&(i as u32));
            for (j, block) in own.into_iter().flat_map(|k| system.row(k)) {
                row.add(part.nodes[j] as usize, block);
            }
        })?)
    }))
}

/// A soft body at rest.
struct Body<'a> {
    mesh: Mesh,
    dt: f64,
    young: &'a dyn Fn(usize, [f64; 3]) -> f64,
}

impl Body<'_> {
    /// The moduli of a tetrahedron.
    fn moduli(&self, e: usize) -> Lame {
        let corners = self.mesh.tetrahedra[e].map(|i| self.mesh.positions[i as usize]);
        let centroid = std::array::from_fn(|k| 0.25 * corners.iter().map(|x| x[k]).sum::<f64>());
        Lame::new(YOUNG * (self.young)(e, centroid), POISSON)
    }

    /// The system (1) of the tetrahedra of a part.
    fn system<D: Density>(
        &self,
        density: D,
        deformed: &[[f64; 3]],
        part: &Piece,
    ) -> Result<Bsr<f64>, ProblemError> {
        let free = vec![false; part.mesh.positions.len()];
        let body = Tetrahedra::new(density, &part.mesh, &free, |k| self.moduli(part.elements[k] as usize));
        let body = body.map_err(|error| part.in_whole(error))?;
        let x: Vec<[f64; 3]> = part.nodes.iter().map(|&i| deformed[i as usize]).collect();
        step(body, &x, self.dt)
    }
}

/// The tetrahedra at some nodes, and all their nodes.
struct Piece {
    mesh: Mesh,
    /// The number of each node in the whole mesh, in increasing order.
    nodes: Vec<u32>,
    /// The number of each tetrahedron in the whole mesh, in increasing order.
    elements: Vec<u32>,
}

impl Piece {
    fn at(mesh: &Mesh, nodes: Nodes<'_>) -> Self {
        let own = marked(nodes);
        let all = mesh.tetrahedra.iter().enumerate();
        let elements: Vec<u32> = all.filter(|(_, t)| touches(&own, t)).map(|(e, _)| e as u32).collect();
        let corners = || elements.iter().map(|&e| mesh.tetrahedra[e as usize]);
        let mut numbers = vec![u32::MAX; nodes.of()];
        nodes.iter().for_each(|i| numbers[i] = 0);
        corners().flatten().for_each(|i| numbers[i as usize] = 0);
        let mut kept = Vec::new();
        for (i, number) in numbers.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
            *number = kept.len() as u32;
            kept.push(i as u32);
        }
        let tetrahedra = corners().map(|t| t.map(|i| numbers[i as usize])).collect();
        let positions = kept.iter().map(|&i| mesh.positions[i as usize]).collect();
        Self { mesh: Mesh { positions, tetrahedra, ..Mesh::default() }, nodes: kept, elements }
    }

    /// An error of the piece, with the numbers of the whole mesh.
    fn in_whole(&self, mut error: BodyError) -> BodyError {
        match &mut error {
            BodyError::Degenerate { index, .. }
            | BodyError::Material { index, .. }
            | BodyError::Unbounded { index, .. } => {
                *index = self.elements[*index] as usize;
            }
            BodyError::Loose { node } => *node = self.nodes[*node] as usize,
            _ => {}
        }
        error
    }
}

/// Computes the system (1), whose values may overflow.
fn step<D: Density>(mut body: Tetrahedra<D>, x: &[[f64; 3]], dt: f64) -> Result<Bsr<f64>, ProblemError> {
    let mut matrix = Bsr::zeros(body.pattern().clone(), (3, 3))?;
    body.add_hessian(x.as_flattened(), Curvature::Projected, matrix.values_mut());
    matrix.values_mut().iter_mut().for_each(|v| *v *= dt * dt);
    matrix.add_diagonal(&body.masses(DENSITY))?;
    Ok(matrix)
}

/// Returns the position of a point after a smooth deformation with J > 0: bent along x, twisted along y.
fn bent([x, y, z]: [f64; 3]) -> [f64; 3] {
    let (s, c) = (BEND * 4.0 * y).sin_cos();
    let (x, z) = (x + BEND * (2.0 * z).sin(), z + BEND * (3.0 * y).cos());
    [c * x - s * z, 1.1 * y, s * x + c * z]
}
