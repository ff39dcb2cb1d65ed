//! Masses and springs.
//!
//! > E = Σ k/2 (|x_i − x_j| − L)²    (1)
//!
//! With ℓ = |x_i − x_j| and n the unit vector along the spring, the block of its Hessian is
//! k n nᵀ + k (1 − L/ℓ)(I − n nᵀ): the second term is negative in compression, and projected to 0.

use std::sync::Arc;

use coarsen_sparse::Pattern;

use crate::BodyError;
use crate::mat3::dot;
use crate::nodes::{HELD, Nodes};
use crate::potential::{Curvature, Energy, Potential};

/// One spring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// The nodes it joins.
    pub ends: [u32; 2],
    /// k, N/m.
    pub stiffness: f64,
    /// L, m.
    pub length: f64,
}

/// Springs between nodes.
///
/// *Cost* of value, gradient and Hessian: linear in the springs, on one thread.
/// *Reference* Provot 1995; Liu et al. 2013, "Fast simulation of mass-spring systems", ACM TOG 32(6); projection: Choi & Ko
/// 2002.
///
/// ```
/// use coarsen_elastic::{Potential, Spring, Springs};
/// let spring = Spring { ends: [0, 1], stiffness: 10.0, length: 1.0 };
/// let mut rope = Springs::new(vec![spring], &[true, false], &[[0.0; 3]; 2])?;
/// assert_eq!(rope.energy(&[0.0, 3.0, 0.0]).value, 20.0); // 10/2 (3 − 1)²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Springs {
    springs: Vec<Spring>,
    nodes: Nodes,
    pattern: Arc<Pattern>,
    blocks: Vec<[usize; 4]>,
}

impl Springs {
    /// Springs among nodes at `positions`, some of which are `held` there.
    ///
    /// # Errors
    /// [`BodyError`] for ends that are no nodes, and stiffnesses or lengths that are not positive and finite.
    pub fn new(springs: Vec<Spring>, held: &[bool], positions: &[[f64; 3]]) -> Result<Self, BodyError> {
        let nodes = Nodes::new(held, positions)?;
        for (index, spring) in springs.iter().enumerate() {
            if let Some(&node) = spring.ends.iter().find(|&&end| end as usize >= held.len()) {
                let (node, nodes) = (node as usize, held.len());
                return Err(BodyError::Node { what: "spring", index, node, nodes });
            }
            let bad = |v: &f64| !(v.is_finite() && *v > 0.0);
            if let Some(measure) = [spring.stiffness, spring.length].into_iter().find(bad) {
                return Err(BodyError::Degenerate { what: "spring", index, measure });
            }
        }
        let ends: Vec<[u32; 2]> = springs.iter().map(|s| s.ends).collect();
        let (pattern, blocks) = nodes.pattern(&ends)?;
        Ok(Self { springs, nodes, pattern, blocks })
    }

    /// n and ℓ; n = 0 where both ends meet.
    fn along(&self, spring: &Spring, x: &[f64]) -> ([f64; 3], f64) {
        let [a, b] = spring.ends.map(|end| self.nodes.at(end, x));
        let d: [f64; 3] = std::array::from_fn(|k| a[k] - b[k]);
        let length = dot(&d, &d).sqrt();
        (if length > 0.0 { d.map(|d| d / length) } else { [0.0; 3] }, length)
    }
}

impl Potential for Springs {
    fn nodes(&self) -> usize {
        self.nodes.free
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        let energy = |s: &Spring| {
            let (half, length) = (0.5 * s.stiffness, self.along(s, x).1);
            let change = length - s.length;
            Energy { value: half * change * change, magnitude: half * change.abs() * (length + s.length) } // (1)
        };
        self.springs.iter().map(energy).sum()
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        for spring in &self.springs {
            let (n, length) = self.along(spring, x);
            let pull = spring.stiffness * (length - spring.length);
            for (end, sign) in spring.ends.into_iter().zip([pull, -pull]) {
                let slot = self.nodes.slots[end as usize];
                if slot != HELD {
                    (0..3).for_each(|k| g[3 * slot as usize + k] += sign * n[k]);
                }
            }
        }
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        for (spring, blocks) in self.springs.iter().zip(&self.blocks) {
            let (n, length) = self.along(spring, x);
            let turning = spring.stiffness * (1.0 - spring.length / length);
            let across = match curvature {
                Curvature::Constant => spring.stiffness,
                Curvature::Exact if length > 0.0 => turning,
                _ => turning.max(0.0),
            };
            for (ab, &block) in blocks.iter().enumerate().filter(|(_, b)| **b != usize::MAX) {
                let sign = if ab == 0 || ab == 3 { 1.0 } else { -1.0 };
                for (p, q) in (0..9).map(|pq| (pq / 3, pq % 3)) {
                    let unit = if p == q { across } else { 0.0 };
                    values[9 * block + 3 * p + q] +=
                        sign * ((spring.stiffness - across) * n[p] * n[q] + unit);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_looked_at() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            for (stiffness, length) in [(bad, 1.0), (1.0, bad)] {
                let springs = [(1.0, 1.0), (stiffness, length)].map(|(s, l)| Spring {
                    ends: [0, 1],
                    stiffness: s,
                    length: l,
                });
                let refused = Springs::new(springs.to_vec(), &[false; 2], &[[0.0; 3]; 2]).err();
                assert!(
                    matches!(refused, Some(BodyError::Degenerate { index: 1, .. })),
                    "{stiffness} {length}: {refused:?}"
                );
            }
        }
    }
}
