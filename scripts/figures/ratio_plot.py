"""Draws ratios as SVG: a small dot for each round, a large one for the median, a bar for the target.

The picture follows the colour scheme of the reader, and has a ground of its own, so that it is readable on any page.
"""
import html
import math

WIDTH, LABELS, RIGHT, ROW, HEAD = 880, 392, 64, 23, 30
STYLE = """
  .ground { fill: #ffffff } .ink { fill: #1d2b3f } .grey { fill: #5b6570 } .grid { stroke: #e3e7ec }
  .one { stroke: #8a949f; stroke-dasharray: 2 3 } .target { stroke: #1d2b3f; stroke-width: 2 }
  .good { fill: #2f5d9b; stroke: #2f5d9b } .bad { fill: #b3560c; stroke: #b3560c }
  .missed { fill: #b3560c } .round { opacity: .4; stroke: none } .line { opacity: .45; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #1e2129 } .ink { fill: #e6e9ee } .grey { fill: #aab3be } .grid { stroke: #363c48 }
    .one { stroke: #7d8894 } .target { stroke: #e6e9ee } .good { fill: #86b1ec; stroke: #86b1ec } .bad { fill: #f0a35e; stroke: #f0a35e }
    .missed { fill: #f0a35e }
  }"""
TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]


def text(x, y, words, kind="ink", anchor="start", size=13):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}" font-size="{size}">{html.escape(words)}</text>'


class Scale:
    """A logarithmic axis that holds all values and 1."""

    def __init__(self, values):
        low, high = min(values + [0.5]), max(values + [2.0])
        self.start = max(t for t in TICKS if t <= low) if low >= TICKS[0] else low
        self.end = min(t for t in TICKS if t >= high) if high <= TICKS[-1] else high
        self.ticks = [t for t in TICKS if self.start <= t <= self.end]

    def x(self, value):
        part = math.log(value / self.start) / math.log(self.end / self.start)
        return LABELS + 12 + part * (WIDTH - LABELS - 12 - RIGHT)


def mark(x, y, good):
    if good:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="good"/>'
    return f'<path d="M{x:.1f} {y - 6.5:.1f}l6.5 6.5l-6.5 6.5l-6.5 -6.5z" class="bad"/>'


def row(y, label, work, scale):
    good = work.reached is not False
    out = [text(LABELS, y + 4.5, label, anchor="end")]
    kind = "good" if good else "bad"
    low, high = work.extent
    if low < high:
        out.append(f'<path d="M{scale.x(low):.1f} {y:.1f}H{scale.x(high):.1f}" class="line {kind}"/>')
        out += [f'<circle cx="{scale.x(r):.1f}" cy="{y:.1f}" r="3" class="round {kind}"/>' for r in work.ratios]
    if work.target:
        x = scale.x(work.target)
        out.append(f'<path d="M{x:.1f} {y - 8:.1f}v16" class="target"/>')
    out.append(mark(scale.x(work.ratio), y, good))
    words = f"{work.ratio:.2f}" if work.ratio < 9.95 else f"{work.ratio:.0f}"
    out.append(text(WIDTH - 14, y + 4.5, words, kind="ink" if good else "missed", anchor="end"))
    return out


def panel(top, title, rows):
    """Returns the elements, and where the next panel may begin."""
    scale = Scale([v for _, work in rows for v in (*work.extent, work.ratio, work.target or 1)])
    bottom = top + HEAD + ROW * len(rows)
    out = [text(LABELS + 12, top + 16, title, "grey")]
    for tick in scale.ticks:
        x = scale.x(tick)
        out.append(f'<path d="M{x:.1f} {top + HEAD - 4:.1f}V{bottom}" class="{"one" if tick == 1 else "grid"}"/>')
        out.append(text(x, bottom + 16, f"{tick:g}", "grey", "middle", 12))
    for i, (label, work) in enumerate(rows):
        out += row(top + HEAD + ROW * i + ROW / 2, label, work, scale)
    return out, bottom + 30


def svg(title, rows):
    """`rows`: (label, work)."""
    parts, top = [], 6
    for words, at_most in (("ratio to the floor: more is better", False), ("ratio to the floor: less is better", True)):
        some = [(label, work) for label, work in rows if work.at_most == at_most]
        if some:
            drawn, top = panel(top, words, some)
            parts += drawn
    height = top + 22
    legend = "small dot: one round · large dot: median · bar: target · diamond: the target is missed · dotted line: as fast as the floor"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" font-family="Helvetica, Arial, sans-serif">', f"<title>{html.escape(title)}</title>",
        f"<style>{STYLE}\n</style>", f'<rect width="{WIDTH}" height="{height}" rx="8" class="ground"/>', *parts,
        text(WIDTH / 2, top + 8, legend, "grey", "middle", 12), "</svg>"]) + "\n"
