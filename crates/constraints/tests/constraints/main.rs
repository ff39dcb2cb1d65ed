//! Constraints and given values: formulas, dense algebra, and memory that runs out.

mod dense;
mod filtered_room;
mod formulas;
mod given_values;
mod projector;
