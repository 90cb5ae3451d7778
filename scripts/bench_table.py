#!/usr/bin/env python3
"""Prints the figures of Google Benchmark's JSON files as one table.

usage: bench_table.py RESULTS.json... [--markdown]

Each benchmark reports the counters floor, ours, ratio and target (see benchmarks/compare.h); any
others are shown behind.
"""
import json
import sys

KNOWN = {"floor", "ours", "ratio", "target", "at_most", "ratio_min", "ratio_max"}
STANDARD = {"name", "run_name", "run_type", "repetitions", "repetition_index", "threads", "iterations",
            "real_time", "cpu_time", "time_unit", "family_index", "per_family_instance_index"}


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def row(figure):
    target = figure.get("target", 0)
    reached = (figure["ratio"] <= target) if figure.get("at_most") else (figure["ratio"] >= target)
    sign = "≤" if figure.get("at_most") else "≥"
    spread = (f"{figure['ratio_min']:.2f}–{figure['ratio_max']:.2f}" if "ratio_min" in figure else "")
    others = ", ".join(f"{name} {number(value)}" for name, value in figure.items()
                       if name not in KNOWN | STANDARD and isinstance(value, (int, float)))
    return [figure["name"].replace("/iterations:1", ""), number(figure["floor"]), number(figure["ours"]),
            f"{figure['ratio']:.2f}", spread, f"{sign} {target:g}" if target else "",
            ("yes" if reached else "NO") if target else "", others]


def main():
    files = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not files or "--help" in sys.argv:
        sys.exit(__doc__)
    rows = [["work", "floor", "ours", "ratio", "spread", "target", "reached", "besides"]]
    for path in files:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if not text.strip():
            continue
        rows += [row(f) for f in json.loads(text)["benchmarks"] if "ratio" in f and not f.get("error_occurred")]
    if "--markdown" in sys.argv:
        rows.insert(1, ["---"] * len(rows[0]))
        print("\n".join("| " + " | ".join(r) + " |" for r in rows))
        return
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for r in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(r, widths)).rstrip())


main()
