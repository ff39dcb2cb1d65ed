//! Medit MESH.

use coarsen_mesh::{Format, Mesh, Problem, ReadError};

fn parse(bytes: &[u8]) -> Result<Mesh, ReadError> {
    coarsen_mesh::parse(Format::Medit, bytes)
}

#[test]
fn plane_meshes_are_read_and_unknown_keywords_skipped() {
    let text = b"MeshVersionFormatted 1\nDimension 2 # plane\nVertices 4\n0 0 1\n1 0 1\n1 1 1\n0 1 1\n\
        Edges 1\n1 2 5\nRequiredVertices\n1\n2\nQuadrilaterals 1\n1 2 3 4 0\nTriangles 1\n1 2 3 0\nEnd\n";
    let mesh = parse(text).unwrap();
    assert_eq!(mesh.positions[2], [1.0, 1.0, 0.0]);
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 2]]);
}

#[test]
fn curved_elements_are_read_by_their_corners() {
    let points = "0 0 0 0\n".repeat(10);
    let head = format!("MeshVersionFormatted 2\nDimension 3\nVertices 10\n{points}");
    let text = format!("{head}TetrahedraP2 1\n1 2 3 4 5 6 7 8 9 10 0\nTrianglesP2 1\n1 2 3 5 6 7 1\nEnd\n");
    let mesh = parse(text.as_bytes()).unwrap();
    assert_eq!((mesh.tetrahedra, mesh.triangles), (vec![[0, 1, 2, 3]], vec![[0, 1, 2]]));
    for keyword in ["HexahedraQ2", "TrianglesP3", "TetrahedraP3", "QuadrilateralsQ3"] {
        let refused = parse(format!("{head}{keyword} 1\n1 2 3 4 0\nEnd\n").as_bytes()).unwrap_err();
        let Problem::Word { found, .. } = &refused.problem else { panic!("{keyword}: {refused:?}") };
        assert!(found.contains(keyword), "{found}");
    }
    let order = format!("{head}TrianglesP2Ordering 2\n1 2\nTriangles 1\n1 2 3 0\nEnd\n");
    assert_eq!(parse(order.as_bytes()).unwrap().triangles, [[0, 1, 2]]);
}
