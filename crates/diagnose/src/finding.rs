//! Findings, with severity and remedy.

use std::fmt;

use coarsen_sparse::Bsr;

use super::{Triangle, Witness};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Useful for the choice of a method.
    Note,
    /// Some methods fail or are slow.
    Warning,
    /// No method can solve this system.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A sample of scalar rows: the number of rows and the first few of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The number of rows.
    pub count: usize,
    /// The first rows, at most five.
    pub rows: Vec<usize>,
}

/// The maximum number of rows that a sample lists.
const NAMED: usize = 5;

impl Sample {
    /// A sample of the given rows; `None` without rows.
    pub(super) fn of(rows: impl Iterator<Item = usize>) -> Option<Self> {
        let mut sample = Self::default();
        rows.for_each(|row| sample.add(row));
        sample.found()
    }

    /// Adds a row after those of the sample.
    pub(super) fn add(&mut self, row: usize) {
        self.count += 1;
        if self.rows.len() < NAMED {
            self.rows.push(row);
        }
    }

    /// The sample, if it has rows.
    pub(super) fn found(&self) -> Option<Self> {
        (self.count > 0).then(|| self.clone())
    }

    /// Joins a sample of some rows and a sample of others.
    pub(super) fn join(mut self, other: Self) -> Self {
        self.count += other.count;
        self.rows.extend(other.rows);
        self.rows.sort_unstable();
        self.rows.truncate(NAMED);
        self
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", if self.count == 1 { "row" } else { "rows" }, self.rows[0])?;
        self.rows[1..].iter().try_for_each(|row| write!(f, ", {row}"))?;
        f.write_str(if self.count > self.rows.len() { ", ...)" } else { ")" })
    }
}

/// A property of a matrix that is reported before solving. Rows and columns are scalar, numbered from 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Finding {
    /// Different numbers of rows and columns, or blocks that are not square.
    NotSquare {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        columns: usize,
    },
    /// NaN or infinity.
    NotFinite {
        /// The rows with such values.
        rows: Sample,
        /// The first column that contains such a value, in the first of these rows.
        column: usize,
    },
    /// Rows without nonzero entries: the matrix is singular.
    EmptyRows(Sample),
    /// Zero or missing diagonal entries, in rows that are not empty.
    ZeroDiagonal(Sample),
    /// Some, but not all, diagonal entries are negative.
    NegativeDiagonal(Sample),
    /// All diagonal entries are negative.
    AllNegative,
    /// Off the diagonal, only one triangle has nonzeros.
    OneTriangle(Triangle),
    /// Values are prescribed by huge diagonal entries: [`Values::prescribed`](super::Values::prescribed).
    Prescribed(Sample),
    /// A is unsymmetric because constraints replaced rows but not columns.
    OneSidedConstraints(Sample),
    /// A is not symmetric.
    Unsymmetric {
        /// The pair (i, j) with the largest relative difference.
        pair: (usize, usize),
        /// a_ij and a_ji.
        values: (f64, f64),
        /// |a_ij − a_ji| relative to max(|a_ij|, |a_ji|, (|a_ii a_jj|)^½).
        relative: f64,
        /// The number of nonzeros a_ij with a_ji = 0.
        one_sided: usize,
    },
    /// A is symmetric only up to a small relative difference.
    NearlySymmetric {
        /// The largest relative difference, as in [`Unsymmetric`](Self::Unsymmetric).
        relative: f64,
    },
    /// A is symmetric, and neither positive nor negative semidefinite.
    Indefinite(Witness),
    /// Connected components with vanishing row sums. Constants are in the kernel, so the matrix is singular.
    Unconstrained {
        /// The number of such components.
        components: usize,
        /// One row of each of the first few components.
        rows: Sample,
    },
    /// A diagonal that spans many orders of magnitude. Rows with only a diagonal entry are excluded.
    Scale {
        /// The smallest |a_ii| and its row.
        least: (usize, f64),
        /// The largest |a_ii| and its row.
        most: (usize, f64),
    },
    /// Identity rows, usually from Dirichlet conditions.
    Fixed(Sample),
    /// Rows whose only nonzero is a diagonal entry other than 1.
    DiagonalOnly(Sample),
    /// Rows with Σ|a_ij| > |a_ii|.
    NotDominant {
        /// The number of these rows as a fraction of all rows.
        share: f64,
        /// These rows.
        rows: Sample,
    },
    /// Off-diagonal entries with the sign of the diagonal. A is then not an M-matrix.
    PositiveOffDiagonal {
        /// The number of these entries as a fraction of the nonzero off-diagonal entries.
        share: f64,
        /// The rows with such entries.
        rows: Sample,
    },
    /// Several unconnected components. Components of a single row are not counted.
    Components {
        /// The number of components with several rows.
        count: usize,
        /// The number of block rows in the largest component.
        largest: usize,
    },
    /// A scalar matrix that should be stored in blocks.
    Blocks {
        /// The block size.
        size: usize,
        /// The fraction of the entries of these blocks that is stored.
        fill: f64,
    },
    /// A nearly dense matrix, for which dense methods are faster.
    Dense {
        /// The number of stored entries as a fraction of all entries.
        density: f64,
    },
}

impl Finding {
    /// The severity.
    pub fn severity(&self) -> Severity {
        match self {
            Self::NotSquare { .. } | Self::NotFinite { .. } | Self::EmptyRows(_) => Severity::Error,
            Self::ZeroDiagonal(_)
            | Self::NegativeDiagonal(_)
            | Self::OneTriangle(_)
            | Self::Prescribed(_)
            | Self::OneSidedConstraints(_)
            | Self::Unsymmetric { .. }
            | Self::Indefinite(_)
            | Self::Unconstrained { .. }
            | Self::Scale { .. } => Severity::Warning,
            Self::AllNegative
            | Self::NearlySymmetric { .. }
            | Self::Fixed(_)
            | Self::DiagonalOnly(_)
            | Self::NotDominant { .. }
            | Self::PositiveOffDiagonal { .. }
            | Self::Components { .. }
            | Self::Blocks { .. }
            | Self::Dense { .. } => Severity::Note,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSquare { rows, columns } => {
                write!(
                    f,
                    "{rows} rows and {columns} columns; solve the normal equations, or a least-squares \
                     problem"
                )
            }
            Self::NotFinite { rows, column } => {
                write!(f, "NaN or infinity in {} {rows}, first in column {column}; ", rows.count)?;
                f.write_str("check the code that computed it")
            }
            Self::EmptyRows(rows) => {
                write!(f, "{} empty {rows}: the matrix is singular; ", rows.count)?;
                f.write_str("remove these unknowns, or set their diagonal to 1")
            }
            Self::ZeroDiagonal(rows) => {
                write!(f, "zero diagonal in {} {rows}; Jacobi, Gauss-Seidel and incomplete ", rows.count)?;
                f.write_str(
                    "factors require a nonzero diagonal; use a direct method, or MINRES \
                     or GMRES without these preconditioners",
                )
            }
            Self::NegativeDiagonal(rows) => {
                write!(f, "negative diagonal in {} {rows}, positive elsewhere: not definite; ", rows.count)?;
                f.write_str("use MINRES, GMRES or a direct method, or check the assembly for a sign error")
            }
            Self::AllNegative => f.write_str(
                "every diagonal entry is negative, so -A may be positive definite; -A is then factored by \
                 Cholesky, and CG solves -A x = -b",
            ),
            Self::OneTriangle(triangle) => {
                let (stored, missing) = match triangle {
                    Triangle::Lower => ("below", "above"),
                    Triangle::Upper => ("above", "below"),
                };
                write!(
                    f,
                    "only one triangle is stored: there are nonzeros {stored} the diagonal, but none {missing} it; "
                )?;
                f.write_str(
                    "if A is symmetric, store both triangles, or declare the file symmetric and store the lower one; \
                     a triangular A is solved by substitution",
                )
            }
            Self::Prescribed(rows) => {
                write!(
                    f,
                    "values are prescribed in {} {rows} by diagonal entries above 1e15 times the other \
                     entries; ",
                    rows.count
                )?;
                f.write_str(
                    "these rows dominate |b|, so test the residual of the other rows, or eliminate \
                     them",
                )
            }
            Self::OneSidedConstraints(rows) => {
                write!(
                    f,
                    "unsymmetric only because the columns of {} constrained {rows} were \
                     kept; ",
                    rows.count
                )?;
                f.write_str("impose values on rows and columns, which makes A symmetric")
            }
            Self::Unsymmetric { pair: (i, j), values: (ij, ji), relative, one_sided } => {
                let (ij, ji) = apart(*ij, *ji);
                write!(f, "unsymmetric: entry ({i}, {j}) is {ij}, but ({j}, {i}) is {ji}, ")?;
                write!(
                    f,
                    "a relative difference of {relative:.1e}; {one_sided} nonzeros a_ij \
                     have a_ji = 0; "
                )?;
                f.write_str(if *relative <= Bsr::<f64>::symmetry_in_single() {
                    "that is the round-off of single precision: take CG with (A + A^T) / 2, or GMRES, \
                     BiCGStab or LU"
                } else {
                    "use GMRES, BiCGStab or LU"
                })
            }
            Self::NearlySymmetric { relative } => {
                write!(
                    f,
                    "symmetric up to a relative difference of {relative:.1e}, usual after \
                     rounding in files and parallel "
                )?;
                f.write_str("assembly; if CG stagnates above that level, replace A by (A + A^T) / 2")
            }
            Self::Indefinite(witness) => {
                write!(f, "indefinite: {witness}; use MINRES or LDL^T, not CG or Cholesky")
            }
            Self::Unconstrained { components, rows } => {
                let of = if *components == 1 { "component" } else { "components" };
                write!(f, "row sums vanish over {components} connected {of} at {rows}: ")?;
                f.write_str("constants are in the kernel; fix a value, or project the kernel out")
            }
            Self::Scale { least: (i, low), most: (j, high) } => {
                write!(f, "the diagonal goes from {low:.1e} (row {i}) to {high:.1e} (row {j}); ")?;
                f.write_str("scale unknowns, and compare residuals in the scaled norm")
            }
            Self::Fixed(rows) => {
                write!(f, "{} identity {rows}, usually from Dirichlet conditions; ", rows.count)?;
                f.write_str("eliminate them, or set their rows of the near-kernel to zero")
            }
            Self::DiagonalOnly(rows) => {
                write!(
                    f,
                    "{} {rows} with only a diagonal entry; solve them separately by \
                     division",
                    rows.count
                )
            }
            Self::NotDominant { share, rows } => {
                write!(f, "{:.0} % not diagonally dominant: {rows}; ", 100.0 * share)?;
                f.write_str("undamped Jacobi may diverge: use damping, the l1 variant or Chebyshev")
            }
            Self::PositiveOffDiagonal { share, rows } => {
                write!(
                    f,
                    "{:.0} % of the off-diagonal entries have the diagonal's sign: {rows}; ",
                    100.0 * share
                )?;
                f.write_str("not an M-matrix: incomplete Cholesky may need a shift, classical AMG may fail")
            }
            Self::Components { count, largest } => {
                write!(f, "{count} unconnected components, the largest with {largest} block rows; ")?;
                f.write_str("they can be solved separately")
            }
            Self::Blocks { size, fill } => {
                write!(
                    f,
                    "stored by scalars, but {size} x {size} blocks would be {:.0} % full; ",
                    100.0 * fill
                )?;
                f.write_str("blocks are faster and group the unknowns of a node")
            }
            Self::Dense { density } => {
                write!(
                    f,
                    "{:.0} % of all entries are stored; a dense direct solver is faster",
                    100.0 * density
                )
            }
        }
    }
}

/// Two different numbers with as many digits as are needed to tell them apart, at least five.
fn apart(a: f64, b: f64) -> (String, String) {
    let shown = |digits: usize| (format!("{a:.digits$e}"), format!("{b:.digits$e}"));
    (4..17).map(shown).find(|(a, b)| a != b).unwrap_or_else(|| shown(17))
}
