//! Nodes, masses and potentials of a scene.

use std::sync::Arc;

use coarsen::ObstacleConstraint;
use coarsen::elastic::{ContactPotential, Fabric, Nodes, Penalty, Plus, Potential, Springs, Total};
use coarsen::mesh::vector::sub;
use coarsen_contact::{
    ClothContact, ClothFriction, ContactError, Crossing, Cuboid, Friction, Obstacle, Shape, Spin,
};
use examples_scene::Shape as Solid;

use crate::air::Air;
use crate::crossing::Penetrations;
use crate::fault::SceneError;
use crate::material::{Cut, Woven};
use crate::motion::Motion;
use crate::options::{Obstacles, Options};
use crate::scene::Scene;
use crate::seams::Seams;
use crate::sheet::Sheet;
use crate::solids::{Met, Pressed, Rubbed, barrier, first_met, move_with_solids, sag};
use crate::state::{Row, State};
use crate::statue::Statue;
use crate::thickness::{MIN_DISTANCE, thickness};

/// Stretching and shearing stiffness of cotton, N/m.
pub(crate) const COTTON: Fabric = Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 };

/// A third of its bending modulus, N m: the constant of the formula of Bergou et al. 2006.
pub(crate) const BENDING: f64 = 5e-5;

/// The stiffness of a contact, in units of the stretching stiffness. Much stiffer contact does not change the
/// motion, but takes more iterations.
pub(crate) const CONTACT: f64 = 0.06;

/// The stiffness of seams for each metre of them, N/m².
const SEAM: f64 = 2e4;

/// By which share of the thickness constraints are above the penalties of solids.
const LIFT: f64 = 0.5;

/// Standard gravity in m/s².
pub(crate) const GRAVITY: [f64; 3] = [0.0, -9.81, 0.0];

/// Stretching and bending, and contact of triangles.
type Fabrics = Plus<Total<Box<dyn Woven>>, ClothContact>;

/// Friction with solids, and of triangles.
type Frictions = Plus<Total<Rubbed>, ClothFriction>;

/// Contact with solids, and friction.
type Solids = Plus<Total<Pressed>, Frictions>;

/// All energies except gravity.
pub(crate) type Forces = Plus<Fabrics, Solids>;

/// A scene to be simulated.
pub(crate) struct World {
    /// All but the energies.
    pub(crate) fixed: Fixed,
    /// All energies except gravity.
    pub(crate) forces: Forces,
}

/// What does not change during a run. Held vertices and those of obstacles have no unknowns.
pub(crate) struct Fixed {
    /// The numbers of the unknowns; first the vertices of the sheet, then those of the obstacle.
    pub(crate) nodes: Nodes,
    /// The positions of all nodes at the start.
    pub(crate) positions: Vec<[f64; 3]>,
    /// Whether each node is held.
    pub(crate) held: Vec<bool>,
    /// The thickness of the cloth, m.
    pub(crate) thickness: f64,
    /// The mass of each free node, kg.
    pub(crate) masses: Vec<f64>,
    /// The solids at the start, by how much their contact is grown, and how they turn.
    pub(crate) solids: Vec<Solid>,
    pub(crate) skins: Vec<f64>,
    pub(crate) spins: Vec<Spin>,
    /// The solid with a signed distance, and by how much its contact is grown.
    pub(crate) statue: Option<Arc<Statue>>,
    pub(crate) skin: f64,
    /// How solids press: by barriers, so that vertices and edges stay outside; or by penalties, which vertices enter, below
    /// constraints, and over ranks, where a step is one linear solve.
    pub(crate) potential: ContactPotential,
    /// By how much constraints are above the penalties of solids; 0 without constraints.
    pub(crate) lift: f64,
    /// The boxes among the obstacles, grown by the thickness, and their friction; only for constraints.
    pub(crate) blocks: Vec<Cuboid>,
    pub(crate) frictions: [f64; 2],
    /// What moves by a formula.
    pub(crate) motion: Motion,
    /// The seams of the cloth.
    seams: Seams,
    /// The forces of the air.
    pub(crate) air: Air,
    /// Finds where the cloth crosses itself or an obstacle.
    pub(crate) crossings: Penetrations,
}

impl World {
    /// Creates the nodes and potentials of a scene.
    pub(crate) fn new(scene: &Scene, sheet: &Sheet, options: &Options) -> Result<Self, SceneError> {
        let fixed = Fixed::new(scene, sheet, options)?;
        let parts = fabrics(&fixed, sheet, options)?;
        let n = fixed.nodes.free();
        let (obstacles, frictions) = solids(&fixed, n, options)?;
        let stiffness = contact_stiffness(options);
        let triangles =
            if options.method.no_self_contact { &[] } else { fixed.crossings.surfaces.triangles() };
        let contact =
            ClothContact::new(triangles, &fixed.held, &fixed.positions, fixed.thickness, stiffness)?;
        let friction = ClothFriction::new(&contact, options.cloth.self_friction, options.method.dt)?;
        let solids = Plus::new(Total::of(n, obstacles)?, Plus::new(Total::of(n, frictions)?, friction)?)?;
        let forces = Plus::new(Plus::new(parts, contact)?, solids)?;
        Ok(Self { fixed, forces })
    }
}

fn fabric(options: &Options) -> Fabric {
    let scale = options.cloth.stiffness;
    Fabric { stretch: scale * COTTON.stretch, shear: scale * COTTON.shear, ..COTTON }
}

/// The stiffness of contact, N/m.
pub(crate) fn contact_stiffness(options: &Options) -> f64 {
    CONTACT * fabric(options).stretch
}

/// Stretching and bending of a sheet, or of some of its triangles.
pub(crate) fn fabrics(
    fixed: &Fixed,
    sheet: &Sheet,
    options: &Options,
) -> Result<Total<Box<dyn Woven>>, SceneError> {
    let bending = 3.0 * (options.cloth.bending * options.cloth.stiffness * BENDING);
    let cut = Cut { fabric: fabric(options), bending, sheet, held: &fixed.held, positions: &fixed.positions };
    let mut parts = options.cloth.material.parts(&cut)?;
    if !sheet.seams.is_empty() {
        parts.push(Box::new(Springs::new(fixed.seams.start.clone(), &fixed.held, &fixed.positions)?));
    }
    Ok(Total::new(parts)?)
}

/// Contact and friction of `nodes` free nodes with the solids at the start, and that of edges if solids are barriers, except
/// those with an end held at the solid, where they cannot stay outside.
///
/// # Errors
/// [`SceneError::Obstacle`] for a solid or a number that is not valid, [`SceneError::Touches`] for an edge that begins in a
/// barrier.
pub(crate) fn solids(
    fixed: &Fixed,
    nodes: usize,
    options: &Options,
) -> Result<(Vec<Pressed>, Vec<Rubbed>), SceneError> {
    let (mu, h) = (options.cloth.friction, options.method.dt);
    let (mut obstacles, mut frictions) = (Vec::new(), Vec::new());
    let barrier = matches!(fixed.potential, ContactPotential::Barrier(_));
    let rest = fixed.nodes.gather(&fixed.positions);
    // The statue has no motion, and comes after those that have one.
    let spins = fixed.spins(0.0).into_iter().chain([Spin::default()]);
    let shapes = fixed.shapes(0.0, true)?.into_iter().zip(fixed.shapes(0.0, true)?);
    for (index, ((smooth, rough), spin)) in shapes.zip(spins).enumerate() {
        // An edge between vertices outside of a plane is outside, and triangles of a statue keep edges out.
        let round = fixed.solids.get(index).is_some_and(|solid| solid.radius().is_some());
        let make = |shape: Box<dyn Shape>| {
            let edges =
                if barrier && round { fixed.edges_outside(std::slice::from_ref(&shape)) } else { Vec::new() };
            let obstacle = Obstacle::with_potential(nodes, shape, fixed.potential.clone())?;
            match edges.is_empty() {
                true => Ok(obstacle),
                false => obstacle.edges(&edges, &fixed.held, &fixed.positions),
            }
        };
        let fault = |source| SceneError::Obstacle { index, source };
        let obstacle = make(smooth).map_err(fault)?;
        if barrier && let Some(ends) = obstacle.inside(&rest) {
            return Err(SceneError::Touches { ends, obstacle: index });
        }
        frictions.push(make(rough).and_then(|rough| Friction::new(rough, spin, mu, h)).map_err(fault)?);
        obstacles.push(obstacle);
    }
    Ok((obstacles, frictions))
}

impl Fixed {
    /// Creates the nodes of a scene, and what finds crossings; checks that nothing crosses at the start.
    pub(crate) fn new(scene: &Scene, sheet: &Sheet, options: &Options) -> Result<Self, SceneError> {
        let cloth = &options.cloth;
        let positions = scene.positions(sheet);
        let count = sheet.rest.len();
        let mut held = scene.held.clone();
        held.resize(positions.len(), true);
        if !held.contains(&false) {
            return Err(SceneError::Held { vertices: count });
        }
        let nodes = Nodes::new(&held, &positions)?;
        let masses = masses(sheet, &nodes, cloth.density);

        let thickness = thickness(sheet, options)?;
        let [_, (longest, _)] = sheet.edges();
        // With constraints, the penalties below them act only where a vertex is at two obstacles.
        let constrained = options.method.obstacles == Obstacles::Constraints;
        let lift = if constrained { LIFT * thickness } else { 0.0 };
        let skin = if constrained { thickness - lift } else { MIN_DISTANCE * thickness };
        let potential = match constrained {
            true => ContactPotential::Penalty(Penalty { stiffness: contact_stiffness(options) }),
            false => barrier(thickness - skin, contact_stiffness(options)),
        };
        let (mut skins, mut bare) = (Vec::new(), Vec::new());
        for (index, solid) in scene.solids.iter().enumerate() {
            skins.push(skin + if constrained { sag(solid, longest) } else { 0.0 });
            let shape = shape(index, solid, 0.0)?;
            if let Some(vertex) = (0..count).find(|&i| shape.distance(positions[i]) < 0.0) {
                let depth = -shape.distance(positions[vertex]);
                return Err(SceneError::Inside { vertex, depth, obstacle: index });
            }
            bare.push(shape);
        }
        if let Some(statue) = &scene.statue
            && let Some(vertex) = (0..count).find(|&i| statue.contains(positions[i]))
        {
            let depth = -statue.shape(0.0).distance(positions[vertex]);
            return Err(SceneError::Inside { vertex, depth, obstacle: scene.solids.len() });
        }
        let wind = match cloth.wind.as_deref() {
            Some(&[x, y, z]) => [x, y, z],
            _ => [0.0; 3],
        };
        if let Some(&found) = wind.iter().find(|w| !w.is_finite()) {
            return Err(SceneError::Wind { found });
        }
        let seams = Seams::new(sheet, SEAM * cloth.stiffness, thickness, &positions);
        let triangles = sheet.triangles.clone();
        let air = Air { density: cloth.air, velocity: wind, damping: cloth.damping, triangles };
        let (still, statue) = (&scene.still.triangles, scene.statue.clone());
        let counts = [count, positions.len()];
        let crossings = Penetrations::new(&sheet.triangles, still, counts, bare, statue.clone());
        if let Some(Crossing { edge, triangle }) = crossings.surfaces.find(&positions).first() {
            return Err(SceneError::Crossing { edge: *edge, triangle: *triangle });
        }
        let (spins, motion) = (scene.spins.clone(), scene.motion.clone());
        let boxes = if constrained { &scene.blocks[..] } else { &[] };
        let blocks =
            boxes.iter().map(|corners| Cuboid::new(*corners, thickness)).collect::<Result<_, _>>()?;
        let frictions = [cloth.friction, cloth.self_friction];
        Ok(Self {
            nodes,
            positions,
            held,
            thickness,
            masses,
            solids: scene.solids.clone(),
            skins,
            spins,
            statue,
            skin,
            potential,
            lift,
            blocks,
            frictions,
            motion,
            seams,
            air,
            crossings,
        })
    }

    /// The same with solids as penalties, for steps of one linear solve: grown so that edges whose ends are on a solid stay
    /// outside.
    pub(crate) fn with_penalties(mut self, sheet: &Sheet, options: &Options) -> Self {
        let [_, (longest, _)] = sheet.edges();
        let skin = self.thickness;
        self.skins = self.solids.iter().map(|solid| skin + sag(solid, longest)).collect();
        let potential = ContactPotential::Penalty(Penalty { stiffness: contact_stiffness(options) });
        Self { skin, potential, ..self }
    }

    /// The solids at a time, each grown as its contact is, and the statue; or bare and without it, since its triangles
    /// are tested.
    pub(crate) fn shapes(&self, time: f64, grown: bool) -> Result<Vec<Box<dyn Shape>>, SceneError> {
        let moved = self.motion.solids(&self.solids, time);
        let skin = |index: usize| if grown { self.skins[index] } else { 0.0 };
        moved
            .iter()
            .enumerate()
            .map(|(index, solid)| shape(index, solid, skin(index)))
            .chain(self.statue.iter().filter(|_| grown).map(|s| Ok(s.shape(self.skin))))
            .collect()
    }

    /// The edges with a free end, without those that are held in one of some shapes at the start.
    pub(crate) fn edges_outside(&self, shapes: &[Box<dyn Shape>]) -> Vec<[u32; 2]> {
        let held = |v: &u32| self.held[*v as usize];
        let inside = |v: &u32| shapes.iter().any(|s| s.distance(self.positions[*v as usize]) <= 0.0);
        let wanted = |ends: &&[u32; 2]| !ends.iter().all(held) && !ends.iter().any(|v| held(v) && inside(v));
        self.crossings.surfaces.edges().iter().filter(wanted).copied().collect()
    }

    /// Changes the displacements of free nodes from x in a step between two times, at the end of which held nodes are
    /// at `held`, as [`move_with_solids`].
    ///
    /// # Errors
    /// [`Met`], with the held end of an edge if the obstacle reaches one.
    pub(crate) fn move_with_solids(
        &self,
        obstacles: &[Pressed],
        x: &[f64],
        displacements: &mut [f64],
        held: &[[f64; 3]],
        times: [f64; 2],
    ) -> Result<(), Met> {
        let [before, after] = times.map(|time| self.motion.solids(&self.solids, time));
        let ends = before.into_iter().zip(after).map(|(a, b)| [a, b]);
        let moving: Vec<_> = ends.zip(self.skins.iter().copied()).collect();
        let still = || self.statue.as_ref().map(|statue| statue.shape(self.skin));
        move_with_solids(obstacles, x, displacements, held, &moving, still).map_err(|met| {
            let (start, k) = (self.motion.held(&self.positions, times[0]), met.obstacle);
            let reached = moving.get(k).and_then(|solid| self.reached(k, solid, &start, held));
            Met { held: reached, ..met }
        })
    }

    /// The held end of an edge that a solid reaches in a step, while held nodes go from `start` to `end`.
    fn reached(
        &self,
        index: usize,
        (ends, skin): &([Solid; 2], f64),
        start: &[[f64; 3]],
        end: &[[f64; 3]],
    ) -> Option<u32> {
        ends[0].radius()?; // a plane has no contact with edges
        let shape = self.shapes(0.0, true).ok()?.swap_remove(index);
        let mut nodes = self.edges_outside(&[shape]).into_flattened();
        nodes.retain(|node| self.held[*node as usize]);
        let x: Vec<f64> = nodes.iter().flat_map(|v| start[*v as usize]).collect();
        let d: Vec<f64> = nodes.iter().flat_map(|v| sub(end[*v as usize], start[*v as usize])).collect();
        first_met(ends, *skin, &self.potential, [&x, &d]).ok()?.map(|k| nodes[k])
    }

    /// How the solids move at a time.
    fn spins(&self, time: f64) -> Vec<Spin> {
        self.motion.spins(&self.solids, &self.spins, time)
    }

    /// Gives friction with solids their places and their motion at a time.
    pub(crate) fn turn(&self, frictions: &mut [Rubbed], time: f64) -> Result<(), SceneError> {
        if self.motion.moves() {
            let now = self.shapes(time, true)?.into_iter().zip(self.spins(time));
            frictions.iter_mut().zip(now).for_each(|(part, (shape, spin))| part.set_motion(shape, spin));
        }
        Ok(())
    }

    /// The obstacles of constraints in a step that ends at a time.
    pub(crate) fn obstructions(&self, time: f64, h: f64) -> Result<Vec<ObstacleConstraint>, SceneError> {
        let solids = self.motion.solids(&self.solids, time);
        let [friction, own] = self.frictions;
        let mut all = Vec::new();
        for (index, (solid, spin)) in solids.iter().zip(self.spins(time - h)).enumerate() {
            let skin = self.skins[index] + self.lift;
            all.push(ObstacleConstraint { shape: shape(index, solid, skin)?, spin, friction });
        }
        all.extend(self.statue.iter().map(|statue| ObstacleConstraint {
            shape: statue.shape(self.thickness),
            spin: Spin::default(),
            friction,
        }));
        all.extend(self.blocks.iter().map(|block| ObstacleConstraint {
            shape: Box::new(*block),
            spin: Spin::default(),
            friction: own,
        }));
        Ok(all)
    }

    /// Moves held vertices and solids to where they are at a time, and updates `forces`. Contact of triangles is not
    /// searched: call this at the start of a run, and to return to the last frame after one that failed.
    pub(crate) fn move_to(&mut self, forces: &mut Forces, time: f64) -> Result<(), SceneError> {
        if self.motion.moves() {
            let held = self.motion.held(&self.positions, time);
            forces.first.second.hold(&held);
            self.move_held_and_solids(forces, &held, time)?;
        }
        Ok(())
    }

    /// Moves held vertices and solids, and returns the solids, grown as their contact is. No force is updated.
    pub(crate) fn place(&mut self, held: &[[f64; 3]], time: f64) -> Result<Vec<Box<dyn Shape>>, SceneError> {
        self.nodes.hold(held);
        self.crossings.solids = self.shapes(time, false)?;
        self.shapes(time, true)
    }

    /// Moves the held vertices of stretching and bending, and closes seams as far as they are at a time.
    pub(crate) fn hold(&self, fabrics: &mut Total<Box<dyn Woven>>, held: &[[f64; 3]], time: f64) {
        let parts = fabrics.parts_mut();
        parts.iter_mut().for_each(|part| part.hold(held));
        if let (false, [.., last]) = (self.seams.start.is_empty(), parts) {
            let springs = Springs::new(self.seams.at(time), &self.held, held);
            let springs =
                springs.expect("the springs at the start were valid, and lengths are above the thickness");
            *last = Box::new(springs);
        }
    }

    /// Moves all but contact of triangles.
    pub(crate) fn move_held_and_solids(
        &mut self,
        forces: &mut Forces,
        held: &[[f64; 3]],
        time: f64,
    ) -> Result<(), SceneError> {
        let shapes = self.place(held, time)?;
        self.hold(&mut forces.first.first, held, time);
        let Plus { first: obstacles, second: Plus { first: frictions, second: own, .. }, .. } =
            &mut forces.second;
        own.hold(held);
        frictions.parts_mut().iter_mut().for_each(|part| part.hold(held));
        for (part, shape) in obstacles.parts_mut().iter_mut().zip(shapes) {
            part.hold(held);
            part.set_shape(shape);
        }
        Ok(())
    }

    /// The row of a state, with the steps, iterations and times that `took` has.
    pub(crate) fn row(&self, forces: &mut Forces, state: &State, took: Row) -> Result<Row, ContactError> {
        let points = state.x.as_chunks().0;
        let obstacles = forces.second.first.parts();
        let below = 1.001 * self.lift; // vertices that are held lie on the surface
        let touches = |p: &&[f64; 3]| {
            let on = |block: &Cuboid| block.distance(**p) < 1e-3 * self.thickness;
            obstacles.iter().any(|part| part.shape().distance(**p) < below) || self.blocks.iter().any(on)
        };
        let touching = match self.potential {
            ContactPotential::Barrier(_) => {
                obstacles.iter().map(|part| part.penetration(&state.x).contacts).sum()
            }
            _ => points.iter().filter(touches).count(),
        };
        let contacts = forces.first.second.detect(&state.x)?.len() + touching;
        let penetrations = self.crossings.count(&all(&self.nodes, &state.x));
        let (mut kinetic, mut height, mut momentum) = (0.0, 0.0, [0.0; 3]);
        for (m, (x, v)) in self.masses.iter().zip(points.iter().zip(state.v.as_chunks::<3>().0)) {
            for k in 0..3 {
                kinetic += 0.5 * m * v[k] * v[k];
                height += m * GRAVITY[k] * x[k];
                momentum[k] += m * v[k];
            }
        }
        let elastic = forces.first.energy(&state.x).value + forces.second.first.energy(&state.x).value;
        let (frame, work, energy) = (state.frame, state.work, elastic + (kinetic - height));
        Ok(Row { frame, contacts, penetrations, energy, kinetic, elastic, work, momentum, ..took })
    }
}

/// A solid that is grown by a skin, for the number of the obstacle in errors.
pub(crate) fn shape(index: usize, solid: &Solid, skin: f64) -> Result<Box<dyn Shape>, SceneError> {
    solid.grown(skin).map_err(|source| SceneError::Obstacle { index, source })
}

/// The mass of each free node in kg: a third of each triangle at the node.
fn masses(sheet: &Sheet, nodes: &Nodes, density: f64) -> Vec<f64> {
    let mut masses = vec![0.0; nodes.free()];
    for (t, corners) in sheet.triangles.iter().enumerate() {
        for slot in corners.iter().filter_map(|&v| nodes.slot(v)) {
            masses[slot] += density * sheet.area(t) / 3.0;
        }
    }
    masses
}

/// The positions of all nodes, given those of the free nodes.
pub(crate) fn all(nodes: &Nodes, x: &[f64]) -> Vec<[f64; 3]> {
    (0..nodes.count() as u32).map(|node| nodes.at(node, x)).collect()
}
