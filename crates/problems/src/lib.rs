//! A gallery of symmetric positive definite systems, used by the tests, the benches, the book and the command
//! line.
//!
//! Every problem has a position per node and a near-kernel, for multigrid. The benchmarks run other libraries on the same
//! matrices, including random coefficients, with entries equal up to round-off.
//!
//! | problem | contents | unknowns | file |
//! |---|---|---|---|
//! | `poisson2d:N` `poisson3d:N` | 5 and 7 points, u = 0 on the boundary | N², N³ | [`poisson`](poisson2d) |
//! | `anisotropic2d:N` | Q1, diffusion a thousand times larger along 60 degrees than across | N² | [`anisotropic`](anisotropic2d) |
//! | `jump3d:N` | 7-point diffusion with a coefficient that jumps over six decades | N³ | [`jump`](jump3d) |
//! | `elasticity3d:N` | Q1 hexahedra, one face held, 3x3 blocks; option `jump` | 3 N (N + 1)² | [`elasticity`](elasticity3d) |
//! | `cloth:N` | implicit Euler step of a sheet, 3x3 blocks; option `dt` | 3 N² | [`cloth`](cloth()) |
//! | `pinned:N` | `cloth` with a share of the vertices fixed or sliding along lines or planes; options `dt`, `share` | 3 N² | [`pinned`](pinned()) |
//! | `garment:FILE` | implicit Euler step of a garment, 3x3 blocks; `garment:FILE@K` divides triangles K times, `garment:FILE@K@F` also joins vertices closer than F mean edge lengths by contact springs; option `dt` | 3 vertices | [`garment`](garment()) |
//! | `softbody:FILE` `softbody:N` | implicit Euler step of neo-Hookean tetrahedra, 3x3 blocks; option `dt` | 3 vertices | [`softbody`](softbody()) |
//! | `graph:N` | shifted Laplacian of a random geometric graph | N | [`graph`](graph()) |
//!
//! The system of a [`Sequence`] changes from step to step:
//!
//! | sequence | contents | unknowns | file |
//! |---|---|---|---|
//! | `cloth-contact:N` | a sheet pressed on a turning sphere: 0 to 3 N² contact pairs | about 3.8 N² | [`sequence/cloth_contact`](Sequence) |
//! | `stack:N` | four sheets with N² springs between them; some springs change in every step | 12 N² | [`sequence/stack`](Sequence) |
//!
//! | file | contents |
//! |---|---|
//! | [`scene`](Scene) | soft bodies as objectives for minimisation |
//! | [`problem`](Problem) | a problem: matrix, positions, near-kernel, constraints |
//! | [`parse`](Problem::parse) | a problem from its name as text |
//! | [`parts`](Parts) | a problem in parts, for processes that each have some of its rows |
//! | `names` | the names of all systems and sequences |
//! | [`sequence`](Sequence) | systems that change from step to step |
//! | [`numpy_random`](NumpyRandom) | NumPy's random numbers |
//! | [`scrambled`](scrambled()) | a matrix with shuffled nodes and scaled unknowns |
//! | `grid`, `rows`, `by_rows` | numbered grids of points, assembly row by row, systems whose rows are independent |
//! | [`error`](ProblemError) | errors of the gallery |

mod anisotropic;
mod by_rows;
mod cloth;
mod elasticity;
mod elements;
mod error;
mod garment;
mod graph;
mod grid;
mod jump;
mod names;
mod numpy_random;
mod parse;
mod parts;
mod pinned;
mod poisson;
mod problem;
mod rows;
mod scene;
mod scrambled;
mod sequence;
mod softbody;

pub use anisotropic::anisotropic2d;
pub use cloth::cloth;
pub use elasticity::elasticity3d;
pub use error::ProblemError;
pub use garment::garment;
pub use graph::graph;
pub use jump::jump3d;
pub use numpy_random::NumpyRandom;
pub use parts::{Part, Parts};
pub use pinned::pinned;
pub use poisson::{poisson2d, poisson3d};
pub use problem::{Options, Problem, random_rows, random_vector};
pub use scene::Scene;
pub use scrambled::scrambled;
pub use sequence::Sequence;
pub use softbody::{Material, softbody, softcube};
