"""The Rust program beside pycoarsen: ``python beside_rust.py target/release/coarsen [--threads 2] [--runs 5] [PROBLEM ...]``.

Seconds from a matrix in memory to x, the medians of runs that alternate, each in a process of its own. Reading is left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

PYTHON = """
import sys, time
import numpy as np, pycoarsen
from scipy import sparse
A, b, points = sparse.load_npz("A.npz"), np.load("b.npy"), np.load("coordinates.npy")
begun = time.perf_counter()
pycoarsen.Solver(A, coordinates=points, threads=int(sys.argv[1])).solve(b)
print(time.perf_counter() - begun)
"""

parser = argparse.ArgumentParser()
parser.add_argument("binary", type=os.path.abspath)
parser.add_argument("problems", nargs="*", default=["poisson3d:100", "elasticity3d:40", "cloth:317"])
parser.add_argument("--threads", default="2")
parser.add_argument("--runs", type=int, default=5)
options = parser.parse_args()
solve = ["solve", "A.npz", "--rhs", "b.npy", "--coordinates", "coordinates.npy", "--quiet", "--report", "-"]
print(f"| problem | Rust, s | Python, s | ratio | ({options.threads} threads)\n|---|---|---|---|")
for problem in options.problems:
    with tempfile.TemporaryDirectory() as folder:

        def output(*command, folder=folder):
            return subprocess.check_output(command, cwd=folder)

        output(options.binary, "generate", problem, "--format", "npz", "--out", ".")
        rust, python = [], []
        for _ in range(options.runs):
            report = json.loads(output(options.binary, *solve, "--threads", options.threads))
            rust.append(report["total_seconds"] - report["read_seconds"])
            python.append(float(output(sys.executable, "-c", PYTHON, options.threads)))
    r, p = statistics.median(rust), statistics.median(python)
    print(f"| {problem} | {r:.3f} | {p:.3f} | {p / r:.2f} |", flush=True)
