//! Soft bodies as test problems for minimisation methods.

use coarsen_elastic::{BodyError, ImplicitEuler, Lame, StableNeoHookean, Tetrahedra};
use coarsen_mesh::Mesh;

use crate::ProblemError;
use crate::grid::Grid;

/// Young's modulus E in Pa.
const YOUNG: f64 = 1e5;

/// The Poisson ratio ν.
const POISSON: f64 = 0.4;

/// The density ρ in kg/m³.
const DENSITY: f64 = 1000.0;

/// The angle by which the end of the twisted bar is rotated.
const TWIST: f64 = std::f64::consts::FRAC_PI_2;

/// The angle by which each outer quarter of the bar of a time step is twisted.
const TURN: f64 = 0.3;

/// The factor by which the armadillo is stretched along its height.
const STRETCH: f64 = 1.5;

/// The tolerance in m within which a node counts as lying in an end plane.
const EDGE: f64 = 1e-6;

/// An objective, a starting point and the rest positions.
pub struct Scene {
    /// The objective.
    pub body: ImplicitEuler<Tetrahedra<StableNeoHookean>>,
    /// The starting point.
    pub start: Vec<f64>,
    /// The rest positions of the free nodes.
    pub rest: Vec<f64>,
}

impl Scene {
    /// Returns the equilibrium of a 4 m long bar of 4N x N x N cells, with both ends held and one end rotated
    /// by 90 degrees. The start is a twist with an angle proportional to x³.
    ///
    /// # Errors
    /// [`ProblemError`] for n = 0 and bodies that are too large.
    pub fn bar_twist(n: usize) -> Result<Self, ProblemError> {
        let mesh = bar("bar-twist", n)?;
        let twisted: Vec<[f64; 3]> = mesh.positions.iter().map(|&p| twist(p)).collect();
        let held = nodes_where(&mesh, |p| p[0] < EDGE || p[0] > 4.0 - EDGE);
        let material = Lame::new(YOUNG, POISSON);
        let mut tetrahedra = Tetrahedra::new(StableNeoHookean, &mesh, &held, |_| material)?;
        tetrahedra.hold(&twisted);
        let [start, rest] = [&twisted, &mesh.positions].map(|x| tetrahedra.free(x));
        Ok(Self { body: ImplicitEuler::equilibrium(tetrahedra)?, start, rest })
    }

    /// Returns the implicit Euler step of `h` seconds of the same bar with one end held. Young's modulus is
    /// `ends` Pa in the outer quarters and `middle` Pa between them. At the start the velocity is zero, the
    /// outer quarters are twisted, and the middle is rotated without strain.
    ///
    /// # Errors
    /// [`ProblemError`] for n = 0, bodies that are too large, and numbers that are not positive.
    pub fn bar_step(n: usize, [ends, middle]: [f64; 2], h: f64) -> Result<Self, ProblemError> {
        let least = ends.min(middle);
        if !(least > 0.0 && ends.is_finite() && middle.is_finite()) {
            let (what, range) = ("Young's modulus", "positive and finite");
            return Err(BodyError::Value { what, found: least, range }.into());
        }
        let mesh = bar("bar-step", n)?;
        let inside = |e: usize| {
            let x = mesh.tetrahedra[e].iter().map(|&i| mesh.positions[i as usize][0]).sum::<f64>() / 4.0;
            (1.0..3.0).contains(&x)
        };
        let material = |e: usize| Lame::new(if inside(e) { middle } else { ends }, POISSON);
        let held = nodes_where(&mesh, |p| p[0] < EDGE);
        let tetrahedra = Tetrahedra::new(StableNeoHookean, &mesh, &held, material)?;
        let angle = |x: f64| TURN * (x.min(1.0).powi(2) + (x - 3.0).max(0.0).powi(2));
        let turned: Vec<[f64; 3]> = mesh.positions.iter().map(|&p| about_axis(p, angle(p[0]))).collect();
        Self::stepping(tetrahedra, [&turned, &mesh.positions], h)
    }

    /// Returns the implicit Euler step of `h` seconds of the body of a mesh file, scaled to 1 m, and released
    /// after it was stretched by half of its length along y.
    ///
    /// # Errors
    /// [`ProblemError`] if the file has no valid mesh, and for numbers that are not positive.
    pub fn stretched(file: &str, h: f64) -> Result<Self, ProblemError> {
        let mesh = coarsen_mesh::read_tetrahedra(file)?.scaled(1.0).oriented();
        let material = Lame::new(YOUNG, POISSON);
        let tetrahedra =
            Tetrahedra::new(StableNeoHookean, &mesh, &vec![false; mesh.positions.len()], |_| material)?;
        let stretched: Vec<[f64; 3]> = mesh.positions.iter().map(|p| [p[0], STRETCH * p[1], p[2]]).collect();
        Self::stepping(tetrahedra, [&stretched, &mesh.positions], h)
    }

    /// Returns a step of h seconds from `positions` with zero velocity; `rest` has the rest positions.
    fn stepping(
        tetrahedra: Tetrahedra<StableNeoHookean>,
        [positions, rest]: [&[[f64; 3]]; 2],
        h: f64,
    ) -> Result<Self, ProblemError> {
        let masses = tetrahedra.masses(DENSITY);
        let [start, rest] = [positions, rest].map(|x| tetrahedra.free(x));
        let mut body = ImplicitEuler::new(tetrahedra, &masses, h)?;
        body.begin(&start, &vec![0.0; start.len()], [0.0; 3])?;
        Ok(Self { body, start, rest })
    }
}

/// Returns the mesh of a bar of 4N x N x N cells, for the problem `name`.
fn bar(name: &'static str, n: usize) -> Result<Mesh, ProblemError> {
    ProblemError::check_size(name, n, 1, 1)?;
    let nodes = |cells: usize| cells.saturating_add(1);
    Grid::new((name, n), [nodes(n.saturating_mul(4)), nodes(n), nodes(n)], 3)?;
    Ok(Mesh::bar([4 * n, n, n], 1.0 / n as f64))
}

/// Returns, for each node, whether it has a property.
fn nodes_where(mesh: &Mesh, is: impl Fn(&[f64; 3]) -> bool) -> Vec<bool> {
    mesh.positions.iter().map(is).collect()
}

/// The twist about the axis of the bar: an angle proportional to x³, 90 degrees at x = 4.
fn twist(p: [f64; 3]) -> [f64; 3] {
    about_axis(p, TWIST * (p[0] / 4.0).powi(3))
}

/// Rotates p about the axis of the bar.
fn about_axis([x, y, z]: [f64; 3], angle: f64) -> [f64; 3] {
    let ((s, c), (y, z)) = (angle.sin_cos(), (y - 0.5, z - 0.5));
    [x, 0.5 + c * y - s * z, 0.5 + s * y + c * z]
}
