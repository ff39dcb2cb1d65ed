//! Measured links have the costs of the machine, and favour the schedule of its topology.

use coarsen_distributed::simulation::{Links, Machine, SimComm, Topology};
use coarsen_distributed::{Counted, Schedule};

use crate::common::schedules;

/// What every rank of a machine measures, and the time that it takes.
fn measured(topology: &Topology, bytes: usize, trips: usize) -> (Links, f64) {
    let machine = Machine { alpha: 3e-6, beta: 2e-9, per_scalar: 0.0, topology: topology.clone() };
    let all = SimComm::run(&machine, |comm| {
        let links = Links::measure(&comm, bytes, trips, || comm.clock()).unwrap();
        (links, comm.clock())
    });
    let all: Vec<_> = all.into_iter().map(|rank| rank.unwrap()).collect();
    assert!(all.iter().all(|rank| rank.0 == all[0].0), "all ranks have the same costs");
    let last = all.iter().map(|rank| rank.1).fold(0.0, f64::max);
    (all[0].0.clone(), last)
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected
}

/// Two machines of two ranks each, with a link ten times as slow between them; ranks 0 and 1, or 0 and 2, are on one.
fn two_machines(of: [usize; 4]) -> Topology {
    let above = of.iter().map(|machine| 4 + machine).chain([6, 6, 6]).collect();
    Topology::new(4, above, vec![1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 1.0], true).unwrap()
}

#[test]
fn links_have_the_costs_of_the_machine() {
    let uneven = Topology::new(3, vec![3, 3, 3, 3], vec![1.0, 0.25, 0.5, 1.0], true).unwrap();
    let equal = [2, 3, 5, 8].map(|n| Topology::switch(n).unwrap());
    for topology in equal.into_iter().chain([uneven, two_machines([0, 0, 1, 1])]) {
        let (n, bytes, trips) = (topology.ranks(), 20_000, 3);
        let (links, seconds) = measured(&topology, bytes, trips);
        let mut cost = 0.0;
        for i in 0..n {
            assert_eq!((links.alpha(i, i), links.beta(i, i)), (0.0, 0.0));
            for j in (0..n).filter(|j| *j != i) {
                let beta = 2e-9 * topology.busiest([(i, j, 1.0)]);
                assert!(
                    close(links.alpha(i, j), 3e-6) && close(links.beta(i, j), beta),
                    "{i} {j}: {links:?}"
                );
                assert!(close(links.time(i, j, 500.0), 3e-6 + 500.0 * beta));
                cost += (trips + 1) as f64 * (2.0 * 3e-6 + bytes as f64 * beta);
            }
        }
        // The turns and the gather of the costs come on top of the documented cost.
        assert!(seconds >= cost && seconds <= cost + 3e-6 * (8 * n) as f64, "{seconds} {cost}");
    }
}

/// The number of messages is that of the documentation, except for the turns and the gather.
#[test]
fn a_measurement_has_the_documented_messages() {
    let (n, trips) = (4, 5);
    let machine =
        Machine { alpha: 1e-6, beta: 1e-9, per_scalar: 0.0, topology: Topology::switch(n).unwrap() };
    let sent = SimComm::run(&machine, |comm| {
        let comm = Counted::new(comm);
        Links::measure(&comm, 1000, trips, || comm.inner().clock()).unwrap();
        let all = comm.traffic();
        let pings = all.iter().find(|stage| stage.stage == "a measurement of links").unwrap();
        (pings.messages, pings.bytes)
    });
    let sum =
        |of: &dyn Fn(&(u64, u64)) -> u64| sent.iter().map(|rank| of(rank.as_ref().unwrap())).sum::<u64>();
    let messages = 2 * (trips + 1) * n * (n - 1);
    assert_eq!(sum(&|rank| rank.0), messages as u64);
    assert_eq!(sum(&|rank| rank.1), 1000 * messages as u64 / 2);
}

/// The best schedule of a tree of equal links is the ring, as `Topology::best` says of that tree.
#[test]
fn equal_links_favour_the_ring() {
    for n in [4, 8, 16] {
        let tree = Topology::equal_tree(n).unwrap();
        let (links, _) = measured(&tree, 1_000_000, 1);
        let (schedule, seconds) = links.best(1e6).unwrap();
        assert_eq!(schedule, Schedule::ring(n).unwrap(), "{n}");
        let (expected, time) = tree.best(1e6, 3e-6, 2e-9).unwrap();
        assert!(schedule == expected && close(seconds, time), "{n}: {seconds} {time}");
        let found = links.topology().unwrap();
        for (name, schedule) in schedules(n) {
            let [one, other] = [&found, &tree].map(|t| t.stages(&schedule, 1e6, 3e-6, 2e-9).unwrap());
            assert!(one.iter().zip(&other).all(|(one, other)| close(*one, *other)), "{name} of {n}");
        }
    }
    // Also for numbers of ranks that are no power of two, on a switch, and for few ranks.
    for n in [5, 6, 7, 9] {
        let (links, _) = measured(&Topology::switch(n).unwrap(), 1000, 1);
        assert_eq!(links.best(1000.0).unwrap().0, Schedule::ring(n).unwrap(), "{n}");
    }
    for n in 1..4 {
        let (links, _) = measured(&Topology::switch(n).unwrap(), 1000, 1);
        let (schedule, seconds) = links.best(1000.0).unwrap();
        assert_eq!((schedule.ranks(), links.ranks()), (n, n));
        assert!((seconds - (n - 1) as f64 * 5e-6).abs() < 1e-12, "{n}: {seconds}");
    }
}

/// A slow link between machines is found, wherever the ranks are, and its schedule is that of the true topology. The time is
/// that of ranks in the order of the machines.
#[test]
fn slow_links_are_found() {
    for of in [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]] {
        let topology = two_machines(of);
        let (links, _) = measured(&topology, 100_000, 1);
        let found = links.topology().unwrap();
        for i in 0..4 {
            for j in (0..4).filter(|j| *j != i) {
                let [one, other] = [&found, &topology].map(|t| t.busiest([(i, j, 1.0), (3 - i, 3 - j, 1.0)]));
                assert!(close(one, other), "{of:?}, {i} to {j}: {one} {other}");
            }
        }
        let (schedule, seconds) = links.best(1e5).unwrap();
        let (_, least) = topology.best(1e5, 3e-6, 2e-9).unwrap();
        let time = topology.stages(&schedule, 1e5, 3e-6, 2e-9).unwrap().iter().sum();
        assert!(close(seconds, least) && close(time, least), "{of:?}: {seconds} {time} {least}");
        let (_, in_order) = two_machines([0, 0, 1, 1]).best(1e5, 3e-6, 2e-9).unwrap();
        assert!(close(seconds, in_order), "{of:?}: {seconds} {in_order}");
        let queues = Schedule::work_queues(4).unwrap().relabelled(&topology.order()).unwrap();
        assert_eq!(schedule, queues, "siblings pass on what crosses the slow link once");
    }
}

/// Times that hardly depend on the length: a time per byte of a hundredth, so that links stay alike, and the ring.
#[test]
fn links_with_latency_alone_are_alike() {
    let machine = Machine { alpha: 1e-3, beta: 0.0, per_scalar: 0.0, topology: Topology::switch(4).unwrap() };
    let all = SimComm::run(&machine, |comm| Links::measure(&comm, 500, 1, || comm.clock()).unwrap());
    for links in all.into_iter().map(|rank| rank.unwrap()) {
        let [alpha, beta] = [links.alphas(), links.betas()];
        assert!(
            close(alpha[0], 1e-3) && close(beta[0], 1e-5 / 500.0) && close(beta[1], beta[0]),
            "{links:?}"
        );
        assert_eq!(links.best(500.0).unwrap().0, Schedule::ring(4).unwrap());
    }
}
