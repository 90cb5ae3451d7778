"""The replica set of a history, which scripts/mongo.sh starts and mongo_initiate.py talks to."""
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import mongo_initiate as wire  # noqa: E402
from network import Network  # noqa: E402


class Servers:
    def __init__(self, home, port, namespaces=False):
        self.home, self.first = pathlib.Path(home), port
        self.ports = [port, port + 1, port + 2]
        self.false = False  # libfaketime gives the members their clocks
        self.network = Network(self.ports) if namespaces else None
        self.hosts = {p: self.network.address(p) if namespaces else "127.0.0.1" for p in self.ports}
        if namespaces:
            self.link_namespaces()

    def start(self):
        """If it fails, some of them may run: stop() stops them."""
        self.script("start", "--fresh")

    @property
    def uri(self):
        hosts = ",".join(self.at(port) for port in self.ports)
        return f"mongodb://{hosts}/%s?replicaSet=doclock"

    def uri_over(self, port):
        """A proxy's: of the primary alone."""
        return f"mongodb://127.0.0.1:{port}/%s?directConnection=true"

    def create(self, database):
        """Its first write makes it."""

    def at(self, port):
        return f"{self.hosts[port]}:{port}"

    def link_namespaces(self):
        """member.sh finds the namespace of a member by its port."""
        self.namespaces = self.home / "namespaces"
        shutil.rmtree(self.namespaces, ignore_errors=True)
        self.namespaces.mkdir(parents=True)
        for port in self.ports:
            (self.namespaces / str(port)).symlink_to(self.network.namespace(port))

    def script(self, *arguments):
        environment = {**os.environ, "DOCLOCK_MONGO_HOME": str(self.home), "DOCLOCK_MONGO_PORT": str(self.first),
                       "DOCLOCK_MONGO_HOSTS": " ".join(self.hosts.values()),
                       # As docs/reference/mongodb.md says: else a client that is gone keeps documents for a minute.
                       "DOCLOCK_MONGOD_PARAMETER": "transactionLifetimeLimitSeconds=5",
                       **self.environment(*arguments)}
        subprocess.run([ROOT / "scripts" / "mongo.sh", *arguments], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def environment(self, command, *arguments):
        member = {}
        if self.false and command == "revive":
            # The monotonic clock stays true, as a real machine's does.
            member = {"DOCLOCK_MEMBER_PRELOAD": find_faketime(), "FAKETIME_TIMESTAMP_FILE": str(self.clock_of(*arguments)),
                      "FAKETIME_CACHE_DURATION": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        elif self.network and command in ("start", "revive"):
            member = {"DOCLOCK_MEMBER_NETWORKS": str(self.namespaces)}
        if not member:
            return {}
        program = subprocess.run([ROOT / "scripts" / "mongo.sh", "program"], check=True, stdout=subprocess.PIPE,
                                 text=True)
        return {"DOCLOCK_MONGOD": str(pathlib.Path(__file__).parent / "member.sh"),
                "DOCLOCK_MEMBER_PROGRAM": program.stdout.strip(), **member}

    def clock_of(self, port):
        return self.home / f"{port}.clock"

    def falsify(self):
        """Starts the members again, with clocks that set_clock() sets. Returns their ports."""
        self.false = True
        self.restart()
        return self.ports

    def heal_clocks(self):
        """Starts the members again with true clocks, if they had others."""
        if self.false:
            self.false = False
            self.restart()

    def restart(self):
        for port in self.ports:
            self.set_clock(port, 0)
            self.script("kill", str(port))
            self.script("revive", str(port))
            self.await_healthy()

    def set_clock(self, port, seconds):
        """Takes effect within a second."""
        new = self.home / f"{port}.clock.new"
        new.write_text(f"{seconds:+.3f}\n")
        os.replace(new, self.clock_of(port))

    def await_clocks(self):
        """Waits until each member shows the clock that it was given."""
        end = time.monotonic() + 30
        for port in self.ports:
            wanted = float(self.clock_of(port).read_text())
            while abs(clock_offset(self.at(port)) - wanted) > 0.05:
                if time.monotonic() > end:
                    raise RuntimeError(f"the server on port {port} does not show the clock that libfaketime gives it")
                time.sleep(0.1)

    def find_primary(self, other_than=None, within=60):
        """The port of a primary, or None."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            for port in self.ports:
                if port != other_than and wire.is_true(hello(self.at(port)), "isWritablePrimary"):
                    return port
            time.sleep(0.05)
        return None

    def primary(self, other_than=None):
        port = self.find_primary(other_than)
        if port is None:
            raise RuntimeError("there is no primary")
        return port

    def await_healthy(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            replies = [hello(self.at(port)) for port in self.ports]
            if sum(wire.is_true(reply, "isWritablePrimary") for reply in replies) == 1 and wire.all_ready(replies):
                return
            time.sleep(0.1)
        raise RuntimeError("the replica set does not heal")

    def step_down(self):
        port = self.primary()
        try:
            wire.run(self.at(port), {"replSetStepDown": 4, "secondaryCatchUpPeriodSecs": 3})
        except OSError:
            pass  # it broke the connection
        self.primary()

    def fail(self, commands, failure, times):
        mode = {"times": times} if commands else "off"
        try:
            wire.run(self.at(self.primary()), {"configureFailPoint": "failCommand", "mode": mode,
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
        for port in self.ports:
            self.clock_of(port).unlink(missing_ok=True)
        if self.network:
            self.network.close()


def clock_offset(server):
    """How many seconds a server's clock is ahead."""
    before = time.time()
    reply = hello(server)
    place = reply.find(b"\x09localTime\0")
    if place < 0:
        return float("inf")
    (milliseconds,) = struct.unpack_from("<q", reply, place + len(b"\x09localTime\0"))
    return milliseconds / 1000 - (before + time.time()) / 2


def find_faketime():
    for folder in ("/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime", "/usr/lib/faketime",
                   "/usr/lib64/faketime", "/usr/local/lib/faketime"):
        path = pathlib.Path(folder) / "libfaketimeMT.so.1"
        if path.exists():
            return str(path)
    sys.exit("histories: false clocks need libfaketime")


def faketime_files():
    """libfaketime leaves them behind when its process is killed."""
    folder = pathlib.Path("/dev/shm")
    return {*folder.glob("faketime_shm_*"), *folder.glob("sem.faketime_sem_*")}


def remove_files_of_the_dead(files):
    """Files whose names end with a process id."""
    for file in files:
        if not pathlib.Path("/proc", file.name.split("_")[-1]).exists():
            file.unlink(missing_ok=True)


def hello(server):
    try:
        return wire.run(server, {"hello": 1}, timeout=0.5)
    except OSError:
        return b""
