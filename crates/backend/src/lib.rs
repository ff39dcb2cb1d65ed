//! Where a solve runs: the backend contract, the CPU, the reference.
