"""Constraints, energies, files, diagnoses, and what surrounds them."""

import gzip
import multiprocessing
import re
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


def test_constraints_that_come_too_late_are_refused():
    A = poisson(10)
    c = pycoarsen.Constraints(100)
    c.fix([3], [1.0])
    solver = pycoarsen.Solver(A)
    with pytest.raises(ValueError, match="began without constraints"):
        solver.update(A, constraints=c)
    assert residual(A, np.ones(100), solver.solve(np.ones(100))) <= 1e-8


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
    with pytest.raises(TypeError, match="values is complex"):
        c.fix([0], [1.0 + 1.0j])


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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "newton", "M": sp.eye_array(100)}, "M is for method='lbfgs'"),
        ({"M": sp.eye_array(100)}, "M is for method='lbfgs'"),
        ({"method": "lbfgs", "block_size": 2}, "block_size is for"),
        ({"method": "lbfgs", "coordinates": np.zeros((100, 2))}, "coordinates is for"),
        ({"method": "lbfgs", "near_kernel": np.ones(100)}, "near_kernel is for"),
        ({"method": "lbfgs", "preconditioner": "ic"}, "preconditioner is for"),
        ({"method": "lbfgs", "preconditioner": "smoothed_aggregation"}, "preconditioner is for"),
    ],
)
def test_options_of_the_other_method_are_refused(options, words):
    f = Springs(10)
    with pytest.raises(ValueError, match=words):
        pycoarsen.minimize(f.value, np.zeros(100), f.gradient, f.hessian, **options)


def test_a_complex_start_is_refused():
    f = Springs(10)
    with pytest.raises(TypeError, match="x0 is complex"):
        pycoarsen.minimize(f.value, np.zeros(100, complex), f.gradient)


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
    with pytest.raises(OSError) as caught:
        pycoarsen.read(tmp_path)  # a folder
    assert not isinstance(caught.value, FileNotFoundError)
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

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started the tests in the background
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
    "nested": "while True: pycoarsen.cg(A, b, M=sp.linalg.LinearOperator(A.shape, dtype=float, "
    "matvec=lambda r: pycoarsen.cg(A, b, rtol=1e-300, maxiter=10**9)[0]), rtol=1e-14)",
    "solver in a callback": "while True: pycoarsen.cg(A, b, callback=lambda x: "
    "[pycoarsen.Solver(A, method='cg', memory=0, rtol=1e-9).solve(b) for _ in range(10**6)])",
    "energy": "while True: pycoarsen.minimize(lambda x: (time.sleep(0.05), rosen(x))[1], b[:1000] * 3, rosen_der, maxiter=10**9)",
}


@pytest.mark.parametrize("name", WORK)
def test_ctrl_c_ends_work_within_a_second(name):
    text = INTERRUPTED.format(folder=str(Path(__file__).parent), work=WORK[name], after=2.0)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)


def run_program(text, timeout):
    text = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n" + text
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def test_threads_share_a_preconditioner():
    run_program(
        """
import threading
import numpy as np, pycoarsen, pycoarsen.pyamg
from conftest import poisson

A = poisson(300)
r = np.ones(A.shape[0])
shared = pycoarsen.smoothed_aggregation(A)
levels = pycoarsen.pyamg.smoothed_aggregation_solver(A).levels  # four hierarchies share their relaxation
several = [pycoarsen.pyamg.MultilevelSolver(levels).aspreconditioner() for _ in range(4)]
for each in ([shared] * 4, several):
    expected, found = [M @ r for M in each][0], []
    def work(M):
        for _ in range(20):
            found.append(np.array_equal(M @ r, expected))
    threads = [threading.Thread(target=work, args=(M,)) for M in each]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(found) == 80 and all(found)
""",
        timeout=200,
    )


def test_handlers_of_signals_may_ask_the_solver():
    run_program(
        """
import os, signal, threading
import numpy as np, pycoarsen
from conftest import poisson

A = poisson(40, 3)
b = np.ones(A.shape[0])
solver, seen, refused = pycoarsen.Solver(A), [], []
def handler(*_):
    seen.append((solver.method, repr(solver), solver.levels))
    try:
        solver.solve(b)
    except RuntimeError as error:
        refused.append(str(error))
signal.signal(signal.SIGUSR1, handler)
ends = threading.Event()
def send():
    while not ends.wait(0.05):
        os.kill(os.getpid(), signal.SIGUSR1)
thread = threading.Thread(target=send)
thread.start()
while not refused:
    solver.solve(b)
    solver.update(A)
ends.set()
thread.join()
assert seen and "a handler of a signal" in refused[0], refused
assert np.linalg.norm(b - A @ solver.solve(b)) <= 1e-8 * np.linalg.norm(b)
""",
        timeout=200,
    )


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
            missing = [
                p
                for p in inspect.signature(item).parameters
                if not re.search(rf"^\s*(\w+, )*{p}\b.* : |^\s*(\w+, )*{p}(, \w+)*$", item.__doc__, re.M)
            ]
            assert not missing, (name, missing)


def test_examples_in_docstrings_run():
    import doctest
    import importlib

    for module in ("pycoarsen", "pycoarsen._solver", "pycoarsen._constraints", "pycoarsen._minimize", "pycoarsen._files"):
        failed, tried = doctest.testmod(importlib.import_module(module))
        assert failed == 0 and tried > 0, module
