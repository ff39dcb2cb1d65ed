//! Direct solves: sparse Cholesky, LDLᵀ and LU, and dense pseudo-inverses for coarse grids; by faer, or by
//! code of our own.
//!
//! [`Direct`] looks at a matrix, takes the cheapest factorisation that fits it and says which; the [`Factor`]
//! solves with iterative refinement, is a preconditioner, and follows new values on the same pattern. Both
//! are recipes of preconditioners ([`Setup`](coarsen_backend::Setup)) as well: `build` instead of `factor`
//! and `invert`. Everything is factored in `f64` whatever the matrix holds, and on the calling thread: the
//! same bits at any thread count.
//!
//! With the feature `faer`, which is on by default, faer does the work, and [`Engine::Own`] asks for our own
//! code by name. Without it our own code does all of it, and nothing of faer is built. Everything public is
//! the same.
//!
//! | file | what |
//! |---|---|
//! | [`direct`](Direct) | chooses the factorisation |
//! | [`method`](Method) | the factorisations to choose from |
//! | [`analysis`](Analysis) | the matrix ordered, and not yet factored |
//! | [`factor`](Factor) | the factored matrix: solve, apply, update |
//! | `factorization` | what Cholesky, LDLᵀ and LU have in common |
//! | [`dense`](Dense) | A⁺ of small matrices, singular ones included |
//! | `spectral` | what A⁺ asks of an engine |
//! | [`engine`](Engine) | whose code does the work |
//! | `own` | our own factors and spectra |
//! | `by_faer` | those of faer |
//! | `refine` | iterative refinement, and the trial solve |
//! | `check` | what a matrix must be |
//! | `setup` | factors and inverses as preconditioners that follow their system |
//! | [`error`](DirectError) | what cannot be factored, and why |

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
pub use factorization::{Figures, Inertia};
pub use method::Method;
pub use refine::Solved;
