//! Definiteness, and proofs of indefiniteness.

use std::fmt;

/// The signs of the eigenvalues of a symmetric matrix, as far as they are known without computing
/// eigenvalues.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Definiteness {
    /// All eigenvalues are positive. Up to round-off, the diagonal is positive and dominant in every row, and
    /// strictly dominant in a row of each connected component (Gershgorin; Varga 2000, Theorem 1.21).
    Positive,
    /// All eigenvalues are negative, by the same criterion.
    Negative,
    /// The diagonal is positive, and no criterion excludes positive definiteness.
    MaybePositive,
    /// The diagonal is negative, and no criterion excludes negative definiteness.
    MaybeNegative,
    /// There are positive and negative eigenvalues.
    Indefinite(Witness),
    /// The diagonal has zeros, there are empty rows, or there are no rows.
    Unknown,
    /// The matrix is not symmetric.
    Unsymmetric,
}

/// A proof that a symmetric matrix is indefinite. Rows are scalar.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Witness {
    /// Diagonal entries of both signs.
    Diagonal {
        /// A row with a positive diagonal entry.
        positive: usize,
        /// A row with a negative diagonal entry.
        negative: usize,
    },
    /// a_ij² > a_ii a_jj: the 2x2 minor is negative.
    Pair {
        /// The rows i and j.
        rows: (usize, usize),
        /// a_ij² / (a_ii a_jj), the largest among all pairs; infinite for a zero diagonal entry.
        ratio: f64,
    },
    /// The 3x3 minor is negative: a_ij² = a_ii a_jj, so x = a_jj e_i − a_ij e_j has xᵀ A x = 0, but (A x)_k ≠
    /// 0.
    Triple {
        /// The rows i, j and k.
        rows: (usize, usize, usize),
    },
}

impl Witness {
    /// Replaces each row i by `of(i)`, such as a permuted row.
    pub fn renumber(&mut self, of: impl Fn(usize) -> usize) {
        let rows: &mut [&mut usize] = match self {
            Self::Diagonal { positive, negative } => &mut [positive, negative],
            Self::Pair { rows: (i, j), .. } => &mut [i, j],
            Self::Triple { rows: (i, j, k) } => &mut [i, j, k],
        };
        rows.iter_mut().for_each(|row| **row = of(**row));
    }
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
            Self::Unsymmetric => "signs of eigenvalues not determined",
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
                    "rows {i} and {j} have a_ij^2 = {ratio:.3} a_ii a_jj, but a definite matrix requires \
                     a_ij^2 < a_ii a_jj"
                )
            }
            Self::Triple { rows: (i, j, k) } => {
                write!(f, "the minor of rows {i}, {j} and {k} is negative")
            }
        }
    }
}
