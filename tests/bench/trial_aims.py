#!/usr/bin/env python3
"""Runs the trials of RESULTS.md again and holds each to its aim: how many of 100 seeds solve a task, after how many
evaluations.

Usage: trial_aims.py path/to/cambrian [--jobs N] [--only TEXT]     exit status 1 where an aim is missed

Seeds are 1 to 100; whatever was tuned was tuned on others. All evaluate on the CPU.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
SPECIES = ["--set", "strategy.type=species", "--set", "species.target=10"]

# What, config, further arguments, min_solved of 100 seeds, which number of evaluations, its max_evaluations.
AIMS = [
    ("volumetric XOR", "xor.json", [], 100, "median", 1500),
    ("volumetric XOR by species", "xor_species.json", [], 100, "median", 1500),
    ("XOR by NEAT", "xor_neat.json", [], 100, "mean", 4755),
    ("XOR by NEAT with species", "xor_neat.json", SPECIES, 100, "mean", 4755),
    ("two poles with velocities", "double_pole_neat.json", [], 100, "mean", 3600),
    ("two poles without velocities", "double_pole_memory.json", [], 98, "mean", 6929),
]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--only", default="")
chosen = parser.parse_args()

missed = 0
print("| trial | solved | evaluations | aim | met |\n|---|---|---|---|---|")
for name, config, more, min_solved, which, max_evaluations in AIMS:
    if chosen.only not in name:
        continue
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([chosen.program, "trials", str(CONFIGS / config), "--runs", "100", "--jobs", str(chosen.jobs),
                        "--directory", f"{work}/trials", "--set", "engine.backend=cpu", *more],
                       check=True, stdout=subprocess.DEVNULL)
        summary = json.loads(pathlib.Path(work, "trials", "summary.json").read_text())
    evaluations = summary["evaluations"]
    met = summary["solved"] >= min_solved and evaluations[which] <= max_evaluations
    missed += not met
    print(f"| {name} | {summary['solved']} of {summary['runs']} | mean {evaluations['mean']:.0f}, median {evaluations['median']:.0f}, "
          f"max {evaluations['largest']:.0f} | {min_solved}, {which} {max_evaluations} | {'yes' if met else 'NO'} |", flush=True)
sys.exit(1 if missed else 0)
