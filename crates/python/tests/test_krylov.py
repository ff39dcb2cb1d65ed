"""Krylov methods with the interface of SciPy."""

import inspect

import numpy as np
import pycoarsen
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from conftest import poisson, residual

METHODS = ["cg", "minres", "gmres", "bicgstab"]


@pytest.mark.parametrize("name", METHODS)
def test_signatures_contain_those_of_scipy(name):
    theirs, ours = (inspect.signature(getattr(of, name)).parameters for of in (spla, pycoarsen))
    for parameter, (key, value) in zip(ours, theirs.items()):
        if value.kind is value.POSITIONAL_OR_KEYWORD:
            assert parameter == key
    for key, value in theirs.items():
        assert (ours[key].kind, ours[key].default) == (value.kind, value.default), key


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("form", ["csr", "bsr", "dense", "operator"])
def test_a_is_any_matrix_or_operator(name, form, rng):
    A, b = poisson(20), rng.standard_normal(400)
    a = {"csr": A, "bsr": A.tobsr((2, 2)), "dense": A.toarray(), "operator": spla.aslinearoperator(A)}[form]
    x, info = getattr(pycoarsen, name)(a, b, rtol=1e-8)
    assert info == 0 and x.shape == (400,)
    assert residual(A, b, x) <= 1e-8
    y, _ = getattr(spla, name)(A, b, rtol=1e-10)
    np.testing.assert_allclose(x, y, atol=1e-4)


@pytest.mark.parametrize("name", METHODS)
def test_m_is_ours_or_an_operator_or_a_matrix(name, rng):
    A, b = poisson(40), rng.standard_normal(1600)
    M = pycoarsen.smoothed_aggregation(A)
    method = getattr(pycoarsen, name)
    x, info = method(A, b, rtol=1e-8, M=M)
    assert info == 0 and residual(A, b, x) <= 1e-8
    y, info = method(A, b, rtol=1e-8, M=spla.LinearOperator(A.shape, matvec=M.matvec, dtype=float))
    assert info == 0
    np.testing.assert_array_equal(x, y)  # the same arithmetic through Python
    inverse = sp.diags_array(1.0 / A.diagonal())
    x, info = method(A, b, rtol=1e-8, M=inverse)
    assert info == 0 and residual(A, b, x) <= 1e-8


@pytest.mark.parametrize("name", METHODS)
def test_info_is_that_of_scipy(name):
    A, b = poisson(30), np.ones(900)
    method = getattr(pycoarsen, name)
    options = {"restart": 3} if name == "gmres" else {}
    x, info = method(A, b, maxiter=2, **options)
    assert info == 2
    x, info = method(A, np.zeros(900))
    assert info == 0 and not x.any()
    x, info = method(A, b, x0=np.full((900, 1), 0.5), rtol=1e-6)
    assert info == 0
    y, info = method(A, b, x0=x, rtol=1e-5)
    assert info == 0
    np.testing.assert_array_equal(x, y)
    x, info = method(A, b, x0="Mb", M=pycoarsen.jacobi(A))
    assert info == 0
    x, info = method(A, b, rtol=0.0, atol=1e-3)
    assert info == 0 and np.linalg.norm(b - A @ x) <= 1e-3


def test_another_ending_warns_with_cause_and_remedy():
    A = sp.diags_array([1.0, -1.0, 2.0], format="csr")
    with pytest.warns(pycoarsen.ConvergenceWarning, match="negative eigenvalue"):
        _, info = pycoarsen.cg(A, np.ones(3))
    assert info < 0


@pytest.mark.parametrize("name", METHODS)
def test_callbacks_see_every_iteration(name):
    A, b = poisson(20), np.ones(400)
    seen = []
    x, info = getattr(pycoarsen, name)(A, b, rtol=1e-8, callback=lambda v: seen.append(np.array(v)))
    assert info == 0 and len(seen) > 3
    if name != "gmres":
        assert all(v.shape == (400,) for v in seen)
        assert residual(A, b, seen[-1]) <= 1.1e-8
    else:
        assert all(v.shape == () for v in seen) and seen[-1] <= 1.1e-8


def test_gmres_calls_back_with_x_after_each_cycle():
    A, b = poisson(20), np.ones(400)
    seen = []
    x, info = pycoarsen.gmres(A, b, rtol=1e-8, restart=5, callback=seen.append, callback_type="x")
    assert info == 0 and len(seen) > 2
    np.testing.assert_array_equal(seen[-1], x)
    _, info = pycoarsen.gmres(A, b, rtol=1e-8, restart=5, maxiter=2, callback=seen.append, callback_type="x")
    assert info == 2


@pytest.mark.parametrize("where", ["A", "M", "callback"])
def test_an_exception_in_python_is_raised(where):
    A, b = poisson(20), np.ones(400)

    def fails(x):
        raise ZeroDivisionError("mine")

    operator = spla.LinearOperator(A.shape, matvec=fails, dtype=float)
    with pytest.raises(ZeroDivisionError, match="mine"):
        pycoarsen.cg(
            operator if where == "A" else A,
            b,
            M=operator if where == "M" else None,
            callback=fails if where == "callback" else None,
        )


def test_a_callback_may_solve_another_system():
    A, b = poisson(20), np.ones(400)
    inner = pycoarsen.ic(A)

    def apply(r):
        x, info = pycoarsen.cg(A, r, rtol=1e-10, M=inner)
        assert info == 0
        return x

    M = spla.LinearOperator(A.shape, matvec=apply, dtype=float)
    for threads in (1, 2):
        x, info = pycoarsen.cg(A, b, M=M, threads=threads, callback=lambda x: inner.matvec(x))
        assert info == 0 and residual(A, b, x) <= 1e-5


def test_a_preconditioner_that_does_not_suit_is_refused():
    A, b = poisson(20), np.ones(400)
    unsymmetric = sp.csr_array(A + sp.diags_array([np.full(399, 0.3)], offsets=[1], shape=A.shape))
    with pytest.raises(ValueError, match="Gmres or BiCgStab"):
        pycoarsen.cg(A, b, M=pycoarsen.ilu(unsymmetric))
    with pytest.raises(ValueError, match="shape"):
        pycoarsen.cg(A, b, M=pycoarsen.ilu(poisson(10)))


def test_a_variable_preconditioner_makes_methods_flexible(rng):
    A, b = poisson(60), rng.standard_normal(3600)
    M = pycoarsen.smoothed_aggregation(A, cycle="K", max_coarse=50)
    assert M.kind == "variable"
    for name in ("cg", "gmres"):
        x, info = getattr(pycoarsen, name)(A, b, rtol=1e-8, M=M)
        assert info == 0 and residual(A, b, x) <= 1e-8


def test_a_null_space_is_projected_out(rng):
    n = 200
    A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="lil")
    A[0, 0] = A[n - 1, n - 1] = 1.0
    A = sp.csr_array(A)
    b = rng.standard_normal(n)
    b -= b.mean()
    x, info = pycoarsen.cg(A, b, rtol=1e-10, null_space=np.ones(n))
    assert info == 0 and abs(x.mean()) < 1e-10 and residual(A, b, x) <= 1e-9


def test_minres_shifts(rng):
    A, b = poisson(20), rng.standard_normal(400)
    x, info = pycoarsen.minres(A, b, shift=0.5, rtol=1e-8)
    assert info == 0 and residual(A - 0.5 * sp.eye_array(400), b, x) <= 1e-8
    for name in ("show", "check"):
        with pytest.raises(NotImplementedError, match=name):
            pycoarsen.minres(A, b, **{name: True})


def test_wrong_arguments_are_named():
    A, b = poisson(10), np.ones(100)
    for bad in (np.ones(99), np.ones((100, 2))):
        with pytest.raises(ValueError, match="b has the shape"):
            pycoarsen.cg(A, bad)
    with pytest.raises(ValueError, match="square"):
        pycoarsen.cg(A[:40], b)
    with pytest.raises(TypeError, match="complex"):
        pycoarsen.cg(A * 1j, b)
    with pytest.raises(ValueError, match="infinity at index 2"):
        pycoarsen.cg(A, np.where(np.arange(100) == 2, np.inf, 1.0))
    broken = A.copy()
    broken.data[0] = np.nan
    with pytest.raises(ValueError):
        pycoarsen.cg(broken, b)
    operator = spla.LinearOperator(A.shape, matvec=lambda x: x[:4], dtype=float)
    with pytest.raises(ValueError):
        pycoarsen.cg(operator, b)


def test_the_limit_of_gmres_counts_as_in_scipy():
    A, b = poisson(30), np.ones(900)
    for kind in (None, "legacy", "pr_norm", "x"):
        for callback in (None, lambda _: None):
            inner = callback is not None and kind in (None, "legacy")
            x, info = pycoarsen.gmres(A, b, restart=5, maxiter=4, callback=callback, callback_type=kind)
            assert info == 4
            most = 4 if inner else 20
            y, _ = pycoarsen.gmres(A, b, restart=5, maxiter=-(-most // 5), callback_type="pr_norm")
            assert inner or np.array_equal(x, y), (kind, callback)
    assert pycoarsen.gmres(A, b, maxiter=0)[1] == 1  # not converged
