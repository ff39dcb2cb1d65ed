//! Relaxation: cheap preconditioners that see a row and its neighbours, and the smoothers of every multilevel method.
//!
//! Each file holds a recipe (a plain struct of parameters) and what it builds. All work on blocks: the block size is that of the
//! matrix. [`Jacobi`] is the file to copy for a new one.
//!
//! | file | what | places |
//! |---|---|---|
//! | [`jacobi`](Jacobi) | D⁻¹, damped or l1, on scalars | any |
//! | [`block_jacobi`](BlockJacobi) | the same on blocks | any |
//! | [`chebyshev`](Chebyshev) | a polynomial in D⁻¹A | any |
//! | [`gauss_seidel`](GaussSeidel) | symmetric Gauss-Seidel and SSOR | any |
//! | [`incomplete`](Ilu0) | [`Ic0`] and [`Ilu0`]: factors on the pattern of A | host |

mod block_jacobi;
mod chebyshev;
mod gauss_seidel;
mod incomplete;
mod jacobi;

pub use block_jacobi::{BlockDiagonal, BlockJacobi};
pub use chebyshev::{Chebyshev, ChebyshevPolynomial};
pub use gauss_seidel::{GaussSeidel, SymmetricSweep};
pub use incomplete::{Ic0, Ilu0, IncompleteFactor};
pub use jacobi::{Diagonal, Jacobi};
