//! Contact that comes and goes (Fig. 21, §6.3).

use std::collections::HashSet;

use coarsen_backend::{Cpu, Reused, Setup, UpdateExt};
use coarsen_core::{Stop, parallel};
use coarsen_krylov::{Cg, Krylov};
use coarsen_problems::{NumpyRandom, Problem, cloth};
use coarsen_schwarz::{Coarse, Coupling, Schwarz};
use coarsen_sparse::{Contacts, Sum, System};

use crate::{Outcome, fastest};

/// Springs between random pairs of vertices that are up to `reach` lines apart, a thousand times as stiff as the membrane.
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

/// The springs of seed 3 with their last hundredth replaced by others, and the vertices whose contacts changed.
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

pub(crate) fn contact() -> Outcome<()> {
    let side = 317;
    let p = cloth(side, 0.01)?;
    let b = p.right_hand_side(1);
    println!("contact: cloth:317 at 10 ms with springs; iterations to 5e-4, then 1 % of the pairs replaced");
    println!("   pairs form           its   solve    build   update    patch  domains redone  patch/update");
    for pairs in [0, 1000, 10_000] {
        let contact = springs(&p, side, pairs, 3)?;
        let (next, touched) = replaced(&p, side, pairs)?;
        let strength = |theta| Coupling::Strength { theta };
        for (name, coarse, coupling) in [
            ("mas", Coarse::Domains, Coupling::Adjacency),
            ("mas exact", Coarse::Auto, Coupling::Adjacency),
            ("strength 0", Coarse::Auto, strength(0.0)),
            ("strength .25", Coarse::Auto, strength(0.25)),
        ] {
            let recipe = Schwarz { coarse, coupling, ..Schwarz::multilevel() };
            parallel::threads(0, || -> Outcome<()> {
                let sum = Sum { elastic: &p.matrix, contact: &contact };
                let system = System { positions: Some(&p.positions), ..System::from(&sum) };
                let changed = Sum { elastic: &p.matrix, contact: &next };
                let mut m = recipe.build(system, &Cpu::new())?;
                let (mut x, begun) = (vec![0.0; b.len()], std::time::Instant::now());
                let report = Cg::new(Stop::relative(5e-4)).solve(&sum, &mut m, &b, &mut x)?.usable()?;
                let solve = begun.elapsed().as_secs_f64();
                let build = fastest(3, || drop(recipe.build(system, &Cpu::new())));
                let update = fastest(3, || drop(m.update(&changed)));
                let mut share = 0.0;
                let patch = fastest(3, || {
                    if let Ok(Reused::Rest { redone, of }) = m.patch(&changed, &touched) {
                        share = redone as f64 / of as f64;
                    }
                });
                println!(
                    "{pairs:>8} {name:12} {:>5} {solve:7.3} {build:8.3} {update:8.3} {patch:8.4} {:13.1} % {:11.1} %",
                    report.iterations,
                    100.0 * share,
                    100.0 * patch / update
                );
                Ok(())
            })??;
        }
    }
    Ok(())
}
