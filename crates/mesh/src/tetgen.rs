//! TetGen NODE and ELE files: each contains a count and a list. The files of Triangle, the two-dimensional
//! predecessor of TetGen, have the same layout.
//!
//! *Reference* Si 2015, "TetGen, a Delaunay-based quality tetrahedral mesh generator", ACM TOMS 41(2);
//! manual, §5.2.

use super::fields::{Fault, Fields};
use super::{Mesh, Problem, polygon};

/// The vertices of a NODE file. The number of the first vertex, 0 or 1, is the base of the numbering.
pub(super) struct Vertices {
    pub(super) positions: Vec<[f64; 3]>,
    base: i64,
}

pub(super) fn vertices(bytes: &[u8]) -> Result<Vertices, Fault> {
    let mut fields = Fields::with_comments(bytes);
    let read = points(&mut fields);
    fields.explain(read)
}

fn points(fields: &mut Fields<'_>) -> Result<Vertices, Fault> {
    let count: usize = fields.text("the number of points")?;
    let dimension: usize = fields.text("the dimension")?;
    if dimension != 2 && dimension != 3 {
        let found = dimension.to_string();
        return Err(fields.fault(Problem::Version { what: "dimension", found, expected: "2 or 3" }));
    }
    let attributes: usize = fields.text("the number of attributes")?;
    let markers: usize = fields.text("the number of boundary markers")?;
    let (mut positions, mut base) = (Vec::new(), 0);
    for k in 0..count {
        let x = fields.entry(|fields| {
            let number: i64 = fields.text("the number of a point")?;
            if k == 0 {
                base = number;
            } else if number.checked_sub(base) != Some(k as i64) {
                let found = number.to_string();
                return Err(fields.fault(Problem::Word { expected: "points numbered one by one", found }));
            }
            let mut x = [0.0; 3];
            for x in &mut x[..dimension] {
                *x = fields.coordinate(8)?;
            }
            for _ in 0..attributes.saturating_add(markers) {
                fields.float(8, "an attribute or marker")?;
            }
            Ok(x)
        })?;
        positions.push(x);
    }
    Ok(Vertices { positions, base })
}

/// The mesh of an ELE file: tetrahedra from TetGen, or triangles from Triangle.
pub(super) fn mesh(bytes: &[u8], vertices: Vertices) -> Result<Mesh, Fault> {
    let mut fields = Fields::with_comments(bytes);
    let read = elements(&mut fields, vertices);
    fields.explain(read)
}

fn elements(fields: &mut Fields<'_>, vertices: Vertices) -> Result<Mesh, Fault> {
    let Vertices { positions, base } = vertices;
    let count: usize = fields.text("the number of elements")?;
    let nodes: usize = fields.text("the number of corners")?;
    // In curved elements, the mid-side nodes follow the corners.
    let corners = match nodes {
        3 | 6 => 3,
        4 | 10 => 4,
        _ => return Err(fields.fault(Problem::Count { what: "corners", expected: 4, found: nodes })),
    };
    let attributes: usize = fields.text("the number of attributes")?;
    let mut mesh = Mesh { positions, ..Mesh::default() }.numbered(base);
    for _ in 0..count {
        let element = fields.entry(|fields| {
            fields.text::<i64>("the number of an element")?;
            let mut element = [0; 4];
            for k in 0..nodes {
                let index = fields.text("corner")?;
                let corner = fields.corner(index, base, mesh.positions.len())?;
                if k < corners {
                    element[k] = corner;
                }
            }
            for _ in 0..attributes {
                fields.float(8, "an attribute")?;
            }
            Ok(element)
        })?;
        match corners {
            3 => polygon::add(&element[..3], &mesh.positions, &mut mesh.triangles),
            _ => {
                fields.tetrahedron(element, |k| i64::from(element[k]) + base, &mut mesh.tetrahedra)?;
            }
        }
    }
    Ok(mesh)
}
