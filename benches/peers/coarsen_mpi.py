"""Ours on ranks: `coarsen-mpi solve` under mpirun on the same system, which each rank generates; one rank for each thread."""
import json
import os
import subprocess
import sys

from system import report

CONFIGURATIONS = {
    "jacobi": ["--precond", "block-jacobi"],
    "sa": ["--precond", "sa"],
    "mas": ["--precond", "mas", "--partition", "morton"],
}
program, folder, configuration = sys.argv[1:]
name, *words = os.path.basename(os.path.abspath(folder)).split(",")
options = [word for option in words for word in f"--{option}".split("=")]
command = ["mpirun", "--allow-run-as-root", "--bind-to", "core", "-n", os.environ["OMP_NUM_THREADS"], program, "solve"]
command += ["--problem", name, *options, "--rhs", f"{folder}/b.mtx", "--quiet", "--report", f"{folder}/ranks.json"]
command += ["--max-iterations", "10000", "--threads", "1", *CONFIGURATIONS[configuration]]
subprocess.run(command, check=True)
with open(f"{folder}/ranks.json") as file:
    r = json.load(file)
# The command does not count its memory.
report(r["setup_seconds"], r["solve_seconds"], r["iterations"], r["true_relative_residual"], float("nan"))
