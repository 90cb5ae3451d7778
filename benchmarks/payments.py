#!/usr/bin/env python3
"""Messages a second of the sample payments, beside one SQL transaction per message without any lock.

Usage: benchmarks/payments.py SAMPLE [--store URL] [--workers 1 8] [--rounds 5]

SAMPLE is build/release/samples/payments/sample_payments. Each round runs both in turn over the same messages, and prints the medians: "consume"
stores the messages that follow, as the floor does; "work" sends them too. Workers are threads of one process; those of the floor have a
connection each. The floor is SQLite with journal_mode=WAL and synchronous=FULL, as the store is. With strace installed, the flushes of each are counted in a round of their own. With --store, which must be an empty database, it
is one round without a floor.
"""
import argparse
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time


def connect(database):
    db = sqlite3.connect(database, timeout=30, isolation_level=None)
    db.execute("pragma journal_mode=wal")
    db.execute("pragma synchronous=full")
    return db


def floor(database, messages, workers=1):
    db = connect(database)
    db.executescript("""
        create table account(id primary key, balance int check(balance >= 0));
        create table orders(id primary key, paid int default 0);
        create table inbox(id primary key, result);
        create table outbox(id primary key, sent int default 0);""")
    db.executemany("insert into account values(?, 100000)", [(f"account-{i}",) for i in range(6)])
    db.executemany("insert into orders(id) values(?)", [(f"order-{i}",) for i in range(8)])
    lines = list(open(messages, encoding="utf-8"))
    threads = [threading.Thread(target=consume, args=(database, lines[i::workers])) for i in range(workers)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - begin


def consume(database, lines):
    db = connect(database)
    for line in lines:
        try:
            handle(db, json.loads(line))
        except ValueError:
            pass  # to the dead letters


def handle(db, message):
    db.execute("begin immediate")
    if db.execute("insert or ignore into inbox values(?, null)", (message["id"],)).rowcount == 0:
        db.execute("rollback")
        return
    balance = db.execute("select balance from account where id = ?", (message["from"],)).fetchone()
    known = balance and db.execute("select 1 from account where id = ?", (message["to"],)).fetchone()
    paid = known and message["from"] != message["to"] and balance[0] >= message["amount"]
    if paid:
        db.execute("update account set balance = balance - ? where id = ?", (message["amount"], message["from"]))
        db.execute("update account set balance = balance + ? where id = ?", (message["amount"], message["to"]))
        db.execute("update orders set paid = paid + ? where id = ?", (message["amount"], message["order"]))
    result = "paid" if paid else "rejected"
    db.execute("update inbox set result = ? where id = ?", (result, message["id"]))
    db.execute("insert into outbox(id) values(?)", (message["id"] + ":" + result,))
    db.execute("commit")


class Sample:
    def __init__(self, program, store):
        self.program, self.store = program, store

    def run(self, verb, file, workers=1):
        if subprocess.run([self.program, verb, self.store, file, str(workers)], stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit("the sample failed")

    def measure(self, verb, file, workers):
        begin = time.monotonic()
        self.run(verb, file, workers)
        took = time.monotonic() - begin
        if verb == "consume":
            self.run("work", file)
        self.run("audit", file)
        return took


def flushes(command, folder):
    """Of a command, as strace counts them."""
    log = os.path.join(folder, "strace")
    subprocess.run(["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", "-o", log, *command], check=True, stdout=subprocess.DEVNULL)
    rows = (line.split() for line in open(log, encoding="utf-8"))
    return sum(int(row[3]) for row in rows if row and row[-1] in ("fsync", "fdatasync"))


def count_flushes(program, folder, workers):
    sample = Sample(program, "sqlite:" + os.path.join(folder, f"counted-{workers}.db"))
    file = os.path.join(folder, "counted.jsonl")
    sample.run("setup", file)
    lines = sum(1 for _ in open(file, encoding="utf-8"))
    ours = flushes([program, "consume", sample.store, file, str(workers)], folder)
    base = os.path.join(folder, f"counted-floor-{workers}.db")
    theirs = flushes([sys.executable, __file__, "--floor", base, file, str(workers)], folder)
    print(f"flushes a line, {workers} workers: consume {ours / lines:.2f}, floor {theirs / lines:.2f}")


def main():
    if sys.argv[1:2] == ["--floor"]:
        floor(*sys.argv[2:4], int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("sample")
    parser.add_argument("--store")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    cases = [(verb, workers) for workers in options.workers for verb in (["work"] if options.store else ["consume", "work"])]
    rates, floors = {case: [] for case in cases}, {workers: [] for workers in options.workers}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for number in range(1 if options.store else options.rounds):
            for verb, workers in cases:
                name = os.path.join(folder, f"{number}-{verb}-{workers}")
                sample = Sample(options.sample, options.store or f"sqlite:{name}.db")
                sample.run("setup", name)
                lines = sum(1 for _ in open(name, encoding="utf-8"))
                rates[verb, workers].append(lines / sample.measure(verb, name, workers))
                if verb == "consume":
                    floors[workers].append(lines / floor(name + ".floor", name, workers))
        for (verb, workers), each in rates.items():
            rate, base = statistics.median(each), floors[workers]
            beside = f"  {rate / statistics.median(base):.2f} of the floor" if base else ""
            print(f"{verb}, {workers} workers: {rate:.0f} lines/s{beside}  ({min(each):.0f} to {max(each):.0f})")
        for workers, each in floors.items():
            if each:
                print(f"floor, {workers} workers: {statistics.median(each):.0f} lines/s ({min(each):.0f} to {max(each):.0f})")
                if shutil.which("strace"):
                    count_flushes(options.sample, folder, workers)


if __name__ == "__main__":
    main()
