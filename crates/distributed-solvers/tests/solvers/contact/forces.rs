//! Forces and their derivatives by owners: the bits of one rank, and those of the potentials of one host.

use std::sync::Arc;

use coarsen_contact::{ClothContact, ClothFriction};
use coarsen_distributed::{Communicator, Counted, GlobalRows, Layout, Partition, SelfComm};
use coarsen_distributed_solvers::{
    Own, RankSearch, add_contact_gradient, contact_hessian_rows, contact_rows, own_triangles, share_moved,
};
use coarsen_elastic::{Bending, ContactHessian, Curvature, Fabric, Membrane, Plus, Potential};
use coarsen_sparse::Bsr;

use super::common::{THICKNESS, flat, folded, grid, search};
use crate::common::{RANKS, bits, on_ranks};

const N: u32 = 17;

/// Even and uneven layouts, and one with empty ranks.
fn layouts(rows: u64, ranks: usize) -> Vec<Layout> {
    let uneven = (0..=ranks as u64).map(|k| rows * k * k / (ranks * ranks) as u64).collect();
    let empty = (0..=ranks).map(|k| if k <= ranks / 2 { 0 } else { rows }).collect();
    [Layout::even(rows, 3, ranks), Layout::new(uneven, 3), Layout::new(empty, 3)].map(Result::unwrap).into()
}

/// A corner is held.
fn held() -> Vec<bool> {
    (0..N * N).map(|v| v < 2).collect()
}

/// The contact of the flat sheet, whose held nodes are then at x.
fn of_one_host(x: &[[f64; 3]]) -> ClothContact {
    let mut contact = ClothContact::new(&grid(N), &held(), &flat(N), THICKNESS, 40.0).unwrap();
    contact.hold(x);
    contact
}

/// The gradient and the Hessian of contact on one host, dense by rows.
fn host() -> (Vec<f64>, Vec<f64>) {
    let x = folded(N);
    let mut contact = of_one_host(&x);
    let free = &x.as_flattened()[6..];
    let (mut g, mut contact_hessian) = (vec![0.0; free.len()], ContactHessian::default());
    contact.add_gradient(free, &mut g);
    contact.add_contacts(free, Curvature::Exact, &mut contact_hessian);
    let (n, mut h) = (free.len(), vec![0.0; free.len() * free.len()]);
    for (stencil, k) in contact_hessian.stencils().iter().zip(contact_hessian.stiffness().chunks(9)) {
        let nodes: Vec<(usize, f64)> =
            stencil.nodes().iter().map(|&a| a as usize).zip(stencil.weights().iter().copied()).collect();
        for (&(a, wa), &(b, wb)) in nodes.iter().flat_map(|a| nodes.iter().map(move |b| (a, b))) {
            (0..9).for_each(|c| h[(3 * a + c / 3) * n + 3 * b + c % 3] += wa * wb * k[c]);
        }
    }
    (g, h)
}

/// Rows of the gradient and of the Hessian on all ranks, one after the other.
fn by_ranks(ranks: usize, layout: &Layout, own: bool) -> (Vec<f64>, Vec<GlobalRows<f64>>) {
    let x = folded(N);
    let all = on_ranks(ranks, |comm| {
        let partition = Partition::new(comm.clone(), layout.clone()).unwrap();
        let mut search = search(comm);
        search.whole_below = 0;
        // With all touches and whole hashes, or with those of a rank.
        if own {
            search = search.at_nodes_of(&partition, x.len(), |v| v.checked_sub(2).map(u64::from));
        }
        // The first search, of the flat sheet, counts tests; the second is by the hashes of the ranks.
        let mut contact = ClothContact::with(search, &grid(N), &held(), &flat(N), THICKNESS, 40.0).unwrap();
        contact.hold(&x);
        contact.detect(&x.as_flattened()[6..]).unwrap();
        let mut hashed = [contact.search().hashed() as f64];
        partition.comm().all_reduce(&mut hashed).unwrap();
        assert_eq!(hashed[0] > 0.0, partition.comm().size() > 1);
        let mut g = vec![0.0; 3 * partition.count()];
        add_contact_gradient(&partition, &contact, &mut g);
        (g, contact_rows(&partition, &contact).unwrap())
    });
    let (g, rows): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    (g.concat(), rows)
}

#[test]
fn contact_of_owners_is_that_of_one_host() {
    let ((g, h), free) = (host(), u64::from(N * N) - 2);
    assert!(g.iter().any(|g| g.abs() > 1e-3));
    let one = by_ranks(1, &Layout::even(free, 3, 1).unwrap(), false);
    assert_eq!(bits(&one.0), bits(&g));
    let sum = |h: &[f64]| h.iter().map(|v| v.abs()).sum::<f64>();
    let all = sum(one.1[0].values());
    assert!((all - sum(&h)).abs() <= 1e-12 * all, "{all} for {}", sum(&h));
    let largest = h.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for i in 0..free as usize {
        for (j, block) in one.1[0].row(i) {
            for (c, v) in block.iter().enumerate() {
                let expected = h[(3 * i + c / 3) * g.len() + 3 * j as usize + c % 3];
                assert!((v - expected).abs() <= 1e-12 * largest, "({i}, {j}): {v} for {expected}");
            }
        }
    }
    for ranks in RANKS {
        for (layout, own) in layouts(free, ranks).into_iter().flat_map(|l| [(l.clone(), false), (l, true)]) {
            let (g, rows) = by_ranks(ranks, &layout, own);
            assert_eq!(bits(&g), bits(&one.0), "{ranks}");
            let mut row = 0;
            for part in &rows {
                for k in 0..part.count() {
                    let (own, expected): (Vec<_>, Vec<_>) =
                        (part.row(k).collect(), one.1[0].row(row).collect());
                    assert_eq!(own, expected, "row {row} on {ranks} ranks");
                    row += 1;
                }
            }
            assert_eq!(row as u64, free);
        }
    }
}

/// Own rows of the gradient and of the Hessian of friction, where each node slides a little.
fn sliding(ranks: usize, layout: &Layout) -> (Vec<f64>, Vec<GlobalRows<f64>>) {
    let x = folded(N);
    let start = x.as_flattened()[6..].to_vec();
    let slid: Vec<f64> = start.iter().zip(0..).map(|(x, k)| x + 1e-4 * f64::from(k % 11)).collect();
    let all = on_ranks(ranks, |comm| {
        let mut contact =
            ClothContact::with(search(comm.clone()), &grid(N), &held(), &x, THICKNESS, 40.0).unwrap();
        let mut friction = ClothFriction::new(&contact, 0.4, 0.01).unwrap();
        let partition = Partition::new(comm, layout.clone()).unwrap();
        let own = partition.layout().range(partition.rank());
        friction.grip_at(&mut contact, &start, |slot| own.contains(&(slot as u64))).unwrap();
        let (mut g, mut contact_hessian) = (vec![0.0; start.len()], ContactHessian::default());
        friction.add_gradient(&slid, &mut g);
        friction.add_contacts(&slid, Curvature::Projected, &mut contact_hessian);
        let rows = contact_hessian_rows(&partition, &contact_hessian).unwrap();
        (g[3 * own.start as usize..3 * own.end as usize].to_vec(), rows)
    });
    let (g, rows): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    (g.concat(), rows)
}

#[test]
fn friction_of_owners_has_the_bits_of_one_rank() {
    let free = u64::from(N * N) - 2;
    let one = sliding(1, &Layout::even(free, 3, 1).unwrap());
    assert!(one.0.iter().any(|g| g.abs() > 1e-3) && one.1[0].values().iter().any(|v| *v > 0.1));
    for ranks in RANKS {
        for layout in layouts(free, ranks) {
            let (g, rows) = sliding(ranks, &layout);
            assert_eq!(bits(&g), bits(&one.0), "{ranks}");
            let all = rows.iter().flat_map(|part| (0..part.count()).map(|k| part.row(k).collect::<Vec<_>>()));
            for (row, found) in all.enumerate() {
                assert_eq!(found, one.1[0].row(row).collect::<Vec<_>>(), "row {row} on {ranks} ranks");
            }
        }
    }
}

/// Contacts whose normals turn have blocks, which are added after those with a stiffness.
#[test]
fn blocks_of_contacts_are_in_the_rows_of_their_owners() {
    let (x, mut contact_hessian) = (folded(N), ContactHessian::default());
    let mut contact = of_one_host(&x);
    let free = &x.as_flattened()[6..];
    contact.add_contacts(free, Curvature::Projected, &mut contact_hessian);
    contact.turning().add_contacts(free, Curvature::Exact, &mut contact_hessian);
    let (places, blocks) = contact_hessian.blocks();
    assert!(places.len() > 1000 && !contact_hessian.stencils().is_empty());
    let (n, mut dense) = (free.len(), host().1);
    for (&(i, j), block) in places.iter().zip(blocks.chunks(9)) {
        (0..9).for_each(|c| dense[(3 * i as usize + c / 3) * n + 3 * j as usize + c % 3] += block[c]);
    }
    for ranks in RANKS {
        for layout in layouts(n as u64 / 3, ranks) {
            let rows = on_ranks(ranks, |comm| {
                contact_hessian_rows(&Partition::new(comm, layout.clone()).unwrap(), &contact_hessian)
                    .unwrap()
            });
            let mut found = vec![0.0; n * n];
            let all = rows.iter().flat_map(|part| (0..part.count()).map(|k| part.row(k).collect::<Vec<_>>()));
            for (row, (column, block)) in
                all.enumerate().flat_map(|(i, row)| row.into_iter().map(move |e| (i, e)))
            {
                (0..9).for_each(|c| found[(3 * row + c / 3) * n + 3 * column as usize + c % 3] = block[c]);
            }
            assert!(found == dense, "{ranks}");
        }
    }
}

/// Stretching and bending of some triangles.
fn cloth(own: &Own) -> Plus<Bending, Membrane> {
    let (all, rest) = (grid(N), flat(N));
    let of = |list: &[usize]| list.iter().map(|&t| all[t]).collect::<Vec<_>>();
    let plane: Vec<[f64; 2]> = rest.iter().map(|&[u, v, _]| [u, v]).collect();
    let (held, fabric) = (held(), Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 });
    let bending = Bending::new(3.0 * 5e-5, &of(&own.around), &rest, &held, &rest).unwrap();
    let membrane = Membrane::new(fabric, &of(&own.touching), &plane, &held, &rest).unwrap();
    Plus::new(bending, membrane).unwrap()
}

/// The own rows of the gradient and of the Hessian of a rank.
fn elastic<C: Communicator>(partition: &Arc<Partition<C>>) -> (Vec<f64>, GlobalRows<f64>, usize) {
    let own = own_triangles(partition, &grid(N), |v| (v >= 2).then(|| u64::from(v) - 2));
    let (mut cloth, x) = (cloth(&own), folded(N));
    let x = &x.as_flattened()[6..];
    let mut g = vec![0.0; x.len()];
    cloth.add_gradient(x, &mut g);
    let mut h = Bsr::zeros(cloth.pattern().clone(), (3, 3)).unwrap();
    cloth.add_hessian(x, Curvature::Projected, h.values_mut());
    let range = partition.layout().range(partition.rank());
    let own_g = g[3 * range.start as usize..3 * range.end as usize].to_vec();
    (own_g, GlobalRows::of(&h, range).unwrap(), own.touching.len())
}

/// The triangles of a rank give all elastic forces on its nodes, with the bits of one rank, and no rank computes many
/// more than its share.
#[test]
fn triangles_of_owners_give_their_rows() {
    let free = u64::from(N * N) - 2;
    let one = Partition::new(SelfComm, Layout::even(free, 3, 1).unwrap()).unwrap();
    let (g, h, _) = elastic(&one);
    for ranks in RANKS {
        for (k, layout) in layouts(free, ranks).into_iter().enumerate() {
            let all = on_ranks(ranks, |comm| elastic(&Partition::new(comm, layout.clone()).unwrap()));
            let own: Vec<f64> = all.iter().flat_map(|(g, ..)| g.clone()).collect();
            assert_eq!(bits(&own), bits(&g));
            let mut row = 0;
            for (_, rows, _) in &all {
                for own in 0..rows.count() {
                    let (found, expected): (Vec<_>, Vec<_>) = (rows.row(own).collect(), h.row(row).collect());
                    // Other patterns: hinges beyond the rank add zeros.
                    let kept = |row: &[(u64, &[f64])]| -> Vec<(u64, Vec<u64>)> {
                        let nonzero = row.iter().filter(|(_, block)| block.iter().any(|v| *v != 0.0));
                        nonzero.map(|(j, block)| (*j, bits(block))).collect()
                    };
                    assert_eq!(kept(&found), kept(&expected), "row {row}");
                    row += 1;
                }
            }
            let most = all.iter().map(|(.., count)| *count).max().unwrap();
            let border = 2 * (N as usize - 1) + 2;
            assert!(k > 0 || most <= grid(N).len() / ranks + 2 * border, "{most} on {ranks}");
        }
    }
}

/// A search on a single rank is that of one host.
#[test]
fn a_single_rank_needs_no_table() {
    let (x, mut search) = (folded(N), RankSearch::new(SelfComm));
    search.alone_below = 0;
    let contact = ClothContact::with(search, &grid(N), &held(), &x, THICKNESS, 40.0).unwrap();
    assert!(contact.search().tests() == 0 && !contact.found().is_empty());
}

/// Positions of owners reach all ranks, those of nodes that stay are not sent, and a NaN is sent as it is.
#[test]
fn only_what_moved_is_sent() {
    let x = folded(N);
    let before = x.as_flattened();
    let mut after = before.to_vec();
    (0..before.len()).step_by(7).for_each(|k| after[k] += 0.1);
    after[11] = f64::NAN;
    let differ =
        (0..before.len() / 3).filter(|i| (0..3).any(|c| (3 * i + c) % 7 == 0 || 3 * i + c == 11)).count();
    for ranks in RANKS {
        for layout in layouts(u64::from(N * N), ranks) {
            let sent = on_ranks(ranks, |comm| {
                let comm = Counted::new(comm);
                let partition = Partition::new(comm.clone(), layout.clone()).unwrap();
                let own =
                    3 * partition.first() as usize..3 * (partition.first() as usize + partition.count());
                let mut all = before.to_vec();
                let moved = share_moved(&partition, &after[own.clone()], &mut all).unwrap();
                assert_eq!(bits(&all), bits(&after));
                comm.restart();
                assert_eq!(share_moved(&partition, &after[own], &mut all).unwrap(), 0);
                // Counts only.
                let bytes: u64 = comm.traffic().iter().map(|stage| stage.bytes).sum();
                assert!(bytes < 1024, "{bytes}");
                moved
            });
            assert_eq!(sent.iter().sum::<usize>(), differ);
        }
    }
}
