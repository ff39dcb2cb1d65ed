//! A backend that is chosen at run time.
//!
//! | file | contents |
//! |---|---|
//! | `any_backend` | the backend |
//! | `backend` | the operations of the backend as a backend |
//! | `choice` | the choice of the backend, by name, machine and environment |
//! | `vector` | vectors and scalars on any backend |
//! | `matrix` | matrices, blocks and row sets on any backend |
//! | `operand` | what an operand holds on the backend of the others |
//! | `smoother`, `transfer` | smoothers and transfers of the CPU, for vectors of any backend |
//! | `domains` | multilevel domains on any backend |

/// Evaluates an expression with what `$any` holds on its backend; `$kind` names the variant of the result.
macro_rules! dispatch {
    ($any:expr, $own:ident => $call:expr) => {
        match $any {
            Self::Cpu($own) => $call,
            #[cfg(feature = "opencl")]
            Self::OpenCl($own) => $call,
        }
    };
    ($any:expr, $own:ident, $kind:ident as $wrap:ident => $call:expr) => {
        match $any {
            Self::Cpu($own) => {
                let $wrap = $kind::Cpu;
                $call
            }
            #[cfg(feature = "opencl")]
            Self::OpenCl($own) => {
                let $wrap = $kind::OpenCl;
                $call
            }
        }
    };
}

mod any_backend;
mod backend;
mod choice;
mod domains;
mod matrix;
mod operand;
mod smoother;
mod transfer;
mod vector;

pub use any_backend::AnyBackend;
pub use choice::{BackendChoice, Unavailable};
pub use matrix::{AnyBlocks, AnyMatrix, AnyRows};
pub use vector::{AnyScalar, AnyVector};
