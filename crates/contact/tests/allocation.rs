//! Detections and evaluations allocate nothing once as much was found before.

#[path = "contact/common.rs"]
#[allow(dead_code)] // the scenes of other tests
mod common;
#[path = "../../../tests/counting/mod.rs"]
mod counting;

use coarsen_contact::{Aabb, Obstacle, Penetration, SpatialHash, Sphere};
use coarsen_elastic::{Curvature, Potential, Touching};
use common::{contact, crossing, moved, noise};
use counting::bytes;

fn main() {
    let at = noise(3 * 2000, 1);
    let of = |i: usize, size: f64| Aabb::of([[at[3 * i], at[3 * i + 1], at[3 * i + 2]]]).grown(size);
    let mut hash = SpatialHash::default();
    hash.rebuild(2000, None, |i| of(i, 0.05)).unwrap();
    let mut pairs = 0;
    let again = bytes(|| {
        for count in [2000, 500, 2000] {
            hash.rebuild(count, None, |i| of(i, 0.05)).unwrap();
            (0..count).for_each(|i| hash.query(&of(i, 0.1), |_| pairs += 1));
        }
    });
    assert_eq!(again, 0, "a hash");
    assert!(pairs > 4500, "{pairs}");

    let mesh = crossing();
    let n = mesh.positions.len();
    let x = mesh.positions.as_flattened();
    let shaken = moved(x, 1e-3, &noise(x.len(), 2));
    let (mut touching, mut g) = (Touching::default(), vec![0.0; x.len()]);
    let mut bodies = contact(&mesh, 10.0);
    let mut ball = Obstacle::new(n, Sphere::new([0.0; 3], 1.0).unwrap(), 10.0).unwrap();
    let mut evaluate = |x: &[f64]| -> Penetration {
        touching.clear();
        for part in [&mut bodies as &mut dyn Potential, &mut ball] {
            part.energy(x);
            part.add_gradient(x, &mut g);
            part.add_contacts(x, Curvature::Exact, &mut touching);
        }
        bodies.penetration(x).and(ball.penetration(x))
    };
    assert!(evaluate(&shaken).contacts > 5 && evaluate(x).contacts > 5);
    let mut contacts = 0;
    let again = bytes(|| {
        for x in [x, &shaken, x] {
            contacts += evaluate(x).contacts;
        }
    });
    assert_eq!((again, contacts > 15), (0, true), "evaluations");
}
