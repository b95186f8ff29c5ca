"""Parts of the client by themselves: MessagePack, what a policy and the example for gymnasium refuse, and how an evolution
begins."""
import functools
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import cambrian  # noqa: E402
import gymnasium_world  # noqa: E402  (with the gymnasium beside this file)


def refused(kind, body):
    try:
        body()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was refused")


VALUES = [None, True, False, 0, 127, 128, -1, -32, -33, 2**53, 2**64 - 1, -2**63, 0.1, -1e300, "", "é" * 40, b"", b"\x00" * 300,
          [], [1, [2.5, {"a": None}]], {"x": [0.5] * 20, "y": {}}]
for value in VALUES:
    assert cambrian.unpack(cambrian.pack(value)) == value, value
# Shorter forms, which others write.
for data, value in [(b"\xcc\xff", 255), (b"\xcd\x01\x00", 256), (b"\xd0\x80", -128), (b"\xd1\xff\x00", -256),
                    (b"\xca" + struct.pack(">f", 0.5), 0.5), (b"\xa1a", "a"), (b"\xd9\x01a", "a"), (b"\x92\x01\x02", [1, 2]),
                    (b"\xdc\x00\x01\xc0", [None]), (b"\x81\xa1a\x01", {"a": 1}), (b"\xc4\x02ab", b"ab")]:
    assert cambrian.unpack(data) == value, data
for data in (b"", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xa5ab", b"\xcb\x00", b"\x01\x02", b"\xd4\x01\x00",
             b"\x91" * 100_000, b"\x81\x90\x01", b"\x81\x80\x01", b"\xa1\xff"):
    refused(ValueError, lambda: cambrian.unpack(data))
refused(TypeError, lambda: cambrian.pack(object()))
draws = random.Random(1)
for _ in range(2000):  # Any bytes are a value or refused.
    data = bytes(draws.randrange(256) for _ in range(draws.randrange(12)))
    try:
        value = cambrian.unpack(data)
    except ValueError:
        continue
    assert value != value or cambrian.unpack(cambrian.pack(value)) == value or "nan" in str(value), data

GRID = {"depth": 1, "rows": 1, "cols": 1, "layers_per_cell": 4}
DENSE = {"type": "dense", "in": 2, "out": 1, "bias": True, "activation": "linear"}
TENSORS = {"head.weight": [[2.0, 3.0]], "head.bias": [0.5]}


class Numbers:
    """As numpy has one, or an array of them."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        if isinstance(self.value, int):
            return self.value
        raise TypeError("only scalars are indices")

    def __iter__(self):
        return iter(self.value)

    def tolist(self):
        return self.value




def policy(**changes):
    structure = {"grid": GRID, "layers": [], "head": DENSE, "links": []}
    structure.update(changes)
    return cambrian.Policy(structure, TENSORS)


assert policy()([1.0, 10.0]) == [32.5]
# Weights of a link may be arrays, too.
wide = {"head.weight": [[2.0, 3.0], [1.0, 1.0]], "head.bias": [0.5, 0.0], "link.0.weight": [[1.0, 2.0], [3.0, 4.0]]}
linked = {"grid": GRID, "layers": [], "head": dict(DENSE, out=2), "links": [{"source": "input", "target": "head", "kind": "forward"}]}
for tensors in (wide, {name: Numbers(values) for name, values in wide.items()}):
    assert cambrian.Policy(linked, tensors)([1.0, 10.0]) == [203.5, 75.0]
layer = dict(DENSE, at=[0, 0, 0, 0], enabled=True)
assert "layer lstm (slot.0)" in refused(ValueError, lambda: policy(layers=[dict(layer, type="lstm")]))
assert "layer residual (slot.0)" in refused(ValueError, lambda: policy(layers=[dict(layer, type="residual", layers=[])]))
assert "layer softmax (head)" in refused(ValueError, lambda: policy(head=dict(DENSE, type="softmax")))
assert "mode mesh" in refused(ValueError, lambda: policy(mode="mesh"))
assert "image" in refused(ValueError, lambda: policy(input=[1, 2, 1]))
assert "tied" in refused(ValueError, lambda: policy(head=dict(DENSE, tied="slot.0.table")))
assert "activation_dtype" in refused(ValueError, lambda: policy(head=dict(DENSE, activation_dtype="int8")))
assert "plastic" in refused(ValueError, lambda: policy(head={"type": "neurons", "plastic": True}))
for name, activation in cambrian.ACTIVATIONS.items():
    for x in (-800.0, -1.0, 0.0, 1.0, 800.0, 1e300, math.inf, -math.inf, math.nan):
        assert isinstance(activation(x), float), (name, x)
assert math.isnan(cambrian.ACTIVATIONS["sin"](math.inf)) and cambrian.ACTIVATIONS["cos"](0.0) == 1.0
assert cambrian.ACTIVATIONS["sin"](1e4) == math.sin(8192.0)

for name, words in (("Binary-v0", "acts by"), ("Unbounded-v0", "acts by"), ("Above-v0", "acts by"), ("Place-v0", "is seen by"),
                    ("Image-v0", "is seen by")):
    assert f"{name} {words}" in refused(SystemExit, lambda: gymnasium_world.World({"environment": name}))
world = gymnasium_world.World({"environment": "Later-v0"})
world.reset(900)
assert world.step([0.0, 1.0])[1] == 1.0

# A folder for temporary files that is too deep for an address; and nothing is left in it where the program is none.
with tempfile.TemporaryDirectory() as folder:
    for place in (folder, os.path.join(folder, "deep" * 20)):
        os.makedirs(place, exist_ok=True)
        tempfile.tempdir = place
        refused(OSError, cambrian.Evolution(1, 1, program=os.path.join(folder, "none")).__enter__)
        assert not [name for name in os.listdir(place) if name.startswith("cambrian-")]
    missing = cambrian.Evolution(1, 1, program=os.path.join(folder, "none"))
    assert "none" in refused(FileNotFoundError, missing.__enter__)  # The program, no address.
    assert not os.path.exists(missing._folder)
    tempfile.tempdir = None

# Paths of a config start where the program does, whatever that folder is called.
with tempfile.TemporaryDirectory() as folder:
    place = os.path.join(os.path.realpath(folder), "a {seed} ${HOME}")
    os.mkdir(place)
    script = os.path.join(folder, "keep")
    with open(script, "w") as file:
        file.write(f'#!/bin/sh\ncp "$2" {folder}/config.json\n')
    os.chmod(script, 0o755)
    before = os.getcwd()
    os.chdir(place)
    for base, expected in (({}, "/a ${{}seed} ${$}{HOME}"), ({"base_directory": "b"}, "/a ${{}seed} ${$}{HOME}/b"),
                           ({"base_directory": "/c"}, "/c"), ({"base_directory": "${D}"}, "${D}")):
        evolution = cambrian.Evolution(1, 1, config={"run": base, "extends": "other.json"}, program=script,
                                       directory=os.path.join(folder, "run"))
        with evolution:
            evolution._process.wait()
        with open(os.path.join(folder, "config.json")) as file:
            kept = json.load(file)
        assert kept["run"]["base_directory"].endswith(expected), kept
        assert kept["extends"] == os.path.join(place, "other.json"), kept
    # A file that is extended may say where, too: the nearest that does.
    os.mkdir("sub")
    for name, text in (("near.json", '{ "extends": "sub/far.json", "task": "http://x" } // {'),
                       ("sub/far.json", '{ "extends": "../last.json", "run": { "seed": 2 } }'),
                       ("last.json", '{ "run": { "base_directory": "b" } }'), ("circle.json", '{ "extends": "circle.json" }'),
                       ("none.json", '{ "extends": "last.json", "run": { "base_directory": null } }')):
        with open(name, "w") as file:
            file.write(text)
    for name, expected in (("near", "b"), ("last", "b"), ("circle", ""), ("none", ""), ("missing", "")):
        assert cambrian._base_directory({"extends": name + ".json"}, place) == expected, name
    assert cambrian._base_directory({"run": {"base_directory": "own"}, "extends": "near.json"}, place) == "own"
    os.chdir(before)

# Numbers, lists and paths of other libraries, and sections without anything.
with tempfile.TemporaryDirectory() as folder:
    script = os.path.join(folder, "keep")
    with open(script, "w") as file:
        file.write(f'#!/bin/sh\ncp "$2" {folder}/config.json\n')
    os.chmod(script, 0o755)
    given = {"run": {"seed": Numbers(7), "base_directory": pathlib.Path("/base")}, "distributed": None,
             "population": {"size": Numbers(20)}, "network": {"input": Numbers([2])}}
    with cambrian.Evolution(Numbers(2), Numbers(["a"]), config=given, program=pathlib.Path(script),
                            directory=pathlib.Path(folder, "run"), resume=None) as evolution:
        evolution._process.wait()
    with open(os.path.join(folder, "config.json")) as file:
        kept = json.load(file)
    assert kept["run"] == {"seed": 7, "base_directory": "/base", "directory": os.path.join(folder, "run")}, kept
    assert kept["population"]["size"] == 20 and kept["network"]["input"] == [2] and "shard_size" in kept["distributed"], kept
    assert evolution._interface["observations"] == 2 and evolution._interface["actions"] == ["a"]
    for bad in (2.0, "ab", {"a", "b"}, True, None):
        assert "neither a count nor names" in refused(TypeError, lambda: cambrian.Evolution(bad, 1, program=script))
    assert "cannot be said in JSON" in refused(TypeError, lambda: cambrian.Evolution(1, 1, {"run": object()}, script))


class Maker:
    observations, actions = Numbers(3), Numbers(["left", "right"])

    def world(self, settings):
        self.settings = settings
        return self

    def bare(self):
        return self

    def reset(self, seed):
        return [0.0] * 3


def passing_on(function):
    return functools.wraps(function)(lambda *given: function(*given))


def giving(function):
    return functools.wraps(function)(lambda: function({"a": 1}))


for make in (lambda maker: maker.world, lambda maker: functools.partial(maker.world), lambda maker: maker.bare,
             lambda maker: passing_on(maker.world), lambda maker: giving(maker.world), lambda maker: passing_on(maker.bare)):
    maker = Maker()
    worlds = cambrian.Worlds(make(maker), {"a": 1})
    assert getattr(maker, "settings", {"a": 1}) == {"a": 1}
    assert worlds.interface() == {"observations": 3, "actions": ["left", "right"]}
    assert worlds.reset({"reset": [{"seed": 1}], "phase": "train", "round": 0}) == {"observations": [[0.0] * 3]}

os.environ["CAMBRIAN"] = tempfile.gettempdir()
assert "CAMBRIAN is " in refused(FileNotFoundError, lambda: cambrian.Evolution(1, 1))
del os.environ["CAMBRIAN"]

for config, directory, why in (({"task": {}}, None, "has a task"), ({"run": {"directory": "x"}}, None, "has run.directory"),
                               ({}, "a{seed}", "has a brace")):
    assert why in refused(ValueError, lambda: cambrian.Evolution(1, 1, config=config, directory=directory, program="none"))

# Each answer repeats the id of its message, and has none where that has none.
SIMULATOR = """
import sys
sys.path.insert(0, sys.argv[1])
import cambrian
class World:
    observations = actions = 1
    def reset(self, seed):
        return [0.0]
    def step(self, outputs):
        return [1.0], 2.0, True
cambrian.serve(World)
"""
messages = [{"cambrian": {"protocol": 1, "frames": "json"}}, {"reset": [{"seed": 1}], "phase": "train", "round": 0, "id": 7},
            {"step": [0], "actions": [[0.5]], "id": 9}, {"step": [0], "actions": [[0.5]]}]
said = subprocess.run([sys.executable, "-c", SIMULATOR, sys.argv[1]], check=True, capture_output=True, text=True,
                      input="".join(json.dumps(message) + "\n" for message in messages)).stdout
answers = [json.loads(line) for line in said.splitlines()]
assert answers[0]["ids"] is True
assert [answer.get("id") for answer in answers] == [None, 7, 9, None], answers
