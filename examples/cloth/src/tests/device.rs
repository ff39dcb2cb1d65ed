//! Steps on a device.

use coarsen::opencl::Counters;

use super::*;
use crate::device_step::energies;
use crate::state::State;
use crate::step::Stepper;
use crate::world::World;

/// A sheet that hangs on two of its sides, without an obstacle.
const HANGS: &str = "[[body]]\nmesh = \"square\"\ncentre = [0.0, 1.0, 0.0]\naxes = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]\n\
                     [[attachment]]\nnodes = { sides = [\"west\", \"south\"] }\n";

/// What a device computes.
const ALONE: &str = "--solver mas --no-self-contact --air 0";

/// The world of a command line.
fn world(options: &Options) -> World {
    let sheet = crate::scene::sheet(options).unwrap();
    World::new(&Scene::new(&sheet, options).unwrap(), &sheet, options).unwrap()
}

/// Why the host computes the steps of a command line; empty if a device does.
fn reason(options: &Options) -> String {
    let World { fixed, forces } = world(options);
    energies(&forces, &fixed, &options.method).err().unwrap_or_default()
}

/// A run on a device, and what it has counted.
fn counted(folder: &Folder, words: &str) -> Option<(Vec<Row>, Counters)> {
    let device = opencl()?;
    let AnyBackend::OpenCl(backend) = device.clone() else { unreachable!("a device was chosen") };
    let rows = run(device, &folder.parse(words).unwrap()).unwrap();
    Some((rows, backend.counters()))
}

/// Runs a scene on the CPU and twice on a device, to round-off: positions are equal to 1e-10 of an edge, and have the same bits
/// in both runs. After the first frame only the positions and the velocities of frames are transferred, beside scalars. Returns
/// the rows of the device.
fn agrees_with_cpu(name: &str, words: &str, edge: f64) -> Option<Vec<Row>> {
    let frames = 4;
    let [cpu, device, again] = ["cpu", "device", "again"].map(|run| Folder::new(&format!("{name}-{run}")));
    let words = format!("{words} {ALONE} --dt 0.01 --frames");
    let (rows, all) = counted(&device, &format!("{words} {frames}"))?;
    let (_, half) = counted(&again, &format!("{words} {}", frames / 2)).unwrap();
    let on_host = cpu.run(&format!("{words} {frames}")).unwrap();
    for (frame, (found, host)) in rows.iter().zip(&on_host).enumerate().skip(1) {
        let gap = distance(&device.surface(frame), &cpu.surface(frame));
        assert!(gap < 1e-10 * edge, "{name}, frame {frame}: {gap:e}, {found}");
        let scale = on_host[0].energy.abs() + host.kinetic + host.elastic;
        for gap in [found.energy - host.energy, found.kinetic - host.kinetic, found.work - host.work] {
            assert!(gap.abs() < 1e-9 * scale, "{name}, frame {frame}: {gap:e}, {scale:e}");
        }
        assert_eq!((found.steps, found.contacts), (host.steps, host.contacts), "{name}, frame {frame}");
    }
    assert_eq!(device.surface(frames / 2), again.surface(frames / 2), "{name}");
    let later = frames as u64 / 2;
    assert_eq!([all.large - half.large, all.uploads - half.uploads], [2 * later, 0], "{name}");
    check_balance(&rows, 1e-3);
    assert!(distance(&device.surface(0), &device.surface(frames)) > 0.01, "{name}: it moves");
    Some(rows)
}

#[test]
fn every_material_hangs_on_a_device() {
    let folder = Folder::new("device-hangs");
    let file = folder.write("hangs.toml", HANGS);
    for material in Material::value_variants() {
        let name = name(material);
        let words = format!("--scene {file} --vertices 81 --material {name}");
        let converged = format!("{words} --tolerance 1e-10 --iterations 60 --inner 2000");
        if agrees_with_cpu(&name, &converged, 0.125).is_none() {
            return;
        }
    }
}

/// The same with fixed numbers of iterations, which suffice for round-off.
#[test]
fn fixed_iterations_are_those_of_the_cpu() {
    let folder = Folder::new("device-fixed");
    let file = folder.write("hangs.toml", HANGS);
    let words = format!("--scene {file} --vertices 81 --fixed --iterations 8 --inner 120 --tolerance 0");
    if let Some(rows) = agrees_with_cpu("fixed", &words, 0.125) {
        assert!(
            rows[1..].iter().all(|row| (row.outer, row.inner) == (8 * row.steps, 120 * row.outer)),
            "{rows:?}"
        );
    }
}

/// With fixed iterations the host waits twice for an iteration of Newton's method: for the slope, and for the first trial of the
/// line search. A step adds its start and its end, a frame two reads, and the first one two writes.
#[test]
fn fixed_iterations_wait_twice() {
    let folder = Folder::new("device-waits");
    let file = folder.write("hangs.toml", HANGS);
    for iterations in [1, 2] {
        let words = format!(
            "--scene {file} --vertices 81 {ALONE} --fixed --iterations {iterations} --inner 64 --tolerance 0 --frames 3"
        );
        let Some((rows, _)) = counted(&folder, &words) else { return };
        for row in &rows[1..] {
            let most = (2 * iterations + 2) * row.steps + 4;
            assert!(row.outer == iterations * row.steps && row.synchronisations <= most as u64, "{row:?}");
        }
    }
}

/// A run that continues from a checkpoint has the bits of one without an interruption, also with contact of triangles, whose lists
/// have other lengths then.
#[test]
fn interrupted_runs_on_a_device_continue() {
    let folder = Folder::new("device-continues");
    let file = folder.write("hangs.toml", HANGS);
    let hangs = format!("--scene {file} --vertices 81 {ALONE}");
    let falls = "--scene drop-horizontal --vertices 81 --solver mas --air 0 --dt 0.01 --frame-steps 6";
    for (name, words) in [("hangs", &hangs[..]), ("falls", falls)] {
        let [whole, parts] = ["whole", "parts"].map(|run| Folder::new(&format!("device-{name}-{run}")));
        let words = format!("{words} --checkpoint 2 --frames");
        let Some((rows, _)) = counted(&whole, &format!("{words} 4")) else { return };
        counted(&parts, &format!("{words} 2"));
        let (continued, _) = counted(&parts, &format!("{words} 4 --resume")).unwrap();
        assert_eq!(whole.surface(4), parts.surface(4), "{name}");
        assert_eq!(rows[4].energy.to_bits(), continued[4].energy.to_bits(), "{name}");
        assert!(name == "hangs" || rows[4].contacts > 0, "{rows:?}");
    }
}

/// Sheets above the ground, and one that falls on a ball which turns below it, with friction.
#[test]
fn obstacles_are_those_of_the_cpu() {
    let words = "--tolerance 1e-10 --iterations 400 --inner 2000";
    for scene in ["pinned", "drooping"] {
        if agrees_with_cpu(scene, &format!("--scene {scene} --vertices 81 {words}"), 0.125).is_none() {
            return;
        }
    }
    let sphere = format!("--scene sphere --vertices 49 {words} --frame-steps 9");
    let rows = agrees_with_cpu("sphere", &sphere, 1.0 / 6.0).unwrap();
    assert!(rows[4].contacts > 0 && rows[4].work != 0.0, "{rows:?}");
}

/// Sheets fall on a box of triangles and on a ball that turns, and one folds, with contact and friction of triangles on the device.
/// Until something touches, positions are those of the CPU; after that nothing crosses, and two runs have the same bits.
#[test]
fn triangles_touch_on_a_device() {
    let scenes = [("drop-horizontal", 6, 81), ("sphere", 9, 49), ("drop-vertical", 6, 64)];
    for (scene, frames, vertices) in scenes {
        let [cpu, device, again] =
            ["cpu", "device", "again"].map(|run| Folder::new(&format!("touch-{scene}-{run}")));
        let words = format!(
            "--scene {scene} --vertices {vertices} --solver mas --air 0 --dt 0.01 --tolerance 1e-10 --iterations 400 --inner 2000 \
             --frames {frames}"
        );
        let Some((rows, _)) = counted(&device, &words) else { return };
        assert_eq!(reason(&device.parse(&words).unwrap()), "", "{scene}");
        let on_host = cpu.run(&words).unwrap();
        let touches = rows.iter().position(|row| row.contacts > 0).unwrap();
        assert_eq!(on_host.iter().position(|row| row.contacts > 0), Some(touches), "{scene}");
        for frame in 0..touches {
            let gap = distance(&device.surface(frame), &cpu.surface(frame));
            assert!(gap < 1e-10 * 0.125, "{scene}, frame {frame} of {touches}: {gap:e}");
        }
        assert!(rows.iter().all(|row| row.penetrations == 0 && row.converged == row.steps), "{rows:?}");
        assert!(rows[frames].work != 0.0, "{scene}: friction works, {rows:?}");
        check_balance(&rows, 1e-3);
        counted(&again, &words);
        assert_eq!(device.surface(frames), again.surface(frames), "{scene}");
    }
}

/// While triangles touch, a frame whose lists of contact do not grow transfers the positions and the velocities, beside scalars. The
/// host waits at most three times for an iteration of Newton's method with its line search, and five times more for a step.
#[test]
fn frames_in_contact_transfer_only_states() {
    let Some(device) = opencl() else { return };
    let AnyBackend::OpenCl(backend) = device.clone() else { unreachable!("a device was chosen") };
    for scene in ["drop-horizontal", "drop-vertical"] {
        let folder = Folder::new(&format!("device-transfers-{scene}"));
        let words = format!(
            "--scene {scene} --vertices 81 --solver mas --air 0 --dt 0.01 --fixed --iterations 4 --inner 64 --tolerance 0"
        );
        let options = folder.parse(&words).unwrap();
        let (mut host, own) = (world(&options), world(&options));
        let mut state = State::start(&own.fixed);
        let mut stepper = Stepper::new(own, &state, &options.method, &device).unwrap();
        let (mut compared, mut work) = (0, 0.0);
        for frame in 1..=10 {
            let before = backend.counters();
            let row = stepper.frame(&mut state).unwrap();
            let now = backend.counters();
            let pairs = host.forces.first.second.detect(&state.x).unwrap().len();
            if frame > 1 && pairs > 0 && now.allocations == before.allocations {
                let transfers = [now.large - before.large, now.uploads - before.uploads];
                assert_eq!(transfers, [2, 0], "{scene}, frame {frame}");
                let most = 3 * row.outer + 5 * row.steps + 4;
                assert!(row.synchronisations <= most as u64, "{scene}, frame {frame}: {row:?}");
                compared += 1;
            }
            assert!(pairs == 0 || state.work != work, "{scene}, frame {frame}: friction works");
            work = state.work;
        }
        assert!(compared > 2, "{scene}: {compared}");
    }
}

/// What a device does not compute is named.
#[test]
fn reasons_for_the_host_are_named() {
    let folder = Folder::new("device-reasons");
    let file = folder.write("hangs.toml", HANGS);
    let reason = |words: &str| reason(&folder.parse(words).unwrap());
    let alone = format!("--scene {file} {ALONE}");
    assert_eq!(reason(&alone), "");
    for (words, part) in [
        (format!("--scene {file} --no-self-contact --air 0"), "--solver mas"),
        (format!("--scene {file} --no-self-contact --solver mas"), "--air 0"),
        (format!("{alone} --damping 0.1"), "--damping"),
        (format!("{alone} --obstacles constraints"), "--obstacles"),
        (format!("--scene twist {ALONE}"), "motion"),
    ] {
        assert!(reason(&words).contains(part), "{words}: {}", reason(&words));
    }
}
