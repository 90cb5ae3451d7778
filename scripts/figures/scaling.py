#!/usr/bin/env python3
"""How far it scales: what bench_scaling measured, kept in docs/figures/scaling.json, and the tables of
docs/reference/performance.md that are made from it, beside the predictions of benchmarks/scaling_model.py.

Run by itself, it prints predicted and measured cycles, and fails if a prediction is off by more than 1.5 times."""
import datetime
import json
import pathlib
import re
import sys

import tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import scaling_model as model  # noqa: E402

FACTOR = 1.5
PLACE = re.compile(r"(<!-- scaling: (\w+) -->\n).*?(<!-- end of scaling -->)", re.DOTALL)
COUNTERS = ("ms", "rate", "low", "high", "p50_ms", "client_us", "bytes")
STORES = {"memory": "memory", "sqlite": "SQLite, `sync=full`", "sqlite_normal": "SQLite, `sync=normal`",
          "postgresql": "PostgreSQL", "mongodb": "MongoDB, three members"}
FAR = {"postgresql_far": "PostgreSQL, 2 ms further away", "mongodb_far": "MongoDB, 2 ms further away"}
LOADS = {"callers:1": "1 caller", "callers:8": "8 callers", "callers:32": "32 callers", "callers:100": "100 callers",
         "hot:8": "8 callers, one document", "processes:8": "8 processes, one document"}
# Store, round trip and flush in ms, and what has them.
EXAMPLES = [("sqlite", 0, 0.1, "a local NVMe disk"), ("sqlite", 0, 1, "a network disk"), ("sqlite", 0, 8, "a hard disk"),
            ("postgresql", 0.2, 0.5, "the same rack, SSD"), ("postgresql", 1, 1, "another zone, network disk"),
            ("postgresql", 20, 1, "another region"), ("mongodb", 0.2, 0.7, "members in one rack, SSD"),
            ("mongodb", 1, 2, "members in three zones"), ("mongodb", 20, 21, "members in three regions")]


def solve(measured, low, high, rate):
    """Where the falling `rate` is `measured`."""
    for _ in range(18):
        middle = (low + high) / 2
        low, high = (middle, high) if rate(middle) > measured else (low, middle)
    return (low + high) / 2


def calibrate(figures, cores=2):
    """From one caller, a hundred callers and eight processes of the nearest deployment."""
    costs = {}
    for name, store in model.STORES.items():
        trip, flush = places(figures)[name]
        alone, many = figures[f"{name}/callers:1"], figures[f"{name}/callers:100"]
        client = many["client_us"] / 2

        def made(each):
            own = max(1, client - each) if store.own_server else client
            call = max(0, 1e6 / alone["rate"] / 2 - (trip + flush) * 1000 - own - each)
            return model.Costs(own, call, each, 0)
        each = solve(many["rate"], 0.5, 1e6 / alone["rate"] / 2,
                     lambda each: model.predict(name, made(each), trip, flush, 100, cores=cores).rate)
        cost = made(each)
        hot = 1e6 / model.predict(name, cost, trip, flush, processes=8, cores=cores).rate
        news = max(0, 1e6 / figures[f"{name}/processes:8"]["rate"] - hot)
        costs[name] = model.Costs(*(round(value, 1) for value in cost[:3]), round(news, 1))
    return costs


def places(figures):
    """Deployment -> its round trip and its flush, as they were measured."""
    found = {"sqlite": (0, figures["sqlite/flush"]["ms"]), "sqlite_normal": (0, 0)}
    for name in ("postgresql", "postgresql_far", "mongodb", "mongodb_far"):
        found[name] = (figures[f"{name}/round_trip"]["ms"], figures[f"{name}/flush"]["ms"])
    return found


def compared(kept):
    """(deployment, load, whether the constants come from it, prediction, measured) for all that was measured."""
    figures, costs = kept["figures"], {name: model.Costs(*values) for name, values in kept["costs"].items()}
    for place, (trip, flush) in places(figures).items():
        name = place.split("_")[0]
        loads = [(f"callers:{n}", {"callers": n}) for n in (1, 8, 32, 100)]
        loads += [("hot:8", {"callers": 8, "hot": True}), ("processes:8", {"processes": 8})]
        for load, words in loads:
            fitted = place == name and load in ("callers:1", "callers:100", "processes:8")
            yield place, load, fitted, model.predict(name, costs[name], trip, flush, **words), figures[f"{place}/{load}"]


def check(kept):
    """Fails if a prediction is off by more than FACTOR."""
    wrong = 0
    for place, load, fitted, prediction, measured in compared(kept):
        ratio = prediction.rate / measured["rate"]
        off = not fitted and not is_near(ratio)
        wrong += off
        print(f"{place:15} {load:12} predicted {prediction.rate:9,.0f}  measured {measured['rate']:9,.0f}  {ratio:5.2f}"
              f"{' fitted' if fitted else ''}{' OFF' if off else ''}  limit: {prediction.limit}")
    sys.exit(f"scaling: {wrong} predictions are off by more than {FACTOR} times" if wrong else 0)


def is_near(ratio):
    return 1 / FACTOR < ratio < FACTOR


def kept():
    return json.loads(model.KEPT.read_text(encoding="utf-8")) if model.KEPT.exists() else {"figures": {}}


def with_results(results):
    """What is kept, with these results. Figures that they lack stay; the model's constants are measured again."""
    known = kept()
    measured = json.loads(pathlib.Path(results).read_text(encoding="utf-8"))
    known["busy"] = float(measured["context"].get("busy", 0))
    for figure in measured["benchmarks"]:
        if not figure.get("error_occurred"):
            known["figures"][figure["run_name"].removesuffix("/iterations:1")] = {
                name: float(f"{figure[name]:.4g}") for name in COUNTERS if name in figure}
    known["measured"] = datetime.date.today().isoformat()
    known["costs"] = calibrate(known["figures"])
    return known


def keep(results):
    model.KEPT.write_text(json.dumps(with_results(results), indent=1) + "\n", encoding="utf-8")


def terminal(results, works):
    return "\n\n".join(texts(with_results(results), works).values())


def table(head, rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] + ["---:"] * (len(head) - 1), *rows])


def number(value):
    return tables.number(float(f"{value:.3g}"))


def rate(figure):
    if not figure:
        return "–"
    return f"{number(figure['rate'])} ({number(figure['low'])}–{number(figure['high'])})"


def cycles(figures):
    return table(["cycles per second", *LOADS.values()],
                 [[text, *(rate(figures.get(f"{store}/{load}")) for load in LOADS)]
                  for store, text in {**STORES, **FAR}.items()])


def latency(figures):
    loads = [load for load in LOADS if load != "processes:8"]
    return table(["median of a cycle, ms", *(LOADS[load] for load in loads), "processor of the program, µs, 100 callers"],
                 [[text, *(number(figures[f"{store}/{load}"]["p50_ms"]) for load in loads),
                   number(figures[f"{store}/callers:100"]["client_us"])] for store, text in {**STORES, **FAR}.items()])


def documents(figures):
    found = {}
    for name, figure in figures.items():
        if "/documents:" in name:
            found.setdefault(name.split("/")[0], []).append((int(name.split(":")[1]), figure["rate"]))
    rows = []
    for store, pairs in found.items():
        (_, few), (count, many) = sorted(pairs)
        rows.append([STORES[store], number(few), f"{number(many)} (of {count:,})", f"{many / few:.2f}"])
    return table(["cycles per second of 8 callers", "among 1,000 documents", "among many", "ratio"], rows)


def waiters(figures):
    rows = [[f"{int(name.split(':')[1]):,}", number(figure["bytes"]), number(figure["rate"])]
            for name, figure in figures.items() if name.startswith("waiters:")]
    return table(["waiters of one document, 10,000 in all", "bytes for each", "granted per second, memory"], rows)


def leases(works):
    """`works`: the rounds that docs/reference/performance.md has too."""
    rows = []
    for text, name, rounds, held in (("SQLite, `sync=full`", "Renewals/sync:0", 10_000, 1), ("PostgreSQL", "PostgresqlRenewals", 1, None),
                                     ("MongoDB, three members", "MongodbRenewals", 1, 2)):
        renewals = tables.middle(works[name].ours) * rounds
        besides = works[f"TenThousandHeld/store:{held}"].besides if held else {}
        rows.append([text, number(renewals), number(renewals * 10), *(
            number(besides[part]) if part in besides else "–" for part in ("cpu_us_each_round", "bytes_each"))])
    return table(["store", "renewals per second", "so many leases of 30 s keep it busy",
                  "processor of the program for a renewal, µs", "bytes of a held named lock"], rows)


def prediction(kept):
    rows, near, all_made = {}, 0, 0
    for place, load, fitted, made, measured in compared(kept):
        ratio = made.rate / measured["rate"]
        rows.setdefault(place, []).append(f"*{ratio:.2f}*" if fitted else f"{ratio:.2f}")
        near += not fitted and is_near(ratio)
        all_made += not fitted
    return (table(["predicted / measured", *LOADS.values()],
                  [[{**STORES, **FAR}[place], *cells] for place, cells in rows.items()])
            + f"\n\n{near} of {all_made} predictions are within {FACTOR} times.")


def costs(kept):
    return table(["µs", "the program, for an operation", "the store, for a call", "the store, for each operation in it",
                  "news to another process"],
                 [[STORES[name], *(number(value) for value in values)] for name, values in kept["costs"].items()])


def examples(kept):
    rows = []
    for store, trip, flush, text in EXAMPLES:
        made = [model.predict(store, model.Costs(*kept["costs"][store]), trip, flush, **load) for load in (
            {}, {"callers": 100}, {"callers": 8, "hot": True}, {"processes": 8})]
        rows.append([f"{STORES[store].split(',')[0]}: {text}", f"{trip:g}", f"{flush:g}", *(number(one.rate) for one in made),
                     f"{made[0].limit}; {made[1].limit}"])
    return table(["deployment", "round trip, ms", "flush, ms", *(LOADS[load] for load in (
        "callers:1", "callers:100", "hot:8", "processes:8")), "limit of 1 caller; of 100"], rows)


def texts(kept, works):
    """Place of the page -> its text."""
    figures = kept["figures"]
    near = {name: f"{trip:.2g} ms to {STORES[name].split(',')[0]}" for name, (trip, _) in places(figures).items() if name in STORES}
    machine = (f"Measured on {kept['measured']}: a flush of 8 KB took {figures['sqlite/flush']['ms']:.2g} ms, a round trip "
               f"{near['postgresql']} and {near['mongodb']}.")
    if kept["busy"] > 0.1:
        machine += (f"\n**Other programs used {kept['busy']:.0%} of the processors**: all rates are too low, and the predictions "
                    "below are off.")
    return {"machine": machine,
            "cycles": cycles(figures), "latency": latency(figures), "documents": documents(figures),
            "waiters": waiters(figures), "leases": leases(works), "prediction": prediction(kept), "costs": costs(kept),
            "examples": examples(kept)}


def made(page, works):
    """The page, with what stands between its marks made anew."""
    found = texts(kept(), works)
    return PLACE.sub(lambda match: f"{match[1]}\n{found[match[2]]}\n\n{match[3]}", page)


if __name__ == "__main__":
    check(kept())
