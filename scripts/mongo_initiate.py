#!/usr/bin/env python3
"""Makes a replica set of servers that run on this machine, and waits until it has a primary.

usage: mongo_initiate.py [--primary] PORT...

With --primary it makes nothing, waits for a primary, and prints its port.

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


def run(port, command, timeout=10):
    """The raw reply: what is looked for in it is looked for as bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        body = b"\0\0\0\0\0" + document({**command, "$db": "admin"})
        connection.sendall(struct.pack("<iiii", len(body) + 16, 1, 0, 2013) + body)
        (size,) = struct.unpack("<i", receive(connection, 4))
        return receive(connection, size - 4)


def is_true(reply, name):
    return b"\x08" + name.encode() + b"\0\1" in reply


def hello(port):
    """Returns None if no server answers."""
    try:
        return run(port, {"hello": 1})
    except OSError:
        return b""


def primary_of(ports, ready=lambda replies: True):
    """The port of the primary, once there is one and the replies are `ready`."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        replies = {port: hello(port) for port in ports}
        for port, reply in replies.items():
            if is_true(reply, "isWritablePrimary") and ready(replies.values()):
                return port
        time.sleep(0.1)
    sys.exit("mongo_initiate: no primary within a minute")


def all_ready(replies):
    return all(is_true(r, "isWritablePrimary") or is_true(r, "secondary") for r in replies)


def main():
    arguments = sys.argv[1:]
    ask = arguments[:1] == ["--primary"]
    ports = [int(p) for p in arguments[ask:]]
    if not ports:
        sys.exit(__doc__)
    if ask:
        print(primary_of(ports))
        return
    members = [{"_id": i, "host": f"127.0.0.1:{port}"} for i, port in enumerate(ports)]
    settings = {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200}
    run(ports[0], {"replSetInitiate": {"_id": "doclock", "members": members, "settings": settings}})
    primary_of(ports, all_ready)


if __name__ == "__main__":
    main()
