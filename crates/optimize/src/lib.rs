//! Minimisation of smooth functions of many variables, around any preconditioner.
//!
//! A [`Descent`] joins a [`Direction`] (where to) and a [`LineSearch`] (how far). Every linear method of the workspace becomes
//! a part of a direction: the initial inverse Hessian of [`Lbfgs`], the metric of [`NonlinearCg`], the inner solve of
//! [`Newton`]. All is written against the vectors of `coarsen-core`, so one text runs on `Vec<f64>`, `Vec<f32>` and devices.
//!
//! | file | what |
//! |---|---|
//! | [`descent`](Descent) | the loop; `run` counts and judges, `ray` evaluates along a line |
//! | [`direction`](Direction) | the signature of every direction |
//! | [`gradient`](Gradient) | steepest descent; a constant factored matrix |
//! | [`conjugate`](NonlinearCg) | nonlinear conjugate gradients |
//! | [`accelerated`](AcceleratedGradient) | Chebyshev acceleration |
//! | [`lbfgs`](Lbfgs) | L-BFGS: the first choice |
//! | [`newton`](Newton) | Newton's method with iterative inner solves |
//! | [`constant`](Constant) | a constant matrix with an inner solve |
//! | [`or_else`](OrElse) | a direction for where another one fails |
//! | [`linearize`](Linearize) | objectives with a Hessian |
//! | [`refresh`](Refresh) | when a preconditioner follows the objective |
//! | [`line_search`](LineSearch) | the signature of every line search |
//! | [`backtracking`](Backtracking) | sufficient decrease |
//! | [`more_thuente`](MoreThuente) | strong Wolfe conditions |
//! | [`check`](check_gradient) | whether a gradient and a Hessian are those of f |
//! | [`by_duals`](check_gradient_by_duals) | the same checks by dual numbers, exact to round-off |
//! | [`norm`](Norm) | how gradients are measured |
//! | [`monitor`](DescentMonitor) | who looks on |
//! | [`report`](DescentReport) | how it ended |
//! | [`rosenbrock`](Rosenbrock) | a valley to try a method in |
//! | [`error`](DescentError) | when the machine, the input or a Hessian failed |

mod accelerated;
mod backtracking;
mod by_duals;
mod check;
mod conjugate;
mod constant;
mod descent;
mod direction;
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
pub use coarsen_core::{Dual, Objective};
pub use conjugate::{Beta, NonlinearCg};
pub use constant::Constant;
pub use descent::Descent;
pub use direction::{Direction, Proposal};
pub use error::DescentError;
pub use gradient::Gradient;
pub use lbfgs::Lbfgs;
pub use line_search::{LineSearch, LineSearchFailure, Ray, Start, Step};
pub use linearize::{Linearize, Linearized};
pub use monitor::{DescentHistory, DescentMonitor, Iterate, Verdict};
pub use more_thuente::MoreThuente;
pub use newton::{Forcing, Newton};
pub use norm::{Norm, node_weights};
pub use or_else::OrElse;
pub use refresh::{Preconditioned, Refresh, Refreshed};
pub use report::{Criterion, DescentOutcome, DescentReport, Minimized, NotMinimized, Refusal};
pub use rosenbrock::Rosenbrock;
