//! Steps on a device.

use coarsen::opencl::Counters;
use examples_run::device::opencl;

use super::*;
use crate::device_step::energies;
use crate::scene::World;

/// A run on a device, and what it has counted.
fn counted(folder: &Folder, words: &str) -> Option<(Vec<Row>, Counters)> {
    let device = opencl()?;
    let AnyBackend::OpenCl(backend) = device.clone() else { unreachable!("a device was chosen") };
    let rows = run(device, &folder.parse(words).unwrap()).unwrap();
    Some((rows, backend.counters()))
}

/// A sheet hangs as on the CPU. For each frame only its positions are transferred, beside scalars, and the bits are those of
/// another run.
#[test]
fn a_sheet_hangs_on_a_device() {
    let [cpu, device, again] = ["hang-cpu", "hang-device", "hang-again"].map(Folder::new);
    let words = "--scene hang --mesh sheet:9 --solver mas --tolerance 1e-8 --iterations 40 --frames";
    let Some((rows, all)) = counted(&device, &format!("{words} 6")) else { return };
    let (_, first) = counted(&again, &format!("{words} 3")).unwrap();
    let on_host = cpu.run(&format!("{words} 6")).unwrap();
    assert!(rows[1..].iter().all(|row| row.outcome == "converged"), "{rows:?}");
    assert_eq!((all.large - first.large, all.uploads - first.uploads), (3, 0), "{all:?} {first:?}");
    for frame in 1..=6 {
        let gap = distance(&device.surface(frame), &cpu.surface(frame));
        assert!(gap < 1e-6, "frame {frame}: {gap:e}");
        assert!(
            (rows[frame].energy - on_host[frame].energy).abs() < 1e-6 * on_host[0].energy.abs(),
            "{rows:?}"
        );
    }
    assert!(device.surface(6)[80][1] < device.surface(0)[80][1] - 0.1, "it falls");
    assert_eq!(device.surface(3), again.surface(3));
    check_balance(&rows, 1e-4);
}

/// A body that falls on a plane, a ball and a bar, by barriers and by penalties, without and with friction.
#[test]
fn bodies_meet_obstacles_on_a_device() {
    let folder = Folder::new("device-obstacles");
    let body =
        "mesh = \"bar:1\"\n[[body]]\nsize = 0.5\ncentre = [0.0, 0.3, 0.0]\nvelocity = [1.0, -1.0, 0.3]\n";
    let plane = "{ plane = { point = [0.0, 0.1, 0.0], normal = [0.1, 1.0, 0.0] } }";
    let ball = "{ sphere = { centre = [0.1, -0.1, 0.02], radius = 0.25 } }";
    let bar = "{ capsule = { from = [0.1, 0.0, -1.0], to = [0.2, 0.05, 1.0], radius = 0.15 } }";
    for (name, shapes) in [("plane", &[plane][..]), ("ball", &[ball]), ("bars", &[bar, ball])] {
        let obstacles: String =
            shapes.iter().map(|shape| format!("[[obstacle]]\nshape = {shape}\n")).collect();
        let file = folder.write(&format!("{name}.toml"), &format!("{body}{obstacles}"));
        for (contact, friction) in [("barrier", 0.0), ("barrier", 0.5), ("penalty", 0.5)] {
            let words = format!("--scene {file} --contact {contact} --friction {friction}");
            let name = format!("device-{name}-{contact}-{friction}");
            let Some((rows, transfers)) = agrees_with_cpu(&name, &words, 6, 0.125) else { return };
            assert!(
                rows[0].contacts == 0 && rows[4..].iter().any(|row| row.contacts > 0),
                "{name}: {rows:?}"
            );
            assert_eq!(transfers, [0, 0], "{name}");
        }
    }
}

/// Two bodies that rub on each other and part: the host computes the steps in which they touch, and the device the others.
#[test]
fn the_host_computes_steps_with_contact_of_bodies() {
    let [cpu, device] = ["bounce-cpu", "bounce-device"].map(Folder::new);
    let text = "mesh = \"bar:1\"\ngravity = [0.0, 0.0, 0.0]\n[[body]]\nsize = 0.5\ncentre = [0.0, 0.0, 0.0]\n\
                [[body]]\nsize = 0.5\ncentre = [0.0, 0.3, 0.0]\nvelocity = [1.0, -3.0, 0.0]\n";
    let file = cpu.write("bounce.toml", text);
    let words =
        format!("--scene {file} --solver mas --tolerance 1e-8 --iterations 60 --friction 0.5 --frames 16");
    let Some((rows, _)) = counted(&device, &words) else { return };
    let on_host = cpu.run(&words).unwrap();
    let touching: Vec<bool> = rows.iter().map(|row| row.contacts > 0).collect();
    assert!(touching.contains(&true) && touching[..2] == [false; 2], "{touching:?}");
    assert!(touching[13..] == [false; 4], "they fly for several steps: {touching:?}");
    for frame in 1..=16 {
        let gap = distance(&device.surface(frame), &cpu.surface(frame));
        assert!(gap < 1e-6, "frame {frame}: {gap:e}");
        assert_eq!(rows[frame].contacts, on_host[frame].contacts);
    }
}

/// A run that continues from a checkpoint has the bits of one without an interruption.
#[test]
fn interrupted_runs_on_a_device_continue() {
    let [whole, parts] = ["device-whole", "device-parts"].map(Folder::new);
    let words = "--scene hang --mesh sheet:9 --solver mas --checkpoint 2 --frames";
    let Some((rows, _)) = counted(&whole, &format!("{words} 4")) else { return };
    counted(&parts, &format!("{words} 2"));
    let (continued, _) = counted(&parts, &format!("{words} 4 --resume")).unwrap();
    assert_eq!(whole.surface(4), parts.surface(4));
    assert_eq!(rows[4].energy.to_bits(), continued[4].energy.to_bits());
}

/// Runs a scene on the CPU and twice on a device, to round-off: positions are equal to 1e-10 of an edge, and have the same bits
/// in both runs. Returns the rows of the device, and what the second half of the frames transfers there: large transfers, and
/// those to the device.
fn agrees_with_cpu(name: &str, words: &str, frames: usize, edge: f64) -> Option<(Vec<Row>, [u64; 2])> {
    let [cpu, device, again] = ["cpu", "device", "again"].map(|run| Folder::new(&format!("{name}-{run}")));
    let words = format!("{words} --solver mas --tolerance 1e-11 --iterations 400 --inner 2000 --frames");
    let (rows, all) = counted(&device, &format!("{words} {frames}"))?;
    let (_, half) = counted(&again, &format!("{words} {}", frames / 2)).unwrap();
    let on_host = cpu.run(&format!("{words} {frames}")).unwrap();
    let scale = on_host.iter().map(|row| row.energy.abs() + row.kinetic + row.elastic).fold(0.0, f64::max);
    for (frame, (found, host)) in rows.iter().zip(&on_host).enumerate().skip(1) {
        let gap = distance(&device.surface(frame), &cpu.surface(frame));
        assert!(gap < 1e-10 * edge, "{name}, frame {frame}: {gap:e}, {found}");
        let gaps = [found.energy - host.energy, found.work - host.work];
        assert!(
            gaps.iter().all(|gap| gap.abs() < 1e-9 * scale),
            "{name}, frame {frame}: {gaps:?}, {scale:e}"
        );
        // At round-off a descent may stagnate just above its tolerance on one of the two.
        assert!(["converged", "stagnated"].contains(&&*found.outcome), "{name}, frame {frame}: {found}");
    }
    assert_eq!(device.surface(frames / 2), again.surface(frames / 2), "{name}");
    Some((rows, [all.large - half.large, all.uploads - half.uploads]))
}

/// For each frame, positions are read; pins that move are written.
#[test]
fn bars_swing_and_turn_on_a_device() {
    let Some((rows, swing)) = agrees_with_cpu("swing", "--scene swing --mesh bar:2", 6, 0.125) else {
        return;
    };
    assert_eq!(swing, [3, 0]);
    check_balance(&rows, 1e-4);
    let (_, twist) = agrees_with_cpu("twist", "--scene twist --mesh bar:2", 6, 0.125).unwrap();
    assert_eq!(twist, [3, 3]);
    // 98 pins are more than 1 KB.
    let (_, twist) = agrees_with_cpu("large-twist", "--scene twist --mesh bar:6", 2, 1.0 / 24.0).unwrap();
    assert_eq!(twist, [2, 1]);
}

/// Attachments that begin, move and end.
#[test]
fn attachments_come_and_go_on_a_device() {
    let folder = Folder::new("come-and-go");
    let text = "mesh = \"bar:1\"\n[[body]]\nsize = 0.5\ncentre = [0.0, 0.6, 0.0]\n\
                [[attachment]]\nnodes = { sides = [\"west\"] }\nuntil = 4\n\
                [[attachment]]\nnodes = { sides = [\"east\"] }\nfrom = 3\nvelocity = [0.0, 0.5, 0.0]\n";
    let file = folder.write("scene.toml", text);
    let Some((_, transfers)) = agrees_with_cpu("come-and-go", &format!("--scene {file}"), 8, 0.125) else {
        return;
    };
    assert_eq!(transfers, [0, 4]); // pins, less than 1 KB
}

/// Every material computes its steps on a device.
#[test]
fn every_material_swings_on_a_device() {
    for material in Material::value_variants() {
        let name = material.to_possible_value().unwrap().get_name().to_owned();
        let words = format!("--scene swing --mesh bar:1 --material {name}");
        let Some((rows, transfers)) = agrees_with_cpu(&name, &words, 4, 0.25) else { return };
        assert_eq!(transfers, [0, 0], "{name}");
        check_balance(&rows, 1e-4); // as on the host
    }
}

/// Scenes that a device cannot compute stay on the host, and the reason is known.
#[test]
fn reasons_for_the_host_are_named() {
    let folder = Folder::new("device-reasons");
    let reason = |words: &str| {
        let options = folder.options(words);
        let setting = Setting::of(&options).unwrap();
        let mut world = World::new(&setting, &setting.meshes().unwrap(), &options.method).unwrap();
        let found = energies(&mut world.forces, &world.timed_attachments, &options.method);
        found.err().unwrap_or_default()
    };
    assert_eq!(reason("--scene hang --mesh sheet:5 --solver mas"), "");
    assert_eq!(reason("--scene twist --mesh bar:1 --solver mas --material arap"), "");
    assert!(reason("--scene hang --mesh sheet:5 --solver sa").contains("--solver mas"));
    assert!(reason("--scene hang --mesh sheet:5 --solver mas --integrator pd").contains("Newton"));
}
