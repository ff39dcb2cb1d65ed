//! Steps on ranks: the bits of one rank, no penetration, and cloth that rests on the ball.

use clap::Parser;
use coarsen_distributed::{Communicator, ThreadComm};

use super::DEADLINE;
use super::step::{Done, RankStepper};
use crate::options::Options;
use crate::scene::Scene;
use crate::sheet::Sheet;
use crate::world::all;

/// Two sheets, one a little above the other, just above the ball.
fn scene() -> (Scene, Sheet, Options) {
    let options =
        Options::parse_from(["cloth", "--scene", "sphere", "--dt", "0.005", "--self-friction", "0"]);
    let mut sheet = Sheet::square(15, crate::sheet::Tessellation::Irregular, false);
    let (count, below) = (sheet.rest.len() as u32, sheet.rest.clone());
    sheet.rest.extend(below.iter().map(|&[u, v, _]| [0.9 * u + 0.05, 0.9 * v + 0.04, 3e-3]));
    sheet.triangles.extend(sheet.triangles.clone().iter().map(|t| t.map(|v| v + count)));
    sheet.layers = 2;
    let mut scene = options.scene.scene(&sheet);
    scene.middle[1] -= 0.044;
    (scene, sheet, options)
}

/// The positions after some steps, and what each step of each rank did; penetrations are counted after each step.
fn fall(ranks: usize, steps: usize) -> Vec<(Vec<u64>, Vec<Done>, f64)> {
    let (scene, sheet, options) = scene();
    let all = ThreadComm::run(ranks, DEADLINE, |comm| {
        let first = comm.rank() == 0;
        let mut stepper = RankStepper::new(comm, 0, &scene, &sheet, &options).unwrap();
        let mut done = Vec::new();
        for step in 0..steps {
            done.push(stepper.step().unwrap());
            if first {
                let at = all(&stepper.fixed.nodes, &stepper.x);
                assert_eq!(stepper.fixed.crossings.count(&at), 0, "step {step} on {ranks} ranks: {done:?}");
            }
        }
        let height = stepper.x.chunks_exact(3).map(|x| x[1]).fold(f64::NEG_INFINITY, f64::max);
        (stepper.x.iter().map(|x| x.to_bits()).collect(), done, height)
    });
    all.into_iter().map(|rank| rank.unwrap()).collect()
}

/// Positions equal those of one rank to the bit, on every rank; cloth touches cloth and the ball, and does not cross.
#[test]
fn cloth_on_ranks_has_the_bits_of_one_rank() {
    let one = &fall(1, 20)[0];
    let (x, done, height) = one;
    assert!(done.iter().any(|done| done.contacts > 50), "{done:?}");
    assert!(done.iter().all(|done| done.iterations > 0 && done.iterations < 500), "{done:?}");
    // The middle rests on the ball of radius 0.3 around (0, 0.45, 0); free fall would be 0.05 m lower.
    assert!(*height > 0.75 && *height < 0.77, "{height}");
    for ranks in [2, 4] {
        for (rank, (own, steps, _)) in fall(ranks, 20).iter().enumerate() {
            assert!(own == x, "rank {rank} of {ranks}");
            for (a, b) in steps.iter().zip(done) {
                assert_eq!((a.iterations, a.contacts, a.shares), (b.iterations, b.contacts, b.shares));
            }
        }
    }
}
