//! What is asked of x: the rows of C x = d.

use coarsen_core::{Error, Real};
use coarsen_sparse::Bsr;

use super::ConstraintError;

/// Coefficients below this share of what they are sums of are 0.
const CANCELLED: f64 = 1e-12;

/// Equality constraints C x = d on the unknowns of nodes: filters of single nodes, contacts between a vertex and a face or between two
/// edges, or any sparse rows.
///
/// A list to be filled, taken by [`Projector`](super::Projector) and [`prefilter`](super::prefilter), and filled again in the next step:
/// [`clear`](Self::clear) keeps its memory. Constraints are counted from 0 in the order in which they are added; the scale of a row
/// does not matter. Unknowns and values have the units of x: in a time step they are displacements or velocities, not positions.
///
/// *Memory* 8 b + 4 bytes a node and constraint, 16 a constraint.
///
/// *Reference* Baraff & Witkin 1998, §5.1 (points, lines, planes); Harmon et al. 2008, §3 (vertex-face, edge-edge); Tamstorf, Jones, McCormick
/// 2015, §8.
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
    /// Where the terms of each constraint begin; one more for the end.
    starts: Vec<usize>,
    /// The node of each term.
    terms: Vec<u32>,
    /// b coefficients of each term: C.
    coefficients: Vec<f64>,
    /// d.
    values: Vec<f64>,
    /// Differences between values that are round-off, in the unit of x.
    resolution: f64,
}

/// The round-off of computations with x of size 1 and more than one operation.
const RESOLUTION: f64 = 1e-14;

impl Constraints {
    /// No constraint on `nodes` nodes of `block` unknowns each.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a block of 0 unknowns, or for more nodes than `u32` counts.
    pub fn new(nodes: usize, block: usize) -> Result<Self, ConstraintError> {
        if block == 0 {
            return Err(Error::Parameter { name: "block", value: 0.0, range: "at least 1" }.into());
        }
        if nodes > u32::MAX as usize {
            return Err(Error::Parameter { name: "nodes", value: nodes as f64, range: "below 2^32" }.into());
        }
        Ok(Self { nodes, block, starts: vec![0], resolution: RESOLUTION, ..Self::default() })
    }

    /// Constraints that follow from each other but for values that differ by `resolution` or less agree: 1e-14 before, in the unit of x, for rows
    /// of unit length.
    ///
    /// *Use* where values are computed from numbers of another size than 1: two contacts of one vertex whose gaps are meant to be 0 differ by the
    /// round-off of its position, and all are round-off then, so that no comparison among them tells.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a negative number or NaN.
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

    /// Forgets all constraints and keeps the memory.
    pub fn clear(&mut self) {
        self.starts.truncate(1);
        self.terms.clear();
        self.coefficients.clear();
        self.values.clear();
    }

    /// A fixed point: x of `node` is `value`. Adds one constraint an unknown.
    ///
    /// # Errors
    /// As [`equation`](Self::equation), and so for all others.
    pub fn point(&mut self, node: usize, value: &[f64]) -> Result<(), ConstraintError> {
        self.check_block("value of a fixed point", value.len())?;
        self.check(node, value)?;
        for (r, &v) in value.iter().enumerate() {
            self.term(node, |c| if c == r { 1.0 } else { 0.0 });
            self.end(v);
        }
        Ok(())
    }

    /// A line: x of `node` lies on the line through `value` along `direction`. Adds b − 1 constraints.
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
        // The axes but for the one nearest to the direction, freed of it: a basis of what is orthogonal to the line.
        for r in (0..self.block).filter(|&r| r != steepest) {
            let share = direction[r] / longest / square;
            let part = |c: usize| f64::from(u8::from(c == r)) - share * direction[c] / longest;
            self.term(node, part);
            self.end((0..self.block).map(|c| part(c) * value[c]).sum());
        }
        Ok(())
    }

    /// A plane: `normal` · x of `node` = `offset`.
    pub fn plane(&mut self, node: usize, normal: &[f64], offset: f64) -> Result<(), ConstraintError> {
        self.equation(&[(node, normal)], offset)
    }

    /// A vertex on a face: `normal` · (x of `vertex` − Σ w_k x of `face[k]`) = `gap`, w the barycentric coordinates of the point touched.
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

    /// Two edges: `normal` · (the point at s of the first − the point at t of the second) = `gap`, `at` = [s, t] in 0..1.
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

    /// Any row of C: Σ c · x of its node over `terms` = `value`. Coefficients of a node named twice add up.
    ///
    /// # Errors
    /// [`ConstraintError`] names a node that does not exist, a term that is not finite, a coefficient list of another length than a node has
    /// unknowns, or a row that vanishes; nothing is added then.
    pub fn equation(&mut self, terms: &[(usize, &[f64])], value: f64) -> Result<(), ConstraintError> {
        for &(_, coefficients) in terms {
            self.check_block("coefficients of a node", coefficients.len())?;
        }
        self.row(terms.iter().map(|&(node, c)| (node, 1.0, c)), value)
    }

    /// All rows of a sparse C, in blocks of any height and of b columns: C x = `values`. Rows without an entry are refused, as zero rows are.
    ///
    /// # Errors
    /// As [`equation`](Self::equation), and [`Error::Shape`] for another number of columns or values; rows before the one named stay added.
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
                part.extend(block[i % height * width..][..width].iter().map(|v| v.wide()));
                if part.iter().any(|v| *v != 0.0) {
                    self.term(node, |c| part[c]);
                    size = part.iter().fold(size, |s, v| s.max(v.abs()));
                }
            }
            self.finish(before, value, size)?;
        }
        Ok(())
    }

    /// Nodes of the system.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Unknowns of a node.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Constraints: rows of C.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether x is free.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The nodes that constraint k names, in the order given. *Panics* for a constraint that does not exist.
    pub fn nodes_of(&self, k: usize) -> &[u32] {
        &self.terms[self.starts[k]..self.starts[k + 1]]
    }

    /// The nodes of constraint k, each with its b coefficients.
    pub(super) fn terms(&self, k: usize) -> impl Iterator<Item = (usize, &[f64])> {
        let range = self.starts[k]..self.starts[k + 1];
        let coefficients =
            self.coefficients[range.start * self.block..range.end * self.block].chunks_exact(self.block);
        self.terms[range].iter().map(|&i| i as usize).zip(coefficients)
    }

    /// d of constraint k.
    pub(super) fn value(&self, k: usize) -> f64 {
        self.values[k]
    }

    /// A row whose coefficients are multiples of one vector, on nodes that differ.
    fn along(&mut self, normal: &[f64], terms: &[(usize, f64)], gap: f64) -> Result<(), ConstraintError> {
        self.check_block("normal", normal.len())?;
        for (k, &(node, _)) in terms.iter().enumerate() {
            if terms[..k].iter().any(|term| term.0 == node) {
                return Err(ConstraintError::Itself { constraint: self.len(), node });
            }
        }
        self.row(terms.iter().map(|&(node, factor)| (node, factor, normal)), gap)
    }

    /// A row of terms (node, factor, coefficients).
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

    /// Adds a term to the row in the making.
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

    /// Ends the row that began at term `before`, unless nothing is left of coefficients of this `size`.
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

    /// A node that exists and numbers that are finite.
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
