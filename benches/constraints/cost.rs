//! The cost of prefiltering.

use std::time::Instant;

use coarsen::prelude::*;

use crate::Outcome;
use crate::kinds::{KINDS, constrained};

const SIDE: usize = 301;
const CALLS: usize = 7;

/// The minimum time of several calls, in seconds.
fn fastest(mut call: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..CALLS {
        let begun = Instant::now();
        call()?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok(best)
}

pub(crate) fn cost() -> Outcome<()> {
    println!("cost: cloth:{SIDE}; milliseconds");
    println!("{:22} share  product  first  same nodes  other nodes   fill  on one thread", "constraints");
    for kind in KINDS {
        for share in [0.01, 0.1, 0.3] {
            let (p, c) = constrained(kind, SIDE, 0.01, share)?;
            let other = constrained(kind, SIDE, 0.01, 0.98 * share)?.1;
            let (x, mut y) = (p.right_hand_side(1), p.right_hand_side(2));
            let product = fastest(|| {
                p.matrix.apply(&x, &mut y);
                Ok(())
            })?;
            let begun = Instant::now();
            let mut filtered = prefilter(p.system(), &c)?;
            let first = begun.elapsed().as_secs_f64();
            let same = fastest(|| Ok(filtered.update(p.system(), &c)?))?;
            let alone = threads(1, || fastest(|| Ok(filtered.update(p.system(), &c)?)))??;
            let mut turn = 0;
            let changed = fastest(|| {
                turn += 1;
                Ok(filtered.update(p.system(), if turn % 2 == 0 { &c } else { &other })?)
            })?;
            println!(
                "{kind:22} {share:5.2} {:8.2} {:6.1} {:11.2} {:12.2} {:6.2} {:14.2}",
                1e3 * product,
                1e3 * first,
                1e3 * same,
                1e3 * changed,
                filtered.density().fill(),
                1e3 * alone
            );
        }
    }
    Ok(())
}
