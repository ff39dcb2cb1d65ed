//! Steps with linear systems solved on a device: those of the CPU, with few synchronisations.

use coarsen::backend::Backend;
use examples_run::device::opencl;

use super::{Folder, check_balance, distance};
use crate::run;

/// In 62 steps positions stay within a thousandth of an edge of those of the CPU: a sheet that droops, and one that
/// falls for 50 steps and then touches. Later the rounding at impacts grows, but nothing crosses and energy does not.
/// The host waits less than ten times a step.
#[test]
fn a_device_takes_the_steps_of_the_cpu() {
    let Some(on) = opencl() else { return };
    for scene in ["drooping", "drop-horizontal"] {
        // A linearised step with 64 inner iterations (Wu et al. 2022, §8).
        let step = "--solver mas --iterations 1 --inner 64 --fixed";
        let words = format!("--scene {scene} {step} --frames 4 --vertices 441");
        let [here, there] = ["here", "there"].map(|name| Folder::new(&format!("{scene}-{name}")));
        let expected = here.run(&words).unwrap();
        let found = run(on.clone(), &there.parse(&words).unwrap()).unwrap();
        assert_eq!(found.iter().map(|row| row.steps).sum::<usize>(), 83, "{scene}");
        let edge = 1.0 / 20.0;
        for frame in 1..=3 {
            let gap = distance(&here.surface(frame), &there.surface(frame));
            assert!(gap < 1e-3 * edge, "{scene}, frame {frame}: {gap:e}");
        }
        assert!(found.iter().all(|row| row.penetrations == 0), "{scene}");
        check_balance(&found, 1e-3);
        for row in &found[1..] {
            assert!(
                row.synchronisations > 0 && row.synchronisations < 10 * row.steps as u64,
                "{scene}: {row}"
            );
            assert_eq!(row.inner, 64 * row.outer);
        }
        assert!(expected.iter().all(|row| row.synchronisations == 0) && on.transfers().synchronisations > 0);
        assert_eq!(scene == "drop-horizontal", found[3].contacts > 0, "{scene}");
    }
}
