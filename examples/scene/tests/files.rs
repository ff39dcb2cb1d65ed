//! Scene files: what is read, and faults with their line and key.

use clap::Parser;
use examples_scene::options::{Choice, Options, parse};
use examples_scene::{Pick, Scene, SceneError, Side};

#[path = "../../../tests/common/outputs.rs"]
mod outputs;

const BODY: &str = "[[body]]\nmesh = \"a.obj\"\n";

fn scene(text: &str) -> Result<Scene, SceneError> {
    Scene::parse(text, "x.toml".into())
}

/// The listing of the documentation is a scene.
#[test]
fn the_listing_is_a_scene() {
    let source = include_str!("../src/lib.rs");
    let text = source.split("//! ```").nth(1).expect("a listing").replace("//! ", "").replace("//!", "");
    let scene = scene(text.trim_start_matches("toml")).unwrap();
    assert!(scene.body[0].material.young == Some(1e5) && scene.obstacle[0].friction == 0.3);
    assert_eq!(scene.source.value("time.frames", "a number", |_: &usize| true).unwrap(), Some(48));
}

/// A fault has the line and the key, also where a key is missing, and in a row of a table.
#[test]
fn faults_have_a_line_and_a_key() {
    for (text, expected) in [
        ("version = 7\n", &["x.toml", "line 1: version", "reads version 1"][..]),
        ("gravity = [0.0, nan, 0.0]\n", &["line 1: gravity is NaN, but must be finite"]),
        ("\n[[attachment]]\nnodes = { top = 1.5 }\n", &["line 3: attachment 0 (from 0): nodes.top is 1.5"]),
        (
            "[[attachment]]\nnodes = { top = 0.5 }\nbody = 2\n",
            &["line 3: attachment 0", "body refers to body 2"],
        ),
        (
            "[[obstacle]]\n\nshape = { sphere = { centre = [0.0, 0.0, 0.0], radius = -1.0 } }\n",
            &["line 3: obstacle 0 (from 0): shape.sphere.radius is -1.0, but must be positive"],
        ),
        ("[[obstacle]]\nkind = \"slip\"\n", &["line 2: obstacle 0 (from 0): shape or mesh"]),
        ("[[obstacle]]\nkind = \"sliding\"\n", &["line 2", "sliding", "separating"]),
        ("[motion]\nspin = 3\n", &["line 2", "spin", "twist"]),
        ("[[body]]\nsise = 0.5\n", &["line 2", "unknown field `sise`", "did you mean `size`?"]),
        ("[[obstacle]]\nkind = \"separatin\"\n", &["line 2", "did you mean `separating`?"]),
        ("[solvr]\niterations = 3\n", &["line 1", "did you mean `solver`?"]),
        ("version = 2\nnew_key = 3\n", &["line 1: version is 2, but this program reads version 1"]),
        ("version = 0x2\n", &["line 1: version is 2, but this program reads version 1"]),
        (
            "[motion]\npush = { reach = 0.5, period = 0.0 }\n",
            &["line 2: motion.push.period is 0.0, but must be positive"],
        ),
        ("[motion]\npush = { reach = nan, period = 1.0 }\n", &["motion.push.reach is NaN"]),
        ("[motion]\ntwist = { through = [0.0, 1.0, 0.0], rate = inf }\n", &["motion.twist.rate is inf"]),
        ("[motion]\nwalk = { swing = 30.0, pace = nan, bob = 0.1 }\n", &["motion.walk.pace is NaN"]),
        ("[motion]\nwalk = { swing = 30.0, pace = 1.0, bob = inf }\n", &["motion.walk.bob is inf"]),
        (
            "[[attachment]]\nnodes = { box = [[nan, 0.0, 0.0], [1.0, 1.0, 1.0]] }\n",
            &["line 2: attachment 0 (from 0): nodes.box is NaN"],
        ),
        (
            "[[obstacle]]\nmesh = \"b.obj\"\nmotion = [\n    { until = 1.0 },\n    { until = 0.5 },\n]\n",
            &["line 5: obstacle 0 (from 0): motion[1].until is 0.5, but must be later"],
        ),
        (
            "[[obstacle]]\nshape = { sphere = { centre = [0.0, 0.0, 0.0], radius = 1.0 } }\nsize = 2.0\n",
            &["line 3: obstacle 0 (from 0): size has no effect on a shape"],
        ),
        ("[[obstacle]]\nframes = [\"b.obj\"]\nsize = 2.0\n", &["size has no effect on `frames`"]),
        (
            "[[obstacle]]\nmesh = \"b.obj\"\nboxes = [[[0.0, 0.0, 0.0], [1.0, 1.0, inf]]]\n",
            &["line 3: obstacle 0 (from 0): boxes[0] is inf, but must be finite"],
        ),
        (
            "[[obstacle]]\nmesh = \"b.obj\"\nboxes = [[[0.0, 0.0, 0.0], [1.0, -1.0, 1.0]]]\n",
            &["boxes[0], its high less its low corner is -1.0, but must be positive"],
        ),
        (
            "[[obstacle]]\nshape = { sphere = { centre = [0.0, 0.0, 0.0], radius = 1.0 } }\n\
             boxes = [[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]]\n",
            &["obstacle 0 (from 0): boxes fill a `mesh`"],
        ),
    ] {
        // What is at the top comes first.
        let text = if text.starts_with('[') || text.starts_with('\n') {
            text.to_owned() + BODY
        } else {
            format!("{text}{BODY}")
        };
        let error = scene(&text).unwrap_err().to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{text}\n{error}");
    }
    assert!(scene("version = 1\n").unwrap_err().to_string().contains("needs bodies"));
}

/// The identity of a scene ignores its length, its output, spaces and comments. Every other change alters it.
#[test]
fn identities_are_those_of_what_decides_bits() {
    let of = |text: &str| scene(text).unwrap().source.identity();
    let base = of(&format!("{BODY}size = 0.5\n"));
    for same in ["size   = 0.5 # m\n[output]\nwidth = 3\n", "size = 0.5\n[time]\nframes = 9\n"] {
        assert_eq!(of(&format!("{BODY}{same}")), base, "{same}");
    }
    for other in ["size = 0.25\n", "size = 0.5\n[time]\ndt = 0.1\n", "size = 0.5\nsewn = true\n"] {
        assert_ne!(of(&format!("{BODY}{other}")), base, "{other}");
    }
}

/// Sides of a sheet, its boundary, and its highest vertices.
#[test]
fn vertices_are_picked_by_their_place() {
    let rest: Vec<[f64; 3]> = (0..9).map(|k| [f64::from(k % 3), f64::from(k / 3), 0.0]).collect();
    let cell = |c: u32| [[c, c + 1, c + 4], [c, c + 4, c + 3]];
    let triangles: Vec<[u32; 3]> = [0, 1, 3, 4].into_iter().flat_map(cell).collect();
    let nodes = |pick: Pick| pick.nodes(&rest, &rest, &triangles);
    assert_eq!(nodes(Pick::Sides(vec![Side::West, Side::North])).unwrap(), [0, 3, 6, 7, 8]);
    assert_eq!(nodes(Pick::Boundary).unwrap(), [0, 1, 2, 3, 5, 6, 7, 8]);
    assert_eq!(nodes(Pick::Band(1.0)).unwrap(), [3, 4, 5, 6, 7, 8]);
    assert_eq!(nodes(Pick::Box([[0.5, 0.5, -1.0], [1.5, 1.5, 1.0]])).unwrap(), [4]);
    assert_eq!(nodes(Pick::List(vec![9])), Err(9));
}

/// A program with an option and a flag.
#[derive(Debug, Parser)]
struct Program {
    #[command(flatten)]
    choice: Choice,
    #[arg(long, default_value_t = 0.5, value_parser = clap::value_parser!(f64))]
    dt: f64,
    #[arg(long, value_delimiter = ',')]
    levels: Vec<usize>,
    #[arg(long, num_args = 3, allow_negative_numbers = true)]
    wind: Option<Vec<f64>>,
    #[arg(long)]
    fixed: bool,
    #[arg(long, conflicts_with = "dt")]
    alone: bool,
}

const A: &str = "[[body]]\nmesh = \"a.obj\"\n[time]\ndt = 0.25\n[air]\nvelocity = [1.0, -2.0, 0.0]\n[solver]\nlevels = [30, 4]\nfixed = true\n";

impl Options for Program {
    const SCENES: &'static [(&'static str, &'static str)] = &[("a", A), ("b", BODY)];
    const KEYS: &'static str = "body.mesh";

    fn choice(&mut self) -> &mut Choice {
        &mut self.choice
    }
}

/// Keys of a scene are defaults of options, which the command line overrides; a default is not in the way of other options.
#[test]
fn the_command_line_overrides_the_scene() {
    let of = |words: &[&str]| parse::<Program>(["x"].iter().chain(words));
    let a = of(&[]).unwrap();
    assert!(a.dt == 0.25 && a.levels == [30, 4] && a.fixed && a.choice.name == "a");
    assert_eq!(a.wind, Some(vec![1.0, -2.0, 0.0]));
    let other = of(&["--dt", "2", "--levels", "7", "--wind", "0", "0", "-1"]).unwrap();
    assert!(other.dt == 2.0 && other.levels == [7]);
    assert_eq!(other.wind, Some(vec![0.0, 0.0, -1.0]));
    assert!(of(&["--alone"]).unwrap().alone && of(&["--alone", "--dt", "1"]).is_err());
    let b = of(&["--scene", "b"]).unwrap();
    assert!(b.dt == 0.5 && b.levels.is_empty() && !b.fixed && b.wind.is_none());
    let missing = of(&["c"]).unwrap_err().to_string();
    assert!(missing.contains("a scene is a, b, or a TOML file"), "{missing}");
}

/// A key that a program does not take comes with the one that is meant: beside it, or of the same name in another table.
#[test]
fn unknown_keys_come_with_the_nearest_one() {
    let of = |text: &str| {
        let file = std::env::temp_dir().join(format!("coarsen-scene-{}-near.toml", std::process::id()));
        std::fs::write(&file, format!("{BODY}{text}")).unwrap();
        let error = parse::<Program>(["x".as_ref(), file.as_os_str()]).unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        error
    };
    for (text, expected) in [
        (
            "[solver]\nlevles = [3]\n",
            "solver.levles has no effect in this program; did you mean solver.levels? It takes",
        ),
        (
            "[solver]\ndt = 0.1\n",
            "solver.dt has no effect in this program; did you mean time.dt? It takes solver.levels",
        ),
        ("[grid]\nfixed = true\n", "grid.fixed has no effect in this program; did you mean solver.fixed?"),
        (
            "[solver]\nunlike = 0.1\n",
            "solver.unlike has no effect in this program, which takes solver.levels",
        ),
        ("[grid]\nunlike = 0.1\n", "grid.unlike has no effect in this program; leave it out"),
        ("sizes = 0.1\n", "did you mean `size`?"),
    ] {
        let error = of(text);
        assert!(error.contains(expected), "{text}\n{error}");
    }
    // The page has this message for another key.
    let page = outputs::words(include_str!("../../../book/src/guides/scenes.md"));
    let (_, said) = page.split_once("line 19: ").expect("a message");
    let (said, _) = said.split_once(" ..").expect("its end");
    let said = said.replace("iteratons", "levles").replace("iterations", "levels");
    let error = of("[solver]\nlevles = [3]\n");
    assert!(error.contains(&said), "{said}\n{error}");
}
