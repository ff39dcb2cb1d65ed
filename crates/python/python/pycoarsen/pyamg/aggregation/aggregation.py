"""Smoothed aggregation, from its parts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from ... import _core

from .._matrices import as_rows, block_size, columns, from_core, to_core
from .._options import AGGREGATE, COARSE, IMPROVE, RELAXATION, SMOOTH, STRENGTH, choose, missing, per_level, unknown
from ..multilevel import Level, MultilevelSolver, change_smoothers
from ..strength import of_level

__all__ = [
    "balanced_lloyd_aggregation",
    "energy_prolongation_smoother",
    "fit_candidates",
    "jacobi_prolongation_smoother",
    "lloyd_aggregation",
    "naive_aggregation",
    "richardson_prolongation_smoother",
    "smoothed_aggregation_solver",
    "standard_aggregation",
]

#: A column of B on an aggregate is dropped if at most this fraction of it is new.
_SPANNED = 1e-10

_BLOCK = ("block_gauss_seidel", {"sweep": "symmetric"})
_IMPROVE = (("block_gauss_seidel", {"sweep": "symmetric", "iterations": 4}), None)


def smoothed_aggregation_solver(
    A: Any,
    B: Any = None,
    BH: Any = None,
    symmetry: str = "hermitian",
    strength: Any = "symmetric",
    aggregate: Any = "standard",
    smooth: Any = ("jacobi", {"omega": 4.0 / 3.0}),
    presmoother: Any = _BLOCK,
    postsmoother: Any = _BLOCK,
    improve_candidates: Any = _IMPROVE,
    max_levels: int = 10,
    max_coarse: int = 10,
    diagonal_dominance: Any = False,
    keep: bool = False,
    fallback: bool = False,
    **kwargs: Any,
) -> MultilevelSolver:
    """Returns a hierarchy by smoothed aggregation.

    Every option does what PyAMG documents. Each of ``strength``, ``aggregate``, ``smooth``, ``presmoother``,
    ``postsmoother`` and ``improve_candidates`` is a name, a tuple of a name and a dictionary of parameters, or a list
    of these for the levels, whose last entry is repeated.

    Parameters
    ----------
    A : sparse matrix or array, shape (n, n)
        CSR, or BSR, whose blocks are nodes; other formats are converted to CSR.
    B : array, shape (n, k), optional
        Near-kernel: vectors v with A v small. By default the constant of each unknown of a node.
    BH : array, shape (n, k), optional
        Near-kernel of the transpose, for ``symmetry='nonsymmetric'``; B by default.
    symmetry : {'hermitian', 'symmetric', 'nonsymmetric'}
        The first two mean the same for real A. For the third, R is made from the transpose of A.
    strength : 'symmetric', 'classical', 'evolution', ('predefined', {'C': ...}), None
        Which couplings are strong.
    aggregate : 'standard', 'naive', 'lloyd', 'balanced lloyd', ('predefined', {'AggOp': ...})
        How nodes are grouped.
    smooth : 'jacobi', 'richardson', 'energy', None
        How the prolongation is smoothed; None leaves it plain.
    presmoother, postsmoother : see :func:`pycoarsen.pyamg.relaxation.smoothing.change_smoothers`
    improve_candidates : relaxation method or None
        How B is relaxed on A B = 0 before it is used.
    max_levels, max_coarse : int
        The largest number of levels, and the number of nodes at which coarsening ends.
    diagonal_dominance : bool or (bool, {'theta': float})
        Whether diagonally dominant nodes are left to relaxation.
    keep : bool
        Whether levels keep C, T, AggOp and Cnodes.
    fallback : bool
        Whether what is not here is replaced by the nearest option, with a warning, instead of ``NotImplementedError``.
    **kwargs
        ``coarse_solver`` ('pinv' by default): see :func:`pycoarsen.pyamg.coarse_grid_solver`.

    Returns
    -------
    MultilevelSolver

    Raises
    ------
    NotImplementedError
        For an option, a parameter or a value that is not here; the message names it.
    TypeError
        For complex matrices and vectors.

    Examples
    --------
    >>> import pycoarsen.pyamg as pyamg
    >>> A = pyamg.gallery.poisson((100, 100), format="csr")
    >>> ml = pyamg.smoothed_aggregation_solver(A)
    >>> x = ml.solve(A @ [1.0] * 10000, tol=1e-8, accel="cg")
    """
    A = as_rows(A)
    if symmetry not in ("symmetric", "hermitian", "nonsymmetric"):
        missing(
            f"symmetry={symmetry!r}", ("hermitian", "symmetric", "nonsymmetric"), fallback, "'nonsymmetric' is used"
        )
        symmetry = "nonsymmetric"
    coarse_solver = kwargs.pop("coarse_solver", "pinv")
    unknown(kwargs, ("coarse_solver",), fallback)
    size = block_size(A)
    if B is None:
        B = np.kron(np.ones((A.shape[0] // size, 1)), np.eye(size))
    else:
        B = columns(B, A.shape[0], "B")
        if B.shape[1] < size:
            warnings.warn(
                f"B has fewer columns ({B.shape[1]}) than a block of A ({size}); more iterations may be needed",
                UserWarning,
                stacklevel=2,
            )
    level = Level()
    level.A, level.B = A, B
    level._blocks = A.format == "bsr"
    if symmetry == "nonsymmetric":
        level.BH = B.copy() if BH is None else columns(BH, A.shape[0], "BH")
        if level.BH.shape != B.shape:
            raise ValueError(f"BH has the shape {level.BH.shape}, B has {B.shape}")
    strengths, limits = _predefined(strength, int(max_levels), int(max_coarse))
    aggregates, limits = _predefined(aggregate, *limits)
    max_levels, max_coarse = limits
    count = max(max_levels - 1, 0)
    # All options are checked before the first level is made, also those of levels that may not be reached.
    plan = [
        (
            choose("strength", _alias(strengths[i]), STRENGTH, fallback),
            choose("aggregate", aggregates[i], AGGREGATE, fallback),
            choose("smooth", smooths, SMOOTH, fallback),
            choose("improve_candidates", improve, IMPROVE, fallback),
        )
        for i, smooths, improve in zip(
            range(count), per_level(smooth, count), per_level(improve_candidates, count), strict=False
        )
    ]
    for option, value in (("presmoother", presmoother), ("postsmoother", postsmoother)):
        for each in per_level(value, 1):
            choose(option, each, RELAXATION, fallback, "relaxation")
    if not callable(coarse_solver[0] if isinstance(coarse_solver, tuple) else coarse_solver):
        choose("coarse_solver", coarse_solver, COARSE, fallback)
    dominance = _dominance(diagonal_dominance, fallback)
    levels = [level]
    for step in plan:
        if levels[-1].shape[0] // levels[-1].block_size <= max_coarse:
            break
        levels.append(_coarser(levels[-1], *step, symmetry, dominance, keep))
    with warnings.catch_warnings():
        if fallback:
            warnings.simplefilter("ignore", UserWarning)  # given above
        ml = MultilevelSolver(levels, coarse_solver, fallback)
        change_smoothers(ml, presmoother, postsmoother, fallback)
    ml._symmetry = symmetry
    return ml


def _alias(value: Any) -> Any:
    """The other name of the evolution measure."""
    if value == "ode":
        return "evolution"
    return ("evolution", value[1]) if isinstance(value, tuple) and value[0] == "ode" else value


def _predefined(value: Any, max_levels: int, max_coarse: int) -> tuple[list[Any], tuple[int, int]]:
    """The option of each level; predefined matrices set the number of levels."""
    values = per_level(value, max(max_levels - 1, 1))
    given = value if isinstance(value, list) else [value]
    if isinstance(given[-1], tuple) and given[-1][0] == "predefined":
        return given, (len(given) + 1, 0)
    return values, (max_levels, max_coarse)


def _dominance(value: Any, fallback: bool) -> float | None:
    """The threshold of diagonal dominance, if it is tested."""
    flag, given = (value[0], dict(value[1])) if isinstance(value, tuple) else (value, {})
    if not isinstance(flag, bool | np.bool_):
        missing(f"diagonal_dominance={value!r}", (False, True), fallback, "False is used")
        flag = False
    for key in list(given):
        if key != "theta":
            missing(f"the parameter {key!r} of diagonal_dominance", ("theta",), fallback, "it is ignored")
    return float(given.get("theta", 1.02)) if flag else None


def _coarser(
    level: Level,
    strength: tuple[Any, dict[str, Any]],
    aggregate: tuple[Any, dict[str, Any]],
    smooth: tuple[Any, dict[str, Any]],
    improve: tuple[Any, dict[str, Any]],
    symmetry: str,
    dominance: float | None,
    keep: bool,
) -> Level:
    """Completes a level by its transfers, and returns the next coarser one."""
    a = level.core("A")
    c = of_level(level, *strength)
    if dominance is not None:
        c = _core.without_dominant(a, c, dominance)
    of, count, roots = _aggregates(c, *aggregate)
    one_sided = symmetry == "nonsymmetric"
    adjoint = None
    if one_sided:
        adjoint = Level()
        adjoint.set_core("A", _core.transpose(a))
    if improve[0] is not None:
        level.B = _relaxed(level, level.B, *improve)
        if adjoint is not None:
            level.BH = _relaxed(adjoint, level.BH, *improve)
    t, coarse = _tentative(of, count, level.B)
    p = _smoothed(level, t, c, coarse, *smooth)
    level.set_core("P", p)
    next_level = Level()
    next_level._blocks = True
    next_level.B = coarse
    if adjoint is None:
        level.set_core("R", _core.transpose(p))
    else:
        th, next_level.BH = _tentative(of, count, level.BH)
        level.set_core("R", _core.transpose(_smoothed(adjoint, th, c, next_level.BH, *smooth)))
    if keep:
        level.set_core("C", c)
        level.set_core("T", t)
        level.AggOp = _operator(of, count)
        level.Cnodes = roots
    next_level.set_core("A", _core.triple(level.core("R"), a, p))
    return next_level


def _relaxed(level: Level, B: Any, name: str, parameters: dict[str, Any]) -> Any:
    """Relaxes A B = 0, column by column."""
    method, zeros = level.relaxation(name, parameters), np.zeros(B.shape[0])
    return np.column_stack([method.run(zeros, np.ascontiguousarray(B[:, k])) for k in range(B.shape[1])])


def _aggregates(c: _core.Matrix, name: str, parameters: dict[str, Any]) -> tuple[Any, int, Any]:
    """The aggregate of each node (-1 for none), their number, and their roots."""
    if name == "predefined":
        of = sparse.csr_array(parameters["AggOp"])
        of.eliminate_zeros()
        entries = np.diff(of.indptr)
        if entries.max(initial=0) > 1:
            raise NotImplementedError("an AggOp with several entries in a row is not in pycoarsen.pyamg")
        numbers = np.full(of.shape[0], -1, dtype=np.int32)
        numbers[entries == 1] = of.indices
        return numbers, int(of.shape[1]), None
    if name in ("lloyd", "balanced lloyd"):
        of, roots = _clusters(c, name, **parameters)
    else:
        of, roots = _core.aggregate(c, name == "naive")
    return (of - 1).astype(np.int32), max(len(roots), 1), roots


def _clusters(
    c: _core.Matrix,
    name: str,
    ratio: float,
    measure: str | None,
    maxiter: int,
    rebalance_iters: int | None = None,
    pad: None = None,
) -> tuple[Any, Any]:
    """The clusters of Lloyd's algorithm, numbered from one, and their centres."""
    if not 0 < ratio <= 1:
        raise ValueError("ratio must be > 0.0 and <= 1.0")
    indptr, indices, data = c.arrays()
    if measure == "unit":
        data = np.ones_like(data)
    elif measure == "inv":
        data = 1.0 / np.abs(data)
    elif measure == "abs":
        data = np.abs(data)
    elif measure == "min":
        data = data - data.min(initial=np.inf)
    n = c.shape[0]
    count = int(min(max(ratio * n, 1), n))
    centres = np.random.permutation(n)[:count].astype(np.int64)
    graph = _core.Matrix(c.shape, (1, 1), indptr, indices, np.ascontiguousarray(data))
    of, centres = _core.cluster(graph, centres, int(maxiter), rebalance_iters)
    if not of.all():
        warnings.warn("no centre of Lloyd's algorithm reaches some nodes: they are left to relaxation", stacklevel=6)
    return of, centres


def lloyd_aggregation(C: Any, ratio: float = 0.1, measure: str | None = "unit", maxiter: int = 5) -> tuple[Any, Any]:
    """Groups nodes around centres that move to the interior of their clusters.

    Parameters
    ----------
    C : csr_array, shape (n, n)
        Strength of connection.
    ratio : float
        The number of aggregates divided by n.
    measure : {'unit', None, 'abs', 'inv', 'min'}
        The length of a coupling: 1, its value, its absolute value, the inverse of that, or its value above the least.
    maxiter : int
        The number of assignments. The first centres are drawn by ``numpy.random``.

    Returns
    -------
    AggOp : csr_array, shape (n, m)
    centers : ndarray, shape (m,)
    """
    given = {"ratio": ratio, "measure": measure, "maxiter": maxiter}
    return _grouped(C, choose("aggregate", ("lloyd", given), AGGREGATE))


def balanced_lloyd_aggregation(
    C: Any,
    ratio: float = 0.1,
    measure: str | None = None,
    maxiter: int = 5,
    rebalance_iters: int = 5,
    pad: None = None,
) -> tuple[Any, Any]:
    """As :func:`lloyd_aggregation`, with clusters of similar sizes.

    Parameters
    ----------
    rebalance_iters : int
        How often clusters are eliminated and split.
    pad
        Only None is here.
    """
    given = {
        "ratio": ratio,
        "measure": measure,
        "maxiter": maxiter,
        "rebalance_iters": rebalance_iters,
        "pad": pad,
    }
    return _grouped(C, choose("aggregate", ("balanced lloyd", given), AGGREGATE))


def _grouped(C: Any, method: tuple[str, dict[str, Any]]) -> tuple[Any, Any]:
    of, count, centres = _aggregates(to_core(as_rows(C, "C")), *method)
    return _operator(of, count), centres


def _operator(of: Any, count: int) -> Any:
    """The aggregates as a matrix of nodes and aggregates."""
    rows = np.flatnonzero(of >= 0)
    return sparse.csr_array((np.ones(len(rows), np.int32), (rows, of[rows])), shape=(len(of), count))


def _tentative(of: Any, count: int, B: Any, spanned: float = _SPANNED) -> tuple[_core.Matrix, Any]:
    if B.shape[0] % len(of):
        raise ValueError(f"B has {B.shape[0]} rows for {len(of)} nodes of the aggregation")
    B = np.ascontiguousarray(B, dtype=np.float64)
    t, coarse = _core.tentative(np.ascontiguousarray(of, np.int32), count, B, B.shape[1], spanned)
    return t, coarse.reshape(-1, B.shape[1])


def _smoothed(
    level: Level, t: _core.Matrix, c: _core.Matrix, coarse: Any, name: str | None, p: dict[str, Any]
) -> _core.Matrix:
    """The prolongation from the tentative one."""
    if name is None:
        return t
    a = level.core("A")
    if a.block[0] != t.block[0]:
        # The aggregation is over scalars of a matrix with blocks.
        scalars = Level()
        scalars.set_core("A", a.reblock(t.block[0]))
        level, a = scalars, scalars.core("A")
    if name == "energy":
        coarse = np.ascontiguousarray(coarse)
        return _core.smooth_by_energy(
            a,
            t,
            c,
            coarse,
            coarse.shape[1],
            p["krylov"],
            int(p["maxiter"]),
            float(p["tol"]),
            int(p["degree"]),
            p["weighting"],
        )
    weighting = p.get("weighting", "none")
    if weighting == "block" and a.block == (1, 1):
        weighting = "diagonal"
    if not p.get("filter_entries", False):
        radius = 1.0 if weighting == "local" else level.radius(weighting)
        return _core.smooth(a, t, p["omega"] / radius, weighting, int(p["degree"]))
    strong = Level()
    strong.set_core("A", _core.filtered(a, c))
    radius = 1.0 if weighting == "local" else strong.radius(weighting)
    coarse = np.ascontiguousarray(coarse)
    return _core.smooth_with_constraints(
        strong.core("A"), t, p["omega"] / radius, weighting, int(p["degree"]), coarse, coarse.shape[1]
    )


def standard_aggregation(C: Any) -> tuple[Any, Any]:
    """Groups each node with its strong neighbours.

    Parameters
    ----------
    C : csr_array, shape (n, n)
        Strength of connection.

    Returns
    -------
    AggOp : csr_array, shape (n, m)
        1 where a node belongs to an aggregate. Nodes without neighbours belong to none.
    Cpts : ndarray, shape (m,)
        The node from which each aggregate grew.
    """
    return _grouped(C, ("standard", {}))


def naive_aggregation(C: Any) -> tuple[Any, Any]:
    """As :func:`standard_aggregation`, but every node that is left over starts an aggregate."""
    return _grouped(C, ("naive", {}))


def fit_candidates(AggOp: Any, B: Any, tol: float = _SPANNED) -> tuple[Any, Any]:
    """Returns Q and R with B = Q R on aggregated nodes, and orthonormal columns of Q on each aggregate.

    Parameters
    ----------
    AggOp : csr_array, shape (nodes, m)
    B : array, shape (n, k), with n a multiple of nodes
    tol : float
        A column of an aggregate is dropped if at most this fraction of it is new.

    Returns
    -------
    Q : bsr_array, shape (n, m k)
    R : ndarray, shape (m k, k)
    """
    of, count, _ = _aggregates(None, "predefined", {"AggOp": AggOp})  # type: ignore[arg-type]
    B = columns(B, np.shape(B)[0], "B")
    t, coarse = _tentative(of, count, B, tol)
    return from_core(t, True), coarse


def jacobi_prolongation_smoother(
    S: Any,
    T: Any,
    C: Any,
    B: Any,
    omega: float = 4.0 / 3.0,
    degree: int = 1,
    filter_entries: bool = False,
    weighting: str = "diagonal",
) -> Any:
    """Returns P = (I - omega / rho(D S) D S)**degree T.

    Parameters
    ----------
    S : csr_array or bsr_array, shape (n, n)
        The matrix.
    T : csr_array or bsr_array, shape (n, m)
        Tentative prolongation.
    C : csr_array
        Strength of connection, for ``filter_entries``.
    B : array, shape (m, k)
        Coarse near-kernel, for ``filter_entries``.
    omega, degree : float, int
        The damping, and the number of steps.
    filter_entries : bool
        Whether couplings that are not in C are dropped, and P B is kept.
    weighting : {'diagonal', 'block', 'local'}
        D: the inverse of the diagonal; of its blocks; of the sums of absolute values of rows, without the radius.
    """
    given = {"omega": omega, "degree": degree, "filter_entries": filter_entries, "weighting": weighting}
    return _by_hand(S, T, C, B, choose("smooth", ("jacobi", given), SMOOTH))


def richardson_prolongation_smoother(S: Any, T: Any, omega: float = 4.0 / 3.0, degree: int = 1) -> Any:
    """Returns P = (I - omega / rho(S) S)**degree T."""
    return _by_hand(S, T, None, None, choose("smooth", ("richardson", {"omega": omega, "degree": degree}), SMOOTH))


def energy_prolongation_smoother(
    A: Any,
    T: Any,
    Atilde: Any,
    B: Any,
    Bf: Any = None,
    Cpt_params: Any = (False, {}),
    krylov: str = "cg",
    maxiter: int = 4,
    tol: float = 1e-8,
    degree: int = 1,
    weighting: str = "local",
    prefilter: Any = None,
    postfilter: Any = None,
) -> Any:
    """Returns P of small energy with P B = T B and the pattern of Atilde**degree T.

    Parameters
    ----------
    A, T, Atilde, B
        As for :func:`jacobi_prolongation_smoother`.
    Bf, Cpt_params
        Of root-node methods, which are not here.
    krylov : {'cg', 'cgnr', 'gmres'}
        The method that is applied to A P = 0.
    maxiter, tol : int, float
        Its steps and its tolerance.
    degree : int
        The reach of P.
    weighting : {'local', 'diagonal', 'block'}
        The diagonal preconditioner.
    prefilter, postfilter
        Only None is here.
    """
    if Cpt_params[0]:
        missing("Cpt_params of a root-node method", ((False, {}),), False, "")
    given = {
        "krylov": krylov,
        "maxiter": maxiter,
        "tol": tol,
        "degree": degree,
        "weighting": weighting,
        "prefilter": prefilter,
        "postfilter": postfilter,
    }
    return _by_hand(A, T, Atilde, B, choose("smooth", ("energy", given), SMOOTH))


def _by_hand(A: Any, T: Any, C: Any, B: Any, method: tuple[Any, dict[str, Any]]) -> Any:
    level = Level()
    level.A = as_rows(A)
    t = to_core(T)
    c = level.core("A") if C is None else to_core(as_rows(C, "C"))
    coarse = None if B is None else columns(B, T.shape[1], "B")
    return from_core(_smoothed(level, t, c, coarse, *method), T.format == "bsr")
