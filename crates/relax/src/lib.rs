//! Relaxation: Jacobi, block Jacobi, Chebyshev, Gauss-Seidel, SSOR, IC(0), ILU(0).
