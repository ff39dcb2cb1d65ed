//! Files that other programs write and that a strict reader loses or refuses for a wrong reason. The inputs of the data
//! folder have the same content as the short ones here.

use std::io::Write;

use coarsen_mesh::vector::{cross, dot, sub};
use coarsen_mesh::{Format, Location, Mesh, Problem, ReadError, parse, parse_tetgen, parse_texture, read};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

fn case(name: &str) -> Option<Result<Mesh, ReadError>> {
    Some(read(crate::data::data()?.join("cases").join(name)))
}

/// The sum of the areas of all triangles.
fn area(mesh: &Mesh) -> f64 {
    let double = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
        let n = cross(sub(b, a), sub(c, a));
        dot(n, n).sqrt()
    };
    mesh.triangles.iter().map(double).sum::<f64>() / 2.0
}

const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n";

#[test]
fn byte_order_mark_changes_nothing() {
    let expected = parse(Format::Obj, SQUARE.as_bytes()).unwrap();
    assert_eq!(parse(Format::Obj, format!("\u{feff}{SQUARE}").as_bytes()).unwrap(), expected);
    let [node, ele] = ["\u{feff}3 2 0 0\n1 0 0\n2 1 0\n3 0 1\n", "\u{feff}1 3 0\n1 1 2 3\n"];
    assert_eq!(parse_tetgen(node.as_bytes(), ele.as_bytes()).unwrap().triangles, [[0, 1, 2]]);
    let texture = "\u{feff}vt 0 0\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1/1 2/1 3/1\n";
    assert_eq!(parse_texture(texture.as_bytes()).unwrap().len(), 1);
    let Some(marked) = case("bom-silent.obj") else { return };
    assert_eq!(marked.unwrap(), case("bom-silent-nobom.obj").unwrap().unwrap());
}

#[test]
fn lines_may_end_in_cr() {
    let text = SQUARE.replace('\n', "\r");
    assert_eq!(parse(Format::Obj, text.as_bytes()).unwrap(), parse(Format::Obj, SQUARE.as_bytes()).unwrap());
    let fault = parse(Format::Obj, text.replace("1 1 0", "1 x 0").as_bytes()).unwrap_err();
    assert_eq!(fault.location, Some(Location::Line(3)));
    let node = "# mac\r3 2 0 0\r1 0 0\r2 1 0\r3 0 1\r";
    assert_eq!(parse_tetgen(node.as_bytes(), b"1 3 0\r1 1 2 3\r").unwrap().triangles, [[0, 1, 2]]);
    let Some(mesh) = case("cr.obj") else { return };
    let mesh = mesh.unwrap();
    assert_eq!((mesh.positions.len(), mesh.triangles.len()), (25, 32));
    assert!((area(&mesh) - 1.0).abs() < 1e-12);
}

#[test]
fn utf16_is_refused_by_its_name() {
    let wide = |mark: &[u8], bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.iter().copied().chain(SQUARE.encode_utf16().flat_map(bytes)).collect()
    };
    let texts = [
        wide(&[0xff, 0xfe], u16::to_le_bytes),
        wide(&[0xfe, 0xff], u16::to_be_bytes),
        wide(&[], u16::to_le_bytes),
        wide(&[], u16::to_be_bytes),
    ];
    for text in texts {
        for format in [Format::Obj, Format::Ply, Format::Msh, Format::Medit, Format::Vtk] {
            let error = parse(format, &text).unwrap_err();
            assert!(error.to_string().contains("encoding `UTF-16`"), "{error}");
        }
        assert!(parse_texture(&text).unwrap_err().to_string().contains("UTF-16"));
        assert!(parse_tetgen(&text, b"0 3 0\n").unwrap_err().to_string().contains("UTF-16"));
    }
    let Some(error) = case("utf16.obj") else { return };
    assert!(error.unwrap_err().to_string().contains("encoding `UTF-16`"));
}

#[test]
fn backslash_continues_a_line() {
    let text = "# C:\\meshes\\\nv 0 0 \\\n 0\nv 1 0 0\r\nv 0 1 0\nf 1 2 \\\r\n3\nf 1 2 9\n";
    let fault = parse(Format::Obj, text.as_bytes()).unwrap_err();
    assert_eq!(fault.location, Some(Location::Line(8)));
    let mesh = parse(Format::Obj, text.replace("9", "3").as_bytes()).unwrap();
    assert_eq!((mesh.positions.len(), mesh.triangles), (3, vec![[0, 1, 2], [0, 1, 2]]));
    let Some(mesh) = case("continuation-f.obj") else { return };
    assert_eq!(mesh.unwrap().triangles, [[0, 1, 2]]);
}

#[test]
fn values_beyond_the_header_are_named_with_their_line() {
    let head = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
         element face 1\nproperty list uchar int vertex_indices\nend_header\n";
    // Entries that share a line, or have several, are no fault by themselves.
    let loose = format!("{head}0 0 0 1 0 0\n0 1\n0 3 0 1 2\n");
    assert_eq!(parse(Format::Ply, loose.as_bytes()).unwrap().triangles, [[0, 1, 2]]);
    let more = format!("{head}0 0 0\n1 0 0 0.5\n0 1 0\n3 0 1 2\n");
    let error = parse(Format::Ply, more.as_bytes()).unwrap_err();
    assert_eq!(error.location, Some(Location::Line(11)), "{error}");
    let found = "1 0 0 0.5".to_string();
    assert_eq!(error.problem, Problem::Values { amount: "more", found });
    // The last line is read, but not to its end.
    let error =
        parse(Format::Ply, format!("{head}0 0 0\n1 0 0\n0 1 0\n3 0 1 2 255\n").as_bytes()).unwrap_err();
    assert_eq!(error.location, Some(Location::Line(13)), "{error}");
    let Some(error) = case("extra-values.ply") else { return };
    let error = error.unwrap_err();
    assert_eq!(error.location, Some(Location::Line(36)), "{error}");
    assert!(error.to_string().contains("more values"), "{error}");
}

#[test]
fn missing_tags_are_named_with_the_first_line() {
    let nodes: String = (1..=30).map(|k| format!("{k} {k} 0 0\n")).collect();
    let elements: String = (1..=20).map(|k| format!("{k} 2 2 {k} {} {}\n", k + 1, k + 2)).collect();
    let text = format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n30\n{nodes}$EndNodes\n$Elements\n20\n{elements}$EndElements\n"
    );
    let error = parse(Format::Msh, text.as_bytes()).unwrap_err();
    assert_eq!(error.location, Some(Location::Line(39)), "{error}");
    let found = "1 2 2 1 2 3".to_string();
    assert_eq!(error.problem, Problem::Values { amount: "fewer", found });
    let medit =
        b"MeshVersionFormatted 2\nDimension 3\nVertices 3\n0 0 0\n1 0 0\n0 1 0\nTriangles 1\n1 2 3 0\nEnd\n";
    let error = parse(Format::Medit, medit).unwrap_err();
    assert_eq!(error.location, Some(Location::Line(4)), "{error}");
    let error = parse_tetgen(b"3 2 1 0\n1 0 0\n2 1 0\n3 0 1\n", b"1 3 0\n1 1 2 3\n").unwrap_err();
    assert_eq!(error.location, Some(Location::Line(2)), "{error}");
}

#[test]
fn parametric_nodes_are_read() {
    let head = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$ParametricNodes\n4\n1 0 0 0 0 1\n2 1 0 0 1 2 0.5\n\
                3 0 1 0 2 1 0.5 0.25\n4 0 0 1 3 1\n$EndParametricNodes\n";
    let text = format!("{head}$Elements\n1\n1 4 2 1 1 1 2 3 4\n$EndElements\n");
    let mesh = parse(Format::Msh, text.as_bytes()).unwrap();
    assert_eq!((mesh.positions[3], mesh.tetrahedra), ([0.0, 0.0, 1.0], vec![[0, 1, 2, 3]]));
    let Some(mesh) = case("sphere-param-2.2-0.msh") else { return };
    let mesh = mesh.unwrap();
    assert_eq!(mesh.positions.len(), 65);
    // A ball of radius 1 meshed with this size has 0.9 of its area.
    assert!(area(&mesh) > 11.0 && area(&mesh) < 12.6, "{}", area(&mesh));
}

#[test]
fn concave_polygons_are_covered_once() {
    let corners = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 0.2], [0.0, 2.0]];
    // In three planes, in both directions, from every corner.
    for plane in 0..3 {
        for reverse in [false, true] {
            for first in 0..5 {
                let at = |k: usize| corners[if reverse { 4 - k } else { k }];
                let mut text = String::new();
                for k in 0..5 {
                    let mut x = [7.0; 3];
                    [x[plane], x[(plane + 1) % 3]] = at(k);
                    text += &format!("v {} {} {}\n", x[0], x[1], x[2]);
                }
                let order: Vec<String> = (0..5).map(|k| ((k + first) % 5 + 1).to_string()).collect();
                text += &format!("f {}\n", order.join(" "));
                let mesh = parse(Format::Obj, text.as_bytes()).unwrap();
                assert!((area(&mesh) - 2.2).abs() < 1e-12, "{text}: {}", area(&mesh));
                assert_eq!(mesh.triangles.len(), 3);
                // All triangles have the direction of the polygon.
                let normal = mesh.triangles.iter().fold([0.0; 3], |n: [f64; 3], t| {
                    let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
                    let m = cross(sub(b, a), sub(c, a));
                    [n[0] + m[0], n[1] + m[1], n[2] + m[2]]
                });
                let direction = if reverse { -4.4 } else { 4.4 };
                assert!((normal[(plane + 2) % 3] - direction).abs() < 1e-12, "{text}");
            }
        }
    }
    let Some(mesh) = case("concave.obj") else { return };
    assert!((area(&mesh.unwrap()) - 2.2).abs() < 1e-12);
}

/// Corners on a straight edge belong to neighbours too. Each must stay a corner of a triangle.
#[test]
fn ear_clipping_keeps_corners_on_straight_edges() {
    let points = "v 0 0 0\nv 1 0 0\nv 2 0 0\nv 3 0 0\nv 3 3 0\nv 2 1 0\nv 1 1 0\nv 0 3 0\nv 0 2 0\nv 0 1 0\n";
    for first in 0..10 {
        let order: Vec<String> = (0..10).map(|k| ((k + first) % 10 + 1).to_string()).collect();
        let mesh = parse(Format::Obj, format!("{points}f {}\n", order.join(" ")).as_bytes()).unwrap();
        assert!((area(&mesh) - 5.0).abs() < 1e-12, "{}", area(&mesh));
        assert_eq!((mesh.triangles.len(), mesh.without_unused().positions.len()), (8, 10));
    }
}

/// A concave quadrilateral of each format, and texture coordinates in the same order.
#[test]
fn every_format_clips_ears() {
    let dart = "0 0 0\n2 0 0\n0.5 0.5 0\n0 2 0\n";
    let numbered: String = dart.lines().zip(1..).map(|(x, k)| format!("{k} {x}\n")).collect();
    let obj: String = dart.lines().zip(0..).map(|(x, k)| format!("v {x}\nvt {k} 0\n")).collect();
    let obj = format!("{obj}f 2/2 3/3 4/4 1/1\n");
    let referred: String = dart.lines().map(|x| format!("{x} 0\n")).collect();
    let files = [
        (Format::Obj, obj.clone()),
        (
            Format::Ply,
            // The face stands before its vertices.
            format!(
                "ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int vertex_index\nelement vertex 4\n\
                 property float x\nproperty float y\nproperty float z\nend_header\n4 1 2 3 0\n{dart}"
            ),
        ),
        (
            Format::Msh,
            format!(
                "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n{numbered}$EndNodes\n\
                 $Elements\n1\n1 3 0 2 3 4 1\n$EndElements\n"
            ),
        ),
        (
            Format::Medit,
            format!(
                "MeshVersionFormatted 2\nDimension 3\nVertices 4\n{referred}Quadrilaterals 1\n2 3 4 1 0\nEnd\n"
            ),
        ),
        (
            Format::Vtk,
            format!(
                "# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\nPOINTS 4 float\n{dart}POLYGONS 1 5\n4 1 2 3 0\n"
            ),
        ),
    ];
    for (format, text) in files {
        let mesh = parse(format, text.as_bytes()).unwrap_or_else(|error| panic!("{format:?}: {error}"));
        assert!((area(&mesh) - 1.0).abs() < 1e-12, "{format:?}: {}", area(&mesh));
    }
    let texture = parse_texture(obj.as_bytes()).unwrap();
    let mesh = parse(Format::Obj, obj.as_bytes()).unwrap();
    let same = mesh.triangles.iter().flatten().zip(texture.as_flattened());
    assert!(same.into_iter().all(|(&v, u)| f64::from(v) == u[0]));
}

#[test]
fn faces_with_less_than_three_different_corners_are_left_out() {
    let text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 1 2\nf 1 2 3 3 4\nf 4 2 4\nf 1 2 2 1\n";
    let mesh = parse(Format::Obj, text.as_bytes()).unwrap();
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
}

#[test]
fn repeated_corners_have_the_numbers_of_the_file() {
    let text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n3\n10 0 0 0\n20 1 0 0\n30 0 1 0\n$EndNodes\n\
                $Elements\n1\n1 4 0 10 20 30 20\n$EndElements\n";
    let error = parse(Format::Msh, text.as_bytes()).unwrap_err();
    assert_eq!(error.location, Some(Location::Line(12)));
    assert_eq!(error.problem, Problem::Repeated { corner: 20 });
}

proptest! {
    /// A star-shaped polygon has a centre that sees all corners, but the fan around a corner mostly turns.
    #[test]
    fn star_shaped_polygons_are_covered_once(
        radii in prop::collection::vec(0.1..2.0, 4..200),
        axis in prop::array::uniform3(-1.0..1.0),
        size in prop::sample::select(vec![1e-150, 1.0, 1e150]),
    ) {
        // Two axes of a plane through (5, 5, 5).
        let length = dot(axis, axis).sqrt();
        prop_assume!(length > 0.1);
        let axis = axis.map(|x: f64| x / length);
        let other = if axis[0].abs() < 0.7 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
        let e = cross(axis, other);
        let e = e.map(|x| x / dot(e, e).sqrt());
        let f = cross(axis, e);
        let n = radii.len();
        let mut text = String::new();
        for (k, r) in radii.iter().enumerate() {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / n as f64).sin_cos();
            let x: [f64; 3] = std::array::from_fn(|i| size * (5.0 + r * (cos * e[i] + sin * f[i])));
            text += &format!("v {:e} {:e} {:e}\n", x[0], x[1], x[2]);
        }
        let order: Vec<String> = (1..=n).map(|k| k.to_string()).collect();
        let mut mesh = parse(Format::Obj, format!("{text}f {}\n", order.join(" ")).as_bytes()).unwrap();
        mesh.positions.iter_mut().flatten().for_each(|x| *x /= size);
        let sector = (std::f64::consts::TAU / n as f64).sin() / 2.0;
        let expected: f64 = (0..n).map(|k| radii[k] * radii[(k + 1) % n] * sector).sum();
        prop_assert!((area(&mesh) - expected).abs() < 1e-9, "{} {expected}", area(&mesh));
        prop_assert_eq!(mesh.triangles.len(), n - 2);
    }
}

#[test]
fn zeros_may_follow_gzip() {
    let gzip = |text: &str| {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(text.as_bytes()).unwrap();
        gz.finish().unwrap()
    };
    let file = std::env::temp_dir().join(format!("coarsen-zeros-{}.obj.gz", std::process::id()));
    let read_bytes = |bytes: Vec<u8>| {
        std::fs::write(&file, bytes).unwrap();
        let mesh = read(&file);
        std::fs::remove_file(&file).unwrap();
        mesh
    };
    let expected = parse(Format::Obj, SQUARE.as_bytes()).unwrap();
    let (first, second) = SQUARE.split_at(20);
    for bytes in [
        [gzip(SQUARE), vec![0; 511]].concat(),
        [gzip(first), gzip(second)].concat(),
        [gzip(first), vec![0; 3], gzip(second), vec![0]].concat(),
    ] {
        assert_eq!(read_bytes(bytes).unwrap(), expected);
    }
    let other = read_bytes([gzip(SQUARE), b"zip".to_vec()].concat()).unwrap_err();
    assert!(matches!(other.problem, Problem::Gzip { .. }), "{other}");
}
