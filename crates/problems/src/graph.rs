//! The Laplacian of a random network.
//!
//! The network is a random geometric graph (Penrose 2003, *Random Geometric Graphs*): n points are uniformly
//! distributed in the unit square, and points closer than r are joined. Rows vary in length, and node numbers
//! are unrelated to positions. A tour through strips (Beardwood, Halton & Hammersley 1959) keeps the graph
//! connected where points are sparse.

use std::f64::consts::PI;

use coarsen_sparse::by_bucket;

use crate::by_rows::ByRows;
use crate::grid::Grid;
use crate::{NumpyRandom, Problem, ProblemError, rows};

/// The mean number of neighbours far from the boundary: n π r² = DEGREE.
const DEGREE: f64 = 8.0;

/// The shift of the diagonal, which is the smallest eigenvalue.
const SHIFT: f64 = 1e-4;

/// The seed of the points.
const SEED: u64 = 5;

/// Returns L + 10⁻⁴ I with the Laplacian L of a connected random geometric graph of N nodes with unit
/// weights.
///
/// The coordinates (x, y) of a node are two uniform numbers of [`NumpyRandom`] with seed 5, drawn in the
/// order of nodes. A node is joined to all nodes within r = (8 / (π N))^½, and to its two neighbours in a
/// tour through all nodes. The constant vector is an exact eigenvector, with the smallest eigenvalue 10⁻⁴.
///
/// ```
/// let p = coarsen_problems::graph(1000)?;
/// assert_eq!(p.matrix.shape(), (1000, 1000));
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
///
/// # Errors
/// [`ProblemError::Size`] for n = 0, [`ProblemError::TooLarge`].
pub fn graph(n: usize) -> Result<Problem, ProblemError> {
    system(n)?.whole()
}

/// The system of N nodes, without its matrix.
pub(crate) fn system(n: usize) -> Result<ByRows<'static>, ProblemError> {
    ProblemError::check_size("graph", n, 1, 1)?;
    Grid::new(("graph", n), [n, 1, 1], 1)?;
    let mut random = NumpyRandom::new(SEED);
    let positions: Vec<[f64; 3]> = (0..n).map(|_| [random.uniform(), random.uniform(), 0.0]).collect();
    let radius = (DEGREE / (PI * n as f64)).sqrt();
    let (cells, tour) = (Cells::new(&positions, radius), tour(&positions));
    Ok(ByRows::new(format!("graph:{n}"), 1, positions, move |positions, nodes| {
        Ok(rows::assemble(nodes, 1, &|i, row| {
            let mut degree = 0.0;
            let mut join = |j: usize| {
                row.add(j, &[-1.0]);
                degree += 1.0;
            };
            let close = |j: usize| distance2(positions[i], positions[j]) < radius * radius;
            cells.around(positions[i]).filter(|&j| j != i && close(j)).for_each(&mut join);
            let along = tour[i].into_iter().flatten().map(|j| j as usize);
            along.filter(|&j| !close(j)).for_each(&mut join);
            row.add(i, &[degree + SHIFT]);
        })?)
    }))
}

fn distance2(a: [f64; 3], b: [f64; 3]) -> f64 {
    (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])
}

/// Returns the previous and the next node of each node in a tour that runs alternately up and down strips of
/// width (3 / n)^½.
fn tour(positions: &[[f64; 3]]) -> Vec<[Option<u32>; 2]> {
    let n = positions.len();
    let strips = (n as f64 / 3.0).sqrt().ceil();
    let key = |i: usize| {
        let strip = (positions[i][0] * strips).floor();
        (strip, if strip % 2.0 == 0.0 { positions[i][1] } else { -positions[i][1] })
    };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| {
        let ((a, p), (b, q)) = (key(i), key(j));
        a.total_cmp(&b).then(p.total_cmp(&q))
    });
    let mut tour = vec![[None; 2]; n];
    for pair in order.windows(2) {
        tour[pair[0]][1] = Some(pair[1] as u32);
        tour[pair[1]][0] = Some(pair[0] as u32);
    }
    tour
}

/// Points sorted into square cells of side r or more. All points within r of a point are in the 3 x 3 cells
/// around it.
struct Cells {
    side: usize,
    starts: Vec<usize>,
    points: Vec<u32>,
}

impl Cells {
    fn new(positions: &[[f64; 3]], radius: f64) -> Self {
        let side = ((1.0 / radius) as usize).max(1);
        let mut cells = Self { side, starts: Vec::new(), points: Vec::new() };
        let cell = |p: &[f64; 3]| Some(cells.line(p[0]) * side + cells.line(p[1]));
        (cells.starts, cells.points) = by_bucket(side * side, positions.iter().map(cell));
        cells
    }

    /// The index of the row or column of cells that contains a coordinate.
    fn line(&self, x: f64) -> usize {
        ((x * self.side as f64) as usize).min(self.side - 1)
    }

    /// The points in the cell of p and in all cells around this cell.
    fn around(&self, p: [f64; 3]) -> impl Iterator<Item = usize> {
        let near = |x: f64| self.line(x).saturating_sub(1)..self.side.min(self.line(x) + 2);
        let columns = near(p[1]);
        near(p[0]).flat_map(move |line| {
            let first = line * self.side;
            let stretch = self.starts[first + columns.start]..self.starts[first + columns.end];
            self.points[stretch].iter().map(|&i| i as usize)
        })
    }
}
