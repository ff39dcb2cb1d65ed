//! Energies: densities and elements by hand, derivatives compared with differences, and steps of Projective Dynamics.

mod bending;
mod bodies;
mod densities;
mod derivatives;
mod fibers;
mod matrices;
mod membranes;
mod projective;
