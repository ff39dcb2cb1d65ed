//! Direct solves: sparse Cholesky, LDLᵀ and LU by faer, and dense pseudo-inverses for coarse grids.
//!
//! [`Direct`] looks at a matrix, takes the cheapest factorisation that fits it and says which; the [`Factor`] solves with
//! iterative refinement, is a preconditioner, and follows new values on the same pattern. Both are recipes of
//! preconditioners ([`Setup`](coarsen_backend::Setup)) as well: `build` instead of `factor` and `invert`. Everything is factored in `f64`
//! whatever the matrix holds, and on the calling thread: the same bits at any thread count.
//!
//! | file | what |
//! |---|---|
//! | [`direct`](Direct) | chooses the factorisation |
//! | [`analysis`](Analysis) | the matrix ordered, and not yet factored |
//! | [`factor`](Factor) | the factored matrix: solve, apply, update |
//! | `factorization` | what Cholesky, LDLᵀ and LU have in common |
//! | `cholesky` | A = L Lᵀ for symmetric positive definite A |
//! | `ldlt` | A = L B Lᵀ for symmetric A, pivots of order 1 and 2 |
//! | `lu` | A = L U with row exchanges, for everything else |
//! | [`dense`](Dense) | A⁺ of small matrices, singular ones included |
//! | `columns` | block matrices as scalar columns, and their ordering |
//! | `products` | room for dense products, asked for where it may be refused |
//! | `refine` | iterative refinement, and the trial solve |
//! | `check` | what a matrix must be, and room for its factor |
//! | `setup` | factors and inverses as preconditioners that follow their system |
//! | [`error`](DirectError) | what cannot be factored, and why |

mod analysis;
mod check;
mod cholesky;
mod columns;
mod dense;
mod direct;
mod error;
mod factor;
mod factorization;
mod ldlt;
mod lu;
mod products;
mod refine;
mod setup;

pub use analysis::Analysis;
pub use dense::{Dense, PseudoInverse};
pub use direct::{Direct, Method};
pub use error::DirectError;
pub use factor::Factor;
pub use factorization::{Figures, Inertia};
pub use refine::Solved;
