//! Gmsh MSH, versions 2.x and 4.1, in text or bytes.
//!
//! | file | what |
//! |---|---|
//! | `mod` | the header, and sections that are passed over |
//! | `version2` | `$Nodes` and `$Elements` as flat lists |
//! | `version4` | the same in blocks, one for each geometric entity |
//!
//! *Reference* Geuzaine & Remacle 2009, "Gmsh", Int. J. Numer. Meth. Engng 79(11); Gmsh reference manual, §"MSH file format" and
//! §"MSH file format version 2 (Legacy)".

mod version2;
mod version4;

use std::collections::HashMap;

use super::fields::{Encoding, Fault, Fields, quote};
use super::{Mesh, Problem};

pub(super) fn parse(bytes: &[u8]) -> Result<Mesh, Fault> {
    let mut fields = Fields::new(bytes);
    let mut nodes = Nodes::default();
    let mut mesh = Mesh::default();
    fields.keyword("$MeshFormat")?;
    let version = fields.expect("the version")?;
    let old = match version {
        _ if version.starts_with(b"2") => true,
        b"4.1" => false,
        _ => {
            let (found, expected) = (quote(version), "2.x or 4.1");
            return Err(fields.fault(Problem::Version { what: "version", found, expected }));
        }
    };
    let binary = fields.text::<i64>("the file type")? == 1;
    let size: usize = fields.text("the size of a number")?;
    if size != 8 {
        let found = size.to_string();
        return Err(fields.fault(Problem::Version { what: "number size", found, expected: "8" }));
    }
    if binary {
        fields.end_line()?;
        fields.encoding = Encoding::Little;
        match fields.signed(4, "the byte order")? {
            1 => {}
            0x0100_0000 => fields.encoding = Encoding::Big,
            other => {
                let found = other.to_string();
                return Err(fields.fault(Problem::Version { what: "byte order", found, expected: "1" }));
            }
        }
    }
    fields.keyword("$EndMeshFormat")?;
    while let Some(section) = fields.word() {
        match section {
            b"$Nodes" if old => version2::nodes(&mut fields, &mut nodes)?,
            b"$Nodes" => version4::nodes(&mut fields, &mut nodes)?,
            b"$Elements" if old => version2::elements(&mut fields, &nodes, &mut mesh)?,
            b"$Elements" => version4::elements(&mut fields, &nodes, &mut mesh)?,
            _ => {
                let Some(name) = section.strip_prefix(b"$") else {
                    let (expected, found) = ("a section", quote(section));
                    return Err(fields.fault(Problem::Word { expected, found }));
                };
                fields.skip_behind(&[b"$End", name].concat(), "the end of a section")?;
            }
        }
    }
    mesh.positions = nodes.positions;
    Ok(mesh)
}

/// Vertices, and which of them a number in the file means.
#[derive(Default)]
struct Nodes {
    positions: Vec<[f64; 3]>,
    vertices: HashMap<i64, u32>,
}

impl Nodes {
    /// The number of the next vertex.
    fn name(&mut self, fields: &Fields<'_>, tag: i64) -> Result<(), Fault> {
        let vertex = fields.corner(self.vertices.len() as i64, 0, usize::MAX)?; // within u32
        match self.vertices.insert(tag, vertex) {
            None => Ok(()),
            Some(_) => Err(fields.fault(Problem::Twice { tag })),
        }
    }

    /// The vertex that a number means.
    fn vertex(&self, fields: &Fields<'_>, tag: i64) -> Result<u32, Fault> {
        let vertex = self.vertices.get(&tag).copied();
        vertex.ok_or_else(|| fields.fault(Problem::Index { index: tag, vertices: self.positions.len() }))
    }
}

/// Corners of an element type; none for one that is not read.
fn corners(fields: &Fields<'_>, kind: i64) -> Result<usize, Fault> {
    match kind {
        15 => Ok(1),
        1 => Ok(2),
        2 => Ok(3),
        3 | 4 => Ok(4),
        _ => Err(fields.fault(Problem::Element { kind })),
    }
}

/// Adds an element of a type that [`corners`] knows.
fn push(mesh: &mut Mesh, kind: i64, c: [u32; 4]) {
    match kind {
        2 => mesh.triangles.push([c[0], c[1], c[2]]),
        3 => super::fields::fan(&c, &mut mesh.triangles),
        4 => mesh.tetrahedra.push(c),
        _ => {} // points and lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [[f64; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

    /// Numbers of a binary file, in either byte order.
    struct Bytes {
        bytes: Vec<u8>,
        big: bool,
    }

    impl Bytes {
        fn put(&mut self, little: &[u8]) {
            let mut raw = little.to_vec();
            if self.big {
                raw.reverse();
            }
            self.bytes.extend(raw);
        }
        fn text(&mut self, text: &str) {
            self.bytes.extend(text.as_bytes());
        }
        fn ints(&mut self, ints: &[i32]) {
            ints.iter().for_each(|i| self.put(&i.to_le_bytes()));
        }
        fn sizes(&mut self, sizes: &[u64]) {
            sizes.iter().for_each(|i| self.put(&i.to_le_bytes()));
        }
        fn point(&mut self, x: [f64; 3]) {
            x.iter().for_each(|x| self.put(&x.to_le_bytes()));
        }
    }

    #[test]
    fn versions_and_encodings_agree() {
        let old = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n10 0 0 0\n20 1 0 0\n30 0 1 0\n40 0 0 1\n$EndNodes\n\
            $Elements\n3\n1 15 2 0 1 10\n2 2 2 1 1 10 20 30\n3 4 2 1 1 10 20 30 40\n$EndElements\n";
        let expected = parse(old.as_bytes()).unwrap();
        assert_eq!(expected.positions, POINTS);
        assert_eq!(
            (&expected.triangles[..], &expected.tetrahedra[..]),
            (&[[0, 1, 2]][..], &[[0, 1, 2, 3]][..])
        );
        let new = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Comments\nwhatever\n$EndComments\n\
            $Nodes\n2 4 10 40\n0 1 0 1\n10\n0 0 0\n3 1 0 3\n20\n30\n40\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n\
            $Elements\n2 2 1 2\n2 1 2 1\n1 10 20 30\n3 1 4 1\n2 10 20 30 40\n$EndElements\n";
        assert_eq!(parse(new.as_bytes()).unwrap(), expected);
        for big in [false, true] {
            let mut two = Bytes { bytes: Vec::new(), big };
            two.text("$MeshFormat\n2.2 1 8\n");
            two.ints(&[1]);
            two.text("\n$EndMeshFormat\n$Nodes\n4\n");
            for (k, x) in POINTS.into_iter().enumerate() {
                two.ints(&[10 * (k as i32 + 1)]);
                two.point(x);
            }
            two.text("\n$EndNodes\n$Elements\n2\n");
            two.ints(&[2, 1, 2, 1, 7, 7, 10, 20, 30]);
            two.ints(&[4, 1, 1, 2, 7, 10, 20, 30, 40]);
            two.text("\n$EndElements\n");
            assert_eq!(parse(&two.bytes).unwrap(), expected);

            let mut four = Bytes { bytes: Vec::new(), big };
            four.text("$MeshFormat\n4.1 1 8\n");
            four.ints(&[1]);
            four.text("\n$EndMeshFormat\n$Nodes\n");
            four.sizes(&[1, 4, 10, 40]);
            four.ints(&[3, 1, 0]);
            four.sizes(&[4, 10, 20, 30, 40]);
            POINTS.into_iter().for_each(|x| four.point(x));
            four.text("\n$EndNodes\n$Elements\n");
            four.sizes(&[2, 2, 1, 2]);
            four.ints(&[2, 1, 2]);
            four.sizes(&[1, 1, 10, 20, 30]);
            four.ints(&[3, 1, 4]);
            four.sizes(&[1, 2, 10, 20, 30, 40]);
            four.text("\n$EndElements\n");
            assert_eq!(parse(&four.bytes).unwrap(), expected);
        }
    }
}
