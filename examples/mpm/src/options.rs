//! Command-line options.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};
use coarsen::descent::Driver;
use examples_run::arguments::{BackendOption, at_least_one, positive};
use examples_scene::fields;
use examples_scene::options::Choice;

use crate::fault::MethodError;
use crate::output::Format;
use crate::scene::BUILT_IN;
use crate::solver::Solver;

/// The implicit material point method.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// The scene.
    #[command(flatten)]
    pub choice: Choice,
    /// About this number of particles; the spacing of the grid follows. By default that of the scene.
    #[arg(long, value_parser = at_least_one)]
    pub particles: Option<usize>,
    /// Spacing of the grid in m, instead of a number of particles.
    #[arg(long, value_parser = positive, conflicts_with = "particles")]
    pub dx: Option<f64>,
    /// Largest time step in s, at most a frame; by default that of the scene.
    #[arg(long, value_parser = positive)]
    pub dt: Option<f64>,
    /// armacat, bar: Young's modulus of the stiff body in Pa.
    #[arg(long, value_parser = positive)]
    pub stiff: Option<f64>,
    /// stretched: seed of the stretches, 1 by default.
    #[arg(long)]
    pub seed: Option<u64>,
    /// armacat: folder with the mesh meshes/hot_Armadillo.obj.gz.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// How a step is computed.
    #[command(flatten)]
    pub method: Method,
    /// Number of frames; by default that of the scene.
    #[arg(long)]
    pub frames: Option<usize>,
    /// Number of threads; 0 uses one per core.
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Folder for all files that are written.
    #[arg(long, default_value = "mpm-out", value_name = "DIR")]
    pub out: PathBuf,
    /// Continue from the checkpoint in the folder; the results are the same as without an interruption. Pictures
    /// that are there keep their view.
    #[arg(long)]
    pub resume: bool,
    /// Format of the particles that are written for each frame.
    #[arg(long, value_enum, default_value_t = Format::Ply)]
    pub format: Format,
    /// Width of the pictures in pixels; 0 draws none.
    #[arg(long, default_value_t = 640, value_parser = clap::value_parser!(u16).range(0..=4096))]
    pub width: u16,
}

impl examples_scene::options::Options for Options {
    const SCENES: &'static [(&'static str, &'static str)] = &BUILT_IN;

    const KEYS: &'static str = "gravity body.shape body.mesh body.size body.turn body.shift body.material.name body.material.density \
                                body.material.young body.material.poisson body.material.yield_stress body.material.granular \
                                body.material.per_cell body.velocity body.stretch body.scatter \
                                obstacle.shape obstacle.mesh obstacle.size obstacle.kind obstacle.friction obstacle.axis \
                                obstacle.motion obstacle.cells obstacle.gone obstacle.shown \
                                emitter.shape emitter.material.name emitter.material.density emitter.material.young \
                                emitter.material.poisson emitter.material.yield_stress emitter.material.granular \
                                emitter.material.per_cell emitter.velocity emitter.until emitter.swing emitter.swing_rate grid.dx \
                                time.dt time.cfl time.rate time.frames";

    fn choice(&mut self) -> &mut Choice {
        &mut self.choice
    }
}

/// Takes the names of solvers.
fn solver() -> impl TypedValueParser<Value = Solver> {
    PossibleValuesParser::new(Solver::names()).try_map(|name| name.parse::<Solver>())
}

/// The options of the time step.
#[derive(Clone, Debug, Args)]
pub struct Method {
    /// Solver of a step. auto takes hot, and pn-pcg while colliders rub; what one of them does not solve, the other does.
    #[arg(long, default_value_t = Solver::Driver(Driver::Hot), value_parser = solver())]
    pub solver: Solver,
    /// Tolerance: a step ends when the mean gradient of the nodes is this share of the characteristic impulse.
    #[arg(long, default_value_t = 1e-7, value_parser = positive)]
    pub tolerance: f64,
    /// Maximum number of iterations of a descent.
    #[arg(long, default_value_t = 1000, value_parser = at_least_one)]
    pub iterations: usize,
    /// Maximum number of iterations of a linear solve of Newton's method, 10,000 by default. For the solvers pn-.. and
    /// newton-.., and auto, which takes pn-pcg where colliders rub.
    #[arg(long, value_parser = at_least_one)]
    pub inner: Option<usize>,
    /// Number of frames between two checkpoints.
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    pub checkpoint: usize,
    /// Backend: auto, cpu, mixed (the CPU in f64 over f32), opencl, opencl:N.
    #[arg(long, default_value = "cpu")]
    pub backend: BackendOption,
}

// The name of the chosen backend is a field of its own.
fields!(Method { solver, tolerance, iterations, inner, checkpoint } without backend);

impl Method {
    /// Refuses `--inner` where it has no effect on the solver.
    ///
    /// # Errors
    /// [`MethodError`].
    pub fn check(&self) -> Result<(), MethodError> {
        match self.solver {
            Solver::Driver(solver) if self.inner.is_some() && !solver.is_newton() => {
                Err(MethodError { option: "--inner", solver })
            }
            _ => Ok(()),
        }
    }
}
