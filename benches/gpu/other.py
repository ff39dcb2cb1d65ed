"""The system of a bench by others on the same GPU: cuSPARSE's product, and CuPy's conjugate gradients.

    python3 other.py FOLDER

FOLDER is what `device_schwarz --export FOLDER` wrote. Prints rows of a table, or why there are none.
"""

import inspect
import pathlib
import sys
import time


def main(folder):
    try:
        import cupy
        import cupyx.scipy.sparse as sparse
        from cupyx.scipy.sparse.linalg import cg
        cupy.cuda.runtime.getDeviceCount()
    except Exception as why:  # a missing package, driver or GPU: each has an exception of its own
        return print(f"cuSPARSE and CuPy: skipped ({type(why).__name__}: {why})")
    a = read(folder, cupy, sparse)
    # The relative tolerance has another name in older versions.
    tolerance = "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"
    print("| scalar | cuSPARSE A x ms | GB/s | CuPy CG, no preconditioner, ms an iteration |\n|---|---|---|---|")
    for scalar in (cupy.float64, cupy.float32):
        m = a.astype(scalar)
        b = cupy.ones(m.shape[0], scalar)
        product = seconds(cupy, lambda: m @ b)

        def solve(callback=None):
            cg(m, b, maxiter=100, callback=callback, **{tolerance: 0})

        iterations = []
        solve(lambda _: iterations.append(1))
        whole = seconds(cupy, solve, 1)
        size = m.data.nbytes + m.indices.nbytes + 2 * b.nbytes
        iteration = 1e3 * whole / max(len(iterations), 1)
        print(f"| {scalar.__name__} | {1e3 * product:.3f} | {size / product / 1e9:.1f} | {iteration:.3f} |")


def read(folder, cupy, sparse):
    """The blocks as single entries: CuPy has no block rows."""
    import numpy

    folder = pathlib.Path(folder)
    b = int((folder / "block").read_text())
    offsets = numpy.fromfile(folder / "offsets", numpy.uint32).astype(numpy.int64)
    columns = numpy.fromfile(folder / "columns", numpy.uint32).astype(numpy.int64)
    values = numpy.fromfile(folder / "values").reshape(-1, b, b)
    rows = numpy.repeat(numpy.arange(len(offsets) - 1), numpy.diff(offsets))
    k = numpy.arange(b)
    i = numpy.broadcast_to(rows[:, None, None] * b + k[:, None], values.shape).ravel()
    j = numpy.broadcast_to(columns[:, None, None] * b + k, values.shape).ravel()
    i, j, v = (cupy.asarray(x) for x in (i.astype(numpy.int32), j.astype(numpy.int32), values.ravel()))
    n = (len(offsets) - 1) * b
    return sparse.coo_matrix((v, (i, j)), shape=(n, n)).tocsr()


def seconds(cupy, call, calls=20):
    """The least of three batches, after one call that warms up."""
    call()
    cupy.cuda.Device().synchronize()
    best = float("inf")
    for _ in range(3):
        begun = time.perf_counter()
        for _ in range(calls):
            call()
        cupy.cuda.Device().synchronize()
        best = min(best, (time.perf_counter() - begun) / calls)
    return best


main(sys.argv[1])
