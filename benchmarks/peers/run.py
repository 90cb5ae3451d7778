#!/usr/bin/env python3
"""Lets doclock and other ways of locking do the same work in turns, and writes what each round measured.

Starts the servers that are installed, and names what it leaves out. For each turn and each scenario it plays one round
with every subject, in random order. A round is a line of JSON in the raw file, which report.py turns into a table and
pictures. The exit status is 1 if a round failed, or if two callers held a lock at the same time.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import platform
import queue
import random
import statistics
import subprocess
import sys
import threading
import time

import servers

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Subject:
    name: str
    program: str
    kind: str
    server: str


SUBJECTS = [
    Subject("doclock-document", "doclock", "document", "mongodb"),
    Subject("doclock-name", "doclock", "name", "mongodb"),
    Subject("by-hand", "mongodb", "by hand", "mongodb"),
    Subject("pipeline", "mongodb", "pipeline", "mongodb"),
    Subject("mongo-lock", "mongodb", "mongo-lock", "mongodb"),
    Subject("etcd", "etcd", "", "etcd"),
    Subject("postgres", "postgres", "", "postgres"),
    Subject("redis", "redis", "", "redis"),
    Subject("doclock-sqlite", "doclock", "document", "sqlite"),
    Subject("doclock-sqlite-name", "doclock", "name", "sqlite"),
    Subject("sqlite-table", "sqlite", "", "table"),
    Subject("flock", "flock", "", "files"),
    # Locks nothing: it shows that the check of the exclusion works.
    Subject("nothing", "flock", "nothing", "files"),
]
SERVERS = {"mongodb": servers.MongoDB, "etcd": servers.Etcd, "postgres": servers.PostgreSQL, "redis": servers.Redis,
           "sqlite": servers.Files, "table": servers.Files, "files": servers.Files}


@dataclasses.dataclass(frozen=True)
class Scenario:
    play: str
    processes: int
    callers: int
    length: float  # in the unit of --seconds
    ttl_ms: int = 30_000
    fixed: float = 0  # seconds that do not depend on --seconds

    def seconds(self, unit):
        return self.length * unit + self.fixed


SCENARIOS = {
    "own-1": Scenario("own", 1, 1, 1),
    "own-8": Scenario("own", 1, 8, 1),
    "own-100": Scenario("own", 1, 100, 1),
    "hot-1x8": Scenario("hot", 1, 8, 1.2),
    "hot-8x1": Scenario("hot", 8, 1, 2.4),
    "hot-8x8": Scenario("hot", 8, 8, 4),
    "turns": Scenario("turns", 2, 1, 2),
    "leases": Scenario("leases", 1, 8, 0, 6_000, 4),
    "take-over": Scenario("hold", 1, 8, 0, 2_000),
}
PATIENCE = 300  # seconds that a worker may take besides the round's own


class Failed(Exception):
    """What went wrong in a round."""


class Worker:
    """A process, and the lines that it prints."""

    def __init__(self, folder, subject, url, page, play, first, callers, seconds, ttl_ms):
        self.process = subprocess.Popen(
            [folder / f"peer_{subject.program}", subject.kind, url, page, play, str(first), str(callers),
             str(seconds), str(ttl_ms)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def line(self, seconds=PATIENCE):
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise Failed("a worker hangs") from None
        if line is None:
            raise Failed(self.process.stderr.read().strip() or f"a worker ended with {self.process.wait()}")
        return line

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self, seconds=0.0):
        """Ends the process; one that is done has so long to release what it still holds."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdin.closed:
            return
        self.reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def quantile(values, part):
    ordered = sorted(values)
    return ordered[int(part * (len(ordered) - 1))] if ordered else None


def jain(shares):
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0


def rounded(values):
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in values.items()}


class Runner:
    def __init__(self, arguments):
        self.programs = pathlib.Path(arguments.programs)
        self.data = pathlib.Path(arguments.data).resolve()
        self.unit = arguments.seconds
        self.port = arguments.port
        self.running, self.urls, self.left_out = {}, {}, {}

    def start(self, subjects):
        """Starts what the subjects need; returns those that can be played."""
        built = [subject for subject in subjects if (self.programs / f"peer_{subject.program}").exists()]
        self.left_out = {subject.name: "its worker was not built" for subject in subjects if subject not in built}
        for place, name in enumerate(SERVERS):
            if any(subject.server == name for subject in built):
                self.start_server(name, self.port + 10 * place, built)
        return [subject for subject in built if subject.name not in self.left_out and self.prepared(subject)]

    def start_server(self, name, port, subjects):
        try:
            server = SERVERS[name](self.data / name, port)
            self.running[name] = server
            self.urls[name] = server.start()
        except servers.Missing as reason:
            self.left_out.update({subject.name: str(reason) for subject in subjects if subject.server == name})

    def prepared(self, subject):
        try:
            self.prepare(subject)
            return True
        except Failed as reason:
            self.left_out[subject.name] = str(reason)
            return False

    def stop(self):
        for server in self.running.values():
            server.stop()

    def url(self, subject):
        if subject.server == "sqlite":
            return f"sqlite:{self.urls['sqlite']}/doclock.db"
        return self.urls[subject.server] + ("/table.db" if subject.server == "table" else "")

    def worker(self, subject, play, first, callers=1, seconds=0.0, ttl_ms=30_000):
        return Worker(self.programs, subject, self.url(subject), self.data / "page", play, first, callers, seconds,
                      ttl_ms)

    def prepare(self, subject):
        self.clear_page()
        worker = self.worker(subject, "prepare", 0)
        try:
            if worker.process.wait(PATIENCE):
                raise Failed(worker.process.stderr.read().strip())
        except subprocess.TimeoutExpired:
            raise Failed("it cannot be prepared in time") from None
        finally:
            worker.end()

    def clear_page(self):
        (self.data / "page").unlink(missing_ok=True)
        (self.data / "page").touch()

    def counted(self):
        """The sum of the counters in the page."""
        page = (self.data / "page").read_bytes()
        return sum(int.from_bytes(page[place:place + 8], sys.byteorder) for place in range(0, len(page), 64))

    def play(self, subject, scenario):
        self.clear_page()
        workers = []
        try:
            if scenario.play == "hold":
                return self.play_take_over(subject, scenario, workers)
            for process in range(scenario.processes):
                # 0 is the document that all want.
                first = process * scenario.callers + (scenario.play != "own")
                workers.append(self.worker(subject, scenario.play, first, scenario.callers,
                                           scenario.seconds(self.unit), scenario.ttl_ms))
            for worker in workers:
                worker.line()
            for worker in workers:
                worker.go()
            if scenario.play == "leases":
                values = self.judge_leases(subject, workers[0])
            else:
                results = [worker.line(PATIENCE + scenario.seconds(self.unit)) for worker in workers]
                values = self.judge(results, scenario)
            for worker in workers:
                worker.end(PATIENCE)
            return values
        finally:
            for worker in workers:
                worker.end()

    def judge(self, results, scenario):
        cycles = [count for result in results for count in result["cycles"]]
        took = [value / 1000 for result in results for value in result["took_us"]]
        cut = [value / 1000 for result in results for value in result["unfinished_us"]]
        values = {"violations": sum(cycles) - self.counted(), "lost": sum(result["lost"] for result in results),
                  "samples": len(took), "p50_ms": quantile(took, 0.5), "p99_ms": quantile(took + cut, 0.99),
                  "longest_ms": max(took + cut, default=None)}
        if scenario.play != "turns":
            counted = [count for result in results for count in result["counted"]]
            values |= {"per_second": len(took) / results[0]["seconds"], "jain": jain(counted)}
        return values

    def judge_leases(self, subject, worker):
        def used():
            return servers.cpu_seconds(self.running[subject.server].pids())

        worker.line()
        before, start = used(), time.monotonic()
        worker.line()
        server_cpu, kept = used() - before, time.monotonic() - start
        result = worker.line()
        return {"violations": sum(result["cycles"]) - self.counted(), "lost": result["lost"],
                "take_s": result["take_s"], "release_s": result["release_s"],
                "client_cpu_percent": 100 * result["cpu_s"] / kept, "server_cpu_percent": 100 * server_cpu / kept}

    def play_take_over(self, subject, scenario, workers):
        holder = self.worker(subject, "hold", 0, scenario.callers, 0, scenario.ttl_ms)
        workers.append(holder)
        holder.line()
        holder.go()
        holder.line()
        taker = self.worker(subject, "take", 0, scenario.callers, PATIENCE, scenario.ttl_ms)
        workers.append(taker)
        taker.line()
        taker.go()
        time.sleep(random.uniform(0.8, 1.5))
        killed = time.monotonic_ns()
        holder.process.kill()
        took = [(at - killed) / 1e6 for at in taker.line()["at_ns"]]
        taker.end(PATIENCE)
        return {"violations": sum(value < 0 for value in took), "lost": 0, "samples": len(took),
                "p50_ms": statistics.median(took), "longest_ms": max(took)}


def describe(arguments, runner, subjects):
    return {"run": {"turns": arguments.turns, "seconds": arguments.seconds, "cpus": os.cpu_count(),
                    "system": f"{platform.system()} {platform.release().split('-')[0]}",
                    "servers": [server.version for server in runner.running.values() if server.version],
                    "subjects": [subject.name for subject in subjects], "left_out": runner.left_out,
                    "note": arguments.note}}


def chosen(names, known, what):
    wanted = names.split(",") if names else list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"bench_peers: unknown {what} {', '.join(unknown)}; known: {', '.join(known)}")
    return wanted


def parse():
    parser = argparse.ArgumentParser(prog="bench_peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3, help="rounds of each subject in each scenario (3)")
    parser.add_argument("--seconds", type=float, default=1,
                        help="length of a round with documents of their own; others are multiples (1)")
    parser.add_argument("--subjects", help="only these, separated by commas")
    parser.add_argument("--scenarios", help="only these, separated by commas: " + ", ".join(SCENARIOS))
    parser.add_argument("--raw", help="the raw file (peers.jsonl in --data)")
    parser.add_argument("--append", action="store_true", help="add to the raw file")
    parser.add_argument("--note", default="", help="a sentence on the circumstances, for the report")
    parser.add_argument("--check", action="store_true",
                        help="also play the subject that locks nothing, and fail unless that is noticed")
    parser.add_argument("--port", type=int, default=27500, help="the first of 100 ports for servers (27500)")
    parser.add_argument("--programs", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--data", required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def play_turns(arguments, runner, subjects, raw):
    """Plays all rounds; returns what went wrong."""
    wrong = []
    for turn in range(1, arguments.turns + 1):
        for name in chosen(arguments.scenarios, SCENARIOS, "scenarios"):
            for subject in random.sample(subjects, len(subjects)):
                if subject.name == "nothing" and SCENARIOS[name].play != "hot":
                    continue
                record = {"turn": turn, "scenario": name, "subject": subject.name}
                try:
                    record |= rounded(runner.play(subject, SCENARIOS[name]))
                except Failed as reason:
                    record["failed"] = str(reason)
                if "failed" in record or (record["violations"] != 0) != (subject.name == "nothing"):
                    wrong.append(record)
                print(json.dumps(record), file=sys.stderr)
                if subject.name != "nothing":
                    print(json.dumps(record), file=raw, flush=True)
    return wrong


def main():
    arguments = parse()
    default = [subject.name for subject in SUBJECTS if subject.name != "nothing"]
    names = chosen(arguments.subjects, default, "subjects") + (["nothing"] if arguments.check else [])
    runner = Runner(arguments)
    runner.data.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    try:
        subjects = runner.start([subject for subject in SUBJECTS if subject.name in names])
        for name, reason in runner.left_out.items():
            print(f"bench_peers: {name} is left out: {reason}", file=sys.stderr)
        path = arguments.raw or runner.data / "peers.jsonl"
        with open(path, "a" if arguments.append else "w", encoding="utf-8") as raw:
            print(json.dumps(describe(arguments, runner, subjects)), file=raw)
            wrong = play_turns(arguments, runner, subjects, raw)
    finally:
        runner.stop()
    print(f"bench_peers: {time.monotonic() - start:.0f} s; the rounds are in {path}", file=sys.stderr)
    for record in wrong:
        print(f"bench_peers: WRONG: {json.dumps(record)}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
