"""Programs in Python for Cambrian: one file, nothing but the standard library.

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

Each episode has an object of its own. `reset(self, seed, episode)` is told more, by a dict: "individual", which names the
network in its run, "phase" ("train" or "validation"), "round" (the generation) and "episode" (its number). What
gymnasium's environments return is understood, too: reset may give (observations, info), step may give (observations,
reward, terminated, truncated, info).

A program that wants the networks themselves says how good each of them is, and the config has "level": "network":

    def judge(network):
        policy = network.policy()               # a forward pass in Python; or read network.structure and .tensors
        return -abs(policy([1.0, 0.5])[0] - 2.0)

    cambrian.serve_networks(judge, observations=2, actions=1)

Evolution turns it round: Cambrian runs beside your program, which asks for networks and tells their fitness.
"""
import array
import collections
import inspect
import itertools
import json
import math
import operator
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

PROTOCOL = 1


def argmax(outputs):
    """The place of the largest output: a choice among actions."""
    return max(range(len(outputs)), key=lambda i: outputs[i])


def serve(make):
    """Answers Cambrian until it is done. `make` is called for each world, with the config's task.settings where it has
    an argument that must be given. What the simulator prints goes to standard error."""
    connection = _Connection("policy")
    worlds = Worlds(make, connection.settings)
    connection.begin(worlds.interface())
    for message in connection:
        connection.send(worlds.reset(message) if "reset" in message else worlds.step(message))


def serve_networks(judge, observations, actions):
    """Answers Cambrian until it is done: `judge` is called with each Network, and returns its fitness, larger is
    better. It must depend on nothing but that network: which others are asked about beside it, on which rank and in
    which order, changes from run to run. `observations` and `actions` are names, or how many there are."""
    connection = _Connection("network")
    connection.begin({"observations": _axis(observations), "actions": _axis(actions)})
    for message in connection:
        fitness = [float(judge(Network(content, message, connection.settings))) for content in message["judge"]]
        connection.send({"fitness": fitness})


class _Connection:
    """What Cambrian says on standard input, and answers on standard output."""

    def __init__(self, level):
        # Answers keep the output for themselves: a print in a simulator must not stand between them.
        self._writer = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._reader = sys.stdin.buffer
        self._level = level
        self._id = None  # Of the message that waits for its answer.
        self.frames = "json"
        hello = self.receive()
        if hello is None:
            raise SystemExit("this program is started by Cambrian, see task.command")
        self._hello = hello["cambrian"]
        if self._hello["protocol"] != PROTOCOL:
            raise SystemExit(f"this client speaks protocol {PROTOCOL}, Cambrian speaks {self._hello['protocol']}")
        self.settings = hello.get("settings", {})

    def begin(self, interface):
        """Answers the first message; Cambrian refuses a level that its config does not say."""
        frames = self._hello.get("frames", "json")
        frames = frames if frames in ("json", "msgpack") else "json"
        self.send(dict(interface, protocol=PROTOCOL, level=self._level, frames=frames, ids=True))
        self.frames = frames

    def __iter__(self):
        return iter(self.receive, None)

    def receive(self):
        """The next message, or None at the end."""
        message = self._read()
        self._id = message.get("id") if message else None
        return message

    def _read(self):
        if self.frames == "json":
            line = self._reader.readline()
            return json.loads(line) if line else None
        head = self._reader.read(4)
        if not head:
            return None
        return unpack(self._reader.read(struct.unpack(">I", head)[0]))

    def send(self, content):
        content = _answer(content, self._id)
        if self.frames == "json":
            self._writer.write(_line(content))
        else:
            data = pack(content)
            self._writer.write(struct.pack(">I", len(data)) + data)
        self._writer.flush()


def _answer(content, number):
    """What says which message it answers, once messages have ids."""
    return content if number is None else dict(content, id=number)


def _line(content):
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def _plain(value):
    """What JSON has for a path, and for a number or an array of numpy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be said in JSON ({type(value).__name__} is none of its types): give a number, a "
                    "text, a list or a dict")


class Worlds:
    """The episodes that Cambrian runs side by side."""

    def __init__(self, make, settings):
        wanted = _required(make.__init__) - 1 if isinstance(make, type) else _required(make)
        self._make = lambda: make(settings) if wanted > 0 else make()
        self._free = [self._make()]
        self._worlds = []
        self._interface = {"observations": _axis(self._free[0].observations), "actions": _axis(self._free[0].actions)}
        self._width = _count(self._interface["observations"])
        self._tells = _required(self._free[0].reset) > 1

    def interface(self):
        return self._interface

    def reset(self, message):
        self._free += self._worlds
        self._worlds = []
        observations = []
        for episode in message["reset"]:
            world = self._free.pop() if self._free else self._make()
            self._worlds.append(world)
            about = (dict(episode, phase=message["phase"], round=message["round"]),) if self._tells else ()
            observations.append(_first(world.reset(episode["seed"], *about)))
        return {"observations": observations}

    def step(self, message):
        asked, actions = message["step"], message["actions"]
        packs = isinstance(asked, bytes)
        if packs:
            asked = _unpacked("I", asked)
            flat = _unpacked("f", actions)
            width = len(flat) // len(asked)
            actions = [flat[first:first + width] for first in range(0, len(flat), width)]
        steps = [_step(self._worlds[world].step(outputs)) for world, outputs in zip(asked, actions)]
        rows, rewards, done = zip(*steps)
        if packs and all(len(row) == self._width for row in rows):
            rows, rewards, done = _packed("f", itertools.chain(*rows)), _packed("d", rewards), bytes(done)
        return {"observations": rows, "rewards": rewards, "done": done}


def _axis(given):
    """How many observations or actions there are, or their names, as messages have them."""
    if not isinstance(given, (bool, str, set, frozenset)):  # A set has another order in each process.
        for read in (operator.index, list):
            try:
                return read(given)
            except TypeError:
                pass
    raise TypeError(f"{given!r} tells no observations or actions (neither a count nor names in order): give a number or a "
                    "list of names")


def _count(axis):
    return axis if isinstance(axis, int) else len(axis)


def _required(function):
    """How many arguments must be given by their places."""
    try:
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
        # What passes on all that it is given wants what it decorates wants.
        if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters):
            parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # Not everything that is written in C has a signature.
        return 0
    return sum(parameter.default is parameter.empty and
               parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD) for parameter in parameters)


def _row(observations):
    if hasattr(observations, "ravel"):  # numpy
        observations = observations.ravel().tolist()
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


# MessagePack (msgpack.org), without extensions. Lists of numbers are little-endian bytes.

def _packed(kind, values):
    numbers = array.array(kind, values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _unpacked(kind, data):
    numbers = array.array(kind, data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()


def pack(value):
    """None, truth, numbers, texts, bytes, lists and dicts as MessagePack. Raises TypeError for anything else."""
    parts = []
    _pack(value, parts.append)
    return b"".join(parts)


def _pack(value, add):
    packer = _PACKERS.get(type(value))
    if packer is None:
        raise TypeError(f"{value!r} cannot be said in MessagePack")
    packer(value, add)


def _pack_int(value, add):
    if -32 <= value < 128:
        add(bytes((value & 0xFF,)))
    else:
        add(struct.pack(">BQ", 0xCF, value) if value >= 0 else struct.pack(">Bq", 0xD3, value))


def _pack_text(value, add):
    data = value.encode()
    add(bytes((0xA0 | len(data),)) if len(data) < 32 else struct.pack(">BI", 0xDB, len(data)))
    add(data)


def _pack_bytes(value, add):
    add(struct.pack(">BI", 0xC6, len(value)))
    add(value)


def _pack_list(value, add):
    add(struct.pack(">BI", 0xDD, len(value)))
    for element in value:
        _pack(element, add)


def _pack_dict(value, add):
    add(struct.pack(">BI", 0xDF, len(value)))
    for key, element in value.items():
        _pack(key, add)
        _pack(element, add)


_PACKERS = {type(None): lambda value, add: add(b"\xc0"), bool: lambda value, add: add(b"\xc3" if value else b"\xc2"),
            int: _pack_int, float: lambda value, add: add(struct.pack(">Bd", 0xCB, value)), str: _pack_text,
            bytes: _pack_bytes, list: _pack_list, tuple: _pack_list, dict: _pack_dict}


def unpack(data):
    """What pack() made, and MessagePack of anybody else without extensions. Raises ValueError for anything else."""
    try:
        value, end = _unpack(data, 0)
    except (IndexError, struct.error):
        raise ValueError("a value ends before it is whole") from None
    except RecursionError:
        raise ValueError("lists lie too deep in each other") from None
    except TypeError:  # Of dict.
        raise ValueError("a list or a dict is a key") from None
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes follow the value")
    return value


# By the first byte: constants; numbers, as struct has them; and what has a length, in so many bytes.
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = {first: struct.Struct(form) for first, form in [
    (0xCA, ">f"), (0xCB, ">d"), (0xCC, ">B"), (0xCD, ">H"), (0xCE, ">I"), (0xCF, ">Q"), (0xD0, ">b"), (0xD1, ">h"),
    (0xD2, ">i"), (0xD3, ">q")]}
_LENGTHS = {first: (kind, size) for kind, firsts in [
    (bytes, {0xC4: 1, 0xC5: 2, 0xC6: 4}), (str, {0xD9: 1, 0xDA: 2, 0xDB: 4}), (list, {0xDC: 2, 0xDD: 4}),
    (dict, {0xDE: 2, 0xDF: 4})] for first, size in firsts.items()}


def _unpack(data, at):
    """The value that begins at a place, and where it ends."""
    first = data[at]
    at += 1
    if first < 0x80 or first >= 0xE0:
        return (first if first < 0x80 else first - 256), at
    if first < 0xC0:
        kind, count = (str, first & 31) if first >= 0xA0 else (list if first >= 0x90 else dict, first & 15)
    elif first in _LENGTHS:
        kind, size = _LENGTHS[first]
        count = int.from_bytes(data[at:at + size], "big")
        at += size
    elif first in _NUMBERS:
        number = _NUMBERS[first]
        return number.unpack_from(data, at)[0], at + number.size
    elif first in _CONSTANTS:
        return _CONSTANTS[first], at
    else:
        raise ValueError(f"byte {first:#x} begins no value")
    if kind is bytes or kind is str:
        part = data[at:at + count]
        if len(part) < count:
            raise IndexError
        return (part if kind is bytes else part.decode()), at + count
    values = []
    for _ in range(count if kind is list else 2 * count):
        value, at = _unpack(data, at)
        values.append(value)
    return (values if kind is list else dict(zip(values[::2], values[1::2]))), at


class Network:
    """A network that Cambrian asks about (`serve_networks`).

    individual    what names it in its run, the column `origin` of individuals; None outside of a run
    seeds         of the episodes, the same for all networks of a generation
    phase, round  "train" or "validation", and the generation
    settings      task.settings of the config
    structure     layers, head, grid and links, the `blueprint` of `cambrian inspect --json`
    tensors       its weights by name, as lists of lists: "slot.0.weight", "head.bias", "link.0.gain", ..
    """

    def __init__(self, content, message, settings):
        self.individual = content.get("individual")
        self.seeds, self.phase, self.round = message["seeds"], message["phase"], message["round"]
        self.settings = settings
        self.structure = content["structure"]
        self._content = content["tensors"]
        self._tensors = None

    @property
    def tensors(self):
        if self._tensors is None:
            self._tensors = {tensor["name"]: _shaped(_values(tensor), tensor["shape"]) for tensor in self._content}
        return self._tensors

    def arrays(self):
        """The same as arrays of numpy, which must be there."""
        import numpy
        return {tensor["name"]: numpy.asarray(_values(tensor), "float32").reshape(tensor["shape"])
                for tensor in self._content}

    def policy(self):
        """What computes its outputs. Raises ValueError for what Policy does not know."""
        return Policy(self.structure, self.tensors)


def _values(tensor):
    return _unpacked("f", tensor["values"]) if isinstance(tensor["values"], bytes) else tensor["values"]


def _shaped(values, shape):
    for extent in reversed(shape[1:]):
        values = [values[first:first + extent] for first in range(0, len(values), extent)]
    return values if shape else values[0]


def _sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else math.exp(max(x, -745.0)) / (1.0 + math.exp(max(x, -745.0)))


def _softplus(x):
    return max(0.0, x) + math.log1p(math.exp(-abs(x)))


def _wave(function):
    return lambda x: function(_between(x, -8192.0, 8192.0)) if math.isfinite(x) else math.nan


def _between(x, low, high):
    return min(max(x, low), high)


ACTIVATIONS = {
    "identity": lambda x: x, "linear": lambda x: x, "relu": lambda x: max(x, 0.0), "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x))),
    "tanh": math.tanh, "sigmoid": _sigmoid, "steep_sigmoid": lambda x: _sigmoid(4.9 * x), "sin": _wave(math.sin),
    "cos": _wave(math.cos), "gauss": lambda x: math.exp(-x * x), "abs": abs, "square": lambda x: x * x,
    "cube": lambda x: x * x * x, "elu": lambda x: x if x > 0.0 else math.expm1(x),
    "leaky_relu": lambda x: x if x > 0.0 else 0.01 * x, "softplus": _softplus,
    "clamped": lambda x: _between(x, -1.0, 1.0), "hat": lambda x: max(0.0, 1.0 - abs(x)),
    "sign": lambda x: float((x > 0.0) - (x < 0.0)), "step": lambda x: 1.0 if x > 0.0 else 0.0,
    "relu6": lambda x: _between(x, 0.0, 6.0), "hard_swish": lambda x: x * _between(x + 3.0, 0.0, 6.0) / 6.0,
    "mish": lambda x: x * math.tanh(_softplus(x)),
    "exact_gelu": lambda x: 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0))),
}


def _median(terms):
    terms, half = sorted(terms), len(terms) // 2
    return terms[half] if len(terms) % 2 else 0.5 * (terms[half - 1] + terms[half])


AGGREGATIONS = {"sum": sum, "product": math.prod, "max": max, "min": min, "mean": lambda terms: sum(terms) / len(terms),
                "median": _median, "maxabs": lambda terms: max(terms, key=abs)}


def _dot(weights, values):
    return sum(w * x for w, x in zip(weights, values))


class Policy:
    """The forward pass of a network in plain Python: layers `dense`, `rms_norm`, `residual` (what mutation brings unless told
    otherwise) and `neurons` (NEAT, recurrent and continuous ones included) in a chain, with links. It computes in double precision, so that outputs differ from Cambrian's own in the
    last digits of a float. What it does not know is refused by ValueError, never computed in another way."""

    def __init__(self, structure, tensors):
        if structure.get("mode", "chain") != "chain":
            raise ValueError(f"a policy computes no network of mode {structure['mode']}: compute it from its structure")
        if len(structure.get("input", [])) > 1:
            raise ValueError("a policy computes no network whose input is an image: compute it from its structure")
        tensors = {name: _plain(tensor) if hasattr(tensor, "tolist") else tensor for name, tensor in tensors.items()}
        grid = structure["grid"]
        self._head = grid["depth"] * grid["rows"] * grid["cols"] * grid["layers_per_cell"]
        self._parts = []
        for layer in structure["layers"]:
            slot = self._place(layer["at"], grid)
            self._parts.append((slot, _part(layer, f"slot.{slot}", tensors), layer["enabled"]))
        self._parts.append((self._head, _part(structure["head"], "head", tensors), True))
        self._links = []
        for i, link in enumerate(structure["links"]):
            weights = tensors[next(name for name in tensors if name.startswith(f"link.{i}."))]
            self._links.append((self._place(link["source"], grid), self._place(link["target"], grid),
                                link["kind"] == "backward", weights))
        self.reset()

    def _place(self, end, grid):
        if end in ("input", "head"):
            return -1 if end == "input" else self._head
        z, y, x, layer = end
        return ((z * grid["rows"] + y) * grid["cols"] + x) * grid["layers_per_cell"] + layer

    def reset(self):
        """Forgets what it carries from step to step."""
        self._before = {}
        for _, part, _ in self._parts:
            part.reset()

    def __call__(self, observations):
        """The outputs for a row of observations; a network with state carries it on to the next one."""
        value = _row(observations)
        outputs = {-1: value}
        for slot, part, enabled in self._parts:
            for source, target, backward, weights in self._links:
                if target == slot:
                    value = _linked(value, (self._before if backward else outputs).get(source), weights)
            given = part(value)
            value = given if enabled else value
            outputs[slot] = value
        self._before = outputs
        return value


def _linked(value, source, weights):
    if source is None:  # Nothing was before the first step.
        return value
    if not isinstance(weights[0], list):
        return [x + w * s for x, w, s in zip(value, weights, source)]
    return [x + _dot(row, source) for x, row in zip(value, weights)]


def _part(layer, name, tensors):
    if layer.get("activation_dtype", "float32") != "float32":
        raise ValueError(f"a policy rounds no rows ({name} has an activation_dtype): compute it from its structure")
    if layer["type"] == "residual" and layer["layers"]:
        return _Residual([_part(inner, f"{name}.layers.{i}", tensors) for i, inner in enumerate(layer["layers"])])
    kind = {"dense": _Dense, "rms_norm": _RmsNorm, "neurons": _Neurons}.get(layer["type"])
    if kind is None:
        raise ValueError(f"a policy computes no layer {layer['type']} ({name}): compute it from its structure")
    own = {key[len(name) + 1:]: value for key, value in tensors.items() if key.startswith(name + ".")}
    return kind(layer, own, name)


class _Dense:
    def __init__(self, layer, tensors, name):
        if layer.get("tied"):
            raise ValueError(f"a policy computes no tied weights ({name}): compute it from its structure")
        self._weight = tensors["weight"]
        self._bias = tensors.get("bias", [0.0] * len(self._weight))
        self._activation = ACTIVATIONS[layer["activation"]]

    def reset(self):
        pass

    def __call__(self, values):
        return [self._activation(_dot(row, values) + bias) for row, bias in zip(self._weight, self._bias)]


class _RmsNorm:
    def __init__(self, layer, tensors, name):
        self._gain, self._epsilon = tensors["gain"], layer["epsilon"]

    def reset(self):
        pass

    def __call__(self, values):
        if len(values) != len(self._gain):
            raise ValueError("a policy computes an rms_norm of whole rows alone: compute it from its structure")
        scale = 1.0 / math.sqrt(sum(x * x for x in values) / len(values) + self._epsilon)
        return [x * scale * gain for x, gain in zip(values, self._gain)]


class _Residual:
    def __init__(self, parts):
        self._parts = parts

    def reset(self):
        for part in self._parts:
            part.reset()

    def __call__(self, values):
        given = values
        for part in self._parts:
            given = part(given)
        return [x + y for x, y in zip(values, given)]


class _Neurons:
    def __init__(self, layer, tensors, name):
        if layer.get("plastic"):
            raise ValueError(f"a policy computes no plastic neurons ({name}): compute it from its structure")
        self._in, self._out = layer["in"], layer["out"]
        self._neurons = [(ACTIVATIONS[neuron["activation"]], AGGREGATIONS[neuron["aggregation"]])
                         for neuron in layer["neurons"]]
        self._bias = tensors["bias"]
        self._rates = [layer["time_step"] / constant for constant in tensors["time_constant"]] \
            if layer.get("continuous") else None
        self._inputs = [[] for _ in self._neurons]
        self._delays = 1 if self._rates else 0
        for connection, weight in zip(layer["connections"], tensors.get("weight", [])):
            if connection["enabled"]:
                self._inputs[connection["target"]].append((connection["source"], connection["delay"], weight))
                self._delays = max(self._delays, connection["delay"])
        self._order = self._sorted()
        self.reset()

    def reset(self):
        nothing = [0.0] * (self._in + len(self._neurons))
        self._past = collections.deque([nothing] * self._delays, maxlen=self._delays)

    def _sorted(self):
        """Neurons, each after what it depends on in its step."""
        order, known = [], set()
        for start in range(len(self._neurons)):
            path = [start]
            while path:
                neuron = path[-1]
                waiting = [source - self._in for source, delay, _ in self._inputs[neuron]
                           if delay == 0 and source >= self._in and source - self._in not in known]
                if waiting and neuron not in known:
                    path.append(waiting[0])
                    continue
                path.pop()
                if neuron not in known:
                    known.add(neuron)
                    order.append(neuron)
        return order

    def __call__(self, values):
        values = values + [0.0] * len(self._neurons)
        for neuron in self._order:
            activation, aggregation = self._neurons[neuron]
            terms = [weight if source < 0 else weight * (values if delay == 0 else self._past[delay - 1])[source]
                     for source, delay, weight in self._inputs[neuron]]
            value = activation((aggregation(terms) if terms else 0.0) + self._bias[neuron])
            if self._rates:
                last = self._past[0][self._in + neuron]
                value = last + self._rates[neuron] * (value - last)
            values[self._in + neuron] = value
        self._past.appendleft(values)
        return values[self._in:self._in + self._out]


LARGEST_FLOAT = 3.4028234663852886e38
WHOLE_GENERATION = 1 << 53  # More individuals than there are, in a number that any JSON holds.
LONGEST_FOLDER = 72  # Bytes: addresses of sockets have a hundred, of which 24 follow.


def _program():
    named = os.environ.get("CAMBRIAN")
    if named and not shutil.which(named):
        raise FileNotFoundError(f"the environment variable CAMBRIAN is {named} (which is no program): set it to the path of "
                                "cambrian itself, or unset it")
    program = named or shutil.which("cambrian")
    if not program:
        raise FileNotFoundError("the program cambrian was not found (PATH has none): give its path, or set CAMBRIAN")
    return program


def _unexpanded(text):
    """What a config has for a text in which it puts no value in a place."""
    return text.replace("${", "${$}{").replace("{seed}", "${{}seed}")


def _base_directory(config, folder):
    """What run.base_directory is in a config, or else in the nearest file that it extends; "" where none sets it."""
    read = set()
    try:
        while "base_directory" not in config.get("run", {}) and "extends" in config:
            path = os.path.join(folder, config["extends"])
            if os.path.realpath(path) in read:
                break
            read.add(os.path.realpath(path))
            with open(path, encoding="utf-8") as file:
                config = json.loads(re.sub(r'("(?:\\.|[^"\\\n])*"?)|//[^\n]*', r"\1", file.read()))
            folder = os.path.dirname(path)
        return config.get("run", {}).get("base_directory") or ""
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return ""  # Cambrian says what is wrong with that file.


class Evolution:
    """Cambrian, asked from a program: it breeds and computes networks, the program judges them.

        with cambrian.Evolution(observations=2, actions=1, config={"population": {"size": 64}}) as evolution:
            for networks in evolution:                  # one generation after another
                outputs = networks([[x, y]] * len(networks))
                evolution.tell([fitness(row) for row in outputs])
        print(evolution.best)                           # the path of best.cmb

    `networks(observations)` is a step of every network, with a row of observations for each; networks that carry
    state carry it from call to call. After tell() they answer no more. `config` holds any keys of a config but the task;
    the task of a file that it extends is not read.

    All networks of a generation that are to be judged come at once, of all islands, so that they may be ranked or play
    against each other: without those that keep their fitness where population.reevaluate is "never"; of the steady
    state a block at a time. A distributed.shard_size of your own in `config` has them come in parts of that size.

    `resume` goes on with the run in the directory, or begins one. `program` is the path of cambrian, else that in the
    environment variable CAMBRIAN, else the one of PATH. Relative paths in `config` start at the working directory, or
    at the run.base_directory that it or a file that it extends sets, which itself starts there.
    """

    def __init__(self, observations, actions, config=None, program=None, directory=None, resume=False):
        self._resume = resume
        self._interface = {"protocol": PROTOCOL, "ids": True, "observations": _axis(observations), "actions": _axis(actions)}
        self._width = _count(self._interface["observations"])
        self._outputs = _count(self._interface["actions"])
        self._program = program or _program()
        self.directory = os.path.abspath(directory or "runs/python")
        self._config = json.loads(json.dumps(dict(config or {}), default=_plain))
        if "task" in self._config:
            raise ValueError("config has a task (this program is the task): leave the key out")
        if "directory" in (self._config.get("run") or {}):
            raise ValueError("config has run.directory (the directory is an argument): leave the key out")
        if any(letter in self.directory for letter in "{}$"):
            raise ValueError(f"the directory {self.directory} has a brace or a dollar (a config puts values in their place): "
                             "give another one")
        self._pending = None
        self._held = None  # A message that came before it was asked for.
        self._id = None  # Of the message that waits for its answer.
        self._ended = False
        self._reader = self._writer = None

    def __enter__(self):
        self._server = socket.socket(socket.AF_UNIX)
        folder = tempfile.gettempdir()
        self._folder = tempfile.mkdtemp(prefix="cambrian-",
                                        dir=folder if len(os.fsencode(folder)) <= LONGEST_FOLDER else "/tmp")
        try:
            self._start(os.path.join(self._folder, "socket"))
        except BaseException:
            self._server.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        return self

    def _start(self, address):
        self._server.bind(address)
        self._server.listen()
        config = dict(self._config)
        if isinstance(config.get("extends"), str):  # The config lies in a folder that ends with this object.
            config["extends"] = os.path.abspath(config["extends"])
        config["run"] = dict(config.get("run") or {}, directory=self.directory)
        base = _base_directory(config, os.getcwd())
        if not base.startswith(("/", "$")):
            config["run"]["base_directory"] = os.path.normpath(os.path.join(_unexpanded(os.getcwd()), base))
        config["distributed"] = dict({"shard_size": WHOLE_GENERATION}, **(config.get("distributed") or {}))
        # By this command Cambrian knows a run that is asked for (launch/config/config_differences.cpp).
        task = {"type": "external", "command": [sys.executable, os.path.abspath(__file__)],
                "seconds": 1e6, "steps": 10**9, "validation": {"every": 10**9, "episodes": 1}}
        path = os.path.join(self._folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        # By --set: it replaces the task of a file that the config extends, a section of a config joins it.
        self._process = subprocess.Popen([self._program, "evolve", path, "-q", "--set", "task=" + json.dumps(task)]
                                         + (["--continue"] if self._resume else []),
                                         stdin=subprocess.DEVNULL, env=dict(os.environ, CAMBRIAN_SOCKET=address))

    def __exit__(self, kind, value, trace):
        if not self._ended and self._process.poll() is None:
            # Left early: Cambrian waits for an answer that never comes. What is committed stays, resume=True goes on.
            self._process.terminate()
            try:
                self._process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                self._process.kill()
        code = self._process.wait()
        self._disconnect()
        self._server.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._ended and code != 0:
            raise RuntimeError(f"cambrian ended with exit code {code}: see what it has written")

    @property
    def best(self):
        """The path of the best network, once the evolution has ended; nothing is there if no network got a fitness."""
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
            with connection:  # Its files keep it open.
                self._reader = connection.makefile("rb")
                self._writer = connection.makefile("wb")
            return True

    def _receive(self):
        while True:
            line = self._reader.readline() if self._reader is not None else b""
            if line:
                message = json.loads(line)
                self._id = message.get("id")
                return message
            self._disconnect()
            if not self._connect():
                return None

    def _disconnect(self):
        """The relay waits for this, and Cambrian for the relay."""
        for end in (self._reader, self._writer):
            try:
                if end is not None:
                    end.close()
            except OSError:
                pass  # Whoever listened is gone.
        self._reader = self._writer = None

    def _send(self, content):
        self._writer.write(_line(_answer(content, self._id)))
        self._writer.flush()


class Networks:
    """The networks of a generation, or the best one when it is validated (`phase`). A network whose outputs are not
    finite gives NaN from then on, and gets the worst fitness whatever is told of it. `individuals` name the networks as
    in Network, `round` is the generation; equal `seeds` are there for episodes that are drawn."""

    def __init__(self, evolution, message):
        self._evolution = evolution
        self._started = False
        self._asked = list(range(len(message["reset"])))  # Networks that go on.
        self.phase, self.round = message["phase"], message["round"]
        self.seeds = [world["seed"] for world in message["reset"]]
        self.individuals = [world.get("individual") for world in message["reset"]]

    def __len__(self):
        return len(self.seeds)

    def __call__(self, observations):
        if self._evolution._pending is not self:  # What comes is of other networks.
            raise RuntimeError("networks were asked after their fitness was told: call ask() for the next ones")
        rows = [_row(row) for row in observations]
        if len(rows) != len(self) or any(len(row) != self._evolution._width for row in rows):
            raise ValueError(f"give {len(self)} rows of {self._evolution._width} observations, one for each network")
        if not all(abs(value) <= LARGEST_FLOAT for row in rows for value in row):
            raise ValueError("an observation is no finite number in single precision, which networks compute in")
        outputs = [[float("nan")] * self._evolution._outputs for _ in rows]
        if not self._asked:
            return outputs
        answer = {"observations": [rows[i] for i in self._asked]}
        if self._started:
            answer.update(rewards=[0.0] * len(self._asked), done=[False] * len(self._asked))
        self._evolution._send(answer)
        self._started = True
        message = self._evolution._receive()
        if message is None or "step" not in message:  # No network goes on: this is the end, or the next question.
            self._evolution._held = message
            self._asked = []
            if message is None and self._evolution._process.returncode != 0:
                raise RuntimeError("cambrian ended while networks were judged: see what it has written")
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
    parent = os.getppid()
    connection = socket.socket(socket.AF_UNIX)
    ended = threading.Event()  # Cambrian wants no more.

    def forward():
        try:
            while block := os.read(0, 65536):
                connection.sendall(block)
            ended.set()
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # Who asks is gone: seen below.

    try:
        connection.connect(address)
        threading.Thread(target=forward, daemon=True).start()
        while block := connection.recv(65536):
            while block:
                block = block[os.write(1, block):]
    except OSError:
        pass
    if not ended.wait(0.2):
        _end(parent)


def _end(parent):
    """Who asks is gone, and nobody judges any more: no network may be blamed for that. What is committed stays."""
    if select.select([0], [], [], 0)[0] and not os.read(0, 1):
        return  # Cambrian has ended, too, or is done with this program.
    for _ in range(2):  # The second signal does not wait for an answer.
        if parent > 1 and os.getppid() == parent:  # Else others may have its number.
            os.kill(parent, signal.SIGTERM)
        time.sleep(0.5)


if __name__ == "__main__":
    if "CAMBRIAN_SOCKET" not in os.environ:
        sys.exit("this run is judged by a program of its own (cambrian.Evolution): go on there, with resume=True")
    _relay(os.environ["CAMBRIAN_SOCKET"])
