// The header for Eigen: storage orders, indices, right-hand sides, preconditioners, and what goes wrong. Exits with 0 if all holds.
#include <coarsen/eigen.hpp>
#include <cmath>
#include <iostream>
#include <limits>
#include <vector>

static int failures = 0;
#define EXPECT(x)                                             \
  if (!(x)) {                                                 \
    std::cerr << "line " << __LINE__ << ": " << #x << "\n";   \
    failures++;                                               \
  }

using Triplets = std::vector<Eigen::Triplet<double>>;

// A chain of springs between walls in a plane: two unknowns for each node, coupled.
template <class Matrix>
Matrix springs(int nodes, double mass) {
  Triplets entries;
  for (int i = 0; i < nodes; i++) {
    for (int c = 0; c < 2; c++) entries.emplace_back(2 * i + c, 2 * i + c, 2 + mass);
    entries.emplace_back(2 * i, 2 * i + 1, 0.5);
    entries.emplace_back(2 * i + 1, 2 * i, 0.5);
    if (i == 0) continue;
    for (int c = 0; c < 2; c++) {
      entries.emplace_back(2 * i + c, 2 * i - 2 + c, -0.5);
      entries.emplace_back(2 * i - 2 + c, 2 * i + c, -0.5);
    }
  }
  Matrix a(2 * nodes, 2 * nodes);
  a.setFromTriplets(entries.begin(), entries.end());
  return a;
}

template <class Matrix>
void storage() {
  using AMG = coarsen::AMG<Matrix>;
  const Matrix a = springs<Matrix>(1000, 0.01), next = springs<Matrix>(1000, 0.02);
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(a.rows());
  AMG amg;
  amg.setTolerance(1e-10).setMethod("cg").analyzePattern(a);
  for (const Matrix* values : {&a, &next}) {
    amg.factorize(*values);
    EXPECT(amg.info() == Eigen::Success && amg.rows() == a.rows());
    const Eigen::VectorXd x = amg.solve(b);
    EXPECT(amg.info() == Eigen::Success && amg.lastErrorMessage().empty());
    EXPECT((b - *values * x).norm() <= 1.01e-10 * b.norm());
    EXPECT(amg.error() <= 1e-10 && amg.iterations() > 0);
    const Eigen::VectorXd again = amg.solveWithGuess(b, x);
    EXPECT(amg.iterations() == 0 && again == x);
  }
  amg.setTolerance(1e-3).setMaxIterations(100);  // without a setup
  const Eigen::VectorXd rough = amg.solve(b);
  EXPECT(amg.error() > 1e-10 && amg.error() <= 1e-3);
  amg.setTolerance(1e-10);
  // Several right-hand sides, dense and sparse; a row of a matrix is not contiguous.
  Eigen::MatrixXd many = Eigen::MatrixXd::Random(a.rows(), 3);
  const Eigen::MatrixXd y = amg.solve(many);
  EXPECT((many - next * y).norm() <= 2e-10 * many.norm());
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = many;
  EXPECT((amg.solve(rows) - y).norm() == 0);
  Eigen::SparseMatrix<double> unit(a.rows(), 1), column;
  unit.insert(3, 0) = 1;
  column = amg.solve(unit);
  EXPECT((next * column - unit).norm() <= 1.01e-10);
  // Uncompressed.
  Matrix loose = a;
  loose.uncompress();
  const Eigen::VectorXd z = AMG(loose).solve(b);
  EXPECT((b - a * z).norm() <= 1.01e-8 * b.norm());

  using Preconditioner = typename AMG::Preconditioner;
  Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Preconditioner> cg;
  Eigen::BiCGSTAB<Matrix, Preconditioner> bicgstab;
  cg.preconditioner().setBlockSize(2);
  bicgstab.preconditioner().setPreconditioner("ilu0");
  cg.setTolerance(1e-10);
  bicgstab.setTolerance(1e-10);
  for (const Matrix* values : {&a, &next}) {
    cg.compute(*values);
    EXPECT(cg.info() == Eigen::Success);
    EXPECT((b - *values * cg.solve(b)).norm() <= 1e-9 * b.norm() && cg.info() == Eigen::Success);
    bicgstab.compute(*values);
    EXPECT((b - *values * bicgstab.solve(b)).norm() <= 1e-9 * b.norm() && bicgstab.info() == Eigen::Success);
  }
  std::cout << "CG: " << cg.iterations() << " iterations, BiCGSTAB: " << bicgstab.iterations() << "\n";
}

int main() {
  storage<Eigen::SparseMatrix<double>>();
  storage<Eigen::SparseMatrix<double, Eigen::RowMajor>>();
  storage<Eigen::SparseMatrix<double, Eigen::ColMajor, std::int64_t>>();
  storage<Eigen::SparseMatrix<double, Eigen::RowMajor, std::int64_t>>();

  using Matrix = Eigen::SparseMatrix<double>;
  Matrix a = springs<Matrix>(1000, 0.01);
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(a.rows());
  Eigen::MatrixXd points = Eigen::MatrixXd::Zero(1000, 2), vectors(a.rows(), 2);
  points.col(0).setLinSpaced(0, 1);
  for (int i = 0; i < a.rows(); i++) vectors.row(i) << i % 2, 1 - i % 2;
  coarsen::AMG<Matrix> amg;
  amg.setCoordinates(points).setNearKernel(vectors).setMethod("cg").setPreconditioner("sa").compute(a);
  EXPECT((b - a * amg.solve(b)).norm() <= 1.01e-8 * b.norm() && amg.info() == Eigen::Success);

  // What is wrong is told, and the object serves again.
  a.coeffRef(5, 5) = std::numeric_limits<double>::quiet_NaN();
  amg.factorize(a);
  EXPECT(amg.info() == Eigen::InvalidInput);
  EXPECT(amg.lastErrorMessage().find("row 5, column 5 is not finite") != std::string::npos);
  Eigen::VectorXd x = amg.solve(b);
  EXPECT(x.isZero() && amg.info() == Eigen::InvalidInput);
  a = springs<Matrix>(1000, 0.01);
  amg.factorize(a);
  x = amg.solve(b);
  EXPECT(amg.info() == Eigen::Success && (b - a * x).norm() <= 1.01e-8 * b.norm());
  amg.setMaxIterations(1).setPreconditioner("jacobi").compute(a);
  x = amg.solve(b);
  EXPECT(amg.info() == Eigen::NoConvergence && amg.lastErrorMessage().find("iteration limit") != std::string::npos);
  amg.setTolerance(1e-7);
  EXPECT(amg.info() == Eigen::NoConvergence && !amg.lastErrorMessage().empty());  // still that of the solve
  amg.setTolerance(-1);
  EXPECT(amg.info() == Eigen::InvalidInput);
  amg.setTolerance(1e-8).setMaxIterations(-1);  // as 0
  x = amg.solve(b);
  EXPECT(amg.info() == Eigen::NoConvergence && amg.iterations() == 0);
  amg.compute(Matrix(3, 4));
  EXPECT(amg.info() == Eigen::InvalidInput && amg.lastErrorMessage().find("3 x 4") != std::string::npos);
  amg.setMethod("simplex").compute(a);
  EXPECT(amg.info() == Eigen::InvalidInput && amg.lastErrorMessage().find("simplex") != std::string::npos);
  coarsen::AMG<Matrix>::Preconditioner jacobi;
  Matrix empty_diagonal = a;
  empty_diagonal.coeffRef(4, 4) = 0;
  jacobi.setPreconditioner("jacobi").compute(empty_diagonal);
  EXPECT(jacobi.info() == Eigen::NumericalIssue && jacobi.lastErrorMessage().find("row 4") != std::string::npos);
  if (failures == 0) std::cout << "all holds\n";
  return failures > 0;
}
