//! Nodes, masses and potentials of a scene.

use coarsen::elastic::{Bending, Fabric, Membrane, Nodes, Plus, Potential, Total};
use coarsen_contact::{ClothContact, ContactError, Friction, Obstacle, Shape};

use crate::air::Air;
use crate::crossing::{Crossing, Crossings};
use crate::fault::SceneError;
use crate::options::Options;
use crate::rows::Row;
use crate::scene::Scene;
use crate::sheet::Sheet;
use crate::state::State;

/// Stretching and shearing stiffness of cotton, N/m.
const COTTON: Fabric = Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 };

/// Its bending stiffness, N m.
const BENDING: f64 = 5e-5;

/// The stiffness of a contact, in units of the stretching stiffness. Much stiffer contact does not change the
/// motion, but takes more iterations.
const CONTACT: f64 = 0.06;

/// The default thickness in m, and its largest share of the shortest edge.
const THICKNESS: [f64; 2] = [2e-3, 0.25];

/// Standard gravity in m/s².
pub(crate) const GRAVITY: [f64; 3] = [0.0, -9.81, 0.0];

/// All energies except gravity: stretching, bending and solids; contact of triangles; friction with solids.
pub(crate) type Forces = Plus<Plus<Total<Box<dyn Potential>>, ClothContact>, Total<Friction<Box<dyn Shape>>>>;

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
    /// The mass of each free node, kg.
    pub(crate) masses: Vec<f64>,
    /// The solids, grown by the thickness and by what edges cut off.
    pub(crate) solids: Vec<Box<dyn Shape>>,
    /// The forces of the air.
    pub(crate) air: Air,
    /// Finds where the cloth crosses itself or an obstacle.
    pub(crate) crossings: Crossings,
}

impl World {
    /// Creates the nodes and potentials of a scene.
    ///
    /// # Errors
    /// [`SceneError`], which names the vertex, the obstacle or the number that is not valid.
    pub(crate) fn new(scene: &Scene, sheet: &Sheet, options: &Options) -> Result<Self, SceneError> {
        let cloth = &options.cloth;
        let place = |&[u, v]: &[f64; 2]| -> [f64; 3] {
            let along = |k: usize| (u - 0.5) * scene.axes[0][k] + (v - 0.5) * scene.axes[1][k];
            std::array::from_fn(|k| scene.middle[k] + along(k))
        };
        let mut positions: Vec<[f64; 3]> = sheet.rest.iter().map(place).collect();
        positions.extend(&scene.still.positions);
        let count = sheet.rest.len();
        let mut held = scene.held.clone();
        held.resize(positions.len(), true);
        if !held.contains(&false) {
            return Err(SceneError::Held { vertices: count });
        }
        let nodes = Nodes::new(&held, &positions)?;

        let scaled = |modulus: f64| cloth.stiffness * modulus;
        let fabric = Fabric { stretch: scaled(COTTON.stretch), shear: scaled(COTTON.shear), ..COTTON };
        let mut rest = sheet.rest.clone();
        rest.resize(positions.len(), [0.0; 2]);
        let flat: Vec<[f64; 3]> = rest.iter().map(|&[u, v]| [u, v, 0.0]).collect();
        let bending =
            Bending::new(cloth.bending * scaled(BENDING), &sheet.triangles, &flat, &held, &positions)?;
        let membrane = Membrane::new(fabric, &sheet.triangles, &rest, &held, &positions)?;
        let masses = membrane.masses(cloth.density);

        let [most, share] = THICKNESS;
        let [shortest, longest] = sheet.edges();
        let thickness = cloth.thickness.unwrap_or(most.min(share * shortest));
        let stiffness = CONTACT * fabric.stretch;
        // The pattern of bending contains that of the membrane.
        let mut parts: Vec<Box<dyn Potential>> = vec![Box::new(bending), Box::new(membrane)];
        let (mut solids, mut frictions) = (Vec::new(), Vec::new());
        for (index, solid) in scene.solids.iter().enumerate() {
            let fault = |source| SceneError::Obstacle { index, source };
            // An edge whose ends are on a ball of radius r + s is outside of the ball of radius r.
            let sag = solid.radius().map_or(0.0, |r| longest * longest / (8.0 * r));
            let grown = || solid.shape(thickness + sag).map_err(fault);
            parts.push(Box::new(Obstacle::new(nodes.free(), grown()?, stiffness).map_err(fault)?));
            let spin = scene.spins.get(index).copied().unwrap_or_default();
            let (free, dt) = (nodes.free(), options.method.dt);
            let friction =
                Friction::new(free, grown()?, spin, stiffness, cloth.friction, dt).map_err(fault)?;
            frictions.push(friction);
            solids.push(grown()?);
            let bare = solid.shape(0.0).map_err(fault)?;
            if let Some(vertex) = (0..sheet.rest.len()).find(|&i| bare.distance(positions[i]) < 0.0) {
                let depth = -bare.distance(positions[vertex]);
                return Err(SceneError::Inside { vertex, depth, obstacle: index });
            }
        }
        let wind = match cloth.wind.as_deref() {
            Some(&[x, y, z]) => [x, y, z],
            _ => scene.wind,
        };
        if let Some(&found) = wind.iter().find(|w| !w.is_finite()) {
            return Err(SceneError::Wind { found });
        }
        let air = Air { velocity: wind, damping: cloth.damping, triangles: sheet.triangles.clone() };
        let bare = scene.solids.iter().map(|solid| solid.shape(0.0)).collect::<Result<_, _>>()?;
        let crossings = Crossings::new(&sheet.triangles, &scene.still.triangles, count as u32, bare);
        if let Some(Crossing { edge, triangle }) = crossings.find(&positions).first() {
            return Err(SceneError::Crossing { edge: *edge, triangle: *triangle });
        }
        let contact = ClothContact::new(crossings.triangles(), &held, &positions, thickness, stiffness)?;
        let forces = Plus::new(Plus::new(Total::new(parts)?, contact)?, Total::new(frictions)?)?;
        Ok(Self { fixed: Fixed { nodes, positions, masses, solids, air, crossings }, forces })
    }
}

impl Fixed {
    /// The row of a state, without steps, iterations and times.
    ///
    /// # Errors
    /// [`ContactError`] if contacts cannot be detected, because a position is not finite or far away.
    pub(crate) fn row(&self, forces: &mut Forces, state: &State) -> Result<Row, ContactError> {
        let points = state.x.as_chunks().0;
        let touches = |p: &&[f64; 3]| self.solids.iter().any(|solid| solid.distance(**p) < 0.0);
        let pairs = forces.first.second.detect(&state.x)?.len();
        let contacts = pairs + points.iter().filter(touches).count();
        let penetrations = self.crossings.count(&all(&self.nodes, &state.x));
        Ok(Row { contacts, penetrations, ..state.row(forces, &self.masses) })
    }
}

/// The positions of all nodes, given those of the free nodes.
pub(crate) fn all(nodes: &Nodes, x: &[f64]) -> Vec<[f64; 3]> {
    (0..nodes.count() as u32).map(|node| nodes.at(node, x)).collect()
}
