//! VTK legacy.

use coarsen_mesh::{Format, Mesh, Problem, ReadError};

fn parse(bytes: &[u8]) -> Result<Mesh, ReadError> {
    coarsen_mesh::parse(Format::Vtk, bytes)
}

const POINTS: [f32; 12] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

#[test]
fn versions_and_encodings_agree() {
    let head = |mode: &str, version: &str| {
        format!(
            "# vtk DataFile Version {version}\ntitle\n{mode}\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n"
        )
    };
    let old = head("ASCII", "3.0")
        + "0 0 0 1 0 0\n0 1 0 0 0 1\nCELLS 3 12\n4 0 1 2 3\n3 0 1 2\n2 0 1\nCELL_TYPES 3\n10\n5\n3\n";
    let expected = parse(old.as_bytes()).unwrap();
    assert_eq!((&expected.tetrahedra[..], &expected.triangles[..]), (&[[0, 1, 2, 3]][..], &[[0, 1, 2]][..]));
    let new = head("ASCII", "5.1")
        + "0 0 0 1 0 0\n0 1 0 0 0 1\nMETADATA\nINFORMATION 0\n\nCELLS 4 9\nOFFSETS vtktypeint64\n0 4 7 9\n\
           CONNECTIVITY vtktypeint64\n0 1 2 3 0 1 2 0 1\nCELL_TYPES 3\n10\n5\n3\nPOINT_DATA 4\n";
    assert_eq!(parse(new.as_bytes()).unwrap(), expected);
    let mut bytes = head("BINARY", "3.0").into_bytes();
    POINTS.iter().for_each(|x| bytes.extend(x.to_be_bytes()));
    bytes.extend(b"\nCELLS 3 12\n");
    [4, 0, 1, 2, 3, 3, 0, 1, 2, 2, 0, 1_i32].iter().for_each(|i| bytes.extend(i.to_be_bytes()));
    bytes.extend(b"\nCELL_TYPES 3\n");
    [10, 5, 3_i32].iter().for_each(|i| bytes.extend(i.to_be_bytes()));
    assert_eq!(parse(&bytes).unwrap(), expected);
}

#[test]
fn polygons_become_fans() {
    let text = b"# vtk DataFile Version 2.0\n\nASCII\nDATASET POLYDATA\nPOINTS 4 double\n\
        0 0 0\n1 0 0\n1 1 0\n0 1 0\nPOLYGONS 1 5\n4 0 1 2 3\n";
    assert_eq!(parse(text).unwrap().triangles, [[0, 1, 2], [0, 2, 3]]);
}

const HEAD: &str = "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n";

#[test]
fn the_time_of_a_step_is_passed_over() {
    let text = format!(
        "{HEAD}FIELD FieldData 2\nTIME 1 1 double\n0.5\nCYCLE 1 1 int\n7\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\nCELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n5\n"
    );
    assert_eq!(parse(text.as_bytes()).unwrap().triangles, [[0, 1, 2]]);
    let mut bytes = HEAD.replace("ASCII", "BINARY").into_bytes();
    bytes.extend(b"FIELD FieldData 1\nTIME 1 1 double\n");
    bytes.extend(0.5_f64.to_be_bytes());
    bytes.extend(b"\nPOINTS 1 float\n");
    [1_f32, 2.0, 3.0].iter().for_each(|x| bytes.extend(x.to_be_bytes()));
    assert_eq!(parse(&bytes).unwrap().positions, [[1.0, 2.0, 3.0]]);
}

#[test]
fn curved_cells_pixels_and_strips_are_read() {
    let points = "0 0 0\n".repeat(10);
    let head = format!("{HEAD}POINTS 10 float\n{points}");
    let text = format!(
        "{head}CELLS 4 28\n10 0 1 2 3 4 5 6 7 8 9\n6 0 1 2 4 5 6\n4 0 1 2 3\n4 0 1 2 3\nCELL_TYPES 4\n24\n22\n8\n6\n"
    );
    let mesh = parse(text.as_bytes()).unwrap();
    assert_eq!(mesh.tetrahedra, [[0, 1, 2, 3]]);
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 1, 3], [0, 3, 2], [0, 1, 2], [2, 1, 3]]);
    let untold = parse(format!("{head}CELLS 1 5\n4 0 1 2 3\n").as_bytes()).unwrap_err();
    assert_eq!(untold.problem, Problem::End { what: "CELL_TYPES" });
    let hexahedron = parse(format!("{head}CELLS 1 9\n8 0 1 2 3 4 5 6 7\nCELL_TYPES 1\n12\n").as_bytes());
    assert_eq!(hexahedron.unwrap_err().problem, Problem::Element { kind: 12 });
}
