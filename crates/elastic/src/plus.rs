//! Energies that add up.

use std::sync::Arc;

use coarsen_sparse::Pattern;

use crate::BodyError;
use crate::nodes::pattern_of;
use crate::potential::{Curvature, Energy, Potential, Touching};

/// A + B, for more parts nested: `Plus::new(Plus::new(a, b)?, c)?`.
///
/// Its pattern is the union of both. A part whose own pattern that is writes its Hessian in place, the other through a map: at best the
/// largest part is the first.
/// *Memory* the values of a part once more, where its pattern is a smaller one.
///
/// ```
/// use coarsen_elastic::{Attachments, Plus, Potential, Spring, Springs};
/// let spring = Spring { ends: [0, 1], stiffness: 10.0, length: 1.0 };
/// let rope = Springs::new(vec![spring], &[false; 2], &[[0.0; 3]; 2])?;
/// let mut both = Plus::new(rope, Attachments::new(2)?)?;
/// both.second.attach(0, [0.0; 3], 4.0)?;
/// assert_eq!(both.energy(&[1.0, 0.0, 0.0, 3.0, 0.0, 0.0]).value, 7.0); // 10/2 (2 - 1)² + 4/2 · 1²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub struct Plus<A, B> {
    /// A.
    pub first: A,
    /// B.
    pub second: B,
    pattern: Arc<Pattern>,
    maps: [Option<Map>; 2],
}

/// Where the blocks of a part are in the union, and room for their values.
struct Map {
    blocks: Vec<usize>,
    values: Vec<f64>,
}

impl Map {
    /// `None` where both patterns are the same.
    fn new(part: &Arc<Pattern>, union: &Arc<Pattern>) -> Option<Self> {
        if part == union {
            return None;
        }
        let find = |i: usize| part.row(i).iter().filter_map(move |&j| union.find(i, j as usize));
        let blocks: Vec<usize> = (0..part.rows()).flat_map(find).collect();
        let values = vec![0.0; 9 * blocks.len()];
        Some(Self { blocks, values })
    }
}

impl<A: Potential, B: Potential> Plus<A, B> {
    /// The sum of two energies of the same nodes.
    ///
    /// # Errors
    /// [`BodyError::Length`] where they have another number of nodes.
    pub fn new(first: A, second: B) -> Result<Self, BodyError> {
        let (expected, found) = (first.nodes(), second.nodes());
        if expected != found {
            return Err(BodyError::Length { what: "nodes of energies that are added", expected, found });
        }
        let pattern = first.pattern().clone();
        let mut plus = Self { first, second, pattern, maps: [None, None] };
        plus.unite()?;
        Ok(plus)
    }

    /// The union of both patterns.
    fn unite(&mut self) -> Result<(), BodyError> {
        let (a, b) = (self.first.pattern(), self.second.pattern());
        let places = |p: &'_ Arc<Pattern>| -> Vec<(u32, u32)> {
            (0..p.rows()).flat_map(|i| p.row(i).iter().map(move |&j| (i as u32, j))).collect()
        };
        let within = |(i, j): &(u32, u32)| a.find(*i as usize, *j as usize).is_some();
        let others = places(b);
        self.pattern = if others.iter().all(within) {
            a.clone()
        } else {
            pattern_of(a.rows(), places(a).into_iter().chain(others))?
        };
        self.maps = [Map::new(a, &self.pattern), Map::new(b, &self.pattern)];
        Ok(())
    }
}

/// Adds the Hessian of a part to the values of the union.
fn add(
    part: &mut impl Potential,
    map: &mut Option<Map>,
    x: &[f64],
    curvature: Curvature,
    values: &mut [f64],
) {
    let Some(Map { blocks, values: own }) = map else { return part.add_hessian(x, curvature, values) };
    own.fill(0.0);
    part.add_hessian(x, curvature, own);
    for (&block, own) in blocks.iter().zip(own.chunks_exact(9)) {
        values[9 * block..9 * block + 9].iter_mut().zip(own).for_each(|(v, own)| *v += own);
    }
}

impl<A: Potential, B: Potential> Potential for Plus<A, B> {
    fn nodes(&self) -> usize {
        self.first.nodes()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.first.energy(x) + self.second.energy(x)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.first.add_gradient(x, g);
        self.second.add_gradient(x, g);
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        let [a, b] = &mut self.maps;
        add(&mut self.first, a, x, curvature, values);
        add(&mut self.second, b, x, curvature, values);
    }

    fn add_contacts(&mut self, x: &[f64], curvature: Curvature, contacts: &mut Touching) {
        self.first.add_contacts(x, curvature, contacts);
        self.second.add_contacts(x, curvature, contacts);
    }

    fn touches(&self) -> bool {
        self.first.touches() || self.second.touches()
    }

    fn max_step(&mut self, x: &[f64], d: &[f64]) -> f64 {
        self.first.max_step(x, d).min(self.second.max_step(x, d))
    }

    fn renew(&mut self, x: &[f64]) -> Result<bool, BodyError> {
        let (first, second) = (self.first.renew(x)?, self.second.renew(x)?);
        if first || second {
            self.unite()?;
        }
        Ok(first || second)
    }

    fn add_characteristic(&self, forces: &mut [f64]) {
        self.first.add_characteristic(forces);
        self.second.add_characteristic(forces);
    }
}
