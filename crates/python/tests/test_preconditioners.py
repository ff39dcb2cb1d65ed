"""Preconditioners as `LinearOperator`s."""

import numpy as np
import pycoarsen
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from conftest import poisson, residual, springs

SYMMETRIC = {
    "smoothed_aggregation": pycoarsen.smoothed_aggregation,
    "smoothed_aggregation in float64": lambda A: pycoarsen.smoothed_aggregation(A, single=False),
    "ruge_stueben": pycoarsen.ruge_stueben,
    "schwarz": pycoarsen.schwarz,
    "overlapping": lambda A: pycoarsen.schwarz(A, form="overlapping", domain=16, overlap=2),
    "ic": pycoarsen.ic,
    "jacobi": pycoarsen.jacobi,
    "l1": lambda A: pycoarsen.jacobi(A, l1=True),
    "block_jacobi": lambda A: pycoarsen.jacobi(A, block_size=2),
    "gauss_seidel": pycoarsen.gauss_seidel,
    "chebyshev": pycoarsen.chebyshev,
    "factor": pycoarsen.factor,
}
LINEAR = {"ilu": pycoarsen.ilu, "restricted": lambda A: pycoarsen.schwarz(A, form="restricted")}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_ones_are_symmetric_operators_for_cg(name, rng):
    A, b = poisson(32), rng.standard_normal(1024)
    M = SYMMETRIC[name](A)
    assert isinstance(M, spla.LinearOperator) and M.shape == A.shape and M.kind == "symmetric"
    u, v = rng.standard_normal((2, 1024))
    assert u @ (M @ v) == pytest.approx(v @ (M @ u), rel=1e-4)
    np.testing.assert_array_equal(M.H @ v, M @ v)
    x, info = pycoarsen.cg(A, b, rtol=1e-8, M=M)
    assert info == 0 and residual(A, b, x) <= 1e-8
    y, info = spla.cg(A, b, rtol=1e-8, M=M)  # and for those of SciPy
    assert info == 0
    np.testing.assert_allclose(x, y, atol=1e-5)


@pytest.mark.parametrize("name", LINEAR)
def test_others_serve_gmres_and_bicgstab(name, rng):
    A = sp.csr_array(poisson(32) + sp.diags_array([np.full(1023, 0.4)], offsets=[1], shape=(1024, 1024)))
    b = rng.standard_normal(1024)
    M = LINEAR[name](A)
    assert M.kind == "linear"
    with pytest.raises(NotImplementedError, match="transpose"):
        M.rmatvec(b)
    for method in (pycoarsen.gmres, pycoarsen.bicgstab):
        x, info = method(A, b, rtol=1e-8, M=M)
        assert info == 0 and residual(A, b, x) <= 1e-8


@pytest.mark.parametrize("name", [*SYMMETRIC, *LINEAR])
def test_updates_use_new_values(name, rng):
    A, r = poisson(32), rng.standard_normal(1024)
    M = {**SYMMETRIC, **LINEAR}[name](A)
    kept = M.update(2 * A)
    assert kept in ("structure", "rest", "nothing")
    z = {**SYMMETRIC, **LINEAR}[name](2 * A) @ r
    np.testing.assert_allclose(M @ r, z, rtol=1e-4, atol=1e-6 * np.abs(z).max())
    with pytest.raises(ValueError):
        M.update(poisson(16))


def test_rigid_body_modes_follow_from_coordinates(rng):
    A, points = springs(12)
    b = rng.standard_normal(A.shape[0])
    counts = []

    def count(_):
        counts[-1] += 1

    turn = np.cross(np.eye(3)[None, :, :], points[:, None, :])
    modes = np.concatenate([np.tile(np.eye(3), (len(points), 1)), turn.transpose(0, 2, 1).reshape(-1, 3)], axis=1)
    for given in ({}, {"coordinates": points}, {"near_kernel": modes}):
        counts.append(0)
        M = pycoarsen.smoothed_aggregation(A, **given)
        x, info = pycoarsen.cg(A, b, rtol=1e-8, M=M, callback=count)
        assert info == 0 and residual(A, b, x) <= 1e-8
    assert counts[1] < counts[0] and counts[2] < counts[0], counts
    M = pycoarsen.skinning(A, points)
    x, info = pycoarsen.cg(A, b, rtol=1e-8, M=M)
    assert info == 0 and M.levels.count >= 2


def test_levels_are_told():
    M = pycoarsen.smoothed_aggregation(poisson(64), max_coarse=50, threads=1)
    assert M.levels.count > 2 and 1.0 < M.levels.operator_complexity < 3.0
    assert "operator complexity" in str(M) and "<pre>" in M._repr_html_()
    assert pycoarsen.jacobi(poisson(4)).levels is None
    assert "jacobi" in str(pycoarsen.jacobi(poisson(4)))


@pytest.mark.parametrize("cycle", ["V", "W", "F", "additive"])
@pytest.mark.parametrize("smoother", ["gauss_seidel", "chebyshev", "damped_jacobi", "spai0"])
def test_cycles_and_smoothers_are_chosen(cycle, smoother, rng):
    A, b = poisson(40), rng.standard_normal(1600)
    M = pycoarsen.smoothed_aggregation(A, cycle=cycle, smoother=smoother, max_coarse=50, strength="symmetric", theta=0.1)
    x, info = pycoarsen.cg(A, b, rtol=1e-8, M=M)
    assert info == 0 and residual(A, b, x) <= 1e-8


def test_wrong_options_are_named():
    A = poisson(30)
    for call, words in [
        (lambda: pycoarsen.smoothed_aggregation(A, cycle="X"), "cycle is 'X'"),
        (lambda: pycoarsen.smoothed_aggregation(A, smoother="ilu"), "smoother is 'ilu'"),
        (lambda: pycoarsen.smoothed_aggregation(A, theta=2.0), "theta"),
        (lambda: pycoarsen.smoothed_aggregation(A, near_kernel=np.ones(7)), "near_kernel has the shape"),
        (lambda: pycoarsen.ruge_stueben(A, interpolation="linear"), "interpolation is 'linear'"),
        (lambda: pycoarsen.schwarz(A, form="other"), "form is 'other'"),
        (lambda: pycoarsen.schwarz(A, overlap=1), "overlap"),
        (lambda: pycoarsen.schwarz(A, domain=1), "Schwarz::domain"),
        (lambda: pycoarsen.factor(A, method="qr"), "method is 'qr'"),
        (lambda: pycoarsen.gauss_seidel(A, omega=2.5), "omega"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


def test_a_matrix_that_does_not_suit_is_a_setup_error():
    singular = sp.csr_array(np.array([[1.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(pycoarsen.SetupError):
        pycoarsen.factor(singular)
    with pytest.raises(pycoarsen.SetupError, match="row 1 has a zero or missing diagonal"):
        pycoarsen.jacobi(sp.diags_array([1.0, 0.0, 2.0]))
