#!/usr/bin/env python3
"""The licences of the Rust packages that the wheel contains: writes THIRD-PARTY.txt, or compares it with `--check`.

Of a package that offers the MIT licence among others, that one is taken. Each text is written once, after the packages that have it. A package
without a licence file is named with the licence of its manifest.
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TARGET = "x86_64-unknown-linux-gnu"
NAMES = ("license", "licence", "copying", "notice", "unlicense")


def cargo(*args):
    return subprocess.run(["cargo", *args], cwd=HERE, check=True, capture_output=True, text=True).stdout


def packages():
    """The packages of others that the extension module links."""
    tree = cargo("tree", "-p", "coarsen-python", "-e", "normal", "--target", TARGET, "--prefix", "none", "--format", "{p}")
    linked = {tuple(line.split()[:2]) for line in tree.splitlines()}
    known = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", TARGET))["packages"]
    return [p for p in known if p["source"] and (p["name"], f"v{p['version']}") in linked]


def notices():
    texts = {}
    for package in sorted(packages(), key=lambda p: (p["name"], p["version"])):
        name = f"{package['name']} {package['version']} ({package['license']})"
        folder = Path(package["manifest_path"]).parent
        files = [f for f in sorted(folder.iterdir()) if f.is_file() and f.name.lower().startswith(NAMES)]
        mit = [f for f in files if "mit" in f.name.lower() and " OR " in package["license"]]
        for text in [f.read_text(encoding="utf-8").strip() for f in mit or files] or ["The package has no licence file."]:
            lines = "\n".join(line.rstrip() for line in text.splitlines())
            _, names = texts.setdefault(" ".join(text.split()), (lines, []))
            names.append(name)
    parts = ["The extension module of pycoarsen contains these Rust packages, under their own licences."]
    parts += ["\n".join(names) + "\n\n" + lines for lines, names in texts.values()]
    return ("\n\n" + "-" * 80 + "\n\n").join(parts) + "\n"


if __name__ == "__main__":
    file = HERE / "THIRD-PARTY.txt"
    if "--check" not in sys.argv:
        file.write_text(notices(), encoding="utf-8")
    elif file.read_text(encoding="utf-8") != notices():
        sys.exit("THIRD-PARTY.txt is not that of Cargo.lock: run crates/python/notices.py")
