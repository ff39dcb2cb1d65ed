//! STL: triangles with their own corners, which are merged where they are equal.
//!
//! *Reference* 3D Systems 1988, "StereoLithography Interface Specification".

use super::fields::{Encoding, Fault, Fields, quote};
use super::{Mesh, Problem};

/// The bytes before the first triangle of a binary file: a comment and the number of triangles.
const HEADER: usize = 84;

/// The bytes of a triangle: a normal, three corners, two bytes for attributes.
const TRIANGLE: usize = 50;

/// Triangles without area, and those that occur twice, are left out. Normals are skipped: the order of the corners counts.
pub(super) fn parse(bytes: &[u8]) -> Result<Mesh, Fault> {
    let count = bytes
        .get(80..HEADER)
        .map_or(0, |four| four.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte)));
    // A binary file may begin with `solid` too.
    let is_binary = count.checked_mul(TRIANGLE).is_some_and(|all| bytes.len() == HEADER + all);
    let is_text = !is_binary && bytes.trim_ascii_start().starts_with(b"solid");
    let corners = if is_text { text(bytes)? } else { binary(bytes, count)? };
    let triangles = (0..corners.len() as u32 / 3).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
    Ok(Mesh { positions: corners, triangles, ..Mesh::default() }.welded().0)
}

fn binary(bytes: &[u8], count: usize) -> Result<Vec<[f64; 3]>, Fault> {
    let mut fields = Fields::new(bytes);
    fields.encoding = Encoding::Little;
    fields.skip(HEADER, "the number of triangles")?;
    let mut corners = Vec::new();
    for _ in 0..count {
        fields.skip(12, "a normal")?;
        for _ in 0..3 {
            corners.push(fields.point(4)?);
        }
        fields.skip(2, "the attribute of a triangle")?;
    }
    if HEADER + count * TRIANGLE < bytes.len() {
        let found = format!("{} bytes behind {count} triangles", bytes.len() - HEADER - count * TRIANGLE);
        return Err(fields.fault(Problem::Word { expected: "the end of the file", found }));
    }
    Ok(corners)
}

fn text(bytes: &[u8]) -> Result<Vec<[f64; 3]>, Fault> {
    let (mut fields, mut corners) = (Fields::new(bytes), Vec::new());
    while let Some(word) = fields.word() {
        match word {
            b"solid" | b"endsolid" => _ = fields.line(), // its name
            b"facet" => {
                fields.keyword("normal")?;
                for _ in 0..3 {
                    fields.text::<f64>("a normal")?;
                }
                fields.keyword("outer")?;
                fields.keyword("loop")?;
                for _ in 0..3 {
                    fields.keyword("vertex")?;
                    corners.push(fields.point(8)?);
                }
                fields.keyword("endloop")?;
                fields.keyword("endfacet")?;
            }
            other => {
                let (expected, found) = ("facet or endsolid", quote(other));
                return Err(fields.fault(Problem::Word { expected, found }));
            }
        }
    }
    Ok(corners)
}
