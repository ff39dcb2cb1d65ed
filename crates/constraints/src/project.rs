//! The projector S onto the vectors with C x = 0.

use std::ops::Range;

use coarsen_core::parallel::{self, Groups as Blocks, each};
use coarsen_core::{LinearOperator, Real};

use super::factor::{Factors, SHOWN};
use super::groups::NONE;
use super::{ConstraintError, Constraints};

/// The number of nodes per task.
const LEAF: usize = 2048;

/// The orthogonal projector S = I − Cᵀ (C Cᵀ)⁻¹ C onto the vectors with C x = 0, and the shortest z with C z
/// = d.
///
/// S is computed separately for each connected group of constraints: S = I − W Wᵀ, where W is an orthonormal
/// basis of the rows of C in the group. Pivoting detects dependent constraints. These are left out and
/// listed. Contradictory constraints are errors.
/// *Use* as the filter of a modified conjugate gradient method (Baraff & Witkin 1998), or on vectors. To
/// solve a system, also filter its matrix with [`prefilter`](super::prefilter). With a preconditioner built
/// from A alone, the projection cancels most of each step.
/// *Cost* of a product: 4 b m n operations per node of a group of n nodes with m independent constraints.
/// *Reference* Tamstorf, Jones, McCormick 2015, §8, eq. (3).
///
/// ```
/// use coarsen_core::LinearOperator;
/// use coarsen_constraints::{Constraints, Projector};
/// let mut c = Constraints::new(2, 2)?;
/// c.plane(1, &[3.0, 4.0], 5.0)?;
/// let s = Projector::new(&c, 64)?;
/// let mut y = vec![0.0_f64; 4];
/// s.apply(&vec![1.0, 1.0, 3.0, 4.0], &mut y);
/// assert!((y[0], y[1]) == (1.0, 1.0) && y[2].abs() + y[3].abs() < 1e-15);
/// s.complete(&mut y);
/// assert!((3.0 * y[2] + 4.0 * y[3] - 5.0).abs() < 1e-15);
/// # Ok::<(), coarsen_constraints::ConstraintError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Projector {
    pub(super) factors: Factors,
    /// The result of an update in progress. It is separate, so that an error leaves `factors` unchanged.
    pub(super) next: Factors,
    largest_group: usize,
    pub(super) constraints: usize,
}

impl Projector {
    /// Factors `constraints`. A group that connects more than `largest_group` nodes is an error.
    ///
    /// *Cost* a few passes over nodes and constraints, and m² b n operations for a group of m constraints on
    /// n nodes.
    ///
    /// # Errors
    /// [`ConstraintError::Contradiction`] and [`ConstraintError::Chain`], with the nodes.
    pub fn new(constraints: &Constraints, largest_group: usize) -> Result<Self, ConstraintError> {
        let (factors, next) = (Factors::default(), Factors::default());
        let mut projector = Self { factors, next, largest_group, constraints: 0 };
        projector.update(constraints)?;
        Ok(projector)
    }

    /// Replaces the constraints, which may be on other nodes. Memory is allocated only if there are more
    /// constraints than in all earlier updates.
    ///
    /// # Errors
    /// As [`new`](Self::new). On error, the old projector is kept.
    pub fn update(&mut self, constraints: &Constraints) -> Result<(), ConstraintError> {
        self.prepare(constraints)?;
        self.commit(constraints);
        Ok(())
    }

    /// The first part of an update, which can fail.
    pub(super) fn prepare(&mut self, constraints: &Constraints) -> Result<(), ConstraintError> {
        self.next.find(constraints, self.largest_group)
    }

    /// The second part of an update, which cannot fail.
    pub(super) fn commit(&mut self, constraints: &Constraints) {
        std::mem::swap(&mut self.factors, &mut self.next);
        self.constraints = constraints.len();
    }

    /// The number of scalar unknowns.
    pub fn size(&self) -> usize {
        self.factors.groups.of.len() * self.factors.block
    }

    /// The number of nodes that occur in constraints.
    pub fn filtered(&self) -> usize {
        self.factors.groups.nodes.len()
    }

    /// The number of connected groups of constraints.
    pub fn groups(&self) -> usize {
        self.factors.groups.count()
    }

    /// The number of nodes of the largest group.
    pub fn largest(&self) -> usize {
        (0..self.groups()).map(|g| self.factors.groups.nodes(g).len()).max().unwrap_or(0)
    }

    /// The number of unknowns of a node.
    pub fn block(&self) -> usize {
        self.factors.block
    }

    /// The constrained nodes, increasing, each with an orthonormal basis of the rows of C at it: rows of b numbers, one
    /// after the other. For filters that act on single nodes, such as those of a device.
    ///
    /// # Errors
    /// [`ConstraintError::Tied`] if constraints tie nodes together.
    pub fn by_node(&self) -> Result<impl Iterator<Item = (u32, &[f64])>, ConstraintError> {
        let groups = &self.factors.groups;
        if let Some(nodes) = (0..groups.count()).map(|g| groups.nodes(g)).find(|nodes| nodes.len() > 1) {
            return Err(ConstraintError::Tied { nodes: nodes[..nodes.len().min(SHOWN)].to_vec() });
        }
        Ok((0..groups.count()).map(|g| (groups.nodes(g)[0], self.factors.rows(g))))
    }

    /// The rank of C: the number of eliminated unknowns.
    pub fn rank(&self) -> usize {
        (0..self.groups()).map(|g| self.factors.rank(g)).sum()
    }

    /// The dependent constraints, which are left out, in increasing order.
    pub fn dependent(&self) -> &[u32] {
        &self.factors.dependent
    }

    /// The nodes of dependent constraints, increasing and without duplicates.
    pub(super) fn dependent_nodes(&self) -> &[u32] {
        &self.factors.dependent_nodes
    }

    /// x ← x + z, for x in the range of S. The result satisfies C x = d. *Panics* on a wrong length.
    pub fn complete<V: Real>(&self, x: &mut [V]) {
        self.each_node(1, x, |i, x| {
            if let Some(z) = self.given(i) {
                x.iter_mut().zip(z).for_each(|(x, &z)| *x += V::from_f64(z));
            }
        });
    }

    /// The entries of z at a node; `None` for a node without constraints, where z = 0.
    #[inline]
    pub(super) fn given(&self, node: usize) -> Option<&[f64]> {
        let Factors { block: b, groups, z, .. } = &self.factors;
        let g = groups.of[node];
        if g == NONE {
            return None;
        }
        let at = groups.starts[g as usize] + groups.place[node] as usize;
        Some(&z[at * b..(at + 1) * b])
    }

    /// Whether z = 0.
    pub(super) fn is_homogeneous(&self) -> bool {
        self.factors.z.iter().all(|z| *z == 0.0)
    }

    /// y = (S x) at one node, where `x(i)` is scalar i of x.
    #[inline]
    pub(super) fn node<V: Real>(&self, node: usize, x: impl Fn(usize) -> f64, y: &mut [V]) {
        let Factors { block, groups, .. } = &self.factors;
        let (b, g) = (*block, groups.of[node]);
        for (r, y) in y.iter_mut().enumerate() {
            *y = V::from_f64(x(node * b + r));
        }
        if g == NONE {
            return;
        }
        let (nodes, at) = (groups.nodes(g as usize), groups.place[node] as usize * b);
        if nodes.len() * b == self.factors.rank(g as usize) {
            return y.fill(V::zero());
        }
        for q in self.factors.basis(g as usize) {
            let share: f64 = nodes
                .iter()
                .zip(q.chunks_exact(b))
                .map(|(&k, q)| q.iter().enumerate().map(|(r, q)| q * x(k as usize * b + r)).sum::<f64>())
                .sum();
            y.iter_mut().zip(&q[at..at + b]).for_each(|(y, q)| *y = V::from_f64(y.as_f64() - share * q));
        }
    }

    /// As `node`, for k vectors; x and `rows` have k numbers per unknown.
    pub(super) fn node_columns(&self, node: usize, k: usize, x: &[f64], rows: &mut [f64]) {
        let Factors { block: b, groups, .. } = &self.factors;
        rows.copy_from_slice(&x[node * b * k..(node + 1) * b * k]);
        let g = groups.of[node];
        if g == NONE {
            return;
        }
        let (nodes, at) = (groups.nodes(g as usize), groups.place[node] as usize * b);
        for q in self.factors.basis(g as usize) {
            for j in 0..k {
                let of = |(&i, q): (&u32, &[f64])| -> f64 {
                    q.iter().enumerate().map(|(r, q)| q * x[(i as usize * b + r) * k + j]).sum()
                };
                let share: f64 = nodes.iter().zip(q.chunks_exact(*b)).map(of).sum();
                q[at..at + b].iter().zip(rows[j..].iter_mut().step_by(k)).for_each(|(q, v)| *v -= share * q);
            }
        }
    }

    /// Calls `body` with every node and its entries of x, with k numbers per unknown.
    pub(super) fn each_node<V: Send>(&self, k: usize, x: &mut [V], body: impl Fn(usize, &mut [V]) + Sync) {
        let (expected, part) = (self.size() * k, self.factors.block * k);
        assert_eq!(
            x.len(),
            expected,
            "the vector has {} entries, but the projector needs {expected}",
            x.len()
        );
        if part == 0 {
            return;
        }
        let pieces = (0..self.factors.groups.of.len(), Blocks(&mut *x, part));
        let leaf = |(nodes, x): (Range<usize>, Blocks<&mut [V]>)| {
            nodes.zip(x.0.chunks_exact_mut(part)).for_each(|(i, x)| body(i, x));
        };
        each(pieces, LEAF, parallel::worth(4 * expected), &leaf);
    }
}

impl<V: Real> LinearOperator<Vec<V>> for Projector {
    fn shape(&self) -> (usize, usize) {
        (self.size(), self.size())
    }

    fn apply(&self, x: &Vec<V>, y: &mut Vec<V>) {
        assert_eq!(
            x.len(),
            self.size(),
            "the vector has {} entries, but the projector has size {}",
            x.len(),
            self.size()
        );
        self.each_node(1, y, |i, y| self.node(i, |k| x[k].as_f64(), y));
    }
}

#[cfg(test)]
mod tests {
    use coarsen_core::SplitMix64;

    use super::*;

    /// Constraints of every kind on a few of `nodes` nodes.
    fn all_kinds(nodes: usize) -> Constraints {
        let mut c = Constraints::new(nodes, 3).unwrap();
        c.point(1, &[0.1, 0.2, 0.3]).unwrap();
        c.line(3, &[1.0, -2.0, 0.5], &[0.4, 0.5, 0.6]).unwrap();
        c.plane(4, &[1.0, 2.0, 2.0], 0.7).unwrap();
        c.vertex_face(5, [6, 7, 8], [0.2, 0.3, 0.5], &[1.0, 1.0, -1.0], 0.1).unwrap();
        c.edge_edge([8, 9], [10, 11], [0.25, 0.5], &[1.0, 0.0, 2.0], -0.1).unwrap();
        c.plane(5, &[0.0, 1.0, 0.0], 0.2).unwrap();
        c
    }

    #[test]
    fn projection_is_orthogonal_onto_the_kernel_of_c() {
        let c = all_kinds(13);
        let s = Projector::new(&c, 64).unwrap();
        assert_eq!((s.filtered(), s.groups(), s.largest(), s.rank()), (10, 4, 7, 9));
        let (x, w) = (SplitMix64::new(1).numbers(39), SplitMix64::new(2).numbers(39));
        let apply = |x: &Vec<f64>| {
            let mut y = vec![f64::NAN; 39];
            s.apply(x, &mut y);
            y
        };
        let (sx, sw) = (apply(&x), apply(&w));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert!((dot(&sx, &w) - dot(&x, &sw)).abs() < 1e-14);
        assert!(apply(&sx).iter().zip(&sx).all(|(a, b)| (a - b).abs() < 1e-15));
        let mut full = sx.clone();
        s.complete(&mut full);
        for k in 0..c.len() {
            let of = |x: &[f64]| -> f64 { c.terms(k).map(|(i, part)| dot(part, &x[3 * i..3 * i + 3])).sum() };
            assert!(of(&sx).abs() < 1e-14 && (of(&full) - c.value(k)).abs() < 1e-14, "constraint {k}");
        }
        assert_eq!((&sx[..3], &sx[3..6], &full[3..6]), (&x[..3], &[0.0; 3][..], &[0.1, 0.2, 0.3][..]));
    }

    #[test]
    fn a_refused_update_changes_nothing() {
        let mut c = all_kinds(13);
        let mut s = Projector::new(&c, 64).unwrap();
        let x = SplitMix64::new(1).numbers(39);
        let (mut before, mut after) = (vec![0.0; 39], vec![0.0; 39]);
        s.apply(&x, &mut before);
        c.point(1, &[9.0; 3]).unwrap();
        assert!(matches!(s.update(&c), Err(ConstraintError::Contradiction { .. })));
        s.apply(&x, &mut after);
        assert_eq!(before, after);
        c.clear();
        s.update(&c).unwrap();
        s.apply(&x, &mut after);
        assert_eq!((x, s.rank()), (after, 0));
    }
}
