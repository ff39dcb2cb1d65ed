//! A scene of cloth: the sheet, what holds it, and its obstacles. The scenes are files: `scenes/*.toml`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use coarsen::mesh::vector::cross;
use coarsen::mesh::{self, Mesh, read_triangles};
use coarsen_contact::{ContactError, Spin, Topology};
use examples_scene::{Body, Obstacle, Rest, Scene as Setting, Shape, View};

use crate::fault::{SceneError, SheetFault};
use crate::motion::{Motion, Played};
use crate::options::{Options, SCENES};
use crate::sheet::{Sheet, painted, welded};
use crate::statue::Statue;
use crate::thickness::thickness;

/// The meshes of these scenes.
const MESHES: [(&str, &[u8]); 2] = [
    ("box.obj", include_bytes!("../scenes/box.obj")),
    ("funnel.obj", include_bytes!("../scenes/funnel.obj")),
];

#[derive(Clone, Debug)]
pub(crate) struct Scene {
    /// The position of the middle of the sheet, u = v = 1/2.
    pub(crate) middle: [f64; 3],
    /// The directions of u and v.
    pub(crate) axes: [[f64; 3]; 2],
    /// For each vertex, whether it is held where it is.
    pub(crate) held: Vec<bool>,
    /// Obstacles.
    pub(crate) solids: Vec<Shape>,
    /// How the solids turn; those after the list do not.
    pub(crate) spins: Vec<Spin>,
    /// The formula of held vertices and solids.
    pub(crate) motion: Motion,
    /// An obstacle of triangles; may be empty.
    pub(crate) still: Mesh,
    /// The texture coordinates of its triangles in the file, if all have some.
    pub(crate) texture: Option<Vec<[[f64; 2]; 3]>>,
    /// The lowest and highest corners of boxes that fill it, if it is made of boxes.
    pub(crate) blocks: Vec<[[f64; 3]; 2]>,
    /// The solid whose triangles are that obstacle, if it has a signed distance.
    pub(crate) statue: Option<Arc<Statue>>,
    /// The view of the pictures.
    pub(crate) view: View,
}

pub(crate) fn body(setting: &Setting) -> Result<&Body, SceneError> {
    let why = "cannot be there: a scene has one body of cloth, which may have several sheets";
    let [body] = &setting.body[..] else { return Err(setting.source.fault("body[1]", why).into()) };
    Ok(body)
}

impl Scene {
    pub(crate) fn new(sheet: &Sheet, options: &Options) -> Result<Self, SceneError> {
        let setting = &options.choice.setting;
        let body = body(setting)?;
        check_motions(setting)?;
        let mut scene = Self {
            middle: [0.0; 3],
            axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            held: vec![false; sheet.rest.len()],
            solids: setting.obstacle.iter().filter_map(|obstacle| obstacle.shape).collect(),
            spins: Vec::new(),
            motion: Motion::of(setting, sheet),
            still: Mesh::default(),
            texture: None,
            blocks: setting.obstacle.iter().flat_map(|obstacle| obstacle.boxes.iter().copied()).collect(),
            statue: None,
            view: setting.view,
        };
        if scene.motion == Motion::Still || scene.motion == Motion::Sewing {
            scene.spins = setting.obstacle.iter().filter(|o| o.shape.is_some()).map(spin).collect();
        }
        for obstacle in setting.obstacle.iter().filter(|obstacle| obstacle.shape.is_none()) {
            scene.add_mesh(obstacle, sheet, options)?;
        }
        let (middle, axes) = sheet.place.unwrap_or((scene.middle, scene.axes));
        (scene.middle, scene.axes) = (body.centre.unwrap_or(middle), body.axes.unwrap_or(axes));
        if let Some(above) = body.above {
            let still = (!scene.still.positions.is_empty()).then(|| scene.still.bounds());
            let bounds = scene.solids.iter().filter_map(Shape::bounds).chain(still);
            let top = bounds.map(|[_, high]| high[1]).reduce(f64::max).unwrap_or(0.0);
            scene.middle[1] = top + above;
        }
        let at = scene.positions(sheet);
        for (index, attachment) in setting.attachment.iter().enumerate() {
            let nodes = attachment.nodes.nodes(&at[..sheet.rest.len()], &sheet.rest, &sheet.triangles);
            let key = || format!("attachment[{index}].nodes");
            let none =
                |node| setting.source.fault(key(), format!("refers to vertex {node}, which does not exist"));
            let nodes = nodes.map_err(none)?;
            if nodes.is_empty() {
                return Err(setting.source.fault(key(), "holds no vertex").into());
            }
            nodes.iter().for_each(|node| scene.held[*node as usize] = true);
        }
        Ok(scene)
    }

    /// Adds an obstacle of triangles: one that rests, one that moves from frame to frame, or a statue.
    fn add_mesh(&mut self, obstacle: &Obstacle, sheet: &Sheet, options: &Options) -> Result<(), SceneError> {
        let (mut mesh, mut file) = (Mesh::default(), None);
        if obstacle.solid {
            let own = obstacle.mesh.clone().or(options.body.first().cloned()).ok_or(SceneError::Unnamed)?;
            let (statue, numbers) =
                Statue::read(&own, obstacle.size, thickness(sheet, options)?, options.weld)?;
            (mesh, self.texture) = (statue.mesh().clone(), painted(&own, &numbers));
            (self.statue, file) = (Some(Arc::new(statue)), Some(own));
        } else if let Some(frames) = &obstacle.frames {
            let files = if options.body.is_empty() { frames } else { &options.body };
            let (body, numbers, played) = Played::read(files, options.weld)?;
            file = files.first().cloned();
            self.texture = file.as_ref().and_then(|file| painted(file, &numbers));
            (mesh, self.motion) = (body, Motion::Played(played));
        } else if let Some(own) = &obstacle.mesh {
            let is_built_in = SCENES.iter().any(|(name, _)| *name == options.choice.name);
            let known = MESHES.iter().find(|(name, _)| is_built_in && Path::new(name) == own);
            mesh = match known {
                Some((_, bytes)) => mesh::parse(mesh::Format::Obj, bytes).map_err(SheetFault::from)?,
                None => welded(read_triangles(own).map_err(SheetFault::from)?, options.weld).0,
            };
            mesh = obstacle.size.map_or(mesh.clone(), |size| mesh.scaled(size));
            file = Some(own.clone());
        }
        let first = self.still.positions.len() as u32;
        let Mesh { positions, triangles, .. } = &mesh;
        match (Topology::new(triangles, &vec![true; positions.len()], positions), file) {
            (Err(ContactError::Double { triangles, .. }), Some(file)) => {
                return Err(SceneError::Double { file, triangles });
            }
            (topology, _) => topology.map(drop)?,
        }
        self.still.positions.extend(positions);
        self.still.triangles.extend(triangles.iter().map(|t| t.map(|v| first + v)));
        Ok(())
    }

    /// The positions of the vertices of a sheet at the start, and then those of the obstacle of triangles.
    pub(crate) fn positions(&self, sheet: &Sheet) -> Vec<[f64; 3]> {
        // (u, v) of a flat sheet begin at its corner.
        let ([s, t], shift) = (self.axes, if sheet.curved { 0.0 } else { 0.5 });
        let n = cross(s, t);
        let place = |&[u, v, w]: &[f64; 3]| -> [f64; 3] {
            std::array::from_fn(|k| self.middle[k] + (u - shift) * s[k] + (v - shift) * t[k] + w * n[k])
        };
        sheet.rest.iter().map(place).chain(self.still.positions.iter().copied()).collect()
    }
}

/// Refuses motions of obstacles that have no effect: obstacles of triangles rest or have frames, and a formula or frames
/// replace the motions of shapes.
fn check_motions(setting: &Setting) -> Result<(), SceneError> {
    let played = setting.obstacle.iter().any(|obstacle| obstacle.frames.is_some());
    for (k, obstacle) in setting.obstacle.iter().enumerate() {
        let fault = |key: &str, why| Err(setting.source.fault(format!("obstacle[{k}].{key}"), why).into());
        let idle = obstacle.shape.is_none() || setting.motion.is_some() || played;
        if idle && !obstacle.motion.is_empty() {
            let why = "has no effect on a mesh, nor beside [motion] or `frames`; leave it out";
            return fault("motion", why);
        }
        if obstacle.motion.is_empty() && obstacle.axis != Obstacle::default().axis {
            return fault("axis", "has no effect without `motion`; leave it out");
        }
    }
    Ok(())
}

/// How an obstacle turns that stays where it is.
fn spin(obstacle: &Obstacle) -> Spin {
    let rate = obstacle.motion.first().map_or(0.0, |phase| phase.rate.to_radians());
    Spin { rate: obstacle.axis.map(|a| rate * a), ..Spin::default() }
}

/// The number of strips that are twisted, if the options do not say it, and the gap between sheets in m.
const STRIPS: usize = 3;
const GAP: f64 = 0.01;

/// The sheet, or the sheets, before their triangles are divided.
pub(crate) fn sheet(options: &Options) -> Result<Sheet, SceneError> {
    let Options { choice, weld, body: given, .. } = options;
    let body = body(&choice.setting)?;
    let kind = body.mesh.as_deref().filter(|mesh| !examples_scene::file::is_file(mesh));
    let own = body.mesh.as_deref().filter(|_| kind.is_none()).map(PathBuf::from);
    let file = options.mesh.clone().or(own);
    let sheets = options.sheets.map_or(1, usize::from);
    let obstacles = || choice.setting.obstacle.iter();
    let statue = obstacles().any(|obstacle| obstacle.solid && obstacle.mesh.is_none());
    let empty = |obstacle: &Obstacle| obstacle.frames.as_ref().is_some_and(Vec::is_empty);
    let (played, moves) = (obstacles().any(|o| o.frames.is_some()), obstacles().any(empty));
    let (curved, fitted) = (body.rest != Rest::Flat, body.rest == Rest::Fitted);
    let checked = |sheet: Sheet| match options.drop_degenerate {
        true => sheet.without_degenerate().checked(),
        false => sheet.checked(),
    };
    match (&file, kind) {
        (Some(_), Some("notched")) => return Err(SceneError::Cut),
        (Some(_), Some("strips" | "shirt")) => return Err(SceneError::Strips),
        (_, kind) if sheets > 1 && (curved || kind == Some("shirt") || file.is_some()) => {
            return Err(SceneError::Stacked);
        }
        (None, None) => return Err(SceneError::Dressed),
        _ if moves && given.is_empty() => return Err(SceneError::Dressed),
        _ if statue && given.len() != 1 => return Err(SceneError::Unnamed),
        _ if !given.is_empty() && !statue && !played => return Err(SceneError::Dressed),
        (Some(_), _) if options.sewn && !curved => return Err(SceneError::Sewn),
        (None, _) if options.sewn => return Err(SceneError::NoFile { option: "--sewn" }),
        (None, _) if options.drop_degenerate => {
            return Err(SceneError::NoFile { option: "--drop-degenerate" });
        }
        _ => (),
    }
    let keeps_size = if file.is_some() { curved } else { matches!(kind, Some("strips" | "skirt" | "shirt")) };
    if body.size.is_some() && keeps_size {
        let why = "has no effect on a garment or on strips; it works with a flat sheet, `square`, `notched` or a file: \
                   leave it out";
        return Err(choice.setting.source.fault("body[0].size", why).into());
    }
    if let Some(file) = &file {
        return Ok(checked(match (options.sewn, curved) {
            (true, _) => Sheet::sewn(file, fitted, *weld)?,
            (false, true) => Sheet::garment(file, fitted, *weld)?,
            (false, false) => Sheet::read(file, body.size, *weld)?,
        })?);
    }
    let vertices = options.vertices as usize;
    Ok(match kind {
        Some("shirt") => crate::shirt::shirt(vertices),
        Some("skirt") => Sheet::skirt(vertices),
        Some("strips") => {
            // A strip is three times as long as wide.
            let strips = options.sheets.map_or(STRIPS, usize::from);
            let along = (3.0 * f64::from(options.vertices) / strips as f64).sqrt().round() as usize;
            Sheet::strips(along, strips, GAP)
        }
        Some(kind @ ("square" | "notched")) => {
            // A cut sheet has a quarter less, and an odd number of vertices along a side.
            let cut = kind == "notched";
            let each = f64::from(options.vertices) / sheets as f64;
            let side = (each * if cut { 4.0 / 3.0 } else { 1.0 }).sqrt().round().max(3.0) as usize;
            let square = Sheet::square(if cut { side | 1 } else { side }, options.tessellation, cut);
            square.scaled(body.size.unwrap_or(1.0)).stacked(sheets, GAP)
        }
        other => {
            let other = other.unwrap_or_default();
            let why = format!("is `{other}`, but must be square, notched, strips, skirt, shirt or a file");
            return Err(choice.setting.source.fault("body[0].mesh", why).into());
        }
    })
}
