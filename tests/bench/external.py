#!/usr/bin/env python3
"""Steps a second of a simulator in Python that is evolved, beside the same simulator alone.

Usage: external.py PROGRAM [--worlds 1,64,1024] [--steps 200] [--processes 1]
The simulator is configs/python/cart_pole.py with poles that never fall, so that every episode has as many steps.
"""
import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[2] / "configs" / "python"
SIMULATOR = f"""
import sys
sys.path.insert(0, {str(CLIENT)!r})
import cart_pole, cambrian

class Endless(cart_pole.CartPole):
    def step(self, outputs):
        observations, reward, _ = super().step(outputs)
        self.state = [x % 1.0 for x in observations]
        return self.state, reward, False
"""


def alone(worlds, steps):
    """Steps a second of the simulator without anybody who asks it."""
    space = {}
    exec(SIMULATOR, space)
    simulators = [space["Endless"]() for _ in range(worlds)]
    for seed, simulator in enumerate(simulators):
        simulator.reset(seed)
    begin = time.perf_counter()
    for _ in range(steps):
        for simulator in simulators:
            simulator.step([0.0, 1.0])
    return worlds * steps / (time.perf_counter() - begin)


def evolved(program, worlds, steps, processes):
    """Steps a second inside of evaluations, from the run's own timings, without the first generation."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "simulator.py").write_text(SIMULATOR + "\ncambrian.serve(Endless)\n")
        config = {"run": {"directory": f"{folder}/run", "stop": {"generations": 6}}, "population": {"size": max(worlds, 2)},
                  "engine": {"threads": 1}, "distributed": {"shard_size": worlds},
                  "task": {"type": "external", "command": [sys.executable, "simulator.py"], "steps": steps,
                           "processes": processes, "validation": {"every": 1000, "episodes": 1}},
                  "network": {"layers": [{"type": "dense", "out": 16, "activation": "tanh"}, {"type": "dense"}]}}
        Path(folder, "config.json").write_text(json.dumps(config))
        subprocess.run([program, "evolve", f"{folder}/config.json", "-q"], check=True, stdout=subprocess.DEVNULL)
        rows = list(csv.DictReader(open(f"{folder}/run/timings.csv")))[1:5]
        evaluations = list(csv.DictReader(open(f"{folder}/run/generations.csv")))
        done = int(evaluations[4]["evaluations"]) - int(evaluations[0]["evaluations"])
        return done * steps / sum(float(row["evaluate"]) for row in rows)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--worlds", default="1,64,1024")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--processes", type=int, default=1)
chosen = parser.parse_args()
print("worlds  alone, steps/s  evolved, steps/s  share")
for worlds in map(int, chosen.worlds.split(",")):
    own = alone(worlds, chosen.steps)
    within = evolved(chosen.program, worlds, chosen.steps, chosen.processes)
    print(f"{worlds:6}  {own:14,.0f}  {within:16,.0f}  {within / own:.2f}", flush=True)
