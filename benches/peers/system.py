"""A system as every driver reads it, and the line that every driver prints.

    system.py DIR    writes DIR/system.bin and DIR/near_kernel.bin from the Matrix Market files of `coarsen generate`

system.bin is n i64 | nnz i64 | row starts i64[n+1] | columns i32[nnz] | values f64[nnz] | right-hand side f64[n], the rows of both
triangles with sorted columns; near_kernel.bin is n i64 | k i64 | values f64[n][k].
"""
import ctypes
import json
import os
import sys
import time

import numpy as np


class System:
    def __init__(self, folder):
        raw = np.memmap(f"{folder}/system.bin", np.uint8, "r")
        self.n, self.nnz = (int(v) for v in raw[:16].view("<i8"))
        cuts = np.cumsum([16, 8 * (self.n + 1), 4 * self.nnz, 8 * self.nnz, 8 * self.n])
        starts, columns, values, rhs = (raw[a:b] for a, b in zip(cuts, cuts[1:]))
        self.starts, self.columns = starts.view("<i8"), columns.view("<i4")
        self.values, self.rhs = values.view("<f8"), rhs.view("<f8")
        shape = np.fromfile(f"{folder}/near_kernel.bin", "<i8", 2)
        self.near_kernel = np.fromfile(f"{folder}/near_kernel.bin", "<f8", offset=16).reshape(shape)
        self.block = 3 if shape[1] > 1 else 1

    def csr(self):
        import scipy.sparse as sp

        arrays = (np.array(self.values), np.array(self.columns), self.starts.astype(np.int32))
        return sp.csr_matrix(arrays, shape=(self.n, self.n))


def resident(key, process="self"):
    """MiB of a line of /proc/PROCESS/status: VmRSS, or VmHWM, the most since `reset_peak`."""
    with open(f"/proc/{process}/status") as status:
        return next(float(line.split()[1]) / 1024 for line in status if line.startswith(key))


def reset_peak(process="self"):
    with open(f"/proc/{process}/clear_refs", "w") as reset:
        reset.write("5")


class Memory:
    """The most memory held since this was made, beyond what was held then, in MiB."""

    def __init__(self):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        reset_peak()
        self.before = resident("VmRSS")

    def peak(self):
        return max(resident("VmHWM") - self.before, 0.0)


def measure(setup, solve, residual):
    """Times `solver = setup()` and `x, iterations = solve(solver)`, and prints the line."""
    memory = Memory()
    begin = time.perf_counter()
    solver = setup()
    ready = time.perf_counter()
    x, iterations = solve(solver)
    end = time.perf_counter()
    peak = memory.peak()
    report(ready - begin, end - ready, iterations, residual(x), peak)


def report(setup, solve, iterations, residual, memory):
    line = dict(setup=setup, solve=solve, iterations=iterations, residual=float(residual), memory=memory)
    print(json.dumps(line), flush=True)


def convert(folder):
    import scipy.sparse as sp
    from scipy.io import mmread

    a = sp.csr_matrix(mmread(f"{folder}/A.mtx"))
    a.sort_indices()
    with open(f"{folder}/system.bin", "wb") as out:
        np.array([a.shape[0], a.nnz], "<i8").tofile(out)
        a.indptr.astype("<i8").tofile(out)
        a.indices.astype("<i4").tofile(out)
        a.data.astype("<f8").tofile(out)
        np.asarray(mmread(f"{folder}/b.mtx"), "<f8").ravel().tofile(out)
    kernel = f"{folder}/near_kernel.mtx"
    vectors = mmread(kernel) if os.path.exists(kernel) else np.ones((a.shape[0], 1))
    with open(f"{folder}/near_kernel.bin", "wb") as out:
        np.array(vectors.shape, "<i8").tofile(out)
        np.ascontiguousarray(vectors, "<f8").tofile(out)


if __name__ == "__main__":
    convert(sys.argv[1])
