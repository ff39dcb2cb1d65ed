//! Contact of real meshes, from the folder in the environment variable COARSEN_DATA. At rest nothing touches.

use std::path::PathBuf;
use std::time::Instant;

use coarsen_contact::Penetration;
use coarsen_core::parallel::threads;
use coarsen_elastic::Potential;
use coarsen_mesh::{Mesh, read_tetrahedra};

use crate::common::{contact, gradient, placed, together};

fn mesh(name: &str) -> Option<Mesh> {
    let Some(folder) = std::env::var_os("COARSEN_DATA").map(PathBuf::from) else {
        println!("skipped: COARSEN_DATA is not set to a folder of test data");
        return None;
    };
    Some(read_tetrahedra(folder.join("meshes").join(name)).unwrap().without_unused())
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

/// `COARSEN_DATA=... cargo test --release -p coarsen-contact --test contact -- --ignored --nocapture`
#[test]
#[ignore = "prints times"]
fn detection_takes_milliseconds() {
    let Some(mesh) = armadillos() else { return };
    let half = mesh.positions.len() / 2;
    for (name, shift) in [("apart", 0.9), ("almost equal", -0.12), ("an eighth inside", 0.0)] {
        let mut scene = mesh.positions.clone();
        scene[half..].iter_mut().for_each(|p| p[0] += shift);
        for n in [1, 2] {
            let mut contact = contact(&mesh, 1.0);
            let x = scene.as_flattened();
            let (found, times) = threads(n, || {
                let time = |what: &mut dyn FnMut()| {
                    let best = (0..20).map(|_| {
                        let start = Instant::now();
                        what();
                        start.elapsed().as_secs_f64()
                    });
                    1e3 * best.fold(f64::INFINITY, f64::min)
                };
                let detection = time(&mut || assert!(contact.detect(x).is_ok()));
                let mut g = vec![0.0; x.len()];
                let gradient = time(&mut || contact.add_gradient(x, &mut g));
                (contact.penetration(x), [detection, gradient])
            })
            .unwrap();
            let [detection, gradient] = times;
            println!("{name}, {n} threads: detection {detection:.2} ms, gradient {gradient:.2} ms; {found}");
        }
    }
}
