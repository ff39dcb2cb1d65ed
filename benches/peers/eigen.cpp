// Eigen: conjugate gradients with the diagonal or an incomplete Cholesky factor, products on all threads.
#include "system.hpp"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/Sparse>

using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
using Ichol = Eigen::IncompleteCholesky<double, Eigen::Lower, Eigen::NaturalOrdering<int>>;

template <class Preconditioner>
int run(const System& system, const Matrix& a) {
    Eigen::Map<const Eigen::VectorXd> b(system.rhs.data(), system.n);
    Memory memory;
    double begin = seconds();
    Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Preconditioner> cg;
    cg.setTolerance(1e-8);
    cg.setMaxIterations(10000);
    cg.compute(a);
    double ready = seconds();
    Eigen::VectorXd x = cg.solve(b);
    double end = seconds(), peak = memory.peak();
    return report(ready - begin, end - ready, cg.iterations(), system.residual(x.data()), peak);
}

int main(int, char** arguments) {
    System system(arguments[1]);
    std::vector<int> starts(system.starts.begin(), system.starts.end());
    Matrix a = Eigen::Map<const Matrix>(system.n, system.n, system.nnz, starts.data(), system.columns.data(), system.values.data());
    return std::string(arguments[2]) == "ichol" ? run<Ichol>(system, a) : run<Eigen::DiagonalPreconditioner<double>>(system, a);
}
