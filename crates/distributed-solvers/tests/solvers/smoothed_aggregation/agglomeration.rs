//! Coarse levels on fewer ranks.

use coarsen_backend::Reused;
use coarsen_core::{Preconditioner, PreconditionerKind, Scalar, Vector};
use coarsen_distributed::{Communicator, Counted, GlobalRows, SelfComm};
use coarsen_distributed_solvers::DistMultigrid;
use coarsen_problems::{cloth, poisson3d};

use super::invariants::{build, iterations, layout, limit};
use crate::common::{noise, on_ranks};

/// A coarse level has at least 250 unknowns on a rank; levels of more than 100 are not gathered.
fn parameters() -> DistMultigrid {
    DistMultigrid { gather_below: 100, share: 250, ..DistMultigrid::default() }
}

/// Levels move to fewer ranks, one by one, and iterations lie within 15 % of those of one rank, or are one more.
#[test]
fn levels_move_to_fewer_ranks() {
    for problem in [cloth(41, 0.01).unwrap(), poisson3d(24).unwrap()] {
        let (one, ..) = iterations(&parameters(), &problem, SelfComm, layout(&problem, 1));
        for ranks in [2, 3, 4, 7] {
            let layout = layout(&problem, ranks);
            let all = on_ranks(ranks, |comm| {
                let (_, m) = build(&parameters(), &problem, comm.clone(), layout.clone());
                let (found, divided, _) = iterations(&parameters(), &problem, comm, layout.clone());
                (found, divided, m.ranks(), m.to_string())
            });
            let (found, divided, of_level, table) = &all[0];
            assert!(all.iter().all(|other| other == &all[0]));
            assert!(*found <= limit(one), "{}: {found} {one}", problem.name);
            assert!(of_level[0] == ranks && of_level.is_sorted_by(|a, b| a >= b), "{of_level:?}");
            assert_eq!(of_level.len(), divided + 1);
            let second = match of_level[1] {
                1 => "1 rank\n".to_owned(),
                some if some == ranks => "all ranks\n".to_owned(),
                some => format!("{some} ranks\n"),
            };
            assert!(*divided > 1 && table.contains(&second), "{of_level:?}\n{table}");
            println!("{} on {ranks}: {found} for {one}, {of_level:?}", problem.name);
            assert!(of_level[2] < ranks, "{}: {of_level:?}", problem.name);
        }
    }
}

/// The cycle is symmetric, and an update equals a rebuild to the bit.
#[test]
fn fewer_ranks_keep_the_properties() {
    let problem = cloth(41, 0.01).unwrap();
    let mut scaled = problem.matrix.clone();
    scaled.values_mut().iter_mut().for_each(|v| *v *= 4.0);
    for ranks in [2, 4] {
        let layout = layout(&problem, ranks);
        on_ranks(ranks, |comm| {
            let rank = comm.rank();
            let (a, mut m) = build(&parameters(), &problem, comm, layout.clone());
            let [r, s] = [5, 6].map(|seed| a.rows().part_of(&noise(layout.unknowns(), seed)).unwrap());
            let (mut mr, mut ms) = (r.like().unwrap(), r.like().unwrap());
            m.apply(&r, &mut mr);
            m.apply(&s, &mut ms);
            let (left, right) = (mr.dot(&s).read(), r.dot(&ms).read());
            assert!((left - right).abs() < 1e-10 * mr.norm() * s.norm(), "{left} {right}");
            assert!(mr.dot(&r).read() > 0.0 && m.kind() == PreconditionerKind::Symmetric);
            let rows = GlobalRows::of(&scaled, layout.range(rank)).unwrap();
            assert_eq!(m.update(&rows).unwrap(), Reused::Structure);
            m.apply(&r, &mut ms);
            assert!(ms.own().iter().zip(mr.own()).all(|(z, before)| 4.0 * z == *before));
        });
    }
}

/// An update after a comparison of patterns sends what an update alone sends, and has its bits.
#[test]
fn patterns_are_compared_once() {
    let problem = cloth(31, 0.01).unwrap();
    let layout = layout(&problem, 2);
    on_ranks(2, |comm| {
        let comm = Counted::new(comm);
        let ((a, mut one), (_, mut other)) = (
            build(&parameters(), &problem, comm.clone(), layout.clone()),
            build(&parameters(), &problem, comm.clone(), layout.clone()),
        );
        let mut scaled = problem.matrix.clone();
        scaled.values_mut().iter_mut().for_each(|v| *v *= 3.0);
        let rows = GlobalRows::of(&scaled, layout.range(comm.rank())).unwrap();
        let sent = || comm.traffic().iter().map(|stage| stage.messages).sum::<u64>();
        comm.restart();
        assert_eq!(one.update(&rows).unwrap(), Reused::Structure);
        let whole = sent();
        comm.restart();
        assert!(other.has_pattern(&rows).unwrap());
        other.renew(&rows).unwrap();
        assert_eq!(sent(), whole);
        let r = a.rows().part_of(&noise(layout.unknowns(), 7)).unwrap();
        let (mut z, mut w) = (r.like().unwrap(), r.like().unwrap());
        one.apply(&r, &mut z);
        other.apply(&r, &mut w);
        assert_eq!(z.own(), w.own());
    });
}

/// One rank has another pattern: all ranks get an error, whatever the number of levels, and none waits.
#[test]
fn a_renewal_with_another_pattern_is_refused_on_all_ranks() {
    let problem = cloth(31, 0.01).unwrap();
    let layout = layout(&problem, 2);
    for gather_below in [100, usize::MAX] {
        on_ranks(2, |comm| {
            let (_, mut m) = build(
                &DistMultigrid { gather_below, ..parameters() },
                &problem,
                comm.clone(),
                layout.clone(),
            );
            let own = layout.range(comm.rank());
            let rows = GlobalRows::of(&problem.matrix, own.clone()).unwrap();
            // The first row of rank 1 has one more column.
            let added = usize::from(comm.rank() == 1);
            let offsets: Vec<usize> = (0..=rows.count()).map(|k| if k == 0 { 0 } else { added }).collect();
            let (columns, values) = (vec![own.end - 1; added], vec![0.0; 9 * added]);
            let more = GlobalRows::new(own.start, (3, 3), offsets, columns, values).unwrap();
            let other = rows.plus(&more).unwrap();
            assert!(m.renew(&other).is_err(), "rank {}", comm.rank());
            assert!(!m.has_pattern(&other).unwrap());
        });
    }
}
