/*
 * coarsen: solvers for large sparse linear systems. A program: examples/poisson.c.
 *
 * - Functions that can fail return a coarsen_status; coarsen_last_error() is then the message: what is wrong, and a remedy.
 * - Objects come from a function `..._new` and go with `..._free`, which takes NULL too. The library copies matrices,
 *   coordinates and near-kernels. It borrows b and x until the call returns; they must not overlap.
 * - Any thread may use an object, one call at a time; only coarsen_solver_cancel() may be called meanwhile. A call that
 *   meets another one at the same solver or preconditioner fails with COARSEN_STATUS_IN_USE.
 * - Work runs on one pool of threads (coarsen_set_threads). Callbacks are called one at a time, possibly on a thread of
 *   this pool while the caller waits. They must return: no longjmp, no C++ exception.
 * - Numbers do not depend on the number of threads.
 */

#ifndef COARSEN_H
#define COARSEN_H

/* Written by cbindgen from crates/ffi/src: change that, not this. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How a call ended. Unless it is COARSEN_STATUS_OK, coarsen_last_error() is the message.
typedef enum {
    // All is done. Of a solve: the residual, recomputed from x, is within the tolerance.
    COARSEN_STATUS_OK = 0,
    // An argument is wrong: a null pointer, a length that does not fit, NaN or infinity, an unknown name.
    COARSEN_STATUS_INVALID_ARGUMENT = 1,
    // The preconditioner or the factor of this matrix cannot be built. Objects are as before the call.
    COARSEN_STATUS_SETUP_FAILED = 2,
    // The solve ended above the tolerance, and x is the best x found. The message has the cause.
    COARSEN_STATUS_NOT_CONVERGED = 3,
    // The observer or coarsen_solver_cancel() ended the solve, and x is the best x found.
    COARSEN_STATUS_CANCELLED = 4,
    // Another call uses the object.
    COARSEN_STATUS_IN_USE = 5,
    // Threads could not be started, or memory is short.
    COARSEN_STATUS_OUT_OF_RESOURCES = 6,
    // A fault of the library. The objects of the call can only be freed.
    COARSEN_STATUS_INTERNAL_ERROR = 7,
} coarsen_status;

// A square sparse matrix of dense blocks, perhaps with the coordinates of its nodes and a near-kernel. A solver and a preconditioner
// copy what they need.
typedef struct coarsen_matrix coarsen_matrix;

// A preconditioner M of a matrix.
typedef struct coarsen_preconditioner coarsen_preconditioner;

// A solver that keeps the method and the preconditioner that it chose, for systems that follow each other.
typedef struct coarsen_solver coarsen_solver;

// Called at every iteration with the relative residual; true ends the solve. `user` is that of the options.
typedef bool (*coarsen_observer)(void *user, size_t iteration, double residual);

// How to solve. Begin with coarsen_options_default().
typedef struct {
    // "auto", "direct", "cg", "fcg", "minres", "gmres" or "bicgstab"; NULL: "auto", which tries methods with a bound on the cost.
    const char *method;
    // "auto", or a name that coarsen_preconditioner_new() knows; NULL: "auto".
    const char *preconditioner;
    // The tolerance for the relative residual |b - A x| / |b| in the 2-norm; 1e-8.
    double tolerance;
    // The largest number of iterations of all methods together; 5000.
    size_t max_iterations;
    // The largest size of a factor in bytes, if iterations are an alternative; 4 GiB.
    size_t memory;
    // Sees all iterations; NULL: none.
    coarsen_observer observer;
    // The first argument of the observer.
    void *user;
} coarsen_options;

// y = A x, for `n` numbers each, with the same A during a solve. `user` is that of coarsen_solver_new_operator().
typedef void (*coarsen_operator)(void *user, size_t n, const double *x, double *y);

// How a solve ended. The text is valid as long as the report.
typedef struct {
    // "converged", "cancelled", or what went wrong, such as "iteration_limit" or "indefinite_operator".
    const char *outcome;
    // A line with the method, the iterations and the residual; unless converged also the cause and a remedy.
    const char *message;
    // The method that ended the solve, such as "cg" or "direct"; "none" if the guess was a solution.
    const char *method;
    // Its preconditioner, such as "sa"; "none" for a direct method.
    const char *preconditioner;
    // The iterations of all methods.
    size_t iterations;
    // |b - A x| / |b|, recomputed from x.
    double residual;
    // The seconds of analyses and setups.
    double setup_seconds;
    // The seconds of iterations.
    double solve_seconds;
} coarsen_report;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Copies a square matrix from compressed rows, in `*matrix`. Both triangles of a symmetric matrix are stored.
//
// There are `rows` rows of blocks and `blocks` blocks of `block` x `block` numbers; with `block` 1 the arrays are those of CSR.
// `offsets` has `rows` + 1 entries, which begin with 0 and end with `blocks`; `columns` has `blocks` entries, which increase within a
// row; `values` has `blocks` * `block` * `block` numbers, each block row by row. A block should have the unknowns of a node.
coarsen_status coarsen_matrix_new_i32(size_t rows,
                                      size_t blocks,
                                      size_t block,
                                      const int32_t *offsets,
                                      const int32_t *columns,
                                      const double *values,
                                      coarsen_matrix **matrix);

// As coarsen_matrix_new_i32(), with indices of 64 bits.
coarsen_status coarsen_matrix_new_i64(size_t rows,
                                      size_t blocks,
                                      size_t block,
                                      const int64_t *offsets,
                                      const int64_t *columns,
                                      const double *values,
                                      coarsen_matrix **matrix);

// Groups the unknowns of a node, which have consecutive numbers, in blocks of `size` x `size`; places that are not stored become
// zeros. With 0 the size is that which needs the fewest bytes. With scalars in place of blocks, elasticity needs two to four times
// as many iterations.
coarsen_status coarsen_matrix_set_block_size(coarsen_matrix *matrix,
                                             size_t size);

// Copies the coordinates of the nodes, in any unit of length; rigid-body modes follow from them. `points` has `dimension` (1, 2 or 3)
// numbers for each of `nodes` nodes, which are as many as the rows of blocks.
coarsen_status coarsen_matrix_set_coordinates(coarsen_matrix *matrix,
                                              size_t nodes,
                                              size_t dimension,
                                              const double *points);

// Copies vectors v with A v small, such as rigid-body modes. `rows` has `count` numbers for each of `n` unknowns: row by row, one
// vector in each column.
coarsen_status coarsen_matrix_set_near_kernel(coarsen_matrix *matrix,
                                              size_t n,
                                              size_t count,
                                              const double *rows);

// Frees a matrix.
void coarsen_matrix_free(coarsen_matrix *matrix);

// Builds a preconditioner, in `*preconditioner`: "sa" (smoothed aggregation), "rs" (Ruge-Stueben), "skinning", "mas"
// (multilevel additive Schwarz), "as", "ras", "ic0", "ilu0", "gs", "ssor", "chebyshev", "jacobi", "l1-jacobi",
// "block-jacobi" or "none". Hierarchies are stored in single
// precision.
coarsen_status coarsen_preconditioner_new(const coarsen_matrix *matrix,
                                          const char *name,
                                          coarsen_preconditioner **preconditioner);

// Updates a preconditioner to a matrix with as many unknowns, which keeps its structure while the pattern stays. After a failure it
// is that of the last matrix.
coarsen_status coarsen_preconditioner_update(coarsen_preconditioner *preconditioner,
                                             const coarsen_matrix *matrix);

// z = M^-1 r, for vectors of `n` numbers that do not overlap.
coarsen_status coarsen_preconditioner_apply(coarsen_preconditioner *preconditioner,
                                            size_t n,
                                            const double *r,
                                            double *z);

// Frees a preconditioner. A solver that uses it keeps it.
void coarsen_preconditioner_free(coarsen_preconditioner *preconditioner);

// The default options.
coarsen_options coarsen_options_default(void);

// Makes a solver for a matrix, which it copies, in `*solver`. `options` is NULL for the default ones, or copied. Nothing is chosen or
// set up before the first solve.
coarsen_status coarsen_solver_new(const coarsen_matrix *matrix,
                                  const coarsen_options *options,
                                  coarsen_solver **solver);

// Makes a solver for a function, y = A x with `n` unknowns, in `*solver`. `preconditioner` is NULL for none; updates of it hold from the
// next solve. Of the options `method` must be iterative ("auto" is "cg"), and `preconditioner` and `memory` have no meaning.
coarsen_status coarsen_solver_new_operator(size_t n,
                                           coarsen_operator apply,
                                           void *user,
                                           const coarsen_preconditioner *preconditioner,
                                           const coarsen_options *options,
                                           coarsen_solver **solver);

// Sets the tolerance and the largest number of iterations of later solves, as in the options.
coarsen_status coarsen_solver_set_limits(coarsen_solver *solver,
                                         double tolerance,
                                         size_t max_iterations);

// Copies the next matrix, of the same or another pattern and size. Coordinates and near-kernel stay where `matrix` has none and they
// fit. After a failure the solver has the last matrix.
coarsen_status coarsen_solver_update(coarsen_solver *solver,
                                     const coarsen_matrix *matrix);

// Solves A x = b for `n` unknowns, from the guess in x. Unless the arguments are wrong, x is then the best x found, and
// coarsen_solver_report() has the report.
coarsen_status coarsen_solver_solve(coarsen_solver *solver,
                                    size_t n,
                                    const double *b,
                                    double *x);

// Solves for `count` right-hand sides with one setup, eight at once where conjugate gradients solve the first one; that with index j
// begins at `b + j * n`, and its solution at `x + j * n`. The status is that of the first one that failed; later ones are solved
// too, except after a cancellation. The observer receives the largest residual of those that are solved at once.
coarsen_status coarsen_solver_solve_many(coarsen_solver *solver,
                                         size_t n,
                                         size_t count,
                                         const double *b,
                                         double *x);

// The report of the last solve, or of its right-hand side with this index; NULL if there is none, or a call uses the solver. Valid
// until the next solve.
const coarsen_report *coarsen_solver_report(const coarsen_solver *solver,
                                            size_t index);

// Ends the solve that runs, from any thread; without one it has no effect. A setup ends between two of its steps, an iteration at its
// end, and a factorisation is completed.
void coarsen_solver_cancel(const coarsen_solver *solver);

// Frees a solver.
void coarsen_solver_free(coarsen_solver *solver);

// The message of the last call of this thread that failed: what is wrong, and a remedy; empty at first. Valid until another call of
// this thread fails.
const char *coarsen_last_error(void);

// The version of the library, such as "0.1.0".
const char *coarsen_version(void);

// Sets the number of threads of later calls; 0, the default, is one for each core. Running calls keep theirs.
coarsen_status coarsen_set_threads(size_t threads);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COARSEN_H */
