//! Tests that real mesh files match their index and that damaged files give errors.

use std::path::PathBuf;

use coarsen_mesh::{
    Format, Location, Mesh, Problem, ReadError, parse, parse_tetgen, read, read_tetrahedra, read_triangles,
};
use proptest::prelude::*;

/// Name, vertices, triangles, tetrahedra. `None` if the index of the data folder does not give the number of
/// triangles.
const FILES: [(&str, usize, Option<usize>, usize); 14] = [
    ("c3d_spot.obj.gz", 2930, Some(5856), 0),
    ("diffcloth_dress-v5k-f10k.obj.gz", 5563, Some(10180), 0),
    ("diffcloth_skirt2011.obj.gz", 1074, Some(2011), 0),
    ("diffcloth_tshirt1900.obj.gz", 1921, Some(3726), 0),
    ("gpuipc_bunny.msh.gz", 1869, None, 7356),
    ("gpuipc_tricloth.obj.gz", 4225, Some(8192), 0),
    ("hot_Armadillo.obj.gz", 8650, Some(17296), 0),
    ("ipc_Armadillo13K.msh.gz", 13230, None, 54985),
    ("ipc_bar-2523.msh.gz", 886, None, 2523),
    ("ipc_mat20x20.msh.gz", 800, None, 2166),
    ("ipc_mat40x40.msh.gz", 3200, None, 9126),
    ("ipc_sphere1K.msh.gz", 1760, None, 6851),
    ("pbd_armadillo_4k.node.gz", 1180, Some(0), 3717),
    ("polyfem_bimetal.msh.gz", 3881, None, 16275),
];

fn folder() -> Option<PathBuf> {
    Some(crate::data::data()?.join("meshes"))
}

#[test]
fn real_meshes_have_the_counts_of_their_index() {
    let Some(folder) = folder() else { return };
    for (name, vertices, triangles, tetrahedra) in FILES {
        let mesh = read(folder.join(name)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((mesh.positions.len(), mesh.tetrahedra.len()), (vertices, tetrahedra), "{name}");
        if let Some(triangles) = triangles {
            assert_eq!(mesh.triangles.len(), triangles, "{name}");
        }
    }
}

/// The name, the dimension and the size of each group.
fn groups(mesh: &Mesh) -> Vec<(&str, u8, usize)> {
    mesh.groups.iter().map(|group| (&group.name[..], group.dimension, group.elements.len())).collect()
}

#[test]
fn real_groups_have_the_names_of_their_file() {
    let Some(folder) = folder() else { return };
    let mesh = read(folder.join("polyfem_bimetal.msh.gz")).unwrap();
    assert_eq!(groups(&mesh), [("bottom_material", 3, 8071), ("top_material", 3, 8204)]);
}

#[test]
fn elements_of_one_kind_keep_their_groups_and_numbers() {
    let file = corpus().join("text2.msh");
    let solid = read_tetrahedra(&file).unwrap();
    assert_eq!((&solid.numbers[..], groups(&solid)), (&[10, 20, 30, 40][..], vec![("body", 3, 1)]));
    let surface = read_triangles(&file).unwrap();
    assert_eq!((&surface.numbers[..], groups(&surface)), (&[10, 20, 30, 50][..], vec![("1", 2, 2)]));
}

#[test]
fn either_file_of_tetgen_may_be_named() {
    let Some(folder) = folder() else { return };
    let [node, ele] = ["node", "ele"].map(|e| read(folder.join(format!("pbd_armadillo_4k.{e}.gz"))).unwrap());
    assert_eq!(node, ele);
}

const OBJ: &[u8] = b"# o\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0.5\nf 1 2 3 4\nf -4/1 -3 -2\n";
const PLY: &[u8] =
    b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
    element face 1\nproperty list uchar int vertex_index\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
const MSH2: &[u8] =
    b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"a b\"\n$EndPhysicalNames\n\
    $Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n\
    $Elements\n2\n1 2 2 1 1 1 2 3\n2 4 2 1 1 1 2 3 4\n$EndElements\n";
const MSH4: &[u8] =
    b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 5 \"a b\"\n$EndPhysicalNames\n\
    $Entities\n0 0 0 1\n1 0 0 0 1 1 1 2 5 6 1 1\n$EndEntities\n\
    $Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n\
    0 0 1\n$EndNodes\n$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n";
const MSH4_BYTES: &[u8] = b"$MeshFormat\n4.1 1 8\n\x01\0\0\0\n$EndMeshFormat\n$Nodes\n\
    \x01\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\
    \x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0\n$EndNodes\n$Elements\n\
    \x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0\
    \x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\n$EndElements\n";
const STL: &[u8] =
    b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n\
    endfacet\nendsolid a\n";
const MEDIT: &[u8] = b"MeshVersionFormatted 2\nDimension 3\nVertices 4\n0 0 0 1\n1 0 0 1\n0 1 0 1\n0 0 1 1\n\
    Triangles 1\n1 2 3 0\nTetrahedra 1\n1 2 3 4 0\nEnd\n";
const VTK: &[u8] =
    b"# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0 0\n\
    0 1 0 0 0 1\nCELLS 2 9\n4 0 1 2 3\n3 0 1 2\nCELL_TYPES 2\n10\n5\n";
const VTK5: &[u8] =
    b"# vtk DataFile Version 5.1\nt\nASCII\nDATASET POLYDATA\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\n\
    POLYGONS 2 3\nOFFSETS vtktypeint64\n0 3\nCONNECTIVITY vtktypeint64\n0 1 2\n";
const NODE: &[u8] = b"4 3 1 1 # header\n1 0 0 0 9 1\n2 1 0 0 9 1\n3 0 1 0 9 1\n4 0 0 1 9 1\n";
const ELE: &[u8] = b"1 4 1\n1 1 2 3 4 7\n";

const SAMPLES: [(Format, &[u8]); 9] = [
    (Format::Obj, OBJ),
    (Format::Ply, PLY),
    (Format::Stl, STL),
    (Format::Msh, MSH2),
    (Format::Msh, MSH4),
    (Format::Msh, MSH4_BYTES),
    (Format::Medit, MEDIT),
    (Format::Vtk, VTK),
    (Format::Vtk, VTK5),
];

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// The corpus, from which `tests/fuzz` starts, has a file of each format and encoding.
#[test]
fn every_file_of_the_corpus_is_good() {
    let mut seen = 0;
    for file in std::fs::read_dir(corpus()).unwrap() {
        let mesh = read(file.unwrap().path()).unwrap_or_else(|error| panic!("{error}"));
        assert!(mesh.triangles.len() + mesh.tetrahedra.len() > 0);
        seen += 1;
    }
    assert!(seen > 25, "{seen} files");
}

/// Checks that a damaged file gives a consistent mesh or an error with a text.
fn harmless(result: Result<Mesh, ReadError>) {
    match result {
        Ok(mesh) => {
            assert_eq!(mesh.check(), Ok(()));
            for group in &mesh.groups {
                let all = if group.dimension == 2 { mesh.triangles.len() } else { mesh.tetrahedra.len() };
                assert!(group.elements.iter().all(|&element| (element as usize) < all), "{}", group.name);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

#[test]
fn samples_are_good_and_every_cut_is_harmless() {
    for (format, bytes) in SAMPLES {
        let mesh = parse(format, bytes).unwrap_or_else(|error| panic!("{format:?}: {error}"));
        assert!(!mesh.triangles.is_empty() || !mesh.tetrahedra.is_empty());
        let numbers = match format {
            Format::Stl => Vec::new(),
            Format::Ply | Format::Vtk => (0..mesh.positions.len() as i64).collect(),
            _ => (1..=mesh.positions.len() as i64).collect(),
        };
        assert_eq!(mesh.numbers, numbers, "{format:?}");
        (0..bytes.len()).for_each(|end| harmless(parse(format, &bytes[..end])));
    }
    let mesh = parse_tetgen(NODE, ELE).unwrap();
    assert_eq!((mesh.tetrahedra, mesh.numbers), (vec![[0, 1, 2, 3]], vec![1, 2, 3, 4]));
    (0..NODE.len()).for_each(|end| harmless(parse_tetgen(&NODE[..end], ELE)));
}

/// Second-order elements of TetGen, and triangles of Triangle with corners numbered from 0.
#[test]
fn curved_tetrahedra_and_triangles_of_ele_files() {
    let points: String = (0..10).map(|k| format!("{k} {k} 0 0\n")).collect();
    let node = format!("10 3 0 0\n{points}");
    let mesh = parse_tetgen(node.as_bytes(), b"1 10 0\n1 0 1 2 3 4 5 6 7 8 9\n").unwrap();
    assert_eq!((mesh.tetrahedra, mesh.triangles.len()), (vec![[0, 1, 2, 3]], 0));
    let mesh = parse_tetgen(b"3 2 0 0\n1 0 0\n2 1 0\n3 0 1\n", b"1 3 0\n1 1 2 3\n").unwrap();
    assert_eq!((mesh.triangles, mesh.tetrahedra.len()), (vec![[0, 1, 2]], 0));
    let twice = parse_tetgen(NODE, b"# one\n1 4 0\n1 1 2 3 1\n").unwrap_err();
    assert_eq!(
        twice.to_string(),
        "<ele>:3: a tetrahedron has corner 1 twice; remove this degenerate element, or mesh the body again"
    );
}

/// The bytes that overwrite random positions of a sample.
fn damage() -> impl Strategy<Value = Vec<(usize, u8)>> {
    let byte = prop_oneof![any::<u8>(), prop::sample::select(&b"0123456789-.$e \n"[..])];
    prop::collection::vec((any::<usize>(), byte), 1..6)
}

fn damaged(bytes: &[u8], damage: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let length = bytes.len();
    damage.iter().for_each(|&(at, byte)| bytes[at % length] = byte);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_never_panic(which in 0..SAMPLES.len(), damage in damage()) {
        let (format, bytes) = SAMPLES[which];
        harmless(parse(format, &damaged(bytes, &damage)));
        harmless(parse_tetgen(&damaged(NODE, &damage), ELE));
        harmless(parse_tetgen(NODE, &damaged(ELE, &damage)));
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        SAMPLES.iter().for_each(|&(format, _)| harmless(parse(format, &bytes)));
    }
}

#[test]
fn messages_name_file_line_and_cure() {
    let error = parse(Format::Obj, b"v 0 0 0\nv 1 0 0\nf 1 2 3\n").unwrap_err();
    assert_eq!(
        (error.location, &error.problem),
        (Some(Location::Line(3)), &Problem::Index { index: 3, vertices: 2 })
    );
    assert!(error.to_string().starts_with("<bytes>:3: corner 3 is not one of the 2 vertices"), "{error}");
    let error = read("no/such.msh.gz").unwrap_err();
    assert!(matches!(error.problem, Problem::Open { .. }));
    assert_eq!(read("mesh.step").unwrap_err().problem, Problem::Extension { found: "step".into() });
}
