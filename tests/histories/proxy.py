"""A TCP proxy in front of a server, which loses, delays and cuts on request."""
import contextlib
import queue
import socket
import threading
import time

PASS = "pass"


class Pipe(threading.Thread):
    """One direction of a connection."""

    def __init__(self, proxy, source, target, direction):
        super().__init__(daemon=True)
        self.proxy, self.source, self.target, self.direction = proxy, source, target, direction
        self.waiting = queue.Queue()

    def run(self):
        threading.Thread(target=self.deliver, daemon=True).start()
        with contextlib.suppress(OSError):
            while data := self.source.recv(65536):
                self.waiting.put((time.monotonic() + self.proxy.delay(self.direction), data))
        self.waiting.put((time.monotonic() + self.proxy.delay(self.direction), b""))

    def deliver(self):
        """What was held back arrives later, also when its sender has gone."""
        with contextlib.suppress(OSError):
            while True:
                due, data = self.waiting.get()
                time.sleep(max(0, due - time.monotonic()))
                if self.proxy.loses(self.direction):
                    continue
                if not data:
                    break
                self.target.sendall(data)
        for one in (self.source, self.target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class Proxy:
    """Modes: "pass"; "lose requests", "lose replies" (nothing arrives in this direction); "late requests", "late replies"
    (what arrives in this direction is held back for `seconds`)."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.mode, self.seconds = PASS, 0
        self.connections = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                self.connections.append((client, server))
                Pipe(self, client, server, "requests").start()
                Pipe(self, server, client, "replies").start()

    def set(self, mode, seconds=0):
        self.mode, self.seconds = mode, seconds

    def heal(self):
        """Connections on which something was lost are useless: they are cut."""
        cut = self.mode.startswith("lose")
        self.mode = PASS
        if cut:
            self.cut()

    def cut(self):
        connections, self.connections = self.connections, []
        for pair in connections:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def loses(self, direction):
        return self.mode == "lose " + direction

    def delay(self, direction):
        return self.seconds if self.mode == "late " + direction else 0

    def close(self):
        self.listener.close()
        self.cut()
