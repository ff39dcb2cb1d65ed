"""Ours: `coarsen solve` on the same files."""
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
files = ["--rhs", f"{folder}/b.mtx"]
for option, file in (("--near-kernel", "near_kernel.mtx"), ("--coordinates", "coordinates.mtx")):
    if os.path.exists(f"{folder}/{file}"):
        files += [option, f"{folder}/{file}"]
command = [program, "solve", f"{folder}/A.mtx", *files, "--quiet", "--report", f"{folder}/report.json"]
command += ["--max-iterations", "10000", "--threads", os.environ["OMP_NUM_THREADS"], *CONFIGURATIONS[configuration]]
subprocess.run(command, check=True)
with open(f"{folder}/report.json") as file:
    r = json.load(file)
report(r["setup_seconds"], r["solve_seconds"], r["iterations"], r["true_relative_residual"], r["peak_memory_bytes"] / 2**20)
