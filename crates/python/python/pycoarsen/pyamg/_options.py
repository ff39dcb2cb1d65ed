"""The options of PyAMG that are here, and what happens to the others."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any


class Choice:
    """A parameter with a few values; the first one is the default."""

    def __init__(self, *values: Any) -> None:
        self.values = values


class Required:
    """A parameter without a default."""


SWEEP = Choice("forward", "backward", "symmetric")

STRENGTH: Mapping[Any, Mapping[str, Any]] = {
    "symmetric": {"theta": 0.0},
    "classical": {"theta": 0.1, "block": Choice(True, False), "norm": Choice("abs", "min", "fro")},
    "evolution": {
        "B": None,
        "epsilon": 4.0,
        "k": 2,
        "proj_type": Choice("l2", "D_A"),
        "block_flag": Choice(False),
        "symmetrize_measure": Choice(True, False),
    },
    "predefined": {"C": Required()},
    None: {},
}

AGGREGATE: Mapping[Any, Mapping[str, Any]] = {
    "standard": {},
    "naive": {},
    "lloyd": {"ratio": 0.1, "measure": Choice("unit", None, "abs", "inv", "min"), "maxiter": 5},
    "balanced lloyd": {
        "ratio": 0.1,
        "measure": Choice(None, "unit", "abs", "inv", "min"),
        "maxiter": 5,
        "rebalance_iters": 5,
        "pad": Choice(None),
    },
    "predefined": {"AggOp": Required()},
}

SMOOTH: Mapping[Any, Mapping[str, Any]] = {
    "jacobi": {
        "omega": 4.0 / 3.0,
        "degree": 1,
        "filter_entries": Choice(False, True),
        "weighting": Choice("diagonal", "block", "local"),
    },
    "richardson": {"omega": 4.0 / 3.0, "degree": 1},
    "energy": {
        "krylov": Choice("cg", "cgnr", "gmres"),
        "maxiter": 4,
        "tol": 1e-8,
        "degree": 1,
        "weighting": Choice("local", "diagonal", "block"),
        "prefilter": Choice(None, {}),
        "postfilter": Choice(None, {}),
    },
    None: {},
}

SPLITTING: Mapping[Any, Mapping[str, Any]] = {"RS": {"second_pass": Choice(False, True)}}

INTERPOLATION: Mapping[Any, Mapping[str, Any]] = {
    "direct": {"theta": None, "norm": Choice("min", "abs")},
    "classical": {"theta": None, "norm": Choice("min", "abs"), "modified": Choice(True, False)},
}

RELAXATION: Mapping[Any, Mapping[str, Any]] = {
    "gauss_seidel": {"iterations": 1, "sweep": SWEEP},
    "block_gauss_seidel": {"iterations": 1, "sweep": SWEEP, "blocksize": None},
    "sor": {"omega": 0.5, "iterations": 1, "sweep": SWEEP},
    "jacobi": {"iterations": 1, "omega": 1.0, "withrho": Choice(True, False)},
    "block_jacobi": {"iterations": 1, "omega": 1.0, "blocksize": None, "withrho": Choice(True, False)},
    "richardson": {"iterations": 1, "omega": 1.0},
    "chebyshev": {"lower_bound": 1.0 / 30.0, "upper_bound": 1.1, "degree": 3, "iterations": 1},
    "gauss_seidel_ne": {"iterations": 1, "sweep": SWEEP, "omega": 1.0},
    "gauss_seidel_nr": {"iterations": 1, "sweep": SWEEP, "omega": 1.0},
    "jacobi_ne": {"iterations": 1, "omega": 1.0, "withrho": Choice(True, False)},
    "schwarz": {"iterations": 1, "sweep": SWEEP},
    "strength_based_schwarz": {"iterations": 1, "sweep": SWEEP},
    "cg": {"tol": 1e-12, "maxiter": 1},
    "gmres": {"tol": 1e-12, "maxiter": 1, "restart": None},
    None: {},
}

#: A Krylov method would reduce B to nothing.
IMPROVE = {name: p for name, p in RELAXATION.items() if name not in ("cg", "gmres", "chebyshev")}

_INNER = {"tol": 1e6 * 2.0**-52, "maxiter": None}
_PINV = {"atol": 0.0, "rtol": None, "check_finite": Choice(True)}

COARSE: Mapping[Any, Mapping[str, Any]] = {
    "splu": {},
    "lu": {},
    "cholesky": {},
    "pinv": _PINV,
    "pinv2": _PINV,
    "cg": _INNER,
    "minres": _INNER,
    "bicgstab": _INNER,
    "gmres": {**_INNER, "restart": None},
    **{name: {**parameters, "iterations": 10} for name, parameters in RELAXATION.items() if "iterations" in parameters},
    None: {},
}

#: For each option of PyAMG that is not here, the option of this package that comes nearest.
NEAREST: Mapping[str, Mapping[str, Any]] = {
    "strength": {name: "symmetric" for name in ("distance", "energy_based", "algebraic_distance", "affinity")},
    "aggregate": {name: "standard" for name in ("metis", "pairwise")},
    "CF": {name: "RS" for name in ("PMIS", "PMISc", "CLJP", "CLJPc", "CR")},
    "relaxation": {
        "cf_jacobi": "jacobi",
        "fc_jacobi": "jacobi",
        "cf_block_jacobi": "block_jacobi",
        "fc_block_jacobi": "block_jacobi",
        "cgne": "gmres",
        "cgnr": "gmres",
    },
    "improve_candidates": {name: "gauss_seidel" for name in ("cg", "gmres", "chebyshev")},
    "coarse_solver": {"bicg": "gmres", "cgs": "bicgstab", "qmr": "gmres"},
}


def unpack(value: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the name and the parameters of ``name`` or ``(name, parameters)``."""
    if isinstance(value, tuple):
        return value[0], dict(value[1])
    return value, {}


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(repr(value) for value in values)


def missing(what: str, there: Iterable[Any] | None, fallback: bool, instead: str) -> None:
    """Raises ``NotImplementedError`` for what is not here; with `fallback`, warns of what happens instead."""
    text = f"{what} is not in pycoarsen.pyamg"
    if fallback:
        warnings.warn(f"{text}: {instead}", UserWarning, stacklevel=5)
        return
    known = "" if there is None else f"; there are {_listed(there)}"
    raise NotImplementedError(text + known)


def choose(
    option: str,
    value: Any,
    table: Mapping[Any, Mapping[str, Any]],
    fallback: bool = False,
    nearest: str | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Returns the name of a method and all its parameters.

    Raises ``NotImplementedError`` that names a method, a parameter or a value which is not here. With `fallback` it
    warns, and takes the nearest method, ignores the parameter, or takes the default.
    """
    name, given = unpack(value)
    if not (name is None or isinstance(name, str)) or name not in table:
        instead = NEAREST.get(nearest or option, {}).get(name, next(iter(table)))
        missing(f"{option}={name!r}", table, fallback, f"{instead!r} is used")
        name = instead
    parameters = table[name]
    for key in list(given):
        if key not in parameters:
            where = f"the parameter {key!r} of {option}={name!r}"
            missing(where, parameters, fallback, "it is ignored")
            del given[key]
    result = {}
    for key, default in parameters.items():
        if isinstance(default, Choice):
            found = given.get(key, default.values[0])
            if not any(type(found) is type(v) and found == v for v in default.values):
                where = f"{key}={found!r} of {option}={name!r}"
                missing(where, default.values, fallback, f"{default.values[0]!r} is used")
                found = default.values[0]
            result[key] = found
        elif isinstance(default, Required):
            if key not in given:
                raise ValueError(f"{option}={name!r} needs the parameter {key!r}")
            result[key] = given[key]
        else:
            result[key] = given.get(key, default)
    return name, result


def unknown(kwargs: Mapping[str, Any], there: Iterable[str], fallback: bool) -> None:
    """Refuses keyword arguments that are not here."""
    for key in kwargs:
        missing(f"the argument {key!r}", there, fallback, "it is ignored")


def per_level(value: Any, count: int) -> list[Any]:
    """Returns the value for each of `count` levels: the last entry of a list is repeated."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        value = list(value)  # ((name, parameters), None)
    values = list(value) if isinstance(value, list) else [value]
    if not values:
        raise ValueError("an option for each level is an empty list")
    return values + [values[-1]] * max(0, count - len(values))
