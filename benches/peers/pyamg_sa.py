"""PyAMG: smoothed aggregation under conjugate gradients, one thread."""
import sys
import warnings

import numpy as np
import pyamg

from system import System, measure

warnings.filterwarnings("ignore")
system, configuration = System(sys.argv[1]), sys.argv[2]
a, b = system.csr(), np.array(system.rhs)
options = dict(max_coarse=500)
if system.block > 1:
    a = a.tobsr((3, 3))
    gs = ("block_gauss_seidel", {"sweep": "symmetric"})
    options.update(B=system.near_kernel, strength=("symmetric", {"theta": 0.0}), presmoother=gs, postsmoother=gs)
    options.update(improve_candidates=None)
if configuration == "energy":
    options.update(smooth=("energy", {"krylov": "cg", "maxiter": 2, "degree": 1}))
    if system.block == 1:
        options.update(strength=("evolution", {"k": 2, "epsilon": 4.0}))


def solve(hierarchy):
    residuals = []
    x = hierarchy.solve(b, tol=1e-8, accel="cg", maxiter=500, residuals=residuals)
    return x, len(residuals) - 1


measure(
    lambda: pyamg.smoothed_aggregation_solver(a, **options),
    solve,
    lambda x: np.linalg.norm(b - a @ x) / np.linalg.norm(b),
)
