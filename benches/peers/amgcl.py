"""AMGCL under conjugate gradients, by Kratos, whose wheel contains it; 3x3 blocks as values where a node has three unknowns.

Kratos builds the hierarchy and solves in one call, so `solve` is the total. From Python it takes neither a near-kernel nor a threshold of
strength, which is 0.
"""
import json
import os
import re
import sys
import tempfile

import numpy as np

from system import System, measure

# Kratos writes to the standard output, the iterations among it: that goes to a file, the line of figures where it belongs.
sys.stdout = os.fdopen(os.dup(1), "w")
log = tempfile.TemporaryFile("w+")
os.dup2(log.fileno(), 1)
import KratosMultiphysics as kratos

folder, configuration = sys.argv[1:]
system = System(folder)
a, b = system.csr(), np.array(system.rhs)
coarsening, smoother = {
    "sa": ("smoothed_aggregation", "spai0" if system.block == 1 else "damped_jacobi"),  # spai0 of blocks stagnates on cloth
    "sa-gs": ("smoothed_aggregation", "gauss_seidel"),
    "sa-ilu0": ("smoothed_aggregation", "ilu0"),
    "aggregation-ilu0": ("aggregation", "ilu0"),
    "ruge-stuben": ("ruge_stuben", "spai0"),  # not for blocks
}[configuration]
options = dict(solver_type="amgcl", krylov_type="cg", coarsening_type=coarsening, smoother_type=smoother, block_size=system.block)
options.update(use_block_matrices_if_possible=True, tolerance=1e-8, max_iteration=1000)
options.update(verbosity=3)  # prints the iterations; `GetIterationsNumber` returns 0

matrix = kratos.CompressedMatrix()
kratos.ReadMatrixMarketMatrix(f"{folder}/A.mtx", matrix)  # the matrix of system.bin, which Python could only insert entry by entry
rhs, x = kratos.Vector(b), kratos.Vector(system.n, 0.0)


def solve(solver):
    try:
        solver.Solve(matrix, x, rhs)
    except RuntimeError as error:
        sys.exit(str(error).splitlines()[0])  # the other lines are places in the source
    log.seek(0)
    return np.array(x), int(re.findall(r"(\d+) iterations", log.read())[-1])


measure(
    lambda: kratos.AMGCLSolver(kratos.Parameters(json.dumps(options))),
    solve,
    lambda x: np.linalg.norm(b - a @ x) / np.linalg.norm(b),
)
