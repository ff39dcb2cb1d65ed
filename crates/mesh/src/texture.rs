//! Texture coordinates of Wavefront OBJ: lines that start with `vt`, and the second numbers of corners.

use super::fields::Fault;
use super::obj::Listed;
use super::polygon;

/// The (u, v) of the corners of all triangles, in the order in which the triangles are read.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<[[f64; 2]; 3]>, Fault> {
    let mut corners = Vec::new();
    let points = {
        let listed = Listed::read(bytes, b"vt", 1, "a texture coordinate")?;
        listed.each_face(|polygon| corners.extend_from_slice(polygon))?;
        listed.points
    };
    // The vertices decide how a polygon is divided.
    let vertices = Listed::read(bytes, b"v", 0, "a coordinate")?;
    let (mut triangles, mut begin) = (Vec::new(), 0);
    vertices.each_face(|polygon| {
        let point = |k: usize| points[corners[begin + k] as usize];
        polygon::divide(polygon, &vertices.points, |three| triangles.push(three.map(point)));
        begin += polygon.len();
    })?;
    Ok(triangles)
}
