#!/usr/bin/env python3
"""Makes a replica set of servers that run on this machine, and waits until it has a primary.

usage: mongo_initiate.py [--primary] [HOST:]PORT...

With --primary it makes nothing, waits for a primary, and prints its port. HOST is 127.0.0.1 unless another one is named.

It speaks just enough of MongoDB's wire protocol (OP_MSG) and of BSON for two commands, so that tests need no other
client.
"""
import socket
import struct
import sys
import time


def element(name, value):
    key = name.encode() + b"\0"
    if isinstance(value, bool):
        return b"\x08" + key + (b"\1" if value else b"\0")
    if isinstance(value, int):
        return b"\x10" + key + struct.pack("<i", value)
    if isinstance(value, str):
        text = value.encode() + b"\0"
        return b"\x02" + key + struct.pack("<i", len(text)) + text
    if isinstance(value, list):
        return b"\x04" + key + document({str(i): v for i, v in enumerate(value)})
    return b"\x03" + key + document(value)


def document(fields):
    body = b"".join(element(name, value) for name, value in fields.items()) + b"\0"
    return struct.pack("<i", len(body) + 4) + body


def receive(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise OSError("the server closed the connection")
        data += part
    return data


def run(server, command, timeout=10):
    """The raw reply: what is looked for in it is looked for as bytes. `server` is HOST:PORT."""
    host, port = server.split(":")
    with socket.create_connection((host, int(port)), timeout=timeout) as connection:
        body = b"\0\0\0\0\0" + document({**command, "$db": "admin"})
        connection.sendall(struct.pack("<iiii", len(body) + 16, 1, 0, 2013) + body)
        (size,) = struct.unpack("<i", receive(connection, 4))
        return receive(connection, size - 4)


def is_true(reply, name):
    return b"\x08" + name.encode() + b"\0\1" in reply


def hello(server):
    """Returns nothing if no server answers."""
    try:
        return run(server, {"hello": 1})
    except OSError:
        return b""


def primary_of(servers, ready=lambda replies: True):
    """The primary, once there is one and the replies are `ready`."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        replies = {server: hello(server) for server in servers}
        for server, reply in replies.items():
            if is_true(reply, "isWritablePrimary") and ready(replies.values()):
                return server
        time.sleep(0.1)
    sys.exit("mongo_initiate: no primary within a minute")


def all_ready(replies):
    return all(is_true(r, "isWritablePrimary") or is_true(r, "secondary") for r in replies)


def main():
    arguments = sys.argv[1:]
    ask = arguments[:1] == ["--primary"]
    servers = [text if ":" in text else f"127.0.0.1:{text}" for text in arguments[ask:]]
    if not servers:
        sys.exit(__doc__)
    if ask:
        print(primary_of(servers).split(":")[1])
        return
    members = [{"_id": i, "host": server} for i, server in enumerate(servers)]
    settings = {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200}
    run(servers[0], {"replSetInitiate": {"_id": "doclock", "members": members, "settings": settings}})
    primary_of(servers, all_ready)


if __name__ == "__main__":
    main()
