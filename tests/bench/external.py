#!/usr/bin/env python3
"""Steps a second of a simulator in Python that is evolved, beside the same simulator alone.

Usage: external.py PROGRAM [--worlds 1,64,1024] [--steps 200] [--processes 1] [--frames json,msgpack] [--wide]
The simulator is configs/python/cart_pole.py with poles that never fall, so that every episode has as many steps; --wide gives
observations 64 numbers, and 16 actions. Of several tries the fastest counts, others being disturbed. The overhead of a step
is what it takes beyond the simulator alone.
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
    def reset(self, seed):
        super().reset(seed)
        return self.state

    def step(self, outputs):
        observations, reward, _ = super().step(outputs)
        self.state = [x % 1.0 for x in observations]
        return self.state, reward, False

class Wide(Endless):
    observations = 64
    actions = 16

    def reset(self, seed):
        return super().reset(seed) * 16

    def step(self, outputs):
        state, reward, done = super().step(outputs[:2])
        return state * 16, reward, done
"""


def alone(simulator, worlds, steps):
    """Steps a second of the simulator without anybody who asks it."""
    space = {}
    exec(SIMULATOR, space)
    simulators = [space[simulator]() for _ in range(worlds)]
    outputs = [0.0, 1.0] * 8
    for seed, one in enumerate(simulators):
        one.reset(seed)
    fastest = 0.0
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(steps):
            for one in simulators:
                one.step(outputs)
        fastest = max(fastest, worlds * steps / (time.perf_counter() - begin))
    return fastest


def evolved(program, simulator, worlds, steps, processes, frames):
    """Steps a second inside of the evaluations of the fastest generation but the first, from the run's own timings."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "simulator.py").write_text(SIMULATOR + f"\ncambrian.serve({simulator})\n")
        config = {"run": {"directory": f"{folder}/run", "stop": {"generations": 9}}, "population": {"size": max(worlds, 2)},
                  "engine": {"threads": 1}, "distributed": {"shard_size": worlds},
                  "task": {"type": "external", "command": [sys.executable, "simulator.py"], "steps": steps,
                           "processes": processes, "frames": frames, "validation": {"every": 1000, "episodes": 1}},
                  "network": {"layers": [{"type": "dense", "out": 16, "activation": "tanh"}, {"type": "dense"}]}}
        Path(folder, "config.json").write_text(json.dumps(config))
        subprocess.run([program, "evolve", f"{folder}/config.json", "-q"], check=True, stdout=subprocess.DEVNULL)
        seconds = [float(row["evaluate"]) for row in csv.DictReader(open(f"{folder}/run/timings.csv"))]
        totals = [int(row["evaluations"]) for row in csv.DictReader(open(f"{folder}/run/generations.csv"))]
        return max((totals[i] - totals[i - 1]) * steps / seconds[i] for i in range(1, len(totals)))


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--worlds", default="1,64,1024")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--processes", type=int, default=1)
parser.add_argument("--frames", default="json,msgpack")
parser.add_argument("--wide", action="store_true")
chosen = parser.parse_args()
simulator = "Wide" if chosen.wide else "Endless"
print("worlds   frames  alone, steps/s  evolved, steps/s  share  overhead of a step, us")
for worlds in map(int, chosen.worlds.split(",")):
    own = alone(simulator, worlds, chosen.steps)
    for frames in chosen.frames.split(","):
        within = evolved(chosen.program, simulator, worlds, chosen.steps, chosen.processes, frames)
        print(f"{worlds:6}  {frames:>7}  {own:14,.0f}  {within:16,.0f}  {within / own:5.2f}  {1e6 / within - 1e6 / own:23.1f}", flush=True)
