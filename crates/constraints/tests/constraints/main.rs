//! Tests constraints: formulas, comparison with dense algebra, and failing allocations.

mod dense;
mod filtered_memory;
mod formulas;
mod parts;
mod projector;
mod supports;
