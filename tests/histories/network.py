"""Network namespaces: a place for each member of the set, and one for the clients. The namespace of this process joins them. It
forwards what they send each other, and can drop it. It must be one of its own (scripts/histories.sh --namespaces)."""
import contextlib
import os
import pathlib
import subprocess
import time

CLIENTS = "clients"


class Network:
    def __init__(self, members):
        self.places = [*members, CLIENTS]
        self.holders = {}
        ip("link", "set", "lo", "up")
        self.set("ip_forward", 1)
        # With it a route that drops one direction would drop the other too.
        self.set("conf/all/rp_filter", 0)
        self.set("conf/default/rp_filter", 0)
        for place in self.places:
            self.add(place)

    def set(self, name, value):
        (pathlib.Path("/proc/sys/net/ipv4") / name).write_text(str(value))

    def add(self, place):
        # It lives as long as this process, which holds its input open.
        self.holders[place] = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
        self.await_namespace(place)
        ip("link", "add", self.device(place), "type", "veth", "peer", "name", "eth0", "netns", self.holders[place].pid)
        ip("address", "add", self.gateway(place) + "/30", "dev", self.device(place))
        ip("link", "set", self.device(place), "up")
        for command in (["link", "set", "lo", "up"], ["address", "add", self.address(place) + "/30", "dev", "eth0"],
                        ["link", "set", "eth0", "up"], ["route", "add", "default", "via", self.gateway(place)]):
            ip(*command, enter=self.enter(place))

    def await_namespace(self, place):
        end = time.monotonic() + 10
        while os.readlink(self.namespace(place)) == os.readlink("/proc/self/ns/net"):
            if time.monotonic() > end:
                raise RuntimeError("there is no network namespace")
            time.sleep(0.01)

    def namespace(self, place):
        return f"/proc/{self.holders[place].pid}/ns/net"

    def enter(self, place):
        """What starts a program there."""
        return ["nsenter", f"--net={self.namespace(place)}"]

    def device(self, place):
        return f"place{self.places.index(place)}"

    def address(self, place):
        return f"10.77.{self.places.index(place)}.2"

    def gateway(self, place):
        return f"10.77.{self.places.index(place)}.1"

    @contextlib.contextmanager
    def dropped(self, pairs):
        """Drops what the first of each pair sends to the second, for the length of a block."""
        with contextlib.ExitStack() as restored:
            for one, other in pairs:
                rule = ["priority", "10", "iif", self.device(one), "to", self.address(other), "blackhole"]
                ip("rule", "add", *rule)
                restored.callback(ip, "rule", "delete", *rule)
            yield

    def close(self):
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
            holder.stdin.close()


def both_ways(ones, others):
    return [pair for one in ones for other in others for pair in ((one, other), (other, one))]


def ip(*arguments, enter=()):
    subprocess.run([*enter, "ip", *map(str, arguments)], check=True)
