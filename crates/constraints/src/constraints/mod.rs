//! Constraints: the rows of C x = d.

use coarsen_core::{Error, Real};
use coarsen_sparse::Bsr;

use super::ConstraintError;

/// If a sum is below this fraction of its terms, it is treated as 0.
const CANCELLED: f64 = 1e-12;

/// Linear equality constraints C x = d on nodal unknowns. They are filters of single nodes, vertex-face or
/// edge-edge contacts, or any sparse rows.
///
/// [`Projector`](super::Projector) and [`prefilter`](super::prefilter) use this list. [`clear`](Self::clear)
/// keeps the memory of the list for the next step. Constraints are numbered from 0 in the order in which they
/// are added. The scale of a row does not matter. Unknowns and values have the units of x. In a time step
/// these are displacements or velocities, not positions.
///
/// *Memory* 8 b + 4 bytes per node and constraint, 16 bytes per constraint.
///
/// *Reference* Baraff & Witkin 1998, §5.1 (points, lines, planes); Harmon et al. 2008, §3 (vertex-face,
/// edge-edge); Tamstorf, Jones, McCormick 2015, §8.
///
/// ```
/// use coarsen_constraints::Constraints;
/// let mut c = Constraints::new(5, 3)?;
/// c.point(0, &[0.0, 0.0, 0.0])?;                    // node 0 does not move
/// c.plane(1, &[0.0, 0.0, 1.0], 0.0)?;               // node 1 slides on a table
/// c.vertex_face(1, [2, 3, 4], [0.2, 0.3, 0.5], &[0.0, 0.0, 1.0], 0.0)?;
/// assert_eq!((c.len(), c.nodes_of(4)), (5, &[1, 2, 3, 4][..]));
/// # Ok::<(), coarsen_constraints::ConstraintError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraints {
    nodes: usize,
    block: usize,
    /// The start of the terms of each constraint, and the end of the last constraint.
    starts: Vec<usize>,
    /// The node of each term.
    terms: Vec<u32>,
    /// The b coefficients of each term, which form C.
    coefficients: Vec<f64>,
    /// The values d.
    values: Vec<f64>,
    /// Values that differ by at most this number, in the unit of x, are considered equal.
    resolution: f64,
}

/// The round-off of a few operations on numbers of size 1.
const RESOLUTION: f64 = 1e-14;

impl Constraints {
    /// An empty list for `nodes` nodes of `block` unknowns each.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a block of 0 unknowns, or for more nodes than `u32` can count.
    pub fn new(nodes: usize, block: usize) -> Result<Self, ConstraintError> {
        if block == 0 {
            return Err(Error::Parameter { name: "block", value: 0.0, range: "at least 1" }.into());
        }
        if nodes > u32::MAX as usize {
            return Err(Error::Parameter { name: "nodes", value: nodes as f64, range: "below 2^32" }.into());
        }
        Ok(Self { nodes, block, starts: vec![0], resolution: RESOLUTION, ..Self::default() })
    }

    /// Sets the tolerance for the values of dependent constraints. Values that differ by at most `resolution`
    /// agree. The default is 1e-14, in the unit of x, for rows of unit length.
    ///
    /// Values also agree if they differ by at most 1e-6 of the largest value of a row of unit length in their
    /// group, since coefficients are taken to be accurate to 1e-6 only. In groups with values of 1000, differences
    /// below 1e-3 are not noticed, and one of the constraints is violated by as much. Give values relative to a
    /// nearby point, such as displacements, where this matters.
    ///
    /// *Use* if values are computed from numbers that are not of size 1. For example, two contacts of one
    /// vertex both have gap 0, but their computed gaps differ by the round-off of the vertex position. All
    /// values are then round-off and give no scale for a tolerance.
    ///
    /// # Errors
    /// [`Error::Parameter`] if `resolution` is negative or NaN.
    ///
    /// ```
    /// use coarsen_constraints::{Constraints, Projector};
    /// let mut c = Constraints::new(1, 2)?;
    /// c.plane(0, &[0.0, 1.0], 1e-10)?;
    /// c.plane(0, &[0.0, 1.0], -3e-10)?;
    /// assert!(Projector::new(&c, 64).is_err());
    /// c.agree_within(1e-9)?;
    /// assert_eq!(Projector::new(&c, 64)?.dependent(), [1]);
    /// # Ok::<(), coarsen_constraints::ConstraintError>(())
    /// ```
    pub fn agree_within(&mut self, resolution: f64) -> Result<(), ConstraintError> {
        if resolution.is_nan() || resolution < 0.0 {
            let (name, range) = ("Constraints::agree_within", "at least 0");
            return Err(Error::Parameter { name, value: resolution, range }.into());
        }
        self.resolution = resolution;
        Ok(())
    }

    pub(super) fn resolution(&self) -> f64 {
        self.resolution
    }

    /// Removes all constraints and keeps the memory.
    pub fn clear(&mut self) {
        self.starts.truncate(1);
        self.terms.clear();
        self.coefficients.clear();
        self.values.clear();
    }

    /// Fixes a node: x of `node` is `value`. This adds one constraint per unknown.
    ///
    /// # Errors
    /// As [`equation`](Self::equation).
    pub fn point(&mut self, node: usize, value: &[f64]) -> Result<(), ConstraintError> {
        self.check_block("value of a fixed point", value.len())?;
        self.check(node, value)?;
        for (r, &v) in value.iter().enumerate() {
            self.term(node, |c| if c == r { 1.0 } else { 0.0 });
            self.end(v);
        }
        Ok(())
    }

    /// Keeps a node on a line: x of `node` lies on the line through `value` along `direction`. This adds b −
    /// 1 constraints.
    ///
    /// # Errors
    /// As [`equation`](Self::equation).
    pub fn line(&mut self, node: usize, direction: &[f64], value: &[f64]) -> Result<(), ConstraintError> {
        self.check_block("direction of a line", direction.len())?;
        self.check_block("value on a line", value.len())?;
        self.check(node, value)?;
        self.check(node, direction)?;
        let steepest =
            (0..self.block).fold(0, |s, c| if direction[c].abs() > direction[s].abs() { c } else { s });
        let longest = direction[steepest];
        if longest == 0.0 {
            let nodes = vec![node as u32];
            return Err(ConstraintError::Vanishing { constraint: self.len(), nodes });
        }
        let square: f64 = direction.iter().map(|d| (d / longest).powi(2)).sum();
        // Projects every axis except the axis nearest to the direction onto the complement of the direction.
        // The results are a basis of the space orthogonal to the line.
        for r in (0..self.block).filter(|&r| r != steepest) {
            let share = direction[r] / longest / square;
            let part = |c: usize| f64::from(u8::from(c == r)) - share * direction[c] / longest;
            self.term(node, part);
            self.end((0..self.block).map(|c| part(c) * value[c]).sum());
        }
        Ok(())
    }

    /// Keeps a node on a plane: `normal` · x of `node` = `offset`.
    ///
    /// # Errors
    /// As [`equation`](Self::equation).
    pub fn plane(&mut self, node: usize, normal: &[f64], offset: f64) -> Result<(), ConstraintError> {
        self.equation(&[(node, normal)], offset)
    }

    /// Adds a contact of a vertex with a face: `normal` · (x of `vertex` − Σ w_k x of `face[k]`) = `gap`,
    /// with the barycentric coordinates w of the contact point.
    ///
    /// # Errors
    /// As [`equation`](Self::equation).
    pub fn vertex_face(
        &mut self,
        vertex: usize,
        face: [usize; 3],
        weights: [f64; 3],
        normal: &[f64],
        gap: f64,
    ) -> Result<(), ConstraintError> {
        let [u, v, w] = weights;
        self.along(normal, &[(vertex, 1.0), (face[0], -u), (face[1], -v), (face[2], -w)], gap)
    }

    /// Adds a contact of two edges: `normal` · (p − q) = `gap`. Here p is the point at s on the first edge
    /// and q the point at t on the second edge, with `at` = [s, t] in 0..1.
    ///
    /// # Errors
    /// As [`equation`](Self::equation).
    pub fn edge_edge(
        &mut self,
        first: [usize; 2],
        second: [usize; 2],
        at: [f64; 2],
        normal: &[f64],
        gap: f64,
    ) -> Result<(), ConstraintError> {
        let [s, t] = at;
        let terms = [(first[0], 1.0 - s), (first[1], s), (second[0], t - 1.0), (second[1], -t)];
        self.along(normal, &terms, gap)
    }

    /// Adds a general row of C: Σ c · x over the pairs (node, c) in `terms` equals `value`. If a node occurs
    /// twice, its coefficients are added.
    ///
    /// # Errors
    /// [`ConstraintError`] if a node does not exist, a term is not finite, the number of coefficients differs
    /// from the block size, or the row is zero. On error, nothing is added.
    pub fn equation(&mut self, terms: &[(usize, &[f64])], value: f64) -> Result<(), ConstraintError> {
        for &(_, coefficients) in terms {
            self.check_block("coefficients of a node", coefficients.len())?;
        }
        self.row(terms.iter().map(|&(node, c)| (node, 1.0, c)), value)
    }

    /// Adds all rows of a sparse C: C x = `values`. Blocks of C have any height and b columns. Empty rows and
    /// zero rows are errors.
    ///
    /// # Errors
    /// As [`equation`](Self::equation), and [`Error::Shape`] if the number of columns or values is wrong.
    /// Rows before the invalid row remain added.
    pub fn rows<T: Real>(&mut self, c: &Bsr<T>, values: &[f64]) -> Result<(), ConstraintError> {
        let ((rows, columns), (height, width)) = (c.shape(), c.block());
        for (what, expected, found) in [
            ("columns of C", self.nodes * self.block, columns),
            ("columns of a block of C", self.block, width),
            ("values d of C x = d", rows, values.len()),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found }.into());
            }
        }
        let mut part = Vec::with_capacity(width);
        for (i, &value) in values.iter().enumerate() {
            let (before, mut size) = (self.terms.len(), 0.0_f64);
            for (node, block) in c.row(i / height) {
                part.clear();
                part.extend(block[i % height * width..][..width].iter().map(|v| v.as_f64()));
                if part.iter().any(|v| *v != 0.0) {
                    self.term(node, |c| part[c]);
                    size = part.iter().fold(size, |s, v| s.max(v.abs()));
                }
            }
            self.finish(before, value, size)?;
        }
        Ok(())
    }

    /// The number of nodes of the system.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The number of unknowns of a node.
    pub fn block(&self) -> usize {
        self.block
    }

    /// The number of constraints (rows of C).
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no constraints.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The nodes of constraint k, in the given order. *Panics* if there is no constraint k.
    pub fn nodes_of(&self, k: usize) -> &[u32] {
        &self.terms[self.starts[k]..self.starts[k + 1]]
    }

    /// The nodes of constraint k with their b coefficients.
    pub(super) fn terms(&self, k: usize) -> impl Iterator<Item = (usize, &[f64])> {
        let range = self.starts[k]..self.starts[k + 1];
        let coefficients =
            self.coefficients[range.start * self.block..range.end * self.block].chunks_exact(self.block);
        self.terms[range].iter().map(|&i| i as usize).zip(coefficients)
    }

    /// The value d of constraint k.
    pub(super) fn value(&self, k: usize) -> f64 {
        self.values[k]
    }

    /// Adds a row whose coefficients are multiples of `normal`, on distinct nodes.
    fn along(&mut self, normal: &[f64], terms: &[(usize, f64)], gap: f64) -> Result<(), ConstraintError> {
        self.check_block("normal", normal.len())?;
        for (k, &(node, _)) in terms.iter().enumerate() {
            if terms[..k].iter().any(|term| term.0 == node) {
                return Err(ConstraintError::Itself { constraint: self.len(), node });
            }
        }
        self.row(terms.iter().map(|&(node, factor)| (node, factor, normal)), gap)
    }

    /// Adds a row of terms (node, factor, coefficients).
    fn row<'a>(
        &mut self,
        terms: impl Iterator<Item = (usize, f64, &'a [f64])>,
        value: f64,
    ) -> Result<(), ConstraintError> {
        let (before, mut size) = (self.terms.len(), 0.0_f64);
        for (node, factor, coefficients) in terms {
            if node >= self.nodes {
                self.terms.truncate(before);
                self.coefficients.truncate(before * self.block);
                return Err(ConstraintError::Node { constraint: self.len(), node, nodes: self.nodes });
            }
            self.term(node, |c| factor * coefficients[c]);
            size = coefficients.iter().fold(size, |s, c| s.max((factor * c).abs()));
        }
        self.finish(before, value, size)
    }

    /// Adds a term to the current row.
    fn term(&mut self, node: usize, coefficient: impl Fn(usize) -> f64) {
        let start = self.starts[self.starts.len() - 1];
        let b = self.block;
        match self.terms[start..].iter().position(|&i| i as usize == node) {
            Some(at) => {
                let sum = &mut self.coefficients[(start + at) * b..(start + at + 1) * b];
                sum.iter_mut().enumerate().for_each(|(c, s)| *s += coefficient(c));
            }
            None => {
                self.terms.push(node as u32);
                self.coefficients.extend((0..b).map(coefficient));
            }
        }
    }

    /// Completes the row that starts at term `before`. Returns an error if all coefficients are negligible
    /// compared to `size`.
    fn finish(&mut self, before: usize, value: f64, size: f64) -> Result<(), ConstraintError> {
        let row = &self.coefficients[before * self.block..];
        let finite = value.is_finite() && row.iter().all(|c| c.is_finite());
        if finite && row.iter().any(|c| c.abs() > CANCELLED * size) {
            self.end(value);
            return Ok(());
        }
        let (constraint, nodes) = (self.len(), self.terms.split_off(before));
        self.coefficients.truncate(before * self.block);
        Err(match finite {
            true => ConstraintError::Vanishing { constraint, nodes },
            false => ConstraintError::NotFinite { constraint, nodes },
        })
    }

    fn end(&mut self, value: f64) {
        self.values.push(value);
        self.starts.push(self.terms.len());
    }

    fn check_block(&self, what: &'static str, found: usize) -> Result<(), Error> {
        let expected = self.block;
        if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
    }

    /// Checks that the node exists and that the numbers are finite.
    fn check(&self, node: usize, numbers: &[f64]) -> Result<(), ConstraintError> {
        let constraint = self.len();
        if node >= self.nodes {
            return Err(ConstraintError::Node { constraint, node, nodes: self.nodes });
        }
        match numbers.iter().all(|v| v.is_finite()) {
            true => Ok(()),
            false => Err(ConstraintError::NotFinite { constraint, nodes: vec![node as u32] }),
        }
    }
}

#[cfg(test)]
mod tests;
