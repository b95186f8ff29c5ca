#!/usr/bin/env python3
"""Sets the engine's products beside OpenBLAS's, for each kernel that OpenBLAS can be told to use.

Usage: gemm_openblas.py path/to/cambrian_bench [rounds]

Both sides take turns; the shortest time of all rounds counts.
"""
import json
import os
import subprocess
import sys

CORES = ("", "Haswell", "Zen")


def measure(program, core, times, cores):
    environment = dict(os.environ)
    if core:
        environment["OPENBLAS_CORETYPE"] = core
    text = subprocess.run(
        [program, "--benchmark_filter=^gemm_", "--benchmark_format=json", "--benchmark_min_time=0.001",
         "--benchmark_repetitions=30", "--benchmark_enable_random_interleaving=true"],
        check=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for entry in json.loads(text)["benchmarks"]:
        if entry["run_type"] != "iteration":
            continue
        side, shape = entry["run_name"].replace("/real_time", "").split("/", 1)
        if side == "gemm_openblas":
            side = entry["label"] + ("" if core else " (its choice)")
            if side not in cores:
                cores.append(side)
        key = side, shape
        times[key] = min(times.get(key, float("inf")), entry["real_time"])


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    times, cores = {}, []
    for _ in range(rounds):
        for core in CORES:
            measure(program, core, times, cores)
    shapes = [shape for side, shape in times if side == "gemm_engine"]
    width = max(map(len, shapes)) + 2
    print(f"{'microseconds':{width}}{'engine':>10}" + "".join(f"{core:>24}" for core in cores) + f"{'best / engine':>16}")
    for shape in dict.fromkeys(shapes):
        own = times["gemm_engine", shape]
        others = [times[core, shape] for core in cores]
        print(f"{shape:{width}}{own:10.1f}" + "".join(f"{other:24.1f}" for other in others) + f"{min(others) / own:16.2f}")


if __name__ == "__main__":
    main()
