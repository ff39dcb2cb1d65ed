//! Elastic energies for minimisation: values, gradients and Hessians.
//!
//! An energy is a [`Potential`]. [`ImplicitEuler`] is the objective of one time step with this energy; any descent method
//! can minimise it.
//!
//! | file | what |
//! |---|---|
//! | [`density`](Density) | isotropic energy densities, and the eigensystem of their Hessians |
//! | [`arap`](Arap) | the distance of F to a rotation; Projective Dynamics |
//! | [`corotational`](CoRotational) | the distance of F to a rotation, and the trace of the strain |
//! | [`fixed_corotated`](FixedCoRotated) | the distance of F to a rotation, and the volume |
//! | [`st_venant_kirchhoff`](StVenantKirchhoff) | Hooke's law in the Green strain |
//! | [`neo_hookean`](StableNeoHookean) | neo-Hookean, finite for inverted elements |
//! | [`neo_hookean_log`](NeoHookean) | neo-Hookean, infinite for inverted elements |
//! | [`potential`](Potential) | the trait of energies of nodes |
//! | [`elements`](Elements) | energies that are sums over elements of K nodes |
//! | [`loops`](Loops) | the loops over elements |
//! | [`kernel`](ElementKernel) | elements and surfaces for devices, with the source that computes one element or pair |
//! | [`tetrahedra`](Tetrahedra) | a density on a mesh |
//! | [`baraff_witkin`](BaraffWitkin) | tetrahedra that resist stretching and shearing along three axes |
//! | `rest` | tetrahedra at rest |
//! | [`membrane`](Membrane), [`bending`](Bending) | cloth |
//! | [`corotational_membrane`](CoRotationalMembrane) | isotropic cloth |
//! | [`anisotropic_membrane`](AnisotropicMembrane), [`orthotropic`](PlanarStiffness) | cloth whose stiffness depends on direction and strain |
//! | [`shell`](Shell) | bending of curved cloth, by the angles of hinges |
//! | [`directional`](ByDirection) | a number that depends on direction, such as a bending stiffness |
//! | [`springs`](Springs) | masses and springs |
//! | [`attachments`](Attachments) | pins that can be added and removed |
//! | [`contact_potential`](ContactPotential), [`penalty`](Penalty), [`barrier`](Barrier) | energies of the distance to an obstacle |
//! | [`plus`](Plus), [`total`](Total) | the sum of two energies, and of a list of energies |
//! | `union` | the union of their sparsity patterns |
//! | [`implicit_euler`](ImplicitEuler) | inertia and an energy: one time step as an objective |
//! | [`nodes`](Nodes) | numbers of free nodes, positions of held nodes |
//! | [`mat3`](Svd), `polar`, `cubic` | 3x3 matrices: singular values, and the nearest rotation; the first root of a cubic |
//! | [`error`](BodyError) | errors of bodies and meshes |

mod anisotropic_membrane;
mod arap;
mod attachments;
mod baraff_witkin;
mod barrier;
mod bending;
mod contact_potential;
mod corotational;
mod corotational_membrane;
mod cubic;
mod density;
mod directional;
mod elements;
mod error;
mod fixed_corotated;
mod implicit_euler;
mod kernel;
mod loops;
mod mat3;
mod membrane;
mod neo_hookean;
mod neo_hookean_log;
mod nodes;
mod orthotropic;
mod penalty;
mod plus;
mod polar;
mod potential;
mod rest;
mod shell;
mod springs;
mod st_venant_kirchhoff;
mod tetrahedra;
mod total;
mod union;

pub use anisotropic_membrane::{Anisotropic, AnisotropicMembrane};
pub use arap::Arap;
pub use attachments::Attachments;
pub use baraff_witkin::{BaraffWitkin, Fibers, Fibrous};
pub use barrier::Barrier;
pub use bending::{Bending, Hinge};
pub use contact_potential::ContactPotential;
pub use corotational::CoRotational;
pub use corotational_membrane::{CoRotationalMembrane, Rotated};
pub use density::{Density, Lame, Modes};
pub use directional::ByDirection;
pub use elements::{Element, Elements, Stiffness};
pub use error::BodyError;
pub use fixed_corotated::FixedCoRotated;
pub use implicit_euler::ImplicitEuler;
pub use kernel::{ElementKernel, SurfaceKernel};
pub use loops::Loops;
pub use mat3::Svd;
pub use membrane::{Curved, Fabric, Membrane, Sheet, Stretched, Triangle};
pub use neo_hookean::StableNeoHookean;
pub use neo_hookean_log::NeoHookean;
pub use nodes::Nodes;
pub use orthotropic::{Orthotropic, PlanarStiffness};
pub use penalty::Penalty;
pub use plus::Plus;
pub use potential::{ContactHessian, Curvature, Energy, Potential};
pub use shell::{Angle, Shell};
pub use springs::{Spring, Springs};
pub use st_venant_kirchhoff::StVenantKirchhoff;
pub use tetrahedra::{Solid, Tetrahedra};
pub use total::Total;
