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
    Ok(mesh.numbered(0))
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
