# shellcheck shell=bash
# The stage `python` of `.ci/full`, which sources this file: types, a wheel and a source distribution, tests of the wheel from a clean
# environment, the pages about Python, the notebooks, PyAMG's tests, and Ctrl-C at a million unknowns. It needs Python 3.11 or newer with
# `venv`, and a package index. With COARSEN_WRITE=1 the notebooks are written with their outputs.
#
#     source crates/python/ci.sh
#     stage "python" python_package

# The largest size of a wheel in bytes, and the most seconds that an import may take beyond NumPy and SciPy.
PYTHON_WHEEL_BYTES=$((8 * 1024 * 1024))
PYTHON_IMPORT_SECONDS=0.1

python_package() {
    local root build clean
    root=$(pwd)
    PYTHON_FOLDER=$(mktemp -d)
    trap 'rm -rf "$PYTHON_FOLDER"' EXIT
    build=$PYTHON_FOLDER/build/bin clean=$PYTHON_FOLDER/clean/bin
    python3 -m venv "$PYTHON_FOLDER/build"
    # pip writes files where it runs, so it runs outside the repository.
    (cd "$PYTHON_FOLDER" && "$build/pip" install -q "maturin[zig]>=1.9.4,<2" mypy numpy)
    crates/python/notices.py --check
    "$build/mypy" --config-file crates/python/pyproject.toml --cache-dir "$PYTHON_FOLDER/mypy" crates/python/python/pycoarsen

    # A wheel for glibc 2.17, linked by zig, and a source distribution.
    (cd crates/python && PATH=$build:$PATH "$build/maturin" build -q --release --zig --compatibility manylinux2014 --out "$PYTHON_FOLDER/wheels")
    (cd crates/python && "$build/maturin" sdist --out "$PYTHON_FOLDER/wheels" >/dev/null)
    ls -l "$PYTHON_FOLDER/wheels"
    [ "$(stat -c %s "$PYTHON_FOLDER"/wheels/*.whl)" -le "$PYTHON_WHEEL_BYTES" ] || { echo "the wheel is too large"; return 1; }
    for licence in LICENSE-MIT LICENSE-APACHE THIRD-PARTY.txt; do
        [[ $(python3 -m zipfile -l "$PYTHON_FOLDER"/wheels/*.whl) == *"licenses/$licence"* ]] || { echo "no $licence in the wheel"; return 1; }
    done

    python3 -m venv "$PYTHON_FOLDER/clean"
    (
        cd "$PYTHON_FOLDER"
        "$clean/pip" install -q wheels/*.whl
        [ -z "$("$clean/pip" list --format=freeze | grep -viE '^(numpy|scipy|pycoarsen|pip|setuptools)=')" ] || { echo "other dependencies"; return 1; }
        "$clean/python" "$root/crates/python/import_time.py" "$PYTHON_IMPORT_SECONDS"
        "$clean/pip" install -q pytest nbclient ipykernel matplotlib
        "$clean/python" -m pytest -q -p no:cacheprovider -c "$root/crates/python/pyproject.toml" --rootdir "$root/crates/python" "$root/crates/python/tests"
        cp "$root"/crates/python/notebooks/*.ipynb .
        for notebook in *.ipynb; do
            echo "-- $notebook"
            "$clean/jupyter-execute" --inplace --timeout=600 "$notebook"
            [ -z "${COARSEN_WRITE-}" ] || cp "$notebook" "$root/crates/python/notebooks"
        done
        "$root/crates/python/pyamg_tests.sh" "$clean/python"
        RAYON_NUM_THREADS=1 "$clean/python" "$root/crates/python/interrupts.py" --times 2 --limit 1
        # The source distribution is whole: it builds, and solves a system.
        python3 -m venv source
        source/bin/pip install -q wheels/*.tar.gz
        [ "$(source/bin/python -c "import pycoarsen; print(pycoarsen.solve([[4.0, 0.0], [0.0, 2.0]], [4.0, 4.0]))")" = "[1. 2.]" ]
    )
}
