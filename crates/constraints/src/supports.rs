//! Nodes on obstacles: constraints that let go when the force pulls, and that stick or slide.
//!
//! | symbol | here | |
//! |---|---|---|
//! | n, d | `normal`, `offset` | the obstacle: n · x ≥ d |
//! | p | `point` | where the node sticks |
//! | μ | `friction` | coefficient of friction |
//! | f = A x − b | `force` | the force of the obstacle on the node |
//! | λ, τ | n · f and f − λ n | its normal part and the rest |
//!
//! | state | constraint | leaves it if | for |
//! |---|---|---|---|
//! | free | none | n · x < d | slide, at first without friction |
//! | slide | n · x = d | λ < 0 | free |
//! | | and the force μ λ against the slip | the slip turns back | stick |
//! | stick | x = p | λ < 0 | free |
//! | | | ‖τ‖ > μ λ | slide |
//!
//! An active-set method: Hintermüller, Ito & Kunisch 2003, "The primal-dual active set strategy as a semismooth Newton
//! method", SIAM J. Optim. 13(3). Filtered obstacles: Tamstorf, Jones & McCormick 2015, §8; Baraff & Witkin 1998, §5.

use super::{ConstraintError, Constraints};

/// The force of friction of a node has settled if it changes by less than this share of itself.
const SETTLED: f64 = 1e-3;

/// A node is in an obstacle if it is deeper than this share of the largest coordinate, or pulled if the force is larger
/// than this share of the largest force.
const SMALL: f64 = 1e-9;

/// How a node is held by its obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactState {
    /// Not at all: it may leave.
    Free,
    /// It stays on the plane and may move along it.
    Slide,
    /// It stays where it is.
    Stick,
}

/// A node at an obstacle.
#[derive(Clone, Copy, Debug)]
struct Support {
    node: usize,
    normal: [f64; 3],
    offset: f64,
    point: [f64; 3],
    friction: f64,
    state: ContactState,
    /// The force of friction while the node slides.
    drag: [f64; 3],
}

/// Nodes with three unknowns at obstacles: a set of constraints whose members come and go.
///
/// Solve with the constraints of [`constrain`](Self::constrain) and the forces of
/// [`add_friction`](Self::add_friction), then call [`review`](Self::review), which tests the forces of the obstacles, until
/// it changes nothing. Then n · x ≥ d, λ ≥ 0, ‖τ‖ ≤ μ λ, and only nodes on the plane are pushed. Without friction this is
/// the minimum of ½ xᵀ A x − bᵀ x over all x outside of the obstacles.
///
/// A node has one obstacle, because λ is taken from the whole force on its node.
///
/// *Use* where obstacles should hold exactly, at the cost of some solves for each step. A preconditioner is patched from
/// solve to solve, except multilevel Schwarz, which is built again when nodes that stuck at its build are released.
/// *Do not use* where few solves are wanted, or for nodes in corners of obstacles: penalties take one solve and add up.
/// *Failures*: the states may cycle if A is no M-matrix and many nodes are close to leaving, so end after ten reviews:
/// random systems with four obstacles without friction settle within four. *Cost* of a review: a pass over the nodes.
///
/// ```
/// use coarsen_constraints::{Constraints, ContactState, Supports, prefilter};
/// use coarsen_core::LinearOperator;
/// use coarsen_sparse::Bsr;
/// // A node of stiffness 1 above the ground y = 0, pulled down and aside.
/// let (a, b) = (Bsr::<f64>::identity(1, 3)?, vec![1.0, -5.0, 0.0]);
/// let mut supports = Supports::new(1);
/// supports.add(0, [0.0, 1.0, 0.0], 0.0, [0.0; 3], 0.1)?;
/// let (mut x, mut constraints) = (vec![0.0; 3], Constraints::new(1, 3)?);
/// loop {
///     constraints.clear();
///     supports.constrain(&mut constraints)?;
///     let mut rhs = b.clone();
///     supports.add_friction(&mut rhs);
///     prefilter(&a, &constraints)?.solve(&rhs, &mut x, |_, c, y| y.clone_from(c))?; // the solve with A = 1
///     let force: Vec<f64> = (0..3).map(|k| x[k] - b[k]).collect();
///     if supports.review(&x, &force) == 0 {
///         break;
///     }
/// }
/// assert_eq!(supports.state(0), ContactState::Slide); // 5 · 0.1 is not enough to hold 1
/// assert!((x[0] - 0.5).abs() < 1e-12 && x[1].abs() < 1e-12);
/// # Ok::<(), coarsen_constraints::ConstraintError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Supports {
    all: Vec<Support>,
    /// The number of the obstacle of each node, `FREE` for none.
    of: Vec<u32>,
    frozen: bool,
}

/// A node without an obstacle.
const FREE: u32 = u32::MAX;

impl Supports {
    /// No obstacles for `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self { all: Vec::new(), of: vec![FREE; nodes], frozen: false }
    }

    /// Removes all obstacles and keeps the memory.
    pub fn clear(&mut self) {
        self.all.drain(..).for_each(|support| self.of[support.node] = FREE);
    }

    /// Adds an obstacle n · x ≥ d for a node with the coefficient of friction μ; a node that sticks is at `point`. The
    /// node is free at first. n need not have unit length.
    ///
    /// # Errors
    /// [`ConstraintError::Occupied`] for a node that has an obstacle, [`ConstraintError::Node`] for a node that does not
    /// exist, [`ConstraintError::NotFinite`] for numbers that are not finite, [`ConstraintError::Vanishing`] for n = 0,
    /// and [`ConstraintError::Friction`] for a μ that is negative or not finite. Nothing is then added.
    pub fn add(
        &mut self,
        node: usize,
        normal: [f64; 3],
        offset: f64,
        point: [f64; 3],
        friction: f64,
    ) -> Result<(), ConstraintError> {
        if self.of.get(node).is_some_and(|of| *of != FREE) {
            return Err(ConstraintError::Occupied { node });
        }
        self.put(node, normal, offset, point, friction)
    }

    /// As [`add`](Self::add), but the obstacle of a node that has one takes the place of it, and the node keeps its state,
    /// with its friction unless μ is now 0: for obstacles that move, and for the next linear system of Newton's method.
    ///
    /// # Errors
    /// As [`add`](Self::add), except [`ConstraintError::Occupied`].
    pub fn put(
        &mut self,
        node: usize,
        normal: [f64; 3],
        offset: f64,
        point: [f64; 3],
        friction: f64,
    ) -> Result<(), ConstraintError> {
        let Some(&of) = self.of.get(node) else {
            let (constraint, nodes) = (self.all.len(), self.of.len());
            return Err(ConstraintError::Node { constraint, node, nodes });
        };
        let constraint = if of == FREE { self.all.len() } else { of as usize };
        if !(friction.is_finite() && friction >= 0.0) {
            return Err(ConstraintError::Friction { node, found: friction });
        }
        let longest = normal.iter().fold(0.0_f64, |most, n| most.max(n.abs()));
        if longest == 0.0 && normal.iter().all(|n| *n == 0.0) {
            return Err(ConstraintError::Vanishing { constraint, nodes: vec![node as u32] });
        }
        // First divided by the longest, so that the square neither overflows nor vanishes.
        let normal = normal.map(|n| n / longest);
        let length = dot(normal, normal).sqrt();
        let (normal, offset) = (normal.map(|n| n / length), offset / longest / length);
        if !normal.iter().chain(&point).chain([&offset]).all(|v| v.is_finite()) {
            return Err(ConstraintError::NotFinite { constraint, nodes: vec![node as u32] });
        }
        let new =
            Support { node, normal, offset, point, friction, state: ContactState::Free, drag: [0.0; 3] };
        match self.all.get_mut(of as usize) {
            Some(old) => {
                let drag = if friction > 0.0 { across(old.drag, normal) } else { [0.0; 3] };
                *old = Support { state: old.state, drag, ..new };
            }
            None => {
                self.of[node] = constraint as u32;
                self.all.push(new);
            }
        }
        Ok(())
    }

    /// The number of obstacles.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are no obstacles.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The node of obstacle k. *Panics* if there is none.
    pub fn node(&self, k: usize) -> usize {
        self.all[k].node
    }

    /// The state of obstacle k. *Panics* if there is none.
    pub fn state(&self, k: usize) -> ContactState {
        self.all[k].state
    }

    /// Keeps friction as it is from now on, or updates it again: while it is frozen, [`review`](Self::review) holds and
    /// releases nodes, but those that stick go on sticking, and those that slide keep their force. *Use* where states
    /// cycle between stick and slide: the rest is a convex problem. Nodes that are held meanwhile slide without friction.
    pub fn freeze_friction(&mut self, frozen: bool) {
        self.frozen = frozen;
    }

    /// Adds the constraints of all nodes that are held.
    ///
    /// # Errors
    /// The errors of [`Constraints::point`] for constraints of another number of nodes or unknowns.
    pub fn constrain(&self, constraints: &mut Constraints) -> Result<(), ConstraintError> {
        for support in &self.all {
            match support.state {
                ContactState::Free => {}
                ContactState::Slide => constraints.plane(support.node, &support.normal, support.offset)?,
                ContactState::Stick => constraints.point(support.node, &support.point)?,
            }
        }
        Ok(())
    }

    /// Adds the forces of friction of the nodes that slide, as of the last review. *Panics* on a wrong length.
    pub fn add_friction(&self, b: &mut [f64]) {
        self.check(b.len());
        for support in self.all.iter().filter(|support| support.state == ContactState::Slide) {
            (0..3).for_each(|k| b[3 * support.node + k] += support.drag[k]);
        }
    }

    /// Changes the states to those that fit x and the forces f = A x − b of the obstacles, with the b without friction.
    /// Returns the number of obstacles whose state or friction changed. If x or f holds NaN or infinity, as after a
    /// solve that failed, no state changes, and all obstacles count as changed: nothing has settled. *Panics* on wrong
    /// lengths.
    pub fn review(&mut self, x: &[f64], force: &[f64]) -> usize {
        self.check(x.len());
        self.check(force.len());
        if !x.iter().chain(force).all(|v| v.is_finite()) {
            return self.all.len();
        }
        let largest = |v: &[f64]| v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let (deep, weak) = (SMALL * largest(x), SMALL * largest(force));
        let of = |v: &[f64], node: usize| [0, 1, 2].map(|k| v[3 * node + k]);
        let mut changed = 0;
        for support in &mut self.all {
            let (x, force) = (of(x, support.node), of(force, support.node));
            changed += usize::from(support.next_state(x, force, deep, weak, self.frozen));
        }
        changed
    }

    fn check(&self, length: usize) {
        let expected = 3 * self.of.len();
        assert_eq!(length, expected, "a vector has {length} entries, but the nodes have {expected} unknowns");
    }
}

impl Support {
    /// Takes the next state, and returns whether it or the friction differs.
    fn next_state(&mut self, x: [f64; 3], force: [f64; 3], deep: f64, weak: f64, frozen: bool) -> bool {
        let (n, before) = (self.normal, *self);
        let push = dot(n, force); // λ
        match self.state {
            ContactState::Free if dot(n, x) < self.offset - deep => self.state = ContactState::Slide,
            ContactState::Slide | ContactState::Stick if push < -weak => self.state = ContactState::Free,
            ContactState::Stick if !frozen => {
                let rest = across(force, n); // τ
                let (size, most) = (dot(rest, rest).sqrt(), self.friction * push.max(0.0));
                if size > most + weak {
                    self.state = ContactState::Slide;
                    self.drag = rest.map(|t| t * most / size);
                    return true;
                }
            }
            ContactState::Slide if self.friction > 0.0 && !frozen => {
                let slip = across([0, 1, 2].map(|k| x[k] - self.point[k]), n);
                let (size, most) = (dot(slip, slip).sqrt(), self.friction * push.max(0.0));
                if dot(slip, self.drag) > 0.0 {
                    self.state = ContactState::Stick; // friction would pull the node along
                } else {
                    if size > 0.0 {
                        self.drag = slip.map(|s| -s * most / size);
                    }
                    let change = [0, 1, 2].map(|k| self.drag[k] - before.drag[k]);
                    return dot(change, change).sqrt() > SETTLED * most + weak;
                }
            }
            _ => {}
        }
        if self.state != ContactState::Slide {
            self.drag = [0.0; 3];
        }
        self.state != before.state
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The part of a vector across a unit vector.
fn across(v: [f64; 3], n: [f64; 3]) -> [f64; 3] {
    let along = dot(v, n);
    [0, 1, 2].map(|k| v[k] - along * n[k])
}
