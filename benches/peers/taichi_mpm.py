#!/usr/bin/env python3
"""Particles to nodes and back in Taichi on the CPU, for `cargo bench -p mpm --bench kernels`.

    python3 -m venv target/peers/taichi && target/peers/taichi/bin/pip install taichi numpy
    target/peers/taichi/bin/python benches/peers/taichi_mpm.py [--cells 24] [--per-cell 8]

A box of cells with random particles, in the order of the cells, as after a sort. Quadratic B-splines and APIC on a
dense grid, in f64 and f32, on one and two threads. Particles to nodes clears the grid, adds mass and momentum by
atomics, and divides. Nodes to particles computes v, C and F. The fastest of the calls of half a second is printed.
"""

import argparse
import multiprocessing
import time

import numpy as np


def measure(cells, per_cell, threads, double):
    import taichi as ti

    real = ti.f64 if double else ti.f32
    ti.init(arch=ti.cpu, cpu_max_num_threads=threads, default_fp=real, log_level=ti.ERROR, offline_cache=False)
    n, pad, dx = cells**3 * per_cell, 3, 0.01
    side = cells + 2 * pad
    vector, matrix = ti.types.vector(3, real), ti.types.matrix(3, 3, real)
    x, v = vector.field(shape=n), vector.field(shape=n)
    c, f = matrix.field(shape=n), matrix.field(shape=n)
    grid_v, grid_m = vector.field(shape=(side,) * 3), ti.field(real, shape=(side,) * 3)
    rng = np.random.default_rng(1)
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 3)
    places = np.repeat(corners, per_cell, axis=0) + rng.random((n, 3)) + pad + 0.5
    kind = np.float64 if double else np.float32
    x.from_numpy((places * dx).astype(kind))
    v.from_numpy(rng.standard_normal((n, 3)).astype(kind))
    c.from_numpy(rng.standard_normal((n, 3, 3)).astype(kind))
    f.from_numpy(np.broadcast_to(np.eye(3), (n, 3, 3)).astype(kind))
    mass, over, dt = 1.0, 1.0 / dx, 1e-9

    @ti.func
    def weights(at):
        base = ti.cast(at * over - 0.5, ti.i32)
        t = at * over - ti.cast(base, real)
        w = ti.Matrix.zero(real, 3, 3)
        d = ti.Matrix.zero(real, 3, 3)
        for k in ti.static(range(3)):
            w[0, k], w[1, k], w[2, k] = 0.5 * (1.5 - t[k]) ** 2, 0.75 - (t[k] - 1.0) ** 2, 0.5 * (t[k] - 0.5) ** 2
            d[0, k], d[1, k], d[2, k] = (t[k] - 1.5) * over, (2.0 - 2.0 * t[k]) * over, (t[k] - 0.5) * over
        return base, w, d

    @ti.kernel
    def there():
        for i in ti.grouped(grid_m):
            grid_v[i] = ti.Vector.zero(real, 3)
            grid_m[i] = 0.0
        for p in x:
            base, w, _ = weights(x[p])
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                node = base + ti.Vector([i, j, k])
                arm = ti.cast(node, real) * dx - x[p]
                share = w[i, 0] * w[j, 1] * w[k, 2] * mass
                grid_v[node] += share * (v[p] + c[p] @ arm)
                grid_m[node] += share
        for i in ti.grouped(grid_m):
            if grid_m[i] > 0:
                grid_v[i] /= grid_m[i]

    @ti.kernel
    def back():
        for p in x:
            base, w, d = weights(x[p])
            new_v = ti.Vector.zero(real, 3)
            new_c, slope = ti.Matrix.zero(real, 3, 3), ti.Matrix.zero(real, 3, 3)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                node = base + ti.Vector([i, j, k])
                arm = ti.cast(node, real) * dx - x[p]
                at = grid_v[node]
                share = w[i, 0] * w[j, 1] * w[k, 2]
                g = ti.Vector([d[i, 0] * w[j, 1] * w[k, 2], w[i, 0] * d[j, 1] * w[k, 2], w[i, 0] * w[j, 1] * d[k, 2]])
                new_v += share * at
                new_c += 4.0 * over * over * share * at.outer_product(arm)
                slope += at.outer_product(g)
            v[p], c[p] = new_v, new_c
            f[p] = (ti.Matrix.identity(real, 3) + dt * slope) @ f[p]

    rates = []
    for kernel in (there, back):
        kernel()
        ti.sync()
        least, begun = float("inf"), time.perf_counter()
        while time.perf_counter() - begun < 0.5:
            start = time.perf_counter()
            kernel()
            ti.sync()
            least = min(least, time.perf_counter() - start)
        rates.append(n / least * 1e-6)
    print(f"| {'f64' if double else 'f32'} | {threads} | {rates[0]:.2f} | {rates[1]:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=24)
    parser.add_argument("--per-cell", type=int, default=8)
    given = parser.parse_args()
    print(f"{given.cells ** 3 * given.per_cell} particles\n")
    print("| Taichi | threads | particles to nodes, 1e6/s | nodes to particles, 1e6/s |\n|---|---:|---:|---:|")
    for double in (True, False):
        for threads in (1, 2):
            # A process for each, since Taichi starts its threads once.
            run = multiprocessing.Process(target=measure, args=(given.cells, given.per_cell, threads, double))
            run.start()
            run.join()


if __name__ == "__main__":
    main()
