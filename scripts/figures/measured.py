"""What was measured: the rounds of each work, from Google Benchmark's results or from docs/figures/rounds."""
import dataclasses
import datetime
import json
import pathlib

# Counters that are no figure of their own (see benchmarks/compare.h).
KNOWN = {"floor", "ours", "ratio", "target", "at_most", "ratio_min", "ratio_max"}
STANDARD = {"repetitions", "repetition_index", "threads", "iterations", "real_time", "cpu_time", "family_index",
            "per_family_instance_index"}


def median(values):
    return sorted(values)[len(values) // 2]


@dataclasses.dataclass
class Measured:
    """One work: floor and subject were measured in turn, once in each round."""
    name: str
    measured: str  # the day
    floor: list
    ours: list
    target: float = 0  # 0: none
    at_most: bool = False
    besides: dict = dataclasses.field(default_factory=dict)
    summary: list = None  # the median ratio, the lowest and the highest, of a work whose rounds were not kept

    @property
    def ratios(self):
        """Of the rounds that were kept."""
        return [] if self.summary else [ours / floor for floor, ours in zip(self.floor, self.ours)]

    @property
    def ratio(self):
        return self.summary[0] if self.summary else median(self.ratios)

    @property
    def extent(self):
        """The lowest and the highest ratio."""
        return tuple(self.summary[1:]) if self.summary else (min(self.ratios), max(self.ratios))

    @property
    def reached(self):
        """None: there is no target."""
        if not self.target:
            return None
        return self.ratio <= self.target if self.at_most else self.ratio >= self.target


def rounds_of(figure):
    if "label" in figure:
        rounds = json.loads(figure["label"])
        return rounds["floor"], rounds["ours"]
    return [figure["floor"]], [figure["ours"]]


def of_results(path):
    """The works in a JSON file of Google Benchmark. Repetitions of a work are further rounds of it."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    works = {}
    for figure in json.loads(text)["benchmarks"] if text.strip() else []:
        if "ratio" not in figure or figure.get("error_occurred") or figure.get("run_type") == "aggregate":
            continue
        name = figure["run_name"].replace("/iterations:1", "").split("/repeats:")[0]
        floor, ours = rounds_of(figure)
        if name in works:
            works[name].floor += floor
            works[name].ours += ours
            continue
        besides = {key: value for key, value in figure.items()
                   if key not in KNOWN | STANDARD and isinstance(value, (int, float)) and not isinstance(value, bool)}
        works[name] = Measured(name, datetime.date.today().isoformat(), floor, ours, figure.get("target", 0),
                               bool(figure.get("at_most")), besides)
    return works


def of_kept(path):
    works = [Measured(**work) for work in json.loads(path.read_text(encoding="utf-8"))["works"]]
    return {work.name: work for work in works}


def short(value):
    """A number with five digits: more are noise."""
    return float(f"{value:.5g}") if isinstance(value, float) else value


def keep(path, works):
    """Writes the works over those of the same names, one line each."""
    kept = of_kept(path) if path.exists() else {}
    for name, work in works.items():
        kept[name] = dataclasses.replace(work, floor=[short(v) for v in work.floor], ours=[short(v) for v in work.ours],
                                         besides={k: short(v) for k, v in work.besides.items()})
    lines = ",\n".join("  " + json.dumps({key: value for key, value in dataclasses.asdict(kept[name]).items() if value is not None})
                       for name in sorted(kept))
    path.write_text('{"works": [\n' + lines + "\n]}\n", encoding="utf-8")
