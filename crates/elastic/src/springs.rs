//! Masses and springs.
//!
//! > E = Σ k/2 (|x_i − x_j| − L)²    (1)
//!
//! With ℓ = |x_i − x_j| and the unit vector n along the spring, a diagonal block of its Hessian is k n nᵀ + k
//! (1 − L/ℓ)(I − n nᵀ). The second term is negative in compression, and the projection sets it to 0.

use crate::BodyError;
use crate::elements::{Element, Elements, Stiffness};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::mat3::dot;
use crate::potential::{Curvature, Energy};

/// A spring between two nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// The nodes at the ends.
    pub ends: [u32; 2],
    /// k: the stiffness in N/m.
    pub stiffness: f64,
    /// L: the length at rest in m.
    pub length: f64,
}

/// The energy of springs between nodes.
///
/// *Cost* of value, gradient and Hessian: linear in the number of springs. *Reference* Provot 1995; Liu et
/// al. 2013, "Fast simulation of mass-spring systems", ACM TOG 32(6); projection: Choi & Ko 2002.
///
/// ```
/// use coarsen_elastic::{Potential, Spring, Springs};
/// let spring = Spring { ends: [0, 1], stiffness: 10.0, length: 1.0 };
/// let mut rope = Springs::new(vec![spring], &[true, false], &[[0.0; 3]; 2])?;
/// assert_eq!(rope.energy(&[0.0, 3.0, 0.0]).value, 20.0); // 10/2 (3 − 1)²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub type Springs = Elements<Vec<Spring>, 2>;

impl Elements<Vec<Spring>, 2> {
    /// Returns the energy of `springs`. `held` nodes stay at their `positions`.
    ///
    /// # Errors
    /// [`BodyError`] for ends that do not exist, two ends at one node, and stiffnesses or lengths that are not
    /// positive and finite.
    pub fn new(springs: Vec<Spring>, held: &[bool], positions: &[[f64; 3]]) -> Result<Self, BodyError> {
        let ends: Vec<[u32; 2]> = springs.iter().map(|s| s.ends).collect();
        for (index, spring) in springs.iter().enumerate() {
            let bad = |v: &f64| !(v.is_finite() && *v > 0.0);
            if let Some(measure) = [spring.stiffness, spring.length].into_iter().find(bad) {
                return Err(BodyError::Degenerate { what: "spring", index, measure });
            }
            if spring.ends[0] == spring.ends[1] {
                return Err(BodyError::Loop { index, node: spring.ends[0] as usize });
            }
        }
        Self::of("spring", springs, ends, held, positions)
    }
}

/// Returns n and ℓ. If both ends coincide, n = 0.
fn along([a, b]: &[[f64; 3]; 2]) -> ([f64; 3], f64) {
    let d: [f64; 3] = std::array::from_fn(|k| a[k] - b[k]);
    let length = dot(d, d).sqrt();
    (if length > 0.0 { d.map(|d| d / length) } else { [0.0; 3] }, length)
}

impl Element<2> for Vec<Spring> {
    const WORK: usize = 40;

    fn loops() -> &'static Loops<Self, 2> {
        static COMPILED: Loops<Vec<Spring>, 2> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, e: usize, x: &[[f64; 3]; 2]) -> Energy {
        let (s, length) = (&self[e], along(x).1);
        let (half, change) = (0.5 * s.stiffness, length - s.length);
        Energy { value: half * change * change, magnitude: half * change.abs() * (length + s.length) } // (1)
    }

    fn gradient(&self, e: usize, x: &[[f64; 3]; 2]) -> [[f64; 3]; 2] {
        let (n, length) = along(x);
        let pull = self[e].stiffness * (length - self[e].length);
        [pull, -pull].map(|pull| n.map(|n| pull * n))
    }

    fn add_hessian(&self, e: usize, x: &[[f64; 3]; 2], curvature: Curvature, h: &mut Stiffness<2>) {
        let (spring, (n, length)) = (&self[e], along(x));
        let turning = spring.stiffness * (1.0 - spring.length / length);
        let across = match curvature {
            Curvature::Constant => spring.stiffness,
            Curvature::Exact if length > 0.0 => turning,
            _ => turning.max(0.0),
        };
        for (a, b, p, q) in (0..36).map(|k| (k / 18, k / 9 % 2, k / 3 % 3, k % 3)) {
            let unit = if p == q { across } else { 0.0 };
            let sign = if a == b { 1.0 } else { -1.0 };
            h[a][p][b][q] += sign * ((spring.stiffness - across) * n[p] * n[q] + unit);
        }
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>, Vec<f64>)> {
        let data = self.iter().flat_map(|spring| [spring.stiffness, spring.length]).collect();
        Some((kernel!("springs"), data, Vec::new()))
    }

    /// The characteristic force: half of k L for each end of a spring.
    fn characteristic(&self, around: &mut dyn Iterator<Item = (usize, usize)>) -> f64 {
        around.map(|(e, _)| 0.5 * self[e].stiffness * self[e].length).sum()
    }
}
