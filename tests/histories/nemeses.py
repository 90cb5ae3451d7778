"""What goes wrong during a history. Each nemesis is a function of the scene (run.py), called once; it works until the scene's
time is over, and leaves everything healed."""
import collections
import signal
import time

import checker
from network import CLIENTS, both_ways


def none(scene):
    scene.sleep(scene.seconds)


def kill(scene):
    """Worker processes are killed with -9, and others take their places."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.3, 1.2))
        scene.replace(scene.random.choice(scene.workers))


class Tail:
    """Follows the records of the workers, to know who waits and who holds the lock of kill_waiters."""

    def __init__(self, scene):
        self.scene, self.offsets = scene, collections.Counter()
        self.states = {}  # of each process: idle, asking, standing (in the queue), holding, releasing
        self.passed_on = set()  # processes that were granted their last lock from the queue

    def read(self):
        for path in self.scene.folder.glob("[0-9]*.jsonl"):
            lines, self.offsets[path] = checker.read_whole_lines(path, self.offsets[path])
            for line in lines:
                self.follow(line)

    def follow(self, line):
        process, event = line["p"], line["e"]
        if event == "call":
            self.states[process] = "asking" if line["op"] == "lock" else "releasing"
            if line["op"] == "lock":
                self.passed_on.discard(process)
        elif event == "stands" and self.states.get(process) == "asking":
            self.states[process] = "standing"
        elif event == "passed on":
            self.passed_on.add(process)
        elif event in ("ok", "fail", "doubt"):
            self.states[process] = "holding" if "grant" in line else "idle"

    def those(self, state):
        alive = {int(worker.number) for worker in self.scene.workers}
        return sorted(p for p, one in self.states.items() if one == state and p in alive)


def await_phase(scene, tail, phase):
    """Which to kill: waiters while another client holds the lock or releases it, or one that was granted the lock."""
    end = min(scene.end, time.monotonic() + 3)
    while time.monotonic() < end:
        tail.read()
        standing = tail.those("standing")
        granted = [p for p in tail.those("holding") if p in tail.passed_on]
        if phase == "standing" and standing and tail.those("holding"):
            return standing
        if phase == "at release" and standing and tail.those("releasing"):
            return standing
        if phase == "granted" and granted:
            return granted
        time.sleep(0.0005)
    return []


def kill_waiters(scene):
    """Processes in the queue of one document are killed with -9: as they stand there, while the lock is passed on, or
    once they were granted it. Others take their places."""
    tail = Tail(scene)
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.3, 1.5))
        phase = scene.random.choice(["standing", "at release", "at release", "granted"])
        found = await_phase(scene, tail, phase)
        if phase == "at release":
            # The write that passes the lock on takes some milliseconds.
            time.sleep(scene.random.uniform(0, 0.012))
        victims = scene.random.sample(found, min(len(found), scene.random.choice([1, 1, 2])))
        for number in victims:
            scene.replace(next(worker for worker in scene.workers if worker.number == number))
            scene.count("killed " + phase)


def pause(scene):
    """Worker processes are stopped past their leases, and go on then."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.2, 0.8))
        worker = scene.random.choice(scene.workers)
        with stopped(scene, [worker.pid]):
            scene.sleep(scene.ttl * scene.random.choice([0.2, 1.3, 1.8]))


def slow_clock(scene):
    """The clock of one worker runs at a fifth of its speed: it believes in leases that are over."""
    scene.sleep(scene.seconds)


def stepdown(scene):
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.5, 1.5))
        scene.servers.step_down()


def kill_primary(scene):
    """The primary is killed with -9, and comes back when another one has taken over."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.5, 1.5))
        port = scene.servers.primary()
        scene.servers.kill(port)
        scene.servers.primary(other_than=port)
        scene.sleep(scene.random.uniform(0.2, 1))
        scene.servers.revive(port)
        scene.servers.await_healthy()


def pause_primary(scene):
    """The primary is stopped until another one has taken over: it believes that it is the primary when it goes on."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.5, 1.5))
        port = scene.servers.primary()
        with stopped(scene, [scene.servers.pid(port)]):
            scene.servers.primary(other_than=port)
            scene.sleep(scene.random.uniform(0.2, 1))


def pause_secondaries(scene):
    """No majority acknowledges what the primary does meanwhile."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.5, 1.5))
        primary = scene.servers.primary()
        with stopped(scene, [scene.servers.pid(p) for p in scene.servers.ports if p != primary]):
            scene.sleep(scene.random.choice([0.5, 1.5, 3]))


def partition_members(scene):
    """One member, mostly the primary, and the two others do not hear each other. The clients hear all members, or those of
    one side."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.5, 1.5))
        if not scene.goes_on():
            break
        alone, others = choose_member(scene)
        side = scene.random.choice(["all", "one", "two"])
        unheard = {"all": [], "one": others, "two": [alone]}[side]
        cut(scene, f"cuts with clients at {side}", alone,
            both_ways([alone], others) + both_ways([CLIENTS], unheard))


def one_way_members(scene):
    """What one member, mostly the primary, sends to the others is lost, or what they send to it."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.5, 1.5))
        if not scene.goes_on():
            break
        alone, others = choose_member(scene)
        to, from_others = [(alone, other) for other in others], [(other, alone) for other in others]
        name, pairs = scene.random.choice([("from the one", to), ("to the one", from_others)])
        cut(scene, "cuts " + name, alone, pairs)


def choose_member(scene):
    """One member, and the others. First it is the primary."""
    one = primary = scene.servers.primary()
    if scene.counts["primaries lost"] and scene.random.random() < 0.5:
        one = scene.random.choice([port for port in scene.servers.ports if port != primary])
    return one, [port for port in scene.servers.ports if port != one]


def cut(scene, name, alone, pairs):
    """Cuts a member off until another one is the primary, or for some seconds, and waits until all hear each other."""
    was_primary = scene.servers.primary() == alone
    with scene.servers.network.dropped(pairs):
        scene.count(name)
        scene.note(e="cut", what=name, member=alone, primary=was_primary)
        if was_primary and scene.servers.find_primary(other_than=alone, within=6):
            scene.count("primaries lost")
            scene.note(e="primary lost", member=alone)
        scene.sleep(scene.random.uniform(0.3, 2.5))
    scene.note(e="cut ends", member=alone)
    scene.servers.await_healthy()


def clocks_apart(scene):
    """The members' clocks differ by up to 0.6 s from the start on, and primaries step down: holders allow for that."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(1.5, 3))
        scene.servers.step_down()
        scene.count("stepdowns")


def set_apart(scene):
    for port in scene.servers.falsify():
        scene.servers.set_clock(port, scene.random.uniform(-0.3, 0.3))
    scene.servers.await_clocks()


def clocks_jump(scene):
    """The clocks of one or two members, mostly the primary's, jump ahead and back, or run away in steps: by more than
    any margin."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.3, 1))
        primary = scene.servers.primary()
        others = [port for port in scene.servers.ports if port != primary]
        ports = scene.random.choice([[primary], [primary], [scene.random.choice(others)],
                                     [primary, scene.random.choice(others)]])
        offset = scene.random.choice([-6, -1.5, 1.5, 6])
        steps = scene.random.choice([1, 1, 4])
        for step in range(steps):
            for port in ports:
                scene.servers.set_clock(port, offset * (step + 1) / steps)
            # A server reads its clock's file once in a second.
            scene.sleep(1.1)
        scene.count("jumps")
        if scene.random.random() < 0.3:
            scene.servers.step_down()
        for port in ports:
            scene.servers.set_clock(port, 0)
        # The members go by their clocks when they elect a primary: they need some time.
        scene.sleep(scene.random.uniform(2, 4))


def set_alike(scene):
    scene.servers.falsify()
    scene.servers.await_clocks()


def fail_command(scene):
    """The primary fails commands: it breaks the connection, or reports an error before or after the effect."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.1, 0.5))
        failure = scene.random.choice([{"closeConnection": True}, {"errorCode": 91}, {"errorCode": 10107},
                                       {"writeConcernError": {"code": 91, "errmsg": "injected"}},
                                       {"writeConcernError": {"code": 64, "errmsg": "injected"}}])
        commands = scene.random.choice([["update"], ["findAndModify", "insert", "delete"], ["find", "aggregate"],
                                        ["update", "findAndModify"], ["commitTransaction"]])
        scene.servers.fail(commands, failure, scene.random.randint(1, 3))
    scene.servers.fail([], {}, 0)


def proxied(mode):
    def nemesis(scene):
        while scene.goes_on():
            scene.sleep(scene.random.uniform(0.2, 1))
            scene.proxy.set(mode, scene.ttl * scene.random.choice([0.3, 1.5, 2.5]))
            scene.sleep(scene.random.choice([0.3, 1.5]) * scene.ttl)
            scene.proxy.heal()
    nemesis.__doc__ = f"A proxy makes this of what passes it: {mode}."
    return nemesis


def kill_server(scene):
    """The server and all of its processes are killed with -9, and it starts again."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.5, 2))
        scene.servers.kill()
        scene.count("servers killed")
        scene.sleep(scene.random.uniform(0, 1))
        scene.servers.revive()


def some_backends(scene):
    backends = scene.servers.backends()
    return scene.random.sample(backends, len(backends) // 2)


def end_backends(scene):
    """Half of the server's sessions are ended, as pg_terminate_backend does, whatever they are at."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.1, 0.8))
        ended = some_backends(scene)
        scene.signal(ended, signal.SIGTERM)
        scene.counts["sessions ended"] += len(ended)


def pause_backends(scene):
    """Half of the server's sessions stand still, with the rows that they have locked."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.3, 1))
        with stopped(scene, some_backends(scene)):
            scene.sleep(scene.ttl * scene.random.choice([0.3, 1.5, 2.5]))


class stopped:  # noqa: N801: used as a statement
    """Stops processes for the length of a block."""

    def __init__(self, scene, pids):
        self.scene, self.pids = scene, pids

    def __enter__(self):
        self.scene.signal(self.pids, signal.SIGSTOP)

    def __exit__(self, *_):
        self.scene.signal(self.pids, signal.SIGCONT)


OF_CLIENTS = {"none": none, "kill": kill, "pause": pause, "kill-waiters": kill_waiters}
OF_SERVERS = {"stepdown": stepdown, "kill-primary": kill_primary, "pause-primary": pause_primary,
              "pause-secondaries": pause_secondaries, "fail-command": fail_command, "slow-clock": slow_clock,
              "clocks-apart": clocks_apart, "clocks-jump": clocks_jump}
OF_NETWORK = {"lose-requests": proxied("lose requests"), "lose-replies": proxied("lose replies"),
              "late-requests": proxied("late requests"), "late-replies": proxied("late replies")}
OF_SERVER = {"kill-server": kill_server, "end-backends": end_backends, "pause-backends": pause_backends}
OF_STORE = {"sqlite": OF_CLIENTS, "mongodb": {**OF_CLIENTS, **OF_SERVERS, **OF_NETWORK},
            "postgresql": {**OF_CLIENTS, **OF_SERVER, **OF_NETWORK}}
# Those that need network namespaces.
NETWORK = {"partition-members": partition_members, "one-way-members": one_way_members}
# What must have happened, or the history shows nothing.
NEEDED = {**dict.fromkeys(NETWORK, "primaries lost"), "kill-server": "servers killed", "end-backends": "sessions ended"}
# What they do before the workers start.
BEFORE = {"clocks-apart": set_apart, "clocks-jump": set_alike}
# A lease may be over too early: two holders are no violation.
CLOCKS_LIE = {"slow-clock", "clocks-jump"}
