//! Contact of bodies with each other and with themselves.

use coarsen_contact::{BodyContact, Contact, ContactError, Pair, Penetration};
use coarsen_core::parallel::threads;
use coarsen_elastic::{ContactHessian, Curvature, Potential};
use coarsen_mesh::Mesh;

use crate::cloth::distance;
use crate::common::{
    check_gradient, check_hessian, contact, crossing, gradient, moved, noise, placed, together,
};

fn force(g: &[f64]) -> [f64; 3] {
    g.as_chunks::<3>().0.iter().fold([0.0; 3], |sum, g| [0, 1, 2].map(|k| sum[k] - g[k]))
}

#[test]
fn bars_at_rest_do_not_touch() {
    let stacked = placed(Mesh::bar([4, 2, 2], 0.5), 0.0, [0.3, 0.2, 1.0]); // face on face
    for mesh in [
        Mesh::bar([1, 1, 1], 1.0),
        Mesh::bar([5, 3, 2], 0.3),
        together(&[Mesh::bar([4, 2, 2], 0.5), stacked]),
    ] {
        for angle in [0.0, 0.4, 2.1] {
            let turned = placed(mesh.clone(), angle, [1e3, -7.0, 0.1]);
            let x = turned.positions.as_flattened().to_vec();
            assert_eq!(contact(&turned, 1.0).penetration(&x), Penetration::default());
            // At rest, but rotated and moved; the rotation causes round-off.
            let deepest = contact(&mesh, 1.0).penetration(&x).deepest;
            assert!(deepest < 1e-12, "{deepest:e}");
        }
    }
}

/// With fixed w and n the energy is quadratic, so its gradient and Hessian are exact.
#[test]
fn derivatives_with_frozen_contacts() {
    let mesh = crossing();
    let mut contact = contact(&mesh, 50.0);
    contact.frozen = true;
    let x = moved(mesh.positions.as_flattened(), 0.01, &noise(3 * mesh.positions.len(), 3));
    assert_eq!(contact.energy(&x).value, 0.0); // nothing was detected yet
    let count = contact.detect(&x).unwrap().len();
    assert!(count > 5, "{count}");
    let g = check_gradient(&mut contact, &x, 1e-4, 1e-9);
    assert!(force(&g).iter().all(|f| f.abs() < 1e-12), "{:?}", force(&g));
    check_hessian(contact, &x, 1e-4, 1e-8);
}

/// A frozen contact whose gap opens has no energy, no force and no stiffness, but it stays in the list.
#[test]
fn open_gaps_do_not_pull() {
    let upper = placed(Mesh::bar([2, 2, 2], 0.43), 0.3, [0.9, 0.95, 2.87]);
    let mesh = together(&[Mesh::bar([1, 1, 1], 3.0), upper]); // contacts only with the upper face
    let mut contact = contact(&mesh, 50.0);
    contact.frozen = true;
    let lifted = |by: f64| -> Vec<f64> {
        mesh.positions
            .iter()
            .enumerate()
            .flat_map(|(i, p)| [p[0], p[1], if i < 8 { p[2] } else { p[2] + by }])
            .collect()
    };
    assert_eq!(contact.detect(&lifted(0.0)).unwrap().len(), 9);
    let mut contact_hessian = ContactHessian::default();
    for (by, open) in [(0.129, false), (0.131, true)] {
        let x = lifted(by);
        contact_hessian.clear();
        contact.add_contacts(&x, Curvature::Projected, &mut contact_hessian);
        assert_eq!(contact_hessian.stencils().len(), if open { 0 } else { 9 });
        assert_eq!(contact.energy(&x).value == 0.0, open);
        assert_eq!(gradient(&mut contact, &x).iter().all(|g| *g == 0.0), open);
        assert_eq!(contact.penetration(&x).contacts, if open { 0 } else { 9 });
    }
}

/// A thin tetrahedron that reaches from its tip as far as `length` along each axis.
fn needle(tip: [f64; 3], length: f64) -> Mesh {
    let far = |by: [f64; 3]| [0, 1, 2].map(|k| tip[k] + length + 0.1 * k as f64 + by[k]);
    let positions = vec![tip, far([0.0; 3]), far([0.01, 0.0, 0.0]), far([0.0, 0.0, 0.01])];
    Mesh { positions, tetrahedra: vec![[0, 1, 2, 3]], ..Mesh::default() }.oriented()
}

/// The contacts of the tip of a needle with a body that is held.
fn of_tips<'a>(body: &'a Mesh, length: f64) -> impl FnMut([f64; 3]) -> Vec<Contact> + 'a {
    let count = body.positions.len();
    let start = together(&[body.clone(), needle([99.0; 3], length)]);
    let held: Vec<bool> = (0..count + 4).map(|i| i < count).collect();
    let mut contact = BodyContact::new(&start, &held, 10.0).unwrap();
    move |tip| {
        let found = contact.detect(needle(tip, length).positions.as_flattened()).unwrap();
        found.iter().filter(|c| c.vertex as usize == count).copied().collect()
    }
}

/// The depth of a tip in a body, by all triangles of its surface.
fn depth(body: &Mesh, x: [f64; 3]) -> f64 {
    let distance = |&face: &[u32; 3]| {
        let [a, b, c] = face.map(|v| body.positions[v as usize]);
        distance(&Pair::VertexFace { vertex: 0, face }, [x, a, b, c])
    };
    body.surface().iter().map(distance).fold(f64::INFINITY, f64::min)
}

/// The gap of a contact of a tip at x.
fn gap(body: &Mesh, contact: &Contact, x: [f64; 3]) -> f64 {
    contact.gap(|v| body.positions.get(v as usize).copied().unwrap_or(x))
}

#[test]
fn a_tip_is_inside_where_no_coordinate_is_negative() {
    let positions = vec![[1.0, 0.0, 0.0], [3.0, 0.0, 0.5], [1.0, 2.0, 0.0], [1.0, 0.5, 1.0]];
    let body = Mesh { positions, tetrahedra: vec![[0, 1, 2, 3]], ..Mesh::default() };
    let mut found = of_tips(&body, 5.0);
    let at = |beta: [f64; 4]| -> [f64; 3] {
        std::array::from_fn(|k| (0..4).map(|a| beta[a] * body.positions[a][k]).sum())
    };
    for beta in [[0.25; 4], [0.1, 0.2, 0.3, 0.4], [0.01, 0.5, 0.48, 0.01], [0.01, 0.01, 0.01, 0.97]] {
        let (x, expected) = (at(beta), depth(&body, at(beta)));
        let own = found(x);
        assert!(own.len() == 1 && (gap(&body, &own[0], x) + expected).abs() < 1e-14, "{beta:?}: {own:?}");
    }
    for k in 0..4 {
        let mut beta = [0.4; 4];
        beta[k] = -0.2;
        assert!(found(at(beta)).is_empty(), "{beta:?}");
    }
}

/// Points that several tetrahedra share are inside one of them, whatever the round-off.
#[test]
fn common_corners_edges_and_faces_are_inside() {
    for angle in [0.0, 0.4, 2.1] {
        let body = placed(Mesh::bar([4, 4, 4], 0.5), angle, [0.3, -0.7, 0.1]);
        let surface = body.surface();
        let outer = |v: &u32| surface.as_flattened().contains(v);
        let mut found = of_tips(&body, 9.0);
        let mut seen = 0;
        for t in &body.tetrahedra {
            for nodes in [&t[..1], &t[1..3], &t[..3]].map(|nodes| nodes.to_vec()) {
                if nodes.iter().any(outer) {
                    continue;
                }
                let mean = |k: usize| nodes.iter().map(|&v| body.positions[v as usize][k]).sum::<f64>();
                let x = [0, 1, 2].map(|k| mean(k) / nodes.len() as f64);
                let own = found(x);
                assert!(!own.is_empty(), "{angle}: {nodes:?}");
                let expected = depth(&body, x);
                assert!(
                    own.iter().all(|c| (gap(&body, c, x) + expected).abs() < 1e-12),
                    "{nodes:?}: {own:?}"
                );
                seen += 1;
            }
        }
        assert!(seen > 50, "{seen}");
    }
}

/// The body is a box of 4 x 2 x 2, for which the nearest face is known.
#[test]
fn the_nearest_face_of_a_box_is_found_at_any_depth() {
    let body = Mesh::bar([8, 4, 4], 0.5);
    let mut found = of_tips(&body, 9.0);
    for (x, axis, side) in [
        ([2.0, 0.1, 1.0], 1, 0.0),
        ([2.1, 1.0, 1.3], 2, 2.0),
        ([3.6, 1.0, 1.1], 0, 4.0),
        ([2.0, 1.01, 1.0], 1, 2.0),
        ([1.9, 0.3, 0.29], 2, 0.0),
        ([1e-3, 0.3, 0.29], 0, 0.0),
    ] {
        let own = found(x);
        assert_eq!(own.len(), 1, "{x:?}: {own:?}");
        assert!(own[0].face.iter().all(|&v| body.positions[v as usize][axis] == side), "{x:?}: {own:?}");
    }
}

/// Tips in a bent bar, and in one whose triangles are long, are as deep as all triangles tell.
#[test]
fn no_triangle_is_nearer() {
    let mut bent = Mesh::bar([6, 3, 2], 0.5);
    bent.positions.iter_mut().for_each(|p| p[1] += 0.3 * (2.0 * p[0]).sin());
    let mut long = Mesh::bar([3, 3, 2], 0.5);
    long.positions.iter_mut().for_each(|p| p[0] *= 12.0);
    for body in [bent, long] {
        let mut found = of_tips(&body, 30.0);
        for t in &body.tetrahedra {
            let corners = t.map(|v| body.positions[v as usize]);
            let x = [0, 1, 2].map(|k| (0..4).map(|a| 0.1 * (a + 1) as f64 * corners[a][k]).sum());
            let (own, least) = (found(x), depth(&body, x));
            assert_eq!(own.len(), 1, "{x:?}: {own:?}");
            assert!((gap(&body, &own[0], x) + least).abs() < 1e-8 * least, "{own:?} {least}");
        }
    }
}

/// A vertex of one body leaves through the surface of the other, whose tetrahedra share one node. Nodes of no body are
/// between them.
#[test]
fn tetrahedra_that_share_a_node_are_one_body() {
    let mut positions = vec![[50.0; 3]; 13];
    let mut place = |corners: [u32; 4], at: [[f64; 3]; 4]| {
        corners.iter().zip(at).for_each(|(&v, x)| positions[v as usize] = x);
        corners
    };
    let corner = |[x, y, z]: [f64; 3]| [[x, y, z], [x + 2.0, y, z], [x, y + 2.0, z], [x, y, z + 2.0]];
    let [a, b, c, d] = corner([0.0; 3]);
    let tetrahedra = vec![
        place([7, 1, 2, 3], [[-2.0, 0.0, 0.0], [0.0, -2.0, 0.0], [-2.0, -2.0, -1.0], a]),
        place([9, 8, 4, 6], corner([0.3, 0.4, 0.5])),
        place([3, 10, 11, 12], [a, b, c, d]),
    ];
    let mesh = Mesh { positions, tetrahedra, ..Mesh::default() }.oriented();
    let held: Vec<bool> = (0..13).map(|v| v == 0 || v == 5).collect();
    let mut contact = BodyContact::new(&mesh, &held, 10.0).unwrap();
    let x: Vec<f64> = (0..13).filter(|v| !held[*v]).flat_map(|v| mesh.positions[v]).collect();
    let found = contact.detect(&x).unwrap();
    let own: Vec<&Contact> = found.iter().filter(|c| c.vertex == 9).collect();
    assert!(own.len() == 1 && own[0].face.iter().all(|v| [3, 10, 11, 12].contains(v)), "{found:?}");
    let expected = (2.0 - 1.2) / 3.0_f64.sqrt(); // of the slanted face, or 0.3 of the face x = 0
    assert!((own[0].gap(|v| mesh.positions[v as usize]) + expected.min(0.3)).abs() < 1e-14, "{own:?}");
}

/// An octant is cut out of a box, and needles reach into the box through this notch. Their tips are nearest
/// to the concave corner, to concave edges, or to faces of the notch. If the box is held, the gradient and
/// the Hessian of the detected energy are exact.
#[test]
fn tips_are_pushed_to_concave_edges_and_corners() {
    let mut notched = Mesh::bar([4, 4, 4], 0.5);
    let positions = notched.positions.clone();
    let middle =
        |t: &[u32; 4]| [0, 1, 2].map(|k| t.iter().map(|&v| 0.25 * positions[v as usize][k]).sum::<f64>());
    notched.tetrahedra.retain(|t| middle(t).iter().any(|x| *x < 1.0));
    let notched = notched.without_unused();
    let count = notched.positions.len();
    let s = 0.5_f64.sqrt();
    let along = |by: [f64; 3]| {
        let length = by.iter().map(|b| b * b).sum::<f64>().sqrt();
        by.map(|b| b / length)
    };
    for (tip, depth, normal) in [
        ([0.9, 0.8, 0.85], 0.0725_f64.sqrt(), along([0.1, 0.2, 0.15])), // the corner (1, 1, 1)
        ([0.9, 0.9, 1.4], 0.1 * 2.0_f64.sqrt(), [s, s, 0.0]),           // the edge along z
        ([1.3, 0.7, 0.8], 0.13_f64.sqrt(), along([0.0, 0.3, 0.2])),     // the edge along x
        ([1.2, 0.9, 1.3], 0.1, [0.0, 1.0, 0.0]),                        // a face
    ] {
        let mesh = together(&[notched.clone(), needle(tip, 1.3)]);
        let held: Vec<bool> = (0..count + 4).map(|i| i < count).collect();
        let mut contact = BodyContact::new(&mesh, &held, 10.0).unwrap();
        let x = mesh.positions[count..].as_flattened().to_vec();
        let found = contact.detect(&x).unwrap().to_vec();
        assert_eq!(found.len(), 1, "{found:?}");
        let gap = found[0].gap(|v| mesh.positions[v as usize]);
        assert!((gap + depth).abs() < 1e-14, "{tip:?}: {gap}");
        assert!((0..3).all(|k| (found[0].normal[k] - normal[k]).abs() < 1e-14), "{:?}", found[0]);
        check_gradient(&mut contact, &x, 1e-6, 1e-8);
        check_hessian(contact, &x, 1e-6, 1e-7);
    }
}

/// The energy is a function of x, with a detection at each x. Its gradient is exact, and forces and torques
/// add up to zero. The depth of the deepest vertex is its distance to the surface.
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

/// A corner of a cube is 0.9 below one face of a long bar and 0.5 below another. It leaves by the nearer
/// face.
#[test]
fn deep_vertices_leave_on_the_shortest_path() {
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

/// A bar is bent into a ring whose ends overlap. Only the ends touch each other.
#[test]
fn a_body_touches_itself() {
    let mesh = Mesh::bar([24, 2, 2], 0.25); // 6 long
    let bent = mesh.positions.iter().flat_map(|[x, y, z]| {
        let (angle, radius) = (1.2 * x, 1.0 + y - 0.06 * x); // a spiral of a bit more than a turn
        [radius * angle.cos(), -radius * angle.sin(), *z + 0.02 * x]
    });
    let x: Vec<f64> = bent.collect();
    let mut contact = contact(&mesh, 10.0);
    let found = contact.detect(&x).unwrap();
    assert!(found.len() > 3, "{found:?}");
    let column = |v: u32| v / 9;
    for c in found {
        let (own, other) = (column(c.vertex), column(c.face[0]));
        assert!(own.min(other) < 5 && own.max(other) > 19, "{c:?}");
    }
    let g = gradient(&mut contact, &x);
    assert!(force(&g).iter().all(|f| f.abs() < 1e-12));
    // The two ends are pushed apart.
    let end = |range: std::ops::Range<usize>| force(&g[27 * range.start..27 * range.end]);
    let (first, last) = (end(0..12), end(12..25));
    assert!(
        first.iter().zip(last).all(|(a, b)| (a + b).abs() < 1e-12) && first.iter().any(|f| f.abs() > 1e-3)
    );
}

/// An inverted element is no collision: a vertex that is pushed through its own tetrahedra touches nothing.
#[test]
fn inverted_elements_are_not_contacts() {
    let mesh = Mesh::bar([6, 6, 4], 1.0);
    let mut x = mesh.positions.as_flattened().to_vec();
    let centre = (3 * 7 + 3) * 5 + 4;
    assert_eq!(mesh.positions[centre], [3.0, 3.0, 4.0]);
    x[3 * centre + 2] = 2.7; // below the node under it
    let contacts = contact(&mesh, 1.0).detect(&x).unwrap().to_vec();
    assert!(contacts.iter().all(|c| c.vertex as usize != centre), "{contacts:?}");
}

/// A vertex is pushed from the upper side through its own elements. Above the middle of the body it has no
/// contact. Below, it has one with the lower side, at its full depth: at the middle the energy jumps, on both
/// sides it is continuous.
#[test]
fn inverted_vertices_touch_the_other_side_beyond_the_middle() {
    let mesh = Mesh::bar([6, 6, 4], 1.0);
    let mut x = mesh.positions.as_flattened().to_vec();
    let centre = (3 * 7 + 3) * 5 + 4;
    let mut contact = contact(&mesh, 2.0);
    let mut last: Option<(f64, f64)> = None;
    for k in 0..78 {
        let z = 3.925 - 0.05 * f64::from(k);
        x[3 * centre..3 * centre + 3].copy_from_slice(&[3.2, 3.1, z]);
        let found = contact.detect(&x).unwrap();
        let own: Vec<&Contact> = found.iter().filter(|c| c.vertex as usize == centre).collect();
        assert_eq!(found.len(), own.len(), "{z}: {found:?}");
        if z > 2.0 {
            assert!(own.is_empty(), "{z}: {own:?}");
        } else {
            assert_eq!(own.len(), 1, "{z}: {own:?}");
            assert!(own[0].face.iter().all(|&v| mesh.positions[v as usize][2] == 0.0), "{own:?}");
            assert_eq!(own[0].normal, [0.0, 0.0, -1.0]);
        }
        let energy = contact.energy(&x).value;
        let depth = if z > 2.0 { 0.0 } else { z };
        assert!((energy - depth * depth).abs() < 1e-12, "{z}: {energy}");
        if let Some((before, z_before)) = last {
            assert_eq!((energy - before).abs() > 1.0, z < 2.0 && z_before > 2.0, "{z}: {before} {energy}");
        }
        last = Some((energy, z));
    }
}

/// The contacts follow x, and those of the last x are not used for another.
#[test]
fn contacts_follow_positions() {
    let mesh = crossing();
    let x = mesh.positions.as_flattened().to_vec();
    let lifted: Vec<f64> =
        (0..x.len()).map(|k| x[k] + if k % 3 == 2 && k >= 189 { 0.5 } else { 0.0 }).collect();
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
    let found = contact.detect(&x).unwrap().to_vec();
    assert_eq!(contact.energy(&x), inside);
    // Frozen contacts: also at a node without a contact.
    let nodes = mesh.positions.len();
    let touched = |node: usize| {
        let touches = |c: &Contact| c.stencil().iter().any(|(other, _)| *other as usize == node);
        found.iter().any(touches)
    };
    let away = (0..nodes).find(|&node| !touched(node)).expect("a node without a contact");
    for bad in [f64::NAN, f64::INFINITY] {
        let mut diverged = x.clone();
        diverged[3 * away] = bad;
        assert!(contact.energy(&diverged).value.is_nan());
        assert!(gradient(&mut contact, &diverged)[0].is_nan());
        assert!(contact.penetration(&diverged).deepest.is_nan());
    }
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
