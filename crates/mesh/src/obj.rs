//! Wavefront OBJ: lines that start with `v` or `f`.
//!
//! *Reference* Wavefront Technologies, "Object Files (.obj)", Advanced Visualizer Manual, Appendix B1.

use std::borrow::Cow;

use super::fields::{Fault, Fields, number, quote};
use super::{Mesh, Problem, polygon};

/// The position of a face in the file, and the end of its corners in the list of all corners. A face may
/// refer to later points, so corners are checked after the last line.
struct Face {
    at: usize,
    end: usize,
}

/// The points of one kind of a file, and the faces with their corners among these points.
pub(super) struct Listed<'a, const N: usize> {
    fields: Fields<'a>,
    pub(super) points: Vec<[f64; N]>,
    faces: Vec<Face>,
    corners: Vec<i64>,
}

impl<'a, const N: usize> Listed<'a, N> {
    /// Reads the lines that start with `keyword` as points, and the numbers in a column of v/vt/vn as corners. `what`
    /// names a coordinate of a point.
    pub(super) fn read(
        bytes: &'a [u8],
        keyword: &[u8],
        column: usize,
        what: &'static str,
    ) -> Result<Self, Fault> {
        let (mut fields, mut points) = (Fields::new(bytes), Vec::new());
        let (mut faces, mut corners) = (Vec::new(), Vec::new());
        loop {
            let at = fields.position();
            let Some(line) = fields.line() else { break };
            let line = continued(line, &mut fields);
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let fault = |problem| fields.fault_at(at, problem);
            match words.next() {
                Some(word) if word == keyword => {
                    let mut point = [0.0_f64; N];
                    for x in &mut point {
                        let word = words.next().ok_or_else(|| fault(Problem::End { what }))?;
                        *x = number(word)
                            .ok_or_else(|| fault(Problem::Number { what, found: quote(word) }))?;
                        if !x.is_finite() {
                            return Err(fault(Problem::NotFinite));
                        }
                    }
                    points.push(point);
                }
                Some(b"f") => {
                    let (begin, mut before_first) = (corners.len(), None);
                    for word in words {
                        // Only the vertex must be there.
                        let index = word.split(|&byte| byte == b'/').nth(column);
                        let index = index.filter(|index| column == 0 || !index.is_empty());
                        let index = index.ok_or_else(|| fault(Problem::NoTexture))?;
                        let index: i64 = number(index)
                            .ok_or_else(|| fault(Problem::Number { what: "corner", found: quote(word) }))?;
                        // Negative numbers count backwards from the last point read so far.
                        if index >= 0 {
                            corners.push(index);
                            continue;
                        }
                        let from_first = index.saturating_add(points.len() as i64 + 1);
                        if from_first < 1 {
                            before_first = before_first.or(Some(index));
                        }
                        corners.push(from_first);
                    }
                    if corners.len() - begin < 3 {
                        return Err(fault(Problem::Corners { corners: corners.len() - begin }));
                    }
                    if let Some(index) = before_first {
                        return Err(fault(Problem::Index { index, vertices: points.len() }));
                    }
                    faces.push(Face { at, end: corners.len() });
                }
                _ => {} // points of other kinds, normals, groups, materials, comments
            }
        }
        Ok(Self { fields, points, faces, corners })
    }

    /// Calls `visit` with the corners of each face. Errors name the line of the face.
    pub(super) fn each_face(&self, mut visit: impl FnMut(&[u32])) -> Result<(), Fault> {
        let (mut polygon, mut begin) = (Vec::new(), 0);
        for face in &self.faces {
            polygon.clear();
            let there = |fault: Fault| self.fields.fault_at(face.at, fault.problem);
            for &index in &self.corners[begin..face.end] {
                polygon.push(self.fields.corner(index, 1, self.points.len()).map_err(there)?);
            }
            visit(&polygon);
            begin = face.end;
        }
        Ok(())
    }
}

/// A line, with the lines that continue it: a backslash ends all but the last. Of comments and names, such as a path, it
/// is a part.
fn continued<'a>(line: &'a [u8], fields: &mut Fields<'a>) -> Cow<'a, [u8]> {
    let mut line = Cow::Borrowed(line);
    if !matches!(line.trim_ascii_start().first(), Some(b'v' | b'f')) {
        return line;
    }
    while let Some(front) = line.trim_ascii_end().strip_suffix(b"\\") {
        let end = front.len();
        let whole = line.to_mut();
        whole.truncate(end);
        let Some(next) = fields.line() else { break };
        whole.push(b' ');
        whole.extend(next);
    }
    line
}

pub(super) fn parse(bytes: &[u8]) -> Result<Mesh, Fault> {
    let listed = Listed::read(bytes, b"v", 0, "a coordinate")?;
    let mut triangles = Vec::new();
    listed.each_face(|polygon| polygon::add(polygon, &listed.points, &mut triangles))?;
    Ok(Mesh { positions: listed.points, triangles, ..Mesh::default() }.numbered(1))
}
