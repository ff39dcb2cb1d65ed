//! Constraints and prescribed values: formulas, dense reference algebra, and failing allocations.

mod dense;
mod filtered_room;
mod formulas;
mod given_values;
mod projector;
