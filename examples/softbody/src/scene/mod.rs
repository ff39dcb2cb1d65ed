//! A scene to be simulated: bodies with their numbers, attachments, obstacles.
//!
//! | file | what |
//! |---|---|
//! | `mod` | the bodies of a scene file, with the numbers of the command line |
//! | `world` | nodes, masses and potentials of a scene |
//! | `contact` | the energies of contact |
//! | `error` | errors of scenes |

mod contact;
mod error;
mod world;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use coarsen::elastic::Lame;
use coarsen::mesh::Mesh;
use examples_scene::{Body as Placement, Scene, Shape, fields};

use crate::material::{Law, Material, Moduli};
use crate::meshes::MeshChoice;
use crate::options::Options;
pub(crate) use error::SceneError;
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
