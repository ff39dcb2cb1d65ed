//! The tables of a scene.

use coarsen_mesh::vector::{dot, sub};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::path::PathBuf;

use crate::file::Source;
use crate::shape::{Pose, Shape};

/// The version of the format.
pub const VERSION: u32 = 1;

/// Standard gravity, m/s².
pub const EARTH: [f64; 3] = [0.0, -9.81, 0.0];

/// A scene.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scene {
    /// The version of the format.
    pub version: u32,
    /// The acceleration of gravity, m/s².
    pub gravity: [f64; 3],
    /// The mesh of bodies that have none.
    pub mesh: Option<String>,
    /// Whether vertices at the same place are merged, and double elements removed, in all meshes.
    pub weld: bool,
    /// The bodies, in the order of their nodes.
    pub body: Vec<Body>,
    /// Nodes that are held.
    pub attachment: Vec<Attachment>,
    /// The obstacles of the bodies.
    pub obstacle: Vec<Obstacle>,
    /// Regions from which material flows.
    pub emitter: Vec<Emitter>,
    /// A formula that moves held nodes and obstacles.
    pub motion: Option<Motion>,
    pub(crate) time: toml::Table,
    pub(crate) grid: toml::Table,
    pub(crate) solver: toml::Table,
    pub(crate) contact: toml::Table,
    pub(crate) air: toml::Table,
    pub(crate) output: toml::Table,
    /// The view of the pictures.
    pub view: View,
    /// Where all this stands.
    #[serde(skip)]
    pub source: Source,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            version: VERSION,
            gravity: EARTH,
            mesh: None,
            weld: false,
            body: Vec::new(),
            attachment: Vec::new(),
            obstacle: Vec::new(),
            emitter: Vec::new(),
            motion: None,
            time: toml::Table::new(),
            grid: toml::Table::new(),
            solver: toml::Table::new(),
            contact: toml::Table::new(),
            air: toml::Table::new(),
            output: toml::Table::new(),
            view: View::default(),
            source: Source::default(),
        }
    }
}

/// A body: a mesh or a shape, scaled, then turned, then moved.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Body {
    /// A file, or the name of a mesh that the program generates.
    pub mesh: Option<String>,
    /// A shape, instead of a mesh.
    pub shape: Option<Shape>,
    /// What it consists of.
    pub material: Material,
    /// The longest side to which a mesh is scaled about the origin. Of cloth only a flat sheet has one: a file, or a generated
    /// square.
    pub size: Option<f64>,
    /// Angles of rotations about the axes x, y and z, one after the other.
    pub rotate: [f64; 3],
    /// The axis and the angle of a rotation about the centre of a shape, or about the origin of a mesh.
    pub turn: Option<([f64; 3], f64)>,
    /// A displacement after the rotation.
    pub shift: [f64; 3],
    /// The centre of the box around the body.
    pub centre: Option<[f64; 3]>,
    /// The distance of the lowest point of the body above the highest one of the body before, or above y = 0. For cloth, that
    /// of the middle of the sheet above the highest point of the obstacles without planes. It replaces the height of `centre`.
    pub above: Option<f64>,
    /// The velocity at the start, m/s.
    pub velocity: [f64; 3],
    /// The stretches along the axes at the start: F = diag.
    pub stretch: Option<[f64; 3]>,
    /// The largest random change of each stretch of each particle, and its seed.
    pub scatter: Option<(f64, u64)>,
    /// The directions of u and v of a flat sheet of cloth.
    pub axes: Option<[[f64; 3]; 2]>,
    /// The shape of cloth at rest.
    pub rest: Rest,
    /// Sheets of cloth: the number of vertices, of sheets over each other, and of divisions; the kind of triangles.
    pub vertices: Option<u32>,
    /// See `vertices`.
    pub sheets: Option<u16>,
    /// See `vertices`.
    pub subdivide: Option<u8>,
    /// See `vertices`.
    pub tessellation: Option<String>,
    /// Whether cloth is sewn from the flat pieces in its texture coordinates.
    pub sewn: bool,
    /// Whether triangles without area are left out.
    pub drop_degenerate: bool,
}

/// The shape of cloth at rest.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// A flat sheet.
    #[default]
    Flat,
    /// A garment, with the shape that it has in space.
    Space,
    /// The same, scaled to the height of a skirt, with its top at the waist.
    Fitted,
}

/// What a body consists of: a name, or a table with a name and numbers. Each program has names of its own, and numbers for
/// them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Material {
    /// The name.
    pub name: Option<String>,
    /// kg/m³, of cloth kg/m².
    pub density: Option<f64>,
    /// Young's modulus, Pa.
    pub young: Option<f64>,
    /// Poisson's ratio.
    pub poisson: Option<f64>,
    /// The factor of all stiffnesses of cloth.
    pub stiffness: Option<f64>,
    /// The factor of the bending modulus of cloth.
    pub bending: Option<f64>,
    /// The yield stress of von Mises, Pa; not beside `granular`.
    pub yield_stress: Option<f64>,
    /// The bounds of the stretches of granular flow.
    pub granular: Option<[f64; 2]>,
    /// The number of particles in a cell of a grid.
    pub per_cell: Option<u32>,
}

impl<'de> Deserialize<'de> for Material {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NameOrNumbers)
    }
}

/// Reads a material.
struct NameOrNumbers;

impl<'de> Visitor<'de> for NameOrNumbers {
    type Value = Material;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a material, or a table with its name and numbers")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Material, E> {
        Ok(Material { name: Some(name.to_owned()), ..Material::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Material, A::Error> {
        Material::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Nodes of a body that are held during some frames, where they are at the start of the attachment, or at points that move
/// away from there. A node can be in one attachment at a time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// The index of the body, from 0.
    #[serde(default)]
    pub body: usize,
    /// Its nodes.
    pub nodes: Pick,
    /// The first frame; frames count from 1.
    #[serde(default)]
    pub from: usize,
    /// The first frame without the attachment; by default the attachment does not end.
    pub until: Option<usize>,
    /// The stiffness of the spring at each node, N/m.
    pub stiffness: Option<f64>,
    /// The velocity of the points, m/s.
    #[serde(default)]
    pub velocity: [f64; 3],
    /// The rotation of the points.
    pub turn: Option<Turn>,
}

/// A rotation about an axis.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// A point of the axis.
    pub through: [f64; 3],
    /// The direction of the axis.
    pub axis: [f64; 3],
    /// The rate in degrees per second.
    pub rate: f64,
}

/// Some nodes of a body.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// This share of all nodes, at least one: the highest nodes. Of equally high nodes, those with the
    /// smallest x are taken first, then those with the smallest z.
    Top(f64),
    /// The nodes inside a box, from its lowest to its highest corner.
    Box([[f64; 3]; 2]),
    /// The node nearest to a point.
    Nearest([f64; 3]),
    /// Nodes by number, from 0 within the body.
    List(Vec<u32>),
    /// The nodes of sides of a flat sheet: the least and the largest u, and the least and the largest v.
    Sides(Vec<Side>),
    /// The nodes of cloth that at rest are not further than this below its highest one, m.
    Band(f64),
    /// The boundary of cloth.
    Boundary,
    /// The two sides of the corner that is cut out of a notched sheet.
    Notch,
}

/// A side of a flat sheet.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The least u.
    West,
    /// The largest u.
    East,
    /// The least v.
    South,
    /// The largest v.
    North,
}

impl Pick {
    /// The nodes of a body with these positions.
    ///
    /// # Errors
    /// The number of a node that does not exist.
    pub fn nodes(&self, at: &[[f64; 3]], rest: &[[f64; 3]], triangles: &[[u32; 3]]) -> Result<Vec<u32>, u32> {
        let numbers = 0..at.len() as u32;
        let end = |k: usize, far: fn(f64, f64) -> f64, none: f64| rest.iter().map(|p| p[k]).fold(none, far);
        let resting =
            |is: &dyn Fn(&[f64; 3]) -> bool| numbers.clone().filter(|&i| is(&rest[i as usize])).collect();
        Ok(match self {
            Self::Top(share) => {
                let count = ((share * at.len() as f64).ceil() as usize).clamp(1, at.len());
                let mut nodes: Vec<u32> = numbers.collect();
                // Rotations cause round-off, so heights that differ by less than 1e-6 m count as equal.
                let micro = |i: u32| at[i as usize].map(|c| (1e6 * c).round() as i64);
                nodes.sort_by_key(|&i| (-micro(i)[1], micro(i)[0], micro(i)[2], i));
                nodes.truncate(count);
                nodes
            }
            Self::Box([low, high]) => {
                let inside = |i: &u32| (0..3).all(|k| (low[k]..=high[k]).contains(&at[*i as usize][k]));
                numbers.filter(inside).collect()
            }
            Self::Nearest(point) => {
                let square = |i: u32| {
                    let d = sub(at[i as usize], *point);
                    dot(d, d)
                };
                numbers.min_by(|&i, &j| square(i).total_cmp(&square(j))).into_iter().collect()
            }
            Self::List(list) => {
                if let Some(&node) = list.iter().find(|&&i| i as usize >= at.len()) {
                    return Err(node);
                }
                let mut nodes = list.clone();
                nodes.sort_unstable();
                nodes.dedup();
                nodes
            }
            Self::Sides(sides) => {
                let [low, high] =
                    [(f64::min as fn(f64, f64) -> f64, f64::INFINITY), (f64::max, f64::NEG_INFINITY)];
                let [west, south] = [0, 1].map(|k| end(k, low.0, low.1) + 1e-9);
                let [east, north] = [0, 1].map(|k| end(k, high.0, high.1) - 1e-9);
                resting(&|p| {
                    sides.iter().any(|side| match side {
                        Side::West => p[0] <= west,
                        Side::East => p[0] >= east,
                        Side::South => p[1] <= south,
                        Side::North => p[1] >= north,
                    })
                })
            }
            Self::Band(height) => {
                let top = end(1, f64::max, f64::NEG_INFINITY);
                resting(&|p| p[1] >= top - height)
            }
            Self::Notch => resting(&|[u, v, _]| (u.min(*v) - 0.5).abs() <= 1e-9),
            Self::Boundary => {
                let mut sides: Vec<[u32; 2]> = triangles
                    .iter()
                    .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]].map(|[a, b]| [a.min(b), a.max(b)]))
                    .collect();
                sides.sort_unstable();
                let once = sides.chunk_by(|a, b| a == b).filter(|same| same.len() == 1);
                let mut nodes: Vec<u32> = once.flat_map(|same| same[0]).collect();
                nodes.sort_unstable();
                nodes.dedup();
                nodes
            }
        })
    }
}

/// How material of a grid meets an obstacle.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Nodes inside move with the obstacle.
    #[default]
    Sticky,
    /// Nodes inside keep the normal velocity of the obstacle.
    Slip,
    /// As slip, but nodes that leave the obstacle at the start of a solve are free in this solve.
    Separating,
}

/// A part of a motion.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The end of the phase, s.
    pub until: f64,
    /// Velocity, m/s.
    #[serde(default)]
    pub velocity: [f64; 3],
    /// Angular velocity around the axis of the obstacle, degrees/s.
    #[serde(default)]
    pub rate: f64,
}

/// An obstacle of the bodies: a shape or a mesh.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Obstacle {
    /// Its shape at the start.
    pub shape: Option<Shape>,
    /// Its surface at the start, instead of a shape: a file.
    pub mesh: Option<PathBuf>,
    /// Its surface at each frame, instead of a shape: files with the same triangles.
    pub frames: Option<Vec<PathBuf>>,
    /// The longest side to which a mesh is scaled about the origin; not beside `shape` and `frames`.
    pub size: Option<f64>,
    /// Whether a closed mesh is a solid with a signed distance, which stands on y = 0 with its middle over the origin.
    pub solid: bool,
    /// The lowest and highest corners of boxes that fill a mesh, for constraints.
    pub boxes: Vec<[[f64; 3]; 2]>,
    /// How material of a grid meets it.
    pub kind: Kind,
    /// The coefficient of Coulomb friction; on a grid of `slip` and `separating`.
    pub friction: f64,
    /// The axis around which it turns, through the centre of the shape, or through the origin of a mesh.
    pub axis: [f64; 3],
    /// Its motion, phase by phase; at rest afterwards. For cloth only of a shape, in a scene without [`Scene::motion`] and
    /// without `frames`.
    pub motion: Vec<Phase>,
    /// The least radius of a ball, tube, capsule or cylinder in units of the spacing of a grid, so that thin obstacles hold
    /// nodes on coarse grids too. Other shapes and meshes have none.
    pub cells: f64,
    /// When it disappears, s; never by default.
    pub gone: Option<f64>,
    /// Whether pictures show it.
    pub shown: bool,
}

impl Default for Obstacle {
    fn default() -> Self {
        Self {
            shape: None,
            mesh: None,
            frames: None,
            size: None,
            solid: false,
            boxes: Vec::new(),
            kind: Kind::default(),
            friction: 0.0,
            axis: [0.0, 1.0, 0.0],
            motion: Vec::new(),
            cells: 0.0,
            gone: None,
            shown: true,
        }
    }
}

impl Obstacle {
    /// An obstacle at rest.
    pub fn new(shape: Shape, kind: Kind) -> Self {
        Self { shape: Some(shape), kind, ..Self::default() }
    }

    /// The same obstacle with a motion.
    pub fn moving(self, axis: [f64; 3], motion: Vec<Phase>) -> Self {
        Self { axis, motion, ..self }
    }

    /// Whether it is there at a time.
    pub fn exists(&self, time: f64) -> bool {
        self.gone.is_none_or(|gone| time < gone)
    }

    /// Its pose at a time.
    pub fn pose(&self, time: f64) -> Pose {
        let (mut shift, mut angle, mut from) = ([0.0; 3], 0.0, 0.0);
        for &Phase { until, velocity, rate } in &self.motion {
            let span = (time.min(until) - from).max(0.0);
            (0..3).for_each(|k| shift[k] += span * velocity[k]);
            angle += span * rate.to_radians();
            from = until;
        }
        let about = self.shape.map_or([0.0; 3], |shape| shape.centre());
        Pose::new(self.axis, angle, about, shift)
    }
}

/// A region from which material flows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emitter {
    /// The region: a ball or a box, longer than the displacement of the material in a step.
    pub shape: Shape,
    /// What flows.
    pub material: Material,
    /// The velocity of the material, m/s.
    pub velocity: [f64; 3],
    /// When the flow ends, s.
    pub until: f64,
    /// The region moves by amplitude · sin(rate · t) on each axis: the amplitudes in m. An axis has both or none.
    #[serde(default)]
    pub swing: [f64; 3],
    /// The rates, degrees/s.
    #[serde(default)]
    pub swing_rate: [f64; 3],
}

/// A formula for held nodes and obstacles of cloth.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Motion {
    /// Held nodes turn about the x axis through a point, those of larger x forwards and the others backwards.
    Twist {
        /// The point.
        through: [f64; 3],
        /// The rate of each end, degrees/s.
        rate: f64,
    },
    /// Hips bob, with all held nodes and balls, and two legs (the last obstacles) swing about their upper ends.
    Walk {
        /// The largest angle of a leg, degrees.
        swing: f64,
        /// The steps of one leg per second.
        pace: f64,
        /// How far the hips bob, m.
        bob: f64,
    },
    /// Balls move along −z and back.
    Push {
        /// How far, m.
        reach: f64,
        /// The time until they are back, s.
        period: f64,
    },
}

/// The view of the pictures: a box that fills them, and the direction.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct View {
    /// Two corners of the box; by default the box contains the bodies, balls and capsules.
    pub corners: Option<[[f64; 3]; 2]>,
    /// The angle around the vertical axis: 0 looks from +z, 90 from +x.
    pub azimuth: f64,
    /// The angle above the horizon.
    pub elevation: f64,
    /// Whether the half of resting meshes that is nearer to the eye is left out, so that their inside is seen.
    pub cut: bool,
}

impl Default for View {
    fn default() -> Self {
        Self { corners: None, azimuth: 25.0, elevation: 12.0, cut: false }
    }
}
