#!/usr/bin/env python3
"""Milliseconds of a generation of whole runs, files and all: the median that timings.csv tells of the slowest
rank, whose evaluation waits for all else.

tests/bench/generations.py build/release/cambrian [--backend vulkan] [--ranks 2] [--only cart_pole] [--set key=value ...]"""
import argparse
import csv
import json
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

TANH = {"type": "dense", "activation": "tanh"}
WEIGHTS_ONLY = {key: 0 for key in ("activation_rate", "layer_type_rate", "layer_insert_rate", "layer_toggle_rate",
                                   "link_add_rate", "link_drop_rate")}


def cart_pole(population):
    return {"task": {"type": "cart_pole", "episodes": 5, "steps": 500},
            "network": {"layers": [{**TANH, "out": 16}, {"type": "dense"}], "grid": {"layers_per_cell": 4}},
            "population": {"size": population, "elite_fraction": 0.25}}


def blobs(features, classes, samples, hidden, population):
    source = {"type": "blobs", "features": features, "classes": classes, "rows": samples}
    return {"task": {"type": "dataset", "source": source, "loss": {"type": "cross_entropy"}},
            "network": {"layers": [{**TANH, "out": width} for width in hidden] + [{"type": "dense"}]},
            "population": {"size": population}, "mutation": WEIGHTS_ONLY}


def xor(population):
    return {"task": {"type": "xor"}, "population": {"size": population}, "mutation": {"weight_power": 0.5},
            "network": {"layers": [{**TANH, "out": 4}, {"type": "dense", "activation": "sigmoid"}],
                        "grid": {"layers_per_cell": 4}}}


def neat(task):
    return {"task": task, "genome": {"type": "neat"}, "network": {"layers": [{"type": "neurons"}]},
            "population": {"size": 10_000}}


# Name, experiment, generations before the first that counts and of those that do.
CASES = [
    ("cart_pole 10,000", cart_pole(10_000), 40, 100),
    ("cart_pole 40,000", cart_pole(40_000), 20, 40),
    ("cart_pole 200,000", cart_pole(200_000), 10, 15),
    ("MLP 784-128-10, population 1,024, 8,000 rows", blobs(784, 10, 8000, [128], 1024), 10, 30),
    ("MLP 512-512-128-32, 332,448 weights, population 4,096, 512 rows", blobs(512, 32, 512, [512, 128], 4096), 3, 6),
    ("xor 10,000", xor(10_000), 50, 300),
    ("NEAT on the parity of three bits, 10,000", neat({"type": "parity", "bits": 3}), 200, 600),
    ("NEAT on cart_pole, 10,000", neat({"type": "cart_pole", "episodes": 5, "steps": 500}), 60, 190),
]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--backend", default="auto")
parser.add_argument("--ranks", type=int, default=1)
parser.add_argument("--only", default="")
parser.add_argument("--set", action="append", default=[], dest="settings")
chosen = parser.parse_args()


def run(folder, experiment, generations):
    """→ the directory of the run."""
    directory = folder / str(generations)
    config = folder / f"{generations}.json"
    config.write_text(json.dumps({**experiment, "run": {"directory": str(directory), "stop": {"generations": generations}},
                                  "checkpoint": {"every": 10 * generations}, "engine": {"backend": chosen.backend}}))
    start = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(chosen.ranks)] if chosen.ranks > 1 else []
    settings = [part for setting in chosen.settings for part in ("--set", setting)]
    subprocess.run([*start, chosen.program, "evolve", str(config), "--quiet", *settings], check=True)
    return directory


def parts(directory, first):
    """Medians over the generations from `first` of the seconds that the slowest rank spent on each part."""
    rows = defaultdict(lambda: defaultdict(float))
    for line in csv.DictReader((directory / "timings.csv").open()):
        if int(line["generation"]) >= first:
            for part in ("vary", "evaluate", "wait"):
                generation = rows[line["generation"]]
                generation[part] = max(generation[part], float(line[part]))
    return {part: statistics.median(row[part] for row in rows.values()) for part in ("vary", "evaluate", "wait")}


print("| experiment | ms a generation | vary | evaluate | wait |\n|---|---|---|---|---|")
for name, experiment, before, measured in CASES:
    if chosen.only in name:
        with tempfile.TemporaryDirectory() as work:
            part = parts(run(Path(work), experiment, before + measured), before)
            print(f"| {name} | {1e3 * sum(part.values()):.2f} | " +
                  " | ".join(f"{1e3 * seconds:.2f}" for seconds in part.values()) + " |", flush=True)
