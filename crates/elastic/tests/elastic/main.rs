//! Energies: derivatives against differences, and sums of potentials.

mod derivatives;
mod sums;
