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
//! > K_ab = k / (A₀ + A₁) c_a c_b I    (3)
//!
//! Springs a thousand times as stiff as the material join vertices that are close in space and that neither
//! (2) nor (3) couples:
//!
//! > ±κ n nᵀ    (4)

use coarsen_elastic::{Curved, Fabric, Hinge, Triangle};
use coarsen_mesh::vector::{dot, sub};
use coarsen_mesh::{Mesh, MeshError, ReadError};

use crate::by_rows::{ByRows, Nodes};
use crate::elements::{Incidence, around, marked, touches};
use crate::{Problem, ProblemError, rows};

/// Young's modulus E times the thickness, N/m.
const STRETCH: f64 = 5e3;
/// The Poisson ratio ν.
const POISSON: f64 = 0.3;
/// The bending modulus k, N m: three times the 5e-5 that the formula of Bergou et al. has for cotton.
const BENDING: f64 = 3.0 * 5e-5;
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
    system(file, divisions, dt, contact)?.whole()
}

/// The system of a garment at rest, without its matrix.
pub(crate) fn system(
    file: &str,
    divisions: usize,
    dt: f64,
    contact: f64,
) -> Result<ByRows<'static>, ProblemError> {
    ProblemError::check_positive("dt", dt)?;
    if contact != 0.0 && !REACH.contains(&contact) {
        let range = "0 or between 0.001 and 4 mean edge lengths: the second number behind the file";
        return Err(ProblemError::Value { option: "contact", found: contact, range });
    }
    let mut mesh = coarsen_mesh::read_triangles(file)?.scaled(SIDE);
    for _ in 0..divisions {
        if mesh.triangles.len() > ProblemError::MOST / 12 {
            let spec = format!("garment:{file}@{divisions}");
            return Err(ProblemError::TooLarge { spec, limit: ProblemError::MOST });
        }
        mesh = mesh.divided();
    }
    check_mass(&mesh, divisions).map_err(|flat| ReadError::of_whole(file, flat))?;
    let stem = file.rsplit('/').next().unwrap_or(file);
    let springs = if contact > 0.0 { format!("@{contact}") } else { String::new() };
    let name = format!("garment:{stem}@{divisions}{springs} dt={dt}");
    let reach = (contact > 0.0).then(|| contact * mean_edge(&mesh));
    let Mesh { positions, triangles, .. } = mesh;
    Ok(ByRows::new(name, 3, positions, move |x, nodes| {
        let near = around(&triangles, nodes);
        let elements = Elements::new(x, &near);
        let springs = reach.map_or(Vec::new(), |reach| springs_between(x, &elements, nodes, reach));
        let ends: Vec<[u32; 2]> = springs.iter().map(|spring| spring.ends).collect();
        let springs_at = Incidence::new(x.len(), &ends);
        let dt2 = dt * dt;
        Ok(rows::assemble(nodes, 3, &|i, row| {
            for (t, a) in elements.triangles_at.of(i) {
                let Some(curved) = curved(x, elements.triangles[t]) else { continue };
                row.add_identity(i, DENSITY * curved.area / 3.0); // M
                for (b, &j) in elements.triangles[t].iter().enumerate() {
                    row.add(j as usize, &curved.stiffness(a, b).map(|k| dt2 * k)); // (2)
                }
            }
            for (h, a) in elements.hinges_at.of(i) {
                for (b, &j) in elements.hinges[h].corners.iter().enumerate() {
                    row.add_identity(j as usize, dt2 * elements.hinges[h].stiffness(a, b)); // (3)
                }
            }
            let mut own = [0.0; 9];
            for (s, end) in springs_at.of(i) {
                let stiffness = springs[s].stiffness(dt2); // (4)
                own.iter_mut().zip(stiffness).for_each(|(sum, k)| *sum += k);
                row.add(springs[s].ends[1 - end] as usize, &stiffness.map(|k| -k));
            }
            row.add(i, &own);
        })?) // (1)
    }))
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

/// The derivatives of a triangle at rest; `None` if it has no area.
fn curved(x: &[[f64; 3]], t: [u32; 3]) -> Option<Curved> {
    let fabric = Fabric::isotropic(STRETCH, POISSON);
    Some(flat(x, t)?.at(fabric, &t.map(|i| x[i as usize])).curvature(false))
}

/// Elements that touch some vertices.
struct Elements {
    /// The triangles with an area.
    triangles: Vec<[u32; 3]>,
    triangles_at: Incidence,
    hinges: Vec<Hinge>,
    hinges_at: Incidence,
}

impl Elements {
    fn new(x: &[[f64; 3]], triangles: &[[u32; 3]]) -> Self {
        let hinges = Hinge::all(triangles, |i| x[i as usize], BENDING);
        let corners: Vec<[u32; 4]> = hinges.iter().map(|hinge| hinge.corners).collect();
        let triangles: Vec<_> = triangles.iter().copied().filter(|&t| flat(x, t).is_some()).collect();
        Self {
            triangles_at: Incidence::new(x.len(), &triangles),
            hinges_at: Incidence::new(x.len(), &corners),
            triangles,
            hinges,
        }
    }

    /// Whether (2) or (3) couples two vertices, if all elements at i are in the lists.
    fn couple(&self, i: usize, j: u32) -> bool {
        self.triangles_at.of(i).any(|(t, _)| self.triangles[t].contains(&j))
            || self.hinges_at.of(i).any(|(h, _)| self.hinges[h].corners.contains(&j))
    }
}

/// A contact spring.
struct Spring {
    ends: [u32; 2],
    /// From the first end to the second, of length 1.
    direction: [f64; 3],
}

impl Spring {
    /// Returns Δt² κ n nᵀ.
    fn stiffness(&self, dt2: f64) -> [f64; 9] {
        let n = self.direction;
        std::array::from_fn(|e| dt2 * CONTACT * STRETCH * n[e / 3] * n[e % 3])
    }
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

/// Returns the springs at some vertices, to all vertices that are closer than `reach` and that no element couples with
/// them. Their order does not depend on the vertices that are chosen.
fn springs_between(x: &[[f64; 3]], elements: &Elements, nodes: Nodes<'_>, reach: f64) -> Vec<Spring> {
    let own = marked(nodes);
    let cell = |p: [f64; 3]| p.map(|x| (x / reach).floor() as i64);
    let mut cells: Vec<([i64; 3], u32)> = x.iter().enumerate().map(|(i, &p)| (cell(p), i as u32)).collect();
    cells.sort_unstable();
    let mut springs = Vec::new();
    for &(at, i) in &cells {
        for step in 0..27 {
            let near = [at[0] + step / 9 - 1, at[1] + step / 3 % 3 - 1, at[2] + step % 3 - 1];
            let first = cells.partition_point(|c| c.0 < near);
            for &(_, j) in cells[first..].iter().take_while(|c| c.0 == near) {
                let d = sub(x[j as usize], x[i as usize]);
                let far = dot(d, d) > reach * reach || dot(d, d) == 0.0;
                if j <= i || far || !touches(&own, &[i, j]) {
                    continue;
                }
                let (end, other) = if own[i as usize] { (i, j) } else { (j, i) };
                if !elements.couple(end as usize, other) {
                    springs.push(Spring { ends: [i, j], direction: d.map(|x| x / dot(d, d).sqrt()) });
                }
            }
        }
    }
    springs
}
