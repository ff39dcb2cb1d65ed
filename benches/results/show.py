#!/usr/bin/env python3
"""Prints the measured tables of this folder as Markdown.

    show.py                  the names of all tables, with date and machine
    show.py mas hot/bar      the tables whose names begin so, the newest last
    show.py mas --date 2026-11-22 --machine xeon --system cloth:317
    show.py --check          reads all files, and names the first value that does not follow the schema

A file DATE-MACHINE.json has a date, a machine and tables. A table has

    name         group/table, the same for measurements that may be compared
    what         what is measured, and to which tolerance
    command      repeats it in this repository; words in capitals are to be replaced
    commit       of the measured program, or null where it is not known
    conditions   the processor, and what else ran
    columns      [name, unit] for each number
    rows         [system, configuration, number, ..]: a number, null (not measured), or a text such as "> 10"
"""

import argparse
import json
import re
import sys
from decimal import Decimal
from pathlib import Path

FIELDS = {"name": str, "what": str, "command": str, "commit": (str, type(None)), "conditions": str, "columns": list, "rows": list}


def fault(data, file):
    """What of a file does not follow the schema, or None."""
    date, machine = data.get("date"), data.get("machine")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", str(date)) or file.stem != f"{date}-{machine}":
        return f"date {date} and machine {machine} do not agree with the name of the file"
    for i, table in enumerate(data.get("tables", [])):
        where = f"table {i} ({table.get('name')})"
        for field, kind in FIELDS.items():
            if not isinstance(table.get(field), kind):
                return f"{where}: {field} is {table.get(field)!r}"
        if unknown := set(table) - set(FIELDS):
            return f"{where}: unknown fields {sorted(unknown)}"
        for column in table["columns"]:
            if len(column) != 2 or not all(isinstance(word, str) for word in column):
                return f"{where}: the column {column!r} is not [name, unit]"
        for row in table["rows"]:
            if len(row) != 2 + len(table["columns"]) or not all(isinstance(word, str) for word in row[:2]):
                return f"{where}: the row {row!r} is not [system, configuration, {len(table['columns'])} numbers]"
            if wrong := [x for x in row[2:] if isinstance(x, bool) or not isinstance(x, (int, Decimal, str, type(None)))]:
                return f"{where}: the row {row!r} has {wrong[0]!r} where a number belongs"
    return None


def read(folder):
    """All tables in the order of their dates, each with its date and machine."""
    for file in sorted(folder.glob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)  # 0.390 stays 0.390
        if wrong := fault(data, file):
            sys.exit(f"{file.name}: {wrong}")
        for table in data["tables"]:
            yield data["date"], data["machine"], table


def cell(x):
    if isinstance(x, int) and abs(x) >= 10_000:
        return f"{x:,}"
    text = "" if x is None else str(x).replace("|", "\\|")
    return text.replace("E", "e") if isinstance(x, Decimal) else text


def markdown(date, machine, table, system):
    """The table, without rows of other systems and without columns that are empty."""
    heads = ["system", "configuration"] + [f"{name}, {unit}" if unit else name for name, unit in table["columns"]]
    rows = [[cell(x) for x in row] for row in table["rows"] if system in row[0]]
    used = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    source = [f"`{table['command']}`", date, machine]
    source += [f"commit {table['commit']}"] if table["commit"] else []
    source += [table["conditions"]] if table["conditions"] else []
    lines = [f"**{table['name']}**: {table['what']}. " + ", ".join(source) + ".", ""]
    lines.append("| " + " | ".join(heads[i] for i in used) + " |")
    lines.append("|" + "|".join("---" if i < 2 else "---:" for i in used) + "|")
    lines += ["| " + " | ".join(row[i] for i in used) + " |" for row in rows]
    return "\n".join(lines) + "\n" if rows else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="print the tables whose names begin so")
    parser.add_argument("--date", default="", help="of this date, or of a month such as 2026-11")
    parser.add_argument("--machine", default="", help="of machines with this word in their name")
    parser.add_argument("--system", default="", help="rows of systems with this word in their name")
    parser.add_argument("--check", action="store_true", help="only check the files")
    asked = parser.parse_args()
    tables = list(read(Path(__file__).parent))
    if asked.check:
        print(f"{len(tables)} tables, {sum(len(table['rows']) for _, _, table in tables)} rows")
        return
    found = [t for t in tables if t[0].startswith(asked.date) and asked.machine in t[1]]
    if not asked.names:
        for date, machine, table in sorted(found, key=lambda t: (t[2]["name"], t[0])):
            print(f"{table['name']:28} {date}  {machine:18} {table['what']}")
        return
    found = [t for t in found if t[2]["name"].startswith(tuple(asked.names))]
    if not found:
        sys.exit(f"no table begins with {' or '.join(asked.names)}; without a name all names are listed")
    print("\n".join(text for t in found if (text := markdown(*t, asked.system))), end="")


if __name__ == "__main__":
    main()
