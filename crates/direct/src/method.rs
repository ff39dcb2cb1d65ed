//! The factorisations to choose from.

/// A factorisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The cheapest suitable factorisation: Cholesky for symmetric matrices whose diagonal is positive, or negative;
    /// LDLᵀ for other symmetric matrices, or if Cholesky fails or is not accurate; LU for unsymmetric matrices, or
    /// if LDLᵀ is not accurate.
    #[default]
    Auto,
    /// A = L Lᵀ, for symmetric positive definite matrices, or −A = L Lᵀ where the whole diagonal is negative.
    Cholesky,
    /// A = L D Lᵀ with pivots of order 1 and 2, for symmetric indefinite matrices. Gives the inertia. For
    /// more than 1000 unknowns [`Engine::Own`](crate::Engine::Own) uses pivots of order 1 without exchanges,
    /// and a small pivot is an error ([`DirectError::SmallPivot`](crate::DirectError::SmallPivot)).
    Ldlt,
    /// A = L U with row exchanges, for any nonsingular matrix; 2 to 7 times the cost of Cholesky.
    Lu,
}
