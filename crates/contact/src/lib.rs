//! Contact by quadratic penalties: nodes against obstacles, bodies against each other and themselves.
//!
//! [`Obstacle`] and [`BodyContact`] are energies of the gap g of each contact,
//!
//! > E = Σ k/2 min(g, 0)²,   ∇²E ≈ Σ k ∇g ∇gᵀ
//!
//! (Xian, Tong & Liu 2019, §4.6). Both are a [`Potential`](coarsen_elastic::Potential): they are added to
//! elastic energies, and their Hessian is stored apart from the matrix. There is no friction.
//!
//! [`SpatialHash`] finds pairs of boxes that overlap. It knows nothing of bodies. Boxes of triangles and
//! edges, grown by a distance or swept along a step, are found in the same way as boxes of points.
//!
//! | file | what |
//! |---|---|
//! | [`aabb`](Aabb) | axis-aligned boxes |
//! | [`hash`](SpatialHash) | a uniform grid of boxes, hashed |
//! | [`shape`](Shape) | the trait of obstacles: distance, normal, curvature |
//! | [`plane`](Plane), [`sphere`](Sphere), [`capsule`](Capsule) | three of them |
//! | [`obstacle`](Obstacle) | nodes against a shape |
//! | [`bodies`](BodyContact) | bodies of tetrahedra against each other and themselves |
//! | `detector` | vertices inside tetrahedra, and the contacts that follow |
//! | `rest_surface` | the triangle of a surface through which a vertex leaves |
//! | `components` | the bodies of a mesh |
//! | [`contact`](Contact) | a vertex and a triangle |
//! | `triangle` | nearest points and normals |
//! | [`penetration`](Penetration) | counts and depths, to be printed |
//! | [`error`](ContactError) | errors of boxes, shapes and bodies |

mod aabb;
mod bodies;
mod capsule;
mod components;
mod contact;
mod detector;
mod error;
mod hash;
mod obstacle;
mod penetration;
mod plane;
mod rest_surface;
mod shape;
mod sphere;
mod triangle;

pub use aabb::Aabb;
pub use bodies::BodyContact;
pub use capsule::Capsule;
pub use contact::Contact;
pub use error::ContactError;
pub use hash::SpatialHash;
pub use obstacle::Obstacle;
pub use penetration::Penetration;
pub use plane::Plane;
pub use shape::Shape;
pub use sphere::Sphere;
