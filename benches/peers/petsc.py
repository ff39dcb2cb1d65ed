"""PETSc under conjugate gradients: GAMG, hypre's BoomerAMG, block Jacobi with ICC(0), Jacobi; one rank a thread.

Debian keeps petsc4py outside the path of Python; it needs Debian's Python and NumPy.
"""
import glob
import sys
import time

import numpy as np

sys.path += glob.glob("/usr/lib/petscdir/petsc3*/*-real/lib/python3/dist-packages")
from petsc4py import PETSc

from system import Memory, System, report

GAMG = dict(pc_type="gamg", pc_gamg_type="agg", pc_gamg_agg_nsmooths=1, mg_levels_ksp_type="chebyshev", mg_levels_ksp_max_it=2)
HYPRE = dict(pc_type="hypre", pc_hypre_type="boomeramg")
B = "pc_hypre_boomeramg_"
CONFIGURATIONS = {
    "jacobi": dict(pc_type="jacobi"),
    "icc": dict(pc_type="bjacobi", sub_pc_type="icc"),
    "gamg": dict(GAMG, mg_levels_pc_type="jacobi"),
    "gamg-translations": dict(GAMG, mg_levels_pc_type="pbjacobi"),
    "hypre": HYPRE,
    "hypre-hmis": {**HYPRE, B + "coarsen_type": "HMIS", B + "interp_type": "ext+i", B + "P_max": 4, B + "agg_nl": 1},
}


def rows(system, rank, size):
    """The rows of this rank, whole blocks of them."""
    blocks = system.n // system.block
    return [blocks * r // size * system.block for r in (rank, rank + 1)]


def vector(a, values):
    v = a.createVecLeft()
    v.setArray(np.ascontiguousarray(values))
    return v


def near_kernel(a, columns):
    """The columns made orthonormal, as GAMG asks for them."""
    vectors = []
    for column in columns.T:
        v = vector(a, column)
        for w in vectors:
            v.axpy(-v.dot(w), w)
        v.normalize()
        vectors.append(v)
    return PETSc.NullSpace().create(constant=False, vectors=vectors)


system, configuration = System(sys.argv[1]), sys.argv[2]
comm = PETSc.COMM_WORLD
first, last = rows(system, comm.rank, comm.size)
begin, end = system.starts[first], system.starts[last]
a = PETSc.Mat().create(comm)
a.setSizes(((last - first, system.n), (last - first, system.n)))
a.setType("aij")
a.setBlockSize(system.block)
a.setPreallocationCSR((
    (system.starts[first : last + 1] - begin).astype(np.int32),
    np.array(system.columns[begin:end], np.int32),
    np.array(system.values[begin:end]),
))
a.assemble()
a.setOption(PETSc.Mat.Option.SPD, True)
b = vector(a, system.rhs[first:last])
if system.block > 1 and configuration == "gamg":
    a.setNearNullSpace(near_kernel(a, system.near_kernel[first:last]))

options = PETSc.Options()
for key, value in CONFIGURATIONS[configuration].items():
    options[key] = value
memory = Memory()
comm.barrier()
clock = [time.perf_counter()]
ksp = PETSc.KSP().create(comm)
ksp.setType("cg")
ksp.setOperators(a)
ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
ksp.setTolerances(rtol=1e-8, atol=0, max_it=10000)
ksp.setFromOptions()
ksp.setUp()
ksp.setUpOnBlocks()
comm.barrier()
clock.append(time.perf_counter())
x = b.duplicate()
ksp.solve(b, x)
comm.barrier()
clock.append(time.perf_counter())

peak = PETSc.Vec().createMPI((1, comm.size), comm=comm)
peak.setArray(np.array([memory.peak()]))
peak = peak.sum()
r = b.duplicate()
a.mult(x, r)
r.aypx(-1, b)
residual = r.norm() / b.norm()
if comm.rank == 0:
    report(clock[1] - clock[0], clock[2] - clock[1], ksp.getIterationNumber(), residual, peak)
