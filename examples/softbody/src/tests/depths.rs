//! Friction of soft bodies, contact of a body with itself, and depths that nothing tests.

use super::*;
use crate::part::Depths;
use crate::scene::{Setting, World};

/// A bar that slides on the ground is held back by μ m g, with barriers and with penalties; without friction it goes on.
#[test]
fn friction_stops_bodies() {
    let folder = Folder::new("friction");
    // It begins where the ground carries it: at the end of a barrier of a tenth of an edge, or at a small depth.
    let travel = |contact: &str, friction: &str, height: f64| {
        let text = format!(
            "[[body]]\nmesh = \"bar:1\"\nmaterial = {{ young = 1e6 }}\ncentre = [0.0, {height}, 0.0]\nvelocity = [1.0, 0.0, 0.0]\n\n\
             [[obstacle]]\nshape = {{ plane = {{ point = [0.0, 0.0, 0.0], normal = [0.0, 1.0, 0.0] }} }}\n"
        );
        let scene = folder.write("slide.toml", &text);
        let of = format!("--contact {contact} --friction {friction}");
        let rows = folder.run(&format!("--scene {scene} --frames 20 --dt 0.01 {of}")).unwrap();
        check_balance(&rows, 1e-3);
        let mean = |frame: usize| {
            let x = folder.surface(frame);
            x.iter().map(|p| p[0]).sum::<f64>() / x.len() as f64
        };
        mean(20) - mean(0)
    };
    for (contact, height) in [("barrier", 0.125 + 0.0281), ("penalty", 0.125 - 2.3e-5)] {
        let (free, held) = (travel(contact, "0", height), travel(contact, "0.4", height));
        assert!((free - 0.2).abs() < 1e-3, "{contact}: {free}");
        // v t − μ g t²/2
        let expected = 0.2 - 0.5 * 0.4 * 9.81 * 0.04;
        assert!((held - expected).abs() < 0.15 * (free - expected), "{contact}: {held} for {expected}");
    }
}

/// A bar on a moving bar goes along with it by friction, with barriers and with penalties.
#[test]
fn bodies_rub_each_other() {
    let folder = Folder::new("rub");
    let text = "[[body]]\nmesh = \"bar:1\"\ncentre = [0.0, 0.2, 0.0]\nvelocity = [1.0, 0.0, 0.0]\n\n\
        [[body]]\nmesh = \"bar:1\"\nsize = 0.5\ncentre = [0.01, 0.41, 0.01]\n\n\
        [[obstacle]]\nshape = { plane = { point = [0.0, 0.05, 0.0], normal = [0.0, 1.0, 0.0] } }\n";
    let scene = folder.write("rub.toml", text);
    let travel = |contact: &str, friction: &str| {
        let of = format!("--young 1e6 --contact {contact} --friction {friction}");
        folder.run(&format!("--scene {scene} --frames 20 --dt 0.01 {of}")).unwrap();
        folder.surface(20)[20][0] - folder.surface(0)[20][0] // a node of the second bar
    };
    for contact in ["barrier", "penalty"] {
        let (free, rubbed) = (travel(contact, "0"), travel(contact, "0.5"));
        assert!(free.abs() < 0.02 && rubbed > free + 0.01, "{contact}: {free} {rubbed}");
    }
}

/// One bar has no contact with itself, and the table and the summary say that nothing tests it; a twisted bar has it.
#[test]
fn depths_that_nothing_tests_are_not_zero() {
    let folder = Folder::new("depths");
    let run = |more: &str| {
        let rows = folder.run(&format!("--frames 1 {more}")).unwrap();
        (rows, folder.text("summary.txt"))
    };
    let (rows, summary) = run("--mesh bar:1");
    assert!(rows.iter().all(|row| row.penetration == Some(0.0) && row.overlap.is_none()));
    assert!(summary.contains("in bodies, mm           not tested"), "{summary}");
    let alone = folder.write("alone.toml", "[[body]]\nmesh = \"bar:1\"\n");
    let (rows, summary) = run(&format!("--scene {alone}"));
    assert!(rows.iter().all(|row| row.penetration.is_none() && row.overlap.is_none()));
    assert!(summary.matches("not tested").count() == 2, "{summary}");
    let (rows, summary) = run("--scene twist --mesh bar:1");
    assert!(rows.iter().all(|row| row.overlap == Some(0.0)) && !summary.contains("not tested"), "{summary}");
    let line = folder.text("frames.csv");
    assert!(line.lines().nth(2).unwrap().contains(",0e0,0e0,"), "{line}");
}

/// Which scenes have contact of a body with itself, and that a mesh which is not fit for it runs without.
#[test]
fn bodies_that_can_touch_themselves_do() {
    let folder = Folder::new("self");
    let world = |more: &str| {
        let options = folder.options(more);
        let setting = Setting::of(&options).unwrap();
        let meshes = setting.meshes().unwrap();
        World::new(&setting, &meshes, &options.method).unwrap()
    };
    let touches = |World { mut forces, mut inside, positions, .. }: World| {
        let depths = Depths::of(&mut forces, inside.as_mut(), positions.as_flattened()).unwrap();
        depths.bodies.is_some() || forces.parts_mut().iter_mut().any(|part| part.surface().is_some())
    };
    assert!(!touches(world("--mesh bar:1")));
    assert!(touches(world("--scene hang --mesh sheet:5")));
    assert!(touches(world("--scene twist --mesh bar:1 --contact penalty")));
    // A body of a file may touch itself: two tetrahedra with a common face.
    let nodes = "1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n";
    let two = format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n{nodes}$EndNodes\n\
         $Elements\n2\n1 4 0 1 2 3 4\n2 4 0 2 3 4 5\n$EndElements\n"
    );
    let of_file = world(&format!("--mesh {}", folder.write("two.msh", &two)));
    assert!(of_file.apart.is_none() && touches(of_file));
    // Penalties do not take a sheet, and no contact a triangle without area.
    let sheet = world("--scene hang --mesh sheet:5 --contact penalty");
    assert!(matches!(sheet.apart, Some(SceneError::NoContact { index: 0 })) && !touches(sheet));
    let flat = "v 0 0 0\nv 1 0 0\nv 0.5 0 1\nv 0.5 0 0\nf 1 4 2\nf 1 2 3\n";
    let mesh = folder.write("flat.obj", flat);
    let body = world(&format!("--mesh {mesh}"));
    assert!(matches!(body.apart, Some(SceneError::Body { index: 0, .. })) && !touches(body));
}
