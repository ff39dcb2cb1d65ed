"""The longest wait for Ctrl-C at a million unknowns: ``python interrupts.py [--times 20] [--unknowns 1000000] [--limit 1] [A.npz ...]``.

Each work is interrupted `times` times, after up to five seconds. RAYON_NUM_THREADS sets the threads. The script fails above the limit in
seconds. It needs pytest, as the tests do.
"""

import argparse
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pycoarsen
import scipy.sparse as sp
import scipy.sparse.linalg  # noqa: F401
from pycoarsen.pyamg.gallery import linear_elasticity
from scipy.optimize import rosen, rosen_der

sys.path.insert(0, str(Path(__file__).parent / "tests"))

from conftest import poisson  # noqa: E402
from test_more import WORK  # noqa: E402

WORKS = {
    **WORK,
    "auto": "while True: pycoarsen.solve(A, b)",
    "next systems": "S = pycoarsen.Solver(A, method='cg')\nwhile True: S.update(A); S.solve(b)",
    "updates": "M = pycoarsen.smoothed_aggregation(A)\nwhile True: M.update(A)",
    "schwarz": "while True: pycoarsen.schwarz(A)",
    "overlapping": "while True: pycoarsen.schwarz(A, form='overlapping')",
    "ic": "while True: pycoarsen.ic(A)",
    "chebyshev": "while True: pycoarsen.chebyshev(A)",
    "pyamg": "while True: pycoarsen.pyamg.smoothed_aggregation_solver(A)",
    "ruge-stueben": "while True: pycoarsen.ruge_stueben(A)",
}


def wait(code, names):
    """Runs an endless work, and returns the seconds from Ctrl-C to its end."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    try:
        threading.Timer(random.uniform(0.0, 5.0), send).start()
        exec(code, dict(names))
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]


signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started this program in the background
parser = argparse.ArgumentParser()
parser.add_argument("matrices", nargs="*")
parser.add_argument("--times", type=int, default=20)
parser.add_argument("--unknowns", type=int, default=1_000_000)
parser.add_argument("--limit", type=float, default=1.0)
options = parser.parse_args()
systems = {
    "poisson 3-D": lambda: poisson(round(options.unknowns ** (1 / 3)), 3),
    "elasticity 2-D": lambda: linear_elasticity((round((options.unknowns / 2) ** 0.5),) * 2)[0],
    **{name: lambda name=name: sp.load_npz(name) for name in options.matrices},
}
longest = 0.0
print("| system | unknowns | work | longest wait, s |\n|---|---|---|---|")
for system, build in systems.items():
    A = build()
    names = {"np": np, "sp": sp, "time": time, "pycoarsen": pycoarsen, "rosen": rosen, "rosen_der": rosen_der}
    names |= {"A": A, "b": np.ones(A.shape[0])}
    for work, text in WORKS.items():
        if work in ("auto", "ruge-stueben") and A.format == "bsr":
            continue  # a factor, which is completed; a method for scalars
        seconds = max(wait(compile(text, work, "exec"), names) for _ in range(options.times))
        longest = max(longest, seconds)
        print(f"| {system} | {A.shape[0]} | {work} | {seconds:.2f} |", flush=True)
print(f"longest wait: {longest:.2f} s")
sys.exit(longest > options.limit)
