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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, Problem};

    #[test]
    fn corners_have_their_own_points() {
        let text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nvt 0 0\nvt 2 0 0\nvt 0 3\nf 1/1 2/2 3/3\nvt 5 5\n\
                     f 2/-1/7 4/1 3/3 1/2\n";
        let [a, b, c, d] = [[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [5.0, 5.0]];
        assert_eq!(parse(text).unwrap(), [[a, b, c], [d, a, c], [d, c, b]]);
    }

    #[test]
    fn faults_name_the_line() {
        let problem = |text: &[u8]| {
            let fault = parse(text).unwrap_err();
            (fault.place, fault.problem)
        };
        let line = |n| Some(Place::Line(n));
        assert_eq!(problem(b"vt 0\n"), (line(1), Problem::End { what: "a texture coordinate" }));
        assert_eq!(problem(b"vt 0 nan\n"), (line(1), Problem::NotFinite));
        assert_eq!(problem(b"vt 0 0\nf 1/1 2/1 3\n"), (line(2), Problem::NoTexture));
        assert_eq!(problem(b"vt 0 0\nf 1//1 2/1 3/1\n"), (line(2), Problem::NoTexture));
        assert_eq!(problem(b"vt 0 0\nf 1/1 2/1 3/2\n"), (line(2), Problem::Index { index: 2, vertices: 1 }));
        assert_eq!(problem(b"vt 0 0\nf 1/1 2/1\n"), (line(2), Problem::Corners { corners: 2 }));
        assert_eq!(problem(b"vt 0 0\nf 1/1 2/0 3/1\n"), (line(2), Problem::Index { index: 0, vertices: 1 }));
    }
}
