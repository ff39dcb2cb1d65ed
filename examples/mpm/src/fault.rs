//! Errors of scenes, options, steps and states.

use coarsen::contact::ContactError;
use coarsen::descent::Driver;
use coarsen::optimize::DescentError;
use coarsen::sparse::SparseError;
use examples_run::Failure;
use examples_scene::closed::MeshFault;

/// A step that is not possible. The state is that before the frame.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A particle that is not finite, too far away, too fast, or of a body that the scene does not have.
    #[error("particle {particle} (from 0) {why}")]
    Particle {
        /// The particle, in the order at the start of the step.
        particle: usize,
        /// What is wrong with it, and the cure.
        why: String,
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
    /// Two drivers that both end in an error.
    #[error("{} failed: {first}; {} failed: {second}", drivers[0], drivers[1])]
    Drivers {
        /// The drivers, in the order in which they were tried.
        drivers: [Driver; 2],
        /// The error of the first.
        #[source]
        first: Failure,
        /// The error of the second.
        second: Failure,
    },
}

impl StepError {
    /// The error of a driver, or of two that failed one after the other; the first alone if both say the same.
    pub fn of_drivers((driver, first): (Driver, Failure), other: Option<(Driver, Failure)>) -> Failure {
        match other {
            Some((after, second)) if second.to_string() != first.to_string() => {
                Self::Drivers { drivers: [driver, after], first, second }.into()
            }
            _ => first,
        }
    }
}

/// An option that the solver does not use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{option} has no effect on the solver {solver}: it bounds the linear solves of Newton's method, and those of lbfgs-h \
     keep 10,000 iterations; leave it out, or take auto or a solver with a name in pn- or newton-"
)]
pub struct MethodError {
    /// The option.
    pub option: &'static str,
    /// The solver.
    pub solver: Driver,
}

/// A state whose numbers are no end of a frame.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("in the state after frame {frame} {why}; the file is damaged: run without --resume")]
pub struct StateError {
    /// The frame.
    pub frame: usize,
    /// What is wrong.
    pub why: String,
}

/// A scene that cannot be read or is not valid.
#[derive(Debug, thiserror::Error)]
pub enum SceneError {
    /// A file that cannot be read, or a key with a fault.
    #[error(transparent)]
    Scene(#[from] examples_scene::SceneError),
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
    /// A mesh from which no body can be seeded, or that cannot be a collider.
    #[error("{table} {index} (from 0): {source}")]
    Mesh {
        /// `body` or `obstacle`.
        table: &'static str,
        /// Which one.
        index: usize,
        /// What is wrong with the mesh.
        source: MeshFault,
    },
    /// Numbers of a shape, or a surface that cannot be sampled.
    #[error("{table} {index} (from 0): {source}")]
    Shape {
        /// `body`, `obstacle` or `emitter`.
        table: &'static str,
        /// Which one.
        index: usize,
        /// What is wrong.
        source: ContactError,
    },
    /// An option that the scene does not use.
    #[error("{option} has no effect on this scene; it belongs to {scenes}")]
    Option {
        /// The option.
        option: &'static str,
        /// The scenes that use it.
        scenes: &'static str,
    },
    /// A scene that needs a folder of meshes.
    #[error("the scene {scene} reads meshes from the folder of --data, which is not given")]
    Data {
        /// The scene.
        scene: &'static str,
    },
}
