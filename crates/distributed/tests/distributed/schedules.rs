//! Every rank receives every sub-vector once, from a rank that has it; the counts of Li et al. 2020, §3.1.2.

use coarsen_distributed::{DistError, Node, Schedule};

use crate::common::schedules;

/// Every second rank, then the others.
fn second(n: usize) -> Vec<usize> {
    (0..n).step_by(2).chain((1..n).step_by(2)).collect()
}

/// Also with other names of the ranks.
#[test]
fn every_rank_receives_every_sub_vector_once() {
    for n in 2..=16 {
        for (name, schedule) in schedules(n) {
            check_every_sub_vector_once(n, name, &schedule);
            for order in [second(n), (0..n).rev().collect()] {
                check_every_sub_vector_once(n, name, &schedule.relabelled(&order).unwrap());
            }
        }
    }
}

fn check_every_sub_vector_once(n: usize, name: &str, schedule: &Schedule) {
    let mut has: Vec<Vec<usize>> = (0..n).map(|rank| vec![rank]).collect();
    assert_eq!((schedule.ranks(), schedule.stages()), (n, n - 1), "{name}");
    for stage in 0..n - 1 {
        let before = has.clone();
        for rank in 0..n {
            let Node { peer, vector } = schedule.queue(rank)[stage];
            assert!(peer != rank && before[peer].contains(&vector), "{name} of {n}: rank {rank}");
            assert!(!has[rank].contains(&vector), "{name} of {n}: {vector} twice on rank {rank}");
            has[rank].push(vector);
            assert!(schedule.sends(peer, stage).any(|sent| sent == (rank, vector)));
        }
    }
    assert!(has.iter().all(|vectors| vectors.len() == n));
}

/// Rank `order[k]` has the part of rank k, and the inverse order gives the schedule back.
#[test]
fn ranks_have_other_names() {
    for n in 2..=16 {
        let order = second(n);
        let inverse: Vec<usize> =
            (0..n).map(|rank| order.iter().position(|named| *named == rank).unwrap()).collect();
        for (name, schedule) in schedules(n) {
            let other = schedule.relabelled(&order).unwrap();
            let same: Vec<usize> = (0..n).collect();
            assert_eq!(schedule.relabelled(&same).as_ref(), Ok(&schedule), "{name} of {n}");
            assert_eq!(other.relabelled(&inverse).as_ref(), Ok(&schedule), "{name} of {n}");
            assert!(n < 4 || other != schedule, "{name} of {n}");
            for (k, &rank) in order.iter().enumerate() {
                for (named, node) in other.queue(rank).iter().zip(schedule.queue(k)) {
                    let expected = Node { peer: order[node.peer], vector: order[node.vector] };
                    assert_eq!(*named, expected, "{name} of {n}");
                }
            }
        }
    }
    for order in [&[0, 1][..], &[0, 1, 2, 3], &[0, 1, 1], &[0, 1, 3], &[]] {
        let refused = Schedule::ring(3).unwrap().relabelled(order);
        assert!(matches!(refused, Err(DistError::Value { .. })), "{order:?}");
    }
}

/// Each sub-vector crosses each switch of the tree once, so that n cross the root.
#[test]
fn work_queues_cross_each_switch_once() {
    for n in [2, 4, 8, 16] {
        let schedule = Schedule::work_queues(n).unwrap();
        let mut width = n;
        while width > 1 {
            for first in (0..n).step_by(width) {
                let middle = first + width / 2;
                let side = |rank: usize| (first..first + width).contains(&rank).then_some(rank < middle);
                let crossings = (first..first + width)
                    .flat_map(|rank| schedule.queue(rank).iter().map(move |node| (rank, node)))
                    .filter(|(rank, node)| side(node.peer).is_some_and(|s| Some(s) != side(*rank)))
                    .count();
                assert_eq!(crossings, n, "{n} ranks, switch of {first} to {width}");
            }
            width /= 2;
        }
    }
}

/// Fig. 4 for four ranks: siblings, then across the root, then siblings with what crossed.
#[test]
fn work_queues_of_four_ranks_are_those_of_figure_4() {
    let schedule = Schedule::work_queues(4).unwrap();
    let queue = |rank| schedule.queue(rank).iter().map(|n| (n.peer, n.vector)).collect::<Vec<_>>();
    assert_eq!(queue(0), [(1, 1), (2, 2), (1, 3)]);
    assert_eq!(queue(1), [(0, 0), (3, 3), (0, 2)]);
    assert_eq!(queue(2), [(3, 3), (0, 0), (3, 1)]);
    assert_eq!(queue(3), [(2, 2), (1, 1), (2, 0)]);
}

#[test]
fn invalid_schedules_are_refused() {
    for n in [0, 3, 6, 12] {
        let refused = Schedule::work_queues(n);
        assert!(matches!(refused, Err(DistError::Value { range: "a power of two", .. })), "{n}");
    }
    assert!(Schedule::ring(0).is_err() && Schedule::pairwise(0).is_err());
    let node = |peer, vector| Node { peer, vector };
    let good = vec![vec![node(2, 2), node(2, 1)], vec![node(0, 0), node(0, 2)], vec![node(1, 1), node(1, 0)]];
    assert_eq!(Schedule::new(good.clone()), Schedule::ring(3));
    for (rank, stage, bad) in [
        (0, 0, node(2, 1)), // rank 2 does not have it yet
        (0, 1, node(2, 2)), // twice
        (1, 0, node(1, 0)), // from itself
        (2, 1, node(3, 0)), // from nobody
        (2, 1, node(1, 3)), // a sub-vector of nobody
    ] {
        let mut queues = good.clone();
        queues[rank][stage] = bad;
        assert!(Schedule::new(queues).is_err(), "{bad:?}");
    }
    assert!(Schedule::new(vec![vec![node(1, 1)], vec![]]).is_err());
    // Rank 0 receives sub-vector 2 in the stage in which it would have to send it.
    let same_stage =
        vec![vec![node(2, 2), node(1, 1)], vec![node(0, 2), node(0, 0)], vec![node(0, 0), node(1, 1)]];
    assert!(Schedule::new(same_stage).is_err());
}
