#!/usr/bin/env python3
"""Sets the convolutions of conv_bench.cpp beside those of PyTorch, on as many threads.

Usage: conv_torch.py path/to/cambrian_bench [rounds]

Both sides take turns; the shortest time of all rounds counts.
"""
import json
import subprocess
import sys
import time

import torch

LAYERS = {"3x3": (32, 64, 3, 1), "1x1": (64, 64, 1, 1), "depthwise": (64, 64, 3, 64)}
IMAGES, SIDE = 32, 28


def ours(program, times):
    text = subprocess.run(
        [program, "--benchmark_filter=^conv_", "--benchmark_format=json", "--benchmark_min_time=0.001",
         "--benchmark_repetitions=40"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for entry in json.loads(text)["benchmarks"]:
        if entry["run_type"] == "iteration":
            name, layer, threads = entry["run_name"].split("/")[:3]
            add(times, (name, layer, int(threads)), entry["real_time"])


def shortest(work, seconds=0.4):
    work()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def theirs(times):
    for layer, (inputs, outputs, kernel, groups) in LAYERS.items():
        x = torch.randn(IMAGES, inputs, SIDE, SIDE, requires_grad=True)
        w = torch.randn(outputs, inputs // groups, kernel, kernel, requires_grad=True)
        b = torch.randn(outputs, requires_grad=True)
        g = torch.randn(IMAGES, outputs, SIDE, SIDE)

        def forward():
            return torch.nn.functional.conv2d(x, w, b, padding=kernel // 2, groups=groups)

        for threads in (1, 2):
            torch.set_num_threads(threads)
            y = forward()
            with torch.no_grad():
                add(times, ("conv_forward", layer, threads), shortest(forward))
            add(times, ("conv_backward", layer, threads), shortest(
                lambda: torch.autograd.grad(y, (x, w, b), g, retain_graph=True)))


def add(times, key, value):
    times[key] = min(times.get(key, float("inf")), value)


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    mine, other = {}, {}
    for _ in range(rounds):
        ours(program, mine)
        theirs(other)
    print(f"{'':32}{'cambrian ms':>12}{'torch ms':>12}{'torch / cambrian':>18}")
    for key in sorted(mine):
        name, layer, threads = key
        label = f"{name} {layer}, {threads} thread" + ("s" if threads > 1 else "")
        if key in other:
            print(f"{label:32}{mine[key]:12.2f}{other[key]:12.2f}{other[key] / mine[key]:18.2f}")
        else:
            print(f"{label:32}{mine[key]:12.2f}")


if __name__ == "__main__":
    main()
