"""Simulators in Python for Cambrian: one file, nothing but the standard library.

A simulator is a class:

    import cambrian

    class Pole:
        observations = ["position", "speed"]    # or a number
        actions = ["push"]                      # what networks give

        def reset(self, seed):
            return [0.0, 0.0]                   # the first observations
        def step(self, outputs):
            return [0.0, 0.0], 1.0, False       # observations, reward, whether the episode ended

    cambrian.serve(Pole)

and the config that evolves it says

    "task": { "type": "external", "command": ["python3", "pole.py"] }

Each episode has an object of its own. What gymnasium's environments return is understood, too: reset may give
(observations, info), step may give (observations, reward, terminated, truncated, info).

Evolution turns it round: Cambrian runs beside your program, which asks for networks and tells their fitness.
"""
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

PROTOCOL = 1


def argmax(outputs):
    """The place of the largest output: a choice among actions."""
    return max(range(len(outputs)), key=lambda i: outputs[i])


def serve(make):
    """Answers Cambrian until it is done. `make` is called for each world, with the config's task.settings where it has
    an argument that must be given. What the simulator prints goes to standard error."""
    # Answers keep the output for themselves: a print in a simulator must not stand between them.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines = iter(sys.stdin.readline, "")
    hello = json.loads(next(lines))
    if hello["cambrian"]["protocol"] != PROTOCOL:
        raise SystemExit(f"this client speaks protocol {PROTOCOL}, Cambrian speaks {hello['cambrian']['protocol']}")
    worlds = Worlds(make, hello.get("settings", {}))
    _answer(answers, worlds.interface())
    for line in lines:
        message = json.loads(line)
        _answer(answers, worlds.reset(message) if "reset" in message else worlds.step(message))


def _answer(answers, content):
    answers.write(json.dumps(content, allow_nan=False) + "\n")
    answers.flush()


class Worlds:
    """The episodes that Cambrian runs side by side."""

    def __init__(self, make, settings):
        self._make = lambda: make(settings) if _takes_settings(make) else make()
        self._free = [self._make()]
        self._worlds = []

    def interface(self):
        world = self._free[0]
        return {"protocol": PROTOCOL, "observations": world.observations, "actions": world.actions}

    def reset(self, message):
        self._free += self._worlds
        self._worlds = []
        observations = []
        for episode in message["reset"]:
            world = self._free.pop() if self._free else self._make()
            self._worlds.append(world)
            observations.append(_first(world.reset(episode["seed"])))
        return {"observations": observations}

    def step(self, message):
        steps = [_step(self._worlds[world].step(outputs))
                 for world, outputs in zip(message["step"], message["actions"])]
        return {"observations": [s[0] for s in steps], "rewards": [s[1] for s in steps], "done": [s[2] for s in steps]}


def _takes_settings(make):
    code = getattr(make, "__init__", make) if isinstance(make, type) else make
    code = getattr(code, "__code__", None)
    if code is None:
        return False
    defaults = len((make.__init__ if isinstance(make, type) else make).__defaults__ or ())
    return code.co_argcount - defaults > (1 if isinstance(make, type) else 0)


def _row(observations):
    return [float(value) for value in observations]


def _first(result):
    # gymnasium's reset gives (observations, info).
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict):
        result = result[0]
    return _row(result)


def _step(result):
    if len(result) == 5:  # gymnasium: terminated and truncated both end an episode.
        observations, reward, terminated, truncated, _ = result
        return _row(observations), float(reward), bool(terminated or truncated)
    observations, reward, done = result
    return _row(observations), float(reward), bool(done)


class Evolution:
    """Cambrian, asked from a program: it breeds and computes networks, the program judges them.

        with cambrian.Evolution(observations=2, actions=1, config={"population": {"size": 64}}) as evolution:
            for networks in evolution:                  # one generation after another
                outputs = networks([[x, y]] * len(networks))
                evolution.tell([fitness(row) for row in outputs])
        print(evolution.best)                           # the path of best.cmb

    `networks(observations)` is a step of every network, with a row of observations for each; networks that carry
    state carry it from call to call, until tell(). `config` holds any keys of a config but the task.
    """

    def __init__(self, observations, actions, config=None, program=None, directory=None):
        self._interface = {"protocol": PROTOCOL, "observations": observations, "actions": actions}
        self._width = observations if isinstance(observations, int) else len(observations)
        self._outputs = actions if isinstance(actions, int) else len(actions)
        self._program = program or os.environ.get("CAMBRIAN") or shutil.which("cambrian")
        if not self._program:
            raise FileNotFoundError("the program cambrian was not found (PATH has none): give its path, or set CAMBRIAN")
        self.directory = os.path.abspath(directory or "runs/python")
        self._config = dict(config or {})
        self._pending = None
        self._held = None  # A message that came before it was asked for.
        self._ended = False
        self._reader = self._writer = None

    def __enter__(self):
        self._folder = tempfile.mkdtemp(prefix="cambrian-")
        address = os.path.join(self._folder, "socket")
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(address)
        self._server.listen()
        config = dict(self._config)
        config["run"] = dict(config.get("run", {}), directory=self.directory)
        config["task"] = {"type": "external", "command": [sys.executable, os.path.abspath(__file__), address],
                          "seconds": 1e6, "steps": 10**9, "validation": {"every": 10**9, "episodes": 1}}
        path = os.path.join(self._folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        self._process = subprocess.Popen([self._program, "evolve", path, "-q"], stdin=subprocess.DEVNULL)
        return self

    def __exit__(self, kind, value, trace):
        if not self._ended and self._process.poll() is None:
            # Left early: Cambrian waits for an answer that never comes. What is committed stays, resume goes on.
            self._process.terminate()
            try:
                self._process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                self._process.kill()
        code = self._process.wait()
        for end in (self._reader, self._writer):
            try:
                if end is not None:
                    end.close()
            except OSError:
                pass  # Whoever listened is gone.
        self._server.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._ended and code != 0:
            raise RuntimeError(f"cambrian ended with exit code {code}: see what it has written")

    @property
    def best(self):
        """The path of the best network, once the evolution has ended."""
        return os.path.join(self.directory, "best.cmb")

    def __iter__(self):
        while True:
            networks = self.ask()
            if networks is None:
                return
            yield networks

    def ask(self):
        """The next networks to judge, or None when the evolution has ended."""
        if self._pending is not None:
            raise RuntimeError("ask() came before the fitness of the networks before was told: call tell() first")
        while True:
            message, self._held = self._held or self._receive(), None
            if message is None:
                self._ended = True
                return None
            if "cambrian" in message:
                self._send(self._interface)
                continue
            self._pending = Networks(self, message)
            return self._pending

    def tell(self, fitness):
        """The fitness of each network, larger is better. Throws ValueError for what is no finite number."""
        if self._pending is None:
            raise RuntimeError("tell() came without networks: call ask() first")
        fitness = [float(value) for value in fitness]
        if not all(math.isfinite(value) for value in fitness):
            raise ValueError("a fitness is not finite: tell a very low number for a network that fails")
        if len(fitness) != len(self._pending):
            raise ValueError(f"{len(fitness)} values were told of {len(self._pending)} networks: give one for each")
        self._pending._finish(fitness)
        self._pending = None

    # The program that Cambrian starts passes on what comes and goes.

    def _connect(self):
        """Waits for the next relay; False when Cambrian has ended instead."""
        self._server.settimeout(0.2)
        while True:
            try:
                connection, _ = self._server.accept()
            except (TimeoutError, socket.timeout):
                if self._process.poll() is not None:
                    return False
                continue
            connection.settimeout(None)
            self._reader = connection.makefile("r", encoding="utf-8")
            self._writer = connection.makefile("w", encoding="utf-8")
            return True

    def _receive(self):
        while True:
            line = self._reader.readline() if self._reader is not None else ""
            if line:
                return json.loads(line)
            if not self._connect():
                return None

    def _send(self, content):
        _answer(self._writer, content)


class Networks:
    """The networks of a generation, or the best one when it is validated (`phase`). A network whose outputs are not
    finite gives NaN from then on, and gets the worst fitness whatever is told of it."""

    def __init__(self, evolution, message):
        self._evolution = evolution
        self._started = False
        self._asked = list(range(len(message["reset"])))  # Networks that go on.
        self.phase = message["phase"]
        self.seeds = [world["seed"] for world in message["reset"]]

    def __len__(self):
        return len(self.seeds)

    def __call__(self, observations):
        rows = [_row(row) for row in observations]
        if len(rows) != len(self) or any(len(row) != self._evolution._width for row in rows):
            raise ValueError(f"give {len(self)} rows of {self._evolution._width} observations, one for each network")
        outputs = [[float("nan")] * self._evolution._outputs for _ in rows]
        if not self._asked:
            return outputs
        answer = {"observations": [rows[i] for i in self._asked]}
        if self._started:
            answer.update(rewards=[0.0] * len(self._asked), done=[False] * len(self._asked))
        self._started = True
        self._evolution._send(answer)
        message = self._evolution._receive()
        if message is None:
            raise RuntimeError("cambrian ended while networks were judged: see what it has written")
        if "step" not in message:  # No network goes on: this is the next question.
            self._evolution._held = message
            self._asked = []
            return outputs
        self._asked = message["step"]
        for world, row in zip(message["step"], message["actions"]):
            outputs[world] = row
        return outputs

    def _finish(self, fitness):
        zeros = [0.0] * self._evolution._width
        if not self._started:
            self([zeros] * len(self))
        asked = self._asked
        if not asked:
            return
        self._evolution._send({"observations": [zeros] * len(asked), "rewards": [fitness[i] for i in asked],
                               "done": [True] * len(asked)})


def _relay(address):
    """Passes lines between Cambrian and the program that asks it."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)

    def forward():
        while block := os.read(0, 65536):
            connection.sendall(block)
        connection.shutdown(socket.SHUT_WR)

    threading.Thread(target=forward, daemon=True).start()
    while block := connection.recv(65536):
        while block:
            block = block[os.write(1, block):]


if __name__ == "__main__":
    _relay(sys.argv[1])
