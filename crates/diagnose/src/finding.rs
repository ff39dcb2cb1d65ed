//! Findings, how grave they are and what to do.

use std::fmt;

use super::Witness;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know: it helps to choose a method.
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

/// Some scalar rows: how many, and the first few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How many there are.
    pub count: usize,
    /// The first of them, at most [`Sample::NAMED`].
    pub rows: Vec<usize>,
}

impl Sample {
    /// How many rows are named.
    pub const NAMED: usize = 5;

    /// The rows listed, unless there are none.
    pub(super) fn of(rows: impl Iterator<Item = usize>) -> Option<Self> {
        let mut sample = Self { count: 0, rows: Vec::new() };
        for row in rows {
            sample.count += 1;
            if sample.rows.len() < Self::NAMED {
                sample.rows.push(row);
            }
        }
        (sample.count > 0).then_some(sample)
    }

    /// Of earlier and later rows together.
    pub(super) fn join(earlier: Option<Self>, later: Option<Self>) -> Option<Self> {
        let (mut all, later) = match (earlier, later) {
            (Some(earlier), Some(later)) => (earlier, later),
            (earlier, later) => return earlier.or(later),
        };
        all.count += later.count;
        let room = Self::NAMED - all.rows.len();
        all.rows.extend(later.rows.into_iter().take(room));
        Some(all)
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", if self.count == 1 { "row" } else { "rows" }, self.rows[0])?;
        self.rows[1..].iter().try_for_each(|row| write!(f, ", {row}"))?;
        f.write_str(if self.count > self.rows.len() { ", ...)" } else { ")" })
    }
}

/// One thing that deserves a word before solving. Rows and columns are scalar, from 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Finding {
    /// More rows than columns, or fewer; or blocks that are not square.
    NotSquare {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
    },
    /// NaN or infinity.
    NotFinite {
        /// The rows that hold some.
        rows: Sample,
        /// The first column, in the first of these rows.
        column: usize,
    },
    /// Rows without a value other than zero: the matrix is singular.
    EmptyRows(Sample),
    /// Zero or missing diagonal entries, in rows that are not empty.
    ZeroDiagonal(Sample),
    /// Negative diagonal entries, but not everywhere.
    NegativeDiagonal(Sample),
    /// All diagonal entries are negative.
    Negate,
    /// A is not symmetric because constraints replaced rows but not columns.
    OneSidedConstraints(Sample),
    /// A is not symmetric.
    Unsymmetric {
        /// The worst pair (i, j).
        pair: (usize, usize),
        /// a_ij and a_ji.
        values: (f64, f64),
        /// |a_ij − a_ji| relative to max(|a_ij|, |a_ji|, (|a_ii a_jj|)^½).
        relative: f64,
        /// Nonzeros a_ij with a_ji = 0.
        one_sided: usize,
    },
    /// A is symmetric only up to a small relative difference.
    NearlySymmetric {
        /// The worst relative difference, as in [`Unsymmetric`](Self::Unsymmetric).
        relative: f64,
    },
    /// A is symmetric, but neither positive nor negative semidefinite.
    Indefinite(Witness),
    /// Connected components whose row sums all vanish: constants are in the kernel, the matrix is singular.
    Floating {
        /// How many components float.
        components: usize,
        /// A row of each of the first few.
        rows: Sample,
    },
    /// The diagonal spans many orders of magnitude, rows of a diagonal entry alone left out.
    Scale {
        /// The smallest |a_ii| and its row.
        least: (usize, f64),
        /// The largest |a_ii| and its row.
        most: (usize, f64),
    },
    /// Identity rows: Dirichlet conditions left in the system.
    Fixed(Sample),
    /// Rows with a diagonal entry alone that is not 1.
    DiagonalOnly(Sample),
    /// Rows with Σ|a_ij| > |a_ii|.
    NotDominant {
        /// The share of all rows.
        share: f64,
        /// The rows.
        rows: Sample,
    },
    /// Off-diagonal entries with the sign of the diagonal: not an M-matrix.
    PositiveOffDiagonal {
        /// The share of nonzero off-diagonal entries.
        share: f64,
        /// The rows that hold some.
        rows: Sample,
    },
    /// Parts that know nothing of each other; rows alone do not count.
    Components {
        /// How many parts have several rows.
        count: usize,
        /// Block rows of the largest.
        largest: usize,
    },
    /// A scalar matrix that is worth storing in blocks.
    Blocks {
        /// The block size.
        size: usize,
        /// The share of each block's entries that is stored.
        fill: f64,
    },
    /// Most entries are stored: sparse methods waste their indices.
    Dense {
        /// The share of all entries that is stored.
        density: f64,
    },
}

impl Finding {
    /// How grave it is.
    pub fn severity(&self) -> Severity {
        match self {
            Self::NotSquare { .. } | Self::NotFinite { .. } | Self::EmptyRows(_) => Severity::Error,
            Self::ZeroDiagonal(_)
            | Self::NegativeDiagonal(_)
            | Self::Negate
            | Self::OneSidedConstraints(_)
            | Self::Unsymmetric { .. }
            | Self::Indefinite(_)
            | Self::Floating { .. }
            | Self::Scale { .. } => Severity::Warning,
            Self::NearlySymmetric { .. }
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
                    "{rows} rows and {columns} columns; solve the normal equations, or a least-squares problem"
                )
            }
            Self::NotFinite { rows, column } => {
                write!(f, "NaN or infinity in {} {rows}, first in column {column}; ", rows.count)?;
                f.write_str("look at what computed it")
            }
            Self::EmptyRows(rows) => {
                write!(f, "{} empty {rows}: the matrix is singular; ", rows.count)?;
                f.write_str("drop these unknowns, or put 1 on their diagonal")
            }
            Self::ZeroDiagonal(rows) => {
                write!(f, "zero diagonal in {} {rows}; Jacobi, Gauss-Seidel and incomplete ", rows.count)?;
                f.write_str("factors need one: use a direct method, or MINRES or GMRES without them")
            }
            Self::NegativeDiagonal(rows) => {
                write!(f, "negative diagonal in {} {rows}, positive elsewhere: not definite; ", rows.count)?;
                f.write_str("use MINRES, GMRES or a direct method, or look for a sign error in the assembly")
            }
            Self::Negate => f.write_str(
                "every diagonal entry is negative; negate matrix and right-hand side, and CG may work",
            ),
            Self::OneSidedConstraints(rows) => {
                write!(f, "unsymmetric only because {} constrained {rows} kept their columns; ", rows.count)?;
                f.write_str("impose values on rows and columns (Dirichlet::impose), and CG may work")
            }
            Self::Unsymmetric { pair: (i, j), values: (ij, ji), relative, one_sided } => {
                write!(f, "unsymmetric: entry ({i}, {j}) is {ij:.4e}, but ({j}, {i}) is {ji:.4e}, ")?;
                write!(f, "a relative difference of {relative:.1e}; {one_sided} entries have no partner; ")?;
                f.write_str("use GMRES, BiCGStab or LU")
            }
            Self::NearlySymmetric { relative } => {
                write!(f, "symmetric up to a relative difference of {relative:.1e}, as files and parallel ")?;
                f.write_str("assemblies leave it; average A and its transpose if CG stalls above that level")
            }
            Self::Indefinite(witness) => {
                write!(f, "indefinite: {witness}; use MINRES or LDL^T, not CG or Cholesky")
            }
            Self::Floating { components, rows } => {
                let of = if *components == 1 { "component" } else { "components" };
                write!(f, "row sums vanish over {components} connected {of} at {rows}: ")?;
                f.write_str("constants are in the kernel; fix a value, or project the kernel out")
            }
            Self::Scale { least: (i, low), most: (j, high) } => {
                write!(f, "the diagonal goes from {low:.1e} (row {i}) to {high:.1e} (row {j}); ")?;
                f.write_str("scale unknowns, and compare residuals in the scaled norm")
            }
            Self::Fixed(rows) => {
                write!(f, "{} identity {rows}, as Dirichlet conditions leave them; ", rows.count)?;
                f.write_str("eliminate them (Dirichlet::eliminate), or keep their near-kernel rows zero")
            }
            Self::DiagonalOnly(rows) => {
                write!(f, "{} {rows} with a diagonal entry alone; solve them apart by division", rows.count)
            }
            Self::NotDominant { share, rows } => {
                write!(f, "{:.0} % not diagonally dominant: {rows}; ", 100.0 * share)?;
                f.write_str("plain Jacobi may diverge: damp it, use the l1 variant or Chebyshev")
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
                write!(f, "{count} unconnected parts, the largest of {largest} block rows; ")?;
                f.write_str("they may be solved apart")
            }
            Self::Blocks { size, fill } => {
                write!(
                    f,
                    "stored by scalars, but {size} x {size} blocks would be {:.0} % full; ",
                    100.0 * fill
                )?;
                f.write_str("blocks are faster and let methods see nodes")
            }
            Self::Dense { density } => {
                write!(
                    f,
                    "{:.0} % of all entries are stored; a dense direct solver is better",
                    100.0 * density
                )
            }
        }
    }
}
