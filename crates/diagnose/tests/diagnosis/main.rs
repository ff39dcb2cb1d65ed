//! Diagnoses compared with proofs and plain loops.

#[path = "../../../../tests/common/data.rs"]
mod data;
mod formulas;
mod proofs;
mod reports;
