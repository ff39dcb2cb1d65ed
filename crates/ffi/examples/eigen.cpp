// A plate from Eigen: a solver, and a preconditioner of Eigen's own method.
#include <coarsen/eigen.hpp>
#include <iostream>
#include <vector>

using Matrix = Eigen::SparseMatrix<double>;

Matrix plate(int side) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < side * side; i++) {
    entries.emplace_back(i, i, 4);
    if (i % side > 0) {
      entries.emplace_back(i, i - 1, -1);
      entries.emplace_back(i - 1, i, -1);
    }
    if (i >= side) {
      entries.emplace_back(i, i - side, -1);
      entries.emplace_back(i - side, i, -1);
    }
  }
  Matrix a(side * side, side * side);
  a.setFromTriplets(entries.begin(), entries.end());
  return a;
}

int main() {
  Matrix a = plate(200);
  Eigen::VectorXd b = Eigen::VectorXd::Ones(a.rows());

  coarsen::AMG<Matrix> amg;
  amg.analyzePattern(a);
  amg.factorize(a);  // again for new values: what it chose is kept
  Eigen::VectorXd x = amg.solve(b);
  if (amg.info() != Eigen::Success) {
    std::cerr << amg.lastErrorMessage() << "\n";
    return 1;
  }
  std::cout << "coarsen: " << amg.iterations() << " iterations, error "
            << amg.error() << "\n";

  Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper,
                           coarsen::AMG<Matrix>::Preconditioner>
      cg(a);
  cg.setTolerance(1e-8);
  Eigen::VectorXd y = cg.solve(b);
  std::cout << "Eigen's CG: " << cg.iterations() << " iterations, error "
            << cg.error() << "\n";
  bool agree = (x - y).norm() < 1e-4 * x.norm();
  return cg.info() == Eigen::Success && agree ? 0 : 1;
}
