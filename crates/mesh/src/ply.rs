//! Stanford PLY. A header declares elements and their properties; their values follow.
//!
//! *Reference* Turk 1994, "The PLY Polygon File Format", Stanford University.

use super::fields::{Encoding, Fault, Fields, quote};
use super::{Mesh, Problem, polygon};

/// A number type and its size in bytes in a binary file.
#[derive(Clone, Copy)]
enum Type {
    Signed(usize),
    Unsigned(usize),
    Float(usize),
}

impl Type {
    fn parse(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"char" | b"int8" => Self::Signed(1),
            b"short" | b"int16" => Self::Signed(2),
            b"int" | b"int32" => Self::Signed(4),
            b"uchar" | b"uint8" => Self::Unsigned(1),
            b"ushort" | b"uint16" => Self::Unsigned(2),
            b"uint" | b"uint32" => Self::Unsigned(4),
            b"float" | b"float32" => Self::Float(4),
            b"double" | b"float64" => Self::Float(8),
            _ => return None,
        })
    }

    fn integer(self, fields: &mut Fields<'_>, what: &'static str) -> Result<i64, Fault> {
        match self {
            Self::Signed(bytes) => fields.signed(bytes, what),
            Self::Unsigned(bytes) => fields.unsigned(bytes, what),
            Self::Float(bytes) => {
                let x = fields.float(bytes, what)?;
                let whole = x.fract() == 0.0 && x.abs() < 1e15;
                let problem = || Problem::Number { what, found: x.to_string() };
                if whole { Ok(x as i64) } else { Err(fields.fault(problem())) }
            }
        }
    }

    fn float(self, fields: &mut Fields<'_>) -> Result<f64, Fault> {
        match self {
            Self::Float(bytes) => fields.coordinate(bytes),
            _ => Ok(self.integer(fields, "coordinate")? as f64),
        }
    }

    fn skip(self, fields: &mut Fields<'_>) -> Result<(), Fault> {
        match self {
            Self::Float(bytes) => fields.float(bytes, "a property").map(|_| ()),
            _ => self.integer(fields, "a property").map(|_| ()),
        }
    }
}

/// A property: one value, or a list preceded by its length.
struct Property<'a> {
    name: &'a [u8],
    length: Option<Type>,
    value: Type,
}

/// An element declared in the header.
struct Element<'a> {
    name: &'a [u8],
    count: usize,
    properties: Vec<Property<'a>>,
}

impl Element<'_> {
    /// Reads the values of one element. Returns the coordinates of a vertex and appends the corners of a face.
    fn read(
        &self,
        fields: &mut Fields<'_>,
        vertices: usize,
        corners: &mut Vec<u32>,
    ) -> Result<[f64; 3], Fault> {
        let (mut x, begin) = ([0.0; 3], corners.len());
        for property in &self.properties {
            let axis = match property.name {
                b"x" => Some(0),
                b"y" => Some(1),
                b"z" => Some(2),
                _ => None,
            };
            match (self.name, property.length, axis) {
                (b"vertex", None, Some(axis)) => x[axis] = property.value.float(fields)?,
                (b"face", Some(length), _)
                    if matches!(property.name, b"vertex_indices" | b"vertex_index") =>
                {
                    for _ in 0..length.integer(fields, "the number of corners")? {
                        let index = property.value.integer(fields, "corner")?;
                        corners.push(fields.corner(index, 0, vertices)?);
                    }
                    if corners.len() - begin < 3 {
                        return Err(fields.fault(Problem::Corners { corners: corners.len() - begin }));
                    }
                }
                (_, Some(length), _) => {
                    for _ in 0..length.integer(fields, "the length of a list")? {
                        property.value.skip(fields)?;
                    }
                }
                _ => property.value.skip(fields)?,
            }
        }
        Ok(x)
    }
}

pub(super) fn parse(bytes: &[u8]) -> Result<Mesh, Fault> {
    let mut fields = Fields::new(bytes);
    let mesh = mesh(&mut fields);
    fields.explain(mesh)
}

fn mesh(fields: &mut Fields<'_>) -> Result<Mesh, Fault> {
    let (encoding, elements) = header(fields)?;
    fields.encoding = encoding;
    let mut mesh = Mesh::default();
    // Faces may precede the vertices they refer to.
    let vertices = elements.iter().find(|e| e.name == b"vertex").map_or(0, |e| e.count);
    let (mut corners, mut ends) = (Vec::new(), Vec::new());
    for element in elements.iter().filter(|e| !e.properties.is_empty()) {
        for _ in 0..element.count {
            let x = fields.entry(|fields| element.read(fields, vertices, &mut corners))?;
            match element.name {
                b"vertex" => mesh.positions.push(x),
                b"face" => ends.push(corners.len()),
                _ => {}
            }
        }
    }
    let mut begin = 0;
    for end in ends {
        polygon::add(&corners[begin..end], &mesh.positions, &mut mesh.triangles);
        begin = end;
    }
    Ok(mesh)
}

/// Parses the header up to `end_header`.
fn header<'a>(fields: &mut Fields<'a>) -> Result<(Encoding, Vec<Element<'a>>), Fault> {
    fields.keyword("ply")?;
    let (mut encoding, mut elements) = (None, Vec::<Element<'_>>::new());
    loop {
        let word = fields.expect("end_header")?;
        match word {
            b"format" => {
                encoding = Some(match fields.expect("the encoding")? {
                    b"ascii" => Encoding::Text,
                    b"binary_little_endian" => Encoding::Little,
                    b"binary_big_endian" => Encoding::Big,
                    other => {
                        let (found, expected) = (quote(other), "ascii or binary_{little,big}_endian");
                        return Err(fields.fault(Problem::Version { what: "encoding", found, expected }));
                    }
                });
                fields.text::<f64>("the version")?;
            }
            b"comment" | b"obj_info" => {
                fields.line();
            }
            b"element" => {
                let name = fields.expect("the name of an element")?;
                let count = fields.text("the number of elements")?;
                elements.push(Element { name, count, properties: Vec::new() });
            }
            b"property" => {
                let first = fields.expect("the type of a property")?;
                let length = if first == b"list" { Some(declared(fields)?) } else { None };
                let value = if length.is_some() { declared(fields)? } else { known(fields, first)? };
                let name = fields.expect("the name of a property")?;
                match elements.last_mut() {
                    Some(element) => element.properties.push(Property { name, length, value }),
                    None => {
                        let found = quote(word);
                        return Err(fields.fault(Problem::Word { expected: "element", found }));
                    }
                }
            }
            b"end_header" => break,
            other => {
                let (expected, found) = ("element, property or end_header", quote(other));
                return Err(fields.fault(Problem::Word { expected, found }));
            }
        }
    }
    let encoding = encoding.ok_or_else(|| fields.fault(Problem::End { what: "the format" }))?;
    for element in elements.iter().filter(|e| e.name == b"vertex" && e.count > 0) {
        let has = |axis: &[u8]| element.properties.iter().any(|p| p.name == axis && p.length.is_none());
        if !(has(b"x") && has(b"y") && has(b"z")) {
            let (expected, found) = ("a vertex with the properties x, y and z", quote(b"end_header"));
            return Err(fields.fault(Problem::Word { expected, found }));
        }
    }
    if let Some(strips) = elements.iter().find(|e| e.name == b"tristrips" && e.count > 0) {
        let (expected, found) = ("faces and not strips of triangles", quote(strips.name));
        return Err(fields.fault(Problem::Word { expected, found }));
    }
    fields.line(); // the rest of the line of end_header
    Ok((encoding, elements))
}

/// Parses the next word as a type.
fn declared(fields: &mut Fields<'_>) -> Result<Type, Fault> {
    let name = fields.expect("a type")?;
    known(fields, name)
}

fn known(fields: &Fields<'_>, name: &[u8]) -> Result<Type, Fault> {
    let problem = || Problem::Word { expected: "a number type", found: quote(name) };
    Type::parse(name).ok_or_else(|| fields.fault(problem()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "element vertex 4\nproperty float x\nproperty float y\nproperty double z\n\
        property uchar red\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n";

    #[test]
    fn encodings_agree() {
        let ascii = format!("ply\nformat ascii 1.0\ncomment made by hand\n{HEADER}")
            + "0 0 0 1\n1 0 0.5 2\n1 1 0 3\n0 1 0 4\n4 0 1 2 3\n";
        let expected = parse(ascii.as_bytes()).unwrap();
        assert_eq!(expected.positions[1], [1.0, 0.0, 0.5]);
        assert_eq!(expected.triangles, [[0, 1, 2], [0, 2, 3]]);
        for (name, little) in [("binary_little_endian", true), ("binary_big_endian", false)] {
            let mut bytes = format!("ply\nformat {name} 1.0\n{HEADER}").into_bytes();
            let mut put = |le: &[u8]| {
                let mut raw = le.to_vec();
                if !little {
                    raw.reverse();
                }
                bytes.extend(raw);
            };
            for (k, [x, y, z]) in expected.positions.iter().enumerate() {
                put(&(*x as f32).to_le_bytes());
                put(&(*y as f32).to_le_bytes());
                put(&z.to_le_bytes());
                put(&[k as u8]);
            }
            put(&[4]);
            (0..4_i32).for_each(|k| put(&k.to_le_bytes()));
            assert_eq!(parse(&bytes).unwrap(), expected);
            assert!(parse(&bytes[..bytes.len() - 1]).is_err());
        }
    }

    #[test]
    fn strips_are_refused_and_other_elements_skipped() {
        let text = |name: &str, count: u32| {
            let lines = "4 0 1 2 3\n".repeat(count as usize);
            format!(
                "ply\nformat ascii 1.0\nelement {name} {count}\nproperty list uchar int vertex_indices\nend_header\n{lines}"
            )
        };
        let refused = parse(text("tristrips", 1).as_bytes()).unwrap_err();
        assert!(matches!(&refused.problem, Problem::Word { found, .. } if found.contains("tristrips")));
        for (name, count) in [("tristrips", 0), ("edge", 2)] {
            assert_eq!(parse(text(name, count).as_bytes()).unwrap(), Mesh::default());
        }
    }

    #[test]
    fn a_declared_count_allocates_nothing() {
        let bomb = b"ply\nformat binary_little_endian 1.0\nelement other 4000000000\nend_header\n";
        assert_eq!(parse(bomb).unwrap(), Mesh::default());
        let flat = b"ply\nformat ascii 1.0\nelement vertex 4000000000\nproperty float x\nend_header\n1\n";
        assert!(matches!(parse(flat), Err(Fault { problem: Problem::Word { .. }, .. })));
        let bomb = b"ply\nformat ascii 1.0\nelement vertex 4000000000\nproperty float x\nproperty float y\nproperty float z\nend_header\n1\n";
        assert!(matches!(parse(bomb), Err(Fault { problem: Problem::End { .. }, .. })));
    }
}
