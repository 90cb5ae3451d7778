#!/usr/bin/env python3
"""Checks that every row of the tables in docs/maintaining/coming-from.md names its tests, and that they exist.

The last column holds names of tests: `Suite.Test`, and then `Test` for more of the same suite, or `Suite` for all of
it; or `file.script`.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "maintaining" / "coming-from.md"
SCRIPTS = ROOT / "tests" / "conformance" / "suite" / "scripts"
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)


def tests_of_the_project():
    found = set()
    for path in (ROOT / "tests").rglob("*.cpp"):
        found.update(TEST.findall(path.read_text(encoding="utf-8")))
    return found


def mistakes_of(row, tests):
    """What is wrong with the tests that a row names."""
    suites = {suite for suite, _ in tests}
    names = re.findall(r"`([\w.]+)`", row[-1])
    if not names:
        yield "no test is named"
    suite = None
    for name in names:
        if name.endswith(".script"):
            if not (SCRIPTS / name).is_file():
                yield f"there is no script {name}"
            continue
        if "." in name:
            suite, name = name.split(".", 1)
        elif name in suites:
            continue
        if suite is None or (suite, name) not in tests:
            yield f"there is no test {suite}.{name}"


def main():
    tests = tests_of_the_project()
    rows = 0
    failed = False
    for number, line in enumerate(DOCUMENT.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[-1] == "test" or set(cells[-1]) <= set("-: "):
            continue
        rows += 1
        for mistake in mistakes_of(cells, tests):
            print(f"{DOCUMENT.relative_to(ROOT)}:{number}: {mistake}", file=sys.stderr)
            failed = True
    if rows == 0:
        sys.exit(f"{DOCUMENT.relative_to(ROOT)}: there is no table")
    if failed:
        sys.exit(1)
    print(f"check_test_names: the tests of {rows} rows exist")


main()
