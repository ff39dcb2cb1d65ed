//! Stanford PLY.

use coarsen_mesh::{Format, Mesh, Problem, ReadError};

fn parse(bytes: &[u8]) -> Result<Mesh, ReadError> {
    coarsen_mesh::parse(Format::Ply, bytes)
}

const HEADER: &str = "element vertex 4\nproperty float x\nproperty float y\nproperty double z\n\
    property uchar red\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n";

#[test]
fn encodings_agree() {
    let ascii = format!("ply\nformat ascii 1.0\ncomment made by hand\n{HEADER}")
        + "0 0 0 1\n1 0 0.5 2\n1 1 0 3\n0 1 0 4\n4 0 1 2 3\n";
    let expected = parse(ascii.as_bytes()).unwrap();
    assert_eq!(expected.positions[1], [1.0, 0.0, 0.5]);
    assert_eq!(expected.triangles, [[0, 1, 2], [0, 2, 3]]);
    for (name, little) in [("binary_little_endian", true), ("binary_big_endian", false)] {
        let mut bytes = format!("ply\nformat {name} 1.0\n{HEADER}").into_bytes();
        let mut put = |le: &[u8]| {
            let mut raw = le.to_vec();
            if !little {
                raw.reverse();
            }
            bytes.extend(raw);
        };
        for (k, [x, y, z]) in expected.positions.iter().enumerate() {
            put(&(*x as f32).to_le_bytes());
            put(&(*y as f32).to_le_bytes());
            put(&z.to_le_bytes());
            put(&[k as u8]);
        }
        put(&[4]);
        (0..4_i32).for_each(|k| put(&k.to_le_bytes()));
        assert_eq!(parse(&bytes).unwrap(), expected);
        assert!(parse(&bytes[..bytes.len() - 1]).is_err());
    }
}

#[test]
fn strips_are_refused_and_other_elements_skipped() {
    let text = |name: &str, count: u32| {
        let lines = "4 0 1 2 3\n".repeat(count as usize);
        format!(
            "ply\nformat ascii 1.0\nelement {name} {count}\nproperty list uchar int vertex_indices\nend_header\n{lines}"
        )
    };
    let refused = parse(text("tristrips", 1).as_bytes()).unwrap_err();
    assert!(matches!(&refused.problem, Problem::Word { found, .. } if found.contains("tristrips")));
    for (name, count) in [("tristrips", 0), ("edge", 2)] {
        assert_eq!(parse(text(name, count).as_bytes()).unwrap(), Mesh::default());
    }
}

#[test]
fn a_declared_count_allocates_nothing() {
    let bomb = b"ply\nformat binary_little_endian 1.0\nelement other 4000000000\nend_header\n";
    assert_eq!(parse(bomb).unwrap(), Mesh::default());
    let flat = b"ply\nformat ascii 1.0\nelement vertex 4000000000\nproperty float x\nend_header\n1\n";
    assert!(matches!(parse(flat), Err(ReadError { problem: Problem::Word { .. }, .. })));
    let bomb = b"ply\nformat ascii 1.0\nelement vertex 4000000000\nproperty float x\nproperty float y\nproperty float z\nend_header\n1\n";
    assert!(matches!(parse(bomb), Err(ReadError { problem: Problem::End { .. }, .. })));
}
