#!/usr/bin/env python3
"""Records scripts/demo.sh in a terminal and draws what it showed as a moving picture, docs/pictures/demo.svg.

The building is left out: the recording begins with the first line of the demo itself. Pauses are shortened to two
seconds. Run it again when the demo's output changes.

Usage: record_demo.py [ARGUMENTS OF demo.sh...]
"""
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import struct
import sys
import termios
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "demo.svg"
COLUMNS, STEP, PAUSE, END = 100, 0.15, 2.0, 6.0  # characters; seconds: shortest frame, longest pause, last frame
BUILD = re.compile(r"^(--|\[\d+/\d+\]|ninja:|install_deps:|Preset CMake|\s*$)")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*([A-Za-z])")


def record(arguments):
    """(seconds, bytes) as they came, from a terminal of COLUMNS characters."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execv("scripts/demo.sh", ["scripts/demo.sh", "--no-deps", *arguments])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    start, chunks = time.monotonic(), []
    while select.select([terminal], [], [], 600)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        chunks.append((time.monotonic() - start, data.decode("utf-8", "replace")))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        sys.exit(f"record_demo: the demo ended with {status}:\n{''.join(text for _, text in chunks)}")
    return chunks


class Screen:
    """As much of a terminal as the demo uses: lines, carriage returns, and clearing the rest of a line."""

    def __init__(self):
        self.lines, self.column = [""], 0

    def feed(self, text):
        for part in re.split(r"(\r\n|\r|\n|\x1b\[[0-9;?]*[A-Za-z])", text):
            if part in ("\r\n", "\n"):
                self.lines.append("")
                self.column = 0
            elif part == "\r":
                self.column = 0
            elif match := ESCAPE.fullmatch(part):
                if match[1] == "K":
                    self.lines[-1] = self.lines[-1][:self.column]
            elif part:
                line = self.lines[-1].ljust(self.column)
                self.lines[-1] = line[:self.column] + part + line[self.column + len(part):]
                self.column += len(part)

    def shown(self):
        lines = [line.rstrip() for line in self.lines]
        while lines and (BUILD.match(lines[0])):
            lines.pop(0)
        return lines


def frames_of(chunks):
    """(seconds that it is shown, lines)."""
    screen, frames, shown_at = Screen(), [], None
    for at, text in chunks:
        screen.feed(text)
        lines = screen.shown()
        if not any(lines) or (frames and lines == frames[-1][1]):
            continue
        if frames and at - shown_at < STEP:
            frames[-1] = (frames[-1][0], lines)
            continue
        if frames:
            frames[-1] = (min(at - shown_at, PAUSE), frames[-1][1])
        frames.append((END, lines))
        shown_at = at
    return frames


def draw(frames):
    rows = max(len(lines) for _, lines in frames) + 1
    wide, high = COLUMNS * 7.25 + 40, rows * 18 + 56
    total, at, styles, groups = sum(seconds for seconds, _ in frames), 0.0, [], []
    for number, (seconds, lines) in enumerate(frames):
        first, last = 100 * at / total, 100 * (at + seconds) / total
        at += seconds
        hidden = "" if number == 0 else f"0%,{first - 0.001:.3f}%{{visibility:hidden}}"
        after = "" if number == len(frames) - 1 else f"{last:.3f}%,100%{{visibility:hidden}}"
        styles.append(f"@keyframes f{number}{{{hidden}{first:.3f}%,{last - 0.001:.3f}%{{visibility:visible}}{after}}}"
                      f"#f{number}{{animation-name:f{number}}}")
        text = "".join(f'<text x="20" y="{64 + 18 * row}">{html.escape(line[:COLUMNS])}</text>'
                       for row, line in enumerate(lines, 1) if line)
        groups.append(f'<g id="f{number}" class="f">{text}</g>')
    still = f"@media (prefers-reduced-motion){{.f{{animation:none;visibility:hidden}}#f{len(frames) - 1}{{visibility:visible}}}}"
    command = "scripts/demo.sh " + " ".join(sys.argv[1:])
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" height="{high}" role="img">',
        f"<title>{html.escape(command)}: a recording</title>",
        "<style>text{font:12px Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d7dde5;white-space:pre}"
        f".f{{visibility:hidden;animation:{total:.2f}s step-end infinite}}{''.join(styles)}{still}</style>",
        f'<rect width="{wide:.0f}" height="{high}" rx="8" fill="#1b222c"/>',
        "".join(f'<circle cx="{22 + 18 * i}" cy="20" r="5.5" fill="{colour}"/>'
                for i, colour in enumerate(("#e0675c", "#dfb04a", "#63b567"))),
        f'<text x="20" y="58"><tspan fill="#7fb3f0">$</tspan> {html.escape(command)}</text>',
        *groups, "</svg>"]) + "\n"


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    frames = frames_of(record(sys.argv[1:]))
    if not frames:
        sys.exit("record_demo: the demo showed nothing")
    PICTURE.write_text(draw(frames), encoding="utf-8")
    print(f"record_demo: {PICTURE.relative_to(ROOT)}, {len(frames)} frames, {sum(s for s, _ in frames):.0f} s")


main()
