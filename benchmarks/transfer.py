#!/usr/bin/env python3
"""Exports and imports many documents with the command, and prints rates and the peak of memory.

Usage: benchmarks/transfer.py DOCLOCK [--documents 1000000] [--store URL]

Each step is measured alone: an import into an empty store, an import over what is there, an export, and the repetition of an import that kill -9
ended in the middle. All documents must be there then.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time


def write_lines(path, count):
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            file.write('{"body":{"customer":"c%d","items":[{"n":2,"sku":"a-%d"}],"step":"new","total":%d.5},"key":"order-%d","keyType":"string"}\n'
                       % (i % 1000, i, i, i))


class Runner:
    def __init__(self, doclock, store):
        self.doclock, self.environment = doclock, dict(os.environ, DOCLOCK_STORE=store)

    def start(self, *words):
        return subprocess.Popen([self.doclock, *words], env=self.environment, stdout=subprocess.PIPE, text=True)

    def measure(self, what, count, *words):
        """Runs the command to its end, and prints what it took."""
        begin = time.monotonic()
        process = self.start(*words)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        took = time.monotonic() - begin
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            sys.exit(f"{what}: exit code {code}")
        print(f"{what:34} {took:8.1f} s {count / took:10.0f} documents/s {usage.ru_maxrss / 1024:8.1f} MiB  {output.strip()}", flush=True)

    def kill_after(self, seconds, *words):
        process = self.start(*words)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if process.returncode != -signal.SIGKILL:
            sys.exit("it ended before it was killed: give more --documents")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("doclock")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--kill-after", type=float, default=5, help="seconds after which kill -9 ends a step")
    parser.add_argument("--store", help="an empty store (default: a SQLite file of its own)")
    options = parser.parse_args()
    count = options.documents
    with tempfile.TemporaryDirectory() as folder:
        lines, out, again = (os.path.join(folder, name) for name in ("in.jsonl", "out.jsonl", "again.jsonl"))
        write_lines(lines, count)
        run = Runner(options.doclock, options.store or "sqlite:" + os.path.join(folder, "store.db"))
        run.measure("import into an empty collection", count, "import", "orders", lines)
        run.measure("import over what is there", count, "import", "orders", lines)
        run.measure("export", count, "export", "orders", out)
        run.kill_after(options.kill_after, "import", "killed", lines)
        run.measure("import after kill -9", count, "import", "--wait", "1m", "killed", lines)
        run.measure("export of what was killed", count, "export", "killed", again)
        for path in (out, again):
            with open(path, encoding="utf-8") as file:
                keys = {line[line.index('"key":"') + 7:].split('"', 1)[0] for line in file}
            if len(keys) != count:
                sys.exit(f"{len(keys)} of {count} documents are in {os.path.basename(path)}")
    print("every document is there")


if __name__ == "__main__":
    main()
