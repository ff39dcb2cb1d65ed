/* Heat in a square plate: a solve, and another one with new values. */
#include <coarsen.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 200, N = SIDE * SIDE };

static int32_t offsets[N + 1], columns[5 * N];
static double values[5 * N], b[N], x[N];

/* Five points; `mass` is added to the diagonal. */
static void assemble(double mass) {
    int32_t k = 0;
    for (int32_t i = 0; i < N; i++) {
        int32_t row = i / SIDE, column = i % SIDE;
        offsets[i] = k;
        if (row > 0) { columns[k] = i - SIDE; values[k++] = -1; }
        if (column > 0) { columns[k] = i - 1; values[k++] = -1; }
        columns[k] = i; values[k++] = 4 + mass;
        if (column < SIDE - 1) { columns[k] = i + 1; values[k++] = -1; }
        if (row < SIDE - 1) { columns[k] = i + SIDE; values[k++] = -1; }
    }
    offsets[N] = k;
}

static void check(coarsen_status status) {
    if (status != COARSEN_STATUS_OK) {
        fprintf(stderr, "%s\n", coarsen_last_error());
        exit(1);
    }
}

int main(void) {
    coarsen_solver *solver = NULL;
    for (int i = 0; i < N; i++) b[i] = 1;
    for (int step = 0; step < 2; step++) {
        coarsen_matrix *a;
        assemble(0.001 * step);
        check(coarsen_matrix_new_i32(N, offsets[N], 1, offsets, columns, values,
                                     &a));
        if (solver == NULL)
            check(coarsen_solver_new(a, NULL, &solver));
        else
            check(coarsen_solver_update(solver, a)); /* keeps what it chose */
        coarsen_matrix_free(a);
        check(coarsen_solver_solve(solver, N, b, x));
        printf("%s\n", coarsen_solver_report(solver, 0)->message);
    }
    printf("in the middle: %.2f\n", x[N / 2 + SIDE / 2]);
    coarsen_solver_free(solver);
    return 0;
}
