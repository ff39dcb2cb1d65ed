//! Direct solves: sparse Cholesky, LDLᵀ and LU, and dense pseudo-inverses for coarse grids; by the crate faer, or by
//! built-in code.
//!
//! [`Direct`] chooses the cheapest factorisation for a matrix. The [`Factor`] reports the method, solves with
//! iterative refinement, is a preconditioner, and can be updated with new values on the same pattern.
//! [`Direct`] and [`Dense`] are also parameters of preconditioners ([`Setup`](coarsen_backend::Setup)), with
//! `build` instead of `factor` and `invert`. Every matrix is factored in `f64` and on the calling thread, so
//! the result has the same bits for any number of threads.
//!
//! The feature `faer`, on by default, uses faer unless [`Engine::Own`] is set. Without this feature the built-in code
//! is always used. The public interface is the same.
//!
//! | file | what |
//! |---|---|
//! | [`direct`](Direct) | the choice of the factorisation |
//! | [`method`](Method) | the factorisations to choose from |
//! | [`analysis`](Analysis) | the matrix ordered but not yet factored |
//! | [`factor`](Factor) | the factored matrix: solve, apply, update |
//! | `factorization` | the trait of Cholesky, LDLᵀ and LU, their pivots and sizes |
//! | `front` | the elimination of a dense symmetric matrix, or of a part of one, by pivots of order 1 and 2 |
//! | [`dense`](Dense) | A⁺ of small matrices, also singular ones |
//! | `spectral` | the decompositions for A⁺ |
//! | [`engine`](Engine) | faer, or the built-in code |
//! | `own` | built-in factorisations and eigenvalues |
//! | `by_faer` | factorisations and eigenvalues by faer |
//! | `refine` | iterative refinement, and the test solve |
//! | `check` | checks of a matrix before its factorisation |
//! | `setup` | factors and inverses as preconditioners that are updated with their system |
//! | [`error`](DirectError) | errors of factorisations and direct solves |

mod analysis;
#[cfg(feature = "faer")]
mod by_faer;
mod check;
mod dense;
mod direct;
mod engine;
mod error;
mod factor;
mod factorization;
mod front;
mod method;
mod own;
mod refine;
mod setup;
mod spectral;

pub use analysis::Analysis;
pub use dense::{Dense, PseudoInverse};
pub use direct::Direct;
pub use engine::Engine;
pub use error::DirectError;
pub use factor::Factor;
pub use factorization::{FactorStats, Inertia};
pub use method::Method;
pub use refine::Solved;
