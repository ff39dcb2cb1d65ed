//! Energies: derivatives compared with differences, and sums of potentials.

mod derivatives;
mod sums;
