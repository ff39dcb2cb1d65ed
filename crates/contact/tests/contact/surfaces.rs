//! Surfaces that contact refuses: triangles that are there twice, and starts that intersect.

use coarsen_contact::{ClothContact, ContactError, Topology, clearance};
use coarsen_mesh::{Mesh, read_triangles};

/// A square of four triangles above another one.
fn squares() -> (Vec<[u32; 3]>, Vec<[f64; 3]>) {
    let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]];
    let positions = [0.0, 0.1].iter().flat_map(|z| square.map(|[x, y]| [x, y, *z])).collect();
    let fan = |first: u32| [0, 1, 2, 3].map(|k| [first + k, first + (k + 1) % 4, first + 4]);
    (fan(0).into_iter().chain(fan(5)).collect(), positions)
}

/// Two triangles with the same corners, in any order, are an error that names both, in every search and with held nodes.
#[test]
fn double_triangles_are_named() {
    for order in [[0, 1, 2], [1, 2, 0], [2, 1, 0]] {
        let (mut triangles, x) = squares();
        triangles.push(order.map(|k: usize| triangles[5][k]));
        for held in [false, true] {
            let held = [vec![false; 5], vec![held; 5]].concat();
            let errors = [
                ClothContact::new(&triangles, &held, &x, 0.2, 1.0).err(),
                Topology::new(&triangles, &held, &x).err(),
                clearance(&triangles, &x, 0.2).err(),
            ];
            for error in errors {
                let error = error.expect("an error");
                assert!(matches!(error, ContactError::Double { triangles: [5, 8], .. }), "{error}");
            }
        }
    }
}

/// The file of a bug report, in which the first face is there twice: refused with both numbers, and read without the
/// second one by `Mesh::welded`.
#[test]
fn a_face_that_is_twice_in_a_file_counts_once_or_is_named() {
    let Some(folder) = crate::data::data() else { return };
    let mesh = read_triangles(folder.join("cases").join("duplicate-face.obj")).unwrap();
    let contact = |mesh: &Mesh| {
        let held = vec![false; mesh.positions.len()];
        ClothContact::new(&mesh.triangles, &held, &mesh.positions, 0.3, 1.0)
    };
    let error = contact(&mesh).err().expect("an error");
    assert!(matches!(error, ContactError::Double { triangles: [0, 32], .. }), "{error}");
    let (welded, kept) = mesh.clone().welded();
    assert_eq!(welded.triangles, mesh.triangles[..32]);
    assert!(kept.iter().copied().eq(0..32) && welded.positions == mesh.positions);
    assert!(contact(&welded).is_ok());
}

/// A start with an edge through a triangle, far from the edges of the triangle, is an error that names both; it is none
/// where all nodes are held.
#[test]
fn starts_that_cross_are_named() {
    let triangles = [[0, 1, 2], [3, 4, 5]];
    let mut x = [
        [0.0, 0.0, 0.0],
        [3.0, 0.0, 0.0],
        [0.0, 3.0, 0.0],
        [1.0, 1.0, -1.0],
        [1.0, 1.0, 2.0],
        [1.0, 2.0, 5.0],
        [9.0, 9.0, 9.0],
    ];
    let contact = |x: &[[f64; 3]], held: bool| {
        ClothContact::new(&triangles, &[held, held, held, held, held, held, false], x, 0.01, 1.0)
    };
    let error = contact(&x, false).err().expect("an error");
    let ContactError::Intersects(crossing) = error else { panic!("{error}") };
    assert_eq!((crossing.edge, crossing.triangle), ([3, 4], [0, 1, 2]));
    assert!(error.to_string().contains("edge 3, 4 crosses triangle 0, 1, 2"), "{error}");
    assert!(contact(&x, true).is_ok());
    x[3][2] = 0.1;
    assert!(contact(&x, false).is_ok());
}
