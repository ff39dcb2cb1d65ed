//! Wavefront OBJ: lines that start with `v` or `f`.
//!
//! *Reference* Wavefront Technologies, "Object Files (.obj)", Advanced Visualizer Manual, Appendix B1.

use super::fields::{Fault, Fields, number, quote};
use super::{Mesh, Problem};

/// The position of a face in the file, and the end of its corners in the list of all corners. A face may
/// refer to later vertices, so corners are checked after the last line.
struct Face {
    at: usize,
    end: usize,
}

pub(super) fn parse(bytes: &[u8]) -> Result<Mesh, Fault> {
    let (mut fields, mut mesh) = (Fields::new(bytes), Mesh::default());
    let (mut faces, mut corners) = (Vec::new(), Vec::new());
    loop {
        let at = fields.position();
        let Some(line) = fields.line() else { break };
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let fault = |problem| fields.fault_at(at, problem);
        match words.next() {
            Some(b"v") => {
                let mut x = [0.0_f64; 3];
                for x in &mut x {
                    let word = words.next().ok_or_else(|| fault(Problem::End { what: "a coordinate" }))?;
                    *x = number(word)
                        .ok_or_else(|| fault(Problem::Number { what: "coordinate", found: quote(word) }))?;
                    if !x.is_finite() {
                        return Err(fault(Problem::NotFinite));
                    }
                }
                mesh.positions.push(x);
            }
            Some(b"f") => {
                let begin = corners.len();
                for word in words {
                    let index = word.split(|&byte| byte == b'/').next().unwrap_or(word); // v/vt/vn
                    let index: i64 = number(index)
                        .ok_or_else(|| fault(Problem::Number { what: "corner", found: quote(word) }))?;
                    // Negative numbers count backwards from the last vertex read so far.
                    let back = index < 0;
                    corners.push(if back { mesh.positions.len() as i64 + index + 1 } else { index });
                }
                if corners.len() - begin < 3 {
                    return Err(fault(Problem::Corners { corners: corners.len() - begin }));
                }
                faces.push(Face { at, end: corners.len() });
            }
            _ => {} // normals, groups, materials, comments
        }
    }
    let (mut polygon, mut begin) = (Vec::new(), 0);
    for face in faces {
        polygon.clear();
        let there = |fault: Fault| fields.fault_at(face.at, fault.problem);
        for &index in &corners[begin..face.end] {
            polygon.push(fields.corner(index, 1, mesh.positions.len()).map_err(there)?);
        }
        fields.fan(&polygon, &mut mesh.triangles).map_err(there)?;
        begin = face.end;
    }
    Ok(mesh)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MeshError, Place};

    #[test]
    fn corners_are_counted_both_ways() {
        let text =
            b"# a quad\nv 0 0 0\nv 1 0 0\nf 1/1/1 2//7 3 4/9\nv 1 1 0 0.5\nv 0 1 0\r\nvn 0 0 1\nf -4 -3 -2";
        let mesh = parse(text).unwrap();
        assert_eq!(mesh.positions[2], [1.0, 1.0, 0.0]);
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 2]]);
    }

    #[test]
    fn faults_name_the_line() {
        let problem = |text: &[u8]| {
            let fault = parse(text).unwrap_err();
            (fault.place, fault.problem)
        };
        let line = |n| Some(Place::Line(n));
        assert_eq!(problem(b"v 0 0\n"), (line(1), Problem::End { what: "a coordinate" }));
        assert_eq!(problem(b"\nv 0 0 inf\n"), (line(2), Problem::NotFinite));
        assert_eq!(problem(b"v 0 0 0\nf 1 1 2"), (line(2), Problem::Index { index: 2, vertices: 1 }));
        assert_eq!(problem(b"v 0 0 0\nf 1 1 0"), (line(2), Problem::Index { index: 0, vertices: 1 }));
        assert_eq!(problem(b"v 0 0 0\n\nf 1 -2"), (line(3), Problem::Corners { corners: 2 }));
        let repeated = MeshError::Repeated { kind: "triangle", element: 0, corner: 0 };
        assert_eq!(problem(b"v 0 0 0\nv 1 0 0\nf 1 2 -2"), (line(3), repeated.into()));
    }
}
