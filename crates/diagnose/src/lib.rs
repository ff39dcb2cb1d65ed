//! What is wrong, unusual or useful to know about a system, before anyone solves it.
//!
//! | file | what |
//! |---|---|
//! | `structure` | sizes, components, blocks, memory: what the pattern says |
//! | `facts` | one pass over the rows: diagonal, sums, signs |
//! | `values` | what follows from all rows together |
//! | `symmetry` | A against Aᵀ |
//! | `definiteness` | what the diagonal, dominance and small minors prove |
//! | `pair`, `witness` | couplings that come near to indefiniteness; what proves it |
//! | `finding` | findings, their severity and what to do |

mod definiteness;
mod facts;
mod finding;
mod pair;
mod structure;
mod symmetry;
mod values;
mod witness;

pub use finding::{Finding, Sample, Severity};
pub use structure::{Memory, Structure};
pub use symmetry::Symmetry;
pub use values::Values;
pub use witness::{Definiteness, Witness};

use std::fmt;

use coarsen_core::Real;
use coarsen_sparse::Bsr;

use facts::Facts;

/// All that [`diagnose`] found out; numbers for programs, `Display` for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// What the pattern says.
    pub structure: Structure,
    /// What the values say; `None` unless the matrix is square and finite.
    pub values: Option<Values>,
    /// What deserves a word, the gravest first.
    pub findings: Vec<Finding>,
}

/// Inspects a matrix: never fails, solves nothing.
///
/// It looks at shape, pattern, diagonal, row sums, symmetry and 2x2 minors, and says of each finding which rows show it and
/// what to do. It proves little: a matrix without findings may still be singular or indefinite. Tolerances are relative to the round-off of
/// `T`, not tighter than 12 digits, since files round.
/// *Cost* two passes over the matrix and one over its pattern, for scalar ones another; 48 bytes a row for the time being. A matrix in blocks
/// takes half of the seconds.
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
    let (structure, components) = Structure::of(a);
    let facts = Facts::of(a);
    let mut findings = structure.findings();
    findings.extend(facts.findings());
    let square = structure.rows == structure.columns && structure.block.0 == structure.block.1;
    let values = (square && facts.not_finite.is_none()).then(|| {
        let (values, floating) = Values::of(a, &facts, components.as_ref());
        findings.extend(values.findings(&facts, &floating));
        values
    });
    findings.sort_by_key(|f| std::cmp::Reverse(f.severity()));
    Diagnosis { structure, values, findings }
}

impl Diagnosis {
    /// The gravest severity found.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(Finding::severity).max()
    }

    /// Whether A = Aᵀ up to the round-off of an assembly; false where that is unknown.
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

#[cfg(test)]
#[path = "../../sparse/src/random.rs"]
mod random;
#[cfg(test)]
mod tests;
