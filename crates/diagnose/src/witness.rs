//! What is known about definiteness, and what proves it.

use std::fmt;

/// What is known about the eigenvalues of a symmetric matrix without computing any.
#[derive(Clone, Debug, PartialEq)]
pub enum Definiteness {
    /// All eigenvalues are positive: a positive diagonal that dominates everywhere, and strictly somewhere in each connected
    /// component (Gershgorin; Varga 2000, Theorem 1.21), up to round-off.
    Positive,
    /// All eigenvalues are negative, in the same way.
    Negative,
    /// The diagonal is positive and nothing speaks against positive definiteness.
    MaybePositive,
    /// The diagonal is negative and nothing speaks against negative definiteness.
    MaybeNegative,
    /// There are positive and negative eigenvalues.
    Indefinite(Witness),
    /// There are zeros on the diagonal, in empty rows, or no rows: nothing can be said.
    Unknown,
    /// The matrix is not symmetric.
    Unsymmetric,
}

/// What proves that a symmetric matrix is indefinite. Rows are scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Witness {
    /// Diagonal entries of both signs.
    Diagonal {
        /// A row with a positive diagonal entry.
        positive: usize,
        /// A row with a negative one.
        negative: usize,
    },
    /// a_ij² > a_ii a_jj: the 2x2 minor is negative.
    Pair {
        /// The rows i and j.
        rows: (usize, usize),
        /// a_ij² / (a_ii a_jj), the largest of all pairs; infinite for a zero diagonal.
        ratio: f64,
    },
    /// a_ij² = a_ii a_jj, so that x = a_jj e_i − a_ij e_j has xᵀ A x = 0, but (A x)_k ≠ 0: the 3x3 minor is negative.
    Triple {
        /// The rows i, j and k.
        rows: (usize, usize, usize),
    },
}

impl fmt::Display for Definiteness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Positive => "positive definite by diagonal dominance",
            Self::Negative => "negative definite by diagonal dominance",
            Self::MaybePositive => "positive diagonal, possibly positive definite",
            Self::MaybeNegative => "negative diagonal, possibly negative definite",
            Self::Indefinite(_) => "indefinite",
            Self::Unknown => "signs of eigenvalues unknown",
            Self::Unsymmetric => "signs of eigenvalues not looked at",
        })
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diagonal { positive, negative } => {
                write!(f, "the diagonal is positive in row {positive} and negative in row {negative}")
            }
            Self::Pair { rows: (i, j), ratio } => {
                write!(
                    f,
                    "rows {i} and {j} have a_ij^2 = {ratio:.3} a_ii a_jj, more than a definite matrix allows"
                )
            }
            Self::Triple { rows: (i, j, k) } => {
                write!(f, "the minor of rows {i}, {j} and {k} is negative")
            }
        }
    }
}
