"""The replica set of a history, which scripts/mongo.sh starts and mongo_initiate.py talks to."""
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import mongo_initiate as wire  # noqa: E402


class Servers:
    def __init__(self, home, port):
        self.home, self.first = pathlib.Path(home), port
        self.ports = [port, port + 1, port + 2]
        self.script("start", "--fresh")

    @property
    def uri(self):
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"mongodb://{hosts}/%s?replicaSet=doclock"

    def script(self, *arguments):
        environment = {**os.environ, "DOCLOCK_MONGO_HOME": str(self.home), "DOCLOCK_MONGO_PORT": str(self.first)}
        subprocess.run([ROOT / "scripts" / "mongo.sh", *arguments], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def primary(self, other_than=None):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for port in self.ports:
                if port != other_than and wire.is_true(hello(port), "isWritablePrimary"):
                    return port
            time.sleep(0.05)
        raise RuntimeError("there is no primary")

    def await_healthy(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            replies = [hello(port) for port in self.ports]
            if sum(wire.is_true(reply, "isWritablePrimary") for reply in replies) == 1 and wire.all_ready(replies):
                return
            time.sleep(0.1)
        raise RuntimeError("the replica set does not heal")

    def step_down(self):
        port = self.primary()
        try:
            wire.run(port, {"replSetStepDown": 4, "secondaryCatchUpPeriodSecs": 3})
        except OSError:
            pass  # it broke the connection
        self.primary()

    def fail(self, commands, failure, times):
        mode = {"times": times} if commands else "off"
        try:
            wire.run(self.primary(), {"configureFailPoint": "failCommand", "mode": mode,
                                      "data": {"failCommands": commands, **failure}})
        except OSError:
            pass  # the next time

    def pid(self, port):
        return int((self.home / str(port) / "mongod.pid").read_text())

    def kill(self, port):
        os.kill(self.pid(port), signal.SIGKILL)

    def revive(self, port):
        self.script("revive", str(port))

    def stop(self):
        self.script("stop")


def hello(port):
    try:
        return wire.run(port, {"hello": 1}, timeout=0.5)
    except OSError:
        return b""
