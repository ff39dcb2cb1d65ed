//! A gallery of systems shared by tests, benches, book and command line.
