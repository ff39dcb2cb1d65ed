//! Held nodes push other nodes, but are not pushed.

use coarsen_contact::BodyContact;
use coarsen_core::LinearOperator;
use coarsen_elastic::{ContactHessian, Curvature, Potential};

use crate::common::{check_gradient, check_hessian, contact, crossing, gradient};

/// Two bars touch while some nodes of both are held. The rows of free nodes are the same as with all nodes
/// free.
#[test]
fn rows_of_free_nodes_stay() {
    let mesh = crossing();
    let n = mesh.positions.len();
    let x = mesh.positions.as_flattened();
    let whole = gradient(&mut contact(&mesh, 50.0), x);
    for held in [
        (0..n).map(|i| i < 63).collect::<Vec<_>>(), // the lower bar
        (0..n).map(|i| i >= 63).collect(),          // the upper bar
        (0..n).map(|i| i % 2 == 0).collect(),
    ] {
        let mut some = BodyContact::new(&mesh, &held, 50.0).unwrap();
        let free: Vec<usize> = (0..n).filter(|&i| !held[i]).collect();
        let at: Vec<f64> = free.iter().flat_map(|&i| mesh.positions[i]).collect();
        let g = check_gradient(&mut some, &at, 1e-7, 1e-6);
        let expected: Vec<f64> = free.iter().flat_map(|&i| whole[3 * i..3 * i + 3].to_vec()).collect();
        assert_eq!(g, expected);
        let mut contact_hessian = ContactHessian::default();
        some.add_contacts(&at, Curvature::Projected, &mut contact_hessian);
        assert!(
            contact_hessian.stencils().iter().all(|s| s.nodes().iter().all(|&i| (i as usize) < free.len()))
        );
        some.frozen = true;
        some.detect(&at).unwrap();
        check_hessian(some, &at, 1e-4, 1e-8);
    }
}

/// Moving held nodes away removes their contacts.
#[test]
fn held_nodes_can_move() {
    let mesh = crossing();
    let held: Vec<bool> = (0..mesh.positions.len()).map(|i| i >= 63).collect();
    let mut contact = BodyContact::new(&mesh, &held, 50.0).unwrap();
    let x: Vec<f64> = mesh.positions[..63].as_flattened().to_vec();
    assert!(contact.energy(&x).value > 0.0);
    let away: Vec<[f64; 3]> = mesh.positions.iter().map(|p| [p[0], p[1], p[2] + 1.0]).collect();
    contact.hold(&away);
    assert_eq!(contact.energy(&x).value, 0.0);
    contact.hold(&mesh.positions);
    assert!(contact.energy(&x).value > 0.0);
}

/// Contact of two bars that are both held has no effect.
#[test]
fn contacts_of_held_nodes_are_left_out() {
    let mut mesh = crossing();
    let first = mesh.positions.len() as u32;
    let apart = coarsen_mesh::Mesh::bar([1, 1, 1], 1.0);
    mesh.positions.extend(apart.positions.iter().map(|p| p.map(|x| x + 50.0)));
    mesh.tetrahedra.extend(apart.tetrahedra.iter().map(|t| t.map(|v| v + first)));
    let held: Vec<bool> = (0..first + 8).map(|i| i < first).collect();
    let mut contact = BodyContact::new(&mesh, &held, 1.0).unwrap();
    let x = mesh.positions[first as usize..].as_flattened().to_vec();
    assert!(contact.penetration(&x).contacts > 0);
    assert!(gradient(&mut contact, &x).iter().all(|g| *g == 0.0));
    let mut f = coarsen_elastic::ImplicitEuler::equilibrium(contact).unwrap();
    let system = coarsen_sparse::SystemAt::system_at(&mut f, &x).unwrap();
    assert_eq!((system.shape(), system.contact.as_ref().map(|c| c.len())), ((24, 24), Some(0)));
}
