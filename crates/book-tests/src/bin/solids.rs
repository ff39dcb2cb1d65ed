//! The program of the tutorial "Stress in a beam": the end of a beam of steel
//! and aluminium is pressed down.
//! `cargo run -p coarsen-book --bin solids -- book/src/tutorials/beam.msh`

// ANCHOR: head
use std::error::Error;

use coarsen::constraints::Dirichlet;
use coarsen::elastic::{Curvature, Lame, Potential};
use coarsen::elastic::{StVenantKirchhoff, Tetrahedra};
use coarsen::mesh::vector::{cross, dot, sub};
use coarsen::mesh::{Mesh, read};
use coarsen::prelude::*;
use coarsen::sparse::Bsr;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("expected a mesh of Gmsh")?;
    let (result, vtu) = run(&read(file)?.without_unused())?;
    println!("{result}");
    Ok(std::fs::write("beam.vtu", vtu)?)
}
// ANCHOR_END: head

// ANCHOR: mesh
/// Returns a line of results and the file for ParaView.
fn run(mesh: &Mesh) -> Result<(String, String), Box<dyn Error>> {
    let (n, rest) = (mesh.positions.len(), mesh.positions.as_flattened());
    // ANCHOR_END: mesh

    // ANCHOR: stiffness
    let none = Lame::new(f64::NAN, 0.0); // `Tetrahedra::new` refuses it
    let mut materials = vec![none; mesh.tetrahedra.len()];
    for group in &mesh.groups {
        let material = match (group.dimension, group.name.as_str()) {
            (3, "steel") => Lame::new(210e9, 0.3), // Pa
            (3, "aluminium") => Lame::new(70e9, 0.33),
            _ => continue,
        };
        for &element in &group.elements {
            materials[element as usize] = material;
        }
    }
    let free = vec![false; n]; // the matrix has the rows of all nodes
    let mut body =
        Tetrahedra::new(StVenantKirchhoff, mesh, &free, |e| materials[e])?;
    let mut k = Bsr::zeros(body.pattern().clone(), (3, 3))?;
    body.add_hessian(rest, Curvature::Exact, k.values_mut());
    // ANCHOR_END: stiffness

    // ANCHOR: supports
    let mut given = Vec::new();
    for group in mesh.groups.iter().filter(|group| group.dimension == 2) {
        let triangles = group.elements.iter().map(|&t| t as usize);
        let corners = triangles.flat_map(|t| mesh.triangles[t]);
        for x in corners.map(|v| 3 * v as usize) {
            match group.name.as_str() {
                "wall" => given.extend([x, x + 1, x + 2].map(|i| (i, 0.0))),
                "end" => given.push((x + 1, -0.002)), // y, in m
                _ => {}
            }
        }
    }
    let given = Dirichlet::new(3 * n, given)?;
    let (mut a, mut b) = (k.clone(), vec![0.0; 3 * n]);
    given.impose(&mut a, &mut b)?;
    // ANCHOR_END: supports

    // ANCHOR: solve
    let positions = Some(&mesh.positions[..]);
    let system = System { positions, ..System::from(&a) };
    let mut m = smoothed_aggregation().build(system, &Cpu::new())?;
    let (mut u, mut force) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
    let mut cg = Cg::new(Stop::relative(1e-10));
    let report = cg.solve(&a, &mut m, &b, &mut u)?.converged()?;
    k.apply(&u, &mut force); // N, zero where nothing is given
    let pressed = given.fixed().filter(|&i| b[i] != 0.0);
    let force = pressed.map(|i| force[i]).sum::<f64>();
    // ANCHOR_END: solve

    // ANCHOR: stress
    let von_mises = |(element, corners): (usize, &[u32; 4])| {
        let sides = |field: &[f64]| {
            let [o, p, q, r] = corners.map(|v| field.as_chunks().0[v as usize]);
            [sub(p, o), sub(q, o), sub(r, o)]
        };
        let ([p, q, r], moved) = (sides(rest), sides(&u));
        let normals = [cross(q, r), cross(r, p), cross(p, q)];
        let slope = |i: usize, j: usize| {
            let terms = [0, 1, 2].map(|k| moved[k][i] * normals[k][j]);
            terms.iter().sum::<f64>() / dot(p, normals[0])
        };
        let pair = |[i, j]: [usize; 2]| {
            let shear = slope(i, j) + slope(j, i);
            2.0 * (slope(i, i) - slope(j, j)).powi(2) + 3.0 * shear.powi(2)
        };
        let squares = [[0, 1], [1, 2], [2, 0]].map(pair);
        materials[element].mu * squares.iter().sum::<f64>().sqrt() // Pa
    };
    let stress = mesh.tetrahedra.iter().enumerate().map(von_mises);
    let vtu = vtu(mesh, &u, &stress.collect::<Vec<f64>>());
    let count = report.iterations;
    Ok((format!("{} unknowns, {count} iterations, {force:.0} N", 3 * n), vtu))
}
// ANCHOR_END: stress

// ANCHOR: vtu
/// An array of a file for ParaView.
fn array<T: ToString>(kind: &str, name: &str, size: u8, of: &[T]) -> String {
    let words = of.iter().map(T::to_string).collect::<Vec<_>>().join(" ");
    format!(
        "<DataArray type=\"{kind}\" Name=\"{name}\" format=\"ascii\" \
         NumberOfComponents=\"{size}\">{words}</DataArray>\n"
    )
}

/// Points and tetrahedra, the displacement of points, the stress of cells.
fn vtu(mesh: &Mesh, u: &[f64], stress: &[f64]) -> String {
    let (points, cells) = (mesh.positions.len(), mesh.tetrahedra.len());
    let ends: Vec<usize> = (1..=cells).map(|k| 4 * k).collect();
    let at = array("Float64", "points", 3, mesh.positions.as_flattened());
    let corners = mesh.tetrahedra.as_flattened();
    let corners = array("Int64", "connectivity", 1, corners);
    let ends = array("Int64", "offsets", 1, &ends);
    let types = array("UInt8", "types", 1, &vec![10; cells]);
    let u = array("Float64", "displacement", 3, u);
    let stress = array("Float64", "von_mises", 1, stress);
    format!(
        "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\">\n\
         <UnstructuredGrid>\n\
         <Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">\n\
         <Points>{at}</Points><Cells>{corners}{ends}{types}</Cells>\n\
         <PointData>{u}</PointData><CellData>{stress}</CellData>\n\
         </Piece></UnstructuredGrid></VTKFile>\n"
    )
}
// ANCHOR_END: vtu

#[cfg(test)]
mod tests {
    use coarsen::mesh::{Format, parse};

    use super::*;

    const PAGE: &str = include_str!("../../../../book/src/tutorials/solids.md");
    const MESH: &str = include_str!("../../../../book/src/tutorials/beam.msh");

    fn mesh() -> Mesh {
        parse(Format::Msh, MESH.as_bytes()).unwrap().without_unused()
    }

    fn numbers(line: &str) -> Vec<f64> {
        let words = line.split([' ', '|', '%']);
        words.filter_map(|word| word.parse().ok()).collect()
    }

    /// Round-off may add an iteration, and change the last digit of the force.
    #[test]
    fn results_are_those_of_the_page() {
        let (said, _) = run(&mesh()).unwrap();
        let line = |start: &str| {
            let line = PAGE.lines().find(|line| line.starts_with(start));
            numbers(line.expect("a line of results"))
        };
        let now = numbers(&said);
        let theory = deflection(-now[2]);
        let row = [
            &[20.0][..],
            &now[..2],
            &[-1e-3 * now[2], 1e3 * theory, 100.0 * (theory / 0.002 - 1.0)],
        ];
        for (then, now, digits) in [
            (line("4284 unknowns"), now.clone(), &[0.0, 1.0, 1.0][..]),
            (line("| 20 mm"), row.concat(), &[0.0, 0.0, 1.0, 0.01, 0.01, 0.1]),
        ] {
            assert_eq!((now.len(), then.len()), (digits.len(), digits.len()));
            for ((now, then), digit) in now.iter().zip(then).zip(digits) {
                assert!((now - then).abs() <= *digit, "{said}: {now} {then}");
            }
        }
    }

    /// Of the end under a force, in m: bending and shear.
    fn deflection(force: f64) -> f64 {
        let (length, area) = (0.8_f64, 0.1 * 0.1);
        let bending = 7.0 / 8.0 / 210e9 + 1.0 / 8.0 / 70e9;
        let shear = 2.6 / 210e9 + 2.66 / 70e9;
        force * length.powi(3) / (0.25 * area * area) * bending
            + force * length / (2.0 * 0.85 * area) * shear
    }

    /// Away from the wall the stress is M y / I, and small in shear.
    #[test]
    fn stress_is_that_of_bending() {
        let (said, vtu) = run(&mesh()).unwrap();
        let moment = -numbers(&said)[2] / (0.1_f64.powi(4) / 12.0);
        let [points, corners, u, stress] =
            ["points", "connectivity", "displacement", "von_mises"]
                .map(|name| array_of(&vtu, name));
        assert_eq!(points.len(), u.len());
        let (mut now, mut theory) = (0.0, 0.0);
        for (corners, stress) in corners.as_chunks::<4>().0.iter().zip(stress) {
            let centre = |d: usize| {
                let at = corners.map(|v| points[3 * v as usize + d]);
                at.iter().sum::<f64>() / 4.0
            };
            if (0.1..0.3).contains(&centre(2)) {
                now += stress;
                theory += moment * (0.8 - centre(2)) * (centre(1) - 0.05).abs();
            }
        }
        assert!((now / theory - 1.0).abs() < 0.1, "{now:e} {theory:e}");
    }

    fn array_of(vtu: &str, name: &str) -> Vec<f64> {
        let tail = vtu.split(&format!("Name=\"{name}\"")).nth(1).unwrap();
        let text = tail.split(['<', '>']).nth(1).unwrap();
        text.split(' ').map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn groups_are_those_of_the_file() {
        let mesh = mesh();
        let names = mesh.groups.iter().map(|group| group.name.as_str());
        let names = names.collect::<Vec<_>>();
        assert_eq!(names, ["wall", "end", "steel", "aluminium"]);
        let count = |k: usize| mesh.groups[k].elements.len();
        assert_eq!(count(0) + count(1), mesh.triangles.len());
        assert_eq!(count(2) + count(3), mesh.tetrahedra.len());
        for (group, at) in mesh.groups.iter().zip([0.0, 0.8]) {
            let triangles = group.elements.iter().map(|&t| t as usize);
            for v in triangles.flat_map(|t| mesh.triangles[t]) {
                assert!((mesh.positions[v as usize][2] - at).abs() < 1e-9);
            }
        }
    }
}
