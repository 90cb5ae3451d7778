"""What goes wrong during a history. Each nemesis is a function of the scene (run.py), called once; it works until the scene's
time is over, and leaves everything healed."""
import signal


def none(scene):
    scene.sleep(scene.seconds)


def kill(scene):
    """Worker processes are killed with -9, and others take their places."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.3, 1.2))
        scene.replace(scene.random.choice(scene.workers))


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


def fail_command(scene):
    """The primary fails commands: it breaks the connection, or reports an error before or after the effect."""
    while scene.goes_on():
        scene.sleep(scene.random.uniform(0.1, 0.5))
        failure = scene.random.choice([{"closeConnection": True}, {"errorCode": 91}, {"errorCode": 10107},
                                       {"writeConcernError": {"code": 91, "errmsg": "injected"}},
                                       {"writeConcernError": {"code": 64, "errmsg": "injected"}}])
        commands = scene.random.choice([["update"], ["findAndModify", "insert", "delete"], ["find", "aggregate"],
                                        ["update", "findAndModify"]])
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


class stopped:  # noqa: N801: used as a statement
    """Stops processes for the length of a block."""

    def __init__(self, scene, pids):
        self.scene, self.pids = scene, pids

    def __enter__(self):
        self.scene.signal(self.pids, signal.SIGSTOP)

    def __exit__(self, *_):
        self.scene.signal(self.pids, signal.SIGCONT)


CLIENTS = {"none": none, "kill": kill, "pause": pause}
SERVERS = {"stepdown": stepdown, "kill-primary": kill_primary, "pause-primary": pause_primary,
           "pause-secondaries": pause_secondaries, "fail-command": fail_command, "slow-clock": slow_clock,
           "lose-requests": proxied("lose requests"), "lose-replies": proxied("lose replies"),
           "late-requests": proxied("late requests"), "late-replies": proxied("late replies")}
OF_STORE = {"sqlite": CLIENTS, "mongodb": {**CLIENTS, **SERVERS}}
