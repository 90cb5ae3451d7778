#!/usr/bin/env python3
"""Records histories of worker processes while something goes wrong, and checks them. scripts/histories.sh starts it."""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback

import checker
import nemeses
from network import CLIENTS
from postgresql import PostgresqlServer
from proxy import Proxy
from servers import ROOT, Servers, faketime_files, find_faketime, remove_files_of_the_dead

# Histories that show most in little time.
SHORT = [("sqlite", "none"), ("sqlite", "kill"), ("sqlite", "pause"), ("sqlite", "kill-waiters"),
         ("mongodb", "slow-clock"), ("mongodb", "pause"), ("mongodb", "stepdown"), ("mongodb", "pause-primary"),
         ("mongodb", "fail-command"), ("mongodb", "late-requests"), ("mongodb", "lose-replies"),
         ("postgresql", "kill"), ("postgresql", "kill-server"), ("postgresql", "lose-replies")]
PROCESSES = {"kill-waiters": 4}
# What docs/reference/guarantees.md says of a dead waiter, in ms: its entry, and a lease that it was granted meanwhile.
# SQLite sees that the process is dead. `refreshed`: an entry that was placed so long ago stands for certain.
QUEUE = {"sqlite": {"entry": 0, "probation": 0, "ttl": 0, "refreshed": 3000},
         "mongodb": {"entry": 4000, "probation": 5000, "ttl": 30000, "refreshed": 3000}}
QUEUE["postgresql"] = QUEUE["mongodb"]
# Fewer grants than this show nothing: then it records again, for twice the time, at most so often.
LEAST_GRANTS = 10
LONGER = 3


class Scene:
    """One history while it is recorded."""

    def __init__(self, arguments, store, nemesis, seed, folder, servers, times):
        self.arguments, self.store, self.nemesis, self.seed, self.folder = arguments, store, nemesis, seed, folder
        self.servers = servers
        self.random = random.Random(seed)
        self.seconds = arguments.seconds * times
        self.ttl = 0.8 if store == "sqlite" else 2.0
        if nemesis == "kill-waiters":
            self.ttl = 30
        self.counts = collections.Counter()
        self.workers, self.started = [], 0
        self.proxy = None
        self.uri = self.open_uri()
        self.end = None

    def open_uri(self):
        if self.store == "sqlite":
            return f"sqlite:{self.folder}/things.db?sync=off"
        database = f"history_{os.getpid()}_{self.seed}"
        self.servers.create(database)
        if self.nemesis.startswith(("lose", "late")):
            self.proxy = Proxy(self.servers.primary())
            return self.servers.uri_over(self.proxy.port) % database
        return self.servers.uri % database

    def start(self, uri=None, finish=False):
        number = self.started
        self.started += 1
        command = [self.arguments.worker, "--store", uri or self.uri, "--out", str(self.folder / f"{number}.jsonl"),
                   "--process", str(number), "--seed", str(self.seed), "--ttl", str(int(self.ttl * 1000)),
                   "--seconds", str(max(1, round(self.end - time.monotonic()))), "--finish", "yes" if finish else "no",
                   "--transfers", str(self.arguments.transfers)]
        if self.nemesis == "kill-waiters":
            command += ["--queue", "yes", "--keys", "1", "--threads", "1", "--transfers", "0"]
        if self.arguments.broken and not finish:
            command += ["--broken", self.arguments.broken]
        environment = dict(os.environ)
        if self.nemesis == "slow-clock" and number == 0:
            environment.update({"LD_PRELOAD": find_faketime(), "FAKETIME": "+0 x0.2"})
            # By its own clock.
            command[command.index("--seconds") + 1] = str(max(1, self.seconds // 5))
        if self.servers and self.servers.network:
            command = self.servers.network.enter(CLIENTS) + command
        with open(self.folder / f"{number}.log", "wb") as log:
            worker = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        worker.number = number
        return worker

    def note(self, **line):
        """Records what the nemesis did, beside the records of the workers."""
        with open(self.folder / "nemesis.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps({"t": time.monotonic_ns(), "w": int(time.time() * 1000), "p": -1, **line}) + "\n")

    def count(self, name):
        self.counts[name] += 1

    def replace(self, worker):
        worker.kill()
        worker.wait()
        self.note(e="killed", process=worker.number)
        self.workers.remove(worker)
        self.workers.append(self.start())

    def signal(self, pids, number):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def goes_on(self):
        return time.monotonic() < self.end

    def sleep(self, seconds):
        time.sleep(max(0, min(seconds, self.end - time.monotonic())) if seconds < self.seconds else seconds)

    def record(self):
        nemeses.BEFORE.get(self.nemesis, lambda scene: None)(self)
        if self.nemesis == "kill-waiters":
            self.note(e="queue", **QUEUE[self.store])
        self.end = time.monotonic() + self.seconds
        self.workers = [self.start() for _ in range(PROCESSES.get(self.nemesis, 3))]
        try:
            {**nemeses.OF_STORE[self.store], **nemeses.NETWORK}[self.nemesis](self)
            self.wait()
            if self.proxy:
                self.proxy.heal()
            if self.servers:
                for port in self.servers.ports if self.servers.false else []:
                    self.servers.set_clock(port, 0)
                self.servers.await_healthy()
            direct = None if self.proxy is None else self.servers.uri % self.uri.split("/")[-1].split("?")[0]
            last = self.start(direct, finish=True)
            self.workers.append(last)
            self.wait()
        finally:
            for worker in self.workers:
                worker.kill()
                worker.wait()
            if self.proxy:
                self.proxy.close()

    def wait(self):
        for worker in self.workers:
            if worker.wait(timeout=180) != 0:
                raise RuntimeError(f"a worker ended with {worker.returncode}; its log is in {self.folder}")
        self.workers = []

    def check(self):
        lines = checker.read_lines(sorted(self.folder.glob("*.jsonl")))
        violations, numbers = checker.check(lines, clocks_lie=self.nemesis in nemeses.CLOCKS_LIE)
        numbers.update(self.counts)
        if numbers["grants"] < LEAST_GRANTS:
            violations.append(f"history: too little was recorded: {numbers['grants']} grants")
        needed = nemeses.NEEDED.get(self.nemesis)
        if needed and not self.counts[needed]:
            violations.append(f"history: no {needed}")
        return violations, numbers


def run_one(arguments, store, nemesis, seed, servers, times=1):
    """True if nothing was violated. `times`: how much longer than `--seconds` it records."""
    folder = pathlib.Path(arguments.folder) / "records" / f"{store}-{nemesis}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start = time.monotonic()
    try:
        if store == "mongodb" and nemesis not in nemeses.BEFORE:
            servers[store].heal_clocks()
        scene = Scene(arguments, store, nemesis, seed, folder, servers.get(store), times)
        scene.record()
        violations, numbers = scene.check()
    except Exception as error:  # the other histories go on
        violations, numbers = [f"history: {type(error).__name__}: {error}", *traceback.format_exc().splitlines()], {}
    text = ", ".join(f"{count} {name}" for name, count in numbers.items())
    if numbers.get("grants", LEAST_GRANTS) < LEAST_GRANTS and len(violations) == 1 and times < 2 ** LONGER:
        print(f"histories: {store} {nemesis} seed {seed}: too little was recorded, so it records longer: {text}", flush=True)
        return run_one(arguments, store, nemesis, seed, servers, 2 * times)
    verdict = "ok" if not violations else "VIOLATED"
    print(f"histories: {store} {nemesis} seed {seed}: {verdict}, {time.monotonic() - start:.0f} s: {text}", flush=True)
    for violation in violations[:20]:
        print(f"  {violation}", flush=True)
    if violations:
        kept = pathlib.Path(arguments.folder) / "failures" / folder.name
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder, kept)
        print(f"  kept in {kept}", flush=True)
    else:
        shutil.rmtree(folder)
    return not violations, numbers


def plan(arguments):
    if arguments.short and not arguments.namespaces:
        return [one for one in SHORT if arguments.store in (None, one[0])]
    of_store = {"mongodb": nemeses.NETWORK} if arguments.namespaces else nemeses.OF_STORE
    kinds = [(store, name) for store, names in of_store.items() for name in names
             if arguments.store in (None, store) and arguments.nemesis in (None, name)]
    if not kinds:
        with_or_without = "with" if arguments.namespaces else "without"
        known = "; ".join(f"{store}: {', '.join(names)}" for store, names in of_store.items())
        sys.exit(f"histories: {with_or_without} --namespaces there is no such nemesis; there are {known}")
    return [kinds[i % len(kinds)] for i in range(arguments.runs or len(kinds))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--folder", default=str(ROOT / "build" / "histories"))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--store", choices=list(nemeses.OF_STORE))
    parser.add_argument("--nemesis")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", help="how the workers' store is broken (worker/broken_store.h)")
    parser.add_argument("--transfers", type=int, default=1)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--namespaces", action="store_true")
    parser.add_argument("--port", type=int, default=24200)
    arguments = parser.parse_args()
    histories = plan(arguments)
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, lambda given, _: sys.exit(128 + given))
    servers, failed, total, before = {}, 0, {}, faketime_files()
    folder, stores = pathlib.Path(arguments.folder), {store for store, _ in histories}
    try:
        if "mongodb" in stores:
            servers["mongodb"] = Servers(folder / "mongo", arguments.port, arguments.namespaces)
        if "postgresql" in stores:
            servers["postgresql"] = PostgresqlServer(folder / "postgresql", arguments.port + 3)
        for one in servers.values():
            one.start()
        for i, (store, nemesis) in enumerate(histories):
            good, numbers = run_one(arguments, store, nemesis, arguments.seed + i, servers)
            failed += not good
            for name, count in numbers.items():
                total[name] = total.get(name, 0) + count
    finally:
        for one in servers.values():
            one.stop()
        remove_files_of_the_dead(faketime_files() - before)
    print(f"histories: {len(histories)} histories, {failed} violated; "
          + ", ".join(f"{count} {name}" for name, count in total.items()))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
