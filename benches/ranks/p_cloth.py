#!/usr/bin/env python3
"""The procedural scenes of Table 1 and Fig. 15 of P-Cloth (Li et al. 2020) at a sixteenth of their triangles, and ten steps at their
full size, on 1, 2 and 4 ranks.

    cargo build --release -p cloth-mpi
    benches/ranks/p_cloth.py FOLDER                       run everything that is missing, then print the tables
    benches/ranks/p_cloth.py FOLDER --scenes sphere flag --ranks 1 2 --frames 24 --part 0.25
    benches/ranks/p_cloth.py FOLDER --print               print the tables of what has run
    benches/ranks/p_cloth.py FOLDER --full                ten steps at full size from the state with the most contacts of each scene
    benches/ranks/p_cloth.py FOLDER --full --solver sa    the same with another preconditioner, in folders of its own

A run that was interrupted continues from its last checkpoint. The exit code is 1 if a run failed or was stopped. FOLDER gets a
folder for each scene, size and number of ranks, with the files of `cloth`. A frame is 1/24 s; the paper's frames are steps. `--full` takes the frame with the most contacts of the run on one
rank, divides each triangle into four twice (or as often as --part asks for), and computes ten steps. A run without kept checkpoints
cannot be divided; run it again in another folder.
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Without air where there is no wind, as in the paper's equation of motion.
STILL = ["--air", "0"]
# Triangles, steps per second, options, and the steps per second of the paper on 1, 2 and 4 GPUs.
SCENES = {
    "flag": (1_200_000, 250, ["--scene", "flag"], (1.17, 2.19, 5.45)),
    "sphere": (700_000, 200, ["--scene", "pushed", "--sheets", "3", *STILL], (0.76, 2.04, 4.21)),
    "funnel": (550_000, 2000, ["--scene", "funnel", "--sheets", "3", *STILL], (1.74, 2.87, 5.20)),
    "twisting": (550_000, 2000, ["--scene", "twist", "--sheets", "3", *STILL], (1.71, 2.47, 3.72)),
    "sphere-1m": (1_000_000, 200, ["--scene", "pushed", *STILL], (0.23, 1.31, 2.11)),
    # Characters have no number of their own here: a skirt on a figure of capsules, beside Princess, a dancer in a dress.
    "character": (510_000, 250, ["--scene", "garment", *STILL], (1.23, 2.59, 5.12)),
    # "10+ fps" on 4 GPUs; a step of the paper is not given.
    "stitching": (316_000, 200, ["--scene", "stitching", *STILL], (None, None, 10)),
}
PAPER_RANKS = (1, 2, 4)
JACOBI = "block-jacobi"
STAGES = ("detection", "assembly", "setup", "solve", "exchange")


def folder_of(folder, scene, ranks, choice):
    """The folder of a run. The paper's preconditioner, Jacobi, has no name here."""
    size = "" if not choice.full else "full" if choice.divide is None else f"divided-{choice.divide}"
    words = [scene, size, f"{choice.part:g}", choice.solver if choice.solver != JACOBI else ""]
    return folder / "_".join(filter(None, words)) / str(ranks)


def run(program, folder, scene, ranks, choice):
    """Computes the frames that are missing. Returns whether it has them."""
    out = folder_of(folder, scene, ranks, choice)
    rows = table(out)
    if rows and int(rows[-1]["frame"]) >= choice.frames:
        return True
    words = ["--frames", str(choice.frames), "--checkpoint", "1", "--width", str(choice.width if ranks == 1 else 0)]
    words += ["--keep"] if ranks == min(choice.ranks) else []
    words += ["--resume"] if (out / "checkpoint.bin").exists() else []
    return start(program, scene, ranks, choice, out, words)


def densest(folder, scene, choice):
    """The checkpoint of the frame with the most contacts of the run on the fewest ranks, and its row; None if there is none."""
    out = folder / f"{scene}_{choice.part:g}" / str(min(choice.ranks))
    rows = [row for row in table(out) if (out / f"checkpoint_{int(row['frame']):04}.bin").exists()]
    row = max(rows, key=lambda row: int(row["contacts"]), default=None)
    return row and (out / f"checkpoint_{int(row['frame']):04}.bin", row)


def chosen(folder, scene, choice):
    """The checkpoint from which all numbers of ranks start: the densest one when the first of them ran."""
    note = folder / f"{scene}_full_{choice.part:g}" / "start.json"
    if not note.exists() and (found := densest(folder, scene, choice)):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps([str(found[0]), found[1]]))
    return json.loads(note.read_text()) if note.exists() else None


def divisions(choice):
    """How often each triangle is divided into four."""
    return round(math.log(1 / choice.part, 4)) if choice.divide is None else choice.divide


def run_full(program, folder, scene, ranks, choice):
    """Computes ten steps at full size, in one frame. Returns whether it has them."""
    out, found = folder_of(folder, scene, ranks, choice), chosen(folder, scene, choice)
    if found is None:
        print(f"{scene}: no kept checkpoint at {choice.part:g} of the size", flush=True)
        return False
    if len(table(out)) >= 2:
        return True
    words = ["--start", found[0], "--subdivide", divisions(choice), "--frames", 1, "--frame-steps", 10]
    return start(program, scene, ranks, choice, out, [*words, "--width", choice.width if ranks == 1 else 0])


def start(program, scene, ranks, choice, out, more):
    """Runs the program at the part of the size of a scene, with more options. Returns whether it ended with success."""
    triangles, rate, options, _ = SCENES[scene]
    words = ["mpirun", "--oversubscribe", "-n", ranks, program, *options, "--out", out, "--threads", "1"]
    words += ["--solver", choice.solver] if choice.solver != JACOBI else []
    words += ["--vertices", round(triangles * choice.part / 2), "--dt", repr(1 / rate), *more]
    root = dict(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    # The matrices of a step are given back and taken again: glibc keeps their memory.
    root |= dict(MALLOC_MMAP_THRESHOLD_=str(1 << 32), MALLOC_TRIM_THRESHOLD_=str(1 << 32))
    process = subprocess.Popen([str(word) for word in words], env=dict(os.environ, **root))
    try:
        if process.wait(choice.limit) == 0:
            return True
        print(f"{scene} on {ranks} ranks: exit {process.returncode}", flush=True)
    except subprocess.TimeoutExpired:
        process.terminate()  # mpirun ends its ranks
        process.wait()
        print(f"{scene} on {ranks} ranks: stopped after {choice.limit:g} s; run again to continue from its last frame", flush=True)
    return False


def table(out):
    file = out / "frames.csv"
    return list(csv.DictReader(file.open())) if file.exists() else []


def head(*columns):
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")


def show(folder, choice):
    """Two tables: what each run found, and the speeds beside those of the paper over the frames that all ranks have."""
    if choice.full:
        for scene in choice.scenes:
            if found := chosen(folder, scene, choice):
                print(f"{scene}: frame {found[1]['frame']} of {choice.part:g} of the size, with {found[1]['contacts']} contacts, divided")
        print()
    head("scene", "ranks", "frames", "steps", "crossings, all frames", "most contacts", "least share of a step", "CG per step", "positions as on one rank", "MiB a rank")
    speeds = []
    for scene, (triangles, _, _, paper) in SCENES.items():
        runs = {ranks: table(folder_of(folder, scene, ranks, choice))[1:] for ranks in choice.ranks}
        runs = {ranks: rows for ranks, rows in runs.items() if rows}
        common = min((len(rows) for rows in runs.values()), default=0)
        for ranks, rows in runs.items():
            total = lambda key: sum(float(row[key]) for row in rows)
            alike = [row["positions"] == one["positions"] for row, one in zip(rows, runs[min(runs)])]
            cells = [scene, ranks, len(rows), int(total("steps")), int(total("penetrations"))]
            cells += [max(int(row["contacts"]) for row in rows)]
            cells += [f"{min(float(row['least_share']) for row in rows):.3f}", f"{total('inner') / total('steps'):.0f}"]
            cells += [f"{sum(alike)} of {len(alike)} frames", f"{float(rows[-1]['memory_mib']):.0f}"]
            print("| " + " | ".join(map(str, cells)) + " |")
            total = lambda key: sum(float(row[key]) for row in rows[:common])
            speed = total("steps") / total("seconds")
            shares = [total(key + "_s") / total("seconds") for key in STAGES + ("waited",)]
            speeds.append((scene, triangles, ranks, common, speed, shares, paper))
    print()
    columns = ("scene", "triangles, ours of the paper's", "ranks", "frames", "steps per second", "speed-up", *STAGES, "waiting in any")
    head(*columns, "paper, steps per second", "paper, speed-up")
    for scene, triangles, ranks, frames, speed, shares, paper in speeds:
        one = next((s[4] for s in speeds if s[0] == scene and s[2] == 1), None)
        theirs = dict(zip(PAPER_RANKS, paper)).get(ranks)
        ours = triangles * choice.part * (4 ** divisions(choice) if choice.full else 1)
        cells = [scene, f"{ours / 1000:.0f}K of {triangles / 1000:.0f}K", ranks, frames, f"{speed:.3f}"]
        cells += [f"{speed / one:.2f}" if one else "", *(f"{share:.2f}" for share in shares)]
        cells += [theirs or "", f"{theirs / paper[0]:.2f}" if theirs and paper[0] else ""]
        print("| " + " | ".join(map(str, cells)) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--frames", type=int, default=48, help="48 are two seconds")
    parser.add_argument("--part", type=float, default=1 / 16, help="share of the paper's triangles; default: %(default)s")
    parser.add_argument("--width", type=int, default=640, help="of the pictures of the runs on one rank")
    parser.add_argument("--limit", type=float, default=1100.0, help="seconds that a run may take before it is stopped")
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/cloth-mpi")
    parser.add_argument("--solver", choices=[JACOBI, "sa", "mas"], default=JACOBI, help="preconditioner")
    parser.add_argument("--full", action="store_true", help="ten steps at full size")
    parser.add_argument("--divide", type=int, metavar="TIMES", help="with --full: divide triangles this number of times; 0 is the size of --part")
    parser.add_argument("--print", action="store_true", help="print the tables and run nothing")
    choice = parser.parse_args()
    compute, missing = run_full if choice.full else run, []
    for scene in [] if choice.print else choice.scenes:
        for ranks in choice.ranks:
            if not compute(choice.program, choice.folder, scene, ranks, choice):
                missing.append(f"{scene} on {ranks}")
    show(choice.folder, choice)
    if missing:
        print("\nfailed or stopped: " + ", ".join(missing), file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
