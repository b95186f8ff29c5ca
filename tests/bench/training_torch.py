#!/usr/bin/env python3
"""Sets the training step of training_bench.cpp beside PyTorch's, on as many threads.

Usage: training_torch.py path/to/cambrian_bench [rounds]

Both sides take turns; the shortest time of all rounds counts.
"""
import json
import subprocess
import sys
import time

import torch


def ours(program, times):
    text = subprocess.run(
        [program, "--benchmark_filter=^training_step_mlp", "--benchmark_format=json", "--benchmark_min_time=0.01",
         "--benchmark_repetitions=40"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for entry in json.loads(text)["benchmarks"]:
        if entry["run_type"] == "iteration":
            add(times, int(entry["run_name"].split("/")[1]), entry["real_time"])


def theirs(times, seconds=1.0):
    for threads in (1, 2):
        torch.set_num_threads(threads)
        model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
        x, targets = torch.randn(128, 784), torch.arange(128) % 10

        def step():
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(model(x), targets).backward()
            optimizer.step()

        for _ in range(10):
            step()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            for _ in range(5):
                step()
            add(times, threads, (time.perf_counter() - start) / 5 * 1e6)


def add(times, key, value):
    times[key] = min(times.get(key, float("inf")), value)


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    mine, other = {}, {}
    for _ in range(rounds):
        ours(program, mine)
        theirs(other)
    print(f"{'training step, MLP 784-128-10':32}{'cambrian us':>12}{'torch us':>12}{'torch / cambrian':>18}")
    for threads in sorted(mine):
        label = f"{threads} thread" + ("s" if threads > 1 else "")
        print(f"{label:32}{mine[threads]:12.0f}{other[threads]:12.0f}{other[threads] / mine[threads]:18.2f}")


if __name__ == "__main__":
    main()
