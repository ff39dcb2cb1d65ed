//! Contact of edges with a convex shape.
//!
//! | symbol | here | |
//! |---|---|---|
//! | a, b | `ends` | the ends of an edge |
//! | s, d | `weights`, `gap` | the point (1 − s) a + s b that is nearest to the shape, and its distance; n = ∇d there |
//! | δ_a, δ_b | | how much nearer it is than the ends: d(a) − d, d(b) − d |
//! | c | | δ_a δ_b / (ε (δ_a + δ_b)), with ε a share of the length at rest |
//! | m | `share` | (2 − c) c for c < 1, else 1 |
//!
//! > E = Σ m φ(d),  ∂E/∂a = m φ' (1 − s) n + φ ∂m/∂a,  H_ab = m φ'' s (1 − s) n nᵀ    (2)
//!
//! over the edges whose nearest point is not an end; where it is an end, m = 0, and the contact of nodes has it. So E and its
//! gradient are continuous, and an edge along a plane counts nothing. d along an edge is convex, so it has one minimum, and
//!
//! > d(y) ≥ d + n · (y − x)    (3)
//!
//! for the nearest point x and all y. So no point of an edge is in the shape until the ends are behind the plane (3).
//!
//! An end may be held: it has no unknowns, and moves only from step to step.

use std::ops::Range;

use coarsen_core::parallel;
use coarsen_elastic::{BodyError, ContactHessian, Energy, Nodes};
use coarsen_mesh::vector::{dot, sub};

use super::motion::LONG;
use super::{End, Obstacle, Pressed, WORK};
use crate::shape::norm;
use crate::{ContactError, Penetration, Shape};

/// The number of edges per task of a parallel loop.
const LEAF: usize = 1024;

/// ε in units of the length at rest.
const SOFT: f64 = 0.01;

/// The most steps of the search for the nearest point, and the error of s at which it ends.
const STEPS: usize = 60;
const EXACT: f64 = 1e-13;

/// An edge with a free end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) ends: [End; 2],
    /// ε.
    pub(super) soft: f64,
}

/// The point of an edge that is nearest to the shape.
pub(super) struct Nearest {
    pub(super) weights: [f64; 2],
    point: [f64; 3],
    pub(super) gap: f64,
}

/// A contact of an edge: its nearest point is not an end.
struct Dip {
    pressed: Pressed,
    gap: f64,
    share: f64,
    /// ∂m/∂a and ∂m/∂b.
    turning: [[f64; 3]; 2],
}

impl<S: Shape> Obstacle<S> {
    /// Adds contact of edges with a free end; those between held nodes are left out. `held` and `positions` have all nodes, at
    /// rest, and edges have their numbers. So an edge whose ends are outside of a ball does not dip into it; a plane needs none.
    /// *Cost*: a distance for each edge, and a search along those that are near.
    ///
    /// # Errors
    /// [`ContactError::Concave`] for a shape that is not known to be convex, since several points of an edge may be nearest,
    /// and [`ContactError::Body`] for a node that does not exist, an edge without length, and another number of free nodes.
    pub fn edges(
        mut self,
        list: &[[u32; 2]],
        held: &[bool],
        positions: &[[f64; 3]],
    ) -> Result<Self, ContactError> {
        if !self.shape.is_convex() {
            return Err(ContactError::Concave);
        }
        let (all, free) = (Nodes::new(held, positions)?, self.active.len());
        if all.free() != free {
            return Err(BodyError::Length { what: "free nodes", expected: free, found: all.free() }.into());
        }
        self.edges.clear();
        for (index, &ends) in list.iter().enumerate() {
            if let Some(&node) = ends.iter().find(|&&node| node as usize >= all.count()) {
                let (node, nodes) = (node as usize, all.count());
                return Err(BodyError::Node { what: "edge", index, node, nodes }.into());
            }
            let [a, b] = ends.map(|node| positions[node as usize]);
            let length = norm(sub(b, a));
            if !(length > 0.0 && length.is_finite()) {
                return Err(BodyError::Degenerate { what: "edge", index, measure: length }.into());
            }
            let ends = ends.map(|node| match all.slot(node) {
                Some(slot) => End::Free(slot as u32),
                None => End::Held { node, at: positions[node as usize] },
            });
            if ends.iter().any(|end| end.slot().is_some()) {
                self.edges.push(Edge { ends, soft: SOFT * length });
            }
        }
        Ok(self)
    }

    /// Moves the held ends of edges; `positions` has all nodes. Nodes that are then in the shape are not searched for
    /// ([`impacts`](Self::impacts) does). *Panics* if a held node is missing.
    pub fn hold(&mut self, positions: &[[f64; 3]]) {
        self.edges.iter_mut().flat_map(|edge| &mut edge.ends).for_each(|end| end.hold(positions));
    }

    /// Whether the potential may act on an edge, by a lower bound of its distance.
    fn is_near(&self, [a, b]: [[f64; 3]; 2]) -> bool {
        let middle = std::array::from_fn(|k| 0.5 * (a[k] + b[k]));
        let least = self.shape.distance(middle) - 0.5 * self.shape.lipschitz() * norm(sub(b, a));
        let [value, slope, _] = self.potential.at(least);
        value != 0.0 || slope != 0.0
    }

    /// The contact of an edge, if there is one.
    fn dip(&self, edge: &Edge, x: &[f64]) -> Option<Dip> {
        let ends = edge.ends.map(|end| end.at(x));
        if !self.is_near(ends) {
            return None;
        }
        let Nearest { weights, point, gap } = nearest(&self.shape, ends);
        let nearer = ends.map(|x| (self.shape.distance(x) - gap).max(0.0)); // δ
        let sum = nearer[0] + nearer[1];
        let c = nearer[0] * nearer[1] / (edge.soft * sum);
        if sum == 0.0 || c == 0.0 || weights.contains(&0.0) {
            return None;
        }
        let share = if c < 1.0 { (2.0 - c) * c } else { 1.0 };
        let n = self.shape.gradient(point);
        let mut turning = [[0.0; 3]; 2];
        if c < 1.0 {
            let slopes = ends.map(|x| self.shape.gradient(x));
            let rates = [1, 0].map(|other| (nearer[other] / sum).powi(2) / edge.soft); // ∂c/∂δ
            for (a, k) in (0..2).flat_map(|a| (0..3).map(move |k| (a, k))) {
                let both = (rates[0] + rates[1]) * weights[a] * n[k];
                turning[a][k] = 2.0 * (1.0 - c) * (rates[a] * slopes[a][k] - both);
            }
        }
        let pressed = Pressed { ends: edge.ends, weights, normal: self.shape.normal(point) };
        Some(Dip { pressed, gap, share, turning })
    }

    /// E of the edges.
    pub(super) fn edge_energy(&self, x: &[f64]) -> Energy {
        let energy = |edge: &Edge| {
            let Some(Dip { pressed, gap, share, .. }) = self.dip(edge, x) else { return Energy::default() };
            let [value, slope, _] = self.potential.at(gap);
            share * Energy { value, magnitude: slope.abs() * self.shape.magnitude(pressed.at(x)) } // (2)
        };
        let leaf = |range: Range<usize>| self.edges[range].iter().map(energy).sum::<Energy>();
        let count = self.edges.len();
        parallel::tree(0..count, LEAF, parallel::worth(count * WORK), &leaf, &|a, b| a + b)
    }

    /// Adds the gradient of E of the edges.
    pub(super) fn add_edge_gradient(&self, x: &[f64], g: &mut [f64]) {
        for Dip { pressed, gap, share, turning } in self.edges.iter().filter_map(|edge| self.dip(edge, x)) {
            let [value, slope, _] = self.potential.at(gap);
            if value == 0.0 && slope == 0.0 {
                continue;
            }
            let n = self.shape.gradient(pressed.at(x));
            pressed.add(n.map(|n| share * slope * n), g);
            for (slot, turning) in pressed.ends.iter().map(End::slot).zip(turning) {
                let Some(slot) = slot else { continue };
                (0..3).for_each(|k| g[3 * slot + k] += value * turning[k]); // (2)
            }
        }
    }

    /// Adds the contacts of the edges, the same for each kind of curvature.
    pub(super) fn add_edge_contacts(&self, x: &[f64], contacts: &mut ContactHessian) {
        for Dip { pressed, gap, share, .. } in self.edges.iter().filter_map(|edge| self.dip(edge, x)) {
            let bend = share * self.potential.at(gap)[2];
            if bend > 0.0 {
                let n = self.shape.gradient(pressed.at(x));
                contacts.push(pressed.stencil(), n.map(|p| n.map(|q| bend * (p * q)))); // (2)
            }
        }
    }

    /// The largest α that the potential allows for the points of edges, by (3).
    pub(super) fn edge_step(&self, x: &[f64], d: &[f64]) -> f64 {
        let step = |edge: &Edge| {
            let (ends, dx) = (edge.ends.map(|end| end.at(x)), edge.ends.map(|end| end.along(d, &[])));
            let middle = std::array::from_fn(|k| 0.5 * (ends[0][k] + ends[1][k]));
            let lipschitz = self.shape.lipschitz();
            let far = self.shape.distance(middle) - 0.5 * lipschitz * norm(sub(ends[1], ends[0]));
            let rate = -lipschitz * norm(dx[0]).max(norm(dx[1]));
            let rough = if far > 0.0 { self.potential.max_step(far, rate) } else { 0.0 };
            if rough >= LONG {
                return rough;
            }
            let Nearest { point, gap, .. } = nearest(&self.shape, ends);
            let n = self.shape.gradient(point);
            let above = ends.map(|x| gap + dot(n, sub(x, point)).max(0.0));
            let [a, b] = [0, 1].map(|k| self.potential.max_step(above[k], dot(n, dx[k])));
            least(a, b)
        };
        let leaf = |range: Range<usize>| self.edges[range].iter().map(step).fold(f64::INFINITY, least);
        let count = self.edges.len();
        parallel::tree(0..count, LEAF, parallel::worth(count * WORK), &leaf, &least)
    }

    /// The edges with a force, and the largest depth of a point of them.
    pub(super) fn edge_penetration(&self, x: &[f64]) -> Penetration {
        let of = |edge: &Edge| {
            let Some(Dip { gap, .. }) = self.dip(edge, x) else { return Penetration::default() };
            let contacts = usize::from(self.potential.at(gap)[1] != 0.0);
            Penetration { contacts, ..Penetration::of(gap) }
        };
        self.edges.iter().map(of).fold(Penetration::default(), Penetration::and)
    }

    /// Calls `each` for the points of edges with a force m |φ'| ‖∇d‖, in N.
    pub(super) fn each_pressed_edge(&self, x: &[f64], each: &mut impl FnMut(Pressed, f64)) {
        for Dip { pressed, gap, share, .. } in self.edges.iter().filter_map(|edge| self.dip(edge, x)) {
            let force = share * self.potential.at(gap)[1].abs() * norm(self.shape.gradient(pressed.at(x)));
            if force > 0.0 {
                each(pressed, force);
            }
        }
    }
}

/// The point of an edge that is nearest to a convex shape, by Newton's method within an interval that shrinks.
pub(super) fn nearest(shape: &impl Shape, [a, b]: [[f64; 3]; 2]) -> Nearest {
    let along = sub(b, a);
    let point = |s: f64| std::array::from_fn(|k| (1.0 - s) * a[k] + s * b[k]);
    let slope = |x: [f64; 3]| dot(shape.gradient(x), along);
    let (mut low, mut high) = (0.0, 1.0);
    let s = if slope(a) >= 0.0 {
        0.0
    } else if slope(b) <= 0.0 {
        1.0
    } else {
        let mut s = 0.5;
        for _ in 0..STEPS {
            let x = point(s);
            let down = slope(x);
            if down < 0.0 {
                low = s
            } else {
                high = s
            }
            let bend: f64 = shape.curvature(x).iter().zip(along).map(|(row, p)| p * dot(*row, along)).sum();
            let next = s - down / bend;
            // The step of a root is 0, and leaves the interval by round-off.
            let next = if next >= low && next <= high { next } else { 0.5 * (low + high) };
            let change = (next - s).abs();
            s = next;
            if change <= EXACT {
                break;
            }
        }
        s
    };
    let x = point(s);
    Nearest { weights: [1.0 - s, s], point: x, gap: shape.distance(x) }
}

/// The smaller number; NaN if one of them is.
pub(super) fn least(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}
