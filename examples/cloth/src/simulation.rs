//! A run on one host: the sheet and the scene of the options, and their frames.

use std::path::PathBuf;

use coarsen::elastic::{ContactPotential, Total};
use coarsen::schwarz;
use coarsen_contact::Crossing;
use examples_run::Failure;
use examples_run::arguments::say;
use examples_run::files::{Shown, read_state};
use examples_run::frames::{Frames, Plan};
use examples_run::scales;
use examples_scene::Fingerprint;

use crate::drawing::Drawing;
use crate::fault::SceneError;
use crate::material::Woven;
use crate::motion::{Motion, RATE};
use crate::options::{Obstacles, Options};
use crate::scene::{Scene, sheet};
use crate::sheet::Sheet;
use crate::solids::Pressed;
use crate::state::{Row, State};
use crate::step::Stepper;
use crate::subdivide::{Finer, refined, subdivided};
use crate::systems;
use crate::world::{Fixed, GRAVITY, World, all};

/// A scene, the solver of its steps, and how frames are drawn.
struct Simulation<'a, B: schwarz::SchwarzBackend<Real = f64>> {
    backend: B,
    options: &'a Options,
    sheet: Sheet,
    scene: Scene,
    drawing: Drawing,
    stepper: Option<Stepper<B>>,
}

/// Runs the frames of the options, and returns the row of each.
pub(crate) fn run<B: schwarz::SchwarzBackend<Real = f64>>(
    backend: B,
    options: &Options,
) -> Result<Vec<Row>, Failure> {
    // 1. A sheet and a scene.
    options.method.solver.check(&options.method.levels)?;
    if options.systems > 0 && options.method.obstacles == Obstacles::Constraints {
        return Err(SceneError::Systems.into());
    }
    let (sheet, scene) = prepared(options)?;
    let fixed = Fixed::new(&scene, &sheet, options)?;
    let notes = bare_edges(&fixed)?;
    let drawing = Drawing::new(&scene, &sheet, fixed, options);
    say(format_args!("{}, on {}", described(&sheet, &scene), backend.name()))?;

    // 2. The frames from the start or the last checkpoint, the summary and the animation.
    let mut identity = identity(&sheet, &scene, options);
    identity.field("method", &options.method).field("backend", backend.name());
    let plan = Plan { notes, ..plan(options, identity, drawing.picture(options)) };
    plan.run(&mut Simulation { backend, options, sheet, scene, drawing, stepper: None })
}

/// The sheet and the scene of the command line.
pub(crate) fn prepared(options: &Options) -> Result<(Sheet, Scene), SceneError> {
    let (coarse, mut finer) = subdivided(sheet(options)?, options.subdivide)?;
    let scene = scenes(&coarse, &finer, options)?.swap_remove(finer.len());
    Ok((finer.pop().map_or(coarse, |finest| finest.sheet), scene))
}

/// What decides the bits of a run beside the method.
pub(crate) fn identity(sheet: &Sheet, scene: &Scene, options: &Options) -> Fingerprint {
    let mut all = Fingerprint::of("cloth", 1);
    let played = if let Motion::Played(played) = &scene.motion { &played.0[..] } else { &[] };
    all.field("sheet", sheet)
        .field("scene", &options.choice.setting.source.identity())
        .field("still", &scene.still)
        .field("played", played)
        .field("cloth", &options.cloth)
        .field("start", &options.start);
    all
}

/// The state at the start of a run: that of the scene, or of --start.
///
/// # Errors
/// Those of the file, and [`SceneError`] for a state of another scene and for one that crosses itself.
pub(crate) fn started(fixed: &Fixed, options: &Options) -> Result<State, Failure> {
    let sheet = crate::scene::sheet(options)?;
    let origin = origin(&sheet, options);
    let Some(file) = &options.start else { return Ok(State { origin, ..State::start(fixed) }) };
    let (coarse, finer) = subdivided(sheet, options.subdivide)?;
    let state = refined(read_state(file)?, &coarse, &finer, &scenes(&coarse, &finer, options)?)?;
    if state.origin != origin {
        let (vertices, triangles) = (coarse.rest.len(), coarse.triangles.len());
        return Err(SceneError::Origin { scene: options.choice.name.clone(), vertices, triangles }.into());
    }
    let mut nodes = fixed.nodes.clone();
    nodes.hold(&fixed.motion.held(&fixed.positions, state.begun));
    match fixed.crossings.surfaces.find(&all(&nodes, &state.x)).first() {
        Some(Crossing { edge, triangle }) => {
            Err(SceneError::Refined { edge: *edge, triangle: *triangle }.into())
        }
        None => Ok(state),
    }
}

/// What a state is of: the scene, and the sheet before its triangles are divided.
fn origin(sheet: &Sheet, options: &Options) -> u64 {
    let mut all = Fingerprint::of("cloth sheet", 1);
    all.field("scene", options.choice.name.as_str()).field("rest", &sheet.rest);
    all.field("triangles", &sheet.triangles).value()
}

/// The scenes of a sheet and of the finer ones. A vertex in the middle of an edge is held only if both ends are: so division
/// changes no motion.
fn scenes(coarse: &Sheet, finer: &[Finer], options: &Options) -> Result<Vec<Scene>, SceneError> {
    let mut all = vec![Scene::new(coarse, options)?];
    for one in finer {
        let mut scene = Scene::new(&one.sheet, options)?;
        one.release(&all[all.len() - 1].held, &mut scene.held);
        all.push(scene);
    }
    Ok(all)
}

/// The edges that solids do not keep out, as a note: those with an end that is held there.
fn bare_edges(fixed: &Fixed) -> Result<Vec<String>, SceneError> {
    if !matches!(fixed.potential, ContactPotential::Barrier(_)) {
        return Ok(Vec::new());
    }
    let (shapes, whole) = (fixed.shapes(0.0, true)?, fixed.edges_outside(&[]).len());
    let round = shapes.iter().zip(&fixed.solids).filter(|(_, solid)| solid.radius().is_some());
    let bare = round.map(|(shape, _)| whole - fixed.edges_outside(std::slice::from_ref(shape)).len());
    let count: usize = bare.sum();
    let note = format!(
        "{count} edges with an end that is held in a ball or a bar have no contact with it; penetrations counts those that are \
         inside"
    );
    Ok(if count > 0 { vec![note] } else { Vec::new() })
}

/// The sizes of a scene.
pub(crate) fn described(sheet: &Sheet, scene: &Scene) -> String {
    let held = scene.held.iter().filter(|held| **held).count();
    let dropped = match sheet.dropped {
        0 => String::new(),
        dropped => format!(", {dropped} without area left out"),
    };
    format!(
        "{} vertices, {held} of them held, {} triangles{dropped}",
        sheet.rest.len(),
        sheet.triangles.len()
    )
}

/// How the frames of the options are carried out; `identity` is of all that decides the bits of the run.
pub(crate) fn plan(options: &Options, identity: Fingerprint, picture: Option<(usize, usize)>) -> Plan<'_> {
    let setting = &options.choice.setting;
    let given = options.mesh.iter().chain(&options.start).chain(&options.body).cloned();
    let sheets = setting.body.iter().filter_map(|body| body.mesh.as_ref()).map(PathBuf::from);
    let obstacles =
        setting.obstacle.iter().flat_map(|o| o.mesh.iter().chain(o.frames.iter().flatten()).cloned());
    Plan {
        folder: &options.out,
        inputs: given.chain(sheets).chain(obstacles).collect(),
        identity: identity.value(),
        frames: options.frames,
        checkpoint: options.method.checkpoint,
        keep: options.keep,
        resume: options.resume,
        shown: Shown::new(options.format, picture.is_some()),
        picture,
        animation: "cloth.gif",
        delay: 1.0 / RATE,
        notes: Vec::new(),
    }
}

/// Checks that steps can converge to the tolerance, or that the weight matters if they are not to converge.
pub(crate) fn check_scales(
    fixed: &Fixed,
    fabrics: &mut Total<Box<dyn Woven>>,
    options: &Options,
) -> Result<(), Failure> {
    let tolerance = if options.method.fixed { 0.0 } else { options.method.tolerance };
    let weight: Vec<f64> = fixed.masses.iter().flat_map(|m| GRAVITY.map(|g| m * g)).collect();
    let x = fixed.nodes.gather(&fixed.positions);
    scales::check(fabrics, &x, &weight, tolerance)
}

impl<B: schwarz::SchwarzBackend<Real = f64>> Frames for Simulation<'_, B> {
    type State = State;
    type Row = Row;

    fn start(&mut self) -> Result<(State, Row), Failure> {
        let World { mut fixed, mut forces } = World::new(&self.scene, &self.sheet, self.options)?;
        check_scales(&fixed, &mut forces.first.first, self.options)?;
        let state = started(&fixed, self.options)?;
        fixed.move_to(&mut forces, state.begun)?;
        let inside = |(obstacle, part): (usize, &Pressed)| Some((obstacle, part.inside(&state.x)?));
        if let Some((obstacle, ends)) = forces.second.first.parts().iter().enumerate().find_map(inside) {
            return Err(SceneError::Pressed { ends, obstacle }.into());
        }
        let row = fixed.row(&mut forces, &state, Row::default())?;
        Ok((state, row))
    }

    fn renew(&mut self, state: &State) -> Result<(), Failure> {
        let world = World::new(&self.scene, &self.sheet, self.options)?;
        self.stepper = Some(Stepper::new(world, state, &self.options.method, &self.backend)?);
        Ok(())
    }

    fn step(&mut self, state: &mut State) -> Result<Row, Failure> {
        let stepper = self.stepper.as_mut().expect("built by renew");
        let row = stepper.frame(state)?;
        if systems::is_due(state.frame, self.options.frames, self.options.systems) {
            let (system, rhs) = stepper.system(state)?;
            systems::write(&self.options.out, state.frame, system, &rhs)?;
        }
        Ok(row)
    }

    fn show(&self, state: &State) -> Result<(), Failure> {
        self.drawing.show(&self.scene, state, self.options)
    }

    fn finish(&self) -> Result<(), Failure> {
        self.drawing.finish(self.options)
    }
}
