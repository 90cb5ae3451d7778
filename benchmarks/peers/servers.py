"""The servers that the workers need, each started fresh in a folder of its own, on this machine only.

A server raises Missing, with the reason, where it cannot be had. All of them wait for the disk before they answer, as
far as they can: see each.
"""
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Missing(Exception):
    """Why a server is left out."""


def program(name, *places):
    found = shutil.which(name) or next((path for place in places for path in sorted(glob.glob(place))), None)
    if not found:
        raise Missing(f"there is no {name}")
    return found


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()


def wait_for_port(port, process, log):
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise Missing(f"it does not start; see {log}")


class Server:
    END = signal.SIGKILL

    def __init__(self, folder, port):
        self.folder, self.port, self.processes, self.version = folder, port, [], ""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def launch(self, port, command, **options):
        log = self.folder / f"{port}.log"
        with open(log, "w", encoding="utf-8") as output:
            self.processes.append(subprocess.Popen(command, stdout=output, stderr=output, **options))
        return log

    def pids(self):
        return [process.pid for process in self.processes]

    def stop(self):
        """Ends it at once: its data is not needed again."""
        for process in self.processes:
            process.send_signal(self.END)
        for process in self.processes:
            process.wait(20)


class Files(Server):
    """No server: a folder."""

    def start(self):
        return str(self.folder)


class MongoDB(Server):
    """A replica set of three. Clients ask for the acknowledgement of a majority, which includes the journal's."""

    def script(self, *arguments):
        environment = dict(os.environ, DOCLOCK_MONGO_HOME=str(self.folder), DOCLOCK_MONGO_PORT=str(self.port))
        done = subprocess.run([ROOT / "scripts" / "mongo.sh", *arguments], env=environment, text=True,
                              stdout=subprocess.PIPE, check=False)
        if done.returncode:
            raise Missing("scripts/mongo.sh cannot start it")
        return done.stdout.strip()

    def start(self):
        uri = self.script("start", "--fresh")
        self.version = "MongoDB, three members"
        return uri.replace("/?", "/peers?")

    def pids(self):
        return [int(path.read_text()) for path in self.folder.glob("*/mongod.pid")]

    def stop(self):
        self.script("stop")


class Etcd(Server):
    """Three members; a write is on the disks of two of them before the answer."""

    def start(self):
        etcd = program("etcd")
        self.version = first_line(etcd, "--version").replace("Version: ", "") + ", three members"
        urls = [(f"http://127.0.0.1:{self.port + 2 * i}", f"http://127.0.0.1:{self.port + 2 * i + 1}") for i in range(3)]
        cluster = ",".join(f"m{i}={peer}" for i, (_, peer) in enumerate(urls))
        logs = [self.launch(self.port + 2 * i,
                            [etcd, "--name", f"m{i}", "--data-dir", self.folder / f"m{i}", "--logger", "zap",
                             "--listen-client-urls", client, "--advertise-client-urls", client,
                             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                             "--initial-cluster", cluster, "--log-level", "error"])
                for i, (client, peer) in enumerate(urls)]
        for i, process in enumerate(self.processes):
            wait_for_port(self.port + 2 * i, process, logs[i])
        return ",".join(client for client, _ in urls)


class Redis(Server):
    """One server that waits for its disk before each answer."""

    def start(self):
        redis = program("redis-server")
        self.version = "Redis " + first_line(redis, "--version").split("v=")[1].split()[0]
        log = self.launch(self.port, [redis, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder,
                                      "--save", "", "--appendonly", "yes", "--appendfsync", "always"])
        wait_for_port(self.port, self.processes[0], log)
        return str(self.port)


class PostgreSQL(Server):
    """One server, as it is configured by default: a commit waits for the disk."""

    END = signal.SIGQUIT  # which it passes on to its children

    def start(self):
        places = "/usr/lib/postgresql/*/bin/"
        initdb, postgres = program("initdb", places + "initdb"), program("postgres", places + "postgres")
        self.version = first_line(postgres, "--version").replace("postgres (PostgreSQL)", "PostgreSQL")
        user = {}
        if os.geteuid() == 0:  # it refuses to run as root
            try:
                pwd.getpwnam("postgres")
            except KeyError:
                raise Missing("it does not run as root, and there is no user postgres") from None
            shutil.chown(self.folder, "postgres")
            user = {"user": "postgres", "cwd": self.folder}
        data = self.folder / "data"
        made = subprocess.run([initdb, "-D", data, "-U", "peers", "-A", "trust"], capture_output=True, text=True,
                              check=False, **user)
        if made.returncode:
            raise Missing(f"initdb fails: {made.stderr.strip()}")
        log = self.launch(self.port, [postgres, "-D", data, "-p", str(self.port), "-k", "", "-h", "127.0.0.1",
                                      "-c", "max_connections=200"], **user)
        wait_for_port(self.port, self.processes[0], log)
        time.sleep(0.5)
        return f"host=127.0.0.1 port={self.port} user=peers dbname=postgres"


def cpu_seconds(pids):
    """The processor time that these processes and their children have used."""
    wanted, total = set(pids), 0
    for path in sorted(glob.glob("/proc/[0-9]*/stat"), key=lambda name: int(name.split("/")[2])):
        try:
            with open(path, encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(path.split("/")[2])
        if pid in wanted or int(fields[1]) in wanted:
            wanted.add(pid)
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")
