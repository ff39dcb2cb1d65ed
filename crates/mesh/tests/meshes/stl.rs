//! STL files, ascii and binary.

use coarsen_mesh::{Format, Location, Problem, ReadError, parse};

/// A tetrahedron, of which each face has its own corners.
const CORNERS: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const FACES: [[usize; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];

fn binary(comment: &[u8], count: u32) -> Vec<u8> {
    let mut bytes = comment.to_vec();
    bytes.resize(80, 0);
    bytes.extend(count.to_le_bytes());
    for face in FACES {
        bytes.extend([0; 12]);
        face.iter().flat_map(|&k| CORNERS[k]).for_each(|x| bytes.extend(x.to_le_bytes()));
        bytes.extend([7, 7]);
    }
    bytes
}

fn text() -> String {
    let mut text = "solid a body\n".to_owned();
    for face in FACES {
        text += "  facet normal 0 0 0\n    outer loop\n";
        face.iter().for_each(|&k| {
            text += &format!("      vertex {} {:e} {}\n", CORNERS[k][0], CORNERS[k][1], CORNERS[k][2])
        });
        text += "    endloop\n  endfacet\n";
    }
    text + "endsolid a body\n"
}

fn fault(bytes: &[u8]) -> ReadError {
    parse(Format::Stl, bytes).unwrap_err()
}

#[test]
fn corners_are_merged() {
    let binaries = [&b"solid in name only"[..], b"", b"\xff\xfe", b"\0\0x"].map(|comment| binary(comment, 4));
    for bytes in binaries.into_iter().chain([text().into_bytes()]) {
        let mesh = parse(Format::Stl, &bytes).unwrap();
        assert_eq!((mesh.positions.len(), mesh.triangles.len()), (4, 4));
        let at = |t: &[u32; 3]| t.map(|v| mesh.positions[v as usize].map(|x| x as f32));
        let expected = FACES.map(|face| face.map(|k| CORNERS[k]));
        assert_eq!(mesh.triangles.iter().map(at).collect::<Vec<_>>(), expected);
    }
    // A triangle without area, and one that is there twice.
    let flat = text().replace("vertex 1.5 0e0 0\n", "vertex 0 0e0 0\n");
    assert_eq!(parse(Format::Stl, flat.as_bytes()).unwrap().triangles.len(), 1);
    let twice = text() + &text();
    assert_eq!(parse(Format::Stl, twice.as_bytes()).unwrap().triangles.len(), 4);
}

#[test]
fn damage_is_reported_with_its_location() {
    let short = &binary(b"", 4)[..200];
    assert!(matches!(fault(short).location, Some(Location::Byte(_))), "{}", fault(short));
    assert!(matches!(fault(&binary(b"", 3)).problem, Problem::Word { .. }));
    assert!(matches!(fault(b"short").problem, Problem::End { .. }));
    let nan = text().replace("1.5", "nan");
    assert_eq!(
        (fault(nan.as_bytes()).location, fault(nan.as_bytes()).problem),
        (Some(Location::Line(6)), Problem::NotFinite)
    );
    let word = text().replacen("endfacet", "endface", 1);
    assert_eq!(fault(word.as_bytes()).location, Some(Location::Line(8)));
    let end = text().split("endloop").next().unwrap().to_owned();
    assert!(matches!(fault(end.as_bytes()).problem, Problem::End { .. } | Problem::Word { .. }));
}
