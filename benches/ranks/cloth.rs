//! Detection and assembly of folded cloth over ranks: Fig. 7 and 10 of Li et al. 2020, "P-Cloth".
//!
//! Two measures, both without contention between ranks: the clock of simulated ranks, and the longest processor time of
//! a rank (of its thread, from Linux) plus the time of messages on that clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use coarsen_contact::{Aabb, BroadPhase, ClothContact, Pair, Topology};
use coarsen_core::{SplitMix64, parallel};
use coarsen_distributed::simulation::{self, Machine, SimComm};
use coarsen_distributed::{Communicator, GlobalRows, Layout, Partition};
use coarsen_distributed_solvers::{RankSearch, add_contact_gradient, contact_rows, own_triangles};
use coarsen_elastic::{Bending, Curvature, Fabric, Membrane, Plus, Potential};
use coarsen_sparse::Bsr;

use crate::Outcome;
use crate::clock::processor;
use crate::model::MACHINE;

const RANKS: [usize; 4] = [1, 2, 4, 8];

/// Repetitions; the least time counts.
const ROUNDS: usize = 3;

/// The thickness in units of the edges.
const THICKNESS: f64 = 0.25;

/// How often the sheet is folded.
const FOLDS: usize = 3;

/// The height of waves in thicknesses, and by which share of a wave each layer is behind the last: layers come nearer
/// by up to one thickness.
const WAVE: [f64; 2] = [0.55, 0.37];

struct Sheet {
    triangles: Vec<[u32; 3]>,
    rest: Vec<[f64; 3]>,
    x: Vec<f64>,
    thickness: f64,
}

/// A sheet of n x n vertices; the gap between layers in thicknesses.
fn folded(n: u32, gap: f64) -> Sheet {
    let cell = |c: u32| {
        let a = c / (n - 1) * n + c % (n - 1);
        [[a, a + 1, a + n], [a + 1, a + n + 1, a + n]]
    };
    let triangles = (0..(n - 1) * (n - 1)).flat_map(cell).collect();
    let at = |v: u32| [v % n, v / n].map(|k| f64::from(k) / f64::from(n - 1));
    let rest: Vec<[f64; 3]> = (0..n * n).map(at).map(|[u, w]| [u, w, 0.0]).collect();
    let thickness = THICKNESS / f64::from(n - 1);
    let (gap, noise) = (gap * thickness, SplitMix64::new(3).numbers(3 * rest.len()));
    let place = |(v, &[u, w, _]): (usize, &[f64; 3])| {
        // Back and forth along u, one layer above the other.
        let layers = (FOLDS + 1) as f64;
        let (layer, along) = ((u * layers).floor().min(layers - 1.0), (u * layers).fract());
        let back = if layer as usize % 2 == 1 { 1.0 - along } else { along };
        let rise = ((along - 0.9) / 0.1).max(0.0);
        let shake = |k: usize| 0.04 * thickness * noise[3 * v + k];
        let wave = WAVE[0] * thickness * (std::f64::consts::TAU * (3.0 * w + WAVE[1] * (layer + rise))).sin();
        [back / layers + shake(0), w + shake(1), gap * (layer + rise) + wave + shake(2)]
    };
    let x = rest.iter().enumerate().map(place).collect::<Vec<_>>().into_flattened();
    Sheet { triangles, rest, x, thickness }
}

/// The stages of a search on one rank, in processor time: what the constants of the simulated clock are. Returns the
/// number of tests.
fn stages(sheet: &Sheet) -> Outcome<u64> {
    let held = vec![false; sheet.rest.len()];
    let parts = Topology::new(&sheet.triangles, &held, &sheet.rest)?;
    let (mut broad, at) = (BroadPhase::default(), sheet.x.as_chunks::<3>().0);
    let of = |node: u32| Aabb::of([at[node as usize]]).grown(sheet.thickness);
    let mut begun = processor()?;
    let mut lap = || -> Outcome<f64> {
        let now = processor()?;
        Ok(1e3 * (now - std::mem::replace(&mut begun, now)))
    };
    broad.build(&parts, of)?;
    let build = lap()?;
    let tests = broad.tests(&parts, 0..broad.groups(&parts));
    let table = lap()?;
    let mut found = Vec::new();
    let starts: Vec<u64> = [0]
        .into_iter()
        .chain(tests.iter().scan(0, |sum, t| {
            *sum += t;
            Some(*sum)
        }))
        .collect();
    let boxes = AtomicUsize::new(0);
    let none = |_: &Pair| {
        boxes.fetch_add(1, Ordering::Relaxed);
        false
    };
    broad.find_share(&parts, &starts, 0..u64::MAX, none, &mut found);
    let search = lap()?;
    println!(
        "on one rank: hashes {build:.1} ms, Workload Table {table:.1} ms, {} tests {search:.1} ms, {} boxes overlap",
        starts[starts.len() - 1],
        boxes.into_inner()
    );
    Ok(starts[starts.len() - 1])
}

/// What a rank measured, in seconds: the simulated clock, messages on it, and processor time.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    clock: f64,
    messages: f64,
    processor: f64,
}

fn timed(comm: &SimComm, mut f: impl FnMut(usize) -> Outcome<()>) -> Outcome<Cost> {
    let mut best = Cost { clock: f64::INFINITY, messages: f64::INFINITY, processor: f64::INFINITY };
    for round in 0..ROUNDS {
        comm.restart()?;
        let begun = processor()?;
        f(round)?;
        best.processor = best.processor.min(processor()? - begun);
        best.clock = best.clock.min(comm.clock());
        best.messages = best.messages.min(comm.clock() - comm.computing());
    }
    Ok(best)
}

/// Counts and costs of one rank: detection, assembly.
struct Row {
    tests: u64,
    pairs: [usize; 2],
    costs: [Cost; 2],
}

fn rank(sheet: &Sheet, comm: SimComm, tests: u64) -> Outcome<Row> {
    let (held, rest, n) = (vec![false; sheet.rest.len()], &sheet.rest, sheet.rest.len());
    let partition = Partition::new(comm.clone(), Layout::even(n as u64, 3, comm.size())?)?;
    let mut contact = ClothContact::with(
        RankSearch::new(comm.clone()).at_nodes_of(&partition, n, |v| Some(u64::from(v))),
        &sheet.triangles,
        &held,
        rest,
        sheet.thickness,
        300.0,
    )?;
    // A corner goes out of the bounds of the last search and back, so that each detection begins with a search.
    let mut away = sheet.x.clone();
    away[2] += 10.0 * sheet.thickness;
    contact.detect(&away)?;
    let detection = timed(&comm, |round| {
        contact.detect(if round % 2 == 0 { &sheet.x } else { &away })?;
        if comm.size() == 1 {
            comm.worked(RankSearch::<SimComm>::TESTED * tests as usize);
        }
        Ok(())
    })?;
    contact.detect(&sheet.x)?;
    let tests = contact.search().tests();

    let own = own_triangles(&partition, &sheet.triangles, |v| Some(u64::from(v)));
    let of = |list: &[usize]| list.iter().map(|&t| sheet.triangles[t]).collect::<Vec<_>>();
    let plane: Vec<[f64; 2]> = rest.iter().map(|&[u, v, _]| [u, v]).collect();
    let fabric = Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 };
    let around = of(&own.around);
    let mut cloth = Plus::new(
        Bending::new(3.0 * 5e-5, &around, rest, &held, rest)?,
        Membrane::new(fabric, &of(&own.touching), &plane, &held, rest)?,
    )?;
    let mut h = Bsr::zeros(cloth.pattern().clone(), (3, 3))?;
    let mut g = vec![0.0; 3 * n];
    let scalars = 81 * own.touching.len() + 144 * (3 * around.len() / 2);
    let assembly = timed(&comm, |_| {
        let range = partition.layout().range(partition.rank());
        g.fill(0.0);
        h.values_mut().fill(0.0);
        cloth.add_gradient(&sheet.x, &mut g);
        cloth.add_hessian(&sheet.x, Curvature::Projected, h.values_mut());
        comm.worked(scalars);
        let elastic = GlobalRows::of(&h, range.clone())?;
        add_contact_gradient(&partition, &contact, &mut g[3 * range.start as usize..3 * range.end as usize]);
        let touching = contact_rows(&partition, &contact)?;
        std::hint::black_box((elastic, touching));
        Ok(())
    })?;
    Ok(Row {
        tests,
        pairs: [contact.candidates().len(), contact.search().touching()],
        costs: [detection, assembly],
    })
}

pub(crate) fn run(asked: &[String]) -> Outcome<()> {
    let side = asked.first().map_or(Ok(301), |side| side.parse())?;
    let gap = asked.get(1).map_or(Ok(1.9), |gap| gap.parse())?;
    let sheet = Arc::new(folded(side, gap));
    let [alpha, beta, per_scalar] = MACHINE;
    println!(
        "a sheet of {} vertices and {} triangles in {} layers, {gap} thicknesses apart; alpha {alpha:e} s, beta {beta:e} s per byte, {per_scalar:e} s per scalar",
        sheet.rest.len(),
        sheet.triangles.len(),
        FOLDS + 1
    );
    println!(
        "{:<10} {:>5} {:>12} {:>9} {:>13} {:>9} {:>12} {:>9}",
        "", "ranks", "simulated ms", "speed-up", "processor ms", "speed-up", "messages ms", "imbalance"
    );
    let tests = parallel::threads(1, || stages(&sheet))??;
    let mut first: Option<[Cost; 2]> = None;
    for ranks in RANKS {
        let machine = Machine { alpha, beta, per_scalar, topology: simulation::Topology::switch(ranks)? };
        let rows: Vec<Row> = SimComm::run(&machine, |comm| rank(&sheet, comm, tests))
            .into_iter()
            .map(|row| row.map_err(Into::into).and_then(|row| row))
            .collect::<Outcome<_>>()?;
        let most = |k: usize| {
            rows.iter().fold(Cost { messages: f64::INFINITY, ..Cost::default() }, |most, row| Cost {
                clock: most.clock.max(row.costs[k].clock),
                // What the rank with the most work waits: the others wait for this rank too.
                messages: most.messages.min(row.costs[k].messages),
                processor: most.processor.max(row.costs[k].processor),
            })
        };
        let all = [most(0), most(1)];
        let one = *first.get_or_insert(all);
        let mean = rows.iter().map(|row| row.tests).sum::<u64>() as f64 / ranks as f64;
        let worst = rows.iter().map(|row| (row.tests as f64 / mean - 1.0).abs()).fold(0.0, f64::max);
        for (k, name) in ["detection", "assembly"].into_iter().enumerate() {
            let (one, cost) = (one[k], all[k]);
            let imbalance =
                if k == 0 && ranks > 1 { format!("{:.3} %", 100.0 * worst) } else { "-".to_owned() };
            println!(
                "{name:<10} {ranks:>5} {:>12.1} {:>9.2} {:>13.1} {:>9.2} {:>12.2} {imbalance:>9}",
                1e3 * cost.clock,
                one.clock / cost.clock,
                1e3 * cost.processor,
                one.processor / (cost.processor + cost.messages),
                1e3 * cost.messages
            );
        }
        if ranks == RANKS[RANKS.len() - 1] {
            let tests: u64 = rows.iter().map(|row| row.tests).sum();
            let (near, touching) = (rows.iter().map(|row| row.pairs[0]).sum::<usize>(), rows[0].pairs[1]);
            println!("{tests} tests, {near} pairs nearer than two thicknesses, {touching} nearer than one");
        }
    }
    Ok(())
}
