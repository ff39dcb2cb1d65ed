//! Diagnoses compared with proofs and plain loops.

mod formulas;
mod proofs;
mod reports;
