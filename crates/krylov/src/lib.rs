//! Krylov methods that never lie about convergence.
