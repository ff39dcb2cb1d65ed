//! Box-shaped grids of points, numbered with x slowest.

use crate::ProblemError;

/// Points (x, y, z) with x < e₀, y < e₁, z < e₂ for the extents e. The number of a point is (x e₁ + y) e₂ +
/// z.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    extents: [usize; 3],
}

impl Grid {
    /// Returns a grid with `components` unknowns per point, for a problem of that size.
    pub(crate) fn new(
        (problem, size): (&'static str, usize),
        extents: [usize; 3],
        components: usize,
    ) -> Result<Self, ProblemError> {
        let count = extents.iter().try_fold(components, |n, &e| n.checked_mul(e));
        match count {
            Some(count) if count <= ProblemError::MOST => Ok(Self { extents }),
            _ => Err(ProblemError::TooLarge { spec: format!("{problem}:{size}"), limit: ProblemError::MOST }),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.extents.iter().product()
    }

    /// The number of a point.
    pub(crate) fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (x * self.extents[1] + y) * self.extents[2] + z
    }

    /// The point with number i.
    pub(crate) fn at(&self, i: usize) -> [usize; 3] {
        let [_, e1, e2] = self.extents;
        [i / (e1 * e2), i / e2 % e1, i % e2]
    }

    /// The numbers of the lower and the upper neighbour along an axis, if they exist.
    pub(crate) fn neighbours(&self, i: usize, axis: usize) -> [Option<usize>; 2] {
        let stride: usize = self.extents[axis + 1..].iter().product();
        let x = self.at(i)[axis];
        [(x > 0).then(|| i - stride), (x + 1 < self.extents[axis]).then_some(i + stride)]
    }

    /// The position of every point.
    pub(crate) fn positions(&self, place: impl Fn([usize; 3]) -> [f64; 3]) -> Vec<[f64; 3]> {
        (0..self.len()).map(|i| place(self.at(i))).collect()
    }
}
