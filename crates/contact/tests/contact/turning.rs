//! The exact Hessian of contact of surfaces, against differences of gradients.

use coarsen_contact::{ClothContact, Pair};
use coarsen_elastic::{ContactHessian, Curvature, Potential};
use coarsen_mesh::vector::{cross, dot, sub};

use crate::common::{check_hessian, noise};

/// Two triangles without a common node: pairs of all kinds are possible.
const FACES: [[u32; 3]; 2] = [[0, 1, 2], [3, 4, 5]];

/// A random triangle of size 1 and another one that is `gap` above a point of it, or above one of its edges.
fn near(seed: u64, gap: f64) -> Vec<[f64; 3]> {
    let numbers = noise(24, seed);
    let at = |k: usize| [numbers[3 * k], numbers[3 * k + 1], numbers[3 * k + 2]];
    let mut x: Vec<[f64; 3]> = (0..6).map(at).collect();
    let n = cross(sub(x[1], x[0]), sub(x[2], x[0]));
    let length = dot(n, n).sqrt();
    let weights = at(7).map(|w| w.abs() / at(7).map(f64::abs).iter().sum::<f64>());
    let shift: [f64; 3] = std::array::from_fn(|c| {
        let below: f64 = (0..3).map(|k| weights[k] * x[k][c]).sum();
        below + gap * n[c] / length - x[3][c]
    });
    x[3..].iter_mut().for_each(|x| (0..3).for_each(|c| x[c] += shift[c]));
    x
}

/// The exact Hessian is the derivative of the gradient for vertices above triangles, edges and corners, and for edges
/// that cross or pass ends. All kinds occur.
#[test]
fn the_exact_hessian_is_the_derivative_of_the_gradient() {
    let mut kinds = std::collections::BTreeSet::new();
    let mut tried = 0;
    // Starts that cross are left out.
    for seed in 0..120 {
        let x = near(seed, 0.08);
        let Ok(contact) = ClothContact::new(&FACES, &[false; 6], &x, 0.3, 50.0) else { continue };
        let mut contact = contact.turning();
        let live = |w: &f64| *w != 0.0;
        for touch in contact.detect(x.as_flattened()).unwrap() {
            let face = matches!(touch.pair, Pair::VertexFace { .. });
            kinds.insert((face, touch.weights.iter().filter(|w| live(w)).count()));
        }
        if !contact.found().is_empty() {
            check_hessian(contact, x.as_flattened(), 1e-7, 1e-4);
            tried += 1;
        }
    }
    assert!(tried > 20 && kinds.len() == 6, "{tried} {kinds:?}");
}

/// The same for edges that are parallel or nearly so, where m < 1, and with held nodes.
#[test]
fn the_exact_hessian_of_parallel_edges_and_held_nodes() {
    // Parallel edges, where m = 0, lie beside each other's ends.
    for (turn, half) in [(0.2_f64, 0.5), (0.02, 0.5), (0.01, 0.5), (0.0, 0.4)] {
        let (sin, cos) = turn.sin_cos();
        let x = [
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.4, 0.1, -1.0],
            [0.5 - half * cos, -half * sin, 0.1],
            [0.5 + half * cos, half * sin, 0.1],
            [0.6, 0.2, 1.0],
        ];
        for held in [[false; 6], [true, false, false, false, true, false]] {
            let contact = ClothContact::new(&FACES, &held, &x, 0.3, 50.0).unwrap().turning();
            let soft =
                contact.found().iter().any(|t| t.share < 1.0 && matches!(t.pair, Pair::EdgeEdge { .. }));
            assert_eq!(soft, turn < 0.1);
            let free: Vec<f64> = (0..6).filter(|k| !held[*k]).flat_map(|k| x[k]).collect();
            check_hessian(contact, &free, 1e-8, 1e-4);
        }
    }
}

/// Blocks are symmetric bit for bit; the projected Hessian has none, nor has the exact one without `turning`.
#[test]
fn the_exact_hessian_is_symmetric() {
    let apart = |x: &Vec<[f64; 3]>| ClothContact::new(&FACES, &[false; 6], x, 0.3, 50.0).ok();
    let x =
        (0..60).map(|seed| near(seed, 0.08)).find(|x| apart(x).is_some_and(|own| !own.found().is_empty()));
    let x = x.expect("a start without a crossing");
    let mut contact = apart(&x).unwrap();
    let mut contact_hessian = ContactHessian::default();
    contact.add_contacts(x.as_flattened(), Curvature::Exact, &mut contact_hessian);
    assert!(contact_hessian.blocks().0.is_empty() && !contact_hessian.stencils().is_empty());
    contact_hessian.clear();
    let mut contact = contact.turning();
    contact.add_contacts(x.as_flattened(), Curvature::Projected, &mut contact_hessian);
    assert!(contact_hessian.blocks().0.is_empty() && !contact_hessian.stencils().is_empty());
    contact_hessian.clear();
    contact.add_contacts(x.as_flattened(), Curvature::Exact, &mut contact_hessian);
    let (places, values) = contact_hessian.blocks();
    assert!(contact_hessian.stencils().is_empty() && places.len() == 16 * contact.found().len());
    for (places, values) in places.chunks(16).zip(values.chunks(16 * 9)) {
        for (k, (i, j)) in places.iter().enumerate() {
            let other = places.iter().position(|place| *place == (*j, *i)).unwrap();
            for (p, q) in (0..9).map(|at| (at / 3, at % 3)) {
                assert_eq!(values[9 * k + 3 * p + q], values[9 * other + 3 * q + p]);
            }
        }
    }
}
