//! Meshes from files: every format, for every problem with a mesh.

use crate::common::{Folder, fails, solve, succeeds};

/// Two tetrahedra on a common face, as points and as corners counted from 0.
const POINTS: [[f64; 3]; 5] =
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]];
const TETRAHEDRA: [[usize; 4]; 2] = [[0, 1, 2, 3], [1, 2, 3, 4]];

fn points(number: impl Fn(usize) -> String, end: &str) -> String {
    POINTS.iter().enumerate().map(|(k, [x, y, z])| format!("{}{x} {y} {z}{end}\n", number(k))).collect()
}

fn corners(base: usize, head: impl Fn(usize) -> String, end: &str) -> String {
    let line = |(k, t): (usize, &[usize; 4])| {
        format!("{}{} {} {} {}{end}\n", head(k), t[0] + base, t[1] + base, t[2] + base, t[3] + base)
    };
    TETRAHEDRA.iter().enumerate().map(line).collect()
}

/// The same body in every format for tetrahedra; returns the names of the files.
fn bodies(folder: &Folder) -> Vec<String> {
    let none = |_: usize| String::new();
    let from_one = |k: usize| format!("{} ", k + 1);
    folder.file("body.ele", &format!("2 4 0\n{}", corners(1, from_one, "")));
    vec![
        folder.file(
            "body.msh",
            &format!(
                "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n{}$EndNodes\n$Elements\n2\n{}$EndElements\n",
                points(from_one, ""),
                corners(1, |k| format!("{} 4 2 1 1 ", k + 1), "")
            ),
        ),
        folder.file(
            "body.mesh",
            &format!(
                "MeshVersionFormatted 2\nDimension 3\nVertices 5\n{}Tetrahedra 2\n{}End\n",
                points(none, " 0"),
                corners(1, none, " 0")
            ),
        ),
        folder.file(
            "body.vtk",
            &format!(
                "# vtk DataFile Version 3.0\nbody\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n{}CELLS 2 10\n{}CELL_TYPES 2\n10\n10\n",
                points(none, ""),
                corners(0, |_| "4 ".to_owned(), "")
            ),
        ),
        folder.file("body.node", &format!("5 3 0 0\n{}", points(from_one, ""))),
    ]
}

#[test]
fn a_body_is_the_same_in_every_format() {
    let folder = Folder::new();
    let mut first: Option<serde_json::Value> = None;
    for file in bodies(&folder) {
        let (done, report) = solve(&folder, &format!("--problem softbody:{file} --method cg"));
        assert_eq!((done.code, report["n"].as_u64()), (0, Some(15)), "{file}: {}", done.err);
        assert_eq!(first.get_or_insert_with(|| report["history"].clone()), &report["history"], "{file}");
    }
}

/// Names in a file of options are relative to its folder, also those of meshes.
#[test]
fn a_mesh_of_a_file_of_options_is_beside_it() {
    let folder = Folder::new();
    let body = bodies(&folder).swap_remove(0);
    std::fs::write(folder.path("g.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
    let name = std::path::Path::new(&body).file_name().unwrap().to_str().unwrap();
    for problem in [format!("softbody:{name}"), "garment:g.obj@1".to_owned(), "softbody:2".to_owned()] {
        let options = folder.file("run.toml", &format!("problem = \"{problem}\"\n"));
        succeeds(&format!("solve --options {options}"));
    }
}

#[test]
fn a_garment_is_the_same_in_every_format() {
    let folder = Folder::new();
    let vertices = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n";
    let obj: String = vertices.lines().map(|line| format!("v {line}\n")).collect();
    let ply = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
               element face 1\nproperty list uchar int vertex_indices\nend_header\n";
    let vtk = "# vtk DataFile Version 2.0\nsheet\nASCII\nDATASET POLYDATA\nPOINTS 4 float\n";
    let mut first: Option<serde_json::Value> = None;
    for file in [
        folder.file("forward.obj", &format!("{obj}f 1 2 3 4\n")),
        folder.file("backward.obj", &format!("{obj}f -4 -3 -2 -1\n")),
        folder.file("sheet.ply", &format!("{ply}{vertices}4 0 1 2 3\n")),
        folder.file("sheet.vtk", &format!("{vtk}{vertices}POLYGONS 1 5\n4 0 1 2 3\n")),
    ] {
        let (done, report) = solve(&folder, &format!("--problem garment:{file}@1 --method cg"));
        assert_eq!((done.code, report["n"].as_u64()), (0, Some(27)), "{file}: {}", done.err);
        assert_eq!(first.get_or_insert_with(|| report["history"].clone()), &report["history"], "{file}");
    }
}

/// A curved tetrahedron of ten nodes is read as its four corners.
#[test]
fn curved_elements_are_read_by_their_corners() {
    let folder = Folder::new();
    let nodes = "1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 .5 0 0\n6 .5 .5 0\n7 0 .5 0\n8 0 0 .5\n9 0 .5 .5\n10 .5 0 .5\n";
    let curved = folder.file(
        "curved.msh",
        &format!(
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n10\n{nodes}$EndNodes\n$Elements\n1\n1 11 0 1 2 3 4 5 6 7 8 9 10\n$EndElements\n"
        ),
    );
    let (done, report) = solve(&folder, &format!("--problem softbody:{curved}"));
    assert_eq!((done.code, report["n"].as_u64()), (0, Some(12)), "{}", done.err);
}

/// Errors name file, line or element, cause and remedy; exit code 3.
#[test]
fn errors_of_a_mesh_are_located() {
    let folder = Folder::new();
    let flat_tetrahedron = folder.file(
        "flat.mesh",
        "MeshVersionFormatted 2\nDimension 3\nVertices 5\n0.1 0.1 0.1 0\n1.1 0.1 0.1 0\n0.1 1.1 0.1 0\n0.1 0.1 1.1 0\n0.7 0.3 0.1 0\n\
         Tetrahedra 2\n1 2 3 4 0\n1 2 3 5 0\nEnd\n",
    );
    let flat_triangle = folder.file("flat.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 2 0 0\nf 1 2 3\nf 1 2 4\n");
    let twice = folder.file(
        "twice.mesh",
        "MeshVersionFormatted 2\nDimension 3\nVertices 3\n0 0 0 0\n1 0 0 0\n0 1 0 0\nTetrahedra 1\n1 2 3 2 0\nEnd\n",
    );
    let beyond = folder.file("beyond.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 -4\n");
    let surface = folder.file("surface.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    let hexahedron = folder.file(
        "hexahedron.mesh",
        "MeshVersionFormatted 2\nDimension 3\nVertices 1\n0 0 0 0\nHexahedra 1\n1 1 1 1 1 1 1 1 0\nEnd\n",
    );
    let unknown = folder.file("body.step", "solid\n");
    for (problem, file, cause) in [
        (
            "softbody",
            &flat_tetrahedron,
            "flat.mesh: tetrahedron 1 (from 0, in the order of the file) has no volume",
        ),
        ("garment", &flat_triangle, "flat.obj: triangle 1 (from 0, in the order of the file) has no area"),
        ("softbody", &twice, "twice.mesh:8: a tetrahedron has corner 2 twice"),
        ("garment", &beyond, "beyond.obj:4: corner -4 is not one of the 3 vertices"),
        ("softbody", &surface, "surface.obj: no tetrahedra in the file: triangles 1, tetrahedra 0"),
        ("softbody", &hexahedron, "hexahedron.mesh:5: "),
        ("garment", &unknown, "unknown extension `step`"),
    ] {
        let done = fails(&format!("solve --problem {problem}:{file}"), 3, cause);
        assert!(!done.err.contains("row"), "{file}: {}", done.err);
    }
    fails(&format!("solve --problem garment:{flat_triangle}@2"), 3, "triangle 1 ");
    fails(&format!("minimize --problem armadillo-stretch --mesh {flat_tetrahedron}"), 3, "tetrahedron 1 ");
}
