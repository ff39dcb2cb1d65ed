//! Command-line options.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};
use examples_run::arguments::{BackendOption, at_least_one, not_negative, positive};
use examples_run::files::Format;
use examples_run::solver::Solver;
use examples_scene::fields;
use examples_scene::options::Choice;

use crate::material::Material;
use crate::meshes::MeshChoice;

/// Soft bodies and cloth in time.
#[derive(Clone, Debug, Parser)]
pub(crate) struct Options {
    /// The scene.
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Mesh of the bodies: armadillo or bunny (of the folder COARSEN_DATA), bar:N with N cells across,
    /// sheet:N with N vertices along a side, or a file. The default depends on the scene.
    #[arg(long, value_name = "FILE|NAME|bar:N|sheet:N")]
    pub(crate) mesh: Option<MeshChoice>,
    /// Merge nodes at the same place, and remove double elements, in all meshes: for seams and normals that are split.
    #[arg(long)]
    pub(crate) weld: bool,
    /// Material of the bodies; by default neo-hookean for tetrahedra and mass-spring for sheets.
    #[arg(long, value_enum)]
    pub(crate) material: Option<Material>,
    /// Young's modulus in Pa, for every material.
    #[arg(long, default_value_t = 1e5, value_parser = positive)]
    pub(crate) young: f64,
    /// Poisson's ratio; not used by arap and baraff-witkin, which have 0, and by mass-spring, which has 1/4.
    /// fixed-corotated needs 0 or more.
    #[arg(long, default_value_t = 0.45, value_parser = ratio, allow_hyphen_values = true)]
    pub(crate) poisson: f64,
    /// Density in kg/m³; sheets are 1 mm thick.
    #[arg(long, default_value_t = 1000.0, value_parser = positive)]
    pub(crate) density: f64,
    /// How a step is computed.
    #[command(flatten)]
    pub(crate) method: Method,
    /// Number of frames, one for each time step.
    #[arg(long, default_value_t = 120)]
    pub(crate) frames: usize,
    /// Number of threads; 0 uses one per core.
    #[arg(long, default_value_t = 0)]
    pub(crate) threads: usize,
    /// Folder for all files that are written.
    #[arg(long, default_value = "softbody-out", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Continue from the checkpoint in the folder; the results are the same as without an interruption.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Format of the surface that is written for each frame.
    #[arg(long, value_enum, default_value_t = Format::Vtk)]
    pub(crate) format: Format,
    /// Width of the pictures in pixels; 0 draws none.
    #[arg(long, default_value_t = 640, value_parser = clap::value_parser!(u16).range(0..=4096))]
    pub(crate) width: u16,
}

impl examples_scene::options::Options for Options {
    const SCENES: &'static [(&'static str, &'static str)] = &[
        ("swing", include_str!("../scenes/swing.toml")),
        ("pile", include_str!("../scenes/pile.toml")),
        ("twist", include_str!("../scenes/twist.toml")),
        ("pachinko", include_str!("../scenes/pachinko.toml")),
        ("hang", include_str!("../scenes/hang.toml")),
    ];

    const KEYS: &'static str = "gravity body.mesh body.size body.rotate body.centre body.above body.velocity body.material.name \
                                body.material.young body.material.poisson body.material.density attachment obstacle.shape \
                                contact.bodies contact.stiffness contact.thickness";

    fn choice(&mut self) -> &mut Choice {
        &mut self.choice
    }

    /// What holds a body that swings depends on its mesh.
    fn variant(&self, name: &str) -> Option<&'static str> {
        match self.mesh {
            Some(MeshChoice::Armadillo) if name == "swing" => {
                Some(include_str!("../scenes/swing_armadillo.toml"))
            }
            Some(MeshChoice::File(_)) if name == "swing" => Some(include_str!("../scenes/swing_file.toml")),
            _ => None,
        }
    }
}

/// The options that affect the results of a run, apart from the scene.
#[derive(Clone, Debug, Args)]
pub(crate) struct Method {
    /// Time step in seconds.
    #[arg(long, default_value_t = 1.0 / 30.0, value_parser = positive)]
    pub(crate) dt: f64,
    /// Method of descent.
    #[arg(long, value_enum, default_value_t = Integrator::Newton)]
    pub(crate) integrator: Integrator,
    /// Preconditioner of the linear systems.
    #[arg(long, value_enum, default_value_t = Solver::Sa)]
    pub(crate) solver: Solver,
    /// Maximum number of iterations of the descent in a step.
    #[arg(long, default_value_t = 20, value_parser = at_least_one)]
    pub(crate) iterations: usize,
    /// Maximum number of iterations of a linear solve in newton and pd.
    #[arg(long, default_value_t = 500, value_parser = at_least_one)]
    pub(crate) inner: usize,
    /// newton: number of iterations between two updates of the preconditioner; 0 updates it once per step.
    #[arg(long, default_value_t = 0)]
    pub(crate) refresh: usize,
    /// Tolerance: the descent ends when the mean residual force of the nodes is this share of their weight.
    #[arg(long, default_value_t = 1e-3, value_parser = not_negative)]
    pub(crate) tolerance: f64,
    /// skinning: number of control points of each level, from fine to coarse. sa, mas: the maximum number of levels.
    #[arg(long, value_delimiter = ',', value_name = "N,N,..", value_parser = at_least_one)]
    pub(crate) levels: Vec<usize>,
    /// Number of frames between two checkpoints; the solver is built again at each checkpoint.
    #[arg(long, default_value_t = 10, value_parser = at_least_one)]
    pub(crate) checkpoint: usize,
    /// Coefficient of friction of bodies with obstacles, with each other and with themselves. Newton's method takes two to three
    /// times as many iterations where bodies rub.
    #[arg(long, default_value_t = 0.0, value_parser = not_negative)]
    pub(crate) friction: f64,
    /// Contact: penalty, which nodes enter, or barrier, which no surface of a body crosses and no node or edge enters.
    #[arg(long, value_enum, default_value_t = Contact::Barrier)]
    pub(crate) contact: Contact,
    /// Backend: auto, cpu, mixed (the CPU in f64 over f32), opencl, opencl:N. With --solver mas, an OpenCL device computes whole
    /// steps in which bodies do not touch each other or themselves.
    #[arg(long, default_value = "cpu")]
    pub(crate) backend: BackendOption,
}

// The name of the chosen backend is a field of its own.
fields!(Method {
    dt, integrator, solver, iterations, inner, refresh, tolerance, levels, checkpoint, friction, contact
} without backend);
fields!(unit Contact, Integrator);

/// The energies of contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contact {
    /// Quadratic penalties of nodes inside obstacles and bodies.
    Penalty,
    /// Barriers of the distance to obstacles and between surfaces, for nodes and edges; continuous detection bounds every step.
    Barrier,
}

/// The methods of descent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Integrator {
    /// Newton's method with projected Hessians.
    Newton,
    /// Projective Dynamics: a constant matrix.
    Pd,
    /// L-BFGS around the preconditioner.
    Lbfgs,
    /// Nonlinear conjugate gradients.
    Ncg,
    /// Gradient descent with Chebyshev acceleration.
    Agd,
}

/// Parses Poisson's ratio.
fn ratio(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|x: &f64| *x > -1.0 && *x < 0.5).ok_or("expected a number between -1 and 0.5")
}
