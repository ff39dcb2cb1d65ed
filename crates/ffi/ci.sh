#!/usr/bin/env bash
# The C and C++ interface: the header is that of the sources, the programs run (also with AddressSanitizer), and an installed copy is
# found by CMake and by pkg-config. Fetches cbindgen, Eigen and CMake where they are missing.
set -euo pipefail
cd "$(dirname "$0")"

command -v cbindgen >/dev/null || cargo install -q cbindgen --locked
if ! command -v cmake >/dev/null || ! command -v pkg-config >/dev/null || [ ! -d /usr/include/eigen3 ]; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends libeigen3-dev cmake pkg-config >/dev/null
fi
cbindgen --quiet --verify --output include/coarsen.h
cargo clippy -q --locked -p coarsen-ffi --all-targets -- -D warnings
COARSEN_REQUIRE_C=1 cargo test -q --locked -p coarsen-ffi # the programs are not skipped

# The profile of the tests, whose libraries are built.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
cmake -S . -B "$work/build" -DCOARSEN_PROFILE=dev -DCOARSEN_TARGET="$target" >/dev/null
cmake --build "$work/build" >/dev/null
cmake --install "$work/build" --prefix "$work/prefix" >/dev/null

cat > "$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(programs LANGUAGES C CXX)
find_package(coarsen 0.1 REQUIRED)
find_package(Eigen3 REQUIRED)
add_executable(poisson $PWD/examples/poisson.c)
target_link_libraries(poisson coarsen::coarsen)
add_executable(eigen $PWD/examples/eigen.cpp)
target_link_libraries(eigen coarsen::static Eigen3::Eigen)
END
cmake -S "$work" -B "$work/programs" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/programs" >/dev/null
"$work/programs/poisson"
"$work/programs/eigen"

export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
# shellcheck disable=SC2046
cc examples/poisson.c $(pkg-config --cflags --libs coarsen) -o "$work/poisson"
LD_LIBRARY_PATH=$work/prefix/lib "$work/poisson"
