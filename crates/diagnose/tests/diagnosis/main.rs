//! Diagnoses against their proofs and against plain loops.

mod formulas;
mod proofs;
