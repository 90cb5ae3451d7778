#!/usr/bin/env python3
"""Turns the C++ blocks of Markdown files into source files, so that what the documents show is compiled and run.

Every block fenced as ```cpp is taken. An HTML comment before it says what to do with it:

    <!-- snippet: KIND [name=NAME] [prelude=NAME,...] -->

KIND is
    compile   statements, put into a function that is compiled (what a block without a comment gets)
    declare   declarations, put at the level of a file and compiled
    run       statements that are compiled and run as a test
    skip      nothing

A block that defines main is a program of its own, whatever it is called otherwise. Lines with #include go to the top.
A block in which co_await occurs becomes a coroutine.

A prelude stands in front of a block: an earlier block of the same document that has that name, or docs/snippets/NAME.h
(at the level of a file) and docs/snippets/NAME.inc (inside the function). Those called "default" stand in front of
every block that is not a program.

Usage: extract_snippets.py --root DIR --out DIR FILE.md...

It writes one .cpp for each block, and snippets.cmake, which lists them. A file is named after its document and the
block's name or number, as docs_how_to_outbox_outbox.cpp: tests include those of blocks with a name.
"""

import argparse
import pathlib
import re
import sys

MARK = re.compile(r"^\s*<!--\s*snippet:\s*(?P<body>.*?)\s*-->\s*$")
FENCE = re.compile(r"^(?P<indent>\s*)```+\s*(?P<lang>[\w+]*)\s*$")
KINDS = ("compile", "declare", "run", "skip")


class Block:
    def __init__(self, document, line, kind, name, preludes, lines):
        self.document = document
        self.line = line  # of the first line of code, from 1
        self.kind = kind
        self.name = name
        self.preludes = preludes
        self.lines = lines
        self.text = "\n".join(lines)
        self.is_program = re.search(r"^int main\(", self.text, re.M) is not None


def fail(document, line, message):
    sys.exit(f"{document}:{line}: {message}")


def parse_mark(document, line, body):
    words = body.split()
    kind = words[0] if words else "compile"
    if kind not in KINDS:
        fail(document, line, f'unknown kind of snippet "{kind}" (one of: {", ".join(KINDS)})')
    name, preludes = None, []
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key == "name" and value:
            name = value
        elif key == "prelude" and value:
            preludes = value.split(",")
        else:
            fail(document, line, f'cannot read "{word}" (name=NAME or prelude=NAME,...)')
    return kind, name, preludes


def blocks_of(root, path):
    document = path.relative_to(root).as_posix()
    mark = None
    fence = None
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if fence is not None:
            lang, start, indent, lines = fence
            if line.strip().startswith("```"):
                if lang == "cpp":
                    kind, name, preludes = mark or ("compile", None, [])
                    found.append(Block(document, start, kind, name, preludes, lines))
                fence = mark = None
            else:
                lines.append(line[len(indent):] if line.startswith(indent) else line)
            continue
        marked = MARK.match(line)
        opened = FENCE.match(line)
        if marked:
            mark = parse_mark(document, number, marked["body"])
        elif opened:
            fence = (opened["lang"], number + 1, opened["indent"], [])
        elif line.strip():
            if mark is not None:
                fail(document, number, "a snippet comment must stand right before its block")
    if fence is not None:
        fail(document, fence[1], "this block never ends")
    return found


def located(block):
    """The block's lines, without its #include lines, with the place they come from."""
    lines = ["" if line.startswith("#include") else line for line in block.lines]
    return [f'#line {block.line} "{block.document}"', *lines]


def render(root, block, named):
    snippets = root / "docs" / "snippets"
    file_part, body_part, includes = [], [], []

    def add_file(name):
        known = False
        if (snippets / f"{name}.h").exists():
            includes.append(f'#include "{snippets / name}.h"')
            known = True
        if (snippets / f"{name}.inc").exists():
            body_part.append(f'#include "{snippets / name}.inc"')
            known = True
        return known

    done = set()

    def add(current):
        if id(current) in done:
            return
        done.add(id(current))
        for name in current.preludes:
            if name in named:
                add(named[name])
            elif not add_file(name):
                fail(current.document, current.line, f'there is no prelude "{name}"')
        includes.extend(line for line in current.lines if line.startswith("#include"))
        (file_part if current.kind == "declare" or current.is_program else body_part).extend(located(current))

    if not block.is_program:
        add_file("default")
    add(block)

    out = [f"// From {block.document}, line {block.line}. Made by scripts/extract_snippets.py.", *dict.fromkeys(includes)]
    body = "\n".join(body_part)
    coroutine = re.search(r"\bco_(await|return)\b", body) is not None
    if coroutine:
        out += ["#include <exception>", "#include <boost/asio/awaitable.hpp>", "#include <boost/asio/co_spawn.hpp>",
                "#include <boost/asio/io_context.hpp>"]
    out += file_part
    if body_part:
        out.append('#line 1 "snippet"')
        out.append(f"{'boost::asio::awaitable<void>' if coroutine else 'void'} RunSnippet() {{")
        out += body_part
        if coroutine:
            out.append("co_return;")
        out.append("}")
    if block.kind == "run" and not block.is_program:
        out.append('#line 1 "snippet_main"')
        out.append("int main() {")
        if coroutine:
            out += ["  std::exception_ptr failure;",
                    "  boost::asio::io_context context;",
                    "  boost::asio::co_spawn(context, RunSnippet(), [&](std::exception_ptr e) { failure = e; });",
                    "  context.run();",
                    "  if (failure) std::rethrow_exception(failure);"]
        else:
            out.append("  RunSnippet();")
        out.append("}")
    return "\n".join(out) + "\n"


def write_if_changed(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("documents", type=pathlib.Path, nargs="*")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)

    made = {"compile": [], "run": []}
    for path in arguments.documents:
        named = {}
        count = 0
        for block in blocks_of(root, path.resolve()):
            if block.kind == "skip":
                continue
            count += 1
            if block.name:
                if block.name in named:
                    fail(block.document, block.line, f'there is a snippet "{block.name}" already')
                named[block.name] = block
            stem = re.sub(r"[^a-z0-9]+", "_", path.resolve().relative_to(root).with_suffix("").as_posix().lower())
            target = arguments.out / f"{stem}_{block.name or f'{count:02}'}.cpp"
            write_if_changed(target, render(root, block, named))
            runs = block.kind == "run"
            made["run" if runs else "compile"].append(target.resolve().as_posix())

    listing = ""
    for kind, files in made.items():
        listing += f"set(doclock_snippets_{kind}\n" + "".join(f'    "{name}"\n' for name in files) + ")\n"
    write_if_changed(arguments.out / "snippets.cmake", listing)
    kept = {name for files in made.values() for name in files}
    for stale in arguments.out.glob("*.cpp"):
        if stale.resolve().as_posix() not in kept:
            stale.unlink()


if __name__ == "__main__":
    main()
