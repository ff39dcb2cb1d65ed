//! Contact of real meshes, from the folder in the environment variable COARSEN_DATA. At rest nothing touches.

use coarsen_contact::Penetration;
use coarsen_mesh::{Mesh, read_tetrahedra};

use crate::common::{contact, gradient, placed, together};

fn mesh(name: &str) -> Option<Mesh> {
    Some(read_tetrahedra(crate::data::data()?.join("meshes").join(name)).unwrap().without_unused())
}

#[test]
fn meshes_at_rest_do_not_touch() {
    for name in
        ["gpuipc_bunny.msh.gz", "ipc_Armadillo13K.msh.gz", "ipc_mat20x20.msh.gz", "pbd_armadillo_4k.node.gz"]
    {
        let Some(mesh) = mesh(name) else { return };
        let mut contact = contact(&mesh, 1.0);
        assert_eq!(contact.penetration(mesh.positions.as_flattened()), Penetration::default(), "{name}");
        let turned = placed(mesh, 0.7, [3.0, -2.0, 1.0]);
        assert_eq!(contact.penetration(turned.positions.as_flattened()), Penetration::default(), "{name}");
    }
}

/// Two armadillos, one of them shifted by an eighth of its height.
fn armadillos() -> Option<Mesh> {
    let mesh = mesh("ipc_Armadillo13K.msh.gz")?.scaled(1.0);
    let other = placed(mesh.clone(), 0.0, [0.125, 0.02, 0.01]);
    Some(together(&[mesh, other]))
}

#[test]
fn armadillos_that_overlap_push_each_other() {
    let Some(mesh) = armadillos() else { return };
    let x = mesh.positions.as_flattened();
    let mut contact = contact(&mesh, 1.0);
    let Penetration { contacts, deepest } = contact.penetration(x);
    assert!(contacts > 1000 && deepest > 0.02 && deepest < 0.2, "{contacts} {deepest}");
    let g = gradient(&mut contact, x);
    let force = g.as_chunks::<3>().0.iter().fold([0.0; 3], |sum, g| [0, 1, 2].map(|k| sum[k] + g[k]));
    assert!(force.iter().all(|f| f.abs() < 1e-11), "{force:?}");
}
