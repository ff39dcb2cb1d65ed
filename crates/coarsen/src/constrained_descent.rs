//! The descent of a time step with obstacles as constraints: each vertex stays outside of the nearest obstacle exactly.
//!
//! > minimise f(x)  subject to  d(xᵢ) ≥ 0 for each vertex i                              (1)
//!
//! where d is the signed distance of all obstacles, grown by a thickness. Each iteration solves
//!
//! > H p = −∇f + drag,  n · pᵢ ≥ −d(xᵢ)/‖∇d(xᵢ)‖  for the vertices near obstacles,  n = ∇d/‖∇d‖    (2)
//!
//! where ‖∇d‖ = 1 unless d is an approximation. [`Supports`] finds which vertices are held: a vertex that the solution
//! would pull is released, one that would enter is held, and one that is held sticks or slides by Coulomb's law. [`Step`]
//! filters (2) for each set of held vertices, and updates its preconditioner. Then a part of p is taken that lowers the merit
//!
//! > f(x) − drag · x + ν Σ max(0, −d(xᵢ)) + ν Σ ‖xᵢ − sᵢ‖                                (3)
//!
//! with ν above all forces of obstacles and sᵢ the places of vertices that stick, and that contact of triangles allows.
//!
//! *Reference* constraints of cloth that are found by contact and released by their force: Baraff & Witkin 1998, §5;
//! Tamstorf, Jones & McCormick 2015, §8. The merit function: Nocedal & Wright 2006, §18.3.

use coarsen_backend::{Prepared, SetupError};
use coarsen_constraints::{ContactState, Supports};
use coarsen_contact::{Shape, Spin};
use coarsen_core::{Dot, Error, LinearOperator, Objective, Outcome, Report, Stop, Vector};
use coarsen_elastic::{ImplicitEuler, Potential};
use coarsen_krylov::Cg;
use coarsen_mesh::vector::{cross, dot, norm, sub};
use coarsen_optimize::{Criterion, DescentOutcome, LineSearchFailure, Norm, node_weights};
use coarsen_sparse::{System, SystemAt};

use crate::{AnyError, ContactStepper, Step};

/// An obstacle that holds vertices during a step.
pub struct ObstacleConstraint {
    /// Where it is at the end of the step, grown by the thickness of what it holds.
    pub shape: Box<dyn Shape>,
    /// How it moves.
    pub spin: Spin,
    /// Its coefficient of Coulomb friction, 0 or more.
    pub friction: f64,
}

impl ObstacleConstraint {
    /// Where a vertex sticks that was at x before the step: where the solid takes it, on the surface except for terms of
    /// second order in its distance.
    fn carried(&self, x: [f64; 3], h: f64) -> [f64; 3] {
        let turned = cross(self.spin.rate, sub(x, self.spin.through));
        let moved = [0, 1, 2].map(|k| x[k] + h * (turned[k] + self.spin.drift[k]));
        let (n, up) = self.shape.displacement_to(moved, 0.0);
        [0, 1, 2].map(|k| moved[k] + up * n[k])
    }
}

/// Supports are kept for vertices that are nearer to an obstacle than this multiple of the thickness.
const NEAR: f64 = 10.0;

/// The number of solves of (2) in an iteration.
const REVIEWS: usize = 5;

/// The number of iterations in which friction is updated, or fewer if (3) cannot be lowered; then it is frozen, since states
/// may cycle between stick and slide.
const FRICTION_UPDATES: usize = 4;

/// The relative tolerance of (2). The signs of forces are taken from its solution.
const INNER: f64 = 1e-3;

/// A step must lower (3) by this share of its slope.
const LOWER: f64 = 1e-4;

/// The number of halvings of a step.
const HALVINGS: usize = 12;

/// The largest depth of a vertex, and the largest gap under one that is held or to the place where one sticks, as a
/// share of the thickness, at which a step counts as converged.
const DEPTH: f64 = 1e-3;

/// What obstacles do in a direction.
struct Pushed {
    /// The largest force.
    most: f64,
    /// The places of vertices that stick, which are as good as constraints.
    stuck: Vec<(usize, [f64; 3])>,
}

/// How obstacles hold vertices, from step to step.
#[derive(Clone, Debug)]
pub struct SupportStates {
    supports: Supports,
    /// Whether a vertex has a support.
    listed: Vec<bool>,
}

/// The descent of a time step with obstacles as constraints: no vertex is in one at the end, beyond a thousandth of the thickness.
///
/// *Use* in place of [`ContactStepper::minimize`] where a step is to end on the surfaces of obstacles, and not before them; the
/// contact of the potential bounds its steps too. *Not* for edges: a vertex is outside, an edge between two may not be. *Cost* of
/// an iteration: up to five linear solves. Systems are solved on the host. *Reference* see the module of
/// [`Supports`](coarsen_constraints::Supports); Tamstorf, Jones & McCormick 2015, §8.
pub struct ConstrainedDescent {
    /// The states after the last step; those of an earlier step may be put back.
    pub states: SupportStates,
    system: Step,
    cg: Cg<Vec<f64>>,
    norm: Norm<Vec<f64>>,
    tolerance: f64,
    iterations: usize,
    thickness: f64,
}

impl ConstrainedDescent {
    /// Begins at x, with the tolerance and the limit on iterations of `steps`; `inner` is the limit of linear solves, `build`
    /// builds their preconditioner, and `thickness` in m is that of what obstacles hold. x has the positions of the free nodes in
    /// m, three numbers for each.
    ///
    /// # Errors
    /// The errors of the assembly and of the system.
    pub fn new<P: Potential, D>(
        steps: &mut ContactStepper<P, D>,
        x: &[f64],
        thickness: f64,
        build: impl FnMut(System<'_, f64>) -> Result<Box<dyn Prepared<Vec<f64>, f64> + Send>, SetupError>
        + Send
        + 'static,
        inner: usize,
    ) -> Result<Self, AnyError> {
        let ContactStepper { f, descent, .. } = steps;
        let Stop { absolute: tolerance, max_iterations: iterations, .. } = descent.stop;
        let norm = Norm::weighted(node_weights(&f.characteristic(), 3)?)?;
        f.project(true);
        let system = Step::new(f.system_at(x)?.system(), build)?;
        let cg = Cg::new(Stop { max_iterations: inner, ..Stop::relative(INNER) });
        let states = SupportStates { supports: Supports::new(x.len() / 3), listed: vec![false; x.len() / 3] };
        Ok(Self { states, system, cg, norm, tolerance, iterations, thickness })
    }

    /// Solves (1) from x; `before` are the positions at the start of the step; both as in [`new`](Self::new). Returns how it
    /// ended, the iterations, and those of linear solves. *Panics* on wrong lengths.
    ///
    /// # Errors
    /// The errors of the assembly, of setups and of solves.
    pub fn minimize<P: Potential>(
        &mut self,
        f: &mut ImplicitEuler<P>,
        obstacles: &[ObstacleConstraint],
        before: &[f64],
        x: &mut Vec<f64>,
    ) -> Result<(DescentOutcome, [usize; 2]), AnyError> {
        let (mut outer, mut inner) = (0, 0);
        let (n, h, mut friction_updates) = (x.len(), f.step(), FRICTION_UPDATES);
        let [mut g, mut p, mut drag, mut next] = [0; 4].map(|_| vec![0.0; n]);
        loop {
            f.gradient(x, &mut g);
            self.place(obstacles, before, x, h)?;
            drag.fill(0.0);
            self.states.supports.add_friction(&mut drag);
            let rest = self.residual(&g, &drag, x, obstacles);
            let depth = depth(obstacles, x);
            let gap = self.held().map(|node| self.gap(node, x, obstacles)).fold(depth.most, f64::max);
            let gap = self.stuck().map(|node| slip(obstacles, before, x, node, h)).fold(gap, f64::max);
            if !rest.is_finite() {
                return Ok((DescentOutcome::NotFinite, [outer, inner]));
            }
            if outer > 0 && rest <= self.tolerance && gap <= DEPTH * self.thickness {
                return Ok((DescentOutcome::Converged(Criterion::Gradient), [outer, inner]));
            }
            if outer >= self.iterations {
                return Ok((DescentOutcome::IterationLimit, [outer, inner]));
            }
            self.states.supports.freeze_friction(outer >= friction_updates);
            outer += 1;
            let pushed = self.direction(f, x, &g, [&mut p, &mut drag], &mut inner);
            f.project(true);
            let Pushed { most, stuck } = pushed?;
            let away = |x: &[f64]| {
                let gap = |(node, place): &(usize, [f64; 3])| norm(sub(point(x, *node), *place));
                stuck.iter().map(gap).sum::<f64>()
            };
            let merit = |value: f64, x: &[f64]| {
                let friction = x.iter().zip(before).zip(&drag).map(|((x, b), d)| d * (x - b)).sum::<f64>();
                value - friction + 2.0 * most * (self::depth(obstacles, x).sum + away(x))
            };
            let now = merit(f.value(x).value, x);
            let slope = g.iter().zip(&drag).zip(&p).map(|((g, d), p)| (g - d) * p).sum::<f64>();
            let slope = (slope - 2.0 * most * (depth.sum + away(x))).min(0.0);
            let most_share = f.max_step(x, &p);
            let blocked = |most| DescentOutcome::LineSearchFailed(LineSearchFailure::Blocked { most });
            if most_share.is_nan() {
                return Ok((blocked(most_share), [outer, inner])); // the contact of triangles has the fault
            }
            let mut share = most_share.min(1.0);
            let mut lowered = false;
            for _ in 0..HALVINGS {
                next.iter_mut().zip(x.iter()).zip(&p).for_each(|((next, x), p)| *next = x + share * p);
                let Dot { value, magnitude } = f.value(&next);
                if merit(value, &next) <= now + LOWER * share * slope + f64::EPSILON * magnitude {
                    lowered = true;
                    break;
                }
                share *= 0.5;
            }
            if !lowered && outer <= friction_updates {
                friction_updates = 0; // states may cycle already
                continue;
            }
            if !lowered {
                return Ok((blocked(share), [outer, inner]));
            }
            x.copy_from_slice(&next);
        }
    }

    /// The work in J of the obstacles from the positions `before` a step to those at its end, x. *Panics* on wrong lengths.
    pub fn work<P: Potential>(&self, f: &mut ImplicitEuler<P>, before: &[f64], x: &Vec<f64>) -> f64 {
        let mut force = vec![0.0; x.len()]; // ∇f is what obstacles balance
        f.gradient(x, &mut force);
        let of = |node: usize| (3 * node..3 * node + 3).map(|k| force[k] * (x[k] - before[k])).sum::<f64>();
        self.held().map(of).sum()
    }

    /// The vertices that stick.
    fn stuck(&self) -> impl Iterator<Item = usize> {
        let all = 0..self.states.supports.len();
        all.filter(|&k| self.states.supports.state(k) == ContactState::Stick)
            .map(|k| self.states.supports.node(k))
    }

    /// The vertices that obstacles hold.
    fn held(&self) -> impl Iterator<Item = usize> {
        let all = 0..self.states.supports.len();
        all.filter(|&k| self.states.supports.state(k) != ContactState::Free)
            .map(|k| self.states.supports.node(k))
    }

    /// The distance of a vertex from the nearest obstacle; 0 inside.
    fn gap(&self, node: usize, x: &[f64], obstacles: &[ObstacleConstraint]) -> f64 {
        nearest(obstacles, point(x, node)).map_or(0.0, |(_, d)| d.max(0.0))
    }

    /// Moves the supports to x, from which p is measured.
    fn place(
        &mut self,
        obstacles: &[ObstacleConstraint],
        before: &[f64],
        x: &[f64],
        h: f64,
    ) -> Result<(), AnyError> {
        for (node, (at, from)) in x.as_chunks().0.iter().zip(before.as_chunks().0).enumerate() {
            let Some((obstacle, distance)) = nearest(obstacles, *at) else { return Ok(()) };
            if distance < NEAR * self.thickness || self.states.listed[node] {
                let (stick, (n, out)) =
                    (sub(obstacle.carried(*from, h), *at), obstacle.shape.displacement_to(*at, 0.0));
                self.states.supports.put(node, n, out, stick, obstacle.friction)?;
                self.states.listed[node] = true;
            }
        }
        Ok(())
    }

    /// Solves (2): p and the drag with which it was found.
    fn direction<P: Potential>(
        &mut self,
        f: &mut ImplicitEuler<P>,
        x: &[f64],
        g: &[f64],
        [p, drag]: [&mut Vec<f64>; 2],
        inner: &mut usize,
    ) -> Result<Pushed, AnyError> {
        // The exact Hessian, and where that is indefinite the projected one.
        f.project(false);
        self.system.set(f.system_at(x)?.system())?;
        let (mut force, mut exact, mut left) = (vec![0.0; g.len()], true, REVIEWS);
        loop {
            self.system.constraints.clear();
            self.states.supports.constrain(&mut self.system.constraints)?;
            drag.fill(0.0);
            self.states.supports.add_friction(drag);
            let b: Vec<f64> = drag.iter().zip(g).map(|(d, g)| d - g).collect();
            p.fill(0.0);
            let mut report = self.system.solve(&mut self.cg, &b, p);
            if exact && indefinite(&report) {
                exact = false;
                f.project(true);
                self.system.set(f.system_at(x)?.system())?;
                p.fill(0.0);
                report = self.system.solve(&mut self.cg, &b, p);
            }
            *inner += report?.usable()?.iterations;
            self.system.system.apply(p, &mut force);
            force.iter_mut().zip(g).for_each(|(force, g)| *force += g);
            let most = self.held().map(|node| norm(point(&force, node))).fold(0.0, f64::max);
            let place = |node: usize| [0, 1, 2].map(|k| x[3 * node + k] + p[3 * node + k]);
            let stuck = self.stuck().map(|node| (node, place(node))).collect();
            left -= 1;
            if self.states.supports.review(p, &force) == 0 || left == 0 {
                return Ok(Pushed { most, stuck });
            }
        }
    }

    /// The force that nothing balances, in the norm of the tolerance.
    fn residual(&mut self, g: &[f64], drag: &[f64], x: &[f64], obstacles: &[ObstacleConstraint]) -> f64 {
        let mut rest: Vec<f64> = g.iter().zip(drag).map(|(g, d)| d - g).collect();
        for k in 0..self.states.supports.len() {
            let (node, state) = (self.states.supports.node(k), self.states.supports.state(k));
            let own = 3 * node..3 * node + 3;
            match state {
                ContactState::Free => {}
                ContactState::Stick => rest[own].fill(0.0),
                ContactState::Slide => {
                    let at = point(x, node);
                    let Some((obstacle, _)) = nearest(obstacles, at) else { continue };
                    let n = obstacle.shape.normal(at);
                    let force = point(&rest, node);
                    let press = dot(n, force).min(0.0); // the obstacle balances it
                    rest[own].copy_from_slice(&[0, 1, 2].map(|k| force[k] - press * n[k]));
                }
            }
        }
        self.norm.of(&rest)
    }
}

/// Whether a solve or its setup ended as for a matrix that is not positive definite.
fn indefinite(solved: &Result<Report<f64>, AnyError>) -> bool {
    use Outcome::{Breakdown, Diverged, IndefiniteOperator, IndefinitePreconditioner};
    match solved {
        Ok(report) => {
            matches!(report.outcome, IndefiniteOperator | IndefinitePreconditioner | Breakdown | Diverged)
        }
        Err(AnyError::Setup(error)) => refused(error),
        Err(AnyError::Core(Error::Preconditioner { .. })) => true, // a factor that is not definite
        Err(_) => false,
    }
}

/// Whether a setup could not divide by a part of the matrix. Factorisations give the cause only as text; one that the
/// projected Hessian has too is an error there.
fn refused(error: &SetupError) -> bool {
    use SetupError::{
        Coarsest, Domain, Factor, Level, NotPositive, Pivot, SingularBlock, ZeroDiagonal, ZeroPivot,
    };
    match error {
        Level { cause, .. } => refused(cause),
        ZeroDiagonal { .. } | SingularBlock { .. } | Pivot { .. } | ZeroPivot { .. } | NotPositive { .. } => {
            true
        }
        Factor { .. } | Coarsest { .. } | Domain { .. } => true,
        _ => false,
    }
}

/// How deep vertices are in obstacles.
struct Depth {
    sum: f64,
    most: f64,
}

fn depth(obstacles: &[ObstacleConstraint], x: &[f64]) -> Depth {
    let depths = x.as_chunks().0.iter().map(|at| nearest(obstacles, *at).map_or(0.0, |(_, d)| (-d).max(0.0)));
    depths.fold(Depth { sum: 0.0, most: 0.0 }, |all, d| Depth { sum: all.sum + d, most: all.most.max(d) })
}

fn point(x: &[f64], node: usize) -> [f64; 3] {
    [x[3 * node], x[3 * node + 1], x[3 * node + 2]]
}

/// How far a vertex that sticks is from its place sᵢ.
fn slip(obstacles: &[ObstacleConstraint], before: &[f64], x: &[f64], node: usize, h: f64) -> f64 {
    let at = point(x, node);
    nearest(obstacles, at)
        .map_or(0.0, |(obstacle, _)| norm(sub(obstacle.carried(point(before, node), h), at)))
}

/// The nearest obstacle, and its distance.
fn nearest(obstacles: &[ObstacleConstraint], x: [f64; 3]) -> Option<(&ObstacleConstraint, f64)> {
    let each = obstacles.iter().map(|obstacle| (obstacle, obstacle.shape.distance(x)));
    each.min_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_constraints::ConstraintError;
    use coarsen_contact::SmoothSdf;

    /// For a solid whose distance has slopes below 1, places of vertices and (2) end on the surface except for terms of second
    /// order.
    #[test]
    fn projections_by_approximate_distances_end_on_the_surface() {
        let corners: Vec<[f64; 3]> = (0..8).map(|v| [0, 1, 2].map(|k| f64::from(v >> k & 1))).collect();
        let sides = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let triangles: Vec<[u32; 3]> =
            sides.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
        let h = 0.1;
        let inside = |x: [f64; 3]| x.iter().all(|x| *x > 0.0 && *x < 1.0);
        let shape = SmoothSdf::new(&corners, &triangles, h, inside).unwrap();
        let solid =
            ObstacleConstraint { shape: Box::new(shape.clone()), spin: Spin::default(), friction: 0.0 };
        let mut least = 1.0_f64;
        for k in 0..200 {
            // Around the edge at x = y = 1 and its end.
            let part = |step: f64| (step * f64::from(k)).fract() - 0.5;
            let x = [1.0 + 0.3 * h * part(0.618), 1.0 + 0.3 * h * part(0.414), 0.8 + 0.4 * part(0.732)];
            least = least.min(norm(shape.gradient(x)));
            let base = (0..9).fold(x, |x, _| solid.carried(x, 1.0)); // on the surface
            let n = shape.normal(base);
            let near = [0, 1, 2].map(|k| base[k] + 1e-3 * h * n[k]);
            let off = shape.distance(solid.carried(near, 1.0)).abs();
            assert!(off < 0.03 * 1e-3 * h, "{off:e} from {near:?}");
            let level = -1e-3 * h;
            let (n, out) = shape.displacement_to(near, level);
            let off = (shape.distance([0, 1, 2].map(|k| near[k] + out * n[k])) - level).abs();
            assert!(off < 0.03 * out.abs(), "{off:e} after {out:e} from {near:?}");
        }
        assert!(least < 0.85, "{least}");
    }

    /// Only errors that an indefinite matrix can cause lead to the projected Hessian; all others end the step.
    #[test]
    fn only_indefinite_matrices_are_projected() {
        let pivot = || SetupError::NotPositive { method: "block-jacobi", row: 3, diagonal: -1.0 };
        let level = SetupError::Level { level: 1, cause: Box::new(pivot()) };
        for error in [AnyError::from(pivot()), level.into()] {
            assert!(indefinite(&Err(error)));
        }
        let released = SetupError::Released { node: 0, first_row: 0 };
        let far = Error::NotFinite { what: "b", index: 0 };
        let twice = ConstraintError::Occupied { node: 0 };
        for error in [AnyError::from(SetupError::Cancelled), released.into(), far.into(), twice.into()] {
            assert!(!indefinite(&Err(error)));
        }
    }
}
