#!/usr/bin/env python3
"""Holds models of ONNX that `cambrian convert` writes to what `cambrian infer` gives: of every layer type, every activation, and
random networks, run by the interpreter of this folder, or by ONNX Runtime.

Usage: networks.py CAMBRIAN [--count N] [--first SEED] [--runtime [FOLDER]] [--keep FOLDER] [--only NAME]

--runtime is ONNX Runtime, in node_modules of FOLDER or of CAMBRIAN_ONNX_RUNTIME (npm install --ignore-scripts onnxruntime-web);
exit status 77 without it. Differences are relative to the largest output of a network.
"""
import argparse
import csv
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from interpreter import Model, Tensor

HERE = os.path.dirname(os.path.abspath(__file__))
BOUND = 1e-5  # Float32 has 6e-8; sums of some hundred products in another order have some more.
SOFTMAX = [  # Variants with what they need.
    {"variant": "temperature", "features": 4, "temperature": 0.5}, {"variant": "grid", "features": 6, "rows": 2, "cols": 3},
    {"variant": "hierarchical", "features": 8, "levels": [2, 3]}, {"variant": "gumbel", "features": 4},
    {"variant": "gumbel", "features": 4, "hard": True}, {"variant": "masked", "features": 4, "mask": [True, False, True, True]},
    {"variant": "sparse", "features": 5}, {"variant": "entmax", "features": 5, "alpha": 1.3},
    {"variant": "adaptive", "features": 4, "cutoffs": [2, 4, 7]},
    {"variant": "mixture", "features": 4, "mixtures": 2, "classes": 3},
]


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def run(self, *arguments):
        result = subprocess.run([self.path, *arguments], cwd=self.folder, capture_output=True, text=True)
        if result.returncode != 0:
            raise RuntimeError(f"cambrian {' '.join(arguments)}: {result.stderr.strip()}")
        return result.stdout


def changed_weights(path, rng):
    """Moves every weight of a .safetensors: fresh ones are zero or one for the most part, which hides mistakes."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    count = (len(data) - 8 - size) // 4
    values = struct.unpack(f"<{count}f", data[8 + size:])
    moved = [value + rng.uniform(-0.3, 0.3) for value in values]
    with open(path, "wb") as file:
        file.write(data[:8 + size] + struct.pack(f"<{count}f", *moved))


def samples(program):
    """(name, layer, row that it takes): all layers and activations, and further uses."""
    registry = json.loads(program.run("registry", "--json"))
    for layer in json.loads(program.run("layers", "--json")):
        yield layer["name"], layer["example"], layer["input"]
    for activation in registry["activations"]:
        yield "activation " + activation["name"], {"type": "dense", "out": 5, "activation": activation["name"]}, [3]
    for layer in SOFTMAX:
        yield "softmax " + layer["variant"] + (" hard" if layer.get("hard") else ""), {"type": "softmax", **layer}, [layer["features"]]
    # Further uses, where the tests of layers have them.
    with open(os.path.join(HERE, "../support/layer_samples.cpp")) as file:
        found = re.findall(r'\{"(\w+)",\s*R"\((.*?)\)",\s*\{([\d, ]+)\}\}', file.read(), re.S)
    if len(found) < 40:
        raise RuntimeError("tests/support/layer_samples.cpp is not written as it was")
    for name, text, row in found:
        yield name, json.loads(text), [int(extent) for extent in row.split(",")]


def vocabulary_of(layer):
    """Of what reads ids, else 0."""
    if layer["type"] == "embedding":
        return layer["vocabulary"]
    inner = layer.get("layers", [])
    return vocabulary_of(inner[0]) if inner else 0


def write_rows(path, columns, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def random_rows(rng, count, width, vocabulary):
    if vocabulary:
        return [[float(rng.randrange(vocabulary)) for _ in range(width)] for _ in range(count)]
    return [[single(rng.uniform(-1.5, 1.5)) for _ in range(width)] for _ in range(count)]


def difference(wanted, given):
    """The largest difference over the largest number; infinite where one is finite alone."""
    largest = max((abs(x) for row in wanted for x in row if math.isfinite(x)), default=0.0)
    worst = 0.0
    for x, y in zip((x for row in wanted for x in row), (y for row in given for y in row)):
        if x == y or math.isnan(x) and math.isnan(y):
            continue
        worst = max(worst, abs(x - y) / largest) if math.isfinite(x) and math.isfinite(y) and largest else math.inf
    return worst


def as_rows(tensor):
    width = tensor.shape[-1]
    return [tensor.data[i:i + width] for i in range(0, len(tensor.data), width)]


class Case:
    """A network with rows, what `infer` answers, and the model."""

    def __init__(self, program, name, config, rng, rows, columns=None, seed=1):
        """config: of a network, whose weights are drawn; or a .cmb. columns: names of the inputs of a network whose rows are prepared; else rows are as the network sees them."""
        self.name, self.rows, self.prepared = name, rows, columns is not None
        stem = os.path.join(program.folder, re.sub(r"\W", "_", name))
        raw = [] if self.prepared else ["--raw"]
        network, self.model = stem + ".safetensors", stem + ".onnx"
        if isinstance(config, str):
            program.run("convert", config, network)
        else:
            with open(stem + ".json", "w") as file:
                json.dump(config, file)
            program.run("convert", stem + ".json", network, "--seed", str(seed))
            changed_weights(network, rng)
        program.run("convert", network, self.model, *raw)
        write_rows(stem + ".csv", columns or [f"x{i}" for i in range(len(rows[0]))], rows)
        text = program.run("infer", network, "--input", stem + ".csv", *raw, "--set", "engine.backend=cpu")
        lines = list(csv.reader(text.splitlines()))
        self.classes = [line[lines[0].index("class")] for line in lines[1:]] if self.prepared and "class" in lines[0] else None
        first = 2 if self.classes else 0
        self.wanted = [[float(cell) for cell in line[first:]] for line in lines[1:]]

    @property
    def output(self):
        return "probabilities" if self.classes else "answers" if self.prepared else "outputs"

    def interpreted(self):
        results = Model(self.model).steps(self.rows)
        return self.compared([row for each in results for row in as_rows(each[self.output])],
                             [label for each in results for label in each["class"].data] if self.classes else None)

    def own_rounding(self):
        """How far the model is from itself in doubles: where outputs are small beside what they are the difference of, no two
        programs in float32 agree better."""
        answers = []
        for Tensor.rounds in (False, True):
            answers.append([row for each in Model(self.model).steps(self.rows) for row in as_rows(each[self.output])])
        return difference(*answers)

    def compared(self, outputs, classes):
        if len(outputs) != len(self.wanted):
            raise RuntimeError(f"{self.name}: {len(outputs)} answers for {len(self.wanted)}")
        for row, wanted in zip(outputs, self.wanted):
            if len(row) != len(wanted):
                raise RuntimeError(f"{self.name}: an answer has {len(row)} numbers where infer gives {len(wanted)}")
        if self.classes and list(map(str, classes)) != self.classes:
            # Of two classes that are as likely, either may be answered.
            for label, wanted, row in zip(classes, self.classes, self.wanted):
                if str(label) != wanted and sorted(row)[-1] - sorted(row)[-2] > BOUND:
                    raise RuntimeError(f"{self.name}: the class {label} where infer says {wanted}")
        return difference(self.wanted, outputs)


def layer_cases(program, only):
    for name, layer, row in samples(program):
        if only and only != name:
            continue
        rng = random.Random("layer " + name)
        network = {"input": row, "layers": [layer, {"type": "dense", "out": 3}]}
        rows = random_rows(rng, 5, math.prod(row), vocabulary_of(layer))
        yield Case(program, name, {"network": network}, rng, rows)


def random_case(program, seed):
    """A random network of a table: every second one with rows in the units of the data, classes or numbers."""
    rng = random.Random(f"network {seed}")
    vocabulary = 7 if seed % 5 == 0 else 0
    prepared = seed % 2 == 1 and not vocabulary
    columns = [f"column {i}" for i in range(rng.randrange(1, 7))]
    targets = [f"target {i}" for i in range(rng.randrange(1, 4))]
    task = {"type": "table", "train": [f"random_{seed}_train.csv"], "inputs": columns, "targets": targets, "baselines": [],
            "sequence_length": rng.choice([0, 6])}
    rows = random_rows(rng, 24, len(columns), vocabulary)
    if prepared:
        rows = [[value * 10 ** (i - 2) + 10 * i for i, value in enumerate(row)] for row in rows]
        task["normalise"] = rng.choice(["none", "min_max", "mean_deviation"])
        task["missing_values"] = rng.choice(["error", "mean", "median"])
        if rng.random() < 0.4 or task["sequence_length"] == 0 and rng.random() < 0.3:
            task.update(mode="classification", loss="cross_entropy", targets=targets[:1])
        elif rng.random() < 0.5:
            task.update(difference=True, time_offset=1)
    labels = rng.choice([["red", "green, or blue", "\u00fc"], ["yes", "no"], [3, 5, 8]])
    width = len(targets) if task.get("mode") != "classification" else 1
    answers = [[labels[i % len(labels)] if task.get("mode") == "classification" else 50 + 7 * rng.random() for _ in range(width)]
               for i in range(len(rows))]
    write_rows(os.path.join(program.folder, task["train"][0]), columns + task["targets"], [r + a for r, a in zip(rows, answers)])
    build = {"type": "random", "seed": seed, "vocabulary": vocabulary, "most_elements": 24, "most_weights": 1024}
    shown = [list(row) for row in rows[:5]]
    current = []
    if task.get("difference"):
        current = task["targets"]
        for row, answer in zip(shown, answers):
            row += answer
    if task.get("missing_values") in ("mean", "median"):
        shown[2][0] = math.nan
    return Case(program, f"random {seed}", {"task": task, "network": {"build": build}}, rng, shown, columns + current if prepared else None, seed + 1)


def shown_case(program, layers):
    """A network that sees every row for some steps, which the model has inside."""
    rng = random.Random(f"shown {layers}")
    columns = ["p", "q"]
    rows = random_rows(rng, 12, 2, 0)
    name = f"shown for steps, {layers[0]['type']}"
    write_rows(os.path.join(program.folder, "shown.csv"), columns + ["y"], [row + [rng.random()] for row in rows])
    task = {"type": "dataset", "steps": 4, "source": {"type": "csv", "files": ["shown.csv"], "inputs": columns, "targets": ["y"], "scale": 0.1}}
    return Case(program, name, {"task": task, "network": {"layers": layers}}, rng, rows[:5], columns)


def characters_case(program):
    """Rows are code points, of which the network sees the places among the characters of its text."""
    name, text = "characters", "two hats, one head. "
    with open(os.path.join(program.folder, "text"), "w") as file:
        file.write(text)
    task = {"type": "dataset", "source": {"type": "text", "file": "text", "context": 4}, "loss": {"type": "cross_entropy"}}
    layers = [{"type": "embedding", "vocabulary": 128, "features": 5}, {"type": "gru", "hidden": 3}, {"type": "dense"}]
    return Case(program, name, {"task": task, "network": {"layers": layers}}, random.Random(name), [[float(ord(c))] for c in text[:9]], ["character"])


def forecast_case(program, layer, sequence):
    """A network that tells of the row after the next one, of a file that its sequences do not divide."""
    rng = random.Random(f"forecast {layer}")
    columns, name = ["load", "wind"], f"forecast {layer}"
    rows = random_rows(rng, 15, 2, 0)
    write_rows(os.path.join(program.folder, "forecast.csv"), columns, rows)
    task = {"type": "table", "train": ["forecast.csv"], "inputs": columns, "targets": ["load"], "time_offset": 2, "sequence_length": sequence, "baselines": []}
    case = Case(program, name, {"task": task, "network": {"layers": [{"type": layer, "hidden": 3} if sequence else {"type": layer, "out": 3}, {"type": "dense"}]}},
                rng, rows, columns)
    if Model(case.model).metadata.get("ahead") != "2":
        raise RuntimeError(f"{name}: the model does not say how many rows ahead it tells")
    return case


def other_cases(program):
    yield forecast_case(program, "gru", 4)
    yield forecast_case(program, "dense", 0)
    yield characters_case(program)
    yield shown_case(program, [{"type": "gru", "hidden": 3}, {"type": "dense"}])
    # Layers that share a weight.
    yield shown_case(program, [{"type": "dense", "out": 2, "activation": "tanh"}, {"type": "dense", "out": 2, "tied": "slot.0.weight"},
                               {"type": "rnn", "hidden": 3}, {"type": "dense"}])
    # Layers with a sequence form of their own.
    yield shown_case(program, [{"type": "mamba"}, {"type": "multi_head_attention", "heads": 1, "window": 3, "rope_base": 10}, {"type": "dense"}])
    for config in ("xor_neat", "xor_hyperneat", "double_pole_memory", "t_maze_plastic"):
        best = os.path.join(program.folder, config, "best.cmb")
        program.run("evolve", os.path.join(HERE, "../../configs", config + ".json"), "--quiet", "--set", "run.stop.generations=2", "--set",
                    "population.size=20", "--set", f"run.directory={os.path.dirname(best)}", "--set", "engine.backend=cpu")
        rng = random.Random(config)
        width = json.loads(program.run("inspect", best, "--json"))["blueprint"]["input_features"]
        yield Case(program, "evolved " + config, best, rng, random_rows(rng, 5, width, 0))


def random_cases(program, first, count):
    for seed in range(first, first + count):
        yield random_case(program, seed)


def runtime_differences(cases, folder):
    """All of them in one process of node, which answers with a line of JSON for each run."""
    requests = []
    for case in cases:
        model = Model(case.model)
        states = {name: model.zeros(name, 1).shape for name in model.inputs if name.startswith("state.")}
        requests.append({"model": case.model, "states": states, "output": case.output, "classes": case.classes is not None,
                         "runs": [{"inputs": {name: [tensor.kind, tensor.shape, list(map(str, tensor.data))] for name, tensor in inputs.items()},
                                   "begins": begins, "counts": counts} for inputs, begins, counts in model.feeds(case.rows)]})
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(requests, file)
        file.flush()
        result = subprocess.run(["node", os.path.join(HERE, "runtime.js"), folder, file.name], capture_output=True, text=True)
    answers = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    if result.returncode != 0 or len(answers) != len(requests):
        raise RuntimeError(f"ONNX Runtime ended with {result.returncode} after {len(answers)} models: {result.stderr.strip()}")
    for case, answer in zip(cases, answers):
        if "error" in answer:
            raise RuntimeError(f"{case.name}: {answer['error']}")
        yield case, case.compared([[float(x) for x in row] for row in answer["outputs"]], answer["classes"])


def told(what, results):
    """Prints the largest differences; whether all are within the bound, or a few times what the model rounds by itself."""
    results = sorted(results, key=lambda result: -result[1])
    print(f"{what}: {len(results)}, largest difference {results[0][1]:.3g} ({results[0][0].name})")
    good = True
    for case, value in results:
        if value <= BOUND:
            break
        rounding = case.own_rounding()
        print(f"  {case.name}: {value:.3g} is above {BOUND}; float32 rounds it by {rounding:.3g} itself")
        good = good and value <= 4 * rounding
    return good


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("cambrian")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--runtime", nargs="?", const=os.environ.get("CAMBRIAN_ONNX_RUNTIME", ""))
    parser.add_argument("--keep")
    parser.add_argument("--only")
    options = parser.parse_args()
    if options.runtime is not None:
        installed = os.path.isdir(os.path.join(options.runtime or "/nowhere", "node_modules/onnxruntime-web"))
        if not installed or shutil.which("node") is None:
            print("skipped: no node, or no onnxruntime-web (name its folder in CAMBRIAN_ONNX_RUNTIME)")
            return 77
    with tempfile.TemporaryDirectory() as folder:
        program = Program(os.path.abspath(options.cambrian), options.keep or folder)
        os.makedirs(program.folder, exist_ok=True)
        sets = {"layers": layer_cases(program, options.only)}
        if not options.only:
            sets["evolved and shown"] = other_cases(program)
            sets["random networks"] = random_cases(program, options.first, options.count)
        good = True
        for what, cases in sets.items():
            if options.runtime is not None:
                results = list(runtime_differences(list(cases), options.runtime))
            else:
                results = [(case, case.interpreted()) for case in cases]
            good = told(what, results) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
