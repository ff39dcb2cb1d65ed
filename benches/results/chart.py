#!/usr/bin/env python3
"""Draws book/src/totals.svg, the table of book/src/performance.md and its list of slower systems from the files of this folder:
seconds of setup and solve beside other packages.

Each panel has one machine and date: our configuration, and the fastest one of each other package. The picture is light or dark
as its reader wants it. After a new measurement, change the date of its panel and run this script; with --check it only
compares.
"""

import sys
from pathlib import Path

from show import read

SYSTEMS = {
    "poisson2d:1000": "Poisson, 2D, 1.00M",
    "poisson3d:100": "Poisson, 3D, 1.00M",
    "jump3d:80": "jumps 1e6, 3D, 512K",
    "anisotropic2d:700": "anisotropic, 2D, 490K",
    "elasticity3d:40": "elasticity, 3D, 202K",
    "elasticity3d:40^1e4": "with jumps 1e4, 202K",
    "cloth:101@0.01": "cloth, 31K",
    "cloth:201@0.01": "cloth, 121K",
    "cloth:317@0.01": "cloth, 301K",
    "cloth:601@0.01": "cloth, 1.08M",
}
PANELS = [  # title, names of tables, our configuration, date
    ("the default, auto; AMGCL called from Kratos", ["peers"], "coarsen, auto", "2026-12-01"),
    ("smoothed aggregation; AMGCL called directly", ["solve", "solve/amgcl"], "sa, stored in f32", "2026-11-23"),
]
NAMES = {"amgcl": "AMGCL", "petsc": "PETSc", "pyamg": "PyAMG", "eigen": "Eigen", "cholmod": "CHOLMOD"}
SETTINGS = {  # configurations of benches/peers/amgcl.py
    "sa": "smoothed aggregation",
    "sa-gs": "smoothed aggregation, Gauss-Seidel",
    "sa-ilu0": "smoothed aggregation, ILU(0)",
    "aggregation-ilu0": "plain aggregation, ILU(0)",
    "ruge-stuben": "Ruge-Stüben",
}
NOTE = "seconds of setup and solve to 1e-8 on two threads; shorter is better"
STYLE = """text{font:13px system-ui,sans-serif;fill:#24292f}.t{font-weight:600}.s{font-size:11px}.ours{fill:#1f6feb}
.peer0{fill:#d0893b}.peer1{fill:#7d8590}.peer2{fill:#8957e5}.peer3{fill:#2da44e}line{stroke:#d0d7de}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ours{fill:#58a6ff}.peer0{fill:#e0a458}line{stroke:#30363d}}"""
LEFT, PANEL, BAR, TOP, LIMIT = 160, 350, 11, 62, 4.5  # pixels, and seconds at the end of the axis


BOOK = Path(__file__).parents[2] / "book/src"


def totals(tables, ours, date):
    """The least seconds of each package on each system and their configuration, None where no configuration has an answer; and
    the machine."""
    found, machine = {system: {} for system in SYSTEMS}, ""
    for day, where, table in read(Path(__file__).parent):
        if day != date or table["name"] not in tables:
            continue
        machine, column = where.replace("-", " ").replace("amd epyc", "AMD EPYC").replace("intel xeon", "Intel Xeon"), [name for name, _ in table["columns"]].index("total")
        for system, configuration, *numbers in (row for row in table["rows"] if row[0] in SYSTEMS):
            package = "coarsen" if configuration == ours else configuration.split(",")[0]
            if configuration != ours and package in ("coarsen", "SciPy"):
                continue
            seconds, bars, name = numbers[column], found[system], NAMES.get(package, package)
            seconds = None if isinstance(seconds, str) else seconds and float(seconds)
            if seconds is not None and (bars.get(name) is None or seconds < bars[name][0]):
                bars[name] = (seconds, configuration.partition(", ")[2] or configuration)
            bars.setdefault(name, None)
    return found, machine


def compared(bars):
    """Our seconds divided by those of the fastest other package, and its name; None where one of both has no answer."""
    ours, others = bars.get("coarsen"), {name: bar for name, bar in bars.items() if name != "coarsen" and bar}
    peer = min(others, key=lambda name: others[name][0], default=None)
    return (ours[0] / others[peer][0], peer) if ours and peer else None


def table(panels):
    """The rows of the page: `auto` beside the fastest configuration of the measured packages, and the ratio of the second panel."""
    first, second = panels[0][2], panels[1][2]
    measured = sorted({name for bars in first.values() for name in bars} - {"coarsen"})
    head = f"{' or '.join(measured)}, fastest configuration"
    lines = [f"| system | `auto` | {head} | its seconds | `auto` / AMGCL | `sa` / AMGCL called directly |"]
    lines.append("|---|---:|---|---:|---:|---:|")
    for system, label in SYSTEMS.items():
        ours, found, direct = first[system]["coarsen"], compared(first[system]), compared(second[system])
        row = [label, f"{ours[0]:.2f}" if ours else "no answer"]
        if found:
            ratio, peer = found
            seconds, settings = first[system][peer]
            package = f"{peer}, " if len(measured) > 1 else ""
            row += [package + SETTINGS.get(settings, settings), f"{seconds:.2f}", f"{ratio:.2f}"]
        else:
            row += ["none converges within the limit", "", ""]
        row.append(f"{direct[0]:.2f}" if direct else "")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def slower(panels):
    """A line for each panel: the systems with a ratio of 1 or more."""
    lines = []
    for title, _, found, _ in panels:
        ratios = {label: compared(found[system]) for system, label in SYSTEMS.items()}
        names = [label for label, ratio in ratios.items() if ratio and ratio[0] >= 1.0]
        lines.append(f"- *{title[0].upper()}{title[1:]}*: {'; '.join(names) or 'none'}")
    return "\n".join(lines)


def written(page, name, text):
    """A page with a text from the comment with its name to the next empty line."""
    before, rest = page.split(f"<!-- {name} -->\n")
    return f"{before}<!-- {name} -->\n{text}\n\n" + rest.partition("\n\n")[2]


def main():
    panels = [(title, date, *totals(tables, ours, date)) for title, tables, ours, date in PANELS]
    peers = sorted({name for _, _, found, _ in panels for bars in found.values() for name in bars} - {"coarsen"})
    kinds = {"coarsen": "ours"} | {peer: f"peer{i}" for i, peer in enumerate(peers)}
    heights = [max(len(found[system]) for _, _, found, _ in panels) * (BAR + 2) + 10 for system in SYSTEMS]
    width, bottom = LEFT + PANEL * len(panels), TOP + sum(heights)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 6}" width="{width}">', f"<style>{STYLE}</style>"]
    for i, (name, kind) in enumerate(kinds.items()):
        out.append(f'<rect class="{kind}" x="{LEFT + 90 * i}" y="6" width="12" height="12"/>')
        out.append(f'<text x="{LEFT + 90 * i + 17}" y="16">{name}</text>')
    out.append(f'<text class="s" x="{LEFT + 90 * len(kinds)}" y="16">{NOTE}</text>')
    for x, (title, date, found, machine) in zip(range(LEFT, width, PANEL), panels):
        y, scale = TOP, (PANEL - 60) / LIMIT
        out.append(f'<text class="t" x="{x}" y="40">{title}</text><text class="s" x="{x}" y="55">{machine}, {date}</text>')
        out.append(f'<line x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}"/>')
        for (system, label), height in zip(SYSTEMS.items(), heights):
            if x == LEFT:
                out.append(f'<text x="{LEFT - 8}" y="{y + height // 2 + 1}" text-anchor="end">{label}</text>')
            for k, name in enumerate(name for name in kinds if name in found[system]):
                at, (seconds, _) = y + 3 + k * (BAR + 2), found[system][name] or (None, "")
                end, said = (scale * min(seconds, LIMIT), f"{seconds:.2f}") if seconds else (0, "no answer within the limit")
                out.append(f'<rect class="{kinds[name]}" x="{x}" y="{at}" width="{end:.1f}" height="{BAR}"/>')
                out.append(f'<text class="s" x="{x + end + 4:.1f}" y="{at + BAR - 1}">{said}</text>')
            y += height
    page = (BOOK / "performance.md").read_text(encoding="utf-8")
    page = written(written(page, "table", table(panels)), "slower", slower(panels))
    for name, text in (("totals.svg", "\n".join([*out, "</svg>\n"])), ("performance.md", page)):
        if sys.argv[1:] != ["--check"]:
            (BOOK / name).write_text(text, encoding="utf-8")
        elif (BOOK / name).read_text(encoding="utf-8") != text:
            sys.exit(f"book/src/{name} is not that of the measurements: run benches/results/chart.py")


main()
