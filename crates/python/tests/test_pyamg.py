"""Hierarchies of `pycoarsen.pyamg`: what they are made of, and what a solve returns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pycoarsen.pyamg as pyamg
import pytest
from numpy.testing import assert_allclose
from pycoarsen import ConvergenceWarning
from pyamg_cases import CASES, iterations, system
from scipy import sparse
from scipy.sparse import linalg as sla

POISSON = pyamg.gallery.poisson((40, 40), format="csr")
ELASTIC, RIGID = pyamg.gallery.linear_elasticity((16, 16), format="bsr")
ONES = np.ones(1600)


@pytest.mark.parametrize("case", CASES)
def test_iterations_are_those_of_pyamg(case: str) -> None:
    assert iterations(pyamg, case) <= 1.3 * CASES[case][-1] + 1


def test_galerkin_products_and_transfers_fit() -> None:
    for ml in (
        pyamg.smoothed_aggregation_solver(POISSON),
        pyamg.smoothed_aggregation_solver(ELASTIC, RIGID),
        pyamg.ruge_stuben_solver(POISSON),
    ):
        assert len(ml.levels) > 2
        for level, coarser in zip(ml.levels, ml.levels[1:], strict=False):
            assert abs(level.R - level.P.T).max() == 0
            expected = (level.R @ level.A @ level.P).toarray()
            assert_allclose(coarser.A.toarray(), expected, atol=1e-12 * abs(expected).max())
        assert not hasattr(ml.levels[-1], "P")


def test_the_finest_matrix_is_that_of_the_caller() -> None:
    assert pyamg.smoothed_aggregation_solver(POISSON).levels[0].A is POISSON
    ml = pyamg.smoothed_aggregation_solver(ELASTIC, RIGID)
    assert ml.levels[0].A.format == "bsr" and ml.levels[1].A.blocksize == (3, 3)


def test_tentative_prolongation_reproduces_the_near_kernel() -> None:
    ml = pyamg.smoothed_aggregation_solver(ELASTIC, RIGID, improve_candidates=None, keep=True)
    level, coarser = ml.levels[:2]
    assert_allclose(level.T @ coarser.B, level.B, atol=1e-10 * abs(level.B).max())
    gram = (level.T.T @ level.T).toarray()
    assert_allclose(gram, np.eye(len(gram)), atol=1e-12)
    assert level.AggOp.sum(axis=1).max() == 1
    assert level.C.shape == level.AggOp.shape[:1] * 2
    assert len(level.Cnodes) == level.AggOp.shape[1]


@pytest.mark.parametrize("krylov", ["cg", "cgnr", "gmres"])
def test_energy_falls_and_the_near_kernel_stays(krylov: str) -> None:
    options: dict[str, Any] = {"improve_candidates": None, "keep": True, "max_levels": 2}
    ml = pyamg.smoothed_aggregation_solver(
        ELASTIC, RIGID, smooth=("energy", {"krylov": krylov, "weighting": "diagonal"}), **options
    )
    level, coarser = ml.levels
    assert_allclose(level.P @ coarser.B, level.B, atol=1e-9 * abs(level.B).max())

    def energy(P: Any) -> float:
        return float((P.T @ ELASTIC @ P).trace())

    assert energy(level.P) < 0.5 * energy(level.T)


def test_filtered_smoothing_keeps_the_near_kernel() -> None:
    ml = pyamg.smoothed_aggregation_solver(
        POISSON,
        strength=("symmetric", {"theta": 0.1}),
        smooth=("jacobi", {"filter_entries": True}),
        improve_candidates=None,
        max_levels=2,
    )
    assert_allclose(ml.levels[0].P @ ml.levels[1].B, ml.levels[0].B, atol=1e-12)


def test_plain_prolongation_is_the_tentative_one() -> None:
    level = pyamg.smoothed_aggregation_solver(POISSON, smooth=None, keep=True).levels[0]
    assert abs(level.P - level.T).max() == 0


def test_standard_aggregates_are_those_of_vanek() -> None:
    of, roots = pyamg.aggregation.standard_aggregation(pyamg.gallery.poisson((7,), format="csr"))
    assert of.toarray().argmax(axis=1).tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert roots.tolist() == [0, 3, 6]
    isolated = sparse.csr_array(np.array([[1.0, 0, 0], [0, 1, 1], [0, 1, 1]]))
    of, _ = pyamg.aggregation.standard_aggregation(isolated)
    assert of.toarray().tolist() == [[0], [1], [1]]


def test_balanced_clusters_have_similar_sizes() -> None:
    sizes = {}
    for method in ("lloyd_aggregation", "balanced_lloyd_aggregation"):
        np.random.seed(3)
        of, centres = getattr(pyamg.aggregation, method)(abs(POISSON), ratio=0.1)
        assert of.shape == (1600, 160) and (of.sum(axis=1) == 1).all()
        assert (of[centres].toarray().argmax(axis=1) == np.arange(160)).all()
        sizes[method] = np.asarray(of.sum(axis=0))
    plain, balanced = sizes.values()
    assert balanced.std() < 0.5 * plain.std() and balanced.min() >= 5
    np.random.seed(3)
    again, _ = pyamg.aggregation.balanced_lloyd_aggregation(abs(POISSON), ratio=0.1)
    assert abs(again - of).max() == 0
    # Two components and a centre in one of them: the other is left out, with a warning.
    apart = sparse.csr_array(sparse.block_diag([pyamg.gallery.poisson((9,)), pyamg.gallery.poisson((9,))]))
    with pytest.warns(UserWarning, match="reaches"):
        of, _ = pyamg.aggregation.lloyd_aggregation(abs(apart), ratio=0.05)
    assert of.sum() == 9


def test_predefined_aggregates_and_strength_are_used() -> None:
    of = sparse.csr_array(np.kron(np.eye(20), np.ones((80, 1))))
    ml = pyamg.smoothed_aggregation_solver(POISSON, aggregate=("predefined", {"AggOp": of}), keep=True)
    assert len(ml.levels) == 2 and ml.levels[1].A.shape == (20, 20)
    assert abs(ml.levels[0].AggOp - of).max() == 0
    lines = sparse.csr_array(sparse.kron(sparse.eye_array(40), pyamg.gallery.poisson((40,))))
    ml = pyamg.smoothed_aggregation_solver(POISSON, strength=[("predefined", {"C": lines})], keep=True)
    assert len(ml.levels) == 2
    columns = ml.levels[0].AggOp.tocsc()
    rows = [set(columns.indices[columns.indptr[k] : columns.indptr[k + 1]] // 40) for k in range(columns.shape[1])]
    assert all(len(own) == 1 for own in rows)


def test_strength_measures_keep_what_they_define() -> None:
    A = sparse.csr_array(np.array([[4.0, -1, -0.3, 0], [-1, 4, 0, 0.5], [-0.3, 0, 1, -0.9], [0, 0.5, -0.9, 1]]))
    magnitude = abs(A.toarray())
    off = magnitude - np.diag(np.diag(magnitude))
    C = pyamg.strength.classical_strength_of_connection(A, 0.5).toarray()
    assert ((C - np.diag(np.diag(C)) != 0) == ((off >= 0.5 * off.max(axis=1)[:, None]) & (off > 0))).all()
    C = pyamg.strength.symmetric_strength_of_connection(A, 0.2).toarray()
    scale = np.sqrt(np.outer(np.diag(magnitude), np.diag(magnitude)))
    assert ((C - np.diag(np.diag(C)) != 0) == ((off >= 0.2 * scale) & (off > 0))).all()
    # Along the strong direction of an anisotropic equation, and not across it.
    stencil = np.array([[0, -0.01, 0], [-1, 2.02, -1], [0, -0.01, 0]])
    C = pyamg.strength.evolution_strength_of_connection(
        pyamg.gallery.stencil_grid(stencil, (9, 9), format="csr")
    ).toarray()
    assert C[40, 41] > 0 and C[40, 39] > 0 and C[40, 31] == 0 and C[40, 49] == 0


def test_fine_unknowns_depend_on_coarse_ones() -> None:
    C = pyamg.strength.classical_strength_of_connection(POISSON, 0.25)
    for second_pass in (False, True):
        splitting = pyamg.classical.split.RS(C, second_pass)
        pattern = sparse.csr_array((np.ones_like(C.data), C.indices, C.indptr), shape=C.shape)
        assert (splitting + pattern @ splitting).min() > 0
    for by in (
        pyamg.classical.interpolate.direct_interpolation(POISSON, C, splitting),
        pyamg.classical.interpolate.classical_interpolation(POISSON, C, splitting),
    ):
        inside = (POISSON @ np.ones(1600)) == 0  # rows that sum to zero are interpolated exactly
        assert_allclose((by @ np.ones(by.shape[1]))[inside], 1.0, rtol=1e-12)


def test_residuals_are_true() -> None:
    for accel in (None, "cg", "gmres", "fgmres", "bicgstab", "minres"):
        ml, residuals = pyamg.smoothed_aggregation_solver(POISSON), []
        x0 = np.linspace(0, 1, 1600)
        x = ml.solve(ONES, x0=x0, tol=1e-9, residuals=residuals, accel=accel)
        assert_allclose(residuals[0], np.linalg.norm(ONES - POISSON @ x0), rtol=1e-12)
        true = np.linalg.norm(ONES - POISSON @ x)
        assert true <= 1e-9 * np.linalg.norm(ONES)
        assert abs(residuals[-1] - true) <= 1e-12 * residuals[0]
        assert len(residuals) > 3


def test_callbacks_see_every_iterate() -> None:
    for accel in (None, "cg", "bicgstab"):
        ml, seen, residuals = pyamg.smoothed_aggregation_solver(POISSON), [], []
        x = ml.solve(ONES, tol=1e-6, callback=seen.append, residuals=residuals, accel=accel)
        assert len(seen) == len(residuals) - 1
        assert_allclose(seen[-1], x, rtol=1e-9)
        assert_allclose([np.linalg.norm(ONES - POISSON @ each) for each in seen], residuals[1:], rtol=1e-3)
    with pytest.raises(ZeroDivisionError):
        ml.solve(ONES, callback=lambda _: 1 / 0)
    with pytest.raises(NotImplementedError, match="gmres"):
        ml.solve(ONES, accel="gmres", callback=print)


def test_a_solve_that_does_not_converge_warns() -> None:
    ml = pyamg.smoothed_aggregation_solver(POISSON)
    for accel in (None, "cg", "cgs"):
        with pytest.warns(ConvergenceWarning, match="did not converge"):
            _, info = ml.solve(ONES, tol=1e-14, maxiter=2, accel=accel, return_info=True)
        assert info == 2
    _, info = ml.solve(ONES, tol=1e-6, return_info=True)
    assert info == 0


def test_cg_with_relaxation_in_one_direction_warns() -> None:
    one_way = ("gauss_seidel", {"sweep": "forward"})
    ml = pyamg.smoothed_aggregation_solver(POISSON, presmoother=one_way, postsmoother=one_way)
    assert not ml.symmetric_smoothing
    with pytest.warns(UserWarning, match="transposes"), pytest.warns(ConvergenceWarning):
        ml.solve(ONES, accel="cg", maxiter=2)
    back = ("gauss_seidel", {"sweep": "backward"})
    assert pyamg.smoothed_aggregation_solver(POISSON, presmoother=one_way, postsmoother=back).symmetric_smoothing


def test_complex_numbers_are_refused() -> None:
    ml = pyamg.smoothed_aggregation_solver(POISSON)
    for refused in (
        lambda: pyamg.smoothed_aggregation_solver(POISSON * 1j),
        lambda: pyamg.ruge_stuben_solver(POISSON * 1j),
        lambda: pyamg.smoothed_aggregation_solver(POISSON, B=1j * ONES),
        lambda: pyamg.solve(POISSON * 1j, ONES),
        lambda: ml.solve(1j * ONES),
        lambda: ml.solve(ONES, x0=1j * ONES),
        lambda: pyamg.krylov.cg(POISSON, 1j * ONES),
    ):
        with pytest.raises(TypeError, match="complex"):
            refused()


@pytest.mark.parametrize("cycle", ["V", "W", "F"])
@pytest.mark.parametrize(
    "smoother",
    [
        ("gauss_seidel", {"sweep": "symmetric"}),
        ("block_gauss_seidel", {"sweep": "symmetric"}),
        ("schwarz", {"sweep": "symmetric"}),
        "jacobi",
        "block_jacobi",
        "richardson",
        "chebyshev",
    ],
)
def test_cycles_are_symmetric_where_relaxation_is(cycle: str, smoother: Any) -> None:
    ml = pyamg.smoothed_aggregation_solver(ELASTIC, RIGID, presmoother=smoother, postsmoother=smoother)
    M = ml.aspreconditioner(cycle)
    rng = np.random.default_rng(1)
    x, y = rng.random((2, ELASTIC.shape[0]))
    # An F-cycle is followed by V-cycles on each level, so it is not symmetric.
    if cycle != "F":
        assert_allclose(M @ x @ y, x @ (M @ y), rtol=1e-9)
    assert M @ x @ x > 0


def test_preconditioners_work_in_scipy_and_here() -> None:
    ml = pyamg.ruge_stuben_solver(POISSON)
    for cycle in ("V", "W", "F"):
        M = ml.aspreconditioner(cycle)
        x, info = sla.cg(POISSON, ONES, M=M, rtol=1e-8, maxiter=20)
        assert info == 0 and np.linalg.norm(ONES - POISSON @ x) <= 1e-8 * 40
    for M in (ml.aspreconditioner(), sla.aslinearoperator(ml.aspreconditioner())):
        for method in (pyamg.krylov.cg, pyamg.krylov.gmres, pyamg.krylov.fgmres, pyamg.krylov.bicgstab):
            residuals: list[float] = []
            x, info = method(POISSON, ONES, M=M, tol=1e-8, residuals=residuals)
            assert info == 0 and len(residuals) < 12
            assert np.linalg.norm(ONES - POISSON @ x) <= 1e-8 * 40
            x, info = ml.solve(ONES, accel=method, tol=1e-8, return_info=True)
            assert info == 0
    M = ml.aspreconditioner("AMLI")
    x, info = pyamg.krylov.fgmres(POISSON, ONES, M=M, tol=1e-8)
    assert info == 0
    with pytest.raises(ValueError, match="fgmres"):
        ml.solve(ONES, cycle="AMLI", accel="cg")


def test_more_coarse_visits_converge_faster() -> None:
    ml = pyamg.smoothed_aggregation_solver(pyamg.gallery.poisson((4000,), format="csr"))
    counts = {}
    for cycle, per_level in (("V", 1), ("F", 1), ("F", 3), ("W", 1)):
        residuals: list[float] = []
        ml.solve(np.ones(4000), tol=1e-8, cycle=cycle, cycles_per_level=per_level, residuals=residuals, maxiter=300)
        counts[cycle, per_level] = len(residuals)
    assert counts["W", 1] < counts["V", 1] and counts["F", 1] < counts["V", 1]
    assert counts["F", 3] <= counts["F", 1]


@pytest.mark.parametrize("solver", ["splu", "lu", "cholesky", "pinv", "cg", "gmres", "bicgstab", "minres"])
def test_coarse_solvers_are_exact(solver: str) -> None:
    for A in (POISSON, pyamg.gallery.poisson((30,), format="csr"), sparse.csr_array(np.diag(np.arange(1.0, 5)))):
        b = np.arange(A.shape[0], dtype=float)
        solve = pyamg.coarse_grid_solver(solver)
        for _ in range(2):
            assert_allclose(A @ solve(A, b), b, atol=1e-5)
    ml = pyamg.smoothed_aggregation_solver(POISSON, coarse_solver=solver)
    assert repr(solver) in repr(ml)
    ml.solve(ONES, tol=1e-9)


def test_coarse_solvers_take_functions() -> None:
    calls = []

    def direct(A: Any, b: Any, scale: float = 1.0) -> Any:
        calls.append(A.shape)
        return scale * np.linalg.solve(A.toarray(), b)

    ml = pyamg.smoothed_aggregation_solver(POISSON, coarse_solver=(direct, {"scale": 1.0}))
    exact = pyamg.smoothed_aggregation_solver(POISSON, coarse_solver="splu")
    assert_allclose(ml.solve(ONES, tol=1e-8), exact.solve(ONES, tol=1e-8), rtol=1e-6)
    assert set(calls) == {ml.levels[-1].A.shape}

    def fails(A: Any, b: Any) -> Any:
        raise KeyError("coarse")

    with pytest.raises(KeyError, match="coarse"):
        pyamg.smoothed_aggregation_solver(POISSON, coarse_solver=fails).solve(ONES)


def test_singular_systems_are_solved_with_the_pseudo_inverse() -> None:
    n = 200
    A = sparse.csr_array(
        sparse.diags_array([-np.ones(n - 1), np.r_[1, 2 * np.ones(n - 2), 1], -np.ones(n - 1)], offsets=[-1, 0, 1])
    )
    b = np.sin(2 * np.pi * (np.arange(n) + 0.5) / n)
    b -= b.mean()
    x = pyamg.smoothed_aggregation_solver(A, coarse_solver="pinv").solve(b, tol=1e-8, accel="cg")
    assert np.linalg.norm(b - A @ x) < 1e-7


def test_print_shows_the_levels() -> None:
    ml = pyamg.smoothed_aggregation_solver(POISSON, max_levels=2)
    lines = str(ml).splitlines()
    fine, coarse = (level.A for level in ml.levels)
    total = fine.nnz + coarse.nnz
    assert lines[0] == "MultilevelSolver"
    assert lines[1] == "Number of Levels:     2"
    assert lines[2] == f"Operator Complexity:  {total / fine.nnz:6.3f}"
    assert lines[3] == f"Grid Complexity:      {(1600 + coarse.shape[0]) / 1600:6.3f}"
    assert lines[4] == "Coarse Solver:        'pinv'"
    assert lines[6].split()[:3] == ["0", "1600", str(fine.nnz)]
    assert_allclose([ml.operator_complexity(), ml.grid_complexity()], [total / fine.nnz, 1 + coarse.shape[0] / 1600])


def test_cycle_complexity_counts_visits() -> None:
    levels = []
    for n in (10, 5, 3, 2):
        level = pyamg.multilevel.Level()
        level.A = sparse.csr_array(np.ones((n, n)))
        if n > 2:
            level.P = sparse.csr_array(np.ones((n, {10: 5, 5: 3, 3: 2}[n])))
        levels.append(level)
    ml = pyamg.MultilevelSolver(levels)
    # 100, 25, 9 and 4 entries
    assert ml.cycle_complexity("V") == (2 * (100 + 25 + 9) + 4) / 100
    assert ml.cycle_complexity("W") == ml.cycle_complexity("AMLI") == (2 * 100 + 4 * 25 + 8 * 9 + 4 * 4) / 100
    assert ml.cycle_complexity("F") == (2 * 100 + 4 * 25 + 6 * 9 + 3 * 4) / 100


def test_a_hierarchy_can_be_made_by_hand_and_changed() -> None:
    fine, coarse = pyamg.multilevel.Level(), pyamg.multilevel.Level()
    given = pyamg.smoothed_aggregation_solver(POISSON, max_levels=2).levels
    fine.A, fine.P, coarse.A = POISSON, given[0].P, given[1].A
    ml = pyamg.MultilevelSolver([fine, coarse], coarse_solver="splu")
    pyamg.relaxation.smoothing.change_smoothers(ml, "jacobi", "jacobi")
    slow: list[float] = []
    ml.solve(ONES, tol=1e-6, residuals=slow)
    pyamg.relaxation.smoothing.change_smoothers(ml, "gauss_seidel", "gauss_seidel")
    fast: list[float] = []
    ml.solve(ONES, tol=1e-6, residuals=fast)
    assert len(fast) < len(slow)
    x = ml.solve(ONES, tol=1e-8)
    ml.change_solve_matrix(2 * POISSON)
    with pytest.warns(ConvergenceWarning):
        ml.solve(ONES, tol=1e-8, maxiter=3)
    assert_allclose(ml.solve(ONES, tol=1e-8, accel="gmres"), x / 2, rtol=1e-5)


def test_matrices_that_the_cycle_has_copies_of_cannot_be_written() -> None:
    for ml in (pyamg.smoothed_aggregation_solver(POISSON), pyamg.smoothed_aggregation_solver(ELASTIC, RIGID)):
        for matrix in (ml.levels[1].A, ml.levels[0].P, ml.levels[0].R):
            with pytest.raises(ValueError, match="read-only"):
                matrix.data[...] = 0.0
    A = sparse.csr_array(POISSON.copy())
    ml = pyamg.smoothed_aggregation_solver(A)
    A.data *= 2.0
    ml.levels[0].A = ml.levels[0].A
    ml.levels[1].A = 2.0 * ml.levels[1].A
    x = ml.solve(ONES, tol=1e-10, accel="cg")
    assert_allclose(A @ x, ONES, atol=1e-7)


@pytest.mark.parametrize("name", ["cg", "cgs", "bicg", "bicgstab", "gmres", "lgmres", "gcrotmk", "minres"])
def test_solvers_of_scipy_accelerate(name: str) -> None:
    ml = pyamg.smoothed_aggregation_solver(POISSON)
    b = POISSON @ np.linspace(0.0, 1.0, 1600)
    for accel in {name, getattr(sla, name)}:
        norms: list[float] = []
        seen: list[Any] = []
        callback = None if accel in ("gmres",) else seen.append
        x = ml.solve(b, tol=1e-8, accel=accel, residuals=norms, callback=callback)
        assert norms[0] == pytest.approx(np.linalg.norm(b))
        assert np.linalg.norm(b - POISSON @ x) <= 1e-6 * norms[0]
        assert norms[-1] <= 1e-6 * norms[0]
        if callback is not None:
            assert all(np.shape(v) == (1600,) for v in seen) and seen


def test_other_functions_of_scipy_are_refused() -> None:
    ml = pyamg.smoothed_aggregation_solver(POISSON)
    for accel in ("spsolve", "qmr", "tfqmr", "norm", sla.qmr, sla.tfqmr):
        with pytest.raises(NotImplementedError, match="accel"):
            ml.solve(ONES, accel=accel)
    skewed = pyamg.smoothed_aggregation_solver(
        POISSON, presmoother=("gauss_seidel", {"sweep": "forward"}), postsmoother=("gauss_seidel", {"sweep": "forward"})
    )
    with pytest.raises(NotImplementedError, match="transpose"):
        skewed.solve(ONES, accel="bicg")


def test_the_default_limit_of_cg_is_that_of_pyamg() -> None:
    n = 6000
    A = pyamg.gallery.poisson((n,), format="csr")
    b = np.random.default_rng(0).standard_normal(n)
    norms: list[float] = []
    _, info = pyamg.krylov.cg(A, b, tol=1e-14, residuals=norms)
    assert len(norms) > 5002 and info in (0, int(1.3 * n) + 2)


def test_relaxation_functions_reduce_errors() -> None:
    b, methods = ONES, pyamg.relaxation.relaxation
    for name, extra in (
        ("gauss_seidel", {}),
        ("block_gauss_seidel", {"blocksize": 2}),
        ("sor", {"omega": 1.3}),
        ("jacobi", {"omega": 0.7}),
        ("block_jacobi", {"blocksize": 2, "omega": 0.7}),
        ("gauss_seidel_ne", {}),
        ("gauss_seidel_nr", {}),
        ("jacobi_ne", {"omega": 0.3}),
        ("schwarz", {}),
    ):
        x = np.zeros(1600)
        getattr(methods, name)(POISSON, x, b, iterations=5, **extra)
        exact = sla.spsolve(POISSON.tocsc(), b)
        assert np.linalg.norm(x - exact) < np.linalg.norm(exact), name
    x, lower = np.zeros(1600), sparse.tril(POISSON).tocsr()
    methods.gauss_seidel(POISSON, x, b)
    assert_allclose(x, sla.spsolve_triangular(lower, b), rtol=1e-12)
    x = np.zeros(1600)
    methods.gauss_seidel(POISSON, x, b, sweep="backward")
    assert_allclose(x, sla.spsolve_triangular(sparse.triu(POISSON).tocsr(), b, lower=False), rtol=1e-12)


def test_black_box_solves_without_settings() -> None:
    for of in ("poisson2d", "recirculating", "elastic"):
        A, _ = system(pyamg, of)
        b = np.ones(A.shape[0])
        x, ml = pyamg.solve(A, b, verb=False, tol=1e-8, return_solver=True)
        assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
        x = pyamg.solve(A, 2 * b, verb=False, tol=1e-8, existing_solver=ml)
        assert np.linalg.norm(2 * b - A @ x) <= 2e-8 * np.linalg.norm(b)


def test_shapes_and_types_are_those_of_pyamg() -> None:
    ml = pyamg.smoothed_aggregation_solver(POISSON)
    assert ml.solve(ONES.reshape(-1, 1)).shape == (1600,)
    assert (ml.aspreconditioner() @ ONES.reshape(-1, 1)).shape == (1600, 1)
    for bad in (np.ones(1599), np.ones((1600, 2))):
        with pytest.raises(ValueError, match="b has the shape"):
            ml.solve(bad)
    single = pyamg.smoothed_aggregation_solver(POISSON.astype(np.float32))
    assert single.solve(ONES.astype(np.float32)).dtype == np.float32
    integers = pyamg.smoothed_aggregation_solver(POISSON.astype(int))
    assert_allclose(integers.solve(np.ones(1600, int), tol=1e-8), ml.solve(ONES, tol=1e-8), rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
        for other in (POISSON.tocsc(), POISSON.toarray(), POISSON.tocoo()):
            assert_allclose(
                pyamg.smoothed_aggregation_solver(other).levels[-1].A.toarray(), ml.levels[-1].A.toarray(), atol=1e-12
            )
    with pytest.raises(ValueError, match="square"):
        pyamg.smoothed_aggregation_solver(sparse.csr_array(np.ones((2, 3))))
    with pytest.raises(ValueError, match="BH has the shape"):
        pyamg.smoothed_aggregation_solver(POISSON, BH=np.ones((1600, 2)), symmetry="nonsymmetric")


def test_gallery_matrices_are_what_they_say() -> None:
    assert pyamg.gallery.poisson((4,)).toarray().tolist() == [
        [2, -1, 0, 0],
        [-1, 2, -1, 0],
        [0, -1, 2, -1],
        [0, 0, -1, 2],
    ]
    assert pyamg.gallery.poisson((2, 3)).toarray()[1].tolist() == [-1, 4, -1, 0, -1, 0]
    whole = pyamg.gallery.poisson((3, 3), type="FE").toarray()
    assert whole[4].tolist() == [-1, -1, -1, -1, 8, -1, -1, -1, -1] and whole[0].sum() == 5
    stencil = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])
    grid = pyamg.gallery.stencil_grid(stencil, (3, 3)).toarray()
    assert grid[4].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8] and grid[3].tolist() == [1, 2, 0, 4, 5, 0, 7, 8, 0]
    assert abs(pyamg.gallery.diffusion_stencil_2d(0.1, 0.3).sum()) < 1e-15
    assert abs(ELASTIC - ELASTIC.T).max() < 1e-9
    # Rigid-body modes of an unconstrained body need no force at points without a fixed neighbour.
    inner = np.zeros((16, 16), bool)
    inner[1:-1, 1:-1] = True
    force = (ELASTIC @ RIGID)[np.repeat(inner.reshape(-1), 2)]
    assert abs(force).max() < 1e-8 * abs(ELASTIC).max()
    with pytest.raises(NotImplementedError, match="airfoil"):
        pyamg.gallery.load_example("airfoil")
