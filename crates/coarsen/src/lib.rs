//! Multigrid and Schwarz solvers for people who simulate.
