#!/bin/sh
# The bench of device kernels on a machine with a graphics card: no compiler, no network, one call, one table.
#
#   benches/gpu/run.sh TABLE BINARY...
#
# TABLE is the file that is written. A BINARY is a bench built elsewhere, `target/release/deps/opencl-*` of
# `cargo bench --bench opencl --features opencl --no-run`, which links neither OpenCL nor anything beyond the C library; what it
# prints goes into the table. COARSEN_BENCH holds words for all of them (--device 1, --no-cpu, --small). Beside the first may lie
# `libOpenCL.so.1`, an ICD loader for machines without one.
#
# A machine with NVIDIA's OpenCL library but without the file that tells the loader of it is given that file, in a folder that goes
# away at the end. A machine without any OpenCL driver has no figures: the script says so and ends with code 5.
set -eu

table=${1:?usage: run.sh TABLE BINARY...}
shift
here=$(cd "$(dirname "${1:?usage: run.sh TABLE BINARY...}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Where a library of this name lies, if anywhere the loader looks.
library() {
    { ldconfig -p 2>/dev/null || true; } | sed -n "s/.*=> \(.*\/$1\)\$/\1/p" | head -n 1
    for folder in /usr/local/nvidia/lib64 /usr/local/cuda/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64; do
        [ -e "$folder/$1" ] && echo "$folder/$1"
    done
    true
}

if [ -z "${OCL_ICD_VENDORS:-}" ] && ! ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1; then
    driver=$(library libnvidia-opencl.so.1 | head -n 1)
    if [ -n "$driver" ]; then
        echo "$driver" >"$work/nvidia.icd"
        export OCL_ICD_VENDORS="$work"
        export OCL_ICD_FILENAMES="$driver" # another loader's name for the same
        echo "supplied the ICD file for $driver" >&2
    fi
fi
if [ -z "${COARSEN_OPENCL_LIB:-}" ] && [ -z "$(library libOpenCL.so.1 | head -n 1)" ]; then
    if [ -e "$here/libOpenCL.so.1" ]; then
        export COARSEN_OPENCL_LIB="$here/libOpenCL.so.1"
    else
        driver=$(library libnvidia-opencl.so.1 | head -n 1)
        [ -n "$driver" ] && export COARSEN_OPENCL_LIB="$driver"
    fi
fi
export COARSEN_CACHE="$work/cache" # nothing is left behind, and times of a first compilation are those of one

for binary in "$@"; do
    # shellcheck disable=SC2086 # words
    if ! "$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")" ${COARSEN_BENCH:-} >>"$work/table.md" 2>"$work/why"; then
        cat "$work/why" >&2
        echo "no figures: $binary did not run" >&2
        exit 5
    fi
    echo >>"$work/table.md"
done
{
    echo "# Device kernels, $(date -u +%Y-%m-%d)"
    echo
    if command -v nvidia-smi >/dev/null 2>&1; then
        echo '```text'
        nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,memory.total --format=csv || true
        echo '```'
        echo
    fi
    cat "$work/table.md"
} >"$table"
cat "$table"
