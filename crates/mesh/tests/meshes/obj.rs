//! Wavefront OBJ, and its texture coordinates.

use coarsen_mesh::{Format, Location, Mesh, Problem, ReadError, parse_texture};

fn parse(bytes: &[u8]) -> Result<Mesh, ReadError> {
    coarsen_mesh::parse(Format::Obj, bytes)
}

#[test]
fn corners_are_counted_both_ways() {
    let text =
        b"# a quad\nv 0 0 0\nv 1 0 0\nf 1/1/1 2//7 3 4/9\nv 1 1 0 0.5\nv 0 1 0\r\nvn 0 0 1\nf -4 -3 -2";
    let mesh = parse(text).unwrap();
    assert_eq!(mesh.positions[2], [1.0, 1.0, 0.0]);
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 2]]);
}

#[test]
fn faults_name_the_line() {
    let problem = |text: &[u8]| {
        let fault = parse(text).unwrap_err();
        (fault.location, fault.problem)
    };
    let line = |n| Some(Location::Line(n));
    assert_eq!(problem(b"v 0 0\n"), (line(1), Problem::End { what: "a coordinate" }));
    assert_eq!(problem(b"\nv 0 0 inf\n"), (line(2), Problem::NotFinite));
    assert_eq!(problem(b"v 0 0 0\nf 1 1 2"), (line(2), Problem::Index { index: 2, vertices: 1 }));
    assert_eq!(problem(b"v 0 0 0\nf 1 1 0"), (line(2), Problem::Index { index: 0, vertices: 1 }));
    assert_eq!(problem(b"v 0 0 0\n\nf 1 -2"), (line(3), Problem::Corners { corners: 2 }));
    assert_eq!(problem(b"v 0 0 0\nf 1 1 -2"), (line(2), Problem::Index { index: -2, vertices: 1 }));
    for index in [i64::MAX, i64::MIN] {
        let text = format!("v 0 0 0\nf 1 1 {index}");
        assert_eq!(problem(text.as_bytes()), (line(2), Problem::Index { index, vertices: 1 }));
    }
}

#[test]
fn corners_have_their_own_points() {
    let text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nvt 0 0\nvt 2 0 0\nvt 0 3\nf 1/1 2/2 3/3\nvt 5 5\n\
                 f 2/-1/7 4/1 3/3 1/2\n";
    let [a, b, c, d] = [[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [5.0, 5.0]];
    assert_eq!(parse_texture(text).unwrap(), [[a, b, c], [d, a, c], [d, c, b]]);
}

#[test]
fn faults_of_texture_name_the_line() {
    let problem = |text: &[u8]| {
        let fault = parse_texture(text).unwrap_err();
        (fault.location, fault.problem)
    };
    let line = |n| Some(Location::Line(n));
    assert_eq!(problem(b"vt 0\n"), (line(1), Problem::End { what: "a texture coordinate" }));
    assert_eq!(problem(b"vt 0 nan\n"), (line(1), Problem::NotFinite));
    assert_eq!(problem(b"vt 0 0\nf 1/1 2/1 3\n"), (line(2), Problem::NoTexture));
    assert_eq!(problem(b"vt 0 0\nf 1//1 2/1 3/1\n"), (line(2), Problem::NoTexture));
    assert_eq!(problem(b"vt 0 0\nf 1/1 2/1 3/2\n"), (line(2), Problem::Index { index: 2, vertices: 1 }));
    assert_eq!(problem(b"vt 0 0\nf 1/1 2/1\n"), (line(2), Problem::Corners { corners: 2 }));
    assert_eq!(problem(b"vt 0 0\nf 1/1 2/0 3/1\n"), (line(2), Problem::Index { index: 0, vertices: 1 }));
}
