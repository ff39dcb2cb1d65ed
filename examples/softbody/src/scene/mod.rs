//! A scene to be simulated: bodies with their numbers, attachments, obstacles.
//!
//! | file | what |
//! |---|---|
//! | `mod` | the bodies of a scene file, with the numbers of the command line; errors of scenes |
//! | `world` | nodes, masses and potentials of a scene |
//! | `contact` | the energies of contact |

mod contact;
mod world;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use coarsen::AnyError;
use coarsen::elastic::{BodyError, Lame};
use coarsen::mesh::Mesh;
use coarsen_contact::{ContactError, Pair};
use examples_scene::{Body as Placement, Scene, Shape, fields};

use crate::material::{Law, Material, Moduli};
use crate::meshes::{MeshChoice, MeshFault};
use crate::options::Options;
pub(crate) use world::World;

/// A body with the numbers that the scene leaves to the command line.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) mesh: MeshChoice,
    /// By default what fits the mesh.
    pub(crate) material: Option<Material>,
    pub(crate) moduli: Moduli,
    /// Density, kg/m³.
    pub(crate) density: f64,
    /// Its size and its place.
    pub(crate) placed: Placement,
}

/// A scene with the numbers of the command line.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) scene: Scene,
    pub(crate) body: Vec<Body>,
    pub(crate) obstacle: Vec<Shape>,
    pub(crate) weld: bool,
    /// Whether bodies have contact with each other and with themselves; by default true if there are several, and for a body
    /// that can touch itself: one that is no bar, or that an attachment turns. If its mesh is then not fit for contact, there
    /// is none.
    contact: Option<bool>,
    /// The stiffness of contacts in N/m; by default ten times Young's modulus times the length of an edge.
    contact_stiffness: Option<f64>,
    /// The distance in m at which barriers begin; by default a tenth of the mean length of an edge, but with contact between
    /// bodies at most the smallest distance of parts of a body at rest.
    contact_thickness: Option<f64>,
}

fields!(Body { mesh, material, moduli, density } without placed);
fields!(Moduli { young, poisson });

impl Body {
    /// The moduli and the stress of its material.
    pub(crate) fn law(&self, mesh: &Mesh) -> (Lame, Option<Law>) {
        self.material.unwrap_or_else(|| Material::fitting(mesh)).law(self.moduli)
    }
}

impl Setting {
    /// Returns the scene of the command line.
    pub(crate) fn of(options: &Options) -> Result<Self, SceneError> {
        let scene = options.choice.setting.clone();
        let source = &scene.source;
        let mut body = Vec::new();
        for (index, placed) in scene.body.iter().enumerate() {
            let name = |key: &str| format!("body[{index}].{key}");
            let mesh = match &placed.mesh {
                Some(mesh) => {
                    mesh.parse().map_err(|fault| source.fault(name("mesh"), format!("is {fault}")))?
                }
                None => options.mesh.clone().unwrap_or(MeshChoice::Bar(4)),
            };
            let of = &placed.material;
            let material = match &of.name {
                Some(given) => Some(Material::from_str(given, false).map_err(|_| {
                    let all = Material::value_variants().iter().filter_map(Material::to_possible_value);
                    let all: Vec<String> =
                        all.map(|value| PossibleValue::get_name(&value).to_owned()).collect();
                    source.fault(
                        name("material"),
                        format!("is `{given}`, but must be one of {}", all.join(", ")),
                    )
                })?),
                None => options.material,
            };
            let (young, poisson) = (of.young.unwrap_or(options.young), of.poisson.unwrap_or(options.poisson));
            let (moduli, density) = (Moduli { young, poisson }, of.density.unwrap_or(options.density));
            body.push(Body { mesh, material, moduli, density, placed: placed.clone() });
        }
        let positive = |v: &f64| *v > 0.0 && v.is_finite();
        let number = |key: &str| source.value(key, "positive and finite", positive);
        Ok(Self {
            contact: source.value("contact.bodies", "true or false", |_| true)?,
            contact_stiffness: number("contact.stiffness")?,
            contact_thickness: number("contact.thickness")?,
            obstacle: scene.obstacle.iter().filter_map(|obstacle| obstacle.shape).collect(),
            weld: options.weld,
            body,
            scene,
        })
    }

    /// Whether bodies have contact with each other and with themselves, and whether the scene says so or needs it.
    fn touches(&self) -> [bool; 2] {
        let said = self.contact.is_some() || self.body.len() > 1;
        let folds = |body: &Body| !matches!(body.mesh, MeshChoice::Bar(_));
        let turns = self.scene.attachment.iter().any(|attachment| attachment.turn.is_some());
        [self.contact.unwrap_or(self.body.len() > 1 || turns || self.body.iter().any(folds)), said]
    }
}

/// A scene that cannot be read or is not valid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SceneError {
    #[error(transparent)]
    Scene(#[from] examples_scene::SceneError),
    #[error(
        "attachment {index} (from 0) refers to node {found}, but there are only {count}, numbered from 0"
    )]
    Missing { index: usize, found: usize, count: usize },
    #[error(
        "attachment {index} (from 0) holds no nodes; its box or list is empty, in coordinates of the scene"
    )]
    Nothing { index: usize },
    #[error(
        "attachments {first} and {second} (from 0) both hold node {node} of body {body} in frame {frame}; a node \
         can have one attachment at a time: change nodes, from or until"
    )]
    Twice { first: usize, second: usize, body: usize, node: usize, frame: usize },
    #[error(
        "body {index} (from 0): the mesh {mesh} has no tetrahedra, which its material needs; use mass-spring"
    )]
    Surface { index: usize, mesh: MeshChoice },
    #[error(transparent)]
    Mesh(#[from] MeshFault),
    #[error("body {index} (from 0): {source}")]
    Body { index: usize, source: BodyError },
    #[error("obstacle {index} (from 0): {source}")]
    Obstacle { index: usize, source: ContactError },
    #[error(
        "body {index} (from 0) is a sheet, which penalties keep from no body; use --contact barrier, or set contact.bodies = \
         false to let bodies pass through each other"
    )]
    NoContact { index: usize },
    #[error(
        "body {index} (from 0) touches itself at rest: {pair} are {distance:.1e} m apart, so that barriers have no room; \
         merge nodes at the same place (--weld), move the parts apart, or set contact.bodies = false"
    )]
    Touches { index: usize, pair: Pair, distance: f64 },
    #[error(
        "at the start, node {node} of body {body} (from 0) is {depth:.3e} m inside obstacle {obstacle}; move one of \
         them, or use --contact penalty"
    )]
    Inside { body: usize, node: usize, depth: f64, obstacle: usize },
    #[error(
        "at the start, an edge at node {node} of body {body} (from 0) is inside obstacle {obstacle}; move one of them, or use \
         --contact penalty"
    )]
    Dips { body: usize, node: usize, obstacle: usize },
    #[error(
        "at the start, bodies {first} and {second} (from 0) intersect: node {node} of body {first} is on an edge that \
         crosses the surface, or inside body {second}; move them apart, or use --contact penalty"
    )]
    Intersect { first: usize, second: usize, node: usize },
    #[error(transparent)]
    Contact(#[from] ContactError),
    #[error(transparent)]
    Sum(#[from] BodyError),
    #[error(transparent)]
    Any(#[from] AnyError),
}
