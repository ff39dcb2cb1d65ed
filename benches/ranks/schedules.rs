//! The time of each schedule on each topology, and the model of Fig. 5 of Li et al. 2020.
//!
//! | symbol | here | |
//! |---|---|---|
//! | s₂, s₄ | | speed-ups of the baseline of Cevahir et al. 2009 over one device |
//! | C_j | `compute` | 1/n² of the product on one device, for equal blocks |
//! | T_j | `transfer` | time of receiving sub-vector j |

use coarsen_distributed::Schedule;
use coarsen_distributed::simulation::{Topology, blocking, pipelined};

use crate::Outcome;

pub(crate) fn run(_: &[String]) -> Outcome<()> {
    println!("units: one sub-vector on one link; links are full-duplex, stages synchronised");
    println!(
        "{:>5}  {:<10} {:>9} {:>6} {:>12}  best",
        "ranks", "topology", "pairwise", "ring", "work queues"
    );
    for n in 2..=16 {
        let mut topologies = vec![("switch", Topology::switch(n)?)];
        if n.is_power_of_two() {
            topologies.push(("equal tree", Topology::equal_tree(n)?));
            topologies.push(("fat tree", Topology::fat_tree(n)?));
        }
        for (name, topology) in topologies {
            let units = |schedule: &Schedule| -> Outcome<f64> {
                Ok(topology.stages(schedule, 1.0, 0.0, 1.0)?.iter().sum())
            };
            let [pairwise, ring] = [units(&Schedule::pairwise(n)?)?, units(&Schedule::ring(n)?)?];
            let queues = if n.is_power_of_two() { Some(units(&Schedule::work_queues(n)?)?) } else { None };
            let least = pairwise.min(ring).min(queues.unwrap_or(f64::INFINITY));
            let best = [("pairwise", Some(pairwise)), ("ring", Some(ring)), ("work queues", queues)];
            let best: Vec<_> =
                best.iter().filter(|(_, t)| *t == Some(least)).map(|(name, _)| *name).collect();
            let queues = queues.map_or("-".to_owned(), |queues| queues.to_string());
            println!("{n:>5}  {name:<10} {pairwise:>9} {ring:>6} {queues:>12}  {}", best.join(", "));
        }
    }
    figure_5()
}

/// Speed-ups at four devices, from a baseline of s₂ at two and s₄ at four.
fn figure_5() -> Outcome<()> {
    println!("\nthe model of Fig. 5 at four devices: speed-up of the pipelined product by eq. 7");
    println!("{:>14} {:>22} {:>32}", "baseline s4", "all transfers equal", "siblings as fast as s2 says");
    println!("{:>14} {:>22} {:>8} {:>7} {:>7} {:>7}", "", "", "s2 = 1.7", "1.8", "1.9", "2.0");
    let compute = [1.0 / 16.0; 4];
    for s4 in [2.2, 2.25, 2.3] {
        let all = 1.0 / s4 - 0.25; // eq. 6
        let equal = [all / 3.0; 3];
        assert!((1.0 / blocking(&compute, &equal)[3] - s4).abs() < 1e-9);
        let gain = |transfer: &[f64]| 1.0 / pipelined(&compute, transfer)[3];
        let tree = [1.7, 1.8, 1.9, 2.0].map(|s2: f64| {
            let sibling = 0.5 * (1.0 / s2 - 0.5); // half as long as a sub-vector of two devices
            gain(&[sibling, all - 2.0 * sibling, sibling])
        });
        println!(
            "{s4:>14} {:>22.2} {:>8.2} {:>7.2} {:>7.2} {:>7.2}",
            gain(&equal),
            tree[0],
            tree[1],
            tree[2],
            tree[3]
        );
    }
    println!("measured in the paper: 2.9 to 3.5");
    Ok(())
}
