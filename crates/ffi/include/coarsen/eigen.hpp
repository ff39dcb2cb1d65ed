// coarsen for Eigen 3.4: a solver, and a preconditioner for Eigen's iterative methods. Needs C++14.
//
//   coarsen::AMG<Eigen::SparseMatrix<double>> amg(a);
//   x = amg.solve(b);                                    // to the tolerance, by the method that it chooses
//
//   Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper,
//                            coarsen::AMG<Eigen::SparseMatrix<double>>::Preconditioner> cg(a);
//
// Matrices have `double` entries, in rows or columns, with indices of 32 or 64 bits, and both triangles of a symmetric matrix.
// Matrices in compressed rows are copied once, others twice. An object is for one thread at a time.
#ifndef COARSEN_EIGEN_HPP
#define COARSEN_EIGEN_HPP

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "../coarsen.h"

namespace coarsen {

namespace detail {

struct Free {
  void operator()(coarsen_matrix* a) const { coarsen_matrix_free(a); }
  void operator()(coarsen_solver* a) const { coarsen_solver_free(a); }
  void operator()(coarsen_preconditioner* a) const { coarsen_preconditioner_free(a); }
};

template <class T>
using Handle = std::unique_ptr<T, Free>;

inline Eigen::ComputationInfo info(coarsen_status status) {
  switch (status) {
    case COARSEN_STATUS_OK:
      return Eigen::Success;
    case COARSEN_STATUS_NOT_CONVERGED:
    case COARSEN_STATUS_CANCELLED:
      return Eigen::NoConvergence;
    case COARSEN_STATUS_SETUP_FAILED:
      return Eigen::NumericalIssue;
    default:
      return Eigen::InvalidInput;
  }
}

// What the solver and the preconditioner have in common: what the user says about the matrix, and how the last call ended.
template <class Matrix, class Derived>
class Base : public Eigen::SparseSolverBase<Derived> {
 public:
  using Scalar = typename Matrix::Scalar;
  using RealScalar = typename Matrix::RealScalar;
  using StorageIndex = typename Matrix::StorageIndex;
  using MatrixType = Matrix;
  enum { ColsAtCompileTime = Eigen::Dynamic, MaxColsAtCompileTime = Eigen::Dynamic };
  static_assert(std::is_same<Scalar, double>::value, "coarsen solves in double");

  // The number of unknowns of a node, which are numbered consecutively; 0, the default, finds it.
  Derived& setBlockSize(Eigen::Index size) {
    m_block = size;
    return this->derived();
  }

  // The coordinates of the nodes, one row each; rigid-body modes follow from them. `factorize` copies them.
  Derived& setCoordinates(const Eigen::Ref<const Eigen::MatrixXd>& points) {
    m_points = points;
    return this->derived();
  }

  // Vectors v with A v small, one in each column. `factorize` copies them.
  Derived& setNearKernel(const Eigen::Ref<const Eigen::MatrixXd>& vectors) {
    m_near_kernel = vectors;
    return this->derived();
  }

  // Forgets the last matrix, so that `factorize` begins anew.
  template <class Input>
  Derived& analyzePattern(const Input&) {
    this->derived().reset();
    return this->derived();
  }

  // Takes the values of a matrix. What was set up for the last one is kept as far as it serves. After a failure `solve` gives zeros.
  template <class Input>
  Derived& factorize(const Input& a) {
    Handle<coarsen_matrix> matrix;
    if (!copy(a, matrix) || !end(this->derived().take(matrix.get()))) this->derived().reset();
    m_size = a.rows();
    this->m_isInitialized = true;
    return this->derived();
  }

  template <class Input>
  Derived& compute(const Input& a) {
    return analyzePattern(a).factorize(a);
  }

  Eigen::Index rows() const { return m_size; }
  Eigen::Index cols() const { return m_size; }

  // Success, or how the last call failed: InvalidInput, NumericalIssue (of a setup) or NoConvergence.
  Eigen::ComputationInfo info() const { return m_info; }

  // What was wrong, and a remedy; empty after a success.
  const std::string& lastErrorMessage() const { return m_message; }

 protected:
  bool end(coarsen_status status) const {
    m_info = detail::info(status);
    m_message = status == COARSEN_STATUS_OK ? "" : coarsen_last_error();
    return status == COARSEN_STATUS_OK;
  }

  // An earlier failure has the cause.
  bool fail(const std::string& message) const {
    if (m_info == Eigen::Success) {
      m_info = Eigen::InvalidInput;
      m_message = message;
    }
    return false;
  }

 private:
  template <class Index>
  static coarsen_status make(std::integral_constant<int, 4>, std::size_t rows, std::size_t entries, const Index* offsets,
                             const Index* columns, const double* values, coarsen_matrix** matrix) {
    return coarsen_matrix_new_i32(rows, entries, 1, reinterpret_cast<const int32_t*>(offsets),
                                  reinterpret_cast<const int32_t*>(columns), values, matrix);
  }

  template <class Index>
  static coarsen_status make(std::integral_constant<int, 8>, std::size_t rows, std::size_t entries, const Index* offsets,
                             const Index* columns, const double* values, coarsen_matrix** matrix) {
    return coarsen_matrix_new_i64(rows, entries, 1, reinterpret_cast<const int64_t*>(offsets),
                                  reinterpret_cast<const int64_t*>(columns), values, matrix);
  }

  template <class Input>
  bool copy(const Input& a, Handle<coarsen_matrix>& matrix) const {
    using Rows = Eigen::SparseMatrix<double, Eigen::RowMajor, StorageIndex>;
    m_info = Eigen::Success;
    if (a.rows() != a.cols()) {
      const std::string shape = std::to_string(a.rows()) + " x " + std::to_string(a.cols());
      return fail("the matrix is " + shape + ", but a square one is needed");
    }
    const Eigen::Ref<const Rows, Eigen::StandardCompressedFormat> rows(a);
    coarsen_matrix* made = nullptr;
    bool done = end(make(std::integral_constant<int, sizeof(StorageIndex)>(), rows.rows(), rows.nonZeros(),
                         rows.outerIndexPtr(), rows.innerIndexPtr(), rows.valuePtr(), &made));
    matrix.reset(made);
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    // With coordinates a node has as many unknowns as fit.
    Eigen::Index block = m_block == 0 && m_points.rows() > 0 ? a.rows() / m_points.rows() : m_block;
    done = done && end(coarsen_matrix_set_block_size(made, block));
    if (done && m_points.size() > 0) {
      const RowMajor points = m_points;
      done = end(coarsen_matrix_set_coordinates(made, points.rows(), points.cols(), points.data()));
    }
    if (done && m_near_kernel.size() > 0) {
      const RowMajor vectors = m_near_kernel;
      done = end(coarsen_matrix_set_near_kernel(made, vectors.rows(), vectors.cols(), vectors.data()));
    }
    return done;
  }

  Eigen::Index m_block = 0, m_size = 0;
  Eigen::MatrixXd m_points, m_near_kernel;
  mutable Eigen::ComputationInfo m_info = Eigen::Success;
  mutable std::string m_message;
};

// One application of a preconditioner, which is set up by `factorize`.
template <class Matrix>
class Preconditioner : public Base<Matrix, Preconditioner<Matrix>> {
  using Parent = Base<Matrix, Preconditioner<Matrix>>;
  friend Parent;

 public:
  Preconditioner() = default;

  template <class Input>
  explicit Preconditioner(const Input& a) {
    this->compute(a);
  }

  // "sa", smoothed aggregation, or another name that coarsen_preconditioner_new() knows. `factorize` comes after it.
  Preconditioner& setPreconditioner(const std::string& name) {
    m_name = name;
    reset();
    return *this;
  }

  using Parent::_solve_impl;  // for sparse right-hand sides

  template <class Rhs, class Dest>
  void _solve_impl(const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x) const {
    bool done = m_held || this->fail("factorize comes before solve");
    for (Eigen::Index j = 0; j < b.cols(); ++j) {
      const Eigen::Ref<const Eigen::VectorXd> from(b.col(j));
      m_to.setZero(b.rows());
      if (m_held) {
        const coarsen_status status =
            coarsen_preconditioner_apply(m_held.get(), from.size(), from.data(), m_to.data());
        if (done) done = this->end(status);
      }
      x.col(j) = m_to;
    }
  }

 private:
  void reset() { m_held.reset(); }

  coarsen_status take(const coarsen_matrix* matrix) {
    if (m_held) return coarsen_preconditioner_update(m_held.get(), matrix);
    coarsen_preconditioner* made = nullptr;
    const coarsen_status status = coarsen_preconditioner_new(matrix, m_name.c_str(), &made);
    m_held.reset(made);
    return status;
  }

  std::string m_name = "sa";
  Handle<coarsen_preconditioner> m_held;
  mutable Eigen::VectorXd m_to;
};

}  // namespace detail

// A solver that chooses a method in the first solve and keeps it: multigrid by smoothed aggregation, another preconditioner, or
// a factor. `solve` goes on until the relative residual is within the tolerance.
template <class Matrix>
class AMG : public detail::Base<Matrix, AMG<Matrix>> {
  using Parent = detail::Base<Matrix, AMG<Matrix>>;
  friend Parent;

 public:
  // For Eigen's iterative methods: one cycle.
  using Preconditioner = detail::Preconditioner<Matrix>;

  AMG() : m_options(coarsen_options_default()) {}

  template <class Input>
  explicit AMG(const Input& a) : AMG() {
    this->compute(a);
  }

  AMG& setTolerance(double tolerance) {
    m_options.tolerance = tolerance;
    return limit();
  }

  AMG& setMaxIterations(Eigen::Index most) {
    m_options.max_iterations = std::max<Eigen::Index>(most, 0);
    return limit();
  }

  // "auto", "direct", "cg" and other methods of coarsen_options. `factorize` comes after it.
  AMG& setMethod(const std::string& name) {
    m_method = name;
    reset();
    return *this;
  }

  // "auto", "sa", "mas" and other names that coarsen_preconditioner_new() knows. `factorize` comes after it.
  AMG& setPreconditioner(const std::string& name) {
    m_preconditioner = name;
    reset();
    return *this;
  }

  // The iterations of the last solve, and its relative residual, recomputed from x.
  Eigen::Index iterations() const { return m_iterations; }
  double error() const { return m_error; }

  template <class Rhs, class Guess>
  Eigen::SolveWithGuess<AMG, Rhs, Guess> solveWithGuess(const Eigen::MatrixBase<Rhs>& b, const Guess& x0) const {
    return Eigen::SolveWithGuess<AMG, Rhs, Guess>(*this, b.derived(), x0);
  }

  using Parent::_solve_impl;  // for sparse right-hand sides

  template <class Rhs, class Dest>
  void _solve_impl(const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x) const {
    x.setZero();
    _solve_with_guess_impl(b, x);
  }

  template <class Rhs, class Dest>
  void _solve_with_guess_impl(const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x) const {
    m_iterations = 0;
    m_error = 0;
    bool done = m_solver || this->fail("factorize comes before solve");
    for (Eigen::Index j = 0; m_solver && j < b.cols(); ++j) {
      const Eigen::Ref<const Eigen::VectorXd> from(b.col(j));
      m_to = x.col(j);
      const coarsen_status status = coarsen_solver_solve(m_solver.get(), from.size(), from.data(), m_to.data());
      if (done) done = this->end(status);
      x.col(j) = m_to;
      if (const coarsen_report* report = coarsen_solver_report(m_solver.get(), 0)) {
        m_iterations += report->iterations;
        m_error = std::max(m_error, report->residual);
      }
    }
  }

 private:
  void reset() { m_solver.reset(); }

  AMG& limit() {
    if (!m_solver) return *this;
    const coarsen_status status =
        coarsen_solver_set_limits(m_solver.get(), m_options.tolerance, m_options.max_iterations);
    if (status != COARSEN_STATUS_OK) this->end(status);  // otherwise info() is that of the last solve
    return *this;
  }

  coarsen_status take(const coarsen_matrix* matrix) {
    if (m_solver) return coarsen_solver_update(m_solver.get(), matrix);
    m_options.method = m_method.c_str();
    m_options.preconditioner = m_preconditioner.c_str();
    coarsen_solver* made = nullptr;
    const coarsen_status status = coarsen_solver_new(matrix, &m_options, &made);
    m_solver.reset(made);
    return status;
  }

  coarsen_options m_options;
  std::string m_method = "auto", m_preconditioner = "auto";
  detail::Handle<coarsen_solver> m_solver;
  mutable Eigen::Index m_iterations = 0;
  mutable double m_error = 0;
  mutable Eigen::VectorXd m_to;
};

}  // namespace coarsen

#endif  // COARSEN_EIGEN_HPP
