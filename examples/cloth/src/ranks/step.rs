//! A time step of cloth over ranks: Li et al. 2020, "P-Cloth", ACM TOG 39(6).
//!
//! | symbol | here | |
//! |---|---|---|
//! | u, v, Δt | `x`, `v`, `h` | positions, velocities, the time step |
//! | M | `masses` | the mass of each free node |
//! | f = −∇E | `gradient` | forces of stretching, bending, contact and friction |
//! | −J ≈ ∇²E | `rows` | their positive semidefinite Hessian |
//! | d = Δt Δv | `d` | how far the solve moves the nodes |
//!
//! > (M/Δt² − J) d = f(x) + M (y − x)/Δt²,    y = u + Δt v + Δt² g    (3)
//!
//! at x = u + Δt v, or as far along Δt v as contact allows; (3) is that of the paper divided by Δt. Before it, the air
//! changes v, and friction takes its pairs; held vertices and solids that move are at the end of the step in (3).
//!
//! | stage | shared how |
//! |---|---|
//! | the air | the triangles at own nodes |
//! | detection, bounds of steps (§4.2, §4.4) | equal tests per rank |
//! | assembly (§3.2) | elements by the owners of their nodes, no matrix message |
//! | conjugate gradients to 0.01 or 500 iterations (§3.2), with a preconditioner of `inverse` | rows, reproducible products and sums |
//! | new positions (§4.3) | only nodes that moved are sent |
//! | impact zones (§4.3) | a master keeps pairs apart that would meet |
//!
//! Contact is springs, and where pairs would meet, impact zones keep them apart (§4.3) before they do: pairs without a
//! crossing never cross. If pairs still meet after all rounds, the whole step ends before. Nodes that would be inside a
//! solid at the end of a step have limits in these zones; a path through a solid is not detected, and a node that the rounds
//! leave inside is pushed out by its penalty. The number of such nodes ([`Resolved::over`]) is no column of its own: what is
//! inside a solid at the end of a frame is in the column of penetrations, as on one host. All results have the same bits at any number of ranks, but with smoothed
//! aggregation, which solves to the tolerance.

use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use coarsen::elastic::{ContactHessian, Curvature, Potential, Total};
use coarsen::mesh::vector::{dot, sub};
use coarsen::prelude::*;
use coarsen::sparse::Bsr;
use coarsen_contact::{ClothContact, ClothFriction, Shape};
use coarsen_distributed::{Communicator, DistMatrix, DistVector, GlobalRows, Layout, Partition, Spmv};
use coarsen_distributed_solvers::{
    RankSearch, Resolved, add_contact_gradient, contact_hessian_rows, contact_rows, own_triangles,
    resolve_impacts, share_moved,
};
use examples_run::Failure;
use examples_run::arguments::BackendOption;

use super::inverse::{Inverse, Solve, Step, has};
use crate::fault::SceneError;
use crate::material::Woven;
use crate::options::{Method, Obstacles, Options};
use crate::scene::Scene;
use crate::sheet::Sheet;
use crate::solids::{Pressed, Rubbed};
use crate::state::State;
use crate::world::{Fixed, GRAVITY, contact_stiffness, fabrics, solids};

/// The rows in a leaf of reproducible sums.
pub(super) const LEAF: usize = 32;

/// The tolerance of the linear solves, and their most iterations: §3.2.
const TOLERANCE: f64 = 1e-2;
const MOST: usize = 500;

/// The stages of a step whose times are measured.
pub(super) const STAGES: [&str; 5] = ["detection", "assembly", "setup", "solve", "exchange"];
const DETECTION: usize = 0;
const ASSEMBLY: usize = 1;
const SETUP: usize = 2;
const SOLVE: usize = 3;
const EXCHANGE: usize = 4;

/// What does not work on ranks yet.
#[derive(Debug, thiserror::Error)]
#[error("ranks cannot compute {what} yet; {advice}")]
pub(super) struct Unsupported {
    what: &'static str,
    advice: &'static str,
}

/// Positions that are not finite, or contacts that cannot be detected.
#[derive(Debug, thiserror::Error)]
#[error("step {step}: contact cannot be resolved: {reason}; take a smaller --dt")]
pub(super) struct Undetected {
    step: usize,
    reason: String,
}

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Done {
    pub(super) solve: Solve,
    /// The pairs that touch.
    pub(super) contacts: usize,
    /// The shares that contact left of Δt v and of d.
    pub(super) shares: [f64; 2],
    /// The nodes in impact zones.
    pub(super) zones: usize,
}

/// The cloth of one rank.
pub(super) struct RankStepper<C: Communicator> {
    pub(super) partition: Arc<Partition<C>>,
    h: f64,
    pub(super) fixed: Fixed,
    pub(super) contact: ClothContact<RankSearch<C>>,
    /// Friction of the pairs at the nodes of this rank.
    friction: ClothFriction,
    /// Stretching and bending of the triangles of this rank.
    cloth: Total<Box<dyn Woven>>,
    /// The solids at the nodes of this rank, and their friction.
    obstacles: Vec<Pressed>,
    frictions: Vec<Rubbed>,
    /// The positions of all free nodes; the same on all ranks.
    pub(super) x: Vec<f64>,
    /// The velocities of the nodes of this rank.
    v: Vec<f64>,
    inverse: Inverse<C>,
    /// When a linear solve ends: at [`TOLERANCE`] or [`MOST`].
    pub(super) stop: Stop<f64>,
    /// The stored blocks of each row of this rank in the last system; empty before a step.
    pub(super) work: Vec<u64>,
    /// The time of the start, and the steps since.
    begun: f64,
    steps: usize,
    /// The seconds of [`STAGES`], on this rank.
    pub(super) seconds: [f64; STAGES.len()],
}

/// Checks that ranks can compute the steps of the options.
///
/// # Errors
/// [`Unsupported`], and [`LevelsError`](examples_run::solver::LevelsError) for levels that the preconditioner does not have.
pub(super) fn supported(options: &Options) -> Result<(), Failure> {
    let fault = |what, advice| Err(Unsupported { what, advice }.into());
    let Method { obstacles, solver, levels, backend, .. } = &options.method;
    if *obstacles == Obstacles::Constraints {
        return fault("obstacles as constraints", "leave out --obstacles");
    }
    if !has(*solver) {
        return fault("with this preconditioner", "take --solver block-jacobi, mas or sa");
    }
    if !matches!(backend, BackendOption::Cpu) {
        let advice = "leave out --backend: each rank keeps its rows on the CPU, in f64";
        return fault("with another backend than cpu", advice);
    }
    if options.method.no_self_contact {
        return fault("without contact of triangles", "leave out --no-self-contact");
    }
    if options.systems > 0 {
        return fault("dumps of systems", "leave out --systems");
    }
    let newton =
        |method: &Method| (method.iterations, method.inner, method.fixed, method.tolerance.to_bits());
    if newton(&options.method) != newton(&Options::parse_from(["cloth"]).method) {
        let advice =
            "leave out --iterations, --inner, --fixed and --tolerance: a step is one linear solve to 0.01";
        return fault("with options of Newton's method", advice);
    }
    Ok(solver.check(levels)?)
}

impl<C: Communicator> RankStepper<C> {
    /// The cloth after a state. All ranks call it with the same arguments; `alone_below` is that of [`RankSearch`], and with 0
    /// hashes of small sheets are shared too. Rows are divided evenly, unless a layout is given, which does not change the
    /// results.
    pub(super) fn new(
        comm: C,
        alone_below: usize,
        scene: &Scene,
        sheet: &Sheet,
        options: &Options,
        state: &State,
        layout: Option<Layout>,
    ) -> Result<Self, Failure> {
        let mut fixed = Fixed::new(scene, sheet, options)?.with_penalties(sheet, options);
        let (nodes, positions, held) = (&fixed.nodes, &fixed.positions, &fixed.held);
        let layout = match layout {
            Some(layout) => layout,
            None => Layout::reproducible(nodes.free() as u64, 3, comm.size(), LEAF)?,
        };
        let partition = Partition::new(comm.clone(), layout)?;

        let own = own_triangles(&partition, &sheet.triangles, |v| nodes.slot(v).map(|slot| slot as u64));
        let part = Sheet {
            triangles: own.around.iter().map(|&t| sheet.triangles[t]).collect(),
            pattern: sheet.pattern.as_ref().map(|all| own.around.iter().map(|&t| all[t]).collect()),
            ..sheet.clone()
        };
        let cloth = fabrics(&fixed, &part, options)?;
        let (obstacles, frictions) = solids(&fixed, partition.count(), options)?;
        let row = |v| nodes.slot(v).map(|slot| slot as u64);
        let mut search = RankSearch::new(comm).at_nodes_of(&partition, nodes.count(), row);
        search.alone_below = alone_below;
        search.whole_below = search.whole_below.min(alone_below);
        let (triangles, stiffness) = (fixed.crossings.surfaces.triangles(), contact_stiffness(options));
        let contact = ClothContact::with(search, triangles, held, positions, fixed.thickness, stiffness)?
            .with_springs();
        let h = options.method.dt;
        let friction = ClothFriction::new(&contact, options.cloth.self_friction, h)?;
        fixed.air.triangles = own.touching.iter().map(|&t| sheet.triangles[t]).collect();
        let first = 3 * partition.first() as usize;
        let (x, v) = (state.x.clone(), state.v[first..first + 3 * partition.count()].to_vec());
        let inverse = Inverse::new(options.method.solver, &options.method.levels, fixed.nodes.free());
        let mut stepper = Self {
            partition,
            h,
            fixed,
            contact,
            friction,
            cloth,
            obstacles,
            frictions,
            x,
            v,
            inverse,
            stop: Stop { max_iterations: MOST, ..Stop::relative(TOLERANCE) },
            work: Vec::new(),
            begun: state.begun,
            steps: options.method.pace().last(state.frame),
            seconds: [0.0; STAGES.len()],
        };
        if stepper.fixed.motion.moves() {
            let time = stepper.begun + stepper.steps as f64 * h;
            let held = stepper.fixed.motion.held(&stepper.fixed.positions, time);
            stepper.contact.hold(&held);
            stepper.move_held_and_solids(&held, time)?;
        }
        Ok(stepper)
    }

    /// The entries of this rank in a list of all.
    fn own(&self) -> std::ops::Range<usize> {
        let first = 3 * self.partition.first() as usize;
        first..first + 3 * self.partition.count()
    }

    /// The velocities of all nodes. All ranks call it.
    pub(super) fn velocities(&self) -> Result<Vec<f64>, Failure> {
        Ok(self.partition.vector(self.v.clone())?.gathered()?)
    }

    /// Computes a step. All ranks call it.
    ///
    /// # Errors
    /// On every rank: [`Undetected`], and errors of the matrix and of communication.
    pub(super) fn step(&mut self) -> Result<Done, Failure> {
        let (own, h) = (self.own(), self.h);
        let before = self.begun + self.steps as f64 * h;
        self.steps += 1;
        let start = self.x[own.clone()].to_vec();
        self.begin(&start, before)?;
        let ahead: Vec<f64> = start.iter().zip(&self.v).map(|(x, v)| x + h * v).collect();
        let y: Vec<f64> = ahead.iter().enumerate().map(|(k, x)| x + h * h * GRAVITY[k % 3]).collect();
        let (predicted, zones) = self.advance(&ahead, Some(before + h))?;

        let begun = Instant::now();
        let found = self.contact.detect(&self.x).map(drop);
        found.map_err(|error| self.undetected(&error))?;
        let contacts = self.contact.search().touching();
        let begun = self.took(DETECTION, begun);
        let (b, rows) = self.system(&y)?;
        self.work = rows.offsets().windows(2).map(|pair| (pair[1] - pair[0]) as u64).collect();
        let a = DistMatrix::new(&self.partition, &self.partition, &rows, Spmv::Reproducible)?;
        let begun = self.took(ASSEMBLY, begun);
        let mut d = b.like()?;
        let system = Step { a: &a, rows: &rows, b: &b, x: &self.x };
        let solve = self.inverse.solve(&system, self.stop, &mut d)?;
        self.took(SOLVE, begun);
        self.seconds[SETUP] += solve.seconds;
        self.seconds[SOLVE] -= solve.seconds;
        let ahead: Vec<f64> = self.x[own.clone()].iter().zip(d.own()).map(|(x, d)| x + d).collect();
        let (share, more) = self.advance(&ahead, None)?;

        for ((v, x), before) in self.v.iter_mut().zip(&self.x[own]).zip(&start) {
            *v = (x - before) / h;
        }
        Ok(Done { solve, contacts, shares: [predicted, share], zones: zones.max(more) })
    }

    /// Adds the seconds since `begun` to a stage, and returns the time now.
    fn took(&mut self, stage: usize, begun: Instant) -> Instant {
        let now = Instant::now();
        self.seconds[stage] += (now - begun).as_secs_f64();
        now
    }

    /// The air changes velocities, and friction takes the pairs and the moving solids at the start of a step.
    fn begin(&mut self, start: &[f64], time: f64) -> Result<(), Failure> {
        let begun = Instant::now();
        let Self { fixed, frictions, .. } = self;
        fixed.air.push(
            &fixed.nodes,
            &fixed.masses,
            &self.x,
            self.h,
            self.partition.first() as usize,
            &mut self.v,
        );
        fixed.turn(frictions, time)?;
        for friction in frictions {
            friction.renew(start)?;
        }
        let begun = self.took(ASSEMBLY, begun);
        let (first, count) = (self.partition.first() as usize, self.partition.count());
        let own = |slot: usize| (first..first + count).contains(&slot);
        let gripped = self.friction.grip_at(&mut self.contact, &self.x, own);
        gripped.map_err(|error| self.undetected(&error))?;
        self.contact.start_step(&self.x);
        self.took(DETECTION, begun);
        Ok(())
    }

    fn undetected(&self, reason: &dyn std::fmt::Display) -> Undetected {
        Undetected { step: self.steps, reason: reason.to_string() }
    }

    /// Moves all nodes towards the positions of which every rank has its own; impact zones keep pairs apart that would
    /// meet, and nodes out of solids. What moves by a formula goes to its place at the time `end`. Returns the share of the
    /// displacement that is left, and the number of nodes in zones.
    fn advance(&mut self, ahead: &[f64], end: Option<f64>) -> Result<(f64, usize), Failure> {
        let begun = Instant::now();
        let mut target = self.x.clone();
        share_moved(&self.partition, ahead, &mut target)?;
        let begun = self.took(EXCHANGE, begun);
        let Fixed { nodes, masses, motion, positions, .. } = &self.fixed;
        let held = end.filter(|_| motion.moves()).map(|end| motion.held(positions, end));
        let mut dx: Vec<[f64; 3]> = (0..nodes.count() as u32)
            .map(|node| match (nodes.slot(node), &held) {
                (Some(_), _) => sub(nodes.at(node, &target), nodes.at(node, &self.x)),
                (None, Some(held)) => sub(held[node as usize], nodes.at(node, &self.x)),
                (None, None) => [0.0; 3],
            })
            .collect();
        let mass = |node: u32| nodes.slot(node).map_or(f64::INFINITY, |slot| masses[slot]);
        // Nodes on the surface of a solid grown by half of the thickness keep edges between them outside of it.
        let half = 0.5 * self.fixed.thickness;
        let ahead = end.filter(|_| motion.moves()).map(|end| self.fixed.shapes(end, true)).transpose()?;
        let shapes: Vec<&dyn Shape> = match &ahead {
            Some(ahead) => ahead.iter().map(|shape| &**shape).collect(),
            None => self.obstacles.iter().map(|part| &**part.shape()).collect(),
        };
        let stop = |node: u32, u: [f64; 3]| {
            let x = nodes.at(nodes.slot(node).map(|_| node)?, &self.x);
            let to = [0, 1, 2].map(|k| x[k] + u[k]);
            let inside = shapes.iter().find(|shape| shape.distance(to) < -1.02 * half)?;
            let (n, out) = inside.displacement_to(to, -half);
            Some((n, dot(n, u) + out))
        };
        let resolved =
            resolve_impacts(self.partition.comm(), &mut self.contact, &self.x, mass, stop, &mut dx);
        let Resolved { nodes: zones, left, .. } = resolved.map_err(|error| self.undetected(&error))?;
        let d = self.fixed.nodes.gather(&dx);
        if let (Some(held), Some(end)) = (&held, end) {
            if left {
                // What moves goes alone, and the others then go as far as contact allows.
                let rest = vec![0.0; d.len()];
                self.contact.carry(&self.x, &rest, held).map_err(|error| self.undetected(&error))?;
            } else {
                self.contact.hold(held);
            }
            self.move_held_and_solids(held, end)?;
        }
        let share = if left { self.contact.max_step(&self.x, &d).min(1.0) } else { 1.0 };
        if share.is_nan() {
            let fault = self.contact.take_fault();
            let reason = fault.map_or("positions are not finite".to_owned(), |error| error.to_string());
            return Err(self.undetected(&reason).into());
        }
        self.x.iter_mut().zip(&d).for_each(|(x, d)| *x += share * d);
        self.took(DETECTION, begun);
        Ok((share, zones))
    }

    /// Moves all but contact of triangles.
    fn move_held_and_solids(&mut self, held: &[[f64; 3]], time: f64) -> Result<(), SceneError> {
        let shapes = self.fixed.place(held, time)?;
        self.fixed.hold(&mut self.cloth, held, time);
        self.friction.hold(held);
        self.obstacles.iter_mut().zip(shapes).for_each(|(part, shape)| part.set_shape(shape));
        Ok(())
    }

    /// The right-hand side of (3) and the rows of its matrix, of this rank. Sends no message.
    fn system(&mut self, y: &[f64]) -> Result<(DistVector<C>, GlobalRows<f64>), Failure> {
        let (own, count) = (self.own(), self.partition.count());
        let x = &self.x[own.clone()];
        let mut all = vec![0.0; self.x.len()];
        self.cloth.add_gradient(&self.x, &mut all);
        self.friction.add_gradient(&self.x, &mut all);
        let mut g = all[own].to_vec();
        add_contact_gradient(&self.partition, &self.contact, &mut g);
        let (mut diagonal, mut contact_hessian) = (vec![0.0; 9 * count], ContactHessian::default());
        for (obstacle, friction) in self.obstacles.iter_mut().zip(&mut self.frictions) {
            obstacle.add_gradient(x, &mut g);
            friction.add_gradient(x, &mut g);
            obstacle.add_contacts(x, Curvature::Projected, &mut contact_hessian);
            friction.add_contacts(x, Curvature::Projected, &mut contact_hessian);
        }
        for (stencil, k) in contact_hessian.stencils().iter().zip(contact_hessian.stiffness().chunks_exact(9))
        {
            // Solids touch single nodes.
            for &node in stencil.nodes() {
                (0..9).for_each(|c| diagonal[9 * node as usize + c] += k[c]);
            }
        }
        let first = self.partition.first() as usize;
        for (row, mass) in self.fixed.masses[first..first + count].iter().enumerate() {
            let inertia = mass / (self.h * self.h);
            for c in 0..3 {
                diagonal[9 * row + 4 * c] += inertia;
                g[3 * row + c] += inertia * (x[3 * row + c] - y[3 * row + c]);
            }
        }
        g.iter_mut().for_each(|g| *g = -*g);

        let mut h = Bsr::zeros(self.cloth.pattern().clone(), (3, 3))?;
        self.cloth.add_hessian(&self.x, Curvature::Projected, h.values_mut());
        let range = self.partition.layout().range(self.partition.rank());
        let columns = range.clone().collect();
        let diagonal = GlobalRows::new(range.start, (3, 3), (0..=count).collect(), columns, diagonal)?;
        let elastic = GlobalRows::of(&h, range)?;
        let mut contact_hessian = ContactHessian::default();
        self.friction.add_contacts(&self.x, Curvature::Projected, &mut contact_hessian);
        let sliding = contact_hessian_rows(&self.partition, &contact_hessian)?;
        let pressed = contact_rows(&self.partition, &self.contact)?;
        let rows = GlobalRows::sum(&elastic, &[&diagonal, &pressed, &sliding])?;
        Ok((self.partition.vector(g)?, rows))
    }
}
