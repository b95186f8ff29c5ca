#!/usr/bin/env python3
"""Sets the rows of rows_bench.cpp (1024 x 1024) beside PyTorch, on as many threads.

Usage: rows_torch.py path/to/cambrian_bench [rounds]

PyTorch 1.13 has no rms_norm, rope and gate of its own: there its users' compositions run. Results of
`add` go into memory that is there already on both sides. Both sides take turns; the shortest time of
all rounds counts.
"""
import sys

import torch

import beside

SIDE = 1024


def ours(program, times):
    for entry in beside.google_benchmark(program, "run_rows/", "--benchmark_min_time=0.4"):
        name, threads = entry["run_name"].split("/")[1:3]
        beside.keep_shortest(times, (name, int(threads)), entry["best_ms"])


def works():
    x, y, upstream = (torch.randn(SIDE, SIDE) for _ in range(3))
    gain, bias = torch.randn(SIDE), torch.randn(SIDE)
    cosine, sine = torch.randn(SIDE, SIDE // 2), torch.randn(SIDE, SIDE // 2)
    out = torch.empty(SIDE, SIDE)

    def rms_norm(x, gain):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * gain

    def rope():
        left, right = x[:, :SIDE // 2], x[:, SIDE // 2:]
        return torch.cat((left * cosine - right * sine, right * cosine + left * sine), -1)

    def gradient_of(function, *values):
        def work():
            leaves = [value.detach().requires_grad_() for value in values]
            with torch.enable_grad():
                result = function(*leaves)
            return torch.autograd.grad(result, leaves, upstream)
        return work

    return {
        "rms_norm": lambda: rms_norm(x, gain),
        "softmax": lambda: torch.softmax(x, -1),
        "layer_norm": lambda: torch.nn.functional.layer_norm(x, (SIDE,), gain, bias, 1e-5),
        "silu_gate": lambda: torch.nn.functional.silu(x) * y,
        "rope": rope,
        "add": lambda: torch.add(x, y, out=out),
        "softmax_gradient": gradient_of(lambda x: torch.softmax(x, -1), x),
        "rms_norm_gradient": gradient_of(rms_norm, x, gain),
    }


def theirs(times):
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, work in works().items():
            with torch.no_grad():
                beside.keep_shortest(times, (name, threads), beside.shortest(work))


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    beside.print_table("", *beside.in_turns(ours, theirs, program, rounds))


if __name__ == "__main__":
    main()
