//! Tests constraints and prescribed values: formulas, comparison with dense algebra, and failing allocations.

mod dense;
mod filtered_memory;
mod formulas;
mod given_values;
mod parts;
mod projector;
mod supports;
