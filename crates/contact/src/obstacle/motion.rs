//! How far nodes may go before a shape, and what a shape meets that moves: conservative advancement.
//!
//! > t ← t + (g − s g₀) / r    (4)
//!
//! for the gap g at the time t, that at the start g₀, and a bound r of the rate at which it shrinks. So a share s of the
//! first gap is left at the end. The potential decides whether gaps may close: for a penalty there is no end.
//!
//! Li, Kaufman & Jiang 2021, "Codimensional incremental potential contact", ACM TOG 40(4), Algorithm 1.

use coarsen_elastic::Potential;
use coarsen_sparse::Stencil;

use super::edges::{Edge, nearest};
use super::{End, Obstacle, on_edge};
use crate::Shape;
use crate::shape::norm;

/// s: that of the steps of a [`Barrier`](coarsen_elastic::Barrier).
const KEPT: f64 = 0.1;

/// A displacement ends where this share of the first gap is left.
const NEAR: f64 = 0.2;

/// The largest number of advances.
const MOST: usize = 200;

/// The longest step that is searched.
pub(super) const LONG: f64 = 16.0;

impl<S: Shape> Obstacle<S> {
    /// A time until which a gap stays open, by (4), that is not before `end` if it stays open until then.
    pub(super) fn advance(&self, gap: impl Fn(f64) -> f64, rate: f64, end: f64) -> f64 {
        let first = gap(0.0);
        let (mut t, mut now) = (0.0, first);
        for _ in 0..MOST {
            t += self.potential.max_step((now - KEPT * first) / (1.0 - KEPT), -rate);
            if t >= end || t.is_nan() || t <= 0.0 {
                return t;
            }
            now = gap(t);
            if now < NEAR * first {
                return t;
            }
        }
        t
    }

    /// The first node or edge whose energy at x is not finite: it is in a barrier, so that no descent can begin there. The free
    /// ends of an edge are given; a node, or the free end of an edge, twice. *Panics* on a wrong length.
    ///
    /// ```
    /// use coarsen_contact::{Obstacle, Sphere};
    /// use coarsen_elastic::Barrier;
    /// let ball = Obstacle::with_potential(2, Sphere::new([0.0; 3], 0.1)?, Barrier { stiffness: 1.0, reach: 0.01 })?;
    /// let x = [[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]];
    /// assert_eq!(ball.inside(x.as_flattened()), None);
    /// assert_eq!(ball.edges(&[[0, 1]], &[false; 2], &x)?.inside(x.as_flattened()), Some([0, 1]));
    /// # Ok::<(), coarsen_contact::ContactError>(())
    /// ```
    pub fn inside(&self, x: &[f64]) -> Option<[u32; 2]> {
        self.check("inside", x);
        let bad = |gap: f64| !self.potential.at(gap)[0].is_finite();
        let mut nodes = (0..self.nodes()).filter(|&i| self.active[i]);
        let node = nodes.find(|&i| bad(self.gap(i, x))).map(|i| [i as u32; 2]);
        let dips = |edge: &&Edge| bad(nearest(&self.shape, edge.ends.map(|end| end.at(x))).gap);
        node.or_else(|| {
            let Edge { ends, .. } = self.edges.iter().find(dips)?;
            let mut free = ends.iter().filter_map(End::slot);
            let first = free.next()?;
            Some([first, free.next().unwrap_or(first)].map(|slot| slot as u32))
        })
    }

    /// What the shape would meet, or come nearer to than a fifth of the first gap, while it moves along `path`, from 0 to 1,
    /// free nodes from x along d, and held ends of edges to `held`, which has all nodes, or is empty if they stay. Of each node
    /// and edge: the time until which it may move, itself or its nearest point then, and the part of the displacement of
    /// that point that held ends make. The shape moves evenly by `drift`, and no point of it moves by more than `speed` beside that.
    /// Of a path that begins at the shape and ends where [`set_shape`](Self::set_shape) puts it, nothing
    /// is left out: an obstacle does not pass through cloth in a long step. None with a penalty, which nodes may enter.
    /// *Cost*: shapes of the path for each node and edge that is as near as it moves. *Panics* on wrong lengths.
    ///
    /// ```
    /// use coarsen_contact::{Obstacle, Sphere};
    /// use coarsen_elastic::Barrier;
    /// let at = |y: f64| Sphere::new([0.0, y, 0.0], 0.1).expect("a radius");
    /// let ball = Obstacle::with_potential(2, at(0.0), Barrier { stiffness: 1.0, reach: 0.01 })?;
    /// // The ball passes by node 0 and goes on for five times its radius.
    /// let x = [0.0, 0.3, 0.0, 0.5, 0.3, 0.0];
    /// let found = ball.impacts(&x, &[0.0; 6], &[], |t| at(0.6 * t), ([0.0, 0.6, 0.0], 0.0));
    /// assert!(found.len() == 1 && found[0].1.nodes() == [0] && found[0].0 < 1.0 / 3.0);
    /// # Ok::<(), coarsen_contact::ContactError>(())
    /// ```
    pub fn impacts(
        &self,
        x: &[f64],
        d: &[f64],
        held: &[[f64; 3]],
        path: impl Fn(f64) -> S,
        (drift, speed): ([f64; 3], f64),
    ) -> Vec<(f64, Stencil, [f64; 3])> {
        self.check("impacts", x);
        self.check("impacts", d);
        let lipschitz = self.shape.lipschitz();
        let moved = |end: &End, t: f64| {
            let (x, dx) = (end.at(x), end.along(d, held));
            [0, 1, 2].map(|k| x[k] + t * dx[k])
        };
        let speed = |end: &End| {
            let dx = end.along(d, held);
            norm([0, 1, 2].map(|k| dx[k] - drift[k])) + speed
        };
        // What is in the shape may not move, and neither may what is not finite.
        let is_met = |t: &f64| t.max(0.0) < 1.0;
        let nodes = (0..self.nodes() as u32).filter(|&i| self.active[i as usize]).filter_map(|i| {
            let end = End::Free(i);
            let gap = |t: f64| match t {
                0.0 => self.shape.distance(moved(&end, 0.0)),
                t => path(t).distance(moved(&end, t)),
            };
            let t = Some(self.advance(gap, lipschitz * speed(&end), 1.0)).filter(is_met)?;
            Some((t.max(0.0), Stencil::point(i), [0.0; 3]))
        });
        let edges = self.edges.iter().filter_map(|Edge { ends, .. }| {
            let near = |t: f64| {
                let points = ends.each_ref().map(|end| moved(end, t));
                if t == 0.0 { nearest(&self.shape, points) } else { nearest(&path(t), points) }
            };
            let rate = lipschitz * speed(&ends[0]).max(speed(&ends[1]));
            let t = Some(self.advance(|t| near(t).gap, rate, 1.0)).filter(is_met)?.max(0.0);
            let weights = near(t).weights;
            let mut carried = [0.0; 3];
            for (end, w) in ends.iter().zip(weights).filter(|(end, _)| end.slot().is_none()) {
                let dx = end.along(d, held);
                (0..3).for_each(|k| carried[k] += w * dx[k]);
            }
            Some((t, on_edge(ends, weights), carried))
        });
        nodes.chain(edges).collect()
    }
}
