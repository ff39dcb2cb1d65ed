//! Relaxation: cheap preconditioners that see a row and its neighbours, and the smoothers of every multilevel method.
//!
//! Each file holds a recipe (a plain struct of parameters) and what it builds. All work on blocks: the block size is that of the
//! matrix. [`Jacobi`] is the file to copy for a new one.
//!
//! | file | what | places |
//! |---|---|---|
//! | [`jacobi`](Jacobi) | D⁻¹, damped or l1, on scalars | any |
//! | [`block_jacobi`](BlockJacobi) | the same on blocks | any |
//! | [`chebyshev`](Chebyshev) | a polynomial in M A, M block Jacobi or SPAI-0; of degree 1 a step whose damping is found, the cheapest smoother | any |
//! | [`gauss_seidel`](GaussSeidel) | symmetric Gauss-Seidel and SSOR | any |
//! | [`matrix_free`](MatrixFreeChebyshev) | Jacobi and Chebyshev for operators without a matrix | any |
//! | [`incomplete`](Ilu0) | [`Ic0`] and [`Ilu0`]: factors on the pattern of A | host |
//! | [`spai0`](Scaling::Spai0) | the block diagonal closest to A⁻¹ | host |
//! | `checks` | what every recipe asks of a matrix before it reads it | host |
//! | [`spectrum`](Spectrum) | a bound of ρ(D⁻¹A) | host |
//!
//! What a sweep of a smoother reads, in passes over A (the vectors of a pass come with it): a smoother runs from a zero guess before
//! the coarse correction and from the guess there is after it, and the residual between them reads A once more.
//!
//! | smoother | from zero | else |
//! |---|---|---|
//! | [`Chebyshev`] of degree m | m − 1 | m |
//! | [`GaussSeidel`], k sweeps forward or backward | k | k |

mod block_jacobi;
mod chebyshev;
mod checks;
mod gauss_seidel;
mod incomplete;
mod jacobi;
mod matrix_free;
mod spai0;
mod spectrum;

pub use block_jacobi::{BlockDiagonal, BlockJacobi};
pub use chebyshev::{Chebyshev, ChebyshevPolynomial, Scaling};
pub use gauss_seidel::{GaussSeidel, SymmetricSweep};
pub use incomplete::{Ic0, Ilu0, IncompleteFactor};
pub use jacobi::{Diagonal, Jacobi};
pub use matrix_free::{DiagonalScaling, MatrixFreeChebyshev};
pub use spectrum::Spectrum;
