//! Iterations with node orders computed several steps ago (Fig. 9, §5.3).

use coarsen_backend::Cpu;
use coarsen_core::parallel;
use coarsen_problems::{Options, Sequence};
use coarsen_schwarz::{Coarse, Order, Schwarz};
use coarsen_sparse::System;

use crate::figures::TOLERANCE;
use crate::{Outcome, until};

const STEPS: usize = 100;

/// The ages of the orders in steps.
const AGES: [usize; 5] = [0, 10, 20, 50, 99];

/// Solves the last step of a falling, rotating sheet, with node orders from the positions of earlier steps
/// and with node orders that do not use positions.
pub(crate) fn stale() -> Outcome<()> {
    let mut sequence = Sequence::parse("cloth-contact:150", STEPS, &Options::default())?;
    let mut kept = vec![(0, sequence.positions().to_vec())];
    while sequence.advance()? {
        kept.push((sequence.step(), sequence.positions().to_vec()));
    }
    let a = sequence.system().whole()?.into_owned();
    let b = sequence.right_hand_side(1);
    println!(
        "stale: {} at step {}, {} pairs in contact; iterations to 5e-4 by the steps since nodes were sorted",
        sequence.name(),
        sequence.step(),
        sequence.pairs()
    );
    println!("form        {:?}    graph  natural", AGES);
    for (name, coarse) in [("mas", Coarse::Domains), ("mas exact", Coarse::Auto)] {
        let iterations = |positions: Option<&[[f64; 3]]>, order: Order| -> Outcome<usize> {
            let parameters = Schwarz { coarse, order, ..Schwarz::multilevel() };
            parallel::threads(0, || {
                let mut m = parameters.build(System { positions, ..System::from(&a) }, &Cpu::new())?;
                until(&a, &mut m, &b, TOLERANCE)
            })?
        };
        print!("{name:10}");
        for age in AGES {
            print!("{:>6}", iterations(Some(&kept[STEPS - 1 - age].1), Order::Curve)?);
        }
        println!("{:>9}{:>9}", iterations(None, Order::Graph)?, iterations(None, Order::Natural)?);
    }
    Ok(())
}
