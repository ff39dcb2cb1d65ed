//! TetGen NODE and ELE: a count and a list in each.
//!
//! *Reference* Si 2015, "TetGen, a Delaunay-based quality tetrahedral mesh generator", ACM TOMS 41(2); manual, §5.2.

use super::Problem;
use super::fields::{Fault, Fields};

/// The vertices of a NODE file, numbered from 0 or 1 as its first line is.
pub(super) struct Vertices {
    pub(super) positions: Vec<[f64; 3]>,
    base: i64,
}

pub(super) fn vertices(bytes: &[u8]) -> Result<Vertices, Fault> {
    let mut fields = Fields::with_comments(bytes);
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
        positions.push(x);
    }
    Ok(Vertices { positions, base })
}

pub(super) fn tetrahedra(bytes: &[u8], vertices: &Vertices) -> Result<Vec<[u32; 4]>, Fault> {
    let mut fields = Fields::with_comments(bytes);
    let count: usize = fields.text("the number of tetrahedra")?;
    let corners: usize = fields.text("the number of corners")?;
    if corners != 4 && corners != 10 {
        return Err(fields.fault(Problem::Count { what: "corners", expected: 4, found: corners }));
    }
    let attributes: usize = fields.text("the number of attributes")?;
    let mut tetrahedra = Vec::new();
    for _ in 0..count {
        fields.text::<i64>("the number of a tetrahedron")?;
        let mut tetrahedron = [0; 4];
        for corner in &mut tetrahedron {
            let index = fields.text("corner")?;
            *corner = fields.corner(index, vertices.base, vertices.positions.len())?;
        }
        for _ in 0..(corners - 4).saturating_add(attributes) {
            fields.float(8, "an attribute")?; // and the midpoints of second-order elements, which start after the corners
        }
        tetrahedra.push(tetrahedron);
    }
    Ok(tetrahedra)
}
