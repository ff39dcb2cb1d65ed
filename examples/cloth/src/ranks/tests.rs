//! Steps on ranks: the bits of one rank, no penetration, cloth that rests on the ball, and scenes that move.

use coarsen::prelude::Stop;
use coarsen_distributed::{Communicator, Layout, ThreadComm};
use examples_run::scales::Unresolved;

use super::step::{Done, LEAF, RankStepper};
use super::{DEADLINE, as_threads, check, divided};
use crate::fault::SceneError;
use crate::options::Options;
use crate::scene::Scene;
use crate::sheet::Sheet;
use crate::simulation::prepared;
use crate::state::State;
use crate::tests::folder::Folder;
use crate::tests::parsed;
use crate::world::{Fixed, all};

/// Two sheets, one a little above the other, just above the ball.
fn scene() -> (Scene, Sheet, Options) {
    let options = parsed("--scene sphere --dt 0.005 --self-friction 0");
    let mut sheet = Sheet::square(15, crate::sheet::Tessellation::Irregular, false);
    let (count, below) = (sheet.rest.len() as u32, sheet.rest.clone());
    sheet.rest.extend(below.iter().map(|&[u, v, _]| [0.9 * u + 0.05, 0.9 * v + 0.04, 3e-3]));
    sheet.triangles.extend(sheet.triangles.clone().iter().map(|t| t.map(|v| v + count)));
    sheet.layers = 2;
    let mut scene = Scene::new(&sheet, &options).unwrap();
    scene.middle[1] -= 0.044;
    (scene, sheet, options)
}

/// What a rank has after some steps: the bits of all positions, what each step did, and the height of the highest node.
type Ended = (Vec<u64>, Vec<Done>, f64);

/// Runs some steps on ranks; penetrations are counted after each step.
fn steps(ranks: usize, count: usize, of: &(Scene, Sheet, Options)) -> Vec<Ended> {
    steps_to(ranks, count, of, None)
}

/// Runs some steps on ranks with another tolerance of the linear solves.
fn steps_to(
    ranks: usize,
    count: usize,
    (scene, sheet, options): &(Scene, Sheet, Options),
    tolerance: Option<f64>,
) -> Vec<Ended> {
    let all = ThreadComm::run(ranks, DEADLINE, |comm| {
        let first = comm.rank() == 0;
        let start = State::start(&Fixed::new(scene, sheet, options).unwrap());
        let mut stepper = RankStepper::new(comm, 0, scene, sheet, options, &start, None).unwrap();
        if let Some(tolerance) = tolerance {
            stepper.stop = Stop { max_iterations: 2000, ..Stop::relative(tolerance) };
        }
        let mut done = Vec::new();
        for step in 0..count {
            done.push(stepper.step().unwrap());
            if first {
                let at = all(&stepper.fixed.nodes, &stepper.x);
                assert_eq!(stepper.fixed.crossings.count(&at), 0, "step {step} on {ranks} ranks: {done:?}");
            }
        }
        let height = stepper.x.chunks_exact(3).map(|x| x[1]).fold(f64::NEG_INFINITY, f64::max);
        let hashed = stepper.contact.search().hashed();
        ((stepper.x.iter().map(|x| x.to_bits()).collect(), done, height), hashed)
    });
    let (all, hashed): (Vec<Ended>, Vec<usize>) = all.into_iter().map(|rank| rank.unwrap()).unzip();
    // Ranks with queries built hashes of what is near these.
    assert!(ranks == 1 || hashed.iter().any(|hashed| *hashed > 0), "{hashed:?}");
    all
}

/// Every rank of every number has the bits of one rank, and did the same in each step. Returns what one rank has.
fn check_bits(ranks: &[usize], count: usize, of: &(Scene, Sheet, Options)) -> Ended {
    let one = steps(1, count, of).swap_remove(0);
    assert!(one.1.iter().all(|done| done.solve.iterations > 0 && done.solve.iterations < 500), "{:?}", one.1);
    for &ranks in ranks {
        for (rank, (own, done, _)) in steps(ranks, count, of).iter().enumerate() {
            assert!(*own == one.0, "rank {rank} of {ranks}");
            for (a, b) in done.iter().zip(&one.1) {
                assert_eq!(
                    (a.solve.iterations, a.contacts, a.shares),
                    (b.solve.iterations, b.contacts, b.shares)
                );
            }
        }
    }
    one
}

/// A scene of the command line.
fn of(words: &str) -> (Scene, Sheet, Options) {
    let options = parsed(words);
    let (sheet, scene) = prepared(&options).unwrap();
    (scene, sheet, options)
}

/// Cloth touches cloth and the ball, and does not cross.
#[test]
fn cloth_on_ranks_has_the_bits_of_one_rank() {
    let (_, done, height) = check_bits(&[2, 4], 20, &scene());
    assert!(done.iter().any(|done| done.contacts > 50), "{done:?}");
    // The middle rests on the ball of radius 0.3 around (0, 0.45, 0); free fall would be 0.05 m lower.
    assert!(height > 0.75 && height < 0.77, "{height}");
}

/// `scene` with a preconditioner, and stiff cloth.
fn scene_by(solver: &str) -> (Scene, Sheet, Options) {
    let (scene, sheet, mut options) = scene();
    (options.cloth.stiffness, options.cloth.air) = (20.0, 0.0);
    options.method = parsed(&format!("--dt 0.005 --solver {solver}")).method;
    (scene, sheet, options)
}

fn iterations(done: &[Done]) -> usize {
    done.iter().map(|done| done.solve.iterations).sum()
}

/// Multilevel Schwarz is the same operator on all ranks, and needs fewer iterations than the diagonal blocks.
#[test]
fn schwarz_has_the_bits_of_one_rank() {
    let (x, done, _) = check_bits(&[3], 20, &scene_by("mas"));
    let (plain, blocks, _) = steps(1, 20, &scene_by("block-jacobi")).swap_remove(0);
    assert!(
        done.iter().any(|done| done.contacts > 50) && done.iter().all(|done| done.solve.converged),
        "{done:?}"
    );
    assert!(3 * iterations(&done) < 2 * iterations(&blocks), "{done:?} {blocks:?}");
    assert_ne!(x, plain);
}

/// Smoothed aggregation needs the fewest iterations.
#[test]
fn aggregation_needs_the_fewest_iterations() {
    let blocks = iterations(&steps(1, 20, &scene_by("block-jacobi"))[0].1);
    for ranks in [1, 3] {
        let (_, done, _) = steps(ranks, 20, &scene_by("sa")).swap_remove(0);
        assert!(done.iter().all(|done| done.solve.converged), "{done:?}");
        assert!(3 * iterations(&done) < blocks, "{blocks}: {done:?}");
    }
}

/// Where contact does not change, most steps keep the hierarchy of an earlier step, and aggregation needs the fewest
/// iterations.
#[test]
fn hierarchies_are_kept_without_contact() {
    let flag = |solver: &str| {
        let of = of(&format!("--scene flag --vertices 400 --dt 0.005 --stiffness 20 --solver {solver}"));
        steps(2, 30, &of).swap_remove(0).1
    };
    let (done, blocks) = (flag("sa"), iterations(&flag("block-jacobi")));
    let setups = done.iter().filter(|done| done.solve.set_up).count();
    assert!(5 * iterations(&done) < blocks && setups <= 12, "{setups} {blocks}: {done:?}");
}

#[test]
fn all_preconditioners_have_the_same_positions() {
    check_positions(&[("mas", 2), ("sa", 4)]);
}

#[test]
#[ignore = "2 s: run by .ci/full"]
fn long_all_preconditioners_have_the_same_positions() {
    check_positions(&[("sa", 1), ("sa", 2)]);
}

/// With a small tolerance, positions do not depend on preconditioners and ranks.
fn check_positions(runs: &[(&str, usize)]) {
    let of = |solver, ranks| steps_to(ranks, 8, &scene_by(solver), Some(1e-12)).swap_remove(0);
    let (expected, done, _) = of("block-jacobi", 1);
    assert!(done.iter().any(|done| done.contacts > 0), "{done:?}");
    for &(solver, ranks) in runs {
        let (x, done, _) = of(solver, ranks);
        let gap = |(a, b): (&u64, &u64)| (f64::from_bits(*a) - f64::from_bits(*b)).abs();
        let largest = x.iter().zip(&expected).map(gap).fold(0.0, f64::max);
        assert!(largest < 1e-9, "{solver} on {ranks} ranks: {largest:e} m, {done:?}");
    }
}

/// The bits of the positions if steps begin with a layout, and go on with rows divided by work; and the imbalances before and
/// after.
fn divided_again(layout: &Layout, (scene, sheet, options): &(Scene, Sheet, Options)) -> (Vec<u64>, [f64; 2]) {
    let all = ThreadComm::run(layout.ranks(), DEADLINE, |comm| {
        let start = State::start(&Fixed::new(scene, sheet, options).unwrap());
        let run = |state: &State, count: usize, layout: Layout| {
            let comm = comm.clone();
            let mut stepper = RankStepper::new(comm, 0, scene, sheet, options, state, Some(layout)).unwrap();
            assert_eq!(divided(&stepper.partition, &stepper.work).unwrap().1, [0.0; 2]);
            (0..count).for_each(|_| assert!(stepper.step().unwrap().solve.converged));
            stepper
        };
        let first = run(&start, 12, layout.clone());
        let (layout, imbalances) = divided(&first.partition, &first.work).unwrap();
        let state = State { x: first.x.clone(), v: first.velocities().unwrap(), ..start };
        let bits = run(&state, 4, layout).x.iter().map(|x| x.to_bits()).collect();
        (bits, imbalances)
    });
    all.into_iter().map(|rank| rank.unwrap()).next().unwrap()
}

/// Ranks with far too many rows give some of them away; the results do not change.
#[test]
fn rows_that_are_divided_again_have_the_bits_of_one_rank() {
    let of = scene_by("mas");
    let layout = |starts: &[u64]| Layout::new(starts.to_vec(), 3).unwrap().with_leaves(LEAF).unwrap();
    let (one, imbalances) = divided_again(&layout(&[0, 450]), &of);
    assert_eq!(imbalances, [0.0; 2]);
    let (three, [before, after]) = divided_again(&layout(&[0, 32, 96, 450]), &of);
    assert!(one == three && before > 1.0 && after < 0.3, "{before} {after}");
}

#[test]
fn twisted_strips_have_the_bits_of_one_rank() {
    check_twist(&[2]);
}

#[test]
#[ignore = "7 s: run by .ci/full"]
fn long_twisted_strips_have_the_bits_of_one_rank() {
    let x = check_twist(&[2, 3]);
    let smooth = of("--scene twist --vertices 200 --dt 0.008 --self-friction 0");
    assert_ne!(steps(1, 90, &smooth)[0].0, x, "friction has no effect");
}

/// Held ends that turn, until the strips touch, with friction. Returns the bits of the positions.
fn check_twist(ranks: &[usize]) -> Vec<u64> {
    let (x, done, _) = check_bits(ranks, 90, &of("--scene twist --vertices 200 --dt 0.008"));
    assert!(done[89].contacts > 10, "{:?}", done[89]);
    x
}

/// The scenes of tests that run on another number of ranks.
#[test]
#[ignore = "2 s: run by .ci/full"]
fn long_two_ranks_have_the_bits_of_one_rank() {
    check_bits(&[2], 20, &scene_by("mas"));
    check_bits(&[2], 10, &of("--scene flag --vertices 200 --dt 0.005 --material anisotropic"));
    check_bits(&[2], 20, &of("--scene flag --vertices 200 --dt 0.005 --damping 0.2"));
}

/// Anisotropic cloth: seams and hinges have the same directions on every rank.
#[test]
fn anisotropic_cloth_has_the_bits_of_one_rank() {
    let (x, ..) = check_bits(&[3], 10, &of("--scene flag --vertices 200 --dt 0.005 --material anisotropic"));
    assert_ne!(steps(1, 10, &of("--scene flag --vertices 200 --dt 0.005"))[0].0, x);
}

/// Wind and damping: every triangle at a node pushes it once.
#[test]
fn a_flag_has_the_bits_of_one_rank() {
    let windy = of("--scene flag --vertices 200 --dt 0.005 --damping 0.2");
    let (x, ..) = check_bits(&[4], 20, &windy);
    let still = of("--scene flag --vertices 200 --dt 0.005 --wind 0 0 0");
    assert_ne!(steps(1, 20, &still)[0].0, x, "wind has no effect");
}

/// Solids and held vertices that move, with friction on both; a second skirt has divided triangles.
#[test]
fn a_skirt_has_the_bits_of_one_rank() {
    for size in ["--vertices 250", "--vertices 70 --subdivide 1"] {
        let (_, done, _) = check_bits(&[3], 40, &of(&format!("--scene garment {size} --dt 0.01")));
        assert!(done.iter().all(|done| done.shares[0] == 1.0), "{done:?}");
    }
}

#[test]
fn a_funnel_has_the_bits_of_one_rank() {
    check_funnel(&[2]);
}

#[test]
#[ignore = "6 s: run by .ci/full"]
fn long_a_funnel_has_the_bits_of_one_rank() {
    check_funnel(&[2, 4]);
}

/// Two sheets fall into the funnel.
fn check_funnel(ranks: &[usize]) {
    let (_, done, _) = check_bits(ranks, 45, &of("--scene funnel --sheets 2 --vertices 242 --dt 0.008"));
    assert!(done[44].contacts > 20, "{:?}", done[44]);
}

/// A run on ranks writes what is made of all frames.
#[test]
fn runs_on_ranks_write_an_animation() {
    let folder = Folder::new("rank-animation");
    let words = "--vertices 100 --frames 1 --dt 0.01 --ranks 2 --format gltf";
    as_threads(&folder.parse(words).unwrap()).unwrap();
    assert!(folder.bytes("surface.glb").starts_with(b"glTF"));
}

/// Numbers that one host refuses are refused on ranks, before a message and at the start of a run.
#[test]
fn scales_that_cannot_be_resolved_are_refused_on_ranks() {
    let folder = Folder::new("rank-scales");
    for extreme in ["--density 1e-300", "--stiffness 1e100"] {
        let options = folder.parse(&format!("--vertices 100 --frames 1 --ranks 2 {extreme}")).unwrap();
        for error in [check(&options).unwrap_err(), as_threads(&options).unwrap_err()] {
            let Some(Unresolved { noise, limit, .. }) = error.downcast_ref() else { panic!("{error}") };
            assert!(noise > limit, "{error}");
        }
    }
}

/// The places of all vertices of a sheet after the steps of a test.
fn places(scene: &Scene, x: &[u64]) -> Vec<[f64; 3]> {
    let x: Vec<f64> = x.iter().map(|x| f64::from_bits(*x)).collect();
    let mut free = x.as_chunks::<3>().0.iter();
    scene.held.iter().map(|held| if *held { [f64::NAN; 3] } else { *free.next().unwrap() }).collect()
}

/// Two sheets that hang are pushed by the ball, which comes from one side.
#[test]
#[ignore = "10 s: run by .ci/full"]
fn long_sheets_that_are_pushed_have_the_bits_of_one_rank() {
    let of = of("--scene pushed --sheets 2 --vertices 200 --dt 0.01");
    let (x, done, _) = check_bits(&[2, 4], 80, &of);
    let places = places(&of.0, &x);
    let farthest = places.iter().map(|x| x[2]).fold(f64::INFINITY, f64::min);
    assert!(farthest < -0.3 && done.iter().any(|done| done.contacts > 5), "{farthest} {done:?}");
}

/// The pieces of a T-shirt are sewn, and rest on the figure; also with a coarse state on divided pieces.
#[test]
#[ignore = "15 s: run by .ci/full"]
fn long_pieces_that_are_sewn_have_the_bits_of_one_rank() {
    let of = of("--scene stitching --vertices 400 --dt 0.005");
    let (x, ..) = check_bits(&[2, 4], 70, &of);
    let (places, thickness) = (places(&of.0, &x), Fixed::new(&of.0, &of.1, &of.2).unwrap().thickness);
    for [front, back] in &of.1.seams {
        for (a, b) in front.iter().zip(back) {
            let [p, q] = [a, b].map(|v| places[*v as usize]);
            let gap = (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt();
            assert!(gap < 6.0 * thickness, "{a} and {b}: {gap} for {thickness}");
        }
    }
    let lowest = places.iter().map(|x| x[1]).fold(f64::INFINITY, f64::min);
    assert!(lowest > 0.6, "{lowest}");
}

/// A run begins from the state of a coarser one, on any number of ranks and on one host, with frames of a few steps.
#[test]
fn runs_begin_from_states_of_coarser_ones() {
    let of_test = Folder::new("start");
    let folder = &of_test.0;
    let run = |out: &str, words: &str| {
        let options = parsed(&format!("--width 0 --out {}/{out} {words}", of_test.path()));
        match options.ranks() {
            0 => crate::simulation::run(coarsen::prelude::Cpu::new(), &options).map(drop),
            _ => as_threads(&options),
        }
    };
    let scene = "--scene twist --vertices 200 --dt 0.008";
    run("coarse", &format!("{scene} --ranks 2 --frames 12 --checkpoint 4 --keep")).unwrap();
    let file = folder.join("coarse/checkpoint_0008.bin");
    let start = |out: &str, more: &str| {
        run(
            out,
            &format!(
                "{scene} --start {} --frames 1 --frame-steps 3 --thickness 0.0015 {more}",
                file.display()
            ),
        )
    };
    let table = |out: &str, column: &str| {
        let text = std::fs::read_to_string(folder.join(out).join("frames.csv")).unwrap();
        let at = text.lines().next().unwrap().split(',').position(|name| name == column).unwrap();
        text.lines().last().unwrap().split(',').nth(at).unwrap().to_owned()
    };
    for ranks in [1, 2, 4] {
        start(&format!("fine{ranks}"), &format!("--subdivide 1 --ranks {ranks}")).unwrap();
        assert_eq!(table(&format!("fine{ranks}"), "positions"), table("fine1", "positions"), "{ranks}");
    }
    assert_eq!((table("fine1", "steps"), table("fine1", "penetrations")), ("3".to_owned(), "0".to_owned()));
    start("host", "--subdivide 1 --solver direct --checkpoint 1").unwrap();
    let options =
        "--frames 2 --frame-steps 3 --thickness 0.0015 --subdivide 1 --solver direct --checkpoint 1 --resume";
    run("host", &format!("{scene} --start {} {options}", file.display())).unwrap();
    assert_eq!((table("host", "frame"), table("host", "steps")), ("2".to_owned(), "3".to_owned()));
    // Triangles of the finer sheet lie on those of the coarse one, which has moved for a third of a second.
    let surface = |out: &str, frame: usize| {
        coarsen::mesh::read(folder.join(out).join(format!("frame_{frame:04}.obj"))).unwrap()
    };
    let (coarse, fine) = (surface("coarse", 8), surface("host", 0));
    for &[x, y, z] in &coarse.positions {
        let same = |p: &[f64; 3]| [x - p[0], y - p[1], z - p[2]].iter().all(|d| d.abs() < 1e-12);
        assert!(fine.positions.iter().any(same), "{x} {y} {z}");
    }
    assert_eq!(fine.triangles.len(), 4 * coarse.triangles.len());
    let error = run("other", &format!("--scene twist --vertices 240 --ranks 2 --start {}", file.display()))
        .unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SceneError::Start { .. })), "{error}");
    // Another scene with as many free vertices.
    run("ball", "--scene sphere --vertices 100 --ranks 1 --frames 1 --checkpoint 1 --keep").unwrap();
    let file = folder.join("ball/checkpoint_0001.bin");
    let begin = |scene: &str| {
        run(
            "next",
            &format!("--scene {scene} --vertices 100 --ranks 1 --frames 1 --start {}", file.display()),
        )
    };
    begin("sphere").unwrap();
    let error = begin("bars").unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(SceneError::Origin { vertices: 100, .. })), "{error}");
}
