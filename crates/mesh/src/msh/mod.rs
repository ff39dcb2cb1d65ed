//! Gmsh MSH, versions 2.x and 4.1, ascii and binary.
//!
//! | file | what |
//! |---|---|
//! | `mod` | the header, the names of groups, elements; other sections are skipped |
//! | `version2` | `$Nodes`, `$ParametricNodes` and `$Elements` as flat lists |
//! | `version4` | geometric entities, which have the groups; `$Nodes` and `$Elements` in blocks, one per entity |
//!
//! *Reference* Geuzaine & Remacle 2009, "Gmsh", Int. J. Numer. Meth. Engng 79(11); Gmsh reference manual,
//! §"MSH file format" and §"MSH file format version 2 (Legacy)".

mod version2;
mod version4;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::fields::{Encoding, Fault, Fields, quote};
use super::{Group, Mesh, Problem, polygon};

pub(super) fn parse(bytes: &[u8]) -> Result<Mesh, Fault> {
    let mut fields = Fields::new(bytes);
    let mesh = self::mesh(&mut fields, bytes.len());
    fields.explain(mesh)
}

fn mesh(fields: &mut Fields<'_>, bytes: usize) -> Result<Mesh, Fault> {
    let (mut nodes, mut entities) = (Nodes::default(), version4::Entities::new());
    let mut elements = Elements { most: bytes + 1024, ..Elements::default() };
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
            b"$Nodes" if old => version2::nodes(fields, "$EndNodes", &mut nodes)?,
            b"$ParametricNodes" if old => version2::nodes(fields, "$EndParametricNodes", &mut nodes)?,
            b"$Nodes" => version4::nodes(fields, &mut nodes)?,
            b"$Elements" if old => version2::elements(fields, &nodes, &mut elements)?,
            b"$Elements" => version4::elements(fields, &nodes, &entities, &mut elements)?,
            b"$Entities" if !old => version4::entities(fields, "$EndEntities", &mut entities)?,
            b"$PartitionedEntities" if !old => {
                version4::entities(fields, "$EndPartitionedEntities", &mut entities)?;
            }
            // Names of version 2.0 have no dimension.
            b"$PhysicalNames" if !matches!(version, b"2" | b"2.0") => names(fields, &mut elements)?,
            _ => {
                let Some(name) = section.strip_prefix(b"$") else {
                    let (expected, found) = ("a section", quote(section));
                    return Err(fields.fault(Problem::Word { expected, found }));
                };
                fields.skip_behind(&[b"$End", name].concat(), "the end of a section")?;
            }
        }
    }
    let Elements { mut mesh, groups, .. } = elements;
    mesh.groups = groups.into_values().filter(|group| !group.elements.is_empty()).collect();
    mesh.numbers = vec![0; nodes.positions.len()];
    nodes.vertices.iter().for_each(|(&tag, &vertex)| mesh.numbers[vertex as usize] = tag);
    mesh.positions = nodes.positions;
    Ok(mesh)
}

/// Reads the names of groups, which are text in every encoding.
fn names(fields: &mut Fields<'_>, elements: &mut Elements) -> Result<(), Fault> {
    for _ in 0..fields.text::<usize>("the number of names")? {
        let dimension: u8 = fields.text("the dimension of a group")?;
        let number = fields.text::<i64>("the number of a group")?.unsigned_abs();
        let at = fields.position();
        let rest = fields.line().unwrap_or_default().trim_ascii();
        let Some(name) = rest.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
            let (expected, found) = ("a name in quotes", quote(rest));
            return Err(fields.fault_at(at, Problem::Word { expected, found }));
        };
        if dimension == 2 || dimension == 3 {
            elements.group(dimension, number).name = String::from_utf8_lossy(name).into_owned();
        }
    }
    fields.keyword("$EndPhysicalNames")
}

/// The vertices, and a map from vertex numbers in the file to indices.
#[derive(Default)]
struct Nodes {
    positions: Vec<[f64; 3]>,
    vertices: HashMap<i64, u32>,
}

impl Nodes {
    /// Registers the number of the next vertex.
    fn name(&mut self, fields: &Fields<'_>, tag: i64) -> Result<(), Fault> {
        let vertex = fields.corner(self.vertices.len() as i64, 0, usize::MAX)?; // checks that it fits u32
        match self.vertices.insert(tag, vertex) {
            None => Ok(()),
            Some(_) => Err(fields.fault(Problem::Twice { tag })),
        }
    }

    /// The vertex with the number `tag`.
    fn vertex(&self, fields: &Fields<'_>, tag: i64) -> Result<u32, Fault> {
        let vertex = self.vertices.get(&tag).copied();
        vertex.ok_or_else(|| fields.fault(Problem::Index { index: tag, vertices: self.positions.len() }))
    }
}

/// The memory of a group, in elements.
const GROUP: usize = 16;

/// The triangles and tetrahedra, and their groups by dimension and number.
#[derive(Default)]
struct Elements {
    mesh: Mesh,
    groups: BTreeMap<(u8, u64), Group>,
    /// The elements of all groups and, for each group, [`GROUP`]; at most `most`. A small file could declare many groups for
    /// an entity of many elements.
    listed: usize,
    most: usize,
}

impl Elements {
    fn group(&mut self, dimension: u8, number: u64) -> &mut Group {
        let new = || Group { name: number.to_string(), dimension, elements: Vec::new() };
        self.groups.entry((dimension, number)).or_insert_with(new)
    }

    /// Adds elements to groups. The group 0 is none.
    fn assign(
        &mut self,
        fields: &Fields<'_>,
        elements: Range<usize>,
        dimension: u8,
        groups: &[u64],
    ) -> Result<(), Fault> {
        for &group in groups.iter().filter(|&&group| group != 0 && !elements.is_empty()) {
            let members = &mut self.group(dimension, group).elements;
            let new = if members.is_empty() { GROUP } else { 0 };
            members.extend(elements.clone().map(|k| k as u32));
            self.listed += new + elements.len();
            if self.listed > self.most {
                let what = "elements of all groups, at most for a file of this size";
                return Err(fields.fault(Problem::Count { what, expected: self.most, found: self.listed }));
            }
        }
        Ok(())
    }
}

/// The shape of an element of any order.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Point,
    Line,
    Triangle,
    Quadrangle,
    Tetrahedron,
}

/// The number, shape and node count of the supported element types. In an element, the corners come first,
/// then the nodes of edges, faces and the interior.
const TYPES: [(i64, Shape, usize); 25] = [
    (15, Shape::Point, 1),
    (1, Shape::Line, 2),
    (8, Shape::Line, 3),
    (26, Shape::Line, 4),
    (27, Shape::Line, 5),
    (28, Shape::Line, 6),
    (2, Shape::Triangle, 3),
    (9, Shape::Triangle, 6),
    (20, Shape::Triangle, 9),
    (21, Shape::Triangle, 10),
    (22, Shape::Triangle, 12),
    (23, Shape::Triangle, 15),
    (24, Shape::Triangle, 15),
    (25, Shape::Triangle, 21),
    (3, Shape::Quadrangle, 4),
    (10, Shape::Quadrangle, 9),
    (16, Shape::Quadrangle, 8),
    (36, Shape::Quadrangle, 16),
    (37, Shape::Quadrangle, 25),
    (38, Shape::Quadrangle, 36),
    (4, Shape::Tetrahedron, 4),
    (11, Shape::Tetrahedron, 10),
    (29, Shape::Tetrahedron, 20),
    (30, Shape::Tetrahedron, 35),
    (31, Shape::Tetrahedron, 56),
];

/// The shape and node count of an element type.
fn shape(fields: &Fields<'_>, kind: i64) -> Result<(Shape, usize), Fault> {
    match TYPES.iter().find(|found| found.0 == kind) {
        Some(&(_, shape, nodes)) => Ok((shape, nodes)),
        None => Err(fields.fault(Problem::Element { kind })),
    }
}

/// Reads the nodes of an element and adds the element that its corners define, also to its groups. In a binary file, node
/// numbers have `bytes` bytes.
fn element(
    fields: &mut Fields<'_>,
    (shape, count): (Shape, usize),
    bytes: usize,
    nodes: &Nodes,
    groups: &[u64],
    elements: &mut Elements,
) -> Result<(), Fault> {
    let (mut corners, mut tags) = ([0; 4], [0; 4]);
    for k in 0..count {
        let tag = fields.signed(bytes, "corner")?;
        let vertex = nodes.vertex(fields, tag)?;
        if let Some(corner) = corners.get_mut(k) {
            (*corner, tags[k]) = (vertex, tag);
        }
    }
    let mesh = &mut elements.mesh;
    let before = [mesh.triangles.len(), mesh.tetrahedra.len()];
    let mut add = |corners: &[u32]| polygon::add(corners, &nodes.positions, &mut mesh.triangles);
    match shape {
        Shape::Point | Shape::Line => {}
        Shape::Triangle => add(&corners[..3]),
        Shape::Quadrangle => add(&corners),
        Shape::Tetrahedron => fields.tetrahedron(corners, |k| tags[k], &mut mesh.tetrahedra)?,
    }
    let after = [mesh.triangles.len(), mesh.tetrahedra.len()];
    elements.assign(fields, before[0]..after[0], 2, groups)?;
    elements.assign(fields, before[1]..after[1], 3, groups)
}
