//! Scene files and options with faults: the error names the table and the key.

use clap::Parser;
use examples_run::Failure;
use examples_scene::SceneError as Fault;
use examples_scene::options::OptionsError;
use mpm::fault::{MethodError, SceneError};
use mpm::options::Options;

use super::Folder;

pub(super) const BODY: &str = "[[body]]\nshape = { sphere = { centre = [0.0, 0.0, 0.0], radius = 0.2 } }\n";
const FLOW: &str = "velocity = [0.0, -1.0, 0.0]\nuntil = 1.0\n";
pub(super) const OF: &str = "material = { density = 1000.0, young = 1e5, poisson = 0.3 }\n";

const COLLIDER: &str = "[[obstacle]]\nshape = { sphere = { centre = [0.0, -1.0, 0.0], radius = 0.2 } }\n";

/// The table and the key of the fault in a row.
fn key(error: &Failure, row: usize) -> (&str, &str) {
    let of_file = match error.downcast_ref() {
        Some(OptionsError::Scene(fault)) => Some(fault),
        _ => None,
    };
    let of_program = match error.downcast_ref() {
        Some(SceneError::Scene(fault)) => Some(fault),
        _ => None,
    };
    let Some(Fault::Key { key, .. }) = of_file.or(of_program) else { panic!("{error}") };
    match key.split_once(']') {
        Some((table, rest)) => {
            let (table, index) = table.split_once('[').unwrap();
            assert_eq!(index, row.to_string(), "{error}");
            (table, rest.trim_start_matches('.'))
        }
        None => ("scene", key),
    }
}

#[test]
fn scenes_name_the_key_that_is_wrong() {
    let folder = Folder::new("keys");
    let run = |text: &str| {
        let scene = folder.write("scene.toml", text);
        folder.run(&["--scene", &scene, "--frames", "1"]).unwrap_err()
    };
    let ball = format!("{BODY}{OF}");
    for (text, part) in [
        (format!("gravitation = 3\n{ball}"), "gravitation"),
        (format!("{ball}colour = 3\n"), "colour"),
        (format!("{BODY}material = {{ densty = 3.0 }}\n"), "densty"),
        (format!("{ball}[[obstacle]]\nshape = {{ cone = {{ radius = 3.0 }} }}\n"), "cone"),
        (format!("{ball}[[obstacle]]\nshape = {{ sphere = {{ centre = [0.0, 0.0, 0.0] }} }}\n"), "radius"),
    ] {
        let error = run(&text);
        assert!(
            matches!(
                error.downcast_ref(),
                Some(OptionsError::Scene(Fault::Format { .. } | Fault::Key { .. }))
            ),
            "{error}"
        );
        let message = error.to_string();
        assert!(
            message.contains(part) && message.contains("scene.toml") && message.contains("line"),
            "{message}"
        );
    }
    for (text, expected) in [
        (format!("grid.dx = 0.0\n{ball}"), ("scene", "grid.dx")),
        (format!("time.frame = 3\n{ball}"), ("scene", "time.frame")),
        (ball.replace("poisson = 0.3", "stiffness = 2.0"), ("body", "material.stiffness")),
        (
            format!(
                "{}{FLOW}{}",
                BODY.replace("body", "emitter"),
                OF.replace("poisson = 0.3", "bending = 2.0")
            ),
            ("emitter", "material.bending"),
        ),
        (format!("gravity = [0.0, nan, 0.0]\n{ball}"), ("scene", "gravity")),
        (
            format!("{BODY}material = {{ density = -1.0, young = 1.0, poisson = 0.3 }}\n"),
            ("body", "material.density"),
        ),
        (
            format!("{BODY}material = {{ density = 1.0, young = 1.0, poisson = 0.5 }}\n"),
            ("body", "material.poisson"),
        ),
        (format!("{ball}velocity = [inf, 0.0, 0.0]\n"), ("body", "velocity")),
        (format!("{ball}stretch = [0.3, 1.0, 1.0]\nscatter = [0.5, 1]\n"), ("body", "scatter")),
        (ball.replace("0.2", "-0.2"), ("body", "shape.sphere.radius")),
        (
            format!(
                "{ball}[[obstacle]]\nshape = {{ plane = {{ point = [0.0, 0.0, 0.0], normal = [0.0, 0.0, 0.0] }} }}\n"
            ),
            ("obstacle", "shape.plane.normal, its length"),
        ),
        (format!("{ball}{}gone = nan\n", BODY.replace("body", "obstacle")), ("obstacle", "gone")),
        (format!("{ball}[view]\nazimuth = nan\n"), ("scene", "view.azimuth")),
        (format!("{ball}[view]\nelevation = inf\n"), ("scene", "view.elevation")),
        (
            format!(
                "{ball}[[emitter]]\nshape = {{ plane = {{ point = [0.0, 0.0, 0.0], normal = [0.0, 1.0, 0.0] }} }}\n{FLOW}{OF}"
            ),
            ("emitter", "shape.plane, its volume"),
        ),
    ] {
        let error = run(&text);
        assert_eq!(key(&error, 0), expected);
    }
    for dt in ["0.1", "1e-9"] {
        let step = run(&format!("time.dt = {dt}\n{ball}"));
        assert!(matches!(step.downcast_ref(), Some(SceneError::Step { .. })), "{step}");
    }
    let missing = run(BODY);
    assert!(
        key(&missing, 0) == ("body", "material.density") && missing.to_string().contains("missing"),
        "{missing}"
    );
    let missing =
        run(&format!("{ball}{}{FLOW}material = {{ density = 1.0 }}\n", BODY.replace("body", "emitter")));
    assert!(
        key(&missing, 0) == ("emitter", "material.young") && missing.to_string().contains("missing"),
        "{missing}"
    );
    let both = run(&format!("{ball}mesh = \"ball.obj\"\n"));
    assert!(key(&both, 0) == ("body", "shape") && both.to_string().contains("not both"), "{both}");
    let empty = run("grid.dx = 0.1\n");
    assert!(key(&empty, 0) == ("scene", "body") && empty.to_string().contains("missing"), "{empty}");
    let nowhere = folder.run(&["--scene", "nowhere.toml"]).unwrap_err();
    assert!(matches!(nowhere.downcast_ref(), Some(OptionsError::Scene(Fault::Read { .. }))), "{nowhere}");
    let data = folder.run(&["--scene", "armacat"]).unwrap_err();
    assert!(matches!(data.downcast_ref(), Some(SceneError::Data { .. })), "{data}");
}

/// Without a largest step, steps are as long as a frame at any rate.
#[test]
fn a_rate_alone_is_a_scene() {
    let folder = Folder::new("rate");
    let scene = folder.write("scene.toml", &format!("time.rate = 48.0\ngrid.dx = 0.1\n{BODY}{OF}"));
    let rows = folder.run(&["--scene", &scene, "--frames", "2"]).unwrap();
    assert_eq!((rows[1].steps, rows[2].steps), (1, 1));
}

#[test]
fn options_that_a_scene_does_not_use_are_refused() {
    let folder = Folder::new("options");
    for (arguments, expected) in [
        (["--scene", "twist", "--stiff", "1e6"], "--stiff"),
        (["--scene", "bar", "--seed", "3"], "--seed"),
        (["--scene", "stretched", "--data", "."], "--data"),
    ] {
        let error = folder.run(&arguments).unwrap_err();
        let Some(SceneError::Option { option, .. }) = error.downcast_ref() else { panic!("{error}") };
        assert_eq!(*option, expected);
    }
}

#[test]
fn scenes_that_are_too_large_are_refused() {
    let folder = Folder::new("large");
    let long =
        format!("grid.dx = 0.1\n{}{}{OF}", BODY.replace("body", "emitter"), FLOW.replace("1.0\n", "1e30\n"));
    let long = folder.write("long.toml", &long.replace("grid.dx", "time.frames = 1000000000000\ngrid.dx"));
    for arguments in [
        ["--scene", "boxes", "--dx", "1e-6"],
        ["--scene", "boxes", "--particles", "1000000000000"],
        ["--scene", &long, "--dx", "0.1"],
    ] {
        let error = folder.run(&arguments).unwrap_err();
        assert!(key(&error, 0).1 == "shape" && error.to_string().contains("points"), "{error}");
    }
}

/// The bound is one of all bodies together.
#[test]
fn scenes_of_many_large_bodies_are_refused() {
    let folder = Folder::new("many");
    let scene = folder.write("many.toml", &format!("grid.dx = 0.0024\n{BODY}{OF}{BODY}{OF}"));
    let error = folder.run(&["--scene", &scene]).unwrap_err();
    assert_eq!(key(&error, 1), ("body", "shape"));
    assert!(
        error.to_string().contains("line 6: body 1 (from 0): shape brings the scene to about 7."),
        "{error}"
    );
}

/// An emitter that is narrower than its particles emits hardly any.
#[test]
fn narrow_emitters_are_refused() {
    let folder = Folder::new("narrow");
    let emitter = |radius: &str| {
        format!(
            "grid.dx = 0.1\ntime.frames = 2\n{}{FLOW}{OF}",
            BODY.replace("body", "emitter").replace("0.2", radius)
        )
    };
    let scene = folder.write("narrow.toml", &emitter("0.001"));
    let error = folder.run(&["--scene", &scene]).unwrap_err();
    assert!(key(&error, 0) == ("emitter", "shape") && error.to_string().contains("cross-section"), "{error}");
    let scene = folder.write("wide.toml", &emitter("0.1"));
    assert!(folder.run(&["--scene", &scene]).unwrap()[2].particles > 0);
}

#[test]
fn bodies_without_volume_are_refused() {
    let folder = Folder::new("volume");
    let hidden = format!("grid.dx = 0.05\n{BODY}{OF}{}{OF}", BODY.replace("0.2", "0.5"));
    let small = format!("grid.dx = 1.0\n{}{OF}", BODY.replace("0.2", "0.001"));
    for text in [hidden, small] {
        let scene = folder.write("scene.toml", &text);
        let error = folder.run(&["--scene", &scene]).unwrap_err();
        assert!(key(&error, 0) == ("body", "shape") && error.to_string().contains("zero volume"), "{error}");
    }
}

/// The number outside its range is named, also where its key has two of them.
#[test]
fn scenes_name_the_number_that_is_wrong() {
    let folder = Folder::new("numbers");
    let of = |more: &str| format!("{BODY}material = {{ density = 1e3, poisson = 0.3, {more} }}\n");
    let axis = |shape: &str, from: &str, radius: &str| {
        let shape =
            format!("{shape} = {{ from = [{from}, 0.0, 0.0], to = [1.0, 0.0, 0.0], radius = {radius} }}");
        format!("{BODY}{OF}[[obstacle]]\nshape = {{ {shape} }}\n")
    };
    for (text, named, value) in [
        (of("young = 1e300"), "material.young", 1e300),
        (of("young = 1e-300"), "material.young", 1e-300),
        (of("young = 1e5").replace("1e3", "1e200"), "material.density", 1e200),
        (of("young = 1e5, granular = [0.0, 1.1]"), "material.granular[0]", 0.0),
        (of("young = 1e5, granular = [1.1, 1.2]"), "material.granular[0]", 1.1),
        (of("young = 1e5, granular = [0.9, 0.95]"), "material.granular[1]", 0.95),
        (of("young = 1e5, granular = [0.9, nan]"), "material.granular[1]", f64::NAN),
        (of("young = 1e5, granular = [0.9, inf]"), "material.granular[1]", f64::INFINITY),
        (axis("capsule", "nan", "0.1"), "shape.capsule.from", f64::NAN),
        (axis("capsule", "0.0", "nan"), "shape.capsule.radius", f64::NAN),
        (axis("capsule", "1.0", "0.1"), "shape.capsule.to less capsule.from, its length", 0.0),
        (axis("cylinder", "inf", "0.1"), "shape.cylinder.from", f64::INFINITY),
        (axis("cylinder", "0.0", "-1.0"), "shape.cylinder.radius", -1.0),
    ] {
        let scene = folder.write("scene.toml", &text);
        let error = folder.run(&["--scene", &scene, "--frames", "1"]).unwrap_err();
        assert_eq!(key(&error, 0).1, named);
        assert!(error.to_string().contains(&format!("{named} is {value:?}, but must be")), "{error}");
    }
}

/// A key that has no effect is refused, and the error says with what it works.
#[test]
fn keys_without_effect_are_refused() {
    let folder = Folder::new("unused");
    let run = |text: &str| {
        let scene = folder.write("scene.toml", &format!("grid.dx = 0.1\n{text}"));
        folder.run(&["--scene", &scene, "--frames", "1"])
    };
    let ball = format!("{BODY}{OF}");
    let plane = "[[obstacle]]\nshape = { plane = { point = [0.0, -1.0, 0.0], normal = [0.0, 1.0, 0.0] } }\n";
    let block = "[[obstacle]]\nshape = { box = { low = [-1.0, -2.0, -1.0], high = [1.0, -1.0, 1.0] } }\n";
    let emitter = format!("{}{FLOW}{OF}", BODY.replace("body", "emitter"));
    let flow = OF.replace("poisson = 0.3", "poisson = 0.3, yield_stress = 1e3, granular = [0.99, 1.001]");
    for (text, table, named, works) in [
        (format!("{ball}{COLLIDER}friction = 0.5\n"), "obstacle", "friction", "separating"),
        (format!("{ball}{COLLIDER}kind = \"sticky\"\nfriction = 0.5\n"), "obstacle", "friction", "slip"),
        (format!("{ball}{plane}cells = 1.0\n"), "obstacle", "cells", "capsule"),
        (format!("{ball}{block}cells = 1.0\n"), "obstacle", "cells", "torus"),
        (format!("{ball}[[obstacle]]\nmesh = \"x.obj\"\ncells = 1.0\n"), "obstacle", "cells", "a mesh"),
        (format!("{ball}size = 2.0\n"), "body", "size", "`mesh`"),
        (format!("{BODY}{flow}"), "body", "material.yield_stress", "material.granular"),
        (emitter.replace(OF, &flow), "emitter", "material.yield_stress", "material.granular"),
        (format!("{emitter}swing = [0.1, 0.0, 0.0]\n"), "emitter", "swing", "same axis"),
        (format!("{emitter}swing_rate = [0.0, 90.0, 0.0]\n"), "emitter", "swing_rate", "same axis"),
    ] {
        let error = run(&text).unwrap_err();
        let text = error.to_string();
        assert!(
            key(&error, 0) == (table, named) && text.contains("no effect") && text.contains(works),
            "{text}"
        );
    }
    for good in ["kind = \"slip\"\nfriction = 0.5\ncells = 1.0\n", "friction = 0.0\n"] {
        run(&format!("{ball}{COLLIDER}{good}")).unwrap();
    }
    run(&format!("{BODY}material = \"rubber\"\n")).unwrap();
    run(&format!("{emitter}swing = [0.1, 0.0, 0.0]\nswing_rate = [9.0, 0.0, 0.0]\n")).unwrap();
}

/// Only balls and boxes emit: the flow of other shapes is not known.
#[test]
fn emitters_of_other_shapes_are_refused() {
    let folder = Folder::new("emitters");
    let ends = "from = [0.0, 0.0, 0.0], to = [1.0, 0.0, 0.0], radius = 0.2";
    for (name, shape) in [
        ("torus", "torus = { centre = [0.0, 0.0, 0.0], axis = [0.0, 1.0, 0.0], radii = [0.3, 0.1] }"),
        ("capsule", &format!("capsule = {{ {ends} }}")),
        ("cylinder", &format!("cylinder = {{ {ends} }}")),
    ] {
        let text = format!("grid.dx = 0.1\n[[emitter]]\nshape = {{ {shape} }}\n{FLOW}{OF}");
        let scene = folder.write("scene.toml", &text);
        let error = folder.run(&["--scene", &scene, "--frames", "1"]).unwrap_err();
        assert_eq!(key(&error, 0), ("emitter", "shape"));
        assert!(error.to_string().contains(&format!("is a {name}, but only a sphere or a box")), "{error}");
    }
}

/// `--inner` bounds the linear solves of Newton's method, and L-BFGS has none.
#[test]
fn options_that_a_solver_does_not_use_are_refused() {
    let folder = Folder::new("inner");
    let scene = folder.write("scene.toml", &format!("grid.dx = 0.1\n{BODY}{OF}"));
    let run =
        |solver: &str| folder.run(&["--scene", &scene, "--frames", "1", "--solver", solver, "--inner", "50"]);
    for solver in ["hot", "hot-quadratic", "lbfgs-h", "lbfgs-sa", "lbfgs-mas"] {
        let error = run(solver).unwrap_err();
        let Some(MethodError { option: "--inner", solver: named }) = error.downcast_ref() else {
            panic!("{error}")
        };
        let text = error.to_string();
        assert!(named.name() == solver && text.contains("pn-") && text.contains("auto"), "{text}");
    }
    for solver in ["pn-pcg", "auto"] {
        run(solver).unwrap();
    }
    // These need more of the objective than the system.
    for solver in ["pn-mf", "gast", "lbfgs-gmg", "pn-gmg-pcg"] {
        let error = Options::try_parse_from(["mpm", "--solver", solver]).unwrap_err();
        assert!(error.to_string().contains("possible values: hot, "), "{error}");
    }
}
