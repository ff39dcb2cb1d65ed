#!/usr/bin/env bash
# PyAMG's black-box tests with `pycoarsen.pyamg` in its place: `crates/python/pyamg_tests.sh PYTHON`, an interpreter with pycoarsen, into
# which PyAMG is installed. The guide "Coming from PyAMG" names it.
set -euo pipefail
python=$(realpath -s "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$python" -m pip install -q pytest pyamg==5.4.1
from=$("$python" -c "import pyamg; print(pyamg.__path__[0])")
cp "$from"/aggregation/tests/test_aggregation.py "$from"/classical/tests/test_classical.py "$from"/tests/test_{multilevel,blackbox}.py .
cat >conftest.py <<'END'
import importlib
import pkgutil
import sys

import pyamg.gallery
import pycoarsen.pyamg

load_example = pyamg.gallery.load_example  # files of PyAMG
for name in [name for name in sys.modules if name.partition(".")[0] == "pyamg"]:
    del sys.modules[name]
sys.modules["pyamg"] = pycoarsen.pyamg
for module in pkgutil.walk_packages(pycoarsen.pyamg.__path__, "pyamg."):
    sys.modules[module.name] = importlib.import_module("pycoarsen." + module.name)
pycoarsen.pyamg.gallery.load_example = load_example
END
tests=(
    test_aggregation.py::TestParameters::test_{strength_of_connection,aggregation_method,prolongation_smoother,smoothers,coarse_solvers,diagonal_dominance}
    test_aggregation.py::TestSolverPerformance::test_{basic,DAD,improve_candidates,symmetry,nonsymmetric,coarse_solver_opts,matrix_formats}
    test_classical.py::TestSolverPerformance::test_{poisson,matrix_formats}
    test_multilevel.py::TestMultilevel::test_{aspreconditioner,accel}
    test_blackbox.py::TestBlackbox::test_blackbox
)
"$python" -m pytest -q -p no:cacheprovider "${tests[@]}"
