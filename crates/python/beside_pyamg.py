"""The table beside PyAMG on its gallery: ``python beside_pyamg.py [--size 100000 --size 1000000] [--threads 2] [--runs 3] [--cpu]``.

It needs PyAMG beside pycoarsen. Each cell is the median of the runs in one process, in seconds, for a random right-hand side and a
relative residual of 1e-8, checked afterwards. PyAMG runs as its documentation recommends: smoothed aggregation with the near-kernel
of its gallery, and conjugate gradients. "ours" is `pycoarsen.Solver`, from the SciPy matrix to x: the copy, the choice, the setup
and the solve; "as PyAMG" is `pycoarsen.pyamg` with the same call. "update" is `update` of a hierarchy by new values, beside its build.
`--cpu` counts seconds of the processor on all threads, which a busy machine changes less than seconds of the clock.
"""

import argparse
import os
import statistics
import time

# PyAMG's dense products are small, and threads that wait for them count as work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
import pyamg  # noqa: E402
import pycoarsen  # noqa: E402
import pycoarsen.pyamg  # noqa: E402


def cases(size):
    """The problems with about `size` unknowns: a name, A and a near-kernel or None."""
    side = round(size**0.5)
    yield "poisson 2-D", pyamg.gallery.poisson((side, side), format="csr"), None
    cube = round(size ** (1 / 3))
    yield "poisson 3-D", pyamg.gallery.poisson((cube, cube, cube), format="csr"), None
    half = round((size / 2) ** 0.5)
    yield "elasticity 2-D", *pyamg.gallery.linear_elasticity((half, half), format="bsr")
    stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=0.001, theta=np.pi / 6, type="FE")
    yield "anisotropic 2-D", pyamg.gallery.stencil_grid(stencil, (side, side), format="csr"), None


def seconds(f, clock, runs):
    """The median of the runs, and the last result."""
    times = []
    for _ in range(runs):
        begun = clock()
        result = f()
        times.append(clock() - begun)
    return statistics.median(times), result


def check(A, b, x, name):
    residual = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
    assert residual <= 1.01e-8, f"{name}: {residual:.2e}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    runs = options.runs
    clock = time.process_time if options.cpu else time.perf_counter
    unit = "of the processor" if options.cpu else "of the clock"
    print(f"seconds {unit}, load {os.getloadavg()[0]:.1f}, {options.threads} threads, PyAMG {pyamg.__version__}")
    print("| problem | unknowns | PyAMG, s | ours, s | ratio | as PyAMG, s | ratio | build, s | update, s | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for size in options.size or [100_000, 1_000_000]:
        for name, A, B in cases(size):
            b = np.random.default_rng(1).standard_normal(A.shape[0])

            def peer(module=pyamg):
                ml = module.smoothed_aggregation_solver(A, B=B)
                return ml.solve(b, tol=1e-8, accel="cg", maxiter=500)

            def ours():
                return pycoarsen.Solver(A, near_kernel=B, threads=options.threads).solve(b)

            theirs, x = seconds(peer, clock, runs)
            check(A, b, x, name)
            total, x = seconds(ours, clock, runs)
            check(A, b, x, name)
            same, x = seconds(lambda: peer(pycoarsen.pyamg), clock, runs)
            check(A, b, x, name)
            build, M = seconds(lambda: pycoarsen.smoothed_aggregation(A, B, threads=options.threads), clock, runs)
            update, _ = seconds(lambda: M.update(A), clock, runs)
            print(
                f"| {name} | {A.shape[0]} | {theirs:.3f} | {total:.3f} | {total / theirs:.2f} | {same:.3f} "
                f"| {same / theirs:.2f} | {build:.3f} | {update:.3f} | {update / build:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
