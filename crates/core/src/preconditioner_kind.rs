//! What a method may rely on in a preconditioner.

/// Properties of a preconditioner that a Krylov method may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreconditionerKind {
    /// At every application the same symmetric positive (semi-)definite linear map. Required by `Cg` and
    /// `Minres`.
    Symmetric,
    /// At every application the same linear map. Required by `Gmres` and `BiCgStab`.
    Linear,
    /// Any other map (K-cycles, inner iterations). Only `FlexibleCg`, flexible `Gmres` and `Lbfgs` accept it.
    Variable,
}

impl PreconditionerKind {
    /// The end of an error message for a method that requires the kind `needed`: what this preconditioner is
    /// instead, and the methods that accept it.
    pub(crate) fn instead_of(self, needed: PreconditionerKind) -> &'static str {
        match (self, needed) {
            (Self::Variable, Self::Symmetric) => {
                "may change from one application to the next; take FlexibleCg for symmetric positive definite A or flexible Gmres for any A, or a fixed preconditioner"
            }
            (Self::Variable, _) => {
                "may change from one application to the next; take Gmres with its field flexible set, or a fixed preconditioner"
            }
            (Self::Linear, Self::Symmetric) => {
                "is not known to be symmetric positive definite (an unsymmetric or indefinite matrix, or one-sided sweeps); take Gmres or BiCgStab with it, or a symmetric preconditioner where A is symmetric positive definite"
            }
            _ => "is one",
        }
    }
}
