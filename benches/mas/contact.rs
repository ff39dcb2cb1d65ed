//! Changing contact (Fig. 21, §6.3).

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use coarsen_backend::{Cpu, Reused};
use coarsen_core::{Stop, parallel};
use coarsen_krylov::Cg;
use coarsen_problems::{NumpyRandom, Problem, cloth};
use coarsen_schwarz::{Coarse, Coupling, Schwarz, Subdomains};
use coarsen_sparse::{Contacts, Sum, System};

use crate::{Outcome, fastest};

/// Springs between random pairs of vertices whose indices differ by 5 to 44, a thousand times as stiff as the
/// membrane.
pub(crate) fn springs(p: &Problem, side: usize, pairs: usize, seed: u64) -> Outcome<Contacts<f64>> {
    let (mut random, n, dt) = (NumpyRandom::new(seed), side * side, 0.01);
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        let i = side + (random.uniform() * (n - 3 * side) as f64) as usize;
        let j = (i + 5 + (random.uniform() * 40.0) as usize).min(n - side - 1);
        let d: [f64; 3] =
            std::array::from_fn(|k| p.positions[i][k] - p.positions[j][k] + if k == 2 { 1e-3 } else { 0.0 });
        let square: f64 = d.iter().map(|x| x * x).sum();
        let spring: [f64; 9] = std::array::from_fn(|e| dt * dt * 5e6 * d[e / 3] * d[e % 3] / square);
        for ((r, c), sign) in [((i, i), 1.0), ((i, j), -1.0), ((j, i), -1.0), ((j, j), 1.0)] {
            places.push((r as u32, c as u32));
            values.extend(spring.map(|v| sign * v));
        }
    }
    let mut contacts = Contacts::new(n, 3)?;
    contacts.replace(&places, &values)?;
    Ok(contacts)
}

/// The springs of seed 3, of which the last hundredth is replaced, and the vertices whose contacts changed.
pub(crate) fn replaced(p: &Problem, side: usize, pairs: usize) -> Outcome<(Contacts<f64>, Vec<u32>)> {
    let (before, kept) = (springs(p, side, pairs, 3)?, springs(p, side, pairs - pairs / 100, 3)?);
    let new = springs(p, side, pairs / 100, 4)?;
    let places: Vec<_> = kept.places().iter().chain(new.places()).copied().collect();
    let values: Vec<_> = kept.values().iter().chain(new.values()).copied().collect();
    let mut next = Contacts::new(side * side, 3)?;
    next.replace(&places, &values)?;
    let there: HashSet<_> = kept.places().iter().collect();
    let gone = before.places().iter().filter(|place| !there.contains(place));
    let mut touched: Vec<u32> = gone.chain(new.places()).flat_map(|p| [p.0, p.1]).collect();
    touched.sort_unstable();
    touched.dedup();
    Ok((next, touched))
}

/// Prints Fig. 21, and ten successive patches. Before each patch another hundredth of the pairs is replaced.
pub(crate) fn contact() -> Outcome<()> {
    let side = 317;
    let p = cloth(side, 0.01)?;
    println!(
        "contact: cloth:317 at 10 ms with springs, 2 threads; iterations to 5e-4; seconds; ten patches, each of 1 % of the pairs"
    );
    println!(
        "   pairs form            its   solve    build   update   patch: mean   largest  domains  mean/update   its, patched and updated"
    );
    for pairs in [0, 1000, 10_000] {
        let adjacency = Coupling::Adjacency;
        let plain = Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() };
        for (name, parameters) in [
            ("mas, adjacency", Schwarz { coupling: adjacency, ..plain }),
            ("mas", plain),
            ("exact, adjacency", Schwarz { coupling: adjacency, ..Schwarz::multilevel() }),
            ("exact", Schwarz::multilevel()),
        ] {
            parallel::threads(2, || row(&p, side, pairs, name, &parameters))??;
        }
    }
    Ok(())
}

fn system<'a>(p: &'a Problem, contact: &'a Contacts<f64>) -> System<'a, f64> {
    System { positions: Some(&p.positions), ..System::from(&Sum { elastic: &p.matrix, contact }) }
}

fn row(p: &Problem, side: usize, pairs: usize, name: &str, parameters: &Schwarz) -> Outcome<()> {
    let b = p.right_hand_side(1);
    let contact = springs(p, side, pairs, 3)?;
    let mut cg = Cg::new(Stop { max_iterations: 4000, ..Stop::relative(5e-4) });
    let mut x = vec![0.0; b.len()];
    let mut solve = |m: &mut Subdomains<f64, Cpu>, contact: &Contacts<f64>| -> Outcome<usize> {
        x.fill(0.0);
        let sum = Sum { elastic: &p.matrix, contact };
        Ok(cg.solve(&sum, m, &b, &mut x)?.usable()?.iterations)
    };
    let mut m = parameters.build(system(p, &contact), &Cpu::new())?;
    let begun = Instant::now();
    let iterations = solve(&mut m, &contact)?;
    let seconds = begun.elapsed().as_secs_f64();
    let build = fastest(3, || drop(parameters.build(system(p, &contact), &Cpu::new())));
    let update = fastest(3, || drop(m.update(system(p, &contact))));
    let (mut now, mut spent, mut largest, mut share) = (contact, 0.0, 0.0_f64, 0.0);
    for round in 0..10 {
        let (next, touched) = exchanged(p, side, pairs, &now, round)?;
        now = next;
        let begun = Instant::now();
        let reused = m.patch(system(p, &now), &touched)?;
        let patch = begun.elapsed().as_secs_f64();
        (spent, largest) = (spent + patch, largest.max(patch));
        if let Reused::Rest { redone, of } = reused {
            share += 10.0 * redone as f64 / of as f64;
        }
    }
    let patched = solve(&mut m, &now)?;
    m.update(system(p, &now))?;
    let updated = solve(&mut m, &now)?;
    let ratio = 10.0 * spent / update;
    println!(
        "{pairs:>8} {name:18} {iterations:>5} {seconds:7.3} {build:8.3} {update:8.3} {:13.4} {largest:9.4} {share:6.1} % {ratio:10.1} % {patched:>14} {updated:>7}",
        spent / 10.0
    );
    Ok(())
}

/// Replaces a hundredth of the pairs, in each round other pairs; returns the vertices whose contacts changed.
fn exchanged(
    p: &Problem,
    side: usize,
    pairs: usize,
    before: &Contacts<f64>,
    round: usize,
) -> Outcome<(Contacts<f64>, Vec<u32>)> {
    // Every pair has one block above the diagonal.
    let above: Vec<(u32, u32)> = before.places().iter().filter(|p| p.0 < p.1).copied().collect();
    let share = pairs / 100;
    let gone: HashSet<(u32, u32)> =
        above.iter().skip(round * share % above.len().max(1)).take(share).copied().collect();
    let new = springs(p, side, share, 100 + round as u64)?;
    let mut lost: HashMap<u32, [f64; 9]> = HashMap::new();
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for (&(i, j), block) in before.places().iter().zip(before.values().chunks_exact(9)) {
        if gone.contains(&(i.min(j), i.max(j))) {
            let sum = lost.entry(i).or_insert([0.0; 9]);
            sum.iter_mut().zip(block).for_each(|(s, v)| *s += v);
        } else {
            places.push((i, j));
            values.extend_from_slice(block);
        }
    }
    for (&i, block) in &lost {
        places.push((i, i));
        values.extend_from_slice(block); // subtracts the contribution of the pair to the diagonal
    }
    places.extend_from_slice(new.places());
    values.extend_from_slice(new.values());
    let mut next = Contacts::new(side * side, 3)?;
    next.replace(&places, &values)?;
    let ends = gone.iter().chain(new.places()).flat_map(|p| [p.0, p.1]);
    let touched: std::collections::BTreeSet<u32> = ends.collect();
    Ok((next, touched.into_iter().collect()))
}
