//! The result of the tutorial "Stress in a beam", read from its file for ParaView.

use std::error::Error;

use coarsen::mesh::Mesh;
use examples_render::{Camera, Drawing, Picture};

/// Displacements are drawn this many times too large.
const TIMES: f64 = 40.0;

/// The deformed surface, coloured by the von Mises stress. The stress of a node is the mean over its tetrahedra.
pub(crate) fn draw(vtu: &str) -> Result<Picture, Box<dyn Error>> {
    let rest = array(vtu, "points")?;
    let u = array(vtu, "displacement")?;
    let positions: Vec<f64> = rest.iter().zip(&u).map(|(x, u)| x + TIMES * u).collect();
    let corners: Vec<u32> = array(vtu, "connectivity")?.iter().map(|&v| v as u32).collect();
    let mesh = Mesh {
        positions: positions.as_chunks().0.to_vec(),
        tetrahedra: corners.as_chunks().0.to_vec(),
        ..Mesh::default()
    };
    let mut stress = vec![[0.0, 0.0]; mesh.positions.len()]; // sum, count
    for (corners, s) in mesh.tetrahedra.iter().zip(array(vtu, "von_mises")?) {
        for &v in corners {
            let [sum, count] = stress[v as usize];
            stress[v as usize] = [sum + s, count + 1.0];
        }
    }
    let stress: Vec<f64> = stress.iter().map(|[sum, count]| sum / count / 1e6).collect();
    let drawing = Drawing {
        height: 400,
        camera: Camera { azimuth: -55.0, elevation: 18.0, up: 1, ..Camera::default() },
        title: "MPa".into(),
        ..Drawing::default()
    };
    let mut picture = drawing.mesh(&mesh.positions, &mesh.surface(), &stress)?;
    drawing.caption(&mut picture, &format!("von Mises stress; displacement times {TIMES}"));
    Ok(picture)
}

/// The numbers of an array.
fn array(vtu: &str, name: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let tail = vtu.split(&format!("Name=\"{name}\"")).nth(1).and_then(|tail| tail.split(['<', '>']).nth(1));
    let text = tail.ok_or_else(|| format!("the file has no array {name}"))?;
    Ok(text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}
