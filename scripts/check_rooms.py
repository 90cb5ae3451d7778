#!/usr/bin/env python3
"""Holds the includes of src/ against the arrows that scripts/rooms.txt allows.

usage: scripts/check_rooms.py [--list]

A room is a folder of src/, or a subfolder of a large one. Every include from one room into another needs its arrow in
the table, and every arrow of the table an include: the table says what there is, and nothing else comes in unseen. No
two rooms include each other, but for the pairs that the table names in lines of their own: `A <-> B`.
  --list  prints the arrows as they are, in the table's form
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
TABLE = ROOT / "scripts" / "rooms.txt"
DIVIDED = {"cli", "document", "engine", "mongodb", "postgresql", "sqlite"}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def room_of(path):
    parts = pathlib.PurePosixPath(path).parts
    return "/".join(parts[:2]) if parts[0] in DIVIDED and len(parts) > 2 else parts[0]


def arrows_of_source():
    """{(from, to): the first include that makes the arrow}"""
    arrows = {}
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix not in {".h", ".cpp"}:
            continue
        name = path.relative_to(SOURCE).as_posix()
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            arrow = (room_of(name), room_of(included))
            if (SOURCE / included).exists() and arrow[0] != arrow[1]:
                arrows.setdefault(arrow, f"{name} includes {included}")
    return arrows


def read_table():
    """Returns the arrows, and the pairs of rooms that may include each other."""
    arrows = set()
    pairs = set()
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        rule = line.split("#")[0].strip()
        if "<->" in rule:
            pairs.add(tuple(sorted(room.strip() for room in rule.split("<->"))))
        elif rule:
            room, _, others = rule.partition(":")
            arrows.update((room.strip(), other) for other in others.split())
    return arrows, pairs


def main():
    found = arrows_of_source()
    if sys.argv[1:] == ["--list"]:
        rooms = collections.defaultdict(list)
        for room, other in sorted(found):
            rooms[room].append(other)
        print("\n".join(f"{room}: {' '.join(others)}" for room, others in rooms.items()))
        return 0
    if sys.argv[1:]:
        print(__doc__.strip(), file=sys.stderr)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    allowed, pairs = read_table()
    mutual = {arrow for arrow in found if arrow[0] < arrow[1] and arrow[::-1] in found}
    faults = [f"{room} may not include {other}: {found[room, other]}"
              for room, other in sorted(found.keys() - allowed)]
    faults += [f"{room} includes nothing of {other} any more: take the arrow out of scripts/rooms.txt"
               for room, other in sorted(allowed - found.keys())]
    faults += [f"{room} and {other} include each other: {found[room, other]}, and {found[other, room]}"
               for room, other in sorted(mutual - pairs)]
    faults += [f"{room} and {other} do not include each other any more: take the pair out of scripts/rooms.txt"
               for room, other in sorted(pairs - mutual)]
    for fault in faults:
        print(f"check_rooms: {fault}", file=sys.stderr)
    if not faults:
        print(f"check_rooms: {len(found)} arrows between the rooms of src/, as scripts/rooms.txt allows them")
    return 1 if faults else 0


sys.exit(main())
