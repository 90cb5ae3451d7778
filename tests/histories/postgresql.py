"""The PostgreSQL server of a history, which scripts/postgresql.sh starts."""
import os
import pathlib
import subprocess

from servers import ROOT


class PostgresqlServer:
    ports, network, false = (), None, False

    def __init__(self, home, port):
        self.home, self.port = home, port

    def start(self):
        self.script("start", "--fresh")

    def stop(self):
        self.script("stop")

    def kill(self):
        self.script("kill")

    def revive(self):
        self.script("revive")

    def script(self, *arguments):
        environment = {**os.environ, "DOCLOCK_POSTGRESQL_HOME": str(self.home.resolve()),
                       "DOCLOCK_POSTGRESQL_PORT": str(self.port)}
        subprocess.run([ROOT / "scripts" / "postgresql.sh", *arguments], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def primary(self):
        return self.port

    @property
    def uri(self):
        return self.uri_over(self.port)

    def uri_over(self, port):
        return f"postgresql://postgres@127.0.0.1:{port}/%s"

    def create(self, database):
        subprocess.run(["psql", "-q", "-c", f"CREATE DATABASE {database}", self.uri % "postgres"], check=True)

    def await_healthy(self):
        subprocess.run(["psql", "-q", "-c", "SELECT", self.uri % "postgres"], check=True, stdout=subprocess.DEVNULL)

    def backends(self):
        """The processes that serve clients."""
        server = (self.home / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0]
        children = pathlib.Path(f"/proc/{server}/task/{server}/children").read_text(encoding="utf-8").split()
        return [int(pid) for pid in children if self.serves(pid)]

    @staticmethod
    def serves(pid):
        try:
            return b"postgres: postgres history_" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:  # it has ended
            return False
