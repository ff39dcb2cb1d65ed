//! The factorisations to choose from.

/// A factorisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The cheapest that fits: Cholesky for symmetric matrices with a positive diagonal, LDLᵀ for other
    /// symmetric ones or where Cholesky fails or is not accurate, LU for unsymmetric ones or where LDLᵀ is
    /// not accurate.
    #[default]
    Auto,
    /// A = L Lᵀ: symmetric positive definite matrices.
    Cholesky,
    /// A = L B Lᵀ with pivots of order 1 and 2: symmetric indefinite matrices. Gives the inertia.
    /// Our own sparse factorisation (more than 1000 unknowns) uses pivots of order 1 without exchanges, and
    /// refuses a small one ([`DirectError::SmallPivot`](crate::DirectError::SmallPivot)).
    Ldlt,
    /// A = L U with row exchanges: any nonsingular matrix, at 2 to 7 times the cost of Cholesky.
    Lu,
}
