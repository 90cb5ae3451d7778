#!/usr/bin/env python3
"""Runs a document as a reader would: saves its files, types its commands, and compares their output with what it says.

    <!-- file: NAME -->       the next block is saved under this name, in the folder where the reader is
    ```sh                     commands, typed into one shell for the whole document
    ```text after it          what they print; "…" stands for any text, and alone on a line for any lines
    <!-- run: any-order -->   before the text: its lines may come in any order (programs side by side)

The reader's home is a new folder, build/tutorial. A command that fails ends the run.

Usage: run_tutorial.py FILE.md
"""
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 1200  # seconds, for a block of commands


class Shell:
    """One bash, to which blocks of commands are given."""

    def __init__(self, home):
        environment = dict(os.environ, HOME=str(home), CMAKE_BUILD_PARALLEL_LEVEL=os.environ.get("DOCLOCK_JOBS", "2"))
        # Without it libmongoc prints a warning into a program that has the process id of one that was killed before.
        environment["MONGOC_DISABLE_SHM"] = "1"
        # The reader's own home: but what is compiled already need not be compiled again.
        cache = pathlib.Path.home() / ".cache" / "ccache"
        if "CCACHE_DIR" not in environment and cache.exists():
            environment["CCACHE_DIR"] = str(cache)
        if shutil.which("ccache"):
            environment["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
        self.bash = subprocess.Popen(["timeout", str(LIMIT), "bash"], cwd=ROOT, env=environment, text=True, bufsize=1,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, commands):
        """The output of the commands, and whether each of them succeeded."""
        end = f"end-{uuid.uuid4().hex}"
        self.bash.stdin.write(f"trap 'failed=1' ERR; failed=0\n{commands}\necho; echo {end} $failed\n")
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line.startswith(end):
                if lines and not lines[-1]:
                    lines.pop()
                return lines, line.split()[1] == "0"
            lines.append(line.rstrip("\n"))
        return lines, False

    def folder(self):
        return pathlib.Path(self.run("pwd")[0][-1])


def blocks_of(text):
    """(line, language, lines, marks before it) of each fenced block."""
    marks, block = {}, None
    for number, line in enumerate(text.splitlines(), 1):
        if block is not None:
            if line.startswith("```"):
                yield block
                block, marks = None, {}
            else:
                block[2].append(line)
        elif match := re.match(r"<!-- (file|run): (.+) -->$", line):
            marks[match[1]] = match[2]
        elif match := re.match(r"```(\w+)$", line):
            block = (number, match[1], [], marks)
        elif line.strip() and not line.startswith("<!--"):
            marks = {}


def matches(line, pattern):
    # Only the ellipsis is special.
    return fnmatch.fnmatchcase(line, re.sub(r"([\[*?])", r"[\1]", pattern).replace("…", "*"))


def in_order(lines, wanted):
    if not wanted:
        return not lines
    if wanted[0] == "…":
        return any(in_order(lines[skipped:], wanted[1:]) for skipped in range(len(lines) + 1))
    return bool(lines) and matches(lines[0], wanted[0]) and in_order(lines[1:], wanted[1:])


def in_any_order(lines, wanted):
    left = list(lines)
    for pattern in wanted:
        if pattern == "…":
            continue
        found = next((line for line in left if matches(line, pattern)), None)
        if found is None:
            return False
        left.remove(found)
    return "…" in wanted or not left


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    document = pathlib.Path(sys.argv[1])
    home = ROOT / "build" / "tutorial"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    shell, output, commands = Shell(home), None, 0
    for line, language, lines, marks in blocks_of(document.read_text(encoding="utf-8")):
        if "file" in marks:
            (shell.folder() / marks["file"]).write_text("\n".join(lines) + "\n", encoding="utf-8")
        elif language == "sh":
            print("\n".join(f"$ {command}" for command in lines), flush=True)
            output, good = shell.run("\n".join(lines))
            print("\n".join(output), flush=True)
            commands += len(lines)
            if not good:
                sys.exit(f"{document}:{line}: a command of this block fails")
        elif language == "text" and output is not None:
            compare = in_any_order if marks.get("run") == "any-order" else in_order
            if not compare(output, lines):
                sys.exit(f"{document}:{line}: this is not what the commands before print")
            output = None
    print(f"run_tutorial: {commands} commands of {document} print what it says")


main()
