"""The yardstick: seconds of one product with SciPy's CSR matrix, f64, one thread, the median of 15."""
import sys
import time

from system import System, report

system = System(sys.argv[1])
a, x = system.csr(), system.rhs.copy()


def seconds():
    begin = time.perf_counter()
    a @ x
    return time.perf_counter() - begin


seconds()
report(0.0, sorted(seconds() for _ in range(15))[7], 1, 0.0, 0.0)
