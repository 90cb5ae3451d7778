#!/usr/bin/env python3
"""Shows that the checker can fail: on small histories, on recorded ones with a false line, and on stores that break a promise.

Histories are recorded with --worker PATH, the program doclock_history_worker; without it only the small ones are tried.
"""
import argparse
import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import checker

WORKER = None
# Nothing but transactions.
TRANSFERS = ["--threads", "0", "--transfers", "8"]


class Story:
    """A history by hand: one call after the other, unless times are given."""

    def __init__(self):
        self.lines, self.time, self.calls = [], 0, 0

    def tick(self):
        self.time += 10
        return self.time

    def line(self, **fields):
        self.lines.append({"t": self.tick(), "w": 0, "p": 1, **fields})

    def call(self, op, key="a", **fields):
        self.calls += 1
        self.line(e="call", id=self.calls, op=op, key=key, c=0, **fields)
        return self.calls

    def lock(self, grant, fence, read, op="lock", key="a", **fields):
        number = self.call(op, key, **fields)
        self.line(e="ok", id=number, grant=grant, key=key, fence=fence, **({} if read is None else {"read": read}))

    def held(self, grant):
        self.line(e="held", grant=grant)

    def write(self, grant, previous, value, version, outcome="ok", op="release"):
        number = self.call(op, grant=grant, prev=previous, write=value)
        self.line(e=outcome, id=number, **({"version": version} if outcome == "ok" else {}))

    def find(self, value, version=0):
        number = self.call("find")
        self.line(e="ok", id=number, read=value, version=version)

    def end(self, fence, value):
        self.lock("end", fence, value, op="final")

    def rules(self, **options):
        violations, _ = checker.check(sorted(self.lines, key=lambda line: line["t"]), **options)
        return sorted({violation.split(":")[0] for violation in violations})


class Small(unittest.TestCase):
    def setUp(self):
        self.story = Story()

    def expect(self, *rules, **options):
        self.assertEqual(self.story.rules(**options), sorted(rules))

    def two_in_turn(self):
        story = self.story
        story.lock("g1", 1, "first")
        story.held("g1")
        story.write("g1", "first", "x", 2)
        story.lock("g2", 3, "x")
        story.held("g2")
        story.write("g2", "x", "y", 4)

    def test_two_in_turn_are_fine(self):
        self.two_in_turn()
        self.story.find("y", 4)
        self.story.end(5, "y")
        self.expect()

    def test_a_hand_over_gives_both_one_version(self):
        story = self.story
        story.lock("g1", 1, "first")
        story.write("g1", "first", "x", 2)
        story.lock("g2", 2, "x")
        story.end(3, "x")
        self.expect()

    def test_a_write_in_doubt_may_be_there(self):
        self.story.lock("g1", 1, "first")
        self.story.write("g1", "first", "x", 2, "doubt")
        self.story.end(3, "x")
        self.expect()

    def test_a_write_in_doubt_may_be_missing(self):
        self.story.lock("g1", 1, "first")
        self.story.write("g1", "first", "x", 2, "doubt")
        self.story.end(3, "first")
        self.expect()

    def test_a_killed_write_may_be_there(self):
        self.story.lock("g1", 1, "first")
        self.story.call("release", grant="g1", prev="first", write="x")
        self.story.end(3, "x")
        self.expect()

    def transfer(self, outcome, *writes):
        call = self.story.call("transfer", "", writes=[
            {"key": key, "prev": previous, "write": value} for key, previous, value in writes])
        self.story.line(e=outcome, id=call)

    def read_all(self, *reads, amounts=(100, 100)):
        call = self.story.call("read all", "", sum=200)
        self.story.line(e="ok", id=call, reads=[
            {"key": key, "read": value, **({} if value is None else {"amount": amount})}
            for (key, value), amount in zip(reads, amounts)])

    def end_two(self, a, b):
        self.story.end(9, a)
        self.story.lock("end b", 9, b, op="final", key="b")

    def test_a_transfer(self):
        self.read_all(("a", None), ("b", None))
        self.transfer("ok", ("a", "first", "x"), ("b", "first", "y"))
        self.read_all(("a", "x"), ("b", "y"), amounts=(90, 110))
        self.transfer("doubt", ("b", "y", "z"), ("a", "x", "v"))
        self.transfer("fail", ("a", "x", "u"), ("b", "y", "w"))
        self.end_two("v", "z")
        self.expect()

    def test_a_transfer_in_doubt_that_is_stored_in_part(self):
        self.transfer("doubt", ("a", "first", "x"), ("b", "first", "y"))
        self.end_two("x", "first")
        self.expect("whole")

    def test_a_transfer_that_was_refused_and_is_there(self):
        self.transfer("fail", ("a", "first", "x"), ("b", "first", "y"))
        self.end_two("x", "y")
        self.expect("chain")

    def test_half_a_transfer_that_is_seen(self):
        call = self.story.call("read all", "", sum=200)
        self.transfer("ok", ("a", "first", "x"), ("b", "first", "y"))
        self.story.line(e="ok", id=call, reads=[{"key": "a", "read": "x", "amount": 90},
                                                {"key": "b", "read": "first", "amount": 110}])
        self.end_two("x", "y")
        self.expect("cycle", "whole")

    def test_accounts_of_another_sum(self):
        self.read_all(("a", "first"), ("b", "first"), amounts=(90, 100))
        self.end_two("first", "first")
        self.expect("sum")

    def test_one_of_two_accounts(self):
        self.read_all(("a", None), ("b", "first"))
        self.end_two("first", "first")
        self.expect("whole")

    def update(self, outcome, write, expects, fails=()):
        call = self.story.call("update all", "")
        for one in (*fails, write):
            self.story.line(e="try", id=call, writes=[dict(zip(("key", "prev", "write"), one))],
                            expects=[dict(zip(("key", "read"), expects))])
        self.story.line(e=outcome, id=call)

    def test_an_update_of_one_that_expects_another(self):
        self.update("ok", ("a", "first", "x"), ("b", "first"), fails=[("a", "first", "u")])
        self.update("ok", ("b", "first", "y"), ("a", "x"))
        self.update("fail", ("a", "x", "z"), ("b", "first"))
        self.end_two("x", "y")
        self.expect()

    def test_a_write_skew(self):
        self.update("ok", ("a", "first", "x"), ("b", "first"))
        self.update("ok", ("b", "first", "y"), ("a", "first"))
        self.end_two("x", "y")
        self.expect("cycle")

    def test_a_write_skew_in_doubt(self):
        self.update("doubt", ("a", "first", "x"), ("b", "first"))
        self.update("ok", ("b", "first", "y"), ("a", "first"))
        self.end_two("x", "y")
        self.expect("cycle")

    def test_a_failed_attempt_that_is_there(self):
        self.update("ok", ("a", "first", "x"), ("b", "first"), fails=[("a", "first", "u")])
        self.end_two("u", "first")
        self.expect("chain")

    def test_two_holders(self):
        story = self.story
        story.lock("g1", 1, "first")
        story.lock("g2", 2, "first")
        story.held("g1")
        story.held("g2")
        story.end(3, "first")
        self.expect("holders")

    def test_two_holders_while_clocks_lie(self):
        self.test_two_holders()
        self.expect(clocks_lie=True)

    def test_a_holder_that_is_not_seen_to_hold_is_none(self):
        story = self.story
        story.lock("g1", 1, "first")
        story.lock("g2", 2, "first")
        story.held("g2")
        story.end(3, "first")
        self.expect()

    def shares(self, count):
        for i in range(count):
            self.story.lock(f"s{i}", i + 1, None, op="share", key="n", limit=2)
        for i in range(count):
            self.story.held(f"s{i}")
        self.story.end(1, "first")

    def test_as_many_shares_as_the_limit(self):
        self.shares(2)
        self.expect()

    def test_a_share_too_many(self):
        self.shares(3)
        self.expect("holders")

    def test_a_share_beside_a_holder(self):
        story = self.story
        story.lock("g1", 1, None, op="name", key="n")
        story.lock("s1", 2, None, op="share", key="n", limit=2)
        story.held("g1")
        story.held("s1")
        story.end(1, "first")
        self.expect("holders")

    def test_a_fence_that_falls(self):
        self.story.lock("g1", 5, "first")
        self.story.lock("g2", 4, "first")
        self.story.end(6, "first")
        self.expect("fences")

    def test_a_fence_twice(self):
        self.story.lock("g1", 5, "first")
        self.story.lock("g2", 5, "first")
        self.story.end(6, "first")
        self.expect("fences")

    def test_a_lost_write(self):
        self.two_in_turn()
        self.story.end(5, "x")
        self.expect("chain")

    def test_a_lost_update(self):
        story = self.story
        for number, value in ((1, "x"), (2, "y")):
            call = story.call("put", prev="first", write=value)
            story.line(e="ok", id=call, version=number)
        story.end(5, "y")
        self.expect("chain")

    def test_a_refused_write_that_is_there(self):
        self.story.lock("g1", 1, "first")
        self.story.write("g1", "first", "x", 2, "fail")
        self.story.end(3, "x")
        self.expect("chain")

    def test_a_refused_try_of_an_update_that_is_there(self):
        story = self.story
        call = story.call("update")
        story.line(e="try", id=call, prev="first", write="x")
        story.line(e="try", id=call, prev="x", write="y")
        story.line(e="ok", id=call)
        story.end(3, "y")
        self.expect("chain")

    def test_a_value_of_nobody(self):
        self.story.end(3, "x")
        self.expect("chain")

    def test_a_late_write(self):
        story = self.story
        story.lock("g1", 1, "first")
        story.lock("g2", 2, "first")
        story.write("g1", "first", "x", 3, "doubt")
        story.end(4, "x")
        self.expect("late")

    def test_a_version_that_falls(self):
        story = self.story
        story.lock("g1", 1, "first")
        story.write("g1", "first", "x", 9, op="save")
        story.write("g1", "x", "y", 8)
        story.end(10, "y")
        self.expect("versions")

    def test_a_stale_read(self):
        self.two_in_turn()
        self.story.find("x")
        self.story.end(5, "y")
        self.expect("register")

    def test_a_stale_grant(self):
        self.two_in_turn()
        self.story.lock("g3", 5, "x")
        self.story.end(6, "y")
        self.expect("late", "register")

    def test_a_read_of_what_was_rolled_back(self):
        story = self.story
        story.lock("g1", 1, "first")
        story.write("g1", "first", "x", 2, "doubt")
        story.find("x")
        story.end(3, "first")
        self.expect("register")

    def test_a_read_that_runs_beside_a_write_sees_either(self):
        for value in ("first", "x"):
            self.story = story = Story()
            story.lock("g1", 1, "first")
            read = story.call("find")
            story.write("g1", "first", "x", 2)
            story.line(e="ok", id=read, read=value, version=1)
            story.end(3, "x")
            self.expect()

    def test_a_lock_that_cannot_be_taken_at_the_end(self):
        self.two_in_turn()
        call = self.story.call("final")
        self.story.line(e="fail", id=call, why="timed out")
        self.expect("end")

    def test_an_end_that_was_not_tried(self):
        self.two_in_turn()
        self.expect("end")


class Queue(unittest.TestCase):
    """Histories of clients that wait for one lock, some of which are killed. Times are in ms."""

    def setUp(self):
        self.lines = []
        self.line(0, -1, e="queue", entry=4000, probation=5000, ttl=30000, refreshed=3000)

    def line(self, time, writer, **fields):
        self.lines.append({"t": time * 1_000_000, "w": 0, "p": writer, **fields})

    def asks(self, time, process, stands=None):
        self.line(time, process, e="call", id=time, op="lock", key="a", c=0)
        for moment in stands or []:
            self.line(moment, process, e="stands", sent=(moment - 1) * 1_000_000)

    def gets(self, asked, time, process, fence, until=None, passed_on=False):
        if passed_on:
            self.line(time - 1, process, e="passed on")
        self.line(time, process, e="ok", id=asked, key="a", grant=f"g{fence}", fence=fence, read="first")
        if until is not None:
            self.line(until - 5, process, e="call", id=asked + 1, op="release", key="a", grant=f"g{fence}",
                      prev="first", write=f"w{fence}", c=0)
            self.line(until, process, e="fail", id=asked + 1)

    def killed(self, time, process):
        self.line(time, -1, e="killed", process=process)

    def expect(self, *rules):
        last = max(line["t"] for line in self.lines) // 1_000_000
        self.line(last + 10, 99, e="call", id=1, op="final", key="a", c=0)
        self.line(last + 20, 99, e="ok", id=1, key="a", grant="end", fence=1000, read="first")
        violations, _ = checker.check(sorted(self.lines, key=lambda line: (line["p"], line["t"], line["e"] != "call")))
        self.assertEqual(sorted({violation.split(":")[0] for violation in violations}), sorted(rules), violations)

    def test_one_after_the_other(self):
        self.asks(0, 1)
        self.asks(10, 2, stands=[20])
        self.asks(30, 3, stands=[40])
        self.gets(0, 5, 1, 1, until=100)
        self.gets(10, 110, 2, 2, until=200, passed_on=True)
        self.gets(30, 210, 3, 3, until=300, passed_on=True)
        self.expect()

    def test_a_free_lock_that_a_waiter_is_not_granted(self):
        self.asks(0, 1)
        self.gets(0, 5, 1, 1, until=100)
        self.asks(50, 2)
        self.gets(50, 4000, 2, 2, until=4010)
        self.expect("stall")

    def test_a_dead_waiter_may_delay_the_others(self):
        self.asks(0, 1)
        self.gets(0, 5, 1, 1, until=100)
        self.asks(10, 2, stands=[20])
        self.asks(50, 3)
        self.killed(60, 2)
        self.gets(50, 9000, 3, 2, until=9010)
        self.expect()

    def test_a_dead_waiter_that_delays_the_others_for_too_long(self):
        self.asks(0, 1)
        self.gets(0, 5, 1, 1, until=100)
        self.asks(10, 2, stands=[20])
        self.asks(50, 3)
        self.killed(60, 2)
        self.gets(50, 13000, 3, 2, until=13010)
        self.expect("stall")

    def dead_holder(self, free, passed_on):
        self.asks(0, 1)
        self.gets(0, 5, 1, 1, passed_on=passed_on)
        self.asks(10, 2)
        self.killed(60, 1)
        self.gets(10, free, 2, 2, until=free + 10)

    def test_a_dead_holder_that_was_granted_the_lock_from_the_queue(self):
        self.dead_holder(5100, passed_on=True)
        self.expect()

    def test_a_dead_holder_from_the_queue_whose_lease_is_not_on_probation(self):
        self.dead_holder(30000, passed_on=True)
        self.expect("stall")

    def test_a_dead_holder_with_a_whole_lease(self):
        self.dead_holder(30000, passed_on=False)
        self.expect()

    def passed(self, stands, granted=200):
        self.asks(0, 1)
        self.gets(0, 5, 1, 1, until=100)
        self.asks(10, 2, stands=stands)
        self.asks(50, 3)
        self.gets(50, 110, 3, 2, until=120)
        self.gets(10, granted, 2, 3, until=granted + 10)

    def test_a_waiter_that_is_passed(self):
        self.passed(stands=[20])
        self.expect("turns")

    def test_a_waiter_that_is_passed_before_its_entry_stands(self):
        self.passed(stands=[60])
        self.expect()

    def test_a_waiter_that_did_not_refresh_its_entry(self):
        self.passed(stands=[20], granted=3030)
        self.expect()

    def handed_over(self, times):
        self.asks(0, 1)
        self.asks(1, 2, stands=[2])
        self.gets(0, 3, 1, 1, until=9)
        for i in range(times):
            self.asks(10 * i + 10, 1)
            self.gets(10 * i + 10, 10 * i + 12, 1, i + 2, until=10 * i + 19)
        self.gets(1, 10 * times + 20, 2, times + 2, until=10 * times + 25)

    def test_hand_overs_inside_a_process(self):
        self.handed_over(16)
        self.expect()

    def test_a_hand_over_too_many(self):
        self.handed_over(17)
        self.expect("turns")


def record_until(enough, folder, processes, *options, finish):
    """A history of processes on SQLite, with more grants than `enough`, however slow the machine is."""
    started = 0

    def run(count, *more):
        nonlocal started
        workers = []
        for _ in range(count):
            workers.append(subprocess.Popen([WORKER, "--store", f"sqlite:{folder}/things.db?sync=off", "--out",
                                             f"{folder}/{started}.jsonl", "--process", str(started), *more]))
            started += 1
        for worker in workers:
            assert worker.wait() == 0
        return checker.read_lines(sorted(pathlib.Path(folder).glob("*.jsonl")))

    while True:
        _, numbers = checker.check(run(processes, *options))
        if numbers["grants"] > enough:
            return run(1, *finish, "--finish", "yes")
        print(f"too little was recorded, so it goes on: {dict(numbers)}", file=sys.stderr)


def record(folder, *options, seconds=2, seed=1, enough=100):
    """A history on SQLite."""
    common = ["--threads", "8", "--keys", "3", "--seconds", str(seconds), "--ttl", "300", "--seed", str(seed)]
    return record_until(enough, folder, 1, *common, *options, finish=common)


def record_queue(folder, *options, seconds, seed, enough):
    """A history of three processes that wait for one document on SQLite."""
    with open(f"{folder}/nemesis.jsonl", "w", encoding="utf-8") as file:
        line = {"t": 0, "w": 0, "p": -1, "e": "queue", "entry": 0, "probation": 0, "ttl": 0, "refreshed": 3000}
        file.write(json.dumps(line) + "\n")
    common = ["--threads", "1", "--keys", "1", "--queue", "yes", "--transfers", "0", "--seconds", str(seconds), "--ttl", "30000",
              "--seed", str(seed)]
    return record_until(enough, folder, 3, *common, *options, finish=common)


class RecordedQueue(unittest.TestCase):
    def setUp(self):
        if WORKER is None:
            self.skipTest("no --worker")

    def check(self, *options, enough=20, seed=1):
        with tempfile.TemporaryDirectory() as folder:
            return checker.check(record_queue(folder, *options, enough=enough, seconds=2, seed=seed))

    def expect(self, how, rule):
        # Some need a coincidence.
        for seed in range(1, 21):
            violations, numbers = self.check("--broken", how, enough=5, seed=seed)
            if any(violation.startswith(rule + ":") for violation in violations):
                return
        self.fail(f"{rule}: nothing was noticed: {numbers}; {violations[:5]}")

    def test_the_true_one_is_fine(self):
        violations, numbers = self.check()
        self.assertEqual(violations, [])
        self.assertGreater(numbers["grants"], 20)

    def test_forgets_entries(self):
        self.expect("forgets-entries", "turns")

    def test_keeps_released(self):
        self.expect("keeps-released", "stall")


class Recorded(unittest.TestCase):
    """A true history, and each with one line that is false."""

    @classmethod
    def setUpClass(cls):
        if WORKER is None:
            raise unittest.SkipTest("no --worker")
        with tempfile.TemporaryDirectory() as folder:
            cls.lines = record(folder, "--transfers", "3")
        cls.history = checker.History(cls.lines)
        cls.random = random.Random(1)

    def find(self, wanted):
        found = [i for i, line in enumerate(self.lines) if wanted(line)]
        self.assertTrue(found)
        return self.random.sample(found, min(10, len(found)))

    def spoil(self, wanted, change, rule):
        """Every one of some lines, if it is false, is noticed."""
        for i in self.find(wanted):
            lines = copy.deepcopy(self.lines)
            change(lines, i)
            violations, _ = checker.check(lines)
            rules = {violation.split(":")[0] for violation in violations}
            self.assertIn(rule, rules, f"with {self.lines[i]}")

    def operation(self, line):
        return self.history.operations.get((line["p"], line.get("id")))

    def is_reply(self, line, *ops):
        operation = self.operation(line)
        return line["e"] == "ok" and operation is not None and operation.op in ops

    def test_the_true_one_is_fine(self):
        violations, numbers = checker.check(self.lines)
        self.assertEqual(violations, [])
        self.assertGreater(numbers["grants"], 50)
        self.assertGreater(numbers["written"], 50)
        self.assertGreater(numbers["transfers"], 5)
        self.assertGreater(numbers["updates of several"], 2)
        self.assertGreater(numbers["reads of all"], 5)

    def is_late_read(self, line):
        """One that saw transfers of all accounts."""
        late = line["t"] > self.lines[len(self.lines) * 3 // 4]["t"]
        return late and self.is_reply(line, "read all") and all(one["read"] != "first" for one in line["reads"])

    def test_an_acknowledged_transfer_told_as_refused(self):
        self.spoil(lambda line: self.is_reply(line, "transfer"), lambda lines, i: lines[i].update(e="fail"), "chain")

    def test_a_read_of_half_a_transfer(self):
        def half(lines, i):
            self.random.choice(lines[i]["reads"])["read"] = "first"
        self.spoil(self.is_late_read, half, "whole")

    def test_a_read_of_another_sum(self):
        def other(lines, i):
            lines[i]["reads"][0]["amount"] += 1
        self.spoil(self.is_late_read, other, "sum")

    def test_an_acknowledged_write_told_as_refused(self):
        self.spoil(lambda line: self.is_reply(line, "release", "save", "put", "update"),
                   lambda lines, i: lines[i].update(e="fail"), "chain")

    def test_a_write_of_nobody(self):
        def other_value(lines, i):
            lines[i]["write"] += "?"
        self.spoil(lambda line: line["e"] == "call" and "write" in line and self.operation(line).ok, other_value, "chain")

    def test_a_write_over_another_value(self):
        def other_base(lines, i):
            lines[i]["prev"] = "first"
        self.spoil(lambda line: line["e"] == "call" and line.get("prev", "first") != "first" and self.operation(line).ok,
                   other_base, "chain")

    def test_a_fence_of_an_earlier_grant(self):
        def fence(lines, i):
            lines[i]["fence"] = 0
        later = sorted((g.operation.ended for g in self.history.grants.values()))[20]
        self.spoil(lambda line: self.is_reply(line, "lock", "name") and line["t"] > later, fence, "fences")

    def test_a_version_that_does_not_rise(self):
        def version(lines, i):
            lines[i]["version"] = 0
        self.spoil(lambda line: self.is_reply(line, "release", "save", "put"), version, "versions")

    def test_a_read_of_the_first_value(self):
        def stale(lines, i):
            lines[i]["read"] = "first"
        middle = self.lines[len(self.lines) // 2]["t"]
        self.spoil(lambda line: self.is_reply(line, "find") and line["t"] > middle and line["read"] != "first", stale,
                   "register")

    def test_a_grant_that_read_the_first_value(self):
        def stale(lines, i):
            lines[i]["read"] = "first"
        middle = self.lines[len(self.lines) // 2]["t"]
        self.spoil(lambda line: self.is_reply(line, "lock") and line["t"] > middle and line["read"] != "first", stale,
                   "register")

    def test_a_holder_that_goes_on_for_ever(self):
        end = max(line["t"] for line in self.lines)
        middle = self.lines[len(self.lines) // 2]["t"]

        def go_on(lines, i):
            lines.append({**lines[i], "t": end})
        self.spoil(lambda line: line["e"] == "held" and line["t"] < middle and
                   self.history.grants[line["grant"]].operation.op == "lock", go_on, "holders")

    def test_an_end_that_fails(self):
        self.spoil(lambda line: self.is_reply(line, "final", "final name"), lambda lines, i: lines[i].update(e="fail"), "end")


class Broken(unittest.TestCase):
    """Stores that break a promise each, under the worker."""

    def expect(self, how, rule, *options, enough=100):
        if WORKER is None:
            self.skipTest("no --worker")
        # Some need a coincidence: another seed, and longer.
        for seed in range(1, 21):
            with tempfile.TemporaryDirectory() as folder:
                violations, numbers = checker.check(record(folder, "--broken", how, *options, seconds=1 + min(seed, 5), seed=seed,
                                                           enough=enough))
            if any(violation.startswith(rule + ":") for violation in violations):
                return
        self.fail(f"{rule}: nothing was noticed: {numbers}; {violations[:5]}")

    def test_renews_blindly(self):
        self.expect("renews-blindly", "holders")

    def test_reads_stale(self):
        self.expect("reads-stale", "register")

    def test_denies_writes(self):
        self.expect("denies-writes", "chain")

    def test_frees_refused(self):
        self.expect("frees-refused", "holders")

    def test_one_share_more(self):
        self.expect("one-share-more", "holders", "--names", "95")

    def test_splits_commits(self):
        self.expect("splits-commits", "sum", *TRANSFERS, enough=20)

    def test_denies_commits(self):
        self.expect("denies-commits", "chain", *TRANSFERS, enough=20)

    def test_forgets_expected(self):
        self.expect("forgets-expected", "cycle", *TRANSFERS, "--together", "85", enough=5)

    def test_reads_in_turn(self):
        self.expect("reads-in-turn", "whole", *TRANSFERS, enough=20)

    def test_writes_late(self):
        self.expect("writes-late", "late")


class Files(unittest.TestCase):
    def test_a_line_that_is_there_in_part_is_read_once_it_is_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "0.jsonl")
            path.write_bytes(b'{"n": 1}\n{"n": 2}\n{"n"')
            self.assertEqual(checker.read_whole_lines(path), ([{"n": 1}, {"n": 2}], 18))
            with open(path, "ab") as file:
                file.write(b": 3}\n")
            self.assertEqual(checker.read_whole_lines(path, 18), ([{"n": 3}], 27))
            self.assertEqual(checker.read_whole_lines(path, 27), ([], 27))


class WithoutNamespaces(unittest.TestCase):
    """Where the kernel permits none, scripts/histories.sh says so, and ends unlike it does for a wrong option."""

    def test_says_so(self):
        script = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "histories.sh"
        with tempfile.TemporaryDirectory() as folder:
            for name in ("unshare", "nsenter", "ip"):
                program = pathlib.Path(folder, name)
                program.write_text("#!/bin/sh\necho refused >&2\nexit 1\n")
                program.chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
            # The folder has no worker: nothing is to be built or run.
            ended = subprocess.run([script, "--namespaces", "--build", folder], env=environment, text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertEqual(ended.returncode, 77)
        self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--worker")
    known, rest = parser.parse_known_args()
    WORKER = known.worker
    unittest.main(argv=[sys.argv[0], *rest])
