#!/usr/bin/env python3
"""Trains by target propagation and prints what hidden layers learn, beside the same networks with hidden layers frozen.

Usage: targets.py path/to/cambrian [--seeds N] [--quick]

Digits (DIGITS_DATA: the folder with optdigits.csv) by configs/targets/digits.json, as a chain and as a mesh, by each method;
the best validated accuracy of the worst and the mean seed. XOR by configs/targets/xor.json with seeds 1 to 20. Aims: digits at
least 95 % and 3 points above frozen hidden layers, XOR 20 of 20. The exit status says whether they are met.
"""
import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
METHODS = ("difference_target_propagation", "target_propagation")


def train(program, config, directory, settings):
    """Rows of epochs.csv."""
    command = [program, "train", str(CONFIGS / config), "-q", "--set", f"run.directory={directory}"]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    with open(pathlib.Path(directory) / "epochs.csv", encoding="ascii") as file:
        return list(csv.DictReader(file))


def network(mode, hidden):
    return [] if mode == "chain" else ["network.mode=mesh", f"task.steps={hidden}"]


def learned_by(method, step):
    # Only learned inverses have settings of their own.
    only = {"gradient": ["training.targets={}"], "target_propagation": [f'training.targets={{"step": {step}}}']}
    return [f"training.method={method}"] + only.get(method, [])


def digits(program, folder, seeds):
    met = True
    for mode in ("chain", "mesh"):
        for method in METHODS + ("gradient",):
            reached = {}
            for frozen in (False, True):
                if method == "gradient" and frozen:
                    continue
                values = []
                for seed in seeds:
                    settings = [f"run.seed={seed}"] + learned_by(method, 0.1) + network(mode, 4)
                    if frozen:
                        settings.append('training.frozen=["hidden"]')
                    rows = train(program, "targets/digits.json", folder / f"{mode}-{method}-{frozen}-{seed}", settings)
                    values.append(100 * max(float(row["validation_accuracy"]) for row in rows))
                reached[frozen] = values
            line = f"digits, {mode}, {method}: {min(reached[False]):.2f} % (mean {statistics.mean(reached[False]):.2f})"
            if True in reached:
                gain = min(a - b for a, b in zip(reached[False], reached[True]))
                line += f"; hidden layers frozen: {max(reached[True]):.2f} % (mean {statistics.mean(reached[True]):.2f}), gain {gain:.2f}"
                met = met and min(reached[False]) >= 95 and gain >= 3
            print(line, flush=True)
    return met


def exclusive_or(program, folder, seeds):
    met = True
    for mode in ("chain", "mesh"):
        for method in METHODS:
            right = 0
            for seed in seeds:
                settings = [f"run.seed={seed}"] + learned_by(method, 0.1) + network(mode, 3)
                rows = train(program, "targets/xor.json", folder / f"xor-{mode}-{method}-{seed}", settings)
                right += float(rows[-1]["train_accuracy"]) == 1
            print(f"XOR, {mode}, {method}: {right} of {len(seeds)}", flush=True)
            met = met and right == len(seeds)
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=3, help="of the digits")
    parser.add_argument("--quick", action="store_true", help="XOR alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        met = exclusive_or(arguments.program, folder, range(1, 21))
        if arguments.quick:
            pass
        elif "DIGITS_DATA" not in os.environ:
            print("digits: left out (DIGITS_DATA is not set)")
        else:
            met = digits(arguments.program, folder, range(1, arguments.seeds + 1)) and met
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
