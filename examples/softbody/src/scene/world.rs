//! Nodes, masses and potentials of a scene.

use std::collections::HashSet;
use std::f64::consts::PI;
use std::ops::Range;

use coarsen::elastic::{Attachments, Total};
use coarsen::mesh::Mesh;
use coarsen::mesh::vector::{dot, sub};
use coarsen_contact::open_edge;
use examples_scene::Attachment;
use examples_scene::shape::unit;

use super::contact::ContactInputs;
use super::{Body, SceneError, Setting};
use crate::bodies::Bodies;
use crate::material::{Material, THICKNESS, masses};
use crate::meshes::MeshChoice;
use crate::options::Method;
use crate::part::{Forces, Inside, Part};
use crate::timed_attachments::TimedAttachment;

/// The total stiffness of the pins of an attachment, in units of Young's modulus times the size.
const PIN: f64 = 100.0;

/// A body to draw and to write.
pub(crate) struct Shape {
    /// The range of its nodes in the scene.
    pub(crate) nodes: Range<usize>,
    /// The triangles of its surface, as indices of nodes of the scene.
    pub(crate) triangles: Vec<[u32; 3]>,
}

/// A scene to be simulated. Pins are springs, so all nodes are unknowns.
pub(crate) struct World {
    /// The initial positions, which are also the rest positions.
    pub(crate) positions: Vec<[f64; 3]>,
    /// Initial velocities.
    pub(crate) velocities: Vec<[f64; 3]>,
    /// The mass of each node, kg.
    pub(crate) masses: Vec<f64>,
    /// The bodies.
    pub(crate) shapes: Vec<Shape>,
    pub(crate) timed_attachments: Vec<TimedAttachment>,
    /// All energies except gravity.
    pub(crate) forces: Forces,
    /// Finds vertices inside other bodies, if surfaces have contact.
    pub(crate) inside: Option<Inside>,
    /// Why the body has no contact with itself, where it could need it.
    pub(crate) apart: Option<SceneError>,
    /// The acceleration of gravity in m/s².
    pub(crate) gravity: [f64; 3],
}

impl Setting {
    /// The meshes of all bodies; each file is read once.
    pub(crate) fn meshes(&self) -> Result<Vec<Mesh>, SceneError> {
        let mut meshes: Vec<Mesh> = Vec::new();
        for (index, body) in self.body.iter().enumerate() {
            let known = self.body[..index].iter().position(|other| other.mesh == body.mesh);
            meshes.push(match known {
                Some(known) => meshes[known].clone(),
                None if self.weld => body.mesh.load()?.welded().0,
                None => body.mesh.load()?,
            });
        }
        Ok(meshes)
    }

    /// What is said before the run of each mesh that is a closed surface without tetrahedra: it may be meant as a solid.
    pub(crate) fn hollow(&self, meshes: &[Mesh]) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for (body, mesh) in self.body.iter().zip(meshes) {
            let MeshChoice::File(file) = &body.mesh else { continue };
            if mesh.tetrahedra.is_empty() && open_edge(&mesh.triangles).is_none() {
                let note = format!(
                    "{}: a closed surface of {} triangles without tetrahedra is simulated as a hollow shell of springs, {} m \
                     thick; for a solid, pass a mesh of tetrahedra (.msh, .mesh, .vtk, or .node and .ele)",
                    file.display(),
                    mesh.triangles.len(),
                    THICKNESS
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        notes
    }
}

impl World {
    /// Creates the nodes and potentials of a scene; `meshes` has the mesh of each body.
    pub(crate) fn new(setting: &Setting, meshes: &[Mesh], method: &Method) -> Result<Self, SceneError> {
        let (mut whole, mut shapes, mut energies) = (Mesh::default(), Vec::new(), Vec::new());
        let (mut weights, mut velocities) = (Vec::new(), Vec::new());
        let (mut stiffest, mut top) = (0.0_f64, 0.0);
        for (index, (body, mesh)) in setting.body.iter().zip(meshes).enumerate() {
            let mesh = placed(body, mesh.clone(), top);
            top = mesh.bounds()[1][1];
            let material = body.material.unwrap_or_else(|| Material::fitting(&mesh));
            let energy = material.energy(&mesh, body.mesh.side(), body.moduli);
            let energy = energy.map_err(|source| SceneError::Body { index, source })?;
            energies.push(energy.ok_or_else(|| SceneError::Surface { index, mesh: body.mesh.clone() })?);
            weights.extend(masses(&mesh, body.density));
            velocities.resize(velocities.len() + mesh.positions.len(), body.placed.velocity);
            stiffest = stiffest.max(body.moduli.young * thickness(&mesh, edge(&mesh)));

            let first = whole.positions.len() as u32;
            let triangles = mesh.surface().into_iter().map(|t| t.map(|v| first + v)).collect();
            shapes.push(Shape { nodes: first as usize..first as usize + mesh.positions.len(), triangles });
            whole.tetrahedra.extend(mesh.tetrahedra.iter().map(|t| t.map(|v| first + v)));
            whole.positions.extend(mesh.positions);
        }
        let n = whole.positions.len();
        let mut parts: Vec<Box<dyn Part>> =
            vec![Box::new(Bodies::new(energies, whole.tetrahedra.clone())?), Box::new(Attachments::new(n)?)];
        let [wanted, _] = setting.touches();
        let inputs =
            ContactInputs { setting, meshes, whole: &whole, shapes: &shapes, stiffest, method, wanted };
        let ((contacts, inside), apart) = inputs.parts()?;
        parts.extend(contacts);
        let timed = |(index, attachment): (usize, &Attachment)| {
            let body = &setting.body[attachment.body];
            let mesh = &meshes[attachment.body];
            let size = thickness(mesh, body.placed.size.unwrap_or_else(|| longest(mesh)));
            let stiffness = PIN * body.moduli.young * size;
            timed_attachment(index, attachment, &shapes[attachment.body], stiffness, &whole.positions)
        };
        let timed_attachments: Vec<TimedAttachment> =
            setting.scene.attachment.iter().enumerate().map(timed).collect::<Result<_, _>>()?;
        check_attachments(&timed_attachments, setting, &shapes)?;
        let (forces, gravity) = (Total::new(parts)?, setting.scene.gravity);
        Ok(Self {
            positions: whole.positions,
            velocities,
            masses: weights,
            shapes,
            timed_attachments,
            forces,
            inside,
            apart,
            gravity,
        })
    }
}

/// The longest side of a mesh.
fn longest(mesh: &Mesh) -> f64 {
    let [low, high] = mesh.bounds();
    sub(high, low).into_iter().fold(0.0, f64::max)
}

/// The length of a solid, or the thickness of a sheet.
fn thickness(mesh: &Mesh, length: f64) -> f64 {
    if mesh.tetrahedra.is_empty() { THICKNESS } else { length }
}

/// The mean length of the first edge of each tetrahedron, m.
fn edge(mesh: &Mesh) -> f64 {
    let at = |v: u32| mesh.positions[v as usize];
    let length = |t: &[u32; 4]| {
        let d = sub(at(t[0]), at(t[1]));
        dot(d, d).sqrt()
    };
    mesh.tetrahedra.iter().map(length).sum::<f64>() / mesh.tetrahedra.len().max(1) as f64
}

/// Moves the mesh of a body to its place in the scene; `top` is the height of the highest point of the
/// previous body.
fn placed(body: &Body, mesh: Mesh, top: f64) -> Mesh {
    let Body { mesh: choice, placed, .. } = body;
    // What is generated has a place only here; a file keeps its own unless the scene says otherwise.
    let of_file = choice.is_file();
    let mut mesh = match placed.size {
        Some(size) if of_file => mesh.scaled(1.0).scaled(size),
        None if of_file => mesh,
        size => mesh.scaled(size.unwrap_or(1.0)),
    };
    for (axis, angle) in placed.rotate.into_iter().enumerate() {
        let (sin, cos) = angle.to_radians().sin_cos();
        let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
        mesh.positions
            .iter_mut()
            .for_each(|p| (p[a], p[b]) = (cos * p[a] - sin * p[b], sin * p[a] + cos * p[b]));
    }
    let [low, high] = mesh.bounds();
    let centre = placed.centre.or((!of_file).then_some([0.0; 3]));
    let mut shift: [f64; 3] = std::array::from_fn(|k| {
        centre.map_or(0.0, |centre| centre[k] - 0.5 * (low[k] + high[k])) + placed.shift[k]
    });
    shift[1] = placed.above.map_or(shift[1], |gap| top + gap - low[1]);
    mesh.positions.iter_mut().for_each(|p| (0..3).for_each(|k| p[k] += shift[k]));
    mesh
}

/// Creates an attachment; `stiffness` is the total stiffness of its nodes.
fn timed_attachment(
    index: usize,
    attachment: &Attachment,
    shape: &Shape,
    stiffness: f64,
    positions: &[[f64; 3]],
) -> Result<TimedAttachment, SceneError> {
    let Range { start, end } = shape.nodes;
    let own = &positions[start..end];
    let nodes = attachment.nodes.nodes(own, own, &[]);
    let nodes =
        nodes.map_err(|node| SceneError::Missing { index, found: node as usize, count: own.len() })?;
    if nodes.is_empty() {
        return Err(SceneError::Nothing { index });
    }
    let turn = attachment.turn.map(|turn| {
        // Squares of very short and very long axes are 0 or infinite.
        let most = turn.axis.iter().fold(0.0_f64, |most, a| most.max(a.abs()));
        (turn.through, unit(turn.axis.map(|a| a / most)), turn.rate * PI / 180.0)
    });
    Ok(TimedAttachment {
        stiffness: attachment.stiffness.unwrap_or(stiffness / nodes.len() as f64),
        nodes: nodes.into_iter().map(|i| start as u32 + i).collect(),
        frames: attachment.from.max(1)..attachment.until.unwrap_or(usize::MAX),
        velocity: attachment.velocity,
        turn,
    })
}

/// Checks that no node is in two attachments at a time: the second would replace the pin of the first.
fn check_attachments(
    timed_attachments: &[TimedAttachment],
    setting: &Setting,
    shapes: &[Shape],
) -> Result<(), SceneError> {
    for (second, attachment) in timed_attachments.iter().enumerate() {
        for (first, other) in timed_attachments[..second].iter().enumerate() {
            let frame = attachment.frames.start.max(other.frames.start);
            let body = setting.scene.attachment[second].body;
            if frame >= attachment.frames.end.min(other.frames.end)
                || setting.scene.attachment[first].body != body
            {
                continue;
            }
            let known: HashSet<u32> = other.nodes.iter().copied().collect();
            if let Some(&node) = attachment.nodes.iter().find(|node| known.contains(node)) {
                let node = node as usize - shapes[body].nodes.start;
                return Err(SceneError::Twice { first, second, body, node, frame });
            }
        }
    }
    Ok(())
}
