"""Ours: `coarsen solve` on the same system, in the blocks in which the gallery assembles it.

As with every peer, the matrix is in the format of the solver before the clock starts; what `solve` finds out about it counts as setup.
A second run, which is not timed, measures the memory: it reads its start vector of zeros, the last of its input, from a pipe. When it
opens the pipe, A is there and nothing is set up.
"""
import errno
import json
import os
import subprocess
import sys
import tempfile
import time

from system import report, reset_peak, resident

CONFIGURATIONS = {
    "auto": [],
    "jacobi": ["--method", "cg", "--precond", "block-jacobi"],
    "sa": ["--method", "cg", "--precond", "sa"],
    "sa-mixed": ["--method", "cg", "--precond", "sa", "--precision", "mixed"],
}
program, folder, configuration = sys.argv[1:]
name, *words = os.path.basename(os.path.abspath(folder)).split(",")
options = [word for option in words for word in f"--{option}".split("=")]
command = [program, "solve", "--problem", name, *options, "--rhs", f"{folder}/b.mtx", "--quiet", "--report", f"{folder}/report.json"]
command += ["--max-iterations", "10000", "--threads", os.environ["OMP_NUM_THREADS"], *CONFIGURATIONS[configuration]]


def read():
    with open(f"{folder}/report.json") as file:
        return json.load(file)


def memory(n):
    """MiB held during setup and solve beyond what is held when A and b are there, in a run of its own."""
    with tempfile.TemporaryDirectory() as folder_of_pipe:
        pipe = os.path.join(folder_of_pipe, "x0.mtx")
        os.mkfifo(pipe)
        process = subprocess.Popen([*command, "--x0", pipe])
        before = float("nan")  # until the pipe is open
        while process.poll() is None:
            try:
                zeros = os.fdopen(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "w")
            except OSError as error:
                if error.errno != errno.ENXIO:  # nobody reads yet
                    raise
                time.sleep(0.001)
                continue
            os.set_blocking(zeros.fileno(), True)
            before = resident("VmRSS", process.pid)
            reset_peak(process.pid)
            with zeros:
                zeros.write(f"%%MatrixMarket matrix array real general\n{n} 1\n" + "0\n" * n)
            break
        if process.wait():
            raise SystemExit(f"exit {process.returncode} in the run that measures memory")
    return max(read()["peak_memory_bytes"] / 2**20 - before, 0.0)


subprocess.run(command, check=True)
r = read()
# What `auto` tried before counts as setup.
tried = sum(t["setup_seconds"] + t["solve_seconds"] for t in r["attempts"])
report(tried + r["setup_seconds"], r["solve_seconds"], r["iterations"], r["true_relative_residual"], memory(r["n"]))
