//! What x must satisfy: equality constraints, filtered out of a system before anything is solved, and given values.
//!
//! Given values are imposed or eliminated by [`Dirichlet`], in `dirichlet`. All else here is PPCG of Tamstorf, Jones, McCormick 2015, §8.
//!
//! | symbol | here | file |
//! |---|---|---|
//! | C, d | [`Constraints`]: C x = d | `constraints` |
//! | | constraints that share nodes, directly or through others | `groups` |
//! | W, z | orthonormal basis of the rows of C; the shortest z with C z = d | `factor` |
//! | | why a constraint has no z | `contradiction` |
//! | S | I − W Wᵀ, the orthogonal projector onto C x = 0: [`Projector`] (eq. 3) | `project` |
//! | S A S + I − S | the prefiltered matrix (eq. 7): where its blocks are, and what they hold | `symbolic`, `numeric` |
//! | c, y | S (b − A z) and x − z: [`Filtered`] | `filtered` |
//! | | how many nodes and blocks there are with and without: [`Density`] | `density` |
//!
//! The paper filters single nodes and says that general equality constraints are as easy; here both are groups, of one node or of several.
//! Equation numbers at line ends are the paper's.

mod constraints;
mod contradiction;
mod density;
mod dirichlet;
mod error;
mod factor;
mod filtered;
mod groups;
mod numeric;
mod project;
#[cfg(test)]
#[path = "../../sparse/src/random.rs"]
mod random;
mod symbolic;

pub use constraints::Constraints;
pub use density::Density;
pub use dirichlet::{Dirichlet, DirichletError, Eliminated};
pub use error::ConstraintError;
pub use filtered::{Filtered, Prefilter, prefilter};
pub use project::Projector;
