"""`solve` and `Solver`."""

import threading
import time

import numpy as np
import pycoarsen
import pytest
import scipy.sparse as sp
from conftest import poisson, residual, springs
from pycoarsen import _arrays

FORMATS = ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_every_format_of_scipy_is_solved(format, kind, rng):
    A = kind(poisson(20)).asformat(format)
    b = rng.standard_normal(400)
    x = pycoarsen.solve(A, b)
    assert residual(A, b, x) <= 1e-8


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, bool])
def test_real_numbers_of_every_type_are_converted(dtype):
    A = sp.csr_array(2 * sp.eye_array(50)).astype(dtype)
    b = np.ones(50, dtype=dtype)
    x = pycoarsen.solve(A, b)
    assert x.dtype == np.float64
    np.testing.assert_allclose(x, b / A.diagonal().astype(float))


def test_dense_matrices_are_solved(rng):
    A = rng.standard_normal((30, 30)) + 30 * np.eye(30)
    b = rng.standard_normal(30)
    np.testing.assert_allclose(pycoarsen.solve(A, b), np.linalg.solve(A, b), rtol=1e-6)
    np.testing.assert_allclose(pycoarsen.solve(A.tolist(), b.tolist()), np.linalg.solve(A, b), rtol=1e-6)


@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_another_pattern_of_the_same_size_is_seen(width, rng):
    A, b = poisson(20), rng.standard_normal((400, 2))
    order = rng.permutation(400)
    solver = pycoarsen.Solver(A)
    for B in (A, sp.csr_array(A[order][:, order]), A):
        B.indptr, B.indices = B.indptr.astype(width), B.indices.astype(width)
        solver.update(B)
        x = solver.solve(b)
        assert max(residual(B, b[:, j], x[:, j]) for j in range(2)) <= 1e-8


def test_a_matrix_with_two_owners_is_not_taken():
    A = _arrays.rows(poisson(20))
    first, second = pycoarsen.Solver(A), pycoarsen.Solver(A)
    np.testing.assert_array_equal(first.solve(np.ones(400)), second.solve(np.ones(400)))
    assert A.shape == (400, 400)


def test_int64_indices_are_taken(rng):
    A = poisson(20)
    A.indptr, A.indices = A.indptr.astype(np.int64), A.indices.astype(np.int64)
    b = rng.standard_normal(400)
    assert residual(A, b, pycoarsen.solve(A, b)) <= 1e-8


def test_unsorted_rows_and_duplicates_are_summed_on_a_copy():
    data, indices, indptr = np.array([1.0, 1.0, 3.0, 4.0]), np.array([1, 0, 0, 1]), np.array([0, 3, 4])
    A = sp.csr_array((data, indices, indptr), shape=(2, 2))
    x = pycoarsen.solve(A, [5.0, 4.0])  # [[4, 1], [0, 4]]
    np.testing.assert_allclose(x, [1.0, 1.0])
    np.testing.assert_array_equal(A.indices, [1, 0, 0, 1])


def test_arguments_are_not_written(rng):
    A, b = poisson(20), rng.standard_normal(400)
    A.data.flags.writeable = A.indices.flags.writeable = b.flags.writeable = False
    guess = np.ones(400)
    pycoarsen.solve(A, b, guess)
    np.testing.assert_array_equal(guess, 1.0)


def test_several_columns_share_one_setup(rng):
    A, B = poisson(60), rng.standard_normal((3600, 3))
    solver = pycoarsen.Solver(A)
    X = solver.solve(B)
    assert X.shape == B.shape
    assert all(residual(A, B[:, j], X[:, j]) <= 1e-8 for j in range(3))
    assert solver.report.setup_seconds < 1e-3  # of the last column
    np.testing.assert_allclose(pycoarsen.solve(A, np.asfortranarray(B)), X, atol=1e-6)


@pytest.mark.parametrize("method", ["cg", "direct"])
def test_many_columns_are_solved_eight_at_once(method, rng):
    A, B, guess = poisson(30), rng.standard_normal((900, 19)), rng.standard_normal((900, 19))
    B[:, 12] = 0.0
    solver = pycoarsen.Solver(A, method=method)
    for x0 in (None, guess):
        X = solver.solve(B, x0)
        assert all(residual(A, B[:, j], X[:, j]) <= 1e-8 for j in range(19) if j != 12)
        assert not X[:, 12].any()
        assert solver.report.converged
    assert solver.solve(B[:, :0]).shape == (900, 0)
    short = pycoarsen.Solver(A, method=method, rtol=1e-300, maxiter=3)
    with pytest.raises(pycoarsen.SolveError) as caught:
        short.solve(B)
    assert caught.value.x.shape == (900,)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_bits_do_not_depend_on_threads(threads, rng):
    A, points = springs(14)
    b = rng.standard_normal(A.shape[0])
    x = pycoarsen.solve(A, b, coordinates=points, threads=threads)
    np.testing.assert_array_equal(x, pycoarsen.solve(A, b, coordinates=points, threads=1))


def test_blocks_are_found_in_scalars(rng):
    A, points = springs(8)
    b = rng.standard_normal(A.shape[0])
    assert pycoarsen.Solver(A).block_size == 3
    scalars = sp.csr_array(A)
    assert pycoarsen.Solver(scalars).block_size == 3
    assert pycoarsen.Solver(scalars, block_size=1).block_size == 1
    assert pycoarsen.Solver(poisson(10)).block_size == 1
    for x in (pycoarsen.solve(A, b, coordinates=points), pycoarsen.solve(scalars, b, coordinates=points)):
        assert residual(A, b, x) <= 1e-8


def test_updates_solve_the_next_system(rng):
    A, points = springs(10)
    b = rng.standard_normal(A.shape[0])
    solver = pycoarsen.Solver(A, coordinates=points)
    assert solver.method is None and solver.report is None
    for scale in (1.0, 1.1, 1.3):
        solver.update(scale * A)
        x = solver.solve(b)
        assert residual(scale * A, b, x) <= 1e-8
        assert solver.report.converged and solver.report.residual <= 1e-8
    assert solver.method is not None
    other = A + sp.random_array(A.shape, density=1e-4, rng=rng, format="csr")
    other = sp.csr_array(other + other.T + 10 * sp.eye_array(A.shape[0]))
    solver.update(other)
    assert residual(other, b, solver.solve(b)) <= 1e-8
    solver.update(sp.csr_array(poisson(30)))
    with pytest.raises(ValueError, match="b has the shape"):
        solver.solve(b)
    assert residual(poisson(30), np.ones(900), solver.solve(np.ones(900))) <= 1e-8


def test_the_matrix_is_copied(rng):
    A, b = poisson(30), rng.standard_normal(900)
    solver = pycoarsen.Solver(A)
    A.data[:] = np.nan
    assert residual(poisson(30), b, solver.solve(b)) <= 1e-8


@pytest.mark.parametrize("method", ["direct", "cg", "fcg", "minres", "gmres", "bicgstab"])
def test_a_method_is_taken(method, rng):
    A, b = poisson(40), rng.standard_normal(1600)
    solver = pycoarsen.Solver(A, method=method)
    assert residual(A, b, solver.solve(b)) <= 1e-8
    assert [attempt.method for attempt in solver.report.attempts] == [method]


def test_unsymmetric_and_indefinite_systems_are_solved(rng):
    b = rng.standard_normal(900)
    A = sp.csr_array(poisson(30) + sp.diags_array([np.full(899, 0.5)], offsets=[1], shape=(900, 900)))
    assert residual(A, b, pycoarsen.solve(A, b)) <= 1e-8
    A = sp.csr_array(poisson(30) - 3 * sp.eye_array(900))
    assert residual(A, b, pycoarsen.solve(A, b)) <= 1e-8


def test_a_solve_that_fails_raises_with_cause_and_report():
    A = sp.csr_array(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    with pytest.raises(pycoarsen.SolveError, match="singular") as caught:
        pycoarsen.solve(A, [1.0, 1.0])
    report = caught.value.report
    assert not report.converged and report.advice and caught.value.x.shape == (2,)
    with pytest.raises(pycoarsen.SolveError):
        pycoarsen.Solver(poisson(60), method="cg", maxiter=2).solve(np.ones(3600))


def test_wrong_arguments_are_named(rng):
    A, b = poisson(10), np.ones(100)
    with pytest.raises(ValueError, match="b has the shape"):
        pycoarsen.solve(A, np.ones(99))
    with pytest.raises(ValueError, match="square"):
        pycoarsen.solve(A[:50], b)
    with pytest.raises(ValueError, match="x0 has the shape"):
        pycoarsen.solve(A, b, np.ones(3))
    with pytest.raises(ValueError, match="NaN or infinity at index 3"):
        pycoarsen.solve(A, np.where(np.arange(100) == 3, np.nan, 1.0))
    broken = A.copy()
    broken.data[5] = np.nan
    for method in ("auto", "cg"):
        with pytest.raises(ValueError, match="row 1, column 2 is not finite"):
            pycoarsen.Solver(broken, method=method).solve(b)
    solver = pycoarsen.Solver(A)
    with pytest.raises(ValueError, match="row 1, column 2 is not finite"):
        solver.update(broken)
    assert residual(A, b, solver.solve(b)) <= 1e-8
    with pytest.raises(TypeError, match="complex"):
        pycoarsen.solve(A.astype(complex), b)
    with pytest.raises(TypeError, match="complex"):
        pycoarsen.solve(A, b * 1j)
    with pytest.raises(ValueError, match="method is 'lu'"):
        pycoarsen.solve(A, b, method="lu")
    with pytest.raises(ValueError, match="block_size"):
        pycoarsen.solve(A, b, block_size=3)
    with pytest.raises(ValueError, match="coordinates"):
        pycoarsen.solve(A, b, coordinates=np.zeros((7, 3)))
    with pytest.raises(TypeError, match="LinearOperator"):
        pycoarsen.solve(sp.linalg.aslinearoperator(A), b)
    with pytest.raises(ValueError, match="rtol|relative"):
        pycoarsen.solve(A, b, rtol=-1.0)


def test_the_report_prints_and_shows(rng):
    A, points = springs(14)
    solver = pycoarsen.Solver(A, coordinates=points, method="cg")
    solver.solve(rng.standard_normal(A.shape[0]))
    report = solver.report
    assert str(report) == report.message and "converged" in str(report)
    assert report.iterations + 1 >= len(report.residuals) > 1
    shown = report._repr_html_()
    assert "<svg" in shown and "<table>" in shown
    assert (report.levels is None) == (solver.levels is None)
    assert "cg" in repr(solver)


def test_a_report_shows_levels(rng):
    A, b = poisson(120), rng.standard_normal(14400)
    solver = pycoarsen.Solver(A, method="cg", memory=0)
    solver.solve(b)
    assert solver.report.attempts[-1].preconditioner == "sa", str(solver.report)
    assert solver.levels.count > 1 and "level" in solver.report._repr_html_()
    solver.solve(b)
    assert solver.levels.count > 1


def test_levels_are_those_of_the_kept_preconditioner(monkeypatch):
    A, b = poisson(120), np.ones(14400)
    solver = pycoarsen.Solver(A, method="cg", memory=0)
    solver.solve(b)
    assert solver.method == ("cg", "sa") and solver.levels.count > 1
    ilu = {
        "method": "gmres", "preconditioner": "ilu0", "single": False, "ending": "converged", "advice": "", "note": None,
        "iterations": 1, "setup_seconds": 0.1, "solve_seconds": 0.1, "condition": None, "levels": None,
    }  # fmt: skip
    left = {**ilu, "method": "cg", "preconditioner": "sa", "ending": "stagnated", "levels": (2, 1.5, "a table")}
    told = {
        "ending": "converged", "advice": "", "message": "", "iterations": 2, "residual": 0.0, "tolerance": 1e-8,
        "notes": [], "attempts": [left, ilu], "history": [],
    }  # fmt: skip

    class Core:
        def solve(self, b, x):
            return x, told

        def kept(self):
            return "gmres", "ilu0"

    monkeypatch.setattr(solver, "_core", Core())
    solver.solve(b)
    assert solver.levels is None


def test_solves_run_beside_python():
    A = poisson(50, 3)
    b = np.ones(A.shape[0])
    counted, ends = 0, threading.Event()

    def work():
        try:
            pycoarsen.solve(A, b, threads=1)
        finally:
            ends.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not ends.is_set():
        counted += 1
        time.sleep(1e-3)
    thread.join()
    assert counted > 10
