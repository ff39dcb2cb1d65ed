//! The same steps on a device: 64 iterations in each linear solve, one linearised step (Wu et al. 2022, §8).

use super::*;
use crate::sheet::{Sheet, Tessellation};
use crate::state::State;
use crate::step::Stepper;
use crate::world::World;
use coarsen::opencl::default_device;
use coarsen::schwarz::Place;

/// The vertices along a side.
const SIDE: usize = 21;

/// The state after a frame of 20 steps of 2 ms, with `watch` called before and after.
fn frame<B: Place<Real = f64>>(scene: SceneChoice, on: &B, mut watch: impl FnMut(&B)) -> (State, usize) {
    let fixed = ["cloth", "--solver", "sa", "--iterations", "1", "--inner", "64", "--fixed"];
    let options = Options::parse_from(fixed);
    let sheet = Sheet::square(SIDE, Tessellation::Regular, false);
    let world = World::new(&scene.scene(&sheet), &sheet, &options).unwrap();
    let mut state = State::start(&world.fixed);
    let mut stepper = Stepper::new(world, &state, &options.method, on).unwrap();
    watch(on);
    let row = stepper.frame(&mut state).unwrap();
    watch(on);
    (state, row.steps)
}

/// Positions on the device are those on the CPU, and the host waits less than ten times in a step. The copies of
/// positions and gradients for energies and contact, which stay on the host, are counted apart.
#[test]
fn a_device_takes_the_same_steps() {
    let on = match default_device::<f64>() {
        Ok(on) => on,
        Err(absent) => {
            assert!(std::env::var_os("COARSEN_REQUIRE_OPENCL").is_none(), "{absent}");
            println!("no device: {absent}");
            return;
        }
    };
    for scene in [SceneChoice::Drooping, SceneChoice::Sphere] {
        let mut counts = Vec::new();
        let (there, steps) = frame(scene, &on, |on| counts.push(on.counters().waits));
        let (here, _) = frame(scene, &Cpu::new(), |_| ());
        let gap = here.x.iter().zip(&there.x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let edge = 1.0 / (SIDE - 1) as f64;
        let waits = (counts[1] - counts[0]) as f64 / steps as f64;
        println!("{scene:?}: {gap:e} m apart, {waits:.1} waits in a step");
        assert!(gap < 1e-3 * edge, "{scene:?}: {gap:e}");
        assert!(waits < 40.0, "{scene:?}: {waits} waits in a step");
    }
}
