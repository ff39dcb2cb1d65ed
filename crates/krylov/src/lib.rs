//! Krylov methods that never lie about convergence.
//!
//! Each method is one file that reads like its paper; what they share is in two: [`Krylov`] is the signature, `watch` the
//! judgement (looks, restarts from the true residual, the outcome). They are written against the traits of
//! `coarsen-core` alone, so one text runs on host vectors, device vectors and distributed ones.
//!
//! | file | what |
//! |---|---|
//! | [`krylov`](Krylov) | the signature of every method |
//! | [`cg`](Cg) | symmetric positive definite A, fixed M: the file to copy for a new method |
//! | `start` | what is checked before the first write; vectors kept between solves |
//! | `watch` | who decides that a solve ends, and how |
//! | `tridiagonal` | the eigenvalues of a Lanczos matrix by Sturm sequences |

mod cg;
mod krylov;
mod start;
mod tridiagonal;
mod watch;

pub use cg::Cg;
pub use krylov::Krylov;
