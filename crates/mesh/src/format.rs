//! Detection of the format, and reading of the bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::bufread::GzDecoder;

use super::fields::Fault;
use super::{Mesh, Problem, ReadError, medit, msh, obj, ply, stl, tetgen, texture, vtk};

/// The maximum number of decompressed bytes. It is needed because a small file can decompress to a huge
/// number of bytes.
const LIMIT: u64 = 1 << 32;

/// The first bytes of every gzip stream (RFC 1952, §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Formats with one file per mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Wavefront OBJ: vertices and faces; normals, groups and materials are skipped, and so are texture coordinates,
    /// which [`read_texture`] reads.
    Obj,
    /// Stanford PLY, ascii and binary in both byte orders: elements `vertex` and `face`; strips of triangles are errors.
    Ply,
    /// STL, ascii and binary: equal corners are merged, normals and attributes are skipped.
    Stl,
    /// Gmsh MSH 2.x and 4.1, ascii and binary, with physical groups. Version 2 lists an element again for each further
    /// group; [`Mesh::welded`] merges these.
    Msh,
    /// Medit MESH, ascii, in two and three dimensions: elements of order 1 and 2.
    Medit,
    /// VTK legacy, ascii and binary: `POLYDATA` and `UNSTRUCTURED_GRID`, with cells of versions 1 to 5.
    Vtk,
}

/// Reads a mesh. The extension selects the format: `obj`, `ply`, `stl`, `msh`, `mesh`, `vtk`, or the pair `node` and
/// `ele`, for which either path may be given. A final extension `.gz` is ignored; gzip files are detected by
/// their first bytes.
///
/// A polygon becomes the fan around its first corner if that covers it once, as for every convex polygon; otherwise
/// ears are clipped. Faces with fewer than three different corners have no area and are left out. Points and lines are
/// skipped. Curved elements (of higher order) are reduced to their corners. Other element types are errors. Vertices
/// that no element uses are kept, including the mid-side nodes of curved elements; see [`Mesh::without_unused`].
///
/// Text is ASCII or UTF-8, with or without a byte order mark; lines end in LF, CR LF or CR.
///
/// # Errors
/// [`ReadError`] gives the file, the location, the problem and the remedy.
pub fn read(path: impl AsRef<Path>) -> Result<Mesh, ReadError> {
    let path = path.as_ref();
    let (base, gz) = match path.extension() {
        Some(last) if last.eq_ignore_ascii_case("gz") => (path.with_extension(""), ".gz"),
        _ => (path.to_path_buf(), ""),
    };
    let extension = base.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let format = match extension.as_str() {
        "obj" => Format::Obj,
        "ply" => Format::Ply,
        "stl" => Format::Stl,
        "msh" => Format::Msh,
        "mesh" => Format::Medit,
        "vtk" => Format::Vtk,
        "node" | "ele" => {
            let [node, ele] = ["node", "ele"].map(|e| base.with_extension(format!("{e}{gz}")));
            return tetgen_of(&node, &bytes(&node)?, &ele, &bytes(&ele)?);
        }
        _ => return Err(ReadError::of_whole(path, Problem::Extension { found: extension })),
    };
    parse_as(format, path, &bytes(path)?)
}

/// Reads only the triangles of a file and their groups, and removes unused vertices; the others keep their
/// [numbers](Mesh::numbers). There must be a triangle.
///
/// # Errors
/// As [`read`], and [`Problem::Missing`] for a file without triangles.
pub fn read_triangles(path: impl AsRef<Path>) -> Result<Mesh, ReadError> {
    let mut mesh = read(&path)?;
    let checked = mesh.check_holds("triangles", mesh.triangles.len());
    checked.map_err(|problem| ReadError::of_whole(path.as_ref(), problem))?;
    mesh.groups.retain(|group| group.dimension == 2);
    Ok(Mesh { tetrahedra: Vec::new(), ..mesh }.without_unused())
}

/// Reads the texture coordinates (u, v) of the corners of each triangle of a Wavefront OBJ file, in the order in
/// which [`read_triangles`] returns the triangles. A vertex on a seam has several (u, v).
///
/// *Use* as the flat pattern of a garment; the unit is that of the file.
///
/// # Errors
/// As [`read`], [`Problem::Extension`] for another format, and [`Problem::NoTexture`] for a corner without (u, v).
pub fn read_texture(path: impl AsRef<Path>) -> Result<Vec<[[f64; 2]; 3]>, ReadError> {
    let path = path.as_ref();
    let name = path.to_string_lossy().to_ascii_lowercase();
    if !name.trim_end_matches(".gz").ends_with(".obj") {
        let found = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        return Err(ReadError::of_whole(path, Problem::Extension { found }));
    }
    texture_of(path, &bytes(path)?)
}

/// Reads only the tetrahedra of a file and their groups, and removes unused vertices; the others keep their
/// [numbers](Mesh::numbers). There must be a tetrahedron, and none may be flat.
///
/// # Errors
/// As [`read`], and the errors of [`Mesh::check_tetrahedra`].
pub fn read_tetrahedra(path: impl AsRef<Path>) -> Result<Mesh, ReadError> {
    let mut mesh = read(&path)?;
    mesh.check_tetrahedra().map_err(|problem| ReadError::of_whole(path.as_ref(), problem))?;
    mesh.groups.retain(|group| group.dimension == 3);
    Ok(Mesh { triangles: Vec::new(), ..mesh }.without_unused())
}

/// Reads a mesh from uncompressed bytes.
///
/// # Errors
/// As [`read`], for a file called `<bytes>`.
pub fn parse(format: Format, bytes: &[u8]) -> Result<Mesh, ReadError> {
    parse_as(format, Path::new("<bytes>"), bytes)
}

/// Reads texture coordinates, as [`read_texture`], from uncompressed bytes of Wavefront OBJ.
///
/// # Errors
/// As [`read_texture`], for a file called `<bytes>`.
pub fn parse_texture(bytes: &[u8]) -> Result<Vec<[[f64; 2]; 3]>, ReadError> {
    texture_of(Path::new("<bytes>"), bytes)
}

fn texture_of(file: &Path, bytes: &[u8]) -> Result<Vec<[[f64; 2]; 3]>, ReadError> {
    texture::parse(unmarked(file, bytes)?).map_err(|fault| blame(file, fault))
}

/// Reads a mesh from the bytes of the two TetGen files, uncompressed.
///
/// ```
/// let node = b"4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n";
/// let mesh = coarsen_mesh::parse_tetgen(node, b"1 4 0\n1 1 2 3 4\n")?;
/// assert_eq!(mesh.tetrahedra, [[0, 1, 2, 3]]);
/// # Ok::<(), coarsen_mesh::ReadError>(())
/// ```
///
/// # Errors
/// As [`read`], for files called `<node>` and `<ele>`.
pub fn parse_tetgen(node: &[u8], ele: &[u8]) -> Result<Mesh, ReadError> {
    tetgen_of(Path::new("<node>"), node, Path::new("<ele>"), ele)
}

fn parse_as(format: Format, file: &Path, bytes: &[u8]) -> Result<Mesh, ReadError> {
    // The comment of a binary STL file may begin with any bytes.
    let bytes = if format == Format::Stl { bytes } else { unmarked(file, bytes)? };
    let mesh = match format {
        Format::Obj => obj::parse(bytes),
        Format::Ply => ply::parse(bytes),
        Format::Stl => stl::parse(bytes),
        Format::Msh => msh::parse(bytes),
        Format::Medit => medit::parse(bytes),
        Format::Vtk => vtk::parse(bytes),
    };
    finish(mesh.map_err(|fault| blame(file, fault))?, file)
}

fn tetgen_of(node: &Path, nodes: &[u8], ele: &Path, elements: &[u8]) -> Result<Mesh, ReadError> {
    let vertices = tetgen::vertices(unmarked(node, nodes)?).map_err(|fault| blame(node, fault))?;
    finish(tetgen::mesh(unmarked(ele, elements)?, vertices).map_err(|fault| blame(ele, fault))?, ele)
}

fn blame(file: &Path, fault: Fault) -> ReadError {
    ReadError { file: file.into(), location: fault.location, problem: fault.problem }
}

/// A file without the byte order mark of UTF-8. UTF-16 is an error: with its mark, or without, where a zero is one of
/// the first two bytes, which are text in every format.
fn unmarked<'a>(file: &Path, bytes: &'a [u8]) -> Result<&'a [u8], ReadError> {
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..]) {
        let (found, expected) = ("UTF-16".into(), "ASCII or UTF-8");
        return Err(ReadError::of_whole(file, Problem::Version { what: "encoding", found, expected }));
    }
    Ok(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// Checks the whole mesh; an error has no location.
fn finish(mesh: Mesh, file: &Path) -> Result<Mesh, ReadError> {
    mesh.check().map_err(|error| ReadError::of_whole(file, error))?;
    Ok(mesh)
}

/// All bytes of a file, decompressed.
fn bytes(file: &Path) -> Result<Vec<u8>, ReadError> {
    let fail = |problem: Problem| ReadError::of_whole(file, problem);
    let open = |error: std::io::Error| fail(Problem::Open { kind: error.kind() });
    let mut raw = Vec::new();
    File::open(file).and_then(|f| f.take(LIMIT + 1).read_to_end(&mut raw)).map_err(open)?;
    let bytes = if raw.starts_with(&GZIP) {
        let (mut plain, mut rest) = (Vec::new(), &raw[..]);
        // Further streams, or the zeros that fill the last block of a device.
        while let Some(next) = rest.iter().position(|&byte| byte != 0) {
            let mut stream = GzDecoder::new(&rest[next..]);
            let unpacked = stream.by_ref().take(LIMIT + 1 - plain.len() as u64).read_to_end(&mut plain);
            unpacked.map_err(|error| fail(Problem::Gzip { kind: error.kind() }))?;
            rest = if plain.len() as u64 > LIMIT { &[] } else { stream.into_inner() };
        }
        plain
    } else {
        raw
    };
    if bytes.len() as u64 > LIMIT { Err(fail(Problem::TooLarge { limit: LIMIT })) } else { Ok(bytes) }
}
