//! The origin and the unit of rest positions.

use coarsen_core::Error;

/// Positions become (x − c) s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    centre: [f64; 3],
    scale: f64,
}

impl Frame {
    /// Leaves positions as they are.
    pub(super) const AS_GIVEN: Self = Self { centre: [0.0; 3], scale: 1.0 };

    /// Returns the frame with the mean of the positions as its origin and their largest distance from it as its
    /// unit, so that products of coordinates keep the digits of `f32`.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the number of the node.
    pub(super) fn of(x: &[[f64; 3]]) -> Result<Self, Error> {
        Self::check(x)?;
        let mean = |d: usize| x.iter().map(|x| x[d]).sum::<f64>() / x.len().max(1) as f64;
        let frame = Self { centre: std::array::from_fn(mean), scale: 1.0 };
        let square = |x: &[f64; 3]| frame.place(x).iter().map(|c| c * c).sum::<f64>();
        let size = x.iter().map(square).fold(0.0, f64::max).sqrt();
        Ok(Self { scale: if size > 0.0 { 1.0 / size } else { 1.0 }, ..frame })
    }

    /// Returns positions in this frame.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the number of the node.
    pub(super) fn positions(&self, x: &[[f64; 3]]) -> Result<Vec<[f64; 3]>, Error> {
        Self::check(x)?;
        Ok(x.iter().map(|x| self.place(x)).collect())
    }

    fn place(&self, x: &[f64; 3]) -> [f64; 3] {
        std::array::from_fn(|d| (x[d] - self.centre[d]) * self.scale)
    }

    fn check(x: &[[f64; 3]]) -> Result<(), Error> {
        match x.iter().position(|x| x.iter().any(|c| !c.is_finite())) {
            Some(index) => Err(Error::NotFinite { what: "rest positions", index }),
            None => Ok(()),
        }
    }
}
