//! Relaxation: cheap preconditioners that combine a row with its neighbours. They are the smoothers of all
//! multilevel methods.
//!
//! Each file contains a struct of parameters and the object that it builds. All methods work
//! on blocks of the matrix's block size. Copy [`Chebyshev`] for a new smoother and [`Jacobi`] for a new
//! preconditioner.
//!
//! | file | what | backends |
//! |---|---|---|
//! | [`jacobi`](Jacobi) | D⁻¹, damped or l1, on scalars | any |
//! | [`block_jacobi`](BlockJacobi) | D⁻¹, damped or l1, on blocks | any |
//! | [`damped_jacobi`](DampedJacobi) | damped block Jacobi with a computed ω, the cheapest smoother: Chebyshev of degree 1 | any |
//! | [`spai0`](Spai0) | damped steps with the block diagonal closest to A⁻¹ | any; setup on the host |
//! | [`chebyshev`](Chebyshev) | a polynomial in M A, where M is block Jacobi or SPAI-0 | any |
//! | [`gauss_seidel`](GaussSeidel) | symmetric Gauss-Seidel and SSOR | any |
//! | [`matrix_free`](MatrixFreeChebyshev) | Jacobi and Chebyshev for operators without a matrix | any |
//! | [`incomplete`](Ilu0) | [`Ic0`] and [`Ilu0`]: factors on the pattern of A | host |
//! | `checks` | checks of matrices and parameters, and the update in two phases | host |
//! | [`spectrum`](Spectrum) | a bound of ρ(D⁻¹A) | host |
//!
//! The second table counts the passes per step of a smoother. A pass reads A and some vectors. A step starts
//! from zero before the coarse correction and from a guess after it. The residual between the two steps needs
//! one more pass.
//!
//! | smoother | from zero | from a guess |
//! |---|---|---|
//! | [`DampedJacobi`], [`Spai0`] | 0 | 1 |
//! | [`Chebyshev`] of degree m | m − 1 | m |
//! | [`GaussSeidel`], k sweeps forward or backward | k | k |

mod block_jacobi;
mod chebyshev;
mod checks;
mod damped_jacobi;
mod gauss_seidel;
mod incomplete;
mod jacobi;
mod matrix_free;
mod spai0;
mod spectrum;

pub use block_jacobi::{BlockDiagonal, BlockJacobi};
pub use chebyshev::{Chebyshev, ChebyshevPolynomial, Scaling};
pub use damped_jacobi::DampedJacobi;
pub use gauss_seidel::{GaussSeidel, SymmetricGaussSeidel};
pub use incomplete::{Ic0, Ilu0, IncompleteFactor};
pub use jacobi::{Diagonal, Jacobi};
pub use matrix_free::{DiagonalScaling, MatrixFreeChebyshev};
pub use spai0::Spai0;
pub use spectrum::Spectrum;
