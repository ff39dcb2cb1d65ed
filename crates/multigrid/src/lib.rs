//! Multigrid hierarchies and cycles.
