//! Diagnoses compared with proofs and plain loops.

#[path = "../../../../tests/common/data.rs"]
mod data;
mod findings;
mod formulas;
mod proofs;
#[path = "../../../sparse/tests/sparse/random.rs"]
mod random;
mod reports;
