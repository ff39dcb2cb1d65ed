//! Bodies against each other and themselves.

use coarsen_contact::{BodyContact, Contact, ContactError, Penetration};
use coarsen_core::parallel::threads;
use coarsen_elastic::{Curvature, Potential, Touching};
use coarsen_mesh::Mesh;

use crate::common::{
    check_gradient, check_hessian, contact, crossing, gradient, moved, noise, placed, together,
};

fn force(g: &[f64]) -> [f64; 3] {
    g.as_chunks::<3>().0.iter().fold([0.0; 3], |sum, g| [0, 1, 2].map(|k| sum[k] - g[k]))
}

#[test]
fn bars_at_rest_do_not_touch() {
    let stacked = placed(Mesh::bar([4, 2, 2], 0.5), 0.0, [0.3, 0.2, 1.0]); // face on face
    for mesh in [Mesh::bar([1, 1, 1], 1.0), Mesh::bar([5, 3, 2], 0.3), together(&[Mesh::bar([4, 2, 2], 0.5), stacked])]
    {
        for angle in [0.0, 0.4, 2.1] {
            let turned = placed(mesh.clone(), angle, [1e3, -7.0, 0.1]);
            let x = turned.positions.as_flattened().to_vec();
            assert_eq!(contact(&turned, 1.0).penetration(&x), Penetration::default());
            // At rest elsewhere, up to the round-off of the turn.
            let deepest = contact(&mesh, 1.0).penetration(&x).deepest;
            assert!(deepest < 1e-12, "{deepest:e}");
        }
    }
}

/// With w and n held the energy is quadratic, so that its gradient and Hessian are exact.
#[test]
fn derivatives_with_frozen_contacts() {
    let mesh = crossing();
    let mut contact = contact(&mesh, 50.0);
    contact.frozen = true;
    let x = moved(mesh.positions.as_flattened(), 0.01, &noise(3 * mesh.positions.len(), 3));
    assert_eq!(contact.energy(&x).value, 0.0); // nothing is detected
    let count = contact.detect(&x).unwrap().len();
    assert!(count > 5, "{count}");
    let g = check_gradient(&mut contact, &x, 1e-4, 1e-9);
    assert!(force(&g).iter().all(|f| f.abs() < 1e-12), "{:?}", force(&g));
    // Where all gaps are open, nothing is left of the contacts, though they are kept.
    let apart: Vec<f64> = (0..x.len()).map(|k| x[k] + if k % 3 == 2 && k > 189 { 1.0 } else { 0.0 }).collect();
    assert_eq!(contact.energy(&apart).value, 0.0);
    assert!(gradient(&mut contact, &apart).iter().all(|g| *g == 0.0));
    let mut touching = Touching::default();
    contact.add_contacts(&apart, Curvature::Projected, &mut touching);
    assert!(touching.stencils().is_empty());
    assert_eq!(contact.penetration(&apart), Penetration::default());
    check_hessian(contact, &x, 1e-4, 1e-8);
}

/// The energy as a function of x, with a detection at each: the gradient is exact where vertices project into
/// their triangles, forces and torques add up to zero, and the deepest vertex is as deep as its distance to
/// the surface.
#[test]
fn the_gradient_is_that_of_the_detected_energy() {
    let mesh = crossing();
    let mut contact = contact(&mesh, 50.0);
    let x = mesh.positions.as_flattened();
    let g = check_gradient(&mut contact, x, 1e-7, 1e-6);
    assert!(force(&g).iter().all(|f| f.abs() < 1e-12), "{:?}", force(&g));
    let torque = mesh.positions.iter().zip(g.as_chunks::<3>().0).fold([0.0; 3], |sum, (x, g)| {
        let turn = coarsen_mesh::vector::cross(*x, *g);
        [0, 1, 2].map(|k| sum[k] + turn[k])
    });
    assert!(torque.iter().all(|t| t.abs() < 1e-11), "{torque:?}");
    let Penetration { contacts, deepest } = contact.penetration(x);
    assert!(contacts > 5 && (deepest - 0.13).abs() < 1e-12, "{contacts} {deepest}");
    let energy = contact.energy(x);
    assert!(energy.magnitude > energy.value && energy.value > 0.0);
}

/// A small cube whose corner is at depth 0.9 below the upper face of a long bar, nearer to its side: it leaves
/// by the side, and not by the face through which it came.
#[test]
fn deep_vertices_leave_on_the_shortest_way() {
    let bar = Mesh::bar([8, 4, 4], 0.5); // 4 x 2 x 2
    let cube = placed(Mesh::bar([1, 1, 1], 3.0), 0.0, [0.77, 1.5, 1.1]);
    let mesh = together(&[bar, cube]);
    let mut contact = contact(&mesh, 1.0);
    let found = contact.detect(mesh.positions.as_flattened()).unwrap().to_vec();
    let corner = 9 * 5 * 5;
    let own: Vec<&Contact> = found.iter().filter(|c| c.vertex == corner).collect();
    assert_eq!(own.len(), 1, "{found:?}");
    let [nx, ny, nz] = own[0].normal;
    assert!(ny == 1.0 && nx == 0.0 && nz == 0.0, "{:?}", own[0]);
    assert!(own[0].face.iter().all(|&v| mesh.positions[v as usize][1] == 2.0));
    let gap = own[0].gap(|v| mesh.positions[v as usize]);
    assert!((gap + 0.5).abs() < 1e-15, "{gap}");
}

/// A bar bent into a ring whose ends overlap: the ends touch each other, nothing else does.
#[test]
fn a_body_touches_itself() {
    let mesh = Mesh::bar([24, 2, 2], 0.25); // 6 long
    let bent: Vec<f64> = mesh.positions.iter().flat_map(|[x, y, z]| {
        let (angle, radius) = (x / 6.0 * 6.5, 1.0 + y); // a bit more than a turn, shifted inwards
        let radius = radius - 0.06 * x;
        [radius * angle.cos(), radius * angle.sin(), *z + 0.02 * x]
    });
    let x: Vec<f64> = bent.collect();
    let mut contact = contact(&mesh, 10.0);
    let found = contact.detect(&x).unwrap();
    assert!(found.len() > 3, "{found:?}");
    let column = |v: u32| v / 9;
    for c in found {
        let (own, other) = (column(c.vertex), column(c.face[0]));
        assert!(own.min(other) < 4 && own.max(other) > 20, "{c:?}");
    }
    let g = gradient(&mut contact, &x);
    assert!(force(&g).iter().all(|f| f.abs() < 1e-12));
    // The two ends are pushed apart.
    let end = |range: std::ops::Range<usize>| force(&g[27 * range.start..27 * range.end]);
    let (first, last) = (end(0..12), end(12..25));
    assert!(first.iter().zip(last).all(|(a, b)| (a + b).abs() < 1e-12) && first.iter().any(|f| f.abs() > 1e-3));
}

/// An inverted element is no collision: a vertex pushed through its own tetrahedra touches nothing.
#[test]
fn inverted_elements_are_not_contacts() {
    let mesh = Mesh::bar([3, 3, 3], 1.0);
    let mut x = mesh.positions.as_flattened().to_vec();
    let centre = (4 + 1) * 4 + 3; // on the face z = 3
    assert_eq!(mesh.positions[centre], [1.0, 1.0, 3.0]);
    x[3 * centre + 2] = 1.7;
    let contacts = contact(&mesh, 1.0).detect(&x).unwrap().to_vec();
    assert!(contacts.iter().all(|c| c.vertex as usize != centre), "{contacts:?}");
}

/// The contacts follow x, and those of the last x are not used for another.
#[test]
fn contacts_follow_positions() {
    let mesh = crossing();
    let x = mesh.positions.as_flattened().to_vec();
    let lifted: Vec<f64> = (0..x.len()).map(|k| x[k] + if k % 3 == 2 && k >= 189 { 0.5 } else { 0.0 }).collect();
    let mut contact = contact(&mesh, 50.0);
    let inside = contact.energy(&x);
    assert!(inside.value > 0.0);
    assert_eq!(contact.energy(&lifted).value, 0.0);
    assert!(gradient(&mut contact, &lifted).iter().all(|g| *g == 0.0));
    assert_eq!(contact.energy(&x), inside);
    for bad in [f64::NAN, f64::INFINITY] {
        let mut diverged = x.clone();
        diverged[40] = bad;
        for _ in 0..2 {
            assert!(contact.energy(&diverged).value.is_nan());
            assert!(gradient(&mut contact, &diverged)[0].is_nan());
            assert!(contact.penetration(&diverged).deepest.is_nan());
        }
        assert_eq!(contact.detect(&diverged).err(), Some(ContactError::Position { node: 13 }));
        assert!(contact.renew(&diverged).is_err());
    }
    assert_eq!(contact.energy(&x), inside);
    contact.frozen = true;
    assert_eq!(contact.renew(&lifted), Ok(false)); // detects
    assert_eq!(contact.energy(&x).value, 0.0);
    contact.detect(&x).unwrap();
    assert_eq!(contact.energy(&x), inside);
}

#[test]
fn wrong_bodies_are_refused() {
    let mesh = Mesh::bar([1, 1, 1], 1.0);
    let refused = |mesh: &Mesh, held: &[bool], k: f64| BodyContact::new(mesh, held, k).err();
    for k in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refused(&mesh, &[false; 8], k), Some(ContactError::Value { .. })), "{k}");
    }
    assert!(matches!(refused(&mesh, &[false; 7], 1.0), Some(ContactError::Body(_))));
    assert!(matches!(refused(&mesh, &[true; 8], 1.0), Some(ContactError::Body(_))));
    let mut flat = mesh.clone();
    flat.tetrahedra[2] = [0, 1, 2, 3];
    let empty = Mesh { tetrahedra: Vec::new(), ..mesh.clone() };
    let mut outside = mesh.clone();
    outside.tetrahedra[5][1] = 8;
    for mesh in [flat, empty, outside] {
        assert!(matches!(refused(&mesh, &[false; 8], 1.0), Some(ContactError::Mesh(_))));
    }
}

#[test]
fn threads_do_not_change_bits() {
    let lower = Mesh::bar([16, 12, 8], 0.25);
    let upper = placed(lower.clone(), 0.2, [0.1, 0.2, 1.9]);
    let mesh = together(&[lower, upper]);
    let x = moved(mesh.positions.as_flattened(), 0.01, &noise(3 * mesh.positions.len(), 1));
    let run = |n: usize| {
        threads(n, || {
            let mut contact = contact(&mesh, 50.0);
            let found = contact.detect(&x).unwrap().to_vec();
            (found, contact.energy(&x), gradient(&mut contact, &x))
        })
        .unwrap()
    };
    let one = run(1);
    assert!(one.0.len() > 100, "{}", one.0.len());
    assert!([2, 7].into_iter().all(|n| run(n) == one));
}
