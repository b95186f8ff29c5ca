#!/usr/bin/env python3
"""Evolves a cart pole that changes several times in the middle of a run, and prints for each change how many generations
it takes to the goal from the population that there is, beside a run that begins anew on the changed task.

tests/bench/adaptation.py build/release/cambrian [--seeds 10] [--period 40] [--goal 475] [--set key=value ...]"""
import argparse
import csv
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

CHANGES = [("a pole of four times", {"half_length": 2.0}),
           ("the same, pushes exchanged", {"half_length": 2.0, "force": -10}),
           ("the pole as at first, pushes exchanged", {"force": -10}),
           ("as at first", {}),
           ("a pole of a fifth, half the force", {"half_length": 0.1, "force": 5})]
EXPERIMENT = {"population": {"size": 64}, "run": {"stop": {}},
              "task": {"type": "cart_pole", "episodes": 5, "steps": 500, "validation": {"every": 1000000, "episodes": 1}},
              "network": {"layers": [{"type": "dense", "out": 8, "activation": "tanh"}, {"type": "dense"}]}}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--seeds", type=int, default=10)
parser.add_argument("--period", type=int, default=40, help="generations between changes, and at most of a run that begins anew")
parser.add_argument("--goal", type=float, default=475.0, help="mean steps of the best of a generation over its five episodes")
parser.add_argument("--set", action="append", default=[], dest="settings")
chosen = parser.parse_args()


def best(work, name, seed, task, generations):
    """The best of each generation of one run."""
    config = json.loads(json.dumps(EXPERIMENT))
    config["task"] |= task
    config["run"] |= {"seed": seed, "directory": f"{work}/{name}-{seed}", "stop": {"generations": generations}}
    path = Path(work, f"{name}-{seed}.json")
    path.write_text(json.dumps(config))
    job = subprocess.run([chosen.program, "evolve", str(path), "--quiet", *[part for s in chosen.settings for part in ("--set", s)]],
                         capture_output=True, text=True)
    if job.returncode != 0:
        raise SystemExit(f"{name}, seed {seed}: exit code {job.returncode}\n{job.stdout}{job.stderr}")
    return [float(line["best"]) for line in csv.DictReader(open(f"{work}/{name}-{seed}/generations.csv"))]


def reached(values):
    """Generations up to the first that reaches the goal, with it; None where none does."""
    return next((i + 1 for i, value in enumerate(values) if value >= chosen.goal), None)


def text(counts):
    done = [count for count in counts if count is not None]
    middle = f"{statistics.median(done):5.1f}" if done else "    -"
    return f"{middle} ({len(done)} of {len(counts)})"


seeds = range(1, chosen.seeds + 1)
changes = [{"at": chosen.period * (i + 1), "task": task} for i, (_, task) in enumerate(CHANGES)]
with tempfile.TemporaryDirectory() as work:
    whole = [best(work, "changing", seed, {"changes": changes}, chosen.period * (len(CHANGES) + 1)) for seed in seeds]
    print(f"median generations to a best of {chosen.goal:g} of those seeds that came there in {chosen.period}, and how many of {chosen.seeds} did")
    print(f"{'task':42} {'from what there is':>20} {'anew':>20} {'first, from it':>15}")
    for i, (name, task) in enumerate([("at first", {}), *CHANGES]):
        part = [values[chosen.period * i:chosen.period * (i + 1)] for values in whole]
        anew = [best(work, f"anew-{i}", seed, task, chosen.period) for seed in seeds]
        print(f"{name:42} {text(list(map(reached, part))):>20} {text(list(map(reached, anew))):>20} "
              f"{statistics.median(values[0] for values in part):15.1f}", flush=True)
