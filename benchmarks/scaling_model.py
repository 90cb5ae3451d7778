#!/usr/bin/env python3
"""Predicts how many cycles of lock and release a deployment makes, from its round trip and its flush.

    scaling_model.py STORE --round-trip MS --flush MS [--callers N] [--hot] [--processes N] [--cores N]
                     [--server-cores N]
STORE: sqlite, postgresql or mongodb. --round-trip: between program and server (0 for sqlite). --flush: of 8 KB to the
disk of the database; on mongodb add the round trip between two members. --hot: all callers want one document.
--processes: each of so many processes has one caller, and all want one document. --cores: of the program;
--server-cores: of the server, if that is another machine.

The costs are in docs/figures/scaling.json: `scripts/bench.sh --programs scaling --keep` measures them again, and
`scripts/figures/scaling.py` holds predictions against measured cycles.

It plays what the engine does (src/engine/calls/batcher.h). A cycle is two operations. A caller's operation goes at once if a
lane is free. It queues otherwise, and the next call of a lane takes what has queued, up to the size of a batch. A call is
a round trip, work of the server, and a flush, which all commits share that wait for it when it begins. On one document a
holder hands over with its release: a cycle is one operation then.
"""
import argparse
import collections
import heapq
import json
import math
import pathlib

KEPT = pathlib.Path(__file__).resolve().parents[1] / "docs" / "figures" / "scaling.json"
OPERATIONS, WARM = 10_000, 1_000

# lanes: for operations, beside the one for renewals. trips: further round trips of a hand-over to another process; on
# PostgreSQL look and commit are two, of the release and of the next process that queues behind its row lock, and the
# listener looks at the row. own_server: the store works in the program.
Store = collections.namedtuple("Store", "lanes batch trips own_server")
STORES = {"sqlite": Store(1, 128, 0, True), "postgresql": Store(3, 128, 6, False), "mongodb": Store(8, 32, 0, False)}
# In microseconds. client: the program's work for an operation. call: of the store for each call. each: for each operation
# in it. news: until another process knows that it holds the lock.
Costs = collections.namedtuple("Costs", "client call each news")
Prediction = collections.namedtuple("Prediction", "rate median_ms limit")


class Machine:
    """Cores that take work in its order."""

    def __init__(self, cores):
        self.free, self.busy = [0.0] * max(1, cores), 0.0

    def done(self, now, work):
        start = max(now, heapq.heappop(self.free))
        heapq.heappush(self.free, start + work)
        self.busy += work
        return start + work


class Play:
    """Callers on documents of their own. Times are in microseconds."""

    def __init__(self, store, costs, round_trip, flush, callers, cores, server_cores):
        self.store, self.costs, self.trip, self.flush = store, costs, round_trip, flush
        self.program = Machine(cores)
        self.server = Machine(server_cores) if server_cores and not store.own_server else self.program
        self.events, self.count, self.now = [], 0, 0.0
        self.queue, self.lanes, self.lane_time = collections.deque(), store.lanes, 0.0
        self.committing, self.flushing, self.flush_time = [], False, 0.0
        self.parts = collections.Counter()
        self.began, self.took, self.done = [0.0] * callers, [], 0
        for caller in range(callers):
            self.work(caller)

    def at(self, time, what, *arguments):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, what, arguments))

    def work(self, caller):
        self.at(self.program.done(self.now, self.costs.client), self.ask, caller)

    def ask(self, caller):
        self.queue.append(caller)
        if self.lanes:
            self.lanes -= 1
            self.send()

    def send(self):
        batch = [self.queue.popleft() for _ in range(min(len(self.queue), self.store.batch))]
        self.at(self.now + self.trip / 2, self.arrive, batch, self.now)

    def arrive(self, batch, sent):
        work = self.costs.call + self.costs.each * len(batch)
        self.parts["work"] += work
        self.at(self.server.done(self.now, work), self.commit, batch, sent)

    def commit(self, batch, sent):
        self.committing.append((batch, sent, self.now))
        if not self.flushing:
            self.flush_now()

    def flush_now(self):
        self.flushing, commits, self.committing = True, self.committing, []
        self.flush_time += self.flush
        self.at(self.now + self.flush, self.flushed, commits)

    def flushed(self, commits):
        self.flushing = False
        for batch, sent, asked in commits:
            self.parts["flush"] += self.now - asked
            self.parts["round trip"] += self.trip
            self.at(self.now + self.trip / 2, self.answered, batch, sent)
        if self.committing:
            self.flush_now()

    def answered(self, batch, sent):
        self.lane_time += self.now - sent
        if self.queue:
            self.send()
        else:
            self.lanes += 1
        for caller in batch:
            self.done += 1
            if self.done > WARM:
                self.took.append(self.now - self.began[caller])
            self.began[caller] = self.now
            self.work(caller)

    def run(self):
        start = None
        while self.done < WARM + OPERATIONS:
            self.now, _, what, arguments = heapq.heappop(self.events)
            what(*arguments)
            if start is None and self.done >= WARM:
                start, done = self.now, self.done
        rate = (self.done - done) / (self.now - start) * 1e6 / 2
        machines = {self.program, self.server}
        if max(machine.busy / len(machine.free) for machine in machines) > 0.9 * self.now:
            limit = "processor"
        else:
            limit = self.parts.most_common(1)[0][0]
            if self.lane_time > 0.9 * self.now * self.store.lanes and self.store.lanes > 1:
                limit = f"lanes: {limit}"
        return Prediction(rate, 2 * sorted(self.took)[len(self.took) // 2] / 1000, limit)


def predict(name, costs, round_trip, flush, callers=1, hot=False, processes=0, cores=2, server_cores=0):
    """`round_trip` and `flush` in milliseconds."""
    store, trip, flush = STORES[name], round_trip * 1000, flush * 1000
    if not processes and not (hot and callers > 1):
        return Play(store, costs, trip, flush, callers, cores, server_cores).run()
    cycle = costs.client + trip + costs.call + costs.each + flush
    if processes:
        cycle += costs.news + store.trips * trip
    return Prediction(1e6 / cycle, (processes or callers) * cycle / 1000, "hand-over")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", choices=STORES)
    for option, default, kind in (("round-trip", 0.0, float), ("flush", 0.0, float), ("callers", 1, int),
                                  ("processes", 0, int), ("cores", 2, int), ("server-cores", 0, int)):
        parser.add_argument(f"--{option}", default=default, type=kind)
    parser.add_argument("--hot", action="store_true")
    given = vars(parser.parse_args())
    for option, least in (("round_trip", 0), ("flush", 0), ("callers", 1), ("processes", 0), ("cores", 1),
                          ("server_cores", 0)):
        if not least <= given[option] < math.inf:
            parser.error(f"--{option.replace('_', '-')} must be {least} or more")
    if given["processes"] and (given["callers"] > 1 or given["hot"]):
        parser.error("--processes has one caller in each, and all want one document: without --callers and --hot")
    store, kept = given.pop("store"), json.loads(KEPT.read_text(encoding="utf-8"))
    made = predict(store, Costs(*kept["costs"][store]), **given)
    print(f"{made.rate:,.0f} cycles per second, median {made.median_ms:.2f} ms, limited by: {made.limit}")


if __name__ == "__main__":
    main()
