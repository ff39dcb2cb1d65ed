"""Classical algebraic multigrid, from its parts."""

from __future__ import annotations

import warnings
from typing import Any

from ... import _core

from .._matrices import as_rows
from .._options import COARSE, INTERPOLATION, RELAXATION, SPLITTING, STRENGTH, choose, per_level, unknown
from ..multilevel import Level, MultilevelSolver, change_smoothers
from ..strength import of_level
from .interpolate import of_splitting

__all__ = ["ruge_stuben_solver"]

_GAUSS_SEIDEL = ("gauss_seidel", {"sweep": "symmetric"})


def ruge_stuben_solver(
    A: Any,
    strength: Any = ("classical", {"theta": 0.25}),
    CF: Any = ("RS", {"second_pass": False}),
    interpolation: Any = "classical",
    presmoother: Any = _GAUSS_SEIDEL,
    postsmoother: Any = _GAUSS_SEIDEL,
    max_levels: int = 30,
    max_coarse: int = 10,
    keep: bool = False,
    fallback: bool = False,
    **kwargs: Any,
) -> MultilevelSolver:
    """Returns a hierarchy by the method of Ruge and Stueben.

    Parameters
    ----------
    A : sparse matrix or array, shape (n, n)
        Converted to CSR.
    strength : 'classical', 'symmetric', 'evolution', None
        Which couplings are strong.
    CF : 'RS' or ('RS', {'second_pass': bool})
        How unknowns are split into coarse and fine ones.
    interpolation : 'classical', 'direct', ('classical', {'modified': bool})
        How fine unknowns are interpolated.
    presmoother, postsmoother : see :func:`pycoarsen.pyamg.relaxation.smoothing.change_smoothers`
    max_levels, max_coarse : int
        The largest number of levels, and the number of unknowns at which coarsening ends.
    keep : bool
        Whether levels keep C.
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
    >>> ml = pyamg.ruge_stuben_solver(A)
    >>> x = ml.solve(A @ [1.0] * 10000, tol=1e-8)
    """
    A = as_rows(A)
    if A.format != "csr":
        A = A.tocsr()
    coarse_solver = kwargs.pop("coarse_solver", "pinv")
    unknown(kwargs, ("coarse_solver",), fallback)
    if isinstance(strength, str) and strength == "ode":
        strength = "evolution"
    of = choose("strength", strength, {k: v for k, v in STRENGTH.items() if k != "predefined"}, fallback)
    _, split = choose("CF", CF, SPLITTING, fallback)
    by = choose("interpolation", interpolation, INTERPOLATION, fallback)
    for option, value in (("presmoother", presmoother), ("postsmoother", postsmoother)):
        for each in per_level(value, 1):
            choose(option, each, RELAXATION, fallback, "relaxation")
    if not callable(coarse_solver[0] if isinstance(coarse_solver, tuple) else coarse_solver):
        choose("coarse_solver", coarse_solver, COARSE, fallback)
    level = Level()
    level.A = A
    levels = [level]
    while len(levels) < max_levels and levels[-1].shape[0] > max_coarse:
        level = levels[-1]
        c = of_level(level, *of)
        splitting = _core.split(c, split["second_pass"])
        if splitting.sum() in (0, len(splitting)):
            break
        p = of_splitting(level.core("A"), c, splitting, *by)
        if keep:
            level.set_core("C", c)
        level.splitting = splitting.astype(bool)
        level.set_core("P", p)
        level.set_core("R", _core.transpose(p))
        coarser = Level()
        coarser.set_core("A", _core.triple(level.core("R"), level.core("A"), p))
        levels.append(coarser)
    with warnings.catch_warnings():
        if fallback:
            warnings.simplefilter("ignore", UserWarning)  # given above
        ml = MultilevelSolver(levels, coarse_solver, fallback)
        change_smoothers(ml, presmoother, postsmoother, fallback)
    return ml
