//! Multigrid on a structured grid: every second point is coarse, and interpolation is linear.
//!
//! | symbol | here |
//! |---|---|
//! | h, H = 2 h | the mesh widths of the finest level and of the next coarser level |
//! | P | products of the weights ½, 1, ½ along each axis, the same for all unknowns of a node |
//!
//! *Reference* Briggs, Henson & McCormick 2000, "A multigrid tutorial", 2nd edition, ch. 3.

use coarsen_backend::SetupError;
use coarsen_core::{Error, Real};
use coarsen_sparse::{Prolongation, SparseError, assembly};

use crate::{Coarse, Coarsening, Grid};

/// Multigrid on a structured grid of interior points, with given boundary values. The coarse points are the
/// second, fourth, ... point of each axis.
///
/// The coarse matrix is PᵀAP. *Use* on structured grids with one mesh width; the contraction of a cycle does
/// not depend on the mesh width. *Cost*: 9 (2D) or 27 (3D) weights of P per coarse point. Each level has a
/// quarter (2D) or an eighth (3D) of the points of the next finer level. *Not* for coefficients that jump, or
/// if one axis is much stiffer: algebraic methods adapt to both.
///
/// ```
/// use coarsen_backend::Cpu;
/// use coarsen_core::Stop;
/// use coarsen_krylov::Cg;
/// use coarsen_multigrid::{Geometric, Multigrid};
/// # let a = coarsen_problems::Problem::parse("poisson2d:63", &Default::default())?.matrix;
/// let mut m = Multigrid::geometric([63, 63, 1]).build(&a, &Cpu::new())?;
/// let (b, mut x) = (vec![1.0; 63 * 63], vec![0.0; 63 * 63]);
/// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
/// assert!(report.iterations < 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometric {
    /// The number of points along each axis on the finest level; 1 for an absent axis. The first axis varies
    /// fastest.
    pub points: [usize; 3],
}

impl<T: Real> Coarsening<T> for Geometric {
    /// The number of points along each axis of the coarse grid.
    type State = [usize; 3];

    fn coarsen(
        &self,
        fine: &Grid<'_, T>,
        above: Option<&[usize; 3]>,
    ) -> Result<Option<Coarse<T, [usize; 3]>>, SetupError> {
        let points = *above.unwrap_or(&self.points);
        let nodes = points.iter().try_fold(1_usize, |all, &n| all.checked_mul(n)).unwrap_or(usize::MAX);
        let b = fine.a.block().0;
        if fine.a.pattern().rows() != nodes {
            let found = fine.a.pattern().rows();
            return Err(Error::Shape { what: "nodes of the grid", expected: nodes, found }.into());
        }
        let Some((p, coarse)) = Self::interpolate(points, b)? else { return Ok(None) };
        let positions = fine.positions.map(|x| {
            let second = |d: usize, i: usize| if coarse[d] == points[d] { i } else { 2 * i + 1 };
            let node = |j: usize| {
                let at = [j % coarse[0], j / coarse[0] % coarse[1], j / coarse[0] / coarse[1]];
                x[index([second(0, at[0]), second(1, at[1]), second(2, at[2])], points) as usize]
            };
            (0..coarse.iter().product()).map(node).collect()
        });
        Ok(Some(Coarse { positions, ..Coarse::new(p, coarse) }))
    }

    fn name(&self) -> &'static str {
        "geometric"
    }
}

impl Geometric {
    /// Returns P for a grid with `unknowns` per point, and the number of points of the coarse grid along each
    /// axis. `None` if no axis has more than two points.
    ///
    /// # Errors
    /// [`SparseError::TooLarge`] if the matrix of weights is too large.
    pub fn interpolate<T: Real>(
        points: [usize; 3],
        unknowns: usize,
    ) -> Result<Option<(Prolongation<T>, [usize; 3])>, SparseError> {
        let coarse = points.map(|n| if n > 2 { n / 2 } else { n });
        if coarse == points {
            return Ok(None);
        }
        let nodes = points.iter().product::<usize>();
        let (mut places, mut values) = (Vec::new(), Vec::new());
        for node in 0..nodes {
            let at = [node % points[0], node / points[0] % points[1], node / points[0] / points[1]];
            let [xs, ys, zs] = [0, 1, 2].map(|d| along(at[d], points[d], coarse[d]));
            for (z, wz) in zs.into_iter().flatten() {
                for (y, wy) in ys.into_iter().flatten() {
                    for (x, wx) in xs.into_iter().flatten() {
                        places.push((node as u32, index([x, y, z], coarse)));
                        values.push(T::from_f64(wx * wy * wz));
                    }
                }
            }
        }
        let columns = coarse.iter().product::<usize>();
        let p = Prolongation::weights(
            assembly::from_blocks((nodes, columns), (1, 1), &places, &values)?,
            unknowns,
        )?;
        Ok(Some((p, coarse)))
    }
}

/// Returns the index of a point, the first axis varying fastest.
fn index(at: [usize; 3], of: [usize; 3]) -> u32 {
    ((at[2] * of[1] + at[1]) * of[0] + at[0]) as u32
}

/// Returns the coarse points before and after a fine point along an axis, with their weights; `None` for
/// points outside the grid.
fn along(i: usize, fine: usize, coarse: usize) -> [Option<(usize, f64)>; 2] {
    if coarse == fine {
        return [Some((i, 1.0)), None];
    }
    if i % 2 == 1 {
        return [Some((i / 2, 1.0)), None];
    }
    let half = |j: usize| (j < coarse).then_some((j, 0.5));
    [(i / 2).checked_sub(1).and_then(half), half(i / 2)]
}
