//! Energies: derivatives compared with differences, sums of potentials, and steps of Projective Dynamics.

mod derivatives;
mod projective;
mod sums;
