#!/usr/bin/env python3
"""Sets the training step of training_bench.cpp beside PyTorch's, on as many threads.

Usage: training_torch.py path/to/cambrian_bench [rounds]

Both sides take turns; the shortest time of all rounds counts.
"""
import sys

import torch

import beside


def ours(program, times):
    for entry in beside.google_benchmark(program, "training_step_mlp", "--benchmark_min_time=0.01",
                                         "--benchmark_repetitions=40"):
        beside.keep_shortest(times, (int(entry["run_name"].split("/")[1]),), entry["real_time"] / 1e3)


def theirs(times):
    for threads in (1, 2):
        torch.set_num_threads(threads)
        model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
        x, targets = torch.randn(128, 784), torch.arange(128) % 10

        def step():
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(model(x), targets).backward()
            optimizer.step()

        beside.keep_shortest(times, (threads,), beside.shortest(step, seconds=1.0, calls=5))


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    beside.print_table("training step, MLP 784-128-10", *beside.in_turns(ours, theirs, program, rounds))


if __name__ == "__main__":
    main()
