//! One implicit step of a garment: co-rotational membrane, quadratic bending, contact springs.
//!
//! > A = M + Δt² K    (1)
//!
//! A is assembled as in the simulator of Wu, Wang & Wang 2022, §4.2. Stretching and bending come from
//! [`coarsen_elastic`], evaluated at rest. There every triangle is a linear membrane in its plane. With the 3
//! x 2 matrix of tangents T = (t₁ t₂), the plane stress matrix C and the strain matrices B:
//!
//! > K_ab = a T B_aᵀ C B_b Tᵀ    (2)
//!
//! Only bending resists motion normal to the plane (Bergou et al. 2006). For the two triangles at an edge:
//!
//! > K_ab = 3 k / (A₀ + A₁) c_a c_b I    (3)
//!
//! Springs a thousand times as stiff as the material join vertices that are close in space and that neither
//! (2) nor (3) couples:
//!
//! > ±κ n nᵀ    (4)

use coarsen_elastic::{Fabric, Hinge, Triangle};
use coarsen_mesh::vector::{dot, sub};
use coarsen_mesh::{Mesh, MeshError, ReadError};
use coarsen_sparse::{Contacts, NearKernel, Sum};

use crate::{Problem, ProblemError};

/// Young's modulus E times the thickness, N/m.
const STRETCH: f64 = 5e3;
/// The Poisson ratio ν.
const POISSON: f64 = 0.3;
/// The bending stiffness k, N m.
const BENDING: f64 = 5e-5;
/// Mass per area, kg/m².
const DENSITY: f64 = 0.2;
/// The stiffness κ of contact springs in units of `STRETCH`.
const CONTACT: f64 = 1000.0;
/// The allowed reach of contact springs in mean edge lengths. With a larger reach nearly all vertices would
/// be joined.
const REACH: std::ops::RangeInclusive<f64> = 1e-3..=4.0;
/// The longest side of the garment, m.
const SIDE: f64 = 1.5;

/// Returns the implicit Euler step of Δt = `dt` seconds for a garment without held vertices; 3x3 blocks.
///
/// The garment consists of the triangles of a file that [`coarsen_mesh::read`] can read. Every triangle is
/// divided into four, `divisions` times, and the garment is scaled to 1.5 m.
///
/// With `contact` > 0, springs a thousand times as stiff as the membrane join vertices that are closer than
/// `contact` mean edge lengths and that neither the membrane nor bending couples.
///
/// # Errors
/// [`ProblemError::Mesh`] if the file has no valid mesh, [`ProblemError::Value`] for a `dt` that is not
/// positive and finite or a `contact` that is neither 0 nor between 0.001 and 4, [`ProblemError::TooLarge`].
pub fn garment(file: &str, divisions: usize, dt: f64, contact: f64) -> Result<Problem, ProblemError> {
    ProblemError::check_positive("dt", dt)?;
    if contact != 0.0 && !REACH.contains(&contact) {
        let range = "0 or between 0.001 and 4 mean edge lengths: the second number behind the file";
        return Err(ProblemError::Value { option: "contact", found: contact, range });
    }
    let mut mesh = coarsen_mesh::read_triangles(file)?.scaled(SIDE);
    for _ in 0..divisions {
        if mesh.triangles.len() > ProblemError::MOST / 12 {
            return Err(ProblemError::TooLarge {
                problem: "garment",
                size: divisions,
                limit: ProblemError::MOST,
            });
        }
        mesh = mesh.divided();
    }
    check_mass(&mesh, divisions).map_err(|flat| ReadError::of_whole(file, flat))?;
    let n = mesh.positions.len();
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for i in 0..n as u32 {
        places.push((i, i));
        values.extend([0.0; 9]);
    }
    for triangle in &mesh.triangles {
        membrane(&mesh.positions, *triangle, dt, &mut places, &mut values);
    }
    for hinge in hinges(&mesh) {
        bending(&hinge, dt, &mut places, &mut values);
    }
    let mut matrix = coarsen_sparse::assembly::from_blocks(3 * n, 3 * n, (3, 3), &places, &values)?;
    if contact > 0.0 {
        let mut springs = Contacts::new(n, 3)?;
        let (places, values) = springs_between(&mesh, &matrix, contact, dt);
        springs.replace(&places, &values)?;
        matrix = Sum { elastic: &matrix, contact: &springs }.merge()?;
    }
    matrix.check_finite()?;
    let near_kernel = NearKernel::rigid_body_modes(&mesh.positions, 3)?;
    let stem = file.rsplit('/').next().unwrap_or(file);
    let springs = if contact > 0.0 { format!("@{contact}") } else { String::new() };
    let name = format!("garment:{stem}@{divisions}{springs} dt={dt}");
    Ok(Problem { name, matrix, positions: mesh.positions, near_kernel, constraints: None })
}

/// Returns a triangle at rest; `None` if its height is negligible compared with its longest side.
fn flat(x: &[[f64; 3]], t: [u32; 3]) -> Option<Triangle> {
    Triangle::flat(t.map(|i| x[i as usize]))
}

/// Checks that every vertex has mass. A triangle of area 0 is allowed if each of its vertices belongs to
/// another triangle with positive area.
fn check_mass(mesh: &Mesh, divisions: usize) -> Result<(), MeshError> {
    let mut heavy = vec![false; mesh.positions.len()];
    for t in mesh.triangles.iter().filter(|&&t| flat(&mesh.positions, t).is_some()) {
        t.iter().for_each(|&i| heavy[i as usize] = true);
    }
    match mesh.triangles.iter().position(|t| t.iter().any(|&i| !heavy[i as usize])) {
        // Each division replaces a triangle by four.
        Some(element) => {
            Err(MeshError::Flat { kind: "triangle", element: element >> (2 * divisions), what: "area" })
        }
        None => Ok(()),
    }
}

/// Adds (2) and the mass of a triangle; both are 0 for a triangle of area 0.
fn membrane(x: &[[f64; 3]], t: [u32; 3], dt: f64, places: &mut Vec<(u32, u32)>, values: &mut Vec<f64>) {
    let Some(triangle) = flat(x, t) else { return };
    let curved = triangle.at(Fabric::isotropic(STRETCH, POISSON), &t.map(|i| x[i as usize])).curvature(false);
    for a in 0..3 {
        places.push((t[a], t[a]));
        values.extend((0..9).map(|e| if e % 4 == 0 { DENSITY * curved.area / 3.0 } else { 0.0 }));
        for b in 0..3 {
            places.push((t[a], t[b]));
            values.extend(curved.stiffness(a, b).map(|k| dt * dt * k));
        }
    }
}

/// Adds (3) of a hinge.
fn bending(hinge: &Hinge, dt: f64, places: &mut Vec<(u32, u32)>, values: &mut Vec<f64>) {
    for (a, b) in (0..16).map(|ab| (ab / 4, ab % 4)) {
        places.push((hinge.corners[a], hinge.corners[b]));
        values.extend((0..9).map(|e| if e % 4 == 0 { dt * dt * hinge.stiffness(a, b) } else { 0.0 }));
    }
}

/// Returns the hinges of a garment whose rest shape is the mesh.
fn hinges(mesh: &Mesh) -> Vec<Hinge> {
    Hinge::all(&mesh.triangles, |i| mesh.positions[i as usize], BENDING)
}

/// Returns the mean length of all edges, each counted once.
fn mean_edge(mesh: &Mesh) -> f64 {
    let of_triangle = |&[a, b, c]: &[u32; 3]| [(a, b), (b, c), (c, a)].map(|(i, j)| (i.min(j), i.max(j)));
    let mut edges: Vec<(u32, u32)> = mesh.triangles.iter().flat_map(of_triangle).collect();
    edges.sort_unstable();
    edges.dedup();
    let length = |&(i, j): &(u32, u32)| {
        let e = sub(mesh.positions[i as usize], mesh.positions[j as usize]);
        dot(e, e).sqrt()
    };
    edges.iter().map(length).sum::<f64>() / edges.len() as f64
}

/// Returns (4) for all pairs of vertices that are closer than `share` mean edge lengths and that the matrix
/// does not couple.
fn springs_between(
    mesh: &Mesh,
    matrix: &coarsen_sparse::Bsr<f64>,
    share: f64,
    dt: f64,
) -> (Vec<(u32, u32)>, Vec<f64>) {
    let reach = share * mean_edge(mesh);
    let cell = |p: [f64; 3]| p.map(|x| (x / reach).floor() as i64);
    let mut cells: Vec<([i64; 3], u32)> =
        mesh.positions.iter().enumerate().map(|(i, &p)| (cell(p), i as u32)).collect();
    cells.sort_unstable();
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for &(at, i) in &cells {
        for step in 0..27 {
            let near = [at[0] + step / 9 - 1, at[1] + step / 3 % 3 - 1, at[2] + step % 3 - 1];
            let first = cells.partition_point(|c| c.0 < near);
            for &(_, j) in cells[first..].iter().take_while(|c| c.0 == near) {
                let d = sub(mesh.positions[j as usize], mesh.positions[i as usize]);
                let far = dot(d, d) > reach * reach || dot(d, d) == 0.0;
                if j <= i || far || matrix.pattern().find(i as usize, j as usize).is_some() {
                    continue;
                }
                let n = d.map(|x| x / dot(d, d).sqrt());
                let spring: [f64; 9] =
                    std::array::from_fn(|e| dt * dt * CONTACT * STRETCH * n[e / 3] * n[e % 3]);
                for (place, sign) in [((i, i), 1.0), ((i, j), -1.0), ((j, i), -1.0), ((j, j), 1.0)] {
                    places.push(place);
                    values.extend(spring.map(|v| sign * v));
                }
            }
        }
    }
    (places, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of all edges, 1, 3 and √10, sets the reach, whichever corner of a triangle comes first.
    #[test]
    fn springs_reach_as_far_as_the_mean_of_all_edges() {
        let layer = |z: f64| [[0.0, 0.0, z], [1.0, 0.0, z], [0.0, 3.0, z]];
        let positions = [layer(0.0), layer(1.5)].concat();
        let alone = coarsen_sparse::Bsr::identity(6, 3).unwrap();
        for first in 0..3 {
            let triangles = [0, 3].map(|at| [0, 1, 2].map(|k| at + (k + first) % 3)).to_vec();
            let mesh = Mesh { positions: positions.clone(), triangles, tetrahedra: Vec::new() };
            assert!((mean_edge(&mesh) - (4.0 + 10.0_f64.sqrt()) / 3.0).abs() < 1e-15);
            let (places, _) = springs_between(&mesh, &alone, 1.0, 0.1);
            let mut pairs: Vec<(u32, u32)> = places.into_iter().filter(|(i, j)| i < j).collect();
            pairs.sort_unstable();
            assert_eq!(pairs, [(0, 1), (0, 3), (0, 4), (1, 3), (1, 4), (2, 5), (3, 4)]);
        }
    }

    #[test]
    fn a_reach_outside_its_range_is_named() {
        for found in [-1.0, 1e-4, 5.0, f64::NAN] {
            let error = garment("no.obj", 0, 0.1, found).unwrap_err();
            assert!(matches!(error, ProblemError::Value { option: "contact", .. }), "{error}");
            assert!(error.to_string().contains("0 or between 0.001 and 4"), "{error}");
        }
    }

    /// For a flat square of two triangles, rigid motions in the plane and tilts cause only inertial forces.
    #[test]
    fn a_square_by_hand() {
        let x = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        let mesh =
            Mesh { positions: x.to_vec(), triangles: vec![[0, 1, 2], [0, 2, 3]], tetrahedra: Vec::new() };
        assert_eq!(hinges(&mesh)[0].corners, [0, 2, 3, 1]);
        let (mut places, mut values) = (Vec::new(), Vec::new());
        mesh.triangles.iter().for_each(|t| membrane(&x, *t, 1.0, &mut places, &mut values));
        bending(&hinges(&mesh)[0], 1.0, &mut places, &mut values);
        let a = coarsen_sparse::assembly::from_blocks(12, 12, (3, 3), &places, &values).unwrap();
        let force = |motion: &dyn Fn([f64; 3]) -> [f64; 3]| {
            let u: Vec<f64> = x.iter().flat_map(|&p| motion(p)).collect();
            let mut f = vec![0.0; 12];
            coarsen_core::LinearOperator::apply(&a, &u, &mut f);
            f
        };
        let mass = |i: usize| if i.is_multiple_of(2) { 0.2 / 3.0 } else { 0.1 / 3.0 };
        for axis in 0..3 {
            let f = force(&|_| std::array::from_fn(|k| if k == axis { 1.0 } else { 0.0 }));
            for (k, f) in f.iter().enumerate() {
                let expected = if k % 3 == axis { mass(k / 3) } else { 0.0 };
                assert!((f - expected).abs() < 1e-10, "{axis} {k}: {f}");
            }
        }
        // A rotation in the plane causes only inertial forces.
        let f = force(&|p| [-p[1], p[0], 0.0]);
        for (i, p) in x.iter().enumerate() {
            assert!((f[3 * i] + mass(i) * p[1]).abs() < 1e-9 && (f[3 * i + 1] - mass(i) * p[0]).abs() < 1e-9);
        }
        // A tilt causes no bending force.
        let f = force(&|p| [0.0, 0.0, p[0]]);
        assert!(x.iter().enumerate().all(|(i, p)| (f[3 * i + 2] - mass(i) * p[0]).abs() < 1e-12));
        assert!(a.asymmetric_pair(1e-12).is_none());
    }
}
