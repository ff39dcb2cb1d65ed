//! Errors of scenes and steps.

use std::io::ErrorKind;
use std::path::PathBuf;

use coarsen::contact::ContactError;
use coarsen::follow::Driver;
use coarsen::optimize::DescentError;
use coarsen::sparse::SparseError;
use examples_common::closed::MeshFault;

/// The names of the built-in scenes.
const SCENES: &str =
    "twist, boxes, donut, chain, boards, faceless, sauce, armacat, wheel, sheets, stretched, bar";

/// A step that is not possible. The state is that before the frame.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A particle that is not finite, or so far away that its cell has no number.
    #[error(
        "particle {particle} (from 0) is at [{:.3e}, {:.3e}, {:.3e}] m, but coordinates must be finite and below \
         {limit:.3e} m; check the velocities and gravity of the scene, or take a larger --dx", x[0], x[1], x[2]
    )]
    Outside {
        /// The particle, in the order at the start of the step.
        particle: usize,
        /// Its position.
        x: [f64; 3],
        /// The limit of each coordinate.
        limit: f64,
    },
    /// A particle with a number that is not finite.
    #[error(
        "particle {particle} (from 0) has a velocity or a deformation that is not finite; the step before overflowed: \
         take a smaller --dt"
    )]
    NotFinite {
        /// The particle, in the order at the start of the step.
        particle: usize,
    },
    /// A particle of a body that the scene does not have.
    #[error(
        "particle {particle} (from 0) of the checkpoint belongs to a body that is not among the {bodies} of the scene"
    )]
    Body {
        /// The particle, in the order of the file.
        particle: usize,
        /// The number of bodies.
        bodies: usize,
    },
    /// A particle so fast that a frame would take more than a million steps.
    #[error(
        "at t = {time:.4} s: particle {particle} (from 0) moves at {speed:.3e} m/s, too fast for a million steps in a \
         frame; check the velocities of the scene, or take a larger --dx or cfl"
    )]
    Fast {
        /// The particle, in the order at the start of the step.
        particle: usize,
        /// Its speed, m/s.
        speed: f64,
        /// The time at the start of the step.
        time: f64,
    },
    /// A descent without a finite energy.
    #[error("at t = {time:.4} s, Δt = {dt:.2e} s: no finite energy ({advice}); take a smaller --dt")]
    Energy {
        /// The time at the start of the step.
        time: f64,
        /// The length of the step.
        dt: f64,
        /// What the descent says.
        advice: &'static str,
    },
    /// A node whose stiffness gives no norm of its gradient.
    #[error(
        "the node at [{:.3e}, {:.3e}, {:.3e}] m has the stiffness {stiffness:.3e} Pa and so the characteristic impulse \
         {impulse:.3e} kg m/s, which must be positive and finite; particle {particle} (from 0) beside it is of body \
         {body} (from 0, emitters after bodies): check its young, poisson and density, --dx and --dt", x[0], x[1], x[2]
    )]
    Stiffness {
        /// The position of the node.
        x: [f64; 3],
        /// The mean stiffness of the particles around it, Pa.
        stiffness: f64,
        /// 24 Δx² ξ Δt, kg m/s.
        impulse: f64,
        /// The nearest particle whose own stiffness is no better, in the order of the grid.
        particle: usize,
        /// The body of that particle.
        body: u32,
    },
    /// A pattern that cannot be made.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// Numbers of an emitter without a shape.
    #[error(transparent)]
    Shape(#[from] ContactError),
    /// A solver that cannot be set up.
    #[error(transparent)]
    Descent(#[from] DescentError),
}

/// Options of a solver that cannot be.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MethodError {
    /// An option that the solver does not use.
    #[error(
        "{option} has no effect on the solver {solver}: it bounds the linear solves of Newton's method, and those of lbfgs-h \
         keep 10,000 iterations; leave it out, or take auto or one of {}",
        Driver::ALL.into_iter().filter(|driver| driver.is_newton()).map(Driver::name).collect::<Vec<_>>().join(", ")
    )]
    Option {
        /// The option.
        option: &'static str,
        /// The solver.
        solver: Driver,
    },
    /// A backend for a solver that runs on the CPU.
    #[error(
        "--backend has no effect on the solver {solver}: its products with the Hessian run on the CPU in f64; leave it out, \
         or take another solver"
    )]
    Backend {
        /// The solver.
        solver: Driver,
    },
}

/// States of a run that cannot be kept or continued.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum StateError {
    /// The states between checkpoints are not written.
    #[error(
        "--states keeps checkpoints, and --checkpoint {every} writes one in {every} frames only; take --checkpoint 1"
    )]
    Checkpoint {
        /// The number of frames between two checkpoints.
        every: usize,
    },
    /// A state that is not at the end of its frame.
    #[error(
        "the state after frame {frame} is at {time} s, but the frame ends at {ends} s; the file is damaged: run without --resume"
    )]
    Time {
        /// The frame.
        frame: usize,
        /// The time of the state, s.
        time: f64,
        /// The end of the frame, s.
        ends: f64,
    },
    /// A state whose emitters did not emit in the last step.
    #[error(
        "in the state after frame {frame} emitters have emitted until {emitted} s, but the last step of the frame begins between \
         {begins} and {ends} s; the file is damaged: run without --resume"
    )]
    Emitted {
        /// The frame.
        frame: usize,
        /// When the emitters emitted last, s.
        emitted: f64,
        /// The start of the frame, s.
        begins: f64,
        /// Its end, s.
        ends: f64,
    },
    /// A run to continue that did not keep a state.
    #[error(
        "{}: the state before frame {frame} is missing, and nothing was changed; the run began with fewer --states: \
         take as many, or run without --resume", file.display()
    )]
    Missing {
        /// The file.
        file: PathBuf,
        /// The frame after the state.
        frame: usize,
    },
}

/// A scene that cannot be read or is not valid.
#[derive(Debug, thiserror::Error)]
pub enum SceneError {
    /// A file that cannot be read.
    #[error("{}: cannot be read ({kind}); a scene is {SCENES} or a TOML file", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// A file that is not a scene; the error contains the line, the column and what was expected there.
    #[error("{}: {what}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// The message of the parser, with the line.
        what: toml::de::Error,
    },
    /// A number outside its range.
    #[error("{table} {index} (from 0): {key} is {found:?}, but must be {range}")]
    Value {
        /// `scene`, `body`, `collider` or `emitter`.
        table: &'static str,
        /// Which one.
        index: usize,
        /// The key.
        key: &'static str,
        /// The value.
        found: f64,
        /// The values allowed.
        range: &'static str,
    },
    /// A largest time step, of the scene or of `--dt`, that is longer than a frame or too short.
    #[error(
        "the time step dt is {found:.3e} s, but must be at least {least:.3e} s and at most a frame, {frame:.3e} s"
    )]
    Step {
        /// The step.
        found: f64,
        /// The shortest one.
        least: f64,
        /// The longest one.
        frame: f64,
    },
    /// A scene without bodies.
    #[error("the scene has no bodies; add a table [[body]]")]
    Empty,
    /// A body or an emitter without a number of its material.
    #[error("{table} {index} (from 0): {key} is missing; give it, or a preset as material")]
    Missing {
        /// `body` or `emitter`.
        table: &'static str,
        /// Which one.
        index: usize,
        /// The key.
        key: &'static str,
    },
    /// A body without a volume.
    #[error(
        "body {index} (from 0) has zero volume: no particle lies in it at a distance of {spacing:.3e} m; take more \
         --particles, or check its shape and the bodies after it"
    )]
    Volume {
        /// Which body.
        index: usize,
        /// The distance of particles, m.
        spacing: f64,
    },
    /// An emitter with a smaller cross-section than its particles.
    #[error(
        "emitter {index} (from 0) has a cross-section of {area:.1e} m², less than that of a particle at a distance of \
         {spacing:.3e} m: little or nothing flows; take a smaller --dx or more --particles, or check its shape and velocity"
    )]
    Narrow {
        /// Which emitter.
        index: usize,
        /// Its cross-section, m².
        area: f64,
        /// The distance of particles, m.
        spacing: f64,
    },
    /// A body or an emitter with which a scene has too many points.
    #[error(
        "with {table} {index} (from 0) the scene has about {all:.1e} points, of which {points:.1e} are its own at a distance of \
         {spacing:.3e} m, but at most {limit:.1e} are allowed; take a larger --dx or fewer --particles, or check its size"
    )]
    Large {
        /// `body` or `emitter`.
        table: &'static str,
        /// Which one.
        index: usize,
        /// The number of points of the lattices in boxes around it and all before it.
        all: f64,
        /// That of its own.
        points: f64,
        /// The distance of particles, m.
        spacing: f64,
        /// The largest number of points.
        limit: f64,
    },
    /// A key that has no effect beside the others of its table.
    #[error("{table} {index} (from 0): {key} has no effect on {other}; {cure}")]
    Unused {
        /// `body`, `collider` or `emitter`.
        table: &'static str,
        /// Which one.
        index: usize,
        /// The key.
        key: &'static str,
        /// What does not use it.
        other: &'static str,
        /// With what it works.
        cure: &'static str,
    },
    /// An emitter of a shape whose flow is not known.
    #[error(
        "emitter {index} (from 0): its shape is a {shape}, but only a sphere or a box can emit; take one of them"
    )]
    Emitter {
        /// Which emitter.
        index: usize,
        /// The shape.
        shape: &'static str,
    },
    /// An option that the scene does not use.
    #[error("{option} has no effect on this scene; it belongs to {scenes}")]
    Option {
        /// The option.
        option: &'static str,
        /// The scenes that use it.
        scenes: &'static str,
    },
    /// A mesh from which no body can be seeded.
    #[error("body {index} (from 0): {source}")]
    Mesh {
        /// Which body.
        index: usize,
        /// What is wrong with the mesh.
        source: MeshFault,
    },
    /// A body or a collider without an outline, or with two.
    #[error("{table} {index} (from 0): give a shape or a mesh, but not both")]
    Outline {
        /// `body` or `collider`.
        table: &'static str,
        /// Which one.
        index: usize,
    },
    /// A mesh that cannot be a collider.
    #[error("collider {index} (from 0): {source}")]
    Collider {
        /// Which collider.
        index: usize,
        /// What is wrong with the mesh.
        source: MeshFault,
    },
    /// Numbers of a shape, or a surface that cannot be sampled.
    #[error("{table} {index} (from 0): {source}")]
    Shape {
        /// `body`, `collider` or `emitter`.
        table: &'static str,
        /// Which one.
        index: usize,
        /// What is wrong.
        source: ContactError,
    },
    /// A scene that needs a folder of meshes.
    #[error("the scene {scene} reads {file} from the folder of --data, which is not given")]
    Data {
        /// The scene.
        scene: &'static str,
        /// The file.
        file: &'static str,
    },
}
