//! Command-line options.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};
use examples_run::arguments::{BackendOption, at_least_one, not_negative, positive};
use examples_run::files::Format;
use examples_run::solver::Solver;
use examples_scene::fields;
use examples_scene::options::Choice;

use crate::material::Material;
use crate::motion::RATE;
use crate::sheet::Tessellation;

/// The scenes by name.
pub(crate) const SCENES: [(&str, &str); 15] = [
    ("drooping", include_str!("../scenes/drooping.toml")),
    ("pinned", include_str!("../scenes/pinned.toml")),
    ("reentrant", include_str!("../scenes/reentrant.toml")),
    ("drop-horizontal", include_str!("../scenes/drop-horizontal.toml")),
    ("drop-vertical", include_str!("../scenes/drop-vertical.toml")),
    ("sphere", include_str!("../scenes/sphere.toml")),
    ("bars", include_str!("../scenes/bars.toml")),
    ("flag", include_str!("../scenes/flag.toml")),
    ("funnel", include_str!("../scenes/funnel.toml")),
    ("twist", include_str!("../scenes/twist.toml")),
    ("garment", include_str!("../scenes/garment.toml")),
    ("pushed", include_str!("../scenes/pushed.toml")),
    ("stitching", include_str!("../scenes/stitching.toml")),
    ("dressed", include_str!("../scenes/dressed.toml")),
    ("statue", include_str!("../scenes/statue.toml")),
];

/// Sheets of cloth in time.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// The scene.
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Number of vertices of all sheets; the nearest grid is used.
    #[arg(long, default_value_t = 2601, value_parser = clap::value_parser!(u32).range(9..=4_000_000))]
    pub(crate) vertices: u32,
    /// Number of generated sheets, one over the other; by default 1, and 3 strips in the scene twist.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) sheets: Option<u16>,
    /// Triangles of the sheet.
    #[arg(long, value_enum, default_value_t = Tessellation::Regular)]
    pub(crate) tessellation: Tessellation,
    /// A file with a flat sheet of triangles, instead of a generated one; its longest side is scaled to 1 m. For the
    /// scene garment, a garment that keeps its shape at rest; it is scaled to the height of a skirt.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["vertices", "tessellation"])]
    pub(crate) mesh: Option<PathBuf>,
    /// Divide each triangle of the sheet into four, this number of times.
    #[arg(long, default_value_t = 0, value_name = "TIMES", value_parser = clap::value_parser!(u8).range(0..=8))]
    pub(crate) subdivide: u8,
    /// Begin from the state of a checkpoint of another run: of the same scene, with the same or a smaller --subdivide. The
    /// vertices that are new are in the middles of edges, in position and velocity. Give it with --resume too.
    #[arg(long, value_name = "FILE")]
    pub(crate) start: Option<PathBuf>,
    /// The files of a body, one for each frame, with the same triangles, for the scene dressed. For the scene statue, one
    /// closed mesh of triangles that face outwards, or of tetrahedra, with y upwards.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) body: Vec<PathBuf>,
    /// Sew the garment of --mesh, or of the scene, from the flat pieces in its texture coordinates: they are its rest shape.
    #[arg(long)]
    pub(crate) sewn: bool,
    /// Leave out the triangles of --mesh, or of the file of the scene, without area, in space or in the texture coordinates,
    /// where the cloth then has a hole. Their number is printed.
    #[arg(long)]
    pub(crate) drop_degenerate: bool,
    /// Merge vertices at the same place, and remove double triangles, in the files of --mesh and --body: for seams and normals
    /// that are split.
    #[arg(long)]
    pub(crate) weld: bool,
    /// What the cloth is made of.
    #[command(flatten)]
    pub(crate) cloth: Cloth,
    /// How a step is computed.
    #[command(flatten)]
    pub(crate) method: Method,
    /// Number of frames; 24 are one second, unless --frame-steps is given.
    #[arg(long, default_value_t = 25)]
    pub(crate) frames: usize,
    /// Number of linear systems to write, spread over the frames: system_0003.mtx with its right-hand side and
    /// positions is the first system of the step after frame 3. Not with --obstacles constraints.
    #[arg(long, default_value_t = 0)]
    pub(crate) systems: usize,
    /// Number of threads; 0 uses one per core.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub(crate) threads: u16,
    /// Compute linearised steps on this number of ranks, as threads; 0 computes steps by Newton's method without ranks.
    /// Each step is a solve to 0.01 by conjugate gradients with --solver block-jacobi (auto), mas or sa. Over ranks, sa has
    /// the parameters of Tamstorf et al. 2015, which are not those of sa without ranks. Options of Newton's method are refused:
    /// --iterations, --inner, --fixed and --tolerance.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=64))]
    pub(crate) ranks: u16,
    /// Folder for all files that are written.
    #[arg(long, default_value = "cloth-out", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Keep each checkpoint in a file of its own too, such as checkpoint_0012.bin of frame 12.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Continue from the checkpoint in the folder; the results are the same as without an interruption.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Format of the surface that is written for each frame.
    #[arg(long, value_enum, default_value_t = Format::Obj)]
    pub(crate) format: Format,
    /// Width of the pictures in pixels; 0 draws none.
    #[arg(long, default_value_t = 640, value_parser = clap::value_parser!(u16).range(0..=4096))]
    pub(crate) width: u16,
}

impl examples_scene::options::Options for Options {
    const SCENES: &'static [(&'static str, &'static str)] = &SCENES;

    const KEYS: &'static str = "body.mesh body.size body.centre body.axes body.above body.rest attachment.nodes \
                                obstacle.shape obstacle.mesh obstacle.frames obstacle.size obstacle.solid obstacle.boxes \
                                obstacle.axis obstacle.motion motion view.cut";

    fn choice(&mut self) -> &mut Choice {
        &mut self.choice
    }
}

impl Options {
    /// The number of threads; 0 stands for one per core.
    pub fn threads(&self) -> usize {
        self.threads.into()
    }

    /// The number of ranks as threads; 0 for one host without ranks.
    pub fn ranks(&self) -> usize {
        usize::from(self.ranks)
    }
}

/// The properties of the cloth and of the air.
#[derive(Clone, Debug, Args)]
pub(crate) struct Cloth {
    /// Material.
    #[arg(long, value_enum, default_value_t = Material::Woven)]
    pub(crate) material: Material,
    /// Factor of all stiffnesses; 1 is cotton: 5000 N/m for stretching, 1000 N/m for shearing, 1.5e-4 N m for
    /// bending, the modulus of a plate.
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub(crate) stiffness: f64,
    /// Factor of the bending modulus alone.
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub(crate) bending: f64,
    /// Density in kg/m².
    #[arg(long, default_value_t = 0.2, value_parser = positive)]
    pub(crate) density: f64,
    /// Thickness in m: contact begins at this distance, which is below that of all parts of the sheet at the start, such as
    /// the smallest height of a triangle. By default 2 mm, but at most a quarter of the shortest edge.
    #[arg(long, value_parser = positive)]
    pub(crate) thickness: Option<f64>,
    /// Coefficient of friction with balls, bars and the ground.
    #[arg(long, default_value_t = 0.3, value_parser = not_negative)]
    pub(crate) friction: f64,
    /// Coefficient of friction of cloth with itself and with the box and the funnel, unless --no-self-contact.
    #[arg(long, default_value_t = 0.3, value_parser = not_negative)]
    pub(crate) self_friction: f64,
    /// Density of the air in kg/m³, which resists motion across the cloth, also where it is still; 0 for none.
    #[arg(long, default_value_t = 1.2, value_parser = not_negative)]
    pub(crate) air: f64,
    /// Damping in 1/s: the rate at which velocities relative to the air decay.
    #[arg(long, default_value_t = 0.0, value_parser = not_negative)]
    pub(crate) damping: f64,
    /// Velocity of the air in m/s; by default that of the scene.
    #[arg(long, num_args = 3, value_names = ["X", "Y", "Z"], allow_negative_numbers = true)]
    pub(crate) wind: Option<Vec<f64>>,
}

fields!(Cloth {
    material,
    stiffness,
    bending,
    density,
    thickness,
    friction,
    self_friction,
    air,
    damping,
    wind
});

/// The options of the time step.
#[derive(Clone, Debug, Args)]
pub(crate) struct Method {
    /// Time step in seconds, at most 1/24.
    #[arg(long, default_value_t = 2e-3, value_parser = step)]
    pub(crate) dt: f64,
    /// Number of time steps of a frame; by default, a frame is 1/24 s.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) frame_steps: Option<u32>,
    /// Preconditioner of the linear systems.
    #[arg(long, value_enum, default_value_t = Solver::Auto)]
    pub(crate) solver: Solver,
    /// skinning: number of control points of each level, from fine to coarse. sa, mas: the maximum number of levels.
    #[arg(long, value_delimiter = ',', value_name = "N,N,..", value_parser = at_least_one)]
    pub(crate) levels: Vec<usize>,
    /// How obstacles stop the cloth.
    #[arg(long, value_enum, default_value_t = Obstacles::Barrier)]
    pub(crate) obstacles: Obstacles,
    /// Leave out contact of triangles, and its friction: the cloth passes through itself, the box and the funnel, edges also
    /// through a statue, and penetrations are counted.
    #[arg(long)]
    pub(crate) no_self_contact: bool,
    /// Maximum number of iterations of Newton's method in a step; 1 is the linearised step. If contact
    /// bounds the last one to less than half of its direction, there are as many again, up to ten times.
    #[arg(long, default_value_t = 100, value_parser = at_least_one)]
    pub(crate) iterations: usize,
    /// Maximum number of iterations of a linear solve.
    #[arg(long, default_value_t = 500, value_parser = at_least_one)]
    pub(crate) inner: usize,
    /// Take exactly --inner iterations in each linear solve, without a test of convergence before, and always with the
    /// positive definite Hessian. On a device, each test costs a synchronisation of the host.
    #[arg(long)]
    pub(crate) fixed: bool,
    /// Tolerance: a step ends when the mean residual force of the nodes is this share of their weight.
    #[arg(long, default_value_t = 1e-2, value_parser = not_negative)]
    pub(crate) tolerance: f64,
    /// Number of frames between two checkpoints; the solver is built again at each checkpoint.
    #[arg(long, default_value_t = 5, value_parser = at_least_one)]
    pub(crate) checkpoint: usize,
    /// Backend: auto, cpu, mixed (the CPU in f64 over f32), opencl, opencl:N. With --solver mas, an OpenCL device computes whole
    /// steps and the host reads frames, if there is no air (--air 0) and nothing moves by a formula; planes, balls, bars and
    /// triangles may be there, also with friction.
    #[arg(long, default_value = "cpu")]
    pub(crate) backend: BackendOption,
}

// The name of the chosen backend is a field of its own.
fields!(Method {
    dt, frame_steps, solver, levels, obstacles, no_self_contact, iterations, inner, fixed, tolerance, checkpoint
} without backend);

impl Method {
    /// Whether steps are to converge: neither --fixed, nor the linearised step, nor without a tolerance.
    pub(crate) fn is_converging(&self) -> bool {
        !self.fixed && self.iterations > 1 && self.tolerance > 0.0
    }

    /// The time step, and how many are in a frame.
    pub(crate) fn pace(&self) -> Pace {
        Pace { h: self.dt, steps: self.frame_steps.map(|steps| steps as usize) }
    }
}

/// The time step, and how many are in a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The time step in s.
    pub(crate) h: f64,
    /// The steps of a frame; `None` if a frame is 1/24 s.
    pub(crate) steps: Option<usize>,
}

impl Pace {
    /// The number of the last step of a frame.
    pub(crate) fn last(&self, frame: usize) -> usize {
        let of_seconds = (frame as f64 / (RATE * self.h) * (1.0 + 1e-12)) as usize;
        self.steps.map_or(of_seconds, |steps| steps * frame)
    }

    /// The time between two frames in s.
    pub(crate) fn frame(&self) -> f64 {
        self.steps.map_or(1.0 / RATE, |steps| steps as f64 * self.h)
    }

    /// The time at a frame of a run that begins at the time `begun`, in s.
    pub(crate) fn time(&self, begun: f64, frame: usize) -> f64 {
        begun + self.last(frame) as f64 * self.h
    }
}

/// How obstacles stop the cloth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Obstacles {
    /// By barriers: no vertex and no edge comes into a plane, a ball, a bar, a statue or triangles, unless it is held there; what
    /// is smaller than a triangle may pass through its inside. Over ranks, where a step is one linear solve, solids are
    /// penalties, which vertices enter.
    Barrier,
    /// By constraints: a vertex that touches a plane, a ball, a bar or the box is held, slides or sticks, and is released
    /// when the force pulls. The linear systems are solved on the CPU.
    Constraints,
}

fields!(unit Obstacles);

/// Parses a time step: every frame needs one.
fn step(text: &str) -> Result<f64, &'static str> {
    positive(text).ok().filter(|dt| 24.0 * dt <= 1.0).ok_or("expected a number above 0 and at most 1/24")
}
