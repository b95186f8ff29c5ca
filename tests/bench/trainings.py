#!/usr/bin/env python3
"""Trains every configs/train_*.json with some seeds and prints what was reached beside what it is held to.

Usage: trainings.py path/to/cambrian [--seeds N] [--device D]

Configs whose data set is not there (DIGITS_DATA, MNIST_DATA) are named and left out. With --device, such as
software or 0, each is also trained for two epochs on the CPU and on that GPU under strict math, and the
files of results are compared byte for byte.
"""
import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
# Config, the variable that names its data, what counts, and the aim.
TRAININGS = [
    ("train_xor", None, "train_accuracy", 1.0),
    ("train_spirals", None, "validation_accuracy", 0.95),
    ("train_sine", None, "validation_loss", 0.001),
    ("train_digits", "DIGITS_DATA", "test accuracy", 0.97),
    ("train_mnist", "MNIST_DATA", "test accuracy", 0.96),
]


def train(program, name, directory, *settings):
    """Seconds and printed text of one training."""
    command = [program, "train", str(CONFIGS / f"{name}.json"), "--set", f"run.directory={directory}"]
    for setting in settings:
        command += ["--set", setting]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return time.monotonic() - begin, done.stdout


def reached(measure, directory, text):
    if measure == "test accuracy":
        return float(text.split("test ")[-1].split("(")[1].split("%")[0]) / 100
    with open(directory / "epochs.csv", encoding="ascii") as file:
        rows = [row for row in csv.DictReader(file) if row["best"] == "1"]
    values = [float(row[measure]) for row in rows]
    return min(values) if measure.endswith("loss") else max(values)


def same_bytes(program, name, folder, device):
    """Whether CPU and GPU write the same results under strict math."""
    places = []
    for backend in ("cpu", "vulkan"):
        places.append(folder / f"{name}-{backend}")
        train(program, name, places[-1], "training.epochs=2", "engine.math=strict", f"engine.backend={backend}",
              f"engine.device={device}")
    return all((places[0] / file).read_bytes() == (places[1] / file).read_bytes()
               for file in ("epochs.csv", "best.cmb", "last.cmb"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device")
    arguments = parser.parse_args()
    failed = False
    print("| training | measure | median | worst | aim | met | seconds |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, variable, measure, aim in TRAININGS:
            if variable and not os.environ.get(variable):
                print(f"{name}: {variable} is not set", file=sys.stderr)
                continue
            values, seconds = [], []
            for seed in range(1, arguments.seeds + 1):
                directory = folder / f"{name}-{seed}"
                took, text = train(arguments.program, name, directory, f"run.seed={seed}")
                values.append(reached(measure, directory, text))
                seconds.append(took)
            low = measure.endswith("loss")
            worst = max(values) if low else min(values)
            met = worst <= aim if low else worst >= aim
            failed |= not met
            print(f"| {name} | {measure} | {statistics.median(values):.4g} | {worst:.4g} | {aim} | "
                  f"{'yes' if met else 'no'} | {statistics.median(seconds):.1f} |", flush=True)
            if arguments.device is not None:
                same = same_bytes(arguments.program, name, folder, arguments.device)
                failed |= not same
                print(f"| {name}, CPU and device {arguments.device} | bytes | {'same' if same else 'differ'} | | same | "
                      f"{'yes' if same else 'no'} | |", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
