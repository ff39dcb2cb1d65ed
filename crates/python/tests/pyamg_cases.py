"""Systems and options with the iterations that PyAMG 5.4.1 needs for them.

``python pyamg_cases.py`` prints the table anew with the PyAMG that is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SA, RS = "smoothed_aggregation_solver", "ruge_stuben_solver"
SYMMETRIC = {"sweep": "symmetric"}
ONE_WAY = {
    "presmoother": ("gauss_seidel", {"sweep": "forward"}),
    "postsmoother": ("gauss_seidel", {"sweep": "backward"}),
}


def both(smoother: Any) -> dict[str, Any]:
    """The same relaxation before and after."""
    return {"presmoother": smoother, "postsmoother": smoother}


#: name: (system, solver, options of the solver, options of the solve, iterations of PyAMG)
CASES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any], int]] = {
    "sa": ("poisson2d", SA, {}, {}, 14),
    "sa cg": ("poisson2d", SA, {}, {"accel": "cg"}, 8),
    "sa gmres": ("poisson2d", SA, {}, {"accel": "gmres"}, 7),
    "sa bicgstab": ("poisson2d", SA, {}, {"accel": "bicgstab"}, 5),
    "sa w": ("poisson2d", SA, {}, {"cycle": "W"}, 10),
    "sa f": ("poisson2d", SA, {}, {"cycle": "F"}, 10),
    "sa amli": ("poisson2d", SA, {}, {"cycle": "AMLI", "accel": "fgmres"}, 7),
    "sa 3d": ("poisson3d", SA, {}, {}, 11),
    "sa classical": ("anisotropic", SA, {"strength": ("classical", {"theta": 0.25})}, {"accel": "cg"}, 16),
    "sa symmetric": ("anisotropic", SA, {"strength": ("symmetric", {"theta": 0.25})}, {"accel": "cg"}, 16),
    "sa evolution": ("anisotropic", SA, {"strength": "evolution"}, {"accel": "cg"}, 15),
    "sa plain": ("poisson2d", SA, {"smooth": None}, {"accel": "cg"}, 24),
    "sa richardson": ("poisson2d", SA, {"smooth": "richardson"}, {}, 14),
    "sa energy": ("poisson2d", SA, {"smooth": ("energy", {"krylov": "cg"})}, {}, 18),
    "sa degree 2": ("poisson2d", SA, {"smooth": ("jacobi", {"degree": 2})}, {}, 10),
    "sa filtered": (
        "anisotropic",
        SA,
        {"strength": ("symmetric", {"theta": 0.1}), "smooth": ("jacobi", {"filter_entries": True})},
        {"accel": "cg"},
        16,
    ),
    "sa naive": ("poisson2d", SA, {"aggregate": "naive"}, {}, 11),
    "sa lloyd": ("poisson2d", SA, {"aggregate": "lloyd"}, {}, 45),
    "sa balanced": ("poisson2d", SA, {"aggregate": "balanced lloyd"}, {}, 28),
    "sa elastic": ("elastic", SA, {}, {}, 15),
    "sa elastic cg": ("elastic", SA, {}, {"accel": "cg"}, 9),
    "sa elastic block": ("elastic", SA, {"smooth": ("jacobi", {"weighting": "block"})}, {}, 15),
    "sa elastic energy": ("elastic", SA, {"smooth": "energy", "strength": "evolution"}, {}, 13),
    "sa elastic points": ("elastic", SA, both(("gauss_seidel", SYMMETRIC)), {}, 15),
    "sa one way": ("poisson2d", SA, ONE_WAY, {}, 22),
    "sa jacobi": ("poisson2d", SA, both(("jacobi", {"omega": 4 / 3, "iterations": 2})), {}, 18),
    "sa block jacobi": ("elastic", SA, both(("block_jacobi", {"omega": 4 / 3})), {"accel": "cg"}, 16),
    "sa chebyshev": ("poisson2d", SA, both("chebyshev"), {}, 22),
    "sa sor": ("poisson2d", SA, both(("sor", {"omega": 1.2, "sweep": "symmetric"})), {}, 14),
    "sa schwarz": ("poisson2d", SA, both(("schwarz", SYMMETRIC)), {}, 9),
    "sa kaczmarz": ("poisson2d", SA, both(("gauss_seidel_nr", SYMMETRIC)), {}, 37),
    "sa nonsymmetric": (
        "recirculating",
        SA,
        {"symmetry": "nonsymmetric", **both(("gauss_seidel_nr", {"sweep": "symmetric", "iterations": 2}))},
        {"accel": "gmres"},
        10,
    ),
    "rs": ("poisson2d", RS, {}, {}, 7),
    "rs cg": ("poisson2d", RS, {}, {"accel": "cg"}, 5),
    "rs direct": ("poisson2d", RS, {"interpolation": "direct"}, {}, 9),
    "rs second pass": (
        "poisson2d",
        RS,
        {"CF": ("RS", {"second_pass": True}), "interpolation": ("classical", {"modified": False})},
        {},
        7,
    ),
    "rs 3d": ("poisson3d", RS, {}, {}, 6),
    "rs anisotropic": ("anisotropic", RS, {}, {"accel": "cg"}, 9),
    "rs w": ("anisotropic", RS, {}, {"cycle": "W"}, 10),
}


def system(pyamg: Any, name: str) -> tuple[Any, Any]:
    """The matrix and the near-kernel of a system."""
    gallery = pyamg.gallery
    if name == "poisson2d":
        return gallery.poisson((60, 60), format="csr"), None
    if name == "poisson3d":
        return gallery.poisson((18, 18, 18), format="csr"), None
    if name == "anisotropic":
        stencil = gallery.diffusion_stencil_2d(epsilon=0.01, theta=np.pi / 3, type="FE")
        return gallery.stencil_grid(stencil, (60, 60), format="csr"), None
    if name == "elastic":
        return gallery.linear_elasticity((40, 40), format="bsr")
    # Upwind differences of a rotating flow with diffusion.
    from scipy import sparse

    n = 40
    y, x = np.mgrid[0:n, 0:n].reshape(2, -1) / (n - 1) - 0.5
    up = sparse.diags_array([-np.ones(n - 1), np.ones(n)], offsets=[-1, 0])
    eye = sparse.eye_array(n)
    flows = [sparse.kron(eye, up), sparse.kron(eye, up.T), sparse.kron(up, eye), sparse.kron(up.T, eye)]
    parts = [np.maximum(v, 0) for v in (-y, y, x, -x)]
    convection = sum(sparse.diags_array(v) @ flow for v, flow in zip(parts, flows, strict=True))
    return sparse.csr_array(0.05 * gallery.poisson((n, n), format="csr") + convection), None


def iterations(pyamg: Any, case: str) -> int:
    """The iterations to a residual of 1e-8 from zero, for a right-hand side of ones."""
    of, solver, options, solve, _ = CASES[case]
    A, B = system(pyamg, of)
    if B is not None:
        options = {**options, "B": B}
    np.random.seed(0)  # PyAMG estimates spectral radii from random vectors
    ml = getattr(pyamg, solver)(A, max_coarse=50, **options)
    residuals: list[float] = []
    ml.solve(np.ones(A.shape[0]), tol=1e-8, maxiter=200, residuals=residuals, **solve)
    return len(residuals) - 1


if __name__ == "__main__":
    import pyamg

    for case in CASES:
        print(f"{case!r}: {iterations(pyamg, case)}", flush=True)
