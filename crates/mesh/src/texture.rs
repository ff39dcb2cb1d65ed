//! Texture coordinates of Wavefront OBJ: lines that start with `vt`, and the second numbers of corners.

use super::Problem;
use super::fields::{Fault, Fields, number, quote};

/// The (u, v) of the corners of all triangles, in the order in which the triangles are read.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<[[f64; 2]; 3]>, Fault> {
    let (mut fields, mut points, mut faces) = (Fields::new(bytes), Vec::new(), Vec::new());
    let mut corners: Vec<i64> = Vec::new();
    loop {
        let at = fields.position();
        let Some(line) = fields.line() else { break };
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let fault = |problem| fields.fault_at(at, problem);
        match words.next() {
            Some(b"vt") => {
                let mut point = [0.0_f64; 2];
                for x in &mut point {
                    let what = "a texture coordinate";
                    let word = words.next().ok_or_else(|| fault(Problem::End { what }))?;
                    *x = number(word).ok_or_else(|| fault(Problem::Number { what, found: quote(word) }))?;
                    if !x.is_finite() {
                        return Err(fault(Problem::NotFinite));
                    }
                }
                points.push(point);
            }
            Some(b"f") => {
                for word in words {
                    let index = word.split(|&byte| byte == b'/').nth(1).filter(|index| !index.is_empty()); // v/vt/vn
                    let index = index.ok_or_else(|| fault(Problem::NoTexture))?;
                    let index: i64 = number(index)
                        .ok_or_else(|| fault(Problem::Number { what: "corner", found: quote(word) }))?;
                    corners.push(if index < 0 { points.len() as i64 + index + 1 } else { index });
                }
                faces.push((at, corners.len()));
            }
            _ => {}
        }
    }
    let (mut triangles, mut begin) = (Vec::new(), 0);
    for (at, end) in faces {
        let mut polygon = Vec::new();
        for &index in &corners[begin..end] {
            let problem = || Problem::Index { index, vertices: points.len() };
            let point = index.checked_sub(1).and_then(|k| points.get(usize::try_from(k).ok()?));
            polygon.push(*point.ok_or_else(|| fields.fault_at(at, problem()))?);
        }
        // The same fan as that of the vertices.
        triangles.extend(polygon.windows(2).skip(1).map(|edge| [polygon[0], edge[0], edge[1]]));
        begin = end;
    }
    Ok(triangles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

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
        assert_eq!(problem(b"vt 0 0\nf 1/1 2/0 3/1\n"), (line(2), Problem::Index { index: 0, vertices: 1 }));
    }
}
