//! The files of a frame: the surface, and its picture.

use coarsen::elastic::Nodes;
use examples_render::{BODIES, OBSTACLE, Stage};
use examples_run::Failure;
use examples_run::files::{Group, Moment, Surface};

use crate::motion::Motion;
use crate::options::Options;
use crate::scene::Scene;
use crate::sheet::Sheet;
use crate::state::State;
use crate::world::{Fixed, all};

/// The time in s over which the speed of what is moved is measured.
const LATER: f64 = 1e-4;

/// Draws the states of a scene.
pub(crate) struct Drawing {
    surface: Surface,
    stage: Stage,
    nodes: Nodes,
    /// The positions of all nodes at the start.
    start: Vec<[f64; 3]>,
}

impl Drawing {
    /// Creates the stage; `fixed` is the scene at the start.
    pub(crate) fn new(scene: &Scene, sheet: &Sheet, fixed: Fixed, options: &Options) -> Self {
        let triangles = fixed.crossings.surfaces.triangles();
        let layer = sheet.triangles.len() / sheet.layers;
        let (texture, mut drawn, mut groups) = (sheet.texture(), Vec::new(), Vec::new());
        for (k, own) in sheet.triangles.chunks(layer).enumerate() {
            let name = if sheet.layers == 1 { "cloth".into() } else { format!("cloth{k}") };
            let texture = texture.as_ref().map(|all| all[k * layer..k * layer + own.len()].to_vec());
            let (colour, triangles) = (BODIES[k % BODIES.len()], own.to_vec());
            groups.push(Group { name, colour, triangles, texture, solid: None });
            drawn.push(own.to_vec());
        }
        let still = triangles[sheet.triangles.len()..].to_vec();
        let moving = matches!(scene.motion, Motion::Played(_));
        if moving {
            drawn.push(still.clone());
        }
        if !still.is_empty() {
            let (colour, texture) = (OBSTACLE, scene.texture.clone());
            groups.push(Group { name: "obstacle".into(), colour, triangles: still, texture, solid: None });
        }
        let surface = Surface::new(groups, fixed.positions.clone());
        let width = usize::from(options.width);
        let mut stage = Stage::new(&scene.view, &scene.solids, drawn, &fixed.positions, width);
        if !moving {
            stage.add_still(&scene.still.positions, &scene.still.triangles);
        }
        Self { surface, stage, nodes: fixed.nodes, start: fixed.positions }
    }

    /// The width and height of the pictures; `None` if none are drawn.
    pub(crate) fn picture(&self, options: &Options) -> Option<(usize, usize)> {
        (options.width > 0).then(|| self.stage.size())
    }

    /// Writes what is made of all frames.
    pub(crate) fn finish(&self, options: &Options) -> Result<(), Failure> {
        Ok(self.surface.finish(&options.out, options.format, options.method.pace().frame())?)
    }

    /// Writes the surface and, if the run draws, the picture of a state.
    pub(crate) fn show(&self, scene: &Scene, state: &State, options: &Options) -> Result<(), Failure> {
        let (folder, motion, pace) = (&options.out, &scene.motion, options.method.pace());
        let time = pace.time(state.begun, state.frame);
        let (mut nodes, mut speeds) = (self.nodes.clone(), self.nodes.clone());
        speeds.hold(&vec![[0.0; 3]; self.start.len()]);
        if motion.moves() {
            let now = motion.held(&self.start, time);
            let later = motion.held(&self.start, time + LATER);
            let speed = now.iter().zip(later).map(|(p, q)| [0, 1, 2].map(|k| (q[k] - p[k]) / LATER));
            speeds.hold(&speed.collect::<Vec<_>>());
            nodes.hold(&now);
        }
        let (x, v) = (&all(&nodes, &state.x), &all(&speeds, &state.v));
        let (x, v) = (x.as_flattened(), v.as_flattened());
        let moment = Moment { frame: state.frame, delay: pace.frame(), x, v };
        self.surface.write(folder, options.format, &moment)?;
        if options.width > 0 {
            let caption = format!("t = {:.2} s", state.begun + state.frame as f64 * pace.frame());
            let solids = motion.solids(&scene.solids, time);
            self.stage.write_moved(folder, state.frame, x, &solids, &caption)?;
        }
        Ok(())
    }
}
