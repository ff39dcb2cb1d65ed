//! Steps on a device: those of the CPU, with counted transfers.

use coarsen::backend::Backend;
use examples_run::device::opencl;
use examples_scene::options::parse;
use mpm::options::Options;
use mpm::rows::Row;

use super::Folder;
use super::example::run;

/// Whether the default device is a GPU.
fn is_card() -> bool {
    #[cfg(feature = "opencl")]
    let found = coarsen::opencl::default_device::<f64>().is_ok_and(|backend| backend.device().accelerator);
    #[cfg(not(feature = "opencl"))]
    let found = false;
    found
}

/// Three steps by every kind of driver take the iterations of the CPU on a device, and end at its energy. A GPU sweeps in
/// colours, so drivers with Gauss-Seidel may take a third more or less there, and end at another point within the tolerance. A
/// step uploads the arrays of the driver once, a gradient for each evaluation, and with Newton's method the Hessian and its
/// diagonal in each iteration. Downloads synchronise, and so do uploads into memory that is there.
#[test]
fn a_device_takes_the_steps_of_the_cpu() {
    let Some(backend) = opencl() else { return };
    // The arrays of a step and of an iteration besides gradients.
    for (driver, arrays) in
        [("hot", Some([33, 0])), ("lbfgs-h", Some([7, 0])), ("pn-pcg", Some([4, 2])), ("pn-mgpcg", None)]
    {
        let arguments = ["--scene", "stretched", "--particles", "1000", "--frames", "2", "--solver", driver];
        let [here, there] = ["here", "there"].map(|name| Folder::new(&format!("device-{driver}-{name}")));
        let expected = here.run(&arguments).unwrap();
        let out = there.path();
        let all = [&["mpm", "--out", out, "--width", "0", "--format", "none"][..], &arguments].concat();
        let before = backend.transfers();
        let options: Options = parse(all).unwrap();
        let found = run(backend.clone(), &options).unwrap();
        let moved = backend.transfers() - before;
        let in_colours = matches!(driver, "hot" | "pn-mgpcg") && is_card();
        for (row, other) in found.iter().zip(&expected) {
            let (allowed, tolerance) = if in_colours { (other.outer / 3 + 1, 1e-4) } else { (0, 1e-6) };
            let apart = row.outer.abs_diff(other.outer);
            assert!(apart <= allowed && row.steps == other.steps, "{driver}: {row} {other}");
            assert!((row.energy - other.energy).abs() <= tolerance * other.energy, "{driver}: {row} {other}");
        }
        let [steps, outer] = [|row: &Row| row.steps, |row: &Row| row.outer]
            .map(|of| found.iter().map(of).sum::<usize>() as u64);
        let gradients = steps + outer;
        if let Some([step, iteration]) = arrays {
            assert_eq!(moved.uploads, step * steps + iteration * outer + gradients, "{driver}: {moved:?}");
            // The first Hessian of a step lies in new memory.
            let waiting = gradients + iteration * (outer - steps);
            // A descent ends with a synchronisation, since x is written after its last gradient is read.
            assert_eq!(moved.synchronisations, moved.downloads + waiting + steps, "{driver}: {moved:?}");
        }
        let nodes = found.iter().map(|row| row.nodes).max().unwrap() as u64;
        assert!(moved.sent > 24 * gradients && moved.received < 24 * nodes * moved.downloads, "{moved:?}");
    }
}
