//! Linear equality constraints, filtered out of a system before it is solved, and prescribed values.
//!
//! [`Dirichlet`], in `dirichlet`, imposes or eliminates prescribed values. The other files implement the
//! method PPCG of Tamstorf, Jones, McCormick 2015, §8.
//!
//! | symbol | here | file |
//! |---|---|---|
//! | C, d | [`Constraints`]: C x = d | `constraints` |
//! | | groups of constraints that share nodes, directly or through other constraints | `groups` |
//! | W, z | orthonormal basis of the rows of C; the shortest z with C z = d | `factor` |
//! | | explanation of a contradictory constraint | `contradiction` |
//! | S | I − W Wᵀ, the orthogonal projector onto C x = 0: [`Projector`] (eq. 3) | `project` |
//! | S A S + I − S | the prefiltered matrix (eq. 7): pattern and values | `symbolic`, `numeric` |
//! | S C S | the filtered contact part of a system | `contact` |
//! | | the rows that other constraints and contact pairs changed: [`Filtered::touched`] | `touched` |
//! | c, y | S (b − A z) and x − z: [`Filtered`] | `filtered` |
//! | | unilateral constraints: nodes on obstacles, which stick, slide or leave: [`Supports`] | `supports` |
//! | | statistics of constraints and fill-in: [`Density`] | `density` |
//!
//! The paper filters single nodes and mentions general equality constraints. Here both are groups of one or more
//! nodes. Equation numbers at the ends of lines refer to the paper.

mod constraints;
mod contact;
mod contradiction;
mod density;
mod dirichlet;
mod error;
mod factor;
mod filtered;
mod groups;
mod numeric;
mod project;
mod supports;
mod symbolic;
mod touched;

pub use constraints::Constraints;
pub use density::Density;
pub use dirichlet::{Dirichlet, DirichletError, Eliminated};
pub use error::ConstraintError;
pub use filtered::{Filtered, Prefilter, prefilter};
pub use project::Projector;
pub use supports::{ContactState, Supports};
