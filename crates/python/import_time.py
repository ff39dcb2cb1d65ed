"""Prints what `import pycoarsen` takes beyond NumPy and SciPy, the least of several processes; fails above a limit in seconds."""

import subprocess
import sys

KNOWN = "import numpy, scipy.sparse, scipy.sparse.linalg"
TIMED = f"import time; {KNOWN}; t = time.perf_counter(); import pycoarsen; print(time.perf_counter() - t)"

seconds = min(float(subprocess.check_output([sys.executable, "-c", TIMED])) for _ in range(5))
print(f"import pycoarsen: {1000 * seconds:.1f} ms beyond NumPy and SciPy")
sys.exit(seconds > float(sys.argv[1]))
