"""Ours: `coarsen solve` on the same system, in the blocks in which the gallery assembles it.

As with every peer, the matrix is in the format of the solver before the clock starts; what `solve` finds out about it counts as setup.
"""
import json
import os
import subprocess
import sys

from system import report

CONFIGURATIONS = {
    "auto": [],
    "jacobi": ["--method", "cg", "--precond", "block-jacobi"],
    "sa": ["--method", "cg", "--precond", "sa"],
    "sa-mixed": ["--method", "cg", "--precond", "sa", "--precision", "mixed"],
}
program, folder, configuration = sys.argv[1:]
name, *words = os.path.basename(folder).split(",")
options = [word for option in words for word in f"--{option}".split("=")]
command = [program, "solve", "--problem", name, *options, "--rhs", f"{folder}/b.mtx", "--quiet", "--report", f"{folder}/report.json"]
command += ["--max-iterations", "10000", "--threads", os.environ["OMP_NUM_THREADS"], *CONFIGURATIONS[configuration]]
subprocess.run(command, check=True)
with open(f"{folder}/report.json") as file:
    r = json.load(file)
# What `auto` tried before counts as setup.
tried = sum(t["setup_seconds"] + t["solve_seconds"] for t in r["tries"])
report(tried + r["setup_seconds"], r["solve_seconds"], r["iterations"], r["true_relative_residual"], r["peak_memory_bytes"] / 2**20)
