#!/usr/bin/env python3
"""Makes tables and pictures of the rounds that run.py wrote.

usage: report.py RAW [FOLDER]   prints the tables; with FOLDER also draws peers.svg and peers.png there (matplotlib)
       report.py --docs         makes docs/figures/peers.svg and their tables in docs/reference/performance.md from docs/figures/rounds/peers.jsonl
       report.py --check        only compares them with that file; needs no matplotlib
"""
import collections
import json
import pathlib
import re
import statistics
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "performance.md"
KEPT = ROOT / "docs" / "figures" / "rounds" / "peers.jsonl"
PICTURE = ROOT / "docs" / "figures" / "peers.svg"

LABELS = {
    "doclock-document": "**doclock**, document, MongoDB",
    "by-hand": "by hand, document, MongoDB",
    "postgres": "`FOR UPDATE`, document, PostgreSQL",
    "doclock-name": "**doclock**, name, MongoDB",
    "pipeline": "DistributedLock's commands, name, MongoDB",
    "mongo-lock": "mongo-lock's commands, name, MongoDB",
    "etcd": "Mutex, name, etcd",
    "redis": "`SET NX`, name, Redis",
    "doclock-sqlite": "**doclock**, document, SQLite",
    "doclock-sqlite-name": "**doclock**, name, SQLite",
    "sqlite-table": "lock table, document, SQLite",
    "flock": "`flock` and `fsync`, document, file",
}
# With what of doclock each peer is compared.
OURS = {"by-hand": "doclock-document", "postgres": "doclock-document", "pipeline": "doclock-name",
        "mongo-lock": "doclock-name", "etcd": "doclock-name", "redis": "doclock-name", "sqlite-table": "doclock-sqlite",
        "flock": "doclock-sqlite"}

# The columns of the tables: the heading, the scenario, the value, and whether less is better.
TABLES = {
    "Documents of their own, cycles per second": [
        ("1 caller", "own-1", "per_second"), ("8 callers", "own-8", "per_second"),
        ("100 callers", "own-100", "per_second"), ("100 callers, p99 ms", "own-100", "p99_ms")],
    "One hot document: 8 callers of 1 process, and 1 caller of 8 processes": [
        ("1 × 8, cycles/s", "hot-1x8", "per_second"), ("1 × 8, Jain", "hot-1x8", "jain"),
        ("8 × 1, cycles/s", "hot-8x1", "per_second"), ("8 × 1, p99 ms", "hot-8x1", "p99_ms"),
        ("8 × 1, Jain", "hot-8x1", "jain")],
    "One hot document: 8 callers of 8 processes": [
        ("cycles/s", "hot-8x8", "per_second"), ("p99 ms", "hot-8x8", "p99_ms"), ("Jain", "hot-8x8", "jain")],
    "From a release, or from a `kill -9`, to the next holder in another process, milliseconds": [
        ("hand-over, p50", "turns", "p50_ms"), ("hand-over, longest", "turns", "longest_ms"),
        ("take-over, p50", "take-over", "p50_ms"), ("take-over, longest", "take-over", "longest_ms")],
    "1,000 locks of one process": [
        ("to take, s", "leases", "take_s"), ("to release, s", "leases", "release_s"),
        ("client's CPU, %", "leases", "client_cpu_percent"), ("servers' CPU, %", "leases", "server_cpu_percent"),
        ("lost", "leases", "lost")],
}

# What a peer is compared by: the scenario, what it is called, the value, and whether less is better.
COMPARED = [
    ("own-1", "own documents, 1 caller", "per_second", False),
    ("own-8", "own documents, 8 callers", "per_second", False),
    ("own-100", "own documents, 100 callers", "per_second", False),
    ("hot-1x8", "hot document, 1 × 8", "per_second", False),
    ("hot-8x1", "hot document, 8 × 1", "per_second", False),
    ("hot-8x8", "hot document, 8 × 8", "per_second", False),
    ("hot-8x1", "p99 of the hot document, 8 × 1", "p99_ms", True),
    ("hot-8x8", "p99 of the hot document, 8 × 8", "p99_ms", True),
    ("turns", "hand-over", "p50_ms", True),
    ("take-over", "take-over after `kill -9`", "p50_ms", True),
    ("leases", "1,000 locks, taking them", "take_s", True),
    ("leases", "1,000 locks, the client's processor time", "client_cpu_percent", True),
    ("leases", "1,000 locks, the servers' processor time", "server_cpu_percent", True),
]
NOTICEABLE = 1.1

REASONS = {
    "by-hand": "Its filters name the lock alone. doclock's also check the version, the kind of lock and the lease by "
               "the server's clock, so that a lost reply can be settled and a late holder is refused. On a hot document "
               "the caller that has just unlocked often takes the lock again before a poller asks; the others "
               "wait for it, which its p99 and Jain show. Its take-over may be early or late by the difference of the "
               "clients' clocks, which is nothing on one machine.",
    "pipeline": "Its filter is `_id` alone, and its release deletes the name's document, and with it the fence. doclock "
                "keeps the name and its fence. On a hot document the caller that has just unlocked often takes the "
                "lock again; the others sleep for up to 800 ms.",
    "mongo-lock": "On a hot document the caller that has just unlocked often takes the lock again before a poller asks; "
                  "the others wait for it.",
    "etcd": "A lock is a small key, and one entry in a log whose flush many writes share. All locks of a session share "
            "one lease, so a thousand cost one keep-alive. A waiter's place is a key that was written before its turn, "
            "so a hand-over is one write and one event. (The server tells a watch that is younger than 100 ms late. "
            "That limits hot documents.)",
    "postgres": "It is one server without a replica, so a commit is one flush of one disk, and waits for no other "
                "member. The lock is a mark on the row that is not flushed by itself. It ends with the connection: "
                "nothing has to be renewed, and the server notices a killed client at once. A client that is paused, "
                "or cut off without a reset, keeps the row.",
    "redis": "It is one server without a replica, which keeps its keys in memory and flushes one short line per "
             "command. No document is stored, and the lock has no fence.",
    "sqlite-table": "The caller that has just unlocked often takes the lock again before a poller asks; the others wait "
                    "for it.",
    "flock": "The lock is in the kernel's memory, and a cycle is one flush of one file, without a log beside it. It "
             "ends with the process, and is for programs of one machine.",
}


def read(path):
    """The rounds as {(scenario, subject): [record, ...]}, and the headers of the runs."""
    rounds, runs = collections.defaultdict(list), []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "run" in record:
            runs.append(record["run"])
        else:
            rounds[record["scenario"], record["subject"]].append(record)
    return rounds, runs


def values(rounds, scenario, subject, name):
    found = [record[name] for record in rounds.get((scenario, subject), []) if record.get(name) is not None]
    if name == "server_cpu_percent" and not any(found):  # it has no server
        return []
    return found


def number(value):
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def cell(found):
    if not found:
        return "–"
    low, high = number(min(found)), number(max(found))
    median = number(statistics.median(found))
    return median if low == high else f"{median} ({low}–{high})"


def table(rounds, title, columns):
    rows = [[""] + [heading for heading, *_ in columns], ["---"] + ["---:"] * len(columns)]
    for subject, label in LABELS.items():
        cells = [cell(values(rounds, scenario, subject, name)) for _, scenario, name in columns]
        if any(text != "–" for text in cells):
            rows.append([label] + cells)
    if len(rows) == 2:
        return []
    return [f"### {title}", "", *("| " + " | ".join(row) + " |" for row in rows), ""]


def faster(rounds):
    """Where each peer is faster than doclock, and why."""
    lines = []
    for peer, ours in OURS.items():
        where = []
        for scenario, what, name, less in COMPARED:
            theirs, mine = values(rounds, scenario, peer, name), values(rounds, scenario, ours, name)
            if not theirs or not mine:
                continue
            ratio = statistics.median(theirs) / max(statistics.median(mine), 1e-9)
            ratio = 1 / max(ratio, 1e-9) if less else ratio
            if ratio >= NOTICEABLE:
                where.append(f"{what} ({number(ratio)} ×)")
        if where:
            lines.append(f"- **{LABELS[peer].replace('`', '')}**: {', '.join(where)}. {REASONS[peer]}")
    return lines


def judged(rounds):
    """Sentences on what was left out, what failed, and whether the locks excluded."""
    records = [record for part in rounds.values() for record in part]
    failed = [record for record in records if "failed" in record]
    cycles = [record for record in records if "violations" in record]
    broken = sorted({record["subject"] for record in cycles if record["violations"]})
    lines = [f"In {len(cycles):,} rounds, " + ("no two callers held a lock at the same time." if not broken else
             "two callers held a lock at the same time with: " + ", ".join(broken) + ".")]
    if failed:
        names = ", ".join(f"{record['subject']} in {record['scenario']}" for record in failed)
        lines.append(f"Rounds that failed, and are not in the tables: {names}.")
    return lines


def about(runs):
    last = runs[-1]
    lines = [f"{last['system']}, {last['cpus']} processors, which servers and clients share. "
             f"Servers: {'; '.join(dict.fromkeys(name for run in runs for name in run['servers']))}. "
             f"Each cell is the median of the rounds, and (least–most)."]
    lines += dict.fromkeys(run["note"] for run in runs if run["note"])
    left_out = {name: reason for run in runs for name, reason in run["left_out"].items()}
    if left_out:
        lines.append("Left out: " + ", ".join(f"{name} ({reason})" for name, reason in left_out.items()) + ".")
    return lines


def text(rounds, runs):
    lines = about(runs) + judged(rounds) + [""]
    for title, columns in TABLES.items():
        lines += table(rounds, title, columns)
    return "\n".join(lines + ["### Where a peer is faster, and why", ""] + (faster(rounds) or ["Nowhere."])) + "\n"


PANELS = [("own-1", "per_second", "own documents, 1 caller: cycles/s"),
          ("own-8", "per_second", "own documents, 8 callers: cycles/s"),
          ("own-100", "per_second", "own documents, 100 callers: cycles/s"),
          ("hot-1x8", "per_second", "hot document, 1 × 8: cycles/s"),
          ("hot-8x1", "per_second", "hot document, 8 × 1: cycles/s"),
          ("hot-8x8", "per_second", "hot document, 8 × 8: cycles/s"),
          ("hot-8x1", "p99_ms", "hot document, 8 × 1: p99, ms (less is better)"),
          ("turns", "p50_ms", "hand-over: ms (less is better)"),
          ("take-over", "p50_ms", "take-over after kill -9: ms (less is better)")]


INK, GREY, GRID, GROUND, OURS_COLOUR, THEIRS_COLOUR = "#1d2b3f", "#5b6570", "#e3e7ec", "#ffffff", "#b3560c", "#2f5d9b"
# The same picture for readers who prefer a dark ground.
DARK = "<style>@media (prefers-color-scheme: dark) {" + " ".join(
    f'[style*="fill: {light}"] {{ fill: {dark} !important }} [style*="stroke: {light}"] {{ stroke: {dark} !important }}'
    for light, dark in ((INK, "#e6e9ee"), (GREY, "#aab3be"), (GRID, "#363c48"), (GROUND, "#1e2129"),
                        (OURS_COLOUR, "#f0a35e"), (THEIRS_COLOUR, "#86b1ec"))) + "}</style>\n"


def draw(rounds, paths):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "doclock", "font.family": "sans-serif",
                         "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"], "font.size": 8,
                         "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": GREY, "xtick.color": GREY,
                         "xtick.labelcolor": GREY, "ytick.labelcolor": INK, "axes.facecolor": GROUND})
    subjects = [name for name in LABELS if any(name == subject for _, subject in rounds)]
    labels = [LABELS[name].replace("*", "").replace("`", "") for name in subjects]
    figure, axes = plt.subplots(3, 3, figsize=(12, 0.62 * len(subjects) + 2.5), sharey=True)
    for axis, (scenario, name, title) in zip(axes.flat, PANELS):
        for row, subject in enumerate(reversed(subjects)):
            found = values(rounds, scenario, subject, name)
            if not found:
                continue
            colour = OURS_COLOUR if subject.startswith("doclock") else THEIRS_COLOUR
            axis.plot([min(found), max(found)], [row, row], color=colour, linewidth=2.5, alpha=0.45)
            axis.plot([statistics.median(found)], [row], "o", color=colour, markersize=5)
            axis.annotate(number(statistics.median(found)), (max(found), row), xytext=(6, -3),
                          textcoords="offset points", fontsize=7, color=GREY)
        axis.set_xscale("log")
        axis.minorticks_off()
        axis.xaxis.set_major_formatter("{x:g}")
        axis.margins(x=0.18)
        axis.set_ylim(-0.7, len(subjects) - 0.3)
        axis.set_yticks(range(len(subjects)), list(reversed(labels)))
        axis.set_title(title, loc="left", fontsize=8.5)
        axis.grid(axis="x", color=GRID)
        axis.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axis.spines[side].set_visible(False)
        axis.tick_params(axis="y", length=0)
    figure.tight_layout()
    for path in paths:
        bare = {"Date": None, "Creator": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=bare, facecolor=GROUND, dpi=120)
    plt.close(figure)


def mark():
    return f"<!-- made from peers.jsonl, {zlib.crc32(KEPT.read_bytes())} -->\n"


def with_tables(page, made):
    """The page, with what stands between its two markers replaced."""
    return re.sub(r"(<!-- peers: begin -->\n).*(<!-- peers: end -->)", lambda match: match[1] + made + match[2], page,
                  flags=re.DOTALL)


def documents(check):
    rounds, runs = read(KEPT)
    page = PAGE.read_text(encoding="utf-8")
    wanted = with_tables(page, "\n" + text(rounds, runs) + "\n")
    if check:
        drawn = PICTURE.exists() and PICTURE.read_text(encoding="utf-8").endswith(mark())
        if page != wanted or not drawn:
            sys.exit("report: docs/reference/performance.md or docs/figures/peers.svg is not made from docs/figures/rounds/peers.jsonl; "
                     "run benchmarks/peers/report.py --docs")
        return
    draw(rounds, [PICTURE])
    bare = re.sub(r"[ \t]+$", "", PICTURE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    PICTURE.write_text(bare.replace("<defs>", DARK + "<defs>", 1).rstrip("\n") + "\n" + mark(), encoding="utf-8")
    PAGE.write_text(wanted, encoding="utf-8")


def main():
    arguments = sys.argv[1:]
    if arguments in (["--docs"], ["--check"]):
        return documents(arguments == ["--check"])
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    rounds, runs = read(pathlib.Path(arguments[0]))
    print(text(rounds, runs))
    if len(arguments) == 2:
        folder = pathlib.Path(arguments[1])
        try:
            draw(rounds, [folder / "peers.svg", folder / "peers.png"])
        except ImportError:
            print("report: no pictures, because matplotlib is not installed", file=sys.stderr)
    return None


main()
