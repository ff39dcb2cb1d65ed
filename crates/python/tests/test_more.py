"""Constraints, energies, files, diagnoses, and what surrounds them."""

import gzip
import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pycoarsen
import pytest
import scipy.io
import scipy.sparse as sp
from conftest import poisson, residual, springs


def test_prescribed_unknowns_are_met(rng):
    A, b = poisson(20), rng.standard_normal(400)
    fixed, values = np.array([3, 77, 399]), np.array([1.0, -2.0, 0.5])
    c = pycoarsen.Constraints(400)
    c.fix(fixed, values)
    x = pycoarsen.solve(A, b, constraints=c)
    np.testing.assert_allclose(x[fixed], values, atol=1e-12)
    free = np.setdiff1d(np.arange(400), fixed)
    expected = np.zeros(400)
    expected[fixed] = values
    expected[free] = sp.linalg.spsolve(A[free][:, free].tocsc(), (b - A @ expected)[free])
    np.testing.assert_allclose(x, expected, atol=1e-6)


def test_constraints_of_nodes_are_met_and_change(rng):
    A, points = springs(8)
    b = rng.standard_normal(A.shape[0])
    c = pycoarsen.Constraints(len(points), 3)
    c.point(0, [0.1, 0.0, 0.0])
    c.plane(5, [0.0, 0.0, 1.0], 0.25)
    c.line(9, [1.0, 0.0, 0.0], [0.0, 1.0, 2.0])
    c.equation([(20, [1.0, 0.0, 0.0]), (30, [-1.0, 0.0, 0.0])])
    c.vertex_face(100, (101, 108, 109), [0.2, 0.3, 0.5], [0.0, 1.0, 0.0], 0.01)
    c.edge_edge((200, 201), (208, 209), (0.5, 0.25), [1.0, 0.0, 0.0])
    assert (len(c), c.nodes, c.block_size) == (3 + 1 + 2 + 1 + 1 + 1, 512, 3)
    solver = pycoarsen.Solver(A, coordinates=points, constraints=c)
    x = solver.solve(b).reshape(-1, 3)
    np.testing.assert_allclose(x[0], [0.1, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(x[9, 1:], [1.0, 2.0], atol=1e-12)
    assert x[5, 2] == pytest.approx(0.25) and x[20, 0] == pytest.approx(x[30, 0])
    face = 0.2 * x[101, 1] + 0.3 * x[108, 1] + 0.5 * x[109, 1]
    assert x[100, 1] - face == pytest.approx(0.01)
    c.clear()
    c.point(1, [0.0, 0.0, 0.0])
    solver.update(1.1 * A, constraints=c)
    x = solver.solve(b).reshape(-1, 3)
    np.testing.assert_allclose(x[1], 0.0, atol=1e-12)
    assert abs(x[0, 0] - 0.1) > 1e-6


def test_rows_of_a_sparse_c_are_met(rng):
    for block in (1, 2):
        A, b = poisson(12), rng.standard_normal(144)
        C = sp.csr_array(np.eye(144)[[4, 90]] + 0.5 * np.eye(144)[[7, 95]])
        c = pycoarsen.Constraints(144 // block, block)
        c.rows(C, [1.0, -1.0])
        x = pycoarsen.solve(A, b, constraints=c, block_size=block)
        np.testing.assert_allclose(C @ x, [1.0, -1.0], atol=1e-12)


def test_contradictions_are_refused():
    c = pycoarsen.Constraints(100)
    c.fix([4, 4], [1.0, 2.0])
    with pytest.raises(ValueError, match="constraint 1 requires .* imply"):
        pycoarsen.solve(poisson(10), np.ones(100), constraints=c)
    with pytest.raises(ValueError, match="node"):
        c.plane(100, [1.0])
    with pytest.raises(TypeError, match="integers"):
        c.fix([0.5])


class Springs:
    """½ xᵀ A x + ¼ Σ x⁴ − bᵀ x."""

    def __init__(self, n):
        self.A, self.b = poisson(n), np.ones(n * n)

    def value(self, x):
        return 0.5 * x @ (self.A @ x) + 0.25 * np.sum(x**4) - self.b @ x

    def gradient(self, x):
        return self.A @ x + x**3 - self.b

    def hessian(self, x):
        return self.A + sp.diags_array(3 * x**2)


@pytest.mark.parametrize("preconditioner", ["smoothed_aggregation", "ic", "block_jacobi", "schwarz", None])
def test_newton_minimises(preconditioner):
    f = Springs(30)
    seen = []
    found = pycoarsen.minimize(
        f.value, np.zeros(900), f.gradient, f.hessian, preconditioner=preconditioner, gtol=1e-8, callback=seen.append
    )
    assert found.converged and np.linalg.norm(f.gradient(found.x)) <= 1e-8 * np.linalg.norm(f.b)
    assert len(seen) == found.iterations == len(found.history) - 1 and found.inner_iterations > 0
    np.testing.assert_array_equal(seen[-1], found.x)
    assert found.value == pytest.approx(f.value(found.x))
    assert "converged" in str(found)


def test_lbfgs_minimises_with_a_preconditioner():
    f = Springs(30)
    f.b *= 1e-3  # nearly a quadratic
    plain = pycoarsen.minimize(f.value, np.zeros(900), f.gradient, gtol=1e-6)
    assert plain.converged
    for M in (pycoarsen.smoothed_aggregation(f.A), sp.linalg.aslinearoperator(pycoarsen.ic(f.A))):
        better = pycoarsen.minimize(f.value, np.zeros(900), f.gradient, M=M, gtol=1e-6)
        assert better.iterations < plain.iterations
    bounded = pycoarsen.minimize(f.value, np.zeros(900), f.gradient, max_step=lambda x, d: 0.5, gtol=1e-2)
    assert bounded.converged


def test_an_energy_that_fails_is_raised():
    f = Springs(10)

    def fails(*_):
        raise KeyError("mine")

    for change in ({"fun": fails}, {"jac": fails}, {"hess": fails}, {"callback": fails}, {"max_step": fails}):
        parts = {"fun": f.value, "x0": np.zeros(100), "jac": f.gradient, "hess": f.hessian, **change}
        with pytest.raises(KeyError, match="mine"):
            pycoarsen.minimize(**parts)
    with pytest.raises(ValueError, match="jac"):
        pycoarsen.minimize(f.value, np.zeros(100), lambda x: x[:3])
    with pytest.raises(ValueError, match="Hessian"):
        pycoarsen.minimize(f.value, np.zeros(100), f.gradient, lambda x: f.A[:50, :50])
    with pytest.raises(ValueError, match="needs hess"):
        pycoarsen.minimize(f.value, np.zeros(100), f.gradient, method="newton")
    with pytest.raises(pycoarsen.SolveError) as caught:
        pycoarsen.minimize(f.value, np.zeros(100), f.gradient, maxiter=1)
    assert caught.value.report.ending == "iteration_limit"


def test_files_are_read(tmp_path):
    A = poisson(7)
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, A, symmetry="symmetric")
    B = pycoarsen.read(path)
    assert isinstance(B, sp.csr_array) and (A != B).nnz == 0
    packed = tmp_path / "a.mtx.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert (A != pycoarsen.read(str(packed), threads=1)).nnz == 0
    with pytest.raises(FileNotFoundError, match="none.mtx"):
        pycoarsen.read(tmp_path / "none.mtx")
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1.0\n")
    with pytest.raises(ValueError, match="bad.mtx:3"):
        pycoarsen.read(tmp_path / "bad.mtx")


def test_diagnoses_name_rows():
    found = pycoarsen.diagnose(poisson(10))
    assert found.symmetric and found.severity in (None, "note") and "100" in str(found)
    broken = poisson(10)
    broken.data[0] = np.nan
    found = pycoarsen.diagnose(broken)
    assert found.severity == "error" and found.findings[0][0] == "error" and "1 row (0)" in found.findings[0][1]
    assert not pycoarsen.diagnose([[1.0, 2.0], [0.0, 1.0]]).symmetric
    assert pycoarsen.diagnose(springs(4)[0], block_size=3).symmetric


INTERRUPTED = """
import signal, sys, threading, time
import numpy as np, pycoarsen, scipy.sparse as sp
from scipy.optimize import rosen, rosen_der
sys.path.insert(0, {folder!r})
from conftest import poisson

A = poisson(40, 3)
b = np.ones(A.shape[0])
def work():
    {work}
before = time.monotonic()
pid = __import__("os").getpid()
threading.Timer({after}, lambda: (times.append(time.monotonic()), __import__("os").kill(pid, signal.SIGINT))).start()
times = []
try:
    work()
except KeyboardInterrupt:
    waited = time.monotonic() - times[0]
    print("interrupted", waited)
    sys.exit(0 if waited < 1.0 else 3)
sys.exit(4)
"""

WORK = {
    "krylov": "while True: pycoarsen.cg(A, b, rtol=1e-14, maxiter=10**9)",
    "solver": "while True: pycoarsen.Solver(A, method='gmres').solve(b)",
    "setups": "while True: pycoarsen.smoothed_aggregation(A)",
    "energy": "pycoarsen.minimize(lambda x: (time.sleep(0.05), rosen(x))[1], b[:1000] * 3, rosen_der, maxiter=10**9)",
}


@pytest.mark.parametrize("name", WORK)
def test_ctrl_c_ends_work_within_a_second(name):
    text = INTERRUPTED.format(folder=str(Path(__file__).parent), work=WORK[name], after=2.0)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)


def forked(queue):
    A, b = poisson(40), np.ones(1600)
    queue.put(residual(A, b, pycoarsen.solve(A, b)))


def test_a_fork_has_threads_of_its_own():
    A, b = poisson(40), np.ones(1600)
    solver = pycoarsen.Solver(A)
    solver.solve(b)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=forked, args=(queue,))
    child.start()
    assert queue.get(timeout=60) <= 1e-8
    child.join(60)
    assert child.exitcode == 0


def test_docstrings_have_every_parameter():
    import inspect

    for name in pycoarsen.__all__:
        item = getattr(pycoarsen, name)
        assert item.__doc__, name
        if inspect.isfunction(item):
            text = item.__doc__
            missing = [p for p in inspect.signature(item).parameters if p not in text]
            assert not missing, (name, missing)


def test_examples_in_docstrings_run():
    import doctest
    import importlib

    for module in ("pycoarsen", "pycoarsen._solver", "pycoarsen._constraints", "pycoarsen._minimize", "pycoarsen._files"):
        failed, tried = doctest.testmod(importlib.import_module(module))
        assert failed == 0 and tried > 0, module
