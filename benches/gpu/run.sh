#!/bin/sh
# Device kernels on a machine with a GPU: no compiler, no network, one call, one table.
#
#   benches/gpu/run.sh TABLE FOLDER
#
# TABLE is the file that is written. FOLDER holds what was built elsewhere, `benches/gpu/pack.sh FOLDER`: the benches `opencl` and `device_schwarz`,
# which link neither OpenCL nor anything beyond the C library; `libopencl_on_cuda.so`; and `other.py`. An ICD loader `libOpenCL.so.1` may lie
# beside them, for machines without one. Systems are generated: a cloth of 512 x 512 vertices unless COARSEN_PROBLEMS names others
# (`garment:FILE@2` is a mesh, its triangles cut twice). COARSEN_BENCH holds words for both benches (--no-cpu, --small).
#
# A machine with NVIDIA's OpenCL library but without the file that tells the loader of it is given that file, in a folder that goes
# away at the end. Without any OpenCL driver the kernels go through CUDA and NVRTC, and the table says so. A bench that fails leaves a line where
# its figures would be, and the script ends with code 5; where both fail there is no table.
set -eu

table=${1:?usage: run.sh TABLE FOLDER}
here=$(cd "${2:?usage: run.sh TABLE FOLDER}" && pwd)
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

# Drivers of other vendors may be registered beside a GPU that is not: the GPU is what is measured.
registered() {
    grep -qsi "$1" /etc/OpenCL/vendors/*.icd
}

if [ -z "${COARSEN_OPENCL_LIB:-}" ] && [ -z "${OCL_ICD_VENDORS:-}" ] && ! registered nvidia; then
    driver=$(library libnvidia-opencl.so.1 | head -n 1)
    gpu=$(library libcuda.so.1 | head -n 1)
    if [ -n "$driver" ]; then
        echo "$driver" >"$work/nvidia.icd"
        export OCL_ICD_VENDORS="$work"
        export OCL_ICD_FILENAMES="$driver" # another loader's name for the same
        echo "supplied the ICD file for $driver" >&2
    elif [ -e "$here/libopencl_on_cuda.so" ] && { [ -n "$gpu" ] || ! registered .; }; then
        # NVRTC is often there as a Python package only.
        packages=$(python3 -c 'import nvidia.cuda_nvrtc as m; print(list(m.__path__)[0] + "/lib")' 2>/dev/null || true)
        [ -n "$packages" ] && export LD_LIBRARY_PATH="$packages:${LD_LIBRARY_PATH:-}"
        export COARSEN_OPENCL_LIB="$here/libopencl_on_cuda.so"
        echo "no OpenCL driver: through CUDA and NVRTC" >&2
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

# A bench with its words; what it prints goes into the table, and a line where it fails.
ran=0
failed=0
bench() {
    name=$1
    shift
    code=0
    "$here/$name" "$@" >>"$work/table.md" 2>"$work/why" || code=$?
    cat "$work/why" >&2
    if [ "$code" -eq 0 ]; then
        ran=$((ran + 1))
    else
        failed=$((failed + 1))
        line="no figures: $name ended with code $code: $(tail -n 1 "$work/why")"
        echo "$line" >&2
        printf '\n%s\n' "$line" >>"$work/table.md"
    fi
    echo >>"$work/table.md"
}

# The theoretical peak of the memory in GB/s, by the data sheet of the GPUs that are lent; for others COARSEN_PEAK says it.
if [ -z "${COARSEN_PEAK:-}" ] && command -v nvidia-smi >/dev/null 2>&1; then
    case "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)" in
    "NVIDIA H200"*) export COARSEN_PEAK=4800 ;;
    "NVIDIA H100 80GB HBM3"*) export COARSEN_PEAK=3352 ;;
    esac
fi

clocks() {
    if command -v nvidia-smi >/dev/null 2>&1; then
        echo '```text'
        nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,memory.total --format=csv || true
        echo '```'
    else
        echo "Clocks: not known (no nvidia-smi)."
    fi
    echo
}

# shellcheck disable=SC2086 # words
{
    clocks >"$work/before"
    echo "## Multilevel additive Schwarz" >>"$work/table.md"
    echo >>"$work/table.md"
    bench device_schwarz --export "$work/system" ${COARSEN_BENCH:-} ${COARSEN_PROBLEMS:-cloth:512}
    clocks >"$work/after"
    echo "## The same system by others" >>"$work/table.md"
    echo >>"$work/table.md"
    if [ ! -d "$work/system" ]; then
        echo "cuSPARSE and CuPy: skipped (no system was written)" >>"$work/table.md"
    elif command -v python3 >/dev/null 2>&1; then
        python3 "$here/other.py" "$work/system" >>"$work/table.md" 2>&1 || echo "cuSPARSE and CuPy: failed" >>"$work/table.md"
    else
        echo "cuSPARSE and CuPy: skipped (no python3)" >>"$work/table.md"
    fi
    echo >>"$work/table.md"
    echo "## Kernels" >>"$work/table.md"
    echo >>"$work/table.md"
    bench opencl ${COARSEN_BENCH:-}
}
if [ "$ran" -eq 0 ]; then
    exit 5
fi
{
    echo "# Device kernels, $(date -u +%Y-%m-%d)"
    echo
    cat "$work/before"
    cat "$work/table.md"
    echo "After the first table:"
    echo
    cat "$work/after"
} >"$table"
cat "$table"
if [ "$failed" -gt 0 ]; then
    exit 5
fi
