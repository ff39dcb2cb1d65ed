"""Every option of PyAMG is here, or is refused by its name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pycoarsen.pyamg as pyamg
import pytest
from pycoarsen.pyamg import _options
from scipy import sparse

SA, RS = pyamg.smoothed_aggregation_solver, pyamg.ruge_stuben_solver
POISSON = pyamg.gallery.poisson((24, 24), format="csr")
ONES = np.ones(576)

TABLES: list[tuple[Any, str, Any]] = [
    (SA, "strength", _options.STRENGTH),
    (SA, "aggregate", _options.AGGREGATE),
    (SA, "smooth", _options.SMOOTH),
    (SA, "presmoother", _options.RELAXATION),
    (SA, "postsmoother", _options.RELAXATION),
    (SA, "improve_candidates", _options.IMPROVE),
    (SA, "coarse_solver", _options.COARSE),
    (RS, "strength", {k: v for k, v in _options.STRENGTH.items() if k != "predefined"}),
    (RS, "CF", _options.SPLITTING),
    (RS, "interpolation", _options.INTERPOLATION),
    (RS, "presmoother", _options.RELAXATION),
    (RS, "postsmoother", _options.RELAXATION),
    (RS, "coarse_solver", _options.COARSE),
]
NAMES = [(solver, option, name, table[name]) for solver, option, table in TABLES for name in table]

#: What PyAMG has and this package has not.
MISSING: list[tuple[Any, str, Any]] = [
    *((SA, "strength", v) for v in ("distance", "energy_based", "algebraic_distance", "affinity")),
    *((SA, "aggregate", v) for v in ("metis", "pairwise")),
    *(
        (SA, option, v)
        for option in ("presmoother", "postsmoother")
        for v in ("cf_jacobi", "fc_jacobi", "cf_block_jacobi", "fc_block_jacobi", "cgne", "cgnr")
    ),
    *((SA, "coarse_solver", v) for v in ("bicg", "cgs", "qmr")),
    *((RS, "strength", v) for v in ("distance", "energy_based", "algebraic_distance", "affinity")),
    *((RS, "CF", v) for v in ("PMIS", "PMISc", "CLJP", "CLJPc", "CR")),
    (RS, "interpolation", "one_point"),
    (SA, "strength", ("evolution", {"block_flag": True})),
    (SA, "smooth", ("energy", {"prefilter": {"k": 3}})),
    (SA, "smooth", ("energy", {"krylov": "bicgstab"})),
    (SA, "coarse_solver", ("splu", {"permc_spec": "COLAMD"})),
    (SA, "symmetry", "skew"),
    (SA, "diagonal_dominance", "yes"),
]


def required(name: Any) -> Any:
    """A name with the parameters that it needs."""
    if name != "predefined":
        return name
    return (name, {"C": POISSON, "AggOp": sparse.csr_array(np.kron(np.eye(24), np.ones((24, 1))))})


@pytest.mark.parametrize(("solver", "option", "name", "parameters"), NAMES)
def test_every_option_works(solver: Any, option: str, name: Any, parameters: Any) -> None:
    value: Any = name
    if name == "predefined":
        value = (name, {key: required(name)[1][key] for key in parameters})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some need more cycles
        x = solver(POISSON, **{option: value}).solve(ONES, tol=1e-6, maxiter=60, accel="fgmres")
    assert np.linalg.norm(ONES - POISSON @ x) < 0.1 * np.linalg.norm(ONES)


@pytest.mark.parametrize(("solver", "option", "table"), TABLES)
def test_unknown_names_are_refused(solver: Any, option: str, table: Any) -> None:
    for name in ("nonsense", "Gauss-Seidel", 3):
        with pytest.raises(NotImplementedError, match=f"{option}={name!r} is not in pycoarsen.pyamg; there are"):
            solver(POISSON, **{option: name})


@pytest.mark.parametrize(("solver", "option", "name", "parameters"), NAMES)
def test_unknown_parameters_and_values_are_refused(solver: Any, option: str, name: Any, parameters: Any) -> None:
    if name == "predefined":
        return
    with pytest.raises(NotImplementedError, match=f"the parameter 'nonsense' of {option}={name!r}"):
        solver(POISSON, **{option: (name, {"nonsense": 1})})
    for key, default in parameters.items():
        if isinstance(default, _options.Choice):
            with pytest.raises(NotImplementedError, match=f"{key}='nonsense' of {option}={name!r}"):
                solver(POISSON, **{option: (name, {key: "nonsense"})})


@pytest.mark.parametrize(("solver", "option", "value"), MISSING)
def test_what_pyamg_has_beyond_is_refused_or_replaced(solver: Any, option: str, value: Any) -> None:
    with pytest.raises(NotImplementedError, match="is not in pycoarsen.pyamg"):
        solver(POISSON, **{option: value})
    with pytest.warns(UserWarning, match="is not in pycoarsen.pyamg: .* is (used|ignored)"):
        ml = solver(POISSON, fallback=True, **{option: value})
    assert np.linalg.norm(ONES - POISSON @ ml.solve(ONES, tol=1e-6)) < 1e-4


@pytest.mark.parametrize("solver", [SA, RS])
def test_unknown_arguments_are_refused(solver: Any) -> None:
    with pytest.raises(NotImplementedError, match="the argument 'setup_speed'"):
        solver(POISSON, setup_speed=3)
    with pytest.warns(UserWarning, match="the argument 'setup_speed' .* is ignored"):
        solver(POISSON, setup_speed=3, fallback=True)


def test_options_of_a_solve_are_refused() -> None:
    ml = SA(POISSON)
    with pytest.raises(NotImplementedError, match="cycle='X'"):
        ml.solve(ONES, cycle="X")
    with pytest.raises(NotImplementedError, match="accel='nonsense'"):
        ml.solve(ONES, accel="nonsense")
    with pytest.raises(NotImplementedError, match="criteria='rMr'"):
        pyamg.krylov.cg(POISSON, ONES, criteria="rMr")
    for solver in (pyamg.rootnode_solver, pyamg.adaptive_sa_solver, pyamg.pairwise_solver, pyamg.air_solver):
        with pytest.raises(NotImplementedError, match=solver.__name__):
            solver(POISSON)


def test_values_out_of_range_are_errors() -> None:
    for options in (
        {"strength": ("symmetric", {"theta": -1})},
        {"strength": ("classical", {"theta": 2})},
        {"strength": ("evolution", {"epsilon": 0.5})},
        {"strength": ("evolution", {"k": 0})},
        {"strength": ("predefined", {"C": sparse.csr_array(np.ones((5, 5)))})},
        {"strength": "predefined"},
        {"B": np.ones(5)},
    ):
        with pytest.raises(ValueError):
            SA(POISSON, **options)
    for smoother in (("jacobi", {"iterations": -1}), ("chebyshev", {"degree": 0})):
        with pytest.raises(ValueError):
            SA(POISSON, presmoother=smoother).solve(ONES)


def residuals(solver: Any, options: dict[str, Any], solve: dict[str, Any]) -> list[float]:
    """The residuals of ten iterations."""
    A = ANISOTROPIC
    found: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        np.random.seed(0)  # centres of Lloyd's algorithm
        ml = solver(A, **options)
        ml.solve(np.ones(A.shape[0]), tol=1e-13, maxiter=4, residuals=found, **solve)
    return found


ANISOTROPIC = pyamg.gallery.stencil_grid(pyamg.gallery.diffusion_stencil_2d(0.05, 0.6), (30, 30), format="csr")

#: Each of these differs from the default of its option.
CHANGES: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (SA, {"B": np.linspace(1, 2, 900)}, {}),
    (SA, {"strength": ("symmetric", {"theta": 0.2})}, {}),
    (SA, {"strength": ("classical", {"theta": 0.5})}, {}),
    (SA, {"strength": ("classical", {"theta": 0.25, "norm": "min"})}, {}),
    (SA, {"strength": ("evolution", {"k": 3})}, {}),
    (SA, {"strength": ("evolution", {"epsilon": 2.0})}, {}),
    (SA, {"aggregate": "naive"}, {}),
    (SA, {"aggregate": "lloyd"}, {}),
    (SA, {"aggregate": ("lloyd", {"ratio": 0.2})}, {}),
    (SA, {"aggregate": ("lloyd", {"maxiter": 1})}, {}),
    (SA, {"aggregate": ("lloyd", {"measure": "inv"})}, {}),
    (SA, {"aggregate": ("lloyd", {"measure": None})}, {}),
    (SA, {"aggregate": ("lloyd", {"measure": "min"})}, {}),
    (SA, {"aggregate": "balanced lloyd"}, {}),
    (SA, {"aggregate": ("balanced lloyd", {"rebalance_iters": 0})}, {}),
    (SA, {"smooth": None}, {}),
    (SA, {"smooth": "richardson", "strength": ("symmetric", {"theta": 0.1})}, {}),
    (SA, {"smooth": ("jacobi", {"omega": 1.0})}, {}),
    (SA, {"smooth": ("jacobi", {"degree": 2})}, {}),
    (SA, {"smooth": ("jacobi", {"weighting": "local"})}, {}),
    (SA, {"smooth": ("energy", {"maxiter": 2})}, {}),
    (SA, {"smooth": ("energy", {"krylov": "gmres"})}, {}),
    (SA, {"smooth": ("energy", {"krylov": "cgnr", "weighting": "diagonal"})}, {}),
    (SA, {"smooth": ("energy", {"degree": 2})}, {}),
    (SA, {"improve_candidates": None}, {}),
    (SA, {"improve_candidates": [("jacobi", {"iterations": 2})]}, {}),
    (SA, {"max_levels": 2}, {}),
    (SA, {"max_coarse": 50}, {}),
    (SA, {"coarse_solver": "jacobi"}, {}),
    (SA, {"coarse_solver": ("gauss_seidel", {"iterations": 2})}, {}),
    (SA, {"coarse_solver": ("pinv", {"rtol": 0.5})}, {}),
    (SA, {"coarse_solver": ("cg", {"maxiter": 1})}, {}),
    (SA, {"coarse_solver": None}, {}),
    (SA, {"diagonal_dominance": (True, {"theta": 0.6})}, {}),
    *(
        (SA, {"presmoother": smoother}, {})
        for smoother in (
            ("gauss_seidel", {"sweep": "forward"}),
            ("gauss_seidel", {"sweep": "backward"}),
            ("gauss_seidel", {"sweep": "symmetric", "iterations": 2}),
            [("block_gauss_seidel", {"sweep": "symmetric", "blocksize": 2}), "gauss_seidel"],
            ("sor", {"omega": 0.7}),
            ("sor", {"omega": 1.4}),
            "jacobi",
            ("jacobi", {"omega": 1.4}),
            ("jacobi", {"withrho": False}),
            [("block_jacobi", {"blocksize": 2}), "gauss_seidel"],
            "richardson",
            "chebyshev",
            ("chebyshev", {"degree": 2}),
            ("chebyshev", {"lower_bound": 0.1}),
            "gauss_seidel_ne",
            "gauss_seidel_nr",
            "jacobi_ne",
            "schwarz",
            "cg",
            ("gmres", {"maxiter": 2}),
            None,
        )
    ),
    (RS, {"strength": ("classical", {"theta": 0.5})}, {}),
    (RS, {"strength": ("symmetric", {"theta": 0.1})}, {}),
    (RS, {"CF": ("RS", {"second_pass": True})}, {}),
    (RS, {"interpolation": "direct"}, {}),
    (RS, {"interpolation": ("classical", {"modified": False})}, {}),
    (RS, {"interpolation": ("classical", {"theta": 0.6})}, {}),
    (SA, {}, {"cycle": "W"}),
    (SA, {}, {"cycle": "F"}),
    (SA, {}, {"cycle": "F", "cycles_per_level": 2}),
    (SA, {}, {"cycle": "AMLI"}),
    (SA, {}, {"accel": "cg"}),
    (SA, {}, {"accel": "gmres"}),
    (SA, {}, {"accel": "bicgstab"}),
    (SA, {}, {"x0": np.ones(900)}),
]


def test_options_change_the_result() -> None:
    found: list[tuple[Any, dict[str, Any], dict[str, Any], list[float]]] = [
        (SA, {}, {}, residuals(SA, {}, {})),
        (RS, {}, {}, residuals(RS, {}, {})),
    ]
    for solver, options, solve in CHANGES:
        norms = residuals(solver, options, solve)
        for other, others, others_solve, known in found:
            same = len(norms) == len(known) and np.allclose(norms, known, rtol=1e-7)
            assert not same, f"{options} {solve} has the residuals of {other.__name__} {others} {others_solve}"
        found.append((solver, options, solve, norms))


def test_nonsymmetric_restriction_is_that_of_the_transpose() -> None:
    A = sparse.csr_array(POISSON - 0.5 * sparse.triu(POISSON, 1))
    ml = SA(A, symmetry="nonsymmetric", improve_candidates=None)
    adjoint = SA(sparse.csr_array(A.T), symmetry="nonsymmetric", improve_candidates=None)
    assert abs(ml.levels[0].R - ml.levels[0].P.T).max() > 1e-3
    assert abs(ml.levels[0].R - adjoint.levels[0].P.T).max() < 1e-8
    assert abs(ml.levels[1].BH - adjoint.levels[1].B).max() < 1e-8


def test_lists_give_an_option_to_each_level() -> None:
    A = pyamg.gallery.poisson((60, 60), format="csr")
    ml = SA(A, smooth=[None, "jacobi"], presmoother=["jacobi", "gauss_seidel"], keep=True)
    assert abs(ml.levels[0].P - ml.levels[0].T).max() == 0
    assert abs(ml.levels[1].P - ml.levels[1].T).max() > 0
    assert [level.presmoother.name for level in ml.levels[:2]] == ["jacobi", "gauss_seidel"]
