//! Detections and evaluations allocate nothing unless they find more than before.

#[path = "../../crates/contact/tests/contact/common.rs"]
#[allow(dead_code)] // the scenes of other tests
mod common;

use coarsen_contact::{Aabb, Obstacle, Penetration, SpatialHash, Sphere};
use coarsen_core::parallel;
use coarsen_elastic::{ContactHessian, Curvature, Potential};
use coarsen_mesh::Mesh;
use common::{contact, moved, noise, placed, together};

use crate::counting::bytes;

pub(crate) fn run() {
    for threads in [1, 3] {
        parallel::threads(threads, || {
            hashes(threads);
            evaluations(threads);
        })
        .unwrap();
    }
}

/// Returns the smallest number of allocated bytes of five runs. A repeated allocation occurs in every run,
/// but a pool thread that starts late allocates only once.
fn least(mut run: impl FnMut()) -> Option<usize> {
    (0..5).map(|_| bytes(&mut run)).min()
}

fn hashes(threads: usize) {
    let at = noise(3 * 8000, 1);
    let of = |i: usize, size: f64| Aabb::of([[at[3 * i], at[3 * i + 1], at[3 * i + 2]]]).grown(size);
    let mut hash = SpatialHash::default();
    hash.rebuild(8000, None, |i| of(i, 0.05)).unwrap();
    let mut pairs = 0;
    let again = least(|| {
        for count in [8000, 500, 8000] {
            hash.rebuild(count, None, |i| of(i, 0.05)).unwrap();
            (0..count).for_each(|i| hash.query(&of(i, 0.1), |_| pairs += 1));
        }
    });
    assert_eq!(again, Some(0), "a hash at {threads} threads");
    assert!(pairs > 5 * 16_500, "{pairs}");
}

fn evaluations(threads: usize) {
    let lower = Mesh::bar([16, 12, 8], 0.25);
    let mesh = together(&[lower.clone(), placed(lower, 0.2, [0.1, 0.2, 1.9])]);
    let n = mesh.positions.len();
    let x = mesh.positions.as_flattened();
    let shaken = moved(x, 1e-3, &noise(x.len(), 2));
    let (mut contact_hessian, mut g) = (ContactHessian::default(), vec![0.0; x.len()]);
    let mut bodies = contact(&mesh, 10.0);
    let list: Vec<[u32; 2]> = mesh.tetrahedra.iter().map(|t| [t[0], t[1]]).collect();
    let ball = Obstacle::new(n, Sphere::new([0.0; 3], 1.0).unwrap(), 10.0).unwrap();
    let mut ball = ball.edges(&list, &vec![false; n], &mesh.positions).unwrap();
    let mut contacts = 0;
    let mut evaluate = || {
        for x in [x, &shaken] {
            contact_hessian.clear();
            for part in [&mut bodies as &mut dyn Potential, &mut ball] {
                part.energy(x);
                part.add_gradient(x, &mut g);
                part.add_contacts(x, Curvature::Exact, &mut contact_hessian);
            }
            let Penetration { contacts: own, .. } = bodies.penetration(x).and(ball.penetration(x));
            contacts += own;
        }
    };
    evaluate();
    assert_eq!(least(evaluate), Some(0), "evaluations at {threads} threads");
    assert!(contacts > 12 * 100, "{contacts}");
}
