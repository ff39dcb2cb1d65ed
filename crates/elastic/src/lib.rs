//! Elastic energies for minimisation: values, gradients and Hessians.
//!
//! An energy is a [`Potential`]. [`ImplicitEuler`] turns one time step with it into an objective for any
//! method of descent.
//!
//! | file | what |
//! |---|---|
//! | [`density`](Density) | isotropic energy densities, the eigensystem of their Hessians |
//! | [`corotational`](CoRotational), [`neo_hookean`](StableNeoHookean), [`neo_hookean_log`](NeoHookean) | three of them |
//! | [`potential`](Potential) | the trait of energies of nodes |
//! | [`elements`](Elements) | the loops over elements of K nodes |
//! | [`tetrahedra`](Tetrahedra) | a density on a mesh |
//! | [`membrane`](Membrane), [`bending`](Bending) | cloth |
//! | [`springs`](Springs) | masses and springs |
//! | [`attachments`](Attachments) | pins that can be added and removed |
//! | [`half_space`](HalfSpace), [`penalty`](Penalty), [`barrier`](Barrier) | contact with a plane, and its energies |
//! | [`plus`](Plus), [`total`](Total) | the sum of two energies; of a list |
//! | `union` | the union of their sparsity patterns |
//! | [`implicit_euler`](ImplicitEuler) | inertia and an energy: one time step as an objective |
//! | [`nodes`](Nodes) | numbers of free nodes, positions of held ones |
//! | `mat3`, `cubic` | 3x3 matrices; the first root of a cubic |
//! | [`error`](BodyError) | errors of bodies and meshes |

mod attachments;
mod barrier;
mod bending;
mod corotational;
mod cubic;
mod density;
mod elements;
mod error;
mod half_space;
mod implicit_euler;
mod mat3;
mod membrane;
mod neo_hookean;
mod neo_hookean_log;
mod nodes;
mod penalty;
mod plus;
mod potential;
mod springs;
mod tetrahedra;
mod total;
mod union;

pub use attachments::Attachments;
pub use barrier::Barrier;
pub use bending::{Bending, Hinge};
pub use corotational::CoRotational;
pub use density::{Density, Lame, Modes};
pub use elements::{Element, Elements, Stiffness};
pub use error::BodyError;
pub use half_space::{HalfSpace, Law};
pub use implicit_euler::ImplicitEuler;
pub use membrane::{Curved, Fabric, Membrane, Sheet, Stretched, Triangle};
pub use neo_hookean::StableNeoHookean;
pub use neo_hookean_log::NeoHookean;
pub use nodes::Nodes;
pub use penalty::Penalty;
pub use plus::Plus;
pub use potential::{Curvature, Energy, Potential, Touching};
pub use springs::{Spring, Springs};
pub use tetrahedra::{Solid, Tetrahedra};
pub use total::Total;
