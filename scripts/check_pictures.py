#!/usr/bin/env python3
"""Checks that no text in a picture of the documents leaves the picture, and that each has a dark scheme.

The width of a text is estimated by the widths of Helvetica's letters, and a little more: a browser without Helvetica takes
a font that may be wider.

Usage: check_pictures.py PICTURE.svg...
"""
import math
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

# Of the characters from the space to the tilde, in thousandths of the font's size.
HELVETICA = [278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, *[556] * 10, 278, 278, 584, 584,
             584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,
             611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222,
             222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584]
WIDER = 1.1
SAME_IN_THE_DARK = {"demo.svg", "icon.svg"}  # they have a ground of their own
MONOSPACE = 0.61


def width(words, size, monospace=False):
    if monospace:
        return len(words) * size * MONOSPACE
    return WIDER * size / 1000 * sum(HELVETICA[ord(c) - 32] if 32 <= ord(c) < 127 else 600 for c in words)


def matrix_of(transform):
    """The matrix of an attribute `transform`, as (a, b, c, d, e, f)."""
    matrix = (1, 0, 0, 1, 0, 0)
    for name, arguments in re.findall(r"(\w+)\(([^)]*)\)", transform or ""):
        n = [float(number) for number in re.split(r"[\s,]+", arguments.strip())]
        if name == "translate":
            step = (1, 0, 0, 1, n[0], n[1] if len(n) > 1 else 0)
        elif name == "scale":
            step = (n[0], 0, 0, n[-1], 0, 0)
        elif name == "rotate":
            c, s = math.cos(math.radians(n[0])), math.sin(math.radians(n[0]))
            x, y = n[1:] if len(n) > 1 else (0, 0)
            step = (c, s, -s, c, x - c * x + s * y, y - s * x - c * y)
        else:
            step = tuple(n)
        matrix = times(matrix, step)
    return matrix


def times(m, n):
    return (m[0] * n[0] + m[2] * n[1], m[1] * n[0] + m[3] * n[1], m[0] * n[2] + m[2] * n[3], m[1] * n[2] + m[3] * n[3],
            m[0] * n[4] + m[2] * n[5] + m[4], m[1] * n[4] + m[3] * n[5] + m[5])


class Picture:
    def __init__(self, path):
        root = ET.parse(path).getroot()
        self.x, self.y, self.width, self.height = (float(n) for n in root.get("viewBox").split())
        style = " ".join(element.text or "" for element in root.iter() if element.tag.endswith("}style"))
        default = re.search(r"text\s*\{[^}]*?(\d+)px([^;}]*)", style)
        self.monospace = default is not None and "monospace" in default[2]
        self.mistakes = []
        self.walk(root, (1, 0, 0, 1, 0, 0), float(default[1]) if default else 16, "start")

    def walk(self, element, matrix, size, anchor):
        matrix = times(matrix, matrix_of(element.get("transform")))
        style = f"{element.get('style') or ''};font-size:{element.get('font-size') or ''}"
        found = re.search(r"font(?:-size)?:[^;]*?([\d.]+)(?:px)?\b", style)
        size = float(found[1]) if found else size
        found = re.search(r"text-anchor:\s*(\w+)", style)
        anchor = element.get("text-anchor") or (found[1] if found else anchor)
        if element.tag.endswith("}text"):
            self.look_at(element, matrix, size, anchor)
        for child in element:
            self.walk(child, matrix, size, anchor)

    def look_at(self, element, matrix, size, anchor):
        words = " ".join("".join(element.itertext()).split())
        length = float(element.get("textLength") or width(words, size, self.monospace))
        start = float(element.get("x") or 0) - {"middle": length / 2, "end": length}.get(anchor, 0)
        y = float(element.get("y") or 0)
        for at in (start, start + length):
            x_there = matrix[0] * at + matrix[2] * y + matrix[4] - self.x
            y_there = matrix[1] * at + matrix[3] * y + matrix[5] - self.y
            if not (0 <= x_there <= self.width and 0 <= y_there <= self.height):
                self.mistakes.append(f'"{words}" leaves the picture at {x_there:.0f}, {y_there:.0f}')
                return


def main():
    failed = False
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        mistakes = Picture(path).mistakes
        if path.name not in SAME_IN_THE_DARK and "prefers-color-scheme: dark" not in path.read_text(encoding="utf-8"):
            mistakes.append("has no dark scheme")
        for mistake in mistakes:
            print(f"{name}: {mistake}", file=sys.stderr)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
