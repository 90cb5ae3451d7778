#!/usr/bin/env python3
"""Keeps what the benchmarks measured, and makes the tables and pictures of docs/reference/ from it.

    figures.py table RESULTS.json...    prints results of Google Benchmark as one table
    figures.py keep RESULTS.json...     puts their rounds into docs/figures/rounds, one file for each program
    figures.py make                     writes the tables into docs/reference/performance.md, and the pictures
                                        docs/figures/*.svg
    figures.py --check                  fails if `make` would change anything

docs/figures/works.toml describes the works, and scaling.py those of bench_scaling. A table stands between
<!-- figures: NAME --> and <!-- end of figures -->.
"""
import pathlib
import re
import sys
import tomllib

import measured
import ratio_plot
import scaling
import tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "reference" / "performance.md"
FIGURES = ROOT / "docs" / "figures"
PLACE = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def program(file):
    return pathlib.Path(file).stem.removeprefix("bench_")


def kept():
    works = {}
    for path in sorted((FIGURES / "rounds").glob("*.json")):
        works.update(measured.of_kept(path))
    return works


def made():
    """The text of each file that is made: path -> text."""
    description = tomllib.loads((FIGURES / "works.toml").read_text(encoding="utf-8"))
    works = kept()
    described = {work["name"] for group in description["group"] for work in group["work"]}
    if strangers := sorted(set(works) - described):
        sys.exit(f"figures: docs/figures/works.toml does not describe {', '.join(strangers)}")
    found, texts, overview = {}, {}, []
    for group in description["group"]:
        pairs = [(work, works[work["name"]]) for work in group["work"] if work["name"] in works]
        overview += [(work["overview"], figure) for work, figure in pairs if "overview" in work]
        texts[group["name"]] = tables.markdown(pairs, description["besides"])
        found[FIGURES / f"{group['name']}.svg"] = ratio_plot.svg(
            f"{group['title']}: the ratio of doclock's figures to their floors",
            [(work["label"], figure) for work, figure in pairs])
    found[FIGURES / "overview.svg"] = ratio_plot.svg("The ratio of doclock's figures to their floors", overview)
    page = DOCUMENT.read_text(encoding="utf-8")
    if missing := set(texts) - {match[1] for match in PLACE.findall(page)}:
        sys.exit(f"figures: docs/reference/performance.md has no place for {', '.join(sorted(missing))}")
    page = PLACE.sub(lambda match: f"{match[1]}\n{texts[match[2]]}\n\n{match[3]}", page)
    found[DOCUMENT] = scaling.made(page, works)
    return found


def make(check):
    stale = [(path, text) for path, text in made().items()
             if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path, text in stale:
        if not check:
            path.write_text(text, encoding="utf-8")
        print(f"figures: {path.relative_to(ROOT)}{' is not what the rounds say' if check else ''}",
              file=sys.stderr if check else sys.stdout)
    if check and stale:
        sys.exit("figures: run scripts/figures/figures.py make")


def main():
    command, files = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    if command in ("make", "--check") and not files:
        make(command == "--check")
    elif command == "table" and files:
        print(tables.terminal([work for file in files for work in measured.of_results(file).values()]))
        for file in (file for file in files if program(file) == "scaling"):
            print(scaling.terminal(file, kept()))
    elif command == "keep" and files:
        for file in files:
            if program(file) == "scaling":
                scaling.keep(file)
            elif works := measured.of_results(file):
                measured.keep(FIGURES / "rounds" / f"{program(file)}.json", works)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
