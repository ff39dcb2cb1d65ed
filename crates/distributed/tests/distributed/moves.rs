//! Entries and rows that change their rank, buffers that are used again, and new values of a matrix.

use coarsen_backend::SetupError;
use coarsen_core::{Error, LinearOperator, Vector};
use coarsen_distributed::{
    Buffers, DistError, GlobalRows, Host, Layout, Partition, RankBackend, Redistribution, SelfComm, unpack,
};
use coarsen_problems::cloth;

use crate::common::{RANKS, bits, cut, distance, layouts, modes, noise, on_ranks};

/// Between any two layouts, with uneven and empty ranks: forward gives the part of the other layout, back the own one.
#[test]
fn entries_move_between_layouts() {
    let all = noise(87, 1);
    for ranks in RANKS {
        let layouts = layouts(29, 3, ranks);
        for (from, to) in layouts.iter().flat_map(|from| layouts.iter().map(move |to| (from, to))) {
            on_ranks(ranks, |comm| {
                let [from, to] =
                    [from, to].map(|layout| Partition::new(comm.clone(), layout.clone()).unwrap());
                let [own, other] =
                    [&from, &to].map(|partition| partition.part_of(&all).unwrap().own().to_vec());
                let redistribution = Redistribution::new(&from, &to).unwrap();
                let mut moved = vec![0.0; other.len()];
                redistribution.forward(&own, &mut moved).unwrap();
                assert_eq!(bits(&moved), bits(&other));
                let mut back = vec![0.0; own.len()];
                redistribution.back(&moved, &mut back).unwrap();
                assert_eq!(bits(&back), bits(&own));
                // The same by parts, as a device moves them.
                for (plan, own, other) in [(0, &own, &other), (1, &other, &own)] {
                    let plan = redistribution.plans()[plan];
                    let (mut moved, (kept, at)) = (vec![0.0; other.len()], plan.kept());
                    let node = |k: u32| own[3 * k as usize..][..3].iter().copied();
                    plan.send(&plan.sent().into_iter().flat_map(node).collect::<Vec<f64>>()).unwrap();
                    moved[3 * at..][..3 * kept.len()].copy_from_slice(&own[3 * kept.start..3 * kept.end]);
                    let came = |first: usize, data: &[u8]| {
                        moved[first..].iter_mut().zip(unpack(data)).for_each(|(to, v)| *to = v);
                        Ok(())
                    };
                    plan.receive(came).unwrap();
                    assert_eq!(bits(&moved), bits(other));
                }
            });
        }
    }
    let partition = |rows, block| Partition::new(SelfComm, Layout::even(rows, block, 1).unwrap()).unwrap();
    for (rows, block) in [(8, 3), (9, 2)] {
        let refused = Redistribution::new(&partition(9, 3), &partition(rows, block)).map(drop);
        assert!(matches!(refused, Err(DistError::Length { .. })), "{refused:?}");
    }
}

/// More entries than other ranks take are no message.
#[test]
#[should_panic = "send: entries of the rows that other ranks take"]
fn too_many_entries_are_not_sent() {
    let partition = Partition::new(SelfComm, Layout::even(9, 3, 1).unwrap()).unwrap();
    let _panics = Redistribution::new(&partition, &partition).unwrap().plans()[0].send(&[1.0]);
}

/// The whole vector and the whole matrix on rank 0, and the parts of a vector of rank 0 on every rank.
#[test]
fn rank_0_collects_and_distributes() {
    let (a, all) = (cloth(7, 0.01).unwrap().matrix, noise(147, 1));
    for ranks in RANKS {
        for layout in layouts(49, 3, ranks) {
            on_ranks(ranks, |comm| {
                let partition = Partition::new(comm, layout.clone()).unwrap();
                let own = partition.part_of(&all).unwrap();
                for _ in 0..2 {
                    let (mut whole, mut part) = (vec![0.0; 147], vec![0.0; own.own().len()]);
                    partition.collect(own.own(), &mut whole).unwrap();
                    assert!(partition.rank() > 0 || bits(&whole) == bits(&all));
                    partition.distribute(&mut whole, &mut part).unwrap();
                    assert_eq!(bits(&part), bits(own.own()));
                }
                let rows = GlobalRows::of(&a, partition.layout().range(partition.rank())).unwrap();
                let whole = rows.collect(&partition, 49).unwrap();
                let values = rows.collect_values(&partition).unwrap();
                assert_eq!(
                    (whole.is_some(), values.is_some()),
                    (partition.rank() == 0, partition.rank() == 0)
                );
                if let Some(whole) = whole {
                    assert!(whole.pattern() == a.pattern() && bits(whole.values()) == bits(a.values()));
                    assert_eq!(values.as_deref(), Some(a.values()));
                }
            });
        }
    }
}

/// Products with new values, in every mode; rows with other ghosts are refused on every rank, and the old values stay.
#[test]
fn new_values_update_products_in_every_mode() {
    let a = cloth(9, 0.01).unwrap().matrix;
    let mut twice = a.clone();
    twice.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    let x = noise(243, 1);
    let expected = &twice * &x;
    for ranks in RANKS {
        for mode in modes(ranks) {
            on_ranks(ranks, |comm| {
                let partition = Partition::new(comm, layouts(81, 3, ranks)[1].clone()).unwrap();
                let mut here = cut(&a, &partition, mode.clone());
                let own = partition.layout().range(partition.rank());
                here.set_values(&GlobalRows::of(&twice, own.clone()).unwrap()).unwrap();
                let x = partition.part_of(&x).unwrap();
                let mut y = x.like().unwrap();
                here.apply(&x, &mut y);
                assert!(distance(&y.gathered().unwrap(), &expected) < 1e-14);
                if ranks > 1 {
                    let count = (own.end - own.start) as usize;
                    let none = GlobalRows::new(own.start, (3, 3), vec![0; count + 1], Vec::new(), Vec::new());
                    let refused = here.set_values(&none.unwrap()).unwrap_err();
                    let pattern = |error: &DistError| match error {
                        DistError::Setup(SetupError::Core(Error::Pattern { .. })) => true,
                        DistError::Elsewhere { reason, .. } => reason.contains("pattern"),
                        _ => false,
                    };
                    assert!(pattern(&refused), "{refused}");
                    here.apply(&x, &mut y);
                    assert!(distance(&y.gathered().unwrap(), &expected) < 1e-14);
                }
            });
        }
    }
}

/// A backend of a rank refuses any other pattern on every rank, also one with the same columns of other ranks.
#[test]
fn a_rank_backend_refuses_another_pattern() {
    let a = cloth(9, 0.01).unwrap().matrix;
    let x = noise(243, 1);
    let expected = &a * &x;
    on_ranks(2, |comm| {
        let partition = Partition::new(comm, Layout::even(81, 3, 2).unwrap()).unwrap();
        let rows = GlobalRows::of(&a, partition.layout().range(partition.rank())).unwrap();
        let mut here = Host::default().matrix(&partition, &partition, &rows).unwrap();
        // Row 0 of rank 0 has no columns of rank 1.
        let skipped = if partition.rank() == 0 { rows.offsets()[1] } else { 0 };
        let less = rows.offsets().iter().map(|offset| offset.saturating_sub(skipped)).collect();
        let (columns, values) = (rows.columns()[skipped..].to_vec(), rows.values()[9 * skipped..].to_vec());
        let other = GlobalRows::new(rows.first(), (3, 3), less, columns, values).unwrap();
        let refused = <Host as RankBackend<_>>::set_values(&mut here, &other).unwrap_err();
        assert!(refused.to_string().contains("pattern"), "{refused}");
        let x = partition.part_of(&x).unwrap();
        let mut y = x.like().unwrap();
        here.apply(&x, &mut y);
        assert!(distance(&y.gathered().unwrap(), &expected) < 1e-14);
        <Host as RankBackend<_>>::set_values(&mut here, &rows).unwrap();
    });
}

/// A rank keeps the number of its entries.
#[test]
#[should_panic = "change: the entries of this rank"]
fn a_rank_backend_keeps_its_number_of_entries() {
    let partition = Partition::new(SelfComm, Layout::even(9, 3, 1).unwrap()).unwrap();
    let mut v = Host::default().zeros(&partition).unwrap();
    <Host as RankBackend<_>>::change(&mut v, |own| own.push(1.0));
}

/// The shortest buffer that is long enough is taken; without one, a new one is.
#[test]
fn buffers_are_used_again() {
    let buffers = Buffers::default();
    let (short, long) = (buffers.take(100), buffers.take(5000));
    assert!(short.capacity() >= 100 && long.capacity() >= 5000);
    let places = [short.as_ptr(), long.as_ptr()];
    buffers.put(long);
    buffers.put(short);
    let again = buffers.take(90);
    assert_eq!(again.as_ptr(), places[0]);
    let mut taken = buffers.take(200);
    assert_eq!(taken.as_ptr(), places[1]);
    taken.push(1);
    buffers.put(taken);
    assert!(buffers.take(1).is_empty() && buffers.take(1).capacity() < 5000);
}
