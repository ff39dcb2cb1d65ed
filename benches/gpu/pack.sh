#!/bin/sh
# Everything that `benches/gpu/run.sh` takes to a machine with a GPU, built here, in one folder.
#
#   benches/gpu/pack.sh FOLDER
set -eu
mkdir -p "${1:?usage: pack.sh FOLDER}"
to=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."

# The program that cargo says it built.
built() {
    cargo bench --no-run --message-format=json "$@" | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}

cp "$(built -p coarsen-benches --bench opencl --features opencl)" "$to/opencl"
cp "$(built -p coarsen-opencl --bench device_schwarz)" "$to/device_schwarz"
cargo build --release -p coarsen-opencl --example opencl_on_cuda
target=$(cargo metadata --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
cp "$target/release/examples/libopencl_on_cuda.so" "$to/"
cp benches/gpu/other.py benches/gpu/run.sh "$to/"
echo "packed: $to/run.sh TABLE $to"
