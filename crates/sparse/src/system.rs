//! The input of setup phases: a matrix with optional geometry, contact and near-kernel.

use std::borrow::Cow;
use std::sync::Arc;

use coarsen_core::{Cancel, Error, Real};

use crate::{Bsr, Contacts, NearKernel, Pattern, SparseError, Sum};

/// A matrix with optional data for setup; cheap to copy, and converted from a matrix by `into()`.
///
/// Builders take `impl Into<System<T>>`: `build(&a)` passes a matrix alone, and `build(System { positions:
/// Some(&x), ..(&a).into() })` adds positions.
///
/// ```
/// use coarsen_sparse::{Bsr, NearKernel, System};
/// let a = Bsr::<f64>::identity(2, 3)?;
/// let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
/// let modes = NearKernel::rigid_body_modes(&positions, 3)?;
/// let s = System { positions: Some(&positions), near_kernel: Some(&modes), ..System::from(&a) };
/// s.check()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct System<'a, T> {
    /// The square matrix A. It is the system matrix if there is no contact.
    pub matrix: &'a Bsr<T>,
    /// C, if the system matrix is A + C. Methods that require one matrix call [`whole`](System::whole).
    pub contact: Option<&'a Contacts<T>>,
    /// One point per block row, in any unit of length. 2D points have z = 0.
    pub positions: Option<&'a [[f64; 3]]>,
    /// Vectors v with ‖A v‖ small relative to ‖|A| |v|‖: one row per scalar unknown. Builders do not test whether they are in the
    /// order of the matrix; [`NearKernel::by_component`] does.
    pub near_kernel: Option<&'a NearKernel>,
    /// The neighbours of each node, if they differ from the pattern of A. They differ, for example, if
    /// constraints couple nodes that can move relative to each other. Aggregates are built from these links,
    /// domains of Schwarz methods from the entries of A.
    pub links: Option<&'a Pattern>,
    /// A flag that cancels long builds and updates; it is checked between their steps.
    pub cancel: Option<&'a Cancel>,
}

impl<'a, T: Real> System<'a, T> {
    /// Checks that the parts fit together: a square matrix with square blocks, contact between its nodes, one
    /// point per block row and one near-kernel row per scalar row.
    ///
    /// *Cost* constant; values are not read.
    ///
    /// # Errors
    /// [`Error::NotSquare`] if the matrix or its blocks are not square, [`Error::Shape`] for a part that does
    /// not fit.
    pub fn check(&self) -> Result<(), Error> {
        for (rows, columns) in [self.matrix.shape(), self.matrix.block()] {
            if rows != columns {
                return Err(Error::NotSquare { rows, columns });
            }
        }
        let (nodes, n) = (self.matrix.pattern().rows(), self.matrix.shape().0);
        if let Some(contact) = self.contact {
            let block = self.matrix.block().0;
            for (what, expected, found) in [
                ("contact nodes (one per block row)", nodes, contact.nodes()),
                ("contact block size", block, contact.block()),
            ] {
                if expected != found {
                    return Err(Error::Shape { what, expected, found });
                }
            }
        }
        if let Some(found) = self.positions.map(<[_]>::len).filter(|&found| found != nodes) {
            return Err(Error::Shape { what: "positions (one per block row)", expected: nodes, found });
        }
        for found in self.links.iter().flat_map(|links| [links.rows(), links.columns()]) {
            if found != nodes {
                return Err(Error::Shape {
                    what: "links (one row and column per block row)",
                    expected: nodes,
                    found,
                });
            }
        }
        if let Some(found) = self.near_kernel.map(NearKernel::size).filter(|&found| found != n) {
            return Err(Error::Shape { what: "near-kernel (one row per unknown)", expected: n, found });
        }
        Ok(())
    }

    /// Checks that all positions are finite. Updates call this before they write.
    ///
    /// *Cost* one pass over the positions.
    ///
    /// # Errors
    /// [`Error::NotFinite`] gives the index of the point.
    pub fn check_positions(&self) -> Result<(), Error> {
        self.positions.map_or(Ok(()), check_points)
    }

    /// This system with the positions and the near-kernel of an earlier one, where it has none and they fit: one point
    /// per block row, one row per scalar unknown.
    ///
    /// *Use* in a rebuild, so that a matrix alone does not lose the rigid-body modes of the first build.
    ///
    /// ```
    /// use coarsen_sparse::{Bsr, System};
    /// let (a, b) = (Bsr::<f64>::identity(2, 3)?, Bsr::<f64>::identity(3, 3)?);
    /// let points = [[0.0; 3]; 2];
    /// assert_eq!(System::from(&a).with_kept(&points, None).positions, Some(&points[..]));
    /// assert_eq!(System::from(&b).with_kept(&points, None).positions, None);
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn with_kept(self, positions: &'a [[f64; 3]], near_kernel: Option<&'a NearKernel>) -> Self {
        let (nodes, n) = (self.matrix.pattern().rows(), self.matrix.shape().0);
        let positions = Some(positions).filter(|points| !points.is_empty() && points.len() == nodes);
        let near_kernel = near_kernel.filter(|vectors| vectors.size() == n);
        Self {
            positions: self.positions.or(positions),
            near_kernel: self.near_kernel.or(near_kernel),
            ..self
        }
    }

    /// The system matrix: A itself, or A + C as a new matrix.
    ///
    /// *Cost* nothing without contact or with an empty contact set, otherwise a copy of A.
    ///
    /// # Errors
    /// As [`Sum::merge`].
    pub fn whole(&self) -> Result<Cow<'a, Bsr<T>>, SparseError> {
        match self.contact {
            None => Ok(Cow::Borrowed(self.matrix)),
            Some(contact) if contact.is_empty() => {
                Sum { elastic: self.matrix, contact }.check()?;
                Ok(Cow::Borrowed(self.matrix))
            }
            Some(contact) => Ok(Cow::Owned(Sum { elastic: self.matrix, contact }.merge()?)),
        }
    }

    /// As [`whole`](Self::whole), in `memory`, that of earlier calls; `known` is the pattern that an object in use
    /// has. Both are those of [`Sum::merge_in`].
    ///
    /// *Cost* nothing without contact or with an empty contact set, otherwise a copy of A; nothing is allocated while
    /// the patterns stay.
    ///
    /// # Errors
    /// As [`Sum::merge`].
    pub fn whole_in<'r>(
        &self,
        memory: &'r mut Option<Bsr<T>>,
        known: &Arc<Pattern>,
    ) -> Result<&'r Bsr<T>, SparseError>
    where
        'a: 'r,
    {
        let Some(contact) = self.contact else { return Ok(self.matrix) };
        let sum = Sum { elastic: self.matrix, contact };
        if contact.is_empty() {
            sum.check()?;
            return Ok(self.matrix);
        }
        Ok(sum.merge_in(memory, known)?)
    }
}

/// Checks that every coordinate is finite.
pub(crate) fn check_points(points: &[[f64; 3]]) -> Result<(), Error> {
    match points.iter().position(|p| p.iter().any(|c| !c.is_finite())) {
        Some(index) => Err(Error::NotFinite { what: "positions", index }),
        None => Ok(()),
    }
}

impl<T> Clone for System<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for System<'_, T> {}

impl<'a, T> From<&'a Bsr<T>> for System<'a, T> {
    fn from(matrix: &'a Bsr<T>) -> Self {
        Self { matrix, contact: None, positions: None, near_kernel: None, links: None, cancel: None }
    }
}

impl<'a, T> From<&Sum<'a, T>> for System<'a, T> {
    fn from(sum: &Sum<'a, T>) -> Self {
        Self { contact: Some(sum.contact), ..Self::from(sum.elastic) }
    }
}
