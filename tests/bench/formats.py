#!/usr/bin/env python3
"""Prints what each number format makes of a trained network, and what evolution makes of formats.

Usage: formats.py path/to/cambrian [--config CONFIG] [--scales S ...] [--trained] [--evolved] [--front] [--device D]

Trains CONFIG (configs/train_digits.json, which needs DIGITS_DATA) once, and judges the network in every
format: bytes beside float32, the least cosine of a tensor, accuracy as it is and after calibration on the
training data. --scales adds rows with scales of a tensor, channel, block or mx. --trained adds a training of its own in each format, --evolved the fitness (of 16) of an evolution of
configs/parity.json in it, --device D whether that GPU (software: Mesa's) answers as the CPU does under strict math. --front evolves configs/parity.json with formats as genes
and several prices of a byte, and prints what comes of it: fitness of the task and bytes.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
FORMATS = ("float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 int64 int32 int16 int8 uint64 uint32 uint16 uint8 "
           "int4 uint4 float4_e2m1fn int2 uint2 ternary binary q4_0").split()
WITHOUT_CHOICE = ("float64", "float32", "float16", "bfloat16", "q4_0")  # Of scales.
PRICES = (0.0, 0.00001, 0.0001, 0.0003, 0.001, 0.01)


def run(program, *arguments):
    command = [program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def accuracy(text, which):
    found = re.search(which + r".*accuracy ([0-9.]+)%", text)
    return float(found.group(1)) if found else float("nan")


def test_accuracy(text):
    return float(text.split("test ")[-1].split("(")[1].split("%")[0])


def same_on(program, network, device):
    """Whether a GPU says what the CPU says."""
    texts = [run(program, "evaluate", network, "--set", "engine.math=strict", "--set", f"engine.backend={backend}", *more)
             for backend, more in (("cpu", []), ("vulkan", ["--set", f"engine.device={device}"]))]
    return texts[0] == texts[1]


def evolved(program, in_format, directory):
    """Fitness on the task of the champion of a run whose networks have that format."""
    run(program, "evolve", CONFIGS / "parity.json", "--set", f"run.directory={directory}", *in_format,
        "--set", "run.stop.solved=null", "--set", "run.stop.generations=150")
    text = run(program, "evaluate", directory / "best.cmb", "--phase", "train")
    return f"{float(re.search('fitness ([-0-9.e]+)', text).group(1)):.3f}"


def formats(program, arguments, folder):
    text = run(program, "train", arguments.config, "--set", f"run.directory={folder / 'float32'}")
    best = folder / "float32" / "best.cmb"
    print(f"{arguments.config}: test accuracy in float32 {test_accuracy(text):.2f} %\n")
    titles = ["format", "of float32", "least cosine", "accuracy", "calibrated"]
    titles += ["trained in it"] if arguments.trained else []
    titles += ["evolved in it, of 16"] if arguments.evolved else []
    titles += ["GPU = CPU"] if arguments.device else []
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    for name, scales in ((name, scales) for name in FORMATS for scales in arguments.scales):
        if scales != "format" and name in WITHOUT_CHOICE:
            continue
        network = folder / f"{name}-{scales}.cmb"
        in_format = ["--set", f"network.dtype={name}", "--set", f"network.dtype_scales={scales}"]
        text = run(program, "quantise", best, "--dtype", name, "--scales", scales, "--calibrate", "-o", network)
        cosines = [float(line.split()[4]) for line in text.splitlines() if re.match(r"  \S+\s+" + name + r"\s", line)]
        share = float(re.search(r"stored: \d+ bytes, ([0-9.]+)", text).group(1))
        cells = [name if scales == "format" else f"{name}, {scales}", f"{share:.3f}", f"{min(cosines, default=1.0):.6f}", f"{accuracy(text, 'in formats:'):.2f}",
                 f"{accuracy(text, 'calibrated:'):.2f}"]
        if arguments.trained:
            trained = run(program, "train", arguments.config, "--set", f"run.directory={folder / f'train-{name}-{scales}'}",
                          *in_format)
            cells.append(f"{test_accuracy(trained):.2f}")
        if arguments.evolved:
            cells.append(evolved(program, in_format, folder / f"evolve-{name}-{scales}"))
        if arguments.device:
            cells.append("yes" if same_on(program, network, arguments.device) else "NO")
        print("| " + " | ".join(cells) + " |", flush=True)


def front(program, folder):
    print("\n| fitness a byte costs | bytes of the champion | fitness on the task |\n|---|---|---|")
    for price in PRICES:
        directory = folder / f"price-{price}"
        run(program, "evolve", CONFIGS / "parity.json", "--set", f"run.directory={directory}", "--set",
            f"selection.bytes_weight={price}", "--set", "mutation.dtype_rate=0.1", "--set", "run.stop.solved=null",
            "--set", "run.stop.generations=150")
        network = json.loads(run(program, "inspect", directory / "best.cmb", "--json"))
        text = run(program, "evaluate", directory / "best.cmb", "--phase", "train")
        print(f"| {price:g} | {network['telemetry']['total']['stored_bytes']} | "
              f"{re.search('fitness ([-0-9.e]+)', text).group(1)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--config", default=CONFIGS / "train_digits.json")
    parser.add_argument("--scales", nargs="+", default=["format"], choices=["format", "tensor", "channel", "block", "mx"])
    parser.add_argument("--trained", action="store_true")
    parser.add_argument("--evolved", action="store_true")
    parser.add_argument("--front", action="store_true")
    parser.add_argument("--device")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        formats(arguments.program, arguments, pathlib.Path(folder))
        if arguments.front:
            front(arguments.program, pathlib.Path(folder))


if __name__ == "__main__":
    main()
