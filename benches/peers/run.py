#!/usr/bin/env python3
"""Our solvers and their peers on the same systems: installs, builds, measures interleaved, prints one table a system.

    benches/peers/run.py                      every peer, every system of SYSTEMS
    benches/peers/run.py cloth:201,dt=0.002   the systems named
    benches/peers/run.py --help               what can be chosen

A peer is a program beside this file. It is called as `PROGRAM FOLDER CONFIGURATION`, reads FOLDER/system.bin (see system.py), solves to a
relative residual of 1e-8, and prints one line of JSON: setup and solve in seconds, iterations, the true relative residual, and the most
memory held beyond the system in MiB. The memory of the table is that of one more run, in which every peer gives freed memory back at once.
A peer that cannot be installed, fails, or runs out of time or memory is a row with the reason.
"""
import argparse
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from statistics import median
from subprocess import PIPE
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "target" / "peers"
VENV = WORK / "venv" / "bin" / "python"
OURS = ROOT / "target" / "release" / "coarsen"
# Systems of the gallery with the options of `coarsen generate`.
SYSTEMS = """poisson2d:1000 poisson3d:100 jump3d:80 anisotropic2d:700 elasticity3d:40 elasticity3d:40,jump=1e4
    cloth:101,dt=0.002 cloth:101,dt=0.01 cloth:201,dt=0.002 cloth:201,dt=0.01 cloth:317,dt=0.002 cloth:317,dt=0.01
    cloth:601,dt=0.002 cloth:601,dt=0.01""".split()
SMALL = ["poisson3d:20", "anisotropic2d:60", "elasticity3d:8", "cloth:31,dt=0.002"]
DEBIAN = ["libpetsc-real3.18", "libhypre-2.26.0", "libeigen3-dev", "libcholmod3", "libopenblas0-pthread"]  # for `versions`
CONVERGED = 1.05e-8
SLOW = 12.0  # seconds: not measured again
# Freed memory goes back to the system at once, so that the most memory held is what is in use. Allocations are slower.
TRIMMED = dict(MALLOC_MMAP_THRESHOLD_=str(1 << 17), MALLOC_TRIM_THRESHOLD_=str(1 << 17))


class Peer(NamedTuple):
    configurations: str  # those of every system; after `|` those of three unknowns a node alone
    command: list  # the program; {threads} is filled in
    build: list = []  # commands, in order
    debian: str = ""  # packages


def cpp(name, *libraries):
    flags = "-std=c++17 -O3 -march=native -fopenmp -DNDEBUG -I/usr/include/eigen3".split()
    return ["g++", *flags, f"{HERE}/{name}.cpp", "-o", f"{WORK}/{name}", *libraries]


def rust(name):
    crate = ["--manifest-path", f"{HERE}/rust/Cargo.toml", "--target-dir", f"{WORK}/rust"]
    return Peer(
        configurations={"faer": "llt", "kryst": "jacobi amg"}[name],
        command=[f"{WORK}/rust/release/{name}"],
        build=[["cargo", "build", "--release", *crate, "--features", name, "--bin", name]],
    )


PEERS = {
    "coarsen": Peer("auto jacobi sa sa-mixed", [VENV, HERE / "coarsen.py", OURS]),
    "coarsen-mpi": Peer(
        "jacobi sa mas",
        [VENV, HERE / "coarsen_mpi.py", OURS.with_name("coarsen-mpi")],
        [["cargo", "build", "--release", "--manifest-path", ROOT / "Cargo.toml", "-p", "coarsen-mpi", "--target-dir", ROOT / "target"]],
        debian="libopenmpi-dev openmpi-bin libclang-dev",
    ),
    "pyamg": Peer("sa energy", [VENV, HERE / "pyamg_sa.py"], [[VENV, "-m", "pip", "install", "-q", "pyamg"]]),
    "amgcl": Peer(
        "sa sa-gs sa-ilu0 aggregation-ilu0 ruge-stuben",
        [VENV, HERE / "amgcl.py"],
        [[VENV, "-m", "pip", "install", "-q", "KratosMultiphysics"]],
    ),
    "petsc": Peer(
        "jacobi icc gamg hypre hypre-hmis | gamg-translations",
        ["mpirun", "--allow-run-as-root", "--bind-to", "core", "-n", "{threads}", "/usr/bin/python3", HERE / "petsc.py"],
        debian="python3-petsc4py-real python3-numpy",
    ),
    "eigen": Peer("diagonal ichol", [WORK / "eigen"], [cpp("eigen")], debian="g++ libeigen3-dev"),
    "cholmod": Peer(
        "llt", [WORK / "cholmod"], [cpp("cholmod", "-lcholmod")], debian="g++ libsuitesparse-dev libopenblas0-pthread"
    ),
    "faer": rust("faer"),
    "kryst": rust("kryst"),
}


class Failure(Exception):
    """Why there is no figure, in a line."""


def stop(process):
    """Ends a process and those that it started, which share its session."""
    for sign, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, sign)
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


def call(command, limit=None, **options):
    """The standard output of a command; `Failure` with its last words where it does not succeed."""
    command = [str(word) for word in command]
    try:
        process = subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True, **options)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None
    try:
        output, errors = process.communicate(timeout=limit)
    except BaseException as end:  # late, or this program is told to stop: nothing stays behind to disturb what runs next
        stop(process)
        if isinstance(end, subprocess.TimeoutExpired):
            raise Failure(f"over {limit:.0f} s") from None
        raise
    if process.returncode:
        words = [line.strip() for line in (errors + output).splitlines() if line.strip()]
        raise Failure(f"exit {process.returncode}: {words[-1] if words else 'no message'}"[:160])
    return output


def progress(what):
    if sys.stderr.isatty():
        print(f"\r{what.ljust(70)}\r", end="", file=sys.stderr, flush=True)


def install(peer):
    """Packages and builds of a peer."""
    missing = []
    for package in peer.debian.split():
        try:
            call(["dpkg", "-s", package])
        except Failure:
            missing.append(package)
    if missing:
        sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
        call([*sudo, "apt-get", "update"])
        call([*sudo, "apt-get", "install", "-y", "--no-install-recommends", *missing])
    for command in peer.build:
        call(command)


def prepare():
    """What every run needs: our program, and a Python with SciPy for the yardstick and the files."""
    call(["cargo", "build", "--release", "-p", "coarsen-cli", "--target-dir", ROOT / "target"], cwd=ROOT)
    if not VENV.exists():
        call(["/usr/bin/python3", "-m", "venv", VENV.parent.parent])
        call([VENV, "-m", "pip", "install", "-q", "numpy", "scipy"])


def generate(system):
    """The folder of a system, made by `coarsen generate` where it is not there yet."""
    folder = WORK / "systems" / system
    if not (folder / "near_kernel.bin").exists():
        name, *options = system.split(",")
        options = [word for option in options for word in ("--" + option).split("=")]
        call([OURS, "generate", name, *options, "--out", folder])
        call([VENV, HERE / "system.py", folder])
    return folder


def run(command, folder, configuration, choice, **variables):
    """The measured line of one run, with more variables of the environment."""
    bytes_held = choice.memory << 30
    environment = dict(os.environ, OMP_PROC_BIND="true", OPENBLAS_NUM_THREADS=str(choice.threads))
    environment.update(OMP_NUM_THREADS=str(choice.threads), RAYON_NUM_THREADS=str(choice.threads), **variables)
    words = [str(word).format(threads=choice.threads) for word in command]
    if words[0] == "mpirun":
        environment["OMP_NUM_THREADS"] = "1"
    output = call(
        [*words, folder, *configuration],
        env=environment,
        limit=choice.limit,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (bytes_held, bytes_held)),
    )
    try:
        return json.loads(output.splitlines()[-1])
    except (IndexError, ValueError):
        raise Failure("no figures") from None


def versions():
    """What the figures were measured with, in a paragraph."""
    commands = {
        "coarsen": ["git", "-C", ROOT, "describe", "--always", "--dirty"],
        "Python": [VENV, "-m", "pip", "list", "--format=freeze"],
        "Debian": ["dpkg-query", "-W", "-f", "${Package}=${Version}\n", *DEBIAN],
        "crates": ["cargo", "tree", "--manifest-path", HERE / "rust/Cargo.toml", "--all-features", "--depth", "1", "--prefix", "none"],
        "processor": ["sed", "-n", "0,/^model name.*: /s///p", "/proc/cpuinfo"],
    }
    lines = []
    for name, command in commands.items():
        try:
            words = call(command).strip().splitlines()
        except Failure as failure:
            words = [str(failure)]
        words = [word for word in words if not word.startswith(("pip=", "setuptools=", "peers "))]
        lines.append(f"{name}: {', '.join(words)}")
    return ". ".join(lines) + ".\n"


def configurations(peer, folder, wanted):
    for_all, _, for_blocks = peer.configurations.partition("|")
    vectors = int.from_bytes((folder / "near_kernel.bin").read_bytes()[8:16], "little")
    names = for_all.split() + (for_blocks.split() if vectors > 1 else [])
    return [name for name in names if not wanted or name in wanted]


def measure(system, peers, reasons, choice):
    """All configurations once, then again: the seconds of a product, and the runs and the reason of each row."""
    folder = generate(system)
    rows = {}
    for name, peer in peers.items():
        for configuration in configurations(peer, folder, choice.configurations):
            rows[name, configuration] = ([], reasons.get(name, ""))
    products = []
    for _ in range(choice.rounds):
        products.append(run([VENV, HERE / "scipy_product.py"], folder, [], choice)["solve"])
        totals = {key: runs[-1]["setup"] + runs[-1]["solve"] for key, (runs, _) in rows.items() if runs}
        best = min((totals[key] for key in totals if rows[key][0][-1]["residual"] <= CONVERGED), default=SLOW)
        for key, (runs, reason) in rows.items():
            if reason or totals.get(key, 0.0) > min(SLOW, max(4 * best, 0.1)):
                continue
            progress(f"{system}: {' '.join(key)}")
            try:
                runs.append(run(peers[key[0]].command, folder, [key[1]], choice))
            except Failure as failure:
                rows[key] = (runs, str(failure))
    for key, (runs, reason) in rows.items():
        if runs and not reason:
            progress(f"{system}: memory of {' '.join(key)}")
            try:
                held = run(peers[key[0]].command, folder, [key[1]], choice, **TRIMMED)["memory"]
            except Failure:
                held = float("nan")
            rows[key] = ([dict(r, memory=held) for r in runs], "")
    progress("")
    return median(products), rows


def table(system, product, rows, threads):
    """The rows as Markdown: converged ones by their total, then the rest with the reason."""
    lines = []
    for (name, configuration), (runs, reason) in rows.items():
        if not runs or reason:
            lines.append((2, 0.0, f"| {name} | {configuration} | | | | | | | | | {reason} |"))
            continue
        setup, solve, memory = (median(r[key] for r in runs) for key in ("setup", "solve", "memory"))
        total = median(r["setup"] + r["solve"] for r in runs)
        residual = max(r["residual"] for r in runs)
        failed = not residual <= CONVERGED
        cells = [name, configuration, f"{setup:.4f}", f"{solve:.4f}", f"{total:.4f}", f"{total / product:.0f}"]
        cells += [runs[0]["iterations"], f"{residual:.1e}", f"{memory:.0f}", len(runs), "stopped above 1e-8" if failed else ""]
        lines.append((int(failed), total, "| " + " | ".join(map(str, cells)) + " |"))
    head = "| peer | configuration | setup s | solve s | total s | in products | iterations | residual | MiB | runs | |"
    title = f"## {system}, {threads} threads; a product of SciPy takes {1e3 * product:.2f} ms"
    return "\n".join([title, "", head, "|---" * 11 + "|", *(line for *_, line in sorted(lines)), ""])


def choose():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", help="NAME:SIZE[,dt=S][,jump=F]; a fixed list by default")
    parser.add_argument("--small", action="store_true", help="small systems: a check that everything works")
    parser.add_argument("--peers", default=",".join(PEERS), help="names with commas between; default: %(default)s")
    parser.add_argument("--configurations", type=lambda text: text.split(","), help="only these of each peer, as --configurations auto,sa")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=CONFIGURATIONS=COMMAND", help="another program")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds a run may take")
    parser.add_argument("--memory", type=int, default=16, help="GiB a process may hold")
    choice = parser.parse_args()
    choice.systems = choice.systems or (SMALL if choice.small else SYSTEMS)
    unknown = set(choice.peers.split(",")) - set(PEERS)
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    return choice


def main():
    choice = choose()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("peers: told to stop"))
    peers = {name: PEERS[name] for name in choice.peers.split(",")}
    for also in choice.also:
        name, names, command = also.split("=", 2)
        peers[name] = Peer(names.replace(",", " "), shlex.split(command))
    known = {name for peer in peers.values() for name in peer.configurations.split()}
    if unknown := set(choice.configurations or []) - known:
        sys.exit(f"peers: no such configuration: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known - {'|'}))}")
    try:
        WORK.mkdir(parents=True, exist_ok=True)
        prepare()
        reasons = {}
        for name, peer in peers.items():
            try:
                install(peer)
            except Failure as failure:
                reasons[name] = f"not installed: {failure}"
        print(versions())
        for system in choice.systems:
            product, rows = measure(system, peers, reasons, choice)
            print(table(system, product, rows, choice.threads), flush=True)
    except Failure as failure:
        sys.exit(f"peers: {failure}")


if __name__ == "__main__":
    main()
