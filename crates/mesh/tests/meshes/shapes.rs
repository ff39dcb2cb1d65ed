//! Checks of meshes, their surfaces, and meshes made of others.

use coarsen_mesh::vector::{cross, dot, sub};
use coarsen_mesh::{Group, Mesh, MeshError, read_tetrahedra, read_triangles};

#[test]
fn bad_meshes_are_named() {
    let good = Mesh { positions: vec![[0.0; 3]; 3], triangles: vec![[0, 1, 2]], ..Mesh::default() };
    assert_eq!(good.check(), Ok(()));
    let mut infinite = good.clone();
    infinite.positions[1][2] = f64::INFINITY;
    assert_eq!(infinite.check(), Err(MeshError::NotFinite { vertex: 1 }));
    let outside = Mesh { tetrahedra: vec![[0, 1, 2, 3]], ..good.clone() };
    let expected = MeshError::Corner { kind: "tetrahedron", element: 0, corner: 3, vertices: 3 };
    assert_eq!(outside.check(), Err(expected));
    let flat = Mesh { triangles: vec![[0, 1, 2], [2, 1, 2]], ..good };
    assert_eq!(flat.check(), Err(MeshError::Repeated { kind: "triangle", element: 1, corner: 2 }));
}

#[test]
fn flat_tetrahedra_are_named_at_any_scale() {
    for scale in [1e-200, 1e-3, 1.0, 1e200] {
        let at = |p: [f64; 3]| p.map(|x| x * scale);
        let positions = vec![
            at([0.1; 3]),
            at([1.1, 0.1, 0.1]),
            at([0.1, 1.1, 0.1]),
            at([0.1, 0.1, 0.1001]),
            at([0.3, 0.3, 0.1]),
        ];
        let mut mesh = Mesh { positions, tetrahedra: vec![[0, 1, 2, 3], [1, 0, 2, 3]], ..Mesh::default() };
        assert_eq!(mesh.check_volumes(), Ok(()), "{scale}");
        mesh.tetrahedra.push([0, 1, 2, 4]);
        let flat = mesh.check_volumes().unwrap_err();
        assert!(matches!(flat, MeshError::Flat { element: 2, .. }), "{scale}: {flat}");
        assert!(
            flat.to_string().starts_with("tetrahedron 2 (from 0, in the order of the file) has no volume"),
            "{flat}"
        );
    }
}

/// Two tetrahedra with a common face and opposite orientations.
fn pair() -> Mesh {
    let positions =
        vec![[9.0; 3], [0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]];
    Mesh { positions, tetrahedra: vec![[1, 2, 3, 4], [2, 3, 4, 5]], ..Mesh::default() }
}

/// The volume enclosed by the boundary (by the divergence theorem) equals the volume of the tetrahedra,
/// so all faces point outwards.
#[test]
fn the_surface_encloses_the_volume() {
    let mesh = pair();
    let outer = mesh.surface();
    assert_eq!(outer.len(), 6);
    let at = |v: u32| mesh.positions[v as usize];
    let volume: f64 = outer.iter().map(|t| dot(at(t[0]), cross(at(t[1]), at(t[2]))) / 6.0).sum();
    assert!((volume - (1.0 / 6.0 + 1.0 / 3.0)).abs() < 1e-15, "{volume}");
}

/// A vertex of each tetrahedron is split; a tetrahedron is there twice, and one loses a corner.
#[test]
fn welded_meshes_have_no_double_parts() {
    let Mesh { mut positions, mut tetrahedra, .. } = pair();
    positions.extend([positions[4], [0.0, -0.0, 0.0]]);
    tetrahedra[1][2] = 6;
    tetrahedra.extend([[4, 3, 2, 7], [1, 2, 3, 7]]);
    let triangles = vec![[4, 6, 1], [2, 3, 4], [6, 2, 3], [2, 3, 5]];
    let group = |dimension, elements: &[u32]| {
        let name = "part".to_owned();
        Group { name, dimension, elements: elements.to_vec() }
    };
    let groups = vec![group(2, &[0, 2, 3]), group(3, &[1, 2])];
    let numbers = (10..18).collect();
    let (mesh, kept) = Mesh { positions, triangles, tetrahedra, groups, numbers }.welded();
    assert_eq!(mesh.groups, [group(2, &[0, 1]), group(3, &[0, 1])]);
    assert_eq!(mesh.numbers, [11, 12, 13, 14, 15]);
    assert_eq!(mesh.positions, pair().without_unused().positions);
    assert_eq!(mesh.tetrahedra, pair().without_unused().tetrahedra);
    assert_eq!((mesh.triangles, kept), (vec![[1, 2, 3], [1, 2, 4]], vec![1, 3]));
}

#[test]
fn unused_vertices_go() {
    let mesh = pair().without_unused();
    assert_eq!((mesh.positions.len(), mesh.tetrahedra[1]), (5, [1, 2, 3, 4]));
    assert_eq!(mesh.bounds(), [[0.0; 3], [1.0; 3]]);
}

fn volumes(mesh: &Mesh) -> Vec<f64> {
    let at = |i: u32| mesh.positions[i as usize];
    let edges = |t: &[u32; 4]| [1, 2, 3].map(|k| sub(at(t[k]), at(t[0])));
    mesh.tetrahedra.iter().map(edges).map(|[p, q, r]| dot(p, cross(q, r)) / 6.0).collect()
}

#[test]
fn a_bar_is_filled_once() {
    let mesh = Mesh::bar([3, 2, 1], 0.5);
    assert!(volumes(&mesh).iter().all(|v| (v - 0.125 / 6.0).abs() < 1e-15));
    assert!((volumes(&mesh).iter().sum::<f64>() - 0.75).abs() < 1e-14);
    let mut turned = mesh.clone();
    turned.tetrahedra[4].swap(0, 3);
    assert!(volumes(&turned)[4] < 0.0);
    assert_eq!(volumes(&turned.oriented()), volumes(&mesh));
}

#[test]
fn unused_nodes_are_removed_and_triangles_divided() {
    let positions = vec![[0.0; 3], [2.0, 0.0, 0.0], [9.0; 3], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]];
    let mesh = Mesh { positions, triangles: vec![[0, 1, 3], [0, 3, 4]], ..Mesh::default() };
    let mesh = mesh.without_unused().scaled(1.0);
    assert_eq!((mesh.positions.len(), mesh.positions[2]), (4, [1.0, 1.0, 0.0]));
    assert_eq!((mesh.clone().divided().triangles.len(), mesh.divided().positions.len()), (8, 9));
}

#[test]
fn errors_name_the_file_and_the_cause() {
    for error in [read_triangles("/nowhere/shirt.obj"), read_tetrahedra("/nowhere/shirt.obj")] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("/nowhere/shirt.obj") && error.contains("cannot be read"), "{error}");
    }
}

/// Filling a bar with cubes gives the bar, for any orientation of its tetrahedra. All elements have the
/// same positive volume, and inner faces match.
#[test]
fn a_bar_is_filled() {
    let mut bar = Mesh::bar([2, 1, 1], 1.0);
    bar.tetrahedra[0].swap(0, 1);
    for cells in [2, 6, 10] {
        let mesh = bar.voxels(cells).unwrap();
        let volumes = volumes(&mesh);
        assert!((volumes.iter().sum::<f64>() - 2.0).abs() < 1e-12, "{cells}");
        assert!(volumes.iter().all(|v| (v - volumes[0]).abs() < 1e-12 && *v > 0.0));
        let half = cells / 2;
        assert_eq!(mesh.surface().len(), 2 * 2 * (half * half + 2 * half * cells));
    }
}

#[test]
fn a_surface_has_no_inside() {
    let mesh = Mesh { positions: vec![[0.0; 3]; 3], triangles: vec![[0, 1, 2]], ..Mesh::default() };
    assert!(mesh.voxels(4).is_err());
}
