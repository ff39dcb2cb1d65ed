//! Diagnosis of a matrix before the solve: errors, and properties that matter for the choice of a method.
//!
//! | file | what |
//! |---|---|
//! | `structure` | properties of the pattern: sizes, components, blocks, memory |
//! | `facts` | the pass over the matrix |
//! | `row`, `tally` | properties of a row: diagonal, sums, signs; their counts |
//! | `halves`, `symmetry` | comparison of A with Aᵀ in the same pass, and its result |
//! | `values` | properties of all rows together |
//! | `definiteness` | conclusions from the diagonal, dominance and small minors |
//! | `pair`, `witness` | pairs of rows with large couplings; proofs of indefiniteness |
//! | `finding` | findings, with severity and remedy |

mod definiteness;
mod facts;
mod finding;
mod halves;
mod pair;
mod row;
mod structure;
mod symmetry;
mod tally;
mod values;
mod witness;

pub use finding::{Finding, Sample, Severity};
pub use structure::{Memory, Structure};
pub use symmetry::{Symmetry, Triangle};
pub use values::Values;
pub use witness::{Definiteness, Witness};

use std::fmt;

use coarsen_core::{Real, parallel};
use coarsen_sparse::Bsr;

use facts::Facts;
use structure::{components, has_earlier_neighbors, one_component};

/// The result of [`diagnose`]: numbers for programs; `Display` prints text.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Properties of the pattern.
    pub structure: Structure,
    /// Properties of the values; `None` unless the matrix is square and finite.
    pub values: Option<Values>,
    /// The findings, the most severe first.
    pub findings: Vec<Finding>,
}

/// Inspects a matrix without solving a system; never fails.
///
/// The shape, pattern, diagonal, row sums, symmetry and 2x2 minors are inspected. Each finding lists the
/// affected rows and a remedy. A matrix without findings may still be singular or indefinite. Tolerances are
/// relative to the round-off of `T`, but at least 1e-12, because values in files are rounded.
/// *Cost* one pass over the matrix on all threads; and one on a single thread for the connected components, unless each node but
/// the first is coupled to an earlier one.
/// *Memory* 16 bytes per row, temporarily.
///
/// ```
/// use coarsen_diagnose::{Definiteness, diagnose};
/// use coarsen_sparse::assembly;
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, -2.0), (1, 0, -2.0), (1, 1, 1.0)])?;
/// let d = diagnose(&a);
/// assert!(matches!(d.values.as_ref().unwrap().definiteness, Definiteness::Indefinite(_)));
/// assert!(d.to_string().contains("indefinite"));
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
pub fn diagnose<T: Real>(a: &Bsr<T>) -> Diagnosis {
    let (components, facts) = match parallel::worth(4 * a.nnz()) && !has_earlier_neighbors(a) {
        true => parallel::join(|| components(a), || Facts::of(a)),
        false => {
            let facts = Facts::of(a);
            let connected = facts.halves.is_connected().then(|| one_component(a));
            (connected.or_else(|| components(a)), facts)
        }
    };
    let structure = Structure::of(a, components.as_ref());
    let mut findings = structure.findings();
    findings.extend(facts.findings(a));
    let square = structure.rows == structure.columns && structure.block.0 == structure.block.1;
    let values = (square && facts.tally.not_finite.count == 0).then(|| {
        let (values, unconstrained) = Values::of(a, &facts, components.as_ref());
        findings.extend(values.findings(&facts, &unconstrained, structure.rows));
        values
    });
    findings.sort_by_key(|f| std::cmp::Reverse(f.severity()));
    Diagnosis { structure, values, findings }
}

impl Diagnosis {
    /// The highest severity of the findings.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(Finding::severity).max()
    }

    /// Whether A = Aᵀ up to the round-off of an assembly; false if unknown.
    pub fn is_symmetric(&self) -> bool {
        self.values.as_ref().is_some_and(|v| v.symmetry.holds())
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.structure)?;
        if let Some(values) = &self.values {
            writeln!(f, "{values}")?;
        }
        for finding in &self.findings {
            writeln!(f, "{}: {finding}", finding.severity())?;
        }
        Ok(())
    }
}
