#!/usr/bin/env python3
"""Draws a timeline as SVG from a text file: who does what, and when. scripts/pictures.sh calls it for *.timeline.

    title  TEXT                           for screen readers
    time   FROM TO                        the range of the time axis, in any unit
    lane   NAME TEXT                      one row, from top to bottom
    bar    LANE FROM TO STYLE TEXT        STYLE: held, waits, works, paused, lost, lease
    point  LANE AT TEXT                   a dot with a text below it
    arrow  AT FROM-LANE TO-LANE TEXT      a message, with its text to the right of it
    line   AT TEXT                        a moment that concerns all rows
    note   TEXT                           text below the rows, broken into lines where it has to be

Usage: timeline.py SOURCE PICTURE
"""
import html
import pathlib
import sys

from check_pictures import width

WIDTH, LABELS, ROW, TOP, RIGHT = 880, 130, 64, 34, 26
# Of a bar: its ground, its edge and its text, in the light and in the dark scheme.
BARS = {
    "held": (("#4a6fa5", "#34517a", "#ffffff"), ("#3f6398", "#86b1ec", "#ffffff")),
    "works": (("#dfe9f7", "#4a6fa5", "#1d2b3f"), ("#26344a", "#6d93c8", "#dfe9f7")),
    "waits": (("#f3e9c8", "#b58900", "#4a3900"), ("#3d3618", "#c9a227", "#f3e9c8")),
    "paused": (("#e4e4e4", "#8a8a8a", "#333333"), ("#3a3d44", "#9a9a9a", "#e4e4e4")),
    "lost": (("#f6d5d1", "#b03a2e", "#5c1710"), ("#4b2420", "#e0776c", "#f6d5d1")),
    "lease": (("#e7f6e9", "#3c8d40", "#1c4a1f"), ("#1f3a24", "#62b567", "#e7f6e9")),
}
# Ground, ink, grey, rows, moments.
PAGE = (("#ffffff", "#1d2b3f", "#66707c", "#d8dde4", "#b03a2e"), ("#1e2129", "#e6e9ee", "#aab3be", "#363c48", "#f08a7e"))


def rules(scheme):
    ground, ink, grey, row, moment = PAGE[scheme]
    out = [f".ground {{ fill: {ground} }} text {{ stroke: {ground} }} .ink {{ fill: {ink} }} .grey {{ fill: {grey} }}",
           f".moment {{ fill: {moment} }} .at {{ stroke: {moment} }} .row {{ stroke: {row} }} .axis {{ stroke: {grey} }}",
           f".arrow {{ stroke: {ink} }} .dot {{ fill: {ground}; stroke: {ink} }}"]
    for name, (fill, edge, words) in ((name, both[scheme]) for name, both in BARS.items()):
        out.append(f"rect.{name} {{ fill: {fill}; stroke: {edge} }} text.{name} {{ fill: {words}; stroke: none }}")
    return "\n".join(out)


# The stroke around a text is the ground's colour: lines stop in front of it.
STYLE = f"""<style>
text {{ paint-order: stroke; stroke-width: 5px; stroke-linejoin: round }}
{rules(0)}
@media (prefers-color-scheme: dark) {{
{rules(1)}
}}
</style>"""


def text(x, y, words, anchor="start", kind="ink", size=13):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}" '
            f'font-size="{size}">{html.escape(words)}</text>')


class Timeline:
    def __init__(self):
        self.title, self.start, self.end = "", 0.0, 1.0
        self.lanes, self.names = {}, []
        self.items, self.notes = [], []

    def read(self, source):
        for number, raw in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
            words = raw.split()
            if not words or words[0].startswith("#"):
                continue
            try:
                self.add(words[0], words[1:])
            except (KeyError, ValueError, IndexError) as error:
                sys.exit(f"{source}:{number}: cannot read this line ({error})")

    def add(self, kind, words):
        if kind == "title":
            self.title = " ".join(words)
        elif kind == "time":
            self.start, self.end = float(words[0]), float(words[1])
        elif kind == "lane":
            self.lanes[words[0]] = len(self.names)
            self.names.append(" ".join(words[1:]))
        elif kind == "bar":
            self.items.append(self.bar(words[0], float(words[1]), float(words[2]), words[3], " ".join(words[4:])))
        elif kind == "point":
            self.items.append(self.point(words[0], float(words[1]), " ".join(words[2:])))
        elif kind == "arrow":
            self.items.append(self.arrow(float(words[0]), words[1], words[2], " ".join(words[3:])))
        elif kind == "line":
            self.items.insert(0, self.line(float(words[0]), " ".join(words[1:])))
        elif kind == "note":
            self.note(words)
        else:
            raise ValueError(f'unknown word "{kind}"')

    def x(self, at):
        return LABELS + (at - self.start) / (self.end - self.start) * (WIDTH - LABELS - RIGHT)

    def y(self, lane):
        return TOP + ROW * self.lanes[lane] + ROW / 2 - 6

    def bar(self, lane, start, end, style, words):
        if style not in BARS:
            raise ValueError(f'unknown style "{style}"')
        x, length, y = self.x(start), self.x(end) - self.x(start), self.y(lane)
        if width(words, 13) > length:
            raise ValueError(f'"{words}" is wider than its bar')
        dash = ' stroke-dasharray="5 3"' if style in ("waits", "paused") else ""
        return (f'<rect x="{x:.1f}" y="{y - 14:.1f}" width="{length:.1f}" height="28" rx="5" class="{style}"{dash}/>' +
                text(x + length / 2, y + 4.5, words, "middle", style))

    def point(self, lane, at, words):
        x, y = self.x(at), self.y(lane)
        anchor = "start" if x < LABELS + 60 else "end" if x > WIDTH - 90 else "middle"
        return (f'<circle cx="{x:.1f}" cy="{y + 14:.1f}" r="4.5" class="dot" stroke-width="2"/>' +
                text(x, y + 33, words, anchor, size=12))

    def arrow(self, at, source, target, words):
        x, y1, y2 = self.x(at), self.y(source), self.y(target)
        down = 1 if y2 > y1 else -1
        tip = y2 - 15 * down
        return (f'<path d="M{x:.1f} {y1 + 14 * down:.1f}V{tip:.1f}m-4 {-7 * down}l4 {7 * down}l4 {-7 * down}" '
                f'fill="none" class="arrow" stroke-width="1.6"/>' +
                text(x + 8, (y1 + tip) / 2 + 12 * down, words, size=12))

    def line(self, at, words):
        x, bottom = self.x(at), TOP + ROW * len(self.names) - 4
        anchor = "end" if x > WIDTH - 110 else "middle"
        return (f'<path d="M{x:.1f} {TOP - 8}V{bottom:.1f}" class="at" stroke-dasharray="4 4"/>' +
                text(x, TOP - 14, words, anchor, "moment", 12))

    def note(self, words):
        line = []
        for word in words:
            if line and width(" ".join([*line, word]), 12) > WIDTH - LABELS - RIGHT:
                self.notes.append(" ".join(line))
                line = []
            line.append(word)
        self.notes.append(" ".join(line))

    def svg(self):
        height = TOP + ROW * len(self.names) + 18 + 19 * len(self.notes)
        axis = TOP + ROW * len(self.names) + 2
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
               f'height="{height}" role="img" font-family="Helvetica, Arial, sans-serif">',
               f"<title>{html.escape(self.title)}</title>", STYLE,
               f'<rect width="{WIDTH}" height="{height}" rx="8" class="ground"/>']
        for lane, row in self.lanes.items():
            y = self.y(lane)
            out.append(text(LABELS - 12, y + 4.5, self.names[row], "end"))
            out.append(f'<path d="M{LABELS} {y:.1f}H{WIDTH - RIGHT}" class="row"/>')
        out.append(f'<path d="M{LABELS} {axis}H{WIDTH - RIGHT}m-7 -4l7 4l-7 4" fill="none" class="axis"/>')
        out.append(text(LABELS - 12, axis + 4, "time", "end", "grey", 12))
        out += self.items
        out += [text(LABELS, axis + 22 + 19 * row, note, "start", "grey", 12) for row, note in enumerate(self.notes)]
        return "\n".join(out + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    timeline = Timeline()
    timeline.read(pathlib.Path(sys.argv[1]))
    pathlib.Path(sys.argv[2]).write_text(timeline.svg(), encoding="utf-8")


main()
