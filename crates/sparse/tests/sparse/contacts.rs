//! Sets of contacts, and their stencils.

use coarsen_sparse::{Contacts, SparseError, Stencil};

/// The node that a contact names twice: a set refuses this contact.
fn repeated(contact: Stencil) -> Option<usize> {
    match Contacts::new(8, 1).unwrap().assemble(&[contact], &[1.0]) {
        Err(SparseError::Itself { contact: 0, node }) => Some(node),
        assembled => assembled.map(|()| None).unwrap(),
    }
}

#[test]
fn a_common_translation_opens_no_gap() {
    let all = [
        Stencil::point_point(0, 1),
        Stencil::vertex_face(0, [1, 2, 3], [0.25, 0.25, 0.5]),
        Stencil::edge_edge([0, 1], 0.25, [2, 3], 0.75),
    ];
    assert!(all.iter().all(|s| s.weights().iter().sum::<f64>() == 0.0));
    assert_eq!(all[2].weights(), [0.75, 0.25, -0.25, -0.75]);
    assert_eq!(all.map(|s| s.nodes().len()), [2, 4, 4]);
}

#[test]
fn fixed_nodes_are_left_out() {
    let touch = Stencil::vertex_face(9, [4, 9, 2], [0.25, 0.25, 0.5]);
    let rest = touch.without(9);
    assert_eq!((rest.nodes(), rest.weights()), (&[4, 2][..], &[-0.25, -0.5][..]));
    assert_eq!(touch.without(7), touch);
    assert!(rest.without(2).without(4).nodes().is_empty());
}

#[test]
fn repeated_nodes_are_found() {
    assert_eq!(repeated(Stencil::point_point(7, 7)), Some(7));
    assert_eq!(repeated(Stencil::edge_edge([1, 2], 0.5, [2, 4], 0.5)), Some(2));
    assert_eq!(repeated(Stencil::point_point(0, 1)), None);
    assert_eq!(
        (repeated(Stencil::point(3)), Stencil::point(3).nodes(), Stencil::point(3).weights()),
        (None, &[3][..], &[1.0][..])
    );
}

/// Contacts of every kind between random nodes, each with a symmetric stiffness.
fn random_contacts(nodes: u64, count: usize, b: usize, seed: u64) -> (Vec<Stencil>, Vec<f64>) {
    let mut random = seed;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    let mut contacts = Vec::new();
    while contacts.len() < count {
        let [i, j, k, l] = [(); 4].map(|()| (next() % nodes) as u32);
        let share = |v: u64| (v % 1000) as f64 / 1000.0;
        let contact = match next() % 3 {
            0 => Stencil::point_point(i, j),
            1 => Stencil::vertex_face(i, [j, k, l], [0.5, 0.25, 0.25]),
            _ => Stencil::edge_edge([i, j], share(next()), [k, l], share(next())),
        };
        let nodes = contact.nodes();
        let distinct = (0..nodes.len()).all(|a| !nodes[..a].contains(&nodes[a]));
        contacts.extend(distinct.then_some(contact));
    }
    let normal: Vec<f64> = (0..count * b).map(|_| next() as f64 / f64::from(u32::MAX)).collect();
    let outer = normal.chunks_exact(b).flat_map(|n| (0..b * b).map(move |e| n[e / b] * n[e % b]));
    (contacts, outer.collect())
}

/// The dense matrix of the same contacts, by plain loops.
fn plain(n: usize, b: usize, contacts: &[Stencil], stiffness: &[f64]) -> Vec<f64> {
    let mut full = vec![0.0; n * n * b * b];
    for (contact, k) in contacts.iter().zip(stiffness.chunks_exact(b * b)) {
        for (&i, w) in contact.nodes().iter().zip(contact.weights()) {
            for (&j, v) in contact.nodes().iter().zip(contact.weights()) {
                let at = (i as usize * n + j as usize) * b * b;
                full[at..at + b * b].iter_mut().zip(k).for_each(|(s, k)| *s += (w * v) * k);
            }
        }
    }
    full
}

#[test]
fn contacts_add_up_as_in_plain_loops() {
    for (b, count) in [(1, 0), (1, 1), (3, 40), (3, 700), (2, 5)] {
        let n = 60;
        let (contacts, stiffness) = random_contacts(n as u64, count, b, count as u64 + 3);
        let expected = plain(n, b, &contacts, &stiffness);
        let mut set = Contacts::new(n, b).unwrap();
        set.assemble(&contacts, &stiffness).unwrap();
        assert!(set.places().is_sorted_by(|p, q| p < q));
        let pairs = |contact: &Stencil| contact.nodes().len().pow(2);
        assert!(set.len() <= contacts.iter().map(pairs).sum());
        let mut found = vec![0.0; expected.len()];
        for (i, j, block) in set.blocks(0..n) {
            found[(i * n + j) * b * b..][..b * b].copy_from_slice(block);
        }
        assert_eq!(found, expected, "{count} contacts of {b}");
    }
}

#[test]
fn threads_do_not_change_bits() {
    let (contacts, stiffness) = random_contacts(3000, 20_000, 3, 7);
    let places: Vec<(u32, u32)> = contacts.iter().map(|c| (c.nodes()[0], c.nodes()[1])).collect();
    let run = || {
        let (mut a, mut b) = (Contacts::new(3000, 3).unwrap(), Contacts::new(3000, 3).unwrap());
        a.assemble(&contacts, &stiffness).unwrap();
        b.replace(&places, &stiffness).unwrap();
        [a, b].map(|set| (set.places().to_vec(), set.values().to_vec()))
    };
    crate::same_bits(run);
}

#[test]
fn a_contact_with_itself_is_named_and_changes_nothing() {
    let mut set = Contacts::new(5, 1).unwrap();
    set.assemble(&[Stencil::point_point(0, 1)], &[2.0]).unwrap();
    let (good, bad) = (Stencil::point_point(1, 2), Stencil::vertex_face(3, [1, 3, 2], [0.5, 0.25, 0.25]));
    let error = set.assemble(&[good, bad], &[1.0, 1.0]).unwrap_err();
    assert_eq!(error, SparseError::Itself { contact: 1, node: 3 });
    let error = set.assemble(&[good, Stencil::point_point(1, 5)], &[1.0, 1.0]).unwrap_err();
    assert_eq!(error, SparseError::Row { entry: 1, row: 5, rows: 5 });
    assert!(matches!(set.assemble(&[good], &[]), Err(SparseError::Length { expected: 1, found: 0, .. })));
    assert_eq!(set.values(), [2.0, -2.0, -2.0, 2.0]);
    set.assemble(&[], &[]).unwrap();
    assert!(set.is_empty());
    let mut none = Contacts::<f64>::new(0, 3).unwrap();
    none.assemble(&[], &[]).unwrap();
    assert!(none.is_empty() && none.assemble(&[good], &[0.0; 9]).is_err());
}

/// A pair of nodes listed twice has twice the stiffness.
#[test]
fn duplicates_add_up() {
    let mut set = Contacts::new(3, 1).unwrap();
    set.assemble(&[Stencil::point_point(0, 2), Stencil::point_point(2, 0)], &[3.0, 4.0]).unwrap();
    assert_eq!(
        (set.places(), set.values()),
        (&[(0, 0), (0, 2), (2, 0), (2, 2)][..], &[7.0, -7.0, -7.0, 7.0][..])
    );
}

#[test]
fn replacing_keeps_the_memory() {
    let mut c = Contacts::<f64>::new(10, 2).unwrap();
    let places: Vec<(u32, u32)> = (0..10).rev().map(|i| (i, (i * 7) % 10)).collect();
    let values: Vec<f64> = (0..40).map(f64::from).collect();
    c.replace(&places, &values).unwrap();
    assert!(c.places().is_sorted());
    assert_eq!(c.blocks(9..10).next(), Some((9, 3, &values[..4])));
    let kept = (c.places().as_ptr(), c.values().as_ptr());
    c.replace(&places[..3], &values[..12]).unwrap();
    assert_eq!((c.len(), c.blocks(0..7).len(), c.blocks(7..9).len()), (3, 0, 2));
    c.replace(&places, &values).unwrap();
    assert_eq!(kept, (c.places().as_ptr(), c.values().as_ptr()));
}

#[test]
fn bad_sets_are_named_and_change_nothing() {
    let mut c = Contacts::<f64>::new(2, 1).unwrap();
    c.replace(&[(1, 1)], &[5.0]).unwrap();
    let refused = [
        c.replace(&[(0, 0)], &[]).unwrap_err(),
        c.replace(&[(0, 0), (2, 0)], &[0.0; 2]).unwrap_err(),
        c.replace(&[(0, 3)], &[0.0]).unwrap_err(),
    ];
    assert_eq!(refused[1], SparseError::Row { entry: 1, row: 2, rows: 2 });
    assert_eq!(refused[2], SparseError::Column { row: 0, column: 3, columns: 2 });
    assert!(matches!(refused[0], SparseError::Length { expected: 1, found: 0, .. }));
    assert_eq!((c.places(), c.values()), (&[(1, 1)][..], &[5.0][..]));
    assert!(Contacts::<f64>::new(1 << 31, 2).is_err() && Contacts::<f64>::new(1, 0).is_err());
}
