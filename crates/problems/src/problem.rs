//! A problem of the gallery.

use coarsen_constraints::{ConstraintError, Constraints, Filtered, prefilter};
use coarsen_sparse::{Bsr, NearKernel, System};

use crate::NumpyRandom;

/// A symmetric positive definite matrix, with positions, near-kernel and constraints.
///
/// ```
/// use coarsen_problems::{Options, Problem};
/// let p = Problem::parse("elasticity3d:4", &Options::default())?;
/// assert_eq!((p.matrix.shape(), p.matrix.block()), ((300, 300), (3, 3)));
/// assert_eq!((p.positions.len(), p.near_kernel.vectors()), (100, 6));
/// let b = p.right_hand_side(1);
/// # assert_eq!(b.len(), 300);
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Problem {
    /// NAME:SIZE, followed by the time step if there is one and by a `jump` other than 1, such as `cloth:101
    /// dt=0.002` or `elasticity3d:10 jump=10000`.
    pub name: String,
    /// The matrix in its natural blocks: 3x3 for displacements, 1x1 otherwise.
    pub matrix: Bsr<f64>,
    /// One point per block row, in metres; 2D points have z = 0.
    pub positions: Vec<[f64; 3]>,
    /// The near-kernel: constants, or rigid-body modes about the centroid with zeros on held rows.
    pub near_kernel: NearKernel,
    /// Constraints on x, if any: see [`prefilter`](Self::prefilter).
    pub constraints: Option<Constraints>,
}

/// Options of a problem in addition to its size; `None` selects the default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// For `cloth`, `pinned`, `garment` and `softbody`: the time step in seconds. The default is 0.002 for
    /// `cloth` and `pinned`, and 0.01 for the other problems.
    pub dt: Option<f64>,
    /// For `elasticity3d`: the stiffness of hard blocks divided by that of soft blocks. The default is 1, a
    /// homogeneous body.
    pub jump: Option<f64>,
    /// For `pinned`: the share of vertices with a constraint, from 0 to 1. The default is 0.1.
    pub share: Option<f64>,
}

impl Problem {
    /// Returns a right-hand side of standard normal numbers: a [`random_vector`] of the size of the matrix.
    pub fn right_hand_side(&self, seed: u64) -> Vec<f64> {
        random_vector(self.matrix.shape().0, seed)
    }

    /// Returns the system with its constraints imposed; `None` if there are no constraints.
    ///
    /// # Errors
    /// The errors of [`coarsen_constraints::prefilter`]. Constraints of the gallery never contradict each
    /// other.
    pub fn prefilter(&self) -> Result<Option<Filtered<f64>>, ConstraintError> {
        self.constraints.as_ref().map(|constraints| prefilter(self.system(), constraints)).transpose()
    }

    /// The matrix, positions and near-kernel, as the input of builders of preconditioners.
    pub fn system(&self) -> System<'_, f64> {
        System {
            positions: Some(&self.positions),
            near_kernel: Some(&self.near_kernel),
            ..System::from(&self.matrix)
        }
    }
}

/// Returns a vector of n standard normal numbers from successive calls of [`NumpyRandom::normal`] with a
/// seed.
///
/// *Use* as a right-hand side that contains all frequencies. These numbers differ from NumPy's
/// `standard_normal`.
///
/// ```
/// assert_eq!(coarsen_problems::random_vector(3, 1), coarsen_problems::random_vector(5, 1)[..3]);
/// ```
pub fn random_vector(n: usize, seed: u64) -> Vec<f64> {
    let mut random = NumpyRandom::new(seed);
    (0..n).map(|_| random.normal()).collect()
}

/// Returns the entries of [`random_vector`] at some nodes with `size` numbers each, in the order of the list.
///
/// *Use* if each of several processes needs the entries of its own nodes. *Cost*: as the vector up to the last of the
/// nodes; *memory* of the entries alone.
///
/// ```
/// use coarsen_problems::{random_rows, random_vector};
/// let all = random_vector(12, 1);
/// assert_eq!(random_rows(&[3, 1], 3, 1), [&all[9..12], &all[3..6]].concat());
/// ```
pub fn random_rows(nodes: &[u32], size: usize, seed: u64) -> Vec<f64> {
    let mut random = NumpyRandom::new(seed);
    let (mut rows, mut row) = (vec![0.0; nodes.len() * size], vec![0.0; size]);
    let mut by_number: Vec<usize> = (0..nodes.len()).collect();
    by_number.sort_unstable_by_key(|&k| nodes[k]);
    let mut next = 0; // the first entry that is not drawn
    for k in by_number {
        let first = nodes[k] as usize * size;
        if first >= next {
            (next..first).for_each(|_| _ = random.normal());
            row.fill_with(|| random.normal());
            next = first + size;
        }
        rows[k * size..(k + 1) * size].copy_from_slice(&row);
    }
    rows
}
