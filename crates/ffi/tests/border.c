/* What the interface refuses, reports and leaves intact. Exits with 0 if all holds. */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>
#endif
#include <coarsen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int holds, const char *what, int line) {
    if (!holds) {
        fprintf(stderr, "line %d: %s; the last error is: %s\n", line, what, coarsen_last_error());
        failures++;
    }
}
#define EXPECT(x) expect((x), #x, __LINE__)
/* The call fails with this status, and the message has the text. */
#define FAILS(call, status, text) \
    (expect((call) == (status), #call, __LINE__), expect(strstr(coarsen_last_error(), (text)) != NULL, "message: " text, __LINE__))
#define OK(call) expect((call) == COARSEN_STATUS_OK, #call, __LINE__)

enum { SIDE = 40, N = SIDE * SIDE, MOST = 5 * N, COUNT = 11 };

static int32_t offsets[N + 1], columns[MOST];
static int64_t long_offsets[N + 1], long_columns[MOST];
static double values[MOST], b[COUNT * N], x[COUNT * N], y[2 * N];

/* The five-point matrix with this diagonal; with `links` 0 it is diagonal. */
static void fill(double diagonal, double links) {
    int32_t k = 0;
    for (int32_t i = 0; i < N; i++) {
        int32_t beside[5] = {i - SIDE, i - 1, i, i + 1, i + SIDE};
        int there[5] = {i >= SIDE, i % SIDE > 0, 1, i % SIDE < SIDE - 1, i < N - SIDE};
        offsets[i] = k;
        for (int j = 0; j < 5; j++) {
            if (!there[j] || (links == 0 && j != 2)) continue;
            columns[k] = beside[j];
            values[k++] = j == 2 ? diagonal : links;
        }
    }
    offsets[N] = k;
}

static coarsen_matrix *plate(double diagonal, double links) {
    coarsen_matrix *a = NULL;
    fill(diagonal, links);
    OK(coarsen_matrix_new_i32(N, offsets[N], 1, offsets, columns, values, &a));
    return a;
}

static void multiply(void *user, size_t n, const double *from, double *to) {
    (void)user;
    for (size_t i = 0; i < n; i++) {
        to[i] = 0;
        for (int32_t k = offsets[i]; k < offsets[i + 1]; k++) to[i] += values[k] * from[columns[k]];
    }
}

/* |b - A x| / |b| with the matrix of the last fill. */
static double residual(const double *of, const double *with) {
    double r = 0, size = 0;
    multiply(NULL, N, with, y);
    for (int i = 0; i < N; i++) {
        r += (of[i] - y[i]) * (of[i] - y[i]);
        size += of[i] * of[i];
    }
    return sqrt(r / size);
}

struct seen {
    coarsen_solver *solver;
    int calls;
    bool stops, cancels;
};

static bool observe(void *user, size_t iteration, double relative) {
    struct seen *seen = user;
    (void)iteration;
    EXPECT(relative >= 0);
    seen->calls++;
    if (seen->cancels) coarsen_solver_cancel(seen->solver);
    if (seen->solver) EXPECT(coarsen_solver_solve(seen->solver, N, b, y) == COARSEN_STATUS_IN_USE);
    return seen->stops;
}

static void matrices_are_checked(void) {
    coarsen_matrix *a = (coarsen_matrix *)1;
    const coarsen_status invalid = COARSEN_STATUS_INVALID_ARGUMENT;
    fill(4, -1);
    size_t k = offsets[N];
    FAILS(coarsen_matrix_new_i32(N, k, 1, offsets, columns, values, NULL), invalid, "null pointer");
    FAILS(coarsen_matrix_new_i32(N, k, 1, NULL, columns, values, &a), invalid, "offsets is a null pointer");
    EXPECT(a == NULL);
    FAILS(coarsen_matrix_new_i32(N, k, 1, offsets, NULL, values, &a), invalid, "columns is a null pointer");
    FAILS(coarsen_matrix_new_i32(N, k, 1, offsets, columns, NULL, &a), invalid, "values is a null pointer");
    FAILS(coarsen_matrix_new_i32(N, k, 1, offsets, columns, (double *)((char *)values + 1), &a), invalid, "aligned");
    FAILS(coarsen_matrix_new_i32(N, k - 1, 1, offsets, columns, values, &a), invalid, "offsets");
    FAILS(coarsen_matrix_new_i32(N - 1, k, 1, offsets, columns, values, &a), invalid, "row");
    FAILS(coarsen_matrix_new_i32(N, k, 0, offsets, columns, values, &a), invalid, "blocks of 0 x 0");
    FAILS(coarsen_matrix_new_i32(N, SIZE_MAX, 2, offsets, columns, values, &a), invalid, "too many");
    columns[1] = -1;
    FAILS(coarsen_matrix_new_i32(N, k, 1, offsets, columns, values, &a), invalid, "column 1 is -1");
    columns[1] = N;
    FAILS(coarsen_matrix_new_i32(N, k, 1, offsets, columns, values, &a), invalid, "1600");
    fill(4, -1);
    values[4] = NAN;
    FAILS(coarsen_matrix_new_i32(N, k, 1, offsets, columns, values, &a), invalid, "row 1, column 1 is not finite");

    a = plate(4, -1);
    FAILS(coarsen_matrix_set_block_size(a, 3), invalid, "do not tile");
    FAILS(coarsen_matrix_set_coordinates(a, N, 4, b), invalid, "dimension is 4");
    FAILS(coarsen_matrix_set_coordinates(a, N - 1, 2, b), invalid, "coordinates");
    FAILS(coarsen_matrix_set_near_kernel(a, N + 1, 1, b), invalid, "near-kernel");
    FAILS(coarsen_matrix_set_near_kernel(a, N, 1, NULL), invalid, "rows is a null pointer");
    x[3] = INFINITY;
    FAILS(coarsen_matrix_set_near_kernel(a, N, 1, x), invalid, "NaN or infinity at index 3");
    FAILS(coarsen_matrix_set_coordinates(a, N, 1, x), invalid, "NaN or infinity at index 3");
    x[3] = 0;
    coarsen_matrix_free(a);
    coarsen_matrix_free(NULL);
}

static void solves_are_checked(void) {
    coarsen_matrix *a = plate(4, -1);
    coarsen_solver *solver = NULL;
    coarsen_options options = coarsen_options_default();
    const coarsen_status invalid = COARSEN_STATUS_INVALID_ARGUMENT;
    FAILS(coarsen_solver_new(NULL, NULL, &solver), invalid, "matrix is a null pointer");
    options.method = "simplex";
    FAILS(coarsen_solver_new(a, &options, &solver), invalid, "method is 'simplex'");
    options.method = "auto";
    options.preconditioner = "magic";
    FAILS(coarsen_solver_new(a, &options, &solver), invalid, "preconditioner is 'magic'");
    options.preconditioner = NULL;
    options.tolerance = NAN;
    FAILS(coarsen_solver_new(a, &options, &solver), invalid, "NaN");
    OK(coarsen_solver_new(a, NULL, &solver));
    EXPECT(coarsen_solver_report(solver, 0) == NULL);
    FAILS(coarsen_solver_solve(NULL, N, b, x), invalid, "solver is a null pointer");
    FAILS(coarsen_solver_solve(solver, N - 1, b, x), invalid, "expected 1600");
    FAILS(coarsen_solver_solve(solver, N, NULL, x), invalid, "b is a null pointer");
    FAILS(coarsen_solver_solve(solver, N, b, NULL), invalid, "x is a null pointer");
    FAILS(coarsen_solver_solve(solver, N, x + 1, x), invalid, "overlap");
    b[7] = NAN;
    FAILS(coarsen_solver_solve(solver, N, b, x), invalid, "b holds NaN or infinity at index 7");
    b[7] = 1;
    OK(coarsen_solver_solve(solver, N, b, x)); /* after all failures */
    EXPECT(residual(b, x) <= 1e-8);
    FAILS(coarsen_solver_set_limits(solver, -1, 10), invalid, "-1");
    OK(coarsen_solver_set_limits(solver, 1e-12, 500));
    OK(coarsen_solver_solve(solver, N, b, x));
    EXPECT(residual(b, x) <= 1e-12);
    coarsen_solver_free(solver);
    coarsen_solver_free(NULL);
    coarsen_matrix_free(a);
}

static void every_method_solves(void) {
    const char *pairs[][2] = {{"auto", "auto"}, {"direct", NULL}, {"cg", "sa"}, {NULL, "mas"}, {"cg", "ic0"},
                              {"gmres", "ilu0"}, {"bicgstab", "auto"}, {"minres", "jacobi"}, {NULL, "chebyshev"}};
    coarsen_matrix *a = plate(4, -1);
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        coarsen_solver *solver = NULL;
        coarsen_options options = coarsen_options_default();
        options.method = pairs[k][0];
        options.preconditioner = pairs[k][1];
        options.tolerance = 1e-10;
        OK(coarsen_solver_new(a, &options, &solver));
        memset(x, 0, sizeof x);
        OK(coarsen_solver_solve(solver, N, b, x));
        EXPECT(residual(b, x) <= 1e-10);
        const coarsen_report *report = coarsen_solver_report(solver, 0);
        EXPECT(report != NULL && strcmp(report->outcome, "converged") == 0 && report->residual <= 1e-10);
        if (report == NULL) exit(1);
        EXPECT(pairs[k][0] == NULL || strcmp(pairs[k][0], "auto") == 0 || strcmp(report->method, pairs[k][0]) == 0);
        EXPECT(pairs[k][1] == NULL || strcmp(pairs[k][1], "auto") == 0 || strcmp(report->preconditioner, pairs[k][1]) == 0);
        EXPECT(report->setup_seconds >= 0 && report->solve_seconds > 0);
        printf("%s\n", report->message);
        coarsen_solver_free(solver);
    }
    coarsen_matrix_free(a);
}

static void failures_of_the_method_are_reported(void) {
    coarsen_solver *solver = NULL;
    coarsen_options options = coarsen_options_default();
    coarsen_matrix *a = plate(4, -1), *indefinite = plate(1, -1), *singular = plate(0, 0);
    options.method = "cg";
    options.preconditioner = "jacobi";
    options.max_iterations = 60;
    fill(4, -1);
    OK(coarsen_solver_new(a, &options, &solver));
    memset(x, 0, sizeof x);
    FAILS(coarsen_solver_solve(solver, N, b, x), COARSEN_STATUS_NOT_CONVERGED, "iteration limit");
    EXPECT(strcmp(coarsen_solver_report(solver, 0)->outcome, "iteration_limit") == 0);
    EXPECT(coarsen_solver_report(solver, 0)->iterations == 60 && coarsen_solver_report(solver, 1) == NULL);
    EXPECT(fabs(residual(b, x) - coarsen_solver_report(solver, 0)->residual) < 1e-12 && x[N / 2] != 0);
    coarsen_solver_free(solver);

    options = coarsen_options_default();
    options.method = "cg";
    OK(coarsen_solver_new(indefinite, &options, &solver));
    FAILS(coarsen_solver_solve(solver, N, b, x), COARSEN_STATUS_NOT_CONVERGED, "indefinite");
    printf("%s\n", coarsen_last_error());
    coarsen_solver_free(solver);

    OK(coarsen_solver_new(singular, NULL, &solver));
    EXPECT(coarsen_solver_solve(solver, N, b, x) == COARSEN_STATUS_NOT_CONVERGED);
    printf("%s\n", coarsen_last_error());
    OK(coarsen_solver_update(solver, a));
    fill(4, -1);
    memset(x, 0, sizeof x);
    OK(coarsen_solver_solve(solver, N, b, x));
    EXPECT(residual(b, x) <= 1e-8);
    coarsen_solver_free(solver);

    coarsen_preconditioner *m = NULL;
    FAILS(coarsen_preconditioner_new(singular, "jacobi", &m), COARSEN_STATUS_SETUP_FAILED, "zero or missing diagonal");
    EXPECT(m == NULL);
    coarsen_matrix_free(a);
    coarsen_matrix_free(indefinite);
    coarsen_matrix_free(singular);
}

static void updates_follow_the_matrix(void) {
    coarsen_matrix *a = plate(4, -1), *other = NULL, *small = NULL, *changed = plate(4.5, -1);
    coarsen_solver *solver = NULL;
    OK(coarsen_solver_new(a, NULL, &solver));
    memset(x, 0, sizeof x);
    OK(coarsen_solver_solve(solver, N, b, x));
    OK(coarsen_solver_update(solver, changed)); /* the same pattern */
    OK(coarsen_solver_solve(solver, N, b, x));
    EXPECT(residual(b, x) <= 1e-8);
    EXPECT(coarsen_solver_update(solver, NULL) == COARSEN_STATUS_INVALID_ARGUMENT);
    OK(coarsen_solver_solve(solver, N, b, x)); /* with the last matrix */
    EXPECT(residual(b, x) <= 1e-8);
    OK(coarsen_matrix_set_coordinates(changed, N, 1, b));
    OK(coarsen_matrix_set_block_size(changed, 2));
    FAILS(coarsen_solver_update(solver, changed), COARSEN_STATUS_INVALID_ARGUMENT, "positions"); /* one for each scalar */
    OK(coarsen_solver_solve(solver, N, b, x));
    EXPECT(residual(b, x) <= 1e-8);
    other = plate(3, 0); /* another pattern */
    OK(coarsen_solver_update(solver, other));
    OK(coarsen_solver_solve(solver, N, b, x));
    EXPECT(residual(b, x) <= 1e-8);
    int32_t few[3] = {0, 1, 2};
    OK(coarsen_matrix_new_i32(2, 2, 1, few, few, values, &small)); /* another size */
    OK(coarsen_solver_update(solver, small));
    FAILS(coarsen_solver_solve(solver, N, b, x), COARSEN_STATUS_INVALID_ARGUMENT, "expected 2");
    OK(coarsen_solver_solve(solver, 2, b, x));
    EXPECT(fabs(x[1] - 1.0 / 3) < 1e-8);
    coarsen_solver_free(solver);
    coarsen_matrix_free(a);
    coarsen_matrix_free(changed);
    coarsen_matrix_free(other);
    coarsen_matrix_free(small);
}

static void several_right_hand_sides_share_a_solver(void) {
    coarsen_matrix *a = plate(4, -1);
    coarsen_solver *solver = NULL;
    const char *methods[2] = {"direct", "cg"}; /* CG solves eight at once */
    for (int i = N; i < COUNT * N; i++) b[i] = sin(i);
    for (int method = 0; method < 2; method++) {
        coarsen_options options = coarsen_options_default();
        options.method = methods[method];
        OK(coarsen_solver_new(a, &options, &solver));
        for (int k = 0; k < 4; k++) {
            int count = (int[]){0, 1, 2, COUNT}[k];
            memset(x, 0, sizeof x);
            OK(coarsen_solver_solve_many(solver, N, count, b, x));
            for (int j = 0; j < count; j++) EXPECT(residual(b + j * N, x + j * N) <= 1e-8);
            EXPECT(coarsen_solver_report(solver, count) == NULL);
            EXPECT(count == 0 || coarsen_solver_report(solver, count - 1) != NULL);
        }
        FAILS(coarsen_solver_solve_many(solver, N, SIZE_MAX, b, x), COARSEN_STATUS_INVALID_ARGUMENT, "too many");
        coarsen_solver_free(solver);
    }
    coarsen_matrix_free(a);
}

static void observers_see_and_end_solves(void) {
    coarsen_matrix *a = plate(4, -1);
    for (int mode = 0; mode < 3; mode++) {
        struct seen seen = {NULL, 0, mode == 1, mode == 2};
        coarsen_options options = coarsen_options_default();
        options.method = "cg";
        options.observer = observe;
        options.user = &seen;
        OK(coarsen_solver_new(a, &options, &seen.solver));
        for (int again = 0; again < 2; again++) {
            memset(x, 0, sizeof x);
            seen.calls = 0;
            if (mode == 0) {
                OK(coarsen_solver_solve(seen.solver, N, b, x));
                EXPECT(seen.calls > (int)coarsen_solver_report(seen.solver, 0)->iterations / 2);
            } else {
                FAILS(coarsen_solver_solve(seen.solver, N, b, x), COARSEN_STATUS_CANCELLED, "cancelled after");
                EXPECT(strcmp(coarsen_solver_report(seen.solver, 0)->outcome, "cancelled") == 0);
                EXPECT(seen.calls > 0);
            }
        }
        if (mode == 2) { /* the next solve begins afresh */
            seen.cancels = false;
            OK(coarsen_solver_solve(seen.solver, N, b, x));
        }
        coarsen_solver_free(seen.solver);
    }
    coarsen_solver_cancel(NULL);
    coarsen_matrix_free(a);
}

static void functions_are_operators(void) {
    coarsen_matrix *a = plate(4, -1);
    coarsen_preconditioner *m = NULL;
    coarsen_solver *solver = NULL;
    coarsen_options options = coarsen_options_default();
    const coarsen_status invalid = COARSEN_STATUS_INVALID_ARGUMENT;
    FAILS(coarsen_preconditioner_new(a, "magic", &m), invalid, "preconditioner is 'magic'");
    FAILS(coarsen_preconditioner_new(a, NULL, &m), invalid, "needs a name");
    OK(coarsen_preconditioner_new(a, "sa", &m));
    FAILS(coarsen_preconditioner_apply(m, N - 1, b, x), invalid, "expected 1600");
    FAILS(coarsen_preconditioner_apply(m, N, b, b), invalid, "overlap");
    FAILS(coarsen_solver_new_operator(N, NULL, NULL, m, NULL, &solver), invalid, "apply is a null pointer");
    options.method = "direct";
    FAILS(coarsen_solver_new_operator(N, multiply, NULL, m, &options, &solver), invalid, "direct");
    const char *methods[] = {NULL, "cg", "fcg", "minres", "gmres", "bicgstab"};
    for (int k = 0; k < 6; k++) {
        options.method = methods[k];
        OK(coarsen_solver_new_operator(N, multiply, NULL, k == 1 ? NULL : m, &options, &solver));
        memset(x, 0, sizeof x);
        OK(coarsen_solver_solve(solver, N, b, x));
        EXPECT(residual(b, x) <= 1e-8);
        printf("%s, preconditioner %s\n", coarsen_solver_report(solver, 0)->message, coarsen_solver_report(solver, 0)->preconditioner);
        FAILS(coarsen_solver_update(solver, a), invalid, "in place of a matrix");
        OK(coarsen_solver_set_limits(solver, 1e-8, 1));
        memset(x, 0, sizeof x);
        EXPECT(coarsen_solver_solve(solver, N, b, x) == COARSEN_STATUS_NOT_CONVERGED);
        coarsen_solver_free(solver);
    }
    struct seen seen = {NULL, 0, true, false};
    options = coarsen_options_default();
    options.observer = observe;
    options.user = &seen;
    OK(coarsen_solver_new_operator(N, multiply, NULL, m, &options, &solver));
    memset(x, 0, sizeof x);
    FAILS(coarsen_solver_solve(solver, N, b, x), COARSEN_STATUS_CANCELLED, "cancelled after");
    EXPECT(seen.calls > 0);
    coarsen_solver_free(solver);

    /* Updates of the preconditioner, also one that fails. */
    double before = 0, after = 0;
    coarsen_matrix *changed = plate(8, -1), *singular = plate(0, 0);
    OK(coarsen_preconditioner_apply(m, N, b, x));
    before = x[N / 2];
    OK(coarsen_preconditioner_update(m, changed));
    OK(coarsen_preconditioner_apply(m, N, b, x));
    after = x[N / 2];
    EXPECT(after > 0 && after < before);
    EXPECT(coarsen_preconditioner_update(m, singular) == COARSEN_STATUS_SETUP_FAILED);
    OK(coarsen_preconditioner_apply(m, N, b, x));
    EXPECT(x[N / 2] == after);
    coarsen_preconditioner_free(m);
    coarsen_preconditioner_free(NULL);
    coarsen_matrix_free(a);
    coarsen_matrix_free(changed);
    coarsen_matrix_free(singular);
}

/* Blocks of two unknowns: as BSR, as CSR that is regrouped, and with 64 bits, at 1 and 2 threads: the same bits. */
static void layouts_and_threads_agree(void) {
    static double scalars[4 * MOST], blocks[4 * MOST], first[2 * N];
    static int64_t csr_columns[4 * MOST], csr_offsets[2 * N + 1];
    const double coupling[4] = {1, 0.25, 0.25, 1};
    coarsen_options options = coarsen_options_default();
    size_t k = 0;
    fill(4.1, -1);
    for (int i = 0; i < N; i++) long_offsets[i + 1] = offsets[i + 1];
    for (int j = 0; j < offsets[N]; j++) {
        long_columns[j] = columns[j];
        for (int c = 0; c < 4; c++) blocks[4 * j + c] = values[j] * coupling[c];
    }
    for (int i = 0; i < 2 * N; i++) {
        for (int32_t j = offsets[i / 2]; j < offsets[i / 2 + 1]; j++)
            for (int c = 0; c < 2; c++, k++) {
                csr_columns[k] = 2 * columns[j] + c;
                scalars[k] = blocks[4 * j + 2 * (i % 2) + c];
            }
        csr_offsets[i + 1] = (int64_t)k;
    }
    for (int i = 0; i < 2 * N; i++) b[i] = 1 + i % 3;
    options.method = "cg";
    for (int way = 0; way < 4; way++) {
        coarsen_matrix *a = NULL;
        coarsen_solver *solver = NULL;
        OK(coarsen_set_threads(way % 2 + 1));
        if (way < 2)
            OK(coarsen_matrix_new_i64(2 * N, k, 1, csr_offsets, csr_columns, scalars, &a));
        else
            OK(coarsen_matrix_new_i64(N, offsets[N], 2, long_offsets, long_columns, blocks, &a));
        OK(coarsen_matrix_set_block_size(a, way == 1 ? 2 : 0));
        OK(coarsen_solver_new(a, &options, &solver));
        memset(x, 0, sizeof x);
        OK(coarsen_solver_solve(solver, 2 * N, b, x));
        if (way == 0) memcpy(first, x, sizeof first);
        EXPECT(memcmp(first, x, sizeof first) == 0);
        coarsen_solver_free(solver);
        coarsen_matrix_free(a);
    }
    OK(coarsen_set_threads(0));
}

/* A fork has no threads of its parent: it starts its own, also for a solver of its parent. */
static void a_fork_solves(void) {
#ifdef _POSIX_C_SOURCE
    coarsen_matrix *a = NULL;
    coarsen_solver *solver = NULL;
    int ended = 1;
    fill(4.1, -1);
    for (int i = 0; i < N; i++) b[i] = 1;
    OK(coarsen_matrix_new_i32(N, offsets[N], 1, offsets, columns, values, &a));
    OK(coarsen_solver_new(a, NULL, &solver));
    memset(x, 0, sizeof x);
    OK(coarsen_solver_solve(solver, N, b, x));
    pid_t child = fork();
    if (child == 0) {
        coarsen_solver *own = NULL;
        alarm(60); /* instead of a hang */
        memset(y, 0, sizeof y);
        int holds = coarsen_solver_new(a, NULL, &own) == COARSEN_STATUS_OK;
        holds = holds && coarsen_solver_solve(own, N, b, y) == COARSEN_STATUS_OK;
        holds = holds && memcmp(x, y, N * sizeof *x) == 0;
        holds = holds && coarsen_set_threads(2) == COARSEN_STATUS_OK;
        holds = holds && coarsen_solver_solve(solver, N, b, y) == COARSEN_STATUS_OK;
        _exit(!holds);
    }
    EXPECT(child > 0 && waitpid(child, &ended, 0) == child);
    EXPECT(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    coarsen_solver_free(solver);
    coarsen_matrix_free(a);
#endif
}

int main(void) {
    printf("coarsen %s\n", coarsen_version());
    EXPECT(strcmp(coarsen_last_error(), "") == 0);
    matrices_are_checked();
    for (int i = 0; i < N; i++) b[i] = 1;
    solves_are_checked();
    every_method_solves();
    failures_of_the_method_are_reported();
    updates_follow_the_matrix();
    several_right_hand_sides_share_a_solver();
    observers_see_and_end_solves();
    functions_are_operators();
    layouts_and_threads_agree();
    a_fork_solves();
    if (failures == 0) printf("all holds\n");
    return failures > 0;
}
