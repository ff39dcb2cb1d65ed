//! Medit MESH: keywords, each followed by a count and a list.
//!
//! *Reference* Frey 2001, "MEDIT: an interactive mesh visualization software", INRIA RT-0253, §3.

use super::fields::{Fault, Fields, number, quote};
use super::{Mesh, Problem, polygon};

/// The keywords of elements that are not read: other volume elements of any order, and triangles, quadrilaterals
/// and tetrahedra of the orders that have no branch of their own.
const ELEMENTS: [&[u8]; 7] =
    [b"hexahedra", b"hexaedra", b"prisms", b"pyramids", b"triangles", b"quadrilaterals", b"tetrahedra"];

/// Ends the keywords of the order of the nodes of curved elements, as in `TrianglesP2Ordering`.
const ORDERING: &[u8] = b"ordering";

pub(super) fn parse(bytes: &[u8]) -> Result<Mesh, Fault> {
    let mut fields = Fields::with_comments(bytes);
    let mesh = self::mesh(&mut fields);
    fields.explain(mesh)
}

fn mesh(fields: &mut Fields<'_>) -> Result<Mesh, Fault> {
    let (mut mesh, mut dimension) = (Mesh::default(), 3);
    fields.keyword("MeshVersionFormatted")?;
    fields.text::<i64>("the version")?;
    while let Some(word) = fields.word() {
        match word.to_ascii_lowercase().as_slice() {
            b"dimension" => {
                dimension = fields.text("the dimension")?;
                if dimension != 2 && dimension != 3 {
                    let found = dimension.to_string();
                    return Err(fields.fault(Problem::Version {
                        what: "dimension",
                        found,
                        expected: "2 or 3",
                    }));
                }
            }
            b"vertices" => {
                for _ in 0..fields.text::<usize>("the number of vertices")? {
                    let x = fields.entry(|fields| {
                        let mut x = [0.0; 3];
                        for x in &mut x[..dimension] {
                            *x = fields.coordinate(8)?;
                        }
                        fields.float(8, "a reference")?;
                        Ok(x)
                    })?;
                    mesh.positions.push(x);
                }
            }
            // Curved elements: the mid-side nodes follow the corners.
            b"trianglesp2" => polygons::<3>(fields, "the number of triangles", 3, &mut mesh)?,
            b"quadrilateralsq2" => polygons::<4>(fields, "the number of quadrilaterals", 5, &mut mesh)?,
            b"tetrahedrap2" => tetrahedra(fields, 6, &mut mesh)?,
            b"triangles" => polygons::<3>(fields, "the number of triangles", 0, &mut mesh)?,
            b"quadrilaterals" => polygons::<4>(fields, "the number of quadrilaterals", 0, &mut mesh)?,
            b"tetrahedra" => tetrahedra(fields, 0, &mut mesh)?,
            other if ELEMENTS.iter().any(|name| other.starts_with(name)) && !other.ends_with(ORDERING) => {
                return Err(fields.fault(Problem::Word {
                    expected: "triangles, quadrilaterals or tetrahedra of order 1 or 2",
                    found: quote(word),
                }));
            }
            b"end" => break,
            // Other sections (edges, corners, normals, ...) consist of a count and numbers.
            other if other[0].is_ascii_alphabetic() => {
                while fields.peek().is_some_and(|next| number::<f64>(next).is_some()) {
                    fields.word();
                }
            }
            _ => return Err(fields.fault(Problem::Word { expected: "a keyword", found: quote(word) })),
        }
    }
    Ok(mesh.numbered(1))
}

/// The corners of an element. Skips its `middles` mid-side nodes and its reference number.
fn element<const N: usize>(
    fields: &mut Fields<'_>,
    vertices: usize,
    middles: usize,
) -> Result<[u32; N], Fault> {
    fields.entry(|fields| {
        let mut corners = [0; N];
        for corner in &mut corners {
            let index = fields.text("corner")?;
            *corner = fields.corner(index, 1, vertices)?;
        }
        for _ in 0..middles {
            let index = fields.text("the middle of an edge")?;
            fields.corner(index, 1, vertices)?;
        }
        fields.float(8, "a reference")?;
        Ok(corners)
    })
}

/// Reads a list of polygons with `middles` mid-side nodes each.
fn polygons<const N: usize>(
    fields: &mut Fields<'_>,
    what: &'static str,
    middles: usize,
    mesh: &mut Mesh,
) -> Result<(), Fault> {
    for _ in 0..fields.text::<usize>(what)? {
        let corners: [u32; N] = element(fields, mesh.positions.len(), middles)?;
        polygon::add(&corners, &mesh.positions, &mut mesh.triangles);
    }
    Ok(())
}

/// Reads a list of tetrahedra with `middles` mid-side nodes each.
fn tetrahedra(fields: &mut Fields<'_>, middles: usize, mesh: &mut Mesh) -> Result<(), Fault> {
    for _ in 0..fields.text::<usize>("the number of tetrahedra")? {
        let corners = element(fields, mesh.positions.len(), middles)?;
        fields.tetrahedron(corners, |k| i64::from(corners[k]) + 1, &mut mesh.tetrahedra)?;
    }
    Ok(())
}
