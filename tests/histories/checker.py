#!/usr/bin/env python3
"""Checks recorded histories of locks: checker.py [--clocks-lie] FILE...

The files hold JSON Lines, as tests/histories/worker writes them. Prints a line for each violation, and a summary; exits with
1 if there is a violation.

Checked, for each document:
  holders    at most one holder at a time, or as many shares as the limit says; not with --clocks-lie, for histories in
             which a client's clock ran slower than a lease allows
  fences     a later grant has a higher fence
  chain      the values that were written form one chain, from the first value to the last that was read; each acknowledged
             write is on it, and no refused one is; a write in doubt may be
  late       no holder's write comes after a later holder read the document
  versions   rise along the chain
  register   a read or a grant sees every write that was acknowledged before it began, and none that began after it ended
  end        everything could be locked at the end

And of transactions:
  whole      all writes of one are there, or none; so it is in each read of several documents at one moment
  sum        the amounts that such a read saw have the sum that they had at first
  cycle      some order of all transactions explains what each of them read and wrote

And of the queue, if the history is of the nemesis kill-waiters (its record says how long entries and leases last):
  stall      while a client waits, the lock is held, or a killed process may still have it by the documented times
  turns      no later client is granted the lock before one whose entry stands, but by hand-overs inside a process
"""
import argparse
import bisect
import collections
import graphlib
import itertools
import json
import sys

FIRST = "first"
NANO = 1_000_000_000
# A change of holders takes less, also on a machine with other work.
STALL = 3 * NANO
# ManagerOptions::max_handovers.
MAX_HANDOVERS = 16


class Operation:
    """What was asked for, and what was told of it. Without a reply (a killed process) it is in doubt."""

    def __init__(self, call):
        self.call = call
        self.process = call["p"]
        self.op = call["op"]
        self.key = call["key"]
        self.began = call["t"]
        self.ended = None
        self.outcome = "doubt"
        self.reply = {}
        self.tries = []
        self.stands = []  # when attempts were sent after which the entry stood in the queue; and when this was told
        self.passed_on = False

    def end(self, line):
        self.outcome = line["e"]
        self.ended = line["t"]
        self.reply = line

    @property
    def ok(self):
        return self.outcome == "ok"

    def reads(self):
        """The keys and values that a read saw."""
        if self.ok and self.op == "find":
            yield self.key, self.reply["read"]
        if self.ok and self.op == "read all":
            yield from ((one["key"], one["read"]) for one in self.reply["reads"])

    def writes(self):
        """The keys, the values before and the values that the last attempt asked for."""
        last = self.tries[-1] if self.tries else self.call
        for one in last.get("writes", [last] if "write" in last else []):
            yield one.get("key", self.key), one["prev"], one["write"]

    def seen_at_once(self):
        """The keys and values that it read, or wrote over, at one moment."""
        yield from self.reads()
        yield from ((key, previous) for key, previous, _ in self.writes())
        if self.tries:
            yield from ((one["key"], one["read"]) for one in self.tries[-1].get("expects", []))


class Grant:
    """A lock that was granted: from `since` to `until` it was held for certain."""

    def __init__(self, operation, line):
        self.operation = operation
        self.id = line["grant"]
        self.key = line["key"]
        self.fence = line["fence"]
        self.read = line.get("read")
        self.limit = operation.call.get("limit")
        self.since = operation.ended
        self.until = operation.ended

    @property
    def where(self):
        # Documents and names are kept apart.
        return ("name " if "name" in self.operation.op or self.limit else "") + self.key


class Write:
    def __init__(self, operation, previous, value, outcome, version=None, grant=None, key=None):
        self.operation = operation
        self.key = operation.key if key is None else key
        self.previous = previous
        self.value = value
        self.outcome = outcome
        self.version = version
        self.grant = grant


class History:
    def __init__(self, lines):
        self.operations = {}
        self.grants = {}
        self.finals = []
        self.killed = {}
        self.queue = None
        self.open = {}  # the last call of each process
        for line in lines:
            self.add(line)
        self.writes = [w for operation in self.operations.values() for w in self.writes_of(operation)]

    def add(self, line):
        event = line["e"]
        if event == "held":
            grant = self.grants.get(line["grant"])
            if grant is not None:
                grant.until = max(grant.until, line["t"])
            return
        if event in ("cut", "primary lost", "cut ends"):
            return  # for people
        if event in ("queue", "killed", "stands", "passed on"):
            self.add_queue(line)
            return
        name = (line["p"], line["id"])
        if event == "call":
            self.operations[name] = self.open[line["p"]] = Operation(line)
            return
        operation = self.operations[name]
        if event == "try":
            operation.tries.append(line)
            return
        operation.end(line)
        if not operation.ok:
            return
        for part in line.get("grants", [line]):
            if "grant" in part:
                self.grants[part["grant"]] = Grant(operation, part)
        if operation.op.startswith("final"):
            self.finals.append(operation)

    def add_queue(self, line):
        if line["e"] == "queue":
            self.queue = line
            return
        if line["e"] == "killed":
            self.killed[line["process"]] = line["t"]
            return
        waiting = self.open.get(line["p"])
        if waiting is None or waiting.ended is not None:
            return
        if line["e"] == "stands":
            waiting.stands.append((line["sent"], line["t"]))
        else:
            waiting.passed_on = True

    def writes_of(self, operation):
        if operation.tries:
            # Every try but the last was refused, or the function would not have been called again.
            for one in operation.tries:
                outcome = operation.outcome if one is operation.tries[-1] else "fail"
                for write in one.get("writes", [one]):
                    yield Write(operation, write["prev"], write["write"], outcome, key=write.get("key"))
        elif "write" in operation.call:
            grant = self.grants.get(operation.call.get("grant"))
            yield Write(operation, operation.call["prev"], operation.call["write"], operation.outcome,
                        operation.reply.get("version"), grant)
        writes = operation.call.get("writes", [])
        for one, version in zip(writes, operation.reply.get("versions", [None] * len(writes))):
            yield Write(operation, one["prev"], one["write"], operation.outcome, version,
                        self.grants.get(one.get("grant")), one["key"])


def read_whole_lines(path, start=0):
    """What stands after `start` bytes, and where the last whole line ends: one that is being written, or whose writer was
    killed meanwhile, may be there in part."""
    with open(path, "rb") as file:
        file.seek(start)
        whole, end, _ = file.read().rpartition(b"\n")
    return [json.loads(line) for line in whole.splitlines()], start + len(whole) + len(end)


def read_lines(paths):
    lines = [line for path in paths for line in read_whole_lines(path)[0]]
    # By process and time: an answer comes after its call.
    return sorted(lines, key=lambda line: (line["p"], line["t"], line["e"] != "call"))


class Checker:
    def __init__(self, history, clocks_lie=False):
        self.history = history
        self.clocks_lie = clocks_lie
        self.violations = []
        self.positions = {}  # of each document's values in its chain

    def complain(self, rule, text):
        self.violations.append(f"{rule}: {text}")

    def run(self):
        by_place = collections.defaultdict(list)
        for grant in self.history.grants.values():
            by_place[grant.where].append(grant)
        for where, grants in by_place.items():
            if not self.clocks_lie:
                self.check_holders(where, grants)
            self.check_fences(where, grants)
        if self.history.queue is not None:
            self.check_queue()
        for key in sorted(self.keys()):
            self.check_document(key)
        self.check_transactions()
        self.check_end()
        return self.violations

    def keys(self):
        keys = {write.key for write in self.history.writes}
        return keys | {grant.key for grant in self.history.grants.values() if grant.read is not None}

    def check_holders(self, where, grants):
        # Starts before ends at one moment: a holder whose proof is one moment counts at it.
        events = [(g.since, 0, g) for g in grants if g.until > g.since]
        events += [(g.until, 1, g) for g in grants if g.until > g.since]
        holding = []
        for _, ends, grant in sorted(events, key=lambda event: event[:2]):
            if ends:
                holding.remove(grant)
                continue
            holding.append(grant)
            if len(holding) == 1:
                continue
            shared = all(other.limit for other in holding)
            if not shared or len(holding) > min(other.limit for other in holding):
                names = ", ".join(f"{g.id} (fence {g.fence})" for g in holding)
                self.complain("holders", f"{where}: held at once by {names}")

    def check_fences(self, where, grants):
        """Fences rise from each grant to those that were asked for after it was told."""
        exclusive = collections.Counter(g.fence for g in grants if not g.limit)
        for fence, times in exclusive.items():
            if times > 1:
                self.complain("fences", f"{where}: fence {fence} was granted {times} times")
        told = sorted(grants, key=lambda g: g.operation.ended)
        asked = sorted(grants, key=lambda g: g.operation.began)
        highest, seen = None, 0
        for grant in asked:
            while seen < len(told) and told[seen].operation.ended < grant.operation.began:
                if highest is None or told[seen].fence > highest.fence:
                    highest = told[seen]
                seen += 1
            if highest is None:
                continue
            # The fence of a share may be that of one granted just after, if a reply was lost.
            both_shared = grant.limit and highest.limit
            if grant.fence < highest.fence or (grant.fence == highest.fence and not both_shared):
                self.complain("fences", f"{where}: {grant.id} has fence {grant.fence} after {highest.id} had "
                                        f"{highest.fence}")

    def check_queue(self):
        locks = [o for o in self.history.operations.values() if o.op in ("lock", "final")]
        for key in sorted({o.key for o in locks}):
            mine = [o for o in locks if o.key == key]
            self.check_stall(key, mine)
            self.check_turns(key, mine)

    def check_stall(self, key, locks):
        """The lock is free for a moment only while a client waits for it."""
        covered = sorted(span for operation in locks for span in self.spans_of(operation))
        for waiter in locks:
            end = waiter.ended if waiter.ended is not None else self.history.killed.get(waiter.process)
            if end is None:
                continue
            free_since = waiter.began
            for start, over in [*covered, (end, end)]:
                if min(start, end) - free_since > STALL:
                    seconds = (min(start, end) - free_since) / NANO
                    self.complain("stall", f"{key}: free for {seconds:.1f} s, while process {waiter.process} waited "
                                           f"(call {waiter.call['id']})")
                    break
                free_since = max(free_since, over)

    def spans_of(self, operation):
        """When this client may have had the lock, or its entry or lease may have delayed others."""
        queue, killed = self.history.queue, self.history.killed.get(operation.process)
        if operation.ended is None:
            # It was killed while it waited: its entry lapses, and it may have been granted the lock before.
            if killed is not None:
                yield killed, killed + (queue["entry"] + queue["probation"]) * 1_000_000
            return
        if not operation.ok:
            return
        released = self.released_at(operation)
        if released is not None:
            yield operation.ended, released
        elif killed is not None:
            # No renewal is due while such a client holds the lock.
            lease = queue["probation"] if operation.passed_on else queue["ttl"]
            yield operation.ended, killed + lease * 1_000_000

    def released_at(self, lock):
        ends = [o.ended for o in self.history.operations.values()
                if o.call.get("grant") == lock.reply["grant"] and o.op == "release" and o.ended is not None]
        if lock.op == "final":
            return lock.ended
        return min(ends, default=None)

    def check_turns(self, key, locks):
        """By the order of the fences, which is that of the grants."""
        granted = sorted((o for o in locks if o.ok), key=lambda o: o.reply["fence"])
        own = {}  # how many grants of its process in a row each is
        for before, operation in zip([None, *granted], granted):
            same = before is not None and before.process == operation.process
            own[operation] = own[before] + 1 if same else 0
        for place, waiter in enumerate(granted):
            since = self.stands_since(waiter)
            if since is None:
                continue
            for other in granted[:place]:
                handed_over = 0 < own[other] <= MAX_HANDOVERS
                if other.began > since and not handed_over:
                    self.complain("turns", f"{key}: process {other.process} (fence {other.reply['fence']}) was granted "
                                           f"the lock before process {waiter.process} ({waiter.reply['fence']}), whose "
                                           f"entry stood {(other.began - since) / 1e6:.0f} ms before it asked")

    def stands_since(self, waiter):
        """From when on the entry stood until the grant, for certain: it was refreshed before it could lapse."""
        entry = self.history.queue["refreshed"] * 1_000_000
        since, last = None, None
        for sent, told in waiter.stands:
            if last is None or told - last > entry:
                since = told
            last = sent
        return since if last is not None and waiter.ended - last <= entry else None

    def check_document(self, key):
        writes = {w.value: w for w in self.history.writes if w.key == key}
        grants = [g for g in self.history.grants.values() if g.key == key and g.read is not None]
        chain = self.chain_of(key, writes, grants)
        if chain is None:
            return
        position = self.positions[key] = {value: i for i, value in enumerate(chain)}
        for write in writes.values():
            on_chain = write.value in position
            if write.outcome == "ok" and not on_chain:
                self.complain("chain", f"{key}: {write.value} was acknowledged and is lost")
            if write.outcome == "fail" and on_chain:
                self.complain("chain", f"{key}: {write.value} was refused and is there")
        self.check_late(key, chain, writes, grants, position)
        self.check_versions(key, chain, writes, grants, position)
        self.check_register(key, writes, grants, position)

    def chain_of(self, key, writes, grants):
        last = [g for g in grants if g.operation.op == "final"]
        if not last:
            return None  # check_end tells
        value = max(last, key=lambda g: g.operation.ended).read
        chain, seen = [], set()
        while value != FIRST:
            if value in seen or value not in writes:
                self.complain("chain", f"{key}: no client wrote {value}, or it follows itself")
                return None
            seen.add(value)
            chain.append(value)
            value = writes[value].previous
        return [FIRST] + chain[::-1]

    def check_late(self, key, chain, writes, grants, position):
        # For each place of the chain, the lowest fence of the holders' writes from there to the end.
        grants = [g for g in grants if g.read in position]
        lowest, after = None, [None] * (len(chain) + 1)
        for i in range(len(chain) - 1, -1, -1):
            grant = writes[chain[i]].grant if chain[i] != FIRST else None
            if grant is not None and (lowest is None or grant.fence < lowest.fence):
                lowest = grant
            after[i] = lowest
        for grant in grants:
            late = after[position[grant.read] + 1]
            if late is not None and late.fence < grant.fence:
                self.complain("late", f"{key}: {late.id} (fence {late.fence}) wrote after {grant.id} "
                                      f"(fence {grant.fence}) had read")

    def check_versions(self, key, chain, writes, grants, position):
        version, value = 0, FIRST
        for one in chain[1:]:
            known = writes[one].version
            if known is None:
                continue
            if known <= version:
                self.complain("versions", f"{key}: {one} has version {known} after {value} had {version}")
            version, value = known, one
        for grant in grants:
            write = writes.get(grant.read)
            if write is not None and write.version is not None and grant.fence < write.version:
                self.complain("versions", f"{key}: {grant.id} has fence {grant.fence} and read {grant.read} of version "
                                          f"{write.version}")

    def check_register(self, key, writes, grants, position):
        """Along the time, no operation sees less than what was told before it began."""
        seen = []  # (began, ended, position, is a write, text)
        for operation in self.history.operations.values():
            for value in (value for read, value in operation.reads() if read == key):
                seen.append((operation.began, operation.ended, value, False, f"a read of process {operation.process}"))
        for grant in grants:
            seen.append((grant.operation.began, grant.operation.ended, grant.read, False, f"grant {grant.id}"))
        for write in writes.values():
            if write.outcome == "ok":
                seen.append((write.operation.began, write.operation.ended, write.value, True, f"write {write.value}"))
        checked = []
        for began, ended, value, is_write, text in seen:
            if value is None:
                checked.append((began, ended, -1, is_write, text))
                continue
            if value not in position:
                if not is_write:
                    self.complain("register", f"{key}: {text} saw {value}, which is not on the chain")
                continue
            if not is_write and value != FIRST and writes[value].operation.began > ended:
                self.complain("register", f"{key}: {text} saw {value} before it was written")
            checked.append((began, ended, position[value], is_write, text))
        told = sorted(checked, key=lambda one: one[1])
        floor, source, next_told = -1, None, 0
        for began, _, place, is_write, text in sorted(checked, key=lambda one: one[0]):
            while next_told < len(told) and told[next_told][1] < began:
                if told[next_told][2] > floor:
                    floor, source = told[next_told][2], told[next_told][4]
                next_told += 1
            if place < floor or (is_write and place == floor and source is not None):
                self.complain("register", f"{key}: {text} is at place {place}, and {source} before it at {floor}")

    def place(self, key, value):
        """Of a value in its document's chain; None: it is not there."""
        return -1 if value is None else self.positions.get(key, {}).get(value)

    def check_transactions(self):
        stored = collections.defaultdict(list)  # the places of the writes of transactions, by their documents
        for operation in self.history.operations.values():
            writes = sorted((key, value) for key, _, value in operation.writes())
            if any(key not in self.positions for key, _ in writes):
                continue  # the chain has been complained of
            places = [self.place(*one) for one in writes]
            if None not in places:
                for (a, i), (b, j) in itertools.combinations(zip((key for key, _ in writes), places), 2):
                    stored[a, b].append((i, j))
            elif places != [None] * len(places):
                self.complain("whole", f"the transfer {operation.call['id']} of process {operation.process} is stored in part")
        # As many of them have taken effect in the one document as in the other.
        columns = {keys: [sorted(column) for column in zip(*pairs)] for keys, pairs in stored.items()}
        for operation in self.history.operations.values():
            if operation.op == "read all" and operation.ok:
                self.check_moment(operation, columns)
        self.check_order()

    def check_order(self):
        """Each comes after the writer of what it saw, and before the next writer of it."""
        happened = [o for o in self.history.operations.values() if o.ok or o.outcome == "doubt" and self.is_stored(o)]
        writers = {(key, self.place(key, value)): o for o in happened for key, _, value in o.writes()}
        after = {operation: set() for operation in happened}
        for operation in happened:
            for key, value in operation.seen_at_once():
                place = self.place(key, value)
                if place is None or key not in self.positions:
                    continue  # that has been complained of
                before, next_one = writers.get((key, place)), writers.get((key, place + 1))
                if before is not None and before is not operation:
                    after[operation].add(before)
                if next_one is not None and next_one is not operation:
                    after[next_one].add(operation)
        try:
            graphlib.TopologicalSorter(after).prepare()
        except graphlib.CycleError as error:
            names = ", ".join(f"{o.op} {o.call['id']} of process {o.process}" for o in error.args[1])
            self.complain("cycle", f"no order explains what these read and wrote: {names}")

    def is_stored(self, operation):
        return any(self.place(key, value) is not None for key, _, value in operation.writes())

    def check_moment(self, operation, columns):
        text = f"the read {operation.call['id']} of process {operation.process}"
        seen = {key: self.place(key, value) for key, value in operation.reads()}
        for (a, b), (in_a, in_b) in columns.items():
            if seen[a] is None or seen[b] is None:
                continue  # the register has been complained of
            counts = bisect.bisect_right(in_a, seen[a]), bisect.bisect_right(in_b, seen[b])
            if counts[0] != counts[1]:
                self.complain("whole", f"{text} saw {counts[0]} of the transfers in {a}, and {counts[1]} of them in {b}")
        amounts = [one.get("amount") for one in operation.reply["reads"]]
        if None not in amounts and sum(amounts) != operation.call["sum"]:
            self.complain("sum", f"{text} saw {amounts}, and not {operation.call['sum']} in all")
        if None in amounts and any(amount is not None for amount in amounts):
            self.complain("whole", f"{text} saw some of the accounts that were created together: {amounts}")

    def check_end(self):
        asked = [o for o in self.history.operations.values() if o.op.startswith("final")]
        if not asked:
            self.complain("end", "no client tried to take the locks at the end")
        for operation in asked:
            if not operation.ok:
                self.complain("end", f"{operation.key} cannot be locked: {operation.reply.get('why', operation.outcome)}")


def summary(history):
    outcomes = collections.Counter(o.outcome for o in history.operations.values())
    writes = collections.Counter(w.outcome for w in history.writes)
    succeeded = collections.Counter(o.op for o in history.operations.values() if o.ok)
    return {"operations": len(history.operations), "ok": outcomes["ok"], "fail": outcomes["fail"],
            "doubt": outcomes["doubt"], "grants": len(history.grants), "written": writes["ok"],
            "writes refused": writes["fail"], "writes in doubt": writes["doubt"],
            "transfers": succeeded["transfer"], "updates of several": succeeded["update all"],
            "reads of all": succeeded["read all"]}


def check(lines, clocks_lie=False):
    """Returns the violations and the numbers of a history."""
    history = History(lines)
    return Checker(history, clocks_lie).run(), summary(history)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clocks-lie", action="store_true")
    parser.add_argument("--expect", metavar="RULE", help="succeed if this rule is violated, and only then")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    violations, numbers = check(read_lines(arguments.files), arguments.clocks_lie)
    for violation in violations[:50]:
        print(violation)
    print(", ".join(f"{count} {name}" for name, count in numbers.items()))
    if arguments.expect:
        sys.exit(0 if any(v.startswith(arguments.expect + ":") for v in violations) else 1)
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
