//! Nodes that are held, and nodes that slide: the projector S onto the motions that they allow.
//!
//! | symbol | here |
//! |---|---|
//! | n | the unit normal of a node that slides |
//! | S_i | 0 for a node that is held, I − n nᵀ for a node that slides, I otherwise |

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Bsr, Prolongation};

/// A constraint of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constraint {
    /// The node does not move, as at a sticky wall.
    Held,
    /// The node moves in the plane with this normal, of any length. A node that may separate from a wall is
    /// free or slides; which of the two is fixed during a solve.
    Slides([f64; 3]),
}

/// A constraint cannot be imposed on its node.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {found}, but must be {range}")]
pub struct WrongConstraint {
    /// The number that is wrong.
    pub what: &'static str,
    /// The number found.
    pub found: f64,
    /// The numbers allowed, and the cure.
    pub range: &'static str,
}

/// The constraints of a level, by node; empty if there are none.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeConstraints(Vec<Option<Constraint>>);

impl NodeConstraints {
    /// Returns the constraints of `rows` nodes with `b` unknowns each; normals get unit length.
    ///
    /// # Errors
    /// [`SetupError::NoNode`] and [`WrongConstraint`].
    pub(super) fn new(given: &[(u32, Constraint)], rows: usize, b: usize) -> Result<Self, SetupError> {
        let mut all = vec![None; if given.is_empty() { 0 } else { rows }];
        for &(node, constraint) in given {
            let at = node as usize;
            let Some(place) = all.get_mut(at) else {
                return Err(SetupError::NoNode { what: "NodeEmbedding::constraints", node: at, nodes: rows });
            };
            let wrong =
                |what, found, range| Err(SetupError::of_method(at, WrongConstraint { what, found, range }));
            if place.is_some() {
                return wrong("the number of constraints", 2.0, "1; name every node once");
            }
            *place = Some(match constraint {
                Constraint::Held => constraint,
                Constraint::Slides(normal) => {
                    if !(2..=3).contains(&b) {
                        let what = "the number of unknowns of a node that slides";
                        return wrong(what, b as f64, "2 or 3; hold the node, or leave it free");
                    }
                    let length = normal[..b].iter().map(|n| n * n).sum::<f64>().sqrt();
                    if !(length > 0.0 && length.is_finite()) {
                        return wrong(
                            "the length of the normal of its constraint",
                            length,
                            "above 0 and finite",
                        );
                    }
                    Constraint::Slides(std::array::from_fn(|k| if k < b { normal[k] / length } else { 0.0 }))
                }
            });
        }
        Ok(Self(all))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the constraint of a node.
    #[inline]
    pub(super) fn of(&self, node: usize) -> Option<Constraint> {
        self.0.get(node).copied().flatten()
    }

    /// Returns n of a node that slides.
    pub(super) fn normal(&self, node: usize) -> Option<[f64; 3]> {
        match self.of(node) {
            Some(Constraint::Slides(normal)) => Some(normal),
            _ => None,
        }
    }

    /// Returns S P; rows of held nodes are empty already.
    pub(super) fn apply<T: Real>(&self, p: Prolongation<T>) -> Result<Prolongation<T>, SetupError> {
        if !self.0.iter().any(|r| matches!(r, Some(Constraint::Slides(_)))) {
            return Ok(p);
        }
        let mut whole: Bsr<T> = p.to_matrix()?.into_owned();
        let (b, pattern) = (whole.block().0, whole.pattern().clone());
        for (node, constraint) in self.0.iter().enumerate() {
            let Some(Constraint::Slides(n)) = constraint else { continue };
            for at in pattern.range(node) {
                let block = &mut whole.values_mut()[at * b * b..(at + 1) * b * b];
                let w = block[0];
                for (e, value) in block.iter_mut().enumerate() {
                    *value -= w * T::from_f64(n[e / b] * n[e % b]); // w (I − n nᵀ)
                }
            }
        }
        Ok(whole.into())
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.0[..])
    }
}
