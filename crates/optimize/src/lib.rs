//! Minimisation of smooth functions of many variables, with any preconditioner.
//!
//! A [`Descent`] combines a [`Direction`] and a [`LineSearch`]. Every linear method of the workspace can be
//! part of a direction: as the initial inverse Hessian of [`Lbfgs`], as the metric of [`NonlinearCg`], or as
//! the inner solve of [`Newton`]. The code uses only the vector traits of `coarsen-core`, so it runs on
//! `Vec<f64>`, `Vec<f32>` and device vectors.
//!
//! | file | what |
//! |---|---|
//! | [`descent`](Descent) | the loop; `run`: counters and stopping tests; `ray`: evaluation along a line |
//! | [`direction`](Direction) | the trait of directions |
//! | [`gradient`](Gradient) | steepest descent, and a constant factored matrix |
//! | [`conjugate`](NonlinearCg) | nonlinear conjugate gradients |
//! | [`accelerated`](AcceleratedGradient) | Chebyshev acceleration |
//! | [`lbfgs`](Lbfgs) | L-BFGS, the first choice |
//! | [`newton`](Newton) | Newton's method with iterative inner solves |
//! | [`constant`](Constant) | a constant matrix with an inner solve |
//! | [`or_else`](OrElse) | a direction with a fallback |
//! | [`linearize`](Linearize) | objectives with a Hessian |
//! | [`refresh`](Refresh) | policies for updating a preconditioner |
//! | [`line_search`](LineSearch) | the trait of line searches |
//! | [`backtracking`](Backtracking) | sufficient decrease |
//! | [`more_thuente`](MoreThuente) | strong Wolfe conditions |
//! | [`check`](check_gradient) | checks of gradients and Hessians by finite differences |
//! | [`by_duals`](check_gradient_by_duals) | the same checks by dual numbers, exact up to round-off |
//! | [`dual`](Dual) | numbers that carry a derivative |
//! | [`norm`](Norm) | the norm of gradients |
//! | [`monitor`](DescentMonitor) | functions called while a descent runs |
//! | [`report`](DescentReport) | how a descent ended |
//! | [`rosenbrock`](Rosenbrock) | Rosenbrock's test function |
//! | [`error`](DescentError) | failures of the machine, of the input or of a Hessian |

mod accelerated;
mod backtracking;
mod by_duals;
mod check;
mod conjugate;
mod constant;
mod descent;
mod direction;
mod dual;
mod error;
mod gradient;
mod lbfgs;
mod line_search;
mod linearize;
mod monitor;
mod more_thuente;
mod newton;
mod norm;
mod or_else;
mod ray;
mod refresh;
mod report;
mod rosenbrock;
mod run;

pub use accelerated::AcceleratedGradient;
pub use backtracking::Backtracking;
pub use by_duals::{check_gradient_by_duals, check_hessian_by_duals};
pub use check::{Disagreement, check_gradient, check_hessian};
pub use coarsen_core::Accepted;
pub use coarsen_core::Objective;
pub use conjugate::{Beta, NonlinearCg};
pub use constant::Constant;
pub use descent::Descent;
pub use direction::{Direction, Proposal};
pub use dual::Dual;
pub use error::DescentError;
pub use gradient::Gradient;
pub use lbfgs::Lbfgs;
pub use line_search::{LineSearch, LineSearchFailure, Start, Step};
pub use linearize::{Linear, Linearize, Linearized};
pub use monitor::{DescentHistory, DescentMonitor, Iterate, Verdict};
pub use more_thuente::MoreThuente;
pub use newton::{Forcing, Newton};
pub use norm::{Norm, grid_weights, node_weights};
pub use or_else::OrElse;
pub use refresh::{Refresh, Refreshed};
pub use report::{Criterion, DescentOutcome, DescentReport, NotMinimized, Refusal};
pub use rosenbrock::Rosenbrock;
