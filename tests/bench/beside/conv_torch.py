#!/usr/bin/env python3
"""Sets the convolutions of conv_bench.cpp beside those of PyTorch, on as many threads.

Usage: conv_torch.py path/to/cambrian_bench [rounds]

Both sides take turns; the shortest time of all rounds counts.
"""
import sys

import torch

import beside

LAYERS = {"3x3": (32, 64, 3, 1), "1x1": (64, 64, 1, 1), "depthwise": (64, 64, 3, 64)}
IMAGES, SIDE = 32, 28


def ours(program, times):
    for entry in beside.google_benchmark(program, "conv_", "--benchmark_min_time=0.001", "--benchmark_repetitions=40"):
        name, layer, threads = entry["run_name"].split("/")[:3]
        beside.keep_shortest(times, (name, layer, int(threads)), entry["real_time"])


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
                beside.keep_shortest(times, ("conv_forward", layer, threads), beside.shortest(forward))
            beside.keep_shortest(times, ("conv_backward", layer, threads), beside.shortest(
                lambda: torch.autograd.grad(y, (x, w, b), g, retain_graph=True)))


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    beside.print_table("", *beside.in_turns(ours, theirs, program, rounds))


if __name__ == "__main__":
    main()
