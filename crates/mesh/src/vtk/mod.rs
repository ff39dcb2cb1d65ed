//! VTK legacy files: `POLYDATA` and `UNSTRUCTURED_GRID`, in text or in big-endian binary.
//!
//! *Reference* Schroeder, Martin, Lorensen 2006, *The Visualization Toolkit*, "VTK File Formats". Since
//! version 5.1, cells are stored as offsets and connectivity.

use super::fields::{Encoding, Fault, Fields, number, quote};
use super::{Mesh, Problem, polygon};

/// Cells: the corners of all cells, and the end of the corners of each cell.
#[derive(Default)]
struct Cells {
    ends: Vec<usize>,
    corners: Vec<u32>,
}

impl Cells {
    fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        let start = |k: usize| if k == 0 { 0 } else { self.ends[k - 1] };
        self.ends.iter().enumerate().map(move |(k, &end)| &self.corners[start(k)..end])
    }
}

pub(super) fn parse(bytes: &[u8]) -> Result<Mesh, Fault> {
    let mut fields = Fields::new(bytes);
    let first = fields.line().unwrap_or_default();
    let version = first.strip_prefix(b"# vtk DataFile Version").map(<[u8]>::trim_ascii);
    let Some(version) = version.and_then(number::<f64>) else {
        let problem = Problem::Word { expected: "# vtk DataFile Version", found: quote(first) };
        return Err(fields.fault_at(0, problem));
    };
    fields.line(); // the title
    let binary = match fields.expect("ASCII or BINARY")? {
        b"ASCII" => false,
        b"BINARY" => true,
        other => return Err(fields.fault(Problem::Word { expected: "ASCII or BINARY", found: quote(other) })),
    };
    fields.keyword("DATASET")?;
    let polygons = match fields.expect("the kind of data set")? {
        b"POLYDATA" => true,
        b"UNSTRUCTURED_GRID" => false,
        other => {
            let expected = "POLYDATA or UNSTRUCTURED_GRID";
            return Err(fields.fault(Problem::Word { expected, found: quote(other) }));
        }
    };
    if binary {
        fields.encoding = Encoding::Big;
    }
    let (mut mesh, mut cells) = (Mesh::default(), Cells::default());
    while let Some(word) = fields.word() {
        match word {
            b"POINTS" => points(&mut fields, &mut mesh)?,
            b"CELLS" => cells = self::cells(&mut fields, version, mesh.positions.len())?,
            b"POLYGONS" if polygons => {
                for polygon in self::cells(&mut fields, version, mesh.positions.len())?.iter() {
                    if polygon.len() < 3 {
                        return Err(fields.fault(Problem::Corners { corners: polygon.len() }));
                    }
                    polygon::add(polygon, &mesh.positions, &mut mesh.triangles);
                }
            }
            b"TRIANGLE_STRIPS" if polygons => {
                for strip in self::cells(&mut fields, version, mesh.positions.len())?.iter() {
                    self::strip(&fields, strip, &mut mesh)?;
                }
            }
            b"VERTICES" | b"LINES" if polygons => {
                self::cells(&mut fields, version, mesh.positions.len())?;
            }
            b"CELL_TYPES" => {
                types(&mut fields, &cells, &mut mesh)?;
                cells = Cells::default();
            }
            b"METADATA" => metadata(&mut fields),
            b"FIELD" => field(&mut fields)?,
            b"POINT_DATA" | b"CELL_DATA" => break,
            other => {
                let expected = "POINTS, CELLS, CELL_TYPES or POLYGONS";
                return Err(fields.fault(Problem::Word { expected, found: quote(other) }));
            }
        }
    }
    if !cells.ends.is_empty() {
        return Err(fields.fault(Problem::End { what: "CELL_TYPES" }));
    }
    Ok(mesh.numbered(0))
}

/// Adds a triangle strip. Every other triangle is reversed, so that all have the same orientation.
fn strip(fields: &Fields<'_>, strip: &[u32], mesh: &mut Mesh) -> Result<(), Fault> {
    if strip.len() < 3 {
        return Err(fields.fault(Problem::Corners { corners: strip.len() }));
    }
    for (k, three) in strip.windows(3).enumerate() {
        let [a, b, c] = [three[0], three[1], three[2]];
        let three = if k.is_multiple_of(2) { [a, b, c] } else { [b, a, c] };
        polygon::add(&three, &mesh.positions, &mut mesh.triangles); // not those that join two strips
    }
    Ok(())
}

/// Skips the metadata of an array up to an empty line.
fn metadata(fields: &mut Fields<'_>) {
    fields.line(); // the rest of the current line
    while fields.line().is_some_and(|line| !line.trim_ascii().is_empty()) {}
}

/// Skips arrays that belong to the whole file, such as the time.
fn field(fields: &mut Fields<'_>) -> Result<(), Fault> {
    fields.expect("the name of a field")?;
    for _ in 0..fields.text::<usize>("the number of arrays")? {
        let mut name = fields.expect("the name of an array")?;
        if name == b"METADATA" {
            metadata(fields);
            name = fields.expect("the name of an array")?;
        }
        let of = |fields: &Fields<'_>, count: Option<usize>| {
            count
                .ok_or_else(|| fields.fault(Problem::Number { what: "size of an array", found: quote(name) }))
        };
        let components: usize = fields.text("the number of components")?;
        let tuples = fields.text("the number of tuples")?;
        let count = of(fields, components.checked_mul(tuples))?;
        let bytes = match fields.expect("the type of an array")? {
            b"char" | b"unsigned_char" | b"signed_char" => 1,
            b"short" | b"unsigned_short" => 2,
            b"int" | b"unsigned_int" | b"float" | b"vtktypeint32" | b"vtktypeuint32" => 4,
            b"long" | b"unsigned_long" | b"double" | b"vtkIdType" | b"vtktypeint64" | b"vtktypeuint64" => 8,
            other => {
                let expected = "a type of numbers";
                return Err(fields.fault(Problem::Word { expected, found: quote(other) }));
            }
        };
        fields.begin_data()?;
        if fields.encoding != Encoding::Text {
            let bytes = of(fields, count.checked_mul(bytes))?;
            fields.skip(bytes, "an array")?;
            continue;
        }
        for _ in 0..count {
            fields.expect("an array")?;
        }
    }
    Ok(())
}

fn points(fields: &mut Fields<'_>, mesh: &mut Mesh) -> Result<(), Fault> {
    let count: usize = fields.text("the number of points")?;
    let bytes = match fields.expect("the type of points")? {
        b"float" => 4,
        b"double" => 8,
        other => return Err(fields.fault(Problem::Word { expected: "float or double", found: quote(other) })),
    };
    fields.begin_data()?;
    mesh.positions.clear();
    for _ in 0..count {
        mesh.positions.push(fields.point(bytes)?);
    }
    Ok(())
}

fn cells(fields: &mut Fields<'_>, version: f64, vertices: usize) -> Result<Cells, Fault> {
    let count: usize = fields.text("the number of cells")?;
    let size: usize = fields.text("the size of the cell list")?;
    let mut cells = Cells::default();
    if version < 5.0 {
        fields.begin_data()?;
        for _ in 0..count {
            for _ in 0..fields.signed(4, "the number of corners")? {
                let index = fields.signed(4, "corner")?;
                cells.corners.push(fields.corner(index, 0, vertices)?);
            }
            cells.ends.push(cells.corners.len());
        }
        return Ok(cells);
    }
    let bytes = list(fields, "OFFSETS")?;
    for k in 0..count {
        let offset = fields.signed(bytes, "an offset")?;
        let last = cells.ends.last().copied().unwrap_or(0);
        let offset = fields.count(offset, "an offset")?;
        if offset < last || offset > size || (k == 0 && offset != 0) {
            return Err(fields.fault(Problem::Count { what: "an offset", expected: last, found: offset }));
        }
        if k > 0 {
            cells.ends.push(offset);
        }
    }
    let bytes = list(fields, "CONNECTIVITY")?;
    for _ in 0..size {
        let index = fields.signed(bytes, "corner")?;
        cells.corners.push(fields.corner(index, 0, vertices)?);
    }
    Ok(cells)
}

/// Parses the header of a list of version 5. Returns the number of bytes per integer.
fn list(fields: &mut Fields<'_>, name: &'static str) -> Result<usize, Fault> {
    fields.keyword(name)?;
    let bytes = match fields.expect("the type of a list")? {
        b"vtktypeint64" | b"long" | b"vtkIdType" => 8,
        b"vtktypeint32" | b"int" => 4,
        other => {
            let expected = "vtktypeint32 or vtktypeint64";
            return Err(fields.fault(Problem::Word { expected, found: quote(other) }));
        }
    };
    fields.begin_data()?;
    Ok(bytes)
}

/// Adds those cells that are triangles or tetrahedra, according to their types.
fn types(fields: &mut Fields<'_>, cells: &Cells, mesh: &mut Mesh) -> Result<(), Fault> {
    let found: usize = fields.text("the number of cell types")?;
    if found != cells.ends.len() {
        let expected = cells.ends.len();
        return Err(fields.fault(Problem::Count { what: "cell types", expected, found }));
    }
    fields.begin_data()?;
    for corners in cells.iter() {
        let kind = fields.signed(4, "a cell type")?;
        let wrong = |expected| Problem::Count { what: "corners of a cell", expected, found: corners.len() };
        match kind {
            0..=4 | 21 | 35 | 68 => {} // empty cells, vertices and lines
            5 | 7 | 9 => {
                if corners.len() < 3 {
                    return Err(fields.fault(wrong(3)));
                }
                polygon::add(corners, &mesh.positions, &mut mesh.triangles);
            }
            6 => strip(fields, corners, mesh)?,
            8 => match *corners {
                // a pixel: x varies first, then y
                [a, b, c, d] => polygon::add(&[a, b, d, c], &mesh.positions, &mut mesh.triangles),
                _ => return Err(fields.fault(wrong(4))),
            },
            // Curved elements: the corners come first.
            22 | 34 | 69 => match corners.first_chunk::<3>() {
                Some(corners) => polygon::add(corners, &mesh.positions, &mut mesh.triangles),
                None => return Err(fields.fault(wrong(3))),
            },
            23 | 28 | 70 => match corners.first_chunk::<4>() {
                Some(corners) => polygon::add(corners, &mesh.positions, &mut mesh.triangles),
                None => return Err(fields.fault(wrong(4))),
            },
            10 | 24 | 71 => match corners.first_chunk::<4>() {
                Some(&four) if kind != 10 || corners.len() == 4 => {
                    fields.tetrahedron(four, |k| four[k].into(), &mut mesh.tetrahedra)?;
                }
                _ => return Err(fields.fault(wrong(4))),
            },
            _ => return Err(fields.fault(Problem::Element { kind })),
        }
    }
    Ok(())
}
